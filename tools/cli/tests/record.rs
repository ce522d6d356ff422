// SPDX-License-Identifier: MIT
//! `lull record` as its users meet it: statuses, signals, options, several sessions at once.
//! Needs what `make library` builds.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A directory of its own for each test, removed when the test passes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lull-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn lull(&self, arguments: &[&str]) -> Command {
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/lib");
        assert!(library.join("liblull.so.0").exists(), "run `make library` first");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
        command.args(arguments).current_dir(&self.0).env("LULL_LIBRARY_DIR", library);
        command.env_remove("LULL_SESSION").env_remove("LD_PRELOAD");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.lull(arguments).output().unwrap()
    }

    /// What babeltrace2 reads in a trace; it must have nothing to complain of but losses.
    fn babeltrace(&self, trace: &str) -> String {
        let output = Command::new("babeltrace2").arg(self.0.join(trace)).output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        let serious =
            complaints.lines().any(|line| !line.contains("discarded") && !line.is_empty());
        assert!(output.status.success() && !serious, "{complaints}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until a file holds something.
fn wait_for(path: &Path) -> String {
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(30) {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    panic!("{} did not appear", path.display());
}

fn kill(child: &Child, signal: i32) {
    // SAFETY: a child that was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn status_is_the_programs_own_also_when_a_signal_ended_it() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new("status");
    assert_eq!(
        folder.run(&["record", "-o", "a", "--", "sh", "-c", "exit 42"]).status.code(),
        Some(42)
    );
    let killed = folder.run(&["record", "-o", "b", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(killed.status.signal(), Some(libc::SIGTERM));
    assert!(folder.babeltrace("b").contains("process:start"));
}

#[test]
fn what_cannot_be_recorded_is_refused_with_its_status_and_nothing_is_made() {
    let folder = Folder::new("refused");
    std::fs::write(folder.0.join("plain"), "text").unwrap();
    for (status, arguments) in [
        (127, vec!["record", "--", "./no-such-program"]),
        (126, vec!["record", "--", "./plain"]),
        (125, vec!["record", "-e", "a:b@loud", "--", "true"]),
        (125, vec!["record", "--buffer-size", "5000", "--", "true"]),
        (125, vec!["record", "--buffers", "3", "--", "true"]),
        (125, vec!["record", "--no-such-option", "--", "true"]),
        (125, vec!["record"]),
        (125, vec!["record", "-o", "plain/trace", "--", "true"]),
        (125, vec!["record", "-o", ".", "--", "true"]),
    ] {
        let output = folder.run(&arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", errors(&output));
        assert!(!errors(&output).is_empty());
        assert!(unnamed(&folder).is_empty(), "{arguments:?}");
    }
}

#[test]
fn loss_is_told_and_with_fail_on_loss_it_is_the_status() {
    let folder = Folder::new("loss");
    let small = ["record", "--buffer-size", "4K", "--buffers", "2", "-e", "io:*", "--fail-on-loss"];
    let busy = ["--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000", "status=none"];
    let lossy = folder.run(&[&small[..], &["-o", "lossy"], &busy[..]].concat());
    assert_eq!(lossy.status.code(), Some(124), "{}", errors(&lossy));
    assert!(errors(&lossy).contains("INCOMPLETE"), "{}", errors(&lossy));
    folder.babeltrace("lossy");
    let calm = folder.run(&["record", "-o", "calm", "--fail-on-loss", "--", "true"]);
    assert_eq!(calm.status.code(), Some(0));
    assert!(errors(&calm).contains("complete: no event is missing"));
}

#[test]
fn verdict_as_json_is_the_last_line_of_standard_error_and_quiet_says_nothing() {
    let folder = Folder::new("json");
    let output = folder.run(&["record", "-o", "a", "--json", "--", "sh", "-c", "echo noise >&2"]);
    let text = errors(&output);
    let verdict: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(verdict["state"], "complete");
    assert!(verdict["events"].as_u64().unwrap() > 0);
    assert_eq!(verdict["processes"], 1);
    assert_eq!(errors(&folder.run(&["record", "-o", "b", "-q", "--", "true"])), "");
}

/// The recordings that nobody named, and the link, as they are in a folder.
fn unnamed(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(&folder.0).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("lull-trace")).collect();
    names.sort();
    names
}

#[test]
fn each_recording_has_a_name_of_its_own_and_the_link_leads_to_the_newest() {
    let folder = Folder::new("newest");
    for word in ["first", "second"] {
        let output = folder.run(&["record", "--", "echo", word]);
        assert!(output.status.success());
        let target = std::fs::read_link(folder.0.join("lull-trace")).unwrap();
        assert!(errors(&output).contains(target.to_str().unwrap()), "{}", errors(&output));
        assert!(folder.babeltrace("lull-trace").contains(&format!("echo {word}")));
    }
    let names = unnamed(&folder);
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(folder.babeltrace(&names[1]).contains("echo first"), "{names:?}");
    assert!(folder.babeltrace(&names[2]).contains("echo second"), "{names:?}");
    for command in ["print", "report"] {
        let output = folder.run(&[command]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("echo second"), "{command}");
    }
}

#[test]
fn link_that_is_none_of_ours_is_left_alone_and_that_is_said() {
    let folder = Folder::new("taken");
    std::fs::create_dir(folder.0.join("lull-trace")).unwrap();
    let output = folder.run(&["record", "--", "true"]);
    assert!(output.status.success());
    assert!(errors(&output).contains("lull-trace is no link"), "{}", errors(&output));
    assert!(folder.0.join("lull-trace").read_dir().unwrap().next().is_none());
    assert_eq!(unnamed(&folder).len(), 2);
}

#[test]
fn named_directory_with_a_trace_is_overwritten_only_on_request() {
    let folder = Folder::new("older");
    let record = |options: &[&str], word| {
        folder.run(&[&["record"], options, &["--", "echo", word]].concat())
    };
    assert!(record(&["-o", "trace"], "first").status.success());
    let refused = record(&["-o", "trace"], "second");
    assert_eq!(refused.status.code(), Some(125));
    assert!(errors(&refused).contains("--overwrite"));
    assert!(folder.babeltrace("trace").contains("echo first"));
    assert!(record(&["-o", "trace", "--overwrite"], "third").status.success());
    assert!(folder.babeltrace("trace").contains("echo third"));
    let unnamed = record(&["--overwrite"], "fourth");
    assert_eq!(unnamed.status.code(), Some(125), "without -o there is nothing to overwrite");
}

#[test]
fn two_recorders_over_one_program_both_record_it() {
    let folder = Folder::new("nested");
    let lull = env!("CARGO_BIN_EXE_lull");
    let inner = [lull, "record", "-q", "-o", "inner", "--", "echo", "both"];
    let output = folder.run(&[&["record", "-q", "-o", "outer", "--"][..], &inner[..]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "both\n");
    for trace in ["inner", "outer"] {
        assert!(folder.babeltrace(trace).contains("\"echo both\""), "{trace}");
    }
}

#[test]
fn ninth_recorder_over_one_program_is_refused() {
    let folder = Folder::new("ninth");
    let mut command = folder.lull(&["record", "--", "true"]);
    let output = command.env("LULL_SESSION", "/a:/b:/c:/d:/e:/f:/g:/h").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(errors(&output).contains("8 sessions record a program at once"), "{}", errors(&output));
}

#[test]
fn signal_sent_to_the_recorder_reaches_the_program_and_the_trace_is_completed() {
    let folder = Folder::new("signal");
    let script =
        "trap 'echo caught; exit 3' TERM; echo ready > ready; while :; do sleep 0.05; done";
    let child = folder
        .lull(&["record", "-o", "trace", "--json", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&folder.0.join("ready"));
    kill(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "caught\n");
    assert!(errors(&output).contains("\"state\":"), "{}", errors(&output));
    assert!(folder.babeltrace("trace").contains("process:exit"));
}

#[test]
fn what_a_killed_recorder_left_is_a_trace_that_reads_once_it_is_recovered() {
    let folder = Folder::new("killed");
    let script = "echo $$ > ready; while :; do sleep 0.01; done";
    let mut child =
        folder.lull(&["record", "-o", "trace", "--", "sh", "-c", script]).spawn().unwrap();
    let program: i32 = wait_for(&folder.0.join("ready")).trim().parse().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    child.kill().unwrap();
    child.wait().unwrap();
    // SAFETY: the program of this test, which ends with it.
    unsafe { libc::kill(program, libc::SIGKILL) };
    // The kernel may have ended its last write in the middle of a packet, which recovery mends.
    let metadata = std::fs::read_to_string(folder.0.join("trace/metadata")).unwrap();
    assert!(metadata.contains("verdict = \"recording\""), "it does not claim to be complete");
    let recovered = folder.run(&["recover", "trace"]);
    let told = String::from_utf8_lossy(&recovered.stdout).into_owned();
    assert_eq!(recovered.status.code(), Some(0), "{told}{}", errors(&recovered));
    assert!(told.contains("complete within these limits:"), "{told}");
    assert!(told.contains("since its recorder had been killed"), "{told}");
    let report = folder.run(&["report", "trace"]);
    assert_eq!(report.status.code(), Some(0), "{}", String::from_utf8_lossy(&report.stdout));
    assert!(folder.babeltrace("trace").contains("process:start"));
    assert_eq!(folder.run(&["recover", "trace"]).status.code(), Some(1), "nothing is left");
}

#[test]
fn flight_recorder_answers_lull_snapshot_and_a_signal_and_writes_the_last_on_exit() {
    let folder = Folder::new("flight");
    let script = "echo ready > ready; while [ ! -e stop ]; do sleep 0.01; done";
    let mut child = folder
        .lull(&["record", "-q", "-o", "trace", "--flight-recorder", "--", "sh", "-c", script])
        .spawn()
        .unwrap();
    wait_for(&folder.0.join("ready"));
    let asked = folder.run(&["snapshot", &child.id().to_string()]);
    let path = folder.0.join("trace/snapshot-1");
    assert!(asked.status.success(), "{}", errors(&asked));
    let told = String::from_utf8_lossy(&asked.stdout).trim().to_string();
    assert_eq!(Path::new(&told), std::fs::canonicalize(&path).unwrap());
    kill(&child, libc::SIGUSR1);
    wait_for(&folder.0.join("trace/snapshot-2/metadata"));
    std::fs::write(folder.0.join("stop"), "").unwrap();
    assert!(child.wait().unwrap().success());
    for snapshot in ["trace/snapshot-1", "trace/snapshot-3"] {
        assert!(folder.babeltrace(snapshot).lines().count() > 0, "{snapshot}");
    }
    let nobody = folder.run(&["snapshot", "trace"]);
    assert_eq!(nobody.status.code(), Some(2), "it has ended");
}

#[test]
fn size_limit_ends_the_recording_and_not_the_program() {
    let folder = Folder::new("limit");
    let dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=400000", "status=none"];
    let limited = ["record", "-o", "trace", "--max-size", "256K", "-e", "io:*", "--"];
    let output = folder.run(&[&limited[..], &dd[..]].concat());
    assert!(output.status.success());
    let size: u64 = std::fs::read_dir(folder.0.join("trace"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("stream"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(size <= 256 << 10, "{size}");
    folder.babeltrace("trace");
    let metadata = std::fs::read_to_string(folder.0.join("trace/metadata")).unwrap();
    assert!(!metadata.contains("verdict = \"complete\""), "it does not claim to be complete");
}

#[test]
fn descendants_that_go_on_are_named_and_with_wait_all_they_are_recorded_to_their_end() {
    let folder = Folder::new("descendants");
    // Only a descendant that has recorded something is known, so the program waits for that.
    let script = "rm -f began; (echo > began; sleep 0.7; exec echo late) > late.txt & \
                  until [ -e began ]; do sleep 0.01; done; exec echo early";
    let output = folder.run(&["record", "-o", "a", "--", "sh", "-c", script]);
    assert!(errors(&output).contains("--wait-all"), "{}", errors(&output));
    assert!(!folder.babeltrace("a").contains("arguments = \"echo late\""));
    let output = folder.run(&["record", "-o", "b", "--wait-all", "--", "sh", "-c", script]);
    assert!(!errors(&output).contains("--wait-all"), "{}", errors(&output));
    assert!(folder.babeltrace("b").contains("arguments = \"echo late\""));
}

#[test]
fn signal_mask_and_dispositions_of_the_program_are_those_of_the_recorder() {
    let folder = Folder::new("inherited");
    let shown = |output: Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().filter(|line| line.starts_with("Sig")).map(str::to_string).collect::<Vec<_>>()
    };
    // Without SigQ, which counts what is queued for all processes of the user.
    let script = "grep '^Sig[^Q]' /proc/self/status";
    let traced = shown(folder.run(&["record", "-q", "--", "sh", "-c", script]));
    let plain = shown(Command::new("sh").args(["-c", script]).output().unwrap());
    assert_eq!(traced, plain);
    assert_eq!(traced.len(), 4);
}

#[test]
fn list_shows_what_a_program_would_record_without_running_it() {
    let folder = Folder::new("list");
    std::fs::write(folder.0.join("script"), "#!/bin/sh\necho ran > ran\n").unwrap();
    let output = folder.run(&["record", "--list", "--", "./script"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("process:start"), "{text}");
    assert!(!text.contains("malloc:"), "only when it is named");
    assert!(!folder.0.join("ran").exists());
    let none = folder.run(&["list", "-e", "no-such:*"]);
    assert_eq!(none.status.code(), Some(1));
    let output = folder.run(&["list", "--json", "-e", "io:read_entry"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let event: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(event["name"], "io:read_entry");
    assert_eq!(event["fields"][0]["name"], "fd");
}

#[test]
fn doctor_tells_each_finding_on_a_line_and_its_status_is_the_worst_of_them() {
    let folder = Folder::new("doctor");
    let output = folder.run(&["doctor", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut worst = 0;
    for line in text.lines() {
        let finding: serde_json::Value = serde_json::from_str(line).unwrap();
        let health = finding["health"].as_str().unwrap();
        worst = worst.max(["ok", "limited", "bad"].iter().position(|h| *h == health).unwrap());
    }
    assert_eq!(output.status.code(), Some(worst as i32));
    let mut without = folder.lull(&["doctor"]);
    without.env("LULL_LIBRARY_DIR", "/nonexistent");
    assert_eq!(without.output().unwrap().status.code(), Some(2), "no library, no recording");
}
