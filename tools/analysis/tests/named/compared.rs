// SPDX-License-Identifier: MIT
//! `compare`: two made-up traces that differ in what is said here, and in nothing else.

use analysis::{ask, compare, named, Options, Question};
use serde_json::json;
use testkit::program::{Number, Program, Who};

use super::{documented, opened, rows};

const APP: Who = (10, 10, "app");
const MS: u64 = 1_000_000;

/// 100 ms with a read and a write per ms. Reads take `read_ns` and up to 40 ns more; writes the
/// same in all. `ticks` per ms.
fn program(read_ns: u64, ticks: u64) -> Program {
    let mut program = Program::new();
    for ms in 0..100u64 {
        let begin = ms * MS;
        let more = (ms * 17) % 41;
        let fd = [("fd", Number(0))];
        program.event(begin, 0, APP, "io:read_entry", &fd);
        program.event(begin + read_ns + more, 0, APP, "io:read_exit", &[("result", Number(1))]);
        program.event(begin + 5000, 0, APP, "io:write_entry", &[("fd", Number(1))]);
        let end = begin + 5100 + more;
        program.event(end, 0, APP, "io:write_exit", &[("result", Number(1))]);
        for tick in 0..ticks {
            program.event(begin + 10_000 + tick, 0, APP, "tick", &[]);
        }
    }
    program.event(3 * MS, 0, APP, "once", &[]);
    program
}

#[test]
fn what_changed_is_told_with_its_probability_and_what_did_not_is_not() {
    let (a, b) = ([opened(&program(1000, 1))], [opened(&program(1300, 3))]);
    let options = Options::default();
    let answer = compare((&a, &options), (&b, &options), |_, _| {});
    documented(&answer);
    let keys = ["name", "verdict", "count_a", "count_b", "total_change_ns", "longer_share"];
    assert_eq!(
        rows(&answer, "latencies", &keys),
        json!([
            ["io:read", "longer", 100, 100, 30_000, 1.0],
            ["io:write", "not known to differ", 100, 100, 0, 0.5]
        ])
    );
    let p = rows(&answer, "latencies", &["p", "q"]);
    assert!(p[0][0].as_f64().unwrap() < 1e-20 && p[1][0] == 1.0, "{p}");
    let rates = rows(&answer, "rates", &["name", "verdict", "count_a", "count_b"]);
    assert_eq!(rates[0], json!(["tick", "more frequent", 100, 300]));
    let others = rates.as_array().unwrap()[1..].iter();
    assert_eq!(others.filter(|row| row[1] != "not known to differ").count(), 0, "{rates}");
    assert!(answer.other.is_some() && answer.sheet.notes[0].contains("Mann and Whitney"));
}

#[test]
fn too_few_calls_are_not_judged() {
    let mut few = Program::new();
    few.event(10, 0, APP, "io:read_entry", &[("fd", Number(0))]);
    few.event(20, 0, APP, "io:read_exit", &[("result", Number(1))]);
    let (a, b) = ([opened(&few)], [opened(&program(1000, 1))]);
    let options = Options::default();
    let answer = compare((&a, &options), (&b, &options), |_, _| {});
    assert_eq!(
        rows(&answer, "latencies", &["name", "verdict", "p50_a_ns", "p"]),
        json!([
            ["io:read", "too few to tell", 10, null],
            ["io:write", "too few to tell", null, null]
        ])
    );
}

#[test]
fn one_trace_is_not_compared() {
    let compare = named("compare").unwrap();
    let trace = [opened(&program(1000, 1))];
    let answer = ask(compare, &Question::default(), &trace, &Options::default(), |_| {});
    assert!(answer.unwrap_err().to_string().starts_with("compare needs two traces"));
}
