// SPDX-License-Identifier: MIT
//! What there is to show of a trace that is being written.
//!
//! Place in the flow: `live` counts while it reads; here the counts since the last picture become
//! rates, threads add up to processes, and all become rows. Names are those of the latest moment.

use serde::Serialize;
use state::{State, ThreadKey, Threads};

use super::{Live, Longest, Names, Reader, Tally, Task, Work, THREADS_MAX};
use crate::distribution::DistributionReport;
use crate::rows::{RowIndex, Rows};
use crate::scheduling::Scheduling;

/// Rates are those of the time since the last picture; counts are of all that was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Picture {
    /// Time of the trace that was read for it.
    pub covered_ns: u64,
    /// Events in that time.
    pub events: u64,
    pub events_per_s: f64,
    /// Events that came into the trace so late that they are in no picture.
    pub late_events: u64,
    /// Calls whose duration is not known, because events were lost or passed over during them.
    pub unmeasured_calls: u64,
    /// Places in the trace that could not be read.
    pub problems: u64,
    /// Whether the scheduler's events tell what threads ran.
    pub tells_cpu: bool,
    pub processes: Vec<TaskRow>,
    pub threads: Vec<TaskRow>,
    pub by_event: Vec<LiveEventRow>,
    pub calls: Vec<CallRow>,
    pub locks: Vec<WaitRow>,
}

/// A process or a thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskRow {
    pub name: String,
    pub pid: Option<i64>,
    /// Of a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<i64>,
    pub events_per_s: f64,
    pub bytes_per_s: f64,
    pub events: u64,
    pub calls_per_s: f64,
    /// The longest call that it finished.
    pub slowest: Option<Slowest>,
    pub waits: u64,
    /// In which part of the time it waited for locks; of a process, of all its threads together.
    pub wait_share: f64,
    pub wait_ns: u64,
    /// In which part of the time it was on a CPU, or waited for one. `None`: nothing tells.
    pub cpu_share: Option<f64>,
    pub ready_share: Option<f64>,
    pub on_cpu_ns: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Slowest {
    pub call: String,
    pub ns: u64,
}

/// The events of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveEventRow {
    pub name: String,
    pub events_per_s: f64,
    pub bytes_per_s: f64,
    pub events: u64,
    pub share: f64,
}

/// Calls of a pair of events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRow {
    pub name: String,
    pub calls_per_s: f64,
    pub failures: u64,
    #[serde(flatten)]
    pub duration: DistributionReport,
    /// The thread that had the longest.
    pub slowest_in: String,
}

/// Waits for a lock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitRow {
    /// Of the lock: its kind and address.
    pub name: String,
    pub pid: Option<i64>,
    pub process: String,
    pub waits_per_s: f64,
    /// How many threads waited for it at a time.
    pub waiting: f64,
    #[serde(flatten)]
    pub wait: DistributionReport,
    /// The thread that waited longest.
    pub longest_in: String,
}

