// SPDX-License-Identifier: MIT
//! What a pair or a single event means, and which of its fields tell it.
//!
//! Place in the flow: `classes` asks once for each event class; `moment` acts on the answer for
//! each event. Known are the events of Lull's interposers (`io:`, `process:`, ...), system calls as
//! LTTng names them, LTTng-UST's mutex events, and the kernel's events of tasks and of its state.

use trace::{Event, EventClass, Value};

use crate::classes::DUMP_END;
use crate::texts::{TextIndex, Texts};

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
    /// Gives a socket an address.
    Bind,
    /// Connects a socket to an address.
    Connect,
    /// Takes a connection.
    Accept,
    /// A program begins.
    ProcessStart,
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
    /// The kernel gives a process another program.
    TaskExec,
    /// The kernel gives a thread another name.
    TaskName,
    /// The kernel begins to tell what there is.
    DumpBegin,
    /// It has told all.
    DumpEnd,
    /// There is a thread.
    DumpThread,
    /// There is a process.
    DumpProcess,
    /// There is an open descriptor.
    DumpFile,
}

/// Which of the [`Values`] a field's value becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Subject,
    Other,
    Third,
    Result,
    Error,
    Text,
    MoreText,
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
    /// What the call returned; negative if it failed.
    pub result: i64,
    /// The number of the error, where the call tells it apart from its result; else 0.
    pub error: i64,
    /// A path, an address or a thread's name.
    pub text: TextIndex,
    /// A command line.
    pub more_text: TextIndex,
}

type Fields = &'static [(Slot, &'static [&'static str])];

const RESULT: (Slot, &[&str]) = (Slot::Result, &["result", "ret"]);
const ERROR: (Slot, &[&str]) = (Slot::Error, &["error"]);
const DESCRIPTOR: (Slot, &[&str]) = (Slot::Subject, &["fd", "fildes"]);
const STREAM: (Slot, &[&str]) = (Slot::Subject, &["file"]);
const PATH: (Slot, &[&str]) = (Slot::Text, &["path", "filename"]);
const ADDRESS: (Slot, &[&str]) = (Slot::Text, &["address"]);
const FLAGS: (Slot, &[&str]) = (Slot::Third, &["flags"]);

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
];

const NAMES: &[(&str, Operation)] = &[
    ("mutex:wait", Operation::Lock(LockKind::Mutex)),
    ("lttng_ust_pthread:pthread_mutex_lock", Operation::Lock(LockKind::Mutex)),
    ("rwlock:wait", Operation::Lock(LockKind::Rwlock)),
    ("cond:wait", Operation::Lock(LockKind::Cond)),
    ("sem:wait", Operation::Lock(LockKind::Sem)),
    ("barrier:wait", Operation::Lock(LockKind::Barrier)),
    ("process:start", Operation::ProcessStart),
    ("process:exit", Operation::ProcessExit),
    ("process:quick_exit", Operation::ProcessExit),
    ("syscall_exit_group", Operation::ProcessExit),
    ("process:forked", Operation::Forked),
    ("process:wait", Operation::ChildWait),
    ("process:exec", Operation::Exec),
    ("syscall_execve", Operation::Exec),
    ("syscalls:sys_execve", Operation::Exec),
    ("thread:exit", Operation::ThreadExit),
    ("sched:sched_process_exit", Operation::ThreadExit),
    ("thread:start", Operation::ThreadStart),
    ("thread:name", Operation::ThreadName),
    ("task:task_newtask", Operation::TaskNew),
    ("sched:sched_process_exec", Operation::TaskExec),
    ("task:task_rename", Operation::TaskName),
    ("state:begin", Operation::DumpBegin),
    (DUMP_END, Operation::DumpEnd),
    ("state:thread", Operation::DumpThread),
    ("state:process", Operation::DumpProcess),
    ("state:file", Operation::DumpFile),
];

/// The names of system calls' pairs: LTTng's `syscall_entry_read` and `syscall_exit_read` make
/// `syscall_read`, the kernel's own `syscalls:sys_enter_read` and so on `syscalls:sys_read`.
const SYSTEM_CALLS: [&str; 3] = ["syscall_", "compat_syscall_", "syscalls:sys_"];

