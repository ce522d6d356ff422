// SPDX-License-Identifier: MIT
//! One pass over the traces: each event becomes the beginning or the end of a call, an instant or
//! the value of a counter, and the format is told.
//!
//! Place in the flow: the merge gives the events in the order of time, the state says whose they
//! are. Of what was asked for, the two ends of a call are decided one by one: an exit whose entry
//! was not asked for is a call that is known late.

use analysis::Namer;
use rustc_hash::FxHashMap;
use state::{Part, Schedule, Scheduled, State, Step, Task, ThreadIndex};
use trace::{CpuId, Event, LossKind, LossMessage, Merge, Message, Ns, Span, Trace};

use crate::arguments::{self, Argument};
use crate::counters::Counters;
use crate::error::Error;
use crate::flows::{FlowFinder, Flows};
use crate::nesting::{Ended, Nesting, Open};
use crate::sink::{Counter, End, Late, Lost, Moment, Ran, Sink};
use crate::{Done, Options};

/// Progress is reported each time that this many messages were read.
const PROGRESS_MESSAGES: u32 = 1 << 16;

pub(crate) fn follow(
    traces: &[Trace],
    options: &Options<'_>,
    sink: &mut dyn Sink,
    mut progress: impl FnMut(u64),
) -> Result<Done, Error> {
    let mut merge = Merge::between(traces, &options.span);
    let mut follower = Follower::new(traces, options, merge.stream_count(), sink)?;
    let mut until_progress = PROGRESS_MESSAGES;
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => follower.event(&event)?,
            Message::Loss(loss) => follower.loss(&loss)?,
        }
        until_progress -= 1;
        if until_progress == 0 {
            until_progress = PROGRESS_MESSAGES;
            progress(follower.state.bytes_read());
        }
    }
    let read = std::mem::take(&mut follower.read);
    let mut done = follower.finish()?;
    done.problems = merge.problems();
    if options.span == Span::ALL {
        done.miscounts = analysis::miscounts(traces, &merge, &read);
    }
    Ok(done)
}

struct Follower<'a> {
    sink: &'a mut dyn Sink,
    options: &'a Options<'a>,
    traces: &'a [Trace],
    state: State,
    namer: Namer<'a>,
    /// By name: whether it was asked for.
    names: Vec<bool>,
    nesting: Nesting,
    schedule: Schedule,
    flows: FlowFinder,
    counters: Counters,
    /// What each processor runs since when.
    running: FxHashMap<(u32, CpuId), (Ns, String)>,
    last: Ns,
    /// How many events were read of each trace.
    read: Vec<u64>,
    done: Done,
}

