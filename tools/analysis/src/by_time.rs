// SPDX-License-Identifier: MIT
//! Sums in equal windows of time, over a trace whose length is not known beforehand.
//!
//! Place in the flow: windows start narrow; each time the trace outgrows them, neighbours are added
//! up and windows are twice as wide, in all rows alike. So the memory is fixed.

use trace::Ns;

/// Windows, at most.
pub(crate) const WINDOWS: usize = 256;
/// The width of the first windows: about a microsecond.
const FIRST_SHIFT: u32 = 10;

/// What was added in a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub count: u64,
    pub sum: u64,
}

/// The windows of one row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    shift: u32,
    windows: Vec<Window>,
}

/// Where windows begin and how wide they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    begin: Option<Ns>,
    shift: u32,
}

impl Scale {
    pub fn new() -> Self {
        Self { begin: None, shift: FIRST_SHIFT }
    }

    /// The trace has come to a time. The first one is where windows begin.
    pub fn reach(&mut self, at: Ns) {
        let begin = *self.begin.get_or_insert(at);
        // Bound: 56 doublings hold any time.
        while since(begin, at) >> self.shift >= WINDOWS as u64 {
            self.shift += 1;
        }
    }

    /// Windows are at least so wide.
    pub fn widen_to(&mut self, width_ns: u64) {
        self.shift = self.shift.max(width_ns.checked_ilog2().unwrap_or(0));
    }

    pub fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    /// When a window begins.
    pub fn begin_of(&self, window: usize) -> Ns {
        let begin = self.begin.unwrap_or(Ns(0)).0;
        Ns(begin.saturating_add((window as i64).saturating_mul(1 << self.shift)))
    }

    /// The window of a time that was reached.
    pub fn window(&self, at: Ns) -> usize {
        (since(self.begin.unwrap_or(at), at) >> self.shift) as usize
    }
}

fn since(begin: Ns, at: Ns) -> u64 {
    // Time runs backwards in damaged traces only; such events count where the trace begins.
    u64::try_from(at.0.saturating_sub(begin.0)).unwrap_or(0)
}

impl Series {
    /// Adds to the window of a time that the scale has reached.
    pub fn add(&mut self, scale: &Scale, at: Ns, value: u64) {
        self.rescale(scale);
        let window = scale.window(at).min(WINDOWS - 1);
        if self.windows.len() <= window {
            self.windows.resize(window + 1, Window::default());
        }
        if let Some(window) = self.windows.get_mut(window) {
            window.count += 1;
            window.sum = window.sum.saturating_add(value);
        }
    }

    fn rescale(&mut self, scale: &Scale) {
        if self.windows.is_empty() {
            self.shift = scale.shift;
        }
        while self.shift < scale.shift {
            let joined = self.windows.chunks(2).map(|pair| Window {
                count: pair.iter().map(|window| window.count).sum(),
                sum: pair.iter().fold(0, |sum, window| sum.saturating_add(window.sum)),
            });
            self.windows = joined.collect();
            self.shift += 1;
        }
    }

    /// The first windows of the scale, empty ones too.
    pub fn windows(&mut self, scale: &Scale, count: usize) -> &[Window] {
        self.rescale(scale);
        self.windows.resize(count.min(WINDOWS), Window::default());
        &self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_widen_until_the_trace_fits_and_nothing_is_dropped() {
        let (mut scale, mut early, mut late) = (Scale::new(), Series::default(), Series::default());
        for i in 0..100_000i64 {
            let at = Ns(5_000_000 + i * 100);
            scale.reach(at);
            if i < 100 { &mut early } else { &mut late }.add(&scale, at, 2);
        }
        let count = scale.window(Ns(5_000_000 + 99_999 * 100)) + 1;
        assert!((WINDOWS / 2..=WINDOWS).contains(&count), "{count}");
        let early = early.windows(&scale, count);
        assert_eq!(early[0], Window { count: 100, sum: 200 });
        let total: u64 = late.windows(&scale, count).iter().map(|window| window.count).sum();
        assert_eq!(total, 99_900);
        assert_eq!(scale.begin_of(2), Ns(5_000_000 + 2 * scale.width_ns() as i64));
    }

    #[test]
    fn times_at_both_ends_of_the_scale_and_backwards_are_counted() {
        let (mut scale, mut series) = (Scale::new(), Series::default());
        for at in [i64::MIN, i64::MAX, 0, i64::MIN] {
            scale.reach(Ns(at));
            series.add(&scale, Ns(at), 1);
        }
        let total: u64 = series.windows(&scale, WINDOWS).iter().map(|window| window.count).sum();
        assert_eq!(total, 4);
    }
}
