// SPDX-License-Identifier: MIT
//! The state at the moment of the latest event.
//!
//! Place in the flow: a reader of a trace hands each event to [`State::event`] and learns whose
//! it is and what it finishes. What the event changes is in the state when that returns; what it
//! used before the change is in the answer. Nothing is allocated for an event of known threads,
//! texts and descriptors.

use rustc_hash::FxHashMap;
use trace::{CpuId, Event, LossMessage, Ns, Trace};

use crate::calls::{About, Calls, OpenCall};
use crate::changes::Change;
use crate::classes::{Classes, NameIndex, PairIndex, Role};
use crate::descriptors::Descriptors;
use crate::interrupts::{Interrupt, Interrupts};
use crate::left_out::{left_out, Gap, Gaps, Pause};
use crate::locks::{Locks, WaitedFor};
use crate::maps::Maps;
use crate::operation::{Operation, Values};
use crate::places::{Move, Stay};
use crate::running::Running;
use crate::streams::Stream;
use crate::tasks::Dump;
use crate::texts::{TextIndex, Texts};
use crate::threads::{Process, ProcessIndex, ThreadIndex, Threads};
use crate::usage::Uses;

/// How much is remembered, in numbers of things.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Threads, and as many processes.
    pub threads: usize,
    /// Open descriptors and streams, of all processes together.
    pub descriptors: usize,
    /// Maps of files, of all processes together.
    pub maps: usize,
    /// Paths, addresses and command lines; of each, the first 512 bytes.
    pub texts: usize,
}

/// What was read of one trace, from its beginning to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    /// Without [`trace::BOOKKEEPING`].
    pub events: u64,
    /// Events and packets that its packets count as lost.
    pub lost: u64,
    /// What was wrong with packets.
    pub problems: u64,
}

impl Default for Limits {
    /// Together with the open calls, these bound the memory to a few hundred megabytes.
    fn default() -> Self {
        Self { threads: 1 << 16, descriptors: 1 << 20, maps: 1 << 20, texts: 1 << 16 }
    }
}

/// What an event is.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Its name.
    pub name: NameIndex,
    /// The thread that wrote it.
    pub thread: ThreadIndex,
    /// Whether it is one end of a call.
    pub part: Part,
    /// What it finishes, if that has a meaning or a duration.
    pub done: Option<Done>,
}

/// The part of a call that an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Of none; or its thread is not known, so that it finds no partner.
    None,
    /// The entry of a call of this pair.
    Entry(PairIndex),
    /// The exit.
    Exit(PairIndex),
}

/// A finished call, or something that happened in one event.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// The pair that the call's two events make; `None`: it happened in one event.
    pub pair: Option<PairIndex>,
    /// When it began: at its entry, or at its only event. `None`: the trace has no entry for it, or
    /// events were lost since that entry, of which this may not be the exit.
    pub begin: Option<Ns>,
    /// When the entry came, where events were lost since.
    pub unsure_begin: Option<Ns>,
    /// What it means.
    pub operation: Operation,
    /// Its operands and its result.
    pub values: Values,
    /// The files that it used, as they were before it changed them.
    pub uses: Uses,
    /// Of a wait for a lock: whom it was for.
    pub waited_for: WaitedFor,
}

/// Everything known of processes and threads at the moment of the latest event.
#[derive(Debug)]
pub struct State {
    classes: Classes,
    /// The machine of each trace: processes of one machine are the same in all its traces.
    hosts: Vec<u32>,
    streams: Vec<Stream>,
    pub(crate) running: Running,
    gaps: Gaps,
    /// By machine, how often events may have been missed since the begin.
    missed: Vec<u64>,
    /// By number of a pair.
    sample_rates: Vec<Vec<u32>>,
    interrupts: Interrupts,
    /// Entries and exits of each trace that were not joined.
    unjoined: Vec<u64>,
    bytes_read: u64,
    pub(crate) threads: Threads,
    pub(crate) texts: Texts,
    pub(crate) calls: Calls,
    pub(crate) locks: Locks,
    pub(crate) descriptors: Descriptors,
    pub(crate) maps: Maps,
    pub(crate) dump: Dump,
}

