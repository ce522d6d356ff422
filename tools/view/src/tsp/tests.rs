// SPDX-License-Identifier: MIT
//! What is answered in the words of the Trace Server Protocol, compared with the crate's own
//! answers; and what is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use history::History;
use serde_json::{json, Value};
use testkit::program::{Number, Program, Who};
use trace::Trace;

use super::{Attempts, Library, Opener, TraceServer, DEFAULT_PORT};
use crate::tests::{send, slices_of, Plain};
use crate::Viewed;

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (11, 11, "worker");
const IDLE: Who = (0, 0, "swapper/0");
const BEGIN: i64 = 1_000_000;
const ROUNDS: u64 = 3000;
/// Events at one and the same time.
const AT_ONCE: u64 = 5000;
const TIMELINE: &str = "timeGraph/lull.timeline";
const ACTIVITY: &str =
    "XY/org.eclipse.tracecompass.internal.tmf.core.histogram.HistogramDataProvider";
const EVENTS: &str = "table/org.eclipse.tracecompass.internal.provisional.tmf.core.model.events.\
    TmfEventTableDataProvider";

/// Two threads that follow one another on a processor, calls of one, and a loss on another.
fn program() -> Program {
    let mut program = Program::new();
    for round in 0..ROUNDS {
        let at = BEGIN as u64 + round * 1000;
        let entry: (_, &[_]) = ("io:read_entry", &[("fd", Number(3))]);
        program.call((at, at + 300), MAIN, entry, ("io:read_exit", &[("result", Number(9))]));
        let (leaves, comes) = if round % 2 == 0 { (MAIN, WORKER) } else { (WORKER, MAIN) };
        program.switch((at + 500, 0), (leaves, 1), comes);
    }
    program.switch((4_100_000, 0), (MAIN, 1), IDLE);
    program.switch((4_200_000, 0), (IDLE, 0), WORKER);
    for _ in 0..AT_ONCE {
        program.event(4_300_000, 1, WORKER, "same:time", &[]);
    }
    program.end_packet(4_400_000, 1, [0, 0, 0, 0]);
    program.event(4_600_000, 1, WORKER, "after:loss", &[]);
    program.end_packet(4_700_000, 1, [5, 0, 0, 0]);
    program
}

fn opened(paths: &[PathBuf]) -> Viewed {
    let traces = paths.iter().map(|path| Trace::open(path).unwrap()).collect();
    let traces: Arc<Vec<Trace>> = Arc::new(traces);
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    Viewed::new(traces.clone(), history, Box::new(Plain(traces)), vec!["a note".into()])
}

/// Traces in a folder of their own, which goes away with it.
struct Traces {
    above: PathBuf,
    paths: Vec<PathBuf>,
}

impl Traces {
    fn new(names: &[&str]) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let above = std::env::temp_dir().join(format!("lull-tsp-{}-{number}", std::process::id()));
        let (metadata, files) = program().files();
        let write = |name: &&str| {
            let folder = above.join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("metadata"), &metadata).unwrap();
            for (file, bytes) in &files {
                std::fs::write(folder.join(file), bytes).unwrap();
            }
            folder
        };
        let paths = names.iter().map(write).collect();
        Self { above, paths }
    }

    fn server(&self) -> Attempts {
        Attempts::new(opened(&self.paths), self.opener()).unwrap()
    }

    fn opener(&self) -> Opener {
        let paths = self.paths.clone();
        Box::new(move |numbers| {
            let some: Vec<PathBuf> = numbers.iter().map(|number| paths[*number].clone()).collect();
            Ok(opened(&some))
        })
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.above).unwrap();
    }
}

