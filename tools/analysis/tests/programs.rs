// SPDX-License-Identifier: MIT
//! What the report says of made-up programs, from packets on.

use analysis::{analyse, By, Limits, LockKind, Options, Report};
use state::Threads;
use std::cell::Cell;
use testkit::program::{Number, Program, Text, Who};
use trace::{Event, Ns, Span, Trace};
use verdict::State;

const MAIN: Who = (10, 10, "main");
const WORKER: Who = (10, 11, "worker");
const CHILD: Who = (20, 20, "main");

fn trace(program: &Program) -> Trace {
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

fn report(program: &Program) -> Report {
    analyse(&[trace(program)], &Options::default(), |_| {})
}

fn filtered(program: &Program, wanted: &str) -> Report {
    let wants = |names: &[&str], _level: Option<i64>| names.contains(&wanted);
    analyse(&[trace(program)], &Options { wanted: Some(&wants), ..Options::default() }, |_| {})
}

fn grouped(program: &Program, by: By) -> Report {
    analyse(&[trace(program)], &Options { by: Some(by), ..Options::default() }, |_| {})
}

fn open(program: &mut Program, at_ns: u64, who: Who, path: &'static str, fd: i64) {
    program.call(
        (at_ns, at_ns + 1),
        who,
        ("io:open_entry", &[("flags", Number(0))]),
        ("io:open_exit", &[("path", Text(path)), ("result", Number(fd))]),
    );
}

fn read(program: &mut Program, (begin_ns, end_ns): (u64, u64), who: Who, fd: i64, bytes: i64) {
    program.call(
        (begin_ns, end_ns),
        who,
        ("io:read_entry", &[("fd", Number(fd))]),
        ("io:read_exit", &[("result", Number(bytes))]),
    );
}

#[test]
fn entries_and_exits_match_within_threads_though_they_change_processors() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "job_entry", &[]);
    program.event(110, 0, WORKER, "job_entry", &[]);
    program.event(150, 1, MAIN, "job_exit", &[]);
    program.event(210, 1, WORKER, "job_exit", &[]);
    let report = report(&program);
    let job = &report.latencies[0];
    assert_eq!(job.name.as_deref(), Some("job"));
    assert_eq!((job.duration.count, job.duration.min_ns, job.duration.max_ns), (2, 50, 100));
    assert_eq!((report.events, report.thread_count, report.process_count), (4, 2, 1));
    assert_eq!((report.duration_ns, report.cpu_count), (110, 2));
    assert!(report.complete && report.unmatched.is_empty());
}

#[test]
fn trace_without_events_has_no_times() {
    let report = report(&Program::new());
    assert_eq!((report.events, report.begin_ns, report.end_ns, report.duration_ns), (0, 0, 0, 0));
}

