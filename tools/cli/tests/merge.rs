// SPDX-License-Identifier: MIT
//! `lull merge` on traces of machines whose clocks are apart by what the test knows.
//!
//! Place in the flow: the comparison of clocks is tested beside its code; here is the whole way
//! from traces to one time line, and what the command says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use testkit::{Datum, Kind, Order, Random, Spec, StreamWriter, TraceFolder};
use trace::{find_traces, Merge, Message, Trace};

const RULE: &str = "net:send id = net:receive id";
const S: u64 = 1_000_000_000;

/// A machine: when its clock reads 0 by the true time, and how much faster than that it runs.
#[derive(Clone, Copy)]
struct Machine {
    ahead_ns: i64,
    drift: f64,
}

impl Machine {
    fn clock(&self, true_ns: u64) -> u64 {
        let drifted = (true_ns as f64 * self.drift).round() as i64;
        (true_ns as i64 + self.ahead_ns + drifted) as u64
    }
}

/// An event: true time, whether it sends, and its message.
type Happened = (u64, bool, u64);

fn spec() -> Spec {
    let order = Order::Little;
    let id = || Kind::structure(vec![("id", Kind::u(64, order))]);
    let mut spec = Spec::lull(order, vec![(1, "net:send", id()), (2, "net:receive", id())]);
    spec.frequency_hz = S;
    spec
}

fn write(machine: Machine, events: &[Happened]) -> TraceFolder {
    let spec = spec();
    let mut events = events.to_vec();
    events.sort();
    let mut writer = StreamWriter::new(&spec, 0);
    for packet in events.chunks(100) {
        writer.begin_packet(machine.clock(packet[0].0));
        for (true_ns, sends, id) in packet {
            let class = if *sends { 1 } else { 2 };
            let fields = Datum::List(vec![Datum::Unsigned(*id)]);
            writer.event(class, machine.clock(*true_ns), fields);
        }
        writer.end_packet(machine.clock(packet[packet.len() - 1].0), 0);
    }
    TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap()
}

/// Messages both ways between two machines, each from 50 us on its way.
fn talk(random: &mut Random, first_id: u64) -> (Vec<Happened>, Vec<Happened>) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for number in 0..400 {
        let (at, id) = (10 * S + number * S / 20, first_id + 2 * number);
        a.push((at, true, id));
        b.push((at + 50_000 + random.below(2_000_000), false, id));
        let at = at + 10_000_000;
        b.push((at, true, id + 1));
        a.push((at + 50_000 + random.below(900_000), false, id + 1));
    }
    (a, b)
}

fn merge(folders: &[&TraceFolder], to: &Path, more: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
    command.arg("merge").args(folders.iter().map(|folder| folder.path()));
    let done = command.arg("-o").arg(to).args(more).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done, said)
}

fn summary(done: &Output) -> Value {
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Of each message of a merged folder, how long it was on its way, by its identifier.
fn delays(folder: &Path) -> Vec<(u64, i64)> {
    let folders: Vec<PathBuf> = find_traces(folder).unwrap();
    let traces: Vec<_> = folders.iter().map(|path| Trace::open(path).unwrap()).collect();
    let mut merge = Merge::over(&traces);
    let mut sent = std::collections::BTreeMap::new();
    let mut received = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        let id = event.value(0).and_then(|value| value.as_u64()).unwrap();
        match event.name() {
            "net:send" => drop(sent.insert(id, event.time_ns().0)),
            _ => received.push((id, event.time_ns().0)),
        }
    }
    assert_eq!(merge.problems(), []);
    received.into_iter().filter_map(|(id, ns)| Some((id, ns - sent.get(&id)?))).collect()
}

const A: Machine = Machine { ahead_ns: 0, drift: 0.0 };
const B: Machine = Machine { ahead_ns: 3_600_000_000_000, drift: 4e-5 };
const C: Machine = Machine { ahead_ns: -7_000_000_000, drift: -2e-5 };

#[test]
fn three_machines_get_one_time_line_within_the_bounds_that_are_told() {
    let random = &mut Random::new(1);
    let (a, mut b) = talk(random, 0);
    let (more, c) = talk(random, 10_000);
    b.extend(more);
    let (a, b, c) = (write(A, &a), write(B, &b), write(C, &c));
    let root = TraceFolder::new("", &[]).unwrap();
    let to = root.path().join("all");
    let (done, said) = merge(&[&a, &b, &c], &to, &["--match", RULE, "--json"]);
    assert_eq!(done.status.code(), Some(0), "{said}");
    let summary = summary(&done);
    assert_eq!(summary["messages"]["matched"], 1600);
    assert_eq!(summary["violations"], Value::Array(Vec::new()));
    // Nothing goes from the first machine to the third: the second is between them.
    for (number, machine) in [(1, B), (2, C)] {
        let clock = &summary["traces"][number]["clock"];
        assert_eq!(clock["known_by"], "messages");
        let error = clock["error_ns"].as_f64().unwrap();
        assert!(error < 300_000.0 * number as f64, "{clock}");
        let at_ns = clock["moved_at_ns"].as_i64().unwrap();
        let read_ns = at_ns - 1_700_000_000 * S as i64;
        let true_ns = (read_ns - machine.ahead_ns) as f64 / (1.0 + machine.drift);
        let off = clock["moved_ns"].as_f64().unwrap() + read_ns as f64 - true_ns;
        assert!(off.abs() <= error + 1000.0, "{off} {clock}");
    }
    let delays = delays(&to);
    assert_eq!(delays.len(), 1600);
    assert!(delays.iter().all(|(_, ns)| (0..3_000_000).contains(ns)));
}

