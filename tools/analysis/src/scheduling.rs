// SPDX-License-Identifier: MIT
//! Where the time of each thread went: on a CPU, waiting for one, or off, and why.
//!
//! Place in the flow: `state` follows the scheduler's events and says which threads they moved from
//! place to place; `analyses` hands that over. A thread waits for a CPU from the wake-up, or from
//! the moment at which another one took its place, to the moment at which it runs; it is off from
//! the moment at which it gave its CPU up itself to the wake-up. Why it is off is the call that it
//! was in then, as far as the trace has its entry, and the kernel's word for the wait. Time in
//! which it is not known where a thread is, after a loss, is none of these.

use std::cmp::Reverse;

use serde::Serialize;
use state::{Move, OffKind, PairIndex, Place, State, Stay, ThreadIndex};
use trace::Ns;

use crate::rows::Rows;

/// Reasons told apart for each thread.
const REASONS: usize = 16;

#[derive(Debug, Default)]
struct Account {
    on_cpu_ns: u64,
    waits: u64,
    wait_ns: u64,
    longest_wait_ns: u64,
    off: Vec<Off>,
}

#[derive(Debug, Clone, Copy)]
struct Off {
    why: (Option<PairIndex>, OffKind),
    count: u64,
    ns: u64,
}

/// One thread's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchedulingRow {
    pub thread: String,
    pub tid: i64,
    pub on_cpu_ns: u64,
    /// How often it waited for a CPU, and how long.
    pub waits: u64,
    pub wait_ns: u64,
    pub max_wait_ns: u64,
    pub off_ns: u64,
    /// The longest in total first.
    pub off: Vec<OffRow>,
}

/// Why a thread was off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OffRow {
    /// The call that it was in. `None`: in none that the trace tells of.
    pub call: Option<String>,
    pub kind: OffKind,
    pub count: u64,
    pub off_ns: u64,
}

pub(crate) struct Scheduling {
    accounts: Rows<ThreadIndex, Account>,
    /// Nothing before counts.
    from: Ns,
}

impl Scheduling {
    pub fn new(limit: usize, from: Option<Ns>) -> Self {
        Self { accounts: Rows::new(limit), from: from.unwrap_or(Ns(i64::MIN)) }
    }

    /// Takes over where threads have been until now.
    pub fn moves(&mut self, state: &State) {
        for Move { thread, was } in state.moves() {
            let until = state.stay(*thread).since;
            let was = Stay { since: was.since.max(self.from), ..*was };
            self.accounts.row(*thread).stayed(was, until);
        }
    }

    /// How long each thread that moved was on a CPU and waited for one until `end`, and each that
    /// has been on its CPU all the time.
    pub fn times(&self, state: &State, end: Ns) -> Vec<(ThreadIndex, u64, u64)> {
        let times = |thread: ThreadIndex, account: Option<&Account>| {
            let mut whole = account.map_or_else(Account::default, Account::copy);
            let stay = state.stay(thread);
            whole.stayed(Stay { since: stay.since.max(self.from), ..stay }, end);
            (thread, whole.on_cpu_ns, whole.wait_ns)
        };
        let moved = self.accounts.iter().filter_map(|(thread, account)| Some((thread?, account)));
        let moved = moved.map(|(thread, account)| times(thread, Some(account)));
        let stayed = state.processors().map(|(.., thread)| thread);
        let stayed = stayed.filter(|thread| self.accounts.get(thread).is_none());
        moved.chain(stayed.map(|thread| times(thread, None))).collect()
    }

    /// Threads that are asked for, in order of the time that they waited for a CPU or were on one.
    /// `end`: of the trace, until which a thread stays where the last event about it left it.
    pub fn finish(
        &self,
        state: &State,
        end: Ns,
        is_asked: impl Fn(ThreadIndex) -> bool,
        pair: impl Fn(PairIndex) -> String,
    ) -> Vec<SchedulingRow> {
        let known = self.accounts.iter().filter_map(|(thread, account)| Some((thread?, account)));
        let known =
            known.filter(|(thread, _)| is_asked(*thread)).filter_map(|(thread, account)| {
                let mut whole = account.copy();
                let stay = state.stay(thread);
                whole.stayed(Stay { since: stay.since.max(self.from), ..stay }, end);
                let is_known = stay.place != Place::Unknown || whole.has_any();
                let tid = state.threads().tid(thread).filter(|_| is_known)?;
                Some(whole.row(state.threads().label(thread), tid, &pair))
            });
        let mut rows: Vec<SchedulingRow> = known.collect();
        rows.sort_by_key(|row| (Reverse(row.on_cpu_ns.saturating_add(row.wait_ns)), row.tid));
        rows
    }
}

