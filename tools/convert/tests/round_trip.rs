// SPDX-License-Identifier: MIT
//! Traces converted there and back: the same events with the same values, nothing lost or found.
//!
//! Place in the flow: testkit's random traces cover every kind of field in both byte orders.

use std::fs::File;
use std::path::{Path, PathBuf};

use convert::{convert, Format, Options, Part};
use testkit::{random_stream, Datum, Kind, Order, Spec, StreamWriter, TraceFolder, Written};
use trace::{ByteOrder, Cycles, Message, Trace};

#[path = "../../trace/tests/exercise/mutate.rs"]
mod mutate;
#[path = "../../trace/tests/notation/mod.rs"]
mod notation;

const PLAIN: Options =
    Options { format: Format::Ctf2, order: ByteOrder::Little, for_trace_compass: false };

/// Converts into a folder that vanishes with the result.
fn converted(trace: &Trace, options: Options) -> TraceFolder {
    let folder = TraceFolder::new("", &[]).unwrap();
    let mut make = |name: &str| File::create_new(folder.path().join(name));
    let done = convert(trace, options, &Part::default(), &mut make, &mut |_| {}).unwrap();
    assert_eq!(done.problems, []);
    std::fs::write(folder.path().join("metadata"), done.metadata).unwrap();
    folder
}

/// What must stay the same: everything but where packets lie.
fn events(trace: &Trace) -> Vec<(u64, u32, String, Vec<String>)> {
    let (events, problems) = notation::read(trace);
    assert_eq!((trace.problems(), problems), (&[][..], vec![]));
    let same = |e: Written| (e.cycles, e.cpu, e.name, e.scopes);
    events.into_iter().map(same).collect()
}

/// Lost events by cause, and lost packets, in the order in which they are told.
fn losses(trace: &Trace) -> Vec<String> {
    let mut merge = trace.merge();
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        if let Message::Loss(lost) = message {
            found.push(format!("{:?} {} {:?}", lost.loss.kind, lost.loss.count, lost.loss.causes));
        }
    }
    found.sort();
    found
}

fn open(path: &Path) -> Trace {
    Trace::open(path).unwrap()
}

fn random_trace(seed: u64) -> Trace {
    let spec = Spec::random(seed);
    let stream = |cpu: u32| {
        let bytes = random_stream(&spec, cpu, seed * 3 + u64::from(cpu), 4).0;
        (PathBuf::from(format!("stream_{cpu}")), bytes)
    };
    Trace::from_bytes(spec.metadata().as_bytes(), (0..3).map(stream).collect()).unwrap()
}

#[test]
fn every_kind_of_value_survives_both_formats_and_byte_orders() {
    for seed in 0..40 {
        let first = random_trace(seed);
        let wanted = events(&first);
        let lost = losses(&first);
        for (format, order) in [
            (Format::Ctf2, ByteOrder::Little),
            (Format::Ctf1, ByteOrder::Big),
            (Format::Ctf2, ByteOrder::Big),
            (Format::Ctf1, ByteOrder::Little),
        ] {
            let folder = converted(&first, Options { format, order, for_trace_compass: false });
            let second = open(folder.path());
            assert_eq!(events(&second), wanted, "seed {seed} {format:?} {order:?}");
            assert_eq!(losses(&second), lost, "seed {seed} {format:?} {order:?}");
            if format == Format::Ctf2 {
                let back = Options { format: Format::Ctf1, ..PLAIN };
                let folder = converted(&second, back);
                assert_eq!(events(&open(folder.path())), wanted, "seed {seed}, and back");
            }
        }
    }
}

#[test]
fn clocks_environment_and_names_of_events_are_kept() {
    let first = random_trace(3);
    for format in [Format::Ctf1, Format::Ctf2] {
        let folder = converted(&first, Options { format, ..PLAIN });
        let second = open(folder.path());
        let clock = |trace: &Trace| {
            let clock = &trace.clocks()[0];
            (clock.name.clone(), clock.frequency_hz, clock.absolute, clock.ns(Cycles(12_345)))
        };
        assert_eq!(clock(&second), clock(&first));
        assert_eq!(second.metadata().uuid, first.metadata().uuid);
        let sorted = |trace: &Trace| {
            let mut all = trace.environment().to_vec();
            // What the files are is told anew.
            all.retain(|(name, _)| name != trace::STREAM_FILES);
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all
        };
        assert_eq!(sorted(&second), sorted(&first));
    }
}

/// A stream whose last packet is empty and tells of a loss; packets are missing, too.
fn lossy() -> Trace {
    let spec = Spec::lull(Order::Little, vec![(1, "e", Kind::structure(vec![]))]);
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(1000);
    writer.event(1, 1010, Datum::List(vec![]));
    writer.end_packet(1100, 8);
    writer.skip_sequence(3);
    writer.begin_packet(2000);
    writer.lose([5, 0, 1, 0]);
    writer.event(1, 2010, Datum::List(vec![]));
    writer.end_packet(2100, 0);
    writer.begin_packet(3000);
    writer.lose([0, 7, 0, 0]);
    writer.end_packet(3100, 0);
    let streams = vec![(PathBuf::from("s"), writer.finish().0)];
    Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
}