#[test]
fn a_message_that_arrives_before_it_was_sent_is_reported_and_not_used() {
    let (a, mut b) = talk(&mut Random::new(2), 0);
    let wrong = b.iter_mut().find(|(_, sends, id)| !sends && *id == 200).unwrap();
    wrong.0 -= 30_000_000;
    let (a, b) = (write(A, &a), write(B, &b));
    let root = TraceFolder::new("", &[]).unwrap();
    let (done, said) = merge(&[&a, &b], &root.path().join("all"), &["--match", RULE, "--json"]);
    assert_eq!(done.status.code(), Some(1), "{said}");
    let summary = summary(&done);
    assert_eq!(summary["violations"].as_array().unwrap().len(), 1, "{summary}");
    let early = summary["violations"][0]["early_ns"].as_i64().unwrap();
    assert!((26_000_000..30_000_000).contains(&early), "{early}");
    assert!(delays(&root.path().join("all")).iter().all(|(id, ns)| *id == 200 || *ns > 0));
}

#[test]
fn without_messages_times_stay_and_that_is_said() {
    let (a, b) = talk(&mut Random::new(3), 0);
    let (a, b) = (write(A, &a), write(B, &b));
    let root = TraceFolder::new("", &[]).unwrap();
    let (done, said) = merge(&[&a, &b], &root.path().join("all"), &[]);
    assert_eq!(done.status.code(), Some(1));
    assert!(said.contains("no message tells of its clock"), "{said}");
    let hour = delays(&root.path().join("all"));
    assert!(hour.iter().all(|(_, ns)| ns.abs() > 3_000_000_000_000));
}

/// A recording of one machine, whose counter it took to run at a rate of its own: events by the
/// counter's value.
fn recorded(frequency_hz: u64, kind: &str, events: &[Happened]) -> TraceFolder {
    let spec = Spec { frequency_hz, offset_s: 1_700_000_000 + events.len() as i64, ..spec() };
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(events[0].0);
    for (cycles, sends, id) in events {
        let class = if *sends { 1 } else { 2 };
        writer.event(class, *cycles, Datum::List(vec![Datum::Unsigned(*id)]));
    }
    writer.end_packet(events[events.len() - 1].0, 0);
    let boot = "uuid = \"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\"; name = \"monotonic\";";
    let metadata = spec.metadata().replace("name = \"monotonic\";", boot);
    let kind = format!("tracer_major = 1; clock_kind = \"{kind}\";");
    let metadata = metadata.replace("tracer_major = 1;", &kind);
    TraceFolder::new(&metadata, &[writer.finish().0]).unwrap()
}

#[test]
fn recordings_of_one_machine_have_one_counter_whatever_rate_each_measured() {
    // After six days a message takes 100 ns, each ten minutes.
    let at = |number: u64| 1_100_000_000_000_000 + number * 1_260_000_000_000;
    let sent: Vec<_> = (0..9).map(|number| (at(number), true, number)).collect();
    let received: Vec<_> = (0..7).map(|number| (at(number) + 210, false, number)).collect();
    let first = recorded(2_100_000_206, "tsc", &sent);
    let root = TraceFolder::new("", &[]).unwrap();
    for (kind, known_by, status) in [("tsc", "same clock", 0), ("monotonic", "own clock", 1)] {
        let second = recorded(2_100_000_561, kind, &received);
        let to = root.path().join(kind);
        let (done, said) = merge(&[&first, &second], &to, &["--json"]);
        assert_eq!(done.status.code(), Some(status), "{said}");
        assert_eq!(summary(&done)["traces"][1]["clock"]["known_by"], known_by);
        let delays = delays(&to);
        assert_eq!(delays.len(), 7);
        let is_near = |(_, ns): &(u64, i64)| (98..=102).contains(ns);
        assert_eq!(delays.iter().all(is_near), kind == "tsc", "{delays:?}");
    }
}

#[test]
fn mistakes_leave_nothing_behind() {
    let (a, b) = talk(&mut Random::new(4), 0);
    let (a, b) = (write(A, &a), write(B, &b));
    let root = TraceFolder::new("", &[]).unwrap();
    let to = root.path().join("all");
    let refused = |folders: &[&TraceFolder], more: &[&str], why: &str| {
        let (done, said) = merge(folders, &to, more);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
        assert!(!to.exists());
    };
    refused(&[&a, &a], &[], "there is only one trace");
    refused(&[&a, &b], &["--match", "net:send"], "write 'EVENT FIELD = EVENT FIELD'");
    refused(&[&a, &b], &["--match", "net:send id = net:receive no"], "the receiving event of");
    for to in [a.path().to_path_buf(), b.path().join("all")] {
        let (done, said) = merge(&[&a, &b], &to, &[]);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("choose another directory"), "{said}");
    }
    assert!(!b.path().join("all").exists());
}
