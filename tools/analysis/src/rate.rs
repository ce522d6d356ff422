// SPDX-License-Identifier: MIT
//! How many events there were when.
//!
//! Place in the flow: each counted event goes into a bin of time. The length of the trace is not
//! known beforehand, so bins start narrow, and each time the trace outgrows them, neighbours are
//! added up and bins are twice as wide.

use serde::Serialize;
use trace::Ns;

const BINS: usize = 512;
/// The width of the first bins: about a microsecond.
const FIRST_SHIFT: u32 = 10;

#[derive(Debug)]
pub(crate) struct Rate {
    begin: Option<Ns>,
    /// Bins are `1 << shift` nanoseconds wide.
    shift: u32,
    last: usize,
    bins: Vec<u64>,
}

/// Events in equal pieces of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RateReport {
    pub begin_ns: i64,
    pub bin_ns: u64,
    pub events: Vec<u64>,
}

impl Rate {
    pub fn new() -> Self {
        Self { begin: None, shift: FIRST_SHIFT, last: 0, bins: vec![0; BINS] }
    }

    /// The trace has come to a time; the first one is where bins begin.
    #[inline]
    pub fn reach(&mut self, at: Ns) {
        self.begin.get_or_insert(at);
    }

    #[inline]
    pub fn event(&mut self, at: Ns) {
        let begin = *self.begin.get_or_insert(at);
        // Time runs backwards in damaged traces only; such events count where the trace begins.
        let since_ns = u64::try_from(at.0.saturating_sub(begin.0)).unwrap_or(0);
        let mut bin = since_ns >> self.shift;
        if bin >= BINS as u64 {
            bin = self.widen(since_ns);
        }
        let bin = bin as usize;
        if let Some(count) = self.bins.get_mut(bin) {
            *count += 1;
            self.last = self.last.max(bin);
        }
    }

    /// Doubles the width, at most 54 times, until the time fits; gives the bin.
    #[cold]
    fn widen(&mut self, since_ns: u64) -> u64 {
        while since_ns >> self.shift >= BINS as u64 {
            for i in 0..BINS / 2 {
                self.bins[i] = self.bins[2 * i] + self.bins[2 * i + 1];
            }
            self.bins[BINS / 2..].fill(0);
            self.shift += 1;
            self.last /= 2;
        }
        since_ns >> self.shift
    }

    pub fn finish(mut self) -> RateReport {
        let Some(begin) = self.begin else { return RateReport::default() };
        self.bins.truncate(self.last + 1);
        RateReport { begin_ns: begin.0, bin_ns: 1 << self.shift, events: self.bins }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rate, BINS};
    use trace::Ns;

    #[test]
    fn bins_widen_until_the_trace_fits_and_no_event_is_dropped() {
        let mut rate = Rate::new();
        rate.reach(Ns(5_000_000));
        for i in 0..10_000 {
            rate.event(Ns(5_000_000 + i * 1000));
        }
        let report = rate.finish();
        assert_eq!(report.events.iter().sum::<u64>(), 10_000);
        assert_eq!((report.begin_ns, report.bin_ns), (5_000_000, 1 << 15));
        assert!(report.events.len() > BINS / 2);
        let inner = &report.events[..report.events.len() - 1];
        assert!(inner.iter().all(|count| (32..=33).contains(count)), "{inner:?}");
    }

    #[test]
    fn times_at_both_ends_of_the_scale_and_backwards_are_counted() {
        let mut rate = Rate::new();
        for at in [i64::MIN, i64::MAX, 0, i64::MIN] {
            rate.event(Ns(at));
        }
        assert_eq!(rate.finish().events.iter().sum::<u64>(), 4);
    }

    #[test]
    fn no_events_give_no_bins() {
        assert!(Rate::new().finish().events.is_empty());
    }
}
