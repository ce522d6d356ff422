// SPDX-License-Identifier: MIT
//! The broken traces with which Babeltrace is tested: every command says what is wrong, and where.
//!
//! Place in the flow: `tests/foreign/collection` fetches the traces and names their folder by
//! `LULL_COLLECTION`; `tools/trace/tests/collection` reads the valid ones.
#![cfg(feature = "newer-babeltrace")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Each broken trace, and what must be said of it: file, packet or line, byte, fault.
const BROKEN: [(&str, &[&str]); 10] = [
    (
        "fail/fail1",
        &[
            "metadata: line 15: the trace's `major` version is not that of CTF 1.8",
            "dummystream: packet 0, byte 16368: the data ends in the middle of a field",
        ],
    ),
    ("fail/fail2", &["metadata: line 12: a string holds a byte of zero"]),
    ("fail/integer-range", &["metadata: line 7: `2345239785634897562389756289374658923746528937"]),
    (
        "fail/invalid-packet-size/trace",
        &["channel0_3: packet 0, byte 0: the file ends 1563 bytes before the packet does"],
    ),
    ("fail/lttng-modules-2.0-pre1", &["metadata: line 1: the metadata packet at byte 0 is not of"]),
    ("fail/packet-based-metadata", &["metadata: line 1: the metadata packet at byte 0 is not of"]),
    (
        "fail/smalltrace",
        &[
            "metadata: line 6: the trace's `major` version is not that of CTF 1.8",
            "dummystream-fail: packet 0, byte 0: the data ends in the middle of a field",
        ],
    ),
    (
        "fail/valid-events-then-invalid-events/trace",
        &["dummystream: packet 0, byte 2: event id 255 is not in the metadata"],
    ),
    (
        "deterministic-ordering/a-corrupted",
        &["dummystream: packet 0, byte 5: event id 255 is not in the metadata"],
    ),
    (
        "deterministic-ordering/c-corrupted",
        &["dummystream: packet 0, byte 5: event id 255 is not in the metadata"],
    ),
];

/// The exit status of a command, and all that it says.
fn lull(command: &str, trace: &Path, new: &Path) -> (Option<i32>, String) {
    let _ = std::fs::remove_dir_all(new);
    let mut arguments = vec![Path::new(command), trace];
    if command == "convert" {
        arguments.extend([Path::new("-o"), new]);
    }
    let output = Command::new("timeout")
        .args(["--kill-after=5", "60", env!("CARGO_BIN_EXE_lull")])
        .args(arguments)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn each_broken_trace_of_the_collection_is_named_in_each_command() {
    let collection = std::env::var("LULL_COLLECTION").expect("tests/foreign/collection names it");
    let collection = PathBuf::from(collection);
    let listed = std::fs::read_dir(collection.join("fail")).unwrap().count();
    let tried = BROKEN.iter().filter(|(name, _)| name.starts_with("fail/")).count();
    assert_eq!(tried, listed, "there are others in the folder");
    let place = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, faults) in BROKEN {
        for command in ["print", "report", "state", "convert"] {
            let (status, said) = lull(command, &collection.join(name), &place.path().join("new"));
            let unsaid: Vec<&str> =
                faults.iter().copied().filter(|fault| !said.contains(fault)).collect();
            if !matches!(status, Some(1 | 2)) || !unsaid.is_empty() {
                wrong.push(format!("lull {command} {name}: {status:?}, {unsaid:?} not in\n{said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
