// SPDX-License-Identifier: MIT
//! What let threads go on: wake-ups and locks that were let go, from the one event to the other.

use history::{Cause, History, Kind, Subject, Value};
use state::{InterruptKind, LockKind};
use testkit::program::{Number, Program, Text, Who};
use trace::{Ns, Span, Trace};

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (10, 11, "worker");
const OTHER: Who = (10, 12, "other");
const IDLE: Who = (0, 0, "swapper");
const OFF: i64 = 1;

/// What a history has: of which thread, from when to when, and why.
fn flows(program: &Program) -> Vec<(String, i64, i64, String)> {
    let (metadata, files) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), files).unwrap()];
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    let mut found = Vec::new();
    let take = |track: history::Track, i: history::Interval| {
        let (subject, value) =
            (history.names().subject(track.subject), history.names().value(&i.value));
        found.push((subject, i.begin.0, i.end.0, value));
    };
    history.visit(&Span::ALL, |track| track.kind == Kind::Flow, take).unwrap();
    let inside = history.at(Ns(220)).unwrap();
    assert!(inside.all().iter().all(|known| known.track.kind != Kind::Flow));
    found.sort_by_key(|(_, begin, ..)| *begin);
    found
}

fn told(thread: &str, (begin, end): (i64, i64), text: &str) -> (String, i64, i64, String) {
    (thread.into(), begin, end, text.into())
}

fn waking(program: &mut Program, at: (u64, u32), by: Who, woken: Who) {
    let fields = [("comm", Text(woken.2)), ("pid", Number(woken.1)), ("prio", Number(100))];
    program.event(at.0, at.1, by, "sched:sched_waking", &fields);
}

#[test]
fn a_wakeup_leads_to_where_the_thread_runs_next() {
    let mut program = Program::new();
    program.switch((90, 0), (IDLE, 0), MAIN);
    program.switch((100, 1), (WORKER, OFF), IDLE);
    waking(&mut program, (200, 0), MAIN, WORKER);
    program.wakeup((210, 1), IDLE, WORKER);
    program.switch((250, 1), (IDLE, 0), WORKER);
    // It has not stopped yet, so it goes on; what wakes it later is another event.
    waking(&mut program, (300, 0), MAIN, WORKER);
    program.switch((310, 1), (WORKER, 0), IDLE);
    program.switch((320, 1), (IDLE, 0), WORKER);
    assert_eq!(flows(&program), [told("worker[11]", (200, 250), "woken by server[10]")]);
}

#[test]
fn what_wakes_in_an_interrupt_is_the_interrupt() {
    let mut program = Program::new();
    program.switch((90, 0), (IDLE, 0), MAIN);
    program.switch((100, 1), (WORKER, OFF), IDLE);
    let entry = [("irq", Number(7)), ("name", Text("disk"))];
    program.event(190, 0, MAIN, "irq:irq_handler_entry", &entry);
    waking(&mut program, (200, 0), MAIN, WORKER);
    program.event(205, 0, MAIN, "irq:irq_handler_exit", &[("irq", Number(7))]);
    program.switch((250, 1), (IDLE, 0), WORKER);
    let (metadata, files) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), files).unwrap()];
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    let mut found = Vec::new();
    let is_flow = |track: &history::Track| track.kind == Kind::Flow;
    history.visit(&Span::ALL, is_flow, |track, i| found.push((track.subject, i.value))).unwrap();
    let [(Subject::Thread(thread), Value::Woken(Cause::Interrupt { cpu, kind, number, .. }))] =
        found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!(history.names().thread(thread), "worker[11]");
    assert_eq!((cpu, kind, number), (0, InterruptKind::Device, 7));
}

fn wait(program: &mut Program, (begin, end): (u64, u64), who: Who, result: i64) {
    program.event(begin, 1, who, "mutex:wait_entry", &[("mutex", Number(0xa0))]);
    let fields = [("mutex", Number(0xa0)), ("result", Number(result))];
    program.event(end, 1, who, "mutex:wait_exit", &fields);
}

#[test]
fn an_unlock_leads_to_the_one_that_waited_and_got_the_lock() {
    let mut program = Program::new();
    let unlock = |program: &mut Program, at, who| {
        program.event(at, 0, who, "mutex:unlock", &[("mutex", Number(0xa0))]);
    };
    wait(&mut program, (100, 150), WORKER, 0);
    unlock(&mut program, 140, MAIN);
    // Nobody waits; one gives up; one gets it before anybody lets it go.
    unlock(&mut program, 200, WORKER);
    wait(&mut program, (300, 350), WORKER, 110);
    unlock(&mut program, 340, MAIN);
    wait(&mut program, (400, 410), OTHER, 0);
    let text = format!("let go on by server[10]: {} 0xa0", LockKind::Mutex.name());
    assert_eq!(flows(&program), [told("worker[11]", (140, 150), &text)]);
}

#[test]
fn nothing_leads_over_a_loss() {
    // Of a third processor, whose packet before ended then: events that are missing may have come
    // between the wake-up and the run, or the unlock and the end of the wait. One within a wait is
    // as bad, because the end may be that of another.
    for (lost, ended, begun, expected) in [
        (0, 142, 147, [1, 1]),
        (3, 120, 135, [0, 1]),
        (3, 142, 147, [0, 0]),
        (3, 115, 155, [0, 0]),
        (3, 147, 155, [0, 0]),
        (3, 151, 155, [1, 1]),
    ] {
        let count = |fill: fn(&mut Program)| {
            let mut program = Program::new();
            fill(&mut program);
            program.event(110, 2, OTHER, "a:b", &[]);
            program.end_packet(ended, 2, [0, 0, 0, 0]);
            program.event(begun, 2, OTHER, "a:b", &[]);
            program.end_packet(begun + 1, 2, [lost, 0, 0, 0]);
            flows(&program).len()
        };
        let lock = count(|program| {
            wait(program, (100, 150), WORKER, 0);
            program.event(140, 0, MAIN, "mutex:unlock", &[("mutex", Number(0xa0))]);
        });
        let wake = count(|program| {
            program.switch((90, 0), (IDLE, 0), MAIN);
            program.switch((100, 1), (WORKER, OFF), IDLE);
            waking(program, (140, 0), MAIN, WORKER);
            program.switch((150, 1), (IDLE, 0), WORKER);
        });
        assert_eq!([lock, wake], expected, "{lost} lost from {ended} to {begun}");
    }
}
