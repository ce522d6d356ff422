// SPDX-License-Identifier: MIT
//! What `lull state` writes about a made-up trace, worked by hand.

use super::*;
use clap::Parser;
use testkit::program::{Number, Program, Text, Who};

const APP: Who = (10, 11, "app");
const OTHER: Who = (20, 20, "other");

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    args: StateArgs,
}

/// `app` opens a file and sleeps in a read, from 200 on; the last event is at 400.
fn trace() -> Trace {
    let mut program = Program::new();
    let start = [("pid", Number(10)), ("parent_pid", Number(1)), ("path", Text("/bin/app"))];
    program.event(100, 0, APP, "process:start", &start);
    let opened = [("path", Text("/etc/hosts")), ("result", Number(3))];
    program.call((110, 120), APP, ("io:open_entry", &[]), ("io:open_exit", &opened));
    program.event(150, 0, APP, "io:read_entry", &[("fd", Number(3))]);
    program.switch((200, 0), (APP, 1), OTHER);
    program.switch((300, 0), (OTHER, 0), APP);
    program.event(350, 0, APP, "io:read_exit", &[("result", Number(9))]);
    program.event(400, 0, APP, "tick", &[]);
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).unwrap()
}

fn written(words: &[&str]) -> String {
    let words = std::iter::once(&"lull").chain(words).chain(&["--utc"]);
    let args = Arguments::try_parse_from(words).unwrap().args;
    let mut out = Vec::new();
    let traces = [trace()];
    match args.at.is_some() || args.from.is_some() {
        true => in_history(&args, &traces, &mut out).unwrap(),
        false => at_end(&args, &traces, &mut out).unwrap(),
    };
    String::from_utf8(out).unwrap()
}

#[test]
fn the_end_of_a_damaged_trace_is_shown_and_not_called_whole() {
    let mut program = Program::new();
    program.event(100, 0, APP, "tick", &[]);
    let (metadata, mut streams) = program.files();
    let args = Arguments::try_parse_from(["lull"]).unwrap().args;
    let shown = |streams| {
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
        let mut out = Vec::new();
        let is_whole = at_end(&args, &[trace], &mut out).unwrap();
        (is_whole, String::from_utf8(out).unwrap())
    };
    let (is_whole, whole) = shown(streams.clone());
    assert!(is_whole && whole.contains("app"), "{whole}");
    // Bytes that are no packet follow.
    streams[0].1.extend([0; 8]);
    assert_eq!(shown(streams), (false, whole));
}

#[test]
fn at_a_time_each_cpu_thread_and_descriptor_has_its_state() {
    let text = written(&["--at", "250"]);
    let wanted = "\
CPU 0  runs other[20]
app[10], child of 1
  thread 11      app  asleep, in io:read /etc/hosts
       3         /etc/hosts
";
    assert_eq!(text, wanted, "of the other's process nothing is told before it wrote an event");
    let text = written(&["--at", "300"]);
    assert!(text.contains("thread 11      app  running on CPU 0, in io:read /etc/hosts\n"));
    assert!(text.contains("thread 20      other  waiting for a CPU\n"), "{text}");
    let of_thread = "\
app[10], child of 1
  thread 11      app  asleep, in io:read /etc/hosts
";
    assert_eq!(written(&["--at", "250", "--tid", "11"]), of_thread);
    assert_eq!(written(&["--at", "250", "--cpu", "0"]), "CPU 0  runs other[20]\n");
    assert_eq!(written(&["--at", "99"]), "");
}

#[test]
fn at_the_end_there_are_processes_threads_and_descriptors() {
    let wanted = "\
app[10], child of 1
  thread 11      app
       3         /etc/hosts
other[20]
  thread 20      other
";
    assert_eq!(written(&[]), wanted);
    let json = written(&["--json"]);
    let wanted = "{\"files\":[{\"fd\":3,\"file\":\"/etc/hosts\"}],\"name\":\"app\",\
                  \"parent_pid\":1,\"pid\":10,\"program\":\"/bin/app\",\
                  \"threads\":[{\"name\":\"app\",\"tid\":11}]}\n";
    assert!(json.starts_with(wanted), "{json}");
}

