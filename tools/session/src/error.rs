// SPDX-License-Identifier: MIT
//! What can go wrong between a request for a session and a session: what, where, what to do.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{what}: {value} (allowed: {allowed})")]
    Setting { what: &'static str, value: u64, allowed: &'static str },
    #[error(
        "not enough memory: the rings need {needed_bytes} bytes, and of the {free_bytes} that are \
         available {left_bytes} are left to others; use a smaller --buffer-size or fewer --buffers"
    )]
    Memory { needed_bytes: u64, free_bytes: u64, left_bytes: u64 },
    #[error(
        "the session's shared memory segment: {source}; `lull doctor` shows what this machine \
         allows"
    )]
    Segment { source: io::Error },
    #[error("memory for the rings' sub-buffers: {source}; use a smaller --buffer-size")]
    Populate { source: io::Error },
    #[error("the kernel module lull: {doing}: {source}")]
    Device { doing: &'static str, source: io::Error },
    #[error("memory reserved at boot: {why}")]
    Reserved { why: &'static str },
    #[error("the kernel module lull: {why}")]
    Layout { why: &'static str },
    #[error(
        "the kernel module lull is of another version: its interface is {found}, and this \
         recorder knows {known}"
    )]
    Interface { found: i32, known: u32 },
    #[error("session {}: {why}", path.display())]
    Left { path: PathBuf, why: &'static str },
    #[error(
        "session {}: its recorder was killed before the session had begun, and nothing is recorded \
         in it; give --discard to remove it",
        path.display()
    )]
    Unfinished { path: PathBuf },
    #[error(
        "session {}: its memory is gone, with what was in it; give --discard to remove the rest",
        path.display()
    )]
    Gone { path: PathBuf },
    #[error(
        "no directory for the session: {tried}; set XDG_RUNTIME_DIR or TMPDIR to a directory you \
         can write to"
    )]
    NoDirectory { tried: String },
}

impl Error {
    /// An `io::Error` with what was being done to which path.
    pub fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::Io { doing, path, source }
    }
}

pub type Result<T> = std::result::Result<T, Error>;
