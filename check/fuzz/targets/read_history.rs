// SPDX-License-Identifier: MIT
//! libFuzzer's way into the reader of the index of states: the input says what is changed in which
//! part of an index that is right, before the part gets its checksum.
//!
//! Place in the flow: `run` builds it with coverage instrumentation. Of each four bytes, the first
//! is how many bytes to go on, the second what to do there, and the others with what.
#![no_main]

use std::sync::OnceLock;

use history::{Bounds, Far, History};
use libfuzzer_sys::fuzz_target;
use testkit::program::{Number, Program, Text};
use trace::{Ns, Span, Trace};

/// A thread that opens, reads and sleeps, and an interrupt; more than one segment of it.
fn traces() -> &'static [Trace; 1] {
    static TRACES: OnceLock<[Trace; 1]> = OnceLock::new();
    TRACES.get_or_init(|| {
        let who = (10, 10, "app");
        let mut program = Program::new();
        for turn in 0..12 {
            let at = 100 + turn * 20;
            let opened = [("path", Text("/etc/hosts")), ("result", Number(3))];
            program.call((at, at + 1), who, ("io:open_entry", &[]), ("io:open_exit", &opened));
            let mutex = [("mutex", Number(0xa0))];
            program.event(at + 2, 0, who, "mutex:wait_entry", &mutex);
            program.event(at + 3, 0, who, "irq:irq_handler_entry", &[("irq", Number(5))]);
            program.event(at + 4, 0, who, "irq:irq_handler_exit", &[("irq", Number(5))]);
            let switch = |prev: i64, state, next| {
                [("prev_pid", Number(prev)), ("prev_state", Number(state)), ("next_pid", next)]
            };
            program.event(at + 5, 0, who, "sched:sched_switch", &switch(10, 1, Number(0)));
            program.event(at + 9, 0, (0, 0, ""), "sched:sched_switch", &switch(0, 0, Number(10)));
            program.event(at + 10, 0, who, "mutex:wait_exit", &mutex);
        }
        let (metadata, streams) = program.files();
        [Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")]
    })
}

fuzz_target!(|input: &[u8]| {
    let bounds = Bounds { segment: 24, far: 0, ..Bounds::default() };
    let mut edits = input.chunks_exact(4);
    let mut skip = 0;
    let mut next = edits.next();
    let history = History::spoilt(traces(), bounds, &mut |part| {
        while let Some([forward, what, with, more]) = next {
            let at = skip + usize::from(*forward);
            if at >= part.len() {
                skip = at - part.len();
                return;
            }
            match what % 4 {
                0 => part[at] = *with,
                1 => part.insert(at, *with),
                2 => part.truncate(at),
                _ => drop(part.splice(at..at, [*with; 8].into_iter().chain([*more]))),
            }
            skip = at;
            next = edits.next();
        }
    });
    let Some(history) = history else { return };
    let span = Span { from: Some(history.begin()), until: Some(history.end()) };
    for far in Far::of(&history).iter().flatten() {
        for parts in [1, 100] {
            far.overview(&history, &span, parts, |_| true);
        }
    }
    for at in [i64::MIN, 150, 260, i64::MAX] {
        for known in history.at(Ns(at)).iter().flat_map(|moment| moment.all()) {
            history.names().subject(known.track.subject);
            history.names().value(&known.value);
        }
    }
    for subject in history.subjects().take(2) {
        let _ = history.intervals(subject, &Span::ALL);
    }
    let _ = history.overview(&Span::ALL, 9, |_| true);
    let _ = history.visit_ended(&Span::ALL, |_| true, |_, _| true);
});
