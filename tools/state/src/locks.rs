// SPDX-License-Identifier: MIT
//! Who holds a lock and who let it go, as far as events tell: a thread that had to wait holds the
//! lock from the end of its wait to its unlock; a lock that was free is taken without an event.
//! Where unlocks are not recorded, the thread that got the lock last may not have it any more.
//!
//! Place in the flow: `moment` hands over the waits and the releases. A lock is followed once a
//! thread has waited for it, so that those that nobody waits for cost nothing. Where events are
//! missing, nothing is believed until it is told again.

use rustc_hash::FxHashMap;
use trace::Ns;

use crate::calls::{About, Calls, OpenCall};
use crate::changes::{Change, Notes};
use crate::moment::State;
use crate::operation::{LockKind, Operation, Values};
use crate::threads::{ProcessIndex, ThreadIndex};

/// Locks that are followed, of all processes that live; further ones have no holders.
const LOCKS_MAX: usize = 1 << 16;
/// Readers of one lock that are told apart.
const READERS_MAX: usize = 64;
/// Threads followed from lock to lock.
const CHAIN_MAX: usize = 64;
/// What a call returns that got a robust mutex of a thread that ended, and one that waited for too
/// long: after a wait for a condition it has the mutex again, also then.
const OWNER_IS_DEAD: i64 = 130;
const TIMED_OUT: i64 = 110;
/// A lock for readers, in the field `kind`.
const READ: i64 = 0;

/// A lock, by its process and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lock {
    /// Whose memory it is in.
    pub process: ProcessIndex,
    /// What kind of lock.
    pub kind: LockKind,
    /// Where it is.
    pub address: u64,
}

/// A thread that got a lock by waiting for it, and of which no event told since that it let it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// The thread.
    pub thread: ThreadIndex,
    /// When its wait ended.
    pub since: Ns,
    /// Whether the unlock that ended its wait is in the trace, and so its own would be.
    pub is_certain: bool,
    /// Whether others may have it at the same time.
    is_shared: bool,
}

/// Who let a lock go last, and when.
#[derive(Debug, Clone, Copy)]
struct Released {
    by: ThreadIndex,
    at: Ns,
    /// Not a wait for a condition.
    is_unlock: bool,
    /// No events were missing then.
    is_sure: bool,
}

/// What is known of a lock.
#[derive(Debug, Default)]
pub struct Held {
    /// Those that hold it; readers keep their places.
    places: Vec<Option<Holding>>,
    released: Option<Released>,
    /// Whether an event told of it since events were lost.
    is_told: bool,
}

impl Held {
    /// Those that hold it, each with the number of its place among those that may.
    pub fn by(&self) -> impl Iterator<Item = (u32, &Holding)> {
        (0..).zip(&self.places).filter_map(|(place, held)| Some((place, held.as_ref()?)))
    }

    /// Who let it go last and when, if an event told that since events were lost.
    pub fn let_go(&self) -> Option<(ThreadIndex, Ns)> {
        self.released.filter(|released| released.is_sure).map(|Released { by, at, .. }| (by, at))
    }

    /// Whether an event told of it since events were lost.
    pub fn is_told(&self) -> bool {
        self.is_told
    }

    fn latest(&self) -> Option<Holding> {
        self.places.iter().flatten().max_by_key(|held| held.since).copied()
    }

    /// Return: whether there was room.
    fn takes(&mut self, holding: Holding) -> bool {
        if !holding.is_shared || self.places.iter().flatten().any(|held| !held.is_shared) {
            self.places.clear();
        }
        let is_its = |held: &&mut Option<Holding>| held.is_some_and(|h| h.thread == holding.thread);
        if let Some(own) = self.places.iter_mut().find(is_its) {
            *own = None;
        }
        let has_room = self.places.len() < READERS_MAX;
        match self.places.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(holding),
            None if has_room => self.places.push(Some(holding)),
            None => return false,
        }
        true
    }

    fn lets_go(&mut self, thread: ThreadIndex) {
        let is_its = |held: &&mut Option<Holding>| held.is_some_and(|h| h.thread == thread);
        let is_shared = self.places.iter().flatten().any(|held| held.is_shared);
        match self.places.iter_mut().find(is_its) {
            Some(place) => *place = None,
            // A reader of which no event told that it took the lock.
            None if is_shared => {}
            None => self.places.clear(),
        }
    }
}

