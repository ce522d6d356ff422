// SPDX-License-Identifier: MIT
//! The tables that are always there: what they say of made-up programs, worked by hand.

use crate::made::{of_spec, reading, rows, rows_of, trace};
use query::Engine;
use serde_json::json;
use testkit::program::{Number, Program, Text, Who};
use testkit::{Datum, Kind, Order, Spec};

const MAIN: Who = (10, 10, "main");
const WORKER: Who = (10, 11, "worker");

fn calls() -> Program {
    let mut program = Program::new();
    program.call(
        (100, 110),
        MAIN,
        ("io:open_entry", &[("flags", Number(0))]),
        ("io:open_exit", &[("path", Text("/tmp/x")), ("result", Number(3))]),
    );
    program.call(
        (200, 260),
        MAIN,
        ("io:read_entry", &[("fd", Number(3)), ("count", Number(50))]),
        ("io:read_exit", &[("result", Number(40)), ("error", Number(0))]),
    );
    program.call(
        (300, 301),
        WORKER,
        ("io:read_entry", &[("fd", Number(9)), ("count", Number(1))]),
        ("io:read_exit", &[("result", Number(-1)), ("error", Number(9))]),
    );
    program.call(
        (400, 1400),
        WORKER,
        ("mutex:wait_entry", &[("mutex", Number(0xa0))]),
        ("mutex:wait_exit", &[]),
    );
    program.event(1500, 0, MAIN, "io:read_entry", &[("fd", Number(3)), ("count", Number(2))]);
    program
}

#[test]
fn calls_are_entries_and_exits_joined_and_those_that_never_returned() {
    let sql = "SELECT tid, name, duration, result, error, arguments FROM calls ORDER BY time";
    let found = rows(vec![trace(&calls())], sql);
    let read = |tid, duration: Option<i64>, result: Option<i64>, error: Option<&str>, fd, count| {
        json!({
            "tid": tid, "name": "io:read", "duration": duration, "result": result, "error": error,
            "arguments": format!("{{\"fd\":{fd},\"count\":{count}}}"),
        })
    };
    assert_eq!(found[0]["name"], "io:open");
    assert_eq!(found[1], read(10, Some(60), Some(40), None, 3, 50));
    assert_eq!(found[2], read(11, Some(1), Some(-1), Some("EBADF"), 9, 1));
    assert_eq!(found[3]["name"], "mutex:wait");
    assert_eq!(found[4], read(10, None, None, None, 3, 2));
    assert_eq!(found.len(), 5);
}

#[test]
fn call_that_the_end_of_its_process_cut_off_has_a_row_without_a_duration() {
    let mut program = calls();
    let waited = [("child_pid", Number(10)), ("status", Number(9))];
    let ends = (("process:wait_entry", &[][..]), ("process:wait_exit", &waited[..]));
    program.call((1550, 1600), (9, 9, "sh"), ends.0, ends.1);
    let sql = "SELECT tid, name, arguments FROM calls WHERE duration IS NULL AND pid = 10";
    let arguments = "{\"fd\":3,\"count\":2}";
    let wanted = json!({"tid": 10, "name": "io:read", "arguments": arguments});
    assert_eq!(rows(vec![trace(&program)], sql), [wanted]);
}

#[test]
fn system_calls_have_their_own_names_and_other_calls_are_not_among_them() {
    let mut program = calls();
    program.call(
        (2000, 2100),
        MAIN,
        ("syscall_entry_getcwd", &[("size", Number(9))]),
        ("syscall_exit_getcwd", &[("ret", Number(-34))]),
    );
    let found = rows(vec![trace(&program)], "SELECT name, duration, result, error FROM syscalls");
    let wanted = json!({"name": "getcwd", "duration": 100, "result": -34, "error": "ERANGE"});
    assert_eq!(found, [wanted]);
}

