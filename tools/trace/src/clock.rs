// SPDX-License-Identifier: MIT
//! Clock classes: from cycles to nanoseconds, and from N low bits to a full value.
//!
//! Place in the flow: the event cursor extends truncated timestamps with [`extend`]; the merge and
//! the printers turn cycles into nanoseconds with [`Clock::ns`].
//!
//! The conversion goes through a double on purpose: it is what Babeltrace 2 does, and two
//! readers of one trace must not differ in the last digit.

use crate::units::{Cycles, Ns};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// 2^63, the first number that 64 bits with a sign do not hold.
const MORE_THAN_SIGNED: f64 = 9_223_372_036_854_775_808.0;

/// A `clock { ... }` block of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    pub name: String,
    pub uuid: Option<[u8; 16]>,
    pub description: String,
    pub frequency_hz: u64,
    pub precision_cycles: u64,
    pub offset_s: i64,
    pub offset_cycles: u64,
    /// Whether the origin is the Unix epoch as far as the writer knew.
    pub absolute: bool,
    base_ns: i64,
    /// The frequency again, which need not be converted for each event.
    hz: f64,
}

impl Clock {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            uuid: None,
            description: String::new(),
            frequency_hz: NS_PER_SECOND,
            precision_cycles: 0,
            offset_s: 0,
            offset_cycles: 0,
            absolute: false,
            base_ns: 0,
            hz: NS_PER_SECOND as f64,
        }
    }

    /// Computes the base once every attribute is known.
    pub(crate) fn finish(mut self) -> Self {
        if self.frequency_hz == 0 {
            self.frequency_hz = NS_PER_SECOND;
        }
        self.hz = self.frequency_hz as f64;
        let whole_s = self.offset_cycles / self.frequency_hz;
        let rest_cycles = self.offset_cycles % self.frequency_hz;
        self.base_ns = self
            .offset_s
            .saturating_add(i64::try_from(whole_s).unwrap_or(i64::MAX))
            .saturating_mul(NS_PER_SECOND as i64)
            .saturating_add(saturate(self.since_base(rest_cycles)));
        self
    }

    /// Nanoseconds from the origin at a clock value.
    #[inline]
    pub fn ns(&self, cycles: Cycles) -> Ns {
        let since_base = match self.since_base_signed(cycles.0) {
            Some(ns) => ns,
            None => saturate(self.since_base(cycles.0)),
        };
        Ns(self.base_ns.saturating_add(since_base))
    }

    /// [`Clock::ns`], unless that is not the time because 64 bits cannot hold it.
    pub fn checked_ns(&self, cycles: Cycles) -> Option<Ns> {
        let since_base = i64::try_from(self.since_base(cycles.0)).ok()?;
        self.base_ns.checked_add(since_base).map(Ns)
    }

    /// [`Clock::since_base`] by the instructions that processors have, which are for numbers with a
    /// sign; `None` where those do not hold it.
    #[inline(always)]
    fn since_base_signed(&self, cycles: u64) -> Option<i64> {
        let cycles = i64::try_from(cycles).ok()?;
        if self.frequency_hz == NS_PER_SECOND {
            return Some(cycles);
        }
        let ns = 1e9 * cycles as f64 / self.hz;
        // SAFETY: the frequency is positive, so 0 <= ns, and it is below 2^63.
        (ns < MORE_THAN_SIGNED).then(|| unsafe { ns.to_int_unchecked::<i64>() })
    }

    /// A duration in nanoseconds, truncated; saturates instead of wrapping.
    #[inline(never)]
    fn since_base(&self, cycles: u64) -> u64 {
        match self.frequency_hz {
            NS_PER_SECOND => cycles,
            _ => (1e9 * cycles as f64 / self.hz) as u64,
        }
    }

    /// Whether 64 bits hold the time at which the clock reads 0, in nanoseconds.
    pub(crate) fn has_origin(&self) -> bool {
        let whole_s = i64::try_from(self.offset_cycles / self.frequency_hz.max(1)).ok();
        let s = whole_s.and_then(|whole_s| self.offset_s.checked_add(whole_s));
        let ns = s.and_then(|s| s.checked_mul(NS_PER_SECOND as i64));
        ns.is_some_and(|ns| ns.checked_add(NS_PER_SECOND as i64).is_some())
    }

    /// Whether two clock classes convert alike, so that their cycles compare directly.
    pub fn same_scale(&self, other: &Clock) -> bool {
        self.frequency_hz == other.frequency_hz && self.base_ns == other.base_ns
    }
}

#[inline]
fn saturate(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Extends `low_bits`, the low bits under `mask` of a clock that never runs backwards, to the
/// smallest full value that is not before `previous`: at most one wrap is assumed.
#[inline]
pub fn extend(previous: u64, low_bits: u64, mask: u64) -> u64 {
    previous.wrapping_add(low_bits.wrapping_sub(previous) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extend_keeps_high_bits_and_adds_one_wrap_when_low_bits_fall() {
        assert_eq!(extend(0x1200_0010, 0x20, 0xff_ffff), 0x1200_0020);
        assert_eq!(extend(0x1200_0010, 0x0f, 0xff_ffff), 0x1300_000f);
        assert_eq!(extend(0x1200_0010, 0x10, 0xff_ffff), 0x1200_0010);
        assert_eq!(extend(u64::MAX, 5, u64::MAX), 5);
    }

    #[test]
    fn offset_of_more_than_a_second_is_carried_into_seconds() {
        let mut clock = Clock::new("c".into());
        clock.frequency_hz = 1000;
        clock.offset_s = -3;
        clock.offset_cycles = 2500;
        let clock = clock.finish();
        assert_eq!(clock.ns(Cycles(1)), Ns(-499_000_000));
    }

    #[test]
    fn conversion_is_that_of_a_double() {
        let random = &mut testkit::Random::new(1);
        for _ in 0..20_000 {
            let mut clock = Clock::new("c".into());
            clock.frequency_hz = (random.word() >> random.below(64)).max(1);
            let clock = clock.finish();
            for cycles in [random.word() >> random.below(64), 1 << 63, (1 << 63) - 1, u64::MAX] {
                let wanted = (1e9 * cycles as f64 / clock.frequency_hz as f64) as u64;
                let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
                assert_eq!(clock.ns(Cycles(cycles)), Ns(wanted), "{cycles} {clock:?}");
            }
        }
    }

    #[test]
    fn conversion_saturates_at_both_ends() {
        let mut clock = Clock::new("c".into());
        clock.frequency_hz = 1;
        clock.offset_s = i64::MAX;
        assert_eq!(clock.finish().ns(Cycles(u64::MAX)), Ns(i64::MAX));
    }
}