#[test]
fn what_has_not_returned_is_still_running_and_what_it_waits_for_is_named() {
    let mut program = Program::new();
    open(&mut program, 100, MAIN, "/tmp/fifo", 3);
    program.event(200, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
    program.event(300, 0, WORKER, "mutex:wait_entry", &[("mutex", Number(0xabc0))]);
    program.event(400, 0, CHILD, "io:read_entry", &[("fd", Number(0))]);
    program.event(500, 0, CHILD, "process:exit", &[("status", Number(0))]);
    program.event(1000, 0, MAIN, "tick", &[]);
    let report = report(&program);
    let rows = report.running.longest.iter();
    let rows: Vec<_> = rows
        .map(|row| (row.name.as_str(), row.thread.as_str(), row.elapsed_ns, row.subject.as_deref()))
        .collect();
    assert_eq!(
        rows,
        [
            ("io:read", "main[10]", 800, Some("/tmp/fifo")),
            ("mutex:wait", "worker[11]", 700, Some("mutex 0xabc0")),
        ]
    );
    assert!(!report.running.longest[0].exit_may_be_lost);
    let read = report.unmatched.iter().find(|row| row.name == "io:read").unwrap();
    assert_eq!((read.still_running, read.ended_inside), (1, 1));
}

#[test]
fn files_are_followed_through_dup_fork_and_exec() {
    let mut program = Program::new();
    open(&mut program, 100, MAIN, "/etc/hosts", 3);
    program.event(110, 0, MAIN, "io:dup2", &[("fd", Number(3)), ("result", Number(7))]);
    program.event(120, 0, MAIN, "io:close", &[("fd", Number(3)), ("result", Number(0))]);
    read(&mut program, (130, 140), MAIN, 7, 512);
    program.event(150, 0, CHILD, "process:forked", &[("parent_pid", Number(10))]);
    read(&mut program, (160, 180), CHILD, 7, 100);
    let start = [
        ("pid", Number(20)),
        ("parent_pid", Number(10)),
        ("path", Text("/bin/cat")),
        ("arguments", Text("cat -")),
    ];
    program.event(200, 0, CHILD, "process:start", &start);
    read(&mut program, (210, 220), CHILD, 7, -1);
    read(&mut program, (230, 240), CHILD, 0, 9);
    let report = report(&program);
    let hosts = &report.files[0];
    assert_eq!((hosts.name.as_str(), hosts.read_bytes, hosts.reads), ("/etc/hosts", 612, 3));
    assert_eq!((hosts.failures, hosts.duration_ns, hosts.pid), (1, 40, None));
    assert_eq!((report.files[1].name.as_str(), report.files[1].pid), ("stdin", Some(20)));
    let cat = report.processes.iter().find(|row| row.pid == Some(20)).unwrap();
    assert_eq!((cat.name.as_str(), cat.arguments.as_str()), ("cat", "cat -"));
    assert_eq!(cat.parent_pid, Some(10));
}

#[test]
fn open_that_failed_is_a_failure_of_its_path() {
    let mut program = Program::new();
    open(&mut program, 100, MAIN, "/tmp/none", -1);
    open(&mut program, 200, MAIN, "/tmp/there", 3);
    let files = report(&program).files;
    let rows: Vec<_> = files.iter().map(|row| (row.name.as_str(), row.failures)).collect();
    assert_eq!(rows, [("/tmp/none", 1)]);
}

#[test]
fn exec_ends_what_the_old_program_was_in() {
    let mut program = Program::new();
    program.event(1, 0, MAIN, "process:exec_entry", &[("path", Text("/bin/true"))]);
    let start = [("pid", Number(10)), ("parent_pid", Number(1)), ("path", Text("/bin/true"))];
    program.event(9, 0, MAIN, "process:start", &start);
    let report = report(&program);
    assert_eq!(report.running.count, 0);
    assert_eq!(report.unmatched[0].ended_inside, 1);
}

#[test]
fn lock_waits_are_told_by_lock_and_by_thread() {
    let mut program = Program::new();
    let wait = |program: &mut Program, span, who| {
        let mutex = [("mutex", Number(0x40))];
        program.call(span, who, ("mutex:wait_entry", &mutex), ("mutex:wait_exit", &mutex));
    };
    wait(&mut program, (100, 150), MAIN);
    wait(&mut program, (200, 500), WORKER);
    wait(&mut program, (600, 610), CHILD);
    let report = report(&program);
    let found: Vec<_> = report.locks.iter().map(|lock| (lock.pid, lock.wait.total_ns)).collect();
    assert_eq!(found, [(Some(10), 350), (Some(20), 10)]);
    let lock = &report.locks[0];
    assert_eq!((lock.kind, lock.address.as_deref()), (Some(LockKind::Mutex), Some("0x40")));
    assert_eq!((lock.threads[0].thread.as_str(), lock.threads[0].wait_ns), ("worker[11]", 300));
}

#[test]
fn filter_counts_only_what_matches_but_still_knows_names_and_files() {
    let mut program = Program::new();
    open(&mut program, 100, MAIN, "/etc/hosts", 3);
    read(&mut program, (130, 140), MAIN, 3, 512);
    let by_base = filtered(&program, "io:read");
    assert_eq!((by_base.events, by_base.matched_events), (4, 2));
    assert_eq!(by_base.files[0].name, "/etc/hosts");
    assert_eq!(by_base.latencies.len(), 1);
    let by_name = filtered(&program, "io:read_entry");
    assert_eq!((by_name.matched_events, by_name.latencies.len()), (1, 0));
    assert_eq!(by_name.running.count, 0, "half a pair is not running");
    assert!(filtered(&program, "nothing").event_names.is_empty());
}

#[test]
fn groups_tell_events_and_latencies_apart() {
    let mut program = Program::new();
    program.call((10, 20), MAIN, ("job_entry", &[]), ("job_exit", &[]));
    program.call((30, 70), WORKER, ("job_entry", &[]), ("job_exit", &[]));
    program.call((80, 85), CHILD, ("job_entry", &[]), ("job_exit", &[]));
    let groups = |by| {
        let report = grouped(&program, by);
        let rows = report.latencies.iter();
        rows.map(|row| (row.group.clone().unwrap(), row.duration.total_ns)).collect::<Vec<_>>()
    };
    let wanted = |rows: &[(&str, u64)]| -> Vec<_> {
        rows.iter().map(|(name, total)| (name.to_string(), *total)).collect()
    };
    let threads = wanted(&[("worker[11]", 40), ("main[10]", 10), ("main[20]", 5)]);
    assert_eq!(groups(By::Thread), threads);
    assert_eq!(groups(By::Process), wanted(&[("main[10]", 50), ("main[20]", 5)]));
    assert_eq!(groups(By::Cpu), wanted(&[("CPU 0", 55)]));
    assert_eq!(grouped(&program, By::Process).event_names.len(), 4);
}

#[test]
fn exits_are_told_from_the_process_and_from_its_parent() {
    let mut program = Program::new();
    program.event(1, 0, CHILD, "tick", &[]);
    let waited = [("child_pid", Number(20)), ("status", Number(9))];
    program.call((2, 5), MAIN, ("process:wait_entry", &[]), ("process:wait_exit", &waited));
    program.event(6, 0, MAIN, "process:exit", &[("status", Number(3))]);
    let report = report(&program);
    let exits = report.processes.iter().map(|row| (row.pid, row.exit_code, row.exit_signal));
    let exits: Vec<_> = exits.collect();
    assert_eq!(exits, [(Some(10), Some(3), None), (Some(20), None, Some(9))]);
}

#[test]
fn losses_are_told_by_cause_processor_and_time() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    program.event(100, 1, WORKER, "job_entry", &[]);
    program.end_packet(200, 1, [0; 4]);
    program.event(250, 1, WORKER, "tick", &[]);
    program.end_packet(300, 1, [5, 0, 0, 2]);
    program.event(350, 1, WORKER, "tick", &[]);
    program.end_packet(400, 1, [1, 0, 0, 0]);
    let report = report(&program);
    assert_eq!((report.lost.full, report.lost.in_flight, report.lost.events), (6, 2, 8));
    assert!(!report.complete);
    assert_eq!(report.verdict.state, State::Incomplete);
    let row = &report.lost_where[0];
    assert_eq!((row.cpu, row.count, row.times), (Some(1), 6, 2));
    assert_eq!((row.begin_ns, row.until_ns), (Some(200), Some(400)));
    assert!(report.running.longest[0].exit_may_be_lost);
}

