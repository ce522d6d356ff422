// SPDX-License-Identifier: MIT
//! Trace folders that vanish with the test that made them.
//!
//! Place in the flow: for readers that want a path, such as Babeltrace 2 and the command line.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TraceFolder {
    fn drop(&mut self) {
        // Nothing is lost if a temporary folder stays behind.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