/// A count as a rate.
fn per_s(count: u64, covered_ns: u64) -> f64 {
    share(count, covered_ns) * 1e9
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

impl Live {
    /// What there is to show. The next picture's rates are of the time from here on.
    pub fn picture(&mut self) -> Picture {
        let covered_ns = std::mem::take(&mut self.covered_ns);
        let tells_cpu = self.note_times();
        self.note_names();
        self.add_up();
        let read = std::mem::take(&mut self.read);
        let names = &self.names;
        let events = self.events.iter().filter(|(_, tally)| tally.now.count + tally.all.count > 0);
        let by_event = events.map(|(name, tally)| LiveEventRow {
            name: names.text(name),
            events_per_s: per_s(tally.now.count, covered_ns),
            bytes_per_s: per_s(tally.now.bits.div_ceil(8), covered_ns),
            events: tally.all.count.saturating_add(tally.now.count),
            share: share(tally.now.count, read),
        });
        let picture = Picture {
            covered_ns,
            events: read,
            events_per_s: per_s(read, covered_ns),
            late_events: self.late,
            unmeasured_calls: self.unmeasured,
            problems: self.problems,
            tells_cpu,
            by_event: by_event.collect(),
            processes: task_rows(&self.processes, names, (covered_ns, tells_cpu), |_| None),
            threads: task_rows(&self.threads, names, (covered_ns, tells_cpu), tid),
            calls: self.call_rows(covered_ns),
            locks: self.lock_rows(covered_ns),
        };
        self.turn();
        picture
    }

    /// Forgets all counts; rates and what is known of threads go on.
    pub fn clear(&mut self) {
        let Self { reader, names, reached, covered_ns, broken, .. } = std::mem::take(self);
        let from = reached;
        *self = Self { reader, names, reached, covered_ns, broken, ..Self::new() };
        self.scheduling = Scheduling::new(THREADS_MAX, from);
    }

    /// Adds how long threads ran since the last picture, if anything tells. Return: whether.
    fn note_times(&mut self) -> bool {
        let (Some(Reader { state, .. }), Some(end)) = (&self.reader, self.reached) else {
            return false;
        };
        let mut tells = false;
        for (thread, on_cpu_ns, ready_ns) in self.scheduling.times(state, end) {
            let known = state.threads().threads().get(thread.0 as usize);
            let Some(key) = known.and_then(|thread| thread.key) else { continue };
            tells = true;
            if matches!(key, ThreadKey::Idle { .. }) {
                continue;
            }
            let work = &mut self.threads.row(key).work.now;
            work.on_cpu_ns = work.on_cpu_ns.saturating_add(on_cpu_ns);
            work.ready_ns = work.ready_ns.saturating_add(ready_ns);
        }
        self.scheduling = Scheduling::new(THREADS_MAX, Some(end));
        tells
    }

    /// What threads are called, and of which process they are, as far as the state knows it.
    fn note_names(&mut self) {
        let Some(Reader { state, .. }) = &self.reader else { return };
        for (position, thread) in state.threads().threads().iter().enumerate() {
            let Some(key) = thread.key.filter(|key| self.threads.get(key).is_some()) else {
                continue;
            };
            let told_before = known_as_before(&mut self.threads, key);
            let task = self.threads.row(key);
            if let Some(work) = told_before {
                task.work.now.add(&work.now);
                task.work.all.add(&work.all);
            }
            if !task.work.now.has_any() && !task.name.is_empty() {
                continue;
            }
            task.name = state.threads().label(state::ThreadIndex(position as u32));
            task.pid = state.threads().pid(thread.process);
            let Some(pid) = task.pid else { continue };
            let process = self.processes.row(pid);
            note_process(process, pid, state.threads(), thread.process, state);
        }
    }

    /// Adds what threads did to their processes.
    fn add_up(&mut self) {
        for (_, task) in self.threads.iter() {
            let process = match task.pid {
                Some(pid) => self.processes.row(pid),
                None => self.processes.at(RowIndex::OTHERS),
            };
            process.work.now.add(&task.work.now);
        }
    }

    fn call_rows(&self, covered_ns: u64) -> Vec<CallRow> {
        let calls = self.calls.iter().filter(|(_, calls)| calls.all.count() > 0);
        let row = |(pair, calls): (Option<u32>, &super::Durations)| CallRow {
            name: self.names.text(pair),
            calls_per_s: per_s(calls.now, covered_ns),
            failures: calls.failures,
            duration: calls.all.report(),
            slowest_in: calls.by.clone(),
        };
        calls.map(row).collect()
    }

    fn lock_rows(&self, covered_ns: u64) -> Vec<WaitRow> {
        let locks = self.locks.iter().filter(|(_, waits)| waits.all.count() > 0);
        let row = |(lock, waits): (Option<super::Lock>, &super::Durations)| WaitRow {
            name: lock.map_or_else(
                || state::OTHERS_TEXT.to_string(),
                |lock| format!("{} {:#x}", lock.kind.name(), lock.address),
            ),
            pid: lock.and_then(|lock| lock.pid),
            process: lock
                .and_then(|lock| self.processes.get(&lock.pid?))
                .map_or_else(String::new, |process| process.name.clone()),
            waits_per_s: per_s(waits.now, covered_ns),
            waiting: share(waits.now_ns, covered_ns),
            wait: waits.all.report(),
            longest_in: waits.by.clone(),
        };
        locks.map(row).collect()
    }

    /// What is counted from now on is of the next picture.
    fn turn(&mut self) {
        self.events.make_space(|_, tally| tally.now.count > 0);
        self.threads.make_space(|_, task| task.work.now.has_any());
        self.processes.make_space(|_, task| task.work.now.has_any());
        self.calls.make_space(|_, calls| calls.now > 0);
        self.locks.make_space(|_, waits| waits.now > 0);
        self.latest = None;
        self.events.iter_mut().for_each(|(_, tally)| tally.turn());
        for (_, Task { work, .. }) in self.threads.iter_mut() {
            work.all.add(&std::mem::take(&mut work.now));
        }
        for (_, Task { work, .. }) in self.processes.iter_mut() {
            work.all.add(&std::mem::take(&mut work.now));
        }
        let calls = self.calls.iter_mut().map(|(_, durations)| durations);
        for durations in calls.chain(self.locks.iter_mut().map(|(_, durations)| durations)) {
            (durations.now, durations.now_ns) = (0, 0);
        }
    }
}

/// What was counted of a thread before it was known of which process it is: only the scheduler told
/// of it until then.
fn known_as_before(threads: &mut Rows<ThreadKey, Task>, key: ThreadKey) -> Option<Tally<Work>> {
    let ThreadKey::Named { host, tid, .. } = key else { return None };
    let before = ThreadKey::Scheduled { host, tid };
    threads.get(&before)?;
    Some(std::mem::take(&mut threads.row(before).work))
}

/// A program's name is better than that of a thread of it, and stays when the state begins anew.
fn note_process(
    task: &mut Task,
    pid: i64,
    threads: &Threads,
    process: state::ProcessIndex,
    state: &State,
) {
    let known = threads.processes().get(process.0 as usize);
    let is_programs = known.is_some_and(|known| known.path != state::TextIndex::NONE);
    if is_programs || !task.is_programs_name {
        task.name = threads.process_label(process, state.texts());
        task.is_programs_name = is_programs;
    }
    task.pid = Some(pid);
}

fn tid(key: &ThreadKey) -> Option<i64> {
    match key {
        ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. } => Some(*tid),
        ThreadKey::Idle { .. } | ThreadKey::Unnamed { .. } => None,
    }
}

