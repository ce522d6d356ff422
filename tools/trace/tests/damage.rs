// SPDX-License-Identifier: MIT
//! Damaged traces: every cut and every wrong byte, one at a time.
//!
//! Place in the flow: holds the reader to its promise that a wrong byte costs at most the packet it
//! is in, and that a cut costs nothing before it.

use std::path::PathBuf;

use testkit::{offset, Datum, HeaderForm, Kind, Order, Spec, StreamWriter, Written};
use trace::{Fault, Merge, Message, Metadata, Ns, Problem, ProblemKind, Span, Trace};

mod notation;

const PACKETS: usize = 4;

/// A stream with a few events of fixed and of varying size in each of its packets.
fn sample(order: Order) -> (Spec, Vec<u8>, Vec<Written>, Vec<usize>) {
    let list = Kind::Sequence {
        element: Box::new(Kind::u(16, order)),
        length: testkit::Int::bytes(8, order),
    };
    let events = vec![
        (1, "fixed", Kind::structure(vec![("a", Kind::u(32, order)), ("b", Kind::u(8, order))])),
        (9, "text", Kind::structure(vec![("s", Kind::Text), ("list", list)])),
    ];
    let spec = Spec::lull(order, events);
    let mut writer = StreamWriter::new(&spec, 3);
    let mut cycles = 5_000_000_000;
    for packet in 0..PACKETS as u64 {
        writer.begin_packet(cycles);
        for i in 0..4 {
            cycles += 1000 * (i + 1);
            if i % 2 == 0 {
                let fields = [Datum::Unsigned(packet * 10 + i), Datum::Unsigned(7)];
                writer.event(1, cycles, Datum::List(fields.into()));
            } else {
                let text = Datum::Text(format!("packet {packet}").into_bytes());
                let list = Datum::List(vec![Datum::Unsigned(i), Datum::Unsigned(99)]);
                writer.event(9, cycles, Datum::List(vec![text, list]));
            }
        }
        cycles += 10;
        writer.end_packet(cycles, 24);
    }
    let packets = writer.packets.clone();
    let (bytes, written) = writer.finish();
    (spec, bytes, written, packets)
}

fn read(metadata: &str, bytes: Vec<u8>) -> (Vec<Written>, Vec<Problem>) {
    let streams = vec![(PathBuf::from("stream"), bytes)];
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the metadata is intact");
    notation::read(&trace)
}

fn faults(problems: &[Problem]) -> Vec<Fault> {
    let fault = |problem: &Problem| match problem.what {
        ProblemKind::Fault(fault) => Some(fault),
        _ => None,
    };
    problems.iter().filter_map(fault).collect()
}

#[test]
fn a_cut_anywhere_keeps_every_event_before_it_and_is_reported() {
    for order in [Order::Little, Order::Big] {
        let (spec, bytes, written, packets) = sample(order);
        let metadata = spec.metadata();
        let mut most = 0;
        for length in 1..bytes.len() {
            let (found, problems) = read(&metadata, bytes[..length].to_vec());
            assert_eq!(found, written[..found.len()], "cut at {length}");
            assert!(found.len() >= most, "a longer file has more events");
            most = found.len();
            let is_whole = packets.contains(&length);
            assert_eq!(problems.is_empty(), is_whole, "cut at {length}: {problems:?}");
            let whole_packets = packets.iter().filter(|start| **start <= length).count() - 1;
            assert!(found.len() >= whole_packets * 4, "cut at {length}");
        }
        assert_eq!(most, written.len(), "the last cut is in padding");
    }
}

#[test]
fn a_cut_is_told_by_the_bytes_that_are_missing() {
    let (spec, bytes, written, _) = sample(Order::Little);
    for missing in 1..=24 {
        let (found, problems) = read(&spec.metadata(), bytes[..bytes.len() - missing].to_vec());
        assert_eq!(found, written, "the last packet ends with 24 bytes of nothing");
        assert_eq!(faults(&problems), [Fault::FileTruncated { missing_bytes: missing as u64 }]);
    }
}

