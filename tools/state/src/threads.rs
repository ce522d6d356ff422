// SPDX-License-Identifier: MIT
//! Threads and processes: their names, and how they ended.
//!
//! Place in the flow: `streams` finds out of which thread an event is and asks here for its
//! number; everything else speaks of threads and processes by these numbers.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::changes::{Change, Notes};
use crate::names::ShortName;
use crate::texts::TextIndex;

/// Number of a thread. The first stands for all that found no space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadIndex(pub u32);

impl ThreadIndex {
    /// All threads that found no space.
    pub const OTHERS: ThreadIndex = ThreadIndex(0);
}

/// Number of a process. The first stands for all that found no space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessIndex(pub u32);

impl ProcessIndex {
    /// All processes that found no space, and those that the trace does not name.
    pub const OTHERS: ProcessIndex = ProcessIndex(0);
}

/// What tells one thread from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadKey {
    /// A thread that the trace names.
    Named {
        /// Number of the machine, by its name.
        host: u32,
        /// The process's identifier, as the trace has it.
        pid: i64,
        /// The thread's identifier, as the trace has it.
        tid: i64,
    },
    /// The thread that a processor runs when it has none to run: all have the number 0.
    Idle {
        /// Number of the machine, by its name.
        host: u32,
        /// The processor.
        cpu: u32,
    },
    /// A thread of which only the scheduler tells: its process is not known.
    Scheduled {
        /// Number of the machine, by its name.
        host: u32,
        /// The thread's identifier.
        tid: i64,
    },
    /// Events of a trace that does not say which thread wrote them.
    Unnamed {
        /// Position of the trace.
        trace: u32,
        /// The processor, or the position of the stream if that has none.
        cpu: u32,
    },
}

/// How many bytes of a name the kernel keeps, before a NUL.
const NAME_BYTES_MAX: usize = 15;
/// Threads of one process that have a name and have not begun.
const NAMED_EARLY_MAX: usize = 64;

/// What is known of a thread.
#[derive(Debug)]
pub struct Thread {
    /// `None`: it stands for all threads that found no space.
    pub key: Option<ThreadKey>,
    /// The process that it is a thread of.
    pub process: ProcessIndex,
    /// Its last name.
    pub name: ShortName,
    /// The name in the last record: a thread does not know of a name that another gave it.
    recorded: ShortName,
    /// Its handle, by which the threads of its process name it.
    handle: Option<i64>,
    /// Whether an event told that it ends.
    pub has_ended: bool,
    /// Whether its numbers are the machine's, as a kernel's events have them.
    of_machine: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// With this status, 0 to 255.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What is known of a process.
#[derive(Debug)]
pub struct Process {
    /// Number of the machine, by its name.
    pub host: u32,
    /// `None`: it stands for all processes that found no space.
    pub pid: Option<i64>,
    /// `None`: no event told where it comes from.
    pub parent_pid: Option<i64>,
    /// The process of whose memory it has a copy: it was forked, and has executed nothing since.
    pub forked_from: Option<ProcessIndex>,
    /// Of the program that it runs.
    pub path: TextIndex,
    /// The command line.
    pub arguments: TextIndex,
    /// `None`: no event told that it ended.
    pub exit: Option<Exit>,
    /// The threads that wrote events.
    pub threads: Vec<ThreadIndex>,
    /// How many of them no event told the end of.
    living: u32,
    /// The one whose name the process has, where it has no other.
    first: ThreadIndex,
    /// Names of threads, by handle, that were given before the threads began.
    named_early: Vec<(i64, ShortName)>,
}

/// All threads and processes there were, in the order in which they were first met.
#[derive(Debug)]
pub struct Threads {
    threads: Vec<Thread>,
    by_key: FxHashMap<ThreadKey, ThreadIndex>,
    processes: Vec<Process>,
    by_pid: FxHashMap<(u32, i64), ProcessIndex>,
    /// The latest thread that was met by each number.
    by_tid: FxHashMap<(u32, i64), ThreadIndex>,
    limit: usize,
    pub(crate) notes: Notes<Change>,
}

fn new_thread(key: Option<ThreadKey>, process: ProcessIndex, name: ShortName) -> Thread {
    let (handle, has_ended, of_machine) = (None, false, false);
    Thread { key, process, name, recorded: name, handle, has_ended, of_machine }
}

fn new_process(host: u32, pid: Option<i64>) -> Process {
    let (path, arguments) = (TextIndex::NONE, TextIndex::NONE);
    let (threads, named_early) = (Vec::new(), Vec::new());
    Process {
        host,
        pid,
        parent_pid: None,
        forked_from: None,
        path,
        arguments,
        exit: None,
        threads,
        living: 0,
        first: ThreadIndex::OTHERS,
        named_early,
    }
}

impl Process {
    /// The thread whose name the process has, where it has no other.
    pub fn first(&self) -> ThreadIndex {
        self.first
    }

