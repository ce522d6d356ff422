// SPDX-License-Identifier: MIT
//! `latency`: pairs by name, and events that a key joins.

use analysis::{ask, named, Error, Options, Question};
use serde_json::json;
use testkit::program::{Number, Program, Text, Who};

use super::{asked, opened, rows};

const A: Who = (10, 10, "a");
const B: Who = (10, 11, "b");

/// Reads of 5, 300 and 40 ns in two threads, an exit without its entry, an entry without its exit.
fn reads() -> Program {
    let mut program = Program::new();
    program.event(50, 0, A, "io:read_exit", &[("result", Number(1))]);
    for (begin, end, who, result) in [(100, 105, A, 1), (200, 500, B, -1), (600, 640, A, 1)] {
        program.event(begin, 0, who, "io:read_entry", &[("fd", Number(3))]);
        program.event(end, 0, who, "io:read_exit", &[("result", Number(result))]);
    }
    program.event(700, 0, B, "io:read_entry", &[("fd", Number(3))]);
    program
}

#[test]
fn latency_of_a_pair_has_its_extremes_with_time_and_thread() {
    let question = Question { pairs: vec!["io:read".into()], ..Question::default() };
    let answer = asked(&reads(), "latency", &question);
    let keys = ["name", "count", "failures", "total_ns", "min_ns", "p50_ns", "p9999_ns"];
    assert_eq!(rows(&answer, "latencies", &keys), json!([["io:read", 3, 1, 345, 5, 40, 300]]));
    let keys = ["max_ns", "max_at_ns", "max_thread"];
    assert_eq!(rows(&answer, "latencies", &keys), json!([[300, 200, "b[11]"]]));
    let keys = ["duration_ns", "begin_ns", "thread", "cpu"];
    assert_eq!(
        rows(&answer, "longest", &keys),
        json!([[300, 200, "b[11]", 0], [40, 600, "a[10]", 0], [5, 100, "a[10]", 0]])
    );
    assert_eq!(
        rows(&answer, "histogram", &["from_ns", "until_ns", "count"]),
        json!([[4, 8, 1], [32, 64, 1], [256, 512, 1]])
    );
    assert_eq!(rows(&answer, "unmatched", &["name", "begins", "ends"]), json!([["io:read", 1, 1]]));
}

#[test]
fn events_with_equal_keys_are_joined_across_threads() {
    let mut program = Program::new();
    for (at, id) in [(100, 1), (110, 2), (120, 2), (130, 3)] {
        program.event(at, 0, A, "request:sent", &[("id", Number(id)), ("to", Text("x"))]);
    }
    for (at, id) in [(150, 2), (190, 1), (200, 9)] {
        program.event(at, 1, B, "request:done", &[("request", Number(id)), ("by", Text("x"))]);
    }
    let key = |a: &str, b: &str| (a.to_string(), b.to_string());
    let between = Some(key("request:sent", "request:done"));
    let keys = vec![key("id", "request"), key("to", "by")];
    let question = Question { between: between.clone(), keys, ..Question::default() };
    let answer = asked(&program, "latency", &question);
    // 120 to 150, because 2 was sent again; 100 to 190. Nobody answered 3, nobody had sent 9.
    let keys = ["name", "count", "min_ns", "max_ns", "max_at_ns", "max_thread"];
    let name = "request:sent to request:done";
    assert_eq!(rows(&answer, "latencies", &keys), json!([[name, 2, 30, 90, 100, "b[11]"]]));
    assert_eq!(rows(&answer, "unmatched", &["begins", "ends"]), json!([[2, 1]]));
    assert_eq!(answer.sheet.notes.len(), 1, "{:?}", answer.sheet.notes);

    let question = Question { between, keys: vec![key("id", "id")], ..Question::default() };
    let latency = named("latency").unwrap();
    let answer = ask(latency, &question, &[opened(&program)], &Options::default(), |_| {});
    let known = vec!["request".into(), "by".into()];
    let lacking = Error::Unknown { what: "field for --key called", name: "id".into(), known };
    assert_eq!(answer.unwrap_err(), lacking);
}

#[test]
fn without_a_key_events_of_one_thread_belong_together_also_of_one_name() {
    let mut program = Program::new();
    for (at, who) in [(100, A), (130, B), (150, A), (160, A)] {
        program.event(at, 0, who, "tick", &[]);
    }
    let between = Some(("tick".to_string(), "tick".to_string()));
    let answer = asked(&program, "latency", &Question { between, ..Question::default() });
    assert_eq!(
        rows(&answer, "longest", &["duration_ns", "begin_ns"]),
        json!([[50, 100], [10, 150]])
    );
}

#[test]
fn pair_that_the_trace_has_not_is_an_error() {
    let question = Question { pairs: vec!["io:raed".into()], ..Question::default() };
    let latency = named("latency").unwrap();
    let answer = ask(latency, &question, &[opened(&reads())], &Options::default(), |_| {});
    assert_eq!(answer.unwrap_err().to_string(), "the traces have no pair of events io:raed");
}

#[test]
fn events_are_not_joined_across_a_loss_a_pause_or_a_change() {
    let pair = |program: &mut Program, begin, end, id| {
        program.event(begin, 0, A, "request:sent", &[("id", Number(id))]);
        program.event(end, 0, A, "request:done", &[("id", Number(id))]);
    };
    let between = Some(("request:sent".to_string(), "request:done".to_string()));
    let keys = vec![("id".to_string(), "id".to_string())];
    let question = Question { between, keys, ..Question::default() };
    let told = |program: &Program| {
        let answer = asked(program, "latency", &question);
        let unsure = rows(&answer, "unmatched", &["unsure"]);
        assert!(answer.sheet.notes.iter().any(|note| note.starts_with("1 pair not measured")));
        (rows(&answer, "latencies", &["count", "max_ns"]), unsure)
    };
    let lossy = {
        let mut program = Program::new();
        pair(&mut program, 100, 110, 1);
        program.event(120, 0, A, "request:sent", &[("id", Number(2))]);
        program.end_packet(130, 0, [0; 4]);
        program.event(150, 0, A, "request:sent", &[("id", Number(3))]);
        program.end_packet(200, 0, [4, 0, 0, 0]);
        program.event(900, 0, A, "request:done", &[("id", Number(2))]);
        pair(&mut program, 1000, 1020, 4);
        program
    };
    assert_eq!(told(&lossy), (json!([[2, 20]]), json!([[1]])));
    for entry in [r#" pauses = "300\t0\t500\t0";"#, r#" changes = "300\t0\tx:*";"#] {
        let mut program = Program::new();
        program.environment += entry;
        pair(&mut program, 100, 110, 1);
        pair(&mut program, 200, 900, 2);
        pair(&mut program, 1000, 1020, 4);
        assert_eq!(told(&program), (json!([[2, 20]]), json!([[1]])), "{entry}");
    }
}
