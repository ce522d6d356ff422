// SPDX-License-Identifier: MIT
//! Durations as people write them: `100us`, `500ms`, `10s`, `1.5m`, `1h`.
//!
//! Place in the flow: all arguments that take a duration, and the times of `selection/time.rs`, are
//! parsed here, so that they know the same units. Nanoseconds are counted exactly.

use std::time::Duration;

/// What a number without a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    Seconds,
    Milliseconds,
}

const WRITE: &str = "write a number with ns, us, ms, s, m or h behind it, like 10s";

/// For clap: more than nothing; a number alone is seconds. The error completes "invalid value".
pub fn parse(text: &str) -> Result<Duration, String> {
    match parse_any(text, Alone::Seconds)? {
        Duration::ZERO => Err("it is no time at all".into()),
        duration => Ok(duration),
    }
}

/// For clap: as it was before there were units, a number alone is milliseconds.
pub fn parse_period(text: &str) -> Result<Duration, String> {
    parse_any(text, Alone::Milliseconds)
}

/// Any duration that has a whole number of nanoseconds.
pub fn parse_any(text: &str, alone: Alone) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    if number.is_empty() {
        return Err(WRITE.into());
    }
    let unit_ns = match (unit.trim_start(), alone) {
        ("", Alone::Seconds) => 1_000_000_000,
        ("", Alone::Milliseconds) => 1_000_000,
        (unit, _) => unit_ns(unit).ok_or_else(|| format!("{unit} is no unit of time: {WRITE}"))?,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(format!("{number} is no number: {WRITE}"));
    }
    let out_of_range = || format!("{number} is out of range");
    let whole: u64 =
        if whole.is_empty() { Ok(0) } else { whole.parse() }.map_err(|_| out_of_range())?;
    let ns = whole.checked_mul(unit_ns).ok_or_else(out_of_range)?;
    let ns = ns.checked_add(part_ns(fraction, unit_ns)?).ok_or_else(out_of_range)?;
    Ok(Duration::from_nanos(ns))
}

fn unit_ns(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look the same.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The nanoseconds of digits behind the point.
fn part_ns(fraction: &str, unit_ns: u64) -> Result<u64, String> {
    let digits = fraction.trim_end_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    let finer = || format!(".{digits} is finer than a nanosecond");
    let scale = u32::try_from(digits.len()).ok().and_then(|count| 10_u128.checked_pow(count));
    let (scale, value) = scale.zip(digits.parse::<u128>().ok()).ok_or_else(finer)?;
    let scaled = value.checked_mul(unit_ns.into()).ok_or_else(finer)?;
    match scaled % scale {
        0 => u64::try_from(scaled / scale).map_err(|_| finer()),
        _ => Err(finer()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_clocks_and_a_number_alone_is_seconds() {
        for (text, ns) in [
            ("1ns", 1),
            ("100us", 100_000),
            ("100\u{b5}s", 100_000),
            ("100\u{3bc}s", 100_000),
            ("1.5us", 1_500),
            ("500ms", 500_000_000),
            ("10s", 10_000_000_000),
            ("10 s", 10_000_000_000),
            ("1.5", 1_500_000_000),
            (".5s", 500_000_000),
            ("2.s", 2_000_000_000),
            ("1.000000001s", 1_000_000_001),
            ("100000.000000001s", 100_000_000_000_001),
            ("2m", 120_000_000_000),
            ("0.5min", 30_000_000_000),
            ("1.000h", 3_600_000_000_000),
            ("0.0000000001h", 360),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        assert_eq!(parse_period("20"), Ok(Duration::from_millis(20)));
        assert_eq!(parse_period("0"), Ok(Duration::ZERO));
        assert_eq!(parse_period("2s"), Ok(Duration::from_secs(2)));
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_part_that_is_wrong() {
        for (text, reason) in [
            ("", "write a number with ns, us, ms, s, m or h behind it"),
            ("s", "write a number"),
            ("-1s", "write a number"),
            ("1d", "d is no unit of time"),
            ("1Ms", "Ms is no unit of time"),
            ("1s30", "s30 is no unit of time"),
            ("0", "it is no time at all"),
            ("0.0h", "it is no time at all"),
            ("1.2.3s", "1.2.3 is no number"),
            (".s", ". is no number"),
            ("1.5ns", ".5 is finer than a nanosecond"),
            ("1.0000000001s", ".0000000001 is finer than a nanosecond"),
            ("99999999999h", "99999999999 is out of range"),
            ("99999999999999999999s", "99999999999999999999 is out of range"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
