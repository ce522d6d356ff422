// SPDX-License-Identifier: MIT
//! Numbers of a report for people: three digits and a unit.
//!
//! Place in the flow: every cell of a table and every number in a sentence; counts and sizes have
//! the form that they have in a verdict, too.

pub(super) use verdict::number::{bytes, grouped, plural};

/// Three significant digits of a value below 1000 or so.
fn three_digits(value: f64) -> String {
    match value {
        _ if value >= 99.95 => format!("{value:.0}"),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The largest unit in which the value is 1 or more; each is `step` times the one before.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fits = |(_, size): &&(&str, f64)| value >= size * 0.9995;
    match units.iter().rev().find(fits) {
        Some((unit, size)) => format!("{} {unit}", three_digits(value / size)),
        None => "0".into(),
    }
}

/// `0`, `17 ns`, `1.23 us`, `45.6 ms`, `1.00 s`, `12.3 min`, `3.05 h`.
pub(crate) fn duration(ns: u64) -> String {
    match ns {
        0 => "0".into(),
        1..=999 => format!("{ns} ns"),
        _ => scaled(
            ns as f64,
            &[("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86400e9)],
        ),
    }
}

/// `0.25`, `17.0`, `1.23 k`, `45.6 M`; a unit or `/s` may follow.
pub(crate) fn rate(per_s: f64) -> String {
    match per_s {
        _ if !per_s.is_finite() || per_s <= 0.0 => "0".into(),
        _ if per_s < 999.5 => three_digits(per_s),
        _ => scaled(per_s, &[("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15)]),
    }
}

/// `12.3 %`; what is there and tiny is not shown as nothing.
pub(crate) fn share(share: f64) -> String {
    match share {
        _ if share > 0.0 && share < 0.0005 => "<0.1 %".into(),
        _ => format!("{:.1} %", share * 100.0),
    }
}

/// A point in time as the time since the trace began.
pub(super) fn offset(at_ns: i64, begin_ns: i64) -> String {
    match u64::try_from(at_ns.saturating_sub(begin_ns)) {
        Ok(0) | Err(_) => "+0".into(),
        Ok(since_ns) => format!("+{}", duration(since_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_never_a_thousand_of_a_unit() {
        let durations = [
            (0, "0"),
            (999, "999 ns"),
            (1000, "1.00 us"),
            (1234, "1.23 us"),
            (99_950, "100 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (61_000_000_000, "1.02 min"),
            (7_200_000_000_000, "2.00 h"),
        ];
        for (ns, wanted) in durations {
            assert_eq!(duration(ns), wanted);
        }
        assert!(duration(u64::MAX).ends_with(" d"));
    }

    #[test]
    fn rates_and_shares_read_well() {
        assert_eq!([rate(0.25), rate(17.0), rate(45_600_000.0)], ["0.25", "17.0", "45.6 M"]);
        assert_eq!([rate(f64::NAN), rate(999.7)], ["0", "1.00 k"]);
        assert_eq!([share(0.0), share(0.0001), share(0.1234)], ["0.0 %", "<0.1 %", "12.3 %"]);
        assert_eq!([offset(5, 9), offset(2_009, 9)], ["+0", "+2.00 us"]);
    }
}
