// SPDX-License-Identifier: MIT
//! Rows of locks: where they stand, what they show, and what is told of a holding.

use testkit::program::{Number, Program, Text, Who};

use super::statistics::shown;
use super::{ask, slices_of, Viewed};

const A: Who = (10, 10, "a");
const B: Who = (10, 11, "b");
const C: Who = (10, 12, "c");

/// B holds the mutex from 160 to 200, and C waits for it from 120 to 210.
fn contended() -> Viewed {
    let mut program = Program::new();
    let p = &mut program;
    let mutex = [("mutex", Number(0xa0))];
    p.event(100, 0, B, "mutex:wait_entry", &mutex);
    p.event(120, 1, C, "mutex:wait_entry", &mutex);
    p.event(150, 0, A, "mutex:unlock", &mutex);
    p.event(160, 0, B, "mutex:wait_exit", &mutex);
    p.event(200, 0, B, "mutex:unlock", &mutex);
    p.event(210, 1, C, "mutex:wait_exit", &mutex);
    p.event(300, 0, A, "tick", &[]);
    shown(program)
}

#[test]
fn locks_are_a_group_of_their_process_below_its_threads_and_found_by_address() {
    let viewed = contended();
    let found = ask(&viewed, "v1/tracks");
    let tracks = found["tracks"].as_array().unwrap();
    let [.., thread, group, lock] = tracks.as_slice() else { panic!("{found}") };
    assert_eq!((&thread["kind"], &thread["name"]), (&"thread".into(), &"c[12]".into()));
    assert_eq!((&group["kind"], &group["name"]), (&"locks".into(), &"locks".into()));
    assert_eq!(group["parent"], thread["parent"]);
    assert_eq!((&lock["kind"], &lock["name"]), (&"lock".into(), &"mutex 0xa0".into()));
    assert_eq!((&lock["parent"], &lock["pid"]), (&group["id"], &10.into()));
    assert_eq!(lock["lanes"], serde_json::json!({ "holder": 1, "queue": 1 }));
    let found = ask(&viewed, "v1/tracks?match=0xa");
    assert_eq!(found["total"], 4, "the lock, its group, their process, the machine");
}

#[test]
fn a_lock_in_the_memory_of_a_file_is_called_by_what_it_is_there() {
    let mut program = Program::new();
    let p = &mut program;
    let object = [("base", Number(0x80)), ("bytes", Number(0x40)), ("path", Text("/gone/server"))];
    p.event(90, 0, A, "process:object", &object);
    for (begin, address) in [(100, 0xa0), (120, 0x10a0)] {
        p.event(begin, 0, A, "mutex:wait_entry", &[("mutex", Number(address))]);
        p.event(begin + 10, 0, A, "mutex:wait_exit", &[("mutex", Number(address))]);
    }
    let found = ask(&shown(program), "v1/tracks?match=mutex");
    let names = found["tracks"].as_array().unwrap().iter().map(|track| track["name"].clone());
    let names: Vec<_> = names.skip_while(|name| name != "locks").skip(1).collect();
    assert_eq!(names, ["server+0x20 mutex 0xa0", "mutex 0x10a0"]);
}

#[test]
fn slices_of_a_lock_say_who_holds_it_how_sure_that_is_and_how_many_wait() {
    let viewed = contended();
    let id = lock_id(&viewed);
    let drawn = ask(&viewed, &format!("v1/slices?from=0&until=200&pixels=200&tracks={id}"));
    let rows = drawn["rows"].as_array().unwrap();
    let row_of = |kind: &str| rows.iter().find(|row| row["kind"] == kind).unwrap();
    let told = |kind: &str| -> Vec<(i64, i64, String, String)> {
        let row = row_of(kind);
        let told = slices_of(row).into_iter().map(|slice| {
            let said = &drawn["values"][slice.value];
            let text = |key: &str| said[key].as_str().unwrap().to_string();
            (slice.begin, slice.end, text("look"), text("name"))
        });
        told.collect()
    };
    let row = |begin, end, look: &str, name: &str| (begin, end, look.into(), name.into());
    let wanted = [
        row(0, 50, "unheld", "until a[10] let go"),
        row(50, 60, "unheld", "let go by a[10]"),
        row(60, 100, "held", "b[11]"),
        row(100, 110, "unheld", "let go by b[11]"),
        row(110, 200, "held", "c[12]"),
    ];
    assert_eq!(told("holder"), wanted);
    assert_eq!(row_of("holder")["goes_on"], serde_json::json!([4]), "C never lets go of it");
    let wanted = [
        row(0, 20, "queue", "1 waiting"),
        row(20, 60, "queue", "2 waiting"),
        row(60, 110, "queue", "1 waiting"),
    ];
    assert_eq!(told("queue"), wanted);
}

