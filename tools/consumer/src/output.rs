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
use crate::stream::Stream;
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

mod occupant;

use occupant::{clear, occupant, Occupant, SNAPSHOT_PREFIX, STREAM_PREFIX, USER_PREFIX};

const METADATA_FILE: &str = "metadata";
const METADATA_NEW_FILE: &str = ".metadata.new";
const RESERVE_FILE: &str = ".reserve";
const SYMBOLS_FILE: &str = trace::SYMBOLS_FILE;
/// Is there while what a directory holds is of no use yet.
const UNFINISHED_FILE: &str = ".unfinished";
/// What is reserved: an eighth of the room that there is, within these bounds, and more where the
/// metadata is longer.
const RESERVE_LEAST_BYTES: u64 = 128 << 10;
const RESERVE_MOST_BYTES: u64 = 512 << 10;
/// By how much the last metadata may be longer than the one before.
const VERDICT_BYTES: u64 = 64 << 10;
/// Where the disk has this much room, a recording begins without a reserve.
const ROOM_BYTES: u64 = 64 << 20;
/// A recording that has written less than this is small: other programs would have to fill all
/// that room while it is short.
const SMALL_BYTES: u64 = 4 << 20;
/// A recording that is younger than this is short. Should the machine lose its power within the
/// next seconds, nothing of the recording is on disk, whatever its metadata says.
const SHORT: Duration = Duration::from_secs(1);
/// Recordings that begin in one folder within one second, at most.
const NAMES_MAX: u32 = 1000;
/// Of a path, with the NUL behind it; PATH_MAX.
const PATH_BYTES_MAX: usize = 4096;
/// How often a link may turn up or vanish while it is set.
const LINK_ATTEMPTS: u32 = 10;
/// How often another thread may make a file where all is being taken away.
const DISCARD_ATTEMPTS: u32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}{}", path.display(), elsewhere(source))]
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

