// SPDX-License-Identifier: MIT
//! A trace that is still being written, part by part: what happened since the last look, and since
//! the first one.
//!
//! Place in the flow: a reader that follows a trace hands over a [`Part`] at a time, in the order
//! of time; the state goes on from part to part, so that a call may begin in one and end in
//! another. [`Live::picture`] says what there is to show. Whatever the trace, memory is bounded:
//! tables have a limit, and rows in which nothing happens any more make space for others (`rows`).
//!
//! A call during which events were lost, or passed over, is not measured: the exit that is found
//! for an entry may be that of a later call.

mod picture;

use rustc_hash::FxHashMap;
use state::{
    Done, LockKind, Operation, PairIndex, State, Step, ThreadIndex, ThreadKey, OTHERS_TEXT,
};
use trace::{Event, LossMessage, Merge, Message, Ns, Span, Trace, THREAD_EVENT};

use crate::analyses::since;
use crate::distribution::Distribution;
use crate::files::{outcome, Outcome};
use crate::rows::{RowIndex, Rows};
use crate::scheduling::Scheduling;

pub use picture::{CallRow, LiveEventRow, Picture, Slowest, TaskRow, WaitRow};

/// Rows of threads, and as many of processes and of events.
const TASKS_MAX: usize = 1 << 13;
/// Rows that have a distribution, of up to 30 KiB: calls, and as many locks.
const DISTRIBUTIONS_MAX: usize = 1 << 10;
/// Threads that the state has room for. It keeps those that ended, so it begins anew, and forgets
/// the calls that are open, when half of the room is used.
const THREADS_MAX: usize = 1 << 14;

const LIMITS: state::Limits =
    state::Limits { threads: THREADS_MAX, descriptors: 1 << 14, maps: 1 << 12, texts: 1 << 14 };

/// Packets of a trace that is being written, and what of them to take.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// One trace.
    pub traces: &'a [Trace],
    /// It begins where the part before ended, unless something was passed over.
    pub from: Ns,
    pub until: Ns,
    /// Whether the trace's metadata is not that of the part before.
    pub is_described_anew: bool,
    /// Whether events between the part before and this one were passed over.
    pub has_gap: bool,
    /// For each stream, where the packets begin that were not in the part before.
    pub new_from: &'a [u64],
}

impl<'a> Part<'a> {
    /// Its events and losses in the order of time, behind what its first packets have before it.
    pub fn messages(&self) -> Merge<'a> {
        let span = Span { from: Some(self.from), until: Some(self.until) };
        Merge::between(self.traces, &span)
    }

    /// Takes over what an event before the part tells: whose the packet's next events are.
    /// Return: whether the event came too late for its own part.
    pub fn pass(&self, event: &Event<'_>, state: &mut State) -> bool {
        if event.name() == THREAD_EVENT {
            let _ = state.event(event);
            return false;
        }
        let new_from = self.new_from.get(event.stream_index()).copied().unwrap_or(u64::MAX);
        event.packet().offset_bytes >= new_from
    }
}

/// What was counted of something, once since the last picture and once in all.
#[derive(Debug, Clone, Copy, Default)]
struct Tally<T> {
    now: T,
    all: T,
}

#[derive(Debug, Clone, Copy, Default)]
struct Events {
    count: u64,
    bits: u64,
}

/// The longest call of a thread or of a process.
#[derive(Debug, Clone, Copy)]
struct Longest {
    ns: u64,
    pair: u32,
}

/// What a thread did, or the threads of a process.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    events: Events,
    calls: u64,
    waits: u64,
    wait_ns: u64,
    on_cpu_ns: u64,
    ready_ns: u64,
    longest: Option<Longest>,
}

#[derive(Debug, Default)]
struct Task {
    work: Tally<Work>,
    pid: Option<i64>,
    name: String,
    /// Of the program, which is better than that of a thread.
    is_programs_name: bool,
}

