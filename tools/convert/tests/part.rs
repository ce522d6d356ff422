// SPDX-License-Identifier: MIT
//! Parts of traces, and traces with other times: what is in them, and what they say of the rest.
//!
//! Place in the flow: `lull trim` and `lull merge` write such traces.

use std::fs::File;
use std::path::PathBuf;

use convert::{convert, Converted, Correction, Format, Options, Part, Take};
use testkit::{Datum, Kind, Order, Spec, StreamWriter, TraceFolder};
use trace::{
    ByteOrder, EnvironmentValue, Event, Message, Ns, RecordedThread, RecordedThreads, Span,
    ThreadFields, Trace,
};

const OPTIONS: Options =
    Options { format: Format::Ctf1, order: ByteOrder::Little, for_trace_compass: false };

fn spec() -> Spec {
    let order = Order::Little;
    let thread = Kind::structure(vec![
        ("pid", Kind::u(32, order)),
        ("tid", Kind::u(32, order)),
        ("name", Kind::Text),
    ]);
    let hit = Kind::structure(vec![("n", Kind::u(64, order))]);
    Spec {
        frequency_hz: 1_000_000_000,
        ..Spec::lull(order, vec![(1, "lull:thread", thread), (2, "hit", hit)])
    }
}

/// Three packets of two threads each; each packet but the first lost events.
fn trace(spec: &Spec) -> Trace {
    let mut writer = StreamWriter::new(spec, 0);
    let (mut cycles, mut number) = (1000, 0);
    for packet in 0..3 {
        writer.begin_packet(cycles);
        writer.lose([packet, 0, 0, 0]);
        for tid in [70, 71] {
            let name = Datum::Text(format!("t{tid}").into_bytes());
            let thread = vec![Datum::Unsigned(7), Datum::Unsigned(tid), name];
            writer.event(1, cycles, Datum::List(thread));
            for _ in 0..4 {
                cycles += 10;
                number += 1;
                writer.event(2, cycles, Datum::List(vec![Datum::Unsigned(number)]));
            }
        }
        writer.end_packet(cycles + 5, 0);
        cycles += 1000;
    }
    let streams = vec![(PathBuf::from("s"), writer.finish().0)];
    Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
}

fn written(trace: &Trace, part: &Part<'_>) -> (Trace, Converted, TraceFolder) {
    let folder = TraceFolder::new("", &[]).unwrap();
    let mut make = |name: &str| File::create_new(folder.path().join(name));
    let done = convert(trace, OPTIONS, part, &mut make, &mut |_| {}).unwrap();
    std::fs::write(folder.path().join("metadata"), &done.metadata).unwrap();
    (Trace::open(folder.path()).unwrap(), done, folder)
}

/// Number and thread of each event but the records of threads, and the losses.
fn read(trace: &Trace) -> (Vec<(u64, Option<u64>)>, Vec<u64>) {
    let mut merge = trace.merge();
    let fields: Vec<_> = trace.event_classes().map(ThreadFields::of).collect();
    let mut threads = RecordedThreads::new(merge.stream_count());
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => match &fields[event.class().index] {
                Some(fields) => drop(threads.switch(&event, fields)),
                None => {
                    let number = event.value(0).and_then(|value| value.as_u64()).unwrap();
                    found.push((number, threads.of(&event).map(|thread| thread.tid)));
                }
            },
            Message::Loss(loss) => lost.push(loss.loss.count),
        }
    }
    assert_eq!(merge.problems(), []);
    assert_eq!(merge.beginnings().count(), 0);
    (found, lost)
}

fn times(trace: &Trace) -> Vec<i64> {
    let mut merge = trace.merge();
    let mut times = Vec::new();
    while let Some(message) = merge.next() {
        if let Message::Event(event) = message {
            times.push(event.time_ns().0);
        }
    }
    times
}

#[test]
fn a_span_keeps_its_events_with_their_threads_and_what_was_lost_in_it() {
    let trace = trace(&spec());
    let base = trace.bounds().unwrap().0 .0;
    // From the middle of the second packet's first thread to that of the third's second one.
    let span = Span { from: Some(Ns(base + 1100)), until: Some(Ns(base + 2225)) };
    let (part, done, _folder) = written(&trace, &Part { span, ..Part::default() });
    let (found, lost) = read(&part);
    let numbers = [(10, 70), (11, 70), (12, 70), (13, 71), (14, 71), (15, 71), (16, 71)];
    let more = [(17, 70), (18, 70), (19, 70), (20, 70), (21, 71), (22, 71)];
    let wanted: Vec<_> = numbers.iter().chain(&more).map(|(n, tid)| (*n, Some(*tid))).collect();
    assert_eq!(found, wanted);
    // The second packet's loss reaches into the span; what was cut away is none.
    assert_eq!((lost, done.lost_events, done.left_out), (vec![1, 2], 3, 0));
}

#[test]
fn events_that_are_asked_for_keep_their_threads_and_the_others_are_not_called_lost() {
    let trace = trace(&spec());
    let take = |_: &Event<'_>, thread: Option<&RecordedThread>| {
        thread.is_some_and(|thread| thread.tid == 71)
    };
    let take: Take<'_> = &take;
    let environment = vec![("trimmed".into(), EnvironmentValue::Text("yes".into()))];
    let wanted = Part { take: Some(take), environment, ..Part::default() };
    let (part, done, _folder) = written(&trace, &wanted);
    let (found, lost) = read(&part);
    assert!(found.iter().all(|(_, tid)| *tid == Some(71)));
    assert_eq!((found.len(), done.events, done.left_out), (12, 12, 12));
    assert_eq!(lost, [1, 2]);
    assert_eq!(part.metadata().environment_text("trimmed"), Some("yes"));
}

#[test]
fn corrected_times_are_those_of_the_other_clock_to_the_nanosecond() {
    let trace = trace(&spec());
    let before = times(&trace);
    let at_ns = before[0] - 500_000_000_000;
    let correction = Correction { at_ns, offset_ns: -123_456_789, drift: 4e-5 };
    let (part, ..) = written(&trace, &Part { correction: Some(correction), ..Part::default() });
    let wanted: Vec<_> = before.iter().map(|ns| ns - 123_456_789 + 20_000_000).collect();
    assert_eq!(times(&part), wanted);
}
