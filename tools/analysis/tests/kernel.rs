// SPDX-License-Identifier: MIT
//! What the report says of a kernel's trace: each number is computed by hand from the times below.

use analysis::{analyse, By, OffKind, Options, Report, SchedulingRow};
use state::{ThreadIndex, Threads};
use testkit::program::{Number, Program, Who};
use trace::{Event, Trace};

const IDLE: Who = (0, 0, "swapper/0");
const APP: Who = (10, 10, "app");
const OTHER: Who = (20, 20, "other");
const LAST: Who = (30, 30, "last");
/// As `prev_state` has them.
const RUNNABLE: i64 = 0;
const SLEEPS: i64 = 1;
const WAITS_FOR_DISK: i64 = 2;
const DEAD: i64 = 0x20;
const PREEMPTED: i64 = 0x100;

/// One CPU, two threads. `app` reads, which takes it through a wait; an interrupt comes meanwhile;
/// then it waits for a disk outside of any call. `other` fails to write, is preempted, and ends.
/// `last` is woken and has not run when the trace ends.
fn program() -> Program {
    let mut program = Program::new();
    let p = &mut program;
    p.wakeup((100, 0), IDLE, APP);
    p.switch((150, 0), (IDLE, RUNNABLE), APP);
    p.event(200, 0, APP, "io:read_entry", &[("fd", Number(3))]);
    p.event(210, 0, APP, "syscalls:sys_enter_read", &[("fd", Number(3))]);
    p.event(220, 0, APP, "irq:irq_handler_entry", &[("irq", Number(5))]);
    p.event(235, 0, APP, "irq:irq_handler_exit", &[("irq", Number(5))]);
    p.switch((240, 0), (APP, SLEEPS), OTHER);
    p.event(250, 0, OTHER, "syscalls:sys_enter_write", &[("fd", Number(9))]);
    p.wakeup((255, 0), OTHER, APP);
    p.event(290, 0, OTHER, "syscalls:sys_exit_write", &[("ret", Number(-9))]);
    p.switch((300, 0), (OTHER, PREEMPTED), APP);
    p.event(330, 0, APP, "syscalls:sys_exit_read", &[("ret", Number(5))]);
    p.event(340, 0, APP, "io:read_exit", &[("result", Number(5))]);
    p.switch((400, 0), (APP, WAITS_FOR_DISK), OTHER);
    p.wakeup((450, 0), OTHER, APP);
    p.event(460, 0, OTHER, "irq:softirq_entry", &[("vec", Number(1))]);
    p.event(470, 0, OTHER, "irq:softirq_exit", &[("vec", Number(1))]);
    p.switch((500, 0), (OTHER, DEAD), APP);
    p.wakeup((520, 0), APP, LAST);
    p.event(550, 0, APP, "demo:done", &[]);
    program
}

fn report(by: Option<By>) -> Report {
    let (metadata, streams) = program().files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed");
    analyse(&[trace], &Options { by, ..Options::default() }, |_| {})
}

/// The report on events of a thread.
fn report_on(tid: i64, pattern: &'static str) -> Report {
    let (metadata, streams) = program().files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed");
    let whose = |threads: &Threads, thread: ThreadIndex| threads.tid(thread) == Some(tid);
    let takes = |_: &Event<'_>, threads: &Threads, thread: ThreadIndex| whose(threads, thread);
    let wanted = |names: &[&str], _| names.iter().any(|name| name.starts_with(pattern));
    let options = Options {
        wanted: Some(&wanted),
        takes: Some(&takes),
        whose: Some(&whose),
        ..Options::default()
    };
    analyse(&[trace], &options, |_| {})
}

fn row(report: &Report, tid: i64) -> &SchedulingRow {
    report.scheduling.iter().find(|row| row.tid == tid).expect("the thread has a row")
}

#[test]
fn time_of_each_thread_is_on_a_cpu_waiting_for_one_and_off_by_reason() {
    let report = report(None);
    assert_eq!(report.scheduling.len(), 3, "idle threads have no row");
    let app = row(&report, 10);
    assert_eq!(app.thread, "app[10]");
    // 150 to 240, 300 to 400, and 500 to the trace's end at 550.
    assert_eq!(app.on_cpu_ns, 90 + 100 + 50);
    // Woken at 100, 255 and 450, on the CPU at 150, 300 and 500.
    assert_eq!((app.waits, app.wait_ns, app.max_wait_ns), (3, 50 + 45 + 50, 50));
    let off: Vec<_> =
        app.off.iter().map(|off| (off.call.as_deref(), off.kind, off.count, off.off_ns)).collect();
    // Outside of a call from 400 to 450, in read(2) from 240 to 255.
    let read = Some("syscalls:sys_read");
    assert_eq!(off, [(None, OffKind::Uninterruptible, 1, 50), (read, OffKind::Sleep, 1, 15)]);
    let other = row(&report, 20);
    // 240 to 300 and 400 to 500; preempted from 300 to 400; over at 500.
    assert_eq!((other.on_cpu_ns, other.waits, other.wait_ns), (60 + 100, 1, 100));
    assert_eq!((other.off_ns, other.off.len()), (0, 0));
    // Woken at 520, and not on a CPU before the trace's end.
    let last = row(&report, 30);
    assert_eq!((last.on_cpu_ns, last.waits, last.wait_ns, last.max_wait_ns), (0, 1, 30, 30));
}

#[test]
fn threads_that_are_asked_for_have_the_times_of_the_whole_report_and_others_no_row() {
    let whole = report(None);
    for tid in [10, 20, 30] {
        let found = report_on(tid, "");
        // By hand: above. Events of others put each of them on the CPU.
        assert_eq!(found.scheduling, [row(&whole, tid).clone()], "{tid}");
        assert_eq!(report_on(tid, "sched:sched_wakeup").scheduling, found.scheduling, "{tid}");
        assert!(report_on(tid, "io:").scheduling.is_empty(), "nobody asked for the scheduler's");
    }
    // `app` wrote 10 of the events.
    assert_eq!(report_on(10, "").matched_events, 10);
}

#[test]
fn calls_and_interrupts_are_timed_and_failures_counted() {
    let report = report(None);
    let latency = |name: &str| {
        let row = report.latencies.iter().find(|row| row.name.as_deref() == Some(name));
        let row = row.unwrap_or_else(|| panic!("{name} has no row"));
        (row.duration.count, row.duration.total_ns, row.failures)
    };
    assert_eq!(latency("syscalls:sys_read"), (1, 330 - 210, 0));
    assert_eq!(latency("io:read"), (1, 340 - 200, 0));
    assert_eq!(latency("syscalls:sys_write"), (1, 290 - 250, 1));
    assert_eq!(latency("irq:irq_handler"), (1, 15, 0));
    assert_eq!(latency("irq:softirq"), (1, 10, 0));
    assert_eq!(report.latencies.len(), 5);
}

#[test]
fn own_events_and_system_calls_of_a_thread_are_one_threads() {
    let report = report(Some(By::Thread));
    let of = |group: &str| {
        let rows = report.latencies.iter().filter(|row| row.group.as_deref() == Some(group));
        let mut names: Vec<&str> = rows.filter_map(|row| row.name.as_deref()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(of("app[10]"), ["io:read", "irq:irq_handler", "syscalls:sys_read"]);
    assert_eq!(of("other[20]"), ["irq:softirq", "syscalls:sys_write"]);
    let threads: Vec<_> = report.threads.iter().map(|row| (row.tid, row.events)).collect();
    assert_eq!(threads, [(Some(10), 10), (Some(20), 8), (Some(0), 2)]);
}
