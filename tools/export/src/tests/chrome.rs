// SPDX-License-Identifier: MIT
//! Chrome's trace events.

use serde_json::{json, Value};

use super::*;

fn events(program: &Program) -> Vec<Value> {
    let (document, _) = json(program, Format::Chrome);
    document["traceEvents"].as_array().unwrap().clone()
}

fn brief(event: &Value) -> String {
    let text = |key: &str| match &event[key] {
        Value::Null => String::new(),
        Value::String(text) => format!(" {text}"),
        other => format!(" {other}"),
    };
    ["ph", "ts", "dur", "tid", "name", "id"].map(text).concat().trim().to_string()
}

#[test]
fn calls_begin_and_end_instants_and_counters_stand_where_they_were() {
    let events = events(&server());
    let shown: Vec<_> = events.iter().filter(|e| e["ph"] != "M").map(brief).collect();
    let wanted = [
        "B 0.0 10 job",
        "B 1000.0 10 io:read",
        "B 2000.0 11 mutex:wait",
        "E 3000.0 10 io:read",
        "i 4000.0 10 mutex:unlock",
        "s 4000.0 10 flow 1",
        "i 5000.0 11 goes on",
        "f 5000.0 11 flow 1",
        "E 5000.0 11 mutex:wait",
        "C 6000.0 10 queue:length.length",
        "B 7000.0 11 io:read",
        "E 8000.0 10 job",
    ];
    assert_eq!(shown, wanted);
    assert_eq!(events[4]["args"], json!({ "result": -5, "error": 5 }));
    assert_eq!(events[10]["args"], json!({ "value": 42 }));
    assert_eq!(events[12]["args"], json!({ "name": "a \"b\"\n" }));
}

#[test]
fn threads_and_processes_have_their_names_and_the_file_says_when_it_begins() {
    let events = events(&server());
    assert_eq!(events[0]["args"]["origin_ns"], "1000000");
    assert!(events[0].get("cat").is_none(), "speedscope takes it for a profile of Chrome's");
    let named: Vec<_> = events.iter().filter(|e| e["ph"] == "M").skip(1).collect();
    let names = named.iter().map(|e| (e["tid"].as_i64().unwrap(), e["args"]["name"].clone()));
    let wanted = [(10, "server"), (10, "server[10]"), (11, "server"), (11, "worker[11]")];
    assert_eq!(names.collect::<Vec<_>>(), wanted.map(|(tid, name)| (tid, json!(name))));
}

#[test]
fn call_that_overlaps_goes_on_apart_from_the_stack() {
    let events = events(&crossing());
    let shown: Vec<_> = events.iter().filter(|e| e["ph"] != "M").map(brief).collect();
    let wanted = [
        "B 0.0 10 job",
        "B 0.1 10 half",
        "E 0.2 10 half",
        "E 0.2 10 job",
        "b 0.2 10 half 1",
        "e 0.4 10 half 1",
        "i 0.5 10 half:end",
    ];
    assert_eq!(shown, wanted);
    assert_eq!(events[3]["args"], json!({ "lull": "end not seen" }));
}

#[test]
fn processors_show_what_ran_and_what_was_lost() {
    let cpus: Vec<_> = events(&scheduled()).iter().filter(|e| e["ph"] == "X").map(brief).collect();
    assert_eq!(cpus, ["X 0.0 0.2 0 server[10]", "X 0.2 0.1 0 worker[11]"]);
    let lost = events(&losing()).into_iter().find(|e| e["ph"] == "X").unwrap();
    assert_eq!(
        (brief(&lost), &lost["args"]["full"]),
        ("X 0.2 0.2 1 3 events lost".into(), &json!(2))
    );
}

#[test]
fn processor_shows_of_a_program_that_was_recorded_alone_when_its_threads_ran() {
    let mut program = scheduled();
    program.environment = "tracer_name = \"lull\"; kernel_of = \"program 10\";".into();
    let cpus = |program| -> Vec<_> {
        events(program).iter().filter(|e| e["ph"] == "X").map(brief).collect()
    };
    assert_eq!(cpus(&program), ["X 0.0 0.2 0 server[10]"]);
    let mut program = Program::new();
    program.environment = "tracer_name = \"lull\"; kernel_of = \"program 10\";".into();
    program.switch((100, 0), (WORKER, 0), MAIN);
    program.event(200, 0, MAIN, "sched:sched_process_exit", &[("pid", Number(10))]);
    program.event(300, 0, WORKER, "tick", &[]);
    let ran = cpus(&program);
    assert!(ran.len() == 1 && ran[0].starts_with("X 0.0 0.1 0 "), "{ran:?}");
}
