// SPDX-License-Identifier: MIT
//! Who holds a lock and who let it go, as far as events tell: a thread that had to wait holds the
//! lock from the end of its wait to its unlock; a lock that was free is taken without an event.
//! Where unlocks are not recorded, the thread that got the lock last may not have it any more: it
//! is known to hold it only if the unlock before was seen.
//!
//! Place in the flow: analyses hand over every event, and ask when a wait ends.

use rustc_hash::FxHashMap;
use state::{event_name, About, LockKind, ProcessIndex, State, ThreadIndex};
use trace::{Ns, Trace};

use crate::by_class::ByClass;
use crate::pending::Pending;
use crate::studies::Moment;

/// Locks of which it is known who holds or released them.
const LOCKS_MAX: usize = 1 << 16;
/// Threads followed from lock to lock.
const CHAIN_MAX: usize = 64;

/// A lock, by its process and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lock {
    pub process: ProcessIndex,
    pub kind: LockKind,
    pub address: u64,
}

/// Events that let a lock go or wake those that wait for it, with the field that names it.
const RELEASES: [(&str, LockKind, &str); 6] = [
    ("mutex:unlock", LockKind::Mutex, "mutex"),
    ("lttng_ust_pthread:pthread_mutex_unlock", LockKind::Mutex, "mutex"),
    ("rwlock:unlock", LockKind::Rwlock, "rwlock"),
    ("cond:signal", LockKind::Cond, "cond"),
    ("cond:broadcast", LockKind::Cond, "cond"),
    ("sem:post", LockKind::Sem, "sem"),
];

/// The thread that got a lock last by waiting for it.
#[derive(Debug, Clone, Copy)]
struct Owner {
    thread: ThreadIndex,
    /// Whether the unlock that ended its wait is in the trace, and so its own would be.
    is_certain: bool,
}

/// Whom a finished wait was for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The thread that held the lock when the wait began.
    pub held_by: Option<ThreadIndex>,
    /// The thread that had got the lock last, where it is not certain that it held it still.
    pub last_got_by: Option<ThreadIndex>,
    /// The thread that let it go last before the wait ended, during the wait.
    pub handed_by: Option<ThreadIndex>,
}

#[derive(Debug)]
pub(crate) struct Holders {
    releases: ByClass<(LockKind, usize)>,
    released: Pending<Lock, (ThreadIndex, Ns)>,
    owners: Pending<Lock, Owner>,
    /// What each thread waits for, and who owned it when the wait began.
    waiting: FxHashMap<ThreadIndex, (Lock, Option<Owner>)>,
    /// The mutex that a wait for a condition lets go, by its field.
    let_go: ByClass<usize>,
}

impl Holders {
    pub fn new(traces: &[Trace]) -> Self {
        let releases = ByClass::new(traces, |class| {
            let (_, kind, field) = RELEASES.iter().find(|(name, ..)| *name == event_name(class))?;
            Some((*kind, class.field_index(field)?))
        });
        let let_go = ByClass::new(traces, |class| {
            (event_name(class) == "cond:wait_entry").then(|| class.field_index("mutex"))?
        });
        Self {
            releases,
            let_go,
            released: Pending::new(LOCKS_MAX),
            owners: Pending::new(LOCKS_MAX),
            waiting: FxHashMap::default(),
        }
    }

    /// Takes over what an event tells of locks, but for the ends of waits. Return: the lock that
    /// its thread begins to wait for.
    pub fn event(&mut self, moment: &Moment<'_>) -> Option<Lock> {
        let (event, thread) = (moment.event, moment.step.thread);
        let process = moment.state.threads().process_of(thread);
        if let Some((kind, field)) = self.releases.get(event) {
            let address = event.value(*field).and_then(|value| value.as_u64())?;
            let lock = Lock { process, kind: *kind, address };
            self.owners.end(&lock);
            self.released.begin(lock, (thread, event.time_ns()));
            return None;
        }
        if let Some(field) = self.let_go.get(event) {
            let address = event.value(*field).and_then(|value| value.as_u64())?;
            self.owners.end(&Lock { process, kind: LockKind::Mutex, address });
        }
        let call = moment.state.calls().innermost(thread)?;
        let About::Lock(kind, address) = call.about else { return None };
        if call.begin != event.time_ns() || moment.step.done.is_some() {
            return None;
        }
        let lock = Lock { process, kind, address };
        let owner = self.owners.get(&lock).copied();
        self.waiting.insert(thread, (lock, owner));
        Some(lock)
    }

    /// A wait has ended.
    pub fn waited(&mut self, lock: Lock, thread: ThreadIndex, begin: Ns, result: i64) -> Holder {
        let owner = self.waiting.remove(&thread).and_then(|(_, owner)| owner);
        let release = self.released.get(&lock).filter(|(_, at)| *at >= begin);
        let handed_by = release.map(|(by, _)| *by).filter(|by| *by != thread);
        let is_certain = release.is_some();
        let is_held = matches!(lock.kind, LockKind::Mutex | LockKind::Rwlock) && result == 0;
        if is_held {
            self.owners.begin(lock, Owner { thread, is_certain });
        }
        let [held_by, last_got_by] = [true, false]
            .map(|certain| owner.filter(|owner| owner.is_certain == certain).map(|o| o.thread));
        Holder { held_by, last_got_by, handed_by }
    }

    /// The threads and locks of a circle in which each waits for what the next holds; nothing where
    /// there is none that is known.
    pub fn circle(&self, first: ThreadIndex) -> Vec<(ThreadIndex, Lock)> {
        let mut circle = Vec::new();
        let mut thread = first;
        // Bound: CHAIN_MAX threads.
        while circle.len() < CHAIN_MAX {
            let Some((lock, _)) = self.waiting.get(&thread) else { return Vec::new() };
            circle.push((thread, *lock));
            match self.owners.get(lock) {
                Some(owner) if !owner.is_certain => return Vec::new(),
                Some(owner) if owner.thread == first => return circle,
                Some(owner) => thread = owner.thread,
                None => return Vec::new(),
            }
        }
        Vec::new()
    }

    /// Events are missing, and unlocks may be among them.
    pub fn forget(&mut self, state: &State) {
        self.owners = Pending::new(LOCKS_MAX);
        self.waiting.retain(|thread, _| {
            matches!(state.calls().innermost(*thread).map(|call| call.about), Some(About::Lock(..)))
        });
    }
}
