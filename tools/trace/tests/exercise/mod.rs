// SPDX-License-Identifier: MIT
//! Reads a trace in every way there is, whatever its bytes.
//!
//! Place in the flow: the body of all fuzzing: `tests/fuzz.rs` (a few seconds in every test run),
//! `examples/fuzz.rs` (as long as asked) and `check/fuzz` (libFuzzer). It returns how much was
//! read, so that a fuzzer that only makes unreadable traces is noticed.

use std::path::PathBuf;

use trace::{Fault, Message, Metadata, Name, Trace, Visitor, Walker};

/// Events and values looked at in one input; a hostile kilobyte can hold millions of empty ones.
const MOST_EVENTS: u64 = 20_000;
const MOST_VALUES: u64 = 2_000_000;

/// Adds everything up, so that nothing is optimised away.
#[derive(Default)]
struct Total {
    values: u64,
    sum: u64,
}

impl Visitor for Total {
    fn unsigned(&mut self, _: Name<'_>, value: u64, _: &trace::Integer) {
        self.values += 1;
        self.sum = self.sum.wrapping_add(value);
    }
    fn signed(&mut self, _: Name<'_>, value: i64, _: &trace::Integer) {
        self.values += 1;
        self.sum = self.sum.wrapping_add(value as u64);
    }
    fn float(&mut self, _: Name<'_>, value: f64, _: &trace::Float) {
        self.values += 1;
        self.sum = self.sum.wrapping_add(value.to_bits());
    }
    fn enumeration(&mut self, _: Name<'_>, value: u64, ty: &trace::Enumeration) {
        self.values += 1 + ty.labels(value).take(3).count() as u64;
    }
    fn text(&mut self, _: Name<'_>, bytes: &[u8]) {
        self.values += 1;
        self.sum = self.sum.wrapping_add(bytes.len() as u64);
    }
    fn begin(&mut self, _: Name<'_>, _: trace::Group<'_>) {
        self.values += 1;
    }
}

/// Reads one trace; the result is the number of events read.
pub fn exercise(metadata: &[u8], stream: &[u8]) -> u64 {
    walk_raw(metadata, stream);
    let streams = vec![
        (PathBuf::from("a"), stream.to_vec()),
        (PathBuf::from("b"), stream.get(stream.len() / 2..).unwrap_or(&[]).to_vec()),
    ];
    let Ok(trace) = Trace::from_bytes(metadata, streams) else { return 0 };
    let mut merge = trace.merge();
    let mut total = Total::default();
    let mut events = 0;
    while let Some(message) = merge.next() {
        if events >= MOST_EVENTS || total.values >= MOST_VALUES {
            break;
        }
        match message {
            Message::Event(event) => {
                events += 1;
                let found: Result<(), Fault> = event.fields(&mut total);
                assert!(found.is_ok(), "an event that was found can be read: {found:?}");
                assert!(event.context(&mut total).is_ok());
                assert!(event.stream_context(&mut total).is_ok());
                assert!(event.header(&mut total).is_ok());
                assert!(event.packet_context(&mut total).is_ok());
                let fields = event.class().payload.as_ref().map_or(0, |s| s.fields.len());
                (0..fields.min(4)).for_each(|i| assert!(event.value(i).is_some()));
                total.sum = total.sum.wrapping_add(event.time_ns().0 as u64);
            }
            Message::Loss(loss) => {
                assert!(loss.loss.count > 0);
                total.sum = total.sum.wrapping_add(loss.until_ns().map_or(0, |ns| ns.0 as u64));
            }
        }
    }
    for problem in merge.problems() {
        total.values += problem.to_string().len() as u64;
    }
    std::hint::black_box(total.sum);
    events
}

/// Steps over the bytes as if they were packet content.
fn walk_raw(metadata: &[u8], stream: &[u8]) {
    let (metadata, _) = Metadata::salvage(metadata);
    for class in &metadata.streams {
        let Some(walker) = Walker::new(&metadata, class.id) else { continue };
        let (mut offset, mut steps) = (0, 0);
        while steps < MOST_EVENTS {
            let Ok(length) = walker.event_length(stream, offset) else { break };
            assert!(length > 0 && offset + length <= stream.len());
            offset += length;
            steps += 1;
        }
    }
}