#[test]
fn loss_before_the_first_packet_has_no_begin() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    program.end_packet(200, 0, [1, 0, 0, 0]);
    program.event(300, 0, MAIN, "tick", &[]);
    program.end_packet(400, 0, [1, 0, 0, 0]);
    let row = &report(&program).lost_where[0];
    assert_eq!((row.count, row.begin_ns, row.until_ns), (2, None, Some(400)));
}

#[test]
fn call_seen_by_interposer_and_kernel_counts_once() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
    program.event(110, 0, MAIN, "syscall_entry_read", &[("fd", Number(3))]);
    program.event(120, 0, MAIN, "syscall_exit_read", &[("ret", Number(8))]);
    program.event(130, 0, MAIN, "io:read_exit", &[("result", Number(8))]);
    let report = report(&program);
    assert_eq!((report.files[0].reads, report.files[0].read_bytes), (1, 8));
    assert_eq!(report.latencies.len(), 2);
}

#[test]
fn events_of_one_name_from_two_programs_are_one_row() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "job_entry", &[]);
    program.event(110, 0, MAIN, "job_exit#9", &[("result", Number(8))]);
    program.event(120, 0, MAIN, "job_exit", &[]);
    program.event(130, 0, MAIN, "job#x", &[]);
    let report = report(&program);
    let rows = report.event_names.iter();
    let rows: Vec<_> = rows.map(|row| (row.name.as_deref().unwrap(), row.events)).collect();
    assert_eq!(rows, [("job_exit", 2), ("job#x", 1), ("job_entry", 1)]);
    assert_eq!(report.latencies[0].duration.total_ns, 10);
}

