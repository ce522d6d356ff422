// SPDX-License-Identifier: MIT
//! What a pair or a single event means, and which of its fields tell it.
//!
//! Place in the flow: `classes` asks once for each event class; `moment` acts on the answer for
//! each event. Known are the events of Lull's interposers (`io:`, `process:`, ...), system calls as
//! LTTng names them, LTTng-UST's mutex events, and the kernel's events of tasks and of its state.

use crate::classes::{DUMP_END, LTTNG_DUMP_END};
use crate::interrupts::InterruptKind;
use crate::operands::Slot;
use crate::texts::TextIndex;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LockKind {
    /// A mutual exclusion lock.
    Mutex,
    /// A lock for many readers or one writer.
    Rwlock,
    /// A condition variable.
    Cond,
    /// A semaphore.
    Sem,
    /// A point that a number of threads reach together.
    Barrier,
}

impl LockKind {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "mutex",
            LockKind::Rwlock => "rwlock",
            LockKind::Cond => "cond",
            LockKind::Sem => "sem",
            LockKind::Barrier => "barrier",
        }
    }
}

/// What a call does, or what a single event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing that is known here.
    None,
    /// Is a system call of which no more is known than what it returned.
    SystemCall,
    /// Waits for a lock.
    Lock(LockKind),
    /// Lets a lock go, or wakes those that wait for it.
    Release {
        /// What kind of lock.
        kind: LockKind,
        /// Whether several may go on.
        is_of_many: bool,
    },
    /// Interrupts a processor.
    Interrupt(InterruptKind),
    /// Reads from a descriptor.
    Read,
    /// Writes to a descriptor.
    Write,
    /// Moves bytes from one descriptor to another.
    Copy,
    /// Is a call on a descriptor that moves no bytes.
    Touch,
    /// Reads from a stream of the C library.
    StreamRead,
    /// Writes to a stream.
    StreamWrite,
    /// Is a call on a stream that moves no bytes.
    StreamTouch,
    /// Closes a stream and its descriptor.
    StreamClose,
    /// Opens a path.
    Open,
    /// Opens a path as a stream.
    StreamOpen,
    /// Makes a stream of a descriptor that is open already.
    StreamAttach,
    /// Closes a descriptor.
    Close,
    /// Closes descriptors from a first to a last.
    CloseRange,
    /// Closes descriptors from a first on.
    CloseFrom,
    /// Makes a second descriptor of one.
    Duplicate,
    /// Is an fcntl, which may duplicate.
    Control,
    /// Makes both ends of a pipe.
    Pipe,
    /// Makes a socket.
    Socket,
    /// Makes two sockets that are connected.
    SocketPair,
    /// Maps memory.
    Map,
    /// Takes maps away.
    Unmap,
    /// Moves a map, or changes its length.
    MoveMap,
    /// Changes what may be done with memory.
    Protect,
    /// There is an object that the program has loaded.
    Object,
    /// Gives a socket an address.
    Bind,
    /// Connects a socket to an address.
    Connect,
    /// Takes a connection.
    Accept,
    /// A program begins.
    ProcessStart,
    /// A process that was there before is recorded from now on.
    ProcessJoin,
    /// A process says that it ends.
    ProcessExit,
    /// A process names the process that forked it.
    Forked,
    /// A process is told how a child has ended.
    ChildWait,
    /// Becomes another program.
    Exec,
    /// A thread ends.
    ThreadExit,
    /// A thread begins, and tells its handle.
    ThreadStart,
    /// Gives a name to the thread of a handle.
    ThreadName,
    /// The kernel makes a thread, or a process with its first.
    TaskNew,
    /// The same, as LTTng tells it: with the numbers of both processes.
    TaskFork,
    /// The kernel gives a process another program.
    TaskExec,
    /// The kernel gives a thread another name.
    TaskName,
    /// The kernel begins to tell what there is.
    DumpBegin,
    /// It has told all, or says that it could not.
    DumpEnd,
    /// It has gone through all that there is, and does not say whether all of it was written.
    DumpDone,
    /// There is a thread.
    DumpThread,
    /// There is a process.
    DumpProcess,
    /// There is an open descriptor.
    DumpFile,
    /// The same, as LTTng tells it: of the kernel's table of descriptors, by its address.
    DumpTableFile,
    /// A process's program was started with these arguments.
    DumpCommand,
    /// There is a map.
    DumpMap,
}

/// Values of the fields an operation needs, of entry and exit together; what no field told is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Values {
    /// Which descriptor, lock, stream or process: the bits of an address or a number.
    pub subject: i64,
    /// The second operand: the other descriptor, the size of an item in bytes, a status.
    pub other: i64,
    /// Flags.
    pub third: i64,
    /// What else maps have: what may be done with them.
    pub fourth: i64,
    /// The place in a file.
    pub fifth: i64,
    /// The file's number.
    pub sixth: i64,
    /// What the call returned; negative if it failed.
    pub result: i64,
    /// The number of the error, where the call tells it apart from its result; else 0.
    pub error: i64,
    /// A path, an address or a thread's name.
    pub text: TextIndex,
    /// A command line, or the bytes of a build id.
    pub more_text: TextIndex,
}

