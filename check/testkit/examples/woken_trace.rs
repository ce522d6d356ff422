// SPDX-License-Identifier: MIT
//! Writes a trace in which threads let each other go on: `woken_trace FOLDER`.
//!
//! Place in the flow: tests/view opens a page of it. Two threads of one process wake each other and
//! hand a mutex over; an interrupt wakes one, too; a third processor loses events within one of the
//! wake-ups; and the name of a thread is one that a careless page would run.

use std::path::PathBuf;

use testkit::program::{Number, Program, Text, Who};

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (10, 11, "<b>worker");
const OTHER: Who = (20, 20, "other");
const IDLE: Who = (0, 0, "swapper");
const LOCK: [(&str, testkit::program::Value); 1] = [("mutex", Number(0xa0))];
/// Rounds, and how long each is.
const ROUNDS: u64 = 600;
const ROUND_NS: u64 = 20_000;

fn waking(program: &mut Program, at_ns: u64) {
    let woken = [("comm", Text(WORKER.2)), ("pid", Number(WORKER.1)), ("prio", Number(120))];
    program.event(at_ns, 0, MAIN, "sched:sched_waking", &woken);
}

/// The worker sleeps, is woken, waits for a lock that the server has, and gets it.
fn round(program: &mut Program, at: u64, is_by_device: bool) {
    program.switch((at + 1000, 1), (WORKER, 1), IDLE);
    if is_by_device {
        let line = [("irq", Number(7)), ("name", Text("disk"))];
        program.event(at + 4500, 0, MAIN, "irq:irq_handler_entry", &line);
    }
    waking(program, at + 5000);
    if is_by_device {
        program.event(at + 5500, 0, MAIN, "irq:irq_handler_exit", &[("irq", Number(7))]);
    }
    program.wakeup((at + 5100, 1), IDLE, WORKER);
    program.switch((at + 7000, 1), (IDLE, 0), WORKER);
    program.event(at + 9000, 1, WORKER, "mutex:wait_entry", &LOCK);
    program.event(at + 12_000, 0, MAIN, "mutex:unlock", &LOCK);
    let taken = [("mutex", Number(0xa0)), ("result", Number(0))];
    program.event(at + 13_000, 1, WORKER, "mutex:wait_exit", &taken);
    program.event(at + 15_000, 1, WORKER, "mutex:unlock", &LOCK);
    program.event(
        at + 16_000,
        0,
        MAIN,
        "queue:length",
        &[("length", Number((at / ROUND_NS % 9) as i64))],
    );
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("woken-trace".into()));
    let mut program = Program::new();
    program.switch((1_000_000, 0), (IDLE, 0), MAIN);
    program.switch((1_000_000, 1), (IDLE, 0), WORKER);
    for number in 0..ROUNDS {
        round(&mut program, 1_000_000 + number * ROUND_NS, number == 1);
    }
    // Within the wake-up of the third round, events of a processor that did nothing else are lost.
    let third = 1_000_000 + 2 * ROUND_NS;
    program.event(third + 5200, 2, OTHER, "a:b", &[]);
    program.end_packet(third + 5500, 2, [0, 0, 0, 0]);
    program.event(third + 6000, 2, OTHER, "a:b", &[]);
    program.end_packet(third + 6500, 2, [9, 0, 0, 0]);
    let (metadata, files) = program.files();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), metadata)?;
    files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}