#[derive(Debug, Default)]
struct Durations {
    now: u64,
    now_ns: u64,
    all: Distribution<2>,
    failures: u64,
    /// Who had the longest.
    by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Lock {
    pid: Option<i64>,
    kind: LockKind,
    address: u64,
}

/// Names by number, whatever the state numbers them: as many as the metadata has.
#[derive(Debug, Default)]
struct Names {
    numbers: FxHashMap<String, u32>,
    texts: Vec<String>,
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_string());
        self.numbers.insert(text.to_string(), number);
        number
    }

    fn text(&self, number: Option<u32>) -> String {
        let text = number.and_then(|number| self.texts.get(number as usize));
        text.map_or_else(|| OTHERS_TEXT.to_string(), Clone::clone)
    }
}

/// What is known of one generation of the state.
struct Reader {
    state: State,
    /// For each of the state's names and pairs, its number in [`Names`].
    names: Vec<u32>,
    pairs: Vec<u32>,
}

/// A trace while it is written.
pub struct Live {
    reader: Option<Reader>,
    names: Names,
    events: Rows<u32, Tally<Events>>,
    threads: Rows<ThreadKey, Task>,
    processes: Rows<i64, Task>,
    calls: Rows<u32, Durations>,
    locks: Rows<Lock, Durations>,
    scheduling: Scheduling,
    /// The thread of the latest event, which is most often that of the next.
    latest: Option<(ThreadIndex, RowIndex)>,
    /// A call that began before is not measured: events were passed over since.
    broken: Ns,
    /// Up to here it was read.
    reached: Option<Ns>,
    covered_ns: u64,
    read: u64,
    late: u64,
    unmeasured: u64,
    problems: u64,
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    pub fn new() -> Self {
        Self {
            reader: None,
            names: Names::default(),
            events: Rows::new(TASKS_MAX),
            threads: Rows::new(TASKS_MAX),
            processes: Rows::new(TASKS_MAX),
            calls: Rows::new(DISTRIBUTIONS_MAX),
            locks: Rows::new(DISTRIBUTIONS_MAX),
            scheduling: Scheduling::new(THREADS_MAX, None),
            latest: None,
            broken: Ns(i64::MIN),
            reached: None,
            covered_ns: 0,
            read: 0,
            late: 0,
            unmeasured: 0,
            problems: 0,
        }
    }

    /// Counts what happened in a part.
    pub fn read(&mut self, part: &Part<'_>) {
        let mut merge = part.messages();
        self.prepare(part, merge.stream_count());
        while let Some(message) = merge.next() {
            match message {
                Message::Event(event) => self.event(&event, part),
                Message::Loss(loss) => self.loss(&loss),
            }
        }
        self.problems += merge.problems().len() as u64;
        self.reached = Some(part.until);
        self.covered_ns = self.covered_ns.saturating_add(since(part.from, part.until));
    }

    /// Makes the state ready for the packets of a part.
    fn prepare(&mut self, part: &Part<'_>, stream_count: usize) {
        let is_full = |reader: &Reader| reader.state.threads().threads().len() >= THREADS_MAX / 2;
        let mut kept = self.reader.take().filter(|reader| !is_full(reader));
        if part.is_described_anew {
            kept = kept
                .and_then(|mut reader| reader.state.describe_again(part.traces).then_some(reader));
        }
        let is_kept = kept.is_some();
        let mut reader = kept.unwrap_or_else(|| Reader {
            state: State::new(part.traces, stream_count, &LIMITS),
            names: Vec::new(),
            pairs: Vec::new(),
        });
        reader.state.go_on(stream_count);
        if part.is_described_anew || !is_kept {
            let classes = reader.state.classes();
            let names = &mut self.names;
            reader.names = classes.names().iter().map(|name| names.number(&name.text)).collect();
            reader.pairs = classes.pairs().iter().map(|pair| names.number(&pair.name)).collect();
        }
        if !is_kept {
            self.latest = None;
        }
        if !is_kept || part.has_gap {
            self.broken = part.from;
        }
        if !is_kept || self.reached.is_none() {
            self.scheduling = Scheduling::new(THREADS_MAX, Some(part.from));
        }
        self.reader = Some(reader);
    }

    fn loss(&mut self, loss: &LossMessage<'_>) {
        let Some(reader) = &mut self.reader else { return };
        reader.state.loss(loss);
        self.scheduling.moves(&reader.state);
    }

