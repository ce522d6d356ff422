// SPDX-License-Identifier: MIT
//! What a history says of random traces is what the state says that is stepped to the same moment.
//!
//! Place in the flow: tests only. The traces are of a made-up machine on which everything happens
//! that the state follows, in any order, also in orders that no kernel makes, and with losses.

use std::collections::BTreeMap;

use state::State;
use testkit::program::{Number, Program, Text, Value as Field, Who};
use testkit::Random;
use trace::{Merge, Message, Ns, Span, Trace};

use crate::{now, Bounds, History, Interval, Known, Track, Value};

const NAMES: [&str; 4] = ["sh", "cat", "server", "worker"];
const PATHS: [&str; 4] = ["/etc/hosts", "/tmp/x", "/bin/cat", ""];
const SEGMENT: usize = 40;

fn who(random: &mut Random) -> Who {
    let tid = 10 + random.below(9) as i64;
    (10 + (tid - 10) / 3 * 3, tid, NAMES[random.below(4) as usize])
}

/// An event by name, with fields that have a meaning for it.
fn happens(program: &mut Program, at: u64, random: &mut Random) {
    let (by, other) = (who(random), who(random));
    let idle = (0, 0, "swapper");
    let mut small = |limit| Number(random.below(limit) as i64);
    let (fd, address, state) = (small(6), small(3), small(3));
    let (line, result, status) = (small(3), small(7), small(300));
    let (flags, choice) = (small(2), random.below(32));
    let path = Text(PATHS[random.below(4) as usize]);
    let cpu = random.below(3) as u32;
    let mut event = |name, fields: &[(&str, Field)]| program.event(at, cpu, by, name, fields);
    match choice {
        0..=4 => {
            let (prev, next) = if choice == 0 { (idle, by) } else { (by, other) };
            let next = if choice == 1 { idle } else { next };
            let fields = [
                ("prev_comm", Text(prev.2)),
                ("prev_pid", Number(prev.1)),
                ("prev_state", state),
                ("next_comm", Text(next.2)),
                ("next_pid", Number(next.1)),
            ];
            event("sched:sched_switch", &fields);
        }
        5 | 6 => {
            event("sched:sched_wakeup", &[("comm", Text(other.2)), ("pid", Number(other.1))]);
        }
        7 => event("irq:irq_handler_entry", &[("irq", line), ("name", Text("disk"))]),
        8 => event("irq:irq_handler_exit", &[("irq", line)]),
        9 => event("irq:softirq_entry", &[("vec", line)]),
        10 => event("irq:softirq_exit", &[("vec", line)]),
        11 => event("io:read_entry", &[("fd", fd)]),
        12 => event("io:read_exit", &[("result", result)]),
        13 => event("io:open_entry", &[("path", path), ("flags", flags)]),
        14 => event("io:open_exit", &[("result", fd)]),
        15 => event("mutex:wait_entry", &[("mutex", address)]),
        16 => event("mutex:wait_exit", &[("mutex", address)]),
        17 => event("io:dup2", &[("fd", fd), ("result", line)]),
        18 => event("io:close", &[("fd", fd), ("result", Number(0))]),
        19 => event("process:forked", &[("parent_pid", Number(other.0))]),
        20 => {
            let start = [("pid", Number(by.0)), ("parent_pid", Number(other.0)), ("path", path)];
            event("process:start", &start);
        }
        21 => event("process:exit", &[("status", status)]),
        22 => event("sched:sched_process_exit", &[("comm", Text(by.2)), ("pid", Number(by.1))]),
        23 => {
            let clone = Number(if random.one_in(2) { 0x1_0000 } else { 0 });
            let fields =
                [("pid", Number(other.1)), ("comm", Text(other.2)), ("clone_flags", clone)];
            event("task:task_newtask", &fields);
        }
        24 | 25 => event("mutex:unlock", &[("mutex", address)]),
        26 => event("cond:wait_entry", &[("cond", address), ("mutex", line)]),
        27 => event("cond:wait_exit", &[("cond", address)]),
        28 => event("rwlock:wait_entry", &[("rwlock", address), ("kind", flags)]),
        29 => event("rwlock:wait_exit", &[("rwlock", address), ("result", flags)]),
        30 => event("task:task_rename", &[("pid", Number(other.1)), ("newcomm", Text("new"))]),
        _ => {
            event("process:wait_entry", &[]);
            let waited = [("child_pid", Number(other.0)), ("status", status)];
            program.event(at, cpu, by, "process:wait_exit", &waited);
        }
    }
}

