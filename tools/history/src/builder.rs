// SPDX-License-Identifier: MIT
//! One pass over the events, in which intervals are gathered and written.
//!
//! Place in the flow: the state goes from event to event; what each may have changed is compared
//! with what went on before (`facts`), and what is over becomes an interval. Intervals are kept
//! until there are enough for a segment, so that memory is bounded by that, by the tracks that
//! there may be, and by the state's own limits.

use std::collections::BTreeMap;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};

use rustc_hash::{FxHashMap, FxHashSet};
use state::{Change, Ending, Flows, Limits, ProcessIndex, Read, Schedule, State};
use trace::{Merge, Message, Ns, Problem, Trace};

use crate::facts::{groups, tell, Fact, Group, Queue};
use crate::far::{Made, Maker, FEW_INTERVALS};
use crate::flows::Tail as FlowTail;
use crate::history::Lost;
use crate::names::Names;
use crate::segment::{write, Closed, Going, Segment};
use crate::storage::Sink;
use crate::tail::Tail;
use crate::track::{Kind, Subject, Track};
use crate::value::{Interval, Value};

/// Progress is told each time that this many messages were read.
const PROGRESS_MESSAGES: u32 = 1 << 17;
/// Problems that are kept as text; the rest are counted.
const MOST_PROBLEMS: usize = 20;

/// How much is remembered while a history is built, and in it.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Of the state.
    pub state: Limits,
    /// Tracks; what has none is left out, and counted.
    pub tracks: usize,
    /// Intervals of a segment.
    pub segment: usize,
    /// Losses that are told one by one.
    pub losses: usize,
    /// Traces of fewer bytes leave no file: they are read faster than an index of theirs is found.
    pub least_bytes: u64,
    /// Intervals from which a file has a picture from afar: fewer are read as quickly.
    pub far: u64,
}

impl Default for Bounds {
    /// Together, a few hundred megabytes at most.
    fn default() -> Self {
        let (state, tracks, segment) = (Limits::default(), 1 << 20, 1 << 19);
        Self { state, tracks, segment, losses: 1 << 14, least_bytes: 1 << 20, far: FEW_INTERVALS }
    }
}

/// A state that goes on.
#[derive(Debug, Clone, Copy)]
struct Open {
    value: Value,
    since: i64,
    key: i64,
}

struct Row {
    track: Track,
    open: Option<Open>,
    /// Where the last interval ended.
    ended: i64,
}

pub(crate) struct Builder<'s, 'p> {
    pub flows: Flows<FlowTail>,
    pub schedule: Schedule,
    sink: &'s mut Sink<'p>,
    bounds: Bounds,
    numbers: FxHashMap<Track, u32>,
    rows: Vec<Row>,
    /// Tracks of calls and interrupts that are open, by what they are of.
    members: FxHashMap<Group, Vec<Track>>,
    descriptors: FxHashMap<ProcessIndex, FxHashSet<i32>>,
    /// Of locks that threads wait for.
    queues: FxHashMap<Subject, Queue>,
    /// Locks of which the queue has changed.
    queued: Vec<Subject>,
    /// Locks, and when a state of each began last.
    locks: BTreeMap<Subject, Ns>,
    closed: Vec<Closed>,
    /// Where they are told that a picture from afar is made of: with whether they go on.
    far: Option<SyncSender<(Vec<Closed>, bool)>>,
    segments: Vec<Segment>,
    now: i64,
    revised: i64,
    left_out: u64,
    changed: Vec<Group>,
    facts: Vec<Fact>,
}

/// Reads the traces once. The result lies in the sink, but for the tail and for what it looks like
/// from afar.
pub(crate) fn build(
    traces: &[Trace],
    sink: &mut Sink<'_>,
    bounds: Bounds,
    progress: &mut dyn FnMut(u64),
) -> std::io::Result<(Tail, Option<Made>)> {
    let span = span_of(traces).filter(|_| bounds.far < u64::MAX);
    let Some(span) = span else { return Ok((pass(traces, sink, bounds, None, progress)?, None)) };
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(0);
        let making = scope.spawn(move || make_far(span, receiver));
        let tail = pass(traces, sink, bounds, Some(sender), progress)?;
        let is_long = tail.interval_count() >= bounds.far;
        let is_in_span = span.0 <= tail.begin && tail.end < span.1;
        // Whoever makes one later does as well; it is no reason to have no index.
        let made = making.join().ok().flatten();
        Ok((tail, made.filter(|_| is_in_span && is_long)))
    })
}