impl Account {
    fn stayed(&mut self, was: Stay, until: Ns) {
        let Stay { place, since, call } = was;
        match place {
            Place::Running(_) => {
                self.on_cpu_ns = self.on_cpu_ns.saturating_add(between(since, until));
            }
            Place::Waiting => self.waited(since, until),
            Place::Off(kind) if since <= until => self.was_off(since, until, (call, kind)),
            Place::Off(_) | Place::Over | Place::Unknown => {}
        }
    }

    fn has_any(&self) -> bool {
        self.on_cpu_ns > 0 || self.waits > 0 || !self.off.is_empty()
    }

    fn copy(&self) -> Self {
        Self { off: self.off.clone(), ..*self }
    }

    fn waited(&mut self, since: Ns, until: Ns) {
        let ns = between(since, until);
        self.waits += 1;
        self.wait_ns = self.wait_ns.saturating_add(ns);
        self.longest_wait_ns = self.longest_wait_ns.max(ns);
    }

    fn was_off(&mut self, since: Ns, until: Ns, why: (Option<PairIndex>, OffKind)) {
        let ns = between(since, until);
        let known = self.off.iter().position(|off| off.why == why);
        if known.is_none() && self.off.len() < REASONS {
            self.off.push(Off { why, count: 1, ns });
            return;
        }
        // The last stands for all further ones.
        let Some(off) = self.off.get_mut(known.unwrap_or(REASONS - 1)) else { return };
        if known.is_none() {
            off.why = (None, OffKind::Other);
        }
        off.count += 1;
        off.ns = off.ns.saturating_add(ns);
    }

    fn row(&self, thread: String, tid: i64, pair: impl Fn(PairIndex) -> String) -> SchedulingRow {
        let mut off: Vec<OffRow> = self
            .off
            .iter()
            .map(|Off { why: (call, kind), count, ns }| OffRow {
                call: call.map(&pair),
                kind: *kind,
                count: *count,
                off_ns: *ns,
            })
            .collect();
        off.sort_by(|a, b| (b.off_ns, &a.call, a.kind).cmp(&(a.off_ns, &b.call, b.kind)));
        SchedulingRow {
            thread,
            tid,
            on_cpu_ns: self.on_cpu_ns,
            waits: self.waits,
            wait_ns: self.wait_ns,
            max_wait_ns: self.longest_wait_ns,
            off_ns: off.iter().fold(0, |sum, row| sum.saturating_add(row.off_ns)),
            off,
        }
    }
}

fn between(since: Ns, until: Ns) -> u64 {
    u64::try_from(until.0.saturating_sub(since.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::CpuId;

    const READ: PairIndex = PairIndex(3);

    #[test]
    fn time_of_a_thread_is_on_a_cpu_waiting_for_one_or_off() {
        let mut account = Account::default();
        let mut stayed = |place, since, until, call| {
            account.stayed(Stay { place, since: Ns(since), call }, Ns(until));
        };
        let (running, sleeps) = (Place::Running(CpuId(0)), Place::Off(OffKind::Sleep));
        stayed(Place::Waiting, 10, 13, None);
        stayed(running, 13, 20, None);
        stayed(Place::Waiting, 20, 24, None);
        stayed(running, 24, 30, None);
        stayed(sleeps, 30, 130, Some(READ));
        stayed(Place::Unknown, 130, 140, None);
        stayed(Place::Off(OffKind::Uninterruptible), 140, 150, None);
        stayed(Place::Over, 150, 190, None);
        let row = account.row("a[7]".into(), 7, |pair| format!("pair{}", pair.0));
        assert_eq!((row.on_cpu_ns, row.waits, row.wait_ns, row.max_wait_ns), (13, 2, 7, 4));
        let off: Vec<_> = row.off.iter().map(|o| (o.call.as_deref(), o.kind, o.off_ns)).collect();
        let expected = [(Some("pair3"), OffKind::Sleep, 100), (None, OffKind::Uninterruptible, 10)];
        assert_eq!((row.off_ns, off), (110, expected.to_vec()));
    }

    #[test]
    fn further_reasons_of_a_thread_share_the_last_row() {
        let mut account = Account::default();
        for number in 0..100 {
            account.was_off(Ns(0), Ns(1), (Some(PairIndex(number)), OffKind::Sleep));
        }
        assert_eq!(account.off.len(), REASONS);
        assert_eq!(account.off.iter().map(|off| off.count).sum::<u64>(), 100);
    }
}
