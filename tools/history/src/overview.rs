// SPDX-License-Identifier: MIT
//! What a track looks like from afar: in each part of a span, the state that took most of it.
//!
//! Place in the flow: `history` adds a track's intervals in the order of time. Only the part that
//! is being filled is remembered with all of its states, so that the work is that of reading them.

use crate::edges::{since, Edges};
use crate::value::{Interval, Value};

/// States of one part that are told apart; the time of further ones counts for none.
const STATES: usize = 32;
/// An interval that fills so many parts is drawn by itself, also beside others of its state.
const WIDE: u64 = 4;

/// A stretch of pixels in which one state takes most of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn<V = Value> {
    /// The state, and the stretch: its edges are those of pixels.
    pub interval: Interval<V>,
    /// How many intervals of that state begin in it, or reach into the span there: more than one,
    /// and it is no single interval. At least 1.
    pub count: u64,
}

/// Times within are those since the span's begin.
pub(crate) struct Overview<V = Value> {
    edges: Edges,
    /// The part that is being filled, and when it ends.
    part: u64,
    edge: u64,
    /// Of the part that is being filled: how long each state took, and in how many intervals.
    shares: Vec<(V, u64, u64)>,
    drawn: Vec<Drawn<V>>,
    /// Whether the last that is drawn is one wide interval.
    is_wide: bool,
    /// The state that had not ended when the trace did, once it was added: no other follows it.
    going_on: Option<V>,
    /// Whether neighbours of one state are drawn as one, whatever their intervals.
    joins: bool,
}

impl<V: Copy + PartialEq> Overview<V> {
    pub fn new(edges: Edges) -> Self {
        let mut overview = Self {
            edges,
            part: 0,
            edge: 0,
            shares: Vec::new(),
            drawn: Vec::new(),
            is_wide: false,
            going_on: None,
            joins: true,
        };
        overview.fill(0);
        overview
    }

    /// The same, in which a stretch of several parts is one interval.
    pub fn apart(edges: Edges) -> Self {
        Self { joins: false, ..Self::new(edges) }
    }

    /// How many stretches have not been taken.
    pub fn waiting(&self) -> usize {
        self.drawn.len()
    }

