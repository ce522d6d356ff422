// SPDX-License-Identifier: MIT
//! The command as people use it: the guide's examples, the exit status, and `lull print --json`,
//! which counts and decodes independently. Needs the command `lull`, which `make tools` builds.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use crate::made::{folder, lull};
use serde_json::Value;
use testkit::program::Program;
use testkit::{random_stream, shop, Spec, TraceFolder};

/// A folder with `lull` and `lull-query` side by side, as they are installed.
struct Bin(TraceFolder);

impl Bin {
    fn new() -> Self {
        let lull = lull().expect("the command lull is built: run `make tools` first");
        let folder = TraceFolder::new("", &[]).unwrap();
        std::fs::copy(lull, folder.path().join("lull")).unwrap();
        let engine = env!("CARGO_BIN_EXE_lull-query");
        std::fs::copy(engine, folder.path().join("lull-query")).unwrap();
        Self(folder)
    }

    /// Runs a line in a folder.
    fn run(&self, line: &str, folder: &Path) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new("sh")
            .args(["-c", line])
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", self.0.path().display()))
            .output()
            .unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The commands of a block, each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            found.push((command.to_string(), String::new()));
        } else if let Some((command, output)) = found.last_mut() {
            match line.strip_prefix("> ").filter(|_| output.is_empty()) {
                Some(more) => *command += &format!("\n{more}"),
                None => *output += &format!("{line}\n"),
            }
        }
    }
    found
}

/// With GUIDE=write the guide gets what the commands print.
#[test]
fn commands_of_the_guide_print_what_the_guide_says() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/query.md");
    let old = std::fs::read_to_string(&guide).unwrap();
    let bin = Bin::new();
    let place = TraceFolder::new("", &[]).unwrap();
    let trace = folder(&shop());
    std::fs::rename(trace.path(), place.path().join("shop")).unwrap();
    let mut new = String::new();
    let mut count = 0;
    for (index, part) in old.split("```\n").enumerate() {
        if index > 0 {
            new += "```\n";
        }
        if index % 2 == 0 || !part.starts_with("$ lull") {
            new += part;
            continue;
        }
        for (command, _) in commands(part) {
            let output = bin.run(&format!("{{ {command}\n}} 2>&1"), place.path());
            new += &format!("$ {}\n{}", command.replace('\n', "\n> "), text(&output.stdout));
            count += 1;
        }
    }
    if std::env::var("GUIDE").is_ok_and(|word| word == "write") {
        std::fs::write(guide, &new).unwrap();
    } else {
        assert_eq!(old, new);
    }
    assert!(count >= 8, "{count} commands");
}

#[test]
fn the_status_says_whether_there_were_rows_and_whether_all_was_there() {
    let bin = Bin::new();
    let mut lossy = shop();
    lossy.end_packet(1_780_000_100_000_000_000, 0, [3, 0, 0, 0]);
    let (whole, lossy) = (folder(&shop()), folder(&lossy));
    for (sql, trace, status, said) in [
        ("SELECT 1 FROM calls", &whole, 0, ""),
        ("SELECT 1 FROM calls WHERE pid = 0", &whole, 1, ""),
        ("SELECT count(*) FROM calls", &lossy, 1, "3 events lost of what was read"),
        ("SELECT nothing FROM calls", &whole, 2, "nothing"),
        ("SELECT 1 FROM nothing", &whole, 2, "no table is named nothing"),
    ] {
        let output = bin.run(&format!("lull query '{sql}' ."), trace.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{sql}: {error}");
        assert!(error.contains(said), "{sql}: {error}");
    }
    let missing = bin.run("lull query 'SELECT 1' /nowhere", whole.path());
    assert_eq!(missing.status.code(), Some(2));
    let alone = bin.run("rm -f lull-query; lull query 'SELECT 1' ; true", bin.0.path());
    assert!(text(&alone.stderr).contains("is neither"), "{}", text(&alone.stderr));
}

#[test]
fn a_dataset_says_what_its_traces_lacked() {
    let bin = Bin::new();
    let (mut lossy, mut unfinished) = (shop(), shop());
    lossy.end_packet(1_780_000_100_000_000_000, 0, [3, 0, 0, 0]);
    unfinished.environment = unfinished.environment.replace("complete", "recording");
    for (program, status, said) in [
        (shop(), 0, ""),
        (lossy, 1, "3 events lost of what was read"),
        (unfinished, 1, "the recording was not finished"),
    ] {
        let trace = folder(&program);
        let exported = bin.run("lull export --parquet .dataset .", trace.path());
        assert_eq!(exported.status.code(), Some(status), "{}", text(&exported.stderr));
        let output = bin.run("lull query 'SELECT count(*) FROM calls' .dataset", trace.path());
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), error.lines().count()), (Some(status), status as usize));
        assert!(error.contains(said), "{error}");
        let listed = bin.run("lull query --tables .dataset", trace.path());
        assert_eq!((listed.status.code(), text(&listed.stderr)), (Some(0), String::new()));
    }
}

