// SPDX-License-Identifier: MIT
//! What each named analysis says of one small history, against the files in `golden/`, so that a
//! change of the output is seen in the change of a file.

use super::*;
use testkit::program::Value;

const IDLE: Who = (0, 0, "swapper/0");
const APP: Who = (10, 10, "app");
const PEER: Who = (10, 11, "peer");
const US: u64 = 1_000;
const RUNNABLE: i64 = 0;
const SLEEPS: i64 = 1;

fn block(last: (&'static str, Value)) -> [(&'static str, Value); 4] {
    let device = ("dev", Number((8 << 20) + 1));
    [device, ("sector", Number(64)), ("nr_sector", Number(8)), last]
}

/// One request: `app` allocates, reads from a disk, which interrupts when it is done, and waits for
/// a mutex that `peer` has.
fn request(p: &mut Program, at: u64, slower_ns: u64) {
    let mutex = [("mutex", Number(0x7f00_1000))];
    p.wakeup((at, 0), IDLE, APP);
    p.switch((at + 5 * US, 0), (IDLE, RUNNABLE), APP);
    p.event(at + 6 * US, 0, APP, "http:handle_entry", &[("id", Number(7))]);
    let memory = [("bytes", Number(4096)), ("result", Number(at as i64))];
    p.event(at + 8 * US, 0, APP, "malloc:malloc", &memory);
    p.event(at + 10 * US, 0, APP, "io:read_entry", &[("fd", Number(5))]);
    p.event(at + 12 * US, 0, APP, "block:block_rq_issue", &block(("rwbs", Text("R"))));
    p.switch((at + 15 * US, 0), (APP, SLEEPS), PEER);
    let done = at + 60 * US + slower_ns;
    p.event(done, 0, PEER, "irq:irq_handler_entry", &[("irq", Number(5)), ("name", Text("sda"))]);
    p.event(done + US, 0, PEER, "block:block_rq_complete", &block(("error", Number(0))));
    p.wakeup((done + 2 * US, 0), PEER, APP);
    let handled = [("irq", Number(5)), ("ret", Number(1))];
    p.event(done + 3 * US, 0, PEER, "irq:irq_handler_exit", &handled);
    p.switch((done + 10 * US, 0), (PEER, RUNNABLE), APP);
    p.event(done + 12 * US, 0, APP, "io:read_exit", &[("result", Number(4096))]);
    p.event(done + 14 * US, 0, APP, "mutex:wait_entry", &mutex);
    p.switch((done + 15 * US, 0), (APP, SLEEPS), PEER);
    p.event(done + 30 * US, 0, PEER, "mutex:unlock", &mutex);
    p.wakeup((done + 31 * US, 0), PEER, APP);
    p.switch((done + 35 * US, 0), (PEER, SLEEPS), APP);
    p.event(done + 36 * US, 0, APP, "mutex:wait_exit", &mutex);
    p.event(done + 38 * US, 0, APP, "mutex:unlock", &mutex);
    p.event(done + 40 * US, 0, APP, "malloc:free", &[("pointer", Number(at as i64))]);
    p.event(done + 42 * US, 0, APP, "http:handle_exit", &[("result", Number(200))]);
    p.switch((done + 45 * US, 0), (APP, SLEEPS), IDLE);
}

/// So many requests, one for each millisecond; every tenth takes longer.
fn requests(count: u64, slower_ns: u64) -> Trace {
    let mut program = Program::new();
    let p = &mut program;
    let opened = [("path", Text("/srv/index.html")), ("result", Number(5))];
    let span = (100, 200);
    p.call(span, APP, ("io:open_entry", &[("flags", Number(0))]), ("io:open_exit", &opened));
    let device = [("device", Number((8 << 20) + 1)), ("name", Text("sda1"))];
    p.event(300, 0, APP, "state:block_device", &device);
    let lost = [("bytes", Number(100)), ("result", Number(0x100))];
    p.event(400, 0, PEER, "malloc:malloc", &lost);
    for i in 0..count {
        let slower_ns = slower_ns + if i % 10 == 9 { 100 * US } else { 0 };
        request(p, (i + 1) * MS, slower_ns);
    }
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

#[test]
fn every_named_analysis_says_what_its_file_has() {
    for named in &analysis::NAMED {
        let traces = [requests(40, 0)];
        let mut question = Question::default();
        if named.name == "critical-path" {
            question.pairs.push("http:handle".into());
        }
        let options = Options::default();
        let answer = match named.name {
            // Another test has it, with a histogram.
            "latency" => continue,
            COMPARE => {
                let others = [requests(40, 30 * US)];
                analysis::compare((&traces, &options), (&others, &options), |_, _| {})
            }
            _ => analysis::ask(named, &question, &traces, &options, |_| {}).expect(named.name),
        };
        let found = answer::render(&answer, &look(100, true));
        check(&format!("{}.txt", named.name), &found);
    }
}
