// SPDX-License-Identifier: MIT
//! `lull trim` as a user runs it.
//!
//! Place in the flow: what is in a part is tested beside the crate that writes it; here is what the
//! command says, what it refuses, and how it ends.

use std::path::Path;
use std::process::{Command, Output};

use testkit::{Datum, Kind, Order, Spec, StreamWriter, TraceFolder};

fn lull(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lull")).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two processors with ten events each, and a thread for each packet.
fn trace() -> TraceFolder {
    let order = Order::Little;
    let thread = Kind::structure(vec![
        ("pid", Kind::u(32, order)),
        ("tid", Kind::u(32, order)),
        ("name", Kind::Text),
    ]);
    let hit = Kind::structure(vec![("n", Kind::u(64, order))]);
    let mut spec = Spec::lull(order, vec![(1, "lull:thread", thread), (2, "a:hit", hit)]);
    spec.frequency_hz = 1_000_000_000;
    let stream = |cpu: u32| {
        let mut writer = StreamWriter::new(&spec, cpu);
        writer.begin_packet(1000);
        let tid = Datum::Unsigned(70 + u64::from(cpu));
        let name = Datum::Text(b"worker".to_vec());
        writer.event(1, 1000, Datum::List(vec![Datum::Unsigned(7), tid, name]));
        for n in 0..10 {
            writer.event(2, 1000 + 10_000_000 * n, Datum::List(vec![Datum::Unsigned(n)]));
        }
        writer.end_packet(100_001_000, 0);
        writer.finish().0
    };
    TraceFolder::new(&spec.metadata(), &[stream(0), stream(1)]).unwrap()
}

fn events(folder: &Path) -> Vec<String> {
    let printed = lull(&["print", "--utc", folder.to_str().unwrap()]);
    assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
    text(&printed.stdout).lines().map(Into::into).collect()
}

#[test]
fn a_part_has_the_events_that_print_shows_of_the_whole() {
    let (whole, to) = (trace(), TraceFolder::new("", &[]).unwrap());
    let (from, part) = (whole.path().to_str().unwrap(), to.path().join("part"));
    let chosen = ["--tid", "71", "--from", "+20ms", "--to", "+60ms"];
    let words = ["trim", from, "-o", part.to_str().unwrap(), "--json"];
    let done = lull(&[&words[..], &chosen[..]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    assert!(said.contains(r#""events":4"#) && said.contains(r#""left_out_in_span":4"#), "{said}");
    let wanted = lull(&[&["print", "--utc", from][..], &chosen[..]].concat());
    let wanted: Vec<String> = text(&wanted.stdout).lines().map(Into::into).collect();
    assert_eq!((events(&part), wanted.len()), (wanted, 4));
}

#[test]
fn part_that_lacks_what_names_addresses_is_said_to() {
    let order = Order::Little;
    let lock = Kind::structure(vec![("mutex", Kind::u(64, order))]);
    let object = Kind::structure(vec![("base", Kind::u(64, order))]);
    let events = vec![(1, "process:object", object), (2, "mutex:wait_entry", lock)];
    let spec = Spec::lull(order, events);
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(0);
    for id in [1, 2] {
        writer.event(id, 10 * id, Datum::List(vec![Datum::Unsigned(4096)]));
    }
    writer.end_packet(100, 0);
    let folder = TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap();
    for (chosen, is_said) in [("mutex:*", true), ("*", false), ("process:*", false)] {
        let to = TraceFolder::new("", &[]).unwrap();
        let (from, part) = (folder.path().to_str().unwrap(), to.path().join("part"));
        let to = ["-o", part.to_str().unwrap(), "-e", chosen, "--to", "+1h"];
        let done = lull(&[&["trim", from][..], &to].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert_eq!(text(&done.stderr).contains("no names"), is_said, "{chosen}");
    }
}

#[test]
fn of_an_hour_that_clocks_repeat_the_span_has_both() {
    let order = Order::Little;
    let hit = Kind::structure(vec![("n", Kind::u(64, order))]);
    let mut spec = Spec::lull(order, vec![(2, "a:hit", hit)]);
    // 05:30 of the day in UTC: an hour and a half before summer time ends in New York.
    (spec.frequency_hz, spec.offset_s, spec.offset_cycles) = (1_000_000_000, 1_699_162_200, 0);
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(0);
    for n in 0..3 {
        writer.event(2, n * 3_600_000_000_000, Datum::List(vec![Datum::Unsigned(n)]));
    }
    writer.end_packet(9_000_000_000_000, 0);
    let folder = TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap();
    let count = |edge| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
        let command = command.env("TZ", "EST5EDT,M3.2.0,M11.1.0").arg("print").arg(folder.path());
        let printed = command.args([edge, "2023-11-05 01:30"]).output().unwrap();
        text(&printed.stdout).lines().count()
    };
    assert_eq!((count("--from"), count("--to")), (3, 1));
}

#[test]
fn nanoseconds_before_the_clock_s_origin_are_times_as_others() {
    let (whole, to) = (trace(), TraceFolder::new("", &[]).unwrap());
    let (from, part) = (whole.path().to_str().unwrap(), to.path().join("part"));
    let trim = ["trim", from, "-o", part.to_str().unwrap()];
    for words in [&["print", from][..], &["report", from], &["state", from], &trim] {
        let done = lull(&[words, &["--from", "-5"]].concat());
        assert_eq!(done.status.code(), Some(0), "{words:?}: {}", text(&done.stderr));
    }
    let none = lull(&["print", from, "--to", "-5"]);
    assert_eq!(none.status.code(), Some(1), "{}", text(&none.stderr));
    let missing = lull(&["print", "--from", "--json"]);
    assert!(text(&missing.stderr).contains("a value is required"), "{}", text(&missing.stderr));
}

#[test]
fn no_event_is_what_a_limit_of_none_asks_for() {
    let whole = trace();
    let done = lull(&["print", "-n", "0", whole.path().to_str().unwrap()]);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(0), 0), "{}", text(&done.stderr));
    assert_eq!(text(&done.stderr), "");
}

#[test]
fn nothing_is_written_where_nothing_was_asked_for_or_something_is_there() {
    let whole = trace();
    let from = whole.path().to_str().unwrap();
    let refused = |words: &[&str], why: &str| {
        let done = lull(words);
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert!(text(&done.stderr).contains(why), "{}", text(&done.stderr));
    };
    let beside = TraceFolder::new("", &[]).unwrap();
    let part = beside.path().join("part");
    let to = part.to_str().unwrap();
    refused(&["trim", from, "-o", to], "nothing says which events to keep");
    refused(&["trim", from, "-o", to, "--from", "+60ms", "--to", "+20ms"], "--from is not before");
    assert!(!part.exists());
    refused(&["trim", from, "-o", from, "--tid", "70"], "choose another directory");
    let within = format!("{from}/part");
    refused(&["trim", from, "-o", &within, "--tid", "70"], "is within the trace");
    refused(&["convert", from, "-o", &within], "is within the trace");
    let done = lull(&["trim", from, "-o", to, "-e", "b:*"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("no event matches b:*"), "{}", text(&done.stderr));
}
