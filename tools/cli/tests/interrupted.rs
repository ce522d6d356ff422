// SPDX-License-Identifier: MIT
//! What commands leave that a signal ends while they write.
//!
//! Place in the flow: traces are testkit's. A command that ends before the signal comes gets a
//! longer trace, so that no test depends on how fast the machine is.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use testkit::{names_in, TraceFolder};

/// Events of the first trace, and how often their number is doubled at most.
const EVENTS: u64 = 100_000;
const DOUBLED_MAX: u32 = 6;
const FEW_EVENTS: u64 = 1000;

/// The arguments of a command that makes `out/it` of traces.
fn arguments<'a>(command: &'a str, traces: &'a [TraceFolder; 2], it: &'a str) -> Vec<&'a str> {
    let path = |at: usize| traces[at].path().to_str().unwrap();
    match command {
        "merge" => vec!["merge", path(0), path(1), "-o", it],
        "trim" => vec!["trim", path(0), "--from", "+0", "-o", it],
        "convert" => vec!["convert", path(0), "-o", it],
        format => vec!["export", format, path(0), "-o", it],
    }
}

/// Whether anything was written to a file in a folder, or in those below it.
fn has_bytes(folder: &Path) -> bool {
    // What is looked at may be gone again.
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => has_bytes(&entry.path()),
        found => found.is_ok_and(|found| found.len() > 0),
    })
}

/// Starts a command, and sends it a signal as soon as it has written something.
fn signalled(arguments: &[&str], folder: &Path, signal: i32, is_ignored: bool) -> ExitStatus {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
    command.args(arguments).stderr(Stdio::null());
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let action = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::signal(signal, action);
            Ok(())
        })
    };
    let mut child = command.spawn().unwrap();
    while !has_bytes(folder) {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    // SAFETY: a child that is not waited for yet.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
    child.wait().unwrap()
}

/// Calls a test with traces that are long enough for a signal to end the command.
fn until_ended(command: &str, signal: i32, test: impl Fn(&[TraceFolder; 2], &Path, &str)) {
    for doubled in 0..=DOUBLED_MAX {
        let traces = [
            TraceFolder::numbered(EVENTS << doubled).unwrap(),
            TraceFolder::numbered(EVENTS << doubled).unwrap(),
        ];
        let root = TraceFolder::new("", &[]).unwrap();
        let folder: PathBuf = root.path().join("out");
        std::fs::create_dir(&folder).unwrap();
        let it = folder.join("it").to_str().unwrap().to_string();
        let status = signalled(&arguments(command, &traces, &it), &folder, signal, false);
        if status.code().is_none() {
            assert_eq!(status.signal(), Some(signal), "{command}");
            return test(&traces, &folder, &it);
        }
    }
    panic!("{command} ended before the signal");
}

const COMMANDS: [&str; 4] = ["convert", "trim", "merge", "--chrome"];

#[test]
fn a_command_that_a_signal_ends_leaves_nothing() {
    for (command, signal) in
        COMMANDS.into_iter().zip([libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGINT])
    {
        until_ended(command, signal, |_, folder, _| {
            assert!(
                names_in(folder).unwrap().is_empty(),
                "{command}: {:?}",
                names_in(folder).unwrap()
            );
        });
    }
}

#[test]
fn what_a_command_left_that_was_killed_is_in_the_way_of_no_retry() {
    for command in COMMANDS {
        until_ended(command, libc::SIGKILL, |traces, _, it| {
            let again = Command::new(env!("CARGO_BIN_EXE_lull"))
                .args(arguments(command, traces, it))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&again.stderr);
            // The clocks of merged traces are not known to agree.
            let expected = i32::from(command == "merge");
            assert_eq!(again.status.code(), Some(expected), "{command}: {said}");
            assert!(!Path::new(it).join(".unfinished").exists());
        });
    }
}

#[test]
fn a_signal_that_was_ignored_before_is_still_ignored() {
    let traces =
        [TraceFolder::numbered(EVENTS).unwrap(), TraceFolder::numbered(FEW_EVENTS).unwrap()];
    let root = TraceFolder::new("", &[]).unwrap();
    let it = root.path().join("out/it");
    std::fs::create_dir(root.path().join("out")).unwrap();
    let arguments = arguments("convert", &traces, it.to_str().unwrap());
    let status = signalled(&arguments, &root.path().join("out"), libc::SIGHUP, true);
    assert_eq!(status.code(), Some(0));
    assert!(it.join("metadata").exists());
}
