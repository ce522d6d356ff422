// SPDX-License-Identifier: MIT
//! What the kernel's dump of the state leaves to the events beside it.
//!
//! Place in the flow: a dump (`state:*`) tells of one thing after the other, while these change.
//! What it says of a thing may have been true before an event that stands earlier in the trace. So
//! `moment` and `descriptors` note here what events told since the dump began, and take from the
//! dump only the rest: that was so all the time since its begin. `docs/design/60-kernel.md` has the
//! argument.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::threads::{ProcessIndex, ThreadIndex};

/// How much is remembered of what events told.
const MOST: usize = 1 << 20;

/// The place of something that was noted among all that was.
type Order = usize;

/// What events told of one process.
#[derive(Debug, Default)]
struct Of {
    born: Order,
    descriptors: FxHashSet<i32>,
    /// Descriptors from a first to a last that were closed at once.
    ranges: Vec<(i32, i32)>,
    /// When it became another program.
    executed: Vec<Order>,
    /// When descriptors were marked as closed by that, or as not.
    marked: FxHashMap<i32, Vec<(Order, bool)>>,
    /// Addresses of whose maps events told.
    maps: Vec<(u64, u64)>,
    parent: Option<ProcessIndex>,
    /// Those that began since, and had its descriptors then.
    children: FxHashSet<ProcessIndex>,
}

/// What events told since the dump began that runs; empty where none runs.
#[derive(Debug, Default)]
pub(crate) struct Told {
    is_running: bool,
    count: usize,
    /// That an event told of, or the dump.
    threads: FxHashSet<ThreadIndex>,
    processes: FxHashMap<ProcessIndex, Of>,
    /// The process of the dump's last record.
    latest: Option<i64>,
    /// The dump's next records of this number are of an older process that had it.
    stale: Option<i64>,
    /// The table of descriptors of the latest thread that the dump told of, and its process.
    table: Option<(u64, i64)>,
    /// Events were lost since the dump began.
    is_lossy: bool,
}

impl Told {
    /// `is_lossy`: events may be missing now.
    pub fn dump_begins(&mut self, is_lossy: bool) {
        *self = Self { is_running: true, is_lossy, ..Self::default() };
    }

    /// Events were lost.
    pub fn lossy(&mut self) {
        self.is_lossy = true;
    }

    /// Whether the dump that runs has lost nothing.
    pub fn is_whole(&self) -> bool {
        self.is_running && !self.is_lossy
    }

    /// The dump tells of a thread with this table of descriptors, whose files come next.
    pub fn has_table(&mut self, address: u64, pid: i64) {
        self.table = Some((address, pid));
    }

    /// The process of the thread that the dump told of last, if the table is that thread's.
    pub fn of_table(&self, address: u64) -> Option<i64> {
        self.table.filter(|(of, _)| *of == address).map(|(_, pid)| pid)
    }

    /// The result is which threads there are, if that is known: those that were told of.
    pub fn dump_ends(&mut self) -> Option<FxHashSet<ThreadIndex>> {
        let told = std::mem::take(self);
        (told.is_running && told.count < MOST).then_some(told.threads)
    }

    /// Whether there is a dump, and space to note one more thing.
    fn notes(&mut self) -> bool {
        let has_space = self.is_running && self.count < MOST;
        self.count += usize::from(has_space);
        has_space
    }

    pub fn thread(&mut self, thread: ThreadIndex) {
        if self.notes() {
            self.threads.insert(thread);
        }
    }

    /// Something happened to descriptors from a first to a last.
    pub fn descriptors(&mut self, process: ProcessIndex, first: i32, last: i32) {
        if self.notes() {
            let of = self.processes.entry(process).or_default();
            if first == last {
                of.descriptors.insert(first);
            } else {
                of.ranges.push((first, last));
            }
        }
    }

    /// Something happened to the maps of a range.
    pub fn maps(&mut self, process: ProcessIndex, begin: u64, until: u64) {
        if self.notes() {
            self.processes.entry(process).or_default().maps.push((begin, until));
        }
    }

    pub fn executed(&mut self, process: ProcessIndex) {
        if self.notes() {
            self.processes.entry(process).or_default().executed.push(self.count);
        }
    }