    fn event(&mut self, event: &Event<'_>, part: &Part<'_>) {
        let Some(Reader { state, names, .. }) = &mut self.reader else { return };
        if event.is_before_span() {
            self.late += u64::from(part.pass(event, state));
            return;
        }
        while state.advance(event.time_ns()).is_some() {
            self.scheduling.moves(state);
        }
        let Some(Step { name, thread, done, .. }) = state.event(event) else { return };
        self.scheduling.moves(state);
        self.read += 1;
        let bits = event.size_bits();
        let name = names.get(name.0 as usize).copied().unwrap_or(u32::MAX);
        self.events.row(name).now.add(bits);
        let row = match self.latest {
            Some((latest, row)) if latest == thread => row,
            _ => {
                let row = thread_row(&mut self.threads, state, thread);
                self.latest = Some((thread, row));
                row
            }
        };
        self.threads.at(row).work.now.events.add(bits);
        if let Some(done) = done {
            self.finished(&done, thread, row, event.time_ns());
        }
    }

    /// A call has ended, or a wait for a lock.
    fn finished(&mut self, done: &Done, thread: ThreadIndex, row: RowIndex, at: Ns) {
        let Some(Reader { state, pairs, .. }) = &self.reader else { return };
        self.unmeasured += u64::from(done.unsure_begin.is_some());
        let (Some(pair), Some(begin)) = (done.pair, done.begin) else { return };
        if begin < self.broken {
            self.unmeasured += 1;
            return;
        }
        let ns = since(begin, at);
        let PairIndex(position) = pair;
        let pair = pairs.get(position as usize).copied().unwrap_or(u32::MAX);
        let work = &mut self.threads.at(row).work.now;
        work.calls += 1;
        work.note(Longest { ns, pair });
        let label = || state.threads().label(thread);
        let calls = self.calls.row(pair);
        let has_failed = done.operation.has_result() && outcome(&done.values) == Outcome::Failure;
        calls.failures += u64::from(has_failed);
        calls.add(ns, label);
        if let Operation::Lock(kind) = done.operation {
            let pid = state.threads().pid(state.threads().process_of(thread));
            let address = done.values.subject as u64;
            self.locks.row(Lock { pid, kind, address }).add(ns, label);
            work.waits += 1;
            work.wait_ns = work.wait_ns.saturating_add(ns);
        }
    }
}

fn thread_row(rows: &mut Rows<ThreadKey, Task>, state: &State, thread: ThreadIndex) -> RowIndex {
    let key = state.threads().threads().get(thread.0 as usize).and_then(|thread| thread.key);
    key.map_or(RowIndex::OTHERS, |key| rows.index(key))
}

impl Events {
    #[inline]
    fn add(&mut self, bits: u64) {
        self.count += 1;
        self.bits = self.bits.saturating_add(bits);
    }

    fn add_all(&mut self, other: Events) {
        self.count = self.count.saturating_add(other.count);
        self.bits = self.bits.saturating_add(other.bits);
    }
}

impl Tally<Events> {
    /// The part since the last picture becomes one of the whole.
    fn turn(&mut self) {
        self.all.add_all(std::mem::take(&mut self.now));
    }
}

impl Work {
    fn note(&mut self, call: Longest) {
        if self.longest.is_none_or(|longest| call.ns > longest.ns) {
            self.longest = Some(call);
        }
    }

    fn add(&mut self, other: &Work) {
        self.events.add_all(other.events);
        self.calls = self.calls.saturating_add(other.calls);
        self.waits = self.waits.saturating_add(other.waits);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.on_cpu_ns = self.on_cpu_ns.saturating_add(other.on_cpu_ns);
        self.ready_ns = self.ready_ns.saturating_add(other.ready_ns);
        if let Some(longest) = other.longest {
            self.note(longest);
        }
    }

    fn has_any(&self) -> bool {
        self.events.count > 0 || self.on_cpu_ns > 0
    }
}

impl Durations {
    fn add(&mut self, ns: u64, label: impl Fn() -> String) {
        if self.all.count() == 0 || ns > self.all.most_ns() {
            self.by = label();
        }
        self.all.record(ns);
        self.now += 1;
        self.now_ns = self.now_ns.saturating_add(ns);
    }
}
