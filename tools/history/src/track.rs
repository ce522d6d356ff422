// SPDX-License-Identifier: MIT
//! Whose state is told: subjects, and the tracks of each.
//!
//! Place in the flow: everything that is stored or asked for is an interval on a track. On one
//! track there is one interval at a time; what a subject may have several of, such as calls in one
//! another, has a lane for each.

use state::{InterruptKind, LockKind, ProcessIndex, ThreadIndex};

/// Something that has states. Threads and processes are numbered as `crate::Names` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A thread.
    Thread(ThreadIndex),
    /// A processor of a machine.
    Cpu {
        /// The machine's number.
        host: u32,
        /// The processor's number.
        cpu: u32,
    },
    /// A process.
    Process(ProcessIndex),
    /// A descriptor of a process.
    Descriptor {
        /// The process.
        process: ProcessIndex,
        /// The number by which it knows the descriptor.
        fd: i32,
    },
    /// A lock in a process's memory.
    Lock {
        /// The process.
        process: ProcessIndex,
        /// What kind of lock.
        kind: LockKind,
        /// Where it is.
        address: u64,
    },
    /// A source of interrupts of a machine.
    Interrupt {
        /// The machine's number.
        host: u32,
        /// What kind of source.
        kind: InterruptKind,
        /// The source's number.
        number: i64,
    },
}

/// Which of a subject's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Of a thread: on a CPU, waiting for one, or off. Where nothing is told, it is unknown.
    Place,
    /// Of a thread: a call that it is in. Lanes are the depth.
    Call,
    /// Of a thread: its name, as long as it lives.
    Name,
    /// Of a CPU: the thread that it runs. Where nothing is told, it is unknown.
    Runs,
    /// Of a CPU: an interrupt that it is in. Lanes are the depth.
    Interrupt,
    /// Of a process: its life.
    Life,
    /// Of a descriptor: the file that it stands for.
    Open,
    /// Of a lock: a thread that waits for it. Lanes are threads.
    Waiter,
    /// Of a source of interrupts: a CPU that it interrupts. Lanes are CPUs.
    Serves,
    /// Of a thread: what let it go on, from there to where it went on. Lanes are wake-ups, and
    /// kinds of locks.
    Flow,
    /// Of a lock: who holds it, or let it go last. Lanes are readers that hold it together.
    Holder,
    /// Of a lock: how many threads wait for it.
    Queue,
}

impl Kind {
    /// Every kind, in the order of their numbers in a file.
    pub(crate) const ALL: [Kind; 12] = [
        Kind::Place,
        Kind::Call,
        Kind::Name,
        Kind::Runs,
        Kind::Interrupt,
        Kind::Life,
        Kind::Open,
        Kind::Waiter,
        Kind::Serves,
        Kind::Flow,
        Kind::Holder,
        Kind::Queue,
    ];

    /// Whether a subject that has had such a state has one at every time: where no interval tells
    /// it, it is unknown. Of the other kinds, nothing told means that there is none known.
    pub fn is_always(self) -> bool {
        matches!(self, Kind::Place | Kind::Runs)
    }

    /// Whether an interval is known when it is over, and not before: nothing of it is in a moment.
    pub fn is_known_late(self) -> bool {
        self == Kind::Flow
    }

    /// Whether an occurrence that takes no time is one.
    pub(crate) fn keeps_empty(self) -> bool {
        matches!(self, Kind::Call | Kind::Interrupt | Kind::Waiter | Kind::Serves)
    }
}

/// One row of a diagram: of a subject, one kind of state, in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track {
    /// Whose.
    pub subject: Subject,
    /// Which of its states.
    pub kind: Kind,
    /// Which of several at once.
    pub lane: u32,
}

impl Track {
    /// The first lane of a kind.
    pub fn new(subject: Subject, kind: Kind) -> Self {
        Self { subject, kind, lane: 0 }
    }
}
