// SPDX-License-Identifier: MIT
//! Rows of Perfetto's: which there are, and what they are called.
//!
//! Place in the flow: `perfetto` asks for the row of each event and writes the descriptions that
//! are new. A thread whose numbers are known is described as that thread, so that Perfetto joins it
//! with what the scheduler says; others are rows with a name. Of several machines all are: Perfetto
//! knows one by the numbers of its processes.

use rustc_hash::{FxHashMap, FxHashSet};
use state::{ProcessIndex, State, ThreadIndex};
use trace::{Ns, Trace};

use super::messages::{CounterDescriptor, ProcessDescriptor, ThreadDescriptor, TrackDescriptor};
use crate::arguments::{cut, NAME_BYTES};
use crate::places::{host_names, host_of, process_text};

/// Rows beside a thread's own, for calls that overlap others; the last is shared by all further.
const LANES: usize = 16;
/// Counters of all processes.
const COUNTERS: usize = 1 << 14;

/// A row of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Row {
    Thread(ThreadIndex),
    Lane(ThreadIndex, u8),
    Counter(u32),
    Losses(u32, Option<u32>),
}

impl Row {
    fn uuid(self) -> u64 {
        match self {
            Row::Thread(thread) => 1 << 56 | u64::from(thread.0),
            Row::Lane(thread, lane) => 3 << 56 | u64::from(lane) << 32 | u64::from(thread.0),
            Row::Counter(number) => 4 << 56 | u64::from(number),
            Row::Losses(host, cpu) => {
                let cpu = cpu.map_or(0, |cpu| u64::from(cpu) + 1);
                5 << 56 | u64::from(host & 0xffff) << 34 | cpu
            }
        }
    }
}

fn process_uuid(process: ProcessIndex) -> u64 {
    2 << 56 | u64::from(process.0)
}

#[derive(Debug)]
pub(super) struct Tracks {
    hosts: Vec<String>,
    rows: FxHashSet<Row>,
    processes: FxHashSet<ProcessIndex>,
    /// What threads were called when they were described.
    names: Vec<(ThreadIndex, String)>,
    lanes: FxHashMap<ThreadIndex, Vec<Ns>>,
    counters: FxHashMap<(ProcessIndex, usize), u32>,
    counter_names: Vec<(ProcessIndex, String)>,
}

impl Tracks {
    pub fn new(traces: &[Trace]) -> Self {
        Self {
            hosts: host_names(traces),
            rows: FxHashSet::default(),
            processes: FxHashSet::default(),
            names: Vec::new(),
            lanes: FxHashMap::default(),
            counters: FxHashMap::default(),
            counter_names: Vec::new(),
        }
    }

    /// Whether the traces are of several machines.
    pub fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// The row's number, and what has to be told before it is used.
    pub fn of(&mut self, state: &State, row: Row) -> (u64, Vec<TrackDescriptor>) {
        let mut news = Vec::new();
        if self.rows.contains(&row) {
            return (row.uuid(), news);
        }
        self.rows.insert(row);
        match row {
            Row::Thread(thread) => self.describe_thread(state, thread, &mut news),
            Row::Lane(thread, _) => {
                let (parent, above) = self.of(state, Row::Thread(thread));
                news.extend(above);
                news.push(named(row.uuid(), Some(parent), "overlapping calls".into()));
            }
            Row::Counter(number) => {
                let found = self.counter_names.get(number as usize).cloned();
                let (process, name) = found.unwrap_or((ProcessIndex::OTHERS, String::new()));
                let parent = self.describe_process(state, process, &mut news);
                let mut descriptor = named(row.uuid(), parent, name);
                descriptor.counter = Some(CounterDescriptor::default());
                news.push(descriptor);
            }
            Row::Losses(host, cpu) => {
                let name = cpu.map_or("Lost".to_string(), |cpu| format!("Lost, CPU {cpu}"));
                news.push(named(row.uuid(), None, self.of_host(host, name)));
            }
        }
        (row.uuid(), news)
    }

    /// A free row for a call that overlaps others. Calls come in the order of their ends.
    pub fn lane(&mut self, thread: ThreadIndex, from: Ns, until: Ns) -> Row {
        let lanes = self.lanes.entry(thread).or_default();
        let free = lanes.iter().position(|end| *end <= from);
        let lane = match free {
            Some(lane) => lane,
            None if lanes.len() < LANES => {
                lanes.push(Ns(i64::MIN));
                lanes.len() - 1
            }
            None => LANES - 1,
        };
        if let Some(end) = lanes.get_mut(lane) {
            *end = until.max(*end);
        }
        Row::Lane(thread, lane as u8)
    }

