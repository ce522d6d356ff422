// SPDX-License-Identifier: MIT
//! `critical-path`: the segments of a made-up machine, each from the times below.

use analysis::{ask, named, Answer, Options, Question};
use serde_json::json;
use state::{ThreadIndex, Threads};
use testkit::program::{Number, Program, Text, Who};

use super::machine::{IDLE, SLEEPS};
use super::{documented, opened, rows};

const APP: Who = (10, 10, "app");
const WORKER: Who = (20, 20, "worker");
const WAITS_FOR_DISK: i64 = 2;

fn waking(program: &mut Program, (at_ns, cpu): (u64, u32), by: Who, woken: Who) {
    let fields = [("comm", Text(woken.2)), ("pid", Number(woken.1))];
    program.event(at_ns, cpu, by, "sched:sched_waking", &fields);
}

/// `app` reads what `worker` gives it, which waits for a disk; then a timer wakes it.
fn program() -> Program {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (IDLE, 0), APP);
    p.switch((150, 1), (IDLE, 0), WORKER);
    p.event(200, 0, APP, "syscalls:sys_enter_read", &[("fd", Number(3))]);
    p.switch((210, 0), (APP, SLEEPS), IDLE);
    p.event(240, 1, WORKER, "syscalls:sys_enter_fsync", &[("fd", Number(4))]);
    p.switch((250, 1), (WORKER, WAITS_FOR_DISK), IDLE);
    let irq = [("irq", Number(9)), ("name", Text("nvme"))];
    p.event(300, 1, IDLE, "irq:irq_handler_entry", &irq);
    waking(p, (301, 1), IDLE, WORKER);
    p.wakeup((302, 1), IDLE, WORKER);
    p.event(305, 1, IDLE, "irq:irq_handler_exit", &[("irq", Number(9)), ("ret", Number(1))]);
    p.switch((310, 1), (IDLE, 0), WORKER);
    p.event(320, 1, WORKER, "syscalls:sys_exit_fsync", &[("ret", Number(0))]);
    // The wake-up itself is seen on the CPU that `app` will run on.
    waking(p, (340, 1), WORKER, APP);
    p.wakeup((342, 0), IDLE, APP);
    p.switch((360, 0), (IDLE, 0), APP);
    p.event(380, 0, APP, "syscalls:sys_exit_read", &[("ret", Number(5))]);
    p.switch((400, 0), (APP, SLEEPS), IDLE);
    p.event(450, 0, IDLE, "irq:softirq_entry", &[("vec", Number(8))]);
    p.wakeup((451, 0), IDLE, APP);
    p.event(452, 0, IDLE, "irq:softirq_exit", &[("vec", Number(8))]);
    p.switch((460, 0), (IDLE, 0), APP);
    p.event(500, 0, APP, "done", &[]);
    program
}

fn path_of(program: &Program, tid: i64, question: &Question) -> Answer {
    let whose = |threads: &Threads, thread: ThreadIndex| threads.tid(thread) == Some(tid);
    let options = Options { whose: Some(&whose), ..Options::default() };
    let critical = named("critical-path").unwrap();
    let answer = ask(critical, question, &[opened(program)], &options, |_| {}).unwrap();
    documented(&answer);
    answer
}

fn sum(answer: &Answer) -> u64 {
    let segments = rows(answer, "segments", &["duration_ns"]);
    segments.as_array().unwrap().iter().map(|row| row[0].as_u64().unwrap()).sum()
}

#[test]
fn path_leads_through_the_thread_that_woke_and_what_it_waited_for() {
    let answer = path_of(&program(), 10, &Question::default());
    let keys = ["begin_ns", "duration_ns", "what", "thread", "call", "by", "depth"];
    assert_eq!(
        rows(&answer, "segments", &keys),
        json!([
            [100, 110, "running", "app[10]", null, null, 0],
            [210, 40, "running", "worker[20]", null, null, 1],
            [250, 52, "device", "worker[20]", "syscalls:sys_fsync", "nvme", 1],
            [302, 8, "waiting for CPU", "worker[20]", null, null, 1],
            [310, 32, "running", "worker[20]", null, null, 1],
            [342, 18, "waiting for CPU", "app[10]", null, null, 0],
            [360, 40, "running", "app[10]", null, null, 0],
            [400, 51, "timer", "app[10]", null, "softirq HRTIMER", 0],
            [451, 9, "waiting for CPU", "app[10]", null, null, 0],
            [460, 40, "running", "app[10]", null, null, 0]
        ])
    );
    assert_eq!(sum(&answer), 400);
    let json = serde_json::to_value(&answer).unwrap();
    let facts = json!({ "thread": "app[10]", "begin_ns": 100, "until_ns": 500, "span_ns": 400 });
    assert_eq!(json["facts"], facts);
    assert_eq!(
        rows(&answer, "totals", &["what", "thread", "count", "total_ns", "share"])[0],
        json!(["running", "app[10]", 3, 190, 0.475])
    );
    assert!(answer.sheet.notes.is_empty(), "{:?}", answer.sheet.notes);
}

