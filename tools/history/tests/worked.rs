// SPDX-License-Identifier: MIT
//! Histories of small traces, worked out by hand.

use history::{Bounds, History, Kind, Subject, Track, Value};
use testkit::program::{Number, Program, Text, Who};
use trace::{Ns, Span, Trace};

const IDLE: Who = (0, 0, "swapper");
const APP: Who = (10, 10, "app");
const OTHER: Who = (20, 20, "other");
const SLEEPS: i64 = 1;

fn history(program: &Program) -> History {
    let (metadata, streams) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), streams).unwrap()];
    History::within(&traces, Bounds { segment: 2, ..Bounds::default() }, |_| {}).unwrap()
}

/// The intervals of a subject's tracks of a kind: lane, begin, end, state in words.
fn told(history: &History, subject: Subject, kind: Kind) -> Vec<(u32, i64, i64, String)> {
    let tracks = history.intervals(subject, &Span::ALL).unwrap();
    let of_kind = tracks.into_iter().filter(|(track, _)| track.kind == kind);
    let told = of_kind.flat_map(|(track, intervals)| {
        let words = intervals.into_iter().map(move |i| (track.lane, i));
        words.map(|(lane, i)| (lane, i.begin.0, i.end.0, history.names().value(&i.value)))
    });
    told.collect()
}

fn thread(history: &History, tid: i64) -> Subject {
    let is_it = |subject: &Subject| match subject {
        Subject::Thread(thread) => history.names().tid(*thread) == Some(tid),
        _ => false,
    };
    history.subjects().find(is_it).unwrap()
}

fn row(begin: i64, end: i64, text: &str) -> (u32, i64, i64, String) {
    (0, begin, end, text.into())
}

#[test]
fn thread_waits_runs_and_sleeps_in_a_call_on_what_that_is_about() {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (OTHER, 0), APP);
    let opened = [("path", Text("/etc/hosts")), ("result", Number(3))];
    p.call((110, 120), APP, ("io:open_entry", &[]), ("io:open_exit", &opened));
    p.event(130, 0, APP, "io:read_entry", &[("fd", Number(3))]);
    p.event(140, 0, APP, "irq:softirq_entry", &[("vec", Number(4))]);
    p.event(145, 0, APP, "irq:softirq_exit", &[("vec", Number(4))]);
    p.switch((150, 0), (APP, SLEEPS), IDLE);
    p.wakeup((200, 1), OTHER, APP);
    p.switch((210, 0), (IDLE, 0), APP);
    p.event(220, 0, APP, "io:read_exit", &[("result", Number(5))]);
    let history = history(&program);
    let app = thread(&history, 10);
    let wanted = [
        row(100, 150, "running on CPU 0"),
        row(150, 200, "asleep in io:read /etc/hosts"),
        row(200, 210, "waiting for a CPU"),
        row(210, 220, "running on CPU 0"),
    ];
    assert_eq!(told(&history, app, Kind::Place), wanted);
    let wanted = [row(110, 120, "in io:open"), row(130, 220, "in io:read /etc/hosts")];
    assert_eq!(told(&history, app, Kind::Call), wanted);
    let cpu = Subject::Cpu { host: 0, cpu: 0 };
    let wanted =
        [row(100, 150, "runs app[10]"), row(150, 210, "idle"), row(210, 220, "runs app[10]")];
    assert_eq!(told(&history, cpu, Kind::Runs), wanted);
    assert_eq!(told(&history, cpu, Kind::Interrupt), [row(140, 145, "in soft interrupt 4")]);
    let drawn = history.overview(&Span::ALL, 2, |track| track.subject == cpu).unwrap();
    let runs: Vec<_> =
        drawn[&Track::new(cpu, Kind::Runs)].iter().map(|d| d.interval.value).collect();
    assert_eq!((runs.len(), runs[1]), (2, Value::Idle), "100 to 160, and 160 to 220");
}

