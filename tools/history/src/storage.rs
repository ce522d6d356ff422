// SPDX-License-Identifier: MIT
//! The bytes of an index, in a file or in memory, as compressed parts with checksums.
//!
//! Place in the flow: `builder` appends parts, `history` reads them again by where they lie. A part
//! is one frame of LZ4, which has a checksum of what it holds; its length before compression is
//! known to whoever reads it, so that no part takes more memory than it should.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

use lz4_flex::frame::{FrameDecoder, FrameEncoder, FrameInfo};

/// Where a part lies, and how long it is before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Part {
    pub offset: u64,
    pub stored_bytes: u64,
    pub raw_bytes: u64,
}

/// The longest part that is read; the tail of an index of many subjects is the longest there is.
pub(crate) const MOST_RAW_BYTES: u64 = 1 << 28;

#[derive(Debug)]
pub(crate) enum Storage {
    File(File),
    Memory(Vec<u8>),
}

/// What a test does to a part before it gets its checksum.
pub(crate) type Spoil<'s> = &'s mut dyn FnMut(&mut Vec<u8>);

/// An index that grows.
pub(crate) struct Sink<'s> {
    storage: Storage,
    written: u64,
    /// Most bytes that may be written.
    limit: u64,
    spoil: Option<Spoil<'s>>,
}

impl<'s> Sink<'s> {
    pub fn new(storage: Storage, limit: u64) -> Self {
        Self { storage, written: 0, limit, spoil: None }
    }

    /// One whose parts are spoilt, with checksums that are right.
    pub fn spoilt(storage: Storage, limit: u64, spoil: Spoil<'s>) -> Self {
        Self { spoil: Some(spoil), ..Self::new(storage, limit) }
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    pub fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.written.saturating_add(bytes.len() as u64) > self.limit {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        match &mut self.storage {
            Storage::File(file) => file.write_all_at(bytes, self.written)?,
            Storage::Memory(memory) => memory.write_all(bytes)?,
        }
        self.written += bytes.len() as u64;
        Ok(())
    }

    pub fn part(&mut self, raw: &[u8]) -> std::io::Result<Part> {
        if let Some(spoil) = self.spoil.take() {
            let mut spoilt = raw.to_vec();
            spoil(&mut spoilt);
            let part = self.part(&spoilt);
            self.spoil = Some(spoil);
            return part;
        }
        let info = FrameInfo::new().content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(raw)?;
        let stored = encoder.finish().map_err(std::io::Error::other)?;
        let offset = self.written;
        self.append(&stored)?;
        Ok(Part { offset, stored_bytes: stored.len() as u64, raw_bytes: raw.len() as u64 })
    }

    pub fn finish(self) -> Storage {
        self.storage
    }
}

impl Storage {
    pub fn length(&self) -> std::io::Result<u64> {
        match self {
            Storage::File(file) => Ok(file.metadata()?.len()),
            Storage::Memory(memory) => Ok(memory.len() as u64),
        }
    }

    /// Bytes as they lie; `None` if there are not so many, or more than a part may have.
    pub fn bytes(&self, offset: u64, count: u64) -> std::io::Result<Option<Vec<u8>>> {
        let end = offset.checked_add(count).filter(|_| count <= MOST_RAW_BYTES + (1 << 20));
        let has_all = self.length()?;
        let Some(end) = end.filter(|end| *end <= has_all) else { return Ok(None) };
        match self {
            Storage::File(file) => {
                let mut bytes = vec![0; count as usize];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(Some(bytes))
            }
            Storage::Memory(memory) => {
                Ok(memory.get(offset as usize..end as usize).map(<[u8]>::to_vec))
            }
        }
    }

    /// What a part holds; `None` if that is not what was written.
    pub fn part(&self, part: Part) -> std::io::Result<Option<Vec<u8>>> {
        if part.raw_bytes > MOST_RAW_BYTES {
            return Ok(None);
        }
        let Some(stored) = self.bytes(part.offset, part.stored_bytes)? else { return Ok(None) };
        // More than the stored bytes can expand to is not made room for beforehand.
        let mut raw = Vec::with_capacity(part.raw_bytes.min(part.stored_bytes * 256) as usize);
        let read = FrameDecoder::new(&*stored).take(part.raw_bytes + 1).read_to_end(&mut raw);
        Ok(Some(raw).filter(|raw| read.is_ok() && raw.len() as u64 == part.raw_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_is_read_as_it_was_written_and_not_when_a_bit_of_it_changed() {
        let raw: Vec<u8> = (0..9000_u32).map(|at| (at / 7) as u8).collect();
        let mut sink = Sink::new(Storage::Memory(Vec::new()), 1 << 20);
        sink.append(b"before").unwrap();
        let part = sink.part(&raw).unwrap();
        assert!(part.stored_bytes < part.raw_bytes);
        let storage = sink.finish();
        assert_eq!(storage.part(part).unwrap(), Some(raw.clone()));
        let longer = Part { stored_bytes: part.stored_bytes + 1, ..part };
        assert_eq!(storage.part(longer).unwrap(), None);
        for wrong in [part.raw_bytes - 1, part.raw_bytes + 1, u64::MAX] {
            assert_eq!(storage.part(Part { raw_bytes: wrong, ..part }).unwrap(), None, "{wrong}");
        }
        let Storage::Memory(bytes) = storage else { panic!("the sink was in memory") };
        for at in (6..bytes.len()).step_by(11) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let read = Storage::Memory(damaged).part(part).unwrap();
            assert!(read.is_none_or(|read| read == raw), "byte {at} changed the answer");
        }
    }

    #[test]
    fn no_more_is_written_than_may_be() {
        let mut sink = Sink::new(Storage::Memory(Vec::new()), 8);
        sink.append(b"12345678").unwrap();
        let error = sink.append(b"9").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}
