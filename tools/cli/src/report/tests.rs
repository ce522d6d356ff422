// SPDX-License-Identifier: MIT
//! The whole way from packets to text, on made-up programs, against the files in `golden/`. With
//! LULL_BLESS=1 set, the files are written instead; the difference is then for a person to read.

mod named;

use std::path::{Path, PathBuf};

use analysis::{analyse, By, Options, Question, Report, COMPARE};
use testkit::program::{Number, Program, Text, Who};
use testkit::TraceFolder;
use trace::Trace;

use super::look::Look;
use super::question::QuestionArgs;
use super::{answer, run, text, Grouping, ReportArgs};
use crate::selection::{Selection, SelectionArgs};

const SERVER: Who = (100, 100, "server");
const WORKER: Who = (100, 101, "worker-1");
const CLIENT: Who = (200, 200, "client");
const LICENCE_LINE: &str = concat!("# SPDX-License-", "Identifier: MIT\n");
const MS: u64 = 1_000_000;

fn look(columns: usize, is_utf8: bool) -> Look {
    Look { columns, is_utf8, has_color: false, top: 10 }
}

fn report(program: &Program, patterns: &[&str], by: Option<By>) -> Report {
    let events = patterns.iter().map(|text| text.to_string()).collect();
    let args = SelectionArgs { events, ..SelectionArgs::default() };
    let selection = Selection::new(&args).expect("the patterns are right");
    let wanted = |names: &[&str], log_level| selection.wants(names, log_level);
    let (metadata, streams) = program.files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed");
    analyse(&[trace], &Options { wanted: Some(&wanted), by, ..Options::default() }, |_| {})
}

/// Compares with a file, or writes it.
fn check(name: &str, found: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/golden");
    let path = folder.join(name);
    let found = format!("{LICENCE_LINE}{found}");
    if std::env::var_os("LULL_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the golden file can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{name} differs; found:\n{found}\nwanted:\n{wanted}");
}

/// A server with two threads that contend, read and write; a client that is killed.
fn server() -> Program {
    let mut program = Program::new();
    let start = |pid, path, arguments| {
        let parent_pid = ("parent_pid", Number(1));
        [("pid", Number(pid)), parent_pid, ("path", Text(path)), ("arguments", Text(arguments))]
    };
    let of_server = start(100, "/usr/bin/server", "server --port 80");
    program.event(0, 0, SERVER, "process:start", &of_server);
    program.event(MS, 1, CLIENT, "process:start", &start(200, "/usr/bin/client", "client 1"));
    program.call(
        (2 * MS, 2 * MS + 4_000),
        SERVER,
        ("io:open_entry", &[("flags", Number(0))]),
        ("io:open_exit", &[("path", Text("/var/www/index.html")), ("result", Number(5))]),
    );
    for i in 0..200 {
        let begin_ns = (3 + i * 5) * MS;
        program.event(begin_ns, 0, SERVER, "http:request", &[("id", Number(i as i64))]);
        program.call(
            (begin_ns + 1_000, begin_ns + 3_000 + i * 100),
            SERVER,
            ("io:read_entry", &[("fd", Number(5)), ("count", Number(4096))]),
            ("io:read_exit", &[("result", Number(4096)), ("error", Number(0))]),
        );
        if i % 10 == 0 {
            let mutex = [("mutex", Number(0x7f00_1000))];
            let span = (begin_ns + 100_000, begin_ns + 100_000 + 20_000 * (i + 1));
            program.call(span, WORKER, ("mutex:wait_entry", &mutex), ("mutex:wait_exit", &mutex));
        }
        program.event(begin_ns + 200, 1, CLIENT, "client:sent", &[("bytes", Number(512))]);
    }
    let write = [("fd", Number(1)), ("count", Number(100))];
    let short = [("result", Number(-1)), ("error", Number(32))];
    let span = (900 * MS + 400_000, 900 * MS + 500_000);
    program.call(span, SERVER, ("io:write_entry", &write), ("io:write_exit", &short));
    program.event(1003 * MS, 0, WORKER, "mutex:wait_entry", &[("mutex", Number(0x7f00_2000))]);
    program.call(
        (1004 * MS, 1005 * MS),
        SERVER,
        ("process:wait_entry", &[("wanted_pid", Number(-1))]),
        ("process:wait_exit", &[("child_pid", Number(200)), ("status", Number(9))]),
    );
    program
}

