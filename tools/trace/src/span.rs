// SPDX-License-Identifier: MIT
//! Stretches of time, and what they are on a stream's own clock.
//!
//! Place in the flow: readers name a [`Span`] in nanoseconds; the merge turns it into a [`Window`]
//! of clock values for each stream, because comparing those costs one subtraction per event.

use crate::clock::Clock;
use crate::units::{Cycles, Ns};

/// From `from` on, and before `until`; without one of them, from the beginning or to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub from: Option<Ns>,
    pub until: Option<Ns>,
}

impl Span {
    /// All of a trace, events of streams without a clock included.
    pub const ALL: Span = Span { from: None, until: None };

    /// No time at all.
    pub(crate) const NOTHING: Span = Span { from: Some(Ns(0)), until: Some(Ns(0)) };

    /// What a stream's clock reads in the span; `None` where it never reads such a value, and in a
    /// stream without a clock, unless the span is everything.
    pub(crate) fn window(&self, clock: Option<&Clock>) -> Option<Window> {
        if *self == Self::ALL {
            return Some(Window::ALL);
        }
        let clock = clock?;
        let first = self.from.map_or(Some(0), |from| first_at(clock, from))?;
        let last = match self.until.map(|until| first_at(clock, until)) {
            Some(Some(after)) => after.checked_sub(1)?,
            None | Some(None) => u64::MAX,
        };
        let width = last.checked_sub(first)?;
        Some(Window { first, width })
    }
}

/// The smallest clock value that is not before a time: conversion never runs backwards.
fn first_at(clock: &Clock, ns: Ns) -> Option<u64> {
    if clock.ns(Cycles(u64::MAX)) < ns {
        return None;
    }
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if clock.ns(Cycles(middle)) < ns {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// Clock values from `first` to `first + width`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub first: u64,
    pub width: u64,
}

impl Window {
    pub const ALL: Window = Window { first: 0, width: u64::MAX };

    #[inline(always)]
    pub fn contains(&self, cycles: u64) -> bool {
        cycles.wrapping_sub(self.first) <= self.width
    }

    pub fn last(&self) -> u64 {
        self.first.saturating_add(self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(frequency_hz: u64, offset_s: i64) -> Clock {
        let mut clock = Clock::new("c".into());
        clock.frequency_hz = frequency_hz;
        clock.offset_s = offset_s;
        clock.finish()
    }

    fn span(from: impl Into<Option<i64>>, until: impl Into<Option<i64>>) -> Span {
        Span { from: from.into().map(Ns), until: until.into().map(Ns) }
    }

    #[test]
    fn window_has_exactly_the_clock_values_whose_times_are_in_the_span() {
        for (frequency_hz, offset_s) in [(1_000_000_000, 0), (1000, 2), (3_000_000_007, -1)] {
            let clock = clock(frequency_hz, offset_s);
            for (from, until) in [(0, 1), (1_999_999_999, 2_000_000_001), (-5, 3_000_000_000)] {
                let Some(window) = span(from, until).window(Some(&clock)) else {
                    let inside =
                        (0..100).filter(|c| (from..until).contains(&clock.ns(Cycles(*c)).0));
                    assert_eq!(inside.count(), 0);
                    continue;
                };
                for at in [window.first, window.last()] {
                    for cycles in at.saturating_sub(3)..at + 3 {
                        let is_inside = (from..until).contains(&clock.ns(Cycles(cycles)).0);
                        assert_eq!(window.contains(cycles), is_inside, "{frequency_hz} {cycles}");
                    }
                }
            }
        }
    }

    #[test]
    fn open_ends_reach_to_both_ends_of_the_clock_and_no_clock_is_in_no_span() {
        let clock = clock(1000, 10);
        assert_eq!(span(None, None).window(None), Some(Window::ALL));
        assert_eq!(span(0, None).window(Some(&clock)), Some(Window::ALL));
        assert_eq!(span(None, 0).window(Some(&clock)), None);
        assert_eq!(span(5, 5).window(Some(&clock)), None);
        assert_eq!(span(0, None).window(None), None);
        let last = span(None, i64::MAX).window(Some(&clock)).map(|window| window.first);
        assert_eq!(last, Some(0));
    }
}
