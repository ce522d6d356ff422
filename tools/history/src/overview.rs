// SPDX-License-Identifier: MIT
//! What a track looks like from afar: in each part of a span, the state that took most of it.
//!
//! Place in the flow: `history` adds a track's intervals in the order of time. Only the part that
//! is being filled is remembered with all of its states, so that the work is that of reading them.

use trace::Ns;

use crate::value::{Interval, Value};

/// States of one part that are told apart; the time of further ones counts for none.
const STATES: usize = 32;
/// An interval that fills so many parts is drawn by itself, also beside others of its state.
const WIDE: i128 = 4;

/// A stretch of pixels in which one state takes most of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// The state, and the stretch: its edges are those of pixels.
    pub interval: Interval,
    /// How many intervals of that state begin in it, or reach into the span there: more than one,
    /// and it is no single interval. At least 1.
    pub count: u64,
}

pub(crate) struct Overview {
    from: i128,
    width: i128,
    parts: i128,
    part: i128,
    /// When the part ends that is being filled.
    edge: i128,
    /// Of the part that is being filled: how long each state took, and in how many intervals.
    shares: Vec<(Value, i128, u64)>,
    drawn: Vec<Drawn>,
    /// Whether the last that is drawn is one wide interval.
    is_wide: bool,
    goes_on: bool,
    /// Whether neighbours of one state are drawn as one, whatever their intervals.
    joins: bool,
}

impl Overview {
    pub fn new((from, until): (Ns, Ns), parts: u32) -> Self {
        let mut overview = Self {
            from: from.0.into(),
            width: (i128::from(until.0) - i128::from(from.0)).max(1),
            parts: parts.max(1).into(),
            part: 0,
            edge: 0,
            shares: Vec::new(),
            drawn: Vec::new(),
            is_wide: false,
            goes_on: false,
            joins: true,
        };
        overview.fill(0);
        overview
    }

    /// The same, in which a stretch of several parts is one interval.
    pub fn apart(span: (Ns, Ns), parts: u32) -> Self {
        Self { joins: false, ..Self::new(span, parts) }
    }

    /// How many stretches have not been taken.
    pub fn waiting(&self) -> usize {
        self.drawn.len()
    }