/// The time that the packets of traces say they have; `None` where one of them does not.
fn span_of(traces: &[Trace]) -> Option<(Ns, Ns)> {
    let mut span: Option<(Ns, Ns)> = None;
    let mut is_told = true;
    let files = traces.iter().flat_map(|trace| trace.files().iter().map(move |file| (trace, file)));
    for (trace, file) in files {
        trace.each_packet(file, |packet| {
            let times = packet.begin.zip(packet.end);
            is_told &= times.is_some();
            if let Some((begin, end)) = times {
                let known = span.get_or_insert((begin, end));
                *known = (known.0.min(begin), known.1.max(end));
            }
            is_told
        });
    }
    span.filter(|_| is_told).map(|(begin, end)| (begin, Ns(end.0.saturating_add(1))))
}

fn make_far(span: (Ns, Ns), receiver: Receiver<(Vec<Closed>, bool)>) -> Option<Made> {
    let mut maker = Maker::of(span);
    for (intervals, goes_on) in receiver {
        for Closed { track, begin, end, value } in intervals {
            maker.add(track, &Interval { begin: Ns(begin), end: Ns(end), goes_on, value });
        }
    }
    maker.finish()
}

fn pass(
    traces: &[Trace],
    sink: &mut Sink<'_>,
    bounds: Bounds,
    far: Option<SyncSender<(Vec<Closed>, bool)>>,
    progress: &mut dyn FnMut(u64),
) -> std::io::Result<Tail> {
    let mut merge = Merge::over(traces);
    let mut state = State::new(traces, merge.stream_count(), &bounds.state);
    state.watch();
    state.keep_past();
    let mut builder = Builder { far, ..Builder::new(traces, sink, bounds) };
    let mut losses = Vec::new();
    let mut counted = Counted::new(traces);
    let mut first = None;
    let mut until_progress = PROGRESS_MESSAGES;
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                let at = event.time_ns();
                first.get_or_insert(at.0);
                while let Some(over) = state.advance(at) {
                    builder.takes(&mut state, over.0);
                }
                let step = state.event(&event);
                builder.takes(&mut state, at.0);
                if let Some(step) = step {
                    counted.event(event.trace_index());
                    builder.flow(&state, &event, &step);
                }
            }
            Message::Loss(loss) => {
                state.loss(&loss);
                counted.loss(loss.trace_index, loss.loss.count);
                let at = loss.begin_ns().or(loss.time_ns()).map_or(builder.now, |at| at.0);
                builder.takes(&mut state, at);
                note(&mut losses, Lost::of(&loss, state.host(loss.trace_index)), bounds.losses);
            }
        }
        if builder.closed.len() >= bounds.segment {
            builder.flush()?;
        }
        until_progress -= 1;
        if until_progress == 0 {
            until_progress = PROGRESS_MESSAGES;
            progress(state.bytes_read());
        }
    }
    builder.finish(&mut state)?;
    let (begin, end) = (first.unwrap_or(0), builder.now.max(first.unwrap_or(0)));
    let tracks = builder.rows.iter().map(|row| row.track).collect();
    Ok(Tail {
        names: Names::of(&state, traces, builder.locks.into_iter()),
        tracks,
        segments: builder.segments,
        losses,
        begin: Ns(begin),
        end: Ns(end),
        left_out: builder
            .left_out
            .saturating_add(state.locks().left_out())
            .saturating_add(state.calls().without_room()),
        far: None,
        problems: counted.problems(&merge.problems()),
        read: counted.read,
    })
}

/// What was read of each trace.
struct Counted<'t> {
    traces: &'t [Trace],
    read: Vec<Read>,
}

impl<'t> Counted<'t> {
    fn new(traces: &'t [Trace]) -> Self {
        Self { traces, read: vec![Read::default(); traces.len()] }
    }

    fn event(&mut self, trace_index: usize) {
        self.read.get_mut(trace_index).into_iter().for_each(|read| read.events += 1);
    }

    fn loss(&mut self, trace_index: usize, count: u64) {
        let read = self.read.get_mut(trace_index);
        read.into_iter().for_each(|read| read.lost = read.lost.saturating_add(count));
    }

    /// Counts problems, and puts the first into words.
    fn problems(&mut self, problems: &[Problem]) -> Vec<String> {
        for (trace, read) in self.traces.iter().zip(&mut self.read) {
            let of_trace = problems.iter().filter(|problem| problem.file.starts_with(trace.path()));
            read.problems = of_trace.count() as u64;
        }
        problems.iter().take(MOST_PROBLEMS).map(ToString::to_string).collect()
    }
}

/// Remembers a loss; the last one that is remembered stands for all after it.
fn note(losses: &mut Vec<Lost>, lost: Lost, limit: usize) {
    let is_full = losses.len() >= limit.max(1);
    match losses.last_mut() {
        Some(last) if is_full => last.join(&lost),
        _ => losses.push(lost),
    }
}