    /// Whether an event told that it ended, or that all of its threads did.
    pub fn is_over(&self) -> bool {
        self.exit.is_some() || (self.living == 0 && !self.threads.is_empty())
    }
}

impl Threads {
    /// No threads yet; at most `limit` threads find space, and as many processes.
    pub fn new(limit: usize) -> Self {
        Self {
            threads: vec![new_thread(None, ProcessIndex::OTHERS, ShortName::default())],
            by_key: FxHashMap::default(),
            processes: vec![new_process(0, None)],
            by_pid: FxHashMap::default(),
            by_tid: FxHashMap::default(),
            limit,
            notes: Notes::default(),
        }
    }

    /// The number of a thread, which from now on is called `name`, if that is known.
    pub fn index(&mut self, key: ThreadKey, name: Option<ShortName>) -> ThreadIndex {
        if let Some(index) = self.by_key.get(&key) {
            if let (Some(name), Some(thread)) = (name, self.threads.get_mut(index.0 as usize)) {
                if name != thread.recorded {
                    (thread.name, thread.recorded) = (name, name);
                    self.notes.add(Change::Thread(*index));
                    self.notes.add(Change::Process(thread.process));
                }
            }
            return *index;
        }
        if let Some(index) = self.named(key) {
            return self.index_again(index, name);
        }
        if self.by_key.len() >= self.limit {
            return ThreadIndex::OTHERS;
        }
        let process = match key {
            ThreadKey::Named { host, pid, .. } => self.process(host, pid),
            ThreadKey::Idle { host, .. } => self.process(host, 0),
            ThreadKey::Scheduled { .. } | ThreadKey::Unnamed { .. } => ProcessIndex::OTHERS,
        };
        let index = ThreadIndex(self.threads.len() as u32);
        self.threads.push(new_thread(Some(key), process, name.unwrap_or_default()));
        self.by_key.insert(key, index);
        self.has_tid(key, index);
        if process != ProcessIndex::OTHERS {
            self.has_thread(process, index);
        }
        self.notes.add(Change::Thread(index));
        index
    }

    fn has_thread(&mut self, process: ProcessIndex, thread: ThreadIndex) {
        let (rank, before) = (self.rank(thread), self.first_rank(process));
        self.change(process, |found| {
            found.threads.push(thread);
            found.living += 1;
            if found.first == ThreadIndex::OTHERS || rank < before {
                found.first = thread;
            }
        });
    }

    /// The thread that has the process's number is its first, or else the one with the lowest.
    fn rank(&self, thread: ThreadIndex) -> (bool, i64) {
        match self.threads.get(thread.0 as usize).and_then(|thread| thread.key) {
            Some(ThreadKey::Named { pid, tid, .. }) => (pid != tid, tid),
            _ => (true, i64::MAX),
        }
    }

    fn first_rank(&self, process: ProcessIndex) -> (bool, i64) {
        match self.processes.get(process.0 as usize) {
            Some(found) if found.first != ThreadIndex::OTHERS => self.rank(found.first),
            _ => (true, i64::MAX),
        }
    }

