// SPDX-License-Identifier: MIT
//! What is drawn, on a terminal in memory, and what keys do to it.

use super::frame::{verdict_so_far, Condition, CpuRow, Frame, Recorded};
use super::screen::{Action, Screen};
use super::views::{cut, View, VIEWS};
use super::{ending, status, text};
use crate::report::look::Look;
use analysis::live::{CallRow, LiveEventRow, Picture, Slowest, TaskRow, WaitRow};
use analysis::DistributionReport;
use control::Request;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use verdict::Lost;

fn task(name: &str, events_per_s: f64, slowest_ns: u64) -> TaskRow {
    TaskRow {
        name: name.into(),
        pid: Some(1),
        events_per_s,
        slowest: Some(Slowest { call: "io:read".into(), ns: slowest_ns }),
        ..TaskRow::default()
    }
}

fn durations(max_ns: u64) -> DistributionReport {
    DistributionReport { count: 3, max_ns, p99_ns: max_ns, ..DistributionReport::default() }
}

fn frame() -> Frame {
    let call = |name: &str, max_ns| CallRow {
        name: name.into(),
        calls_per_s: 2.0,
        failures: 0,
        duration: durations(max_ns),
        slowest_in: "worker[11]".into(),
    };
    let event = |name: &str, events_per_s| LiveEventRow {
        name: name.into(),
        events_per_s,
        bytes_per_s: 100.0,
        events: 7,
        share: 0.5,
    };
    let picture = Picture {
        events: 14,
        processes: vec![task("redis[1]", 5.0, 900), task("python[2]", 1500.0, 20)],
        threads: vec![task("worker[11]", 3.0, 9)],
        by_event: vec![event("io:read_entry", 3.0), event("mutex:wait_entry", 4.0)],
        calls: vec![call("io:read", 2_000), call("io:write", 9_000_000)],
        locks: vec![WaitRow {
            name: "mutex 0xa0".into(),
            pid: Some(1),
            process: "redis[1]".into(),
            waits_per_s: 3.0,
            waiting: 0.5,
            wait: durations(77_000),
            longest_in: "worker[11]".into(),
        }],
        ..Picture::default()
    };
    let recorded = Recorded { recorded_per_s: 1505.0, lost_per_s: 2.0, ..Recorded::default() };
    Frame {
        session: "web".into(),
        trace: "/t".into(),
        mode: "discard".into(),
        age_ns: 61_000_000_000,
        recorded: Some(recorded),
        is_followed: true,
        read_share: 1.0,
        verdict: "no event was counted as lost so far".into(),
        picture,
        cpus: vec![CpuRow { stream: "stream-cpu0".into(), cpu: Some(0), ..CpuRow::default() }],
        ..Frame::default()
    }
}

fn drawn_at(screen: &mut Screen, columns: u16, lines: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|canvas| screen.draw(canvas)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..lines).map(|y| line(y).trim_end().to_string()).collect()
}

fn drawn(screen: &mut Screen) -> Vec<String> {
    drawn_at(screen, 100, 20)
}

fn press(screen: &mut Screen, code: KeyCode) -> Action {
    screen.press(KeyEvent::new(code, KeyModifiers::NONE))
}

fn type_in(screen: &mut Screen, text: &str) {
    text.chars().for_each(|character| {
        assert_eq!(press(screen, KeyCode::Char(character)), Action::None);
    });
}

fn shown() -> Screen {
    let mut screen = Screen::new("");
    screen.show(frame());
    screen
}

/// The line of a name among those that are drawn.
fn position(lines: &[String], name: &str) -> Option<usize> {
    lines.iter().position(|line| line.starts_with(name))
}

#[test]
fn header_tabs_and_table_of_each_view_are_drawn() {
    let mut screen = shown();
    let lines = drawn(&mut screen);
    assert!(lines[0].starts_with("web  recording  1 min 01 s  discard"), "{lines:?}");
    assert!(lines[1].starts_with("events/s 1.50 k  bytes/s 0 B  lost/s 2.00"), "{lines:?}");
    assert_eq!(lines[2], "verdict  no event was counted as lost so far");
    assert!(lines[3].starts_with("1 processes  2 threads  3 events  4 calls  5 locks  6 CPUs"));
    assert!(lines[19].contains("by events/s") && lines[19].contains("? help"));
    let first = ["python[2]", "worker[11]", "mutex:wait_entry", "io:write", "mutex 0xa0", "stream"];
    for (number, name) in first.iter().enumerate() {
        let lines = drawn(&mut screen);
        assert!(lines[5].starts_with(name), "{name} is not first: {lines:?}");
        let key = char::from_digit(number as u32 + 2, 10).unwrap();
        press(&mut screen, KeyCode::Char(key));
    }
    press(&mut screen, KeyCode::Tab);
    assert!(drawn(&mut screen)[5].starts_with("python[2]"), "after the last comes the first");
}

