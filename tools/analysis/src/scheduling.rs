// SPDX-License-Identifier: MIT
//! Where the time of each thread went: on a CPU, waiting for one, or off, and why.
//!
//! Place in the flow: `analyses` hands over the scheduler's events. A thread waits for a CPU from
//! the wake-up, or from the moment at which another one took its place, to the moment at which it
//! runs; it is off from the moment at which it gave its CPU up itself to the wake-up. Why it is off
//! is the call that it was in then, as far as the trace has its entry, and the kernel's word for
//! the wait.

use std::cmp::Reverse;

use serde::Serialize;
use state::{OpenCall, PairIndex, ShortName};
use trace::{Event, EventClass, Ns, Trace, Value};

use crate::rows::{RowIndex, Rows};

/// Bits of a thread's state when it stops running that say why; without one it could go on.
const WHY_MASK: i64 = 0xff;
const UNINTERRUPTIBLE: i64 = 2;
const STOPPED: i64 = 4 | 8;
const DEAD: i64 = 0x10 | 0x20;
/// Reasons told apart for each thread.
const REASONS: usize = 16;

/// What an event class says, with the positions of its fields.
#[derive(Debug, Clone, Copy)]
enum Role {
    Switch { prev: usize, state: usize, next: usize, name: usize },
    Wakeup { tid: usize, name: usize },
}

/// How the kernel calls a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OffKind {
    /// A signal ends it, too.
    Sleep,
    /// Nothing but what it waits for ends it: most often a disk.
    Uninterruptible,
    /// By a signal or a debugger.
    Stopped,
    Other,
}

/// Where a thread is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Unknown,
    Running(Ns),
    Waiting(Ns),
    Off(Ns, (Option<PairIndex>, OffKind)),
}

#[derive(Debug, Default)]
struct Account {
    name: ShortName,
    place: Place,
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
    roles: Vec<Vec<Option<Role>>>,
    accounts: Rows<(usize, i64), Account>,
}

impl Scheduling {
    pub fn new(traces: &[Trace], limit: usize) -> Self {
        let roles = traces.iter().map(|trace| {
            let mut roles = Vec::new();
            for class in trace.event_classes() {
                if roles.len() <= class.index {
                    roles.resize(class.index + 1, None);
                }
                roles[class.index] = role(class);
            }
            roles
        });
        Self { roles: roles.collect(), accounts: Rows::new(limit) }
    }

    /// Takes an event. `open`: the call that its thread is in.
    pub fn event(&mut self, event: &Event<'_>, open: impl FnOnce() -> Option<OpenCall>) {
        let roles = self.roles.get(event.trace_index());
        let Some(role) = roles.and_then(|roles| *roles.get(event.class().index)?) else { return };
        let number = |field| event.value(field).and_then(|value| value.as_i64());
        let name = |field| match event.value(field) {
            Some(Value::Text(bytes)) => ShortName::new(bytes),
            _ => ShortName::default(),
        };
        let (at, trace) = (event.time_ns(), event.trace_index());
        match role {
            Role::Wakeup { tid, name: text } => {
                if let Some(account) = number(tid).and_then(|tid| self.account(trace, tid)) {
                    account.name = name(text);
                    account.woken(at);
                }
            }
            Role::Switch { prev, state, next, name: text } => {
                let why = kind(number(state).unwrap_or(0)).map(|kind| {
                    (kind.is_some(), (open().map(|call| call.pair), kind.unwrap_or(OffKind::Other)))
                });
                if let Some(account) = number(prev).and_then(|tid| self.account(trace, tid)) {
                    account.stops(at, why);
                }
                if let Some(account) = number(next).and_then(|tid| self.account(trace, tid)) {
                    account.name = name(text);
                    account.runs(at);
                }
            }
        }
    }

    /// None for idle threads, and where there is no space.
    fn account(&mut self, trace: usize, tid: i64) -> Option<&mut Account> {
        if tid == 0 {
            return None;
        }
        match self.accounts.index((trace, tid)) {
            RowIndex::OTHERS => None,
            index => Some(self.accounts.at(index)),
        }
    }

    /// Threads in order of the time that they waited for a CPU or were on one. `end`: of the trace,
    /// until which a thread goes on as the last event about it left it.
    pub fn finish(&self, end: Ns, pair: impl Fn(PairIndex) -> String) -> Vec<SchedulingRow> {
        let known = self.accounts.iter().filter_map(|(key, account)| Some((key?.1, account)));
        let mut rows: Vec<SchedulingRow> = known
            .filter(|(_, account)| account.place != Place::Unknown)
            .map(|(tid, account)| account.row(tid, end, &pair))
            .collect();
        rows.sort_by_key(|row| (Reverse(row.on_cpu_ns.saturating_add(row.wait_ns)), row.tid));
        rows
    }
}

impl Account {
    fn woken(&mut self, at: Ns) {
        match self.place {
            Place::Off(since, why) => self.was_off(since, at, why),
            // It had not stopped yet, or wakes up for the second time.
            Place::Running(_) | Place::Waiting(_) => return,
            Place::Unknown => {}
        }
        self.place = Place::Waiting(at);
    }

    fn runs(&mut self, at: Ns) {
        match self.place {
            Place::Waiting(since) => self.waited(since, at),
            // Its wake-up is not in the trace.
            Place::Off(since, why) => self.was_off(since, at, why),
            Place::Running(_) | Place::Unknown => {}
        }
        self.place = Place::Running(at);
    }