/// Why what was known of a lock before the latest change is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// Events are missing, or the lock's process is over.
    #[default]
    Forgotten,
    /// This thread let the lock go.
    LetGo(ThreadIndex),
    /// A thread got the lock.
    Got,
}

/// Whom a finished wait was for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitedFor {
    /// The thread that held the lock when the wait began.
    pub held_by: Option<ThreadIndex>,
    /// The thread that had got the lock last, where it is not certain that it held it still.
    pub last_got_by: Option<ThreadIndex>,
    /// The thread that let it go last before the wait ended, during the wait.
    pub handed_by: Option<ThreadIndex>,
}

/// The locks of all processes: at most 2^16 are followed.
#[derive(Debug, Default)]
pub struct Locks {
    followed: FxHashMap<ProcessIndex, FxHashMap<(LockKind, u64), Held>>,
    count: usize,
    left_out: u64,
    /// By machine: those that an event told of since events were lost there. Some may be over.
    told: FxHashMap<u32, Vec<Lock>>,
    /// Who held what a thread waits for, when its wait began.
    waits: FxHashMap<ThreadIndex, Option<Holding>>,
    ending: Ending,
    pub(crate) notes: Notes<Change>,
}

impl Locks {
    /// What is known of a lock.
    pub fn of(&self, lock: &Lock) -> Option<&Held> {
        self.followed.get(&lock.process)?.get(&(lock.kind, lock.address))
    }

    /// Every lock that is followed.
    pub fn all(&self) -> impl Iterator<Item = Lock> + '_ {
        self.followed.iter().flat_map(|(process, locks)| {
            let process = *process;
            locks.keys().map(move |(kind, address)| Lock {
                process,
                kind: *kind,
                address: *address,
            })
        })
    }

    /// Why what was known before the latest change of a lock is over.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// How often a lock found no room, or a reader of one.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The threads and locks of a circle in which each waits for what the next holds; nothing where
    /// there is none that is known.
    pub(crate) fn circle(
        &self,
        first: ThreadIndex,
        waits_for: impl Fn(ThreadIndex) -> Option<Lock>,
    ) -> Vec<(ThreadIndex, Lock)> {
        let mut circle = Vec::new();
        let mut thread = first;
        // Bound: CHAIN_MAX threads.
        while circle.len() < CHAIN_MAX {
            let Some(lock) = waits_for(thread) else { return Vec::new() };
            circle.push((thread, lock));
            match self.of(&lock).and_then(Held::latest) {
                Some(owner) if !owner.is_certain => return Vec::new(),
                Some(owner) if owner.thread == first => return circle,
                Some(owner) => thread = owner.thread,
                None => return Vec::new(),
            }
        }
        Vec::new()
    }

    fn get_mut(&mut self, lock: &Lock) -> Option<&mut Held> {
        self.followed.get_mut(&lock.process)?.get_mut(&(lock.kind, lock.address))
    }

    /// From now on, it is followed. Return: nothing, if there is no room.
    fn follow(&mut self, lock: &Lock) -> Option<&mut Held> {
        if self.of(lock).is_none() {
            if self.count >= LOCKS_MAX || lock.process == ProcessIndex::OTHERS {
                self.left_out = self.left_out.saturating_add(1);
                return None;
            }
            self.count += 1;
        }
        let locks = self.followed.entry(lock.process).or_default();
        Some(locks.entry((lock.kind, lock.address)).or_default())
    }

    fn changed(&mut self, lock: &Lock, ending: Ending) {
        self.ending = ending;
        self.notes.add(Change::Lock(*lock));
    }

    /// A lock of which an event tells that was not told of before.
    fn list(&mut self, lock: &Lock, host: u32) {
        const LISTED_LEAST: usize = 64;
        let (followed, listed) = (&self.followed, self.told.entry(host).or_default());
        // Half of the list has been added since this was done before, or it is short.
        if listed.len() >= 2 * self.count.max(LISTED_LEAST) {
            listed.retain(|lock| followed.contains_key(&lock.process));
        }
        listed.push(*lock);
    }

    /// A thread begins to wait. `is_losing`: events may be missing now.
    fn waits(&mut self, lock: &Lock, (host, thread): (u32, ThreadIndex), is_losing: bool) {
        let Some(held) = self.follow(lock) else { return };
        let is_new = !held.is_told && !is_losing;
        held.is_told |= is_new;
        let owner = held.latest();
        self.waits.insert(thread, owner);
        if is_new {
            self.list(lock, host);
            self.changed(lock, Ending::Forgotten);
        }
    }

    /// A thread got a lock.
    fn got(&mut self, lock: &Lock, (host, holding): (u32, Holding), is_losing: bool) {
        let Some(held) = self.follow(lock).filter(|_| !is_losing) else { return };
        let is_new = !std::mem::replace(&mut held.is_told, true);
        let has_room = match holding.thread {
            ThreadIndex::OTHERS => {
                held.places.clear();
                true
            }
            _ => held.takes(holding),
        };
        self.left_out = self.left_out.saturating_add(u64::from(!has_room));
        if is_new {
            self.list(lock, host);
        }
        self.changed(lock, Ending::Got);
    }

    /// A thread lets a lock go, by an unlock or to wait for a condition.
    fn lets_go(
        &mut self,
        lock: &Lock,
        (host, thread, at): (u32, ThreadIndex, Ns),
        is_unlock: bool,
        is_losing: bool,
    ) {
        let Some(held) = self.get_mut(lock) else { return };
        held.released = Some(Released { by: thread, at, is_unlock, is_sure: !is_losing });
        if is_losing {
            return;
        }
        let is_new = !std::mem::replace(&mut held.is_told, true);
        held.lets_go(thread);
        if is_new {
            self.list(lock, host);
        }
        self.changed(lock, Ending::LetGo(thread));
    }

    /// Who a wait that is over was for, and whether the unlock that ended it is in the trace.
    fn waited(
        &mut self,
        lock: &Lock,
        (thread, begin): (ThreadIndex, Option<Ns>),
    ) -> (WaitedFor, bool) {
        let owner = self.waits.remove(&thread).flatten();
        let released = self.of(lock).and_then(|held| held.released);
        let during = released.filter(|it| begin.is_some_and(|begin| it.at >= begin));
        let [held_by, last_got_by] = [true, false]
            .map(|certain| owner.filter(|owner| owner.is_certain == certain).map(|o| o.thread));
        let handed_by = during.map(|it| it.by).filter(|by| *by != thread);
        let is_certain = during.is_some_and(|it| it.is_unlock);
        (WaitedFor { held_by, last_got_by, handed_by }, is_certain)
    }

    /// Events of a machine are missing, and unlocks may be among them. Bound: the locks that were
    /// told of since the loss before.
    pub(crate) fn loss(&mut self, host: u32) {
        self.waits.clear();
        self.ending = Ending::Forgotten;
        for lock in self.told.remove(&host).unwrap_or_default() {
            let Some(held) = self.get_mut(&lock) else { continue };
            (held.is_told, held.released) = (false, None);
            held.places.clear();
            self.notes.add(Change::Lock(lock));
        }
    }

    /// The memory of a process is not there any more.
    pub(crate) fn ended(&mut self, process: ProcessIndex) {
        let Some(locks) = self.followed.remove(&process) else { return };
        self.count = self.count.saturating_sub(locks.len());
        self.ending = Ending::Forgotten;
        for (kind, address) in locks.into_keys() {
            self.notes.add(Change::Lock(Lock { process, kind, address }));
        }
    }
}

