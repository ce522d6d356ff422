// SPDX-License-Identifier: MIT
//! What a trace tells while it is written: parts that follow one another, from packets on.

use std::collections::BTreeMap;

use analysis::live::{Live, Part, Picture};
use analysis::{analyse, Options};
use testkit::program::{Number, Program, Who};
use testkit::Random;
use trace::{Ns, Trace};

const MAIN: Who = (10, 10, "main");
const WORKER: Who = (10, 11, "worker");
const IDLE: Who = (0, 0, "swapper/0");

fn trace(program: &Program) -> Trace {
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

fn part(trace: &Trace, from: i64, until: i64) -> Part<'_> {
    Part {
        traces: std::slice::from_ref(trace),
        from: Ns(from),
        until: Ns(until),
        is_described_anew: false,
        has_gap: false,
        new_from: &[],
    }
}

fn read(live: &mut Live, trace: &Trace, from: i64, until: i64) -> Picture {
    live.read(&part(trace, from, until));
    live.picture()
}

fn lock(program: &mut Program, begin_ns: u64, end_ns: u64, who: Who) {
    program.call(
        (begin_ns, end_ns),
        who,
        ("mutex:wait_entry", &[("mutex", Number(0xa0))]),
        ("mutex:wait_exit", &[("mutex", Number(0xa0)), ("result", Number(0))]),
    );
}

#[test]
fn call_that_begins_in_one_part_and_ends_in_the_next_is_measured_once() {
    let mut program = Program::new();
    lock(&mut program, 1_000, 9_000, WORKER);
    lock(&mut program, 9_500, 9_600, MAIN);
    let trace = trace(&program);
    let mut live = Live::new();
    let first = read(&mut live, &trace, 0, 5_000);
    assert_eq!((first.events, first.calls.len()), (1, 0));
    let second = read(&mut live, &trace, 5_000, 10_000);
    let call = &second.calls[0];
    assert_eq!((call.name.as_str(), call.duration.count), ("mutex:wait", 2));
    assert_eq!((call.duration.max_ns, call.slowest_in.as_str()), (8_000, "worker[11]"));
    let waits = &second.locks[0];
    assert_eq!((waits.name.as_str(), waits.pid, waits.wait.count), ("mutex 0xa0", Some(10), 2));
    let process = &second.processes[0];
    assert_eq!((process.pid, process.waits, process.wait_ns), (Some(10), 2, 8_100));
    assert_eq!(process.slowest.as_ref().map(|slowest| slowest.ns), Some(8_000));
    let third = read(&mut live, &trace, 10_000, 20_000);
    assert_eq!((third.events, third.calls[0].duration.count), (0, 2));
    assert_eq!(third.processes[0].events_per_s, 0.0);
}

#[test]
fn parts_add_up_to_what_the_report_says_of_the_whole() {
    for seed in 0..20 {
        let random = &mut Random::new(seed);
        let mut program = Program::new();
        let mut at = 1_000;
        for _ in 0..300 {
            at += 1 + random.below(500);
            let who = *random.pick(&[MAIN, WORKER, (20, 20, "other")]);
            let name = *random.pick(&["job:run_begin", "job:run_end", "job:step"]);
            program.event(at, random.below(3) as u32, who, name, &[]);
            if random.one_in(9) {
                program.end_packet(at, random.below(3) as u32, [0; 4]);
            }
        }
        let trace = trace(&program);
        let report = analyse(std::slice::from_ref(&trace), &Options::default(), |_| {});
        let mut live = Live::new();
        let (mut from, mut last) = (0, Picture::default());
        while from <= at as i64 {
            let until = from + 1 + random.below(20_000) as i64;
            last = read(&mut live, &trace, from, until);
            from = until;
        }
        let whole: BTreeMap<String, u64> =
            report.event_names.iter().map(|row| (row.name.clone().unwrap(), row.events)).collect();
        let parts = last.by_event.iter().map(|row| (row.name.clone(), row.events));
        assert_eq!(parts.collect::<BTreeMap<_, _>>(), whole, "seed {seed}");
        let calls = |count: u64, total: u64, max: u64| (count, total, max);
        let wanted: Vec<_> = report.latencies.iter().map(|row| row.duration).collect();
        let wanted: Vec<_> = wanted.iter().map(|d| calls(d.count, d.total_ns, d.max_ns)).collect();
        let found = last.calls.iter().map(|row| row.duration);
        let found: Vec<_> = found.map(|d| calls(d.count, d.total_ns, d.max_ns)).collect();
        assert_eq!(found, wanted, "seed {seed}");
        assert_eq!((last.unmeasured_calls, last.late_events), (0, 0));
    }
}

#[test]
fn call_during_which_events_were_lost_or_passed_over_is_not_measured() {
    let mut program = Program::new();
    program.event(1_000, 0, MAIN, "job:run_begin", &[]);
    program.end_packet(1_500, 0, [0; 4]);
    program.event(2_000, 0, MAIN, "job:run_end", &[]);
    program.end_packet(2_500, 0, [3, 0, 0, 0]);
    program.event(3_000, 0, MAIN, "job:run_begin", &[]);
    program.event(3_100, 0, MAIN, "job:run_end", &[]);
    program.event(3_200, 0, MAIN, "job:run_begin", &[]);
    program.event(8_000, 0, MAIN, "job:run_end", &[]);
    let trace = trace(&program);
    let mut live = Live::new();
    let lossy = read(&mut live, &trace, 0, 5_000);
    assert_eq!((lossy.unmeasured_calls, lossy.calls[0].duration.count), (1, 1));
    assert_eq!(lossy.calls[0].duration.max_ns, 100);
    live.read(&Part { has_gap: true, ..part(&trace, 7_000, 9_000) });
    let passed = live.picture();
    assert_eq!((passed.unmeasured_calls, passed.calls[0].duration.count), (2, 1));
}