    /// The thread that only the scheduler told of until now, and an event gives its process.
    fn named(&mut self, key: ThreadKey) -> Option<ThreadIndex> {
        let ThreadKey::Named { host, pid, tid } = key else { return None };
        let scheduled = ThreadKey::Scheduled { host, tid };
        let index = *self.by_key.get(&scheduled)?;
        if self.threads.get(index.0 as usize)?.has_ended {
            return None;
        }
        self.by_key.remove(&scheduled);
        self.by_key.insert(key, index);
        self.has_tid(key, index);
        let process = self.process(host, pid);
        let thread = self.threads.get_mut(index.0 as usize)?;
        (thread.key, thread.process) = (Some(key), process);
        self.has_thread(process, index);
        self.notes.add(Change::Thread(index));
        Some(index)
    }

    fn index_again(&mut self, index: ThreadIndex, name: Option<ShortName>) -> ThreadIndex {
        if let (Some(name), Some(thread)) = (name, self.threads.get_mut(index.0 as usize)) {
            (thread.name, thread.recorded) = (name, name);
        }
        index
    }

    fn has_tid(&mut self, key: ThreadKey, index: ThreadIndex) {
        if let ThreadKey::Named { host, tid, .. } = key {
            self.by_tid.insert((host, tid), index);
        }
    }

    /// The thread that the scheduler puts on a processor.
    pub(crate) fn scheduled(
        &mut self,
        host: u32,
        cpu: u32,
        tid: i64,
        name: Option<ShortName>,
    ) -> ThreadIndex {
        if tid == 0 {
            return self.index(ThreadKey::Idle { host, cpu }, name);
        }
        let key = match self.by_tid(host, tid).and_then(|index| self.threads.get(index.0 as usize))
        {
            Some(Thread { key: Some(key), .. }) => *key,
            _ => ThreadKey::Scheduled { host, tid },
        };
        self.index(key, name)
    }

    /// The thread of a machine that has a number now, if an event told of it.
    pub fn of_tid(&self, host: u32, tid: i64) -> Option<ThreadIndex> {
        let scheduled = || self.by_key.get(&ThreadKey::Scheduled { host, tid }).copied();
        self.by_tid(host, tid).or_else(scheduled)
    }

    /// The thread that has a number now.
    pub(crate) fn by_tid(&self, host: u32, tid: i64) -> Option<ThreadIndex> {
        self.by_tid.get(&(host, tid)).copied()
    }

    /// The thread of a key that was met before; otherwise the number of none.
    pub(crate) fn known(&self, key: ThreadKey) -> ThreadIndex {
        self.by_key.get(&key).copied().unwrap_or(ThreadIndex::OTHERS)
    }

    /// A thread is there from now on, whichever had its number before.
    pub(crate) fn lives(&mut self, key: ThreadKey, name: ShortName) -> ThreadIndex {
        let index = self.index(key, None);
        if index == ThreadIndex::OTHERS {
            return index;
        }
        self.has_tid(key, index);
        self.is_called(index, name);
        self.set_ended(index, false);
        if let Some(thread) = self.threads.get_mut(index.0 as usize) {
            thread.handle = None;
        }
        self.is_of_machine(index);
        index
    }

    /// A kernel's event told its numbers.
    pub(crate) fn is_of_machine(&mut self, thread: ThreadIndex) {
        if let Some(thread) = self.threads.get_mut(thread.0 as usize) {
            thread.of_machine = matches!(thread.key, Some(ThreadKey::Named { .. }));
        }
    }

    /// Of the threads of the machine there is none left but these.
    pub(crate) fn only(&mut self, living: &FxHashSet<ThreadIndex>) {
        for index in (0..self.threads.len() as u32).map(ThreadIndex) {
            let of_machine = self.threads.get(index.0 as usize).is_some_and(|t| t.of_machine);
            if of_machine && !living.contains(&index) {
                self.set_ended(index, true);
            }
        }
    }

    /// Changes a process, and notes what is over with it, or lives again.
    fn change(&mut self, process: ProcessIndex, change: impl FnOnce(&mut Process)) {
        let Some(found) = self.of(process) else { return };
        let was_over = found.is_over();
        change(found);
        if found.is_over() == was_over {
            return;
        }
        self.notes.add(Change::Descriptors(process));
        for at in 0..self.threads_of(process).len() {
            if let Some(thread) = self.threads_of(process).get(at).copied() {
                self.notes.add(Change::Thread(thread));
            }
        }
    }

