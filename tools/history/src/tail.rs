// SPDX-License-Identifier: MIT
//! The last part of an index, which leads to all others.
//!
//! Place in the flow: `builder` makes it when all segments are written, and a reader of the file
//! begins with it. After it come a few bytes of fixed size that say where it lies, of which traces
//! the index is, and that it is whole: a builder that is killed does not come so far.

use state::Read;
use trace::{CpuId, Ns};

use crate::coding::{Reader, Writer};
use crate::far::Stored;
use crate::history::Lost;
use crate::names::Names;
use crate::segment::Segment;
use crate::storage::{Part, Sink, Storage};
use crate::track::Track;

/// The first bytes of an index; the last of them is the version.
pub(crate) const MAGIC: [u8; 8] = *b"lullhst\x06";
/// Place, stored length and length of the tail; the traces; the magic once more.
const END_BYTES: usize = 5 * 8;

#[derive(Debug)]
pub(crate) struct Tail {
    pub names: Names,
    /// By number.
    pub tracks: Vec<Track>,
    pub segments: Vec<Segment>,
    pub losses: Vec<Lost>,
    pub begin: Ns,
    pub end: Ns,
    /// Changes of tracks that found no space.
    pub left_out: u64,
    /// What it looks like from afar, if it is long.
    pub far: Option<Stored>,
    /// By trace.
    pub read: Vec<Read>,
    pub problems: Vec<String>,
}

impl Tail {
    /// How many intervals the segments have.
    pub fn interval_count(&self) -> u64 {
        self.segments.iter().map(|segment| segment.intervals).sum()
    }

    /// Ends an index of traces that have this fingerprint.
    pub fn write(&self, sink: &mut Sink<'_>, fingerprint: u64) -> std::io::Result<()> {
        let mut writer = Writer::default();
        self.names.write(&mut writer);
        writer.number(self.tracks.len() as u64);
        self.tracks.iter().for_each(|track| writer.track(*track));
        writer.number(self.segments.len() as u64);
        self.segments.iter().for_each(|segment| segment.write(&mut writer));
        writer.number(self.losses.len() as u64);
        for Lost { host, cpu, count, begin, until } in &self.losses {
            writer.number((*host).into());
            writer.number(cpu.map_or(0, |cpu| u64::from(cpu.0) + 1));
            writer.number(*count);
            writer.signed(begin.0);
            writer.signed(until.0);
        }
        writer.signed(self.begin.0);
        writer.signed(self.end.0);
        writer.number(self.left_out);
        writer.number(self.far.is_some().into());
        self.far.iter().for_each(|far| far.write(&mut writer));
        writer.number(self.read.len() as u64);
        for Read { events, lost, problems } in &self.read {
            [*events, *lost, *problems].into_iter().for_each(|count| writer.number(count));
        }
        writer.number(self.problems.len() as u64);
        self.problems.iter().for_each(|problem| writer.text(problem.as_bytes()));
        let Part { offset, stored_bytes, raw_bytes } = sink.part(&writer.bytes)?;
        let numbers = [offset, stored_bytes, raw_bytes, fingerprint];
        let mut end: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        end.extend(MAGIC);
        sink.append(&end)
    }

    /// The tail of an index, if it is whole and of traces with this fingerprint.
    pub fn read(storage: &Storage, fingerprint: u64) -> std::io::Result<Option<Self>> {
        let Some(at) = storage.length()?.checked_sub(END_BYTES as u64) else { return Ok(None) };
        if storage.bytes(0, MAGIC.len() as u64)?.is_none_or(|magic| magic != MAGIC) {
            return Ok(None);
        }
        let Some(end) = storage.bytes(at, END_BYTES as u64)? else { return Ok(None) };
        let mut words = end.chunks_exact(8).map(|w| w.try_into().map_or(0, u64::from_le_bytes));
        let mut next = || words.next().unwrap_or(0);
        let part = Part { offset: next(), stored_bytes: next(), raw_bytes: next() };
        if next() != fingerprint || next() != u64::from_le_bytes(MAGIC) {
            return Ok(None);
        }
        let raw = storage.part(part)?;
        Ok(raw.and_then(|raw| Self::parse(&mut Reader::new(&raw))))
    }

    fn parse(reader: &mut Reader<'_>) -> Option<Self> {
        let names = Names::read(reader)?;
        let count = reader.count()?;
        let tracks = (0..count).map(|_| reader.track()).collect::<Option<Vec<_>>>()?;
        let count = reader.count()?;
        let segments = (0..count).map(|_| Segment::read(reader)).collect::<Option<Vec<_>>>()?;
        let count = reader.count()?;
        let losses = (0..count).map(|_| lost(reader)).collect::<Option<Vec<_>>>()?;
        let (begin, end) = (Ns(reader.signed()?), Ns(reader.signed()?));
        let left_out = reader.number()?;
        let far = match reader.number()? {
            0 => None,
            _ => Some(Stored::read(reader)?),
        };
        let count = reader.count()?;
        let read = (0..count).map(|_| read(reader)).collect::<Option<Vec<_>>>()?;
        let count = reader.count()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let problems = (0..count).map(|_| reader.text().map(text)).collect::<Option<Vec<_>>>()?;
        let is_ordered = segments.is_sorted_by_key(|segment| segment.moment);
        let tail =
            Self { names, tracks, segments, losses, begin, end, left_out, far, read, problems };
        Some(tail).filter(|tail| is_ordered && reader.is_at_end() && tail.begin <= tail.end)
    }
}

fn read(reader: &mut Reader<'_>) -> Option<Read> {
    let (events, lost) = (reader.number()?, reader.number()?);
    Some(Read { events, lost, problems: reader.number()? })
}

fn lost(reader: &mut Reader<'_>) -> Option<Lost> {
    let host = reader.small()?;
    let cpu = match reader.number()? {
        0 => None,
        cpu => Some(CpuId(u32::try_from(cpu - 1).ok()?)),
    };
    let (count, begin) = (reader.number()?, Ns(reader.signed()?));
    Some(Lost { host, cpu, count, begin, until: Ns(reader.signed()?) })
}
