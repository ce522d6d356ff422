// SPDX-License-Identifier: MIT
//! The traces with which Babeltrace is tested, read by this crate and by Babeltrace 2.1: every
//! event with its time and all its values, and every loss with its times.
//!
//! Place in the flow: `tests/foreign/collection` fetches the traces and names their folder by
//! `LULL_COLLECTION`. [`DIFFERENCES`] says where this crate reports more than Babeltrace, and why;
//! `docs/guide/foreign-traces.md` has a table of the results.

use std::path::{Path, PathBuf};
use std::process::Command;

use trace::{find_traces, Event, LossKind, LossMessage, Merge, Message, Metadata, Ns, Trace};

use super::{notation, program, shown_context};

/// What this crate reports of a trace that Babeltrace reads without a word: the folder, a part of
/// each report, and why this crate is right to report.
const DIFFERENCES: [(&str, &[&str], &str); 3] = [
    (
        "intersection/3eventsintersectreverse",
        &["packets are of trace"],
        "packets must have the metadata's UUID (CTF 1.8, section 5.1); Babeltrace does not compare",
    ),
    (
        "intersection/onestream",
        &["packets are of trace"],
        "packets must have the metadata's UUID (CTF 1.8, section 5.1); Babeltrace does not compare",
    ),
    (
        "succeed/lttng-event-after-packet",
        &["a counter of the packet context went from 0 to 0"],
        "two packets of one stream have the same number: one stands for another that is missing",
    ),
];

fn collection() -> PathBuf {
    std::env::var("LULL_COLLECTION").expect("tests/foreign/collection names the folder").into()
}

/// What one reader says of a trace: lines of events and of losses, in any order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    events: Vec<String>,
    losses: Vec<String>,
}

impl Account {
    fn sorted(mut self) -> Self {
        // Events of the same nanosecond may come in either order.
        self.events.sort();
        self.losses.sort();
        self
    }
}

fn seconds(Ns(ns): Ns) -> String {
    format!("{}.{:09}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000))
}

/// What Babeltrace prints before an event's name: the host, and the process if the trace is of one.
fn origin(metadata: &Metadata) -> String {
    let text = |key| metadata.environment_text(key).unwrap_or_default();
    let pid = match metadata.environment_value("vpid") {
        Some(trace::EnvironmentValue::Number(pid)) => format!("({pid})"),
        _ => String::new(),
    };
    let parts = [text("hostname"), text("procname"), &pid];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{} ", parts.join(":")),
    }
}

fn event_line(event: &Event<'_>, trace: &Trace) -> String {
    let mut context = notation::Notation::default();
    event.packet_context(&mut context).unwrap();
    let context = shown_context(&context.text);
    let mut scopes = notation::scopes(event);
    if !context.is_empty() {
        scopes.insert(0, format!("{{{context} }}"));
    }
    let time = match event.clock() {
        Some(_) => format!("[{}] ", seconds(event.time_ns())),
        None => String::new(),
    };
    let origin = origin(trace.metadata());
    format!("{time}{origin}{}: {}", event.name(), scopes.join(", ")).trim_end().to_string()
}

fn loss_line(loss: &LossMessage<'_>) -> String {
    let kind = match loss.loss.kind {
        LossKind::Events => "events",
        LossKind::Packets => "packets",
    };
    match loss.begin_ns().zip(loss.until_ns()) {
        Some((begin, until)) => {
            format!(
                "{} {kind} between [{}] and [{}]",
                loss.loss.count,
                seconds(begin),
                seconds(until)
            )
        }
        None => format!("{} {kind} (unknown time range)", loss.loss.count),
    }
}

/// This crate's account of all traces in or below a folder, and its reports.
fn own(folder: &Path) -> (Account, Vec<String>) {
    let folders = find_traces(folder).unwrap();
    let traces: Vec<Trace> = folders.iter().map(|folder| Trace::open(folder).unwrap()).collect();
    let mut merge = Merge::over(&traces);
    let mut account = Account::default();
    let mut before = Ns(i64::MIN);
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                assert!(before <= event.time_ns(), "not in time order");
                before = event.time_ns();
                account.events.push(event_line(&event, &traces[event.trace_index()]));
            }
            Message::Loss(loss) => account.losses.push(loss_line(&loss)),
        }
    }
    let reports = merge.problems().iter().map(ToString::to_string).collect();
    (account.sorted(), reports)
}

/// A string's escapes undone, as `notation` shows strings.
fn unescaped(line: &str) -> String {
    let mut shown = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        shown.push(match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            (other, _) => other,
        });
    }
    shown
}

/// Babeltrace's account.
fn babeltrace(folder: &Path) -> Account {
    let output = Command::new(program())
        .args(["--clock-seconds", "--no-delta"])
        .arg(folder)
        .env("BABELTRACE_TERM_COLOR", "never")
        .output()
        .expect("tests/foreign/collection fetches Babeltrace");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "babeltrace2 failed on {}: {errors}", folder.display());
    let lost = errors.lines().filter_map(|line| line.strip_prefix("WARNING: Tracer discarded "));
    let losses = lost.map(|line| {
        let range = line.split(" in trace ").next().unwrap_or_default();
        range
            .replace(" packet between", " packets between")
            .replace(" event between", " events between")
    });
    let events = String::from_utf8_lossy(&output.stdout);
    let events = events.lines().map(|line| unescaped(line.trim_end()));
    Account { losses: losses.collect(), events: events.collect() }.sorted()
}

/// Folders with traces that are valid, as Babeltrace's tests say.
fn valid() -> Vec<String> {
    let mut names = vec!["deterministic-ordering/b-not-corrupted".to_string()];
    for group in ["succeed", "intersection", "packet_seq_num"] {
        for entry in std::fs::read_dir(collection().join(group)).unwrap() {
            names.push(format!("{group}/{}", entry.unwrap().file_name().to_string_lossy()));
        }
    }
    names.sort();
    names
}

#[test]
fn valid_traces_of_babeltraces_tests_read_alike() {
    let mut wrong = Vec::new();
    for name in valid() {
        let folder = collection().join(&name);
        let theirs = babeltrace(&folder);
        let (ours, reports) = own(&folder);
        let expected =
            DIFFERENCES.iter().find(|(of, ..)| *of == name).map_or(&[][..], |(_, r, _)| r);
        println!("{name}: {} events, {:?}", theirs.events.len(), theirs.losses);
        for (ours, theirs) in [(&ours.events, &theirs.events), (&ours.losses, &theirs.losses)] {
            let only_ours = ours.iter().find(|line| theirs.binary_search(line).is_err());
            let only_theirs = theirs.iter().find(|line| ours.binary_search(line).is_err());
            if ours != theirs {
                wrong.push(format!(
                    "{name}: {} and {} lines\n ours   {only_ours:?}\n theirs {only_theirs:?}",
                    ours.len(),
                    theirs.len()
                ));
            }
        }
        let is_told = |report: &String| expected.iter().any(|part| report.contains(part));
        if reports.is_empty() != expected.is_empty() || !reports.iter().all(is_told) {
            wrong.push(format!("{name}: reports {reports:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
