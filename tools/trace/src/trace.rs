// SPDX-License-Identifier: MIT
//! A trace on disk: a folder with a `metadata` file and one file for each stream.
//!
//! Place in the flow: the entry of this crate. Opening maps the files and reads the first packet
//! header of each; packets are read when a merge comes to them, so opening takes the same time
//! whatever the size of the trace.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::clock::Clock;
use crate::cursor::{Cursor, Previous};
use crate::error::{Error, Fault, Problem, ProblemKind};
use crate::finished;
use crate::index::Index;
use crate::index_file;
use crate::mapping::Mapping;
use crate::merge::Merge;
use crate::metadata::{EnvironmentValue, EventClass, Metadata, StreamClass};
use crate::packet::{self, Signature};
use crate::symbols::{self, Symbols, SymbolsError};
use crate::units::{CpuId, Cycles, Ns};

pub(crate) const METADATA_NAME: &str = "metadata";
/// Stream files that one trace may have.
const MAX_STREAM_FILES: usize = 1 << 16;
/// How much of all files of a trace is kept in memory, and of each one at most and at least.
const WINDOWS_BYTES: usize = 64 << 20;
const WINDOW_BYTES_MAX: usize = 2 << 20;
const WINDOW_BYTES_MIN: usize = 16 << 10;
/// Warnings about the metadata that are told one by one.
const MAX_WARNINGS_SHOWN: usize = 20;

/// The bytes of one stream file.
#[derive(Debug)]
enum Bytes {
    Mapped(Mapping),
    Owned(Vec<u8>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map.bytes(),
            Self::Owned(bytes) => bytes,
        }
    }
}

/// One stream file of a trace.
#[derive(Debug)]
pub struct StreamFile {
    path: PathBuf,
    bytes: Bytes,
    /// Position of its class in the metadata.
    class: usize,
    cpu: Option<CpuId>,
    /// How much of it a cursor keeps in memory.
    window_bytes: usize,
    /// What the last packet says, once that was asked for.
    ended: OnceLock<Previous>,
    /// Where its packets are, once that was asked for and if it can be said.
    index: OnceLock<Option<Index>>,
}

impl StreamFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Position of its stream class in the metadata.
    pub fn class_index(&self) -> usize {
        self.class
    }

    /// The processor named by the file's first packet.
    pub fn cpu(&self) -> Option<CpuId> {
        self.cpu
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.all()
    }

    /// How many bytes there were when the trace was opened.
    pub(crate) fn whole_bytes(&self) -> usize {
        match &self.bytes {
            Bytes::Mapped(map) => map.whole_bytes(),
            Bytes::Owned(bytes) => bytes.len(),
        }
    }

    /// Finds out whether the file has become shorter: then its bytes are fewer from now on.
    pub(crate) fn look_for_cut(&self) {
        if let Bytes::Mapped(map) = &self.bytes {
            map.look_for_cut(&self.path);
        }
    }

    /// Whether the file was shortened or written over since the trace was opened.
    fn is_changed(&self) -> bool {
        match &self.bytes {
            Bytes::Mapped(map) => map.is_changed(&self.path),
            Bytes::Owned(_) => false,
        }
    }

    /// Says that bytes have been read and need not stay in memory.
    pub(crate) fn release(&self, bytes: std::ops::Range<usize>) {
        if let Bytes::Mapped(map) = &self.bytes {
            map.release(bytes);
        }
    }

    pub(crate) fn window_bytes(&self) -> usize {
        self.window_bytes
    }

    /// The counters of the last packet, which `read` finds out.
    pub(crate) fn ended(&self, read: impl FnOnce() -> Previous) -> &Previous {
        self.ended.get_or_init(read)
    }
}

/// An open trace.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    metadata: Metadata,
    signature: Signature,
    files: Vec<StreamFile>,
    problems: Vec<Problem>,
    symbols: Result<Symbols, SymbolsError>,
}

