// SPDX-License-Identifier: MIT
//! A function called in a running process, by one of its threads, which notices nothing.
//!
//! Place in the flow: the recorder finds a process that it shall record, or that shall learn of a
//! change, and has one of its threads call a function of liblull's. The process is stopped in no
//! other thread, and at no moment does it depend on this one: whenever this process is killed, the
//! thread goes on as if nothing had been (docs/design/91-attach.md). What is read of the process is
//! hostile input: each read and each loop has a bound.

mod alarm;
mod calls;
mod execution;
mod frame;
mod load;
mod look;
mod maps;
mod memory;
mod ptrace;
mod registers;
mod room;
mod rseq;
mod start;
mod status;
mod symbols;
mod threads;
mod unwind;
mod visit;

pub use load::Loader;
pub use maps::Mapping;
pub use memory::Memory;
pub use status::{has_ended, Namespace, Status};
pub use symbols::Object;
pub use threads::folder;
pub use visit::{Stopped, Visit};

use execution::Execution;
use std::time::Duration;

/// Why a process cannot be visited, or was not.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no process {pid}")]
    Absent { pid: u32 },
    #[error("process {pid} has ended, and waits for its parent")]
    Zombie { pid: u32 },
    #[error("{pid} is a thread of the kernel's, and no process")]
    KernelThread { pid: u32 },
    #[error("process {pid} ended meanwhile, or executed another program")]
    Ended { pid: u32 },
    #[error("process {pid} executed another program meanwhile")]
    Executed { pid: u32 },
    #[error(
        "process {pid} shares the memory of its parent, as a process does that is about to \
         execute a program"
    )]
    Shared { pid: u32 },
    #[error("the dynamic linker of process {pid} was loading libraries whenever it was looked at")]
    Loading { pid: u32 },
    #[error("process {pid} is user {user}'s; only that user and root may reach into it")]
    OtherUser { pid: u32, user: u32 },
    #[error(
        "the kernel lets nobody but the parents of a process reach into it \
         (/proc/sys/kernel/yama/ptrace_scope is {scope}); become root, or write 0 there"
    )]
    Scope { scope: u32 },
    #[error(
        "the kernel does not let us reach into process {pid}: it gained privileges, forbids it \
         (PR_SET_DUMPABLE), or a security module does"
    )]
    Forbidden { pid: u32 },
    #[error("process {pid} is traced by process {tracer}, perhaps a debugger")]
    Traced { pid: u32, tracer: u32 },
    #[error("another recorder reaches into process {pid} at the moment")]
    Busy { pid: u32 },
    #[error(
        "process {pid} runs under a seccomp filter, which may end it for a system call of ours"
    )]
    Seccomp { pid: u32 },
    #[error("process {pid} has a shadow stack, which refuses the return from a call of ours")]
    ShadowStack { pid: u32 },
    #[error("process {pid} runs 32-bit code")]
    WordSize { pid: u32 },
    #[error("on this architecture no function can be called in another process yet")]
    Architecture,
    #[error("{doing} of process {pid}: {source}")]
    System { doing: &'static str, pid: u32, source: std::io::Error },
    #[error("process {pid} has {what}, which no sound process has")]
    Damaged { pid: u32, what: &'static str },
    #[error("process {pid} has no unused bytes behind its code, which the visit begins with")]
    NoRoom { pid: u32 },
    #[error("process {pid} has no thread that can be stopped: {why}")]
    NoThread { pid: u32, why: &'static str },
    #[error("no thread of process {pid} stopped within {} ms", limit.as_millis())]
    Late { pid: u32, limit: Duration },
    #[error(
        "the call in process {pid} did not end within {} ms; its thread goes on with it, and then \
         with its own work", limit.as_millis()
    )]
    Unfinished { pid: u32, limit: Duration },
    #[error("the call in process {pid} ended by signal {signal}; its thread goes on without it")]
    Faulted { pid: u32, signal: i32 },
    #[error(
        "process {pid} is stopped; its dynamic linker cannot be asked until it goes on \
         (kill -CONT {pid})"
    )]
    Stopped { pid: u32 },
    #[error(
        "every thread of process {pid} was within the dynamic linker, the allocator or another \
         part of the C library that nobody may interrupt, for {} ms; try again", limit.as_millis()
    )]
    Unsafe { pid: u32, limit: Duration },
    #[error("process {pid} is statically linked: it has no dynamic linker to load liblull with")]
    Static { pid: u32 },
    #[error("process {pid} uses another C library than glibc")]
    OtherLibrary { pid: u32 },
    #[error("process {pid} could not load {path}: {why}")]
    NotLoaded { pid: u32, path: String, why: String },
    #[error("{text} is too long for a call in another process")]
    TooLong { text: String },
}

