// SPDX-License-Identifier: MIT
//! One event after another in one thread: which threads wait for the second event.
//!
//! Place in the flow: the command tells of each event which parts of the condition it meets, in the
//! order of time. The first event counts by its latest occurrence, for if any earlier one satisfies
//! the condition, the latest does. Threads may end without a word, and numbers of threads may be
//! invented, so the table is bounded: those that have waited too long are forgotten, and what finds
//! no room is counted.

use std::collections::HashMap;
use std::hash::Hash;

/// Threads that wait at the same time.
pub const WAITS_MAX: usize = 1 << 14;

/// Which parts of an order an event meets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    pub is_first: bool,
    pub is_then: bool,
    pub is_without: bool,
}

#[derive(Debug)]
pub struct Order<K> {
    within_ns: u64,
    waits: HashMap<K, i64>,
    /// When those that have waited too long were last looked for.
    swept: i64,
    pub no_room: u64,
    pub forgotten: u64,
}

impl<K: Copy + Eq + Hash> Order<K> {
    pub fn new(within_ns: u64) -> Self {
        Self { within_ns, waits: HashMap::new(), swept: i64::MIN, no_room: 0, forgotten: 0 }
    }

    pub fn waiting(&self) -> usize {
        self.waits.len()
    }

    /// An event of a thread. Return: when the first event was, if the condition is met by this one.
    pub fn event(&mut self, thread: K, at_ns: i64, part: Part) -> Option<i64> {
        let mut met = None;
        if part.is_then {
            let first = self.waits.get(&thread).copied();
            met = first.filter(|first| *first <= at_ns && self.is_near(*first, at_ns));
            if met.is_some() {
                self.waits.remove(&thread);
            }
        }
        if part.is_without {
            self.waits.remove(&thread);
        }
        if part.is_first {
            self.wait(thread, at_ns);
        }
        met
    }

    fn is_near(&self, first: i64, at_ns: i64) -> bool {
        at_ns.abs_diff(first) <= self.within_ns
    }

    fn wait(&mut self, thread: K, at_ns: i64) {
        if self.waits.len() >= WAITS_MAX && !self.waits.contains_key(&thread) {
            // So seldom that a full table costs each event little.
            if at_ns.abs_diff(self.swept) > self.within_ns / 2 {
                self.swept = at_ns;
                let within_ns = self.within_ns;
                self.waits.retain(|_, first| at_ns.abs_diff(*first) <= within_ns);
            }
            if self.waits.len() >= WAITS_MAX {
                self.no_room = self.no_room.saturating_add(1);
                return;
            }
        }
        self.waits.insert(thread, at_ns);
    }

    /// Events were lost: whether one of them came between is not known, so nobody waits any more.
    pub fn forget(&mut self) {
        self.forgotten = self.forgotten.saturating_add(self.waits.len() as u64);
        self.waits.clear();
    }
}
