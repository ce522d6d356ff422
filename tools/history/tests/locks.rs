// SPDX-License-Identifier: MIT
//! Who held a lock in small traces, worked out by hand.

use history::{Bounds, History, Kind, LockPlace, Subject};
use state::Within;
use testkit::program::{Number, Program, Text, Who};
use trace::{Span, Trace};

const A: Who = (10, 10, "a");
const B: Who = (10, 11, "b");
const C: Who = (10, 12, "c");

fn history(program: &Program) -> History {
    let (metadata, streams) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), streams).unwrap()];
    History::within(&traces, Bounds { segment: 2, ..Bounds::default() }, |_| {}).unwrap()
}

/// The intervals of a kind of the lock at an address: begin, end, state in words.
fn told(history: &History, address: u64, kind: Kind) -> Vec<(i64, i64, String)> {
    let is_it =
        |subject: &Subject| matches!(subject, Subject::Lock { address: at, .. } if *at == address);
    let lock = history.subjects().find(is_it).expect("the lock was waited for");
    let tracks = history.intervals(lock, &Span::ALL).unwrap();
    let of_kind = tracks.into_iter().filter(|(track, _)| track.kind == kind);
    let told = of_kind.flat_map(|(_, intervals)| intervals);
    told.map(|i| (i.begin.0, i.end.0, history.names().value(&i.value))).collect()
}

fn rows<const N: usize>(wanted: [(i64, i64, &str); N]) -> Vec<(i64, i64, String)> {
    wanted.into_iter().map(|(begin, end, text)| (begin, end, text.into())).collect()
}