/// A row for each that did anything.
fn task_rows<K: Copy + std::hash::Hash + Eq>(
    tasks: &Rows<K, Task>,
    names: &Names,
    (covered_ns, tells_cpu): (u64, bool),
    tid: impl Fn(&K) -> Option<i64>,
) -> Vec<TaskRow> {
    let row = |(key, task): (Option<K>, &Task)| {
        let now = &task.work.now;
        let mut all = task.work.all;
        all.add(now);
        if !all.has_any() {
            return None;
        }
        let slowest =
            |longest: Longest| Slowest { call: names.text(Some(longest.pair)), ns: longest.ns };
        Some(TaskRow {
            name: match key {
                Some(_) => task.name.clone(),
                None => state::OTHERS_TEXT.to_string(),
            },
            pid: task.pid,
            tid: key.as_ref().and_then(&tid),
            events_per_s: per_s(now.events.count, covered_ns),
            bytes_per_s: per_s(now.events.bits.div_ceil(8), covered_ns),
            events: all.events.count,
            calls_per_s: per_s(now.calls, covered_ns),
            slowest: all.longest.map(slowest),
            waits: all.waits,
            wait_share: share(now.wait_ns, covered_ns),
            wait_ns: all.wait_ns,
            cpu_share: tells_cpu.then(|| share(now.on_cpu_ns, covered_ns)),
            ready_share: tells_cpu.then(|| share(now.ready_ns, covered_ns)),
            on_cpu_ns: tells_cpu.then_some(all.on_cpu_ns),
        })
    };
    tasks.iter().filter_map(row).collect()
}