fn ask(server: &Attempts, request: &str) -> (u16, Value) {
    let (status, body) = server.attempt(request).unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

fn get(server: &Attempts, path: &str) -> Value {
    let (status, answer) = ask(server, &format!("GET /tsp/api/{path}"));
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// The model of an answer, which is complete.
fn post(server: &Attempts, path: &str, parameters: Value) -> Value {
    let body = json!({ "parameters": parameters });
    let request = format!("POST /tsp/api/experiments/EXPERIMENT/outputs/{path}\n\n{body}");
    let (status, mut answer) = ask(server, &request);
    assert_eq!(status, 200, "{path}: {answer}");
    assert_eq!(answer["status"], "COMPLETED", "{answer}");
    answer["model"].take()
}

fn indexed(server: &Attempts) -> Value {
    // Bound: half a minute.
    for _ in 0..300 {
        let experiment = get(server, "experiments/EXPERIMENT");
        if experiment["indexingStatus"] == "COMPLETED" {
            return experiment;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the events are not counted");
}

fn row(tree: &Value, label: &str) -> Value {
    let mut entries = tree["entries"].as_array().unwrap().iter();
    let found = entries.rfind(|entry| entry["labels"][0] == label);
    found.unwrap_or_else(|| panic!("{label}: {tree}"))["id"].clone()
}

fn range(start: i64, end: i64, count: u32) -> Value {
    json!({ "start": start, "end": end, "nbTimes": count })
}

#[test]
fn only_traces_of_the_command_line_are_opened() {
    let traces = Traces::new(&["one", "two"]);
    let server = traces.server();
    let import = |path: &Path| {
        let body = json!({ "parameters": { "uri": path, "name": "x" } });
        ask(&server, &format!("POST /tsp/api/traces\n\n{body}"))
    };
    let listed = get(&server, "traces");
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[0]["start"], BEGIN);
    let (status, one) = import(&traces.paths[0]);
    assert_eq!((status, &one["UUID"]), (200, &listed[0]["UUID"]));
    let detour = traces.paths[1].join("../one");
    assert_eq!(import(&detour).1["UUID"], one["UUID"]);
    let (status, both) = import(&traces.above);
    assert_eq!(status, 200);
    assert_ne!(both["UUID"], one["UUID"]);
    let (_, unknown) = import(Path::new("/nowhere/at/all"));
    for path in ["/etc", "/etc/passwd", "/proc/self/root/etc", "one", "", "../one", "/a\0b"] {
        assert_eq!(import(Path::new(path)), (404, unknown.clone()), "{path}");
    }
    assert_eq!(import(&traces.paths[0].join("metadata")).0, 404);
    let create = |name: &str, traces: Value| {
        let body = json!({ "parameters": { "name": name, "traces": traces } });
        ask(&server, &format!("POST /tsp/api/experiments\n\n{body}"))
    };
    let (status, alone) = create("alone", json!([one["UUID"]]));
    assert_eq!((status, alone["traces"].as_array().unwrap().len()), (200, 1));
    assert_eq!(create("alone", json!([one["UUID"]])).1["UUID"], alone["UUID"]);
    assert_eq!(create("alone", json!([both["UUID"]])).0, 409, "another name is to be found");
    assert_eq!(create("none", json!([])).0, 400);
    assert_eq!(create("unknown", json!(["0"])).0, 404);
    let path = format!("traces/{}", one["UUID"].as_str().unwrap());
    assert_eq!(ask(&server, &format!("DELETE /tsp/api/{path}")).0, 409);
    // One is there from the beginning, and one is made above.
    for number in 2..16 {
        assert_eq!(create(&format!("n{number}"), json!([both["UUID"]])).0, 200);
    }
    assert_eq!(create("n16", json!([both["UUID"]])).0, 400);
    for experiment in get(&server, "experiments").as_array().unwrap() {
        let id = experiment["UUID"].as_str().unwrap();
        assert_eq!(ask(&server, &format!("DELETE /tsp/api/experiments/{id}")).0, 200);
        assert_eq!(ask(&server, &format!("GET /tsp/api/experiments/{id}")).0, 404);
    }
    assert_eq!(ask(&server, &format!("DELETE /tsp/api/{path}")).0, 200);
    assert_eq!(ask(&server, &format!("GET /tsp/api/{path}")).0, 404);
    assert!(traces.paths[0].join("metadata").exists(), "no file is removed");
    assert_eq!(import(&traces.paths[0]).0, 200);
}

#[test]
fn rows_and_states_are_those_of_the_page() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let viewed = opened(&traces.paths);
    let tree = post(&server, &format!("{TIMELINE}/tree"), json!({}));
    let (cpu, calls) = (row(&tree, "CPU 0"), row(&tree, "calls"));
    let thread = row(&tree, "server[10]");
    let entries = tree["entries"].as_array().unwrap();
    for (number, entry) in entries.iter().enumerate() {
        assert_eq!(entry["id"], number);
        assert!(entry["parentId"].as_u64().is_none_or(|above| above < number as u64));
    }
    let (start, end) = (BEGIN, BEGIN + 9999);
    let items = json!([cpu, thread, calls]);
    let ask = json!({ "requested_timerange": range(start, end, 200), "requested_items": items });
    let model = post(&server, &format!("{TIMELINE}/states"), ask);
    let own = viewed.answer("v1/tracks", "");
    let own: Value = serde_json::from_slice(&own.body).unwrap();
    let ids: Vec<&str> =
        own["tracks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    let query = format!("from=0&until=10000&pixels=200&tracks={}", ids.join(","));
    let own = viewed.answer("v1/slices", &query);
    let own: Value = serde_json::from_slice(&own.body).unwrap();
    for (entry, kind, lane) in [(&cpu, "runs", 0), (&thread, "place", 0), (&calls, "call", 0)] {
        let mut rows = model["rows"].as_array().unwrap().iter();
        let states = rows.find(|row| row["entryId"] == *entry).unwrap()["states"].clone();
        let states: Vec<_> = states
            .as_array()
            .unwrap()
            .iter()
            .map(|state| {
                let time = |word: &str| state[word].as_i64().unwrap() - BEGIN;
                (time("start"), time("end"), state["style"]["parentKey"].clone())
            })
            .collect();
        let mut rows = own["rows"].as_array().unwrap().iter();
        let slices = rows.find(|row| row["kind"] == kind && row["lane"] == lane).unwrap();
        let slices = slices_of(slices).into_iter();
        let slices: Vec<_> = slices
            .map(|slice| (slice.begin, slice.end, own["values"][slice.value]["look"].clone()))
            .collect();
        assert!(states.len() > 5, "{kind}");
        assert_eq!(states, slices, "{kind}");
    }
    let tooltip = json!({ "requested_times": [BEGIN + 2100], "requested_items": [calls],
        "requested_element": { "elementType": "state", "time": 0, "duration": 0 } });
    let tooltip = post(&server, &format!("{TIMELINE}/tooltip"), tooltip);
    assert_eq!(tooltip["Begins at (ns)"], (BEGIN + 2000).to_string());
    assert_eq!(tooltip["Lasts (ns)"], "300");
}

#[test]
fn states_without_a_text_are_dimmed_or_left_out() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let tree = post(&server, &format!("{TIMELINE}/tree"), json!({}));
    let states = |key: &str| {
        let model = post(
            &server,
            &format!("{TIMELINE}/states"),
            json!({ "requested_timerange": range(BEGIN, BEGIN + 9999, 200),
                "requested_items": [row(&tree, "CPU 0")],
                "filter_query_parameters": { "filter_expressions_map": { key: ["SERVER"] } } }),
        );
        model["rows"][0]["states"].as_array().unwrap().clone()
    };
    let has = |state: &Value| state["label"].as_str().unwrap().contains("server");
    let (dimmed, left) = (states("1"), states("4"));
    assert!(dimmed.iter().all(|state| has(state) == state["tags"].is_null()));
    assert!(!left.is_empty() && left.iter().all(has) && dimmed.len() > left.len());
}

#[test]
fn arrows_lead_from_thread_to_thread_and_not_over_idle_time() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let tree = post(&server, &format!("{TIMELINE}/tree"), json!({}));
    let (main, worker) = (row(&tree, "server[10]"), row(&tree, "worker[11]"));
    let arrows = |start: i64, end: i64, count: u32| {
        let ask = json!({ "requested_timerange": range(start, end, count) });
        post(&server, &format!("{TIMELINE}/arrows"), ask).as_array().unwrap().clone()
    };
    let near = arrows(BEGIN, BEGIN + 3600, 3000);
    let told: Vec<_> =
        near.iter().map(|a| (&a["sourceId"], &a["targetId"], a["start"].as_i64())).collect();
    let wanted = [(&worker, &main, 1500), (&main, &worker, 2500), (&worker, &main, 3500)];
    assert_eq!(told, wanted.map(|(source, target, at)| (source, target, Some(BEGIN + at))));
    assert!(arrows(4_050_000, 4_250_000, 3000).is_empty(), "the processor was idle between");
    assert!(arrows(BEGIN, 4_000_000, 10).len() <= 10, "one for each part");
}

#[test]
fn lost_events_are_annotated_on_their_rows() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let tree = post(&server, &format!("{TIMELINE}/tree"), json!({}));
    let rows = ["CPU 0", "CPU 1", "worker[11]"].map(|label| row(&tree, label));
    let ask =
        json!({ "requested_timerange": range(BEGIN, 4_700_000, 100), "requested_items": rows });
    let model = post(&server, "lull.timeline/annotations", ask.clone());
    let told = model["annotations"]["Lost events"].as_array().unwrap();
    let on: Vec<&Value> = told.iter().map(|annotation| &annotation["entryId"]).collect();
    assert_eq!(on, [&json!(-1), &rows[1], &rows[2]]);
    assert!(told[0]["label"].as_str().unwrap().starts_with("5 events"), "{model}");
    assert!(told[0]["time"].as_i64().unwrap() >= 4_300_000, "{model}");
    let mut other = ask;
    other["requested_marker_categories"] = json!(["something else"]);
    let none = post(&server, "lull.timeline/annotations", other);
    assert_eq!(none["annotations"], json!({}));
    let experiment = indexed(&server);
    let properties = &experiment["traces"][0]["properties"];
    assert_eq!(properties["lost events and packets"], "5");
    assert_eq!(properties["notes"], "a note");
}