    /// The number of a process's counter; `None`: there are too many.
    pub fn counter(&mut self, process: ProcessIndex, number: usize, name: &str) -> Option<u32> {
        if let Some(known) = self.counters.get(&(process, number)) {
            return Some(*known);
        }
        if self.counters.len() >= COUNTERS {
            return None;
        }
        let next = self.counter_names.len() as u32;
        self.counters.insert((process, number), next);
        self.counter_names.push((process, name.to_string()));
        Some(next)
    }

    /// The threads that have another name by now.
    pub fn renamed(&self, state: &State) -> Vec<TrackDescriptor> {
        let renamed =
            self.names.iter().filter(|(thread, name)| thread_text(state, *thread) != *name);
        renamed.map(|(thread, _)| self.thread(state, *thread)).collect()
    }

    fn of_host(&self, host: u32, text: String) -> String {
        match self.hosts.get(host as usize) {
            Some(name) => format!("{name}: {text}"),
            None => text,
        }
    }

    fn describe_thread(
        &mut self,
        state: &State,
        thread: ThreadIndex,
        news: &mut Vec<TrackDescriptor>,
    ) {
        self.describe_process(state, state.threads().process_of(thread), news);
        let descriptor = self.thread(state, thread);
        self.names.push((thread, thread_text(state, thread)));
        news.push(descriptor);
    }

    fn thread(&self, state: &State, thread: ThreadIndex) -> TrackDescriptor {
        let uuid = Row::Thread(thread).uuid();
        let process = state.threads().process_of(thread);
        let parent = (process != ProcessIndex::OTHERS).then(|| process_uuid(process));
        let numbers = self.numbers(state, process).zip(state.threads().tid(thread));
        match numbers.filter(|(_, tid)| (1..=i64::from(i32::MAX)).contains(tid)) {
            Some((pid, tid)) => TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: parent,
                thread: Some(ThreadDescriptor {
                    pid: Some(pid),
                    tid: Some(tid),
                    thread_name: Some(thread_text(state, thread)),
                }),
                ..TrackDescriptor::default()
            },
            None => {
                let label = cut(&state.threads().label(thread), NAME_BYTES);
                named(uuid, parent, self.of_host(host_of(state, thread), label))
            }
        }
    }

    /// The row of a process; none of those that are not known.
    fn describe_process(
        &mut self,
        state: &State,
        process: ProcessIndex,
        news: &mut Vec<TrackDescriptor>,
    ) -> Option<u64> {
        if process == ProcessIndex::OTHERS {
            return None;
        }
        let uuid = process_uuid(process);
        if !self.processes.insert(process) {
            return Some(uuid);
        }
        let first = state.threads().processes().get(process.0 as usize);
        let first = first.and_then(|process| process.threads.first().copied());
        let host = first.map_or(0, |thread| host_of(state, thread));
        let name = process_text(state, process);
        news.push(match self.numbers(state, process) {
            Some(pid) => TrackDescriptor {
                uuid: Some(uuid),
                process: Some(ProcessDescriptor {
                    pid: Some(pid),
                    process_name: (!name.is_empty()).then_some(name),
                }),
                ..TrackDescriptor::default()
            },
            None => named(
                uuid,
                None,
                self.of_host(host, state.threads().process_label(process, state.texts())),
            ),
        });
        Some(uuid)
    }

    /// The number by which Perfetto knows a process.
    fn numbers(&self, state: &State, process: ProcessIndex) -> Option<i32> {
        let pid = state.threads().pid(process)?;
        i32::try_from(pid).ok().filter(|pid| *pid > 0 && !self.has_hosts())
    }
}

/// A thread's name, without its number.
fn thread_text(state: &State, thread: ThreadIndex) -> String {
    let found = state.threads().threads().get(thread.0 as usize);
    found.map_or_else(String::new, |thread| thread.name.text())
}

fn named(uuid: u64, parent: Option<u64>, name: String) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        parent_uuid: parent,
        name: Some(cut(&name, NAME_BYTES)),
        ..TrackDescriptor::default()
    }
}
