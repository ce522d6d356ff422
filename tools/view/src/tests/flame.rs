// SPDX-License-Identifier: MIT
//! Stacks of a span: the same as the command line's, of one row or of all, and bounded.

use serde_json::Value;
use testkit::program::{Number, Program, Who};

use super::statistics::{call, shown, MAIN};
use super::{ask, id_of, Viewed};
use crate::ask::Ask;
use crate::flame::of_some;

const OTHER: Who = (20, 21, "other");

/// A call of 1000 ns with one of 400 ns inside, and a call of 300 ns of another process.
fn nested() -> Viewed {
    let mut program = Program::new();
    program.event(1000, 0, MAIN, "job:begin", &[("id", Number(1))]);
    call(&mut program, (1200, 1600), MAIN, "io:read");
    program.event(2000, 0, MAIN, "job:end", &[]);
    call(&mut program, (3000, 3300), OTHER, "io:write");
    shown(program)
}

/// Stacks without the names of processes and threads, and their values.
fn stacks(told: &Value) -> Vec<(String, u64)> {
    let stack = |stack: &Value| {
        let frames = stack["frames"].as_array().unwrap().iter().skip(2);
        let names: Vec<&str> = frames.map(|frame| frame.as_str().unwrap()).collect();
        (names.join(";"), stack["value"].as_u64().unwrap())
    };
    told["stacks"].as_array().unwrap().iter().map(stack).collect()
}

#[test]
fn time_in_calls_is_told_by_stack_of_all_or_of_a_row() {
    let viewed = nested();
    let of =
        |track: &str| ask(&viewed, &format!("v1/flame?from=0&until=9000&of=calls&track={track}"));
    let all = of("");
    let expected = [("job", 600), ("job;io:read", 400), ("io:write", 300)];
    assert_eq!(stacks(&all), expected.map(|(name, ns)| (name.to_string(), ns)));
    assert_eq!((&all["measure"], &all["total"]), (&"ns".into(), &1300.into()));
    assert_eq!(stacks(&of("h0")), stacks(&all));
    assert_eq!(stacks(&of(&id_of(&viewed, "other[20]"))), [("io:write".to_string(), 300)]);
    let thread = ask(&viewed, "v1/tracks");
    let threads = thread["tracks"].as_array().unwrap();
    let thread = threads.iter().find(|track| track["tid"] == 21).unwrap();
    assert_eq!(stacks(&of(thread["id"].as_str().unwrap())), [("io:write".to_string(), 300)]);
}

#[test]
fn only_the_span_counts_and_what_there_is_none_of_is_said() {
    let viewed = nested();
    let late = ask(&viewed, "v1/flame?from=1500&until=9000&of=calls");
    assert_eq!(stacks(&late), [("io:write".to_string(), 300)]);
    let none = ask(&viewed, "v1/flame?from=0&until=9000&of=stacks");
    assert_eq!((&none["measure"], stacks(&none).len()), (&"events".into(), 0));
    assert!(none["notes"].to_string().contains("no call stacks"), "{none}");
    assert_eq!(stacks(&ask(&viewed, "v1/flame?from=0&until=9000")).len(), 3, "calls, by itself");
}

#[test]
fn an_answer_has_a_bound_and_says_what_it_lacks() {
    let viewed = nested();
    let asked = Ask::new("from=0&until=9000&of=calls").unwrap();
    let told = |most| serde_json::to_value(of_some(&viewed, &asked, most).unwrap()).unwrap();
    let few = told((1000, 1));
    assert_eq!(stacks(&few), [("job".to_string(), 600)]);
    assert_eq!((&few["left_out"], &few["total"]), (&2.into(), &1300.into()));
    assert_eq!(few["stopped"], Value::Null);
    let short = told((4, 100));
    assert!(short["stopped"].as_i64().unwrap() < 1000, "{short}");
    assert!(short["total"].as_u64().unwrap() < 1300, "{short}");
}
