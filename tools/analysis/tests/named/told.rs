// SPDX-License-Identifier: MIT
//! Files, devices, locks and memory.

use analysis::{Answer, Question};
use serde_json::json;
use testkit::program::{Number, Program, Text, Value, Who};

use super::{asked, rows};

const APP: Who = (10, 10, "app");
const B: Who = (10, 11, "b");
const C: Who = (10, 12, "c");

fn facts(answer: &Answer) -> serde_json::Value {
    serde_json::to_value(answer).expect("an answer is JSON")["facts"].clone()
}

#[test]
fn io_has_bytes_and_time_by_file() {
    let mut program = Program::new();
    let p = &mut program;
    for (begin, end, bytes) in [(410, 430, 8), (440, 445, 4)] {
        p.event(begin, 0, APP, "io:read_entry", &[("fd", Number(0))]);
        p.event(end, 0, APP, "io:read_exit", &[("result", Number(bytes))]);
    }
    let answer = asked(&program, "io", &Question::default());
    let keys = ["file", "process", "reads", "read_bytes", "duration_ns", "p50_ns", "max_ns"];
    assert_eq!(rows(&answer, "files", &keys), json!([["stdin", "app[10]", 2, 12, 25, 5, 20]]));
    assert!(answer.sheet.table("operations").unwrap().when_empty.contains("block:*"));
}

#[test]
fn io_says_what_it_cannot_tell_apart_or_count() {
    let mut program = Program::new();
    let p = &mut program;
    let opens = |p: &mut Program, at, who, path| {
        let opened = [("path", Text(path)), ("result", Number(3)), ("error", Number(0))];
        p.call((at, at + 1), who, ("io:open_entry", &[]), ("io:open_exit", &opened));
        let (fd, moved) = ([("fd", Number(3))], [("result", Number(8))]);
        p.call((at + 2, at + 3), who, ("io:read_entry", &fd), ("io:read_exit", &moved));
    };
    opens(p, 400, APP, "/etc/hosts");
    opens(p, 410, (20, 20, "other"), "/etc/hosts");
    opens(p, 420, APP, "log");
    let notes = |program: &Program| asked(program, "io", &Question::default()).sheet.notes;
    assert!(notes(p).is_empty());
    opens(p, 430, (20, 20, "other"), "log");
    assert!(notes(p).len() == 1 && notes(p)[0].starts_with("A relative path"), "{:?}", notes(p));
    let stream = [("path", Text("x")), ("file", Number(4096)), ("fd", Number(4))];
    p.event(440, 0, APP, "io:fopen", &stream);
    assert!(notes(p).len() == 2 && notes(p)[0].contains("fprintf"), "{:?}", notes(p));
}

fn request(sector: i64, sectors: i64, rwbs: &'static str) -> [(&'static str, Value); 4] {
    let device = ("dev", Number((8 << 20) + 1));
    [device, ("sector", Number(sector)), ("nr_sector", Number(sectors)), ("rwbs", Text(rwbs))]
}

