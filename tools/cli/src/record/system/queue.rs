// SPDX-License-Identifier: MIT
//! Which processes are to be looked at, and when; and which are to join.
//!
//! Place in the flow: births come in, what is due goes out to a look. A program that has just begun
//! loads its libraries still, so it is looked at several times. Those that are to join take turns
//! by user, so that a user with many does not keep others waiting.

use crate::record::attach::Target;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// When a program is looked at, after the look before, and the first after its begin.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(5),
];
/// Processes that wait for a look, and for a user's turn.
const WATCHED_MAX: usize = 8192;
const WAITING_MAX: usize = 1024;
/// Of one user's that join in one go.
const OF_USER_MAX: usize = 4;

/// A process that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    pub pid: u32,
    /// When its program began, on the monotonic clock; None: before the session, or it was forked.
    pub exec_ns: Option<u64>,
    /// How often it was looked at.
    pub looks: usize,
    /// It was seen to carry events, before it could join.
    pub carries: bool,
}

impl Watch {
    /// Of a process that is looked at once.
    pub const LAST: usize = PAUSES.len() - 1;

    /// Whether its program may be loading its libraries still.
    pub fn may_start(&self) -> bool {
        self.looks < Self::LAST
    }
}

/// A process that is to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub target: Target,
    /// The number of its user.
    pub user: u32,
    pub exec_ns: Option<u64>,
    /// It is in the session, and joins what is beside it.
    pub is_member: bool,
}

#[derive(Debug, Default)]
pub struct Queue {
    due: BTreeSet<(Instant, u32)>,
    watched: HashMap<u32, (Instant, Watch)>,
    waiting: BTreeMap<u32, VecDeque<Candidate>>,
    /// Of these.
    pids: HashSet<u32>,
    /// The user whose turn was last.
    turn: u32,
    /// Births that had no place.
    pub dropped: u64,
}

impl Queue {
    /// A program has begun in a process.
    pub fn begin(&mut self, pid: u32, exec_ns: Option<u64>, now: Instant) {
        self.watch(Watch { pid, exec_ns, looks: 0, carries: false }, now);
    }

    /// A process is looked at again, unless it was looked at often enough.
    pub fn again(&mut self, watch: Watch, now: Instant) {
        // A program that has begun meanwhile is another one's watch.
        if !self.watched.contains_key(&watch.pid) {
            self.watch(Watch { looks: watch.looks + 1, ..watch }, now);
        }
    }

    fn watch(&mut self, watch: Watch, now: Instant) {
        let Some(pause) = PAUSES.get(watch.looks) else { return };
        if let Some((at, _)) = self.watched.remove(&watch.pid) {
            self.due.remove(&(at, watch.pid));
        }
        if self.watched.len() >= WATCHED_MAX {
            self.dropped += 1;
            return;
        }
        let at = now + *pause;
        self.due.insert((at, watch.pid));
        self.watched.insert(watch.pid, (at, watch));
    }

    pub fn is_watched(&self, pid: u32) -> bool {
        self.watched.contains_key(&pid)
    }

    /// Whether a process waits to join.
    pub fn is_waiting(&self, pid: u32) -> bool {
        self.pids.contains(&pid)
    }

    /// When the next look is due.
    pub fn due_at(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Processes that are to be looked at now, some at most.
    pub fn take_due(&mut self, now: Instant, most: usize) -> Vec<Watch> {
        let mut taken = Vec::new();
        while taken.len() < most && self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, pid)) = self.due.pop_first() else { break };
            taken.extend(self.watched.remove(&pid).map(|(_, watch)| watch));
        }
        taken
    }

    /// A process is to join, which does not wait yet. Return: false where there is no place for it.
    pub fn add(&mut self, candidate: Candidate) -> bool {
        let its = self.waiting.entry(candidate.user).or_default();
        if its.len() >= WAITING_MAX {
            return false;
        }
        self.pids.insert(candidate.target.pid);
        its.push_back(candidate);
        true
    }

    pub fn waiting_count(&self) -> usize {
        self.pids.len()
    }

    /// Some of those that are to join, of the user whose turn it is.
    pub fn take_turn(&mut self) -> Vec<Candidate> {
        let next = self.waiting.range(self.turn.saturating_add(1)..).next();
        let next = next.or_else(|| self.waiting.first_key_value()).map(|(user, _)| *user);
        let Some(user) = next else { return Vec::new() };
        self.turn = user;
        let Some(its) = self.waiting.get_mut(&user) else { return Vec::new() };
        let taken: Vec<Candidate> = its.drain(..its.len().min(OF_USER_MAX)).collect();
        if its.is_empty() {
            self.waiting.remove(&user);
        }
        self.pids.retain(|pid| taken.iter().all(|one| one.target.pid != *pid));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(pid: u32, user: u32) -> Candidate {
        let target = Target { pid, name: "a".into(), is_named: false };
        Candidate { target, user, exec_ns: None, is_member: false }
    }

    #[test]
    fn program_is_looked_at_as_often_as_is_said_and_a_newer_one_in_its_place() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        queue.begin(5, Some(1), now);
        assert!(queue.take_due(now, 9).is_empty() && queue.is_watched(5));
        for looks in 0..PAUSES.len() {
            now = queue.due_at().unwrap();
            let taken = queue.take_due(now, 9);
            assert_eq!(taken, [Watch { pid: 5, exec_ns: Some(1), looks, carries: false }]);
            assert!(queue.due_at().is_none());
            queue.again(taken[0], now);
        }
        assert!(queue.due_at().is_none() && !queue.is_watched(5));
        queue.begin(6, Some(1), now);
        let old = queue.take_due(now + PAUSES[0], 9)[0];
        queue.begin(6, Some(2), now);
        queue.again(old, now);
        let taken = queue.take_due(now + PAUSES[1], 9);
        assert_eq!((taken.len(), taken[0].exec_ns, taken[0].looks), (1, Some(2), 0));
    }

    #[test]
    fn storm_of_programs_takes_bounded_room_and_what_had_none_is_counted() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for pid in 0..WATCHED_MAX as u32 + 10 {
            queue.begin(pid, None, now);
        }
        assert_eq!(queue.dropped, 10);
        queue.begin(3, Some(1), now);
        assert_eq!(queue.dropped, 10, "it has a place already");
        assert_eq!(queue.take_due(now + PAUSES[0], 100).len(), 100);
        for pid in 0..WAITING_MAX as u32 {
            assert!(queue.add(candidate(pid, 1)));
        }
        assert!(!queue.add(candidate(9999, 1)) && queue.add(candidate(1, 2)));
    }

    #[test]
    fn users_take_turns_however_many_one_of_them_has() {
        let mut queue = Queue::default();
        (0..10).for_each(|pid| assert!(queue.add(candidate(pid, 7))));
        (20..22).for_each(|pid| assert!(queue.add(candidate(pid, u32::MAX))));
        assert!(queue.add(candidate(30, 0)));
        assert!(queue.is_waiting(21) && !queue.is_waiting(22));
        let mut turns = Vec::new();
        while queue.waiting_count() > 0 {
            let taken = queue.take_turn();
            turns.push((taken[0].user, taken.len()));
        }
        assert_eq!(turns, [(7, 4), (u32::MAX, 2), (0, 1), (7, 4), (7, 2)]);
        assert!(queue.take_turn().is_empty());
    }
}