#[test]
fn path_of_the_longest_call_adds_up_to_it() {
    let question = Question { pairs: vec!["syscalls:sys_read".into()], ..Question::default() };
    let answer = path_of(&program(), 10, &question);
    assert_eq!(sum(&answer), 180, "from 200 to 380");
    assert_eq!(rows(&answer, "segments", &["begin_ns", "thread"])[0], json!([200, "app[10]"]));
}

#[test]
fn without_the_scheduler_the_path_leads_through_locks_and_claims_no_more() {
    let mut program = Program::new();
    let p = &mut program;
    let b: Who = (10, 11, "b");
    p.event(50, 0, APP, "begin", &[]);
    p.event(80, 0, b, "begin", &[]);
    p.event(100, 0, b, "mutex:wait_entry", &[("mutex", Number(0xa0))]);
    p.event(180, 0, APP, "mutex:unlock", &[("mutex", Number(0xa0))]);
    p.event(190, 0, b, "mutex:wait_exit", &[("mutex", Number(0xa0)), ("result", Number(0))]);
    p.event(200, 0, b, "io:read_entry", &[("fd", Number(0))]);
    p.event(230, 0, b, "io:read_exit", &[("result", Number(1))]);
    p.event(250, 0, b, "end", &[]);
    let answer = path_of(&program, 11, &Question::default());
    assert_eq!(
        rows(&answer, "segments", &["begin_ns", "duration_ns", "what", "thread", "about"]),
        json!([
            [50, 30, "unknown", "b[11]", null],
            [80, 20, "in no known wait", "b[11]", null],
            [100, 80, "in no known wait", "app[10]", null],
            // Nothing tells that `app` still was there.
            [180, 10, "unknown", "app[10]", null],
            [190, 10, "in no known wait", "b[11]", null],
            [200, 30, "blocked", "b[11]", "stdin"],
            [230, 20, "in no known wait", "b[11]", null]
        ])
    );
    assert_eq!(sum(&answer), 200);
    assert!(answer.sheet.notes[0].contains("no events of the scheduler's"));
}

#[test]
fn new_thread_goes_on_in_the_one_that_made_it() {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (IDLE, 0), WORKER);
    let fields = [("comm", Text(APP.2)), ("pid", Number(APP.1))];
    p.event(150, 0, WORKER, "sched:sched_wakeup_new", &fields);
    p.switch((170, 1), (IDLE, 0), APP);
    p.event(200, 1, APP, "done", &[]);
    let answer = path_of(&program, 10, &Question::default());
    assert_eq!(
        rows(&answer, "segments", &["begin_ns", "what", "thread"]),
        json!([
            [100, "running", "worker[20]"],
            [150, "waiting for CPU", "app[10]"],
            [170, "running", "app[10]"]
        ])
    );
    assert!(answer.sheet.notes[0].contains("no events of interrupts"));
}

#[test]
fn where_events_were_lost_the_path_is_unknown() {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (IDLE, 0), APP);
    p.end_packet(200, 0, [3, 0, 0, 0]);
    p.switch((300, 0), (IDLE, 0), APP);
    p.event(350, 0, APP, "done", &[]);
    let answer = path_of(&program, 10, &Question::default());
    let unknown = rows(&answer, "totals", &["what"]);
    assert!(unknown.as_array().unwrap().contains(&json!(["unknown"])), "{unknown}");
    assert_eq!(sum(&answer), 250);
    assert!(answer.sheet.notes.iter().any(|note| note.starts_with("3 events")));
}

#[test]
fn path_of_nobody_is_an_error() {
    let critical = named("critical-path").unwrap();
    let question = Question::default();
    let answer = ask(critical, &question, &[opened(&program())], &Options::default(), |_| {});
    assert!(answer.unwrap_err().to_string().starts_with("critical-path needs --tid, --pair"));
}
