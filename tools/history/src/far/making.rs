// SPDX-License-Identifier: MIT
//! The levels of a picture from afar in the making: each from what the one before has settled.
//!
//! Place in the flow: whoever has a history's intervals adds them, of each track in the order of
//! time; what a level has settled is written at once (`stretches` has the bytes), so that memory is
//! that of the bytes and of a few stretches for each track.

use rustc_hash::FxHashMap;
use trace::Ns;

use super::stretches::{self, Stretch};
use super::{LEAST_CELLS, MOST_CELLS, MOST_STRETCHES, MOST_VALUES};
use crate::coding::Writer;
use crate::edges::Edges;
use crate::overview::{Drawn, Overview};
use crate::value::{Interval, Value};

/// Stretches of a track that wait to be written together.
const BATCH: usize = 32;
/// A part is begun anew when it is so long.
const PART_BYTES: usize = 1 << 20;

/// A level that is being made.
struct Making {
    cells: u32,
    edges: Edges,
    stretches: usize,
    /// Of each track, by number, the cell that is being filled and what waits.
    overviews: FxHashMap<u32, Overview>,
    writer: Writer,
    parts: Vec<Vec<u8>>,
}

pub(crate) struct Maker {
    span: (Ns, Ns),
    most: usize,
    numbers: FxHashMap<Value, u32>,
    values: Vec<Value>,
    going_on: Vec<u32>,
    levels: Vec<Making>,
}

/// The levels that had room.
pub(crate) struct Made {
    pub span: (Ns, Ns),
    pub values: Vec<Value>,
    /// Numbers of tracks of which the last state goes on.
    pub going_on: Vec<u32>,
    /// Cells, and the level's bytes.
    pub levels: Vec<(u32, Vec<Vec<u8>>)>,
}

impl Maker {
    /// One of all levels that a picture has.
    pub fn of(span: (Ns, Ns)) -> Self {
        Self::new(span, MOST_CELLS, MOST_STRETCHES)
    }

    /// `most`: stretches of a level.
    pub fn new(span: (Ns, Ns), cells: u32, most: usize) -> Self {
        let quarters = std::iter::successors(Some(cells), |cells| Some(cells / 4));
        let levels = quarters.take_while(|cells| *cells >= LEAST_CELLS).map(|cells| {
            let (overviews, writer, parts) = Default::default();
            let edges = Edges::new(span, cells);
            Making { cells, edges, stretches: 0, overviews, writer, parts }
        });
        let (numbers, values, going_on) = Default::default();
        Self { span, most, numbers, values, going_on, levels: levels.collect() }
    }

    /// Adds an interval of a track, which begins where the one before ended, or later.
    pub fn add(&mut self, track: u32, interval: &Interval) {
        if interval.goes_on {
            self.going_on.push(track);
        }
        if self.values.len() > MOST_VALUES {
            self.levels.clear();
        }
        self.add_to(0, track, interval, 1);
    }

    /// Adds a stretch to a level, and what that has settled to the levels after it.
    fn add_to(&mut self, at: usize, track: u32, interval: &Interval, count: u64) {
        let Some(making) = self.levels.get_mut(at) else { return };
        let begun = || Overview::apart(making.edges);
        let overview = making.overviews.entry(track).or_insert_with(begun);
        overview.add(interval, count);
        if overview.waiting() > BATCH {
            let settled: Vec<Drawn> = overview.take_settled().collect();
            self.settle(at, track, &settled);
        }
    }

    fn settle(&mut self, at: usize, track: u32, settled: &[Drawn]) {
        self.keep(at, track, settled);
        for Drawn { interval, count } in settled {
            self.add_to(at + 1, track, interval, *count);
        }
    }

    /// Writes what a level has settled, as long as it has room.
    fn keep(&mut self, at: usize, track: u32, settled: &[Drawn]) {
        let Self { numbers, values, levels, most, .. } = self;
        let Some(making) = levels.get_mut(at) else { return };
        making.stretches += settled.len();
        if making.stretches > *most {
            (making.writer, making.parts) = Default::default();
            return;
        }
        let edges = making.edges;
        let batch = settled.iter().map(|Drawn { interval, count }| Stretch {
            first_cell: edges.first_from(interval.begin) as u32,
            end_cell: edges.first_from(interval.end) as u32,
            value: *numbers.entry(interval.value).or_insert_with(|| {
                values.push(interval.value);
                u32::try_from(values.len() - 1).unwrap_or(u32::MAX)
            }),
            count: u32::try_from(*count).unwrap_or(u32::MAX),
        });
        making.writer.number(track.into());
        stretches::write(&mut making.writer, batch);
        if making.writer.bytes.len() >= PART_BYTES {
            making.parts.push(std::mem::take(&mut making.writer.bytes));
        }
    }

    /// The levels that had room, once every interval was added; `None` if none had.
    pub fn finish(mut self) -> Option<Made> {
        for at in 0..self.levels.len() {
            let overviews = self.levels.get_mut(at).map(|making| &mut making.overviews);
            for (track, overview) in overviews.map(std::mem::take).unwrap_or_default() {
                self.settle(at, track, &overview.finish());
            }
        }
        let Self { span, values, going_on, levels, most, .. } = self;
        let fit = levels.into_iter().filter(|making| making.stretches <= most);
        let levels: Vec<_> = fit
            .map(|Making { cells, writer, mut parts, .. }| {
                parts.extend(Some(writer.bytes).filter(|bytes| !bytes.is_empty()));
                (cells, parts)
            })
            .collect();
        let has_room = !levels.is_empty() && values.len() <= MOST_VALUES;
        has_room.then_some(Made { span, values, going_on, levels })
    }
}
