// SPDX-License-Identifier: MIT
//! No trace, however damaged or absurd, stops the analyses, and each one is told apart from a good
//! one or read as if it were good. Fields of every kind stand under names that have a meaning.

use analysis::{analyse, By, Options};
use testkit::program::{Number, Program, Text};
use testkit::{random_stream, Kind, Order, Random, Spec};
use trace::Trace;

/// Names that the analyses act on.
const MEANINGFUL: [&str; 12] = [
    "lull:thread",
    "io:read_entry",
    "io:read_exit",
    "io:open_exit",
    "io:close_range",
    "io:dup2",
    "mutex:wait_entry",
    "mutex:wait_exit",
    "process:start",
    "process:wait_exit",
    "syscall_entry_write",
    "syscall_exit_write",
];
const FIELDS: [&str; 10] =
    ["fd", "result", "pid", "tid", "name", "path", "mutex", "status", "first_fd", "last_fd"];

/// A random trace in which any kind of value stands where numbers and texts are looked for.
fn absurd(seed: u64) -> Trace {
    let random = &mut Random::new(seed);
    let mut spec = Spec::random(seed);
    for (i, event) in spec.events.iter_mut().enumerate() {
        event.name = MEANINGFUL[(seed as usize + i) % MEANINGFUL.len()].into();
        if let Kind::Struct { fields, .. } = &mut event.payload {
            for (field, _) in fields.iter_mut() {
                *field = format!("{}_{}", random.pick(&FIELDS), field);
            }
            let known = fields.iter_mut().zip(FIELDS.iter().skip(random.below(6) as usize));
            known.for_each(|((field, _), name)| *field = (*name).to_string());
        }
    }
    let streams = (0..2).map(|cpu| {
        let (bytes, _) = random_stream(&spec, cpu, seed + u64::from(cpu), 6);
        (format!("stream_{cpu}").into(), bytes)
    });
    Trace::from_bytes(spec.metadata().as_bytes(), streams.collect()).expect("the metadata is right")
}

#[test]
fn absurd_values_under_meaningful_names_are_survived() {
    let mut events = 0;
    for seed in 0..300 {
        let by = [None, Some(By::Process), Some(By::Thread), Some(By::Cpu)][seed as usize % 4];
        let options = Options { by, ..Options::default() };
        let report = analyse(&[absurd(seed)], &options, |_| {});
        let counted: u64 = report.event_names.iter().map(|row| row.events).sum();
        assert_eq!(counted, report.matched_events, "seed {seed}");
        events += counted;
    }
    assert!(events > 5_000, "the traces had {events} events");
}

/// A program that uses every analysis.
fn busy() -> Program {
    let mut program = Program::new();
    let who = (10, 10, "main");
    let start = [("pid", Number(10)), ("parent_pid", Number(1)), ("path", Text("/bin/x"))];
    program.event(0, 0, who, "process:start", &start);
    for i in 0..30 {
        let (fd, result) = ([("fd", Number(i))], [("path", Text("/x")), ("result", Number(i))]);
        let mutex = [("mutex", Number(i))];
        program.call(
            (i as u64 * 100, i as u64 * 100 + 9),
            who,
            ("io:open_entry", &fd),
            ("io:open_exit", &result),
        );
        let span = (i as u64 * 100 + 20, i as u64 * 100 + 30);
        program.call(span, who, ("mutex:wait_entry", &mutex), ("mutex:wait_exit", &mutex));
    }
    program.end_packet(1500, 0, [3, 0, 0, 1]);
    program
}

#[test]
fn any_flipped_byte_is_survived() {
    let (metadata, streams) = busy().files();
    let random = &mut Random::new(7);
    for at in 0..streams[0].1.len() {
        let mut bytes = streams[0].1.clone();
        bytes[at] ^= 1 << random.below(8);
        let files = vec![("stream_0".into(), bytes)];
        let trace = Trace::from_bytes(metadata.as_bytes(), files).expect("the metadata is whole");
        let report = analyse(&[trace], &Options::default(), |_| {});
        assert!(report.matched_events <= 200, "byte {at}: {} events", report.matched_events);
    }
}

#[test]
fn any_flipped_byte_of_the_metadata_is_survived() {
    let (metadata, streams) = busy().files();
    let random = &mut Random::new(9);
    let mut read = 0;
    for at in (0..metadata.len()).step_by(3) {
        let mut bytes = metadata.clone().into_bytes();
        bytes[at] ^= 1 << random.below(8);
        if let Ok(trace) = Trace::from_bytes(&bytes, streams.clone()) {
            analyse(&[trace], &Options::default(), |_| {});
            read += 1;
        }
    }
    assert!(read > 100, "{read} of {} were readable", metadata.len());
}

#[test]
fn thread_contexts_of_each_event_tell_threads_as_lttng_writes_them() {
    let order = Order::Little;
    let context = Kind::structure(vec![
        ("vpid", Kind::u(32, order)),
        ("vtid", Kind::u(32, order)),
        ("procname", Kind::CharArray(17)),
    ]);
    let payload = || Kind::structure(vec![("fd", Kind::u(32, order))]);
    let events = vec![(1, "syscall_entry_read", payload()), (2, "syscall_exit_read", payload())];
    let spec = Spec { stream_context: Some(context), ..Spec::lull(order, events) };
    let (bytes, written) = random_stream(&spec, 0, 1, 8);
    let files = vec![("stream_0".into(), bytes)];
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), files).expect("it is well formed");
    let report = analyse(&[trace], &Options::default(), |_| {});
    assert_eq!(report.events, written.len() as u64);
    for row in &report.threads {
        let (pid, tid) = (row.pid.expect("threads are named"), row.tid.expect("with both"));
        let scope = format!("{{ vpid = {pid}, vtid = {tid}, procname = ");
        let of_row = written.iter().filter(|event| event.scopes[0].starts_with(&scope));
        assert_eq!(of_row.count() as u64, row.events);
    }
}
