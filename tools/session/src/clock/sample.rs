// SPDX-License-Identifier: MIT
//! Samples: what the kernel's clocks and the counter say at one moment.
//!
//! No instruction reads two clocks at once, so each of the kernel's clocks is read between two
//! readings of the counter, many times, and the tightest bracket is kept: the truth lies inside.

use super::counter::{read_kernel_ns, ClockKind};
use super::{saturate, NS_PER_S};

/// Attempts for each clock; with 50 ns each, a sample takes about ten microseconds.
const BRACKETS: u32 = 64;

/// One reading of one of the kernel's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bracket {
    /// The middle of the bracket.
    pub cycles: u64,
    pub width_cycles: u64,
    pub ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    pub boottime: Bracket,
    pub monotonic: Bracket,
    pub utc: Bracket,
}

/// A sample brought to one clock value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point {
    pub cycles: u64,
    pub boottime_ns: i64,
    pub monotonic_ns: i64,
    pub utc_ns: i64,
    pub uncertainty_ns: u64,
}

impl Sample {
    pub fn take(kind: ClockKind) -> Self {
        Self {
            monotonic: Bracket::take(kind, libc::CLOCK_MONOTONIC),
            utc: Bracket::take(kind, libc::CLOCK_REALTIME),
            boottime: Bracket::take(kind, libc::CLOCK_BOOTTIME),
        }
    }

    /// All three clocks at the moment at which CLOCK_BOOTTIME was read.
    pub fn resolve(&self, frequency_hz: u64) -> Point {
        let cycles = self.boottime.cycles;
        let at = |bracket: &Bracket| {
            saturate(i128::from(bracket.ns) + cycles_to_ns(bracket.cycles, cycles, frequency_hz))
        };
        let width_cycles =
            self.boottime.width_cycles.max(self.monotonic.width_cycles).max(self.utc.width_cycles);
        let half_ns = cycles_to_ns(0, width_cycles, frequency_hz) / 2;
        Point {
            cycles,
            boottime_ns: self.boottime.ns,
            monotonic_ns: at(&self.monotonic),
            utc_ns: at(&self.utc),
            // One more: the kernel truncates to nanoseconds.
            uncertainty_ns: u64::try_from(half_ns).unwrap_or(u64::MAX).saturating_add(1),
        }
    }
}

impl Point {
    /// CLOCK_BOOTTIME at another clock value.
    pub fn boottime_at(&self, cycles: u64, frequency_hz: u64) -> i128 {
        i128::from(self.boottime_ns) + cycles_to_ns(self.cycles, cycles, frequency_hz)
    }
}

impl Bracket {
    pub fn take(kind: ClockKind, kernel_clock: libc::clockid_t) -> Self {
        Self::tightest((0..BRACKETS).map(|_| {
            let before = kind.read();
            let ns = read_kernel_ns(kernel_clock);
            (before, kind.read(), ns)
        }))
    }

    /// The narrowest of the attempts. One that begins after it ends saw two CPUs whose counters
    /// differ; if all of them did, the first stands, with a width that says so.
    fn tightest(attempts: impl Iterator<Item = (u64, u64, i64)>) -> Self {
        attempts
            .map(|(before, after, ns)| match after.checked_sub(before) {
                Some(width) => Self { cycles: before + width / 2, width_cycles: width, ns },
                None => Self { cycles: before, width_cycles: u64::MAX, ns },
            })
            .min_by_key(|bracket| bracket.width_cycles)
            .unwrap_or(Self { cycles: 0, width_cycles: u64::MAX, ns: 0 })
    }
}

/// Signed nanoseconds from one clock value to another, rounded to nearest.
pub(super) fn cycles_to_ns(from: u64, to: u64, frequency_hz: u64) -> i128 {
    let hz = i128::from(frequency_hz.max(1));
    ((i128::from(to) - i128::from(from)) * NS_PER_S + hz / 2).div_euclid(hz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tightest_bracket_wins_and_crossed_ones_never_do() {
        let attempts = [(100, 180, 1), (200, 230, 2), (300, 290, 3), (400, 470, 4)];
        let bracket = Bracket::tightest(attempts.into_iter());
        assert_eq!(bracket, Bracket { cycles: 215, width_cycles: 30, ns: 2 });
    }

    #[test]
    fn only_crossed_brackets_are_as_uncertain_as_can_be() {
        let bracket = Bracket::tightest([(300, 290, 3)].into_iter());
        assert_eq!(bracket.width_cycles, u64::MAX);
    }

    #[test]
    fn readings_are_brought_to_one_moment() {
        let sample = Sample {
            monotonic: Bracket { cycles: 1000, width_cycles: 20, ns: 50 },
            utc: Bracket { cycles: 3000, width_cycles: 30, ns: 7_000 },
            boottime: Bracket { cycles: 2000, width_cycles: 40, ns: 900 },
        };
        let point = sample.resolve(2_000_000_000);
        assert_eq!(point.cycles, 2000);
        assert_eq!(point.boottime_ns, 900);
        assert_eq!(point.monotonic_ns, 550);
        assert_eq!(point.utc_ns, 6_500);
        assert_eq!(point.uncertainty_ns, 11);
        let wide = Bracket { width_cycles: 80, ..sample.utc };
        assert_eq!(Sample { utc: wide, ..sample }.resolve(2_000_000_000).uncertainty_ns, 21);
    }

    #[test]
    fn distances_have_a_sign_and_round_to_nearest() {
        assert_eq!(cycles_to_ns(10, 13, 2_000_000_000), 2);
        assert_eq!(cycles_to_ns(13, 10, 2_000_000_000), -1);
        assert_eq!(cycles_to_ns(0, u64::MAX, 1), i128::from(u64::MAX) * NS_PER_S);
        assert_eq!(cycles_to_ns(5, 5, 0), 0);
    }
}
