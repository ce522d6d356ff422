// SPDX-License-Identifier: MIT
//! What the state says of each track at its moment.
//!
//! Place in the flow: the builder asks here for what an event may have changed, and tests ask for
//! all: what a history says of a moment is what these functions say of the state at that moment.

use std::collections::BTreeMap;

use state::{
    About, Change, Lock, LockKind, OpenCall, Operation, Place, ProcessIndex, State, ThreadIndex,
    ThreadKey,
};
use trace::CpuId;

use crate::track::{Kind, Subject, Track};
use crate::value::{Call, Value};

/// Calls in one another of which a history tells; deeper ones are not in it.
pub(crate) const DEPTH: usize = 64;
/// Open calls that are looked at to find those.
const LOOKED_AT: usize = 4 * DEPTH;

/// A state at one moment. `key` tells apart equal states that are not one: when a call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fact {
    pub track: Track,
    pub value: Value,
    pub key: i64,
}

fn fact(subject: Subject, kind: Kind, value: Value) -> Fact {
    Fact { track: Track::new(subject, kind), value, key: 0 }
}

/// The tracks that a change is about, as a group: what of them is not told is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Place(ThreadIndex),
    Calls(ThreadIndex),
    Name(ThreadIndex),
    Runs(u32, u32),
    Interrupts(u32, u32),
    Life(ProcessIndex),
    Descriptor(ProcessIndex, i32),
    Descriptors(ProcessIndex),
    Lock(Lock),
}

/// The groups that a change may be of.
pub(crate) fn groups(change: Change) -> impl Iterator<Item = Group> {
    let [first, second, third] = match change {
        Change::Place(thread) => [Some(Group::Place(thread)), None, None],
        Change::Calls(thread) => [Some(Group::Calls(thread)), Some(Group::Place(thread)), None],
        Change::Thread(thread) => {
            [Some(Group::Name(thread)), Some(Group::Place(thread)), Some(Group::Calls(thread))]
        }
        Change::Processor(host, cpu) => [Some(Group::Runs(host, cpu)), None, None],
        Change::Interrupts(host, cpu) => [Some(Group::Interrupts(host, cpu)), None, None],
        Change::Process(process) => [Some(Group::Life(process)), None, None],
        Change::Descriptor(process, fd) => [Some(Group::Descriptor(process, fd)), None, None],
        Change::Descriptors(process) => [Some(Group::Descriptors(process)), None, None],
        Change::Lock(lock) => [Some(Group::Lock(lock)), None, None],
    };
    [first, second, third].into_iter().flatten()
}

/// What the state says of a group.
pub(crate) fn tell(state: &State, group: Group, out: &mut Vec<Fact>) {
    match group {
        Group::Place(thread) => out.extend(place(state, thread)),
        Group::Calls(thread) => calls(state, thread, out),
        Group::Name(thread) => out.extend(name(state, thread)),
        Group::Runs(host, cpu) => out.extend(runs(state, host, cpu)),
        Group::Interrupts(host, cpu) => interrupts(state, host, cpu, out),
        Group::Life(process) => out.extend(life(state, process)),
        Group::Descriptor(process, fd) => {
            let known = state.descriptors().known(process, fd);
            let known = known.filter(|_| !is_over(state, process));
            let subject = Subject::Descriptor { process, fd };
            out.extend(known.map(|file| fact(subject, Kind::Open, Value::Open(file))));
        }
        Group::Lock(lock) => holders(state, lock, out),
        Group::Descriptors(process) => {
            let open = state.descriptors().open(process).filter(|_| !is_over(state, process));
            out.extend(open.map(|(fd, file)| {
                fact(Subject::Descriptor { process, fd }, Kind::Open, Value::Open(file))
            }));
        }
    }
}

/// What the state says of everything at its moment, in the order of tracks: what a history of the
/// same traces says of that time.
pub fn now(state: &State) -> Vec<(Track, Value)> {
    all(state).into_iter().map(|fact| (fact.track, fact.value)).collect()
}