/// The lock that a thread's innermost call waits for.
fn waits_for(calls: &Calls, thread: ThreadIndex, process: ProcessIndex) -> Option<Lock> {
    let call = calls.innermost(thread).filter(|call| !call.may_be_over)?;
    let About::Lock(kind, address) = call.about else { return None };
    Some(Lock { process, kind, address })
}

impl State {
    /// The locks that threads waited for, and who holds them.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The threads and locks of a circle in which each waits for what the next holds, beginning
    /// with a thread that waits; nothing where there is none that is known.
    pub fn circle(&self, first: ThreadIndex) -> Vec<(ThreadIndex, Lock)> {
        self.locks
            .circle(first, |thread| waits_for(&self.calls, thread, self.threads.process_of(thread)))
    }

    fn lock_of(&self, kind: LockKind, address: i64, thread: ThreadIndex) -> Lock {
        Lock { process: self.threads.process_of(thread), kind, address: address as u64 }
    }

    /// A thread begins to wait; for a condition, it lets the mutex go that it has.
    pub(crate) fn lock_entered(
        &mut self,
        kind: LockKind,
        (host, thread, at): (u32, ThreadIndex, Ns),
        values: &Values,
    ) {
        let is_losing = self.running.is_losing_on(host);
        let lock = self.lock_of(kind, values.subject, thread);
        self.locks.waits(&lock, (host, thread), is_losing);
        if kind == LockKind::Cond {
            let mutex = self.lock_of(LockKind::Mutex, values.other, thread);
            self.locks.lets_go(&mutex, (host, thread, at), false, is_losing);
        }
    }