#[test]
fn series_have_the_counts_of_the_page() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let viewed = opened(&traces.paths);
    let tree = post(&server, &format!("{ACTIVITY}/tree"), json!({}));
    let items = ["machine 0", "CPU 0", "CPU 1"].map(|label| row(&tree, label));
    let ask =
        json!({ "requested_timerange": range(BEGIN, 4_700_000, 50), "requested_items": items });
    let model = post(&server, &format!("{ACTIVITY}/xy"), ask);
    let sums: Vec<u64> = model["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| {
            assert_eq!(series["xValues"].as_array().unwrap().len(), 50);
            series["yValues"].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).sum()
        })
        .collect();
    let own = viewed.answer("v1/ticks", "from=0&until=3700001&pixels=1");
    let own: Value = serde_json::from_slice(&own.body).unwrap();
    let on_cpu = |cpu: u64| {
        let mut rows = own["rows"].as_array().unwrap().iter();
        rows.find(|row| row["cpu"] == cpu).unwrap()["counts"][0][1].as_u64().unwrap()
    };
    assert_eq!(sums, [on_cpu(0) + on_cpu(1), on_cpu(0), on_cpu(1)]);
    assert_eq!(own["total"].as_u64(), Some(sums[0]));
}

#[test]
fn every_event_is_the_line_of_its_number() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let count = indexed(&server)["nbEvents"].as_u64().unwrap();
    let lines = |parameters: Value| {
        let model = post(&server, &format!("{EVENTS}/lines"), parameters);
        assert_eq!(model["size"], count);
        let told = model["lines"].as_array().unwrap().iter();
        told.map(|line| {
            let cell = |at: usize| line["cells"][at]["content"].as_str().unwrap().to_string();
            (line["index"].as_u64().unwrap(), cell(0).parse().unwrap(), cell(1), line["tags"] == 8)
        })
        .collect::<Vec<(u64, i64, String, bool)>>()
    };
    let mut all = Vec::new();
    while (all.len() as u64) < count {
        let page = json!({ "requested_table_index": all.len(), "requested_table_count": 1000 });
        let page = lines(page);
        assert!(!page.is_empty());
        all.extend(page);
    }
    assert!(all.iter().enumerate().all(|(number, line)| line.0 == number as u64));
    assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    let same = all.iter().filter(|line| line.2 == "same:time").count() as u64;
    assert_eq!(same, AT_ONCE, "each of them once");
    for at in [0, 1, 4095, 4096, 9999, 12_288, count - 1] {
        let one = json!({ "requested_table_index": at, "requested_table_count": 1 });
        assert_eq!(lines(one), [all[at as usize].clone()], "{at}");
    }
    let none = json!({ "requested_table_index": count, "requested_table_count": 1 });
    assert!(lines(none).is_empty());
    for time in [0, BEGIN, BEGIN + 1, 3_000_300, 4_300_000, 4_300_001, 9_000_000] {
        let wanted = all.iter().find(|line| line.1 >= time).map(|line| line.0);
        let found = lines(json!({ "requested_times": [time], "requested_table_count": 1 }));
        assert_eq!(found.first().map(|line| line.0), wanted, "{time}");
    }
    let search = |from: u64, text: &str, direction: &str| {
        let found = lines(json!({ "requested_table_index": from, "requested_table_count": 2,
            "table_search_expressions": { "1": text }, "table_search_direction": direction }));
        found.first().map(|line| (line.0, line.3))
    };
    let last = all.iter().rposition(|line| line.2.starts_with("io:")).unwrap() as u64;
    assert_eq!(search(0, "^after:", "NEXT").map(|found| found.0), Some(count - 1));
    assert_eq!(search(count - 1, "^io:", "PREVIOUS"), Some((last, true)));
    assert_eq!(search(0, "no such event", "NEXT"), None);
    assert_eq!(search(count - 1, "no such event", "PREVIOUS"), None);
    let tagged = lines(json!({ "requested_table_index": 0, "requested_table_count": 100,
        "table_search_expressions": { "1": "_exit$" } }));
    assert!(tagged.iter().all(|line| line.3 == line.2.ends_with("_exit")));
    let tree = post(&server, "data/lull.statistics/tree", json!({}));
    let entries = tree["entries"].as_array().unwrap();
    assert_eq!(entries[0]["labels"][1], count.to_string());
    assert_eq!(entries[1]["labels"][1], "5");
    let own = entries.iter().find(|entry| entry["labels"][0] == "same:time").unwrap();
    assert_eq!(own["labels"][1], AT_ONCE.to_string());
}

