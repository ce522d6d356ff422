// SPDX-License-Identifier: MIT
//! Records of many streams in one temporary file, read back stream by stream.
//!
//! Place in the flow: formats whose files have one thread after the other add records here while
//! the traces are read, and read them at the end. The file has no name and ends with the program.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::Error;

/// Streams; what finds none is left out.
const STREAMS: usize = 1 << 12;
/// Bytes of a stream that are written together.
const CHUNK_BYTES: usize = 1 << 16;
/// Bytes of all streams that wait in memory.
const WAITING_BYTES: usize = 1 << 25;
/// Bytes of a record, in which the longest arguments have space.
const RECORD_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
struct Stream {
    waiting: Vec<u8>,
    /// Offset and length of each chunk in the file. A chunk holds whole records.
    chunks: Vec<(u64, usize)>,
}

/// Number of a stream.
pub(crate) type StreamIndex = usize;

#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    length: u64,
    streams: Vec<Stream>,
    waiting_bytes: usize,
}

impl Spill {
    /// In `folder`, or where the system wants temporary files.
    pub fn new(folder: Option<&Path>) -> Result<Self, Error> {
        let file = match folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        let named = || folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let failed = |source| Error::Temporary { folder: named().display().to_string(), source };
        let file = file.map_err(failed)?;
        Ok(Self { file, length: 0, streams: Vec::new(), waiting_bytes: 0 })
    }

    /// A new stream; `None`: there are too many.
    pub fn open(&mut self) -> Option<StreamIndex> {
        if self.streams.len() >= STREAMS {
            return None;
        }
        self.streams.push(Stream::default());
        Some(self.streams.len() - 1)
    }

    /// Adds a record to a stream. Return: whether it had space.
    pub fn add(&mut self, stream: StreamIndex, record: &[u8]) -> io::Result<bool> {
        let Some(of) = self.streams.get_mut(stream) else { return Ok(false) };
        if record.len() > RECORD_BYTES {
            return Ok(false);
        }
        let length = record.len() as u32;
        of.waiting.extend_from_slice(&length.to_le_bytes());
        of.waiting.extend_from_slice(record);
        self.waiting_bytes += record.len() + size_of::<u32>();
        if of.waiting.len() >= CHUNK_BYTES {
            self.write(stream)?;
        }
        if self.waiting_bytes >= WAITING_BYTES {
            self.write_all()?;
        }
        Ok(true)
    }

    fn write_all(&mut self) -> io::Result<()> {
        (0..self.streams.len()).try_for_each(|stream| self.write(stream))
    }

    fn write(&mut self, stream: StreamIndex) -> io::Result<()> {
        let Some(of) = self.streams.get_mut(stream) else { return Ok(()) };
        if of.waiting.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&of.waiting, self.length)?;
        let bytes = of.waiting.len();
        of.chunks.push((self.length, bytes));
        of.waiting.clear();
        self.length += bytes as u64;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
        Ok(())
    }

    /// Hands out the records of a stream in the order in which they were added.
    pub fn read(
        &mut self,
        stream: StreamIndex,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write(stream)?;
        let Some(of) = self.streams.get(stream) else { return Ok(()) };
        let mut bytes = Vec::new();
        for (offset, length) in &of.chunks {
            bytes.resize(*length, 0);
            self.file.read_exact_at(&mut bytes, *offset)?;
            let mut rest = &bytes[..];
            while let Some((length, after)) = rest.split_first_chunk::<4>() {
                let length = u32::from_le_bytes(*length) as usize;
                let Some((record, after)) = after.split_at_checked(length) else { break };
                take(record)?;
                rest = after;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(spill: &mut Spill, stream: StreamIndex) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut take = |record: &[u8]| {
            found.push(record.to_vec());
            Ok(())
        };
        spill.read(stream, &mut take).unwrap();
        found
    }

    #[test]
    fn records_of_streams_that_were_added_in_turns_come_back_in_their_order() {
        let mut spill = Spill::new(None).unwrap();
        let streams = [spill.open().unwrap(), spill.open().unwrap()];
        let record =
            |stream: usize, number: u32| [&[stream as u8; 100][..], &number.to_le_bytes()].concat();
        for number in 0..3000 {
            for stream in streams {
                assert!(spill.add(stream, &record(stream, number)).unwrap());
            }
        }
        assert!(spill.length > 0, "chunks were written before the end");
        for stream in streams {
            let wanted: Vec<_> = (0..3000).map(|number| record(stream, number)).collect();
            assert_eq!(records(&mut spill, stream), wanted);
            assert_eq!(records(&mut spill, stream).len(), 3000, "a second time");
        }
    }

    #[test]
    fn what_has_no_space_is_refused() {
        let mut spill = Spill::new(None).unwrap();
        let stream = spill.open().unwrap();
        assert!(!spill.add(stream, &vec![0; RECORD_BYTES + 1]).unwrap());
        assert!(!spill.add(stream + 1, b"x").unwrap());
        assert_eq!((1..STREAMS).filter_map(|_| spill.open()).count(), STREAMS - 1);
        assert_eq!(spill.open(), None);
    }

    #[test]
    fn folder_that_is_not_there_is_told() {
        let error = Spill::new(Some(Path::new("/nonexistent/folder"))).unwrap_err();
        assert_eq!(error.to_string(), "making a temporary file in /nonexistent/folder");
    }
}