const CALLS: &[(&str, Operation)] = &[
    ("read", Operation::Read),
    ("pread", Operation::Read),
    ("pread64", Operation::Read),
    ("readv", Operation::Read),
    ("preadv", Operation::Read),
    ("preadv2", Operation::Read),
    ("recv", Operation::Read),
    ("recvfrom", Operation::Read),
    ("recvmsg", Operation::Read),
    ("write", Operation::Write),
    ("pwrite", Operation::Write),
    ("pwrite64", Operation::Write),
    ("writev", Operation::Write),
    ("pwritev", Operation::Write),
    ("pwritev2", Operation::Write),
    ("send", Operation::Write),
    ("sendto", Operation::Write),
    ("sendmsg", Operation::Write),
    ("sendfile", Operation::Copy),
    ("sendfile64", Operation::Copy),
    ("splice", Operation::Copy),
    ("copy_file_range", Operation::Copy),
    ("recvmmsg", Operation::Touch),
    ("sendmmsg", Operation::Touch),
    ("fsync", Operation::Touch),
    ("fdatasync", Operation::Touch),
    ("flock", Operation::Touch),
    ("fread", Operation::StreamRead),
    ("fwrite", Operation::StreamWrite),
    ("fflush", Operation::StreamTouch),
    ("fclose", Operation::StreamClose),
    ("open", Operation::Open),
    ("openat", Operation::Open),
    ("openat2", Operation::Open),
    ("creat", Operation::Open),
    ("fopen", Operation::StreamOpen),
    ("fdopen", Operation::StreamAttach),
    ("close", Operation::Close),
    ("close_range", Operation::CloseRange),
    ("closefrom", Operation::CloseFrom),
    ("dup", Operation::Duplicate),
    ("dup2", Operation::Duplicate),
    ("dup3", Operation::Duplicate),
    ("fcntl", Operation::Control),
    ("pipe", Operation::Pipe),
    ("pipe2", Operation::Pipe),
    ("socket", Operation::Socket),
    ("socketpair", Operation::SocketPair),
    ("bind", Operation::Bind),
    ("connect", Operation::Connect),
    ("accept", Operation::Accept),
    ("accept4", Operation::Accept),
    ("mmap", Operation::Map),
    ("munmap", Operation::Unmap),
    ("mremap", Operation::MoveMap),
    ("mprotect", Operation::Protect),
    ("pkey_mprotect", Operation::Protect),
];

const fn release(kind: LockKind, is_of_many: bool) -> Operation {
    Operation::Release { kind, is_of_many }
}

const NAMES: &[(&str, Operation)] = &[
    ("mutex:wait", Operation::Lock(LockKind::Mutex)),
    ("lttng_ust_pthread:pthread_mutex_lock", Operation::Lock(LockKind::Mutex)),
    ("rwlock:wait", Operation::Lock(LockKind::Rwlock)),
    ("cond:wait", Operation::Lock(LockKind::Cond)),
    ("sem:wait", Operation::Lock(LockKind::Sem)),
    ("barrier:wait", Operation::Lock(LockKind::Barrier)),
    ("mutex:unlock", release(LockKind::Mutex, false)),
    ("lttng_ust_pthread:pthread_mutex_unlock", release(LockKind::Mutex, false)),
    ("rwlock:unlock", release(LockKind::Rwlock, true)),
    ("cond:signal", release(LockKind::Cond, false)),
    ("cond:broadcast", release(LockKind::Cond, true)),
    ("sem:post", release(LockKind::Sem, false)),
    ("irq:irq_handler", Operation::Interrupt(InterruptKind::Device)),
    ("irq_handler", Operation::Interrupt(InterruptKind::Device)),
    ("irq:softirq", Operation::Interrupt(InterruptKind::Soft)),
    ("irq_softirq", Operation::Interrupt(InterruptKind::Soft)),
    ("process:start", Operation::ProcessStart),
    ("process:join", Operation::ProcessJoin),
    ("process:object", Operation::Object),
    ("process:exit", Operation::ProcessExit),
    ("process:quick_exit", Operation::ProcessExit),
    ("syscall_exit_group", Operation::ProcessExit),
    ("compat_syscall_exit_group", Operation::ProcessExit),
    ("syscalls:sys_exit_group", Operation::ProcessExit),
    ("process:forked", Operation::Forked),
    ("process:wait", Operation::ChildWait),
    ("process:exec", Operation::Exec),
    ("syscall_execve", Operation::Exec),
    ("syscalls:sys_execve", Operation::Exec),
    ("thread:exit", Operation::ThreadExit),
    ("sched:sched_process_exit", Operation::ThreadExit),
    ("sched_process_exit", Operation::ThreadExit),
    ("thread:start", Operation::ThreadStart),
    ("thread:name", Operation::ThreadName),
    ("task:task_newtask", Operation::TaskNew),
    ("sched_process_fork", Operation::TaskFork),
    ("sched:sched_process_exec", Operation::TaskExec),
    ("sched_process_exec", Operation::TaskExec),
    ("task:task_rename", Operation::TaskName),
    ("state:begin", Operation::DumpBegin),
    (DUMP_END, Operation::DumpEnd),
    ("state:thread", Operation::DumpThread),
    ("state:process", Operation::DumpProcess),
    ("state:file", Operation::DumpFile),
    ("state:command", Operation::DumpCommand),
    ("state:map", Operation::DumpMap),
    ("lttng_statedump_start", Operation::DumpBegin),
    (LTTNG_DUMP_END, Operation::DumpDone),
    ("lttng_statedump_process_state", Operation::DumpThread),
    ("lttng_statedump_file_descriptor", Operation::DumpTableFile),
];

