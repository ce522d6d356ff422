// SPDX-License-Identifier: MIT
//! What the kernel's events tell of a machine with two CPUs: `cpu`, `off-cpu`, `interrupts`.

use analysis::{ask, named, Options, Question};
use serde_json::json;
use state::{ThreadIndex, Threads};
use testkit::program::{Number, Program, Text, Who};

use super::{asked, opened, rows};

pub const IDLE: Who = (0, 0, "swapper");
const APP: Who = (10, 10, "app");
const OTHER: Who = (20, 20, "other");
pub const SLEEPS: i64 = 1;
pub const PREEMPTED: i64 = 0x100;

/// `app` waits for a mutex from 200 to 400, off the CPU from 220 to 350; CPU 1 idles from 300 on.
fn program() -> Program {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (IDLE, 0), APP);
    p.switch((150, 1), (IDLE, 0), OTHER);
    p.event(200, 0, APP, "mutex:wait_entry", &[("mutex", Number(0xa0))]);
    p.switch((220, 0), (APP, SLEEPS), IDLE);
    p.switch((300, 1), (OTHER, SLEEPS), IDLE);
    p.wakeup((350, 1), IDLE, APP);
    p.wakeup((360, 1), IDLE, OTHER);
    p.switch((380, 0), (IDLE, 0), APP);
    p.event(400, 0, APP, "mutex:wait_exit", &[("mutex", Number(0xa0)), ("result", Number(0))]);
    p.switch((450, 0), (APP, PREEMPTED), OTHER);
    p.event(480, 0, OTHER, "done", &[]);
    program
}

#[test]
fn cpu_has_the_time_of_each_thread_and_of_each_cpu() {
    let answer = asked(&program(), "cpu", &Question::default());
    // app: 100 to 220 and 380 to 450; woken at 350, preempted at 450 and waiting until 480.
    // other: 150 to 300 and 450 to 480; woken at 360.
    let keys = ["thread", "on_cpu_ns", "waits", "wait_ns", "max_wait_ns", "max_wait_at_ns"];
    assert_eq!(
        rows(&answer, "threads", &keys),
        json!([["other[20]", 180, 1, 90, 90, 360], ["app[10]", 190, 2, 60, 30, 350]])
    );
    assert_eq!(
        rows(&answer, "threads", &["thread", "off_ns"]),
        json!([["other[20]", 60], ["app[10]", 130]])
    );
    assert_eq!(
        rows(&answer, "cpus", &["cpu", "busy_ns", "idle_ns", "unknown_ns"]),
        json!([[0, 220, 160, 0], [1, 150, 180, 0]])
    );
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["facts"], json!({ "most_waiting": 2, "most_waiting_at_ns": 360 }));
}

#[test]
fn only_threads_that_were_asked_for_have_rows() {
    let whose = |threads: &Threads, thread: ThreadIndex| threads.tid(thread) == Some(20);
    let options = Options { whose: Some(&whose), ..Options::default() };
    for (name, table) in [("cpu", "threads"), ("off-cpu", "threads"), ("off-cpu", "reasons")] {
        let traces = [opened(&program())];
        let named = named(name).unwrap();
        let answer = ask(named, &Question::default(), &traces, &options, |_| {}).unwrap();
        assert_eq!(answer.sheet.table(table).unwrap().rows.len(), 1, "{name}");
    }
}

#[test]
fn off_cpu_has_the_time_by_call_lock_and_kind() {
    let answer = asked(&program(), "off-cpu", &Question::default());
    assert_eq!(
        rows(&answer, "reasons", &["call", "subject", "kind", "count", "off_ns", "threads"]),
        json!([["mutex:wait", "mutex 0xa0", "sleep", 1, 130, 1], [null, null, "sleep", 1, 60, 1]])
    );
    assert_eq!(
        rows(&answer, "threads", &["thread", "call", "off_ns", "max_ns"]),
        json!([["app[10]", "mutex:wait", 130, 130], ["other[20]", null, 60, 60]])
    );
}

#[test]
fn interrupts_have_count_time_and_the_longest_by_source_and_cpu() {
    let mut program = Program::new();
    let p = &mut program;
    let irq = |number, name| [("irq", Number(number)), ("name", Text(name))];
    let exit = |number| [("irq", Number(number)), ("ret", Number(1))];
    p.event(100, 0, APP, "irq:irq_handler_entry", &irq(9, "nvme"));
    p.event(104, 0, APP, "irq:irq_handler_exit", &exit(9));
    p.event(110, 1, OTHER, "irq:irq_handler_entry", &irq(9, "nvme"));
    p.event(150, 1, OTHER, "irq:irq_handler_exit", &exit(9));
    p.event(200, 0, APP, "irq:softirq_entry", &[("vec", Number(4))]);
    // Within the soft interrupt.
    p.event(210, 0, APP, "irq:irq_handler_entry", &irq(7, "eth0"));
    p.event(215, 0, APP, "irq:irq_handler_exit", &exit(7));
    p.event(230, 0, APP, "irq:softirq_exit", &[("vec", Number(4))]);
    let answer = asked(&program, "interrupts", &Question::default());
    let keys = ["kind", "number", "name", "count", "total_ns", "max_ns", "max_at_ns", "max_cpu"];
    assert_eq!(
        rows(&answer, "sources", &keys),
        json!([
            ["device", 9, "nvme", 2, 44, 40, 110, 1],
            ["soft", 4, "BLOCK", 1, 30, 30, 200, 0],
            ["device", 7, "eth0", 1, 5, 5, 210, 0]
        ])
    );
    assert_eq!(
        rows(&answer, "cpus", &["cpu", "name", "count", "total_ns"]),
        json!([[0, "BLOCK", 1, 30], [0, "eth0", 1, 5], [0, "nvme", 1, 4], [1, "nvme", 1, 40]])
    );
    let keys = ["name", "duration_ns", "begin_ns", "cpu", "thread"];
    assert_eq!(rows(&answer, "longest", &keys)[0], json!(["nvme", 40, 110, 1, "other[20]"]));
}