    /// A descriptor was marked as one that closes when its process becomes another program, or as
    /// one that does not.
    pub fn marked(&mut self, process: ProcessIndex, fd: i32, on_exec: bool) {
        if self.notes() {
            let of = self.processes.entry(process).or_default();
            of.marked.entry(fd).or_default().push((self.count, on_exec));
        }
    }

    /// A process began, whose number another one may have had.
    pub fn born(&mut self, child: ProcessIndex, pid: i64, parent: ProcessIndex) {
        if child == parent || !self.notes() {
            return;
        }
        let of = Of { parent: Some(parent), born: self.count, ..Of::default() };
        let older = self.processes.insert(child, of).and_then(|older| older.parent);
        if let Some(of) = older.and_then(|older| self.processes.get_mut(&older)) {
            of.children.remove(&child);
        }
        self.processes.entry(parent).or_default().children.insert(child);
        if self.latest == Some(pid) {
            self.stale = Some(pid);
        }
    }

    /// Whether what the dump says of a thread is to be taken.
    pub fn takes_thread(&mut self, thread: ThreadIndex, pid: i64) -> bool {
        (self.latest, self.stale) = (Some(pid), None);
        self.is_running && !self.threads.contains(&thread)
    }

    /// Whether what the dump says of what a process has may be taken.
    pub fn takes_of(&mut self, pid: i64) -> bool {
        self.latest = Some(pid);
        self.is_running && self.stale != Some(pid)
    }

    /// Whether the dump may know which program a process runs.
    pub fn takes_program(&self, process: ProcessIndex) -> bool {
        self.processes.get(&process).is_none_or(|of| of.executed.is_empty())
    }

    /// The processes that have a map as the dump says it, as for [`Told::holders`], each with the
    /// ranges of which events told otherwise.
    pub fn map_holders(&self, process: ProcessIndex) -> Vec<(ProcessIndex, Vec<(u64, u64)>)> {
        let mut holders = Vec::new();
        let mut next = vec![(process, Vec::new())];
        // Bound: as in `holders`.
        while let Some((process, mut ranges)) = next.pop() {
            if let Some(of) = self.processes.get(&process) {
                if !of.executed.is_empty() {
                    continue;
                }
                ranges.extend(&of.maps);
                next.extend(of.children.iter().map(|child| (*child, ranges.clone())));
            }
            holders.push((process, ranges));
        }
        holders
    }

    /// The processes that have a descriptor as the dump says it: the one that it is of, and those
    /// that had it from there, but for those of which an event told otherwise. Each with whether it
    /// closes when the process becomes another program.
    pub fn holders(
        &self,
        process: ProcessIndex,
        fd: i32,
        on_exec: bool,
    ) -> Vec<(ProcessIndex, bool)> {
        let mut holders = Vec::new();
        let marks = self.processes.get(&process).and_then(|of| of.marked.get(&fd)?.first());
        // What it was marked as first, it was not before: the dump may have come after that.
        let mut next = vec![(process, marks.map_or(on_exec, |(_, first)| !first))];
        // Bound: a child began after its parent did, so that none is met twice.
        while let Some((process, at_first)) = next.pop() {
            let Some(of) = self.processes.get(&process) else {
                holders.push((process, at_first));
                continue;
            };
            if of.tells(fd, at_first) {
                continue;
            }
            holders.push((process, of.is_marked(fd, Order::MAX, at_first)));
            next.extend(of.children.iter().map(|child| {
                let born = self.processes.get(child).map_or(0, |child| child.born);
                (*child, of.is_marked(fd, born, at_first))
            }));
        }
        holders
    }
}

impl Of {
    /// Whether a descriptor was marked before something that was noted.
    fn is_marked(&self, fd: i32, before: Order, at_first: bool) -> bool {
        let marks = self.marked.get(&fd).into_iter().flatten();
        marks.take_while(|(at, _)| *at < before).last().map_or(at_first, |(_, marked)| *marked)
    }

    fn tells(&self, fd: i32, at_first: bool) -> bool {
        self.descriptors.contains(&fd)
            || self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&fd))
            || self.executed.iter().any(|at| self.is_marked(fd, *at, at_first))
    }
}
