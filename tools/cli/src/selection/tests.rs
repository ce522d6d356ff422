// SPDX-License-Identifier: MIT
//! What is selected, on traces that testkit writes: by the words of the command line, as `print`
//! and `report` take them.

use clap::Parser;
use testkit::program::{Number, Program, Text, Who as Thread};
use testkit::{Datum, EventSpec, Int, Kind, Order, Spec, StreamWriter};
use trace::{Merge, Message, Ns, Trace};

use super::*;

#[derive(Debug, Parser)]
struct Words {
    #[command(flatten)]
    selection: SelectionArgs,
}

fn words(text: &[&str]) -> SelectionArgs {
    let words = ["lull"].into_iter().chain(text.iter().copied());
    Words::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).selection
}

const MS: u64 = 1_000_000;
const GIT: Thread = (10, 10, "git");
const GREP: Thread = (20, 21, "git-grep");

fn program() -> Trace {
    let mut program = Program::new();
    let read = |ret, path| [("ret", Number(ret)), ("path", Text(path))];
    program.event(1000 * MS, 0, GIT, "a:read", &read(5, "/etc/passwd"));
    program.event(1500 * MS, 1, GREP, "a:read", &read(-2, "/tmp/x"));
    program.event(2000 * MS, 0, GIT, "a:write", &[("count", Number(5))]);
    program.event(2500 * MS, 1, GREP, "a:read", &read(7, "/etc/group"));
    program.event(3000 * MS, 0, GREP, "b:end", &[]);
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).unwrap()
}

fn names(_: usize, class: &EventClass) -> Vec<String> {
    vec![class.name.to_string()]
}

/// The milliseconds of the events that are selected. Threads are those that records name, or none.
fn selected(trace: Trace, text: &[&str]) -> anyhow::Result<Vec<i64>> {
    let traces = [trace];
    let args = words(text);
    let selection = Selection::new(&args)?;
    let rules = selection.rules(&traces, &names)?;
    let span = selection.span(&traces, true)?;
    let mut merge = Merge::between(&traces, &span);
    let mut state = state::State::new(&traces, merge.stream_count(), &state::Limits::default());
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        let Some(step) = state.event(&event) else { continue };
        let threads = state.threads();
        let name = threads.threads()[step.thread.0 as usize].name.text();
        let tid = threads.tid(step.thread);
        let pid = threads.pid(threads.process_of(step.thread));
        let who = tid.map(|_| Who { pid, tid, name: Some(name.as_bytes()), user: None });
        let is_wanted = selection.wants(&[event.name()], event.class().log_level);
        if is_wanted && !event.is_before_span() && rules.take(&event, who) {
            found.push(event.time_ns().0 / MS as i64);
        }
    }
    Ok(found)
}

fn found(text: &[&str]) -> Vec<i64> {
    selected(program(), text).unwrap_or_else(|error| panic!("{text:?}: {error:#}"))
}

#[test]
fn threads_and_processors_are_chosen_by_number_and_by_name() {
    assert_eq!(found(&[]), [1000, 1500, 2000, 2500, 3000]);
    assert_eq!(found(&["--pid", "10"]), [1000, 2000]);
    assert_eq!(found(&["--tid", "21"]), [1500, 2500, 3000]);
    assert_eq!(found(&["--pid", "10,20", "--cpu", "0"]), [1000, 2000, 3000]);
    assert_eq!(found(&["--cpu", "1"]), [1500, 2500]);
    assert_eq!(found(&["--comm", "git"]), [1000, 2000]);
    assert_eq!(found(&["--comm", "git*", "--tid", "21"]), [1500, 2500, 3000]);
    assert_eq!(found(&["--comm", "git", "--comm", "x"]), [1000, 2000]);
    assert!(found(&["--pid", "10", "--tid", "21"]).is_empty());
}

#[test]
fn filters_decide_on_fields_and_on_what_is_known_of_the_thread() {
    assert_eq!(found(&["-e", "a:read if ret < 0"]), [1500]);
    assert_eq!(found(&["-e", "a:* if ret == 5 || count == 5"]), [1000, 2000]);
    assert_eq!(found(&["-e", "* if path == \"/etc/*\""]), [1000, 2500]);
    assert_eq!(found(&["-e", "* if !(ret < 0)"]), [1000, 2500]);
    assert_eq!(found(&["-e", "* if comm == \"git\" && cpu == 0"]), [1000, 2000]);
    assert_eq!(found(&["-e", "a:read if ret == 7", "-e", "b:*"]), [2500, 3000]);
    assert_eq!(found(&["-e", "a:*", "-e", "a:read if pid == 20"]), [1500, 2000, 2500]);
    assert_eq!(found(&["-e", "* if ret & 1", "--from", "+1s"]), [2500]);
}

