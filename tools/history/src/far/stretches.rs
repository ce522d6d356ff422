// SPDX-License-Identifier: MIT
//! The stretches of a level, as bytes: five or so for each, where a structure would have sixteen.
//!
//! Place in the flow: `making` writes batches of them, `stored` has them in an index, and a picture
//! reads those of its span. What is parsed may be any bytes: what makes no sense is `None`, and
//! stretches are bounded as those that are made.

use std::collections::BTreeMap;

use super::MOST_STRETCHES;
use crate::coding::{Reader, Writer};
use crate::track::Track;

/// A stretch of a track: an interval, or some that begin in one cell and are shown as the state
/// that took most of it. It begins and ends where cells do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub first_cell: u32,
    pub end_cell: u32,
    pub value: u32,
    pub count: u32,
}

/// Stretches of one track that were written together: where their bytes begin, after the track's
/// number, and where they end in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    part: u32,
    offset: u32,
    end_cell: u32,
}

/// All stretches of a level. Their bytes have been looked through: each batch is whole.
#[derive(Debug)]
pub(super) struct Stretches {
    parts: Vec<Vec<u8>>,
    /// Of each track, in the order of time.
    pub batches: BTreeMap<Track, Vec<Batch>>,
}

/// Writes a batch: how many, and of each: cells after the end of the one before, cells, value,
/// count.
pub(super) fn write(writer: &mut Writer, stretches: impl ExactSizeIterator<Item = Stretch>) {
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

/// What is left of a batch.
struct Unread<'b> {
    reader: Reader<'b>,
    left: u64,
    at: u32,
}

impl<'b> Unread<'b> {
    fn new(mut reader: Reader<'b>) -> Option<Self> {
        Some(Self { left: reader.number()?, reader, at: 0 })
    }
}

impl Iterator for Unread<'_> {
    type Item = Stretch;

    fn next(&mut self) -> Option<Stretch> {
        self.left = self.left.checked_sub(1)?;
        let first_cell = self.at.checked_add(self.reader.small()?)?;
        let end_cell = first_cell.checked_add(self.reader.small()?)?;
        self.at = end_cell;
        let (value, count) = (self.reader.small()?, self.reader.small()?.max(1));
        Some(Stretch { first_cell, end_cell, value, count })
    }
}

impl Stretches {
    /// Those of a level with so many cells, of so many values.
    pub fn parse(
        parts: Vec<Vec<u8>>,
        (cells, values): (u32, usize),
        tracks: &[Track],
    ) -> Option<Self> {
        let mut batches: BTreeMap<Track, Vec<Batch>> = BTreeMap::new();
        let mut room = MOST_STRETCHES as u64;
        for (part, bytes) in (0..).zip(&parts) {
            let mut reader = Reader::new(bytes);
            while !reader.is_at_end() {
                let track = *tracks.get(reader.small()? as usize)?;
                let offset = u32::try_from(bytes.len() - reader.left()).ok()?;
                let mut unread = Unread::new(reader)?;
                let count = unread.left;
                room = room.checked_sub(count)?;
                let known = batches.entry(track).or_default();
                let mut end_cell = known.last().map_or(0, |last| last.end_cell);
                for _ in 0..count {
                    let stretch = unread.next()?;
                    let makes_sense = stretch.first_cell >= end_cell
                        && stretch.end_cell <= cells
                        && (stretch.value as usize) < values;
                    end_cell = Some(stretch.end_cell).filter(|_| makes_sense)?;
                }
                if count > 0 {
                    known.push(Batch { part, offset, end_cell });
                }
                reader = unread.reader;
            }
        }
        batches.values_mut().for_each(Vec::shrink_to_fit);
        Some(Self { parts, batches })
    }

    /// Those of a track's batches that end in a cell or after it.
    pub fn from<'s>(
        &'s self,
        batches: &'s [Batch],
        cell: u32,
    ) -> impl Iterator<Item = Stretch> + 's {
        let first = batches.partition_point(|batch| batch.end_cell < cell);
        let later = batches.iter().skip(first).filter_map(|batch| self.unread(*batch));
        later.flatten().skip_while(move |stretch| stretch.end_cell < cell)
    }

    fn unread(&self, batch: Batch) -> Option<Unread<'_>> {
        let bytes = self.parts.get(batch.part as usize)?.get(batch.offset as usize..)?;
        Unread::new(Reader::new(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Kind, Subject};
    use state::ThreadIndex;

    fn tracks() -> [Track; 2] {
        let track = |thread| Track {
            subject: Subject::Thread(ThreadIndex(thread)),
            kind: Kind::ALL[0],
            lane: 0,
        };
        [track(0), track(1)]
    }

    /// Random stretches of a track in cells up to 9,000, each of value 0 or 1.
    fn random(random: &mut testkit::Random) -> Vec<Stretch> {
        let mut at = 0;
        let mut made = Vec::new();
        loop {
            let first_cell = at + random.below(300) as u32;
            let end_cell = first_cell + random.below(200) as u32;
            if end_cell > 9000 {
                return made;
            }
            let (value, count) = (random.below(2) as u32, 1 + random.below(1000) as u32);
            made.push(Stretch { first_cell, end_cell, value, count });
            at = end_cell;
        }
    }

    /// The bytes of both tracks' stretches in batches, in parts of about 100 bytes.
    fn written(all: &[Vec<Stretch>; 2]) -> Vec<Vec<u8>> {
        let mut parts = vec![];
        let mut writer = Writer::default();
        let most = all.iter().map(Vec::len).max().unwrap();
        for from in (0..most).step_by(7) {
            for (number, stretches) in all.iter().enumerate() {
                let batch = stretches.iter().skip(from).take(7).copied().collect::<Vec<_>>();
                writer.number(number as u64);
                write(&mut writer, batch.into_iter());
                if writer.bytes.len() > 100 {
                    parts.push(std::mem::take(&mut writer.bytes));
                }
            }
        }
        parts.push(writer.bytes);
        parts
    }

    #[test]
    fn stretches_are_read_as_they_were_written_from_any_cell_on() {
        let chance = &mut testkit::Random::new(11);
        for _ in 0..50 {
            let all = [random(chance), random(chance)];
            let read = Stretches::parse(written(&all), (9000, 2), &tracks()).unwrap();
            for cell in [0, 1, 500, 4000, 8999, 9000, u32::MAX] {
                for (track, stretches) in tracks().iter().zip(&all) {
                    let expected = stretches.iter().filter(|s| s.end_cell >= cell).copied();
                    let found: Vec<_> = read.from(&read.batches[track], cell).collect();
                    assert_eq!(found, expected.collect::<Vec<_>>(), "{cell}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_make_no_sense_are_refused() {
        let stretch = Stretch { first_cell: 5, end_cell: 9, value: 1, count: 1 };
        let parse = |parts, bounds| Stretches::parse(parts, bounds, &tracks()).is_some();
        let whole = written(&[vec![stretch], vec![]]);
        assert!(parse(whole.clone(), (9, 2)));
        assert!(!parse(whole.clone(), (8, 2)), "it ends after the last cell");
        assert!(!parse(whole.clone(), (9, 1)), "it has a value that there is not");
        assert!(!parse(vec![whole[0].clone(), whole[0].clone()], (9, 2)), "it begins twice");
        assert!(Stretches::parse(whole.clone(), (9, 2), &tracks()[..1]).is_none());
        let bytes = &whole[0];
        let cuts = (0..bytes.len()).filter(|cut| parse(vec![bytes[..*cut].to_vec()], (9, 2)));
        assert_eq!(cuts.collect::<Vec<_>>(), [0, 6], "only between two batches");
    }
}