fn mutex() -> [(&'static str, testkit::program::Value); 1] {
    [("mutex", Number(0xa0))]
}

fn condition() -> [(&'static str, testkit::program::Value); 2] {
    [("cond", Number(0xc0)), ("mutex", Number(0xa0))]
}

#[test]
fn a_holding_is_told_from_wait_to_unlock_and_what_no_event_told_is_not_made_up() {
    let mut program = Program::new();
    let p = &mut program;
    // A has the mutex, and no event told that it took it.
    p.event(100, 0, B, "mutex:wait_entry", &mutex());
    p.event(120, 1, C, "mutex:wait_entry", &mutex());
    p.event(150, 0, A, "mutex:unlock", &mutex());
    p.event(160, 0, B, "mutex:wait_exit", &mutex());
    p.event(200, 0, B, "mutex:unlock", &mutex());
    p.event(210, 1, C, "mutex:wait_exit", &mutex());
    // C waits for a condition, which lets the mutex go, and A has it once more without a wait.
    p.event(250, 1, C, "cond:wait_entry", &condition());
    p.event(300, 0, A, "mutex:unlock", &mutex());
    p.event(320, 1, C, "cond:wait_exit", &[("cond", Number(0xc0)), ("result", Number(110))]);
    p.event(400, 0, A, "tick", &[]);
    let history = history(&program);
    let wanted = rows([
        (100, 150, "a[10] let it go at the end, and took it without a wait"),
        (150, 160, "let go by a[10]"),
        (160, 200, "held by b[11]"),
        (200, 210, "let go by b[11]"),
        (210, 250, "held by c[12]"),
        (250, 300, "let go by c[12]; a[10] let it go at the end, and took it without a wait"),
        (300, 320, "let go by a[10]"),
        (320, 400, "got by c[12]; when it let it go is not recorded"),
    ]);
    assert_eq!(told(&history, 0xa0, Kind::Holder), wanted);
    let wanted = rows([(100, 120, "1 waiting"), (120, 160, "2 waiting"), (160, 210, "1 waiting")]);
    assert_eq!(told(&history, 0xa0, Kind::Queue), wanted);
    assert_eq!(told(&history, 0xc0, Kind::Queue), rows([(250, 320, "1 waiting")]));
    assert!(told(&history, 0xc0, Kind::Holder).is_empty(), "nobody holds a condition");
}

#[test]
fn without_unlocks_a_lock_is_got_and_nobody_is_said_to_hold_it() {
    let mut program = Program::new();
    let p = &mut program;
    p.event(100, 0, A, "mutex:wait_entry", &mutex());
    p.event(110, 0, A, "mutex:wait_exit", &mutex());
    p.event(120, 0, B, "mutex:wait_entry", &mutex());
    p.event(130, 0, B, "mutex:wait_exit", &mutex());
    p.event(140, 0, A, "tick", &[]);
    let history = history(&program);
    let wanted = rows([
        (100, 110, "who holds it is not known"),
        (110, 130, "got by a[10]; when it let it go is not recorded"),
        (130, 140, "got by b[11]; when it let it go is not recorded"),
    ]);
    assert_eq!(told(&history, 0xa0, Kind::Holder), wanted);
}

#[test]
fn after_lost_events_nothing_is_believed_of_a_lock_until_it_is_told_again() {
    let mut program = Program::new();
    let p = &mut program;
    p.event(100, 0, B, "mutex:wait_entry", &mutex());
    p.event(120, 0, A, "mutex:unlock", &mutex());
    p.event(130, 0, B, "mutex:wait_exit", &mutex());
    p.event(190, 0, A, "tick", &[]);
    p.end_packet(200, 0, [0; 4]);
    // Three events are missing somewhere from 200 to 600: the unlock may be one of them.
    p.event(400, 0, A, "mutex:unlock", &mutex());
    p.end_packet(600, 0, [3, 0, 0, 0]);
    p.event(700, 0, A, "tick", &[]);
    p.event(800, 0, C, "mutex:wait_entry", &mutex());
    p.event(820, 0, B, "mutex:unlock", &mutex());
    p.event(830, 0, C, "mutex:wait_exit", &mutex());
    p.event(900, 0, A, "tick", &[]);
    let history = history(&program);
    let lost: Vec<_> = history.losses().iter().map(|l| (l.count, l.begin.0, l.until.0)).collect();
    assert_eq!(lost, [(3, 200, 600)]);
    let wanted = rows([
        (100, 120, "a[10] let it go at the end, and took it without a wait"),
        (120, 130, "let go by a[10]"),
        (130, 200, "held by b[11]"),
        (800, 820, "b[11] let it go at the end, and took it without a wait"),
        (820, 830, "let go by b[11]"),
        (830, 900, "held by c[12]"),
    ]);
    assert_eq!(told(&history, 0xa0, Kind::Holder), wanted);
}

#[test]
fn readers_hold_a_lock_together_and_a_writer_alone() {
    let mut program = Program::new();
    let p = &mut program;
    let rwlock = || [("rwlock", Number(0xb0))];
    let entry = |kind| [("rwlock", Number(0xb0)), ("kind", Number(kind))];
    for (at, who) in [(100, A), (110, B)] {
        p.event(at, 0, who, "rwlock:wait_entry", &entry(0));
    }
    p.event(120, 1, C, "rwlock:unlock", &rwlock());
    p.event(130, 0, A, "rwlock:wait_exit", &rwlock());
    p.event(140, 0, B, "rwlock:wait_exit", &rwlock());
    p.event(150, 1, C, "rwlock:wait_entry", &entry(1));
    p.event(160, 0, A, "rwlock:unlock", &rwlock());
    p.event(170, 0, B, "rwlock:unlock", &rwlock());
    p.event(180, 1, C, "rwlock:wait_exit", &rwlock());
    p.event(190, 1, C, "process:exit", &[("status", Number(0))]);
    p.event(200, 0, A, "tick", &[]);
    let history = history(&program);
    let wanted = rows([
        (100, 120, "c[12] let it go at the end, and took it without a wait"),
        (120, 130, "let go by c[12]"),
        (130, 160, "held by a[10]"),
        (170, 180, "let go by b[11]"),
        (180, 190, "held by c[12]"),
        (140, 170, "held by b[11]"),
    ]);
    assert_eq!(told(&history, 0xb0, Kind::Holder), wanted, "the second reader's lane comes last");
}

#[test]
fn who_waited_too_long_has_nothing_and_who_gets_a_dead_threads_mutex_has_it() {
    let mut program = Program::new();
    let p = &mut program;
    let exit = |error| [("mutex", Number(0xa0)), ("result", Number(error))];
    p.event(100, 0, A, "mutex:wait_entry", &mutex());
    p.event(110, 0, A, "mutex:wait_exit", &exit(110));
    p.event(120, 0, B, "mutex:wait_entry", &mutex());
    p.event(130, 0, B, "mutex:wait_exit", &exit(130));
    p.event(140, 0, B, "mutex:unlock", &mutex());
    p.event(150, 0, A, "tick", &[]);
    let history = history(&program);
    let wanted = rows([
        (100, 130, "who holds it is not known"),
        (130, 140, "held by b[11]"),
        (140, 150, "let go by b[11]"),
    ]);
    assert_eq!(told(&history, 0xa0, Kind::Holder), wanted);
}

#[test]
fn a_lock_in_the_memory_of_a_file_has_its_place_there_also_after_the_object_is_gone() {
    let mut program = Program::new();
    let p = &mut program;
    let at = |address| [("mutex", Number(address))];
    let object = [("base", Number(0x80)), ("bytes", Number(0x40)), ("path", Text("/bin/server"))];
    p.event(90, 0, A, "process:object", &object);
    for (begin, address) in [(100, 0xa0), (120, 0x10a0)] {
        p.event(begin, 0, A, "mutex:wait_entry", &at(address));
        p.event(begin + 10, 0, A, "mutex:wait_exit", &at(address));
    }
    let start = [("pid", Number(10)), ("parent_pid", Number(1)), ("path", Text("/bin/other"))];
    p.event(190, 0, A, "process:start", &start);
    p.event(200, 0, A, "tick", &[]);
    let history = history(&program);
    let [LockPlace { lock, place, .. }] = history.names().locks() else {
        panic!("{:?}", history.names().locks())
    };
    assert!(matches!(lock, Subject::Lock { address: 0xa0, .. }), "{lock:?}");
    assert_eq!(history.names().texts().text(place.file.path), "/bin/server");
    assert_eq!(place.within, Within::Object(0x20));
}
