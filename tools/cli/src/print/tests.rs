// SPDX-License-Identifier: MIT
//! `lull print` on traces that testkit writes: what each line says.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use testkit::{Datum, Int, Kind, Order, Spec, StreamWriter};
use trace::{Merge, Trace};

use super::classes::Classes;
use super::line::{LineForm, Times};
use super::{labels, print, print_all, Form, PrintArgs, Tally};
use crate::selection::{Selection, SelectionArgs};

const ORDER: Order = Order::Little;

fn list(values: &[u64]) -> Datum {
    Datum::List(values.iter().map(|value| Datum::Unsigned(*value)).collect())
}

fn spec() -> Spec {
    let thread = Kind::structure(vec![
        ("pid", Kind::u(32, ORDER)),
        ("tid", Kind::u(32, ORDER)),
        ("name", Kind::CharArray(16)),
    ]);
    let hit = Kind::structure(vec![("a", Kind::u(32, ORDER)), ("b", Kind::u(32, ORDER))]);
    let miss = Kind::structure(vec![("why", Kind::Text)]);
    let events = vec![(1, "lull:thread", thread), (8, "demo:hit", hit), (9, "demo:miss", miss)];
    Spec { frequency_hz: 1_000_000_000, offset_cycles: 0, ..Spec::lull(ORDER, events) }
}

fn thread(tid: u64, name: &str) -> Datum {
    Datum::List(vec![Datum::Unsigned(7), Datum::Unsigned(tid), Datum::Text(name.into())])
}

/// Two packets on one processor; the second one names no thread and lost three events.
fn sample_stream() -> (PathBuf, Vec<u8>) {
    let spec = spec();
    let mut writer = StreamWriter::new(&spec, 2);
    writer.begin_packet(1000);
    writer.event(1, 1000, thread(70, "main loop"));
    writer.event(8, 1001, list(&[1, 2]));
    writer.event(1, 1500, thread(71, "w"));
    writer.event(9, 1501, Datum::List(vec![Datum::Text(b"no \"luck\"\n".to_vec())]));
    writer.end_packet(2000, 0);
    writer.begin_packet(3000);
    writer.lose([2, 0, 1, 0]);
    writer.event(8, 3005, list(&[3, 4]));
    writer.end_packet(4000, 0);
    (PathBuf::from("stream"), writer.finish().0)
}

fn sample() -> Trace {
    Trace::from_bytes(spec().metadata().as_bytes(), vec![sample_stream()]).unwrap()
}

fn open(spec: &Spec, bytes: Vec<u8>) -> Trace {
    let streams = vec![(PathBuf::from("stream"), bytes)];
    Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
}

struct Choices<'a> {
    all: bool,
    patterns: &'a [&'a str],
    limit: Option<u64>,
}

const PLAIN: Choices<'static> = Choices { all: false, patterns: &[], limit: None };

fn lines(trace: &Trace, mut form: impl Form, choices: &Choices<'_>) -> (Vec<String>, Tally) {
    let traces = std::slice::from_ref(trace);
    let events = choices.patterns.iter().map(|text| text.to_string()).collect();
    let args = SelectionArgs { events, ..SelectionArgs::default() };
    let selection = Selection::new(&args).unwrap();
    let classes = Classes::new(traces, &selection, choices.all).unwrap();
    let mut out = Vec::new();
    let mut merge = Merge::over(traces);
    let tally = print(&mut merge, (&classes, None), &mut form, choices.limit, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    (text.lines().map(str::to_string).collect(), tally)
}

fn utc() -> LineForm {
    LineForm::new(false, Times::Utc)
}

#[test]
fn a_line_has_time_processor_thread_event_and_fields() {
    let (found, tally) = lines(&sample(), utc(), &PLAIN);
    let want = [
        "22:13:20.000001001 2 main_loop/70 demo:hit a=1 b=2",
        r#"22:13:20.000001501 2 w/71 demo:miss why="no \"luck\"\n""#,
        "22:13:20.000003000 2 - *** LOST 3 events full=2 too_big=1 between 22:13:20.000002000 and \
         22:13:20.000004000 ***",
        "22:13:20.000003005 2 - demo:hit a=3 b=4",
    ];
    assert_eq!(found, want);
    assert_eq!((tally.events, tally.losses, tally.is_unwanted), (3, 1, false));
}

/// The bytes of the sample, where what is before the last field of demo:hit is context.
#[test]
fn context_stands_in_brackets_before_the_fields() {
    let mut spec = spec();
    let event = spec.events.iter_mut().find(|event| event.id == 8).unwrap();
    let field = |name| Kind::structure(vec![(name, Kind::u(32, ORDER))]);
    event.context = Some(field("b"));
    event.payload = field("b");
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), vec![sample_stream()]).unwrap();
    let (found, _) = lines(&trace, utc(), &PLAIN);
    assert_eq!(found[0], "22:13:20.000001001 2 main_loop/70 demo:hit {b=1} b=2");
    let (found, _) = lines(&trace, super::json::JsonForm::new(), &PLAIN);
    assert!(found[0].ends_with("\"context\":{\"b\":1},\"fields\":{\"b\":2}}"), "{}", found[0]);
}

