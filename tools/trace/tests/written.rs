// SPDX-License-Identifier: MIT
//! Random traces: what testkit wrote is what the reader reads, field by field and in time order.
//!
//! Place in the flow: covers every field kind, both byte orders, every alignment and all header
//! forms without any other reader at hand.

use std::path::PathBuf;

use testkit::{random_stream, Spec};
use trace::{Message, Trace};

mod notation;

#[test]
fn random_traces_read_back_as_written() {
    let mut events = 0;
    for seed in 0..400 {
        let spec = Spec::random(seed);
        let mut streams = Vec::new();
        let mut written = Vec::new();
        for cpu in 0..3 {
            let (bytes, events) = random_stream(&spec, cpu, seed * 3 + u64::from(cpu), 4);
            streams.push((PathBuf::from(format!("stream_{cpu}")), bytes));
            written.extend(events);
        }
        written.sort_by_key(|event| (event.cycles, event.cpu));
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
        let (found, problems) = notation::read(&trace);
        assert_eq!(problems, [], "an intact trace has no problems");
        for (found, written) in found.iter().zip(&written) {
            assert_eq!(found, written, "seed {seed}\n{}", spec.metadata());
        }
        assert_eq!(found.len(), written.len(), "seed {seed}");
        events += found.len();
    }
    assert!(events > 20_000, "the seeds made {events} events only");
}

#[test]
fn single_values_agree_with_a_visit_of_all() {
    for seed in 0..100 {
        let spec = Spec::random(seed);
        let (bytes, _) = random_stream(&spec, 0, seed, 2);
        let streams = vec![(PathBuf::from("stream"), bytes)];
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
        let mut merge = trace.merge();
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            let shown = notation::scopes(&event).pop().unwrap();
            let payload = event.class().payload.as_ref().unwrap();
            for (index, field) in payload.fields.iter().enumerate() {
                let value = match event.value(index).unwrap() {
                    trace::Value::Unsigned(value) => value.to_string(),
                    trace::Value::Signed(value) => value.to_string(),
                    trace::Value::Float(value) => value.to_string(),
                    trace::Value::Text(text) => format!("\"{}\"", String::from_utf8_lossy(text)),
                    trace::Value::Enumeration { label: Some(label), .. } => {
                        format!("( \"{label}\"")
                    }
                    trace::Value::Enumeration { label: None, .. } => "( <unknown>".into(),
                    trace::Value::Compound => continue,
                };
                let want = format!(" {} = {value}", field.name());
                assert!(shown.contains(&want), "seed {seed}: `{want}` is not in `{shown}`");
            }
        }
    }
}
