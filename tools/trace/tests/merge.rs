// SPDX-License-Identifier: MIT
//! Order across streams and traces, and several stream classes in one trace.
//!
//! Place in the flow: the single-pass merge seen from outside.

use std::path::PathBuf;

use testkit::{BitWriter, Datum, Kind, Order, Random, Spec, StreamWriter};
use trace::{CpuId, Merge, Message, StreamId, Trace, Walker};

mod notation;

fn spec() -> Spec {
    let order = Order::Little;
    Spec::lull(order, vec![(1, "e", Kind::structure(vec![("a", Kind::u(32, order))]))])
}

fn stream(spec: &Spec, cpu: u32, times: &[u64]) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, cpu);
    for chunk in times.chunks(5) {
        writer.begin_packet(chunk[0]);
        for time in chunk {
            writer.event(1, *time, Datum::List(vec![Datum::Unsigned(u64::from(cpu))]));
        }
        writer.end_packet(chunk[chunk.len() - 1], 0);
    }
    writer.finish().0
}

fn order_of(merge: &mut Merge<'_>) -> Vec<(i64, usize, Option<CpuId>)> {
    let mut order = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { panic!("nothing is lost") };
        order.push((event.time_ns().0, event.stream_index(), event.cpu()));
    }
    assert_eq!(merge.problems(), []);
    order
}

#[test]
fn any_number_of_streams_merges_into_time_order() {
    for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 17] {
        let spec = spec();
        let random = &mut Random::new(count);
        let mut total = 0;
        let streams = (0..count).map(|cpu| {
            let mut times: Vec<u64> = (0..random.below(60)).map(|_| random.below(9_000)).collect();
            times.sort();
            total += times.len();
            (PathBuf::from(format!("s{cpu}")), stream(&spec, cpu as u32, &times))
        });
        let streams = streams.collect();
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
        let mut merge = trace.merge();
        let order = order_of(&mut merge);
        assert!(order.is_sorted_by_key(|(ns, ..)| *ns), "{count} streams");
        assert_eq!(order.len(), total, "{count} streams");
        assert!(merge.next().is_none(), "the end stays the end");
    }
}

#[test]
fn ties_are_broken_by_processor_and_then_by_file_name() {
    let spec = spec();
    let at = |name: &str, cpu| (PathBuf::from(name), stream(&spec, cpu, &[100, 200]));
    let streams = vec![at("z", 1), at("b", 5), at("a", 5), at("y", 0)];
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
    let names: Vec<_> = trace.files().iter().map(|f| f.path().display().to_string()).collect();
    assert_eq!(names, ["y", "z", "a", "b"]);
    let order = order_of(&mut trace.merge());
    let streams: Vec<usize> = order.iter().map(|(_, stream, _)| *stream).collect();
    assert_eq!(streams, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn traces_with_different_clocks_merge_by_nanoseconds() {
    let slow = Spec { frequency_hz: 1000, offset_s: 10, offset_cycles: 0, ..spec() };
    let fast = Spec { frequency_hz: 1_000_000_000, offset_s: 10, offset_cycles: 0, ..spec() };
    let open = |spec: &Spec, times: &[u64]| {
        let streams = vec![(PathBuf::from("s"), stream(spec, 0, times))];
        Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
    };
    let traces = [open(&slow, &[1, 3, 5]), open(&fast, &[2_000_000, 4_000_000])];
    let mut merge = Merge::over(&traces);
    let order = order_of(&mut merge);
    let milliseconds: Vec<i64> = order.iter().map(|(ns, ..)| ns / 1_000_000 - 10_000).collect();
    assert_eq!(milliseconds, [1, 2, 3, 4, 5]);
}

#[test]
fn files_of_several_stream_classes_are_told_apart() {
    let metadata = "trace { major = 1; minor = 8; byte_order = le;
            packet.header := struct {
                integer { size = 32; } magic; integer { size = 8; } stream_id;
            }; };
        typealias integer { size = 8; align = 8; } := u8;
        stream { id = 4; event.header := struct { u8 id; }; };
        stream { id = 200; event.header := struct { u8 id; }; };
        event { name = four; id = 1; stream_id = 4; fields := struct { u8 a; u8 b; }; };
        event { name = other; id = 1; stream_id = 200; fields := struct { string s; }; };";
    let file = |stream: u64, bytes: &[u8]| {
        let mut bits = BitWriter::new();
        bits.integer(0xc1fc_1fc1, 32, Order::Little);
        bits.integer(stream, 8, Order::Little);
        bits.bytes(bytes);
        bits.into_bytes()
    };
    let streams = vec![
        (PathBuf::from("b"), file(200, b"\x01hello\0\x01world\0")),
        (PathBuf::from("a"), file(4, &[1, 10, 20, 1, 30, 40])),
    ];
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
    let mut merge = trace.merge();
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        found.push((event.name().to_string(), format!("{:?}", event.value(0).unwrap())));
    }
    let text = |s: &str| format!("{:?}", trace::Value::Text(s.as_bytes()));
    let want = [
        ("four".into(), "Unsigned(10)".into()),
        ("four".into(), "Unsigned(30)".into()),
        ("other".into(), text("hello")),
        ("other".into(), text("world")),
    ];
    assert_eq!(found, want);
    assert_eq!(merge.problems(), []);
}