fn all(state: &State) -> Vec<Fact> {
    let mut out = Vec::new();
    for thread in (1..state.threads().threads().len() as u32).map(ThreadIndex) {
        for group in [Group::Place(thread), Group::Calls(thread), Group::Name(thread)] {
            tell(state, group, &mut out);
        }
    }
    for (host, cpu, _) in state.processors() {
        tell(state, Group::Runs(host, cpu.0), &mut out);
    }
    for (host, cpu, _) in state.all_interrupts() {
        tell(state, Group::Interrupts(host, cpu.0), &mut out);
    }
    for process in (1..state.threads().processes().len() as u32).map(ProcessIndex) {
        tell(state, Group::Life(process), &mut out);
        tell(state, Group::Descriptors(process), &mut out);
    }
    for lock in state.locks().all() {
        tell(state, Group::Lock(lock), &mut out);
    }
    let mut queues: BTreeMap<Subject, Queue> = BTreeMap::new();
    for Fact { track, value, .. } in &out {
        if track.kind == Kind::Waiter {
            queues.entry(track.subject).or_default().joins(value);
        }
    }
    out.extend(queues.into_iter().filter_map(|(lock, queue)| queue.fact(lock)));
    out.sort_by_key(|fact| fact.track);
    out
}

/// The threads that wait for a lock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Queue {
    waiting: u32,
    unsure: u32,
}

impl Queue {
    fn of(&mut self, awaited: &Value) -> Option<&mut u32> {
        match awaited {
            Value::Awaited { may_be_over: false, .. } => Some(&mut self.waiting),
            Value::Awaited { .. } => Some(&mut self.unsure),
            _ => None,
        }
    }

    pub fn joins(&mut self, awaited: &Value) {
        self.of(awaited).into_iter().for_each(|count| *count = count.saturating_add(1));
    }

    pub fn leaves(&mut self, awaited: &Value) {
        self.of(awaited).into_iter().for_each(|count| *count = count.saturating_sub(1));
    }

    pub fn fact(self, lock: Subject) -> Option<Fact> {
        let Self { waiting, unsure } = self;
        let value = Value::Queued { waiting, unsure };
        (waiting > 0 || unsure > 0).then(|| fact(lock, Kind::Queue, value))
    }
}

/// Conditions, semaphores and barriers are waited for, and held by nobody.
fn holders(state: &State, lock: Lock, out: &mut Vec<Fact>) {
    let Lock { process, kind, address } = lock;
    let known = state.locks().of(&lock).filter(|held| held.is_told());
    let Some(held) = known.filter(|_| matches!(kind, LockKind::Mutex | LockKind::Rwlock)) else {
        return;
    };
    let subject = Subject::Lock { process, kind, address };
    let first = out.len();
    out.extend(held.by().map(|(lane, holding)| {
        let value = Value::Held { by: holding.thread, is_certain: holding.is_certain };
        Fact { track: Track { subject, kind: Kind::Holder, lane }, value, key: holding.since.0 }
    }));
    if out.len() == first {
        let (let_go_by, key) = held.let_go().map_or((None, 0), |(by, at)| (Some(by), at.0));
        let value = Value::Unheld { let_go_by, had_by: None };
        out.push(Fact { track: Track::new(subject, Kind::Holder), value, key });
    }
}

fn place(state: &State, thread: ThreadIndex) -> Option<Fact> {
    let known = state.threads().threads().get(thread.0 as usize)?;
    let value = match state.stay(thread).place {
        Place::Running(cpu) => Value::Running(cpu.0),
        Place::Over => Value::Over,
        _ if known.has_ended => Value::Over,
        Place::Unknown => return None,
        Place::Waiting => Value::Waiting,
        Place::Off(kind) => Value::Off(kind, open_calls(state, thread).last().map(call)),
    };
    Some(fact(Subject::Thread(thread), Kind::Place, value))
}