fn completion(sector: i64, sectors: i64, error: i64) -> [(&'static str, Value); 4] {
    let device = ("dev", Number((8 << 20) + 1));
    [device, ("sector", Number(sector)), ("nr_sector", Number(sectors)), ("error", Number(error))]
}

#[test]
fn io_has_latency_and_depth_by_device() {
    let mut program = Program::new();
    let p = &mut program;
    let name = [("device", Number((8 << 20) + 1)), ("name", Text("sda1"))];
    p.event(50, 0, APP, "state:block_device", &name);
    p.event(100, 0, APP, "block:block_rq_insert", &request(0, 8, "WS"));
    p.event(140, 0, APP, "block:block_rq_issue", &request(0, 8, "WS"));
    p.event(160, 0, APP, "block:block_rq_issue", &request(64, 16, "RA"));
    p.event(190, 1, B, "block:block_rq_complete", &completion(64, 16, 0));
    p.event(240, 1, B, "block:block_rq_complete", &completion(0, 8, -5));
    p.event(250, 1, B, "block:block_rq_complete", &completion(4096, 8, 0));
    // Nobody sees its end.
    p.event(300, 1, B, "block:block_rq_issue", &request(8192, 8, "R"));
    p.event(340, 1, B, "done", &[]);
    let answer = asked(&program, "io", &Question::default());
    let keys = ["device", "operation", "count", "bytes", "failures", "max_ns", "max_at_ns"];
    assert_eq!(
        rows(&answer, "operations", &keys),
        json!([
            ["sda1 (8:1)", "read", 1, 8192, 0, 30, 160],
            ["sda1 (8:1)", "write", 1, 4096, 1, 100, 140]
        ])
    );
    // One from 140 to 160, two to 190, one to 240, of 200 ns from the first to the end.
    let keys =
        ["requests", "open", "busy_ns", "busy_share", "mean_depth", "max_depth", "p50_queued_ns"];
    assert_eq!(rows(&answer, "devices", &keys), json!([[3, 1, 100, 0.5, 130.0 / 200.0, 2, 40]]));
    assert_eq!(rows(&answer, "devices", &["max_depth_at_ns"]), json!([[160]]));
    assert_eq!(answer.sheet.notes.len(), 1, "the completion without an issue is told");
}

fn wait(p: &mut Program, (begin, end): (u64, u64), who: Who, mutex: i64) {
    p.event(begin, 0, who, "mutex:wait_entry", &[("mutex", Number(mutex))]);
    if end > 0 {
        let fields = [("mutex", Number(mutex)), ("result", Number(0))];
        p.event(end, 0, who, "mutex:wait_exit", &fields);
    }
}

fn unlock(p: &mut Program, at: u64, who: Who, mutex: i64) {
    p.event(at, 0, who, "mutex:unlock", &[("mutex", Number(mutex))]);
}

#[test]
fn locks_say_who_waited_for_whom_and_how_that_is_known() {
    let mut program = Program::new();
    let p = &mut program;
    // b waits for app, which lets go at 180. c waits for b, which got the lock at 190 and did not
    // let it go before 200. app waits for c, or for whoever took the lock after c let it go without
    // an event. Of the last wait nothing is known.
    wait(p, (100, 190), B, 0xa0);
    unlock(p, 180, APP, 0xa0);
    wait(p, (200, 260), C, 0xa0);
    wait(p, (270, 280), APP, 0xa0);
    wait(p, (300, 310), APP, 0xb0);
    let answer = asked(&program, "locks", &Question::default());
    let keys = ["kind", "address", "process", "waits", "wait_ns", "max_at_ns", "max_thread"];
    assert_eq!(
        rows(&answer, "locks", &keys),
        json!([
            ["mutex", "0xa0", "app[10]", 3, 160, 100, "b[11]"],
            ["mutex", "0xb0", "app[10]", 1, 10, 300, "app[10]"]
        ])
    );
    assert_eq!(
        rows(&answer, "meetings", &["address", "waiter", "holder", "told_by", "wait_ns"]),
        json!([
            ["0xa0", "b[11]", "app[10]", "let it go", 90],
            ["0xa0", "c[12]", "b[11]", "held it", 60],
            ["0xa0", "app[10]", "c[12]", "got it last", 10],
            ["0xb0", "app[10]", null, null, 10]
        ])
    );
    assert_eq!(rows(&answer, "circles", &["circle"]), json!([]));
}

#[test]
fn threads_that_wait_for_each_other_are_a_circle() {
    let mut program = Program::new();
    let p = &mut program;
    wait(p, (100, 110), B, 0xa0);
    wait(p, (100, 120), C, 0xb0);
    unlock(p, 105, APP, 0xa0);
    unlock(p, 115, APP, 0xb0);
    wait(p, (200, 0), B, 0xb0);
    wait(p, (300, 0), C, 0xa0);
    let answer = asked(&program, "locks", &Question::default());
    assert_eq!(
        rows(&answer, "circles", &["circle", "threads", "count", "first_ns"]),
        json!([["b[11] for mutex 0xb0, c[12] for mutex 0xa0", 2, 1, 300]])
    );
}

#[test]
fn nobody_is_said_to_be_in_a_circle_who_may_have_let_go() {
    // Without unlocks in the trace, b and c may have let go before they waited again.
    let mut program = Program::new();
    let p = &mut program;
    wait(p, (100, 110), B, 0xa0);
    wait(p, (100, 120), C, 0xb0);
    wait(p, (200, 0), B, 0xb0);
    wait(p, (300, 0), C, 0xa0);
    let answer = asked(&program, "locks", &Question::default());
    assert_eq!(rows(&answer, "circles", &["circle"]), json!([]));

    // A wait for a condition lets the mutex go, which b takes again afterwards.
    let mut program = Program::new();
    let p = &mut program;
    wait(p, (100, 110), B, 0xa0);
    unlock(p, 105, APP, 0xa0);
    p.event(120, 0, B, "cond:wait_entry", &[("cond", Number(0xc0)), ("mutex", Number(0xa0))]);
    p.event(130, 0, B, "cond:wait_exit", &[("cond", Number(0xc0)), ("result", Number(110))]);
    wait(p, (140, 0), B, 0xa0);
    let answer = asked(&program, "locks", &Question::default());
    assert_eq!(rows(&answer, "circles", &["circle"]), json!([]));
}

#[test]
fn kernel_locks_have_their_waits_too() {
    let mut program = Program::new();
    let lock = [("lock_addr", Number(0x7f00))];
    program.event(100, 0, B, "lock:contention_begin", &lock);
    program.event(170, 0, B, "lock:contention_end", &lock);
    let answer = asked(&program, "locks", &Question::default());
    assert_eq!(
        rows(&answer, "locks", &["kind", "address", "waits", "wait_ns", "max_thread"]),
        json!([["kernel", "0x7f00", 1, 70, "b[11]"]])
    );
}

fn allocate(p: &mut Program, at: u64, who: Who, (pointer, bytes): (i64, i64)) {
    let fields = [("bytes", Number(bytes)), ("result", Number(pointer))];
    p.event(at, 0, who, "malloc:malloc", &fields);
}

fn free(p: &mut Program, at: u64, who: Who, pointer: i64) {
    p.event(at, 0, who, "malloc:free", &[("pointer", Number(pointer))]);
}

#[test]
fn memory_has_sites_peak_lifetimes_and_what_was_not_freed() {
    let mut program = Program::new();
    let p = &mut program;
    free(p, 90, APP, 0x10); // from before the trace
    free(p, 91, APP, 0); // nothing
    allocate(p, 100, APP, (0x100, 40)); // 40
    allocate(p, 110, B, (0x200, 1000)); // 1040
    allocate(p, 120, APP, (0x300, 50)); // 1090, the peak
    free(p, 130, B, 0x100); // lived 30; 1050
    allocate(p, 135, APP, (0, 7)); // failed
    let fields = [("pointer", Number(0x200)), ("bytes", Number(20))];
    p.event(140, 0, B, "malloc:realloc_entry", &fields);
    p.event(150, 0, B, "malloc:realloc_exit", &[("result", Number(0x400))]); // lived 40; 70
    free(p, 200, B, 0x400); // lived 50; 50
    let answer = asked(&program, "memory", &Question::default());
    assert_eq!(
        facts(&answer),
        json!({
            "allocations": 5, "failures": 1, "peak_bytes": 1090, "peak_at_ns": 120,
            "left": 1, "left_bytes": 50, "unknown_frees": 1
        })
    );
    let keys = ["site", "process", "allocations", "bytes", "left", "left_bytes", "peak_bytes"];
    assert_eq!(
        rows(&answer, "sites", &keys),
        json!([
            ["app[10], 32 to 63 bytes", "app[10]", 2, 90, 1, 50, 90],
            ["b[11], 512 to 1023 bytes", "app[10]", 1, 1000, 0, 0, 1000],
            ["b[11], 16 to 31 bytes", "app[10]", 1, 20, 0, 0, 20]
        ])
    );
    assert_eq!(
        rows(&answer, "left", &["address", "bytes", "at_ns", "site"]),
        json!([["0x300", 50, 120, "app[10], 32 to 63 bytes"]])
    );
    assert_eq!(
        rows(&answer, "lives", &["from_ns", "until_ns", "count"]),
        json!([[16, 32, 1], [32, 64, 2]])
    );
}

#[test]
fn forked_process_frees_its_copy_of_what_its_parent_allocated() {
    let mut program = Program::new();
    let p = &mut program;
    let child: Who = (20, 20, "app");
    allocate(p, 100, APP, (0x100, 40));
    allocate(p, 110, APP, (0x200, 8));
    p.event(120, 0, child, "process:forked", &[("parent_pid", Number(10))]);
    free(p, 130, child, 0x100);
    free(p, 140, child, 0x300);
    free(p, 150, APP, 0x100);
    let start = [("pid", Number(20)), ("parent_pid", Number(10)), ("path", Text("/bin/true"))];
    p.event(160, 0, child, "process:start", &start);
    free(p, 170, child, 0x200); // another memory
    let answer = asked(&program, "memory", &Question::default());
    let facts = facts(&answer);
    assert_eq!((&facts["unknown_frees"], &facts["left"]), (&json!(2), &json!(1)));
    let note = "1 blocks were freed by forked processes";
    assert!(answer.sheet.notes.iter().any(|told| told.starts_with(note)));
}

#[test]
fn memory_of_the_kernel_is_by_caller_and_of_processes_apart() {
    let mut program = Program::new();
    let p = &mut program;
    let other: Who = (20, 20, "other");
    let site = ("call_site", Number(0x4242));
    let (wanted, given) = (("bytes_req", Number(90)), ("bytes_alloc", Number(96)));
    p.event(100, 0, APP, "kmem:kmalloc", &[site, ("ptr", Number(0x100)), wanted, given]);
    p.event(110, 0, other, "kmem:kfree", &[("ptr", Number(0x100)), ("call_site", Number(1))]);
    // The same address in two processes.
    allocate(p, 120, APP, (0x100, 1));
    free(p, 130, other, 0x100);
    let answer = asked(&program, "memory", &Question::default());
    assert_eq!(
        rows(&answer, "sites", &["site", "process", "bytes", "left", "max_life_ns"]),
        json!([["app[10], 1 to 1 bytes", "app[10]", 1, 1, null], ["0x4242", "kernel", 96, 0, 10]])
    );
    assert_eq!(facts(&answer)["unknown_frees"], 1);
}

#[test]
fn tables_without_rows_say_what_the_trace_lacks() {
    let mut program = Program::new();
    program.event(1, 0, APP, "done", &[]);
    for name in ["cpu", "off-cpu", "interrupts", "io", "locks", "memory"] {
        let answer = asked(&program, name, &Question::default());
        assert!(answer.sheet.tables[0].when_empty.starts_with("The trace has no"), "{name}");
    }
}
