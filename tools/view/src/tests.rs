// SPDX-License-Identifier: MIT
//! The protocol over a real connection: what each question is answered with, and what is refused.

mod changed;
mod compare;
mod counter;
mod flame;
mod flows;
mod locks;
mod pages;
mod patience;
mod statistics;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use history::History;
use serde_json::Value;
use testkit::program::{Number, Program, Text, Who};
use trace::{Merge, Message, Span, Trace};

use crate::ask::Ask;
use crate::slices::Slice;
use crate::ticks;
use crate::{Events, Filter, Reach, Row, Server, Shown, Viewed, Visited};

const MAIN: Who = (10, 10, "server");
const WORKER: Who = (10, 11, "worker");
/// Events at one and the same time, more than a page has.
const AT_ONCE: u64 = 700;

/// Events whose names begin with the filter's first pattern, without the rest of the selection.
pub(crate) struct Plain(pub Arc<Vec<Trace>>);

impl Events for Plain {
    fn visit(
        &self,
        filter: &Filter,
        span: &Span,
        budget: u64,
        each: &mut dyn FnMut(&Row<'_>) -> bool,
    ) -> Result<Visited, String> {
        let begin = filter.events.first().cloned().unwrap_or_default();
        if begin == "?" {
            return Err("that is no pattern".into());
        }
        let mut merge = Merge::between(&self.0, span);
        let mut scanned = 0;
        let mut reach = Reach::new(merge.stream_count());
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            let Some(reached) = reach.by(&event) else { continue };
            let time = event.time_ns();
            if scanned >= budget && span.from.is_none_or(|from| reached > from) {
                return Ok(Visited { scanned, stopped: Some(reached) });
            }
            scanned += 1;
            let name = event.name();
            let json = || serde_json::to_vec(&serde_json::json!({ "name": name })).unwrap();
            let (cpu, trace) = (event.cpu().map(|cpu| cpu.0), event.trace_index());
            let row = Row { time, reached, name, trace, cpu, pid: None, tid: None, json: &json };
            if name.starts_with(&begin) && !each(&row) {
                return Ok(Visited { scanned, stopped: Some(reached) });
            }
        }
        Ok(Visited { scanned, stopped: None })
    }
}

fn viewed() -> Viewed {
    viewed_with(|traces| Box::new(Plain(traces)))
}

/// The same with events that are read in another way.
fn viewed_with(events: impl FnOnce(Arc<Vec<Trace>>) -> Box<dyn Events>) -> Viewed {
    let mut program = Program::new();
    for round in 0..1000 {
        let at = 1_000_000 + round * 1000;
        let entry: (_, &[_]) = ("io:read_entry", &[("fd", Number(3))]);
        program.call((at, at + 600), MAIN, entry, ("io:read_exit", &[("result", Number(9))]));
    }
    for _ in 0..AT_ONCE {
        program.event(3_000_000, 1, WORKER, "same:time", &[("text", Text("<img onerror=x>"))]);
    }
    program.end_packet(3_100_000, 1, [0, 0, 0, 0]);
    program.event(3_200_000, 1, WORKER, "after:loss", &[]);
    program.end_packet(3_300_000, 1, [5, 0, 0, 0]);
    let (metadata, files) = program.files();
    let traces = Arc::new(vec![Trace::from_bytes(metadata.as_bytes(), files).unwrap()]);
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    Viewed::new(traces.clone(), history, events(traces), vec!["a note".into()])
}

fn ask(viewed: &Viewed, question: &str) -> Value {
    let (path, query) = question.split_once('?').unwrap_or((question, ""));
    let reply = viewed.answer(path, query);
    assert_eq!(reply.status.as_u16(), 200, "{question}");
    serde_json::from_slice(&reply.body).unwrap()
}