    /// Gives what will not change any more.
    pub fn take_settled(&mut self) -> impl Iterator<Item = Drawn> + '_ {
        let settled = self.drawn.len().saturating_sub(1);
        self.drawn.drain(..settled)
    }

    /// When a part begins.
    fn begin_of(&self, part: i128) -> i128 {
        self.from + scaled(self.width, part, self.parts)
    }

    fn part_at(&self, at: i128) -> i128 {
        let part = scaled(at - self.from, self.parts, self.width);
        // Edges are rounded down: the time may be in the next.
        let part = if self.begin_of(part + 1) <= at { part + 1 } else { part };
        part.clamp(0, self.parts)
    }

    /// Adds an interval that begins where the one before ended, or later; or a stretch in which
    /// that many intervals begin.
    pub fn add(&mut self, interval: &Interval, mut count: u64) {
        let end = self.from + self.width;
        let mut at = i128::from(interval.begin.0).max(self.from);
        let until = i128::from(interval.end.0).min(end);
        if at <= until && until < self.edge {
            // Most intervals lie in the part that is being filled, and need no division.
            return self.share(interval.value, until - at, count);
        }
        let (is_one, begin) = (count == 1, at);
        self.goes_on |= interval.goes_on && until == end;
        // It is counted in the part where it is met first.
        if at == until && at < end {
            // What takes no time counts as little as anything can.
            self.reach(self.part_at(at));
            self.share(interval.value, 0, count);
        }
        while at < until {
            let part = self.part_at(at);
            self.reach(part);
            let edge = self.begin_of(part + 1).min(until);
            if at == self.begin_of(part) && edge < until {
                // All of the parts that an interval fills are one.
                let last = self.part_at(until);
                self.share(interval.value, edge - at, std::mem::take(&mut count));
                self.draw();
                let is_wide = is_one && last - part >= WIDE;
                if is_wide {
                    self.set_apart(interval.value, self.part_at(begin), part);
                }
                self.extend(interval.value, part, last, 0);
                self.is_wide |= is_wide;
                self.fill(last);
                at = self.begin_of(last);
            } else {
                self.share(interval.value, edge - at, std::mem::take(&mut count));
                at = edge;
            }
        }
    }

    fn share(&mut self, value: Value, ns: i128, count: u64) {
        let has_space = self.shares.len() < STATES;
        match self.shares.iter_mut().find(|(known, ..)| *known == value) {
            Some((_, share, intervals)) => {
                *share += ns;
                *intervals += count;
            }
            None if has_space => self.shares.push((value, ns, count)),
            None => {}
        }
    }

    /// Goes on to a part.
    fn reach(&mut self, part: i128) {
        if part > self.part {
            self.draw();
            self.fill(part);
        }
    }

    fn fill(&mut self, part: i128) {
        self.part = part;
        self.edge = self.begin_of(part + 1);
    }

    /// Draws the part that was filled.
    fn draw(&mut self) {
        let most = self.shares.iter().rev().max_by_key(|(_, share, _)| *share);
        if let Some((value, _, count)) = most.copied() {
            self.extend(value, self.part, self.part + 1, count);
        }
        self.shares.clear();
    }

    fn extend(&mut self, value: Value, part: i128, until: i128, count: u64) {
        let (begin, end) = (Ns(self.begin_of(part) as i64), Ns(self.begin_of(until) as i64));
        match self.drawn.last_mut() {
            Some(Drawn { interval: last, count: all })
                if last.value == value
                    && last.end >= begin
                    && (count == 0 || self.joins && !self.is_wide) =>
            {
                last.end = last.end.max(end);
                *all += count;
            }
            Some(Drawn { interval: last, .. }) if last.end > begin => {}
            _ => {
                let interval = Interval { begin, end, goes_on: false, value };
                self.drawn.push(Drawn { interval, count: count.max(1) });
                self.is_wide = false;
            }
        }
    }

    /// Of a wide interval that begins in part `first` and fills those from `part` on: takes it out
    /// of the stretch of others, which was drawn up to there, and begins one of its own.
    fn set_apart(&mut self, value: Value, first: i128, part: i128) {
        let (first, begin) = (Ns(self.begin_of(first) as i64), Ns(self.begin_of(part) as i64));
        let Some(Drawn { interval: last, count }) = self.drawn.last_mut() else { return };
        if !self.joins || last.value != value || last.begin >= first {
            return;
        }
        last.end = begin;
        *count = count.saturating_sub(1).max(1);
        let interval = Interval { begin, end: begin, goes_on: false, value };
        self.drawn.push(Drawn { interval, count: 1 });
    }

    pub fn finish(mut self) -> Vec<Drawn> {
        self.draw();
        if let Some(Drawn { interval: last, .. }) = self.drawn.last_mut() {
            last.goes_on = self.goes_on && i128::from(last.end.0) == self.from + self.width;
        }
        self.drawn
    }
}

