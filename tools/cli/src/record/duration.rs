// SPDX-License-Identifier: MIT
//! Durations as people write them: `500ms`, `10s`, `2m`, `1h`; a number alone is seconds.

use std::time::Duration;

/// For clap: the error completes "invalid value".
pub fn parse(text: &str) -> Result<Duration, String> {
    const WRITE: &str = "write a number with ms, s, m or h behind it, like 10s";
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(WRITE.into()),
    };
    let number: f64 = number.parse().map_err(|_| WRITE)?;
    let duration =
        Duration::try_from_secs_f64(number * seconds).map_err(|_| "it is out of range")?;
    match duration.is_zero() {
        true => Err("it is no time at all".into()),
        false => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_clocks_and_a_number_alone_is_seconds() {
        for (text, ms) in [("500ms", 500), ("10s", 10_000), ("1.5", 1500), ("2m", 120_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "1d", "0", "1.2.3s", "1e99h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
