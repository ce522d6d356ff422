// SPDX-License-Identifier: MIT
//! libFuzzer's way into the index of packets beside a stream: the input says what is changed in an
//! index that is right. Whatever it says then, a reader of a span ends, and finds no event that is
//! not in the trace.
//!
//! Place in the flow: `run` builds it with coverage instrumentation. Of each four bytes, the first
//! two are a place in the index, the third what to do there, and the last with what.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use testkit::{Datum, Kind, Order, Spec, StreamWriter, TraceFolder};
use trace::{Merge, Message, Ns, Span, Trace};

const PACKETS: u64 = 80;
const EVENTS: u64 = 3;

/// A trace with an index: its folder, the index's path and bytes, and when it begins and ends.
struct Indexed {
    folder: TraceFolder,
    path: PathBuf,
    bytes: Vec<u8>,
    bounds: (Ns, Ns),
}

fn indexed() -> &'static Indexed {
    static INDEXED: OnceLock<Indexed> = OnceLock::new();
    INDEXED.get_or_init(|| {
        let order = Order::Little;
        let payload = Kind::structure(vec![("n", Kind::u(64, order))]);
        let spec = Spec::lull(order, vec![(1, "e", payload)]);
        let mut writer = StreamWriter::new(&spec, 0);
        for packet in 1..=PACKETS {
            writer.begin_packet(packet * 1000);
            for event in 0..EVENTS {
                let fields = Datum::List(vec![Datum::Unsigned(packet * EVENTS + event)]);
                writer.event(1, packet * 1000 + event * 10, fields);
            }
            writer.end_packet(packet * 1000 + 500, 0);
        }
        let folder = TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap();
        let trace = Trace::open(folder.path()).unwrap();
        let bounds = trace.bounds().unwrap();
        let path = folder.path().join("index/stream_0.lull.idx");
        let bytes = std::fs::read(&path).unwrap();
        Indexed { folder, path, bytes, bounds }
    })
}

/// How many events the last third of a trace has, and those before it in their packets.
fn read(folder: &Path, (begin, end): (Ns, Ns)) -> u64 {
    let traces = [Trace::open(folder).unwrap()];
    let from = Some(Ns(end.0 - (end.0 - begin.0) / 3));
    let mut merge = Merge::between(&traces, &Span { from, until: None });
    let mut events = 0;
    while let Some(message) = merge.next() {
        events += u64::from(matches!(message, Message::Event(_)));
    }
    events
}

fuzz_target!(|input: &[u8]| {
    let Indexed { folder, path, bytes, bounds } = indexed();
    let mut index = bytes.clone();
    for edit in input.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % (index.len() + 1);
        match edit[2] % 4 {
            0 => index.truncate(at),
            1 => index.insert(at, edit[3]),
            _ => match index.get_mut(at) {
                Some(byte) => *byte = edit[3],
                None => index.push(edit[3]),
            },
        }
    }
    std::fs::write(path, &index).unwrap();
    assert!(read(folder.path(), *bounds) <= PACKETS * EVENTS);
});