#[test]
fn maps_are_shown_where_they_are_asked_for() {
    let mut program = Program::new();
    let start = [("pid", Number(10)), ("parent_pid", Number(1)), ("path", Text("/bin/app"))];
    program.event(100, 0, APP, "process:start", &start);
    let opened = [("path", Text("/lib/a.so")), ("result", Number(3))];
    program.call((110, 120), APP, ("io:open_entry", &[]), ("io:open_exit", &opened));
    for (fd, at) in [(3, 0x7000), (9, 0xa000)] {
        let of = [("fd", Number(fd)), ("len", Number(1)), ("prot", Number(5)), ("off", Number(96))];
        let (entry, exit) = ("syscalls:sys_enter_mmap", "syscalls:sys_exit_mmap");
        program.call((at, at + 1), APP, (entry, &of), (exit, &[("ret", Number(at as i64))]));
    }
    let (metadata, streams) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), streams).unwrap()];
    let written = |words: &[&str]| {
        let words = std::iter::once(&"lull").chain(words);
        let args = Arguments::try_parse_from(words).unwrap().args;
        let mut out = Vec::new();
        at_end(&args, &traces, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let text = written(&["--maps"]);
    assert!(text.contains("  000000007000-000000008000 r-xp 00000060 /lib/a.so\n"), "{text}");
    assert!(text.contains("  00000000a000-00000000b000 r-xp 00000060 (unknown)\n"), "{text}");
    let maps = "\"maps\":[{\"begin\":28672,\"flags\":\"r-xp\",\"inode\":null,\
                \"offset_bytes\":96,\"path\":\"/lib/a.so\",\"until\":32768}";
    assert!(written(&["--maps", "--json"]).contains(maps));
    assert!(!written(&[]).contains("a.so r-x") && !written(&["--json"]).contains("maps"));
}

#[test]
fn states_of_a_thread_are_listed_in_the_order_in_which_they_end() {
    let wanted = "\
00:00:00.000000110     10 ns app[11]: in io:open
00:00:00.000000200    100 ns app[11]: asleep in io:read /etc/hosts
00:00:00.000000150    200 ns app[11]: in io:read /etc/hosts
00:00:00.000000100   300 ns+ app[11]: named app
00:00:00.000000300   100 ns+ app[11]: running on CPU 0
";
    assert_eq!(written(&["--from", "105", "--tid", "11"]), wanted);
    let cpu = "00:00:00.000000200    100 ns CPU 0: runs other[20]\n";
    assert_eq!(written(&["--from", "210", "--to", "220", "--cpu", "0"]), cpu);
}

#[test]
fn json_has_an_object_for_each_state() {
    let json = written(&["--from", "210", "--to", "220", "--tid", "11", "--json"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let off = &lines[0];
    assert_eq!(
        (&off["v"], &off["begin_ns"], &off["end_ns"]),
        (&1.into(), &200.into(), &300.into())
    );
    assert_eq!(
        (&off["state"], &off["why"], &off["tid"]),
        (&"off".into(), &"sleep".into(), &11.into())
    );
    assert_eq!((&off["call"], &off["about"]), (&"io:read".into(), &"/etc/hosts".into()));
    let named = lines.last().unwrap();
    assert_eq!((&named["end_ns"], &named["name"]), (&serde_json::Value::Null, &"app".into()));
    let at = written(&["--at", "250", "--pid", "10", "--json"]);
    let states: Vec<String> = at
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].to_string())
        .collect();
    let wanted = ["\"off\"", "\"call\"", "\"named\"", "\"lives\"", "\"open\""];
    assert_eq!(states, wanted);
}

#[test]
fn dump_that_is_not_whole_is_told() {
    assert_eq!(missing(Dump::Whole), None);
    let told = [Dump::Absent, Dump::Begun, Dump::CutOff].map(|dump| missing(dump).unwrap());
    assert!(told[0].contains("no dump") && told[1].contains("no end"));
    assert!(told[2].contains("not whole"));
}
