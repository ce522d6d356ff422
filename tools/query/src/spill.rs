// SPDX-License-Identifier: MIT
//! Files for what sorts, joins and groups cannot keep in memory.
//!
//! Place in the flow: [`Limits`](crate::Limits) name the folder and how much may be in it; the
//! engine asks for a file, writes it once and reads it back. The files have no name in the folder,
//! so that nothing is left there, whatever ends the program.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::{stream, Stream};

/// How much is read at once.
const PIECE_BYTES: usize = 128 << 10;

/// Makes files in a folder.
pub struct Spill {
    folder: PathBuf,
    room: Arc<Room>,
}

/// What all files together have taken, and may take.
struct Room {
    used: AtomicU64,
    bytes_max: u64,
}

impl Spill {
    /// The folder is made if it does not exist; its parent has to.
    pub fn new(folder: PathBuf, bytes_max: u64) -> Result<Self> {
        if !folder.exists() {
            std::fs::create_dir(&folder)?;
        }
        Ok(Self { folder, room: Arc::new(Room { used: AtomicU64::new(0), bytes_max }) })
    }
}

impl TempFileFactory for Spill {
    fn create_temp_file(&self, purpose: &str) -> Result<Arc<dyn SpillFile>> {
        let file = tempfile::tempfile_in(&self.folder).map_err(|error| {
            let folder = self.folder.display();
            let what = format!("{purpose} needs a file in {folder}: {error}");
            DataFusionError::IoError(io::Error::new(error.kind(), what))
        })?;
        let (file, size) = (Arc::new(file), Arc::new(AtomicU64::new(0)));
        Ok(Arc::new(Spilled { file, size, room: Arc::clone(&self.room) }))
    }
}

struct Spilled {
    file: Arc<File>,
    size: Arc<AtomicU64>,
    room: Arc<Room>,
}

impl Drop for Spilled {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.size.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl SpillFile for Spilled {
    fn size(&self) -> Option<u64> {
        Some(self.size.load(Ordering::Relaxed))
    }

    /// Reads from the beginning; several may read, each at its own place.
    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let file = Arc::clone(&self.file);
        let pieces = stream::try_unfold((file, 0), |(file, at)| async move {
            let of_task = Arc::clone(&file);
            let read = tokio::task::spawn_blocking(move || piece(&of_task, at)).await;
            let piece = read.map_err(|error| DataFusionError::External(Box::new(error)))??;
            let next = at + piece.len() as u64;
            Ok((!piece.is_empty()).then_some((piece, (file, next))))
        });
        Ok(Box::pin(pieces))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let file = self.file.try_clone()?;
        let (size, room) = (Arc::clone(&self.size), Arc::clone(&self.room));
        Ok(Box::new(Writer { file, size, room }))
    }
}

/// What is at a place of a file; nothing at its end.
fn piece(file: &File, at: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; PIECE_BYTES];
    loop {
        match file.read_at(&mut bytes, at) {
            Ok(count) => {
                bytes.truncate(count);
                return Ok(Bytes::from(bytes));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

struct Writer {
    file: File,
    size: Arc<AtomicU64>,
    room: Arc<Room>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let more = bytes.len() as u64;
        let used = self.room.used.fetch_add(more, Ordering::Relaxed) + more;
        self.size.fetch_add(more, Ordering::Relaxed);
        if used > self.room.bytes_max {
            let gib = self.room.bytes_max >> 30;
            return Err(io::Error::other(format!("the query needs more than {gib} GiB of files")));
        }
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;

    #[test]
    fn what_was_written_is_read_again_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().join("made"), 1 << 20).unwrap();
        let file = spill.create_temp_file("a sort").unwrap();
        let written: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        let mut writer = file.open_writer().unwrap();
        written.chunks(1000).for_each(|bytes| writer.write_all(bytes).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        for _ in 0..2 {
            let read = file.read_stream().unwrap().try_collect();
            let pieces: Vec<Bytes> = runtime.block_on(read).unwrap();
            assert_eq!(pieces.concat(), written);
        }
        assert_eq!(file.size(), Some(300_000));
        assert_eq!(folder.path().join("made").read_dir().unwrap().count(), 0);
    }

    #[test]
    fn files_take_no_more_than_they_may_and_give_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().into(), 1000).unwrap();
        for _ in 0..2 {
            let file = spill.create_temp_file("a sort").unwrap();
            let mut writer = file.open_writer().unwrap();
            writer.write_all(&[0; 900]).unwrap();
            assert!(writer.write_all(&[0; 101]).is_err());
        }
    }
}