#[test]
fn rows_are_put_in_order_of_each_column_in_turn() {
    let mut screen = shown();
    press(&mut screen, KeyCode::Char('4'));
    let order = |screen: &mut Screen| {
        let lines = drawn(screen);
        (position(&lines, "io:read") < position(&lines, "io:write"), lines[19].clone())
    };
    assert!(!order(&mut screen).0, "the slowest first");
    for _ in 0..View::Calls.columns().len() {
        press(&mut screen, KeyCode::Char('s'));
        let (is_by_name, footer) = order(&mut screen);
        let is_by_time = ["by p99", "by max"].iter().any(|by| footer.starts_with(by));
        assert_eq!(is_by_name, !is_by_time, "{footer}");
    }
    assert!(order(&mut screen).1.starts_with("by max"), "all columns had their turn");
    press(&mut screen, KeyCode::Char('S'));
    assert!(order(&mut screen).1.starts_with("by p99"));
}

#[test]
fn filter_keeps_rows_that_have_its_text_until_it_is_left_out() {
    let mut screen = shown();
    press(&mut screen, KeyCode::Char('/'));
    type_in(&mut screen, "REDq");
    let lines = drawn(&mut screen);
    assert_eq!(lines[19], "/REDq_");
    assert!(lines[4].contains("No row has the text"), "{lines:?}");
    press(&mut screen, KeyCode::Backspace);
    let lines = drawn(&mut screen);
    assert!(lines[5].starts_with("redis[1]") && lines[6].is_empty(), "{lines:?}");
    press(&mut screen, KeyCode::Enter);
    assert!(drawn(&mut screen)[19].contains("with RED"));
    press(&mut screen, KeyCode::Esc);
    assert!(position(&drawn(&mut screen), "python[2]").is_some());
}

#[test]
fn selection_stays_with_its_row_when_rows_change_places() {
    let mut screen = shown();
    let selected = |screen: &mut Screen| {
        let mut terminal = Terminal::new(TestBackend::new(100, 20)).unwrap();
        terminal.draw(|canvas| screen.draw(canvas)).unwrap();
        let buffer = terminal.backend().buffer();
        let is_reversed =
            |y: &u16| buffer[(99, *y)].modifier.contains(ratatui::style::Modifier::REVERSED);
        (4..19).find(is_reversed)
    };
    assert_eq!(selected(&mut screen), None);
    press(&mut screen, KeyCode::Down);
    assert_eq!(selected(&mut screen), Some(6), "redis");
    let mut other = frame();
    other.picture.processes[0].events_per_s = 9e9;
    screen.show(other);
    assert_eq!(selected(&mut screen), Some(5));
    press(&mut screen, KeyCode::End);
    assert_eq!(selected(&mut screen), Some(6));
    let mut fewer = frame();
    fewer.picture.processes.clear();
    screen.show(fewer);
    assert_eq!(selected(&mut screen), None);
    press(&mut screen, KeyCode::Up);
    assert!(drawn(&mut screen)[4].contains("No event was recorded yet"));
}

#[test]
fn long_table_is_drawn_around_the_selected_row() {
    let mut screen = Screen::new("");
    let mut long = frame();
    long.picture.processes = (0..500).map(|n| task(&format!("p{n:03}"), 1.0, 1)).collect();
    screen.show(long);
    press(&mut screen, KeyCode::End);
    let lines = drawn(&mut screen);
    assert!(lines[18].starts_with("p499"), "{lines:?}");
    press(&mut screen, KeyCode::PageUp);
    assert!(position(&drawn(&mut screen), "p489").is_some());
    press(&mut screen, KeyCode::Home);
    assert!(drawn(&mut screen)[5].starts_with("p000"));
}

