// SPDX-License-Identifier: MIT
//! Threads and processes: their names, and how they ended.
//!
//! Place in the flow: `streams` finds out of which thread an event is and asks here for its
//! number; everything else speaks of threads and processes by these numbers.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::texts::{TextIndex, Texts, OTHERS_TEXT};

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

/// A short name, as the kernel keeps it: 16 bytes at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShortName([u8; 16]);

impl ShortName {
    /// The first 16 bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut name = [0; 16];
        let count = bytes.len().min(name.len());
        name[..count].copy_from_slice(&bytes[..count]);
        Self(name)
    }

    /// Up to the first NUL; bytes that are not UTF-8 are shown as such.
    pub fn text(&self) -> String {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..length]).into_owned()
    }
}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this status, 0 to 255.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What is known of a process.
#[derive(Debug)]
pub struct Process {
    /// `None`: it stands for all processes that found no space.
    pub pid: Option<i64>,
    /// `None`: no event told where it comes from.
    pub parent_pid: Option<i64>,
    /// Of the program that it runs.
    pub path: TextIndex,
    /// The command line.
    pub arguments: TextIndex,
    /// `None`: no event told that it ended.
    pub exit: Option<Exit>,
    /// The threads that wrote events.
    pub threads: Vec<ThreadIndex>,
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
}

fn new_thread(key: Option<ThreadKey>, process: ProcessIndex, name: ShortName) -> Thread {
    let (handle, has_ended, of_machine) = (None, false, false);
    Thread { key, process, name, recorded: name, handle, has_ended, of_machine }
}

fn new_process(pid: Option<i64>) -> Process {
    let (path, arguments) = (TextIndex::NONE, TextIndex::NONE);
    let (threads, named_early) = (Vec::new(), Vec::new());
    Process { pid, parent_pid: None, path, arguments, exit: None, threads, named_early }
}

impl Threads {
    /// No threads yet; at most `limit` threads find space, and as many processes.
    pub fn new(limit: usize) -> Self {
        Self {
            threads: vec![new_thread(None, ProcessIndex::OTHERS, ShortName::default())],
            by_key: FxHashMap::default(),
            processes: vec![new_process(None)],
            by_pid: FxHashMap::default(),
            by_tid: FxHashMap::default(),
            limit,
        }
    }

