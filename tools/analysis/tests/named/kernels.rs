// SPDX-License-Identifier: MIT
//! Of what a kernel did, every analysis says the same, whether Lull's kernel tracer tells it or
//! LTTng's; and the numbers are those that the times below give by hand.

use analysis::{compare, Answer, Named, Options, Question, COMPARE, NAMED};
use serde_json::{json, Value};
use testkit::kernel::{Kernel, Tracer};
use testkit::program::{Number, Program, Text, Who};

use super::{asked, opened, rows};

const LTTNG: [Tracer; 2] = [Tracer::Lttng(&[]), Tracer::Lttng(&["pid", "tid", "procname"])];
const IDLE: [Who; 2] = [(0, 0, "swapper/0"), (0, 0, "swapper/1")];
const READER: Who = (10, 10, "reader");
const WRITER: Who = (20, 20, "writer");
const SLEEPS: i64 = 1;
const WAITS_FOR_DISK: i64 = 2;
const PREEMPTED: i64 = 0x100;

/// LTTng's names, as Lull and tracefs have them.
const NAMES: [(&str, &str); 3] = [
    ("syscall_", "syscalls:sys_"),
    ("irq_softirq", "irq:softirq"),
    ("irq_handler", "irq:irq_handler"),
];

/// On CPU 0 `reader` opens a file, waits in a read from 100 to 300 until the disk's interrupt wakes
/// it, reads 4096 bytes, and is preempted from 420 to 460 by `writer`. That writes 100 bytes to a
/// pipe, for which `reader` sleeps in another read, from 500 to 560. CPU 1 is idle but for a soft
/// interrupt.
fn story(tracer: Tracer) -> Program {
    let mut kernel = Kernel::new(tracer);
    let k = &mut kernel;
    k.switch((10, 0), (IDLE[0], 0), READER).switch((11, 1), (WRITER, SLEEPS), IDLE[1]);
    k.dump_begins((12, 0), READER).dump_thread((13, 0), READER, READER, true);
    k.dump_thread((14, 0), READER, WRITER, true);
    k.dump_file((15, 0), READER, (WRITER, 4), ("pipe:[1]", false)).dump_disk((16, 0), READER);
    k.dump_ends((20, 0), READER);
    let path = [("filename", Text("/data")), ("flags", Number(0))];
    k.enter((40, 0), READER, "openat", &path).exit(
        (60, 0),
        READER,
        "openat",
        &[("ret", Number(3))],
    );
    k.enter((90, 0), READER, "read", &[("fd", Number(3)), ("count", Number(4096))]);
    k.request((95, 280), 0, READER, (64, "R")).switch((100, 0), (READER, WAITS_FOR_DISK), IDLE[0]);
    k.interrupt((278, 306), 0, IDLE[0], 27).wake((298, 0), IDLE[0], READER);
    k.soft((350, 390), 1, IDLE[1], 7);
    k.switch((310, 0), (IDLE[0], 0), READER);
    k.exit((330, 0), READER, "read", &[("ret", Number(4096))]).wake((400, 0), READER, WRITER);
    k.switch((420, 0), (READER, PREEMPTED), WRITER).switch((460, 0), (WRITER, PREEMPTED), READER);
    k.enter((480, 0), READER, "read", &[("fd", Number(0)), ("count", Number(100))]);
    k.switch((500, 0), (READER, SLEEPS), WRITER);
    k.enter((530, 0), WRITER, "write", &[("fd", Number(4)), ("count", Number(100))]);
    k.wake((558, 0), WRITER, READER).exit((570, 0), WRITER, "write", &[("ret", Number(100))]);
    k.enter((575, 0), WRITER, "exit_group", &[("error_code", Number(3))]).end((580, 0), WRITER);
    k.switch((590, 0), (WRITER, 0x10), READER);
    k.exit((600, 0), READER, "read", &[("ret", Number(100))]);
    kernel.program
}

#[test]
fn times_of_threads_are_those_of_the_switches() {
    for tracer in [Tracer::Lull].into_iter().chain(LTTNG) {
        let answer = asked(&story(tracer), "cpu", &Question::default());
        // reader: 10 to 100, 310 to 420, 460 to 500, 590 to 600; waiting from 300, 420 and 560 on.
        // writer: 420 to 460, 500 to 590; woken at 402, preempted at 460.
        let keys = ["thread", "on_cpu_ns", "waits", "wait_ns", "max_wait_ns", "off_ns"];
        assert_eq!(
            rows(&answer, "threads", &keys),
            json!([["reader[10]", 250, 3, 80, 40, 260], ["writer[20]", 130, 2, 58, 40, 391]]),
            "{tracer:?}"
        );
        let answer = asked(&story(tracer), "interrupts", &Question::default());
        let keys = ["kind", "number", "name", "count", "total_ns"];
        assert_eq!(
            rows(&answer, "sources", &keys),
            json!([["soft", 7, "SCHED", 1, 40], ["device", 27, "disk", 1, 28]]),
            "{tracer:?}"
        );
        let answer = asked(&story(tracer), "io", &Question::default());
        let keys = ["device", "operation", "count", "bytes", "failures", "max_ns"];
        assert_eq!(
            rows(&answer, "operations", &keys),
            json!([["vda (254:0)", "read", 1, 4096, 0, 185]]),
            "{tracer:?}"
        );
        let keys = ["file", "read_bytes", "write_bytes", "max_ns"];
        let files =
            json!([["/data", 4096, 0, 240], ["stdin", 100, 0, 120], ["pipe:[1]", 0, 100, 40]]);
        assert_eq!(rows(&answer, "files", &keys), json!(files), "{tracer:?}");
        let answer = asked_of_read(tracer, "critical-path");
        let keys = ["begin_ns", "duration_ns", "what", "thread", "by"];
        assert_eq!(
            rows(&answer, "segments", &keys),
            json!([
                [90, 10, "running", "reader[10]", null],
                [100, 200, "device", "reader[10]", "disk"],
                [300, 10, "waiting for CPU", "reader[10]", null],
                [310, 20, "running", "reader[10]", null]
            ]),
            "{tracer:?}"
        );
    }
}

/// An analysis of the longest read.
fn asked_of_read(tracer: Tracer, name: &str) -> Answer {
    let read = if tracer == Tracer::Lull { "syscalls:sys_read" } else { "syscall_read" };
    let question = Question { pairs: vec![read.into()], ..Question::default() };
    asked(&story(tracer), name, &question)
}

/// What an analysis says, by Lull's names. A trace is compared with itself.
fn told(tracer: Tracer, name: &str) -> Value {
    let mut answer = match name {
        "critical-path" => asked_of_read(tracer, name),
        COMPARE => {
            let (traces, options) = ([opened(&story(tracer))], Options::default());
            compare((&traces, &options), (&traces, &options), |_, _| {})
        }
        _ => asked(&story(tracer), name, &Question::default()),
    };
    // Names of single events are each tracer's own.
    answer.sheet.tables.retain(|table| table.key != "rates");
    let mut text = serde_json::to_string(&answer).unwrap();
    if tracer != Tracer::Lull {
        NAMES.iter().for_each(|(lttng, lull)| text = text.replace(lttng, lull));
    }
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_analysis_says_the_same_of_both_tracers() {
    for Named { name, .. } in &NAMED {
        let lull = told(Tracer::Lull, name);
        for tracer in LTTNG {
            let lttng = told(tracer, name);
            for part in ["tables", "facts"] {
                assert_eq!(lttng[part], lull[part], "{name} of {tracer:?}");
            }
        }
    }
}