#[test]
fn report_of_a_complete_trace_has_all_sections_in_order() {
    check("complete.txt", &text::render(&report(&server(), &[], None), &look(100, true)));
}

#[test]
fn report_of_a_lossy_trace_says_what_is_missing_where_and_what_to_do() {
    let mut program = server();
    program.end_packet(400 * MS, 1, [0; 4]);
    program.end_packet(450 * MS, 1, [1_234, 0, 0, 0]);
    program.end_packet(1100 * MS, 1, [0, 1, 2, 1]);
    program.environment = "tracer_name = \"lull\"; verdict = \"incomplete\";
        lost_where = \"CPU 1\\t1\\t0\\t0\\t0\";
        verdict_missing = \"1 event lost on CPU 1: its buffer was full; use larger --buffer-size \
        or more --buffers\\n1 process could not join\"; "
        .into();
    check("lossy.txt", &text::render(&report(&program, &["client:*"], None), &look(100, true)));
}

#[test]
fn report_of_a_span_counts_what_was_lost_in_it_and_says_when_though_it_has_no_event() {
    let mut program = Program::new();
    program.event(10 * MS, 0, SERVER, "tick", &[]);
    program.end_packet(20 * MS, 0, [0; 4]);
    program.end_packet(30 * MS, 0, [3, 0, 0, 0]);
    program.event(90 * MS, 0, SERVER, "tick", &[]);
    program.end_packet(95 * MS, 0, [4, 0, 0, 0]);
    program.environment = "tracer_name = \"lull\"; verdict = \"incomplete\"; lost_full = 9;".into();
    let (metadata, streams) = program.files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed");
    let begin_ns = trace.bounds().expect("it has events").0 .0;
    let at = |ms: i64| Some(trace::Ns(begin_ns + ms * MS as i64));
    let span = trace::Span { from: at(5), until: at(15) };
    let report = analyse(&[trace], &Options { span, ..Options::default() }, |_| {});
    assert_eq!((report.events, report.lost.full), (0, 3));
    let text = text::render(&report, &look(100, true));
    assert!(text.contains("3 events lost on CPU 0 within 10.0 ms from 19"), "{text}");
    assert!(text.contains("9 events lost in the whole recording"), "{text}");
    assert!(text.contains("No events in this span.") && !text.contains(" d:"), "{text}");
}

#[test]
fn narrow_ascii_report_by_thread_leaves_out_columns_and_stays_in_its_width() {
    let text = text::render(&report(&server(), &[], Some(By::Thread)), &look(60, false));
    let widest = text.lines().map(|line| line.chars().count()).max();
    // The first line is one sentence for whatever width.
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 60), "{widest:?}\n{text}");
    assert!(text.is_ascii(), "{text}");
    check("narrow.txt", &text);
}

#[test]
fn patterns_leave_out_pairs_as_they_leave_out_events() {
    let matched = |patterns| report(&server(), patterns, None).matched_events;
    let (all, reads) = (matched(&[]), matched(&["io:read"]));
    assert!(0 < reads && reads < all);
    assert_eq!(matched(&["*", "!io:read"]), all - reads);
    assert_eq!(matched(&["io:read", "!io:read_*"]), 0);
}

#[test]
fn filter_without_a_match_says_so() {
    let found = text::render(&report(&server(), &["nothing:*"], None), &look(100, true));
    check("no-match.txt", &found);
}