#[test]
fn filters_that_do_not_fit_are_refused_with_the_reason() {
    let refused = |text: &[&str]| match selected(program(), text) {
        Ok(found) => panic!("{text:?} gives {found:?}"),
        Err(error) => format!("{error:#}"),
    };
    assert!(refused(&["-e", "a:* if rat == 1"]).contains("no event that is asked for has a field"));
    assert!(refused(&["-e", "a:* if path < 1"]).contains("a number is compared"));
    assert!(refused(&["-e", "!a:* if ret == 1"]).contains("takes no filter"));
    assert!(refused(&["--from", "+2s", "--to", "+1s"]).contains("--from is not before --to"));
}

#[test]
fn times_are_of_the_clock_since_the_beginning_and_before_the_end() {
    assert_eq!(found(&["--from", "1500000000"]), [1500, 2000, 2500, 3000]);
    assert_eq!(found(&["--to", "1500000000"]), [1000]);
    assert_eq!(found(&["--from", "+500ms", "--to", "+1.5s"]), [1500, 2000]);
    assert_eq!(found(&["--from", "last 1s"]), [2000, 2500, 3000]);
    for (from, to) in [
        ("+500000000ns", "+1500000001ns"),
        ("+500000us", "+1500000.001us"),
        ("+500000\u{b5}s", "last 499.999999ms"),
        ("+0.5s", "last 0.005min"),
        ("+0.000125h", "+1.6 s"),
    ] {
        let wanted = [1500, 2000, 2500];
        assert_eq!(found(&["--from", from, "--to", to]), wanted, "{from} {to}");
    }
    assert_eq!(found(&["--from", "+0s", "--to", "+100us"]), [1000]);
    assert_eq!(found(&["--from", "last 0s"]), [3000]);
    assert_eq!(found(&["--from", "last 1s", "--to", "last 500ms"]), [2000]);
    assert_eq!(found(&["--from", "1970-01-01 00:00:02"]), [2000, 2500, 3000]);
    assert_eq!(found(&["--from", "1970-01-01T00:00:01.6Z", "--to", "00:00:03"]), [2000, 2500]);
    assert_eq!(found(&["--from", "1970-01-01", "--to", "00:00:01.001"]), [1000]);
    assert!(found(&["--from", "00:01"]).is_empty());
    for text in ["", "later", "last", "+", "12", "1970-13-01", "25:00", "00:00:61.5"] {
        let is_number = text.parse::<i64>().is_ok();
        assert_eq!(time::parse(text).is_ok(), is_number, "{text}");
    }
}

#[test]
fn time_of_day_before_the_beginning_is_of_the_next_day_where_the_trace_goes_so_far() {
    let mut program = Program::new();
    let almost_midnight = 86_399_000 * MS;
    program.event(almost_midnight, 0, GIT, "a:b", &[]);
    program.event(almost_midnight + 3000 * MS, 0, GIT, "a:b", &[]);
    let (metadata, streams) = program.files();
    let trace = || Trace::from_bytes(metadata.as_bytes(), streams.clone()).unwrap();
    let found = |time| selected(trace(), &["--from", time]).unwrap().len();
    assert_eq!((found("00:00:01"), found("23:59:59"), found("23:59:59.5")), (1, 2, 1));
    assert_eq!(found("00:00:03"), 2, "the trace ends before that: the time before it began");
}