pub type Result<T> = std::result::Result<T, Error>;

/// A process that functions can be called in.
pub struct Tracee {
    pid: u32,
    memory: Memory,
    execution: Execution,
}

impl Tracee {
    /// Finds the process, and checks all that can be checked without touching it.
    pub fn open(pid: u32) -> Result<Self> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Error::Architecture);
        }
        let status = Status::read(pid)?;
        status.check(pid)?;
        let memory = Memory::open(pid).map_err(|error| status::refused(pid, &status, error))?;
        status::check_word_size(pid)?;
        if execution::is_memory_shared(pid, status.parent) {
            return Err(Error::Shared { pid });
        }
        let execution = Execution::read(&threads::folder(pid), &memory);
        let execution = execution.ok_or_else(|| executed(pid))?;
        Ok(Self { pid, memory, execution })
    }

    /// Whether the process executes what it did when it was opened. If not, nothing that was found
    /// of it since then need be true, such as why it cannot be visited.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.is_current_in(&threads::folder(self.pid))
    }

    /// `folder`: where the kernel shows one of its threads; of a thread that is stopped the answer
    /// remains true.
    fn is_current_in(&self, folder: &str) -> bool {
        let memory = Memory::open_at(folder);
        memory.is_ok_and(|now| Execution::read(folder, &now).as_ref() == Some(&self.execution))
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What is mapped now.
    pub fn mappings(&self) -> Result<Vec<Mapping>> {
        maps::read(self.pid)
    }

    /// The loaded object whose file's name fits, such as `libc.so.6`.
    pub fn object(&self, fits: impl Fn(&str) -> bool) -> Result<Option<Object>> {
        Ok(symbols::find(self, &self.mappings()?, fits))
    }

    /// Whether all of the process was stopped, by SIGSTOP or a terminal.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        Status::read(self.pid).is_ok_and(|status| status.state == b'T')
    }

    /// Whether the process is in another namespace than we are.
    #[must_use]
    pub fn is_elsewhere(&self, namespace: Namespace) -> bool {
        status::is_elsewhere(self.pid, namespace)
    }

    /// Stops one thread, has it do the work, and lets it go on where it was. The work can be asked
    /// for again with another thread: it says so by answering `None`.
    pub fn visit<T: Send>(
        &self,
        visit: &Visit,
        work: impl FnMut(&mut Stopped) -> Result<Option<T>> + Send,
    ) -> Result<T> {
        visit::visit(self, visit, work)
    }
}

/// Makes an error of what the kernel answered. A process that ends meanwhile answers in many ways:
/// its files are gone, or empty, and its threads are nobody's.
pub(crate) fn failed(pid: u32, doing: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |source| match source.raw_os_error() {
        Some(libc::ESRCH) => Error::Ended { pid },
        _ if status::has_ended(pid) => Error::Ended { pid },
        // A memory that nobody has any more, though the process goes on.
        _ if is_nothing_there(source.kind()) => Error::Executed { pid },
        _ => Error::System { doing, pid, source },
    }
}

fn is_nothing_there(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::WriteZero)
}

/// Why what was found of a process does not hold.
fn executed(pid: u32) -> Error {
    if status::has_ended(pid) {
        Error::Ended { pid }
    } else {
        Error::Executed { pid }
    }
}