#[test]
fn files_have_what_was_moved_and_locks_what_was_waited() {
    let sql = "SELECT file, sum(read_bytes) AS bytes, count(*) AS calls FROM files \
               GROUP BY file ORDER BY file";
    let wanted = [
        json!({"file": "/tmp/x", "bytes": 40, "calls": 1}),
        json!({"file": "descriptor 9", "bytes": 0, "calls": 1}),
    ];
    assert_eq!(rows(vec![trace(&calls())], sql), wanted);
    let sql = "SELECT kind, address, duration, comm FROM locks";
    let wanted = json!({"kind": "mutex", "address": 0xa0, "duration": 1000, "comm": "worker"});
    assert_eq!(rows(vec![trace(&calls())], sql), [wanted]);
}

#[test]
fn threads_and_processes_say_who_wrote_events_and_how_they_ended() {
    let mut program = calls();
    program.event(
        50,
        0,
        MAIN,
        "process:start",
        &[
            ("pid", Number(10)),
            ("parent_pid", Number(1)),
            ("path", Text("/bin/main")),
            ("arguments", Text("main -x")),
        ],
    );
    program.event(1600, 0, MAIN, "process:exit", &[("status", Number(3))]);
    let sql = "SELECT pid, tid, comm, process, events, first, last FROM threads ORDER BY tid";
    let found = rows(vec![trace(&program)], sql);
    let at = |ns: u32| format!("1970-01-01T00:00:00.{ns:09}");
    assert_eq!(found[0]["events"], 7);
    let times = (&found[0]["first"], &found[0]["last"]);
    assert_eq!(times, (&json!(at(50)), &json!(at(1600))), "{found:?}");
    assert_eq!((&found[1]["tid"], &found[1]["process"]), (&json!(11), &json!("main")));
    let sql = "SELECT pid, parent_pid, path, arguments, threads, events, exit_code FROM processes";
    let wanted = json!({
        "pid": 10, "parent_pid": 1, "path": "/bin/main", "arguments": "main -x", "threads": 2,
        "events": 11, "exit_code": 3,
    });
    assert_eq!(rows(vec![trace(&program)], sql), [wanted]);
}

#[test]
fn packets_are_listed_and_losses_say_where_when_and_why_they_were() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "tick", &[]);
    program.end_packet(150, 0, [0; 4]);
    program.event(200, 0, MAIN, "tick", &[]);
    program.end_packet(250, 0, [5, 0, 2, 0]);
    let reading = reading(vec![trace(&program)]);
    let engine = Engine::new(&reading, &crate::made::limits()).unwrap();
    let sql = "SELECT cpu, packet, sequence, discarded FROM packets ORDER BY packet";
    let wanted = [
        json!({"cpu": 0, "packet": 0, "sequence": 0, "discarded": 0}),
        json!({"cpu": 0, "packet": 1, "sequence": 1, "discarded": 7}),
    ];
    assert_eq!(rows_of(&engine, sql), wanted);
    assert!(!reading.found().is_incomplete(), "no events were read");
    let sql = "SELECT kind, cause, count, cpu FROM lost ORDER BY count DESC";
    let wanted = [
        json!({"kind": "events", "cause": "full", "count": 5, "cpu": 0}),
        json!({"kind": "events", "cause": "too_big", "count": 2, "cpu": 0}),
    ];
    assert_eq!(rows_of(&engine, sql), wanted);
    // A query that has nothing to do with losses tells of them, too, and once.
    rows_of(&engine, "SELECT count(*) FROM tick a JOIN tick b ON a.time = b.time");
    let found = reading.found();
    assert!(found.is_incomplete());
    let sentences = found.sentences();
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    assert!(sentences[0].starts_with("7 events lost of what was read"), "{sentences:?}");
}