fn lock_id(viewed: &Viewed) -> String {
    let found = ask(viewed, "v1/tracks");
    let tracks = found["tracks"].as_array().unwrap();
    let lock = tracks.iter().find(|track| track["kind"] == "lock").unwrap();
    lock["id"].as_str().unwrap().into()
}

#[test]
fn details_of_a_holding_have_the_holder_the_waits_and_the_rows_of_their_threads() {
    let viewed = contended();
    let found = ask(&viewed, "v1/tracks");
    let row_of = |name: &str| {
        let is_it = |track: &&serde_json::Value| track["name"] == name && track["kind"] == "thread";
        found["tracks"].as_array().unwrap().iter().find(is_it).unwrap()["id"].clone()
    };
    let told = ask(&viewed, &format!("v1/details?track={}&at=80", lock_id(&viewed)));
    let holder = told["states"].as_array().unwrap().iter().find(|s| s["kind"] == "holder").unwrap();
    assert_eq!((&holder["begin"], &holder["until"]), (&60.into(), &100.into()));
    assert_eq!((&holder["label"], &holder["thread"]), (&"held by b[11]".into(), &row_of("b[11]")));
    assert_eq!(told["waits"]["count"], 1, "C waited meanwhile, and B no more: {told}");
    let wait = &told["waits"]["states"][0];
    assert_eq!((&wait["begin"], &wait["until"]), (&20.into(), &110.into()));
    assert_eq!((&wait["label"], &wait["thread"]), (&"awaited by c[12]".into(), &row_of("c[12]")));
}

#[test]
fn statistics_of_a_lock_are_those_of_its_holdings_and_of_a_machine_they_are_left_out() {
    let viewed = contended();
    let of = |track: &str| {
        let told = ask(&viewed, &format!("v1/statistics?from=0&until=500&track={track}"));
        let rows = told["rows"].as_array().unwrap().clone();
        rows.into_iter().filter(|row| row["kind"] == "holder").collect::<Vec<_>>()
    };
    let id = lock_id(&viewed);
    let group = ask(&viewed, "v1/tracks")["tracks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|track| track["kind"] == "locks")
        .unwrap()["id"]
        .as_str()
        .unwrap()
        .to_string();
    for track in [id.as_str(), group.as_str()] {
        let rows = of(track);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (&row["name"], &row["count"], &row["total_ns"], &row["cut"]))
            .collect();
        // That of C goes on when the trace ends, so its duration is not known.
        let wanted = [("c[12]", 0, 0, 1), ("b[11]", 1, 40, 0)]
            .map(|(name, count, total, cut)| (name.into(), count.into(), total.into(), cut.into()));
        let wanted: Vec<_> = wanted.iter().map(|(a, b, c, d)| (a, b, c, d)).collect();
        assert_eq!(told, wanted, "{track}");
    }
    assert!(of("h0").is_empty() && of("").is_empty());
}

#[test]
fn more_locks_than_have_a_row_are_counted_in_the_name_of_their_group() {
    let mut program = Program::new();
    for number in 0..600 {
        let at = 1000 + number * 10;
        let mutex = [("mutex", Number(0x1000 + number as i64 * 64))];
        program.event(at, 0, A, "mutex:wait_entry", &mutex);
        program.event(at + 5, 0, A, "mutex:wait_exit", &mutex);
    }
    let found = ask(&shown(program), "v1/tracks");
    let tracks = found["tracks"].as_array().unwrap();
    assert_eq!(tracks.iter().filter(|track| track["kind"] == "lock").count(), 512);
    let group = tracks.iter().find(|track| track["kind"] == "locks").unwrap();
    assert_eq!(group["name"], "locks (512 of 600 have a row)");
}