#[test]
fn contexts_that_the_tracer_recorded_tell_the_thread_and_are_fields_of_filters() {
    let order = Order::Little;
    let i32s = Kind::Int(Int { signed: true, ..Int::bytes(32, order) });
    let prio = Kind::structure(vec![("prio", i32s.clone()), ("pick", Kind::Text)]);
    let payload = Kind::structure(vec![("ret", i32s.clone())]);
    let event = EventSpec { id: 1, name: "syscall_exit_read".into(), context: Some(prio), payload };
    let context = vec![("vpid", i32s.clone()), ("vtid", i32s), ("procname", Kind::CharArray(16))];
    let stream_context = Some(Kind::structure(context));
    let spec = Spec { stream_context, events: vec![event], ..Spec::lull(order, Vec::new()) };
    let spec = Spec { frequency_hz: 1_000_000_000, offset_s: 0, offset_cycles: 0, ..spec };
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(MS);
    for at in 1..4i64 {
        let name = Datum::Text(format!("name-{at}").into_bytes());
        let thread = Datum::List(vec![Datum::Signed(at), Datum::Signed(at + 10), name]);
        let own = Datum::List(vec![Datum::Signed(at + 100), Datum::Text(vec![b'a' + at as u8])]);
        let payload = Datum::List(vec![Datum::Signed(-at)]);
        writer.event_with(1, at as u64 * MS, [Some(thread), Some(own), Some(payload)]);
    }
    writer.end_packet(9 * MS, 0);
    let streams = vec![("s".into(), writer.finish().0)];
    let trace = || Trace::from_bytes(spec.metadata().as_bytes(), streams.clone()).unwrap();
    for (text, want) in [
        (&["--pid", "2"][..], &[2][..]),
        (&["--tid", "13"], &[3]),
        (&["--comm", "name-1"], &[1]),
        (&["-e", "* if vtid == 12 || $pid == 3"], &[2, 3]),
        (&["-e", "* if prio > 101 && pick == \"c\""], &[2]),
        (&["-e", "* if $prio == 103"], &[3]),
        (&["-e", "* if syscall == read && ret < -1"], &[2, 3]),
        (&["-e", "* if $cgroup == 1"], &[]),
    ] {
        assert_eq!(chosen(trace(), text), want, "{text:?}");
    }
}

#[test]
fn what_is_no_time_is_refused_with_what_is_wrong_and_what_to_write() {
    for (text, reason) in [
        ("+100xs", "xs is no unit of time: write a number with ns, us, ms, s, m or h"),
        ("last 2d", "d is no unit of time"),
        ("+", "write a number with ns"),
        ("+-1s", "write a number with ns"),
        ("100us", "100us is how long, not when: write +100us after the trace's beginning"),
        ("1.5", "1.5 is how long, not when"),
        ("2026-05-04 25:00", "25:00 is no time of day: write a time like 14:03:05.25"),
        ("2026-13-04", "write a time like"),
        ("noon", "write a time like"),
        ("+3000000h", "it is out of range"),
    ] {
        let error = parse_time(text).expect_err(text);
        assert!(error.starts_with(reason), "{text}: {error}");
    }
}

#[test]
fn labels_of_numbers_and_of_bits_stand_for_their_values() {
    let order = Order::Little;
    let label = |name: &str, value| (name.to_string(), value, value);
    let labels = vec![label("READ", 1), label("WRITE", 2), label("BOTH", 3)];
    let number = Kind::Enumeration { container: Int::bytes(16, order), labels: labels.clone() };
    let bits = Kind::Enumeration { container: Int::bytes(64, order), labels };
    let event = Kind::structure(vec![("how", number), ("flags", bits)]);
    let spec = Spec::lull(order, vec![(1, "a:open", event)]);
    let spec = Spec { frequency_hz: 1_000_000_000, offset_s: 0, offset_cycles: 0, ..spec };
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(MS);
    for at in 1..5 {
        let fields = vec![Datum::Unsigned(at), Datum::Unsigned(at)];
        writer.event(1, at * MS, Datum::List(fields));
    }
    writer.end_packet(9 * MS, 0);
    let enumeration = "enum : integer { size = 64;";
    assert!(spec.metadata().contains(enumeration), "{}", spec.metadata());
    let metadata = spec.metadata().replace(enumeration, &format!("{enumeration} base = 16;"));
    let streams = vec![("s".into(), writer.finish().0)];
    let trace = || Trace::from_bytes(metadata.as_bytes(), streams.clone()).unwrap();
    for (text, want) in [
        ("* if how == WRITE", &[2][..]),
        ("* if how != BOTH && how < 4", &[1, 2]),
        ("* if flags & WRITE", &[2, 3]),
        ("* if flags == BOTH", &[3]),
    ] {
        assert_eq!(chosen(trace(), &["-e", text]), want, "{text}");
    }
}