#[test]
fn waiters_of_a_lock_and_files_of_descriptors_are_tracks_of_their_own() {
    let mut program = Program::new();
    let p = &mut program;
    let second = (10, 11, "app");
    let mutex = [("mutex", Number(0xa0))];
    p.event(100, 0, APP, "mutex:wait_entry", &mutex);
    p.event(110, 1, second, "mutex:wait_entry", &mutex);
    p.event(120, 0, APP, "mutex:wait_exit", &mutex);
    p.event(130, 1, second, "mutex:wait_exit", &mutex);
    let opened = [("path", Text("/x")), ("result", Number(3))];
    p.call((140, 150), APP, ("io:open_entry", &[]), ("io:open_exit", &opened));
    p.event(160, 0, APP, "io:dup2", &[("fd", Number(3)), ("result", Number(9))]);
    p.event(170, 0, APP, "io:close", &[("fd", Number(3)), ("result", Number(0))]);
    p.event(180, 0, APP, "tick", &[]);
    let history = history(&program);
    let lock = history.subjects().find(|s| matches!(s, Subject::Lock { .. })).unwrap();
    assert_eq!(history.names().subject(lock), "mutex 0xa0 of app[10]");
    let waits: Vec<_> =
        told(&history, lock, Kind::Waiter).into_iter().map(|(_, b, e, t)| (b, e, t)).collect();
    let wanted = [(100, 120, "awaited by app[10]"), (110, 130, "awaited by app[11]")];
    assert_eq!(waits, wanted.map(|(begin, end, text)| (begin, end, text.to_string())));
    let descriptors = history.subjects().filter(|s| matches!(s, Subject::Descriptor { .. }));
    let files: Vec<_> = descriptors.map(|d| told(&history, d, Kind::Open)).collect();
    assert_eq!(files, [[row(150, 170, "open: /x")], [row(160, 180, "open: /x")]]);
}

#[test]
fn killed_process_is_in_no_call_and_waits_for_no_lock_any_more() {
    let mut program = Program::new();
    let p = &mut program;
    p.event(100, 0, APP, "process:wait_entry", &[]);
    p.event(110, 1, OTHER, "mutex:wait_entry", &[("mutex", Number(0xa0))]);
    let waited = [("child_pid", Number(20)), ("status", Number(9))];
    p.event(150, 0, APP, "process:wait_exit", &waited);
    p.event(400, 0, APP, "tick", &[]);
    let history = history(&program);
    let other = thread(&history, 20);
    let lock = history.subjects().find(|s| matches!(s, Subject::Lock { .. })).unwrap();
    assert_eq!(told(&history, other, Kind::Call), [row(110, 150, "in mutex:wait mutex 0xa0")]);
    let ends = |kind| told(&history, lock, kind).last().map(|(_, begin, end, _)| (*begin, *end));
    assert_eq!([Kind::Waiter, Kind::Queue].map(ends), [Some((110, 150)); 2]);
}

#[test]
fn after_lost_packets_nothing_is_known_from_where_they_began_although_that_is_told_late() {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (IDLE, 0), APP);
    p.event(150, 0, APP, "io:read_entry", &[("fd", Number(3))]);
    p.end_packet(200, 0, [0; 4]);
    // Three packets are missing here: they end before 1000.
    p.lose_packets(200, 0, 3);
    p.wakeup((600, 1), OTHER, OTHER);
    p.switch((1000, 0), (APP, SLEEPS), OTHER);
    p.event(1100, 0, OTHER, "tick", &[]);
    let history = history(&program);
    let app = thread(&history, 10);
    let wanted = [
        row(100, 200, "running on CPU 0"),
        row(200, 1000, "unknown"),
        row(1000, 1100, "asleep in io:read descriptor 3 (may be over)"),
    ];
    assert_eq!(told(&history, app, Kind::Place), wanted);
    let wanted = [
        row(150, 200, "in io:read descriptor 3"),
        row(200, 1100, "in io:read descriptor 3 (may be over)"),
    ];
    assert_eq!(told(&history, app, Kind::Call), wanted);
    // What an event told at 600 held then; whether it did at 601 is not known.
    let wanted = [row(100, 1000, "unknown"), row(1000, 1100, "running on CPU 0")];
    assert_eq!(told(&history, thread(&history, 20), Kind::Place), wanted);
    let at = |time| history.at(Ns(time)).unwrap().get(Track::new(app, Kind::Place)).copied();
    assert_eq!(at(199).map(|known| known.value), Some(Value::Running(0)));
    assert_eq!((at(200), at(999)), (None, None), "a later segment has the last word");
    assert_eq!(at(1000).map(|known| known.since), Some(Ns(1000)));
    let lost: Vec<_> = history.losses().iter().map(|l| (l.count, l.begin.0)).collect();
    assert_eq!(lost, [(3, 200)]);
}