    fn set_ended(&mut self, index: ThreadIndex, has_ended: bool) {
        let Some(thread) = self.threads.get_mut(index.0 as usize) else { return };
        let process = thread.process;
        if thread.has_ended == has_ended {
            return;
        }
        thread.has_ended = has_ended;
        self.change(process, |process| {
            process.living = match has_ended {
                true => process.living.saturating_sub(1),
                false => process.living + 1,
            };
        });
        self.notes.add(Change::Thread(index));
        self.notes.add(Change::Process(process));
    }

    /// The kernel calls a thread so.
    pub(crate) fn is_called(&mut self, thread: ThreadIndex, name: ShortName) {
        if let Some(found) = self.threads.get_mut(thread.0 as usize) {
            (found.name, found.recorded) = (name, name);
            self.notes.add(Change::Thread(thread));
            self.notes.add(Change::Process(found.process));
        }
    }

    /// The last name of a thread.
    pub(crate) fn name(&self, thread: ThreadIndex) -> ShortName {
        self.threads.get(thread.0 as usize).map(|thread| thread.name).unwrap_or_default()
    }

    /// All other threads of its process have ended, and the process lives.
    pub(crate) fn alone(&mut self, thread: ThreadIndex) {
        let process = self.process_of(thread);
        for other in self.threads_of(process).to_vec() {
            if other != thread {
                self.ended(other);
            }
        }
        self.change(process, |process| process.exit = None);
    }

    /// The number of a process's parent, if it is known.
    pub(crate) fn parent_pid(&self, process: ProcessIndex) -> Option<i64> {
        self.processes.get(process.0 as usize)?.parent_pid
    }

    pub(crate) fn is_child_of(&mut self, process: ProcessIndex, parent_pid: i64) {
        if let Some(process) = self.of(process) {
            process.parent_pid = Some(parent_pid);
        }
    }

    /// A process runs a program, with arguments that are not known.
    pub(crate) fn runs(&mut self, process: ProcessIndex, path: TextIndex) {
        if let Some(process) = self.of(process) {
            process.path = path;
            process.arguments = TextIndex::NONE;
        }
    }

    /// The arguments that the program of a process was started with.
    pub(crate) fn was_given(&mut self, process: ProcessIndex, arguments: TextIndex) {
        if let Some(process) = self.of(process) {
            process.arguments = arguments;
        }
    }

    /// The number of the process of a new thread: so there are no more processes than threads.
    fn process(&mut self, host: u32, pid: i64) -> ProcessIndex {
        if let Some(index) = self.by_pid.get(&(host, pid)) {
            return *index;
        }
        let index = ProcessIndex(self.processes.len() as u32);
        self.processes.push(new_process(host, Some(pid)));
        self.by_pid.insert((host, pid), index);
        index
    }

    /// The process of a machine that has a number, if an event told of it.
    pub fn process_of_pid(&self, host: u32, pid: i64) -> Option<ProcessIndex> {
        self.by_pid.get(&(host, pid)).copied()
    }

    /// Whether any event told where a process comes from.
    pub(crate) fn has_origin(&self, process: ProcessIndex) -> bool {
        self.processes.get(process.0 as usize).is_some_and(|p| p.parent_pid.is_some())
    }

    /// The process of a thread.
    pub fn process_of(&self, thread: ThreadIndex) -> ProcessIndex {
        self.threads.get(thread.0 as usize).map_or(ProcessIndex::OTHERS, |thread| thread.process)
    }

    /// The threads that a process was seen to have.
    pub(crate) fn threads_of(&self, process: ProcessIndex) -> &[ThreadIndex] {
        self.processes.get(process.0 as usize).map_or(&[], |process| &process.threads)
    }

    /// A thread began, and tells its handle, by which the threads of its process name it.
    pub(crate) fn has_handle(&mut self, thread: ThreadIndex, handle: i64) {
        let process = self.process_of(thread);
        let early = self.of(process).map(|process| &mut process.named_early);
        let name = early.and_then(|names| {
            let position = names.iter().position(|(of, _)| *of == handle)?;
            Some(names.swap_remove(position).1)
        });
        if let Some(found) = self.threads.get_mut(thread.0 as usize) {
            found.handle = Some(handle);
            found.name = name.unwrap_or(found.name);
            self.notes.add(Change::Thread(thread));
            self.notes.add(Change::Process(process));
        }
    }

