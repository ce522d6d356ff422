// SPDX-License-Identifier: MIT
//! A picture from afar as bytes, in an index or in memory.
//!
//! Place in the flow: `making` has the bytes of stretches, `history` puts them behind the segments
//! of an index that it has built, and the tail says where they lie. What is read may be any bytes:
//! what makes no sense is `None`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use trace::Ns;

use super::{Far, Level, Made, Stretches, LEAST_CELLS, LEVELS, MOST_CELLS, MOST_VALUES};
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
        let levels = levels.into_iter().map(|(cells, parts)| {
            let read = Stretches::parse(parts, (cells, values.len()), tracks);
            Level { cells, parts: Vec::new(), read: OnceLock::from(read) }
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
    pub(super) fn read<'f>(&self, history: &History, level: &'f Level) -> Option<&'f Stretches> {
        let read = || {
            let storage = history.storage();
            let parts = level.parts.iter().map(|part| storage.part(*part).ok().flatten());
            let bounds = (level.cells, self.values.len());
            Stretches::parse(parts.collect::<Option<_>>()?, bounds, history.numbered())
        };
        level.read.get_or_init(read).as_ref()
    }
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