#[test]
fn names_of_another_tracer_lead_to_the_same_states() {
    let mut program = Program::new();
    let p = &mut program;
    let parent = (10, 10, "sh");
    let fork = [
        ("parent_pid", Number(10)),
        ("child_comm", Text("sh")),
        ("child_tid", Number(20)),
        ("child_pid", Number(20)),
    ];
    p.event(100, 0, parent, "sched_process_fork", &fork);
    let gone = [
        ("prev_comm", Text("sh")),
        ("prev_tid", Number(10)),
        ("prev_state", Number(1)),
        ("next_comm", Text("sh")),
        ("next_tid", Number(20)),
    ];
    p.event(110, 0, parent, "sched_switch", &gone);
    let child = (20, 20, "sh");
    let exec = [("filename", Text("/bin/cat")), ("tid", Number(20))];
    p.event(120, 0, child, "sched_process_exec", &exec);
    p.event(130, 0, child, "irq_softirq_entry", &[("vec", Number(1))]);
    p.event(140, 0, child, "irq_softirq_exit", &[("vec", Number(1))]);
    p.event(150, 0, child, "sched_wakeup", &[("comm", Text("sh")), ("tid", Number(10))]);
    p.event(160, 0, child, "sched_process_exit", &[("tid", Number(20))]);
    p.event(170, 0, child, "tick", &[]);
    let history = history(&program);
    let process = |pid| {
        let is_it =
            |s: &Subject| matches!(s, Subject::Process(p) if history.names().pid(*p) == Some(pid));
        history.subjects().find(is_it).unwrap()
    };
    let wanted = [
        row(100, 120, "lives as sh, child of 10"),
        row(120, 160, "lives as cat, child of 10"),
        row(160, 170, "ended"),
    ];
    assert_eq!(told(&history, process(20), Kind::Life), wanted);
    let wanted =
        [row(100, 110, "unknown"), row(110, 150, "asleep"), row(150, 170, "waiting for a CPU")];
    assert_eq!(told(&history, thread(&history, 10), Kind::Place), wanted);
    let cpu = Subject::Cpu { host: 0, cpu: 0 };
    assert_eq!(told(&history, cpu, Kind::Interrupt), [row(130, 140, "in soft interrupt 1")]);
}

#[test]
fn names_of_threads_and_descriptors_are_over_with_their_process() {
    let mut program = Program::new();
    let p = &mut program;
    let opened = [("path", Text("/x")), ("result", Number(3))];
    p.call((100, 110), APP, ("io:open_entry", &[]), ("io:open_exit", &opened));
    p.event(150, 0, APP, "process:exit", &[("status", Number(7))]);
    p.event(200, 0, OTHER, "tick", &[]);
    let history = history(&program);
    let app = thread(&history, 10);
    assert_eq!(told(&history, app, Kind::Name), [row(100, 150, "named app")]);
    let open = history.subjects().find(|s| matches!(s, Subject::Descriptor { .. })).unwrap();
    assert_eq!(told(&history, open, Kind::Open), [row(110, 150, "open: /x")]);
    let is_app =
        |s: &Subject| matches!(s, Subject::Process(p) if history.names().pid(*p) == Some(10));
    let process = history.subjects().find(is_app).unwrap();
    let wanted = [row(100, 150, "lives as app"), row(150, 200, "ended with status 7")];
    assert_eq!(told(&history, process, Kind::Life), wanted);
}