impl<'s, 'p> Builder<'s, 'p> {
    fn new(traces: &[Trace], sink: &'s mut Sink<'p>, bounds: Bounds) -> Self {
        Self {
            flows: Flows::default(),
            schedule: Schedule::new(traces),
            sink,
            bounds,
            numbers: FxHashMap::default(),
            rows: Vec::new(),
            members: FxHashMap::default(),
            descriptors: FxHashMap::default(),
            queues: FxHashMap::default(),
            queued: Vec::new(),
            locks: BTreeMap::new(),
            closed: Vec::new(),
            far: None,
            segments: Vec::new(),
            now: i64::MIN,
            revised: i64::MAX,
            left_out: 0,
            changed: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Takes over what changed in the state at a time.
    fn takes(&mut self, state: &mut State, at: i64) {
        self.now = self.now.max(at);
        let mut changed = std::mem::take(&mut self.changed);
        for moved in state.moves() {
            changed.push(Group::Place(moved.thread));
        }
        state.changes(|change: Change| changed.extend(groups(change)));
        for group in changed.drain(..) {
            self.take(state, group, at);
        }
        self.changed = changed;
        while let Some(lock) = self.queued.pop() {
            match self.queues.get(&lock).and_then(|queue| queue.fact(lock)) {
                Some(fact) => self.goes_on(&fact, at),
                None => {
                    self.queues.remove(&lock);
                    self.is_over(Track::new(lock, Kind::Queue), at);
                }
            }
        }
    }

    fn take(&mut self, state: &State, group: Group, at: i64) {
        let mut facts = std::mem::take(&mut self.facts);
        tell(state, group, &mut facts);
        match group {
            Group::Place(thread) => self.one((Subject::Thread(thread), Kind::Place), &facts, at),
            Group::Name(thread) => self.one((Subject::Thread(thread), Kind::Name), &facts, at),
            Group::Runs(host, cpu) => {
                self.one((Subject::Cpu { host, cpu }, Kind::Runs), &facts, at);
            }
            Group::Life(process) => self.one((Subject::Process(process), Kind::Life), &facts, at),
            Group::Descriptor(process, fd) => {
                self.one((Subject::Descriptor { process, fd }, Kind::Open), &facts, at);
                let known = self.descriptors.entry(process).or_default();
                if facts.is_empty() {
                    known.remove(&fd);
                } else {
                    known.insert(fd);
                }
            }
            Group::Descriptors(process) => self.descriptors(process, &facts, at),
            Group::Calls(_) | Group::Interrupts(..) => self.several(group, &facts, at),
            Group::Lock(_) => {
                self.learn((group, &facts), state.locks().ending());
                self.several(group, &facts, at);
            }
        }
        facts.clear();
        self.facts = facts;
    }

    fn one(&mut self, (subject, kind): (Subject, Kind), facts: &[Fact], at: i64) {
        let track = Track::new(subject, kind);
        match facts.first() {
            Some(fact) => self.goes_on(fact, at),
            None if !kind.is_always() => self.is_over(track, at),
            None if self.numbers.contains_key(&track) => {
                self.goes_on(&Fact { track, value: Value::Unknown, key: 0 }, at);
            }
            None => {}
        }
    }

    fn several(&mut self, group: Group, facts: &[Fact], at: i64) {
        let members = self.members.entry(group).or_default();
        let mut before = std::mem::take(members);
        members.extend(facts.iter().map(|fact| fact.track));
        for track in before.drain(..) {
            if !facts.iter().any(|fact| fact.track == track) {
                self.is_over(track, at);
            }
        }
        facts.iter().for_each(|fact| self.goes_on(fact, at));
    }

    /// What the event that ends a state of a lock tells of that state. `facts`: what is so now.
    fn learn(&mut self, (group, facts): (Group, &[Fact]), ending: Ending) {
        let Self { members, numbers, rows, .. } = self;
        for track in members.get(&group).into_iter().flatten() {
            let number = numbers.get(track).and_then(|number| rows.get_mut(*number as usize));
            let Some(open) = number.and_then(|row| row.open.as_mut()) else { continue };
            if facts.iter().any(|fact| (fact.track, fact.key) == (*track, open.key)) {
                continue;
            }
            match (&mut open.value, ending) {
                (Value::Held { by, is_certain }, Ending::LetGo(thread)) => {
                    *is_certain = thread == *by;
                }
                // When it let the lock go, no event told.
                (Value::Held { is_certain, .. }, Ending::Got) => *is_certain = false,
                (Value::Unheld { had_by, .. }, Ending::LetGo(thread)) => *had_by = Some(thread),
                _ => {}
            }
        }
    }

    fn descriptors(&mut self, process: ProcessIndex, facts: &[Fact], at: i64) {
        let number = |fact: &Fact| match fact.track.subject {
            Subject::Descriptor { fd, .. } => Some(fd),
            _ => None,
        };
        let now: FxHashSet<i32> = facts.iter().filter_map(number).collect();
        let before = self.descriptors.remove(&process).unwrap_or_default();
        for fd in before.difference(&now) {
            let subject = Subject::Descriptor { process, fd: *fd };
            self.is_over(Track::new(subject, Kind::Open), at);
        }
        facts.iter().for_each(|fact| self.goes_on(fact, at));
        self.descriptors.insert(process, now);
    }

    /// The number of a track, if there is space.
    fn number(&mut self, track: Track) -> Option<u32> {
        if let Some(number) = self.numbers.get(&track) {
            return Some(*number);
        }
        if self.rows.len() >= self.bounds.tracks {
            self.left_out += 1;
            return None;
        }
        let number = self.rows.len() as u32;
        self.rows.push(Row { track, open: None, ended: i64::MIN });
        self.numbers.insert(track, number);
        Some(number)
    }

    fn goes_on(&mut self, fact: &Fact, at: i64) {
        let Some(number) = self.number(fact.track) else { return };
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        match &row.open {
            Some(open) if open.value == fact.value && open.key == fact.key => return,
            Some(_) => self.close(number, at),
            None => {}
        }
        if let Some(row) = self.rows.get_mut(number as usize) {
            let (value, key) = (fact.value, fact.key);
            row.open = Some(Open { value, since: at.max(row.ended), key });
            if matches!(fact.track.subject, Subject::Lock { .. }) {
                self.locks.insert(fact.track.subject, Ns(at));
            }
            if fact.track.kind == Kind::Waiter {
                self.queues.entry(fact.track.subject).or_default().joins(&value);
                self.queued.push(fact.track.subject);
            }
        }
    }

    /// An interval that is known when it is over. Where the track has one that ended later than
    /// this one begins, it is left out.
    pub fn late(&mut self, track: Track, (begin, end): (i64, i64), value: Value) {
        let Some(number) = self.number(track) else { return };
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if begin < row.ended {
            self.left_out += 1;
            return;
        }
        row.ended = end;
        self.closed.push(Closed { track: number, begin, end, value });
    }

    fn is_over(&mut self, track: Track, at: i64) {
        if let Some(number) = self.numbers.get(&track) {
            self.close(*number, at);
        }
    }

    fn close(&mut self, number: u32, at: i64) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        let Some(Open { value, since, .. }) = row.open.take() else { return };
        let end = at.max(since);
        row.ended = end;
        let Track { subject, kind, .. } = row.track;
        if let (Kind::Waiter, Some(queue)) = (kind, self.queues.get_mut(&subject)) {
            queue.leaves(&value);
            self.queued.push(subject);
        }
        if end < self.now {
            self.revised = self.revised.min(end);
        }
        if end > since || kind.keeps_empty() {
            self.closed.push(Closed { track: number, begin: since, end, value });
        }
    }

    /// Writes what has ended as a segment.
    fn flush(&mut self) -> std::io::Result<()> {
        let going = self.rows.iter().zip(0..);
        let going = going.filter_map(|(row, track)| {
            let Open { value, since, .. } = row.open?;
            Some(Going { track, since, value })
        });
        let going: Vec<Going> = going.collect();
        let times = (self.now, self.revised);
        self.segments.push(write(self.sink, &mut self.closed, &going, times)?);
        match &self.far {
            Some(far) => {
                let next = Vec::with_capacity(self.closed.len());
                let mut closed = std::mem::replace(&mut self.closed, next);
                closed.retain(|closed| self.is_drawn(closed.track));
                // Nobody is there any more to draw it: then there is no picture.
                let _ = far.send((closed, false));
            }
            None => self.closed.clear(),
        }
        self.revised = i64::MAX;
        Ok(())
    }

    /// No event comes any more.
    fn finish(&mut self, state: &mut State) -> std::io::Result<()> {
        state.ends(Ns(i64::MAX));
        self.takes(state, self.now);
        self.flush()?;
        self.tell_going();
        Ok(())
    }

    /// Whether a track is among those of a picture from afar.
    fn is_drawn(&self, track: u32) -> bool {
        self.rows.get(track as usize).is_some_and(|row| !row.track.kind.is_known_late())
    }

    /// Tells what goes on at the end to whoever draws it from afar.
    fn tell_going(&self) {
        let Some(far) = &self.far else { return };
        let going = self.rows.iter().zip(0..).filter(|(_, track)| self.is_drawn(*track));
        let going = going.filter_map(|(row, track)| {
            let Open { value, since, .. } = row.open?;
            Some(Closed { track, begin: since, end: self.now.max(since), value })
        });
        let _ = far.send((going.collect(), true));
    }
}