#[test]
fn labels_of_several_numbers_are_refused_and_those_of_large_numbers_known() {
    let order = Order::Little;
    let label = |name: &str, begin, until| (name.to_string(), begin, until);
    let labels =
        vec![label("low", 0, 9), label("one", 100, 100), label("two", 1, 1), label("two", 7, 7)];
    let large = vec![label("ALL", 0xffff_ffff, 0xffff_ffff), label("NONE", 0, 0)];
    let signed = Int { signed: true, ..Int::bytes(64, order) };
    let unsigned = |bits| Int::bytes(bits, order);
    let event = Kind::structure(vec![
        ("x", Kind::Enumeration { container: unsigned(16), labels }),
        ("y", Kind::Enumeration { container: unsigned(32), labels: large.clone() }),
        ("z", Kind::Enumeration { container: unsigned(64), labels: large.clone() }),
        ("s", Kind::Enumeration { container: signed, labels: large }),
    ]);
    let spec = Spec::lull(order, vec![(1, "a:hit", event)]);
    let spec = Spec { frequency_hz: 1_000_000_000, offset_s: 0, offset_cycles: 0, ..spec };
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(MS);
    for (at, x, y) in [(1, 5, 0), (2, 100, 0xffff_ffff)] {
        let fields = [x, y, y].map(Datum::Unsigned).into_iter();
        writer.event(1, at * MS, Datum::List(fields.chain([Datum::Signed(0)]).collect()));
    }
    writer.end_packet(9 * MS, 0);
    let streams = vec![("s".into(), writer.finish().0)];
    let trace = || Trace::from_bytes(spec.metadata().as_bytes(), streams.clone()).unwrap();
    for (text, want) in
        [("* if x == one", 2), ("* if y == ALL", 2), ("* if z == ALL", 2), ("* if z == NONE", 1)]
    {
        assert_eq!(chosen(trace(), &["-e", text]), [want], "{text}");
    }
    for (text, why) in [
        ("* if x == low", "several numbers"),
        ("* if two != x", "several numbers"),
        ("* if s == NONE", "more than 32 bits is not known: write 0"),
    ] {
        let args = words(&["-e", text]);
        let refused = Selection::new(&args).unwrap().rules(&[trace()], &names).err().unwrap();
        assert!(format!("{refused:#}").contains(why), "{text}: {refused:#}");
    }
}

/// As [`selected`], where only the events' own contexts tell threads.
fn chosen(trace: Trace, text: &[&str]) -> Vec<i64> {
    let traces = [trace];
    let args = words(text);
    let selection = Selection::new(&args).unwrap();
    let rules = selection.rules(&traces, &names).unwrap();
    let mut merge = Merge::over(&traces);
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        if rules.take(&event, None) {
            found.push(event.time_ns().0 / MS as i64);
        }
    }
    found
}

#[test]
fn levels_of_a_trace_are_compared_with_those_of_patterns() {
    let (errors, all) = (words(&["-e", "*@error"]), words(&["-e", "*@debug"]));
    let (errors, all) = (Selection::new(&errors).unwrap(), Selection::new(&all).unwrap());
    for (log_level, is_error) in
        [(Some(0), true), (Some(3), true), (Some(4), false), (Some(14), false), (None, false)]
    {
        assert_eq!(errors.wants(&["a:b"], log_level), is_error, "{log_level:?}");
        assert!(all.wants(&["a:b"], log_level), "{log_level:?}");
    }
    assert!(!errors.wants(&["a:b"], Some(-1)) && !errors.wants(&["a:b"], Some(256)));
}

#[test]
fn nothing_of_the_selection_is_asked_of_the_trace_where_it_is_everything() {
    let args = words(&[]);
    let selection = Selection::new(&args).unwrap();
    assert!(selection.is_everything());
    assert!(!selection.rules(&[], &names).unwrap().has_conditions());
    for text in [&["-e", "*"][..], &["--from", "1"], &["--cpu", "1"], &["--comm", "x"]] {
        assert!(!Selection::new(&words(text)).unwrap().is_everything(), "{text:?}");
    }
    let time = Selection::new(&words(&["--to", "7"])).unwrap().span(&[], false).unwrap();
    assert_eq!((time.from, time.until), (None, Some(Ns(7))));
}
