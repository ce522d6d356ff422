// SPDX-License-Identifier: MIT
//! All tracks of a history from afar, in memory: a picture of a long span in the time that its
//! pixels take, not its intervals.
//!
//! Place in the flow: whoever draws a long trace again and again makes one in a pass over all
//! intervals (`overview` finds what took most of each cell) and asks it for spans whose pixels are
//! at least two cells wide; the history itself answers for shorter ones. There are levels: each
//! has a quarter of the cells of the one before, and is made of what that one shows, so that a span
//! costs two to eight cells for each pixel, whatever its length.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use trace::{Ns, Span};

use crate::error::Error;
use crate::history::History;
use crate::overview::{Drawn, Overview};
use crate::track::Track;
use crate::value::{Interval, Value};

/// Cells of the trace's time at the first level and at the last.
const MOST_CELLS: u32 = 1 << 16;
const LEAST_CELLS: u32 = 1 << 8;
/// Stretches of all tracks at one level: one that has more is left out.
const MOST_STRETCHES: usize = 1 << 22;
/// Stretches of a track that are kept as they come, before they are made small.
const BATCH: usize = 512;
/// Intervals up to which the history itself is quick.
const FEW_INTERVALS: u64 = 200_000;
/// Cells of a pixel, at least.
const CELLS_OF_PIXEL: i128 = 2;

/// A stretch of a track: an interval, or some that begin in one cell and are shown as the state
/// that took most of it. It begins and ends where cells do.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    first_cell: u32,
    end_cell: u32,
    value: u32,
    count: u32,
}

/// What a history looks like from afar.
#[derive(Debug, Default)]
pub struct Far {
    values: Vec<Value>,
    /// The one with most cells first.
    levels: Vec<Level>,
    /// Tracks of which the last state goes on at the end.
    going_on: BTreeSet<Track>,
}

/// The whole trace in so many cells.
#[derive(Debug)]
struct Level {
    /// Where cells begin, and where the last one ends.
    edges: Vec<i64>,
    tracks: BTreeMap<Track, Vec<Stretch>>,
}

impl Level {
    fn new((begin, end): (Ns, Ns), cells: u32) -> Self {
        let (begin, width) = (i128::from(begin.0), i128::from(end.0) - i128::from(begin.0));
        let edge = |cell| (begin + width * i128::from(cell) / i128::from(cells)) as i64;
        Self { edges: (0..=cells).map(edge).collect(), tracks: BTreeMap::new() }
    }

    /// The first cell that begins then, or later.
    fn cell(&self, at: Ns) -> u32 {
        self.edges.partition_point(|edge| *edge < at.0) as u32
    }

    fn edge(&self, cell: u32) -> Ns {
        Ns(self.edges.get(cell as usize).copied().unwrap_or(i64::MAX))
    }

    /// Whether so many parts of a span are wide enough to be drawn from this level.
    fn is_fine(&self, (from, until): (Ns, Ns), parts: u32) -> bool {
        let (Some(begin), Some(end)) = (self.edges.first(), self.edges.last()) else {
            return false;
        };
        let of_trace = i128::from(*end) - i128::from(*begin);
        let cells = self.edges.len() as i128 - 1;
        let width = i128::from(until.0) - i128::from(from.0);
        width * cells >= of_trace * CELLS_OF_PIXEL * i128::from(parts)
    }
}

/// A level that is being made.
struct Making {
    level: Level,
    cells: u32,
    stretches: usize,
    /// Of each track, the cell that is being filled.
    overviews: FxHashMap<Track, Overview>,
}

struct Maker {
    span: (Ns, Ns),
    most: usize,
    numbers: FxHashMap<Value, u32>,
    values: Vec<Value>,
    making: Vec<Making>,
}

impl Maker {
    fn new(span: (Ns, Ns), cells: u32, most: usize) -> Self {
        let quarters = std::iter::successors(Some(cells), |cells| Some(cells / 4));
        let making = quarters.take_while(|cells| *cells >= LEAST_CELLS).map(|cells| {
            let level = Level::new(span, cells);
            Making { level, cells, stretches: 0, overviews: FxHashMap::default() }
        });
        let (numbers, values) = Default::default();
        Self { span, most, numbers, values, making: making.collect() }
    }

    /// Adds a stretch to a level, and what that has settled to the levels after it.
    fn add(&mut self, at: usize, track: Track, interval: &Interval, count: u64) {
        let Some(making) = self.making.get_mut(at) else { return };
        let (span, cells) = (self.span, making.cells);
        let begun = || Overview::apart(span, cells);
        let overview = making.overviews.entry(track).or_insert_with(begun);
        overview.add(interval, count);
        if overview.waiting() > BATCH {
            let settled: Vec<Drawn> = overview.take_settled().collect();
            self.settle(at, track, &settled);
        }
    }

    fn settle(&mut self, at: usize, track: Track, settled: &[Drawn]) {
        self.keep(at, track, settled);
        for Drawn { interval, count } in settled {
            self.add(at + 1, track, interval, *count);
        }
    }