#[test]
fn what_the_recorder_knows_beyond_the_packets_counts_too() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    program.end_packet(200, 0, [5, 0, 0, 0]);
    program.environment = "tracer_name = \"lull\"; verdict = \"incomplete\"; lost_full = 7;
        lost_where = \"CPU 0\\t7\\t0\\t0\\t0\";
        verdict_missing = \"7 events lost on CPU 0: its buffer was full; use larger --buffer-size \
        or more --buffers\\n1 process could not join\";
        verdict_notes = \"odd\"; events = 4; unwritten_packets = 2;"
        .into();
    let report = report(&program);
    assert_eq!((report.lost.full, report.lost.unwritten_packets), (7, 2));
    let missing: Vec<&str> = report.verdict.missing.iter().map(String::as_str).collect();
    let unread = "the recorder wrote 4 events; 1 of them can be read";
    assert_eq!(missing, ["1 process could not join", unread]);
    assert_eq!(report.verdict.notes, ["odd"]);
}

#[test]
fn part_of_a_complete_trace_that_is_asked_for_lacks_nothing_and_more_than_was_written_is_told() {
    let wrote = |events| {
        let mut program = Program::new();
        for at in [100, 200, 300] {
            program.event(at, 0, MAIN, "tick", &[]);
        }
        let text = "tracer_name = \"lull\"; verdict = \"complete\"; events = ";
        program.environment = format!("{text}{events};");
        program
    };
    let traces = [trace(&wrote(3))];
    let (from, until) = (Some(Ns(150)), Some(Ns(250)));
    for options in [
        Options::default(),
        Options { span: Span { from, until: None }, ..Options::default() },
        Options { span: Span { from: None, until }, ..Options::default() },
        Options { span: Span { from: until, until }, ..Options::default() },
        Options { most_events: Some(2), ..Options::default() },
    ] {
        let report = analyse(&traces, &options, |_| {});
        assert_eq!((report.verdict.state, report.complete), (State::Complete, true));
        assert_eq!(report.is_cut, options.most_events.is_some());
    }
    let missing = |events| report(&wrote(events)).verdict.missing;
    assert_eq!(missing(4), ["the recorder wrote 4 events; 3 of them can be read"]);
    assert!(missing(2)[0].starts_with("the recorder wrote 2 events, and 3 can be read: some are"));
}

#[test]
fn trace_whose_limit_left_no_event_in_it_is_not_said_to_match_nothing() {
    let mut program = Program::new();
    program.end_packet(200, 0, [0, 0, 0, 0]);
    for (verdict, state) in [("stopped", State::Stopped), ("complete", State::NothingMatched)] {
        program.environment = format!("tracer_name = \"lull\"; verdict = \"{verdict}\";");
        assert_eq!(report(&program).verdict.state, state, "{verdict}");
    }
}

#[test]
fn a_trace_is_called_complete_only_where_its_recorder_said_so() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    for (environment, state) in [
        ("tracer_name = \"lull\"; verdict = \"complete\";", State::Complete),
        ("tracer_name = \"lull\"; verdict = \"limited\";", State::Limited),
        ("tracer_name = \"lull\"; verdict = \"stopped\";", State::Stopped),
        ("tracer_name = \"lull\"; verdict = \"nothing_matched\";", State::NothingMatched),
        ("tracer_name = \"lull\"; verdict = \"recording\";", State::NotFinished),
        ("tracer_name = \"lull\"; verdict = \"fine\";", State::Unknown),
        ("tracer_name = \"lull\";", State::Unknown),
        ("tracer_name = \"lttng-ust\"; verdict = \"complete\";", State::Unknown),
    ] {
        program.environment = environment.into();
        let report = report(&program);
        assert_eq!(report.verdict.state, state, "{environment}");
        assert_eq!(report.complete, state == State::Complete, "{environment}");
    }
}