fn call(open: &OpenCall) -> Call {
    Call { pair: open.pair, about: open.about, may_be_over: open.may_be_over }
}

/// The calls that a thread made itself: what interrupts it is its CPU's.
fn open_calls(state: &State, thread: ThreadIndex) -> impl Iterator<Item = &OpenCall> {
    let is_own = |call: &&OpenCall| {
        let operation = state.classes().pair(call.pair).map(|pair| pair.operation);
        !matches!(operation, Some(Operation::Interrupt(_)))
    };
    state.calls().of(thread).take(LOOKED_AT).filter(is_own)
}

fn calls(state: &State, thread: ThreadIndex, out: &mut Vec<Fact>) {
    let first = out.len();
    let process = state.threads().process_of(thread);
    for (lane, open) in open_calls(state, thread).take(DEPTH).enumerate() {
        let (key, lane) = (open.begin.0, lane as u32);
        let track = Track { subject: Subject::Thread(thread), kind: Kind::Call, lane };
        out.push(Fact { track, value: Value::In(call(open)), key });
        if let About::Lock(kind, address) = open.about {
            let subject = Subject::Lock { process, kind, address };
            let track = Track { subject, kind: Kind::Waiter, lane: thread.0 };
            let value = Value::Awaited { by: thread, may_be_over: open.may_be_over };
            if !out.iter().skip(first).any(|known| known.track == track) {
                out.push(Fact { track, value, key });
            }
        }
    }
}

fn is_over(state: &State, process: ProcessIndex) -> bool {
    let known = state.threads().processes().get(process.0 as usize);
    known.is_some_and(|process| process.is_over())
}

fn name(state: &State, thread: ThreadIndex) -> Option<Fact> {
    let known = state.threads().threads().get(thread.0 as usize)?;
    let lives = !state.threads().is_over(thread) && known.key.is_some();
    lives.then(|| fact(Subject::Thread(thread), Kind::Name, Value::Named(known.name)))
}

fn runs(state: &State, host: u32, cpu: u32) -> Option<Fact> {
    let thread = state.on(host, CpuId(cpu))?;
    let key = state.threads().threads().get(thread.0 as usize)?.key;
    let value = match key {
        Some(ThreadKey::Idle { .. }) => Value::Idle,
        Some(_) => Value::Runs(thread),
        // One of many that found no space.
        None => return None,
    };
    Some(fact(Subject::Cpu { host, cpu }, Kind::Runs, value))
}

fn interrupts(state: &State, host: u32, cpu: u32, out: &mut Vec<Fact>) {
    let first = out.len();
    for (lane, interrupt) in state.interrupts(host, CpuId(cpu)).iter().enumerate() {
        let state::Interrupt { kind, number, name, begin, .. } = *interrupt;
        let (key, lane) = (begin.0, lane as u32);
        let track = Track { subject: Subject::Cpu { host, cpu }, kind: Kind::Interrupt, lane };
        out.push(Fact { track, value: Value::Interrupted { kind, number, name }, key });
        let subject = Subject::Interrupt { host, kind, number };
        let track = Track { subject, kind: Kind::Serves, lane: cpu };
        if !out.iter().skip(first).any(|known| known.track == track) {
            out.push(Fact { track, value: Value::Served(cpu), key });
        }
    }
}

fn life(state: &State, process: ProcessIndex) -> Option<Fact> {
    let known = state.threads().processes().get(process.0 as usize)?;
    known.pid?;
    let value = if known.is_over() {
        Value::Ended(known.exit)
    } else {
        let first = state.threads().threads().get(known.first().0 as usize);
        let name = first.map(|thread| thread.name).unwrap_or_default();
        Value::Lives { parent_pid: known.parent_pid, program: known.path, name }
    };
    Some(fact(Subject::Process(process), Kind::Life, value))
}
