// SPDX-License-Identifier: MIT
//! What the engine leaves when a signal ends it while it writes. An answer that is whole before the
//! signal comes gets a longer trace, so that no test depends on how fast the machine is.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{names_in, TraceFolder};

/// Events of the first trace, and how often their number is doubled at most.
const EVENTS: u64 = 50_000;
const DOUBLED_MAX: u32 = 7;
const FEW_EVENTS: u64 = 1000;

/// Ends what writes into a folder as soon as something is there. Return: whether the signal did.
fn is_ended(arguments: &[String], trace: &TraceFolder, folder: &Path, signal: &str) -> bool {
    // Signals that these tests were started to ignore are not to be ignored.
    let mut child = Command::new("env")
        .args(["--default-signal", env!("CARGO_BIN_EXE_lull-query")])
        .args(arguments)
        .arg("--")
        .arg(trace.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while names_in(folder).unwrap().is_empty() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    let number = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &number]).status().unwrap().success());
    child.wait().unwrap().signal().is_some()
}

/// How many lines a file has; `None` where there is none.
fn lines(file: &Path) -> Option<u64> {
    Some(std::fs::read(file).ok()?.iter().filter(|byte| **byte == b'\n').count() as u64)
}

#[test]
fn an_answer_or_a_dataset_that_a_signal_ends_leaves_nothing() {
    let into = |folder: &Path, text: &str| vec![format!("{text}{}", folder.display())];
    let query = "--sql=SELECT a.id FROM \"a:b\" a JOIN \"a:b\" b ON a.id = b.id".to_string();
    for (what, signal) in
        [("there", "INT"), ("there", "TERM"), ("new", "INT"), ("answer", "INT"), ("answer", "HUP")]
    {
        let ended = (0..=DOUBLED_MAX).any(|doubled| {
            let trace = TraceFolder::numbered(EVENTS << doubled).unwrap();
            let place = TraceFolder::new("", &[]).unwrap();
            let folder = place.path().join("out");
            std::fs::create_dir(&folder).unwrap();
            let arguments = match what {
                "there" => into(&folder, "--export="),
                "new" => into(&folder.join("it"), "--export="),
                _ => {
                    let mut arguments = into(&folder.join("it"), "--output=");
                    arguments.extend([query.clone(), "--format=csv".into()]);
                    arguments
                }
            };
            let is_ended = is_ended(&arguments, &trace, &folder, signal);
            // The signal may come when all is written, and before the engine ends.
            let is_whole = match what {
                "there" => query::is_dataset(&folder),
                "new" => query::is_dataset(&folder.join("it")),
                _ => lines(&folder.join("it")) == Some((EVENTS << doubled) + 1),
            };
            let left = names_in(&folder).unwrap();
            assert!(!is_ended || is_whole || left.is_empty(), "{what}: {left:?}");
            is_ended && !is_whole
        });
        assert!(ended, "{what}: it is whole before the signal");
    }
}

#[test]
fn a_dataset_goes_into_an_empty_folder_or_one_where_another_was_killed() {
    let (trace, place) =
        (TraceFolder::numbered(FEW_EVENTS).unwrap(), TraceFolder::new("", &[]).unwrap());
    let folder = place.path().join("out");
    std::fs::create_dir_all(folder.join(".lull-export-1/calls")).unwrap();
    let export = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lull-query"));
        command.arg(format!("--export={}", folder.display())).arg("--").arg(trace.path());
        command.output().unwrap()
    };
    let first = export();
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(query::is_dataset(&folder) && folder.join("a_b").is_dir());
    let again = export();
    assert!(String::from_utf8_lossy(&again.stderr).contains("holds something"));
    assert_eq!(again.status.code(), Some(2));
}
