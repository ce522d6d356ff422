// SPDX-License-Identifier: MIT
//! How fast events are found and their fields read: `cargo bench -p trace -- [MILLION_EVENTS]`.
//!
//! Place in the flow: the figures behind the reader's targets (60 M events/s when only counting).
//! A packet of Lull's format is repeated with later timestamps. Rates are per second of CPU time,
//! so that other work on the machine disturbs them less; medians of five runs are printed.

use std::path::PathBuf;

use testkit::{repeat_packet, Datum, HeaderForm, Kind, Order, Spec, StreamWriter};
use trace::{Integer, Message, Name, Trace, Visitor};

const PACKET_EVENTS: u64 = 20_000;
/// Time between packets; a multiple of what any compact header keeps.
const PACKET_CYCLES: u64 = 1 << 27;
const RUNS: usize = 5;

/// A stream file of `packets` packets with events of 16 bytes: header, 4-byte and 8-byte field.
fn stream(spec: &Spec, cpu: u32, packets: u64) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, cpu);
    let begin = PACKET_CYCLES;
    writer.begin_packet(begin);
    for i in 0..PACKET_EVENTS {
        let cycles = begin + i * (PACKET_CYCLES / PACKET_EVENTS) + u64::from(cpu) * 300;
        let fields = vec![Datum::Unsigned(i), Datum::Unsigned(i << 20)];
        writer.event(1 + i % 3, cycles, Datum::List(fields));
    }
    writer.end_packet(begin + PACKET_CYCLES - 1, 0);
    repeat_packet(spec, &writer.finish().0, packets, PACKET_CYCLES)
}

#[derive(Default)]
struct Sum(u64);

impl Visitor for Sum {
    fn unsigned(&mut self, _: Name<'_>, value: u64, _: &Integer) {
        self.0 = self.0.wrapping_add(value);
    }
}

/// CPU time of this process so far.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux has schedstat");
    text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("its first word")
}

/// Runs `work` a few times and prints the median rate.
fn measure(name: &str, trace: &Trace, work: impl Fn(&Trace) -> u64) {
    let mut rates = Vec::new();
    let mut events = 0;
    for _ in 0..RUNS {
        let begin_ns = cpu_ns();
        events = work(trace);
        rates.push(events as f64 * 1e3 / (cpu_ns() - begin_ns) as f64);
    }
    rates.sort_by(f64::total_cmp);
    let (least, median, most) = (rates[0], rates[RUNS / 2], rates[RUNS - 1]);
    println!("{name:<34} {median:7.1} M events/s ({least:.1} to {most:.1}), {events} events");
}

fn count(trace: &Trace) -> u64 {
    let mut merge = trace.merge();
    let mut events = 0;
    while let Some(message) = merge.next() {
        events += u64::from(matches!(message, Message::Event(_)));
    }
    events
}

fn times(trace: &Trace) -> u64 {
    let mut merge = trace.merge();
    let (mut events, mut last) = (0, 0);
    while let Some(message) = merge.next() {
        if let Message::Event(event) = message {
            events += 1;
            last = event.time_ns().0.max(last);
        }
    }
    std::hint::black_box(last);
    events
}

fn fields(trace: &Trace) -> u64 {
    let mut merge = trace.merge();
    let (mut events, mut sum) = (0, Sum::default());
    while let Some(message) = merge.next() {
        if let Message::Event(event) = message {
            events += 1;
            event.fields(&mut sum).expect("the trace is intact");
        }
    }
    std::hint::black_box(sum.0);
    events
}

fn main() {
    let millions = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(20);
    let payload = || {
        let order = Order::Little;
        Kind::structure(vec![("a", Kind::u(32, order)), ("b", Kind::u(64, order))])
    };
    let names = ["demo:first", "demo:second", "demo:third"];
    let events = |first| (0..3).map(|i| (first + i as u64, names[i], payload())).collect();
    for streams in [1, 2, 8] {
        let spec = Spec::lull(Order::Little, events(1));
        let packets = (millions * 1_000_000 / PACKET_EVENTS / streams).max(1);
        let files = (0..streams).map(|cpu| {
            (PathBuf::from(format!("stream_{cpu}")), stream(&spec, cpu as u32, packets))
        });
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), files.collect())
            .expect("the trace is well formed");
        println!("{streams} streams, Lull's header:");
        measure("  count", &trace, count);
        measure("  count and time in ns", &trace, times);
        measure("  count and all fields", &trace, fields);
    }
    for header in [HeaderForm::Compact, HeaderForm::Large, HeaderForm::Plain] {
        let spec = Spec { header, ..Spec::lull(Order::Little, events(1)) };
        let packets = millions * 1_000_000 / PACKET_EVENTS;
        let files = vec![(PathBuf::from("stream"), stream(&spec, 0, packets.max(1)))];
        let trace =
            Trace::from_bytes(spec.metadata().as_bytes(), files).expect("the trace is well formed");
        measure(&format!("1 stream, {header:?} header: count"), &trace, count);
    }
}
