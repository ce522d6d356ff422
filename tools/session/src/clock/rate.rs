// SPDX-License-Identifier: MIT
//! The rate of a counter at the beginning of a recording, which is not long enough yet to tell it.
//!
//! The architected counter has a register for it, some CPUs tell the TSC's; otherwise it is
//! measured: over a tenth of a millisecond, which the program is kept waiting for, then over two,
//! which it is not. Against the kernel's clocks, which are slewed to follow the
//! world's time, a nominal rate is off by some parts in a million: a recording of more than
//! about a millisecond is fitted instead, and this rate then only tells whether to believe the
//! fit.

use std::time::Duration;

use super::counter::{arch, read_kernel_ns, ClockKind};
use super::sample::{Bracket, Sample};

/// Long enough to measure the rate to some 20 parts in a million.
pub(super) const FINE_NS: i64 = 2_000_000;
/// Long enough to tell a steady counter from one that is not, to some 400 parts in a million.
pub(super) const ROUGH_NS: i64 = 100_000;

/// No counter is faster; products of a rate and a time fit 128 bits.
const HZ_MAX: f64 = 1e12;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rate {
    pub hz: f64,
    pub source: &'static str,
    /// The unit is the nanosecond of CLOCK_MONOTONIC itself: nothing to fit.
    pub exact: bool,
}

impl Rate {
    /// The rate as CTF has it: an integer, and never 0.
    pub fn whole_hz(&self) -> u64 {
        (self.hz.round().min(HZ_MAX) as u64).max(1)
    }
}

/// The rate, if it can be had without waiting.
pub(super) fn known(kind: ClockKind) -> Option<Rate> {
    let (hz, source) = match kind {
        ClockKind::Monotonic => return Some(Rate { hz: 1e9, source: "unit", exact: true }),
        ClockKind::Tsc | ClockKind::Cntvct => arch::known_hz()?,
    };
    Some(Rate { hz, source, exact: false })
}

/// How long ago `start` was.
pub(super) fn elapsed_ns(start: &Sample) -> i64 {
    read_kernel_ns(libc::CLOCK_BOOTTIME).saturating_sub(start.boottime.ns)
}

/// The rate since `start`, waiting until that is `least_ns` ago.
pub(super) fn measured(kind: ClockKind, start: &Sample, least_ns: i64) -> Rate {
    std::thread::sleep(missing(least_ns, elapsed_ns(start)));
    let now = Bracket::take(kind, libc::CLOCK_BOOTTIME);
    let ns = now.ns.saturating_sub(start.boottime.ns).max(1);
    let cycles = now.cycles.saturating_sub(start.boottime.cycles).max(1);
    Rate { hz: cycles as f64 * 1e9 / ns as f64, source: "measured", exact: false }
}

/// What is missing of a time. The clock may have been set back since the time began.
fn missing(least_ns: i64, elapsed_ns: i64) -> Duration {
    let missing_ns = least_ns.saturating_sub(elapsed_ns.max(0));
    Duration::from_nanos(u64::try_from(missing_ns).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_waited_for_than_is_missing() {
        let wait_ns = |elapsed_ns| missing(FINE_NS, elapsed_ns).as_nanos();
        assert_eq!(wait_ns(0), 2_000_000);
        assert_eq!(wait_ns(500_000), 1_500_000);
        assert_eq!([FINE_NS, FINE_NS + 1, i64::MAX].map(wait_ns), [0; 3]);
        assert_eq!(wait_ns(i64::MIN), 2_000_000);
    }

    #[test]
    fn nanoseconds_have_an_exact_rate() {
        let rate = known(ClockKind::Monotonic).expect("needs no machine");
        assert_eq!((rate.hz, rate.exact), (1e9, true));
    }

    #[test]
    fn rates_are_whole_and_positive_for_ctf() {
        let whole = |hz| Rate { hz, source: "measured", exact: false }.whole_hz();
        assert_eq!(whole(2_596_123_456.7), 2_596_123_457);
        assert_eq!(whole(0.2), 1);
        assert_eq!(whole(f64::NAN), 1_000_000_000_000);
        assert_eq!(whole(-5.0), 1);
        assert_eq!(whole(f64::INFINITY), 1_000_000_000_000);
    }

    #[test]
    fn rate_is_measured_over_no_less_than_was_asked_for() {
        let start = Sample::take(ClockKind::Monotonic);
        let rate = measured(ClockKind::Monotonic, &start, 10 * FINE_NS);
        assert!(elapsed_ns(&start) >= 10 * FINE_NS);
        assert!((rate.hz / 1e9 - 1.0).abs() < 0.01, "{rate:?}");
    }

    #[test]
    fn known_and_measured_rates_agree_where_both_exist() {
        let (kind, _) = ClockKind::choose(&super::super::ClockFacts::here());
        let Some(known) = known(kind) else { return };
        for least_ns in [ROUGH_NS, FINE_NS] {
            let measured = measured(kind, &Sample::take(kind), least_ns);
            let difference = (measured.hz / known.hz - 1.0).abs();
            assert!(difference < 0.05, "{known:?} {measured:?}");
        }
    }
}
