// SPDX-License-Identifier: MIT
//! A stretch of a history: the intervals that ended in it, and what went on at its end.
//!
//! Place in the flow: `builder` makes a segment of each batch of intervals, `history` reads it. The
//! intervals lie in blocks of columns, track after track; a directory says which tracks and times
//! each block has, and a checkpoint which states go on when the segment is over.

use trace::Ns;

use crate::coding::{Reader, Writer};
use crate::storage::{Part, Sink, Storage};
use crate::value::{Interval, Value};

/// Intervals of one block.
const BLOCK: usize = 4096;
/// The longest block: in each of three columns, a number or a value for each interval.
const MOST_BLOCK_BYTES: u64 = (BLOCK * 96) as u64;

/// An interval that is over, with the number of its track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    pub track: u32,
    pub begin: i64,
    pub end: i64,
    pub value: Value,
}

/// A state that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Going {
    pub track: u32,
    pub since: i64,
    pub value: Value,
}

/// Where a segment lies, and which time it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Segment {
    pub directory: Part,
    pub checkpoint: Part,
    /// Where its blocks begin.
    pub blocks_at: u64,
    /// The moment at which it was over.
    pub moment: i64,
    /// The first begin and the last end of its intervals.
    pub begin: i64,
    pub end: i64,
    /// The earliest time from which a state was found out to be unknown after it had passed.
    pub revised: i64,
    pub intervals: u64,
}

/// Intervals of one track in a block, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    track: u32,
    count: u32,
    begin: i64,
    end: i64,
}

/// Appends a segment. `closed` is put in the order of tracks and times.
pub(crate) fn write(
    sink: &mut Sink<'_>,
    closed: &mut [Closed],
    going: &[Going],
    (moment, revised): (i64, i64),
) -> std::io::Result<Segment> {
    closed.sort_by_key(|interval| (interval.track, interval.begin, interval.end));
    let begin = closed.iter().map(|interval| interval.begin).min().unwrap_or(moment);
    let end = closed.iter().map(|interval| interval.end).max().unwrap_or(moment);
    let blocks_at = sink.written();
    let mut directory = Writer::default();
    directory.number(closed.chunks(BLOCK).count() as u64);
    let mut track = 0;
    for block in closed.chunks(BLOCK) {
        let runs: Vec<&[Closed]> = block.chunk_by(|a, b| a.track == b.track).collect();
        let part = sink.part(&columns(&runs))?;
        directory.number(part.stored_bytes);
        directory.number(part.raw_bytes);
        directory.number(runs.len() as u64);
        for run in runs {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            directory.number(u64::from(first.track - track));
            track = first.track;
            directory.number(run.len() as u64);
            directory.number(first.begin.wrapping_sub(begin) as u64);
            directory.number(last.end.wrapping_sub(first.begin) as u64);
        }
    }
    let directory = sink.part(&directory.bytes)?;
    let mut states = Writer::default();
    states.number(going.len() as u64);
    for Going { track, since, value } in going {
        states.number((*track).into());
        states.number(moment.wrapping_sub(*since) as u64);
        states.value(*value);
    }
    let checkpoint = sink.part(&states.bytes)?;
    let intervals = closed.len() as u64;
    Ok(Segment { directory, checkpoint, blocks_at, moment, begin, end, revised, intervals })
}

/// A block: how long after the one before each interval of a run begins, how long each is, and
/// their values.
fn columns(runs: &[&[Closed]]) -> Vec<u8> {
    let (mut gaps, mut lengths, mut values) =
        (Writer::default(), Writer::default(), Writer::default());
    for run in runs {
        let mut at = run.first().map_or(0, |first| first.begin);
        for interval in *run {
            gaps.number(interval.begin.wrapping_sub(at) as u64);
            lengths.number(interval.end.wrapping_sub(interval.begin) as u64);
            values.value(interval.value);
            at = interval.end;
        }
    }
    let mut block = Writer::default();
    for column in [gaps, lengths, values] {
        block.text(&column.bytes);
    }
    block.bytes
}