    /// Gives what will not change any more.
    pub fn take_settled(&mut self) -> impl Iterator<Item = Drawn<V>> + '_ {
        let settled = self.drawn.len().saturating_sub(1);
        self.drawn.drain(..settled)
    }

    /// Adds an interval that begins where the one before ended, or later; or a stretch in which
    /// that many intervals begin.
    pub fn add(&mut self, interval: &Interval<V>, mut count: u64) {
        let (from, width) = (self.edges.from, self.edges.width);
        let mut at = since(from, interval.begin);
        let until = since(from, interval.end).min(width);
        if interval.end < from || at > until || at == width {
            return;
        }
        if interval.goes_on {
            self.going_on = Some(interval.value);
        }
        if until < self.edge {
            // Most intervals lie in the part that is being filled, and need no division.
            return self.share(interval.value, until - at, count);
        }
        let (is_one, begin) = (count == 1, at);
        // It is counted in the part where it is met first.
        if at == until {
            // What takes no time counts as little as anything can.
            self.reach(self.edges.part_at(at));
            self.share(interval.value, 0, count);
        }
        while at < until {
            let part = self.edges.part_at(at);
            self.reach(part);
            let edge = self.edge.min(until);
            if at == self.edges.begin_of(part) && edge < until {
                // All of the parts that an interval fills are one.
                let last = self.edges.part_at(until);
                self.share(interval.value, edge - at, std::mem::take(&mut count));
                self.draw();
                let is_wide = is_one && last - part >= WIDE;
                if is_wide {
                    self.set_apart(interval.value, self.edges.part_at(begin), part);
                }
                self.extend(interval.value, part, last, 0);
                self.is_wide |= is_wide;
                self.fill(last);
                at = self.edges.begin_of(last);
            } else {
                self.share(interval.value, edge - at, std::mem::take(&mut count));
                at = edge;
            }
        }
    }

    fn share(&mut self, value: V, ns: u64, count: u64) {
        let has_space = self.shares.len() < STATES;
        match self.shares.iter_mut().find(|(known, ..)| *known == value) {
            Some((_, share, intervals)) => {
                *share = share.saturating_add(ns);
                *intervals = intervals.saturating_add(count);
            }
            None if has_space => self.shares.push((value, ns, count)),
            None => {}
        }
    }

    /// Goes on to a part.
    fn reach(&mut self, part: u64) {
        if part > self.part {
            self.draw();
            self.fill(part);
        }
    }

    fn fill(&mut self, part: u64) {
        self.part = part;
        self.edge = self.edges.begin_of(part + 1);
    }

    /// Draws the part that was filled.
    fn draw(&mut self) {
        let most = self.shares.iter().rev().max_by_key(|(_, share, _)| *share);
        if let Some((value, _, count)) = most.copied() {
            self.extend(value, self.part, self.part + 1, count);
        }
        self.shares.clear();
    }

    fn extend(&mut self, value: V, part: u64, until: u64, count: u64) {
        let (begin, end) = (self.edges.time_of(part), self.edges.time_of(until));
        match self.drawn.last_mut() {
            Some(Drawn { interval: last, count: all })
                if last.value == value
                    && last.end >= begin
                    && (count == 0 || self.joins && !self.is_wide) =>
            {
                last.end = last.end.max(end);
                *all = all.saturating_add(count);
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
    fn set_apart(&mut self, value: V, first: u64, part: u64) {
        let (first, begin) = (self.edges.time_of(first), self.edges.time_of(part));
        let Some(Drawn { interval: last, count }) = self.drawn.last_mut() else { return };
        if !self.joins || last.value != value || last.begin >= first {
            return;
        }
        last.end = begin;
        *count = count.saturating_sub(1).max(1);
        let interval = Interval { begin, end: begin, goes_on: false, value };
        self.drawn.push(Drawn { interval, count: 1 });
    }

    pub fn finish(mut self) -> Vec<Drawn<V>> {
        self.draw();
        if let Some(Drawn { interval: last, .. }) = self.drawn.last_mut() {
            last.goes_on = self.going_on == Some(last.value);
        }
        self.drawn
    }
}

#[cfg(test)]
mod tests {
    use trace::Ns;

    use super::*;

    fn drawn(parts: u32, intervals: &[(i64, i64, u32)]) -> Vec<(i64, i64, Value)> {
        let mut overview = Overview::new(Edges::new((Ns(0), Ns(100)), parts));
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
    fn a_state_that_goes_on_does_so_wherever_the_span_ends() {
        let drawn = |until: i64, parts| -> Vec<(i64, i64, bool)> {
            let mut overview = Overview::new(Edges::new((Ns(0), Ns(until)), parts));
            for (begin, end, value, goes_on) in [(5, 40, 1, false), (40, 80, 2, true)] {
                overview.add(&Interval { begin: Ns(begin), end: Ns(end), goes_on, value }, 1);
            }
            let of = |d: &Drawn<u32>| (d.interval.begin.0, d.interval.end.0, d.interval.goes_on);
            overview.finish().iter().map(of).collect()
        };
        for until in [60, 80, 81, 200] {
            let end = until.min(80);
            let wanted = [(5, 40, false), (40, end, true)];
            assert_eq!(drawn(until, until as u32), wanted, "until {until}");
        }
        assert_eq!(drawn(30, 30), [(5, 30, false)], "what goes on is not in the span");
        assert_eq!(drawn(1000, 10), [(0, 100, true)]);
        assert_eq!(drawn(70, 1), [(0, 70, false)], "the other took most of it");
    }

    #[test]
    fn a_stretch_says_how_many_intervals_it_stands_for() {
        let counts = |parts, intervals: &[(i64, i64)]| -> Vec<u64> {
            let mut overview = Overview::new(Edges::new((Ns(0), Ns(100)), parts));
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
            let mut overview = Overview::new(Edges::new((Ns(0), Ns(100)), 20));
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

    #[test]
    fn intervals_in_any_order_and_parts_without_a_nanosecond_come_to_an_end() {
        let random = &mut testkit::Random::new(7);
        for _ in 0..2000 {
            let (length, parts) = (1 + random.below(40) as i64, 1 + random.below(100) as u32);
            let mut overview = Overview::new(Edges::new((Ns(0), Ns(length)), parts));
            for value in 0..30_u32 {
                let begin = random.below(60) as i64 - 10;
                let end = Ns(begin + random.below(30) as i64 - 5);
                overview.add(&Interval { begin: Ns(begin), end, goes_on: false, value }, 1);
            }
            assert!(overview.finish().len() <= parts as usize);
        }
    }
}