#[test]
fn event_that_comes_after_its_part_was_read_is_counted_as_late() {
    let mut program = Program::new();
    program.event(1_000, 0, MAIN, "job:step", &[]);
    program.event(6_000, 0, MAIN, "job:step", &[]);
    let trace = trace(&program);
    let mut live = Live::new();
    live.read(&Part { new_from: &[0], ..part(&trace, 5_000, 9_000) });
    let picture = live.picture();
    assert_eq!((picture.events, picture.late_events), (1, 1));
    live.read(&Part { new_from: &[u64::MAX], ..part(&trace, 9_000, 10_000) });
    assert_eq!(live.picture().late_events, 1, "its packet was there before");
}

#[test]
fn thread_that_stays_on_its_cpu_is_told_of_in_each_part() {
    let mut program = Program::new();
    program.switch((1_000, 0), (IDLE, 0), MAIN);
    program.event(25_000, 0, MAIN, "job:step", &[]);
    program.switch((26_000, 0), (MAIN, 1), IDLE);
    let trace = trace(&program);
    let mut live = Live::new();
    let shares: Vec<f64> = (0..3)
        .map(|n| {
            let picture = read(&mut live, &trace, n * 10_000, (n + 1) * 10_000);
            assert!(picture.tells_cpu);
            let main = picture.threads.iter().find(|row| row.name.starts_with("main")).unwrap();
            main.cpu_share.unwrap()
        })
        .collect();
    assert_eq!(shares, [0.9, 1.0, 0.6]);
}

#[test]
fn events_that_are_described_later_do_not_end_the_calls_that_are_open() {
    let mut program = Program::new();
    program.event(1_000, 0, MAIN, "job:run_begin", &[]);
    program.event(2_000, 0, WORKER, "job:run_begin", &[]);
    program.event(2_100, 0, WORKER, "job:run_end", &[]);
    let before = trace(&program);
    program.event(3_000, 0, MAIN, "job:run_end", &[]);
    program.event(3_100, 0, MAIN, "job:new", &[]);
    let after = trace(&program);
    let mut live = Live::new();
    live.read(&Part { is_described_anew: true, ..part(&before, 0, 2_500) });
    live.read(&Part { is_described_anew: true, ..part(&after, 2_500, 5_000) });
    let picture = live.picture();
    assert_eq!((picture.calls[0].duration.count, picture.calls[0].duration.max_ns), (2, 2_000));
    assert!(picture.by_event.iter().any(|row| row.name == "job:new" && row.events == 1));
    // Where names get other numbers, the state begins anew, and says so of calls.
    let mut other = Program::new();
    other.event(6_000, 0, MAIN, "else:a", &[]);
    other.event(7_000, 0, MAIN, "job:run_begin", &[]);
    other.event(7_500, 0, MAIN, "job:run_end", &[]);
    live.read(&Part { is_described_anew: true, ..part(&trace(&other), 5_000, 8_000) });
    let picture = live.picture();
    assert_eq!(picture.calls[0].duration.count, 3);
    assert!(picture.by_event.iter().any(|row| row.name == "else:a" && row.events == 1));
}

#[test]
fn counting_anew_forgets_counts_and_goes_on() {
    let mut program = Program::new();
    lock(&mut program, 1_000, 2_000, MAIN);
    program.event(3_000, 0, MAIN, "mutex:wait_entry", &[("mutex", Number(0xa0))]);
    let exit = [("mutex", Number(0xa0)), ("result", Number(0))];
    program.event(6_000, 0, MAIN, "mutex:wait_exit", &exit);
    let trace = trace(&program);
    let mut live = Live::new();
    read(&mut live, &trace, 0, 5_000);
    live.clear();
    let picture = read(&mut live, &trace, 5_000, 9_000);
    let durations: Vec<u64> = picture.calls.iter().map(|call| call.duration.max_ns).collect();
    assert_eq!((durations, picture.processes[0].events), (vec![3_000], 1));
}

#[test]
fn more_threads_than_there_is_room_for_do_not_stop_it() {
    let mut live = Live::new();
    for round in 0..6u64 {
        let mut program = Program::new();
        for n in 0..4_000u64 {
            let tid = (round * 4_000 + n + 1) as i64;
            program.event(round * 10_000 + n + 1, 0, (tid, tid, "t"), "job:step", &[]);
        }
        let (from, until) = (round as i64 * 10_000, (round as i64 + 1) * 10_000);
        let picture = read(&mut live, &trace(&program), from, until);
        assert_eq!(picture.events, 4_000);
        let now = picture.threads.iter().filter(|row| row.events_per_s > 0.0);
        assert_eq!(now.count(), 4_000, "round {round}: those that run now have rows");
        assert!(picture.threads.len() <= (1 << 13) + 1);
    }
}

#[test]
fn absurd_traces_are_survived_part_by_part() {
    let mut events = 0;
    for seed in 0..200 {
        let (metadata, streams) = testkit::absurd(seed);
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the metadata is right");
        let Some((begin, end)) = trace.bounds() else { continue };
        let random = &mut Random::new(seed);
        let mut live = Live::new();
        let mut from = begin.0;
        let step = (end.0.saturating_sub(begin.0) / 7).max(1);
        for n in 0..9 {
            let until = from.saturating_add(step);
            let part = Part {
                is_described_anew: random.one_in(3),
                has_gap: random.one_in(3),
                new_from: &[0],
                ..part(&trace, from, until)
            };
            live.read(&part);
            if n % 2 == 0 {
                events += live.picture().events;
            }
            from = until;
        }
    }
    assert!(events > 1_000, "the traces had {events} events");
}
