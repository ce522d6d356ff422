// SPDX-License-Identifier: MIT
//! All tracks of a history from afar: a picture of a long span in the time that its pixels take,
//! not its intervals.
//!
//! Place in the flow: whoever draws a long trace asks it for spans whose pixels are at least two
//! cells wide; the history itself answers for shorter ones. There are levels: each has a quarter
//! of the cells of the one before, and is made of what that one shows, so that a span costs two to
//! eight cells for each pixel, whatever its length. `making` makes the levels while an index is
//! built; they lie in the index (`stored`), and each is read when it is first asked for.

mod making;
mod stored;
mod stretches;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use trace::{Ns, Span};

use crate::edges::{since, Edges};
use crate::error::Error;
use crate::history::History;
use crate::overview::{Drawn, Overview};
use crate::storage::Part;
use crate::track::Track;
use crate::value::{Interval, Value};
pub(crate) use making::{Made, Maker};
pub(crate) use stored::Stored;
use stretches::Stretches;

/// Cells of the trace's time at the first level and at the last.
const MOST_CELLS: u32 = 1 << 16;
const LEAST_CELLS: u32 = 1 << 8;
/// A level with at most so many is read ahead: it is what a screen's width of a whole trace needs.
const COARSE_CELLS: u32 = 1 << 12;
/// How many levels that makes.
const LEVELS: usize = 5;
/// Different values of a picture: one that has more is not made.
const MOST_VALUES: usize = 1 << 21;
/// Stretches of all tracks at one level: one that has more is left out.
const MOST_STRETCHES: usize = 1 << 25;
/// Intervals up to which the history itself is quick.
pub(crate) const FEW_INTERVALS: u64 = 200_000;
/// Cells of a pixel, at least.
const CELLS_OF_PIXEL: u128 = 2;

/// What a history looks like from afar.
#[derive(Debug)]
pub struct Far {
    /// The time that cells are parts of.
    span: (Ns, Ns),
    values: Vec<Value>,
    /// Tracks of which the last state goes on at the end.
    going_on: BTreeSet<Track>,
    /// The one with most cells first.
    levels: Vec<Level>,
}

/// The whole trace in so many cells.
#[derive(Debug)]
struct Level {
    cells: u32,
    parts: Vec<Part>,
    /// Nothing inside: it could not be read.
    read: OnceLock<Option<Stretches>>,
}

impl Level {
    /// Whether so many parts of a span are wide enough to be drawn from this level.
    fn is_fine(&self, of_all: (Ns, Ns), (from, until): (Ns, Ns), parts: u32) -> bool {
        let whole = u128::from(since(of_all.0, of_all.1));
        let width = u128::from(since(from, until));
        width * u128::from(self.cells) >= whole * CELLS_OF_PIXEL * u128::from(parts)
    }
}

impl Far {
    /// The picture of a history: from its index, or made in a pass over all intervals where the
    /// index has none. `None` of a history that needs no such thing.
    ///
    /// # Errors
    ///
    /// The index cannot be read, or is damaged.
    pub fn of(history: &History) -> Result<Option<Self>, Error> {
        match history.stored_far()? {
            Some(far) => Ok(Some(far)),
            None if history.interval_count() < FEW_INTERVALS => Ok(None),
            None => Self::of_cells(history, MOST_CELLS, MOST_STRETCHES),
        }
    }

    /// `None` if no level is left that has at most so many stretches.
    fn of_cells(history: &History, cells: u32, most: usize) -> Result<Option<Self>, Error> {
        let span = (history.begin(), Ns(history.end().0.saturating_add(1)));
        let mut maker = Maker::new(span, cells, most);
        let tracks = history.numbered();
        let numbers: HashMap<Track, u32> = tracks.iter().copied().zip(0..).collect();
        history.visit(
            &Span { from: Some(span.0), until: Some(span.1) },
            |track| !track.kind.is_known_late(),
            |track, interval| {
                if let Some(number) = numbers.get(&track) {
                    maker.add(*number, &interval);
                }
            },
        )?;
        Ok(maker.finish().map(|made| Self::of_made(made, tracks)))
    }

    /// Reads the levels that whole traces are drawn from, so that who looks first need not wait.
    pub fn read_ahead(&self, history: &History) {
        for level in self.levels.iter().filter(|level| level.cells <= COARSE_CELLS) {
            self.read(history, level);
        }
    }

    /// Reads the other levels, the coarser ones first: who looks closer needs one after the other.
    pub fn read_rest(&self, history: &History) {
        for level in self.levels.iter().rev() {
            self.read(history, level);
        }
    }

    /// [`History::overview`] of a span whose parts are wide enough; `None` of any other.
    pub fn overview(
        &self,
        history: &History,
        span: &Span,
        parts: u32,
        takes: impl Fn(&Track) -> bool,
    ) -> Option<BTreeMap<Track, Vec<Drawn>>> {
        let span = (span.from?, span.until?);
        let level = self.levels.iter().rfind(|level| level.is_fine(self.span, span, parts))?;
        let stretches = self.read(history, level)?;
        let cells = Edges::new(self.span, level.cells);
        let first_cell = cells.first_from(span.0) as u32;
        // What goes on does so up to the last event, which is in a cell.
        let last = Ns(history.end().0.saturating_add(1));
        let edges = Edges::new(span, parts);
        let mut found = BTreeMap::new();
        for (track, batches) in stretches.batches.iter().filter(|(track, _)| takes(track)) {
            let goes_on = self.going_on.contains(track);
            let mut overview = Overview::new(edges);
            let mut of_track = stretches.from(batches, first_cell).peekable();
            while let Some(stretch) = of_track.next() {
                let begin = cells.time_of(stretch.first_cell.into());
                if begin >= span.1 {
                    break;
                }
                let end = cells.time_of(stretch.end_cell.into()).min(last);
                let value = stretch.value;
                let goes_on = goes_on && of_track.peek().is_none();
                overview.add(&Interval { begin, end, goes_on, value }, stretch.count.into());
            }
            let drawn = overview.finish().into_iter();
            let drawn: Vec<Drawn> = drawn.filter_map(|drawn| self.with_value(drawn)).collect();
            if !drawn.is_empty() {
                found.insert(*track, drawn);
            }
        }
        Some(found)
    }

