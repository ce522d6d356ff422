// SPDX-License-Identifier: MIT
//! All analyses in one pass over the merged events.
//!
//! Place in the flow: [`analyse`] drives; the state says of each event which thread wrote it and
//! which call it finishes; then the event is counted, and the finished call is handed to the
//! analyses that use it. Nothing is allocated for an event.

mod finish;

pub use finish::not_measured;

use std::sync::Arc;

use state::{Done, Operation, State, Step, ThreadIndex, Threads};
use trace::{Event, LossMessage, Merge, Message, Ns, Span, Trace};

use crate::counts::{Counted, Counts};
use crate::files::{outcome, Files, Outcome};
use crate::filter::Filter;
use crate::latency::Latency;
use crate::locks::{Locks, Wait};
use crate::losses::Losses;
use crate::names::{Namer, Names};
use crate::rate::Rate;
use crate::report::Report;
use crate::scheduling::Scheduling;
use crate::sheet::Sheet;
use crate::studies::{End, Moment, Study};
use crate::writers::Writers;

/// Progress is reported each time that this many messages were read.
const PROGRESS_MESSAGES: u32 = 1 << 17;

/// What distinguishes rows of events and latencies, beside their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Process,
    Thread,
    Cpu,
}

/// How many rows each table has; everything else is in rows called "(others)".
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub state: state::Limits,
    pub latencies: usize,
    pub locks: usize,
    pub files: usize,
    pub grouped_events: usize,
}

impl Default for Limits {
    /// Together these bound the memory to a few hundred megabytes.
    fn default() -> Self {
        Self {
            state: state::Limits::default(),
            latencies: 1 << 10,
            locks: 1 << 12,
            files: 1 << 14,
            grouped_events: 1 << 16,
        }
    }
}

/// Whether to report on events that have the first of these names, and are ends of a pair that has
/// the second, at a level of CTF's.
pub type Wanted<'a> = &'a dyn Fn(&[&str], Option<i64>) -> bool;

/// Whether to report on an event that a thread wrote.
pub type Takes<'a> = &'a dyn Fn(&Event<'_>, &Threads, ThreadIndex) -> bool;

/// Whether a thread is one of those that are asked for.
pub type Whose<'a> = &'a dyn Fn(&Threads, ThreadIndex) -> bool;

#[derive(Clone, Default)]
pub struct Options<'a> {
    /// None: all.
    pub wanted: Option<Wanted<'a>>,
    /// Of those that are wanted; none: all. A pair is taken with its exit.
    pub takes: Option<Takes<'a>>,
    /// Threads that named analyses and the report's table of the scheduler's tell of; none: all.
    pub whose: Option<Whose<'a>>,
    /// What is read; nothing before it is known but which files processes had loaded.
    pub span: Span,
    /// What was loaded at each moment, where several questions are asked; none: it is found out.
    pub names: Option<Arc<Names>>,
    /// After so many events of the span, reading ends; none: all are read.
    pub most_events: Option<u64>,
    /// Asked now and then; reading ends when it is false.
    pub goes_on: Option<&'a dyn Fn() -> bool>,
    pub by: Option<By>,
    pub limits: Limits,
}

/// Reads traces from beginning to end. `progress` hears how many bytes have been read.
pub fn analyse(traces: &[Trace], options: &Options<'_>, progress: impl FnMut(u64)) -> Report {
    drive(traces, options, None, progress).0
}

/// The same, with a study that hears of each event.
pub(crate) fn drive<'a>(
    traces: &'a [Trace],
    options: &Options<'a>,
    study: Option<Box<dyn Study + 'a>>,
    mut progress: impl FnMut(u64),
) -> (Report, Option<Sheet>) {
    let mut merge = Merge::between(traces, &options.span);
    let mut analyses = Analyses::new(traces, options, merge.stream_count());
    analyses.namer =
        study.is_none().then(|| Namer::of_span(traces, options.names.clone(), &options.span));
    analyses.study = study;
    let mut until_progress = PROGRESS_MESSAGES;
    let mut left = options.most_events.unwrap_or(u64::MAX);
    let mut is_cut = false;
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                is_cut = left == 0;
                if is_cut {
                    break;
                }
                left -= u64::from(!event.is_before_span());
                analyses.event(&event);
            }
            Message::Loss(loss) => analyses.loss(&loss),
        }
        until_progress -= 1;
        if until_progress == 0 {
            until_progress = PROGRESS_MESSAGES;
            progress(analyses.state.bytes_read());
            is_cut = options.goes_on.is_some_and(|goes_on| !goes_on());
            if is_cut {
                break;
            }
        }
    }
    if !is_cut {
        analyses.state.ends(options.span.until.unwrap_or(Ns(i64::MAX)));
    }
    analyses.reads_all &= !is_cut;
    let sheet = analyses.sheet();
    let has_span = options.span != Span::ALL;
    let report = Report { is_cut, has_span, ..analyses.finish(traces, &merge) };
    (report, sheet)
}

