// SPDX-License-Identifier: MIT
//! Losses of a part of a trace: of which processor, how many, and when, as the whole tells of them.
//!
//! Place in the flow: `lull trim` writes such traces; the reader takes losses from the numbers and
//! counters of packets, and their times from where packets end.

use std::fs::File;
use std::path::PathBuf;

use convert::{convert, Format, Options, Part, Take};
use testkit::{Datum, Kind, Order, Random, Spec, StreamWriter, TraceFolder};
use trace::{ByteOrder, Event, Merge, Message, Ns, RecordedThread, Span, Trace};

const OPTIONS: Options =
    Options { format: Format::Ctf1, order: ByteOrder::Little, for_trace_compass: false };

/// Streams of processors 1 to 3, in which packets and events are lost at random.
fn lossy(random: &mut Random) -> Trace {
    let number = || Kind::structure(vec![("n", Kind::u(64, Order::Little))]);
    let spec = Spec {
        frequency_hz: 1_000_000_000,
        ..Spec::lull(Order::Little, vec![(1, "kept", number()), (2, "other", number())])
    };
    let mut stream = |cpu: u32| {
        let mut writer = StreamWriter::new(&spec, cpu);
        let mut cycles = 1_000_000 + random.below(1000);
        for packet in 0..12 {
            if packet > 0 && random.one_in(3) {
                writer.skip_sequence(1 + random.below(4));
            }
            writer.begin_packet(cycles);
            for number in 0..random.below(6) {
                cycles += 1 + random.below(100);
                let id = if random.one_in(4) { 1 } else { 2 };
                writer.event(id, cycles, Datum::List(vec![Datum::Unsigned(number)]));
            }
            if random.one_in(3) {
                writer.lose([1 + random.below(9), random.below(3), 0, 0]);
            }
            cycles += random.below(50);
            writer.end_packet(cycles, 0);
            cycles += random.below(400);
        }
        (PathBuf::from(format!("s{cpu}")), writer.finish().0)
    };
    let streams = (1..=3).map(&mut stream).collect();
    Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
}

/// Each loss in a span, in an order that does not depend on that of the streams.
fn losses(trace: &Trace, span: &Span) -> Vec<String> {
    let mut merge = Merge::between(std::slice::from_ref(trace), span);
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        if let Message::Loss(message) = message {
            found.push(format!("{:?}", message.loss));
        }
    }
    assert_eq!(merge.problems(), Vec::new());
    assert_eq!(merge.beginnings().count(), 0);
    found.sort();
    found
}

fn part_of<'a>(trace: &Trace, part: &Part<'a>) -> (Trace, TraceFolder) {
    let folder = TraceFolder::new("", &[]).unwrap();
    let mut make = |name: &str| File::create_new(folder.path().join(name));
    let done = convert(trace, OPTIONS, part, &mut make, &mut |_| {}).unwrap();
    std::fs::write(folder.path().join("metadata"), &done.metadata).unwrap();
    (Trace::open(folder.path()).unwrap(), folder)
}

#[test]
fn part_tells_the_losses_of_its_time_as_the_whole_does() {
    let kept = |event: &Event<'_>, _: Option<&RecordedThread>| event.name() == "kept";
    let none = |_: &Event<'_>, _: Option<&RecordedThread>| false;
    let mut told = 0;
    for seed in 0..20 {
        let whole = lossy(&mut Random::new(seed));
        let (begin, end) = whole.bounds().unwrap();
        let at = |part: i64| Some(Ns(begin.0 + (end.0 - begin.0) * part / 8));
        for (from, until) in [(None, None), (at(3), None), (at(2), at(6)), (None, at(5))] {
            let span = Span { from, until };
            let wanted = losses(&whole, &span);
            told += wanted.len();
            for take in [None, Some(&kept as Take<'_>), Some(&none as Take<'_>)] {
                let (part, _folder) = part_of(&whole, &Part { span, take, ..Part::default() });
                assert_eq!(losses(&part, &Span::ALL), wanted, "seed {seed}, {span:?}");
            }
        }
    }
    assert!(told > 300, "{told}");
}
