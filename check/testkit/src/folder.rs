// SPDX-License-Identifier: MIT
//! Trace folders that vanish with the test that made them.
//!
//! Place in the flow: for readers that want a path, such as Babeltrace 2 and the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Datum, Kind, Order, Spec, StreamWriter};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A temporary folder with a trace in it.
#[derive(Debug)]
pub struct TraceFolder {
    path: PathBuf,
}

impl TraceFolder {
    /// Writes the metadata and the streams, named `stream_0`, `stream_1`, ...
    pub fn new(metadata: &str, streams: &[Vec<u8>]) -> std::io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lull-testkit-{}-{number}", std::process::id());
        let folder = Self { path: std::env::temp_dir().join(name) };
        std::fs::create_dir_all(&folder.path)?;
        std::fs::write(folder.path.join("metadata"), metadata)?;
        for (index, bytes) in streams.iter().enumerate() {
            std::fs::write(folder.path.join(format!("stream_{index}")), bytes)?;
        }
        Ok(folder)
    }

    /// A trace of Lull's with so many events `a:b`, in packets of a thousand; `id` counts them.
    pub fn numbered(events: u64) -> std::io::Result<Self> {
        const PACKET_EVENTS: u64 = 1000;
        let id = Kind::structure(vec![("id", Kind::u(64, Order::Little))]);
        let spec = Spec::lull(Order::Little, vec![(1, "a:b", id)]);
        let mut writer = StreamWriter::new(&spec, 0);
        for packet in 0..events / PACKET_EVENTS {
            let first = packet * PACKET_EVENTS;
            writer.begin_packet(first);
            for at in first..first + PACKET_EVENTS {
                writer.event(1, at, Datum::List(vec![Datum::Unsigned(at)]));
            }
            writer.end_packet(first + PACKET_EVENTS - 1, 0);
        }
        Self::new(&spec.metadata(), &[writer.finish().0])
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What is in a folder.
pub fn names_in(folder: &Path) -> std::io::Result<Vec<OsString>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

impl Drop for TraceFolder {
    fn drop(&mut self) {
        // Nothing is lost if a temporary folder stays behind.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
