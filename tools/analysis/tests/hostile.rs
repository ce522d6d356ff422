// SPDX-License-Identifier: MIT
//! No trace, however damaged or absurd, stops the analyses, and each one is told apart from a good
//! one or read as if it were good. Fields of every kind stand under names that have a meaning.

use analysis::{analyse, By, Options};
use testkit::program::{Number, Program, Text};
use testkit::Random;
use trace::Trace;

fn absurd(seed: u64) -> Trace {
    let (metadata, streams) = testkit::absurd(seed);
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the metadata is right")
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
