// SPDX-License-Identifier: MIT
//! All tracks of a history from afar, in memory: a picture of a whole trace in the time that its
//! pixels take, not its intervals.
//!
//! Place in the flow: whoever draws a long trace again and again makes one in a pass over all
//! intervals (`overview` finds what took most of each cell) and asks it for spans whose pixels are
//! at least two cells wide; the history itself answers for shorter ones.

use std::collections::{BTreeMap, HashMap};

use trace::{Ns, Span};

use crate::error::Error;
use crate::history::History;
use crate::overview::{Drawn, Overview};
use crate::track::Track;
use crate::value::{Interval, Value};

/// Cells of the trace's time, and stretches of all tracks: with more, there are fewer cells.
const MOST_CELLS: u32 = 1 << 14;
const LEAST_CELLS: u32 = 1 << 8;
const MOST_STRETCHES: usize = 1 << 22;
/// Stretches of a track that are kept as they come, before they are made small.
const BATCH: usize = 512;
/// Intervals up to which the history itself is quick.
const FEW_INTERVALS: u64 = 200_000;
/// Cells of a pixel, at least.
const CELLS_OF_PIXEL: i128 = 2;

/// A stretch of a track: an interval, or some that begin in one cell and are shown as the state
/// that took most of it.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    begin: Ns,
    end: Ns,
    value: u32,
    count: u32,
}

/// What a history looks like from afar.
#[derive(Debug, Default)]
pub struct Far {
    begin: i128,
    width: i128,
    cells: i128,
    values: Vec<Value>,
    /// By track: what it has, and whether the last of it goes on at the end.
    tracks: BTreeMap<Track, (Vec<Stretch>, bool)>,
}

#[derive(Default)]
struct Making {
    numbers: HashMap<Value, u32>,
    far: Far,
    stretches: usize,
}

impl Making {
    fn keep(&mut self, track: Track, drawn: impl Iterator<Item = Drawn>) {
        let Self { numbers, far, stretches } = self;
        let (kept, _) = far.tracks.entry(track).or_default();
        for Drawn { interval, count } in drawn {
            let value = *numbers.entry(interval.value).or_insert_with(|| {
                far.values.push(interval.value);
                u32::try_from(far.values.len() - 1).unwrap_or(u32::MAX)
            });
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            kept.push(Stretch { begin: interval.begin, end: interval.end, value, count });
            *stretches += 1;
        }
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
        let mut cells = MOST_CELLS;
        while cells >= LEAST_CELLS {
            if let Some(far) = Self::of_cells(history, cells, MOST_STRETCHES)? {
                return Ok(Some(far));
            }
            cells /= 4;
        }
        Ok(None)
    }

    /// `None` if there are more stretches than that.
    fn of_cells(history: &History, cells: u32, most: usize) -> Result<Option<Self>, Error> {
        let span = (history.begin(), Ns(history.end().0.saturating_add(1)));
        let mut making = Making::default();
        let mut overviews: BTreeMap<Track, Overview> = BTreeMap::new();
        history.visit(
            &Span { from: Some(span.0), until: Some(span.1) },
            |track| !track.kind.is_known_late(),
            |track, interval| {
                if making.stretches > most {
                    return;
                }
                let overview =
                    overviews.entry(track).or_insert_with(|| Overview::apart(span, cells));
                overview.add(&interval, 1);
                if interval.goes_on {
                    making.far.tracks.entry(track).or_default().1 = true;
                }
                if overview.waiting() > BATCH {
                    making.keep(track, overview.take_settled());
                }
            },
        )?;
        for (track, overview) in overviews {
            making.keep(track, overview.finish().into_iter());
        }
        if making.stretches > most {
            return Ok(None);
        }
        let mut far = making.far;
        far.begin = span.0 .0.into();
        far.width = i128::from(span.1 .0) - far.begin;
        far.cells = cells.into();
        Ok(Some(far))
    }

    /// [`History::overview`] of a span whose parts are wide enough; `None` of any other.
    pub fn overview(
        &self,
        span: &Span,
        parts: u32,
        takes: impl Fn(&Track) -> bool,
    ) -> Option<BTreeMap<Track, Vec<Drawn>>> {
        let (from, until) = (span.from?, span.until?);
        let width = i128::from(until.0) - i128::from(from.0);
        let is_wide = width * self.cells >= self.width * CELLS_OF_PIXEL * i128::from(parts);
        if !is_wide {
            return None;
        }
        let mut found = BTreeMap::new();
        for (track, (stretches, goes_on)) in self.tracks.iter().filter(|(track, _)| takes(track)) {
            let first = stretches.partition_point(|stretch| stretch.end < from);
            let mut overview = Overview::new((from, until), parts);
            for (at, stretch) in stretches.iter().enumerate().skip(first) {
                let Stretch { begin, end, value, count } = *stretch;
                if begin >= until {
                    break;
                }
                let Some(value) = self.values.get(value as usize).copied() else { continue };
                let goes_on = *goes_on && at + 1 == stretches.len();
                overview.add(&Interval { begin, end, goes_on, value }, count.into());
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
