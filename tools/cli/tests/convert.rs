// SPDX-License-Identifier: MIT
//! `lull convert` as its users meet it: what it writes, what it refuses, what an error leaves.
//!
//! Place in the flow: traces are testkit's; `babeltrace2`, which `mk/deps test` installs, reads the
//! results. Babeltrace of Debian 12 does not know CTF 2: `tests/foreign/ctf2` names one that does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testkit::program::Program;
use testkit::{random_stream, Spec, TraceFolder};

fn lull(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lull")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A trace with no lost events, and a place beside it for another one.
fn trace(seed: u64) -> (TraceFolder, PathBuf, usize) {
    let spec = Spec::random(seed);
    let (stream, written) = random_stream(&spec, 0, seed, 1);
    let folder = TraceFolder::new(&spec.metadata(), &[stream]).unwrap();
    let new = folder.path().with_extension("new");
    let _ = std::fs::remove_dir_all(&new);
    (folder, new, written.len())
}

fn babeltrace_reads(program: &str, folder: &Path, events: usize) {
    let output = Command::new(program).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let warnings = text(&output.stderr);
    let serious = warnings.lines().find(|line| !line.contains("discarded"));
    assert_eq!(serious, None, "{}", folder.display());
    assert_eq!(text(&output.stdout).lines().count(), events);
}

/// Converts traces and has each read.
fn converted_reads(program: &str, format: &str) {
    for seed in 0..30 {
        let (old, new, events) = trace(seed);
        let (from, to) = (old.path().to_str().unwrap(), new.to_str().unwrap());
        for order in ["le", "be"] {
            let arguments = ["convert", from, "-o", to, "--format", format, "--byte-order", order];
            let output = lull(&arguments);
            assert_eq!(output.status.code(), Some(0), "seed {seed}: {}", text(&output.stderr));
            babeltrace_reads(program, &new, events);
            std::fs::remove_dir_all(&new).unwrap();
        }
    }
}

#[test]
fn babeltrace_reads_what_is_written_in_ctf_1_8() {
    converted_reads("babeltrace2", "ctf1");
}

/// Debian 12's Babeltrace 2 does not know CTF 2: `tests/foreign/ctf2` fetches one that does.
#[cfg(feature = "newer-babeltrace")]
#[test]
fn babeltrace_reads_what_is_written_in_ctf_2() {
    converted_reads(&std::env::var("LULL_BABELTRACE2").unwrap(), "ctf2");
}

#[test]
fn what_is_made_of_an_unfinished_recording_does_not_say_that_it_is_being_recorded() {
    let mut program = Program::new();
    program.event(1000, 0, (7, 7, "main"), "a:b", &[]);
    program.environment = "tracer_name = \"lull\"; verdict = \"recording\";".into();
    let (metadata, streams) = program.files();
    let streams: Vec<Vec<u8>> = streams.into_iter().map(|(_, bytes)| bytes).collect();
    let old = TraceFolder::new(&metadata, &streams).unwrap();
    let beside = TraceFolder::new(&metadata, &streams).unwrap();
    let root = TraceFolder::new("", &[]).unwrap();
    let (from, other) = (old.path().to_str().unwrap(), beside.path().to_str().unwrap());
    for words in [&["convert", from][..], &["trim", from, "--from", "+0s"], &["merge", from, other]]
    {
        let new = root.path().join(words[0]);
        let output = lull(&[words, &["-o", new.to_str().unwrap()]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("not finished: no recorder that can be seen"), "{said}");
        let reported = text(&lull(&["report", new.to_str().unwrap()]).stdout);
        assert!(reported.contains("was not finished when this was made of it"), "{reported}");
        assert!(!reported.contains("no recorder"), "{reported}");
    }
}

#[test]
fn nothing_that_is_there_is_written_over() {
    let (old, new, _) = trace(1);
    let (from, to) = (old.path().to_str().unwrap(), new.to_str().unwrap());
    assert_eq!(lull(&["convert", from, "-o", to]).status.code(), Some(0));
    let before = std::fs::read(new.join("metadata")).unwrap();
    for target in [to, from] {
        let output = lull(&["convert", from, "-o", target, "--format", "ctf2"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    }
    assert_eq!(std::fs::read(new.join("metadata")).unwrap(), before);
    std::fs::remove_dir_all(&new).unwrap();
    let elsewhere = old.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &new).unwrap();
    let output = lull(&["convert", from, "-o", to]);
    assert!(text(&output.stderr).contains("symbolic link"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    std::fs::remove_file(&new).unwrap();
}

#[test]
fn what_cannot_be_converted_leaves_nothing_behind() {
    let (old, new, _) = trace(1);
    let metadata = "\u{1e}{\"type\": \"preamble\", \"version\": 2}\n\
        \u{1e}{\"type\": \"data-stream-class\"}\n\
        \u{1e}{\"type\": \"event-record-class\", \"name\": \"e\", \"payload-field-class\": \
        {\"type\": \"structure\", \"member-classes\": [\
        {\"name\": \"s\", \"field-class\": {\"type\": \"fixed-length-boolean\", \"length\": 8, \
        \"byte-order\": \"big-endian\"}}, \
        {\"name\": \"o\", \"field-class\": {\"type\": \"optional\", \
        \"selector-field-location\": {\"path\": [\"s\"]}, \
        \"field-class\": {\"type\": \"null-terminated-string\"}}}]}}\n";
    std::fs::write(old.path().join("metadata"), metadata).unwrap();
    let (from, to) = (old.path().to_str().unwrap(), new.to_str().unwrap());
    let output = lull(&["convert", from, "-o", to]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("optional"), "{}", text(&output.stderr));
    assert!(!new.exists());
}

#[test]
fn a_damaged_trace_is_converted_as_far_as_it_goes_and_the_status_says_so() {
    let (old, new, _) = trace(2);
    let stream = old.path().join("stream_0");
    let mut bytes = std::fs::read(&stream).unwrap();
    bytes.extend([0xee; 64]);
    std::fs::write(&stream, bytes).unwrap();
    let (from, to) = (old.path().to_str().unwrap(), new.to_str().unwrap());
    let output = lull(&["convert", from, "-o", to]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(new.join("metadata").exists());
    // What is made of it says so, and so does what is made of that, though nothing is wrong there.
    let again = new.with_extension("again");
    let _ = std::fs::remove_dir_all(&again);
    assert_eq!(lull(&["convert", to, "-o", again.to_str().unwrap()]).status.code(), Some(0));
    for folder in [to, again.to_str().unwrap()] {
        let printed = lull(&["print", folder]);
        assert_eq!(printed.status.code(), Some(1), "{folder}");
        assert!(text(&printed.stderr).contains("was damaged"), "{}", text(&printed.stderr));
        let report = lull(&["report", folder]);
        assert_eq!(report.status.code(), Some(1), "{folder}");
        assert!(text(&report.stdout).contains("was damaged"), "{}", text(&report.stdout));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn pauses_are_told_by_the_clock_of_the_new_trace() {
    let mut program = Program::new();
    program.environment = "tracer_name = \"lull\"; pauses = \"150\\t50\\t250\\t150\";".to_string();
    let who = (10, 10, "main");
    for (at, name) in [(140, "a:b_entry"), (260, "a:b_exit"), (300, "a:b_entry"), (330, "a:b_exit")]
    {
        program.event(at, 0, who, name, &[]);
    }
    let (metadata, streams) = program.files();
    let streams: Vec<Vec<u8>> = streams.into_iter().map(|(_, bytes)| bytes).collect();
    let metadata = metadata.replace("freq = 1000000000", "freq = 500000000");
    let old = TraceFolder::new(&metadata, &streams).unwrap();
    let new = old.path().with_extension("new");
    let _ = std::fs::remove_dir_all(&new);
    let (from, to) = (old.path().to_str().unwrap(), new.to_str().unwrap());
    let output = lull(&["convert", from, "-o", to, "--for", "trace-compass"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = std::fs::read_to_string(new.join("metadata")).unwrap();
    assert!(told.contains("pauses = \"300\\t50\\t500\\t150\""), "{told}");
    for folder in [from, to] {
        let told = text(&lull(&["report", folder, "--json"]).stdout);
        let latencies = told.split("\"latencies\"").nth(1).unwrap();
        assert!(latencies.contains("\"count\": 1,"), "one of the two calls is measured: {told}");
    }
    std::fs::remove_dir_all(&new).unwrap();
}
