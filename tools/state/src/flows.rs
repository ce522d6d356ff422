// SPDX-License-Identifier: MIT
//! What led to what: the two ends of arrows from one thread to another.
//!
//! Place in the flow: whoever follows the events hands them over after the state has taken them.
//! Two things are known: a thread that unlocks, signals or posts lets one go on that waits for the
//! same lock, condition or semaphore; and a thread or an interrupt wakes a thread. What the caller
//! remembers of a tail is its own (`T`), and comes back with the head; a tail may have no head.

use rustc_hash::FxHashMap;
use trace::{Event, Ns, Value};

use crate::locks::Lock;
use crate::moment::{Done, Part, State, Step};
use crate::operation::{LockKind, Operation};
use crate::threads::ThreadIndex;

/// Locks that are waited for, and threads that are woken: of each, at most.
const KNOWN: usize = 1 << 16;

#[derive(Debug, Clone, Copy)]
struct Released<T> {
    tail: T,
    by: ThreadIndex,
    at: Ns,
    is_of_many: bool,
}

/// What an event is of locks' arrows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockFlow<T> {
    /// It lets go what another thread waits for.
    Tail(T),
    /// It ends a wait that the event of a tail let end.
    Head {
        /// What was remembered there.
        tail: T,
        /// What was waited for.
        kind: LockKind,
        /// Where it is.
        address: u64,
    },
}

/// Tails whose heads have not come.
#[derive(Debug)]
pub struct Flows<T> {
    /// How many threads wait for what.
    waiting: FxHashMap<Lock, u32>,
    released: FxHashMap<Lock, Released<T>>,
    /// By machine and thread's number.
    woken: FxHashMap<(u32, i64), T>,
}

impl<T> Default for Flows<T> {
    fn default() -> Self {
        Self {
            waiting: FxHashMap::default(),
            released: FxHashMap::default(),
            woken: FxHashMap::default(),
        }
    }
}

impl<T: Copy> Flows<T> {
    /// Events are missing: which tail a head belongs to is not known any more.
    pub fn forget(&mut self) {
        self.released.clear();
        self.woken.clear();
    }

    /// What an event is of locks' arrows. `tail` is called if one begins here.
    pub fn of_locks(
        &mut self,
        state: &State,
        event: &Event<'_>,
        step: &Step,
        tail: impl FnOnce() -> T,
    ) -> Option<LockFlow<T>> {
        let thread = step.thread;
        let process = || state.threads().process_of(thread);
        match (step.part, step.done) {
            (Part::Entry(pair), _) => {
                let operation = state.classes().pair(pair)?.operation;
                let Operation::Lock(kind) = operation else { return None };
                let address = state.calls().innermost(thread)?.values.subject as u64;
                self.waits(Lock { process: process(), kind, address });
                None
            }
            (Part::Exit(_), Some(Done { begin: Some(begin), operation, values, .. })) => {
                let Operation::Lock(kind) = operation else { return None };
                let address = values.subject as u64;
                let lock = Lock { process: process(), kind, address };
                let tail = self.waited(lock, (thread, begin), has_succeeded(event))?;
                Some(LockFlow::Head { tail, kind, address })
            }
            (Part::None, Some(Done { operation, values, .. })) => {
                let Operation::Release { kind, is_of_many } = operation else { return None };
                let lock = Lock { process: process(), kind, address: values.subject as u64 };
                if !self.waiting.contains_key(&lock) {
                    return None;
                }
                let (tail, at) = (tail(), event.time_ns());
                // No more than there are locks that are waited for.
                self.released.insert(lock, Released { tail, by: thread, at, is_of_many });
                Some(LockFlow::Tail(tail))
            }
            (Part::Exit(_) | Part::None, _) => None,
        }
    }

    /// A thread begins to wait for a lock.
    fn waits(&mut self, lock: Lock) {
        if self.waiting.len() < KNOWN || self.waiting.contains_key(&lock) {
            *self.waiting.entry(lock).or_default() += 1;
        }
    }

    /// A thread has waited, since `begin`. Return: the tail of the arrow that ends here. `has_it`:
    /// whether the wait ended because of a release, and not by a time limit.
    fn waited(
        &mut self,
        lock: Lock,
        (thread, begin): (ThreadIndex, Ns),
        has_it: bool,
    ) -> Option<T> {
        let waiting = self.waiting.get_mut(&lock)?;
        *waiting = waiting.saturating_sub(1);
        let is_last = *waiting == 0;
        let released = self.released.get(&lock).copied();
        if is_last {
            self.waiting.remove(&lock);
            self.released.remove(&lock);
        }
        let released = released.filter(|released| has_it && released.at >= begin)?;
        if released.by == thread {
            return None;
        }
        if !released.is_of_many {
            self.released.remove(&lock);
        }
        Some(released.tail)
    }

    /// A thread is woken: whether there is room for the tail.
    pub fn wakes(&mut self, host: u32, tid: i64, tail: T) -> bool {
        let has_room = self.woken.len() < KNOWN || self.woken.contains_key(&(host, tid));
        if has_room {
            self.woken.insert((host, tid), tail);
        }
        has_room
    }

    /// The tail of the arrow that ends where a thread goes on after it was woken.
    #[inline]
    pub fn is_awake(&mut self, host: u32, tid: Option<i64>) -> Option<T> {
        if self.woken.is_empty() {
            return None;
        }
        self.woken.remove(&(host, tid?))
    }
}

/// Whether a call says that it has succeeded; one without a result has.
fn has_succeeded(event: &Event<'_>) -> bool {
    let field = event.class().field_index("result");
    let result = field.and_then(|field| event.value(field));
    !matches!(result, Some(Value::Signed(1..) | Value::Unsigned(1..) | Value::Signed(..=-1)))
}
