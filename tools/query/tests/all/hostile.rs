// SPDX-License-Identifier: MIT
//! Random and damaged traces: every table answers or is refused, and nothing panics.

use std::path::PathBuf;

use crate::made::{reading, rows_of, written};
use query::{quoted, Engine, Format};
use serde_json::Value;
use testkit::{random_stream, Random, Spec};
use trace::{Merge, Message, Trace};

fn random_trace(seed: u64, damage: bool) -> Option<Trace> {
    let spec = Spec::random(seed);
    let (mut bytes, _) = random_stream(&spec, 0, seed, 6);
    let mut metadata = spec.metadata().into_bytes();
    if damage {
        let random = &mut Random::new(seed);
        for _ in 0..1 + random.below(8) {
            let of = if random.one_in(4) { &mut metadata } else { &mut bytes };
            let at = random.below(of.len() as u64) as usize;
            of[at] = random.below(256) as u8;
        }
    }
    Trace::from_bytes(&metadata, vec![(PathBuf::from("stream_0"), bytes)]).ok()
}

fn count(trace: &Trace) -> u64 {
    let traces = std::slice::from_ref(trace);
    let mut merge = Merge::over(traces);
    let mut count = 0;
    while let Some(message) = merge.next() {
        count += u64::from(matches!(message, Message::Event(_)));
    }
    count
}

#[test]
fn random_traces_have_a_row_for_each_event_and_every_value_can_be_written() {
    for seed in 0..60 {
        let trace = random_trace(seed, false).expect("undamaged traces open");
        let wanted = count(&trace);
        let reading = reading(vec![trace]);
        let engine = Engine::new(&reading, &crate::made::limits()).unwrap();
        let mut found = 0;
        for table in engine.tables.iter().filter(|table| table.is_of_events) {
            let sql = format!("SELECT * FROM {}", quoted(&table.name));
            let rows = rows_of(&engine, &sql);
            found += rows.len() as u64;
            for format in [Format::Table, Format::Csv, Format::Json, Format::Arrow] {
                written(&engine, &sql, format).unwrap_or_else(|c| panic!("{seed}: {c}"));
            }
        }
        assert_eq!(found, wanted, "seed {seed}");
        let all = rows_of(&engine, "SELECT * FROM events");
        assert_eq!(all.len() as u64, wanted, "seed {seed}");
        for row in &all {
            let fields = row["fields"].as_str().expect("fields can be decoded");
            serde_json::from_str::<Value>(fields).expect("fields are JSON");
        }
    }
}

#[test]
fn damaged_traces_answer_every_table_and_say_what_is_missing() {
    let mut damaged = 0;
    for seed in 0..150 {
        let Some(trace) = random_trace(seed, true) else { continue };
        let reading = reading(vec![trace]);
        let engine = Engine::new(&reading, &crate::made::limits()).unwrap();
        for table in &engine.tables {
            let sql = format!("SELECT * FROM {}", quoted(&table.name));
            if let Err(complaint) = written(&engine, &sql, Format::Ndjson) {
                panic!("seed {seed}, {}: {complaint}", table.name);
            }
        }
        damaged += u64::from(reading.found().is_incomplete());
    }
    assert!(damaged > 20, "{damaged} traces were damaged");
}