    /// A stretch with the value of which it has the number.
    fn with_value(&self, Drawn { interval, count }: Drawn<u32>) -> Option<Drawn> {
        let Interval { begin, end, goes_on, value } = interval;
        let value = *self.values.get(value as usize)?;
        Some(Drawn { interval: Interval { begin, end, goes_on, value }, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;
    use testkit::program::{Number, Program, Who};
    use trace::Trace;

    const MAIN: Who = (10, 10, "server");

    /// Calls of 600 ns each microsecond, and one of 100 us after every thousand of them.
    fn trace() -> [Trace; 1] {
        let mut program = Program::new();
        let mut at = 1_000_000;
        for round in 0..5000 {
            let length = if round % 1000 == 999 { 100_000 } else { 600 };
            let entry: (_, &[_]) = ("io:read_entry", &[("fd", Number(3))]);
            let exit: (_, &[_]) = ("io:read_exit", &[("result", Number(9))]);
            program.call((at, at + length), MAIN, entry, exit);
            at += length + 400;
        }
        program.event(at, 0, MAIN, "io:write_entry", &[("fd", Number(1))]);
        program.event(at + 900_000, 0, MAIN, "a:last", &[]);
        let (metadata, files) = program.files();
        [Trace::from_bytes(metadata.as_bytes(), files).unwrap()]
    }

    fn history() -> History {
        History::open_or_build(&trace(), |_| {}).unwrap()
    }

    fn count(of: &BTreeMap<Track, Vec<Drawn>>) -> u64 {
        of.values().flatten().map(|drawn| drawn.count).sum()
    }

    #[test]
    fn from_afar_a_pixel_that_one_state_fills_has_it_and_every_interval_is_counted() {
        let history = history();
        let far = Far::of_cells(&history, 1 << 12, MOST_STRETCHES).unwrap().unwrap();
        let span = Span { from: Some(history.begin()), until: Some(history.end()) };
        for parts in [1, 7, 300, 2000] {
            let near = history.overview(&span, parts, |_| true).unwrap();
            let seen = far.overview(&history, &span, parts, |_| true).unwrap();
            assert_eq!(count(&seen), count(&near), "{parts}");
            let tracks: Vec<_> = seen.keys().collect();
            assert_eq!(tracks, near.keys().collect::<Vec<_>>());
            let width = (history.end().0 - history.begin().0) / i64::from(parts);
            for (track, drawn) in &seen {
                assert!(drawn.len() <= parts as usize);
                let at = |time: i64, all: &[Drawn]| {
                    let holds = |i: &Interval| i.begin.0 <= time && time < i.end.0;
                    all.iter().find(|d| holds(&d.interval)).map(|d| (d.interval.value, d.count))
                };
                for pixel in 0..i64::from(parts) {
                    let time = history.begin().0 + pixel * width + width / 2;
                    let Some((value, 1)) = at(time, &near[track]) else { continue };
                    let shown = at(time, drawn).map(|(value, _)| value);
                    assert_eq!(shown, Some(value), "{track:?} {pixel}");
                }
                let goes_on = |all: &[Drawn]| all.last().unwrap().interval.goes_on;
                assert_eq!(goes_on(drawn), goes_on(&near[track]), "{track:?}");
            }
        }
    }

    #[test]
    fn picture_that_is_stored_is_the_one_that_was_made() {
        let bounds = Bounds { far: 0, segment: 1000, ..Bounds::default() };
        let history = History::spoilt(&trace(), bounds, &mut |_| {}).unwrap();
        let stored = Far::of(&history).unwrap().unwrap();
        let made = Far::of_cells(&history, MOST_CELLS, MOST_STRETCHES).unwrap().unwrap();
        assert!(stored.levels.len() > 2 && !stored.going_on.is_empty());
        assert_eq!(stored.going_on, made.going_on);
        let span = Span { from: Some(history.begin()), until: Some(history.end()) };
        for parts in [1, 9, 70, 600, 5000] {
            let seen = stored.overview(&history, &span, parts, |_| true).unwrap();
            assert_eq!(seen, made.overview(&history, &span, parts, |_| true).unwrap(), "{parts}");
        }
        let none = Bounds { far: u64::MAX, ..bounds };
        let without = History::spoilt(&trace(), none, &mut |_| {}).unwrap();
        assert!(Far::of(&without).unwrap().is_none(), "a short one is read as it is");
    }

    #[test]
    fn spans_that_need_single_intervals_and_pictures_that_are_too_large_are_refused() {
        let history = history();
        let far = Far::of_cells(&history, 1 << 12, MOST_STRETCHES).unwrap().unwrap();
        let near = Span { from: Some(history.begin()), until: Some(Ns(history.begin().0 + 9000)) };
        assert!(far.overview(&history, &near, 10, |_| true).is_none());
        assert!(far.overview(&history, &Span::ALL, 10, |_| true).is_none());
        assert!(Far::of_cells(&history, 1 << 12, 100).unwrap().is_none());
        assert!(Far::of(&history).unwrap().is_none(), "a short one is read as it is");
    }
}