#[test]
fn losses_in_the_packets_make_a_trace_incomplete_whatever_its_recorder_said() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    program.end_packet(200, 0, [5, 0, 0, 0]);
    for (said, state) in [
        ("complete", State::Incomplete),
        ("limited", State::Incomplete),
        ("fine", State::Incomplete),
        ("recording", State::NotFinished),
    ] {
        program.environment = format!("tracer_name = \"lull\"; verdict = \"{said}\";");
        assert_eq!(report(&program).verdict.state, state, "{said}");
    }
}

#[test]
fn damage_makes_the_trace_incomplete_and_names_its_place() {
    let mut program = Program::new();
    for at_ns in 0..50 {
        program.event(at_ns, 0, MAIN, "tick", &[]);
    }
    let (metadata, mut streams) = program.files();
    let length = streams[0].1.len();
    streams[0].1.truncate(length - 64);
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
    let report = analyse(&[trace], &Options::default(), |_| {});
    assert!(!report.complete && report.events > 0 && report.events < 50);
    assert_eq!(report.verdict.problem_count, report.verdict.problems.len() as u64);
    assert!(report.verdict.problems[0].contains("stream_0"), "{:?}", report.verdict.problems);
}

#[test]
fn tables_stay_within_their_limits_and_no_event_is_forgotten() {
    let mut program = Program::new();
    for i in 0..40 {
        let who = (i, i, "many");
        program.call(
            (i as u64 * 10, i as u64 * 10 + 5),
            who,
            ("mutex:wait_entry", &[("mutex", Number(i))]),
            ("mutex:wait_exit", &[("mutex", Number(i))]),
        );
    }
    let of_state = state::Limits { threads: 30, ..state::Limits::default() };
    let limits = Limits { state: of_state, locks: 8, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let report = analyse(&[trace(&program)], &options, |_| {});
    assert_eq!((report.threads.len(), report.locks.len()), (31, 9));
    assert_eq!(report.threads.iter().map(|row| row.events).sum::<u64>(), 80);
    let wanted = "there are more threads than are told apart, 30: 10 calls of the others are not \
                  measured";
    let notes = &report.verdict.notes;
    assert!(notes.iter().any(|note| note == wanted), "threads that share a row: {notes:?}");
    assert_eq!(report.locks.iter().map(|row| row.wait.count).sum::<u64>(), 30);
}

#[test]
fn report_as_json_has_the_fields_that_scripts_look_for() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    program.end_packet(200, 0, [1, 2, 3, 4]);
    let json = serde_json::to_value(report(&program)).unwrap();
    let lost = &json["lost"];
    let counts = ["full", "overflow", "too_big", "in_flight", "events"].map(|name| &lost[name]);
    assert_eq!(counts, [1, 2, 3, 4, 10].map(serde_json::Value::from).each_ref());
    assert_eq!((&json["events"], &json["complete"]), (&1.into(), &false.into()));
}

#[test]
fn report_is_about_the_span_and_the_threads_that_are_asked_for() {
    let mut program = Program::new();
    for (at, who) in [(100, MAIN), (200, WORKER), (300, CHILD), (400, MAIN), (500, WORKER)] {
        program.event(at, 0, who, "job_entry", &[]);
        program.event(at + 10, 0, who, "job_exit", &[]);
    }
    let traces = [trace(&program)];
    let span = Span { from: Some(Ns(200)), until: Some(Ns(410)) };
    let within = analyse(&traces, &Options { span, ..Options::default() }, |_| {});
    assert_eq!((within.events, within.begin_ns, within.end_ns), (5, 200, 400));
    assert_eq!((within.thread_count, within.latencies[0].duration.count), (3, 2));
    let takes = |_: &Event<'_>, threads: &Threads, thread| threads.tid(thread) == Some(11);
    let options = Options { takes: Some(&takes), ..Options::default() };
    let taken = analyse(&traces, &options, |_| {});
    assert_eq!((taken.events, taken.matched_events), (10, 4));
    assert_eq!((taken.thread_count, taken.latencies[0].duration.count), (1, 2));
    let takes = |event: &Event<'_>, _: &Threads, _| event.name() == "job_exit";
    let options = Options { takes: Some(&takes), ..Options::default() };
    let exits = analyse(&traces, &options, |_| {});
    assert_eq!((exits.matched_events, exits.latencies[0].duration.count), (5, 5));
}