/// One event with a call stack of the kernel's, and the list of symbols beside it.
fn stacked(symbols: &str) -> (testkit::TraceFolder, Trace) {
    let length = Int::bytes(32, ORDER);
    let stack = || Kind::Sequence { element: Box::new(Kind::u(64, ORDER)), length };
    let fields = Kind::structure(vec![
        ("kernel_stack", stack()),
        ("user_stack", stack()),
        ("a", Kind::u(32, ORDER)),
    ]);
    let spec = Spec { events: Spec::lull(ORDER, vec![(8, "demo:hit", fields)]).events, ..spec() };
    let mut writer = StreamWriter::new(&spec, 2);
    writer.begin_packet(1000);
    let fields = vec![list(&[0x1010, 0x9000, 0x2004]), list(&[0x1010]), Datum::Unsigned(0x1010)];
    writer.event(8, 1001, Datum::List(fields));
    writer.end_packet(2000, 0);
    let folder = testkit::TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap();
    std::fs::write(folder.path().join(trace::SYMBOLS_FILE), symbols).unwrap();
    let trace = Trace::open(folder.path()).unwrap();
    (folder, trace)
}

#[test]
fn addresses_of_the_kernels_stack_have_the_names_that_are_beside_the_trace() {
    let own = "lull-symbols 1\nkernel 1000 1010 schedule\nkernel 2000 2080 nft:chain\n";
    let (_folder, trace) = stacked(own);
    let (found, _) = lines(&trace, utc(), &PLAIN);
    assert!(
        found[0].contains(" kernel_stack=[schedule+0x10 36864 nft:chain+0x4] "),
        "{}",
        found[0]
    );
    assert!(found[0].ends_with(" user_stack=[4112] a=4112"), "{}", found[0]);
    let (found, _) = lines(&trace, super::json::JsonForm::new(), &PLAIN);
    assert!(found[0].contains(r#""kernel_stack":[4112,36864,8196],"#), "{}", found[0]);
    let want = r#""symbols":{"kernel_stack":["schedule+0x10",null,"nft:chain+0x4"]}}"#;
    assert!(found[0].ends_with(want), "{}", found[0]);
}

#[test]
fn list_of_symbols_that_is_wrong_is_told_and_addresses_are_shown() {
    let (folder, trace) = stacked("lull-symbols 1\nkernel 1000 1010 schedule\nkernel 1000\n");
    let (found, _) = lines(&trace, utc(), &PLAIN);
    assert!(found[0].contains("kernel_stack=[4112 36864 8196]"), "{}", found[0]);
    let (found, _) = lines(&trace, super::json::JsonForm::new(), &PLAIN);
    assert!(!found[0].contains("symbols"), "{}", found[0]);
    let told = trace.warnings();
    let path = folder.path().join(".symbols");
    let want = format!("{}: line 3: two addresses in base 16 are expected", path.display());
    assert!(told.len() == 1 && told[0].starts_with(&want), "{told:?}");
}

#[test]
fn the_date_is_shown_on_request() {
    let (found, _) = lines(&sample(), LineForm::new(false, Times::Utc).dated(), &PLAIN);
    assert_eq!(found[0], "2023-11-14 22:13:20.000001001 2 main_loop/70 demo:hit a=1 b=2");
    assert!(found[2].starts_with("2023-11-14 22:13:20.000003000 2 - *** LOST"), "{}", found[2]);
}

/// A sample of a machine, in a folder.
fn sample_of(host: &str, folder: &Path) -> Trace {
    let text = spec().metadata().replace("env {", &format!("env {{ hostname = \"{host}\";"));
    // Without a UUID they are different traces.
    let text = text.replacen("uuid = ", "no_uuid = ", 1);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("metadata"), text).unwrap();
    std::fs::write(folder.join("stream"), sample_stream().1).unwrap();
    Trace::open(folder).unwrap()
}

#[test]
fn several_machines_and_traces_are_told_apart() {
    let root = testkit::TraceFolder::new("", &[]).unwrap();
    let at = |host: &str, name: &str| sample_of(host, &root.path().join(name));
    let both = [at("red", "a"), at("blue", "b")];
    assert_eq!(labels::of(&both), ["red", "blue"]);
    let same = [at("red", "a/x"), at("red", "a/y")];
    assert_eq!(labels::of(&same), ["x", "y"]);
    let mixed = [at("red", "a/x"), at("red", "a/y"), at("odd host", "c")];
    assert_eq!(labels::of(&mixed), ["red:a/x", "red:a/y", "odd_host"]);
    assert_eq!(labels::of(&both[..1]), [""]);

    let args = SelectionArgs::default();
    let selection = Selection::new(&args).unwrap();
    let classes = Classes::new(&both, &selection, false).unwrap();
    let print_with = |form: &mut dyn FnMut(&mut Merge<'_>, &mut Vec<u8>)| {
        let mut out = Vec::new();
        form(&mut Merge::over(&both), &mut out);
        String::from_utf8(out).unwrap()
    };
    let text = print_with(&mut |merge, out| {
        let mut form = utc().labelled(labels::of(&both));
        print(merge, (&classes, None), &mut form, None, out).unwrap();
    });
    assert!(text.starts_with("22:13:20.000001001 red 2 main_loop/70 demo:hit"), "{text}");
    assert!(text.contains("22:13:20.000003000 blue 2 - *** LOST"), "{text}");
    let json = print_with(&mut |merge, out| {
        let mut form = super::json::JsonForm::new().labelled(labels::of(&both));
        print(merge, (&classes, None), &mut form, None, out).unwrap();
    });
    let second = json.lines().nth(1).unwrap();
    assert!(second.contains(r#","cpu":2,"stream":1,"trace":"blue","thread""#), "{second}");
    let loss = json.lines().find(|line| line.contains("lost")).unwrap();
    assert!(loss.ends_with(r#""stream":0,"trace":"red"}"#), "{loss}");
}

#[test]
fn context_of_packets_is_shown_on_request() {
    let (found, _) = lines(&sample(), utc().with_packets(), &PLAIN);
    assert_eq!(found[0], "22:13:20.000001001 2 main_loop/70 demo:hit a=1 b=2 packet={flags=0}");
    let form = super::json::JsonForm::new().with_packets();
    let (found, _) = lines(&sample(), form, &PLAIN);
    assert!(found[0].ends_with(r#""fields":{"a":1,"b":2},"packet":{"flags":0}}"#), "{}", found[0]);
}

#[test]
fn cycles_and_deltas_replace_and_follow_the_time() {
    let (found, _) = lines(&sample(), LineForm::new(true, Times::Cycles), &PLAIN);
    assert_eq!(found[0], "1001 (+?.?????????) 2 main_loop/70 demo:hit a=1 b=2");
    assert_eq!(found[3], "3005 (+0.000001504) 2 - demo:hit a=3 b=4");
}

#[test]
fn bookkeeping_is_shown_on_request_only() {
    let (found, tally) = lines(&sample(), utc(), &Choices { all: true, ..PLAIN });
    let want = "22:13:20.000001000 2 main_loop/70 lull:thread pid=7 tid=70 name=\"main loop\"";
    assert_eq!((found[0].as_str(), tally.events), (want, 5));
}

#[test]
fn filters_keep_matching_events_and_the_limit_counts_only_those() {
    let patterns = &["*:h?t", "other"];
    let (found, tally) = lines(&sample(), utc(), &Choices { patterns, ..PLAIN });
    assert_eq!((tally.events, found.len()), (2, 3));
    let (found, tally) = lines(&sample(), utc(), &Choices { patterns, limit: Some(1), ..PLAIN });
    assert_eq!((tally.events, found.len()), (1, 1));
    assert!(found[0].contains("main_loop/70"), "threads are followed in what is not shown");
    let (found, _) = lines(&sample(), utc(), &Choices { limit: Some(0), ..PLAIN });
    assert!(found.is_empty());
}

#[test]
fn filters_leave_out_by_name_and_by_level_and_take_equal_names_of_two_programs_for_one() {
    let metadata = spec().metadata();
    let metadata = metadata.replace("\"demo:hit\";", "\"demo:hit#8\"; loglevel = 3;");
    let trace = Trace::from_bytes(metadata.as_bytes(), vec![sample_stream()]).unwrap();
    let count = |patterns| lines(&trace, utc(), &Choices { patterns, ..PLAIN }).1.events;
    assert_eq!((count(&["demo:hit"]), count(&["demo:hit#8"])), (2, 2));
    assert_eq!((count(&["*", "!*:hit"]), count(&["!*:hit"])), (1, 0));
    assert_eq!((count(&["*@error"]), count(&["*@critical"]), count(&["*@debug"])), (2, 0, 3));
}

#[test]
fn json_has_one_object_a_line() {
    let (found, _) = lines(&sample(), super::json::JsonForm::new(), &PLAIN);
    let head = |ns: u64, cycles: u64| {
        let ns = 1_700_000_000_000_000_000 + ns;
        format!(r#"{{"v":1,"time_ns":{ns},"cycles":{cycles},"cpu":2,"stream":0"#)
    };
    let hit = r#""thread":{"name":"main loop","pid":7,"tid":70},"name":"demo:hit""#;
    let miss = r#""thread":{"name":"w","pid":7,"tid":71},"name":"demo:miss""#;
    let lost = r#"{"v":1,"lost":"events","count":3,"causes":{"full":2,"too_big":1}"#;
    let between = r#""begin_ns":1700000000000002000,"until_ns":1700000000000004000"#;
    let want = [
        format!(r#"{},{hit},"fields":{{"a":1,"b":2}}}}"#, head(1001, 1001)),
        format!(r#"{},{miss},"fields":{{"why":"no \"luck\"\n"}}}}"#, head(1501, 1501)),
        format!(r#"{lost},{between},"cpu":2,"stream":0}}"#),
        format!(r#"{},"name":"demo:hit","fields":{{"a":3,"b":4}}}}"#, head(3005, 3005)),
    ];
    assert_eq!(found, want);
}

/// A trace with one event whose payload has every form of value.
fn every_form() -> Trace {
    let signed = Int { signed: true, ..Int::bytes(16, ORDER) };
    let labels = vec![("low water".to_string(), -5, 9)];
    let pair = Kind::structure(vec![("x", Kind::u(8, ORDER)), ("y", Kind::Int(signed))]);
    let options = vec![("none".to_string(), Kind::u(8, ORDER)), ("pair".to_string(), pair.clone())];
    let float = |size_bits| Kind::Float { size_bits, align_bits: 8, order: ORDER };
    let payload = Kind::structure(vec![
        ("e", Kind::Enumeration { container: signed, labels: labels.clone() }),
        ("u", Kind::Enumeration { container: signed, labels }),
        ("f", float(32)),
        ("d", float(64)),
        ("n", float(64)),
        ("s", pair),
        ("a", Kind::Array { element: Box::new(Kind::Int(signed)), count: 2 }),
        ("none", Kind::Array { element: Box::new(Kind::u(8, ORDER)), count: 0 }),
        ("v", Kind::Variant { tag: Int::bytes(8, ORDER), options }),
        ("raw", Kind::Text),
    ]);
    let spec = Spec { events: Vec::new(), ..spec() };
    let event = testkit::EventSpec { id: 8, name: "e v".into(), context: None, payload };
    let spec = Spec { events: vec![event], ..spec };
    let pair = || Datum::List(vec![Datum::Unsigned(1), Datum::Signed(-2)]);
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(0);
    let values = vec![
        Datum::Signed(-5),
        Datum::Signed(99),
        Datum::Float(f64::from(0.1f32)),
        Datum::Float(1e300),
        Datum::Float(f64::NAN),
        pair(),
        Datum::List(vec![Datum::Signed(-1), Datum::Signed(2)]),
        Datum::List(Vec::new()),
        Datum::Option(1, Box::new(pair())),
        Datum::Text(b"\x1b[2J\xff\xc3\xa9".to_vec()),
    ];
    writer.event(8, 1, Datum::List(values));
    writer.end_packet(2, 0);
    open(&spec, writer.finish().0)
}

#[test]
fn every_form_of_value_has_its_notation() {
    let (text, _) = lines(&every_form(), utc(), &PLAIN);
    let want = "22:13:20.000000001 0 - e_v e=low_water(-5) u=99 f=0.1 d=1e300 n=NaN \
         s={x=1 y=-2} a=[-1 2] none=[] v_tag=pair(1) v={pair={x=1 y=-2}} raw=\"\\x1b[2J\\xffé\"";
    assert_eq!(text, [want]);
    let (json, _) = lines(&every_form(), super::json::JsonForm::new(), &PLAIN);
    let want = "\"fields\":{\"e\":{\"label\":\"low water\",\"value\":-5},\"u\":{\"label\":null,\
         \"value\":99},\"f\":0.1,\"d\":1e300,\"n\":\"NaN\",\"s\":{\"x\":1,\"y\":-2},\"a\":[-1,2],\
         \"none\":[],\"v_tag\":{\"label\":\"pair\",\"value\":1},\
         \"v\":{\"pair\":{\"x\":1,\"y\":-2}},\"raw\":\"\\u001b[2J\u{fffd}é\"}}";
    assert!(json[0].ends_with(want), "{}", json[0]);
}

/// A trace with events of the kernel's: bits with names, and results of calls.
fn named() -> Trace {
    let bits = Int { size_bits: 48, ..Int::bytes(64, ORDER) };
    let label = |name: &str, value| (name.to_string(), value, value);
    let labels = vec![label("RDONLY", 0), label("CREATE", 0x40), label("DSYNC", 0x1000)];
    let labels = [labels, vec![label("SYNC", 0x10_1000), label("ANY", 3)]].concat();
    let requests = vec![label("GET", 0x5401), label("SIZE", 0x5413)];
    let request = Kind::Enumeration { container: bits, labels: requests };
    let signed = Int { signed: true, ..Int::bytes(64, ORDER) };
    let open = Kind::structure(vec![("flags", Kind::Enumeration { container: bits, labels })]);
    let result = Kind::structure(vec![("ret", Kind::Int(signed))]);
    let events = vec![
        (8, "syscalls:sys_enter_open", open),
        (9, "syscalls:sys_exit_open", result.clone()),
        (10, "demo:exit", result),
        (11, "syscalls:sys_enter_ioctl", Kind::structure(vec![("cmd", request)])),
    ];
    let spec = Spec { frequency_hz: 1_000_000_000, offset_cycles: 0, ..Spec::lull(ORDER, events) };
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(0);
    for flags in [0, 0x40, 0x1040, 0x10_1042, 4] {
        writer.event(8, 1, list(&[flags]));
    }
    for (id, result) in [(9, 7), (9, -2), (9, -4000), (10, -2)] {
        writer.event(id, 1, Datum::List(vec![Datum::Signed(result)]));
    }
    for request in [0x5413, 0x5417] {
        writer.event(11, 1, list(&[request]));
    }
    writer.end_packet(2, 0);
    let hexadecimal = spec.metadata().replace("size = 48;", "size = 48; base = 16;");
    let streams = vec![(PathBuf::from("stream"), writer.finish().0)];
    Trace::from_bytes(hexadecimal.as_bytes(), streams).unwrap()
}

#[test]
fn bits_and_errors_have_their_names_beside_the_number() {
    let (text, _) = lines(&named(), utc(), &PLAIN);
    let shown: Vec<&str> = text.iter().filter_map(|line| line.rsplit(' ').next()).collect();
    let want = [
        "flags=RDONLY(0x0)",
        "flags=CREATE(0x40)",
        "flags=CREATE|DSYNC(0x1040)",
        "flags=SYNC|CREATE|0x2(0x101042)",
        "flags=0x4",
        "ret=7",
        "ret=ENOENT(-2)",
        "ret=-4000",
        "ret=-2",
        "cmd=SIZE(0x5413)",
        "cmd=0x5417",
    ];
    assert_eq!(shown, want);
    let (json, _) = lines(&named(), super::json::JsonForm::new(), &PLAIN);
    assert!(json[2].contains(r#""flags":{"label":"CREATE|DSYNC","value":4160}"#), "{}", json[2]);
    assert!(json[4].contains(r#""flags":{"label":null,"value":4}"#), "{}", json[4]);
    assert!(json[6].contains(r#","error":"ENOENT","#) && json[6].contains(r#"{"ret":-2}"#));
    let errors = json.iter().filter(|line| line.contains("\"error\"")).count();
    assert_eq!(errors, 1);
}

#[test]
fn several_processors_print_the_lines_of_one() {
    let padding_bytes = 200_000;
    let streams = (0..2).map(|cpu| {
        let spec = spec();
        let mut writer = StreamWriter::new(&spec, cpu);
        for packet in 0..100 {
            let begin = packet * 1000 + u64::from(cpu) * 333;
            writer.begin_packet(begin);
            writer.event(1, begin, thread(70 + packet, "worker"));
            for event in 0..9 {
                writer.event(8, begin + event * 99, list(&[packet, event]));
            }
            if packet % 9 == 0 {
                writer.lose([1, 0, 0, 0]);
            }
            writer.end_packet(begin + 999, padding_bytes);
        }
        (PathBuf::from(format!("s{cpu}")), writer.finish().0)
    });
    let traces = [Trace::from_bytes(spec().metadata().as_bytes(), streams.collect()).unwrap()];
    let parse = |words: &[&str]| {
        let words = ["print"].into_iter().chain(words.iter().copied());
        PrintWords::try_parse_from(words).unwrap().args
    };
    for words in [&[][..], &["--from", "1700000000000004000", "-e", "*:hit if b > 3"]] {
        let args = parse(words);
        let selection = Selection::new(&args.selection).unwrap();
        let classes = Classes::new(&traces, &selection, false).unwrap();
        let span = selection.span(&traces, true).unwrap();
        let of = |workers| {
            let mut out = Vec::new();
            let printed =
                print_all((None, workers), &traces, &span, (&classes, None), utc, &mut out);
            let (tally, rest) = printed.unwrap();
            assert!(rest.problems().is_empty());
            (String::from_utf8(out).unwrap(), tally.events, tally.losses)
        };
        let (one, four) = (of(1), of(4));
        let differs = one.0.lines().zip(four.0.lines()).find(|(one, four)| one != four);
        assert_eq!(differs, None);
        assert_eq!((one.0.len(), one.1, one.2), (four.0.len(), four.1, four.2));
        assert!(one.1 > 500 && one.2 > 10 && one.0.contains("worker/100 demo:hit"));
    }
}

#[derive(Debug, Parser)]
struct PrintWords {
    #[command(flatten)]
    args: PrintArgs,
}

struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(Error::from(ErrorKind::BrokenPipe))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let trace = sample();
    let traces = std::slice::from_ref(&trace);
    let args = SelectionArgs::default();
    let selection = Selection::new(&args).unwrap();
    let classes = Classes::new(traces, &selection, false).unwrap();
    let mut merge = Merge::over(traces);
    let tally = print(&mut merge, (&classes, None), &mut utc(), None, &mut ClosedPipe).unwrap();
    assert!(tally.is_unwanted);
}

#[test]
fn flags_booleans_and_optional_fields_of_ctf_2_are_shown_as_what_they_are() {
    let number = |ty: &str, more: &str| {
        format!(
            r#"{{"type": "fixed-length-{ty}", "length": 8, "byte-order": "little-endian"{more}}}"#
        )
    };
    let optional = |selector: &str| {
        format!(
            r#"{{"type": "optional", "selector-field-location": {{"path": ["{selector}"]}},
            "field-class": {}}}"#,
            number("unsigned-integer", "")
        )
    };
    let members = [
        ("yes", number("boolean", "")),
        ("no", number("boolean", "")),
        ("flags", number("bit-map", r#", "flags": {"a": [[0, 0]], "b": [[1, 2]], "c": [[7, 7]]}"#)),
        ("none", number("bit-map", r#", "flags": {"a": [[0, 0]]}"#)),
        ("there", optional("yes")),
        ("absent", optional("no")),
    ];
    let members: Vec<String> = members
        .iter()
        .map(|(name, class)| format!(r#"{{"name": "{name}", "field-class": {class}}}"#))
        .collect();
    let metadata = format!(
        "\u{1e}{}\n\u{1e}{}\n\u{1e}{}\n",
        r#"{"type": "preamble", "version": 2}"#,
        r#"{"type": "data-stream-class"}"#,
        format_args!(
            r#"{{"type": "event-record-class", "name": "e", "payload-field-class":
            {{"type": "structure", "member-classes": [{}]}}}}"#,
            members.join(",")
        )
    );
    let streams = vec![(PathBuf::from("stream"), vec![4, 0, 0x83, 0, 7])];
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
    let (text, _) = lines(&trace, LineForm::new(false, Times::Cycles), &PLAIN);
    let wanted = "e yes=true no=false flags=a|b|c(0x83) none=0x0 there=7 absent=none";
    assert!(text[0].ends_with(wanted), "{text:?}");
    let (text, _) = lines(&trace, super::json::JsonForm::new(), &PLAIN);
    let wanted = [
        r#""fields":{"yes":true,"no":false,"flags":{"label":"a|b|c","value":131},"#,
        r#""none":{"label":null,"value":0},"there":7,"absent":null}}"#,
    ];
    assert!(text[0].ends_with(&wanted.concat()), "{text:?}");
}
