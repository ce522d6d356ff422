// SPDX-License-Identifier: MIT
//! How fast a report is made: `cargo bench -p analysis -- [MILLION_EVENTS]`.
//!
//! Place in the flow: the figures behind the target of 10 M events/s for the default report. A
//! packet of Lull's format is repeated with later timestamps; medians of five runs are printed.

use std::path::PathBuf;
use std::time::Instant;

use analysis::{analyse, By, Options};
use testkit::{offset, Datum, Int, Kind, Order, Spec, StreamWriter};
use trace::Trace;

const PACKET_EVENTS: u64 = 20_000;
const PACKET_CYCLES: u64 = 1 << 24;
const RUNS: usize = 5;
/// Events between two changes of thread.
const THREAD_EVENTS: u64 = 50;
const THREADS: u64 = 16;

const ORDER: Order = Order::Little;

fn signed(size_bits: u32) -> Kind {
    Kind::Int(Int { signed: true, ..Int::bytes(size_bits, ORDER) })
}

fn spec() -> Spec {
    let identity = vec![
        ("pid", Kind::u(32, ORDER)),
        ("tid", Kind::u(32, ORDER)),
        ("name", Kind::CharArray(16)),
    ];
    let words = || Kind::structure(vec![("a", Kind::u(32, ORDER)), ("b", Kind::u(64, ORDER))]);
    let address = || Kind::structure(vec![("mutex", Kind::u(64, ORDER))]);
    let entry = Kind::structure(vec![("fd", signed(32)), ("count", Kind::u(64, ORDER))]);
    let exit = Kind::structure(vec![("result", signed(64)), ("error", signed(32))]);
    let events = vec![
        (1, "lull:thread", Kind::structure(identity)),
        (8, "demo:first", words()),
        (9, "demo:second", words()),
        (10, "demo:job_entry", words()),
        (11, "demo:job_exit", words()),
        (12, "io:read_entry", entry),
        (13, "io:read_exit", exit),
        (14, "mutex:wait_entry", address()),
        (15, "mutex:wait_exit", address()),
    ];
    Spec::lull(ORDER, events)
}

fn payload(id: u64, i: u64) -> Datum {
    Datum::List(match id {
        12 => vec![Datum::Signed(3 + (i % 8) as i64), Datum::Unsigned(4096)],
        13 => vec![Datum::Signed(4096), Datum::Signed(0)],
        14 | 15 => vec![Datum::Unsigned(0x7f00_0000 + i % 64 / 2)],
        _ => vec![Datum::Unsigned(i), Datum::Unsigned(i << 20)],
    })
}

/// One processor's stream: events of the given ids in turn.
fn stream(spec: &Spec, cpu: u32, ids: &[u64], packets: u64) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, cpu);
    let begin = PACKET_CYCLES;
    writer.begin_packet(begin);
    for i in 0..PACKET_EVENTS {
        let cycles = begin + i * (PACKET_CYCLES / PACKET_EVENTS) + u64::from(cpu) * 300;
        if i % THREAD_EVENTS == 0 {
            let tid = 100 + u64::from(cpu) * THREADS + i / THREAD_EVENTS % THREADS;
            let name = Datum::Text(format!("thread-{tid}").into_bytes());
            let fields = vec![Datum::Unsigned(100), Datum::Unsigned(tid), name];
            writer.event(1, cycles, Datum::List(fields));
        }
        let id = ids[i as usize % ids.len()];
        writer.event(id, cycles, payload(id, i));
    }
    writer.end_packet(begin + PACKET_CYCLES - 1, 0);
    let (packet, _) = writer.finish();
    let mut bytes = Vec::with_capacity(packet.len() * packets as usize);
    for number in 0..packets {
        let at = bytes.len();
        bytes.extend_from_slice(&packet);
        let mut put = |field: usize, value: u64| {
            bytes[at + field..at + field + 8].copy_from_slice(&value.to_le_bytes());
        };
        put(offset::TIMESTAMP_BEGIN, begin + number * PACKET_CYCLES);
        put(offset::TIMESTAMP_END, begin + (number + 1) * PACKET_CYCLES - 1);
        put(offset::SEQUENCE, number);
    }
    bytes
}

fn measure(name: &str, traces: &[Trace], by: Option<By>) {
    let mut rates = Vec::new();
    let mut events = 0;
    for _ in 0..RUNS {
        let begin = Instant::now();
        let report = analyse(traces, &Options { by, ..Options::default() }, |_| {});
        events = report.events;
        rates.push(events as f64 / begin.elapsed().as_secs_f64() / 1e6);
    }
    rates.sort_by(f64::total_cmp);
    let (least, median, most) = (rates[0], rates[RUNS / 2], rates[RUNS - 1]);
    println!("{name:<40} {median:7.1} M events/s ({least:.1} to {most:.1}), {events} events");
}

fn main() {
    let millions = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(20);
    let spec = spec();
    for (name, ids, streams) in [
        ("single events, 1 stream", &[8, 9][..], 1),
        ("single events, 8 streams", &[8, 9], 8),
        ("entries and exits", &[10, 11], 2),
        ("reads of descriptors", &[12, 13], 2),
        ("waits for mutexes", &[14, 15], 2),
        ("all of these", &[8, 9, 10, 12, 13, 14, 15, 11], 2),
    ] {
        let packets = (millions * 1_000_000 / PACKET_EVENTS / streams).max(1);
        let files = (0..streams).map(|cpu| {
            (PathBuf::from(format!("stream_{cpu}")), stream(&spec, cpu as u32, ids, packets))
        });
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), files.collect())
            .expect("the trace is well formed");
        let traces = [trace];
        measure(name, &traces, None);
        if ids.len() > 2 {
            measure(&format!("{name}, --by thread"), &traces, Some(By::Thread));
        }
    }
}