#[test]
fn a_wrong_byte_anywhere_costs_at_most_its_own_packet() {
    for order in [Order::Little, Order::Big] {
        let (spec, bytes, written, packets) = sample(order);
        let metadata = spec.metadata();
        for at in 0..bytes.len() {
            let start = *packets.iter().rev().find(|start| **start <= at).unwrap();
            let is_elsewhere = |event: &&Written| event.packet_bytes != start as u64;
            let want: Vec<&Written> = written.iter().filter(is_elsewhere).collect();
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                let (found, problems) = read(&metadata, bytes);
                let mut kept: Vec<&Written> = found.iter().filter(is_elsewhere).collect();
                // A wrong time moves the packet's events, not the others' order.
                kept.sort_by_key(|event| event.packet_bytes);
                assert_eq!(kept, want, "byte {at} ^ {flip:#x}: {problems:?}");
            }
        }
    }
}

#[test]
fn a_wrong_packet_size_costs_nothing_and_is_reported() {
    let (spec, bytes, written, packets) = sample(Order::Little);
    for at in packets {
        for byte in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at + offset::PACKET_SIZE + byte] ^= 0x41;
            let (found, problems) = read(&spec.metadata(), bytes);
            assert_eq!(found, written, "packet at {at}, byte {byte}");
            assert_eq!(problems.len(), 1, "{problems:?}");
        }
    }
}

#[test]
fn an_event_that_reaches_past_the_content_by_one_byte_is_not_read() {
    for order in [Order::Little, Order::Big] {
        let event = Kind::structure(vec![("a", Kind::u(32, order))]);
        let spec = Spec::lull(order, vec![(1, "e", event)]);
        let mut writer = StreamWriter::new(&spec, 0);
        writer.begin_packet(0);
        writer.event(1, 5, Datum::List(vec![Datum::Unsigned(1)]));
        writer.event(1, 6, Datum::List(vec![Datum::Unsigned(2)]));
        writer.end_packet(9, 64);
        let (mut bytes, written) = writer.finish();
        let content_bits = (offset::EVENTS as u64 + 15) * 8;
        let size = testkit::encoded(content_bits, 64, order);
        bytes[offset::CONTENT_SIZE..offset::CONTENT_SIZE + 8].copy_from_slice(&size);
        let (found, problems) = read(&spec.metadata(), bytes);
        assert_eq!(found, written[..1]);
        assert_eq!(faults(&problems), [Fault::Truncated]);
    }
}

#[test]
fn first_packet_of_another_trace_is_refused_by_its_name() {
    let (spec, bytes, written, packets) = sample(Order::Little);
    for (at, fault) in
        [(offset::UUID + 15, Fault::WrongUuid), (offset::MAGIC, Fault::WrongMagic(0xc1fc_1fc0))]
    {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let (found, problems) = read(&spec.metadata(), bytes);
        let is_later = |event: &&Written| event.packet_bytes >= packets[1] as u64;
        assert!(found.iter().eq(written.iter().filter(is_later)), "{problems:?}");
        assert_eq!(faults(&problems)[0], fault);
    }
}

#[test]
fn sequence_of_nothing_costs_no_more_than_its_packet_however_long_it_says_it_is() {
    let metadata = "trace { major = 1; minor = 8; byte_order = le; };
        typealias integer { size = 8; align = 8; } := u8;
        typealias integer { size = 64; align = 8; } := u64;
        stream { id = 0; };
        event { name = e; id = 0; stream_id = 0; fields := struct { u64 n; enum : u8 { A, B } t;
            variant <t> { struct { } A; u8 B; } list[n]; }; };";
    for (tag, fault) in [(0, Fault::SequenceTooLong(1)), (1, Fault::Truncated)] {
        let (found, problems) = read(metadata, [[0xff; 8].as_slice(), &[tag]].concat());
        assert!(found.is_empty());
        assert_eq!(faults(&problems), [fault]);
    }
}