#[test]
fn what_makes_no_sense_is_refused_with_a_title() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let outputs = "POST /tsp/api/experiments/EXPERIMENT/outputs";
    let all = json!({ "parameters": { "requested_timerange": range(0, 9, 1) } });
    for (request, status) in [
        ("GET /tsp/api/nothing".to_string(), 404),
        ("GET /".into(), 404),
        ("GET /tsp/api/../../etc/passwd".into(), 404),
        ("GET /tsp/api/experiments/0/outputs".into(), 404),
        ("GET /tsp/api/experiments/EXPERIMENT/bookmarks".into(), 404),
        ("PUT /tsp/api/experiments/EXPERIMENT".into(), 405),
        ("GET /tsp/api/health\norigin: http://evil.example".into(), 403),
        ("GET /tsp/api/health\nhost: evil.example".into(), 421),
        (format!("{outputs}/{TIMELINE}/states\n\n"), 400),
        (format!("{outputs}/{TIMELINE}/states\n\n{{\"parameters\":{{}}}}"), 400),
        (format!("{outputs}/timeGraph/nothing/states\n\n{all}"), 404),
        (format!("{outputs}/{TIMELINE}/xy\n\n{all}"), 404),
        (format!("{outputs}/{TIMELINE}/tooltip\n\n{all}"), 400),
        (format!("{outputs}/{EVENTS}/lines\n\n{all}"), 400),
    ] {
        let (found, answer) = ask(&server, &request);
        assert_eq!(found, status, "{request}: {answer}");
        assert!(answer["title"].as_str().is_some_and(|title| title.len() > 5), "{request}");
    }
    for parameters in [
        json!({ "requested_table_index": 0, "table_search_expressions": { "1": "(" } }),
        json!({ "requested_table_index": 0, "table_search_expressions": { "99": "x" } }),
        json!({ "requested_table_index": 0, "table_search_expressions": { "1": "(a{999}){999}" } }),
        json!({ "requested_table_index": 0, "requested_table_column_ids": [8] }),
    ] {
        let body = json!({ "parameters": parameters });
        assert_eq!(ask(&server, &format!("{outputs}/{EVENTS}/lines\n\n{body}")).0, 400, "{body}");
    }
}

