// SPDX-License-Identifier: MIT
//! A reader of standard output that goes away early, as `head` does, is no error: each command that
//! writes there ends as if all had been read, without a word about it.
//!
//! Place in the flow: traces are testkit's; nobody reads from the beginning.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use testkit::program::{Number, Program, Who};
use testkit::TraceFolder;

const MAIN: Who = (10, 10, "server");

fn trace() -> TraceFolder {
    let mut program = Program::new();
    for i in 0..2_000 {
        let span = (i * 1_000 + 100, i * 1_000 + 200);
        let entry = ("io:read_entry", &[("fd", Number(3))][..]);
        program.call(span, MAIN, entry, ("io:read_exit", &[("result", Number(7))]));
    }
    let (metadata, files) = program.files();
    let files: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
    TraceFolder::new(&metadata, &files).unwrap()
}

/// Runs a command whose output nobody reads. Return: its status, and what it said.
fn unread(arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = UnixStream::pair().unwrap();
    drop(reader);
    let writer = OwnedFd::from(writer);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
    let child = command.args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn reader_that_goes_away_is_no_error_of_any_command() {
    let folder = trace();
    let path = folder.path().to_str().unwrap();
    let part = folder.path().with_extension("part");
    let merged = folder.path().with_extension("merged");
    let (part, merged) = (part.to_str().unwrap(), merged.to_str().unwrap());
    for new in [part, merged] {
        let _ = std::fs::remove_dir_all(new);
    }
    for arguments in [
        &["print", path][..],
        &["print", "--json", path],
        &["print", "-n", "5", path],
        &["report", path],
        &["report", "--json", path],
        &["report", "--list"],
        &["report", "latency", path],
        &["report", "compare", path, path],
        &["report", "flame", "--folded", "-", path],
        &["report", "flame", "--svg", "-", path],
        &["state", path],
        &["state", "--json", path],
        &["state", "--at", "+1ms", path],
        &["state", "--from", "+0s", path],
        &["state", "--from", "+0s", "--json", path],
        &["export", "--folded", path, "-o", "-"],
        &["export", "--chrome", path, "-o", "-"],
        &["export", "--perfetto", path, "-o", "-"],
        &["export", "--firefox", path, "-o", "-"],
        &["export", "--speedscope", path, "-o", "-"],
        &["trim", path, "-o", part, "--to", "+1ms", "--json"],
        &["--help"],
        &["--version"],
    ] {
        let (status, said) = unread(arguments);
        assert_eq!(status, Some(0), "{arguments:?}: {said}");
        for complaint in ["roken pipe", "panicked", "writing"] {
            assert!(!said.contains(complaint), "{arguments:?}: {said}");
        }
    }
    // What these end with depends on the machine and on the clocks.
    for arguments in
        [&["doctor"][..], &["doctor", "--json"], &["merge", path, part, "-o", merged, "--json"]]
    {
        let (status, said) = unread(arguments);
        assert!(matches!(status, Some(0..=2)), "{arguments:?}: {status:?}");
        assert!(!said.contains("roken pipe") && !said.contains("panicked"), "{said}");
    }
    for new in [part, merged] {
        let _ = std::fs::remove_dir_all(new);
    }
}