#[test]
fn lost_events_and_packets_are_counted_where_they_were() {
    let first = lossy();
    let wanted = losses(&first);
    assert_eq!(wanted.len(), 3, "{wanted:?}");
    for format in [Format::Ctf1, Format::Ctf2] {
        let folder = converted(&first, Options { format, ..PLAIN });
        assert_eq!(losses(&open(folder.path())), wanted);
    }
    let folder = TraceFolder::new("", &[]).unwrap();
    let mut make = |name: &str| File::create_new(folder.path().join(name));
    let done = convert(&first, PLAIN, &Part::default(), &mut make, &mut |_| {}).unwrap();
    assert_eq!((done.events, done.lost_events, done.lost_packets), (2, 13, 3));
}

#[test]
fn trace_compass_gets_nanoseconds_and_threads() {
    let order = Order::Little;
    let id = |name| (name, Kind::u(32, order));
    let thread = Kind::structure(vec![id("pid"), id("tid"), ("name", Kind::Text)]);
    let mut spec =
        Spec::lull(order, vec![(1, "lull:thread", thread), (2, "e", Kind::structure(vec![]))]);
    spec.stream_context = None;
    let mut writer = StreamWriter::new(&spec, 0);
    let of = |pid, tid| {
        Datum::List(vec![Datum::Unsigned(pid), Datum::Unsigned(tid), Datum::Text(b"n".to_vec())])
    };
    writer.begin_packet(1000);
    writer.event(1, 1000, of(7, 8));
    writer.event(2, 1001, Datum::List(vec![]));
    writer.event(1, 1002, of(7, 9));
    writer.event(2, 1003, Datum::List(vec![]));
    writer.end_packet(2000, 0);
    writer.begin_packet(3000);
    writer.event(2, 3001, Datum::List(vec![]));
    writer.end_packet(4000, 0);
    let streams = vec![(PathBuf::from("s"), writer.finish().0)];
    let first = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
    let times = |trace: &Trace| {
        let mut merge = trace.merge();
        let mut times = Vec::new();
        while let Some(message) = merge.next() {
            if let Message::Event(event) = message {
                times.push(event.time_ns());
            }
        }
        times
    };
    let options = Options { for_trace_compass: true, format: Format::Ctf1, ..PLAIN };
    let folder = converted(&first, options);
    let second = open(folder.path());
    assert_eq!(times(&second), times(&first));
    assert_eq!(second.clocks()[0].frequency_hz, 1_000_000_000);
    let contexts: Vec<String> =
        notation::read(&second).0.into_iter().map(|e| e.scopes[0].clone()).collect();
    let (eight, nine) = ("{ vpid = 7, vtid = 8 }", "{ vpid = 7, vtid = 9 }");
    assert_eq!(contexts, [eight, eight, nine, nine, "{ vpid = -1, vtid = -1 }"]);
}

#[test]
fn what_ctf_1_8_cannot_say_is_refused_before_anything_is_written() {
    let metadata = "\u{1e}{\"type\": \"preamble\", \"version\": 2}\n\
        \u{1e}{\"type\": \"data-stream-class\"}\n\
        \u{1e}{\"type\": \"event-record-class\", \"name\": \"e\", \"payload-field-class\": \
        {\"type\": \"structure\", \"member-classes\": [\
        {\"name\": \"s\", \"field-class\": {\"type\": \"fixed-length-boolean\", \"length\": 8, \
        \"byte-order\": \"big-endian\"}}, \
        {\"name\": \"o\", \"field-class\": {\"type\": \"optional\", \
        \"selector-field-location\": {\"path\": [\"s\"]}, \
        \"field-class\": {\"type\": \"variable-length-signed-integer\"}}}]}}\n";
    let streams = vec![(PathBuf::from("s"), vec![1, 0x7f, 0])];
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
    let mut make = |_: &str| -> std::io::Result<File> { panic!("a file was made") };
    let options = Options { format: Format::Ctf1, ..PLAIN };
    let error =
        convert(&trace, options, &Part::default(), &mut make, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("event `e`") && error.contains("optional"), "{error}");
    let folder = converted(&trace, PLAIN);
    assert_eq!(events(&open(folder.path())), events(&trace));
}

#[test]
fn of_a_damaged_trace_what_can_be_read_is_written_or_all_is_refused() {
    let (mut written, mut refused) = (0, 0);
    for seed in 0..300 {
        let (metadata, stream) = mutate::damaged(seed);
        let streams = vec![(PathBuf::from("s"), stream)];
        let Ok(trace) = Trace::from_bytes(&metadata, streams) else { continue };
        for format in [Format::Ctf1, Format::Ctf2] {
            let folder = TraceFolder::new("", &[]).unwrap();
            let mut make = |name: &str| File::create_new(folder.path().join(name));
            let options = Options { format, ..PLAIN };
            let Ok(done) = convert(&trace, options, &Part::default(), &mut make, &mut |_| {})
            else {
                refused += 1;
                continue;
            };
            std::fs::write(folder.path().join("metadata"), done.metadata).unwrap();
            let (events, _) = notation::read(&open(folder.path()));
            assert_eq!(events.len() as u64, done.events, "seed {seed}");
            written += done.events;
        }
    }
    assert!(written > 1500 && refused < 150, "{written} events written, {refused} refused");
}