impl State {
    /// The state before the first event of `traces`, which are read as `stream_count` streams
    /// (`trace::Merge::stream_count`). The events must be those of the same traces.
    pub fn new(traces: &[Trace], stream_count: usize, limits: &Limits) -> Self {
        let classes = Classes::new(traces);
        let hosts = hosts(traces);
        let (gaps, recorded) = left_out(traces, &hosts, &classes);
        Self {
            sample_rates: recorded.rates,
            running: Running::new(traces, &hosts),
            gaps,
            missed: Vec::new(),
            interrupts: Interrupts::default(),
            hosts,
            unjoined: vec![0; traces.len()],
            streams: vec![Stream::default(); stream_count],
            bytes_read: 0,
            threads: Threads::new(limits.threads),
            texts: Texts::new(limits.texts),
            calls: Calls::new(recorded.partial),
            locks: Locks::default(),
            descriptors: Descriptors::new(limits.descriptors),
            maps: Maps::new(limits.maps),
            dump: Dump::Absent,
            classes,
        }
    }

    /// Goes on with further packets of the same traces, in which streams are numbered anew. A
    /// packet says itself which thread its events are of.
    pub fn go_on(&mut self, stream_count: usize) {
        self.streams.clear();
        self.streams.resize(stream_count, Stream::default());
    }

    /// Goes on with the same traces, whose metadata describes more events by now. `false`, and
    /// nothing has changed, if events or pairs have other numbers than before.
    pub fn describe_again(&mut self, traces: &[Trace]) -> bool {
        let classes = Classes::new(traces);
        if !classes.begins_with(&self.classes) || hosts(traces) != self.hosts {
            return false;
        }
        let (gaps, recorded) = left_out(traces, &self.hosts, &classes);
        self.calls.describe_again(recorded.partial);
        self.sample_rates = recorded.rates;
        self.gaps.again(gaps);
        self.running.describe_again(traces, &self.hosts);
        self.unjoined.resize(traces.len(), 0);
        self.classes = classes;
        true
    }

    /// The names of events, and which of them are two ends of a call.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The threads and processes that are, and that were.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The texts behind the numbers.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// What the threads are in.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// What has found no partner until now is in no count: what is counted begins here.
    pub fn count_unmatched_anew(&mut self) {
        self.calls.count_anew();
    }

