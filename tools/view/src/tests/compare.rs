// SPDX-License-Identifier: MIT
//! Two traces: the second's questions, and what is different in it.

use serde_json::Value;
use testkit::program::Program;

use super::statistics::{call, row, shown, MAIN};
use super::{ask, id_of, Viewed};
use crate::ask::Ask;
use crate::compare::of_some;

/// A hundred reads and writes of about these lengths, in a trace that begins at some time.
fn working(begin: u64, read_ns: u64, write_ns: u64) -> Viewed {
    let mut program = Program::new();
    for round in 0..100 {
        let at = begin + round * 10_000;
        call(&mut program, (at, at + read_ns + round), MAIN, "io:read");
        call(&mut program, (at + 5000, at + 5000 + write_ns + round), MAIN, "io:write");
    }
    shown(program)
}

fn two() -> Viewed {
    working(1_000_000, 1000, 500).beside(working(7_000_000, 2000, 500))
}

const BOTH: &str = "v1/compare?from=0&until=2000000&b_from=0&b_until=2000000";

fn named<'v>(compared: &'v Value, table: &str, name: &str) -> &'v Value {
    row(&compared[table], name)
}

#[test]
fn second_trace_answers_the_same_questions_behind_its_own_path() {
    let viewed = two();
    let about = ask(&viewed, "v1/trace");
    assert_eq!(about["beside"].as_array().unwrap().len(), 1);
    let other = ask(&viewed, "b/v1/trace");
    assert_eq!((&other["origin_ns"], &other["beside"]), (&"7000000".into(), &Value::Null));
    let id = id_of(&viewed, "server[10]");
    for (path, most) in [("", "1099"), ("b/", "2099")] {
        let told = ask(&viewed, &format!("{path}v1/statistics?from=0&until=2000000&track={id}"));
        assert_eq!(row(&told, "io:read")["max_ns"].to_string(), most);
    }
    assert_eq!(ask(&super::viewed(), "v1/trace")["beside"], Value::Null);
}

#[test]
fn only_questions_are_asked_of_the_second_trace_and_only_if_there_is_one() {
    let viewed = two();
    let status = |viewed: &Viewed, path: &str| viewed.answer(path, "").status.as_u16();
    for path in ["b/", "b/index.html", "b/page.js", "b/b/v1/trace", "b/../metadata", "c/v1/trace"] {
        assert_eq!(status(&viewed, path), 404, "{path}");
    }
    assert_eq!(status(&super::viewed(), "b/v1/trace"), 404);
    for path in ["v1/compare", "b/v1/compare"] {
        assert_eq!(status(&viewed, path), 400, "{path}");
    }
    assert_eq!(super::viewed().answer("v1/compare", "").status.as_u16(), 400);
    for (request, expected) in [
        ("/TOKEN/b/v1/trace", 200),
        ("/b/v1/trace", 403),
        ("/0123456789abcdef0123456789abcdef/b/v1/trace", 403),
        ("/TOKEN/b/v1/trace\norigin: http://evil.example", 403),
        ("/TOKEN/b/v1/trace\nhost: 127.0.0.1:4000", 421),
        ("/TOKEN/v1/compare\nsec-fetch-site: cross-site", 403),
        ("/TOKEN/v1/statistics\norigin: null", 403),
    ] {
        assert_eq!(viewed.attempt(request), Some(expected), "{request}");
    }
}

#[test]
fn what_lasts_longer_in_the_second_trace_is_told_and_nothing_else() {
    let viewed = two();
    let compared = ask(&viewed, BOTH);
    let read = named(&compared, "latencies", "io:read");
    assert_eq!((&read["verdict"], &read["count_a"]), (&"longer".into(), &100.into()));
    let write = named(&compared, "latencies", "io:write");
    assert_eq!(write["verdict"], "not known to differ");
    let rate = named(&compared, "rates", "io:read_entry");
    assert_eq!((&rate["verdict"], &rate["count_b"]), (&"not known to differ".into(), &100.into()));
    assert_eq!((&compared["a"]["lost"], &compared["a"]["stopped"]), (&0.into(), &Value::Null));
    assert!(compared["notes"][0].as_str().unwrap().contains("Mann and Whitney"), "{compared}");
}

#[test]
fn only_the_spans_in_view_are_compared() {
    let compared = ask(&two(), "v1/compare?from=0&until=500000&b_from=900000&b_until=2000000");
    let read = named(&compared, "latencies", "io:read");
    assert_eq!((&read["count_a"], &read["count_b"]), (&50.into(), &10.into()));
}

#[test]
fn a_comparison_says_how_much_of_each_span_was_read() {
    let viewed = two();
    let others = working(7_000_000, 2000, 500);
    let asked = Ask::new("from=0&until=2000000&b_from=0&b_until=60000").unwrap();
    let told = of_some(&viewed, &others, &asked, 100).unwrap();
    let told = serde_json::to_value(&told).unwrap();
    let stopped = told["a"]["stopped"].as_i64().unwrap();
    // The first is a record of who writes, which is none of the program's events.
    assert_eq!(told["a"]["events"], 99);
    assert!((200_000..300_000).contains(&stopped), "{told}");
    assert_eq!(told["b"]["stopped"], Value::Null, "its span has fewer: {told}");
}

#[test]
fn a_span_of_the_second_trace_that_makes_no_sense_is_refused_by_its_name() {
    let viewed = two();
    for query in ["b_from=0", "b_from=5&b_until=5", "b_from=x&b_until=9", "b_until=1"] {
        let reply = viewed.answer("v1/compare", &format!("from=0&until=9&{query}"));
        assert_eq!(reply.status.as_u16(), 400, "{query}");
        assert!(String::from_utf8_lossy(&reply.body).contains("b_from"), "{query}");
    }
}