#[test]
fn each_kind_of_damage_is_named_and_located() {
    let (spec, bytes, _, packets) = sample(Order::Little);
    let at = packets[1];
    let faults_with = |offset: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at + offset..at + offset + value.len()].copy_from_slice(value);
        let (_, problems) = read(&spec.metadata(), bytes);
        let is_there = |p: &Problem| p.offset_bytes >= packets[0] as u64 && p.packet.is_some();
        assert!(problems.iter().all(is_there), "{problems:?}");
        faults(&problems)
    };
    let magic = faults_with(offset::MAGIC, &[0; 4]);
    assert!(matches!(magic[0], Fault::Resynchronized { .. }), "{magic:?}");
    let uuid = faults_with(offset::UUID, &[0; 16]);
    assert!(matches!(uuid[0], Fault::Resynchronized { .. }), "{uuid:?}");
    assert_eq!(faults_with(offset::STREAM_ID, &[9]), [Fault::UnknownStream(9)]);
    let content = faults_with(offset::CONTENT_SIZE, &8u64.to_le_bytes());
    assert_eq!(content[0], Fault::ContentTooSmall { content_bits: 8, header_bits: 896 });
    let event = faults_with(offset::EVENTS, &[77]);
    assert_eq!(event, [Fault::UnknownEvent(77)]);
    let begin = faults_with(offset::TIMESTAMP_BEGIN, &0u64.to_le_bytes());
    assert!(matches!(begin[0], Fault::TimeBackwards { .. }), "{begin:?}");
    let end = faults_with(offset::TIMESTAMP_END, &1u64.to_le_bytes());
    assert!(end.iter().any(|f| matches!(f, Fault::PastPacketEnd { end: 1, .. })), "{end:?}");
    let sequence = faults_with(offset::SEQUENCE, &0u64.to_le_bytes());
    assert_eq!(sequence, [Fault::CounterBackwards { previous: 0, found: 0 }]);
    let lost = faults_with(offset::DISCARDED, &(1u64 << 63 | 1).to_le_bytes());
    assert!(matches!(lost[0], Fault::CounterBackwards { .. }), "{lost:?}");
}

/// Two packets, in the first of which the clock goes back twice.
fn going_back(header: HeaderForm, payload: &Kind, fields: &Datum) -> (Spec, Vec<u8>, Vec<Written>) {
    let spec = Spec::lull(Order::Little, vec![(1, "e", payload.clone())]);
    let spec = Spec { header, frequency_hz: 1_000_000_000, ..spec };
    let mut writer = StreamWriter::new(&spec, 0);
    for times in [&[1000, 2000, 5000, 3000, 4000, 9000, 100, 9500][..], &[9700, 9700, 9800]] {
        writer.begin_packet(times[0]);
        times.iter().for_each(|cycles| writer.event(1, *cycles, fields.clone()));
        writer.end_packet(times[times.len() - 1], 0);
    }
    let (bytes, written) = writer.finish();
    (spec, bytes, written)
}

#[test]
fn a_clock_that_goes_back_within_a_packet_costs_its_rest_whatever_is_selected() {
    let number = Kind::structure(vec![("a", Kind::u(32, Order::Little))]);
    let text = Kind::structure(vec![("s", Kind::Text)]);
    let numbers = Datum::List(vec![Datum::Unsigned(7)]);
    let texts = Datum::List(vec![Datum::Text(b"x".to_vec())]);
    for header in [HeaderForm::Plain, HeaderForm::Lull] {
        for (payload, fields) in [(&number, &numbers), (&text, &texts)] {
            let (spec, bytes, written) = going_back(header, payload, fields);
            let (found, problems) = read(&spec.metadata(), bytes.clone());
            assert_eq!(found, [&written[..3], &written[8..]].concat(), "{header:?}");
            assert_eq!(faults(&problems), [Fault::TimeBackwards { previous: 5000, found: 3000 }]);
            assert!(problems[0].packet == Some(0) && problems[0].lost_bytes >= 5 * 8);
            let streams = vec![(PathBuf::from("stream"), bytes)];
            let traces = [Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()];
            let times = |span: &Span| {
                let (mut merge, mut times) = (Merge::between(&traces, span), Vec::new());
                while let Some(message) = merge.next() {
                    match message {
                        Message::Event(event) if event.is_before_span() => {}
                        Message::Event(event) => times.push(event.time_ns().0),
                        Message::Loss(_) => panic!("nothing was lost"),
                    }
                }
                times
            };
            let all = times(&Span::ALL);
            let origin = all[0] - 1000;
            for from in (500..10_000).step_by(500) {
                let until = origin + from + 2000;
                let span = Span { from: Some(Ns(origin + from)), until: Some(Ns(until)) };
                let mut wanted = all.clone();
                wanted.retain(|at| (origin + from..until).contains(at));
                assert_eq!(times(&span), wanted, "{header:?}, from {from}");
            }
        }
    }
}