#[test]
fn p_pauses_or_resumes_and_other_keys_ask_for_nothing() {
    let mut screen = shown();
    assert_eq!(press(&mut screen, KeyCode::Char('p')), Action::Ask(Request::Pause));
    screen.tell(Some("it is\x1b[2J paused already".into()));
    assert_eq!(drawn(&mut screen)[19], "! it is\\u{1b}[2J paused already");
    screen.show(Frame { state: Condition::Paused, ..frame() });
    assert_eq!(press(&mut screen, KeyCode::Char('p')), Action::Ask(Request::Resume));
    assert!(drawn(&mut screen)[19].contains("p resume"));
    screen.show(Frame { state: Condition::Concluding, ..frame() });
    assert_eq!(press(&mut screen, KeyCode::Char('p')), Action::None);
    assert_eq!(press(&mut screen, KeyCode::Char('c')), Action::Clear);
    assert_eq!(press(&mut screen, KeyCode::Char('q')), Action::Quit);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut screen, KeyCode::Char('/'));
    assert_eq!(screen.press(control_c), Action::Quit, "in the filter, too");
}

#[test]
fn e_and_d_change_what_is_recorded() {
    let mut screen = shown();
    assert_eq!(press(&mut screen, KeyCode::Char('d')), Action::None);
    assert!(drawn(&mut screen)[19].contains("select an event in the table of events"));
    press(&mut screen, KeyCode::Char('3'));
    press(&mut screen, KeyCode::Home);
    let change = |is_enable, pattern: &str| {
        Action::Ask(Request::Change { is_enable, patterns: vec![pattern.into()] })
    };
    assert_eq!(press(&mut screen, KeyCode::Char('d')), change(false, "mutex:wait_entry"));
    press(&mut screen, KeyCode::Char('e'));
    type_in(&mut screen, "io:*qd");
    press(&mut screen, KeyCode::Backspace);
    assert!(drawn(&mut screen)[19].starts_with("record also: io:*q_"));
    assert_eq!(press(&mut screen, KeyCode::Enter), change(true, "io:*q"));
    press(&mut screen, KeyCode::Char('e'));
    type_in(&mut screen, "io:*");
    press(&mut screen, KeyCode::Esc);
    press(&mut screen, KeyCode::Char('e'));
    assert_eq!(press(&mut screen, KeyCode::Enter), Action::None, "nothing was typed in");
    let mut frame = frame();
    frame.picture.by_event.iter_mut().for_each(|event| event.name = "a:*".into());
    screen.show(frame);
    press(&mut screen, KeyCode::Home);
    assert_eq!(press(&mut screen, KeyCode::Char('d')), Action::None);
    assert!(drawn(&mut screen)[19].contains("a:* is no name that a pattern can have"));
}

#[test]
fn pattern_is_taken_whole_or_not_at_all() {
    let mut screen = shown();
    let pattern = format!("io:* if path == \"{}\"", "x".repeat(200));
    press(&mut screen, KeyCode::Char('e'));
    type_in(&mut screen, &pattern);
    let line = drawn(&mut screen).remove(19);
    assert!(line.starts_with("record also: xxx") && line.ends_with("xxx\"_"), "{line}");
    assert_eq!(line.len(), 100);
    let change = Request::Change { is_enable: true, patterns: vec![pattern.clone()] };
    assert_eq!(press(&mut screen, KeyCode::Enter), Action::Ask(change));
    press(&mut screen, KeyCode::Char('e'));
    type_in(&mut screen, &pattern.repeat(30));
    assert_eq!(press(&mut screen, KeyCode::Enter), Action::None);
    assert_eq!(drawn(&mut screen)[19], "! more than 4096 characters: none is taken");
}

#[test]
fn help_is_drawn_until_the_next_key_and_a_held_screen_says_so() {
    let mut screen = shown();
    press(&mut screen, KeyCode::Char('?'));
    assert!(drawn(&mut screen).iter().any(|line| line.contains("pause the session")));
    press(&mut screen, KeyCode::Char('x'));
    assert!(position(&drawn(&mut screen), "python[2]").is_some());
    press(&mut screen, KeyCode::Char(' '));
    assert!(screen.is_held() && drawn(&mut screen)[19].contains("HELD"));
}