/// What is asked of a segment.
pub(crate) struct Wanted<'w> {
    /// Intervals that begin at or before this time.
    pub until: i64,
    /// And end after this time, or at it if they are empty.
    pub from: i64,
    /// Of tracks of these numbers.
    pub takes: &'w dyn Fn(u32) -> bool,
}

impl Wanted<'_> {
    /// Whether an interval may be wanted that lies between two times.
    fn reaches(&self, begin: i64, end: i64) -> bool {
        begin <= self.until && end >= self.from
    }

    fn overlaps(&self, begin: i64, end: i64) -> bool {
        begin <= self.until && (end > self.from || (begin == end && end == self.from))
    }
}

impl Segment {
    pub fn write(&self, writer: &mut Writer) {
        let Self { directory, checkpoint, blocks_at, .. } = self;
        [directory, checkpoint].into_iter().for_each(|part| writer.place(*part));
        writer.number(*blocks_at);
        for time in [self.moment, self.begin, self.end, self.revised] {
            writer.signed(time);
        }
        writer.number(self.intervals);
    }

    pub fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            directory: reader.place()?,
            checkpoint: reader.place()?,
            blocks_at: reader.number()?,
            moment: reader.signed()?,
            begin: reader.signed()?,
            end: reader.signed()?,
            revised: reader.signed()?,
            intervals: reader.number()?,
        })
    }

    /// Hands out the intervals that are wanted, of each track in the order of time. `None` if the
    /// segment is not as it was written.
    pub fn visit(
        &self,
        storage: &Storage,
        wanted: &Wanted<'_>,
        take: &mut dyn FnMut(u32, Interval),
    ) -> std::io::Result<Option<()>> {
        if !wanted.reaches(self.begin, self.end) {
            return Ok(Some(()));
        }
        let Some(directory) = storage.part(self.directory)? else { return Ok(None) };
        let mut reader = Reader::new(&directory);
        let (mut track, mut offset, mut runs) = (0, self.blocks_at, Vec::new());
        let Some(blocks) = reader.number() else { return Ok(None) };
        // Bound: each block takes bytes of the directory.
        for _ in 0..blocks {
            let Some(block) = self.block(&mut reader, (&mut track, &mut offset), &mut runs) else {
                return Ok(None);
            };
            let is_wanted =
                |run: &Run| (wanted.takes)(run.track) && wanted.reaches(run.begin, run.end);
            if !runs.iter().any(is_wanted) {
                continue;
            }
            let Some(raw) = storage.part(block)? else { return Ok(None) };
            if read_block(&raw, &runs, (&is_wanted, wanted), take).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// What the directory says of the next block.
    fn block(
        &self,
        reader: &mut Reader<'_>,
        (track, offset): (&mut u32, &mut u64),
        runs: &mut Vec<Run>,
    ) -> Option<Part> {
        let (stored_bytes, raw_bytes) = (reader.number()?, reader.number()?);
        let part = Part { offset: *offset, stored_bytes, raw_bytes };
        *offset = offset.checked_add(stored_bytes).filter(|_| raw_bytes <= MOST_BLOCK_BYTES)?;
        runs.clear();
        let count = reader.number()?;
        if count > BLOCK as u64 {
            return None;
        }
        for _ in 0..count {
            *track = track.checked_add(reader.small()?)?;
            let count = reader.small()?;
            let begin = self.begin.wrapping_add(reader.number()? as i64);
            let end = begin.wrapping_add(reader.number()? as i64);
            runs.push(Run { track: *track, count, begin, end });
        }
        let intervals = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.count.into()));
        (intervals <= BLOCK as u64).then_some(part)
    }

    /// The states that go on when the segment is over.
    pub fn going(&self, storage: &Storage) -> std::io::Result<Option<Vec<Going>>> {
        let raw = storage.part(self.checkpoint)?;
        Ok(raw.and_then(|raw| {
            let mut reader = Reader::new(&raw);
            let count = reader.count()?;
            let going = (0..count).map(|_| {
                let (track, ago) = (reader.small()?, reader.number()?);
                let since = self.moment.wrapping_sub(ago as i64);
                Some(Going { track, since, value: reader.value()? })
            });
            going.collect()
        }))
    }
}

