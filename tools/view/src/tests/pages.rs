// SPDX-License-Identifier: MIT
//! Pages of events of streams whose clocks go backwards.

use std::path::PathBuf;

use testkit::{Datum, Kind, Order, Random, Spec, StreamWriter};

use super::*;

/// The rows of all pages from a time on, with so many at most on each.
fn paged(viewed: &Viewed, limit: u64, begin: &str) -> Vec<Value> {
    let (mut from, mut skip, mut rows) = (0, 0, Vec::new());
    for _ in 0..200 {
        let asked = format!("v1/events?from={from}&skip={skip}&limit={limit}&e={begin}");
        let mut page = ask(viewed, &asked);
        rows.append(page["rows"].as_array_mut().unwrap());
        let Some(next) = page["next"].as_object() else { return rows };
        (from, skip) = (next["from"].as_i64().unwrap(), next["skip"].as_i64().unwrap());
    }
    panic!("pages do not come to an end")
}

#[test]
fn every_event_is_on_one_page_though_clocks_go_backwards() {
    let nothing = || Kind::structure(Vec::new());
    let events = vec![(1, "a", nothing()), (2, "b", nothing())];
    let spec = Spec { frequency_hz: 1_000_000_000, ..Spec::lull(Order::Little, events) };
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let mut stream = |cpu: u32| {
            let mut writer = StreamWriter::new(&spec, cpu);
            for _ in 0..4 {
                let mut at = 1000 + random.below(40);
                writer.begin_packet(at);
                for _ in 0..random.below(7) {
                    at = (at + 1 + random.below(9)).saturating_sub(random.below(14)).max(1000);
                    writer.event(1 + random.below(2), at, Datum::List(Vec::new()));
                }
                writer.end_packet(at, 0);
            }
            (PathBuf::from(format!("s{cpu}")), writer.finish().0)
        };
        let files = vec![stream(0), stream(1)];
        let traces = Arc::new(vec![Trace::from_bytes(spec.metadata().as_bytes(), files).unwrap()]);
        let history = History::open_or_build(&traces, |_| {}).unwrap();
        let viewed = Viewed::new(traces.clone(), history, Box::new(Plain(traces)), Vec::new());
        for begin in ["", "a"] {
            let all = paged(&viewed, 500, begin);
            for limit in [1, 2, 3, 5] {
                assert_eq!(paged(&viewed, limit, begin), all, "seed {seed}, {limit} on a page");
            }
        }
    }
}