#[test]
fn any_size_is_drawn_and_a_small_one_says_what_is_needed() {
    let mut screen = shown();
    let lines = drawn_at(&mut screen, 39, 24);
    assert!(lines.join(" ").contains("40 columns and 10 lines"), "{lines:?}");
    for (columns, lines) in [(1, 1), (1, 60), (250, 1), (40, 10), (41, 9), (300, 100), (3, 3)] {
        for view in 0..VIEWS.len() {
            screen.press(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
            drawn_at(&mut screen, columns, lines);
            press(&mut screen, KeyCode::Char('?'));
            drawn_at(&mut screen, columns, lines);
            press(&mut screen, KeyCode::Char('x'));
            assert!(view < VIEWS.len());
        }
    }
    screen.show(Frame { notes: vec!["a long note ".repeat(40); 9], ..frame() });
    let lines = drawn_at(&mut screen, 40, 10);
    assert!(lines[5].contains("name") && lines[9].contains("by "), "{lines:?}");
}

#[test]
fn names_that_are_no_plain_text_are_escaped_wherever_they_are_shown() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}\u{9b}31m\n";
    let mut hostile = frame();
    hostile.session = evil.into();
    hostile.notes = vec![evil.into()];
    hostile.verdict = evil.into();
    hostile.cpus[0].stream = evil.into();
    let picture = &mut hostile.picture;
    picture.processes[0].name = evil.into();
    picture.processes[0].slowest = Some(Slowest { call: evil.into(), ns: u64::MAX });
    picture.threads[0].name = evil.into();
    picture.by_event[0].name = evil.into();
    picture.calls[0].name = evil.into();
    picture.calls[0].slowest_in = evil.into();
    picture.locks[0].name = evil.into();
    picture.locks[0].process = evil.into();
    let look = Look { columns: 200, is_utf8: true, has_color: false, top: 10 };
    let is_plain = |text: &str| text.chars().all(|c| c == '\n' || crate::shown::is_plain(c));
    let text = text::whole(&hostile, "", &look);
    assert!(is_plain(&text) && text.contains("owned"), "{text:?}");
    let mut screen = Screen::new(evil);
    screen.show(hostile);
    for _ in VIEWS {
        let lines = drawn_at(&mut screen, 200, 30);
        assert!(lines.iter().all(|line| is_plain(line)), "{lines:?}");
        press(&mut screen, KeyCode::Tab);
    }
}

#[test]
fn session_without_tables_says_why() {
    let mut screen = Screen::new("");
    let notes = vec!["a flight recorder keeps its events in memory".to_string()];
    let unknown = Frame { is_followed: false, recorded: None, notes, ..frame() };
    let unknown = Frame { picture: Picture::default(), ..unknown };
    let look = Look { columns: 100, is_utf8: true, has_color: false, top: 10 };
    let text = text::whole(&unknown, "", &look);
    assert!(text.contains("events/s ?") && text.contains("note  a flight recorder"), "{text}");
    assert!(!text.contains("processes\n"), "{text}");
    screen.show(unknown);
    assert!(drawn(&mut screen).iter().any(|line| line.contains("no tables; see the notes")));
}

#[test]
fn json_has_the_rows_that_are_asked_for_in_order() {
    let names = |frame: &Frame| -> Vec<String> {
        frame.picture.processes.iter().map(|row| row.name.clone()).collect()
    };
    assert_eq!(names(&cut(&frame(), "", 9)), ["python[2]", "redis[1]"]);
    assert_eq!(names(&cut(&frame(), "", 1)), ["python[2]"]);
    assert_eq!(names(&cut(&frame(), "rEdis", 9)), ["redis[1]"]);
    let json = serde_json::to_value(cut(&frame(), "", 1)).unwrap();
    assert_eq!(json["calls"][0]["name"], "io:write");
    assert_eq!(json["calls"][0]["max_ns"], 9_000_000);
    assert_eq!(json["state"], "recording");
    assert_eq!(json["processes"][0]["cpu_share"], serde_json::Value::Null);
}

#[test]
fn verdict_so_far_promises_nothing_and_names_causes_and_pauses() {
    let none = Lost::default();
    assert_eq!(verdict_so_far(0, &none, 0), "no event was counted as lost so far");
    let lost = Lost { full: 1200, in_flight: 1, ..none };
    assert_eq!(
        verdict_so_far(1201, &lost, 2),
        "1,201 events lost so far (1,200 its buffer was full, 1 its thread died or stopped); \
         2 pauses"
    );
}

#[test]
fn end_of_a_session_is_success_and_the_end_of_its_recorder_is_not() {
    let ended = Frame { state: Condition::Ended, ..frame() };
    assert_eq!((status(&ended), ending(&ended, true).contains("lull report /t")), (0, true));
    let notes = vec!["the recorder was killed: /s (`lull recover /s`)".to_string()];
    let dead = Frame { state: Condition::Dead, notes, ..frame() };
    assert_eq!((status(&dead), ending(&dead, true).contains("lull recover /s")), (1, true));
    assert_eq!(status(&Frame { state: Condition::TraceGone, ..frame() }), 1);
}
