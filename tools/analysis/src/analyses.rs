// SPDX-License-Identifier: MIT
//! All analyses in one pass over the merged events.
//!
//! Place in the flow: [`analyse`] drives; each event is looked up in `classes`, given a thread by
//! `streams` and `threads`, counted, and, if it is half of a pair or means something to an
//! analysis, handed there. Nothing is allocated for an event.

mod finish;

use rustc_hash::FxHashMap;
use trace::{Event, LossMessage, Merge, Message, Ns, Trace};

use crate::classes::{ClassPlan, Classes, Role};
use crate::counts::{Counted, Counts};
use crate::files::Files;
use crate::glob::Glob;
use crate::latency::{Latency, Open};
use crate::locks::{Locks, Wait};
use crate::losses::Losses;
use crate::operation::{Operation, Values};
use crate::rate::Rate;
use crate::report::Report;
use crate::streams::Stream;
use crate::texts::{TextIndex, Texts};
use crate::threads::{ProcessIndex, ThreadIndex, Threads};

/// Progress is reported after so many messages.
const PROGRESS_MESSAGES: u32 = 1 << 17;

/// What rows of events and latencies are told apart by, beside their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Process,
    Thread,
    Cpu,
}

/// How much is kept apart; the rest is in rows called "(others)".
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub threads: usize,
    pub latencies: usize,
    pub locks: usize,
    pub files: usize,
    pub descriptors: usize,
    pub texts: usize,
    pub grouped_events: usize,
}

impl Default for Limits {
    /// Together these bound the memory to a few hundred megabytes.
    fn default() -> Self {
        Self {
            threads: 1 << 16,
            latencies: 1 << 10,
            locks: 1 << 12,
            files: 1 << 14,
            descriptors: 1 << 20,
            texts: 1 << 16,
            grouped_events: 1 << 16,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names of the events to report on; none: all.
    pub globs: Vec<Glob>,
    pub by: Option<By>,
    pub limits: Limits,
}

/// Reads traces from beginning to end. `progress` hears how many bytes have been read.
pub fn analyse(traces: &[Trace], options: &Options, mut progress: impl FnMut(u64)) -> Report {
    let mut merge = Merge::over(traces);
    let mut analyses = Analyses::new(traces, options, merge.stream_count());
    let mut until_progress = PROGRESS_MESSAGES;
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => analyses.event(&event),
            Message::Loss(loss) => analyses.loss(&loss),
        }
        until_progress -= 1;
        if until_progress == 0 {
            until_progress = PROGRESS_MESSAGES;
            progress(analyses.bytes_read);
        }
    }
    analyses.finish(traces, &merge.problems())
}

/// Where and when an event happened.
#[derive(Debug, Clone, Copy)]
struct Moment {
    host: u32,
    thread: ThreadIndex,
    process: ProcessIndex,
}

pub struct Analyses {
    by: Option<By>,
    classes: Classes,
    /// The machine of each trace: processes of one machine are the same in all its traces.
    hosts: Vec<u32>,
    streams: Vec<Stream>,
    bytes_read: u64,
    events_read: Vec<u64>,
    threads: Threads,
    texts: Texts,
    counts: Counts,
    rate: Rate,
    latency: Latency,
    locks: Locks,
    files: Files,
    losses: Losses,
}

impl Analyses {
    pub fn new(traces: &[Trace], options: &Options, stream_count: usize) -> Self {
        let limits = options.limits;
        let classes = Classes::new(traces, &options.globs);
        Self {
            by: options.by,
            hosts: hosts(traces),
            streams: vec![Stream::default(); stream_count],
            bytes_read: 0,
            events_read: vec![0; traces.len()],
            threads: Threads::new(limits.threads),
            texts: Texts::new(limits.texts),
            counts: Counts::new(classes.names.len(), limits.grouped_events),
            rate: Rate::new(),
            latency: Latency::new(classes.pairs.len(), limits.latencies),
            locks: Locks::new(limits.locks),
            files: Files::new(limits.files, limits.descriptors),
            losses: Losses::new(),
            classes,
        }
    }

    pub fn loss(&mut self, message: &LossMessage<'_>) {
        self.losses.event(message);
    }

    pub fn event(&mut self, event: &Event<'_>) {
        let trace_index = event.trace_index();
        let Some(plan) = self.classes.plan(trace_index, event.class()) else { return };
        let Some(stream) = self.streams.get_mut(event.stream_index()) else { return };
        let host = self.hosts.get(trace_index).copied().unwrap_or(0);
        if let Some(size_bytes) = stream.enter(event) {
            self.bytes_read = self.bytes_read.saturating_add(size_bytes);
        }
        if plan.is_bookkeeping {
            if let Role::Thread { pid, tid, name } = plan.role {
                stream.switch(event, (pid, tid, name), host, &mut self.threads);
            }
            return;
        }
        if let Some(events) = self.events_read.get_mut(trace_index) {
            *events += 1;
        }
        let thread = stream.thread(event, host, &mut self.threads);
        let at = event.time_ns();
        self.counts.reach(at);
        self.rate.reach(at);
        let group = self.by.map(|by| match by {
            By::Thread => thread.0,
            By::Process => self.threads.process_of(thread).0,
            By::Cpu => event.cpu().map_or(u32::MAX, |cpu| cpu.0),
        });
        if plan.is_counted {
            let (cpu, bits) = (event.cpu(), event.size_bits());
            self.counts.event(Counted { name: plan.name, group, cpu, bits });
            self.threads.event(thread, at);
            self.rate.event(at);
        }
        if plan.role != Role::Plain {
            self.act(event, thread, host, at, group);
        }
    }