    /// Keeps what a level has settled, as long as it has room.
    fn keep(&mut self, at: usize, track: Track, settled: &[Drawn]) {
        let Self { numbers, values, making, most, .. } = self;
        let Some(Making { level, stretches, .. }) = making.get_mut(at) else { return };
        *stretches += settled.len();
        if *stretches > *most {
            level.tracks.clear();
            return;
        }
        let made = settled.iter().map(|Drawn { interval, count }| Stretch {
            first_cell: level.cell(interval.begin),
            end_cell: level.cell(interval.end),
            value: *numbers.entry(interval.value).or_insert_with(|| {
                values.push(interval.value);
                u32::try_from(values.len() - 1).unwrap_or(u32::MAX)
            }),
            count: u32::try_from(*count).unwrap_or(u32::MAX),
        });
        let made: Vec<Stretch> = made.collect();
        level.tracks.entry(track).or_default().extend(made);
    }

    /// The levels that had room, once every interval was added.
    fn finish(mut self) -> (Vec<Value>, Vec<Level>) {
        for at in 0..self.making.len() {
            let overviews = self.making.get_mut(at).map(|making| &mut making.overviews);
            for (track, overview) in overviews.map(std::mem::take).unwrap_or_default() {
                self.settle(at, track, &overview.finish());
            }
        }
        let fit = self.making.into_iter().filter(|making| making.stretches <= self.most);
        let mut levels: Vec<Level> = fit.map(|making| making.level).collect();
        let of_tracks = levels.iter_mut().flat_map(|level| level.tracks.values_mut());
        of_tracks.for_each(Vec::shrink_to_fit);
        (self.values, levels)
    }
}

impl Far {
    /// Reads all intervals. `None` of a history that needs no such thing.
    ///
    /// # Errors
    ///
    /// The index cannot be read, or is damaged.
    pub fn of(history: &History) -> Result<Option<Self>, Error> {
        if history.interval_count() < FEW_INTERVALS {
            return Ok(None);
        }
        Self::of_cells(history, MOST_CELLS, MOST_STRETCHES)
    }

    /// `None` if no level is left that has at most so many stretches.
    fn of_cells(history: &History, cells: u32, most: usize) -> Result<Option<Self>, Error> {
        let span = (history.begin(), Ns(history.end().0.saturating_add(1)));
        let mut maker = Maker::new(span, cells, most);
        let mut going_on = BTreeSet::new();
        history.visit(
            &Span { from: Some(span.0), until: Some(span.1) },
            |track| !track.kind.is_known_late(),
            |track, interval| {
                if interval.goes_on {
                    going_on.insert(track);
                }
                maker.add(0, track, &interval, 1);
            },
        )?;
        let (values, levels) = maker.finish();
        Ok((!levels.is_empty()).then_some(Self { values, levels, going_on }))
    }

    /// [`History::overview`] of a span whose parts are wide enough; `None` of any other.
    pub fn overview(
        &self,
        span: &Span,
        parts: u32,
        takes: impl Fn(&Track) -> bool,
    ) -> Option<BTreeMap<Track, Vec<Drawn>>> {
        let span = (span.from?, span.until?);
        let level = self.levels.iter().rfind(|level| level.is_fine(span, parts))?;
        let first_cell = level.cell(span.0);
        let mut found = BTreeMap::new();
        for (track, stretches) in level.tracks.iter().filter(|(track, _)| takes(track)) {
            let first = stretches.partition_point(|stretch| stretch.end_cell < first_cell);
            let goes_on = self.going_on.contains(track);
            let mut overview = Overview::new(span, parts);
            for (at, stretch) in stretches.iter().enumerate().skip(first) {
                let (begin, end) = (level.edge(stretch.first_cell), level.edge(stretch.end_cell));
                if begin >= span.1 {
                    break;
                }
                let Some(value) = self.values.get(stretch.value as usize).copied() else {
                    continue;
                };
                let goes_on = goes_on && at + 1 == stretches.len();
                overview.add(&Interval { begin, end, goes_on, value }, stretch.count.into());
            }
            let drawn = overview.finish();
            if !drawn.is_empty() {
                found.insert(*track, drawn);
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::program::{Number, Program, Who};
    use trace::Trace;

    const MAIN: Who = (10, 10, "server");

    /// Calls of 600 ns each microsecond, and one of 100 us after every thousand of them.
    fn history() -> History {
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
        let traces = [Trace::from_bytes(metadata.as_bytes(), files).unwrap()];
        History::open_or_build(&traces, |_| {}).unwrap()
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
            let seen = far.overview(&span, parts, |_| true).unwrap();
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
    fn spans_that_need_single_intervals_and_pictures_that_are_too_large_are_refused() {
        let history = history();
        let far = Far::of_cells(&history, 1 << 12, MOST_STRETCHES).unwrap().unwrap();
        let near = Span { from: Some(history.begin()), until: Some(Ns(history.begin().0 + 9000)) };
        assert!(far.overview(&near, 10, |_| true).is_none());
        assert!(far.overview(&Span::ALL, 10, |_| true).is_none());
        assert!(Far::of_cells(&history, 1 << 12, 100).unwrap().is_none());
        assert!(Far::of(&history).unwrap().is_none(), "a short one is read as it is");
    }
}
