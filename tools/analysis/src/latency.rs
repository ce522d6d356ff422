// SPDX-License-Identifier: MIT
//! How long things took: entries matched with their exits, thread by thread.
//!
//! Place in the flow: `analyses` enters and leaves; what `leave` gives back carries the entry's
//! values to the analyses of locks and files. Each thread has a stack in which an exit takes the
//! latest entry of its own name, so nesting and recursion match, and pairs of different names may
//! overlap. What is left at the end is still running, or ended with its thread or process.

use serde::Serialize;
use trace::Ns;

use crate::distribution::{Distribution, DistributionReport};
use crate::operation::Values;
use crate::rows::Rows;
use crate::threads::ThreadIndex;

/// Entries open at once in one thread, and in all; beyond, the oldest is forgotten.
const MOST_OPEN: usize = 256;
const MOST_OPEN_IN_ALL: usize = 1 << 20;

/// An entry whose exit has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Open {
    pub pair: u32,
    pub begin: Ns,
    pub values: Values,
}

/// Events of a pair that have no partner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unmatched {
    /// Exits whose entries came before the trace, or were lost.
    pub exits: u64,
    /// Entries whose thread ended, or became another program, inside.
    pub ended: u64,
    /// Entries given up because too many were open.
    pub forgotten: u64,
}

/// A row of the latency table: a pair, or a pair within a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatencyRow {
    /// `None`: all that came after the table was full.
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(flatten)]
    pub duration: DistributionReport,
}

pub(crate) struct Latency {
    stacks: Vec<Vec<Open>>,
    open_count: usize,
    durations: Rows<(u32, u32), Distribution>,
    pub unmatched: Vec<Unmatched>,
}

impl Latency {
    pub fn new(pair_count: usize, row_limit: usize) -> Self {
        Self {
            stacks: Vec::new(),
            open_count: 0,
            durations: Rows::new(row_limit),
            unmatched: vec![Unmatched::default(); pair_count],
        }
    }

    fn unmatched(&mut self, pair: u32) -> Option<&mut Unmatched> {
        self.unmatched.get_mut(pair as usize)
    }

    #[inline]
    pub fn enter(&mut self, thread: ThreadIndex, open: Open) {
        if thread == ThreadIndex::OTHERS {
            // Several threads in one: their entries and exits would match at random.
            if let Some(unmatched) = self.unmatched(open.pair) {
                unmatched.forgotten += 1;
            }
            return;
        }
        let position = thread.0 as usize;
        if self.stacks.len() <= position {
            self.stacks.resize_with(position + 1, Vec::new);
        }
        let Some(stack) = self.stacks.get_mut(position) else { return };
        let no_more = self.open_count >= MOST_OPEN_IN_ALL;
        let forgotten = if stack.len() >= MOST_OPEN || (no_more && !stack.is_empty()) {
            let oldest = stack.remove(0);
            stack.push(open);
            oldest.pair
        } else if no_more {
            open.pair
        } else {
            stack.push(open);
            self.open_count += 1;
            return;
        };
        if let Some(unmatched) = self.unmatched(forgotten) {
            unmatched.forgotten += 1;
        }
    }

    /// The entry that an exit belongs to.
    #[inline]
    pub fn leave(&mut self, thread: ThreadIndex, pair: u32) -> Option<Open> {
        let stack = self.stacks.get_mut(thread.0 as usize);
        let found = stack.and_then(|stack| {
            let position = stack.iter().rposition(|open| open.pair == pair)?;
            Some(stack.remove(position))
        });
        match found {
            Some(_) => self.open_count = self.open_count.saturating_sub(1),
            None => {
                if let Some(unmatched) = self.unmatched(pair) {
                    unmatched.exits += 1;
                }
            }
        }
        found
    }

    #[inline]
    pub fn record(&mut self, pair: u32, group: u32, duration_ns: u64) {
        self.durations.row((pair, group)).record(duration_ns);
    }

    /// The thread is over: nothing it is in will be left.
    pub fn thread_ended(&mut self, thread: ThreadIndex) {
        let Some(stack) = self.stacks.get_mut(thread.0 as usize) else { return };
        let open = std::mem::take(stack);
        self.open_count = self.open_count.saturating_sub(open.len());
        for open in open {
            if let Some(unmatched) = self.unmatched(open.pair) {
                unmatched.ended += 1;
            }
        }
    }

