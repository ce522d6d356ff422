// SPDX-License-Identifier: MIT
//! Which file each descriptor and each stream of each process stands for, as far as events tell.
//!
//! Place in the flow: `usage` knows which call opens, duplicates, closes or uses what, `moment`
//! reports forking and executing. What no event told of is named by its number.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::changes::{Change, Notes};
use crate::dump::Told;
use crate::texts::{TextIndex, Texts};
use crate::threads::ProcessIndex;

/// What a descriptor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum File {
    /// A file that was opened by this path, whichever process it was.
    Path(TextIndex),
    /// A socket connected to an address.
    To(TextIndex),
    /// A connection accepted from an address.
    From(TextIndex),
    /// A socket bound to an address.
    At(TextIndex),
    /// A socket of a process without a known address.
    Socket(ProcessIndex),
    /// An end of a pipe that a process made.
    Pipe(ProcessIndex),
    /// A descriptor that was there before the first event.
    Descriptor(ProcessIndex, i32),
    /// A stream that was there before the first event.
    Stream(ProcessIndex),
}

impl File {
    /// What to call it.
    pub fn label(self, texts: &Texts) -> String {
        match self {
            File::Path(path) => texts.text(path),
            File::To(address) => format!("socket to {}", texts.text(address)),
            File::From(address) => format!("socket from {}", texts.text(address)),
            File::At(address) => format!("socket at {}", texts.text(address)),
            File::Socket(_) => "socket".into(),
            File::Pipe(_) => "pipe".into(),
            File::Descriptor(_, 0) => "stdin".into(),
            File::Descriptor(_, 1) => "stdout".into(),
            File::Descriptor(_, 2) => "stderr".into(),
            File::Descriptor(_, fd) => format!("descriptor {fd}"),
            File::Stream(_) => "streams opened before".into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Descriptor {
    file: File,
    closes_on_exec: bool,
}

#[derive(Debug, Default)]
struct Table {
    descriptors: BTreeMap<i32, Descriptor>,
    /// From a stream's address to its descriptor and file.
    streams: FxHashMap<u64, (i32, File)>,
}

/// The open descriptors and streams of all processes.
#[derive(Debug)]
pub struct Descriptors {
    tables: FxHashMap<ProcessIndex, Table>,
    /// Descriptors and streams of all processes, and how many there may be.
    count: usize,
    limit: usize,
    pub(crate) told: Told,
    pub(crate) notes: Notes<Change>,
}

impl Descriptors {
    pub(crate) fn new(limit: usize) -> Self {
        let (told, notes) = (Told::default(), Notes::default());
        Self { tables: FxHashMap::default(), count: 0, limit, told, notes }
    }

    pub(crate) fn opened(
        &mut self,
        process: ProcessIndex,
        fd: i64,
        file: File,
        closes_on_exec: bool,
    ) {
        let Some(fd) = descriptor(fd) else { return };
        self.told.descriptors(process, fd, fd);
        self.is_open(process, fd, Descriptor { file, closes_on_exec });
    }

    fn is_open(&mut self, process: ProcessIndex, fd: i32, open: Descriptor) {
        if self.count >= self.limit || process == ProcessIndex::OTHERS {
            return;
        }
        let table = self.tables.entry(process).or_default();
        let old = table.descriptors.insert(fd, open);
        self.notes.add(Change::Descriptor(process, fd));
        self.count += usize::from(old.is_none());
    }

    /// Takes over what a dump of the state says of a descriptor, where no event told otherwise.
    pub(crate) fn dumped(
        &mut self,
        process: ProcessIndex,
        fd: i64,
        file: File,
        closes_on_exec: bool,
    ) {
        let Some(fd) = descriptor(fd) else { return };
        for (holder, closes_on_exec) in self.told.holders(process, fd, closes_on_exec) {
            self.is_open(holder, fd, Descriptor { file, closes_on_exec });
        }
    }

    /// Whether a descriptor is closed when its process becomes another program.
    pub(crate) fn marked(&mut self, process: ProcessIndex, fd: i64, closes_on_exec: bool) {
        let Some(fd) = descriptor(fd) else { return };
        self.told.marked(process, fd, closes_on_exec);
        let table = self.tables.get_mut(&process);
        if let Some(open) = table.and_then(|table| table.descriptors.get_mut(&fd)) {
            open.closes_on_exec = closes_on_exec;
        }
    }

    pub(crate) fn closed(&mut self, process: ProcessIndex, first: i64, last: i64) {
        let bound = |fd: i64| fd.clamp(0, i64::from(i32::MAX)) as i32;
        if first > last {
            return;
        }
        self.told.descriptors(process, bound(first), bound(last));
        let Some(table) = self.tables.get_mut(&process) else { return };
        let range = bound(first)..=bound(last);
        // Bound: the descriptors of one process.
        while let Some((fd, _)) = table.descriptors.range(range.clone()).next() {
            let fd = *fd;
            table.descriptors.remove(&fd);
            self.notes.add(Change::Descriptor(process, fd));
            self.count -= 1;
        }
    }

    pub(crate) fn duplicated(
        &mut self,
        process: ProcessIndex,
        from: i64,
        to: i64,
        closes_on_exec: bool,
    ) {
        if from != to {
            let file = self.file(process, from);
            self.opened(process, to, file, closes_on_exec);
        }
    }

    pub(crate) fn stream_opened(
        &mut self,
        process: ProcessIndex,
        stream: u64,
        fd: i64,
        file: File,
    ) {
        let (Some(fd), true) = (descriptor(fd), stream != 0) else { return };
        if self.count >= self.limit || process == ProcessIndex::OTHERS {
            return;
        }
        let table = self.tables.entry(process).or_default();
        let old = table.streams.insert(stream, (fd, file));
        self.count += usize::from(old.is_none());
    }

    pub(crate) fn stream_closed(&mut self, process: ProcessIndex, stream: u64) {
        let Some(table) = self.tables.get_mut(&process) else { return };
        if let Some((fd, _)) = table.streams.remove(&stream) {
            self.count -= 1;
            self.closed(process, i64::from(fd), i64::from(fd));
        }
    }

    /// What a descriptor stands for, if an event told that it is open.
    pub fn known(&self, process: ProcessIndex, fd: i32) -> Option<File> {
        Some(self.tables.get(&process)?.descriptors.get(&fd)?.file)
    }

    /// What a descriptor stands for.
    pub fn file(&self, process: ProcessIndex, fd: i64) -> File {
        let fd = descriptor(fd).unwrap_or(-1);
        let found = self.tables.get(&process).and_then(|table| table.descriptors.get(&fd));
        found.map_or(File::Descriptor(process, fd), |descriptor| descriptor.file)
    }

    /// What a stream, by its address, reads and writes.
    pub fn stream_file(&self, process: ProcessIndex, stream: u64) -> File {
        let found = self.tables.get(&process).and_then(|table| table.streams.get(&stream));
        found.map_or(File::Stream(process), |(_, file)| *file)
    }

    /// The descriptors that a process is known to have open, in order.
    pub fn open(&self, process: ProcessIndex) -> impl Iterator<Item = (i32, File)> + '_ {
        let table = self.tables.get(&process);
        let open = table.into_iter().flat_map(|table| &table.descriptors);
        open.map(|(fd, descriptor)| (*fd, descriptor.file))
    }

    /// A child has what its parent has, except what the child is known to have done already.
    pub(crate) fn inherited(
        &mut self,
        child: ProcessIndex,
        parent: ProcessIndex,
        has_executed: bool,
    ) {
        if child == parent || child == ProcessIndex::OTHERS {
            return;
        }
        let Some(of_parent) = self.tables.get(&parent) else { return };
        let kept = of_parent.descriptors.iter();
        let kept = kept.filter(|(fd, open)| !has_executed || !open.closes_on_exec && **fd > 2);
        let kept: Vec<(i32, Descriptor)> = kept.map(|(fd, open)| (*fd, *open)).collect();
        let streams: Vec<(u64, (i32, File))> = match has_executed {
            true => Vec::new(),
            false => of_parent.streams.iter().map(|(at, to)| (*at, *to)).collect(),
        };
        if self.count + kept.len() + streams.len() > self.limit {
            return;
        }
        let table = self.tables.entry(child).or_default();
        let before = table.descriptors.len() + table.streams.len();
        for (fd, open) in kept {
            table.descriptors.entry(fd).or_insert(open);
        }
        for (at, to) in streams {
            table.streams.entry(at).or_insert(to);
        }
        self.count += table.descriptors.len() + table.streams.len() - before;
        self.notes.add(Change::Descriptors(child));
    }

    /// The process runs another program now.
    pub(crate) fn executed(&mut self, process: ProcessIndex) {
        self.told.executed(process);
        let Some(table) = self.tables.get_mut(&process) else { return };
        let before = table.descriptors.len() + table.streams.len();
        table.descriptors.retain(|_, open| !open.closes_on_exec);
        table.streams = FxHashMap::default();
        self.count -= before - table.descriptors.len();
        self.notes.add(Change::Descriptors(process));
    }

    /// The process is over.
    pub(crate) fn ended(&mut self, process: ProcessIndex) {
        if let Some(table) = self.tables.remove(&process) {
            self.count -= table.descriptors.len() + table.streams.len();
            self.notes.add(Change::Descriptors(process));
        }
    }
}

fn descriptor(fd: i64) -> Option<i32> {
    i32::try_from(fd).ok().filter(|fd| *fd >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessIndex = ProcessIndex(1);
    const CHILD: ProcessIndex = ProcessIndex(2);
    const A: File = File::Path(TextIndex(7));
    const B: File = File::Path(TextIndex(8));

    #[test]
    fn descriptors_follow_open_dup_and_close() {
        let mut open = Descriptors::new(99);
        open.opened(P, 3, A, false);
        open.duplicated(P, 3, 1, false);
        open.closed(P, 3, 3);
        assert_eq!(open.file(P, 1), A);
        assert_eq!(open.file(P, 3), File::Descriptor(P, 3));
        open.opened(P, 3, B, false);
        assert_eq!(open.file(P, 3), B);
        open.closed(P, 2, i64::MAX);
        assert_eq!((open.file(P, 1), open.count), (A, 1));
    }

    #[test]
    fn fork_copies_and_exec_closes_what_is_marked() {
        let mut open = Descriptors::new(99);
        open.opened(P, 3, A, true);
        open.opened(P, 4, B, false);
        open.inherited(CHILD, P, false);
        open.closed(P, 4, 4);
        assert_eq!((open.file(CHILD, 3), open.file(CHILD, 4)), (A, B));
        open.executed(CHILD);
        assert_eq!((open.file(CHILD, 3), open.file(CHILD, 4)), (File::Descriptor(CHILD, 3), B));
        open.ended(CHILD);
        assert_eq!((open.count, open.file(CHILD, 4)), (1, File::Descriptor(CHILD, 4)));
    }

    #[test]
    fn streams_have_files_and_close_their_descriptor() {
        let mut open = Descriptors::new(99);
        open.opened(P, 3, A, false);
        open.stream_opened(P, 0x10, 3, A);
        assert_eq!(open.stream_file(P, 0x10), A);
        open.stream_closed(P, 0x10);
        assert_eq!(open.stream_file(P, 0x10), File::Stream(P));
        assert_eq!((open.file(P, 3), open.count), (File::Descriptor(P, 3), 0));
    }

    #[test]
    fn no_more_than_the_limit_is_remembered_and_odd_numbers_are_no_descriptors() {
        let mut open = Descriptors::new(2);
        for fd in [-1, i64::MAX, 5, 6, 7] {
            open.opened(P, fd, A, false);
        }
        assert_eq!(open.count, 2);
        assert_eq!(open.file(P, 7), File::Descriptor(P, 7));
        open.inherited(CHILD, P, false);
        assert_eq!(open.count, 2);
    }
}