#[test]
fn any_parameters_are_answered_or_refused_and_nothing_panics() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let random = &mut testkit::Random::new(12);
    let words = [
        "requested_items",
        "requested_times",
        "requested_table_index",
        "requested_table_count",
        "requested_table_column_ids",
        "requested_timerange",
        "requested_element",
        "table_search_direction",
    ];
    let values = [
        "0",
        "[0,1,2,99]",
        "-1",
        "[]",
        "null",
        "\"NEXT\"",
        "[9223372036854775807]",
        "[-9223372036854775808]",
        "9223372036854775807",
        "{\"elementType\":\"state\"}",
        "{\"start\":1000000,\"end\":1003000,\"nbTimes\":50}",
        "{\"start\":-9223372036854775808,\"end\":9223372036854775807,\"nbTimes\":4000000000}",
    ];
    let paths = [
        format!("{TIMELINE}/tree"),
        format!("{TIMELINE}/states"),
        format!("{TIMELINE}/arrows"),
        format!("{TIMELINE}/tooltip"),
        format!("{ACTIVITY}/xy"),
        format!("{EVENTS}/lines"),
        "lull.timeline/annotations".into(),
    ];
    for _ in 0..1500 {
        let mut parameters = String::new();
        for (number, word) in words.iter().enumerate() {
            if random.one_in(2) {
                let comma = if parameters.is_empty() { "" } else { "," };
                let value = if number == 5 { 10 + random.below(2) } else { random.below(12) };
                parameters += &format!("{comma}\"{word}\":{}", values[value as usize]);
            }
        }
        let path = &paths[random.below(7) as usize];
        let request = format!(
            "POST /tsp/api/experiments/EXPERIMENT/outputs/{path}\n\n\
            {{\"parameters\":{{{parameters}}}}}"
        );
        let (status, _) = ask(&server, &request);
        assert!(status == 200 || status == 400, "{request}: {status}");
    }
}