/// A trace of two calls, of which its recorder says that it has so many events.
fn told(events: u64) -> TraceFolder {
    let mut program = Program::new();
    let main = (10, 10, "main");
    for at in [100, 200] {
        program.call((at, at + 10), main, ("a:b_entry", &[]), ("a:b_exit", &[]));
    }
    let text = "tracer_name = \"lull\"; verdict = \"complete\"; events = ";
    program.environment = format!("{text}{events};");
    folder(&program)
}

#[test]
fn other_events_than_a_recorder_wrote_are_told_unless_only_some_were_read() {
    let bin = Bin::new();
    let (equal, more) = (told(4), told(9));
    let sentence = "the recorder wrote 9 events; 4 of them can be read";
    for (table, rows) in [
        ("events", 4),
        ("calls", 2),
        ("states", 0),
        ("threads", 1),
        ("\"a:b_entry\"", 2),
        ("lost", 1),
    ] {
        let line = format!("lull query --format csv 'SELECT count(*) AS n FROM {table}' .");
        let wrong = bin.run(&line, more.path());
        let said = text(&wrong.stderr);
        assert!(said.contains(sentence), "{table}: {said}");
        assert_eq!((wrong.status.code(), text(&wrong.stdout)), (Some(1), format!("n\n{rows}\n")));
        let right = bin.run(&line, equal.path());
        assert_eq!((right.status.code(), text(&right.stderr)), (Some(0), String::new()), "{table}");
    }
    let lost = "lull query --format csv 'SELECT kind, what FROM lost' .";
    assert!(text(&bin.run(lost, more.path()).stdout).starts_with("kind,what\nverdict,"));
    let exported = bin.run("lull export --parquet .dataset .", more.path());
    assert!(text(&exported.stderr).contains(sentence), "{}", text(&exported.stderr));
    assert_eq!(exported.status.code(), Some(1));
    for line in [
        "lull query --from +50ns 'SELECT name FROM events' .",
        "lull query 'SELECT name FROM events WHERE time > 0' .",
        "lull query 'SELECT begin FROM packets' .",
    ] {
        let output = bin.run(line, more.path());
        assert!(!text(&output.stderr).contains("wrote"), "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn calls_of_threads_beyond_those_that_are_told_apart_are_told_as_in_a_report() {
    let bin = Bin::new();
    let mut program = Program::new();
    let most = state::Limits::default().threads as u64;
    for number in 1..most + 9 {
        let at = number * 10;
        let who = (number as i64, number as i64, "w");
        program.call((at, at + 1), who, ("a:b_entry", &[]), ("a:b_exit", &[]));
    }
    let trace = folder(&program);
    let reported = text(&bin.run("lull report .", trace.path()).stdout);
    let sentence = "calls of the others are not measured";
    assert!(reported.contains(sentence), "{reported}");
    let output = bin.run("lull query 'SELECT count(*) FROM calls' .", trace.path());
    let said = text(&output.stderr);
    let said = said.trim().strip_prefix("lull: ").unwrap();
    assert!(said.contains(sentence) && reported.contains(said), "{said}");
}

#[test]
fn queries_come_as_arguments_files_and_input_and_times_as_people_name_them() {
    let bin = Bin::new();
    let trace = folder(&shop());
    std::fs::write(trace.path().join(".q.sql"), "SELECT count(*) AS n FROM calls").unwrap();
    for line in [
        "lull query 'SELECT count(*) AS n FROM calls' . --format csv",
        "lull query -f .q.sql . --format csv",
        "lull query - . --format csv < .q.sql",
        "lull query --format csv -f .q.sql",
    ] {
        let output = bin.run(line, trace.path());
        assert_eq!(text(&output.stdout), "n\n86\n", "{line}: {}", text(&output.stderr));
    }
    let line = "lull query --format csv --from +10ms --to +11ms \
                'SELECT count(*) AS n FROM \"http:request_entry\"' .";
    let output = bin.run(line, trace.path());
    assert_eq!(text(&output.stdout), "n\n2\n", "{}", text(&output.stderr));
    let line =
        "lull query -n 2 -o out.arrow --format arrow 'SELECT * FROM events' . && wc -c < out.arrow";
    let output = bin.run(line, trace.path());
    assert!(text(&output.stdout).trim().parse::<u64>().unwrap() > 100);
}

/// Counts, and whole numbers and texts of fields, of what two programs say of the same events.
#[test]
fn rows_are_the_events_that_print_shows() {
    let bin = Bin::new();
    for seed in 0..12 {
        let spec = Spec::random(seed);
        let (bytes, _) = random_stream(&spec, 0, seed, 8);
        let trace = TraceFolder::new(&spec.metadata(), &[bytes]).unwrap();
        let printed = bin.run("lull print --json --all .", trace.path());
        let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in text(&printed.stdout).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if let Some(name) = line["name"].as_str() {
                events.entry(name.to_string()).or_default().push(line);
            }
        }
        assert!(!events.is_empty(), "seed {seed}");
        for (name, wanted) in events {
            let sql = format!("SELECT * FROM \"{name}\"");
            let line = format!("lull query '{sql}' . --format ndjson");
            let found = text(&bin.run(&line, trace.path()).stdout);
            let found: Vec<Value> =
                found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(found.len(), wanted.len(), "seed {seed}, {name}");
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found["cpu"], wanted["cpu"]);
                for (field, value) in wanted["fields"].as_object().unwrap() {
                    let is_plain = value.is_i64() || value.is_u64() || value.is_string();
                    let is_float = matches!(value.as_str(), Some("NaN" | "inf" | "-inf"));
                    // A field that is called like a common column has another name.
                    if is_plain && !is_float {
                        assert_eq!(&found[field], value, "seed {seed}, {name}, {field}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_lists_of_tables_and_columns_can_be_asked_for() {
    let bin = Bin::new();
    let trace = folder(&shop());
    let tables = text(&bin.run("lull query --tables .", trace.path()).stdout);
    assert!(tables.lines().count() >= 15, "{tables}");
    assert!(tables.contains("\n\"http:request_entry\""), "{tables}");
    for (line, wanted) in [
        (
            "lull query --describe lost --format ndjson .",
            r#"{"table":"lost","column":"begin","type":"Timestamp(ns)"}"#,
        ),
        ("lull query --tables --format csv .", "table,column,type"),
        ("lull query --tables --format csv . -o .list && cat .list", "table,column,type"),
    ] {
        let rows = text(&bin.run(line, trace.path()).stdout);
        assert_eq!(rows.lines().next(), Some(wanted), "{line}");
        assert!(rows.lines().count() >= 9, "{rows}");
    }
    let columns = text(&bin.run("lull query --describe calls", trace.path()).stdout);
    assert!(columns.starts_with("time "), "{columns}");
    let wrong = bin.run("lull query --describe cals", trace.path());
    assert!(text(&wrong.stderr).contains("the nearest is calls"), "{}", text(&wrong.stderr));
}

#[test]
fn absurd_queries_are_refused_or_answered_and_end_nothing() {
    let bin = Bin::new();
    let folder = folder(&shop());
    let parentheses = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let sum = format!("SELECT 1{}", "+1".repeat(500));
    let nots = format!("SELECT {} true", "NOT ".repeat(500));
    let long = format!("SELECT '{}'", "x".repeat(20_000));
    for (name, sql) in [("parentheses", parentheses), ("sum", sum), ("nots", nots), ("long", long)]
    {
        std::fs::write(folder.path().join("query.sql"), sql).unwrap();
        let output = bin.run("lull query -f query.sql .", folder.path());
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{name}: {:?} {said}", output.status);
        assert!(said.lines().all(|line| line.len() < 400), "{name}: {said}");
    }
}