    /// The part that only events of a known meaning need.
    fn act(
        &mut self,
        event: &Event<'_>,
        thread: ThreadIndex,
        host: u32,
        at: Ns,
        group: Option<u32>,
    ) {
        let Some(ClassPlan { role, is_counted, .. }) =
            self.classes.plan(event.trace_index(), event.class())
        else {
            return;
        };
        let process = self.threads.process_of(thread);
        let moment = Moment { host, thread, process };
        match role {
            Role::Plain | Role::Thread { .. } => {}
            Role::Entry { pair, loads } => {
                let mut values = Values::default();
                loads.read(event, &mut values, &mut self.texts);
                self.latency.enter(thread, Open { pair: *pair, begin: at, values });
            }
            Role::Exit { pair, loads } => {
                let pair_index = *pair;
                let Some(pair) = self.classes.pairs.get(pair_index as usize) else { return };
                let (operation, is_counted) = (pair.operation, pair.is_counted);
                let open = self.latency.leave(thread, pair_index);
                let mut values = open.map_or(Values::default(), |open| open.values);
                loads.read(event, &mut values, &mut self.texts);
                let duration_ns = open.map(|open| since(open.begin, at)).filter(|_| is_counted);
                if let Some(duration_ns) = duration_ns {
                    self.latency.record(pair_index, group.unwrap_or(0), duration_ns);
                }
                let is_told_by_exit = matches!(operation, Operation::Open | Operation::ChildWait);
                if open.is_some() || is_told_by_exit {
                    self.operate(operation, moment, &values, duration_ns);
                }
            }
            Role::Single { operation, loads } => {
                let (operation, duration_ns) = (*operation, is_counted.then_some(0));
                let mut values = Values::default();
                loads.read(event, &mut values, &mut self.texts);
                self.operate(operation, moment, &values, duration_ns);
            }
        }
    }

    /// What a finished operation means to the analyses that follow it.
    fn operate(
        &mut self,
        operation: Operation,
        moment: Moment,
        values: &Values,
        duration_ns: Option<u64>,
    ) {
        let Moment { host, thread, process } = moment;
        match operation {
            Operation::None | Operation::Exec => {}
            Operation::Lock(kind) => {
                if let Some(duration_ns) = duration_ns {
                    let address = values.subject as u64;
                    self.locks.event(Wait { kind, address, process, thread, duration_ns });
                }
            }
            Operation::ProcessStart => self.start(moment, values),
            Operation::ProcessExit => self.threads.exited(process, values.subject),
            Operation::Forked => {
                if let Some(parent) = self.threads.known_process(host, values.subject) {
                    self.threads.forked(process, parent, values.subject);
                    self.files.descriptors.inherited(process, parent, false);
                }
            }
            Operation::ChildWait => {
                if let Some(child) = self.threads.known_process(host, values.subject) {
                    if self.threads.waited_for(child, values.other) {
                        self.files.descriptors.ended(child);
                    }
                }
            }
            Operation::ThreadExit => {
                self.latency.thread_ended(thread);
                self.threads.ended(thread);
            }
            Operation::ThreadStart => self.threads.has_handle(thread, values.subject),
            Operation::ThreadName if values.text != TextIndex::NONE => {
                let name = self.texts.text(values.text);
                self.threads.renamed(thread, values.subject, name.as_bytes());
            }
            Operation::ThreadName => {}
            of_files => {
                self.files.event(of_files, process, values, duration_ns, &mut self.texts);
            }
        }
    }

    /// A program begins: in a new process, or in one that ran another until now.
    fn start(&mut self, moment: Moment, values: &Values) {
        let Moment { host, process, .. } = moment;
        let parent_pid = values.other;
        for thread in self.threads.threads_of(process).to_vec() {
            self.latency.thread_ended(thread);
        }
        self.files.descriptors.executed(process);
        if !self.threads.has_origin(process) {
            if let Some(parent) = self.threads.known_process(host, parent_pid) {
                self.files.descriptors.inherited(process, parent, true);
            }
        }
        self.threads.started(process, parent_pid, values.text, values.more_text);
    }
}

fn since(begin: Ns, until: Ns) -> u64 {
    u64::try_from(until.0.saturating_sub(begin.0)).unwrap_or(0)
}

/// A number for each machine, by name; traces that do not say are of one machine.
fn hosts(traces: &[Trace]) -> Vec<u32> {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    let names =
        traces.iter().map(|trace| trace.metadata().environment_text("hostname").unwrap_or(""));
    names
        .map(|name| {
            let next = numbers.len() as u32;
            *numbers.entry(name).or_insert(next)
        })
        .collect()
}
