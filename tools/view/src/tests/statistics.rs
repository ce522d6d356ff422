// SPDX-License-Identifier: MIT
//! Statistics of a span: the same as the command line's, what is cut, what losses leave unsure.

use std::sync::Arc;

use analysis::{ask as analyse, named, Cell, Options, Question};
use history::History;
use serde_json::Value;
use testkit::program::{Number, Program, Who};
use trace::{Ns, Span, Trace};

use super::{ask, id_of, viewed, Plain, Viewed};
use crate::ask::Ask;
use crate::statistics::of_some;

pub(super) const MAIN: Who = (10, 10, "server");
const OTHER: Who = (20, 20, "other");

pub(super) fn shown(program: Program) -> Viewed {
    let (metadata, files) = program.files();
    let traces = Arc::new(vec![Trace::from_bytes(metadata.as_bytes(), files).unwrap()]);
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    Viewed::new(traces.clone(), history, Box::new(Plain(traces)), vec![])
}

pub(super) fn call(program: &mut Program, at: (u64, u64), who: Who, name: &str) {
    // Names of a made-up program live as long as the tests.
    let (entry, exit) = (format!("{name}_entry").leak(), format!("{name}_exit").leak());
    program.call(at, who, (entry, &[("fd", Number(3))]), (exit, &[("result", Number(9))]));
}

/// Calls of many lengths, of two names.
fn busy() -> Viewed {
    let mut program = Program::new();
    for round in 0..500 {
        let at = 1_000_000 + round * 5000;
        call(&mut program, (at, at + 100 + (round * 37) % 4000), MAIN, "io:read");
        call(&mut program, (at + 4200, at + 4300), MAIN, "io:write");
    }
    shown(program)
}

pub(super) fn row<'v>(told: &'v Value, name: &str) -> &'v Value {
    let rows = told["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} in {told}"))
}