impl Trace {
    /// Opens the trace in a folder. Damage is listed in [`Trace::problems`]; only metadata from
    /// which no stream can be read is an error.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let metadata_path = path.join(METADATA_NAME);
        let bytes = std::fs::read(&metadata_path).map_err(|reason| match reason.kind() {
            std::io::ErrorKind::NotFound => Error::NotATrace { path: path.into() },
            _ => Error::Io { path: metadata_path.clone(), reason },
        })?;
        let mut trace = Self::with_metadata(path, &bytes)?;
        trace.symbols = Symbols::of_trace(path);
        let (files, are_all) = stream_paths(path, MAX_STREAM_FILES)?;
        if !are_all {
            let what = format!("only {MAX_STREAM_FILES} of the files in it are read");
            trace.unreadable(path.into(), what);
        }
        let mut streams = Vec::with_capacity(files.len());
        let mut found = HashMap::with_capacity(files.len());
        for file in files {
            let mapped = map(&file);
            let bytes = mapped.as_ref().ok().map(|bytes| bytes.all().len() as u64);
            found.insert(file.clone(), bytes);
            match mapped {
                Ok(bytes) => streams.push((file, bytes)),
                Err(error) => trace.unreadable(file, error.to_string()),
            }
        }
        if are_all {
            let changes = finished::differences(&trace.metadata, path, &found, MAX_STREAM_FILES);
            trace.problems.extend(changes);
        }
        trace.add_files(streams);
        let share = WINDOWS_BYTES / trace.files.len().max(1);
        for file in &mut trace.files {
            file.window_bytes = share.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        }
        Ok(trace)
    }

    /// A trace from bytes: the metadata, and the stream files with their names.
    pub fn from_bytes(metadata: &[u8], streams: Vec<(PathBuf, Vec<u8>)>) -> Result<Self, Error> {
        let mut trace = Self::with_metadata(Path::new(""), metadata)?;
        let owned = |(path, bytes)| (path, Bytes::Owned(bytes));
        trace.add_files(streams.into_iter().map(owned).collect());
        Ok(trace)
    }

    /// Puts other packets of the same trace in place of its streams; the metadata is not read
    /// again. For readers that follow a trace while it is written.
    pub fn replace_streams(&mut self, streams: Vec<(PathBuf, Vec<u8>)>) {
        self.files.clear();
        self.problems.clear();
        let owned = |(path, bytes)| (path, Bytes::Owned(bytes));
        self.add_files(streams.into_iter().map(owned).collect());
    }

    fn with_metadata(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let (metadata, mut errors) = Metadata::salvage(bytes);
        let metadata_path = path.join(METADATA_NAME);
        if metadata.streams.is_empty() && !errors.is_empty() {
            return Err(Error::Metadata { path: metadata_path, reason: errors.swap_remove(0) });
        }
        let problems = errors.into_iter().map(|error| Problem {
            file: metadata_path.clone(),
            packet: None,
            offset_bytes: 0,
            lost_bytes: 0,
            what: ProblemKind::Metadata { line: error.line, what: error.what },
        });
        Ok(Self {
            path: path.into(),
            problems: problems.collect(),
            signature: Signature::of(&metadata),
            metadata,
            files: Vec::new(),
            symbols: Ok(Symbols::default()),
        })
    }

    fn unreadable(&mut self, file: PathBuf, what: String) {
        let what = ProblemKind::Unreadable(what);
        self.problems.push(Problem { file, packet: None, offset_bytes: 0, lost_bytes: 0, what });
    }

    fn add_files(&mut self, streams: Vec<(PathBuf, Bytes)>) {
        if let Some(found) = self.uuid_of_all(&streams) {
            let what = format!(
                "the metadata is of trace {}, the packets are of trace {}: they are read by it",
                shown_uuid(self.metadata.uuid.unwrap_or_default()),
                shown_uuid(found)
            );
            self.problems.push(Problem {
                file: self.path.join(METADATA_NAME),
                packet: None,
                offset_bytes: 0,
                lost_bytes: 0,
                what: ProblemKind::Metadata { line: 1, what },
            });
            self.metadata.uuid = Some(found);
            self.signature = Signature::of(&self.metadata);
        }
        for (path, bytes) in streams {
            self.add_file(path, bytes);
        }
        self.sort_files();
    }

    /// The UUID that every file begins with, if it is one and the same, and none of them has a
    /// packet with the UUID of the metadata.
    fn uuid_of_all(&self, streams: &[(PathBuf, Bytes)]) -> Option<[u8; 16]> {
        let stated = self.metadata.uuid?;
        let all = || streams.iter().map(|(_, bytes)| bytes.all()).filter(|all| !all.is_empty());
        let found = self.signature.uuid_of(all().next()?)?;
        let is_other = |all: &[u8]| self.signature.uuid_of(all) == Some(found);
        let are_others = found != stated && all().all(is_other);
        (are_others && all().all(|all| self.signature.find(all, 0).is_none())).then_some(found)
    }

    /// Adds a stream file after a look at its first intact packet.
    fn add_file(&mut self, path: PathBuf, bytes: Bytes) {
        let mut file = StreamFile {
            path,
            bytes,
            class: 0,
            cpu: None,
            window_bytes: WINDOW_BYTES_MIN,
            ended: OnceLock::new(),
            index: OnceLock::new(),
        };
        if file.bytes().is_empty() {
            return;
        }
        let slots = crate::walk::new_slots(self.metadata.slot_count);
        let look = |at: usize| {
            let data = file.bytes().get(at..).unwrap_or(&[]);
            let (scan, class) = packet::scan(&self.metadata, data, &slots, 0)?;
            let index = self.metadata.streams.iter().position(|s| s.id == class.id);
            Ok((index.ok_or(Fault::UnknownStream(class.id.0))?, scan.cpu))
        };
        let found = look(0).or_else(|fault| {
            let next = self.signature.find(file.bytes(), 1).ok_or(fault)?;
            look(next).map_err(|_| fault)
        });
        match found {
            Ok((class, cpu)) => {
                file.class = class;
                file.cpu = cpu.and_then(CpuId::named);
                self.files.push(file);
            }
            Err(fault) => self.problems.push(Problem {
                lost_bytes: file.bytes().len() as u64,
                file: file.path,
                packet: Some(0),
                offset_bytes: 0,
                what: ProblemKind::Fault(fault),
            }),
        }
    }

    /// Ties in time are broken by this order.
    fn sort_files(&mut self) {
        self.files.sort_by(|a, b| (a.cpu, &a.path).cmp(&(b.cpu, &b.path)));
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub fn environment(&self) -> &[(String, EnvironmentValue)] {
        &self.metadata.environment
    }

    pub fn event_classes(&self) -> impl Iterator<Item = &EventClass> {
        self.metadata.event_classes()
    }

    pub fn clocks(&self) -> &[Clock] {
        &self.metadata.clocks
    }

    /// The stream files, in the order in which streams are numbered.
    pub fn files(&self) -> &[StreamFile] {
        &self.files
    }

    /// A stream file that was shortened or written over since the trace was opened: what is read
    /// from now on may lack events. One that has grown is none.
    pub fn changed_file(&self) -> Option<&Path> {
        self.files.iter().find(|file| file.is_changed()).map(StreamFile::path)
    }

    /// What was wrong when the trace was opened. A [`Merge`] finds the rest while it reads.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Names of the kernel's functions, as far as the trace's recorder knew them.
    pub fn symbols(&self) -> Option<&Symbols> {
        self.symbols.as_ref().ok().filter(|symbols| !symbols.is_empty())
    }

    /// What was odd about the metadata and the list of symbols, and made no difference to what
    /// could be read: a line for each of the first oddities, and one for the rest.
    pub fn warnings(&self) -> Vec<String> {
        let path = self.path.join(METADATA_NAME);
        let all = &self.metadata.warnings;
        let shown = all.iter().take(MAX_WARNINGS_SHOWN);
        let mut lines: Vec<String> =
            shown.map(|warning| format!("{}: {warning}", path.display())).collect();
        if all.len() > MAX_WARNINGS_SHOWN {
            let more = all.len() - MAX_WARNINGS_SHOWN;
            lines.push(format!("{}: and {more} more oddities", path.display()));
        }
        if let Err(error) = &self.symbols {
            let path = self.path.join(symbols::FILE);
            lines.push(format!("{}: {error}; addresses have no names", path.display()));
        }
        lines
    }

    /// All events in time order.
    pub fn merge(&self) -> Merge<'_> {
        Merge::over(std::slice::from_ref(self))
    }

    /// When the first packet begins and the last one ends, as the clock's nanoseconds; `None` if
    /// no stream has a clock. Takes a whole pass over a stream whose packets do not say it.
    pub fn bounds(&self) -> Option<(Ns, Ns)> {
        let of_file = |file| {
            let mut cursor = self.cursor(file)?;
            let clock = self.metadata.clock_of(cursor.class)?;
            let cycles = self.index(file).map_or_else(|| cursor.bounds(), Index::bounds);
            cycles.map(|(begin, end)| (clock.ns(Cycles(begin)), clock.ns(Cycles(end))))
        };
        let found = self.files.iter().filter_map(of_file);
        found.reduce(|(begin, end), (first, last)| (begin.min(first), end.max(last)))
    }

    pub(crate) fn class_of(&self, file: &StreamFile) -> Option<&StreamClass> {
        self.metadata.streams.get(file.class)
    }

    /// A cursor at the beginning of a file.
    pub(crate) fn cursor<'t>(&'t self, file: &'t StreamFile) -> Option<Cursor<'t>> {
        Some(Cursor::new(file, self.class_of(file)?, &self.metadata, &self.signature))
    }

    /// A cursor at the packet of a file that has the first event at or after a clock value, and
    /// whether the packets after it begin one after the other has ended.
    pub(crate) fn cursor_at<'t>(
        &'t self,
        file: &'t StreamFile,
        cycles: u64,
    ) -> Option<(Cursor<'t>, bool)> {
        // A packet whose end was noted early may have an event up to where the next one begins.
        let packets_before = usize::from(self.metadata.notes_ends_early());
        let at = |index: &Index| {
            let mut cursor = self.cursor(file)?;
            let position = index.position(cycles).saturating_sub(packets_before);
            cursor.seek(index, position).then_some((cursor, index.is_ordered))
        };
        let index = self.index(file);
        // Where a stored index turns out to be wrong, it is made again.
        let found = index.and_then(|index| at(index).or_else(|| at(&self.scan(file)?)));
        found.or_else(|| Some((self.cursor(file)?, false)))
    }

    /// Where a file's packets are: as the index beside it says, or a look at each.
    pub(crate) fn index<'t>(&self, file: &'t StreamFile) -> Option<&'t Index> {
        let find = || {
            let stored = match file.bytes {
                Bytes::Mapped(_) => index_file::load(&file.path, file.bytes().len() as u64),
                Bytes::Owned(_) => None,
            };
            stored.filter(|index| self.agrees(file, index)).or_else(|| self.scan(file))
        };
        file.index.get_or_init(find).as_ref()
    }

    fn scan(&self, file: &StreamFile) -> Option<Index> {
        let index = Index::scan(self.cursor(file)?)?;
        if matches!(file.bytes, Bytes::Mapped(_)) {
            index_file::store(&file.path, &index);
        }
        Some(index)
    }

    /// Whether the first packet and the last are what an index says.
    fn agrees(&self, file: &StreamFile, index: &Index) -> bool {
        [1, index.entries().len()].into_iter().all(|position| {
            self.cursor(file).is_some_and(|mut cursor| cursor.seek(index, position))
        })
    }
}

/// A UUID as metadata writes it.
fn shown_uuid(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
    parts.join("-")
}

/// The files of a trace folder that may hold streams, so many at most, and whether they are all.
fn stream_paths(folder: &Path, limit: usize) -> Result<(Vec<PathBuf>, bool), Error> {
    let io = |reason| Error::Io { path: folder.into(), reason };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        let is_file = std::fs::metadata(entry.path()).is_ok_and(|m| m.is_file());
        if is_file && !is_hidden && name != METADATA_NAME {
            if paths.len() >= limit {
                return Ok((paths, false));
            }
            paths.push(entry.path());
        }
    }
    Ok((paths, true))
}

fn map(path: &Path) -> std::io::Result<Bytes> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::Owned(Vec::new()));
    }
    Mapping::new(&file).map(Bytes::Mapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_bound_is_not_left_out_silently() {
        let root = testkit::TraceFolder::new("", &[vec![0], vec![1], vec![2]]).unwrap();
        let files =
            |limit| stream_paths(root.path(), limit).map(|(f, all)| (f.len(), all)).unwrap();
        assert_eq!((files(3), files(2)), ((3, true), (2, false)));
    }
}
