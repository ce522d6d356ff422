// SPDX-License-Identifier: MIT
//! `lull export` as its users meet it: where files go, what is chosen, what an error leaves.
//!
//! Place in the flow: traces are testkit's. That viewers read the files is for tests/export.

use std::path::PathBuf;
use std::process::{Command, Output};

use testkit::program::{Number, Program, Who};
use testkit::TraceFolder;

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (10, 11, "worker");

fn lull(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lull")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two reads, the second of which never ends, and a place for the export.
fn trace(lost: u64) -> (TraceFolder, PathBuf) {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
    program.event(150, 0, MAIN, "io:read_exit", &[("result", Number(7))]);
    program.event(200, 1, WORKER, "io:read_entry", &[("fd", Number(4))]);
    program.end_packet(300, 1, [lost, 0, 0, 0]);
    if lost > 0 {
        program.environment = "tracer_name = \"lull\"; verdict = \"incomplete\";".into();
    }
    let (metadata, files) = program.files();
    let files: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
    let folder = TraceFolder::new(&metadata, &files).unwrap();
    let file = folder.path().with_extension("export");
    let _ = std::fs::remove_file(&file);
    (folder, file)
}

#[test]
fn export_goes_to_standard_output_and_the_rest_to_standard_error() {
    let (folder, _) = trace(0);
    let path = folder.path().to_str().unwrap();
    let output = lull(&["export", "--folded", path, "-o", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "server;server[10];io:read 50\n");
    let said = text(&output.stderr);
    assert!(said.contains("lull: standard output: made of 3 events\n"), "{said}");
    assert!(said.contains("lull: 1 call not finished when the trace ended\n"), "{said}");
}

#[test]
fn export_of_a_trace_that_lost_events_is_incomplete_though_no_verdict_says_so() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
    program.end_packet(300, 0, [2, 0, 0, 0]);
    let (metadata, files) = program.files();
    let files: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
    let folder = TraceFolder::new(&metadata, &files).unwrap();
    let path = folder.path().to_str().unwrap();
    for format in ["--chrome", "--html"] {
        let output = lull(&["export", format, path, "-o", "-"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{format}: {said}");
        assert!(said.contains("lost"), "{format}: {said}");
    }
}

#[test]
fn page_has_the_verdict_of_a_report() {
    for (events, status) in [(2, 0), (9, 1)] {
        let mut program = Program::new();
        program.event(100, 0, MAIN, "a:b", &[]);
        program.event(200, 0, MAIN, "a:b", &[]);
        let text_of = "tracer_name = \"lull\"; verdict = \"complete\"; events = ";
        program.environment = format!("{text_of}{events};");
        let (metadata, files) = program.files();
        let files: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
        let folder = TraceFolder::new(&metadata, &files).unwrap();
        let path = folder.path().to_str().unwrap();
        let report = lull(&["report", path]);
        let page = lull(&["export", "--html", path, "-o", "-"]);
        let statuses = [report.status.code(), page.status.code()];
        assert_eq!(statuses, [Some(status); 2], "{}", text(&page.stderr));
        let headline = if status == 0 { "complete: no event is missing" } else { "incomplete:" };
        let missing = "the recorder wrote 9 events; 2 of them can be read";
        let (report, told) = (text(&report.stdout), text(&page.stderr));
        assert!(report.to_lowercase().contains(headline), "{report}");
        assert_eq!(report.contains(missing), status == 1);
        let page = text(&page.stdout);
        assert!(page.to_lowercase().contains(&format!("\"{headline}")), "{told}");
        assert_eq!([page.contains(missing), told.contains(missing)], [status == 1; 2], "{told}");
    }
}

#[test]
fn events_are_chosen_as_for_print() {
    let (folder, file) = trace(0);
    let (path, file) = (folder.path().to_str().unwrap(), file.to_str().unwrap());
    let chosen = |arguments: &[&str]| {
        let output = lull(&[&["export", "--chrome", path, "-o", file], arguments].concat());
        let made = text(&output.stderr);
        let made = made.split("made of ").nth(1).and_then(|rest| rest.split(' ').next());
        (output.status.code(), made.map(str::to_string))
    };
    assert_eq!(chosen(&[]), (Some(0), Some("3".into())));
    assert_eq!(chosen(&["--tid", "11"]), (Some(0), Some("1".into())));
    assert_eq!(chosen(&["-e", "*_entry"]), (Some(0), Some("2".into())));
    assert_eq!(chosen(&["-e", "* if fd == 3"]), (Some(0), Some("1".into())));
    assert_eq!(chosen(&["-e", "nothing:*"]), (Some(1), Some("0".into())));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn trace_with_losses_is_written_and_the_status_says_so() {
    let (folder, file) = trace(5);
    let path = folder.path().to_str().unwrap();
    let output = lull(&["export", "--perfetto", path, "-o", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the trace has lost 5 events and 0 packets"));
    assert!(file.metadata().unwrap().len() > 0);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn error_leaves_no_file() {
    let (folder, file) = trace(0);
    let path = folder.path().to_str().unwrap();
    let file_text = file.to_str().unwrap();
    let unknown = ["--counter", "io:read_exit.nothing"];
    let output = lull(&[&["export", "--perfetto", path, "-o", file_text], &unknown[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("no event io:read_exit with a field nothing in the trace"), "{said}");
    assert!(!file.exists());
    let nowhere = "/nonexistent/folder/file";
    let output = lull(&["export", "--perfetto", path, "-o", nowhere]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(nowhere));
    let two = lull(&["export", "--perfetto", "--chrome", path]);
    assert_eq!(two.status.code(), Some(2));
}
