// SPDX-License-Identifier: MIT
//! Writes a small trace with everything that a viewer draws: `drawn_trace FOLDER`.
//!
//! Place in the flow: for tests/export, which opens exports of it. There are nested calls, calls
//! that overlap or never end, an unlock that ends a wait, a counter, scheduling, a loss, and names
//! that mean something in other formats.

use std::path::PathBuf;

use testkit::program::{Number, Program, Text, Value, Who};

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (10, 11, "wor\"k;er");
/// States of threads, as kernels of this release number them.
const RELEASE: &str = "6.1.0-50-amd64";
const SLEEPS: i64 = 1;
const PREEMPTED: i64 = 0x100;

fn calls(program: &mut Program) {
    for round in 0..100 {
        let at = 1_000_000 + round * 10_000;
        let file = [("fd", Number(3)), ("count", Number(512))];
        program.event(at, 0, MAIN, "job:begin", &[("id", Number(round as i64))]);
        program.event(at + 1000, 0, MAIN, "io:read_entry", &file);
        program.event(at + 2000, 1, WORKER, "mutex:wait_entry", &[("mutex", Number(0xa0))]);
        let result = [("result", Number(-5)), ("error", Number(5))];
        program.event(at + 3000, 0, MAIN, "io:read_exit", &result);
        program.event(at + 4000, 0, MAIN, "mutex:unlock", &[("mutex", Number(0xa0))]);
        let taken = [("mutex", Number(0xa0)), ("result", Number(0))];
        program.event(at + 5000, 1, WORKER, "mutex:wait_exit", &taken);
        program.event(at + 5500, 0, MAIN, "half:begin", &[]);
        program.event(at + 6000, 0, MAIN, "job:end", &[("name", Text("a \"b\"\n\u{1f980}"))]);
        program.event(at + 6500, 0, MAIN, "half:end", &[]);
        program.event(at + 7000, 0, MAIN, "queue:length", &[("length", Number(round as i64 % 7))]);
    }
    program.event(
        3_000_000,
        1,
        WORKER,
        "io:read_entry",
        &[("fd", Number(4)), ("count", Number(1))],
    );
}

fn scheduling(program: &mut Program) {
    let task = |(name, tid, state), (comes, next)| -> [(&str, Value); 7] {
        [
            ("prev_comm", Text(name)),
            ("prev_pid", Number(tid)),
            ("prev_prio", Number(120)),
            ("prev_state", Number(state)),
            ("next_comm", Text(comes)),
            ("next_pid", Number(next)),
            ("next_prio", Number(100)),
        ]
    };
    for round in 0..50 {
        let at = 4_000_000 + round * 1000;
        let woken = [("comm", Text("worker")), ("pid", Number(11)), ("prio", Number(100))];
        program.event(at, 0, MAIN, "sched:sched_waking", &woken);
        let asleep = task(("server", 10, SLEEPS), ("worker", 11));
        program.event(at + 1, 0, MAIN, "sched:sched_switch", &asleep);
        let preempted = task(("worker", 11, PREEMPTED), ("server", 10));
        program.event(at + 500, 0, WORKER, "sched:sched_switch", &preempted);
    }
    program.end_packet(4_500_000, 1, [0, 0, 0, 0]);
    program.event(4_600_000, 1, WORKER, "a:b", &[]);
    program.end_packet(5_000_000, 1, [2, 0, 1, 0]);
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("drawn-trace".into()));
    let mut program = Program::new();
    program.environment += &format!(" kernel_release = \"{RELEASE}\";");
    calls(&mut program);
    scheduling(&mut program);
    let (metadata, files) = program.files();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), metadata)?;
    files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}
