// SPDX-License-Identifier: MIT
//! The trace directory: made before the program starts, readable at every moment after.
//!
//! Place in the flow: `consumer` makes one for a recording and one for each snapshot. The
//! directory is locked while a recorder writes to it. Metadata is replaced in one step, so a
//! recorder that is killed leaves a trace that readers open. A small reserve of disk space is
//! given back at the end, so that a full disk still takes the last metadata with the verdict in
//! it. To give disk space back, or to replace a file that is on its way to the disk, can take
//! milliseconds: recordings that are short and small do neither where the disk has room. `place`
//! and `folder` keep what others do to the path from mattering.

use crate::folder::{look, Folder, Sharing};
use crate::metadata::{metadata, Class, Facts};
use crate::place::Place;
use crate::stream::{Stream, RECOVERED};
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const METADATA_FILE: &str = "metadata";
const METADATA_NEW_FILE: &str = ".metadata.new";
const RESERVE_FILE: &str = ".reserve";
const SYMBOLS_FILE: &str = trace::SYMBOLS_FILE;
const RESERVE_BYTES: u64 = 512 << 10;
/// Where the disk has this much room, a recording begins without a reserve.
const ROOM_BYTES: u64 = 64 << 20;
/// A recording that has written less than this is small: other programs would have to fill all
/// that room while it is short.
const SMALL_BYTES: u64 = 4 << 20;
/// A recording that is younger than this is short. Should the machine lose its power within the
/// next seconds, nothing of the recording is on disk, whatever its metadata says.
const SHORT: Duration = Duration::from_secs(1);
const STREAM_PREFIX: &str = "stream-";
/// Before a stream's own name, if it is of another user than the recorder's.
const USER_PREFIX: &str = "user";
/// Before a stream's own name, if it is of the kernel.
const KERNEL_PREFIX: &str = "kernel";
const RING_PREFIXES: [&str; 2] = ["cpu", "any"];
const SNAPSHOT_PREFIX: &str = "snapshot-";
/// What a metadata file of ours begins its environment with, and where that is at the latest.
const OUR_MARK: &[u8] = b"tracer_name = \"lull\"";
const OUR_MARK_UNTIL_BYTES: u64 = 16 << 10;
/// Recordings that begin in one folder within one second, at most.
const NAMES_MAX: u32 = 1000;
/// How often a link may turn up or vanish while it is set.
const LINK_ATTEMPTS: u32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}; choose another directory with -o", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{} holds {}, which Lull did not write; choose another directory with -o",
        path.display(),
        name.display()
    )]
    Foreign { path: PathBuf, name: PathBuf },
    #[error(
        "{} holds an older trace; give --overwrite to replace it, or choose another directory \
         with -o",
        path.display()
    )]
    Older { path: PathBuf },
    #[error(
        "{} is being written by another recorder; choose another directory with -o",
        path.display()
    )]
    Busy { path: PathBuf },
    #[error(
        "{} belongs to another user (number {uid}), who could change the trace; choose another \
         directory with -o",
        path.display()
    )]
    Owner { path: PathBuf, uid: u32 },
    #[error("{} is a symbolic link; name the directory that is meant with -o", path.display())]
    Link { path: PathBuf },
    #[error(
        "{}: the path leads through a symbolic link of another user (number {uid}), who could \
         make it lead anywhere; name the directory without it",
        path.display()
    )]
    ForeignLink { path: PathBuf, uid: u32 },
    #[error(
        "{} was replaced while it was opened; choose another directory with -o",
        path.display()
    )]
    Replaced { path: PathBuf },
    #[error("{} is no link to a recording of yours, and was left as it is", path.display())]
    LinkTaken { path: PathBuf },
}

/// What to do when the directory holds an older trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// An error.
    Refuse,
    /// Remove it.
    Replace,
}

/// A directory that this recorder writes a trace to. Dropped before it was kept, it takes
/// everything away that was made.
#[derive(Debug)]
pub struct Output {
    folder: Arc<Folder>,
    place: Place,
    sharing: Sharing,
    /// Whether the directory was not there before.
    is_made: bool,
    is_kept: AtomicBool,
    is_reserved: AtomicBool,
    begun: Instant,
}

/// Something in a directory that a recorder wrote.
enum Part {
    File(OsString),
    Folder { name: OsString, folder: Folder, parts: Vec<Part> },
}

