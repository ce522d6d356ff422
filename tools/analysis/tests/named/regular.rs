// SPDX-License-Identifier: MIT
//! What happens at regular intervals, and when something left its usual range.

use analysis::Question;
use serde_json::json;
use testkit::program::{Number, Program, Who};

use super::machine::{IDLE, SLEEPS};
use super::{asked, rows};

const APP: Who = (10, 10, "app");
const OTHER: Who = (20, 20, "other");
const MS: u64 = 1_000_000;

#[test]
fn periodic_tasks_have_their_period_jitter_and_misses() {
    let mut program = Program::new();
    for i in 0..100u64 {
        // Each tenth comes 100 us late; the 50th, 51st and 52nd do not come.
        let late = if i % 10 == 9 { MS / 10 } else { 0 };
        if !(50..53).contains(&i) {
            program.event(MS + i * MS + late, 0, APP, "frame", &[]);
        }
        program.event(MS + i * i * 7_000, 0, OTHER, "odd", &[]);
        // Calls one after the other, in two bursts 50 ms apart.
        program.event(MS + i / 50 * 50 * MS + i % 50 * 1_000, 0, OTHER, "burst", &[]);
    }
    let answer = asked(&program, "periodic", &Question::default());
    // 96 intervals; the late one of each ten makes two of them differ by 100 us: that of 49, which
    // begins four periods long, and 19 others.
    let keys = ["thread", "event", "count", "period_ns", "jitter_ns", "max_jitter_ns"];
    assert_eq!(
        rows(&answer, "tasks", &keys),
        json!([["app[10]", "frame", 97, MS, 19 * MS / 10 / 96, MS / 10]])
    );
    assert_eq!(rows(&answer, "tasks", &["late", "missed"]), json!([[1, 3]]));
    // From 49, which was late, to 53.
    assert_eq!(
        rows(&answer, "misses", &["thread", "begin_ns", "interval_ns", "missed"]),
        json!([["app[10]", 50 * MS + MS / 10, 4 * MS - MS / 10, 3]])
    );
}

#[test]
fn thread_that_wakes_up_regularly_is_periodic() {
    let mut program = Program::new();
    for i in 0..20u64 {
        let at = MS + i * MS;
        program.wakeup((at, 0), IDLE, APP);
        program.switch((at + 10, 0), (IDLE, 0), APP);
        program.switch((at + 500, 0), (APP, SLEEPS), IDLE);
    }
    let answer = asked(&program, "periodic", &Question::default());
    let found = rows(&answer, "tasks", &["thread", "event", "count", "period_ns", "missed"]);
    assert!(
        found.as_array().unwrap().contains(&json!(["app[10]", "(wakes up)", 19, MS, 0])),
        "{found}"
    );
}

#[test]
fn windows_in_which_rate_or_latency_is_unusual_are_told_with_the_usual_range() {
    let mut program = Program::new();
    // In all 200 ms 100 reads of 1 us each per ms; from 80 ms on they take 50 us for 4 ms, and
    // from 120 to 124 ms there are ten times as many ticks.
    for ms in 0..200u64 {
        for i in 0..10 {
            let begin = ms * MS + i * MS / 10;
            let ns = if (80..84).contains(&ms) { 50_000 } else { 1_000 };
            program.event(begin, 0, APP, "io:read_entry", &[("fd", Number(3))]);
            program.event(begin + ns, 0, APP, "io:read_exit", &[("result", Number(1))]);
            let ticks = if (120..124).contains(&ms) { 10 } else { 1 };
            for tick in 0..ticks {
                program.event(begin + 60_000 + tick, 0, APP, "tick", &[]);
            }
        }
    }
    let answer = asked(&program, "unusual", &Question::default());
    let json = serde_json::to_value(&answer).unwrap();
    let width = json["facts"]["window_ns"].as_u64().unwrap();
    assert_eq!(width, 1 << 20);
    let found = rows(&answer, "windows", &["what", "name", "begin_ns", "duration_ns", "usual"]);
    let found = found.as_array().unwrap().clone();
    let of = |name: &str| found.iter().find(|row| row[1] == name).cloned().unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    let begin_of = |row: &serde_json::Value| row[2].as_u64().unwrap();
    let until_of = |row: &serde_json::Value| begin_of(row) + row[3].as_u64().unwrap();
    let reads = of("io:read");
    assert!(reads[0] == "latency" && reads[4] == 1000, "{reads}");
    assert!(begin_of(&reads) <= 80 * MS && until_of(&reads) >= 83 * MS, "{reads}");
    let ticks = of("tick");
    assert!(ticks[0] == "rate" && (ticks[4].as_f64().unwrap() - 10.5).abs() < 1.0, "{ticks}");
    assert!(begin_of(&ticks) <= 120 * MS && until_of(&ticks) >= 123 * MS, "{ticks}");
    let at_most = found
        .iter()
        .map(|row| row[1].clone())
        .zip(rows(&answer, "windows", &["value", "usual_max"]).as_array().unwrap().clone());
    for (name, value) in at_most {
        assert!(value[0].as_f64() > value[1].as_f64(), "{name}: {value}");
    }
}
