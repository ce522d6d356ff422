// SPDX-License-Identifier: MIT
//! What is in a directory where a trace is to go, and what of it a recorder may remove.
//!
//! Place in the flow: `output` asks before it takes a directory, and when it gives one up. Only
//! what has a name that Lull gives is ever removed, and links are not followed.

use super::{Error, METADATA_FILE, METADATA_NEW_FILE, RESERVE_FILE, SYMBOLS_FILE, UNFINISHED_FILE};
use crate::folder::Folder;
use crate::stream::RECOVERED;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) const STREAM_PREFIX: &str = "stream-";
/// Before a stream's own name, if it is of another user than the recorder's.
pub(super) const USER_PREFIX: &str = "user";
/// Before a stream's own name, if it is of the kernel.
const KERNEL_PREFIX: &str = "kernel";
const RING_PREFIXES: [&str; 2] = ["cpu", "any"];
pub(super) const SNAPSHOT_PREFIX: &str = "snapshot-";
/// What a metadata file of ours begins its environment with, and where that is at the latest.
const OUR_MARK: &[u8] = b"tracer_name = \"lull\"";
const OUR_MARK_UNTIL_BYTES: u64 = 16 << 10;
/// The folder in which readers leave indexes.
const INDEX_FOLDER: &str = "index";

/// Something in a directory that Lull wrote.
pub(super) enum Part {
    File(OsString),
    Folder { name: OsString, folder: Folder, parts: Vec<Part> },
}

/// What is in a directory where a trace is to go.
pub(super) enum Occupant {
    Nothing,
    OurTrace(Vec<Part>),
    /// What a command had not finished that was killed, or runs. The mark of that is the last part.
    Unfinished(Vec<Part>),
    Other(OsString),
}

/// What is in a directory, without following links in it.
pub(super) fn occupant(folder: &Folder) -> Result<Occupant, Error> {
    let is_unfinished = folder.read(UNFINISHED_FILE).is_ok();
    let kind_of = if is_unfinished { is_part_of_unfinished } else { is_part_of_trace };
    let mut parts = match parts_of(folder, kind_of)? {
        Ok(parts) if parts.is_empty() => return Ok(Occupant::Nothing),
        Ok(parts) => parts,
        Err(other) => return Ok(Occupant::Other(other)),
    };
    if is_unfinished {
        parts.sort_by_key(|part| matches!(part, Part::File(name) if name == UNFINISHED_FILE));
        return Ok(Occupant::Unfinished(parts));
    }
    match has_our_mark(folder) {
        true => Ok(Occupant::OurTrace(parts)),
        false => Ok(Occupant::Other(METADATA_FILE.into())),
    }
}

/// What a thing in a directory of ours may be.
#[derive(Clone, Copy)]
enum Kind {
    File,
    Snapshot,
    /// One of several traces that a command makes.
    Trace,
    /// What readers leave beside a trace: where its packets are, what was so when.
    Indexes,
}

/// The parts of a directory, if all are ours; else the name of what is not. The depth is bounded:
/// a snapshot holds no other, and indexes hold files.
fn parts_of(
    folder: &Folder,
    kind_of: fn(&OsStr, FileType) -> Option<Kind>,
) -> Result<Result<Vec<Part>, OsString>, Error> {
    let fail = |error: Errno| Error::Io { path: folder.path().into(), source: error.into() };
    let mut parts = Vec::new();
    for (name, kind) in folder.entries().map_err(fail)? {
        let inside = match kind_of(&name, kind) {
            None => return Ok(Err(name)),
            Some(Kind::File) => {
                parts.push(Part::File(name));
                continue;
            }
            Some(Kind::Snapshot | Kind::Trace) => is_part_of_snapshot,
            Some(Kind::Indexes) => is_index,
        };
        let below = folder.folder(&name)?;
        let other = match parts_of(&below, inside)? {
            Err(other) => other,
            Ok(_) if is_numbered(&name, SNAPSHOT_PREFIX) && !has_our_mark(&below) => {
                METADATA_FILE.into()
            }
            Ok(inner) => {
                parts.push(Part::Folder { name, folder: below, parts: inner });
                continue;
            }
        };
        return Ok(Err(Path::new(&name).join(other).into()));
    }
    Ok(Ok(parts))
}

