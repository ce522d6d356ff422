// SPDX-License-Identifier: MIT
//! Budgets as people write them: `1%`, `0.25%`; in millionths.
//!
//! Place in the flow: an argument of `lull record` and `lull start`, which `consumer` keeps.

const MISTAKE: &str = "write a part of the CPUs' time, from 0.0001% to 100%, such as 1% or 0.5%";

/// For clap: the error completes "invalid value".
pub fn parse(text: &str) -> Result<u32, String> {
    let number = text.trim().strip_suffix('%').ok_or(MISTAKE)?.trim_end();
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 4 || !is_number(whole) || !is_number(part) {
        return Err(MISTAKE.into());
    }
    let ppm = format!("{whole}{part:0<4}").parse::<u32>().map_err(|_| MISTAKE)?;
    (1..=1_000_000).contains(&ppm).then_some(ppm).ok_or(MISTAKE.into())
}

/// The same for people.
pub fn shown(ppm: u64) -> String {
    let part = format!("{:04}", ppm % 10_000);
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{}{point}{part}%", ppm / 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_a_part_of_a_hundred_with_four_places_at_most() {
        for (text, ppm) in [("1%", 10_000), ("0.5%", 5000), ("0.0001%", 1), ("100%", 1_000_000)] {
            assert_eq!(parse(text), Ok(ppm));
            assert_eq!(shown(ppm.into()), text);
        }
        assert_eq!(parse(" 2.50 % "), Ok(25_000));
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        for text in ["", "%", "1", "0%", "0.0000%", "101%", "-1%", "1.00001%", ".5%", "1e1%", "x%"]
        {
            assert_eq!(parse(text), Err(MISTAKE.into()), "{text}");
        }
    }
}
