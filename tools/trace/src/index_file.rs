// SPDX-License-Identifier: MIT
//! Indexes on disk, in the format of LTTng's: a header, and an entry of fixed size for each packet,
//! all numbers big-endian.
//!
//! Place in the flow: a trace's first reader that needs an index makes it, and leaves it beside the
//! trace for the next, if nobody else can write there. `index/NAME.idx` is LTTng's, and only read;
//! `index/NAME.lull.idx` is ours, and is made again when the stream's file is newer. Nothing
//! depends on either: a file that is missing, of another size, old or wrong costs one look at every
//! packet.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::index::{Entry, Index};

const FOLDER: &str = "index";
const LTTNG_SUFFIX: &str = "idx";
const OWN_SUFFIX: &str = "lull.idx";

const MAGIC: u32 = 0xc1f1_dcc1;
const MAJOR: u32 = 1;
/// With the number of each packet, which version 1.0 has not.
const MINOR: u32 = 1;
const HEADER_BYTES: usize = 16;
/// The numbers of an entry of version 1.0: offset, size, content, begin, end, lost, stream.
const NUMBERS: usize = 7;
/// Those that version 1.1 adds: the instance of the stream, and the packet's number.
const MORE_NUMBERS: usize = 2;
/// Longest index that is read: that of 4 million packets.
const MAX_BYTES: u64 = 1 << 28;
/// Streams of fewer packets are faster looked through than their indexes are found.
const LEAST_PACKETS: usize = 64;

/// The index that lies beside a stream file of so many bytes, if one fits it.
pub(crate) fn load(stream: &Path, stream_bytes: u64) -> Option<Index> {
    let changed = fs::metadata(stream).and_then(|m| m.modified()).ok()?;
    [OWN_SUFFIX, LTTNG_SUFFIX].into_iter().find_map(|suffix| {
        let path = beside(stream, suffix)?;
        // Opening may wait for something that is no file.
        let about = fs::metadata(&path).ok()?;
        if !about.is_file() || about.modified().ok()? < changed {
            return None;
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Index::of(parse(&bytes)?, stream_bytes)
    })
}

/// Leaves an index beside its stream, if that may be and is worth it.
pub(crate) fn store(stream: &Path, index: &Index) {
    if index.entries().len() >= LEAST_PACKETS {
        // Nothing needs the file: without it, the next reader makes the index again.
        let _ = write(stream, index);
    }
}

fn write(stream: &Path, index: &Index) -> std::io::Result<()> {
    let path = beside(stream, OWN_SUFFIX).ok_or(ErrorKind::InvalidInput)?;
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    own_index_folder(folder.parent().ok_or(ErrorKind::InvalidInput)?)?;
    // Another reader sees the whole file or none.
    let unfinished = path.with_extension(format!("{}", std::process::id()));
    let written = fs::File::options()
        .write(true)
        .create_new(true)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(&bytes(index)))
        .and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// The folder for indexes in a trace's folder, made if it is not there. An error: nothing can be
/// left there, or another user could lead what is left elsewhere.
pub fn own_index_folder(trace: &Path) -> std::io::Result<PathBuf> {
    check_own(trace)?;
    let folder = trace.join(FOLDER);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => check_own(&folder).map(|()| folder),
    }
}

/// Refuses a folder in which another user could lead a file elsewhere.
pub fn check_own(folder: &Path) -> std::io::Result<()> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let about = fs::symlink_metadata(folder)?;
    let is_own = about.uid() == fs::metadata("/proc/self")?.uid();
    match about.is_dir() && is_own && about.mode() & WRITABLE_BY_OTHERS == 0 {
        true => Ok(()),
        false => Err(ErrorKind::PermissionDenied.into()),
    }
}

/// The path of a stream's index.
fn beside(stream: &Path, suffix: &str) -> Option<PathBuf> {
    let mut name = stream.file_name()?.to_os_string();
    name.push(".");
    name.push(suffix);
    Some(stream.parent()?.join(FOLDER).join(name))
}

fn bytes(index: &Index) -> Vec<u8> {
    let entry_bytes = (NUMBERS + MORE_NUMBERS) * 8;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + index.entries().len() * entry_bytes);
    for number in [MAGIC, MAJOR, MINOR, entry_bytes as u32] {
        bytes.extend(number.to_be_bytes());
    }
    for entry in index.entries() {
        let size_bits = entry.size_bytes.saturating_mul(8);
        let Entry { offset_bytes, content_bits, begin, end, discarded, stream, sequence, .. } =
            *entry;
        let numbers = [offset_bytes, size_bits, content_bits, begin, end, discarded, stream];
        for number in numbers.into_iter().chain([0, sequence]) {
            bytes.extend(number.to_be_bytes());
        }
    }
    bytes
}

fn parse(bytes: &[u8]) -> Option<Vec<Entry>> {
    let (header, entries) = bytes.split_at_checked(HEADER_BYTES)?;
    let mut header =
        header.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_be_bytes));
    if (header.next()?, header.next()?) != (MAGIC, MAJOR) {
        return None;
    }
    let _minor = header.next()?;
    let entry_bytes = header.next()? as usize;
    if entry_bytes < NUMBERS * 8 || entry_bytes % 8 != 0 || entries.len() % entry_bytes != 0 {
        return None;
    }
    entries.chunks_exact(entry_bytes).map(parse_entry).collect()
}

fn parse_entry(bytes: &[u8]) -> Option<Entry> {
    let mut numbers =
        bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_be_bytes));
    let mut next = || numbers.next();
    let (offset_bytes, size_bits) = (next()?, next()?);
    let (content_bits, begin, end, discarded, stream) =
        (next()?, next()?, next()?, next()?, next()?);
    let _instance = next();
    let sequence = next().unwrap_or(0);
    let size_bytes = (size_bits % 8 == 0).then_some(size_bits / 8)?;
    Some(Entry { offset_bytes, size_bytes, content_bits, begin, end, discarded, stream, sequence })
}
