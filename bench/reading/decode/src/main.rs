// SPDX-License-Identifier: MIT
//! Decodes a trace in time order and prints how many events it holds: `bench-decode MODE TRACE`.
//!
//! MODE `count` finds each event and its time; `fields` also reads every field of it, which is
//! what babeltrace2 does before its counter sees an event. Traces below TRACE are merged. Every
//! processor that the process may run on decodes.
//!
//! `bench-decode make STREAMS EVENTS TRACE` writes a trace of Lull's format with so many events in
//! all, evenly in all streams, so that nearly every event is of another stream than the one before.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use testkit::{repeat_packet, Datum, Kind, Order, Spec, StreamWriter};
use trace::{find_traces, in_slices, processors};
use trace::{Error, Integer, Merge, Message, Name, Span, Trace, Visitor};

/// Events of one packet, where a stream has so many.
const PACKET_EVENTS: u64 = 20_000;
/// Time between packets: what an event's header has of the clock comes round in it.
const PACKET_CYCLES: u64 = 1 << 27;

/// Uses every value, so that reading it cannot be optimised away.
#[derive(Default)]
struct Sum(u64);

impl Visitor for Sum {
    fn unsigned(&mut self, _: Name<'_>, value: u64, _: &Integer) {
        self.0 = self.0.wrapping_add(value);
    }

    fn signed(&mut self, _: Name<'_>, value: i64, _: &Integer) {
        self.0 = self.0.wrapping_add(value as u64);
    }

    fn text(&mut self, _: Name<'_>, bytes: &[u8]) {
        self.0 = self.0.wrapping_add(bytes.len() as u64);
    }
}

/// Events found and events that could not be read.
fn decode(merge: &mut Merge<'_>, with_fields: bool) -> (u64, u64) {
    let (mut events, mut unread, mut sum) = (0, 0, Sum::default());
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        if event.is_before_span() {
            continue;
        }
        events += 1;
        black_box(event.time_ns());
        if with_fields {
            unread += u64::from(event.fields(&mut sum).is_err());
        }
    }
    black_box(sum.0);
    (events, unread)
}

fn decode_all(folder: &str, with_fields: bool) -> Result<(u64, u64), Error> {
    let paths = find_traces(folder)?;
    let traces = paths.iter().map(Trace::open).collect::<Result<Vec<_>, _>>()?;
    let work = |merge: &mut Merge<'_>| decode(merge, with_fields);
    let (mut events, mut unread) = (0, 0);
    let mut rest = in_slices(&traces, &Span::ALL, processors(), work, |part| {
        (events, unread) = (events + part.0, unread + part.1);
        ControlFlow::Continue(())
    });
    let last = decode(&mut rest, with_fields);
    Ok((events + last.0, unread + last.1))
}

/// Writes a trace; every stream has packets at the same times, with events between one another's.
fn make(streams: u64, events: u64, folder: &Path) -> std::io::Result<u64> {
    let order = Order::Little;
    let payload = Kind::structure(vec![("a", Kind::u(32, order)), ("b", Kind::u(64, order))]);
    let spec = Spec::lull(order, vec![(1, "bench:event", payload)]);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("metadata"), spec.metadata())?;
    let each = (events / streams).max(1);
    let packet_events = each.min(PACKET_EVENTS);
    let step = PACKET_CYCLES / packet_events;
    for stream in 0..streams {
        let mut writer = StreamWriter::new(&spec, stream as u32);
        writer.begin_packet(PACKET_CYCLES);
        for event in 0..packet_events {
            let cycles = PACKET_CYCLES + event * step + stream * step / streams;
            let fields = vec![Datum::Unsigned(event), Datum::Unsigned(event)];
            writer.event(1, cycles, Datum::List(fields));
        }
        writer.end_packet(2 * PACKET_CYCLES - 1, 0);
        let (mut packet, _) = writer.finish();
        let mut file = BufWriter::new(File::create(folder.join(format!("stream_{stream}")))?);
        for _ in 0..each / packet_events {
            file.write_all(&packet)?;
            packet = repeat_packet(&spec, &packet, 2, PACKET_CYCLES).split_off(packet.len());
        }
        file.flush()?;
    }
    Ok(each / packet_events * packet_events * streams)
}

fn run(words: &[&str]) -> Result<u64, String> {
    match words {
        [mode @ ("count" | "fields"), folder] => {
            let (events, unread) =
                decode_all(folder, *mode == "fields").map_err(|error| error.to_string())?;
            match unread {
                0 => Ok(events),
                unread => Err(format!("{folder}: {unread} events could not be read")),
            }
        }
        ["make", streams, events, folder] => {
            let number = |word: &str| word.parse().map_err(|_| format!("{word} is no number"));
            make(number(streams)?, number(events)?, Path::new(folder))
                .map_err(|error| format!("{folder}: {error}"))
        }
        _ => Err("usage: bench-decode count|fields TRACE, or make STREAMS EVENTS TRACE".into()),
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(events) => {
            println!("{events}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench-decode: {error}");
            ExitCode::from(2)
        }
    }
}
