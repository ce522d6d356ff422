// SPDX-License-Identifier: MIT
//! Which threads waited for which lock, and for how long.
//!
//! Place in the flow: `analyses` hands over each finished wait. A lock is its process and its
//! address; a program may put another lock in the same place later, which no event tells.

use std::cmp::Reverse;

use serde::Serialize;
use state::{LockKind, ProcessIndex, Texts, ThreadIndex, Threads};

use crate::distribution::{Distribution, DistributionReport};
use crate::rows::Rows;

/// Waiting threads told apart for each lock.
const WAITERS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Lock {
    process: ProcessIndex,
    kind: LockKind,
    address: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiter {
    thread: ThreadIndex,
    waits: u64,
    wait_ns: u64,
}

#[derive(Debug, Default)]
struct Waits {
    durations: Distribution<2>,
    waiters: Vec<Waiter>,
    /// Waits of threads beyond [`WAITERS`].
    others: u64,
    /// The variable that the lock was at its first wait, if it was one.
    name: Option<Option<String>>,
}

/// A lock that was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockRow {
    /// `None`: all locks that came after the table was full.
    pub kind: Option<LockKind>,
    /// The variable that it is; `None`: it was allocated, or the program's file has no names.
    pub name: Option<String>,
    /// Hexadecimal; a JSON number would lose digits.
    pub address: Option<String>,
    pub pid: Option<i64>,
    pub process: Option<String>,
    pub wait: DistributionReport,
    /// The threads that waited, the longest in total first.
    pub threads: Vec<WaiterRow>,
    /// Waits of threads that are not listed.
    pub waits_of_others: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaiterRow {
    pub thread: String,
    pub tid: Option<i64>,
    pub waits: u64,
    pub wait_ns: u64,
}

/// A finished wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub kind: LockKind,
    pub address: u64,
    pub process: ProcessIndex,
    pub thread: ThreadIndex,
    pub duration_ns: u64,
}

pub(crate) struct Locks {
    locks: Rows<Lock, Waits>,
}

impl Locks {
    pub fn new(limit: usize) -> Self {
        Self { locks: Rows::new(limit) }
    }

    /// `variable` finds the name of a lock.
    pub fn event(&mut self, wait: Wait, variable: impl FnOnce() -> Option<String>) {
        let Wait { kind, address, process, thread, duration_ns } = wait;
        let waits = self.locks.row(Lock { process, kind, address });
        waits.durations.record(duration_ns);
        waits.name.get_or_insert_with(variable);
        let has_space = waits.waiters.len() < WAITERS;
        let known = waits.waiters.iter_mut().find(|waiter| waiter.thread == thread);
        match known {
            Some(waiter) => {
                waiter.waits += 1;
                waiter.wait_ns = waiter.wait_ns.saturating_add(duration_ns);
            }
            None if has_space => {
                waits.waiters.push(Waiter { thread, waits: 1, wait_ns: duration_ns });
            }
            None => waits.others += 1,
        }
    }

    /// Locks in order of total wait.
    pub fn finish(&self, threads: &Threads, texts: &Texts) -> Vec<LockRow> {
        let waited = self.locks.iter().filter(|(_, waits)| waits.durations.count() > 0);
        let mut rows: Vec<LockRow> = waited
            .map(|(lock, waits)| {
                let mut waiters = waits.waiters.clone();
                waiters.sort_by_key(|waiter| (Reverse(waiter.wait_ns), waiter.thread));
                let waiter = |waiter: &Waiter| WaiterRow {
                    thread: threads.label(waiter.thread),
                    tid: threads.tid(waiter.thread),
                    waits: waiter.waits,
                    wait_ns: waiter.wait_ns,
                };
                LockRow {
                    kind: lock.map(|lock| lock.kind),
                    name: lock.and_then(|_| waits.name.clone().flatten()),
                    address: lock.map(|lock| format!("{:#x}", lock.address)),
                    pid: lock.and_then(|lock| threads.pid(lock.process)),
                    process: lock.map(|lock| threads.process_label(lock.process, texts)),
                    wait: waits.durations.report(),
                    threads: waiters.iter().map(waiter).collect(),
                    waits_of_others: waits.others,
                }
            })
            .collect();
        rows.sort_by(|a, b| {
            let total = b.wait.total_ns.cmp(&a.wait.total_ns);
            total.then_with(|| (a.pid, &a.address).cmp(&(b.pid, &b.address)))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state::ThreadKey;

    #[test]
    fn waits_add_up_by_process_and_address_with_the_longest_waiters_first() {
        let mut threads = Threads::new(9);
        let thread = |threads: &mut Threads, pid, tid| {
            threads.index(ThreadKey::Named { host: 0, pid, tid }, None)
        };
        let one = thread(&mut threads, 1, 1);
        let two = thread(&mut threads, 1, 2);
        let other = thread(&mut threads, 7, 7);
        let mut locks = Locks::new(9);
        for (thread, address, duration_ns) in
            [(one, 0xa0, 10), (two, 0xa0, 30), (one, 0xa0, 5), (other, 0xa0, 100), (one, 0xb0, 1)]
        {
            let (kind, process) = (LockKind::Mutex, threads.process_of(thread));
            let variable = || (address == 0xb0).then(|| "jobs".to_string());
            locks.event(Wait { kind, address, process, thread, duration_ns }, variable);
        }
        let rows = locks.finish(&threads, &Texts::new(1));
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.pid.unwrap(), row.address.clone().unwrap(), row.wait.total_ns))
            .collect();
        let wanted = [(7, "0xa0", 100), (1, "0xa0", 45), (1, "0xb0", 1)];
        assert_eq!(found, wanted.map(|(pid, address, ns)| (pid, address.to_string(), ns)));
        let names: Vec<_> = rows.iter().map(|row| row.name.as_deref()).collect();
        assert_eq!(names, [None, None, Some("jobs")]);
        let waiters: Vec<_> = rows[1].threads.iter().map(|w| (w.tid, w.waits, w.wait_ns)).collect();
        assert_eq!(waiters, [(Some(2), 1, 30), (Some(1), 2, 15)]);
    }

    #[test]
    fn locks_and_waiters_past_their_limits_are_counted_together() {
        let mut locks = Locks::new(1);
        let mut wait = Wait {
            kind: LockKind::Cond,
            address: 1,
            process: ProcessIndex(1),
            thread: ThreadIndex(0),
            duration_ns: 1,
        };
        for thread in 0..WAITERS as u32 + 5 {
            wait.thread = ThreadIndex(thread);
            locks.event(wait, || None);
        }
        wait.address = 2;
        locks.event(wait, || Some("one".into()));
        let rows = locks.finish(&Threads::new(1), &Texts::new(1));
        assert_eq!((rows[0].threads.len(), rows[0].waits_of_others), (WAITERS, 5));
        assert_eq!((rows[1].kind, &rows[1].name, rows[1].wait.count), (None, &None, 1));
    }
}
