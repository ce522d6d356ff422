// SPDX-License-Identifier: MIT
//! Where an index is kept, and whether one that is there is of these traces.
//!
//! Place in the flow: `history` looks here for an index, and for a place to build one. An index is
//! kept beside the trace; in the user's cache if nothing may be left beside the trace; in a file
//! without a name or in memory where neither works. It is written under a private name and gets its
//! own when it is whole, so that another reader sees all of it or nothing.

use std::fs::{self, DirEntry, File};
use std::hash::Hasher;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use trace::{own_index_folder, Trace};
use twox_hash::XxHash64;

use crate::cache;

pub(crate) const SUFFIX: &str = "lull.history";
pub(crate) const UNFINISHED: &str = "unfinished";
/// What is read of a stream's file at its begin and at its end, beside its size and its time.
const SAMPLE_BYTES: usize = 4096;

/// Where a history is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// In the trace's folder.
    Beside(PathBuf),
    /// In the user's cache, because nothing can be left beside the trace.
    Cache(PathBuf),
    /// In a file without a name or in memory, because nothing could be left anywhere.
    Temporary,
    /// In memory: the trace is small, or is there itself.
    Memory,
}

/// What tells traces from others, and from what they were before: a number that other names, sizes,
/// times, or other bytes at the ends of their files change. `None`: they are in memory, or small.
pub(crate) fn fingerprint(traces: &[Trace], least_bytes: u64) -> std::io::Result<Option<u64>> {
    let mut hasher = XxHash64::with_seed(0);
    let mut bytes = 0;
    for trace in traces {
        let metadata = trace.path().join("metadata");
        let streams = trace.files().iter().map(|file| file.path());
        for path in std::iter::once(&*metadata).chain(streams) {
            let Ok(file) = File::open(path) else { return Ok(None) };
            let about = file.metadata()?;
            hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
            for number in [about.len(), about.mtime() as u64, about.mtime_nsec() as u64] {
                hasher.write_u64(number);
            }
            let last = about.len().saturating_sub(SAMPLE_BYTES as u64);
            for offset in [0, last] {
                let mut sample = [0; SAMPLE_BYTES];
                let count = file.read_at(&mut sample, offset)?;
                hasher.write(sample.get(..count).unwrap_or(&[]));
            }
            bytes += about.len();
        }
        hasher.write_u64(u64::MAX);
    }
    Ok((bytes >= least_bytes).then(|| hasher.finish()))
}

/// A number for a set of traces, by where they are.
fn set_number(traces: &[Trace]) -> u64 {
    let mut hasher = XxHash64::with_seed(1);
    for trace in traces {
        let path = trace.path().canonicalize().unwrap_or_else(|_| trace.path().into());
        hasher.write(path.as_os_str().as_encoded_bytes());
        hasher.write_u8(0);
    }
    hasher.finish()
}

/// The places where an index of traces may be, best first.
pub(crate) fn places(traces: &[Trace]) -> Vec<Kept> {
    let mut places = Vec::new();
    let set = set_number(traces);
    if let Some(first) = traces.first() {
        let name = match traces.len() {
            1 => SUFFIX.to_string(),
            _ => format!("{set:016x}.{SUFFIX}"),
        };
        places.push(Kept::Beside(first.path().join("index").join(name)));
    }
    if let Some(cache) = cache::folder() {
        places.push(Kept::Cache(cache.join(format!("{set:016x}.{SUFFIX}"))));
    }
    places
}

impl Kept {
    /// The file's path, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Kept::Beside(path) | Kept::Cache(path) => Some(path),
            Kept::Temporary | Kept::Memory => None,
        }
    }

    /// The file that is there.
    pub(crate) fn open(&self) -> Option<File> {
        if let Kept::Cache(path) = self {
            let file = cache::open(path)?;
            cache::sweep(path, cache::BOUND);
            return Some(file);
        }
        // Opening may wait for something that is no file.
        let path = self.path().filter(|path| fs::metadata(path).is_ok_and(|it| it.is_file()))?;
        File::open(path).ok()
    }

    /// A file to build an index in.
    pub(crate) fn create(&self) -> std::io::Result<Unfinished> {
        match self {
            Kept::Beside(path) => {
                let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
                own_index_folder(folder.parent().ok_or(ErrorKind::InvalidInput)?)?;
                Unfinished::new(path)
            }
            Kept::Cache(path) => {
                cache::make(path.parent().ok_or(ErrorKind::InvalidInput)?)?;
                Unfinished::new(path)
            }
            _ => {
                let unfinished = Unfinished::new(&std::env::temp_dir().join(SUFFIX))?;
                fs::remove_file(&unfinished.path)?;
                Ok(unfinished)
            }
        }
    }
}

/// A file that is not an index yet.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: Option<File>,
    path: PathBuf,
    is_finished: bool,
}

impl Unfinished {
    fn new(wanted: &Path) -> std::io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        remove_left(wanted);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut name = wanted.as_os_str().to_os_string();
        name.push(format!(".{}-{number}.{UNFINISHED}", std::process::id()));
        let path = PathBuf::from(name);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { file: Some(file), path, is_finished: false })
    }

    /// The file, once.
    pub fn take(&mut self) -> std::io::Result<File> {
        self.file.take().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// It is an index now.
    pub fn finish(mut self, kept: &Kept) -> std::io::Result<()> {
        if let Some(path) = kept.path() {
            fs::rename(&self.path, path)?;
            self.is_finished = true;
        }
        if let Kept::Cache(path) = kept {
            cache::sweep(path, cache::BOUND);
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            // One without a name is gone already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes what builders left that were killed.
fn remove_left(wanted: &Path) {
    let (Some(folder), Some(name)) = (wanted.parent(), wanted.file_name()) else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    let name = name.to_string_lossy();
    let of_wanted = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(&*name);
    entries.flatten().filter(of_wanted).for_each(|entry| remove_if_left(&entry));
}

/// Removes an entry that a builder has left, of any index, if the builder is no more.
pub(crate) fn remove_if_left(entry: &DirEntry) {
    let found = entry.file_name();
    let found = found.to_string_lossy();
    let builder = found.split_once(SUFFIX).and_then(|(_, rest)| {
        let (builder, _) = rest.strip_prefix('.')?.strip_suffix(UNFINISHED)?.split_once('-')?;
        builder.parse::<u32>().ok()
    });
    if builder.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
        let _ = fs::remove_file(entry.path());
    }
}
