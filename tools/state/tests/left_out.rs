// SPDX-License-Identifier: MIT
//! Calls of which an end was not recorded on purpose: no duration is made up for any of them.

use state::{Limits, PairIndex, State, Unmatched};
use testkit::program::{Number, Program, Text, Who};
use trace::{Merge, Message, Ns, Trace};

const MAIN: Who = (10, 10, "main");
const OTHER: Who = (20, 20, "other");

/// Of an exit: when its call began, or may have begun.
type Exit = (Option<i64>, Option<i64>);

/// Of each exit; then since when somebody is in a call at the end, and whether that may be over.
fn told(program: &Program) -> (Vec<Exit>, Vec<(i64, bool)>) {
    let (metadata, files) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), files).unwrap()];
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
    let mut exits = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        if let Some(done) = state.event(&event).and_then(|step| step.done) {
            if done.pair.is_some() {
                exits.push((done.begin.map(|at| at.0), done.unsure_begin.map(|at| at.0)));
            }
        }
    }
    state.ends(Ns(i64::MAX));
    let open = state.calls().still_open();
    (exits, open.iter().map(|(_, call)| (call.begin.0, call.may_be_over)).collect())
}

/// A program whose recorder says something of events.
fn recorded(environment: &str) -> Program {
    let mut program = Program::new();
    program.environment = format!("tracer_name = \"lull\"; {environment};");
    program
}

fn call(program: &mut Program, who: Who, (begin, end): (u64, u64)) {
    program.event(begin, 0, who, "http:request_entry", &[]);
    program.event(end, 0, who, "http:request_exit", &[]);
}

#[test]
fn a_call_over_the_begin_or_the_end_of_a_pause_is_not_measured() {
    let mut program = recorded(r#"pauses = "150\t50\t250\t150\n450\t350""#);
    call(&mut program, MAIN, (110, 120));
    call(&mut program, MAIN, (140, 260)); // two calls: an exit and an entry were left out
    call(&mut program, MAIN, (270, 280));
    program.event(440, 0, MAIN, "http:request_entry", &[]);
    let (exits, open) = told(&program);
    assert_eq!(exits, [(Some(110), None), (None, Some(140)), (Some(270), None)]);
    assert_eq!(open, [(440, true)], "recording was paused to its end");
}

#[test]
fn a_call_in_which_it_was_changed_what_is_recorded_is_not_measured() {
    let mut program = recorded(r#"changes = "150\t50\t!http:*\n250\t150\thttp:*""#);
    call(&mut program, MAIN, (140, 260));
    call(&mut program, MAIN, (270, 280));
    let (exits, _) = told(&program);
    assert_eq!(exits, [(None, Some(140)), (Some(270), None)]);
}

#[test]
fn no_call_is_measured_of_which_only_some_events_are_recorded() {
    for environment in [
        r#"sampled = "http:request_exit\t10""#,
        // Of one end, at two rates, or also by something else than by call.
        r#"sampled = "http:request_exit\t10"; sampled_by_call = "http:request_exit""#,
        r#"sampled = "http:request_entry\t2\nhttp:request_exit\t3";
        sampled_by_call = "http:request_entry\nhttp:request_exit""#,
        r#"sampled = "http:request_entry\t2\nhttp:request_exit\t2"; filtered = "http:*";
        sampled_by_call = "http:request_entry\nhttp:request_exit""#,
        r#"throttled = "http:request_entry\t2\t100\t0""#,
        r#"filtered = "http:*""#,
        r#"changes = "1\t0\thttp:request_* if status > 3""#,
    ] {
        let mut program = recorded(environment);
        program.event(100, 0, MAIN, "http:request_entry", &[]);
        program.event(110, 0, MAIN, "io:read_entry", &[("fd", Number(0))]);
        program.event(120, 0, MAIN, "http:request_entry", &[]);
        program.event(130, 0, MAIN, "http:request_exit", &[]);
        program.event(140, 0, MAIN, "http:request_exit", &[]);
        program.event(150, 0, MAIN, "io:read_exit", &[("result", Number(0))]);
        program.event(160, 0, MAIN, "http:request_entry", &[]);
        let (exits, open) = told(&program);
        assert_eq!(exits, [(None, Some(120)), (Some(110), None)], "{environment}");
        assert_eq!(open, [(160, true)], "{environment}");
    }
}

#[test]
fn calls_of_a_sample_are_measured_where_each_was_drawn_as_a_whole() {
    let mut program = recorded(
        r#"sampled = "http:request_entry\t10\nhttp:request_exit\t10";
        sampled_by_call = "http:request_entry\nhttp:request_exit""#,
    );
    program.event(90, 0, MAIN, "http:request_exit", &[]);
    program.event(100, 0, MAIN, "http:request_entry", &[]);
    program.event(110, 0, MAIN, "io:read_entry", &[("fd", Number(0))]);
    program.event(120, 0, MAIN, "http:request_entry", &[]);
    program.event(130, 0, MAIN, "http:request_exit", &[]);
    program.event(140, 0, MAIN, "io:read_exit", &[("result", Number(0))]);
    program.event(150, 0, MAIN, "http:request_exit", &[]);
    program.event(160, 0, MAIN, "http:request_entry", &[]);
    let (exits, open) = told(&program);
    assert_eq!(exits, [(Some(120), None), (Some(110), None), (Some(100), None)]);
    assert_eq!(open, [(160, false)]);
    let (metadata, files) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), files).unwrap()];
    let state = State::new(&traces, 1, &Limits::default());
    let pairs = state.classes().pairs().iter().zip(0..);
    let rates = pairs.map(|(pair, index)| (&*pair.name, state.sample_rates(PairIndex(index))));
    let rates: Vec<_> = rates.collect();
    assert!(rates.contains(&("http:request", &[10])) && rates.contains(&("io:read", &[])));
}

#[test]
fn losses_reach_what_is_below_calls_of_which_only_some_events_are_recorded() {
    let mut program = recorded("filtered = \"http:*\"; pauses = \"130\\t0\\t140\\t0\"");
    program.event(100, 0, MAIN, "io:read_entry", &[("fd", Number(0))]);
    program.event(110, 0, MAIN, "http:request_entry", &[]);
    program.event(150, 0, MAIN, "io:read_exit", &[("result", Number(0))]);
    assert_eq!(told(&program).0, [(None, Some(100))]);
}

#[test]
fn a_process_that_joins_again_has_no_call_that_is_sure_to_go_on() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "http:request_entry", &[]);
    program.event(100, 1, OTHER, "http:request_entry", &[]);
    program.event(200, 0, MAIN, "process:join", &[("path", Text("/bin/server"))]);
    program.event(300, 0, MAIN, "http:request_exit", &[]);
    program.event(310, 1, OTHER, "http:request_exit", &[]);
    assert_eq!(told(&program).0, [(None, Some(100)), (Some(100), None)]);
}

#[test]
fn calls_of_threads_beyond_those_that_are_told_apart_are_counted_and_are_no_exits_without_entry() {
    let mut program = Program::new();
    for tid in 0..5 {
        call(&mut program, (10, 10 + tid, "one"), (100 + 10 * tid as u64, 105 + 10 * tid as u64));
    }
    let (metadata, files) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), files).unwrap()];
    let mut merge = Merge::over(&traces);
    let limits = Limits { threads: 3, ..Limits::default() };
    let mut state = State::new(&traces, merge.stream_count(), &limits);
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        state.event(&event);
    }
    assert_eq!(state.calls().without_room(), 2);
    assert_eq!(state.calls().unmatched(|_| true), [Unmatched::default()]);
}