    /// Every entry without an exit, oldest first.
    pub fn still_open(&self) -> Vec<(ThreadIndex, Open)> {
        let threads = self.stacks.iter().enumerate();
        let mut open: Vec<(ThreadIndex, Open)> = threads
            .flat_map(|(index, stack)| {
                stack.iter().map(move |open| (ThreadIndex(index as u32), *open))
            })
            .collect();
        open.sort_by_key(|(thread, open)| (open.begin, thread.0));
        open
    }

    /// Rows in order of total time. `name` and `group` say what to call pairs and groups.
    pub fn finish(
        &self,
        name: impl Fn(u32) -> String,
        group: impl Fn(u32) -> Option<String>,
    ) -> Vec<LatencyRow> {
        let rows = self.durations.iter().filter(|(_, durations)| durations.count() > 0);
        let mut rows: Vec<LatencyRow> = rows
            .map(|(key, durations)| LatencyRow {
                name: key.map(|(pair, _)| name(pair)),
                group: key.and_then(|(_, index)| group(index)),
                duration: durations.report(),
            })
            .collect();
        rows.sort_by(|a, b| {
            let total = b.duration.total_ns.cmp(&a.duration.total_ns);
            total.then_with(|| (&a.name, &a.group).cmp(&(&b.name, &b.group)))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 0;
    const B: u32 = 1;

    fn open(pair: u32, begin: i64) -> Open {
        Open { pair, begin: Ns(begin), values: Values::default() }
    }

    fn begin(open: Option<Open>) -> Option<i64> {
        open.map(|open| open.begin.0)
    }

    #[test]
    fn recursion_matches_inside_out_and_threads_do_not_mix() {
        let mut latency = Latency::new(2, 9);
        let (one, two) = (ThreadIndex(1), ThreadIndex(2));
        latency.enter(one, open(A, 10));
        latency.enter(two, open(A, 11));
        latency.enter(one, open(A, 12));
        assert_eq!(begin(latency.leave(one, A)), Some(12));
        assert_eq!(begin(latency.leave(one, A)), Some(10));
        assert_eq!(begin(latency.leave(two, A)), Some(11));
        assert_eq!(latency.leave(two, A), None);
        assert_eq!(latency.unmatched[0], Unmatched { exits: 1, ..Unmatched::default() });
    }

    #[test]
    fn pairs_of_different_names_may_overlap() {
        let mut latency = Latency::new(2, 9);
        let thread = ThreadIndex(1);
        latency.enter(thread, open(A, 1));
        latency.enter(thread, open(B, 2));
        assert_eq!(begin(latency.leave(thread, A)), Some(1));
        assert_eq!(begin(latency.leave(thread, B)), Some(2));
        assert!(latency.still_open().is_empty());
    }

    #[test]
    fn what_is_open_at_the_end_is_told_oldest_first_unless_its_thread_ended() {
        let mut latency = Latency::new(2, 9);
        latency.enter(ThreadIndex(2), open(A, 5));
        latency.enter(ThreadIndex(1), open(B, 3));
        latency.enter(ThreadIndex(3), open(B, 1));
        latency.thread_ended(ThreadIndex(3));
        let left: Vec<_> = latency.still_open().iter().map(|(t, o)| (t.0, o.begin.0)).collect();
        assert_eq!(left, [(1, 3), (2, 5)]);
        assert_eq!(latency.unmatched[1].ended, 1);
    }

    #[test]
    fn entries_without_exits_do_not_grow_without_bound() {
        let mut latency = Latency::new(1, 9);
        for at in 0..1000 {
            latency.enter(ThreadIndex(1), open(A, at));
        }
        assert_eq!(latency.still_open().len(), MOST_OPEN);
        assert_eq!(latency.unmatched[0].forgotten, 1000 - MOST_OPEN as u64);
        assert_eq!(begin(latency.leave(ThreadIndex(1), A)), Some(999));
    }

    #[test]
    fn rows_are_in_order_of_total_time() {
        let mut latency = Latency::new(2, 1);
        latency.record(A, 0, 5);
        latency.record(B, 0, 7);
        latency.record(B, 0, 8);
        let rows = latency.finish(|pair| format!("pair{pair}"), |_| None);
        let found: Vec<_> = rows.iter().map(|r| (r.name.as_deref(), r.duration.total_ns)).collect();
        assert_eq!(found, [(None, 15), (Some("pair0"), 5)]);
    }
}
