// SPDX-License-Identifier: MIT
//! A picture from afar as bytes, in an index or in memory.
//!
//! Place in the flow: `making` writes stretches, `history` puts them behind the segments of an
//! index that it has built, and the tail says where they lie. What is read may be any bytes: what
//! makes no sense is `None`, and stretches are bounded as those that are made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use trace::Ns;

use super::{
    Far, Level, Made, Stretch, LEAST_CELLS, LEVELS, MOST_CELLS, MOST_STRETCHES, MOST_VALUES,
};
use crate::coding::{Reader, Writer};
use crate::history::History;
use crate::storage::{Part, Sink, Storage};
use crate::track::Track;
use crate::value::Value;

/// Where a picture lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    span: (Ns, Ns),
    /// Values, and tracks whose last state goes on.
    values: Part,
    levels: Vec<(u32, Vec<Part>)>,
}

impl Stored {
    /// Says where it is, in the tail.
    pub fn write(&self, writer: &mut Writer) {
        writer.signed(self.span.0 .0);
        writer.signed(self.span.1 .0);
        writer.place(self.values);
        writer.number(self.levels.len() as u64);
        for (cells, parts) in &self.levels {
            writer.number((*cells).into());
            writer.number(parts.len() as u64);
            parts.iter().for_each(|part| writer.place(*part));
        }
    }

    pub fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let span = (Ns(reader.signed()?), Ns(reader.signed()?));
        let values = reader.place()?;
        let mut levels: Vec<(u32, Vec<Part>)> = Vec::new();
        for _ in 0..reader.count()? {
            let cells = reader.small()?;
            let is_next = levels.last().is_none_or(|(before, _)| cells < *before);
            let is_next = is_next && levels.len() < LEVELS;
            if !is_next || !(LEAST_CELLS..=MOST_CELLS).contains(&cells) {
                return None;
            }
            let count = reader.count()?;
            let parts = (0..count).map(|_| reader.place()).collect::<Option<Vec<_>>>()?;
            levels.push((cells, parts));
        }
        Some(Self { span, values, levels }).filter(|_| span.0 < span.1)
    }
}

impl Made {
    /// Writes it behind what an index has.
    pub fn store(&self, sink: &mut Sink<'_>) -> std::io::Result<Stored> {
        let mut writer = Writer::default();
        writer.number(self.values.len() as u64);
        self.values.iter().for_each(|value| writer.value(*value));
        writer.number(self.going_on.len() as u64);
        self.going_on.iter().for_each(|track| writer.number((*track).into()));
        let values = sink.part(&writer.bytes)?;
        let mut levels = Vec::new();
        for (cells, parts) in &self.levels {
            let parts = parts.iter().map(|part| sink.part(part));
            levels.push((*cells, parts.collect::<std::io::Result<Vec<_>>>()?));
        }
        Ok(Stored { span: self.span, values, levels })
    }
}

impl Far {
    /// One that is in memory. `tracks`: by the numbers that they were added with.
    pub(super) fn of_made(made: Made, tracks: &[Track]) -> Self {
        let Made { span, values, going_on, levels } = made;
        let track = |number: &u32| tracks.get(*number as usize).copied();
        let levels = levels.iter().map(|(cells, parts)| {
            let read = parse(parts.iter().map(Vec::as_slice), (*cells, values.len()), tracks);
            Level { cells: *cells, parts: Vec::new(), read: OnceLock::from(read) }
        });
        let levels = levels.collect();
        Self { span, values, going_on: going_on.iter().filter_map(track).collect(), levels }
    }

    /// One that is stored there; `None` if that is not as it was written.
    pub(crate) fn open(
        storage: &Storage,
        stored: &Stored,
        tracks: &[Track],
    ) -> std::io::Result<Option<Self>> {
        let Some(raw) = storage.part(stored.values)? else { return Ok(None) };
        let parsed = parse_values(&mut Reader::new(&raw), tracks);
        let levels = stored.levels.iter().map(|(cells, parts)| Level {
            cells: *cells,
            parts: parts.clone(),
            read: OnceLock::new(),
        });
        let levels = levels.collect();
        Ok(parsed.map(|(values, going_on)| Self { span: stored.span, values, going_on, levels }))
    }

    /// The stretches of a level, which are read once.
    pub(super) fn read<'f>(
        &self,
        history: &History,
        level: &'f Level,
    ) -> Option<&'f BTreeMap<Track, Vec<Stretch>>> {
        let read = || {
            let storage = history.storage();
            let raw = level.parts.iter().map(|part| storage.part(*part).ok().flatten());
            let raw = raw.collect::<Option<Vec<_>>>()?;
            let parts = raw.iter().map(Vec::as_slice);
            parse(parts, (level.cells, self.values.len()), history.numbered())
        };
        level.read.get_or_init(read).as_ref()
    }
}

/// How many, and of each: cells after the end of the one before, cells, value, count.
pub(super) fn write_stretches(
    writer: &mut Writer,
    stretches: impl ExactSizeIterator<Item = Stretch>,
) {
    writer.number(stretches.len() as u64);
    let mut at = 0;
    for Stretch { first_cell, end_cell, value, count } in stretches {
        writer.number(first_cell.saturating_sub(at).into());
        writer.number(end_cell.saturating_sub(first_cell).into());
        writer.number(value.into());
        writer.number(count.into());
        at = end_cell;
    }
}

/// The stretches of a level with so many cells, of so many values.
fn parse<'b>(
    parts: impl Iterator<Item = &'b [u8]>,
    (cells, values): (u32, usize),
    tracks: &[Track],
) -> Option<BTreeMap<Track, Vec<Stretch>>> {
    let mut found: BTreeMap<Track, Vec<Stretch>> = BTreeMap::new();
    let mut left = MOST_STRETCHES;
    for part in parts {
        let mut reader = Reader::new(part);
        while !reader.is_at_end() {
            let track = *tracks.get(reader.small()? as usize)?;
            let known = found.entry(track).or_default();
            parse_stretches(&mut reader, (cells, values), known, &mut left)?;
        }
    }
    found.values_mut().for_each(Vec::shrink_to_fit);
    Some(found)
}

fn parse_stretches(
    reader: &mut Reader<'_>,
    (cells, values): (u32, usize),
    known: &mut Vec<Stretch>,
    left: &mut usize,
) -> Option<()> {
    let count = usize::try_from(reader.number()?).ok()?;
    *left = left.checked_sub(count)?;
    let reached = known.last().map_or(0, |last| last.end_cell);
    let mut at: u32 = 0;
    for _ in 0..count {
        let first_cell = at.checked_add(reader.small()?).filter(|first| *first >= reached)?;
        let end_cell = first_cell.checked_add(reader.small()?).filter(|end| *end <= cells)?;
        let value = reader.small().filter(|value| (*value as usize) < values)?;
        let count = reader.small()?.max(1);
        known.push(Stretch { first_cell, end_cell, value, count });
        at = end_cell;
    }
    Some(())
}

fn parse_values(
    reader: &mut Reader<'_>,
    tracks: &[Track],
) -> Option<(Vec<Value>, BTreeSet<Track>)> {
    let count = reader.number().filter(|count| *count <= MOST_VALUES as u64)?;
    let values = (0..count).map(|_| reader.value()).collect::<Option<Vec<_>>>()?;
    let count = reader.count()?;
    let track = |number: u32| tracks.get(number as usize).copied();
    let going_on: Option<BTreeSet<Track>> = (0..count).map(|_| track(reader.small()?)).collect();
    Some((values, going_on?)).filter(|_| reader.is_at_end())
}
