// SPDX-License-Identifier: MIT
//! speedscope's format and folded stacks.

use serde_json::{json, Value};

use super::*;

/// The events of a profile, as text.
fn evented(document: &Value, name: &str) -> Vec<String> {
    let profiles = document["profiles"].as_array().unwrap();
    let profile = profiles.iter().find(|profile| profile["name"] == name).expect("the profile");
    let frame = |event: &Value| {
        let at = event["frame"].as_u64().unwrap() as usize;
        document["shared"]["frames"][at]["name"].as_str().unwrap().to_string()
    };
    let events = profile["events"].as_array().unwrap();
    let text = |e: &Value| format!("{} {} {}", e["type"].as_str().unwrap(), e["at"], frame(e));
    events.iter().map(text).collect()
}

fn folded(program: &Program) -> Vec<String> {
    let (out, _) = written(&[program], Format::Folded, &Options::default()).unwrap();
    let mut lines: Vec<String> =
        String::from_utf8(out).unwrap().lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn openings_and_closings_match_and_calls_without_an_end_are_named_so() {
    let (document, done) = json(&server(), Format::Speedscope);
    assert_eq!(
        evented(&document, "server server[10]"),
        ["O 0 job", "O 1000000 io:read", "C 3000000 io:read", "C 8000000 job"]
    );
    assert_eq!(
        evented(&document, "server worker[11], 1 call not finished"),
        [
            "O 2000000 mutex:wait",
            "C 5000000 mutex:wait",
            "O 7000000 io:read (not finished)",
            "C 8000000 io:read (not finished)",
        ]
    );
    assert_eq!((done.left_out, &document["profiles"][0]["unit"]), (0, &json!("nanoseconds")));
}

#[test]
fn call_that_overlaps_is_cut_and_its_rest_is_left_out() {
    let (document, done) = json(&crossing(), Format::Speedscope);
    let half = "half (end not seen)";
    let wanted =
        ["O 0 job".into(), format!("O 100 {half}"), format!("C 200 {half}"), "C 200 job".into()];
    assert_eq!(evented(&document, "server server[10]"), wanted);
    assert_eq!(done.left_out, 1);
}

#[test]
fn processors_and_losses_have_profiles_of_their_own() {
    let (document, _) = json(&scheduled(), Format::Speedscope);
    let wanted = [
        "O 0 server[10]",
        "C 200 server[10]",
        "O 200 worker[11] (end not seen)",
        "C 300 worker[11] (end not seen)",
    ];
    assert_eq!(evented(&document, "CPUs CPU 0"), wanted);
    let (document, _) = json(&losing(), Format::Speedscope);
    let wanted = ["O 200 3 events lost", "C 400 3 events lost"];
    assert_eq!(evented(&document, "Lost events Lost, CPU 1"), wanted);
}

#[test]
fn folded_lines_have_the_time_in_a_call_and_in_none_inside_of_it() {
    let wanted = [
        "server;server[10];job 6000000",
        "server;server[10];job;io:read 2000000",
        "server;worker[11];io:read (not finished) 1000000",
        "server;worker[11];mutex:wait 3000000",
    ];
    assert_eq!(folded(&server()), wanted);
    let wanted = ["server;server[10];job 100", "server;server[10];job;half (end not seen) 100"];
    assert_eq!(folded(&crossing()), wanted);
}
