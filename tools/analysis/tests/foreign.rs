// SPDX-License-Identifier: MIT
//! What the report says of traces of other tracers.
//!
//! Place in the flow: small traces by hand, in the form that LTTng's kernel tracer writes without
//! contexts: events of system calls name no thread, only the scheduler's events do.

use std::path::PathBuf;

use analysis::{analyse, Options, Report};
use trace::Trace;
use verdict::State;

const METADATA: &str = "/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
env { hostname = \"h\"; };
clock { name = c; freq = 1000000000; };
stream {
    packet.context := struct {
        u64 timestamp_begin; u64 timestamp_end; u64 content_size; u64 packet_size;
        u64 packet_seq_num; u64 events_discarded; u32 cpu_id;
    };
    event.header := struct { u8 id; u64 timestamp; };
};
event { name = syscall_entry_futex; id = 0; fields := struct { u8 op; }; };
event { name = syscall_exit_futex; id = 1; fields := struct { i32 ret; }; };
event { name = sched_switch; id = 2; fields := struct {
    string _prev_comm; i32 _prev_tid; i32 _prev_state; string _next_comm; i32 _next_tid; }; };
";

enum What {
    Entry,
    Exit,
    Switch(i32, i32),
}
use What::{Entry, Exit, Switch};

/// The bytes of a packet, `discarded` events counted until its end.
fn packet(cpu: u32, number: u64, discarded: u64, events: &[(u64, What)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (time, what) in events {
        body.push(match what {
            Entry => 0,
            Exit => 1,
            Switch(..) => 2,
        });
        body.extend(time.to_le_bytes());
        match what {
            Entry => body.push(0),
            Exit => body.extend(0i32.to_le_bytes()),
            Switch(prev, next) => {
                for (tid, state) in [(*prev, true), (*next, false)] {
                    body.extend(format!("t{tid}\0").bytes());
                    body.extend(tid.to_le_bytes());
                    body.extend(vec![0; if state { 4 } else { 0 }]);
                }
            }
        }
    }
    let times = [events[0].0, events[events.len() - 1].0];
    let size_bits = (4 + 6 * 8 + 4 + body.len() as u64) * 8;
    let mut bytes = 0xc1fc_1fc1u32.to_le_bytes().to_vec();
    for word in [times[0], times[1], size_bits, size_bits, number, discarded] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(cpu.to_le_bytes());
    bytes.extend(body);
    bytes
}

fn report(metadata: &str, streams: Vec<Vec<u8>>) -> Report {
    let named = |(i, bytes)| (PathBuf::from(format!("channel_{i}")), bytes);
    let streams = streams.into_iter().enumerate().map(named).collect();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the metadata is right");
    analyse(&[trace], &Options::default(), |_| {})
}

#[test]
fn calls_without_contexts_are_joined_by_the_threads_that_the_scheduler_puts_on_a_processor() {
    let zero = [
        (10, Entry), // by 100, as the first switch tells
        (20, Switch(100, 200)),
        (30, Entry), // by 200
        (40, Switch(200, 100)),
        (50, Exit), // of 100: 40 ns
        (60, Switch(100, 0)),
    ];
    let one = [(5, Switch(0, 300)), (70, Switch(300, 200)), (80, Exit)]; // of 200: 50 ns
    let report = report(METADATA, vec![packet(0, 0, 0, &zero), packet(1, 0, 0, &one)]);
    let futex = &report.latencies[0].duration;
    assert_eq!((futex.count, futex.min_ns, futex.max_ns), (2, 40, 50));
    let mut threads: Vec<_> = report.threads.iter().map(|row| (&*row.name, row.tid)).collect();
    threads.sort();
    for (name, tid) in [("t100", 100), ("t200", 200), ("t300", 300)] {
        assert!(threads.contains(&(name, Some(tid))), "{threads:?}");
    }
    assert!(report.verdict.notes.is_empty(), "{:?}", report.verdict.notes);
}

#[test]
fn after_a_loss_nobody_knows_who_runs_until_the_next_switch_nor_whose_exit_comes() {
    let first = [(10, Switch(0, 100)), (20, Entry)];
    let second = [(30, Exit), (40, Switch(200, 100)), (50, Exit), (60, Entry), (70, Exit)];
    let bytes = [packet(0, 0, 0, &first), packet(0, 1, 9, &second)].concat();
    let report = report(METADATA, vec![bytes]);
    let futex = &report.latencies[0].duration;
    assert_eq!((futex.count, futex.min_ns), (1, 10), "the exits before may be of other calls");
    let row = &report.unmatched[0];
    assert_eq!((row.unsure, row.still_running), (1, 0), "{row:?}");
}

#[test]
fn calls_of_unknown_threads_are_not_joined_and_that_is_said() {
    let metadata = METADATA.replace("sched_switch", "other");
    let events = [(10, Entry), (30, Entry), (50, Exit), (60, Exit)];
    let report = report(&metadata, vec![packet(0, 0, 0, &events)]);
    assert_eq!((report.events, report.latencies.len(), report.running.count), (4, 0, 0));
    let notes = report.verdict.notes.join("\n");
    assert!(notes.contains("does not say which thread"), "{notes}");
    assert!(notes.contains("4 events"), "{notes}");
}

#[test]
fn a_stream_without_a_processor_is_one_thread() {
    let metadata = METADATA.replace("sched_switch", "other").replace("cpu_id", "unused");
    let report = report(&metadata, vec![packet(0, 0, 0, &[(10, Entry), (50, Exit)])]);
    assert_eq!(report.latencies[0].duration.max_ns, 40);
}

#[test]
fn what_was_discarded_before_the_trace_is_no_loss_of_it_and_said() {
    let events = |at| [(at, Switch(0, 100))];
    let bytes = [packet(0, 7, 15_940, &events(10)), packet(0, 8, 15_947, &events(20))].concat();
    let report = report(METADATA, vec![bytes]);
    assert_eq!(report.lost.events, 7);
    let limits = report.verdict.limits.join("\n");
    assert!(limits.contains("began before the trace"), "{limits}");
    assert!(limits.contains("15,940 events"), "{limits}");
    assert_eq!(report.verdict.state, State::Incomplete);
}

#[test]
fn trace_that_is_empty_is_not_complete() {
    let metadata =
        METADATA.replace("hostname", "tracer_name = \"lull\"; verdict = \"complete\"; hostname");
    let report = report(&metadata, Vec::new());
    assert!(!report.complete);
    assert_eq!(report.verdict.state, State::NothingMatched);
}

#[test]
fn warnings_about_the_metadata_are_in_the_notes() {
    let metadata = METADATA.replace("env {", "oddity { a = 1; };\nenv {");
    let report = report(&metadata, Vec::new());
    assert!(report.verdict.notes[0].contains("line 7"), "{:?}", report.verdict.notes);
}

#[test]
fn recursion_of_any_depth_within_the_bound_is_joined() {
    let deep = 5000;
    let entries = (0..deep).map(|i| (i + 1, Entry));
    let exits = (0..deep).map(|i| (2 * deep + i, Exit));
    let events: Vec<_> = std::iter::once((0, Switch(0, 100))).chain(entries).chain(exits).collect();
    let report = report(METADATA, vec![packet(0, 0, 0, &events)]);
    assert_eq!((report.latencies[0].duration.count, report.unmatched.len()), (deep, 0));
}

#[test]
fn names_are_as_they_are_unless_a_number_of_the_recorders_tells_two_apart() {
    let events = [(10, Entry), (20, Exit)];
    let metadata = METADATA
        .replace("syscall_entry_futex", "\"odd#7\"")
        .replace("syscall_exit_futex", "\"same#1\"");
    let report = report(&metadata, vec![packet(0, 0, 0, &events)]);
    let mut names: Vec<_> = report.event_names.iter().filter_map(|row| row.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["odd#7", "same"]);
}
