// SPDX-License-Identifier: MIT
//! Files of a trace that others shorten or write over while it is viewed.

use std::fs::OpenOptions;
use std::sync::Arc;

use history::History;
use serde_json::Value;
use testkit::TraceFolder;
use trace::Trace;

use super::{ask, Plain};
use crate::Viewed;

const EVENTS: u64 = 50_000;

fn opened(folder: &TraceFolder) -> Viewed {
    let traces = Arc::new(vec![Trace::open(folder.path()).unwrap()]);
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    Viewed::new(traces.clone(), history, Box::new(Plain(traces)), Vec::new())
}

#[test]
fn a_trace_that_is_cut_while_it_is_viewed_is_answered_of_no_more() {
    let folder = TraceFolder::numbered(EVENTS).unwrap();
    let (viewed, other) = (opened(&folder), TraceFolder::numbered(1000).unwrap());
    let file = folder.path().join("stream_0");
    let file = OpenOptions::new().append(true).open(file).unwrap();
    let ticks = "v1/ticks?from=0&until=99999&pixels=1";
    assert_eq!(ask(&viewed, ticks)["total"], EVENTS);
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let compared = opened(&other).beside(viewed);
    for question in ["v1/trace", "b/v1/trace", &format!("b/{ticks}"), "v1/tracks?offset=0"] {
        let (path, query) = question.split_once('?').unwrap_or((question, ""));
        let reply = compared.answer(path, query);
        assert_eq!(reply.status.as_u16(), 410, "{question}");
        let answer: Value = serde_json::from_slice(&reply.body).unwrap();
        let reason = answer["error"].as_str().unwrap();
        assert!(reason.contains("stream_0 was shortened or written over"), "{reason}");
    }
    assert_eq!(ask(&opened(&folder), ticks)["total"], EVENTS / 2, "of what is there by then");
}