    /// Of a pair of which each call was drawn as a whole: one in so many was recorded. Several,
    /// where traces differ; none, where all calls were recorded.
    pub fn sample_rates(&self, pair: PairIndex) -> &[u32] {
        self.sample_rates.get(pair.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// What their descriptors stand for.
    pub fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    /// Which files their memory is of.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// Where a thread is, as the scheduler told.
    pub fn stay(&self, thread: ThreadIndex) -> Stay {
        self.running.places.of(thread)
    }

    /// Which threads the latest event, loss or [`State::advance`] moved from place to place.
    pub fn moves(&self) -> &[Move] {
        self.running.places.moves()
    }

    /// The thread that a machine's processor runs, if that is known.
    pub fn on(&self, host: u32, cpu: CpuId) -> Option<ThreadIndex> {
        self.running.on(host, cpu)
    }

    /// Every processor of which it is known what it runs, with its machine.
    pub fn processors(&self) -> impl Iterator<Item = (u32, CpuId, ThreadIndex)> + '_ {
        self.running.all()
    }

    /// The interrupts that a machine's processor is in, the innermost last.
    pub fn interrupts(&self, host: u32, cpu: CpuId) -> &[Interrupt] {
        self.interrupts.of(host, cpu)
    }

    /// The interrupts of every processor, with its machine.
    pub fn all_interrupts(&self) -> impl Iterator<Item = (u32, CpuId, &[Interrupt])> {
        self.interrupts.all()
    }

    /// The number of the machine that a trace is of: traces of one name are of one machine.
    pub fn host(&self, trace_index: usize) -> u32 {
        self.hosts.get(trace_index).copied().unwrap_or(0)
    }

    /// Keeps from now on which files the memory of processes was of, so that [`Maps::at_time`] and
    /// [`Maps::object_at`] answer about times before the latest event's.
    pub fn keep_past(&mut self) {
        self.maps.keep_past();
    }

    /// From now on, [`State::changes`] says what changed.
    pub fn watch(&mut self) {
        self.running.notes.want();
        self.interrupts.notes.want();
        self.threads.notes.want();
        self.calls.notes.want();
        self.descriptors.notes.want();
        self.locks.notes.want();
    }

    /// Hands out what may have changed since it was asked before, moves of threads left aside.
    pub fn changes(&mut self, take: impl FnMut(Change)) {
        let noted = self.running.notes.drain().chain(self.interrupts.notes.drain());
        let noted = noted.chain(self.threads.notes.drain()).chain(self.calls.notes.drain());
        let noted = noted.chain(self.descriptors.notes.drain());
        noted.chain(self.locks.notes.drain()).for_each(take);
    }

    /// Whether the kernel told what there was before its events.
    pub fn dump(&self) -> Dump {
        self.dump
    }

    /// Events of each trace that are an entry or an exit, and were not joined because neither they
    /// nor the scheduler tell of which thread they are.
    pub fn unjoined(&self) -> &[u64] {
        &self.unjoined
    }

    /// Sizes of the packets entered so far, in bytes.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Goes on to the moment of an event. `None`: it is a record of Lull's probes for readers and
    /// not an event of the program, or it is of none of the traces.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) -> Option<Step> {
        let trace_index = event.trace_index();
        while self.advance(event.time_ns()).is_some() {}
        self.maps.reach(event.time_ns());
        self.running.places.next();
        self.calls.next();
        let plan = self.classes.plan(trace_index, event.class())?;
        let stream = self.streams.get_mut(event.stream_index())?;
        let host = self.hosts.get(trace_index).copied().unwrap_or(0);
        if let Some(size_bytes) = stream.enter(event) {
            self.bytes_read = self.bytes_read.saturating_add(size_bytes);
        }
        if plan.is_bookkeeping {
            if let Role::Thread { pid, tid, name } = plan.role {
                stream.switch(event, (pid, tid, name), host, &mut self.threads);
            }
            return None;
        }
        let thread = stream.thread(event, (host, &self.running), &mut self.threads);
        let (name, is_plain) = (plan.name, matches!(plan.role, Role::Plain));
        let part = match plan.role {
            Role::Entry { pair, .. } => Part::Entry(pair),
            Role::Exit { pair, .. } => Part::Exit(pair),
            Role::Plain | Role::Thread { .. } | Role::Single { .. } => Part::None,
        };
        if part != Part::None && !stream.tells_threads(event) {
            if let Some(count) = self.unjoined.get_mut(trace_index) {
                *count += 1;
            }
            return Some(Step { name, thread, part: Part::None, done: None });
        }
        if self.running.is_told(host) {
            self.running.event(event, (host, thread), &mut self.threads, &mut self.calls);
        }
        let done = if is_plain { None } else { self.act(event, thread, host) };
        Some(Step { name, thread, part, done })
    }

    /// Goes on to the first moment before `to` at which something is not known any more, because a
    /// loss of events may have gone on to there, or since recording was paused or changed then.
    /// `None`: there is none, and nothing changed.
    #[inline]
    pub fn advance(&mut self, to: Ns) -> Option<Ns> {
        let (losing_until, gap_at) = (self.running.losing_until(), self.gaps.next_at());
        if losing_until >= to && gap_at >= to {
            return None;
        }
        self.go_to(to, losing_until < gap_at)
    }

    #[cold]
    fn go_to(&mut self, to: Ns, is_end_of_loss: bool) -> Option<Ns> {
        self.running.places.next();
        if !is_end_of_loss {
            let Gap { at, host, pause } = self.gaps.take(to)?;
            self.miss(host);
            if let Some(Pause { until }) = pause {
                self.descriptors.told.lossy();
                self.running.loss((host, None), at, until);
                self.interrupts.loss(host, None);
            }
            return Some(at);
        }
        let (host, cpu, at) = self.running.loss_ends(to)?;
        self.interrupts.loss(host, cpu);
        self.miss(host);
        Some(at)
    }

    /// Events of a machine may not be recorded that ended what is going on there.
    fn miss(&mut self, host: u32) {
        self.calls.loss(host);
        self.locks.loss(host);
        let index = host as usize;
        if self.missed.len() <= index {
            // Bound: the machines of the traces.
            self.missed.resize(index + 1, 0);
        }
        self.missed[index] += 1;
    }