#[test]
fn requests_of_the_fuzzer_and_changes_of_them_are_answered_or_refused() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    indexed(&server);
    let seeds = include_str!("../../../../check/fuzz/seeds/ask_view.txt").lines();
    let of_editors =
        |line: &&str| ["GET ", "POST ", "OPTIONS "].iter().any(|m| line.starts_with(m));
    let seeds: Vec<String> = seeds.filter(of_editors).map(|s| s.replace("\\n", "\n")).collect();
    let is_answered = |seed: &&String| server.attempt(seed).unwrap().0 == 200;
    assert!(seeds.iter().filter(is_answered).count() >= 9, "seeds reach the answers");
    let random = &mut testkit::Random::new(13);
    for _ in 0..3000 {
        let mut request = random.pick(&seeds).clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(request.len() as u64) as usize;
            let byte = *random.pick(b"0129-[]{}\",:.\n ax\xff");
            match random.below(3) {
                0 => request[at] = byte,
                1 => request.insert(at, byte),
                _ => _ = request.remove(at),
            }
        }
        let request = String::from_utf8_lossy(&request);
        let Some((status, body)) = server.attempt(&request) else { continue };
        let known = [200, 400, 403, 404, 405, 413, 415, 421];
        assert!(known.contains(&status), "{request}: {status}");
        assert!(body.is_empty() || serde_json::from_slice::<Value>(&body).is_ok(), "{request}");
    }
}