/// `value * by / of`, where nearly all products have 64 bits: dividing those takes the processor
/// one instruction, and a wider one a call.
pub(crate) fn scaled(value: i128, by: i128, of: i128) -> i128 {
    let product = value * by;
    match (u64::try_from(product), u64::try_from(of)) {
        (Ok(product), Ok(of)) => (product / of).into(),
        _ => product / of,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_more_than_64_bits_is_divided_as_others_are() {
        assert_eq!(scaled(7, 3, 2), 10);
        assert_eq!(scaled(1 << 60, 1 << 13, 1 << 12), 1 << 61);
        assert_eq!(scaled(-7, 3, 2), -10);
    }

    fn drawn(parts: u32, intervals: &[(i64, i64, u32)]) -> Vec<(i64, i64, Value)> {
        let mut overview = Overview::new((Ns(0), Ns(100)), parts);
        for (begin, end, cpu) in intervals {
            let (begin, end, value) = (Ns(*begin), Ns(*end), Value::Running(*cpu));
            overview.add(&Interval { begin, end, goes_on: false, value }, 1);
        }
        overview
            .finish()
            .iter()
            .map(|d| (d.interval.begin.0, d.interval.end.0, d.interval.value))
            .collect()
    }

    #[test]
    fn each_part_shows_the_state_that_took_most_of_it_and_equal_ones_are_one() {
        let (one, two) = (Value::Running(1), Value::Running(2));
        assert_eq!(drawn(10, &[(0, 100, 1)]), [(0, 100, one)]);
        assert_eq!(drawn(10, &[(0, 6, 1), (6, 10, 2), (10, 30, 2)]), [(0, 10, one), (10, 30, two)]);
        let flicker: Vec<_> = (0..100).map(|at| (at, at + 1, u32::from(at % 3 == 0))).collect();
        assert_eq!(drawn(5, &flicker), [(0, 100, Value::Running(0))]);
        assert_eq!(
            drawn(10, &[(-50, 15, 1), (17, 18, 2), (95, 500, 2)]),
            [(0, 20, one), (90, 100, two)]
        );
        assert_eq!(drawn(10, &[(5, 5, 2)]), [(0, 10, two)]);
        assert_eq!(drawn(10, &[(12, 24, 1), (24, 71, 2)]), [(10, 20, one), (20, 80, two)]);
    }

    #[test]
    fn a_stretch_says_how_many_intervals_it_stands_for() {
        let counts = |parts, intervals: &[(i64, i64)]| -> Vec<u64> {
            let mut overview = Overview::new((Ns(0), Ns(100)), parts);
            for (begin, end) in intervals {
                let (begin, end, value) = (Ns(*begin), Ns(*end), Value::Running(1));
                overview.add(&Interval { begin, end, goes_on: false, value }, 1);
            }
            overview.finish().iter().map(|drawn| drawn.count).collect()
        };
        assert_eq!(counts(10, &[(-50, 15), (20, 21)]), [2]);
        assert_eq!(counts(10, &[(-50, 75), (80, 81)]), [1, 1], "the first is wide");
        assert_eq!(counts(10, &[(3, 48), (60, 97)]), [1, 1]);
        let many: Vec<(i64, i64)> = (0..50).map(|at| (2 * at, 2 * at + 1)).collect();
        assert_eq!(counts(10, &many), [50]);
    }

    #[test]
    fn a_wide_interval_is_drawn_by_itself_beside_others_of_its_state() {
        let drawn = |intervals: &[(i64, i64)]| -> Vec<(i64, i64, u64)> {
            let mut overview = Overview::new((Ns(0), Ns(100)), 20);
            for (begin, end) in intervals {
                let (begin, end, value) = (Ns(*begin), Ns(*end), Value::Running(1));
                overview.add(&Interval { begin, end, goes_on: false, value }, 1);
            }
            let of = |d: &Drawn| (d.interval.begin.0, d.interval.end.0, d.count);
            overview.finish().iter().map(of).collect()
        };
        assert_eq!(
            drawn(&[(-9, 42), (42, 81), (82, 100)]),
            [(0, 40, 1), (40, 80, 1), (80, 100, 1)]
        );
        // Narrow ones before and behind it are one stretch each.
        let narrow = |from: i64| (0..4).map(move |n| (from + 2 * n, from + 2 * n + 1));
        let all = narrow(1).chain([(10, 50)]).chain(narrow(51)).collect::<Vec<_>>();
        assert_eq!(drawn(&all), [(0, 10, 4), (10, 50, 1), (50, 60, 4)]);
        let all = narrow(1).chain([(9, 48)]).chain(narrow(49)).collect::<Vec<_>>();
        assert_eq!(drawn(&all), [(0, 10, 4), (10, 45, 1), (45, 60, 4)]);
    }

    #[test]
    fn no_more_is_drawn_than_parts_and_in_the_order_of_time() {
        let random = &mut testkit::Random::new(5);
        for parts in [1, 2, 3, 7, 33, 100, 1000] {
            let mut at = -20;
            let mut intervals = Vec::new();
            while at < 130 {
                let begin = at + random.below(3) as i64;
                at = begin + random.below(9) as i64;
                intervals.push((begin, at, random.below(3) as u32));
            }
            let drawn = drawn(parts, &intervals);
            assert!(drawn.len() <= parts as usize, "{parts}: {}", drawn.len());
            assert!(drawn.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{parts}: {drawn:?}");
        }
    }
}