fn is_part_of_trace(name: &OsStr, kind: FileType) -> Option<Kind> {
    let is_snapshot = kind == FileType::Directory && is_numbered(name, SNAPSHOT_PREFIX);
    is_snapshot.then_some(Kind::Snapshot).or_else(|| is_part_of_snapshot(name, kind))
}

/// A trace, or a folder of traces, of any tracer's events: its metadata does not say who wrote it.
fn is_part_of_unfinished(name: &OsStr, kind: FileType) -> Option<Kind> {
    let is_trace = kind == FileType::Directory;
    is_part_of_snapshot(name, kind).or_else(|| is_trace.then_some(Kind::Trace))
}

fn is_part_of_snapshot(name: &OsStr, kind: FileType) -> Option<Kind> {
    let is_indexes = kind == FileType::Directory && name == INDEX_FOLDER;
    let is_file = is_file_of_ours(name, kind);
    is_indexes.then_some(Kind::Indexes).or_else(|| is_file.then_some(Kind::File))
}

/// `STREAM.lull.idx`, `lull.history`, and the names that these have until they are whole.
fn is_index(name: &OsStr, kind: FileType) -> Option<Kind> {
    let text = name.to_string_lossy();
    let is_ours = text.starts_with("lull.") || text.contains(".lull.");
    (kind == FileType::RegularFile && is_ours).then_some(Kind::File)
}

/// Removes what was found to be ours, part after part.
pub(super) fn clear(folder: &Folder, parts: Vec<Part>) -> io::Result<()> {
    for part in parts {
        match part {
            Part::File(name) => folder.remove(&name)?,
            Part::Folder { name, folder: below, parts } => {
                clear(&below, parts)?;
                folder.remove_folder(&name)?;
            }
        }
    }
    Ok(())
}

fn is_file_of_ours(name: &OsStr, kind: FileType) -> bool {
    let known = [METADATA_FILE, METADATA_NEW_FILE, RESERVE_FILE, SYMBOLS_FILE, UNFINISHED_FILE];
    let is_known = known.iter().any(|known| name == *known);
    kind == FileType::RegularFile && (is_known || is_stream(name).unwrap_or(false))
}

/// `stream-cpu3`, `stream-user1000-any0` or `stream-kernel-cpu3`.
fn is_stream(name: &OsStr) -> Option<bool> {
    let ring = name.to_str()?.strip_prefix(STREAM_PREFIX)?;
    let ring = ring.strip_suffix(RECOVERED).unwrap_or(ring);
    let ring = match ring.split_once('-') {
        Some((KERNEL_PREFIX, ring)) => ring,
        Some((user, ring)) if is_numbered(user.as_ref(), USER_PREFIX) => ring,
        Some(_) => return None,
        None => ring,
    };
    Some(RING_PREFIXES.iter().any(|prefix| is_numbered(ring.as_ref(), prefix)))
}

fn is_numbered(name: &OsStr, prefix: &str) -> bool {
    let number = name.as_bytes().strip_prefix(prefix.as_bytes()).unwrap_or_default();
    !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

/// Whether the metadata says that Lull wrote it. A recorder that was killed before it wrote any
/// leaves none.
fn has_our_mark(folder: &Folder) -> bool {
    let mut text = Vec::new();
    match folder.read(METADATA_FILE) {
        Ok(file) => {
            let _ = file.take(OUR_MARK_UNTIL_BYTES).read_to_end(&mut text);
            text.windows(OUR_MARK.len()).any(|window| window == OUR_MARK)
        }
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