/// The folder in which readers leave indexes.
const INDEX_FOLDER: &str = "index";

/// What is in a directory where a trace is to go.
enum Occupant {
    Nothing,
    OurTrace(Vec<Part>),
    Other(OsString),
}

impl Output {
    /// Makes the directory, or takes one that is empty or, as `older` says, holds a trace.
    pub fn create(path: &Path, sharing: Sharing, older: Older) -> Result<Self, Error> {
        let place = Place::find(path, sharing)?;
        let is_made = place.make()?;
        Self::claim(place, is_made, sharing, older)
    }

    /// Makes a directory of its own in the folder that this process is in: `name`, or the first
    /// of `name-2`, `name-3` and so on that is free.
    pub fn create_new(name: &str, sharing: Sharing) -> Result<Self, Error> {
        for number in 1..=NAMES_MAX {
            let name = if number == 1 { name.to_string() } else { format!("{name}-{number}") };
            let place = Place::here(&name)?;
            if place.make()? {
                return Self::claim(place, true, sharing, Older::Refuse);
            }
        }
        Err(Error::Io { path: name.into(), source: io::ErrorKind::AlreadyExists.into() })
    }

    /// Takes the directory of a trace whose recorder was killed, with what is in it.
    pub fn reopen(path: &Path) -> Result<Self, Error> {
        let fail = |source| Error::Io { path: path.to_path_buf(), source };
        // A place makes the directories above it, which is not wanted here.
        std::fs::symlink_metadata(path).map_err(fail)?;
        let place = Place::find(path, Sharing::PRIVATE)?;
        let mut folder = place.open(Sharing::PRIVATE)?;
        let sharing = folder.keep_sharing().map_err(|error| fail(error.into()))?;
        if matches!(folder.lock(), Ok(false)) {
            return Err(Error::Busy { path: path.into() });
        }
        match occupant(&folder)? {
            Occupant::Nothing | Occupant::OurTrace(_) => {}
            Occupant::Other(name) => {
                return Err(Error::Foreign { path: path.into(), name: name.into() })
            }
        }
        // The recorder may have been killed while it wrote this.
        let _ = folder.remove(METADATA_NEW_FILE);
        let output = Self::new(folder, place, sharing, false, true);
        // The killed recorder's, if it took one.
        output.is_reserved.store(true, Ordering::Relaxed);
        Ok(output)
    }

    /// The number of the last snapshot in the directory, 0 if there is none.
    pub fn last_snapshot(&self) -> io::Result<u64> {
        let number = |(name, _): &(OsString, FileType)| {
            name.to_str()?.strip_prefix(SNAPSHOT_PREFIX)?.parse().ok()
        };
        Ok(self.folder.entries()?.iter().filter_map(number).max().unwrap_or(0))
    }

    /// The stream class of another user's streams in the directory, if there are any.
    pub fn class_of_user(&self, user: u32) -> io::Result<Option<u32>> {
        let prefix = format!("{STREAM_PREFIX}{USER_PREFIX}{user}-");
        let class = |(name, _): &(OsString, FileType)| {
            let name = name.to_str().filter(|name| name.starts_with(&prefix))?;
            Stream::class_of(&self.folder.read(name).ok()?)
        };
        Ok(self.folder.entries()?.iter().find_map(class))
    }

    /// Makes the directory of a snapshot in this one.
    pub fn create_snapshot(&self, number: u64) -> Result<Self, Error> {
        let place = Place::within(&self.folder, &format!("{SNAPSHOT_PREFIX}{number}"))?;
        let is_made = place.make()?;
        Self::claim(place, is_made, self.sharing, Older::Refuse)
    }

