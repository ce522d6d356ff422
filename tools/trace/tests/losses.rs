// SPDX-License-Identifier: MIT
//! Lost events and packets: counted exactly, by cause, and told where they happened.
//!
//! Place in the flow: the reader's share of "no silent loss".

use std::path::PathBuf;

use testkit::{offset, Datum, HeaderForm, Kind, Order, Spec, StreamWriter};
use trace::{LossKind, Message, Ns, Trace};

fn spec() -> Spec {
    let order = Order::Little;
    Spec::lull(order, vec![(1, "e", Kind::structure(vec![("a", Kind::u(32, order))]))])
}

/// Packets of one event each, at cycles 1000, 2000, ... with the given losses.
fn stream(spec: &Spec, cpu: u32, losses: &[[u64; 4]], gaps: &[u64]) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, cpu);
    for (i, losses) in losses.iter().enumerate() {
        let begin = 1000 * (i as u64 + 1);
        writer.begin_packet(begin);
        writer.lose(*losses);
        writer.skip_sequence(gaps.get(i).copied().unwrap_or(0));
        writer.event(1, begin + 10 + u64::from(cpu), Datum::List(vec![Datum::Unsigned(1)]));
        writer.end_packet(begin + 500, 0);
    }
    writer.finish().0
}

/// One line a message: `e CYCLES` or `lost KIND COUNT CAUSES BEGIN..UNTIL`.
fn messages(spec: &Spec, streams: Vec<Vec<u8>>) -> Vec<String> {
    let named = |(i, bytes)| (PathBuf::from(format!("stream_{i}")), bytes);
    let streams = streams.into_iter().enumerate().map(named).collect();
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
    let mut merge = trace.merge();
    let mut lines = Vec::new();
    while let Some(message) = merge.next() {
        lines.push(match message {
            Message::Event(event) => format!("e {}", event.cycles()),
            Message::Loss(message) => {
                let loss = message.loss;
                let kind = match loss.kind {
                    LossKind::Events => "events",
                    LossKind::Packets => "packets",
                };
                let causes: Vec<String> =
                    loss.causes.iter().map(|(cause, count)| format!("{cause}={count}")).collect();
                let at =
                    |cycles: Option<trace::Cycles>| cycles.map_or("?".into(), |c| c.to_string());
                let (begin, until) = (at(loss.begin), at(loss.until));
                format!("lost {kind} {} {} {begin}..{until}", loss.count, causes.join(" "))
            }
        });
    }
    assert_eq!(merge.problems(), []);
    lines
}

#[test]
fn losses_are_the_difference_between_packets_and_come_before_their_packet() {
    let spec = spec();
    let bytes = stream(&spec, 0, &[[0; 4], [3, 0, 0, 2], [0; 4], [0, 1, 1, 0]], &[]);
    let want = [
        "e 1010",
        "lost events 5 full=3 in_flight=2 1500..2500",
        "e 2010",
        "e 3010",
        "lost events 2 overflow=1 too_big=1 3500..4500",
        "e 4010",
    ];
    assert_eq!(messages(&spec, vec![bytes]), want);
}

#[test]
fn losses_before_the_first_packet_have_no_beginning() {
    let spec = spec();
    let bytes = stream(&spec, 0, &[[7, 0, 0, 0]], &[]);
    assert_eq!(messages(&spec, vec![bytes]), ["lost events 7 full=7 ?..1500", "e 1010"]);
}

#[test]
fn gaps_in_packet_numbers_are_lost_packets() {
    let spec = spec();
    let bytes = stream(&spec, 0, &[[0; 4]; 3], &[5, 0, 2]);
    let want = ["e 1010", "e 2010", "lost packets 2  2500..3000", "e 3010"];
    assert_eq!(messages(&spec, vec![bytes]), want);
}

#[test]
fn lost_packets_and_lost_events_both_come_before_the_packet_that_tells_of_them() {
    let spec = Spec { header: HeaderForm::Compact, ..spec() };
    let bytes = stream(&spec, 0, &[[0; 4], [3, 0, 0, 0]], &[0, 4]);
    let want =
        ["e 1010", "lost packets 4  1500..2000", "lost events 3 full=3 1500..2500", "e 2010"];
    assert_eq!(messages(&spec, vec![bytes]), want);
}

#[test]
fn losses_of_one_stream_stand_among_the_events_of_the_others() {
    let spec = spec();
    let quiet = stream(&spec, 0, &[[0; 4]; 3], &[]);
    let lossy = stream(&spec, 1, &[[0; 4], [1, 0, 0, 0], [0; 4]], &[]);
    let want = [
        "e 1010",
        "e 1011",
        "lost events 1 full=1 1500..2500",
        "e 2010",
        "e 2011",
        "e 3010",
        "e 3011",
    ];
    assert_eq!(messages(&spec, vec![quiet, lossy]), want);
}

#[test]
fn losses_convert_to_nanoseconds_like_events() {
    let spec = spec();
    let bytes = stream(&spec, 0, &[[0; 4], [1, 0, 0, 0]], &[]);
    let streams = vec![(PathBuf::from("stream"), bytes)];
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
    let clock = trace.clocks()[0].clone();
    let mut merge = trace.merge();
    let mut seen = false;
    while let Some(message) = merge.next() {
        if let Message::Loss(loss) = message {
            seen = true;
            assert_eq!(loss.begin_ns(), Some(clock.ns(trace::Cycles(1500))));
            assert_eq!(loss.until_ns(), Some(clock.ns(trace::Cycles(2500))));
            assert!(loss.begin_ns() > Some(Ns(1_700_000_000_000_000_000)));
        }
    }
    assert!(seen);
}

#[test]
fn counters_narrower_than_64_bits_wrap_without_a_false_alarm() {
    let spec = spec();
    let mut bytes = stream(&spec, 0, &[[0; 4]; 2], &[]);
    let second = bytes.len() / 2;
    bytes[offset::DISCARDED] = 0xfe;
    bytes[second + offset::DISCARDED] = 0x01;
    // Eight bits of counter, the rest of the word unused.
    let narrow = "integer { size = 8; align = 8; } events_discarded;
        integer { size = 56; align = 8; } unused;";
    let metadata = spec.metadata().replace("word events_discarded;", narrow);
    assert_ne!(metadata, spec.metadata());
    let streams = vec![(PathBuf::from("stream"), bytes)];
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
    let mut merge = trace.merge();
    let mut counts = Vec::new();
    while let Some(message) = merge.next() {
        if let Message::Loss(message) = message {
            counts.push(message.loss.count);
        }
    }
    assert_eq!(merge.problems(), []);
    assert_eq!(counts, [254, 3]);
}
