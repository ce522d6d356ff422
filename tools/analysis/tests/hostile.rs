// SPDX-License-Identifier: MIT
//! No trace, however damaged or absurd, stops the analyses, and each one is told apart from a good
//! one or read as if it were good. Fields of every kind stand under names that have a meaning.

use analysis::{analyse, ask, compare, By, Error, FlameOf, Options, Question, COMPARE, NAMED};
use state::{ThreadIndex, Threads};
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

/// Asks every named analysis.
fn ask_all(trace: &Trace, seed: u64) {
    let whose = |_: &Threads, thread: ThreadIndex| u64::from(thread.0) % 2 == seed % 2;
    let options = Options { whose: Some(&whose), ..Options::default() };
    let traces = std::slice::from_ref(trace);
    let of = [None, Some(FlameOf::Calls), Some(FlameOf::Waits), Some(FlameOf::Stacks)];
    let question = Question { flame_of: of[seed as usize % 4], ..Question::default() };
    for named in NAMED.iter().filter(|named| named.name != COMPARE) {
        let answer = ask(named, &question, traces, &options, |_| {});
        let answer =
            answer.unwrap_or_else(|error| panic!("{} of seed {seed}: {error}", named.name));
        serde_json::to_string(&answer).expect("an answer is JSON");
    }
    compare((traces, &options), (traces, &Options::default()), |_, _| {});
}

#[test]
fn absurd_values_are_survived_by_every_named_analysis() {
    (0..60).for_each(|seed| ask_all(&absurd(seed), seed));
}

/// The scheduler, locks, memory and devices, with wrong orders, wrong numbers and losses.
fn odd(seed: u64) -> Program {
    const FIELDS: [(&str, &[&str]); 14] = [
        ("sched:sched_switch", &["prev_pid", "prev_state", "next_pid"]),
        ("sched:sched_wakeup", &["pid"]),
        ("sched:sched_waking", &["pid"]),
        ("irq:irq_handler_entry", &["irq"]),
        ("irq:irq_handler_exit", &["irq"]),
        ("mutex:wait_entry", &["mutex"]),
        ("mutex:wait_exit", &["mutex", "result"]),
        ("mutex:unlock", &["mutex"]),
        ("malloc:malloc", &["bytes", "result"]),
        ("malloc:free", &["pointer"]),
        ("kmem:kmalloc", &["call_site", "ptr", "bytes_alloc"]),
        ("block:block_rq_issue", &["dev", "sector", "nr_sector"]),
        ("block:block_rq_complete", &["dev", "sector", "nr_sector", "error"]),
        ("lock:contention_begin", &["lock_addr"]),
    ];
    let random = &mut Random::new(seed);
    let mut program = Program::new();
    for i in 0..300u64 {
        let (name, fields) = FIELDS[random.below(FIELDS.len() as u64) as usize];
        let mut value = || match random.below(6) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => -1,
            _ => random.below(4) as i64,
        };
        let fields: Vec<_> = fields.iter().map(|field| (*field, Number(value()))).collect();
        let tid = random.below(4) as i64;
        let at = i * 10 + random.below(40);
        program.event(at, random.below(3) as u32, (tid / 2, tid, "odd"), name, &fields);
    }
    if seed % 2 == 0 {
        program.end_packet(1500, 0, [3, 0, 0, 1]);
    }
    program
}

#[test]
fn odd_orders_and_numbers_are_survived_by_every_named_analysis() {
    for seed in 0..60 {
        let (metadata, streams) = odd(seed).files();
        let trace = Trace::from_bytes(metadata.as_bytes(), streams);
        ask_all(&trace.expect("the trace is well formed"), seed);
    }
}

/// The segments of a path add up to its span, whatever the events say.
#[test]
fn path_of_any_thread_adds_up_to_its_span() {
    let path = NAMED.iter().find(|named| named.name == "critical-path").expect("there is one");
    let whose = |_: &Threads, _: ThreadIndex| true;
    let options = Options { whose: Some(&whose), ..Options::default() };
    for seed in 0..60 {
        let (metadata, streams) = odd(seed).files();
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("it is well formed");
        let answer = ask(path, &Question::default(), &[trace], &options, |_| {});
        let json = serde_json::to_value(answer.expect("it is answered")).expect("it is JSON");
        let segments = json["tables"]["segments"].as_array().expect("there are segments");
        let mut at = json["facts"]["begin_ns"].as_i64().expect("it has a begin");
        for segment in segments {
            assert_eq!(segment["begin_ns"], at, "seed {seed}");
            at += segment["duration_ns"].as_i64().expect("it has a length");
        }
        assert_eq!(json["facts"]["until_ns"], at, "seed {seed}");
    }
}

#[test]
fn names_that_no_trace_has_are_an_error() {
    let between = Some(("".to_string(), "\0".to_string()));
    let question = Question { between, ..Question::default() };
    let latency = NAMED.iter().find(|named| named.name == "latency").expect("there is one");
    let answer = ask(latency, &question, &[absurd(1)], &Options::default(), |_| {});
    assert!(matches!(answer, Err(Error::Unknown { .. })));
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