fn read_block(
    raw: &[u8],
    runs: &[Run],
    (is_wanted, wanted): (&dyn Fn(&Run) -> bool, &Wanted<'_>),
    take: &mut dyn FnMut(u32, Interval),
) -> Option<()> {
    let mut reader = Reader::new(raw);
    let (mut gaps, mut lengths, mut values) = (reader.part()?, reader.part()?, reader.part()?);
    for run in runs {
        let mut at = run.begin;
        let takes_run = is_wanted(run);
        for _ in 0..run.count {
            let begin = at.wrapping_add(gaps.number()? as i64);
            let end = begin.wrapping_add(lengths.number()? as i64);
            let value = values.value()?;
            at = end;
            if takes_run && begin <= end && wanted.overlaps(begin, end) {
                let (begin, end) = (Ns(begin), Ns(end));
                take(run.track, Interval { begin, end, goes_on: false, value });
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(track: u32, begin: i64, end: i64) -> Closed {
        Closed { track, begin, end, value: Value::Running(track) }
    }

    #[test]
    fn intervals_of_a_track_and_a_time_are_found_in_whatever_block_they_are() {
        let mut all: Vec<Closed> = Vec::new();
        for at in 0..3000 {
            all.extend([0, 3, 70_000].map(|track| closed(track, at * 10, at * 10 + 7)));
        }
        all.push(closed(9, -50, 40_000));
        let going = [Going { track: 3, since: -9, value: Value::Waiting }];
        let mut sink = Sink::new(Storage::Memory(Vec::new()), 1 << 30);
        let segment = write(&mut sink, &mut all, &going, (40_000, i64::MAX)).unwrap();
        let storage = sink.finish();
        let mut writer = Writer::default();
        segment.write(&mut writer);
        assert_eq!(Segment::read(&mut Reader::new(&writer.bytes)), Some(segment));
        assert_eq!(segment.going(&storage).unwrap().unwrap(), going);
        let found = |from, until, of: Option<u32>| {
            let takes = |track| of.is_none_or(|of| of == track);
            let mut found = Vec::new();
            let wanted = Wanted { from, until, takes: &takes };
            let whole = segment.visit(&storage, &wanted, &mut |track, i| {
                found.push((track, i.begin.0, i.end.0));
            });
            assert_eq!(whole.unwrap(), Some(()));
            found
        };
        assert_eq!(found(i64::MIN, i64::MAX, None).len(), all.len());
        assert_eq!(found(20_000, 20_000, Some(3)), [(3, 20_000, 20_007)]);
        assert_eq!(found(20_007, 20_009, Some(3)), []);
        assert_eq!(found(0, 0, None), [(0, 0, 7), (3, 0, 7), (9, -50, 40_000), (70_000, 0, 7)]);
        assert_eq!(found(39_999, 50_000, None), [(9, -50, 40_000)]);
    }

    #[test]
    fn times_at_both_ends_of_the_clock_are_kept() {
        let mut all = [closed(1, i64::MIN, i64::MAX), closed(2, i64::MAX, i64::MAX)];
        let mut sink = Sink::new(Storage::Memory(Vec::new()), 1 << 30);
        let segment = write(&mut sink, &mut all, &[], (i64::MAX, i64::MAX)).unwrap();
        let storage = sink.finish();
        let mut found = Vec::new();
        let wanted = Wanted { from: i64::MIN, until: i64::MAX, takes: &|_| true };
        segment.visit(&storage, &wanted, &mut |t, i| found.push((t, i.begin, i.end))).unwrap();
        let (first, last) = (Ns(i64::MIN), Ns(i64::MAX));
        assert_eq!(found, [(1, first, last), (2, last, last)]);
    }
}