impl Operation {
    /// The meaning of a pair's base name, or of a single event's name.
    pub(crate) fn of(name: &str) -> Self {
        if let Some((_, operation)) = NAMES.iter().find(|(known, _)| *known == name) {
            return *operation;
        }
        let system_call = SYSTEM_CALLS.iter().find_map(|prefix| name.strip_prefix(prefix));
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
        matches!(Self::of(name), Self::DumpBegin | Self::DumpEnd)
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
                | ProcessStart
                | ProcessExit
                | Forked
                | ChildWait
                | Exec
                | ThreadExit
                | ThreadStart
                | ThreadName
        );
        !is_of_others && !self.is_of_tasks()
    }

    /// Whether it is the kernel's, of its tasks or of a dump of its state.
    pub(crate) fn is_of_tasks(self) -> bool {
        use Operation::*;
        matches!(
            self,
            TaskNew
                | TaskExec
                | TaskName
                | DumpBegin
                | DumpEnd
                | DumpThread
                | DumpProcess
                | DumpFile
        )
    }

    fn fields(self) -> Fields {
        use Operation::*;
        match self {
            None | ThreadExit => &[],
            SystemCall => &[RESULT],
            ThreadStart => &[(Slot::Subject, &["handle"])],
            ThreadName => &[(Slot::Subject, &["handle"]), (Slot::Text, &["name"])],
            Lock(LockKind::Mutex) => &[(Slot::Subject, &["mutex"])],
            Lock(LockKind::Rwlock) => &[(Slot::Subject, &["rwlock"])],
            Lock(LockKind::Cond) => &[(Slot::Subject, &["cond"])],
            Lock(LockKind::Sem) => &[(Slot::Subject, &["sem"])],
            Lock(LockKind::Barrier) => &[(Slot::Subject, &["barrier"])],
            Read | Write | Touch | Close => &[DESCRIPTOR, RESULT, ERROR],
            Copy => &[
                (Slot::Subject, &["from_fd", "in_fd", "fd_in"]),
                (Slot::Other, &["to_fd", "out_fd", "fd_out"]),
                RESULT,
                ERROR,
            ],
            StreamRead | StreamWrite => &[STREAM, (Slot::Other, &["size_bytes"]), RESULT, ERROR],
            StreamTouch | StreamClose => &[STREAM, RESULT, ERROR],
            Open => &[PATH, FLAGS, RESULT],
            StreamOpen => &[PATH, STREAM, (Slot::Other, &["fd"])],
            StreamAttach => &[STREAM, (Slot::Other, &["fd"])],
            CloseRange => &[
                (Slot::Subject, &["first_fd", "fd"]),
                (Slot::Other, &["last_fd", "max_fd"]),
                FLAGS,
                RESULT,
            ],
            CloseFrom => &[(Slot::Subject, &["first_fd"])],
            Duplicate => &[(Slot::Subject, &["fd", "fildes", "oldfd"]), FLAGS, RESULT],
            Control => &[
                DESCRIPTOR,
                (Slot::Other, &["command", "cmd"]),
                (Slot::Third, &["argument", "arg"]),
                RESULT,
            ],
            Pipe => &[(Slot::Subject, &["read_fd"]), (Slot::Other, &["write_fd"]), FLAGS, RESULT],
            Socket => &[RESULT],
            SocketPair => &[(Slot::Subject, &["first_fd"]), (Slot::Other, &["second_fd"]), RESULT],
            Bind | Connect | Accept => &[DESCRIPTOR, ADDRESS, RESULT],
            ProcessStart => &[
                (Slot::Subject, &["pid"]),
                (Slot::Other, &["parent_pid"]),
                PATH,
                (Slot::MoreText, &["arguments"]),
            ],
            ProcessExit => &[(Slot::Subject, &["status", "error_code"])],
            Forked => &[(Slot::Subject, &["parent_pid"])],
            ChildWait => &[(Slot::Subject, &["child_pid"]), (Slot::Other, &["status"])],
            Exec => &[PATH],
            _ => self.task_fields(),
        }
    }

    /// Of the kernel's operations on tasks.
    fn task_fields(self) -> Fields {
        use Operation::*;
        match self {
            DumpEnd => &[(Slot::Subject, &["is_whole"])],
            TaskNew => &[
                (Slot::Subject, &["pid"]),
                (Slot::Third, &["clone_flags"]),
                (Slot::Text, &["comm"]),
            ],
            TaskExec => &[(Slot::Subject, &["pid"]), PATH],
            TaskName => &[(Slot::Subject, &["pid"]), (Slot::Text, &["newcomm"])],
            DumpThread => &[
                (Slot::Subject, &["tid"]),
                (Slot::Other, &["pid"]),
                (Slot::Third, &["ppid"]),
                (Slot::Text, &["name"]),
                (Slot::MoreText, &["state"]),
            ],
            DumpProcess => &[(Slot::Subject, &["pid"]), (Slot::Text, &["program"])],
            DumpFile => &[
                (Slot::Subject, &["pid"]),
                (Slot::Other, &["fd"]),
                (Slot::Third, &["closes_on_exec"]),
                PATH,
            ],
            _ => &[],
        }
    }
}

/// The fields of one event class that an operation needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loads {
    fields: Box<[(Slot, usize)]>,
}

impl Loads {
    pub fn of(operation: Operation, class: &EventClass) -> Self {
        let position = |names: &[&str]| names.iter().find_map(|name| class.field_index(name));
        let found = operation.fields().iter();
        let fields = found.filter_map(|(slot, names)| Some((*slot, position(names)?)));
        Self { fields: fields.collect() }
    }

    /// Reads the fields of an event over what is known already.
    #[inline]
    pub fn read(&self, event: &Event<'_>, values: &mut Values, texts: &mut Texts) {
        for (slot, field) in &self.fields {
            let Some(value) = event.value(*field) else { continue };
            let text = |texts: &mut Texts| match value {
                Value::Text(bytes) => texts.index(bytes),
                _ => TextIndex::NONE,
            };
            match slot {
                Slot::Subject => values.subject = number(value),
                Slot::Other => values.other = number(value),
                Slot::Third => values.third = number(value),
                Slot::Result => values.result = number(value),
                Slot::Error => values.error = number(value),
                Slot::Text => values.text = text(texts),
                Slot::MoreText => values.more_text = text(texts),
            }
        }
    }
}

/// A number's bits: an address above 2^63 stays itself when read back as unsigned.
fn number(value: Value<'_>) -> i64 {
    match value {
        Value::Unsigned(value) | Value::Enumeration { value, .. } => value as i64,
        Value::Signed(value) => value,
        _ => 0,
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