    /// A thread gave a name to the thread of its process that has this handle. One that has not
    /// begun yet gets it then; one that was there before the recording says its name itself.
    pub(crate) fn renamed(&mut self, by: ThreadIndex, handle: i64, name: &[u8]) {
        let name = ShortName::new(&name[..name.len().min(NAME_BYTES_MAX)]);
        let process = self.process_of(by);
        let found = self.threads_of(process).iter().rev().copied().find(|index| {
            let thread = self.threads.get(index.0 as usize);
            thread.is_some_and(|thread| thread.handle == Some(handle) && !thread.has_ended)
        });
        if let Some(thread) = found.and_then(|index| self.threads.get_mut(index.0 as usize)) {
            thread.name = name;
            self.notes.add(Change::Thread(found.unwrap_or(ThreadIndex::OTHERS)));
            self.notes.add(Change::Process(process));
        } else if let Some(process) = self.of(process) {
            process.named_early.retain(|(of, _)| *of != handle);
            if process.named_early.len() < NAMED_EARLY_MAX {
                process.named_early.push((handle, name));
            }
        }
    }

    pub(crate) fn ended(&mut self, thread: ThreadIndex) {
        self.set_ended(thread, true);
    }

    pub(crate) fn started(
        &mut self,
        process: ProcessIndex,
        parent_pid: i64,
        path: TextIndex,
        arguments: TextIndex,
    ) {
        self.change(process, |process| {
            process.parent_pid = Some(parent_pid);
            process.forked_from = None;
            process.path = path;
            process.arguments = arguments;
            process.exit = None;
        });
    }

    pub(crate) fn joined(&mut self, process: ProcessIndex, path: TextIndex) {
        if let Some(process) = self.of(process) {
            process.path = path;
        }
    }

    pub(crate) fn forked(&mut self, process: ProcessIndex, parent: ProcessIndex, parent_pid: i64) {
        let of_parent = self.of(parent).map(|parent| (parent.path, parent.arguments));
        self.change(process, |process| {
            process.parent_pid = Some(parent_pid);
            process.forked_from = Some(parent);
            if let Some((path, arguments)) = of_parent {
                (process.path, process.arguments) = (path, arguments);
            }
            process.exit = None;
        });
    }

    /// Takes over the status that a process itself tells when it ends.
    pub(crate) fn exited(&mut self, process: ProcessIndex, status: i64) {
        let exit = Exit::Code((status & 0xff) as i32);
        self.change(process, |process| process.exit = Some(exit));
    }

    /// Takes over what wait() told the parent, which overrides what the process told itself; not
    /// so 0, which old traces also have of a parent that did not ask for the status.
    /// Return: `false` if the process lives on.
    pub(crate) fn waited_for(&mut self, process: ProcessIndex, status: i64) -> bool {
        let exit = match (status & 0x7f, status >> 8 & 0xff) {
            (0, code) => Exit::Code(code as i32),
            (0x7f, _) => return false, // stopped or continued
            (signal, _) => Exit::Signal(signal as i32),
        };
        self.change(process, |process| match process.exit {
            Some(Exit::Code(_)) if status == 0 => {}
            _ => process.exit = Some(exit),
        });
        true
    }

    /// Every thread; a [`ThreadIndex`] is a position.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Every process; a [`ProcessIndex`] is a position.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The process, unless it stands for many, to change it.
    fn of(&mut self, process: ProcessIndex) -> Option<&mut Process> {
        match process {
            ProcessIndex::OTHERS => None,
            _ => {
                self.notes.add(Change::Process(process));
                self.processes.get_mut(process.0 as usize)
            }
        }
    }

    /// Whether the thread or its process is known to have ended.
    pub fn is_over(&self, thread: ThreadIndex) -> bool {
        let Some(thread) = self.threads.get(thread.0 as usize) else { return false };
        let process = self.processes.get(thread.process.0 as usize);
        thread.has_ended || process.is_some_and(|process| process.exit.is_some())
    }
}

#[cfg(test)]
mod tests;
