// SPDX-License-Identifier: MIT
//! Times of one clock as times of another: an offset, and a drift from a time on.
//!
//! Place in the flow: whoever compares the clocks of machines makes one; `stream` applies it to
//! each time that it writes.

/// At `at_ns` of the old clock, the new one is `offset_ns` later; from there on the new one gains
/// `drift` seconds each second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Correction {
    pub at_ns: i64,
    pub offset_ns: i64,
    pub drift: f64,
}

impl Correction {
    /// A time of the old clock on the new one; it stops at the ends of 64 bits. Between times that
    /// rise, what it gives never falls, because drifts are far from -1.
    pub fn apply(&self, ns: i64) -> i64 {
        // The difference alone is rounded: a double holds it to a nanosecond for months.
        let since = ns.saturating_sub(self.at_ns) as f64;
        ns.saturating_add(self.offset_ns).saturating_add((self.drift * since).round() as i64)
    }

    /// From the old clock by way of the new one to what another correction makes of that.
    pub fn then(&self, next: &Correction) -> Correction {
        let reached = self.apply(self.at_ns);
        Correction {
            at_ns: self.at_ns,
            offset_ns: next.apply(reached).saturating_sub(self.at_ns),
            drift: (1.0 + self.drift) * (1.0 + next.drift) - 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_move_by_the_offset_and_by_what_the_drift_made_of_it() {
        let correction =
            Correction { at_ns: 1_700_000_000_000_000_000, offset_ns: -2_000_000_000, drift: 5e-5 };
        let at = |s: i64| correction.apply(1_700_000_000_000_000_000 + s * 1_000_000_000);
        assert_eq!(at(0), 1_699_999_998_000_000_000);
        assert_eq!(at(100) - at(0), 100_005_000_000);
        assert_eq!(at(0) - at(-100), 100_005_000_000);
        assert_eq!(Correction { offset_ns: i64::MAX, ..correction }.apply(i64::MAX), i64::MAX);
    }

    #[test]
    fn one_correction_after_the_other_is_one_correction() {
        let first = Correction { at_ns: 1_000_000_000_000, offset_ns: 5_000_000, drift: 3e-5 };
        let second = Correction { at_ns: -7_000_000_000, offset_ns: -90, drift: -8e-5 };
        let both = first.then(&second);
        for ns in [0, 1_000_000_000_000, 2_000_000_000_000, -3_000_000_000] {
            let wanted = second.apply(first.apply(ns));
            assert!((both.apply(ns) - wanted).abs() <= 2, "{} for {wanted}", both.apply(ns));
        }
    }
}