fn ns(cell: &Cell) -> u64 {
    match cell {
        Cell::Ns(number) | Cell::Count(number) => *number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn durations_are_those_that_the_command_line_tells() {
    let viewed = busy();
    let origin = viewed.history().begin();
    for (from, until) in [(0, 3_000_000), (123_456, 1_987_654)] {
        let told = ask(&viewed, &format!("v1/statistics?from={from}&until={until}"));
        let (from, until) = (Some(Ns(origin.0 + from)), Some(Ns(origin.0 + until)));
        let options = Options { span: Span { from, until }, ..Options::default() };
        let question = Question::default();
        let latency = named("latency").unwrap();
        let answer = analyse(latency, &question, viewed.traces(), &options, |_| {}).unwrap().sheet;
        let table = answer.table("latencies").unwrap();
        assert_eq!(table.rows.len(), 2);
        for at in 0..2 {
            let Some(Cell::Text(name)) = table.cell(at, "name") else { panic!() };
            let own = row(&told, name);
            for key in ["count", "total_ns", "mean_ns", "min_ns", "p50_ns", "p99_ns", "max_ns"] {
                assert_eq!(own[key], ns(table.cell(at, key).unwrap()), "{name} {key}");
            }
        }
    }
}

#[test]
fn buckets_hold_every_duration_and_the_longest_is_where_it_says() {
    let viewed = busy();
    let told = ask(&viewed, "v1/statistics?from=0&until=3000000");
    let read = row(&told, "io:read");
    let buckets = read["buckets"].as_array().unwrap();
    let sum: u64 = buckets.iter().map(|bucket| bucket[2].as_u64().unwrap()).sum();
    assert_eq!((sum, &read["count"]), (500, &500.into()));
    let longest = &read["longest"];
    let (begin, until) = (longest["begin"].as_i64().unwrap(), longest["until"].as_i64().unwrap());
    assert_eq!(until - begin, read["max_ns"].as_i64().unwrap());
    let track = longest["track"].as_str().unwrap();
    let details = ask(&viewed, &format!("v1/details?track={track}&at={begin}"));
    assert!(details.to_string().contains("io:read"), "{details}");
}

#[test]
fn what_reaches_over_an_edge_counts_its_time_and_no_duration() {
    let mut program = Program::new();
    for at in [1000, 2000, 3000] {
        call(&mut program, (at, at + 600), MAIN, "io:read");
    }
    let viewed = shown(program);
    // From within the first to within the last.
    let told = ask(&viewed, "v1/statistics?from=500&until=2100");
    let read = row(&told, "io:read");
    assert_eq!((&read["count"], &read["cut"], &read["unsure"]), (&1.into(), &2.into(), &0.into()));
    assert_eq!((&read["max_ns"], &read["inside_ns"]), (&600.into(), &800.into()));
    assert_eq!(told["stopped"], Value::Null);
}

#[test]
fn calls_that_may_have_ended_among_lost_events_count_no_duration() {
    let mut program = Program::new();
    call(&mut program, (1000, 1600), MAIN, "io:read");
    program.event(2000, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
    program.end_packet(2500, 0, [0, 0, 0, 0]);
    program.event(4000, 0, MAIN, "io:read_exit", &[("result", Number(9))]);
    program.end_packet(5000, 0, [7, 0, 0, 0]);
    let viewed = shown(program);
    let told = ask(&viewed, "v1/statistics?from=0&until=10000");
    let read = row(&told, "io:read");
    assert_eq!((&read["count"], &read["unsure"], &read["cut"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!((&read["max_ns"], &told["lost"]), (&600.into(), &7.into()));
    let before = ask(&viewed, "v1/statistics?from=0&until=700");
    assert_eq!((&before["lost"], &row(&before, "io:read")["unsure"]), (&0.into(), &0.into()));
}

#[test]
fn a_track_and_what_is_below_it_is_told_of_alone() {
    let mut program = Program::new();
    call(&mut program, (1000, 1600), MAIN, "io:read");
    call(&mut program, (2000, 2500), OTHER, "io:write");
    let viewed = shown(program);
    let of = |track: &str| {
        let told = ask(&viewed, &format!("v1/statistics?from=0&until=9000&track={track}"));
        let rows = told["rows"].as_array().unwrap().clone();
        let calls = rows.into_iter().filter(|row| row["kind"] == "call");
        calls.map(|row| row["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of(&id_of(&viewed, "server[10]")), ["io:read"]);
    assert_eq!(of(&id_of(&viewed, "other[20]")), ["io:write"]);
    assert_eq!(of(""), ["io:read", "io:write"]);
    assert_eq!(of("h0"), ["io:read", "io:write"]);
}

#[test]
fn an_answer_says_where_it_stopped_reading() {
    let viewed = busy();
    let asked = Ask::new("from=0&until=3000000").unwrap();
    let some = of_some(viewed.history(), viewed.tracks(), &asked, 100).unwrap();
    let told = serde_json::to_value(&some).unwrap();
    assert_eq!(told["read"], 100);
    let stopped = told["stopped"].as_i64().unwrap();
    assert!((1..3_000_000).contains(&stopped), "{told}");
    let span = format!("v1/statistics?from=0&until={stopped}");
    let same = ask(&viewed, &span);
    assert_eq!(row(&told, "io:write")["count"], row(&same, "io:write")["count"]);
}

#[test]
fn names_beyond_the_bound_are_one_row_and_none_is_uncounted() {
    let mut program = Program::new();
    for at in 0..400 {
        call(&mut program, (1000 + at * 10, 1005 + at * 10), MAIN, &format!("io:call{at}"));
    }
    let told = ask(&shown(program), "v1/statistics?from=0&until=9000");
    let rows = told["rows"].as_array().unwrap();
    let count: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!((rows.len(), count), (257, 400));
    assert_eq!(rows.last().unwrap()["name"], Value::Null);
    assert_eq!(ask(&viewed(), "v1/statistics?from=0&until=1")["read"], 1);
}
