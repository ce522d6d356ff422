// SPDX-License-Identifier: MIT
//! libFuzzer's way into the requests that `lull view` is sent: a path with a query, and headers;
//! or, with a method before the path, what `lull view --trace-server` is sent, with a body.
//!
//! Place in the flow: `run` builds it. Whatever the text is, it is answered or refused; the page's
//! server answers nothing without the token.
#![no_main]

use std::sync::{Arc, OnceLock};

use history::History;
use libfuzzer_sys::fuzz_target;
use testkit::program::{Number, Program, Who};
use trace::{Span, Trace};
use view::{Attempts, Events, Filter, Row, Viewed, Visited};

const MAIN: Who = (10, 10, "server");

/// What a filter finds is another target's matter.
struct Nothing;

impl Events for Nothing {
    fn visit(
        &self,
        _: &Filter,
        _: &Span,
        _: u64,
        _: &mut dyn FnMut(&Row<'_>) -> bool,
    ) -> Result<Visited, String> {
        Ok(Visited { scanned: 0, stopped: None })
    }
}

/// Traces whose calls last so long.
fn viewed(ns: u64) -> Viewed {
    let mut program = Program::new();
    for round in 0..20 {
        let at = 1_000_000 + round * 1000;
        let entry: (_, &[_]) = ("io:read_entry", &[("fd", Number(3))]);
        program.call((at, at + ns), MAIN, entry, ("io:read_exit", &[("result", Number(9))]));
    }
    for (at, name) in [
        (1_060_000, "mutex:wait_entry"),
        (1_061_000, "mutex:wait_exit"),
        (1_062_000, "mutex:unlock"),
    ] {
        program.event(at, 0, MAIN, name, &[("mutex", Number(0xa0))]);
    }
    program.end_packet(1_100_000, 1, [5, 0, 0, 0]);
    let (metadata, files) = program.files();
    let trace = Trace::from_bytes(metadata.as_bytes(), files).expect("it was just written");
    let traces = Arc::new(vec![trace]);
    let history = History::open_or_build(&traces, |_| {}).expect("it is in memory");
    Viewed::new(traces, history, Box::new(Nothing), vec![])
}

/// The trace server; the only experiment stays open.
fn ask_trace_server(request: &str) {
    static SERVER: OnceLock<Attempts> = OnceLock::new();
    let opener = || Box::new(|_: &[usize]| Err("there is one trace".to_string()));
    let server =
        SERVER.get_or_init(|| Attempts::new(viewed(600), opener()).expect("it has a trace"));
    if request.starts_with("DELETE /tsp/api/experiments/") {
        return;
    }
    if let Some((status, body)) = server.attempt(request) {
        let known = [200, 400, 403, 404, 405, 409, 413, 415, 421, 500];
        assert!(known.contains(&status), "{status}");
        let is_json = body.is_empty() || matches!(body.first(), Some(b'{' | b'['));
        assert!(is_json, "{request}");
    }
}

fuzz_target!(|request: &str| {
    if !request.starts_with('/') {
        return ask_trace_server(request);
    }
    static VIEWED: OnceLock<Viewed> = OnceLock::new();
    let status = VIEWED.get_or_init(|| viewed(600).beside(viewed(700))).attempt(request);
    let known = [200, 400, 403, 404, 409, 413, 414, 421];
    assert!(status.is_none_or(|status| known.contains(&status)), "{status:?}");
    if status == Some(200) {
        assert!(request.contains("TOKEN") || request.contains("07070707"), "without the token");
    }
});