/// The slices that a row of an answer has as one list of numbers.
pub(crate) fn slices_of(row: &Value) -> Vec<Slice> {
    let numbers = |word: &str| -> Vec<i64> {
        row[word].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    };
    let (told, goes_on) = (numbers("slices"), numbers("goes_on"));
    let mut before = 0;
    let slices = told.chunks(4).enumerate().map(|(at, slice)| {
        let [after, length, value, states] = slice.try_into().unwrap();
        let begin = before + after;
        before = begin + length;
        Slice {
            begin,
            end: before,
            value: value as usize,
            goes_on: goes_on.contains(&(at as i64)),
            states: states as u64,
        }
    });
    slices.collect()
}

fn id_of(viewed: &Viewed, name: &str) -> String {
    let found = ask(viewed, "v1/tracks");
    let tracks = found["tracks"].as_array().unwrap();
    let track = tracks.iter().find(|track| track["name"] == name).unwrap();
    track["id"].as_str().unwrap().into()
}

#[test]
fn trace_is_described_and_every_cpu_has_a_row() {
    let viewed = viewed();
    let about = ask(&viewed, "v1/trace");
    assert_eq!((&about["version"], &about["lost"]), (&2.into(), &5.into()));
    assert_eq!(about["notes"][0], "a note");
    let tracks = ask(&viewed, "v1/tracks");
    let names: Vec<&str> =
        tracks["tracks"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["machine 0", "CPU 0", "CPU 1"]);
    assert!(names.contains(&"server[10]") && names.contains(&"worker[11]"), "{names:?}");
    let found = ask(&viewed, "v1/tracks?match=WORK");
    assert_eq!(found["total"], 3, "the thread, its process, the machine");
}

#[test]
fn a_span_as_long_as_the_trace_has_its_last_event() {
    let viewed = viewed();
    let length = &ask(&viewed, "v1/trace")["length_ns"];
    let page = ask(&viewed, &format!("v1/events?from=2100000&until={length}"));
    let last = page["rows"].as_array().unwrap().last();
    assert_eq!(last.map(|row| &row["event"]["name"]), Some(&"after:loss".into()), "{page}");
}

