// SPDX-License-Identifier: MIT
//! Exports of traces that were worked by hand, format by format.

mod arguments;
mod chrome;
mod firefox;
mod hostile;
mod perfetto;
mod profiles;

use testkit::program::{Number, Program, Text, Who};
use testkit::TraceFolder;
use trace::Trace;

use crate::{export, Done, Error, Format, Options};

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (10, 11, "worker");
const READ: &str = "io:read_entry";
const READ_END: &str = "io:read_exit";
const WAIT: &str = "mutex:wait_entry";
const WAIT_END: &str = "mutex:wait_exit";
const JOB: &str = "job:begin";
const JOB_END: &str = "job:end";
const HALF: &str = "half:begin";
const HALF_END: &str = "half:end";

/// The traces of some programs, on disk.
struct Recorded {
    traces: Vec<Trace>,
    _folders: Vec<TraceFolder>,
}

fn recorded(programs: &[&Program]) -> Recorded {
    let folders = programs.iter().map(|program| {
        let (metadata, files) = program.files();
        let files: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
        TraceFolder::new(&metadata, &files).unwrap()
    });
    let folders: Vec<TraceFolder> = folders.collect();
    let traces = folders.iter().map(|folder| Trace::open(folder.path()).unwrap()).collect();
    Recorded { traces, _folders: folders }
}

fn written(
    programs: &[&Program],
    format: Format,
    options: &Options<'_>,
) -> Result<(Vec<u8>, Done), Error> {
    let recorded = recorded(programs);
    let mut out = Vec::new();
    let done = export(&recorded.traces, format, options, &mut out, |_| {})?;
    Ok((out, done))
}

fn json(program: &Program, format: Format) -> (serde_json::Value, Done) {
    let (out, done) = written(&[program], format, &Options::default()).unwrap();
    (serde_json::from_slice(&out).unwrap(), done)
}

/// A job of 1 to 9 ms with a read inside, of 2 to 4 ms, while another thread waits for a mutex from
/// 3 to 6 ms that the first unlocks at 5 ms; a read of the second thread's is open at the end.
fn server() -> Program {
    let mut program = Program::new();
    let ms = 1_000_000;
    program.event(ms, 0, MAIN, JOB, &[("id", Number(7))]);
    program.event(2 * ms, 0, MAIN, READ, &[("fd", Number(3)), ("count", Number(512))]);
    program.event(3 * ms, 1, WORKER, WAIT, &[("mutex", Number(0xa0))]);
    program.event(4 * ms, 0, MAIN, READ_END, &[("result", Number(-5)), ("error", Number(5))]);
    program.event(5 * ms, 0, MAIN, "mutex:unlock", &[("mutex", Number(0xa0))]);
    program.event(6 * ms, 1, WORKER, WAIT_END, &[("mutex", Number(0xa0)), ("result", Number(0))]);
    program.event(7 * ms, 0, MAIN, "queue:length", &[("length", Number(42))]);
    program.event(8 * ms, 1, WORKER, READ, &[("fd", Number(4)), ("count", Number(1))]);
    program.event(9 * ms, 0, MAIN, JOB_END, &[("name", Text("a \"b\"\n"))]);
    program
}

/// A call that ends after the one around it.
fn crossing() -> Program {
    let mut program = Program::new();
    program.event(100, 0, MAIN, JOB, &[]);
    program.event(200, 0, MAIN, HALF, &[]);
    program.event(300, 0, MAIN, JOB_END, &[]);
    program.event(500, 0, MAIN, HALF_END, &[]);
    program.event(600, 0, MAIN, HALF_END, &[]);
    program
}

/// A loss of 3 events between 300 and 500 ns, on processor 1.
fn losing() -> Program {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "a:b", &[]);
    program.event(200, 1, MAIN, "a:b", &[]);
    program.end_packet(300, 1, [0, 0, 0, 0]);
    program.event(400, 1, MAIN, "a:b", &[]);
    program.end_packet(500, 1, [2, 0, 1, 0]);
    program
}

/// Two threads take turns on a processor; one wakes the other.
fn scheduled() -> Program {
    let mut program = Program::new();
    let task = |name: &'static str, tid, comes: &'static str, next| {
        [
            ("prev_comm", Text(name)),
            ("prev_pid", Number(tid)),
            ("prev_prio", Number(120)),
            ("prev_state", Number(1)),
            ("next_comm", Text(comes)),
            ("next_pid", Number(next)),
            ("next_prio", Number(100)),
        ]
    };
    let switch = "sched:sched_switch";
    let woken = [("comm", Text("worker")), ("pid", Number(11)), ("prio", Number(100))];
    program.event(100, 0, MAIN, switch, &task("idle", 0, "server", 10));
    program.event(200, 0, MAIN, "sched:sched_waking", &woken);
    program.event(300, 0, MAIN, switch, &task("server", 10, "worker", 11));
    program.event(400, 0, WORKER, READ, &[("fd", Number(3)), ("count", Number(1))]);
    program
}
