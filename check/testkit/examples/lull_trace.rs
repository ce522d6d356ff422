// SPDX-License-Identifier: MIT
//! Writes a large trace in Lull's own format: `lull_trace FOLDER [MILLION_EVENTS] [STREAMS]`.
//!
//! Place in the flow: for timing readers; events are 16 to 40 bytes, with thread records as the
//! probes write them.

use std::path::PathBuf;

use testkit::{repeat_packet, Datum, Kind, Order, Spec, StreamWriter};

const PACKET_EVENTS: u64 = 10_000;
const PACKET_CYCLES: u64 = 1 << 27;

fn spec() -> Spec {
    let order = Order::native();
    let thread = Kind::structure(vec![
        ("pid", Kind::u(32, order)),
        ("tid", Kind::u(32, order)),
        ("name", Kind::CharArray(16)),
    ]);
    let pair =
        Kind::structure(vec![("count", Kind::u(32, order)), ("address", Kind::u(64, order))]);
    let request = Kind::structure(vec![
        ("id", Kind::u(64, order)),
        ("url", Kind::Text),
        ("status", Kind::u(32, order)),
    ]);
    let events =
        vec![(1, "lull:thread", thread), (8, "demo:pair", pair), (9, "http:request", request)];
    Spec::lull(order, events)
}

fn stream(spec: &Spec, cpu: u32, packets: u64) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, cpu);
    let begin = PACKET_CYCLES;
    let step = PACKET_CYCLES / PACKET_EVENTS;
    writer.begin_packet(begin);
    for i in 0..PACKET_EVENTS {
        let cycles = begin + i * step + u64::from(cpu) * step / 2;
        if i % 100 == 0 {
            let (tid, name) = (1000 + i / 100, format!("worker-{}", i / 100 % 7).into_bytes());
            let fields = [Datum::Unsigned(1000), Datum::Unsigned(tid), Datum::Text(name)];
            writer.event(1, cycles, Datum::List(fields.into()));
        } else if i % 4 == 0 {
            let url = Datum::Text(b"/index.html".to_vec());
            let fields = [Datum::Unsigned(i), url, Datum::Unsigned(200)];
            writer.event(9, cycles, Datum::List(fields.into()));
        } else {
            let fields = [Datum::Unsigned(i), Datum::Unsigned(0x7f00_0000_0000 + i * 64)];
            writer.event(8, cycles, Datum::List(fields.into()));
        }
    }
    writer.end_packet(begin + PACKET_CYCLES - 1, 0);
    repeat_packet(spec, &writer.finish().0, packets, PACKET_CYCLES)
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or("lull-trace".into()));
    let mut number = |default| arguments.next().and_then(|w| w.parse().ok()).unwrap_or(default);
    let (millions, streams): (u64, u64) = (number(20), number(2));
    let spec = spec();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), spec.metadata())?;
    for cpu in 0..streams {
        let packets = millions * 1_000_000 / PACKET_EVENTS / streams.max(1);
        let bytes = stream(&spec, cpu as u32, packets.max(1));
        std::fs::write(folder.join(format!("stream_{cpu}")), bytes)?;
    }
    Ok(())
}