#[test]
fn an_answer_has_no_more_slices_than_pixels() {
    let viewed = viewed();
    let server = id_of(&viewed, "server[10]");
    let threads = ask(&viewed, "v1/tracks");
    let all = threads["tracks"].as_array().unwrap();
    let thread = all.iter().find(|t| t["kind"] == "thread" && t["name"] == "server[10]").unwrap();
    let ids = format!("{server},{},nothing", thread["id"].as_str().unwrap());
    for pixels in [1, 50, 300] {
        let question = format!("v1/slices?from=0&until=2300000&pixels={pixels}&tracks={ids}");
        let drawn = ask(&viewed, &question);
        let rows = drawn["rows"].as_array().unwrap();
        assert!(rows.iter().any(|row| row["kind"] == "call"), "{drawn}");
        for row in rows {
            assert!(slices_of(row).len() <= pixels, "{row}");
        }
    }
    let near = ask(&viewed, &format!("v1/slices?from=0&until=1000&pixels=100&tracks={ids}"));
    let calls = near["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "call").unwrap();
    let first = slices_of(calls)[0];
    assert_eq!((first.begin, first.end, first.states), (0, 600, 1));
    let far = ask(&viewed, &format!("v1/slices?from=0&until=1000000&pixels=1&tracks={ids}"));
    let calls = far["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "call").unwrap();
    assert_eq!(slices_of(calls)[0].states, 1000, "it stands for many");
}

#[test]
fn what_has_not_ended_when_the_trace_does_goes_on_in_the_whole_of_it() {
    let viewed = viewed();
    let length = &ask(&viewed, "v1/trace")["length_ns"];
    let process = id_of(&viewed, "server[10]");
    let question = format!("v1/slices?from=0&until={length}&pixels=100&tracks={process}");
    let drawn = ask(&viewed, &question);
    let life = drawn["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "life").unwrap();
    assert_eq!(life["goes_on"], serde_json::json!([0]), "{life}");
}

#[test]
fn an_answer_in_bytes_is_the_one_in_numbers() {
    let viewed = viewed();
    let thread = id_of(&viewed, "server[10]");
    let query = format!("from=0&until=2300000&pixels=300&tracks={thread},c0.0,c0.1");
    let told = ask(&viewed, &format!("v1/slices?{query}"));
    // The second time from what was remembered.
    let [reply, again] = [(); 2].map(|()| viewed.answer("v1/slices.bytes", &query));
    assert_eq!((reply.status.as_u16(), reply.kind), (200, "application/octet-stream"));
    assert_eq!((reply.kind, &reply.body), (again.kind, &again.body));
    let (size, rest) = reply.body.split_first_chunk().unwrap();
    let (text, mut rest) = rest.split_at(u64::from_le_bytes(*size) as usize);
    assert_eq!(text.len() % 8, 0, "columns are where a script can have them as they are");
    let head: Value = serde_json::from_slice(text).unwrap();
    assert_eq!((&head["values"], &head["is_cut"]), (&told["values"], &told["is_cut"]));
    let (heads, rows) = (head["rows"].as_array().unwrap(), told["rows"].as_array().unwrap());
    assert_eq!(heads.len(), rows.len());
    for (head, row) in heads.iter().zip(rows) {
        for word in ["track", "kind", "lane", "goes_on"] {
            assert_eq!(head[word], row[word]);
        }
        let slices = slices_of(row);
        assert_eq!(head["count"], slices.len());
        let mut column = |size: usize| {
            let (column, after) = rest.split_at(size * slices.len());
            rest = after;
            column.chunks(size)
        };
        let time = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap()) as i64;
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        let (begins, ends): (Vec<_>, Vec<_>) =
            (column(8).map(time).collect(), column(8).map(time).collect());
        let (values, states): (Vec<_>, Vec<_>) =
            (column(4).map(number).collect(), column(4).map(number).collect());
        for (at, slice) in slices.iter().enumerate() {
            assert_eq!((slice.begin, slice.end), (begins[at], ends[at]));
            let told = (slice.value as u32, slice.states as u32);
            assert_eq!(told, (values[at], states[at]));
        }
    }
    assert!(rest.is_empty() && !rows.is_empty());
    assert_eq!(viewed.answer("v1/slices.bytes", "from=5&until=1").status.as_u16(), 400);
}

#[test]
fn events_that_are_counted_in_parts_are_those_that_are_counted_at_once() {
    let viewed = viewed();
    let count = |most, start: Option<i64>| {
        let start = start.map_or(String::new(), |start| format!("&start={start}"));
        let asked = Ask::new(&format!("from=5&until=2300000&pixels=50&e=io{start}")).unwrap();
        let question = ticks::Question::of(&asked, viewed.history().begin()).unwrap();
        viewed.ticks(&ticks::Question { most, ..question }).unwrap()
    };
    let sums = |counted: &ticks::Counted, into: &mut BTreeMap<(ticks::Key, u32), u64>| {
        for row in &counted.rows {
            for (pixel, count) in &row.counts {
                *into.entry((row.key, *pixel)).or_default() += count;
            }
        }
    };
    let (mut at_once, mut in_parts) = (BTreeMap::new(), BTreeMap::new());
    let all = count(u64::MAX, None);
    assert_eq!(all.stopped, None);
    sums(&all, &mut at_once);
    let mut part = count(70, None);
    let mut parts = 1;
    sums(&part, &mut in_parts);
    while let Some(stopped) = part.stopped {
        part = count(70, Some(stopped));
        sums(&part, &mut in_parts);
        parts += 1;
    }
    assert!(parts > 10 && at_once.len() > 20, "{parts} {}", at_once.len());
    assert_eq!(in_parts, at_once);
}

#[test]
fn details_have_the_true_times_of_a_slice() {
    let viewed = viewed();
    let tracks = ask(&viewed, "v1/tracks");
    let all = tracks["tracks"].as_array().unwrap();
    let thread = all.iter().find(|t| t["kind"] == "thread" && t["name"] == "server[10]").unwrap();
    let question = format!("v1/details?track={}&at=5300", thread["id"].as_str().unwrap());
    let details = ask(&viewed, &question);
    let states = details["states"].as_array().unwrap();
    let call = states.iter().find(|state| state["kind"] == "call").unwrap();
    assert_eq!((&call["begin"], &call["until"]), (&5000.into(), &5600.into()));
    assert_eq!(details["at_ns"], "1005300");
}

#[test]
fn every_event_is_on_one_page_and_no_page_is_too_long() {
    let viewed = viewed();
    let (mut from, mut skip, mut count, mut pages) = (0, 0, 0, 0);
    loop {
        let page = ask(&viewed, &format!("v1/events?from={from}&skip={skip}&limit=300"));
        let rows = page["rows"].as_array().unwrap().len();
        assert!(rows <= 300);
        (count, pages) = (count + rows, pages + 1);
        assert!(pages < 50, "pages do not come to an end");
        if page["next"].is_null() {
            break;
        }
        from = page["next"]["from"].as_i64().unwrap();
        skip = page["next"]["skip"].as_i64().unwrap();
    }
    let named =
        |name: &str| ask(&viewed, &format!("v1/ticks?from=0&until=9000000&pixels=1&e={name}"));
    let all: u64 = ["io:", "same:", "after:", "lull:"]
        .iter()
        .map(|name| named(name)["total"].as_u64().unwrap())
        .sum();
    assert_eq!(count as u64, all);
    assert_eq!(named("same:")["total"], AT_ONCE);
}

#[test]
fn lost_events_are_told_where_they_are_missing() {
    let lost = ask(&viewed(), "v1/lost?from=0&until=2300000&pixels=10");
    let regions = lost["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 1);
    assert_eq!((&regions[0]["cpu"], &regions[0]["count"]), (&1.into(), &5.into()));
    assert!(regions[0]["begin"].as_i64().unwrap() >= 2_000_000, "{lost}");
    assert!(regions[0]["until"].as_i64().unwrap() <= 2_300_000, "{lost}");
}

#[test]
fn questions_that_make_no_sense_are_refused_with_a_reason() {
    let viewed = viewed();
    for question in [
        "v1/slices?from=5&until=1&pixels=10",
        "v1/slices?from=0&until=9&pixels=0",
        "v1/slices?from=0&until=9&pixels=99999999",
        "v1/lost?from=a&until=9&pixels=1",
        "v1/details?track=t0",
        "v1/details?track=../../etc/passwd&at=0",
        "v1/events?e=?",
        "v1/statistics?from=5&until=5",
        "v1/flows?from=5&until=5",
        "v1/flows?from=0&until=9&limit=x",
        "v1/flame?from=5&until=5",
        "v1/flame?from=0&until=9&of=nothing",
        "v1/flame?from=0&until=9&track=t999999",
        "v1/flame?from=0&until=9&track=c0.0",
        "v1/statistics?from=0&until=9&track=t999999",
        "v1/ticks?from=0&until=9&pixels=1&cpu=x",
    ] {
        let (path, query) = question.split_once('?').unwrap();
        let reply = viewed.answer(path, query);
        assert_eq!(reply.status.as_u16(), 400, "{question}");
        let answer: Value = serde_json::from_slice(&reply.body).unwrap();
        assert!(answer["error"].as_str().unwrap().len() > 5, "{question}");
    }
    let many = format!("from=0&until=9&pixels=1&tracks={}", "t1,".repeat(300));
    assert_eq!(viewed.answer("v1/slices", &many).status.as_u16(), 400);
    for path in ["v1/", "v2/trace", "../Cargo.toml", "/etc/passwd", "page.js/..", "v1/trace/"] {
        assert_eq!(viewed.answer(path, "").status.as_u16(), 404, "{path}");
    }
}

#[test]
fn requests_are_answered_with_the_token_only() {
    let viewed = viewed();
    for (request, status) in [
        ("/TOKEN/v1/trace", Some(200)),
        ("/TOKEN/v1/trace\norigin: http://127.0.0.1:4000", Some(200)),
        ("/v1/trace", Some(403)),
        ("/TOKEN/v1/trace\norigin: http://evil.example", Some(403)),
        ("/TOKEN/v1/trace\nhost: 127.0.0.1:4000", Some(421)),
        ("/TOKEN/v1/trace\ncontent-length: 9", Some(413)),
        ("/TOKEN/v1/nothing", Some(404)),
        ("/TOKEN/v1/lost", Some(400)),
        ("/TOKEN/v1/trace\nno header", None),
    ] {
        assert_eq!(viewed.attempt(request), status, "{request}");
    }
}

#[test]
fn questions_are_about_a_session_as_it_is_or_was_one_state_before() {
    let first = Shown::live(viewed());
    assert_eq!(ask(&first.now(), "v1/trace")["is_live"], true);
    first.end(vec!["it has ended".into()]);
    let ended = ask(&first.now(), "v1/trace");
    assert_eq!((&ended["is_live"], &ended["revision"]), (&false.into(), &0.into()));
    assert_eq!(ended["notes"], serde_json::json!(["it has ended"]));
    let shown = Shown::new(viewed());
    let status = |question: &str| {
        let (path, query) = question.split_once('?').unwrap();
        shown.meant(query).answer(path, query).status.as_u16()
    };
    assert_eq!(ask(&shown.now(), "v1/trace")["is_live"], false);
    assert_eq!(status("v1/events?revision=1"), 409);
    for revision in 1..=3 {
        shown.replace(viewed().written_in("/tmp/web".as_ref()));
        let about = ask(&shown.now(), "v1/trace");
        assert_eq!((&about["revision"], &about["is_live"]), (&revision.into(), &true.into()));
        assert_eq!(about["traces"], serde_json::json!(["/tmp/web"]));
        assert_eq!(status(&format!("v1/events?revision={revision}")), 200);
        let of_before = if revision == 1 { 409 } else { 200 };
        assert_eq!(status(&format!("v1/events?revision={}", revision - 1)), of_before);
        assert_eq!(status(&format!("v1/events?revision={}", revision + 1)), 409);
        assert_eq!(status("v1/events?limit=1"), 200);
    }
    assert_eq!(status("v1/events?revision=1"), 409, "two states ago");
    for question in ["limit=1", "revision=1", "revision=x", "revision=3"] {
        let about = ask(&shown.meant(question), "v1/trace");
        assert_eq!(about["revision"], 3, "{question}");
    }
}

#[test]
fn any_words_are_answered_or_refused_and_nothing_panics() {
    let viewed = viewed();
    let random = &mut testkit::Random::new(11);
    let values =
        ["0", "-1", "1", "9223372036854775807", "-9223372036854775808", "x", "", "t1,c0.0", "%00"];
    let words =
        ["from", "until", "pixels", "tracks", "at", "track", "skip", "limit", "offset", "count"];
    let questions = [
        "trace",
        "tracks",
        "slices",
        "ticks",
        "lost",
        "events",
        "details",
        "statistics",
        "compare",
        "flame",
        "flows",
    ];
    for _ in 0..3000 {
        let path = format!("v1/{}", questions[random.below(questions.len() as u64) as usize]);
        let mut query = String::new();
        for _ in 0..random.below(6) {
            let (word, value) = (random.below(10) as usize, random.below(9) as usize);
            query += &format!("{}={}&", words[word], values[value]);
        }
        let status = viewed.answer(&path, &query).status.as_u16();
        assert!(status == 200 || status == 400, "{path}?{query}: {status}");
    }
}

/// A request, byte by byte as it is given; the answer's status and all of its text.
pub(crate) fn send(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    // The server may refuse, and close, before all of it was written.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|text| text.parse().ok());
    (status.unwrap_or(0), answer)
}

#[test]
fn server_answers_its_own_page_and_nobody_else() {
    let server = Server::bind(0).unwrap();
    let url = server.url();
    let (address, token) = url.trim_start_matches("http://").split_once('/').unwrap();
    let (address, token) = (address.to_string(), token.trim_end_matches('/').to_string());
    assert!(address.starts_with("127.0.0.1:"));
    // It serves until the test program ends.
    std::thread::spawn(move || server.serve(Arc::new(Shown::new(viewed()))).unwrap());
    let get = |path: &str, host: &str, more: &str| {
        send(
            &address,
            &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"),
        )
    };
    let own = format!("/{token}/v1/trace");
    let (status, answer) = get(&own, &address, "");
    assert_eq!(status, 200);
    let answer = answer.to_lowercase();
    for header in [
        "frame-ancestors 'none'",
        "content-security-policy: default-src 'none'; ",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(answer.contains(header), "{header}: {answer}");
    }
    assert!(!answer.contains("access-control-allow"), "{answer}");
    let wrong = "0".repeat(token.len());
    assert_eq!(get(&format!("/{wrong}/v1/trace"), &address, "").0, 403);
    assert_eq!(get("/v1/trace", &address, "").0, 403);
    assert_eq!(get(&own, "evil.example", "").0, 421);
    assert_eq!(get(&own, &address, "Origin: http://evil.example\r\n").0, 403);
    for path in ["../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "metadata"] {
        let (status, answer) = get(&format!("/{token}/{path}"), &address, "");
        assert_eq!(status, 404, "{path}");
        assert!(!answer.contains("root:"), "{path}");
    }
    let long = "x".repeat(1 << 20);
    assert_ne!(get(&format!("{own}?e={long}"), &address, "").0, 200);
    for (bytes, expected) in [(31 << 10, 200), (33 << 10, 431), (1 << 20, 431)] {
        let header = format!("X-Long: {}\r\n", &long[..bytes]);
        assert_eq!(get(&own, &address, &header).0, expected, "{bytes}");
    }
    let absolute = |name: &str| get(&format!("http://{name}{own}"), &address, "").0;
    assert_eq!((absolute(&address), absolute("evil.example")), (200, 421));
    let body = "Content-Length: 9\r\nConnection: close\r\n\r\n123456789";
    let body = format!("POST {own} HTTP/1.1\r\nHost: {address}\r\n{body}");
    assert_eq!(send(&address, &body).0, 405);
    assert_eq!(send(&address, "\0\0\0\r\n\r\n").0, 400);
    assert_eq!(get(&own, &address, "").0, 200, "it still answers");
}

#[test]
fn strangers_who_hold_connections_and_say_nothing_keep_nobody_out() {
    let server = Server::bind(0).unwrap();
    let url = server.url();
    let (address, token) = url.trim_start_matches("http://").split_once('/').unwrap();
    let (address, token) = (address.to_string(), token.to_string());
    std::thread::spawn(move || server.serve(Arc::new(Shown::new(viewed()))).unwrap());
    let request =
        |more: &str| format!("GET /{token}v1/trace HTTP/1.1\r\nHost: {address}\r\n{more}\r\n");
    let page = TcpStream::connect(&address).unwrap();
    page.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let asks = || {
        (&page).write_all(request("").as_bytes()).unwrap();
        let mut answer = BufReader::new(&page);
        let (mut line, mut bytes) = (String::new(), 0);
        answer.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line != "\r\n" {
            line.clear();
            answer.read_line(&mut line).unwrap();
            bytes =
                line.strip_prefix("content-length: ").map_or(bytes, |n| n.trim().parse().unwrap());
        }
        answer.read_exact(&mut vec![0; bytes]).unwrap();
    };
    asks();
    let strangers: Vec<TcpStream> = (0..150)
        .map(|_| {
            let mut stranger = TcpStream::connect(&address).unwrap();
            stranger.write_all(b"GET /").unwrap();
            stranger
        })
        .collect();
    assert_eq!(send(&address, &request("Connection: close\r\n")).0, 200);
    // Who has shown that it may ask keeps its connection.
    asks();
    drop(strangers);
}