#[test]
fn a_payload_may_depend_on_its_event_header() {
    let read = |header: &str, fields: &str, bytes: &[u8]| {
        let metadata = format!(
            "trace {{ major = 1; minor = 8; byte_order = le; }};
            typealias integer {{ size = 8; align = 8; }} := u8;
            stream {{ id = 0; event.header := struct {{ {header} }}; }};
            event {{ name = a; id = 1; stream_id = 0; fields := struct {{ {fields} }}; }};
            event {{ name = b; id = 2; stream_id = 0; fields := struct {{ {fields} }}; }};"
        );
        let streams = vec![(PathBuf::from("s"), bytes.to_vec())];
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
        let (found, problems) = notation::read(&trace);
        assert_eq!(problems, []);
        found.iter().map(|event| event.scopes[0].clone()).collect::<Vec<_>>()
    };
    let tagged = read(
        "enum : u8 { one = 1, two = 2 } id;",
        "variant <stream.event.header.id> { u8 one; string two; } v;",
        b"\x01A\x02text\0\x01B",
    );
    assert_eq!(tagged, ["{ v = { 65 } }", "{ v = { \"text\" } }", "{ v = { 66 } }"]);
    let counted = read(
        "u8 id; u8 count;",
        "u8 list[stream.event.header.count];",
        b"\x01\x02\x05\x06\x02\x00\x01\x01\x07",
    );
    assert_eq!(
        counted,
        ["{ list = [ [0] = 5, [1] = 6 ] }", "{ list = [ ] }", "{ list = [ [0] = 7 ] }"]
    );
}

#[test]
fn a_walker_steps_over_packet_content_like_the_cursor() {
    for seed in 0..60 {
        let spec = Spec { header: testkit::HeaderForm::Lull, ..Spec::random(seed) };
        let (bytes, written) = testkit::random_stream(&spec, 0, seed, 1);
        let streams = vec![(PathBuf::from("s"), bytes.clone())];
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
        let mut merge = trace.merge();
        let walker = Walker::new(trace.metadata(), StreamId(0)).unwrap();
        let mut offset = testkit::offset::EVENTS;
        let mut steps = 0;
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            // From the packet's start, so that every alignment is as in the file.
            let slot = walker.slot(&bytes, offset).unwrap();
            assert_eq!((slot.id, offset as u64), (event.id(), event.offset_bytes()), "seed {seed}");
            offset += slot.length_bytes;
            steps += 1;
        }
        assert_eq!(steps, written.len());
    }
}

#[test]
fn a_walker_refuses_what_is_not_an_event() {
    let spec = spec();
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), Vec::new()).unwrap();
    let walker = Walker::new(trace.metadata(), StreamId(0)).unwrap();
    let event = [1, 0, 0, 0, 7, 0, 0, 0];
    assert_eq!(walker.event_length(&event, 0), Ok(8));
    assert_eq!(walker.event_length(&event[..7], 0), Err(trace::Fault::Truncated));
    assert_eq!(walker.event_length(&event, 8), Err(trace::Fault::Truncated));
    assert_eq!(walker.event_length(&event, usize::MAX), Err(trace::Fault::Truncated));
    assert_eq!(walker.event_length(&[255; 8], 0), Err(trace::Fault::UnknownTag(255)));
    assert_eq!(walker.event_length(&[9; 8], 0), Err(trace::Fault::UnknownEvent(9)));
    assert!(Walker::new(trace.metadata(), StreamId(1)).is_none());
}