    /// Takes the directory at a place, and checks that files can be made in it.
    fn claim(place: Place, is_made: bool, sharing: Sharing, older: Older) -> Result<Self, Error> {
        let path = place.shown().to_path_buf();
        let folder = place.open(sharing)?;
        match folder.lock() {
            Ok(true) => {}
            Ok(false) => return Err(Error::Busy { path }),
            // A file system without locks: what is not there before is ours all the same, for
            // the reserve is made where nothing is.
            Err(_) if older == Older::Refuse => {}
            Err(error) => return Err(Error::Io { path, source: error.into() }),
        }
        if !folder.is_at(place.above(), place.name()) {
            return Err(Error::Replaced { path });
        }
        let fail = |source| Error::Io { path: path.clone(), source };
        match occupant(&folder)? {
            Occupant::Nothing => {}
            Occupant::OurTrace(parts) if older == Older::Replace => {
                clear(&folder, parts).map_err(fail)?;
            }
            Occupant::OurTrace(_) => return Err(Error::Older { path }),
            Occupant::Other(name) => return Err(Error::Foreign { path, name: name.into() }),
        }
        folder.share().map_err(|error| fail(error.into()))?;
        // Until here others may have been allowed to write to it.
        let entries = folder.entries().map_err(|error| fail(error.into()))?;
        if let Some((name, _)) = entries.into_iter().next() {
            return Err(Error::Foreign { path, name: name.into() });
        }
        let output = Self::new(folder, place, sharing, is_made, false);
        if output.folder.free_bytes().is_none_or(|free| free < ROOM_BYTES) {
            output.reserve().map_err(|source| Error::Io { path, source })?;
        }
        Ok(output)
    }

    fn new(folder: Folder, place: Place, sharing: Sharing, is_made: bool, is_kept: bool) -> Self {
        let (is_reserved, begun) = (false.into(), Instant::now());
        let (folder, is_kept) = (Arc::new(folder), is_kept.into());
        Self { folder, place, sharing, is_made, is_kept, is_reserved, begun }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// From now on what was made stays.
    pub fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Makes the link `name`, beside the directory, lead to it. A link is replaced in one step,
    /// and only if it is this user's and leads to another `name-...`.
    pub fn link(&self, name: &str) -> Result<(), Error> {
        let above = self.place.above();
        let path = || PathBuf::from(name);
        let fail = |error: Errno| Error::Io { path: path(), source: error.into() };
        for _ in 0..LINK_ATTEMPTS {
            let found = match look(above, name.as_ref()) {
                Err(Errno::NOENT) => match fs::symlinkat(self.place.name(), above, name) {
                    Err(Errno::EXIST) => continue,
                    other => return other.map_err(fail),
                },
                other => other.map_err(fail)?,
            };
            let is_ours = found.file_type() == FileType::Symlink
                && found.status.st_uid == rustix::process::geteuid().as_raw()
                && fs::readlinkat(&found.file, "", Vec::new())
                    .is_ok_and(|target| is_sibling(target.to_bytes(), name));
            if !is_ours {
                return Err(Error::LinkTaken { path: path() });
            }
            let random = uuid::Uuid::new_v4();
            let new = format!(".{name}-{random}");
            fs::symlinkat(self.place.name(), above, &new).map_err(fail)?;
            return fs::renameat(above, &new, above, name).map_err(|error| {
                let _ = fs::unlinkat(above, &new, AtFlags::empty());
                fail(error)
            });
        }
        Err(Error::LinkTaken { path: path() })
    }

    fn is_short(&self) -> bool {
        self.begun.elapsed() < SHORT
    }

    /// Takes the reserve, unless the recording is short and small even with these bytes written.
    pub fn provide(&self, written_bytes: u64) {
        let is_needed = written_bytes >= SMALL_BYTES || !self.is_short();
        if is_needed && !self.is_reserved.load(Ordering::Relaxed) {
            // A disk without room for it has little for the trace, either, which the verdict says.
            let _ = self.reserve();
        }
    }

    /// Takes disk space that [`Output::finish`] gives back.
    fn reserve(&self) -> io::Result<()> {
        self.is_reserved.store(true, Ordering::Relaxed);
        let file = self.folder.make_file(RESERVE_FILE)?;
        match fs::fallocate(&file, fs::FallocateFlags::empty(), 0, RESERVE_BYTES) {
            Err(Errno::NOSPC) => {
                let _ = self.folder.remove(RESERVE_FILE);
                Err(Errno::NOSPC.into())
            }
            _ => Ok(()),
        }
    }

    /// Replaces the metadata in one step.
    pub fn write_metadata(&self, text: &str) -> io::Result<()> {
        let folder = &self.folder;
        let mut file = folder.make_file(METADATA_NEW_FILE)?;
        let replace = || {
            // A file system that gets a file renamed over another one begins to write it to the
            // disk, and later waits for that when it is replaced itself. When two files change
            // places, it does not.
            if self.is_short() && folder.exchange(METADATA_NEW_FILE, METADATA_FILE).is_ok() {
                return folder.remove(METADATA_NEW_FILE);
            }
            folder.rename(METADATA_NEW_FILE, METADATA_FILE)
        };
        let written = file.write_all(text.as_bytes()).and_then(|()| replace());
        if written.is_err() {
            let _ = folder.remove(METADATA_NEW_FILE);
        }
        written
    }

    /// Leaves the names of the kernel's functions beside the streams, in place of older ones.
    pub fn write_symbols(&self, text: &str) -> io::Result<()> {
        let _ = self.folder.remove(SYMBOLS_FILE);
        let written = self.folder.make_file(SYMBOLS_FILE)?.write_all(text.as_bytes());
        if written.is_err() {
            let _ = self.folder.remove(SYMBOLS_FILE);
        }
        written
    }

    /// Gives the reserve back, if there is one.
    pub fn release(&self) {
        let _ = self.folder.remove(RESERVE_FILE);
    }

    /// Writes the last metadata, into the reserve if there is no other space.
    pub fn finish(&self, text: &str) -> io::Result<()> {
        self.release();
        self.write_metadata(text)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_kept.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(Occupant::OurTrace(parts)) = occupant(&self.folder) {
            let _ = clear(&self.folder, parts);
        }
        // There is no way to remove a directory but by its name; only an empty one goes.
        if self.is_made && self.folder.is_at(self.place.above(), self.place.name()) {
            let _ = fs::unlinkat(self.place.above(), self.place.name(), AtFlags::REMOVEDIR);
        }
    }
}

/// Whether a link's target is `name-...` beside the link.
fn is_sibling(target: &[u8], name: &str) -> bool {
    let rest = target.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"-"));
    rest.is_some_and(|rest| !rest.contains(&b'/'))
}