pub struct Analyses<'a> {
    by: Option<By>,
    takes: Option<Takes<'a>>,
    whose: Option<Whose<'a>>,
    state: State,
    filter: Filter,
    events_read: Vec<u64>,
    /// Whether `events_read` is to be what recorders say that they wrote.
    reads_all: bool,
    /// Whether events before the span may still come.
    is_before_span: bool,
    counts: Counts,
    rate: Rate,
    writers: Writers,
    latency: Latency,
    locks: Locks,
    files: Files,
    scheduling: Scheduling,
    /// Whether names of events that moved threads were asked for.
    shows_scheduling: bool,
    losses: Losses,
    study: Option<Box<dyn Study + 'a>>,
    /// Names locks, where no study does.
    namer: Option<Namer<'a>>,
}

impl<'a> Analyses<'a> {
    pub fn new(traces: &[Trace], options: &Options<'a>, stream_count: usize) -> Self {
        let limits = options.limits;
        let state = State::new(traces, stream_count, &limits.state);
        Self {
            by: options.by,
            takes: options.takes,
            whose: options.whose,
            filter: Filter::new(state.classes(), options.wanted),
            events_read: vec![0; traces.len()],
            reads_all: options.span == Span::ALL,
            is_before_span: options.span.from.is_some(),
            counts: Counts::new(state.classes().names().len(), limits.grouped_events),
            rate: Rate::new(),
            writers: Writers::new(),
            latency: Latency::new(limits.latencies),
            locks: Locks::new(limits.locks),
            files: Files::new(limits.files),
            scheduling: Scheduling::new(limits.state.threads, options.span.from),
            shows_scheduling: false,
            losses: Losses::new(),
            study: None,
            namer: None,
            state,
        }
    }

    pub fn loss(&mut self, message: &LossMessage<'_>) {
        self.state.loss(message);
        self.scheduling.moves(&self.state);
        self.losses.event(message);
        if let Some(study) = &mut self.study {
            let at = message.begin_ns().or(message.time_ns()).unwrap_or(Ns(0));
            study.moved(&self.state, None, at);
            study.loss(message, &self.state);
        }
    }

    /// What the study says, if there is one.
    fn sheet(&mut self) -> Option<Sheet> {
        let (first, last) = (self.counts.first, self.counts.last);
        let end = End { state: &self.state, first, last, whose: self.whose };
        Some(self.study.as_mut()?.finish(&end))
    }

    pub fn event(&mut self, event: &Event<'_>) {
        while let Some(at) = self.state.advance(event.time_ns()) {
            self.scheduling.moves(&self.state);
            if let Some(study) = &mut self.study {
                study.moved(&self.state, None, at);
            }
        }
        if self.is_before_span && !event.is_before_span() {
            self.is_before_span = false;
            self.state.count_unmatched_anew();
        }
        let Some(Step { name, thread, part, done }) = self.state.event(event) else { return };
        if event.is_before_span() {
            return;
        }
        if let Some(events) = self.events_read.get_mut(event.trace_index()) {
            *events += 1;
        }
        let at = event.time_ns();
        self.counts.reach(at);
        self.rate.reach(at);
        let group = self.by.map(|by| match by {
            By::Thread => thread.0,
            By::Process => self.state.threads().process_of(thread).0,
            By::Cpu => event.cpu().map_or(u32::MAX, |cpu| cpu.0),
        });
        let threads = self.state.threads();
        let is_taken = self.takes.is_none_or(|takes| takes(event, threads, thread));
        let is_counted = is_taken && self.filter.counts(name);
        if is_counted {
            let (cpu, bits) = (event.cpu(), event.size_bits());
            self.counts.event(Counted { name: name.0, group, cpu, bits });
            self.writers.event(thread, at);
            self.rate.event(at);
        }
        // Who is told of decides about rows: others put the threads that are asked for on CPUs.
        self.scheduling.moves(&self.state);
        self.shows_scheduling |= self.filter.counts(name) && !self.state.moves().is_empty();
        if let Some(study) = &mut self.study {
            let step = Step { name, thread, part, done };
            if !self.state.moves().is_empty() {
                let host = self.state.host(event.trace_index());
                study.moved(&self.state, event.cpu().map(|cpu| (host, cpu)), at);
            }
            study.event(&Moment { event, step, state: &self.state, is_taken: is_counted });
        }
        if let Some(done) = done {
            let counts_pair = |pair| is_taken && self.filter.counts_pair(pair);
            if done.pair.map_or(is_counted, counts_pair) {
                self.finished(&done, thread, at, group.unwrap_or(0));
            }
        }
    }

    /// What a finished operation means to the analyses that follow it.
    fn finished(&mut self, done: &Done, thread: ThreadIndex, at: Ns, group: u32) {
        let Some(duration_ns) = done.begin.map(|begin| since(begin, at)) else { return };
        if let Some(pair) = done.pair {
            let has_failed =
                done.operation.has_result() && outcome(&done.values) == Outcome::Failure;
            self.latency.record(pair, group, duration_ns, has_failed);
        }
        let process = self.state.threads().process_of(thread);
        match done.operation {
            Operation::Lock(kind) => {
                let address = done.values.subject as u64;
                let (of, namer) = ((&self.state, process), &mut self.namer);
                let variable = || namer.as_mut()?.variable(of, address, at);
                self.locks.event(Wait { kind, address, process, thread, duration_ns }, variable);
            }
            _ => self.files.event(process, done.uses, &done.values, duration_ns),
        }
    }
}

pub(crate) fn since(begin: Ns, until: Ns) -> u64 {
    u64::try_from(until.0.saturating_sub(begin.0)).unwrap_or(0)
}