    fn waited(&mut self, since: Ns, until: Ns) {
        let ns = between(since, until);
        self.waits += 1;
        self.wait_ns = self.wait_ns.saturating_add(ns);
        self.longest_wait_ns = self.longest_wait_ns.max(ns);
    }

    /// `why`: None where it could go on.
    fn stops(&mut self, at: Ns, why: Option<(bool, (Option<PairIndex>, OffKind))>) {
        if let Place::Running(since) = self.place {
            self.on_cpu_ns = self.on_cpu_ns.saturating_add(between(since, at));
        }
        self.place = match why {
            None => Place::Waiting(at),
            Some((true, why)) => Place::Off(at, why),
            // It is over.
            Some((false, _)) => Place::Off(Ns(i64::MAX), (None, OffKind::Other)),
        };
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

    fn row(&self, tid: i64, end: Ns, pair: impl Fn(PairIndex) -> String) -> SchedulingRow {
        let mut whole = Self {
            off: self.off.clone(),
            waits: self.waits,
            wait_ns: self.wait_ns,
            longest_wait_ns: self.longest_wait_ns,
            ..Self::default()
        };
        let mut on_cpu_ns = self.on_cpu_ns;
        match self.place {
            Place::Running(since) => on_cpu_ns = on_cpu_ns.saturating_add(between(since, end)),
            Place::Waiting(since) => whole.waited(since, end),
            Place::Off(since, why) if since <= end => whole.was_off(since, end, why),
            _ => {}
        }
        let mut off: Vec<OffRow> = whole
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
            thread: format!("{}[{tid}]", self.name.text()),
            tid,
            on_cpu_ns,
            waits: whole.waits,
            wait_ns: whole.wait_ns,
            max_wait_ns: whole.longest_wait_ns,
            off_ns: off.iter().fold(0, |sum, row| sum.saturating_add(row.off_ns)),
            off,
        }
    }
}

fn between(since: Ns, until: Ns) -> u64 {
    u64::try_from(until.0.saturating_sub(since.0)).unwrap_or(0)
}

/// Why a thread stops in this state: None where it could go on, Some(None) where it is over.
fn kind(state: i64) -> Option<Option<OffKind>> {
    match state & WHY_MASK {
        0 => None,
        why if why & DEAD != 0 => Some(None),
        why if why & STOPPED != 0 => Some(Some(OffKind::Stopped)),
        why if why & UNINTERRUPTIBLE != 0 => Some(Some(OffKind::Uninterruptible)),
        1 => Some(Some(OffKind::Sleep)),
        _ => Some(Some(OffKind::Other)),
    }
}

fn role(class: &EventClass) -> Option<Role> {
    let field = |name| class.field_index(name);
    match &*class.name {
        "sched:sched_switch" => Some(Role::Switch {
            prev: field("prev_pid")?,
            state: field("prev_state")?,
            next: field("next_pid")?,
            name: field("next_comm")?,
        }),
        "sched:sched_wakeup" | "sched:sched_wakeup_new" => {
            Some(Role::Wakeup { tid: field("pid")?, name: field("comm")? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: PairIndex = PairIndex(3);

    #[test]
    fn time_of_a_thread_is_on_a_cpu_waiting_for_one_or_off() {
        let mut account = Account::default();
        account.woken(Ns(10));
        account.runs(Ns(13)); // waited 3
        account.stops(Ns(20), None); // ran 7, and another one took its place
        account.runs(Ns(24)); // waited 4
        account.woken(Ns(25)); // before it slept
        account.stops(Ns(30), Some((true, (Some(READ), OffKind::Sleep)))); // ran 6
        account.woken(Ns(130)); // off 100
        account.runs(Ns(131)); // waited 1
        account.stops(Ns(132), Some((true, (None, OffKind::Uninterruptible)))); // ran 1
        account.runs(Ns(142)); // off 10, the wake-up was lost
        let row = account.row(7, Ns(150), |pair| format!("pair{}", pair.0)); // runs for 8
        assert_eq!((row.on_cpu_ns, row.waits, row.wait_ns, row.max_wait_ns), (22, 3, 8, 4));
        let off: Vec<_> = row.off.iter().map(|o| (o.call.as_deref(), o.kind, o.off_ns)).collect();
        let expected = [(Some("pair3"), OffKind::Sleep, 100), (None, OffKind::Uninterruptible, 10)];
        assert_eq!((row.off_ns, off), (110, expected.to_vec()));
    }

    #[test]
    fn thread_that_sleeps_at_the_end_is_off_until_then_and_one_that_is_over_is_not() {
        let row_after = |why| {
            let mut account = Account::default();
            account.runs(Ns(0));
            account.stops(Ns(5), Some(why));
            account.row(7, Ns(50), |_| String::new())
        };
        assert_eq!(row_after((true, (None, OffKind::Sleep))).off_ns, 45);
        let over = row_after((false, (None, OffKind::Other)));
        assert_eq!((over.off_ns, over.on_cpu_ns), (0, 5));
    }

    #[test]
    fn states_are_the_kernels_and_a_thread_that_was_preempted_could_go_on() {
        assert_eq!((kind(0), kind(0x100), kind(0x20)), (None, None, Some(None)));
        assert_eq!(kind(1), Some(Some(OffKind::Sleep)));
        assert_eq!(kind(2 | 0x80), Some(Some(OffKind::Uninterruptible)));
        assert_eq!(
            (kind(4), kind(0x40)),
            (Some(Some(OffKind::Stopped)), Some(Some(OffKind::Other)))
        );
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