/// What to do where the system refuses a directory. How many files may be open is the same for all.
fn elsewhere(refusal: &io::Error) -> &'static str {
    match refusal.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
        true => "",
        false => "; choose another directory with -o",
    }
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
    /// The bytes that are reserved or were; 0: none.
    reserved_bytes: AtomicU64,
    begun: Instant,
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

    /// Makes the directory of traces that are of use only when all are whole, or takes one that
    /// is empty or holds what such a command left. Until it is kept, a mark in it says so.
    pub fn create_unfinished(path: &Path, sharing: Sharing) -> Result<Self, Error> {
        let output = Self::create(path, sharing, Older::Refuse)?;
        match output.folder.make_file(UNFINISHED_FILE) {
            Ok(_) => Ok(output),
            Err(source) => Err(Error::Io { path: path.into(), source }),
        }
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
            Occupant::Nothing | Occupant::OurTrace(_) | Occupant::Unfinished(_) => {}
            Occupant::Other(name) => {
                return Err(Error::Foreign { path: path.into(), name: name.into() })
            }
        }
        // The recorder may have been killed while it wrote this.
        let _ = folder.remove(METADATA_NEW_FILE);
        let output = Self::new(folder, place, sharing, false, true);
        // The killed recorder's, if it took one.
        output.reserved_bytes.store(RESERVE_MOST_BYTES, Ordering::Relaxed);
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
        self.create_within(&format!("{SNAPSHOT_PREFIX}{number}"))
    }

    /// Makes the directory of another trace in this one.
    pub fn create_within(&self, name: &str) -> Result<Self, Error> {
        let place = Place::within(&self.folder, name)?;
        let is_made = place.make()?;
        Self::claim(place, is_made, self.sharing, Older::Refuse)
    }

    /// Takes the directory at a place, and checks that files can be made in it.
    fn claim(place: Place, is_made: bool, sharing: Sharing, older: Older) -> Result<Self, Error> {
        let path = place.shown().to_path_buf();
        let folder = place.open(sharing)?;
        let is_locked = match folder.lock() {
            Ok(true) => true,
            Ok(false) => return Err(Error::Busy { path }),
            // A file system without locks: what is not there before is ours all the same, for
            // the reserve is made where nothing is.
            Err(_) if older == Older::Refuse => false,
            Err(error) => return Err(Error::Io { path, source: error.into() }),
        };
        if !folder.is_at(place.above(), place.name()) {
            return Err(Error::Replaced { path });
        }
        let fail = |source| Error::Io { path: path.clone(), source };
        match occupant(&folder)? {
            Occupant::Nothing => {}
            Occupant::OurTrace(parts) if older == Older::Replace => {
                clear(&folder, parts).map_err(fail)?;
            }
            // Who was at it has ended.
            Occupant::Unfinished(parts) if is_locked => clear(&folder, parts).map_err(fail)?,
            Occupant::OurTrace(_) | Occupant::Unfinished(_) => return Err(Error::Older { path }),
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
            let bytes = output.reserve_bytes();
            output.reserve(bytes).map_err(|source| Error::Io { path, source })?;
        }
        Ok(output)
    }

    fn new(folder: Folder, place: Place, sharing: Sharing, is_made: bool, is_kept: bool) -> Self {
        let (reserved_bytes, begun) = (0.into(), Instant::now());
        let (folder, is_kept) = (Arc::new(folder), is_kept.into());
        Self { folder, place, sharing, is_made, is_kept, reserved_bytes, begun }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// Whether the directory is still where it was made. Where its path is longer than the kernel
    /// takes, the directory above, which is open, is asked.
    pub fn is_at_its_path(&self) -> bool {
        let path = self.folder.path();
        match path.is_absolute() && path.as_os_str().len() < PATH_BYTES_MAX {
            true => self.folder.is_at_its_path(),
            false => self.folder.is_at(self.place.above(), self.place.name()),
        }
    }

    /// From now on what was made stays, and is finished.
    pub fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
        let _ = self.folder.remove(UNFINISHED_FILE);
    }

    /// Takes everything away that was made, unless it is kept.
    pub fn discard(&self) {
        if self.is_kept.load(Ordering::Relaxed) {
            return;
        }
        for _ in 0..DISCARD_ATTEMPTS {
            match occupant(&self.folder) {
                Ok(Occupant::OurTrace(parts) | Occupant::Unfinished(parts)) => {
                    let _ = clear(&self.folder, parts);
                }
                _ => break,
            }
        }
        // There is no way to remove a directory but by its name; only an empty one goes.
        if self.is_made && self.folder.is_at(self.place.above(), self.place.name()) {
            let _ = fs::unlinkat(self.place.above(), self.place.name(), AtFlags::REMOVEDIR);
        }
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
        if is_needed && self.reserved_bytes.load(Ordering::Relaxed) == 0 {
            // A disk without room for it has little for the trace, either, which the verdict says.
            let _ = self.reserve(self.reserve_bytes());
        }
    }

    /// What to reserve: of a small disk not most.
    fn reserve_bytes(&self) -> u64 {
        let part = self.folder.free_bytes().map(|free| free / 8);
        part.unwrap_or(RESERVE_MOST_BYTES).clamp(RESERVE_LEAST_BYTES, RESERVE_MOST_BYTES)
    }

    /// Takes disk space that [`Output::finish`] gives back, in place of what was taken before.
    fn reserve(&self, bytes: u64) -> io::Result<()> {
        self.reserved_bytes.store(bytes, Ordering::Relaxed);
        self.release();
        let file = self.folder.make_file(RESERVE_FILE)?;
        match fs::fallocate(&file, fs::FallocateFlags::empty(), 0, bytes) {
            Err(Errno::NOSPC) => {
                let _ = self.folder.remove(RESERVE_FILE);
                Err(Errno::NOSPC.into())
            }
            _ => Ok(()),
        }
    }

    /// Makes the reserve large enough for metadata that is not much longer than this.
    fn reserve_for(&self, metadata_bytes: usize) {
        let (bytes, reserved) = (metadata_bytes as u64 + VERDICT_BYTES, &self.reserved_bytes);
        let before = reserved.load(Ordering::Relaxed);
        if before > 0 && before < bytes && self.reserve(bytes).is_err() {
            let _ = self.reserve(before);
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
        self.discard();
    }
}

/// Whether a link's target is `name-...` beside the link.
fn is_sibling(target: &[u8], name: &str) -> bool {
    let rest = target.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"-"));
    rest.is_some_and(|rest| !rest.contains(&b'/'))
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
        let text = metadata(&self.facts, classes);
        self.output.write_metadata(&text)?;
        self.output.reserve_for(text.len());
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