    /// How often until now events of a machine may have been missed: by a loss, when one ended, in
    /// a pause, and when what is recorded was changed. What this is the same for at two moments was
    /// recorded whole between them.
    pub fn missed(&self, host: u32) -> u64 {
        self.missed.get(host as usize).copied().unwrap_or(0)
    }

    /// The same of all machines.
    pub fn missed_anywhere(&self) -> u64 {
        self.missed.iter().sum()
    }

    /// No more events come before a time: of a call that recording was paused or changed in, the
    /// exit may not be recorded.
    pub fn ends(&mut self, before: Ns) {
        while let Some(Gap { host, .. }) = self.gaps.take(before) {
            self.miss(host);
        }
    }

    /// Events or packets were lost before the next event, from `LossMessage::begin_ns` on if that
    /// is known. What an event tells between that and `LossMessage::until_ns` holds, until another
    /// event or that time.
    pub fn loss(&mut self, message: &LossMessage<'_>) {
        self.running.places.next();
        self.calls.next();
        let host = self.hosts.get(message.trace_index).copied().unwrap_or(0);
        self.descriptors.told.lossy();
        let Some(stream) = self.streams.get_mut(message.stream_index) else { return };
        if let Some(thread) = stream.forget_unnamed() {
            self.calls.thread_ended(thread);
        }
        self.miss(host);
        let at = message.begin_ns().or(message.time_ns()).unwrap_or(Ns(0));
        let until =
            message.until_ns().filter(|until| message.time_ns().is_some_and(|t| *until > t));
        self.running.loss((host, message.loss.cpu), at, until);
        self.interrupts.loss(host, message.loss.cpu);
    }

    /// The part that only events of a known meaning need.
    fn act(&mut self, event: &Event<'_>, thread: ThreadIndex, host: u32) -> Option<Done> {
        let plan = self.classes.plan(event.trace_index(), event.class())?;
        let mut values = Values::default();
        let mut about = About::Nothing;
        let mut unsure_begin = None;
        let mut waited_for = WaitedFor::default();
        let (pair, begin, operation) = match &plan.role {
            Role::Plain | Role::Thread { .. } => return None,
            Role::Entry { .. } => {
                self.enter(event, thread, host);
                return None;
            }
            Role::Exit { pair, loads } => {
                let pair = *pair;
                let operation = self.classes.pair(pair)?.operation;
                if let (Operation::Interrupt(_), Some(cpu)) = (operation, event.cpu()) {
                    self.interrupts.leave(host, cpu, pair);
                }
                let call = self.calls.leave(thread, pair);
                let is_told_by_exit = matches!(
                    operation,
                    Operation::Open | Operation::ChildWait | Operation::Lock(_)
                );
                if call.is_none() && !is_told_by_exit {
                    return None;
                }
                if let Some(call) = &call {
                    (values, about) = (call.values, call.about);
                }
                loads.read(event, &mut values, &mut self.texts);
                if let Operation::Lock(kind) = operation {
                    let of_thread = (host, thread, event.time_ns());
                    waited_for = self.lock_left(kind, of_thread, (&values, call.as_ref()));
                    call.as_ref()?;
                }
                let begin_if = |is_unsure| call.filter(|call| call.may_be_over == is_unsure);
                unsure_begin = begin_if(true).map(|call| call.begin);
                (Some(pair), begin_if(false).map(|call| call.begin), operation)
            }
            Role::Single { operation, loads } => {
                loads.read(event, &mut values, &mut self.texts);
                let (operation, at) = (*operation, event.time_ns());
                self.lock_released(operation, (host, thread, at), &values);
                (None, Some(at), operation)
            }
        };
        let process = self.threads.process_of(thread);
        let uses = self.descriptors.uses(operation, process, &values);
        if operation.is_of_maps() {
            let file = if let About::File(file) = about { Some(file) } else { None };
            self.maps.change(operation, process, &values, file, &mut self.descriptors.told);
        } else if pair.is_none() || operation != Operation::Close {
            self.change(operation, (host, process, thread), &values);
        }
        if (pair, operation) == (None, Operation::ProcessExit) {
            self.said_its_end(host, process);
        }
        Some(Done { pair, begin, unsure_begin, operation, values, uses, waited_for })
    }