    /// The number of a thread, which from now on is called `name`, if that is known.
    pub fn index(&mut self, key: ThreadKey, name: Option<ShortName>) -> ThreadIndex {
        if let Some(index) = self.by_key.get(&key) {
            if let (Some(name), Some(thread)) = (name, self.threads.get_mut(index.0 as usize)) {
                if name != thread.recorded {
                    (thread.name, thread.recorded) = (name, name);
                }
            }
            return *index;
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
            if let Some(process) = self.processes.get_mut(process.0 as usize) {
                process.threads.push(index);
            }
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
        if let Some(thread) = self.threads.get_mut(index.0 as usize) {
            thread.has_ended = false;
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
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let is_left = living.contains(&ThreadIndex(index as u32));
            thread.has_ended |= thread.of_machine && !is_left;
        }
    }

    /// The kernel calls a thread so.
    pub(crate) fn is_called(&mut self, thread: ThreadIndex, name: ShortName) {
        if let Some(thread) = self.threads.get_mut(thread.0 as usize) {
            (thread.name, thread.recorded) = (name, name);
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
        if let Some(process) = self.of(process) {
            process.exit = None;
        }
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

    /// The number of the process of a new thread: so there are no more processes than threads.
    fn process(&mut self, host: u32, pid: i64) -> ProcessIndex {
        if let Some(index) = self.by_pid.get(&(host, pid)) {
            return *index;
        }
        let index = ProcessIndex(self.processes.len() as u32);
        self.processes.push(new_process(Some(pid)));
        self.by_pid.insert((host, pid), index);
        index
    }

    /// A process that was met before.
    pub(crate) fn known_process(&self, host: u32, pid: i64) -> Option<ProcessIndex> {
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
        if let Some(thread) = self.threads.get_mut(thread.0 as usize) {
            thread.handle = Some(handle);
            thread.name = name.unwrap_or(thread.name);
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
        } else if let Some(process) = self.of(process) {
            process.named_early.retain(|(of, _)| *of != handle);
            if process.named_early.len() < NAMED_EARLY_MAX {
                process.named_early.push((handle, name));
            }
        }
    }

    pub(crate) fn ended(&mut self, thread: ThreadIndex) {
        if let Some(thread) = self.threads.get_mut(thread.0 as usize) {
            thread.has_ended = true;
        }
    }

    pub(crate) fn started(
        &mut self,
        process: ProcessIndex,
        parent_pid: i64,
        path: TextIndex,
        arguments: TextIndex,
    ) {
        if let Some(process) = self.of(process) {
            process.parent_pid = Some(parent_pid);
            process.path = path;
            process.arguments = arguments;
            process.exit = None;
        }
    }

    pub(crate) fn forked(&mut self, process: ProcessIndex, parent: ProcessIndex, parent_pid: i64) {
        let of_parent = self.of(parent).map(|parent| (parent.path, parent.arguments));
        if let Some(process) = self.of(process) {
            process.parent_pid = Some(parent_pid);
            if let Some((path, arguments)) = of_parent {
                (process.path, process.arguments) = (path, arguments);
            }
        }
    }

    /// Takes over the status that a process itself tells when it ends.
    pub(crate) fn exited(&mut self, process: ProcessIndex, status: i64) {
        if let Some(process) = self.of(process) {
            process.exit = Some(Exit::Code((status & 0xff) as i32));
        }
    }

    /// Takes over what wait() told the parent, which overrides what the process told itself.
    /// Return: `false` if the process lives on.
    pub(crate) fn waited_for(&mut self, process: ProcessIndex, status: i64) -> bool {
        let exit = match (status & 0x7f, status >> 8 & 0xff) {
            (0, code) => Exit::Code(code as i32),
            (0x7f, _) => return false, // stopped or continued
            (signal, _) => Exit::Signal(signal as i32),
        };
        if let Some(process) = self.of(process) {
            process.exit = Some(exit);
        }
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

    /// The process, unless it stands for many.
    fn of(&mut self, process: ProcessIndex) -> Option<&mut Process> {
        match process {
            ProcessIndex::OTHERS => None,
            _ => self.processes.get_mut(process.0 as usize),
        }
    }

    /// Whether the thread or its process is known to have ended.
    pub fn is_over(&self, thread: ThreadIndex) -> bool {
        let Some(thread) = self.threads.get(thread.0 as usize) else { return false };
        let process = self.processes.get(thread.process.0 as usize);
        thread.has_ended || process.is_some_and(|process| process.exit.is_some())
    }

    /// What to call a thread: `name[tid]`.
    pub fn label(&self, thread: ThreadIndex) -> String {
        match self.threads.get(thread.0 as usize) {
            Some(Thread {
                key: Some(ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. }),
                name,
                ..
            }) => format!("{}[{tid}]", name.text()),
            Some(Thread { key: Some(ThreadKey::Idle { cpu, .. }), .. }) => format!("swapper/{cpu}"),
            Some(Thread { key: Some(ThreadKey::Unnamed { cpu, .. }), .. }) => format!("CPU {cpu}"),
            _ => OTHERS_TEXT.into(),
        }
    }

    /// What to call a process: `name[pid]`.
    pub fn process_label(&self, process: ProcessIndex, texts: &Texts) -> String {
        match self.processes.get(process.0 as usize) {
            Some(found @ Process { pid: Some(pid), .. }) => {
                format!("{}[{pid}]", self.process_name(found, texts))
            }
            _ => OTHERS_TEXT.into(),
        }
    }

    /// The process's identifier, if it is known and the number is of one process.
    pub fn pid(&self, process: ProcessIndex) -> Option<i64> {
        self.processes.get(process.0 as usize)?.pid
    }

    /// The thread's identifier, if it is known and the number is of one thread.
    pub fn tid(&self, thread: ThreadIndex) -> Option<i64> {
        match self.threads.get(thread.0 as usize)?.key? {
            ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. } => Some(tid),
            ThreadKey::Idle { .. } => Some(0),
            ThreadKey::Unnamed { .. } => None,
        }
    }

    /// The last part of the program's path, or the name of the first thread.
    pub fn process_name(&self, process: &Process, texts: &Texts) -> String {
        let path = texts.text(process.path);
        if let Some(name) = path.rsplit('/').next().filter(|name| !name.is_empty()) {
            return name.into();
        }
        let of_threads = process.threads.iter().filter_map(|t| self.threads.get(t.0 as usize));
        let main = of_threads.min_by_key(|thread| match thread.key {
            Some(ThreadKey::Named { pid, tid, .. }) => (pid != tid, tid),
            _ => (true, i64::MAX),
        });
        main.map_or_else(String::new, |thread| thread.name.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(pid: i64, tid: i64) -> ThreadKey {
        ThreadKey::Named { host: 0, pid, tid }
    }

    #[test]
    fn threads_have_their_latest_name_and_processes_that_of_their_first_thread() {
        let mut threads = Threads::new(9);
        let other = threads.index(key(10, 11), Some(ShortName::new(b"worker-with-a-long-name")));
        let main = threads.index(key(10, 10), Some(ShortName::new(b"sh\0")));
        assert_eq!(threads.index(key(10, 10), Some(ShortName::new(b"sort"))), main);
        assert_eq!(threads.label(main), "sort[10]");
        assert_eq!(threads.label(other), "worker-with-a-lo[11]");
        assert_eq!(threads.process_of(other), threads.process_of(main));
        let process = threads.process_of(main);
        let mut texts = Texts::new(9);
        assert_eq!(threads.process_label(process, &texts), "sort[10]");
        threads.started(process, 1, texts.index(b"/bin/cat"), TextIndex::NONE);
        assert_eq!(threads.process_label(process, &texts), "cat[10]");
    }

    #[test]
    fn name_that_another_thread_gives_lasts_until_the_thread_takes_a_new_one() {
        let mut threads = Threads::new(9);
        let program = |threads: &mut Threads, tid, name: &[u8]| {
            threads.index(key(10, tid), Some(ShortName::new(name)))
        };
        let main = program(&mut threads, 10, b"server");
        let worker = program(&mut threads, 11, b"server");
        threads.has_handle(worker, 0x7f00);
        threads.renamed(main, 0x7f00, b"pool-1");
        program(&mut threads, 11, b"server");
        assert_eq!(threads.label(worker), "pool-1[11]");
        threads.renamed(main, 0x7e00, b"a-name-longer-than-15");
        assert_eq!(
            (threads.label(main), threads.label(worker)),
            ("server[10]".into(), "pool-1[11]".into())
        );
        let late = program(&mut threads, 12, b"server");
        threads.has_handle(late, 0x7e00);
        assert_eq!(threads.label(late), "a-name-longer-t[12]");
        program(&mut threads, 11, b"own-name");
        assert_eq!(threads.label(worker), "own-name[11]");
    }

    #[test]
    fn what_wait_told_overrides_what_the_process_said() {
        let mut threads = Threads::new(9);
        let thread = threads.index(key(1, 1), None);
        let process = threads.process_of(thread);
        threads.exited(process, 256 + 3);
        let exit = |threads: &Threads| threads.processes()[process.0 as usize].exit;
        assert_eq!(exit(&threads), Some(Exit::Code(3)));
        threads.waited_for(process, 0x137f); // stopped: not an end
        assert_eq!(exit(&threads), Some(Exit::Code(3)));
        threads.waited_for(process, 0x8b); // SIGSEGV, core dumped
        assert_eq!(exit(&threads), Some(Exit::Signal(11)));
        assert!(threads.is_over(thread));
    }

    #[test]
    fn threads_past_the_limit_have_one_number() {
        let mut threads = Threads::new(1);
        let indices = [1, 2, 3].map(|tid| threads.index(key(1, tid), None));
        assert_eq!(indices, [ThreadIndex(1), ThreadIndex::OTHERS, ThreadIndex::OTHERS]);
        assert_eq!(threads.label(ThreadIndex::OTHERS), "(others)");
        assert_eq!(threads.threads().len(), 2);
    }
}