#[test]
fn rubbish_between_packets_is_skipped_and_reported() {
    let (spec, bytes, written, packets) = sample(Order::Big);
    let mut damaged = bytes[..packets[2]].to_vec();
    damaged.extend([0xee; 64]);
    damaged.extend(&bytes[packets[2]..]);
    let (found, problems) = read(&spec.metadata(), damaged);
    let moved = |event: &Written| match event.packet_bytes as usize >= packets[2] {
        true => Written { packet_bytes: event.packet_bytes + 64, ..event.clone() },
        false => event.clone(),
    };
    assert_eq!(found, written.iter().map(moved).collect::<Vec<_>>());
    assert_eq!(faults(&problems), [Fault::Resynchronized { skipped_bytes: 64 }]);
}

#[test]
fn a_file_of_zeros_or_of_rubbish_is_reported_and_ends() {
    let (spec, ..) = sample(Order::Little);
    for byte in [0, 0xff, 0xc1] {
        let (found, problems) = read(&spec.metadata(), vec![byte; 10_000]);
        assert_eq!((found.len(), problems.len()), (0, 1), "{problems:?}");
    }
}

#[test]
fn metadata_cut_or_wrong_anywhere_never_panics() {
    let (spec, bytes, ..) = sample(Order::Little);
    let metadata = spec.metadata().into_bytes();
    let try_reading = |metadata: &[u8]| {
        let streams = vec![(PathBuf::from("stream"), bytes.clone())];
        if let Ok(trace) = Trace::from_bytes(metadata, streams) {
            notation::read(&trace);
        }
    };
    for length in 0..metadata.len() {
        try_reading(&metadata[..length]);
        let text = String::from_utf8_lossy(&metadata[..length]);
        // A block is whole with its brace, a declaration with its semicolon.
        let ends_block = text.ends_with('}') && metadata[length..].starts_with(b";");
        let ends_between = text.matches('{').count() == text.matches('}').count()
            && (text.trim_end().ends_with(';') || ends_block);
        assert_eq!(Metadata::parse(&text).is_ok(), ends_between, "cut at {length}");
    }
    for at in 0..metadata.len() {
        for flip in [0x01, 0x04, 0x80] {
            let mut metadata = metadata.clone();
            metadata[at] ^= flip;
            try_reading(&metadata);
        }
    }
}

#[test]
fn cut_metadata_still_reads_the_events_described_before_the_cut() {
    let (spec, bytes, written, _) = sample(Order::Little);
    let metadata = spec.metadata();
    let cut = metadata.rfind("event {").unwrap() + 20;
    let streams = vec![(PathBuf::from("stream"), bytes)];
    let trace = Trace::from_bytes(&metadata.as_bytes()[..cut], streams).unwrap();
    assert!(matches!(trace.problems()[0].what, ProblemKind::Metadata { .. }));
    let (found, problems) = notation::read(&trace);
    assert_eq!(found.len(), PACKETS, "the first event of each packet precedes an unknown one");
    assert!(found.iter().all(|event| written.contains(event)));
    assert_eq!(faults(&problems), [Fault::UnknownEvent(9); PACKETS]);
}