pub(crate) fn random_trace(seed: u64) -> Trace {
    let random = &mut Random::new(seed);
    let mut program = Program::new();
    let mut at = 1000;
    let mut lost = [[0; 4]; 3];
    for _ in 0..600 {
        at += random.below(3);
        happens(&mut program, at, random);
        if random.one_in(60) {
            let cpu = random.below(3);
            if random.one_in(3) {
                lost[cpu as usize][0] += 1 + random.below(5);
            }
            program.end_packet(at, cpu as u32, lost[cpu as usize]);
            at += 1;
        }
    }
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

fn bounds() -> Bounds {
    Bounds { segment: SEGMENT, ..Bounds::default() }
}

/// What the state says after each time at which something happens.
fn by_state(traces: &[Trace]) -> BTreeMap<Ns, Vec<(Track, Value)>> {
    let mut merge = Merge::over(traces);
    let mut state = State::new(traces, merge.stream_count(), &bounds().state);
    let mut told = BTreeMap::new();
    let mut until = Ns(i64::MIN);
    let mut lost: Vec<(Ns, Ns)> = Vec::new();
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                while let Some(over) = state.advance(event.time_ns()) {
                    told.insert(over, now(&state));
                }
                state.event(&event);
                until = until.max(event.time_ns());
                told.insert(until, now(&state));
            }
            Message::Loss(loss) => {
                state.loss(&loss);
                let begin = loss.begin_ns().or(loss.time_ns()).expect("there is a clock");
                lost.push((begin, loss.time_ns().expect("there is a clock")));
            }
        }
    }
    // What was found out to be unknown afterwards: a comparison after the fact is another test's.
    told.retain(|at, _| !lost.iter().any(|(begin, told)| begin <= at && at <= told));
    told
}

/// What a state of a lock says before its end is known.
fn without_hindsight(value: Value) -> Value {
    match value {
        Value::Held { by, .. } => Value::Held { by, is_certain: false },
        Value::Unheld { let_go_by, .. } => Value::Unheld { let_go_by, had_by: None },
        other => other,
    }
}

fn of_history(known: &[Known]) -> Vec<(Track, Value)> {
    known.iter().map(|known| (known.track, known.value)).collect()
}

fn at_the_time(told: Vec<(Track, Value)>) -> Vec<(Track, Value)> {
    told.into_iter().map(|(track, value)| (track, without_hindsight(value))).collect()
}

#[test]
fn history_says_of_every_moment_what_the_state_says_there() {
    let (mut moments, mut facts, mut segments) = (0, 0, 0);
    for seed in 0..12 {
        let traces = [random_trace(seed)];
        let history = History::within(&traces, bounds(), |_| {}).unwrap();
        for (at, told) in by_state(&traces) {
            let known = history.at(at).unwrap();
            let facts_here = told.len();
            let known_then = at_the_time(of_history(known.all()));
            assert_eq!(known_then, at_the_time(told), "seed {seed} at {at}");
            assert!(known.all().iter().all(|known| known.since <= at));
            moments += 1;
            facts += facts_here;
        }
        segments += history.interval_count() as usize / SEGMENT;
    }
    assert!(moments > 2_000 && facts > 40_000 && segments > 60, "{moments} {facts} {segments}");
}

#[test]
fn intervals_of_a_track_are_in_order_and_what_is_known_at_any_time_in_them() {
    for seed in 100..106 {
        let traces = [random_trace(seed)];
        let history = History::within(&traces, bounds(), |_| {}).unwrap();
        let mut all: BTreeMap<Track, Vec<Interval>> = BTreeMap::new();
        for subject in history.subjects() {
            all.extend(history.intervals(subject, &Span::ALL).unwrap());
        }
        for (track, intervals) in &all {
            let is_ordered = intervals.windows(2).all(|pair| pair[0].end <= pair[1].begin);
            assert!(is_ordered, "seed {seed}, {track:?}: {intervals:?}");
        }
        for at in (history.begin().0..history.end().0).step_by(31).map(Ns) {
            let holds = |i: &Interval| i.begin <= at && at < i.end && i.value != Value::Unknown;
            let moments = all.iter().filter(|(track, _)| !track.kind.is_known_late());
            let held = moments.filter_map(|(track, intervals)| {
                Some((*track, intervals.iter().find(|interval| holds(interval))?.value))
            });
            let known = at_the_time(of_history(history.at(at).unwrap().all()));
            assert_eq!(at_the_time(held.collect()), known, "seed {seed} at {at}");
            let span = Span { from: Some(at), until: Some(Ns(at.0 + 20)) };
            for (track, whole) in all.iter().step_by(9) {
                let part = history.intervals(track.subject, &span).unwrap();
                let part: Vec<Value> =
                    part.get(track).into_iter().flatten().map(|i| i.value).collect();
                let inside = |i: &&Interval| {
                    i.begin.0 < at.0 + 20 && (i.end > at || i.begin == i.end && i.end == at)
                };
                let wanted: Vec<Value> = whole.iter().filter(inside).map(|i| i.value).collect();
                assert_eq!(part, wanted, "seed {seed} at {at}: {track:?}");
            }
        }
    }
}