/// What the names of the processor's own interrupts begin with, tracefs's and LTTng's.
const VECTORS: [&str; 2] = ["irq_vectors:", "x86_irq_vectors_"];

/// The names of system calls' pairs: LTTng's `syscall_entry_read` and `syscall_exit_read` make
/// `syscall_read`, the kernel's own `syscalls:sys_enter_read` and so on `syscalls:sys_read`.
const SYSTEM_CALLS: [&str; 3] = ["syscall_", "compat_syscall_", "syscalls:sys_"];

/// The name of the system call that a pair's base name is of.
pub fn system_call(name: &str) -> Option<&str> {
    SYSTEM_CALLS.iter().find_map(|prefix| name.strip_prefix(prefix))
}

impl Operation {
    /// The meaning of a pair's base name, or of a single event's name.
    pub(crate) fn of(name: &str) -> Self {
        if let Some((_, operation)) = NAMES.iter().find(|(known, _)| *known == name) {
            return *operation;
        }
        if VECTORS.iter().any(|prefix| name.starts_with(prefix)) {
            return Operation::Interrupt(InterruptKind::Vector);
        }
        let system_call = system_call(name);
        let Some(call) = system_call.or(name.strip_prefix("io:")) else { return Operation::None };
        let known = CALLS.iter().find(|(known, _)| *known == call);
        match (known, system_call) {
            (Some((_, operation)), _) => *operation,
            (None, Some(_)) => Operation::SystemCall,
            (None, None) => Operation::None,
        }
    }

    /// Whether a name is that of an event which is by itself, however it ends.
    pub(crate) fn is_single(name: &str) -> bool {
        matches!(Self::of(name), Self::DumpBegin | Self::DumpEnd | Self::DumpDone)
    }

    /// The same, where the calls on files are known from the interposers, too: a call that is seen
    /// from both sides counts once.
    pub(crate) fn beside_interposers(name: &str) -> Self {
        match Self::of(name) {
            call if !call.is_of_files() || name.starts_with("io:") => call,
            _ => Operation::SystemCall,
        }
    }

    /// Whether [`Values::result`] is what a call of it returned.
    pub fn has_result(self) -> bool {
        self.fields().iter().any(|(slot, _)| *slot == Slot::Result)
    }

    /// Whether it changes or uses descriptors.
    pub(crate) fn is_of_files(self) -> bool {
        use Operation::*;
        let is_of_others = matches!(
            self,
            None | SystemCall
                | Lock(_)
                | Release { .. }
                | Interrupt(_)
                | ProcessStart
                | ProcessJoin
                | ProcessExit
                | Forked
                | ChildWait
                | Exec
                | ThreadExit
                | ThreadStart
                | ThreadName
        );
        !is_of_others && !self.is_of_tasks() && !self.is_of_maps()
    }

    /// Whether it changes maps, or tells of them.
    pub(crate) fn is_of_maps(self) -> bool {
        use Operation::*;
        matches!(self, Map | Unmap | MoveMap | Protect | Object)
    }

    /// Whether it is the kernel's, of its tasks or of a dump of its state.
    pub(crate) fn is_of_tasks(self) -> bool {
        use Operation::*;
        matches!(
            self,
            TaskNew
                | TaskFork
                | TaskExec
                | TaskName
                | DumpBegin
                | DumpEnd
                | DumpDone
                | DumpThread
                | DumpProcess
                | DumpFile
                | DumpTableFile
                | DumpCommand
                | DumpMap
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{LockKind, Operation};

    #[test]
    fn calls_are_known_as_interposers_and_as_system_calls_name_them_and_nowhere_else() {
        assert_eq!(Operation::of("io:read"), Operation::Read);
        assert_eq!(Operation::of("syscall_openat"), Operation::Open);
        assert_eq!(Operation::of("compat_syscall_write"), Operation::Write);
        assert_eq!(Operation::of("syscalls:sys_dup2"), Operation::Duplicate);
        assert_eq!(Operation::of("mutex:wait"), Operation::Lock(LockKind::Mutex));
        assert_eq!(Operation::of("syscalls:sys_getppid"), Operation::SystemCall);
        assert_eq!(Operation::beside_interposers("syscalls:sys_read"), Operation::SystemCall);
        assert_eq!(Operation::beside_interposers("io:read"), Operation::Read);
        for other in ["db:read", "read", "mutex:lock", "io:", "process:read"] {
            assert_eq!(Operation::of(other), Operation::None, "{other}");
        }
    }
}