#[test]
fn what_has_no_partner_is_told_of_the_span_and_the_threads_that_are_asked_for() {
    let mut program = Program::new();
    program.event(50, 0, WORKER, "early_exit", &[]);
    program.event(60, 0, WORKER, "early_entry", &[]);
    program.event(100, 0, MAIN, "job_entry", &[]);
    program.event(200, 0, CHILD, "job_entry", &[]);
    program.event(210, 0, CHILD, "early_exit", &[]);
    program.event(300, 0, MAIN, "job_exit", &[]);
    program.event(310, 0, MAIN, "job_exit", &[]);
    let traces = [trace(&program)];
    let told = |options: &Options<'_>| {
        let report = analyse(&traces, options, |_| {});
        let running = report.running.longest.iter().map(|row| row.tid.unwrap_or(0)).collect();
        let unmatched = report.unmatched.iter();
        let unmatched = unmatched.map(|row| {
            let (open, exits) = (row.still_running, row.exits_without_entry);
            (row.name.clone(), open, exits)
        });
        let (running, unmatched): (Vec<i64>, Vec<_>) = (running, unmatched.collect());
        let named = analysis::named("latency").unwrap();
        let answer = analysis::ask(named, &Default::default(), &traces, options, |_| {}).unwrap();
        let table = answer.sheet.tables.into_iter().find(|table| table.key == "unmatched");
        assert_eq!(table.unwrap().rows.len(), unmatched.len());
        (running, unmatched)
    };
    let row = |name: &str, open, exits| (name.to_string(), open, exits);
    let all = vec![row("early", 1, 2), row("job", 1, 1)];
    assert_eq!(told(&Options::default()), (vec![11, 20], all));
    let whose = |threads: &Threads, thread| threads.pid(threads.process_of(thread)) == Some(20);
    let options = Options { whose: Some(&whose), ..Options::default() };
    assert_eq!(told(&options), (vec![20], vec![row("early", 0, 1), row("job", 1, 0)]));
    let span = Span { from: Some(Ns(150)), until: None };
    let options = Options { span, ..Options::default() };
    assert_eq!(told(&options), (vec![20], vec![row("early", 0, 1), row("job", 1, 1)]));
}

#[test]
fn reading_ends_when_nobody_waits_for_it_and_after_so_many_events() {
    const EVENTS: u64 = 300_000;
    let mut program = Program::new();
    (0..EVENTS).for_each(|at| program.event(at, 0, MAIN, "job", &[]));
    let traces = [trace(&program)];
    let read = |options: Options<'_>| {
        let report = analyse(&traces, &options, |_| {});
        (report.events, report.is_cut)
    };
    assert_eq!(read(Options::default()), (EVENTS, false));
    assert_eq!(read(Options { goes_on: Some(&|| true), ..Options::default() }), (EVENTS, false));
    // Asked after 131,072 and 262,144 messages.
    let asked = Cell::new(0);
    let goes_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 2
    };
    let (events, is_cut) = read(Options { goes_on: Some(&goes_on), ..Options::default() });
    assert!(is_cut && asked.get() == 2, "{events} {}", asked.get());
    assert!((200_000..EVENTS).contains(&events), "{events}");
    // One more that says which thread they are of.
    let most = |count| read(Options { most_events: Some(count), ..Options::default() });
    assert_eq!(most(8), (7, true));
    assert_eq!(most(EVENTS + 1), (EVENTS, false));
}