impl<'a> Follower<'a> {
    fn new(
        traces: &'a [Trace],
        options: &'a Options<'a>,
        stream_count: usize,
        sink: &'a mut dyn Sink,
    ) -> Result<Self, Error> {
        let state = State::new(traces, stream_count, &options.limits);
        let classes = state.classes();
        let is_asked_for = |name: &state::ClassName| {
            let pair = name.pair.and_then(|pair| classes.pair(pair));
            let names = [Some(name.text.as_str()), pair.map(|pair| pair.name.as_str())];
            let names: Vec<&str> = names.into_iter().flatten().collect();
            options.wanted.is_none_or(|wanted| wanted(&names, name.log_level))
        };
        Ok(Self {
            sink,
            options,
            traces,
            namer: Namer::of_span(traces, None, &options.span),
            names: classes.names().iter().map(is_asked_for).collect(),
            nesting: Nesting::default(),
            schedule: Schedule::new(traces),
            flows: FlowFinder::new(traces, &options.flows)?,
            counters: Counters::new(traces, classes, &options.counters)?,
            running: FxHashMap::default(),
            last: Ns(i64::MIN),
            read: vec![0; traces.len()],
            done: Done::default(),
            state,
        })
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Error> {
        // Bound: each step is the end of a loss that was told.
        while self.state.advance(event.time_ns()).is_some() {}
        let Some(step) = self.state.event(event) else { return Ok(()) };
        if event.is_before_span() {
            return Ok(());
        }
        if let Some(read) = self.read.get_mut(event.trace_index()) {
            *read += 1;
        }
        self.last = self.last.max(event.time_ns());
        let threads = self.state.threads();
        let is_named = self.names.get(step.name.0 as usize).is_some_and(|is_asked| *is_asked);
        let takes = |takes: analysis::Takes<'_>| takes(event, threads, step.thread);
        let is_taken = is_named && self.options.takes.is_none_or(takes);
        let symbols = self.traces.get(event.trace_index()).and_then(Trace::symbols);
        let arguments = match is_taken {
            true => {
                let process = threads.process_of(step.thread);
                let places = self.namer.places(event, (&self.state, process));
                arguments::of(event, symbols, places)
            }
            false => Vec::new(),
        };
        let flows = self.arrows(event, &step, is_taken);
        self.done.events += u64::from(is_taken);
        match step.part {
            Part::Entry(pair) if is_taken => {
                let open = Open { pair, begin: event.time_ns() };
                let moment = moment(&self.state, event, &step, (&arguments, flows));
                match self.nesting.begin(step.thread, open) {
                    true => self.sink.begin(&moment, pair)?,
                    false => self.sink.instant(&moment, step.name)?,
                }
            }
            Part::Exit(pair) => {
                // A slice ends here, whichever call's exit this is: it would never end otherwise.
                let begin = step.done.and_then(|done| done.begin.or(done.unsure_begin));
                let open = begin.map(|begin| Open { pair, begin });
                self.exit(event, &step, open, (&arguments, flows, is_taken))?;
            }
            Part::None if is_taken => self.plain(event, &step, (&arguments, flows))?,
            Part::Entry(_) | Part::None => {}
        }
        self.end_of_threads(event, &step)
    }

    /// The arrows of an event. Locks and wake-ups are followed whatever was asked for.
    fn arrows(&mut self, event: &Event<'_>, step: &Step, is_taken: bool) -> Flows {
        let (thread, host) = (step.thread, self.state.host(event.trace_index()));
        let flows = self.flows.of_locks(&self.state, event, step);
        if !is_taken {
            return flows;
        }
        let of_messages = self.flows.messages(event);
        let tid = self.state.threads().tid(thread);
        let head = flows.head.or(of_messages.head).or_else(|| self.flows.is_awake(host, tid));
        let mut tail = flows.tail.or(of_messages.tail);
        if let Some(Scheduled::Wake { kind, woken, .. }) = self.schedule.read(event) {
            if tid != Some(woken.tid) && self.schedule.tells_waker(kind) {
                tail = tail.or_else(|| self.flows.wakes(host, woken.tid));
            }
        }
        Flows { tail, head }
    }

    /// An exit, of the call that is `open` if its entry is known.
    fn exit(
        &mut self,
        event: &Event<'_>,
        step: &Step,
        open: Option<Open>,
        (arguments, flows, is_taken): (&[Argument], Flows, bool),
    ) -> Result<(), Error> {
        let moment = moment(&self.state, event, step, (arguments, flows));
        let Some(open) = open else {
            let is_followed = step.thread != ThreadIndex::OTHERS;
            self.done.exits_without_entry += u64::from(is_taken && is_followed);
            if is_taken {
                self.sink.instant(&moment, step.name)?;
            }
            return Ok(());
        };
        let (begin, pair) = (open.begin, open.pair);
        let late_from = match self.nesting.end(step.thread, open, event.time_ns()) {
            Ended::Nested(inside) => {
                let silent = Moment { arguments: &[], flows: Flows::default(), ..moment };
                for cut in inside {
                    self.done.cut_calls += 1;
                    self.sink.end(&silent, &cut, End::NotSeen)?;
                }
                None
            }
            Ended::Cut(from) => Some(from),
            Ended::Unknown if is_taken => Some(begin),
            Ended::Unknown => return Ok(()),
        };
        // Viewers bind an arrow's end to a slice, and let the one that began first be the tail:
        // that would be the call that waited.
        if flows.head.is_some() {
            self.sink.goes_on(&moment)?;
        }
        let moment = Moment { flows: Flows { head: None, ..flows }, ..moment };
        match late_from {
            None => self.sink.end(&moment, &open, End::Seen)?,
            Some(from) => self.sink.late(&moment, &Late { pair, begin, from })?,
        }
        Ok(())
    }

    /// An event that is by itself.
    fn plain(
        &mut self,
        event: &Event<'_>,
        step: &Step,
        (arguments, flows): (&[Argument], Flows),
    ) -> Result<(), Error> {
        let moment = moment(&self.state, event, step, (arguments, flows));
        let (values, is_all) = self.counters.of(event);
        for (number, value) in &values {
            let counter = Counter { number: *number, name: self.counters.name(*number), value };
            self.sink.counter(&moment, &counter)?;
        }
        if let Some(told) = self.schedule.read(event) {
            let (told, cpu) = (self.as_known(event, told), event.cpu());
            self.sink.scheduled(&moment, &told)?;
            if let (Scheduled::Switch { gone, comes, .. }, Some(cpu)) = (told, cpu) {
                let host = self.state.host(event.trace_index());
                let before = self.running.remove(&(host, cpu));
                if let Some((begin, label)) = before.filter(|_| gone.tid != 0) {
                    let (cpu, until) = (cpu.0, event.time_ns());
                    self.sink.ran(
                        &self.state,
                        &Ran { host, cpu, label, begin, until, is_whole: true },
                    )?;
                }
                let name = String::from_utf8_lossy(comes.name);
                let label = format!("{}[{}]", arguments::cut(&name, 16), comes.tid);
                if comes.tid != 0 {
                    self.running.insert((host, cpu), (event.time_ns(), label));
                }
            }
        }
        if !is_all {
            self.sink.instant(&moment, step.name)?;
        }
        self.lost_from_sight(event)
    }

    /// What a processor runs is not known any more from an event on.
    fn lost_from_sight(&mut self, event: &Event<'_>) -> Result<(), Error> {
        let Some(cpu) = event.cpu().filter(|_| !self.state.moves().is_empty()) else {
            return Ok(());
        };
        let host = self.state.host(event.trace_index());
        match self.state.on(host, cpu) {
            None => self.leave((host, cpu), event.time_ns()),
            Some(_) => Ok(()),
        }
    }

    /// What an event of the scheduler's says, as far as it lasts: a processor that runs a thread of
    /// which it is not known until when is shown as one that runs none.
    fn as_known<'e>(&self, event: &Event<'e>, told: Scheduled<'e>) -> Scheduled<'e> {
        match (told, event.cpu()) {
            (Scheduled::Switch { gone, state, .. }, Some(cpu))
                if self.state.on(self.state.host(event.trace_index()), cpu).is_none() =>
            {
                Scheduled::Switch { gone, state, comes: Task::default() }
            }
            _ => told,
        }
    }

    /// A thread that ends, or becomes another program, ends what it is in; a process that ends,
    /// what all of its threads are in.
    fn end_of_threads(&mut self, event: &Event<'_>, step: &Step) -> Result<(), Error> {
        let own = moment(&self.state, event, step, (&[], Flows::default()));
        let cut = self.state.calls().cut().iter().map(|(thread, _)| *thread);
        for thread in cut.chain([step.thread]) {
            let is_in_none = self.state.calls().innermost(thread).is_none();
            if !is_in_none || !self.nesting.is_in_any(thread) {
                continue;
            }
            let cpu = own.cpu.filter(|_| thread == step.thread);
            let moment = Moment { thread, cpu, ..own };
            for open in self.nesting.over(thread) {
                self.done.cut_calls += 1;
                self.sink.end(&moment, &open, End::NotSeen)?;
            }
        }
        Ok(())
    }

    fn loss(&mut self, message: &LossMessage<'_>) -> Result<(), Error> {
        self.state.loss(message);
        self.flows.forget();
        let loss = message.loss;
        match loss.kind {
            LossKind::Events => self.done.lost_events += loss.count,
            LossKind::Packets => self.done.lost_packets += loss.count,
        }
        let host = self.state.host(message.trace_index);
        let until = message.until_ns().or(message.time_ns()).unwrap_or(Ns(0));
        // The packet that tells of a loss may end after its last event.
        self.last = self.last.max(message.time_ns().unwrap_or(Ns(i64::MIN)));
        let begin = message.begin_ns().filter(|begin| *begin <= until);
        let is_here = |cpu: CpuId| loss.cpu.is_none_or(|lost| lost == cpu);
        let mut gone: Vec<(u32, CpuId)> = self.running.keys().copied().collect();
        gone.retain(|(of, cpu)| *of == host && is_here(*cpu));
        for key in gone {
            self.leave(key, begin.unwrap_or(until))?;
        }
        let causes = loss.causes.iter().map(|(cause, count)| (cause.to_string(), *count));
        let lost = Lost {
            host,
            cpu: loss.cpu.map(|cpu| cpu.0),
            kind: loss.kind,
            count: loss.count,
            causes: causes.collect(),
            begin,
            until,
        };
        Ok(self.sink.lost(&self.state, &lost)?)
    }

    /// What a processor runs was not seen to leave it; until then it ran.
    fn leave(&mut self, key: (u32, CpuId), until: Ns) -> Result<(), Error> {
        if let Some((begin, label)) = self.running.remove(&key) {
            let (host, cpu, until) = (key.0, key.1 .0, until.max(begin));
            self.sink.ran(&self.state, &Ran { host, cpu, label, begin, until, is_whole: false })?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Done, Error> {
        let at = if self.last == Ns(i64::MIN) { Ns(0) } else { self.last };
        for thread in self.nesting.threads() {
            for open in self.nesting.over(thread) {
                let (cpu, state, flows) = (None, &self.state, Flows::default());
                let moment = Moment { at, thread, cpu, state, arguments: &[], flows };
                self.done.open_calls += 1;
                self.sink.end(&moment, &open, End::Open)?;
            }
        }
        let mut running: Vec<(u32, CpuId)> = self.running.keys().copied().collect();
        running.sort_unstable_by_key(|(host, cpu)| (*host, cpu.0));
        for key in running {
            self.leave(key, at)?;
        }
        self.sink.finish(&self.state, at)?;
        self.done.left_out = self.sink.left_out();
        self.done.without_room = self.state.calls().without_room();
        self.done.notes = self.namer.notes();
        Ok(self.done)
    }
}

fn moment<'m>(
    state: &'m State,
    event: &Event<'_>,
    step: &Step,
    (arguments, flows): (&'m [Argument], Flows),
) -> Moment<'m> {
    let (at, thread, cpu) = (event.time_ns(), step.thread, event.cpu());
    Moment { at, thread, cpu, state, arguments, flows }
}