#[test]
fn names_in_a_trace_cannot_reach_the_terminal_as_commands() {
    let mut program = Program::new();
    let odd = (1, 1, "\x1b[2Jodd\n");
    let path = [("pid", Number(1)), ("parent_pid", Number(0)), ("path", Text("/a\x1b]0;x\x07"))];
    program.event(1, 0, odd, "process:start", &path);
    program.environment = "tracer_name = \"lull\"; verdict_notes = \"\u{1b}[31mred\";".into();
    let text = text::render(&report(&program, &[], None), &look(100, true));
    assert!(!text.contains(['\x1b', '\x07']), "{text:?}");
}

fn arguments(trace: &Path) -> ReportArgs {
    let selection = SelectionArgs::default();
    let (traces, question) = (vec![trace.into()], QuestionArgs::default());
    ReportArgs { traces, list: false, json: true, selection, question, top: 10, by: None }
}

fn events(pattern: &str) -> SelectionArgs {
    SelectionArgs { events: vec![pattern.into()], ..SelectionArgs::default() }
}

fn written(program: &Program) -> TraceFolder {
    let (metadata, streams) = program.files();
    let streams: Vec<_> = streams.into_iter().map(|(_, bytes)| bytes).collect();
    TraceFolder::new(&metadata, &streams).expect("the trace can be written")
}

#[test]
fn exit_status_tells_complete_from_incomplete_and_from_nothing_matched() {
    let mut program = server();
    let complete = written(&program);
    assert_eq!(run(&arguments(complete.path())).expect("the trace is read"), 0);
    let none = ReportArgs { selection: events("nothing"), ..arguments(complete.path()) };
    assert_eq!(run(&none).expect("the trace is read"), 1);
    let by = ReportArgs { by: Some(Grouping::Cpu), ..arguments(complete.path()) };
    assert_eq!(run(&by).expect("the trace is read"), 0);
    program.end_packet(1100 * MS, 1, [1, 0, 0, 0]);
    let lossy = written(&program);
    assert_eq!(run(&arguments(lossy.path())).expect("the trace is read"), 1);
}

#[test]
fn missing_trace_and_bad_pattern_are_errors_that_say_what_to_do() {
    let complete = written(&server());
    let nowhere = run(&arguments(&complete.path().join("nowhere"))).expect_err("there is none");
    assert!(format!("{nowhere:#}").contains("nowhere"), "{nowhere:#}");
    let bad = ReportArgs { selection: events("a["), ..arguments(complete.path()) };
    let error = run(&bad).expect_err("the pattern is wrong").to_string();
    assert!(error.contains("has no ']'"), "{error}");
}

#[test]
fn the_first_argument_is_an_analysis_if_it_is_the_name_of_one() {
    let named = |words: &[&str]| {
        let arguments: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
        let (named, folders) = super::asked(&arguments).map_err(|error| error.to_string())?;
        Ok::<_, String>((named.map(|named| named.name), folders.len()))
    };
    assert_eq!(named(&[]), Ok((None, 0)));
    assert_eq!(named(&["cpu", "cpu"]), Ok((Some("cpu"), 1)));
    assert_eq!(named(&["./cpu"]), Ok((None, 1)), "a folder of that name");
    let error = named(&["lock"]).unwrap_err();
    assert_eq!(error, "lock is neither an analysis nor a folder; the nearest analysis is locks");
}

#[test]
fn options_of_one_analysis_are_refused_by_the_others() {
    let question = QuestionArgs { pair: vec!["io:read".into()], ..QuestionArgs::default() };
    assert_eq!(question.question(Some("latency")).unwrap().pairs, ["io:read"]);
    for other in [None, Some("cpu")] {
        let error = question.question(other).unwrap_err().to_string();
        assert_eq!(error, "--pair is for `lull report latency` and `lull report critical-path`");
    }
}

#[test]
fn an_answer_has_the_verdict_its_tables_and_what_they_cannot_tell() {
    let (metadata, streams) = server().files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed");
    let question = Question { pairs: vec!["io:read".into()], ..Question::default() };
    let named = analysis::named("latency").expect("there is one");
    let answer = analysis::ask(named, &question, &[trace], &Options::default(), |_| {});
    check("latency.txt", &answer::render(&answer.expect("it is known"), &look(100, true)));
}