    /// The entry of a call.
    fn enter(&mut self, event: &Event<'_>, thread: ThreadIndex, host: u32) -> Option<()> {
        let plan = self.classes.plan(event.trace_index(), event.class())?;
        let Role::Entry { pair, loads } = &plan.role else { return None };
        let mut values = Values::default();
        loads.read(event, &mut values, &mut self.texts);
        let (pair, begin) = (*pair, event.time_ns());
        let operation = self.classes.pair(pair)?.operation;
        let about = self.about(operation, thread, &values);
        let call = OpenCall { pair, begin, values, about, may_be_over: false };
        self.calls.enter(thread, call);
        self.calls.is_sure(host, thread);
        if let Operation::Lock(kind) = operation {
            self.lock_entered(kind, (host, thread, begin), &values);
        }
        if let Operation::Interrupt(kind) = operation {
            let (number, name) = (values.subject, values.text);
            let interrupt = Interrupt { pair, kind, number, name, begin };
            self.interrupts.enter(host, event.cpu()?, interrupt);
        }
        // What is closed may be opened by another thread before the call returns, and a call that
        // ends the process does not return.
        if matches!(operation, Operation::Close | Operation::ProcessExit) {
            let process = self.threads.process_of(thread);
            self.change(operation, (host, process, thread), &values);
        }
        Some(())
    }

    /// Takes over what a finished operation changes.
    fn change(
        &mut self,
        operation: Operation,
        (host, process, thread): (u32, ProcessIndex, ThreadIndex),
        values: &Values,
    ) {
        match operation {
            Operation::None | Operation::SystemCall | Operation::Exec => {}
            Operation::Lock(_) | Operation::Release { .. } | Operation::Interrupt(_) => {}
            Operation::ProcessStart => self.start(host, process, values),
            Operation::ProcessJoin => {
                // What was recorded of it before, if anything, ended some time ago.
                for thread in self.threads.threads_of(process) {
                    self.calls.doubt(*thread);
                }
                self.threads.joined(process, values.text);
            }
            Operation::ProcessExit => {
                self.threads.exited(process, values.subject);
                self.locks.ended(process);
            }
            Operation::Forked => {
                if let Some(parent) = self.threads.process_of_pid(host, values.subject) {
                    self.threads.forked(process, parent, values.subject);
                    self.descriptors.inherited(process, parent, false);
                    self.maps.inherited(process, parent);
                }
            }
            Operation::ChildWait => {
                if let Some(child) = self.threads.process_of_pid(host, values.subject) {
                    self.waited_for(child, values.other);
                }
            }
            Operation::ThreadExit => {
                self.calls.thread_ended(thread);
                self.threads.ended(thread);
                self.descriptors.told.thread(thread);
                if self.threads.processes().get(process.0 as usize).is_some_and(Process::is_over) {
                    self.locks.ended(process);
                }
            }
            Operation::ThreadStart => self.threads.has_handle(thread, values.subject),
            Operation::ThreadName if values.text != TextIndex::NONE => {
                let name = self.texts.bytes(values.text);
                self.threads.renamed(thread, values.subject, name);
            }
            Operation::ThreadName => {}
            task if task.is_of_tasks() => self.task(task, (host, thread), values),
            of_files => self.descriptors.change(of_files, process, values, &mut self.texts),
        }
    }

    /// What a call is about that begins now.
    fn about(&self, operation: Operation, thread: ThreadIndex, values: &Values) -> About {
        if let Operation::Lock(kind) = operation {
            return About::Lock(kind, values.subject as u64);
        }
        let process = self.threads.process_of(thread);
        let file = self.descriptors.subject(operation, process, values);
        file.map_or(About::Nothing, About::File)
    }
}

/// A number for each machine, by name; traces that do not say are of one machine.
fn hosts(traces: &[Trace]) -> Vec<u32> {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    let names = traces.iter().map(|t| t.metadata().environment_text("hostname").unwrap_or(""));
    names
        .map(|name| {
            let next = numbers.len() as u32;
            *numbers.entry(name).or_insert(next)
        })
        .collect()
}