#[test]
fn server_answers_this_user_and_known_editors() {
    assert_eq!(DEFAULT_PORT, 8080, "where clients look");
    assert!(TraceServer::bind(0, &["http://evil.example".into()]).is_err());
    let traces = Traces::new(&["one"]);
    let server = TraceServer::bind(0, &["http://localhost:3000".into()]).unwrap();
    let address = server.url().split('/').nth(2).unwrap().to_string();
    let (whole, opener) = (opened(&traces.paths), traces.opener());
    // It serves until the test program ends.
    std::thread::spawn(move || server.serve(whole, opener).unwrap());
    let ask = |method: &str, path: &str, more: &str, body: &str| {
        let length = if body.is_empty() { 0 } else { body.len() };
        let request = format!(
            "{method} /tsp/api/{path} HTTP/1.1\r\nHost: {address}\r\n{more}\
            Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let (status, answer) = send(&address, &request);
        (status, answer.to_lowercase())
    };
    let (status, answer) = ask("GET", "health", "", "");
    assert_eq!(status, 200);
    assert!(answer.contains("content-type: application/json\r\n"), "{answer}");
    assert!(!answer.contains("access-control"), "{answer}");
    for origin in ["http://localhost:3000", "vscode-webview://abc"] {
        for method in ["GET", "OPTIONS"] {
            let (status, answer) = ask(method, "health", &format!("Origin: {origin}\r\n"), "");
            assert_eq!(status, 200);
            let allowed = format!("access-control-allow-origin: {origin}\r\n");
            assert!(answer.contains(&allowed) && answer.contains("vary: origin"), "{answer}");
        }
    }
    let (status, answer) = ask("OPTIONS", "health", "Origin: http://evil.example\r\n", "");
    assert_eq!(status, 403);
    assert!(!answer.contains("access-control"), "{answer}");
    let json = "Content-Type: application/json\r\n";
    assert_eq!(ask("POST", "traces", json, "{}").0, 400);
    assert_eq!(ask("POST", "traces", "Content-Type: text/plain\r\n", "{}").0, 415);
    let large = " ".repeat(super::MOST_BODY_BYTES + 1);
    assert_eq!(ask("POST", "traces", json, &large).0, 413);
    assert_eq!(ask("GET", &"x".repeat(3000), "", "").0, 414);
    assert_eq!(ask("GET", "health", "", "").0, 200, "it still answers");
}

#[test]
fn identifiers_are_random_uuids() {
    let traces = Traces::new(&["one"]);
    let library = Library::new(opened(&traces.paths), traces.opener()).unwrap();
    let all = serde_json::to_value(library.experiments()).unwrap();
    let id = all[0]["UUID"].as_str().unwrap();
    let lengths: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert_eq!(&id[14..15], "4");
    assert!("89ab".contains(&id[19..20]), "{id}");
}

#[test]
fn views_of_a_trace_that_was_cut_since_it_was_opened_are_refused() {
    let traces = Traces::new(&["one"]);
    let server = traces.server();
    let file = std::fs::File::options().write(true).open(traces.paths[0].join("stream_0"));
    file.unwrap().set_len(100).unwrap();
    let request = format!("POST /tsp/api/experiments/EXPERIMENT/outputs/{ACTIVITY}/tree");
    let (status, answer) = ask(&server, &(request + "\n\n{\"parameters\":{}}"));
    assert_eq!(status, 410, "{answer}");
}