/// What is in a directory, without following links in it.
fn occupant(folder: &Folder) -> Result<Occupant, Error> {
    let parts = match parts_of(folder, is_part_of_trace)? {
        Ok(parts) if parts.is_empty() => return Ok(Occupant::Nothing),
        Ok(parts) => parts,
        Err(other) => return Ok(Occupant::Other(other)),
    };
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
            Some(Kind::Snapshot) => is_part_of_snapshot,
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

/// Removes what was found to be ours.
fn clear(folder: &Folder, parts: Vec<Part>) -> io::Result<()> {
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
    let known = [METADATA_FILE, METADATA_NEW_FILE, RESERVE_FILE, SYMBOLS_FILE];
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

/// A trace being written: its directory and what its metadata says.
#[derive(Debug)]
pub struct Trace {
    pub output: Arc<Output>,
    pub facts: Facts,
    /// The generation of events that the metadata on disk describes.
    described: Option<u64>,
    pub last_error: Option<String>,
}

impl Trace {
    /// Writes the first metadata.
    pub fn start(output: Arc<Output>, facts: Facts, classes: &[Class]) -> Result<Self, Error> {
        let mut trace = Self { output, facts, described: None, last_error: None };
        trace.write(classes).map_err(|source| Error::Io {
            path: trace.output.path().join(METADATA_FILE),
            source,
        })?;
        Ok(trace)
    }

    /// Brings the directory up to date before a packet is written, which may have new events; all
    /// packets then have `written_bytes`.
    pub fn prepare(&mut self, classes: &[Class], written_bytes: u64) {
        self.output.provide(written_bytes);
        if self.described != Some(generation(classes)) {
            self.update(classes);
        }
    }

    /// Writes the metadata again, whose facts have changed.
    pub fn update(&mut self, classes: &[Class]) {
        if let Err(error) = self.write(classes) {
            self.last_error = Some(error.to_string());
        }
    }

    fn write(&mut self, classes: &[Class]) -> io::Result<()> {
        self.output.write_metadata(&metadata(&self.facts, classes))?;
        self.described = Some(generation(classes));
        Ok(())
    }

    /// Writes the last metadata, with what the verdict adds to the environment.
    pub fn finish(
        &mut self,
        classes: &[Class],
        verdict: verdict::environment::Environment,
    ) -> io::Result<()> {
        let mut facts = self.facts.clone();
        facts.environment.retain(|(name, _)| !verdict.iter().any(|(other, _)| other == name));
        facts.environment.extend(verdict);
        self.output.finish(&metadata(&facts, classes))
    }
}

/// Changes whenever an event is met for the first time, or a user.
fn generation(classes: &[Class]) -> u64 {
    classes.len() as u64 + classes.iter().map(|class| class.events.generation).sum::<u64>()
}

#[cfg(test)]
mod tests;