#[test]
fn states_say_where_each_thread_was_and_for_how_long() {
    let mut program = Program::new();
    let mut switch = |at, cpu, from: (i64, &'static str), state, to: (i64, &'static str)| {
        program.event(
            at,
            cpu,
            testkit::program::NOBODY,
            "sched:sched_switch",
            &[
                ("prev_comm", Text(from.1)),
                ("prev_pid", Number(from.0)),
                ("prev_state", Number(state)),
                ("next_comm", Text(to.1)),
                ("next_pid", Number(to.0)),
            ],
        );
    };
    switch(100, 0, (0, "swapper/0"), 0, (10, "main"));
    switch(250, 0, (10, "main"), 1, (11, "worker"));
    switch(300, 0, (11, "worker"), 0, (0, "swapper/0"));
    switch(400, 1, (0, "swapper/1"), 0, (10, "main"));
    let sql = "SELECT state, cpu, duration FROM states WHERE tid = 10 ORDER BY time";
    let wanted = [
        json!({"state": "running", "cpu": 0, "duration": 150}),
        json!({"state": "asleep", "cpu": null, "duration": 150}),
        json!({"state": "running", "cpu": 1, "duration": null}),
    ];
    assert_eq!(rows(vec![trace(&program)], sql), wanted);
    let sql = "SELECT comm, sum(duration) AS ns FROM states WHERE state = 'running' AND cpu = 0 \
               AND tid > 0 GROUP BY comm ORDER BY comm";
    let wanted = [json!({"comm": "main", "ns": 150}), json!({"comm": "worker", "ns": 50})];
    assert_eq!(rows(vec![trace(&program)], sql), wanted);
    let sql = "SELECT state, duration FROM states WHERE tid = 11 ORDER BY time";
    let wanted = [
        json!({"state": "running", "duration": 50}),
        json!({"state": "waiting", "duration": null}),
    ];
    assert_eq!(rows(vec![trace(&program)], sql), wanted);
}

#[test]
fn several_hosts_and_traces_are_told_apart() {
    let on = |host: &str, at| {
        let mut program = Program::new();
        program.environment = format!("hostname = \"{host}\";");
        program.event(at, 0, MAIN, "tick", &[("at", Number(at as i64))]);
        trace(&program)
    };
    let sql = "SELECT host, at FROM tick ORDER BY at";
    let wanted = [json!({"host": "alpha", "at": 5}), json!({"host": "beta", "at": 6})];
    assert_eq!(rows(vec![on("beta", 6), on("alpha", 5)], sql), wanted);
}

#[test]
fn events_that_are_called_like_a_table_get_an_underscore() {
    let mut program = Program::new();
    program.event(1, 0, MAIN, "lost", &[("n", Number(1))]);
    program.event(2, 0, MAIN, "events", &[]);
    let found = rows(vec![trace(&program)], "SELECT n FROM lost_");
    assert_eq!(found, [json!({"n": 1})]);
    assert_eq!(rows(vec![trace(&program)], "SELECT count(*) AS n FROM events_").len(), 1);
}

#[test]
fn sorts_that_do_not_fit_in_memory_go_to_disk() {
    let order = Order::Little;
    let fields = Kind::structure(vec![("n", Kind::u(64, order)), ("text", Kind::Text)]);
    let spec = Spec::lull(order, vec![(8, "row", fields)]);
    const COUNT: u64 = 200_000;
    let made = of_spec(&spec, |writer| {
        for packet in 0..COUNT / 1000 {
            writer.begin_packet(packet * 1000);
            for at in packet * 1000..(packet + 1) * 1000 {
                // Every number once, in an order that is far from sorted.
                let n = at * 77_777 % COUNT;
                let text = format!("{n:0>100}").into_bytes();
                writer.event(8, at, Datum::List(vec![Datum::Unsigned(n), Datum::Text(text)]));
            }
            writer.end_packet((packet + 1) * 1000, 0);
        }
    });
    let reading = reading(vec![made]);
    let limits = query::Limits { memory_bytes: 12 << 20, ..crate::made::limits() };
    let engine = Engine::new(&reading, &limits).unwrap();
    let found = rows_of(&engine, "SELECT n, text FROM row ORDER BY text");
    let is_sorted = found.iter().zip(0..).all(|(row, n)| row["n"] == json!(n));
    assert!(is_sorted && found.len() as u64 == COUNT);
    let plan = rows_of(&engine, "EXPLAIN ANALYZE SELECT n, text FROM row ORDER BY text");
    let plan = plan.iter().map(|row| row["plan"].to_string()).collect::<String>();
    let spilled = plan.split("spill_count=").nth(1).expect("sorts say whether they spilled");
    assert!(!spilled.starts_with("0,"), "{plan}");
}
