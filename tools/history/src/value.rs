// SPDX-License-Identifier: MIT
//! What a state may be.
//!
//! Place in the flow: `facts` makes values of what the state says, `coding` writes and reads them.
//! Texts, names of calls, threads and processes are numbers, as `crate::Names` lists them.

use state::{
    About, Exit, File, InterruptKind, LockKind, OffKind, PairIndex, ShortName, TextIndex,
    ThreadIndex,
};
use trace::Ns;

/// A call that a thread is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    /// The pair of events that begin and end it.
    pub pair: PairIndex,
    /// The lock or the file that it is about.
    pub about: About,
    /// Events were lost since it began; its end may be one of them.
    pub may_be_over: bool,
}

/// A state of a [`crate::Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value {
    /// Nothing told it, or events were lost since.
    Unknown,
    /// A thread is on this CPU.
    Running(u32),
    /// A thread is ready to run, on no CPU.
    Waiting,
    /// A thread is off, in the kernel's word for it, and in the call that it was in.
    Off(OffKind, Option<Call>),
    /// A thread has run for the last time.
    Over,
    /// A thread is in a call.
    In(Call),
    /// A thread is called so.
    Named(ShortName),
    /// A CPU runs this thread.
    Runs(ThreadIndex),
    /// A CPU has nothing to run.
    Idle,
    /// A CPU is in an interrupt.
    Interrupted {
        /// What kind of source.
        kind: InterruptKind,
        /// The source's number.
        number: i64,
        /// Its handler's name.
        name: TextIndex,
    },
    /// A process lives.
    Lives {
        /// The process that it is a child of.
        parent_pid: Option<i64>,
        /// The program that it runs.
        program: TextIndex,
        /// The name of its first thread.
        name: ShortName,
    },
    /// A process is over; how it ended may not be known.
    Ended(Option<Exit>),
    /// A descriptor stands for a file.
    Open(File),
    /// A lock is waited for.
    Awaited {
        /// By this thread.
        by: ThreadIndex,
        /// The wait may be over, as [`Call::may_be_over`] has it.
        may_be_over: bool,
    },
    /// A lock is held.
    Held {
        /// By this thread, which had waited for it.
        by: ThreadIndex,
        /// It lets the lock go at the end of the interval, or events would have told that it did.
        /// Otherwise the lock may have been let go since the interval began.
        is_certain: bool,
    },
    /// No event tells who has a lock: it is free, or was taken by a thread that did not wait.
    Unheld {
        /// Who let it go when the interval began, if an event told that.
        let_go_by: Option<ThreadIndex>,
        /// Who had it at the end of the interval, and let it go there.
        had_by: Option<ThreadIndex>,
    },
    /// Threads wait for a lock.
    Queued {
        /// How many.
        waiting: u32,
        /// Of how many more the wait may be over.
        unsure: u32,
    },
    /// An interrupt is served on this CPU.
    Served(u32),
    /// A thread was woken, and goes on.
    Woken(Cause),
    /// A thread waited for a lock, which another one let go, and goes on.
    LetGo {
        /// The thread that unlocked, signalled or posted.
        by: ThreadIndex,
        /// What kind of lock.
        kind: LockKind,
        /// Where it is.
        address: u64,
    },
}

/// What wakes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Another thread.
    Thread(ThreadIndex),
    /// An interrupt.
    Interrupt {
        /// On which CPU.
        cpu: u32,
        /// What kind of source.
        kind: InterruptKind,
        /// The source's number.
        number: i64,
        /// Its handler's name.
        name: TextIndex,
    },
    /// A CPU that had nothing to run, in an interrupt of which no event tells.
    Idle(u32),
}

/// A state, from when to when. Of a lock it may say what was learned only at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval<V = Value> {
    /// From this time on.
    pub begin: Ns,
    /// Before this time.
    pub end: Ns,
    /// The state goes on, because the trace ends before it: `end` is the time of the last event.
    pub goes_on: bool,
    /// The state, or what stands for it.
    pub value: V,
}