    /// A thread has waited, in a call if its entry is known: if that succeeded, it has the lock.
    pub(crate) fn lock_left(
        &mut self,
        kind: LockKind,
        (host, thread, since): (u32, ThreadIndex, Ns),
        (values, call): (&Values, Option<&OpenCall>),
    ) -> WaitedFor {
        let is_losing = self.running.is_losing_on(host);
        let lock = self.lock_of(kind, values.subject, thread);
        let begin = call.filter(|call| !call.may_be_over).map(|call| call.begin);
        let (whose, is_certain) = self.locks.waited(&lock, (thread, begin));
        let is_shared = kind == LockKind::Rwlock && call.is_some() && values.third == READ;
        let holding = Holding { thread, since, is_certain, is_shared };
        let has_it = matches!(values.error, 0 | OWNER_IS_DEAD);
        match kind {
            LockKind::Mutex | LockKind::Rwlock if has_it => {
                self.locks.got(&lock, (host, holding), is_losing);
            }
            LockKind::Cond if call.is_some() && (has_it || values.error == TIMED_OUT) => {
                let mutex = self.lock_of(LockKind::Mutex, values.other, thread);
                if self.locks.of(&mutex).is_some() {
                    let holding = Holding { is_certain: false, ..holding };
                    self.locks.got(&mutex, (host, holding), is_losing);
                }
            }
            _ => {}
        }
        whose
    }

    /// An event lets a lock go, or wakes those that wait for it.
    pub(crate) fn lock_released(
        &mut self,
        operation: Operation,
        (host, thread, at): (u32, ThreadIndex, Ns),
        values: &Values,
    ) {
        let Operation::Release { kind, .. } = operation else { return };
        let is_losing = self.running.is_losing_on(host);
        let lock = self.lock_of(kind, values.subject, thread);
        self.locks.lets_go(&lock, (host, thread, at), true, is_losing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadIndex = ThreadIndex(7);

    fn lock(address: u64) -> Lock {
        Lock { process: ProcessIndex(1), kind: LockKind::Mutex, address }
    }

    #[test]
    fn locks_beyond_the_bound_are_counted_and_room_comes_back_with_the_end_of_a_process() {
        let mut locks = Locks::default();
        for address in 0..LOCKS_MAX as u64 + 3 {
            locks.waits(&lock(address), (0, THREAD), false);
        }
        assert_eq!((locks.all().count(), locks.left_out()), (LOCKS_MAX, 3));
        locks.ended(ProcessIndex(1));
        locks.waits(&lock(1), (0, THREAD), false);
        assert_eq!((locks.all().count(), locks.left_out()), (1, 3));
    }

    #[test]
    fn loss_forgets_the_locks_of_its_machine_and_looks_at_no_others() {
        let mut locks = Locks::default();
        let of = |process| Lock { process: ProcessIndex(process), ..lock(1) };
        for (host, process) in [(0, 1), (1, 2)] {
            locks.waits(&of(process), (host, THREAD), false);
        }
        locks.loss(0);
        let is_told = |locks: &Locks, process| locks.of(&of(process)).unwrap().is_told();
        assert_eq!((is_told(&locks, 1), is_told(&locks, 2)), (false, true));
        assert_eq!((locks.told.get(&0), locks.told[&1].len()), (None, 1));
        locks.waits(&of(1), (0, THREAD), false);
        assert!(is_told(&locks, 1));
        // Processes that come and go leave no more behind than the list's least length.
        for process in 3..10_000 {
            locks.waits(&of(process), (1, THREAD), false);
            locks.ended(ProcessIndex(process));
        }
        assert!(locks.told[&1].len() <= 128);
    }

    #[test]
    fn readers_beyond_the_bound_are_counted() {
        let mut locks = Locks::default();
        let lock = Lock { kind: LockKind::Rwlock, ..lock(1) };
        for thread in 1..READERS_MAX as u32 + 3 {
            let (thread, since) = (ThreadIndex(thread), Ns(thread.into()));
            let holding = Holding { thread, since, is_certain: true, is_shared: true };
            locks.got(&lock, (0, holding), false);
        }
        let held = locks.of(&lock).unwrap();
        assert_eq!((held.by().count(), locks.left_out()), (READERS_MAX, 2));
    }
}
