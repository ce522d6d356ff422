// SPDX-License-Identifier: MIT
//! What filters mean: decided by the code that the kernel runs, and (`oracle`) beside it by a
//! second, slow evaluation of the same tree.

mod oracle;

use super::*;
use crate::link::{CONSTANT, CONTEXT};
use std::ffi::{c_char, c_int, CStr, CString};

/// Of `lull_filter_fields()`.
const FIELDS_MAX: usize = 64;

/// `struct lull_filter_value`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    number: u64,
    text: *const u8,
}

extern "C" {
    fn lull_filter_fields(description: *const c_char, inputs: *mut u8) -> usize;
    fn lull_filter_check(
        program: *const u64,
        bytes: usize,
        inputs: *const u8,
        input_count: usize,
    ) -> *const c_char;
    fn lull_filter_run(program: *const u64, fields: *const Value, contexts: *const Value) -> c_int;
}

/// A value of a field or a context, as the language sees it.
#[derive(Debug, Clone, PartialEq)]
enum Meant {
    Number(i128),
    Text(String),
}

const EVENT: &str = "a:b\n6\nf.c:1\ni32 pid\nu64 count\ni64 ret\nstr name\nu8 small\nau8 list\n\
     enum family AF_UNIX=1,AF_INET=2\nf64 ratio\nx32 flags\nbool is\nptr at\nstrn comm\n\
     x32 mode F_OK=0,X_OK=1,W_OK=2,R_OK=4,RW=6\n";

fn event(text: &str) -> Description {
    Description::parse(text.as_bytes()).unwrap()
}

fn compile(text: &str, description: &str) -> Result<Compiled, Error> {
    let compiled = Filter::parse(text)?.compile(&[&event(description)])?;
    Ok(compiled.into_iter().next().unwrap())
}

fn values(of: &[Meant]) -> Vec<Value> {
    let value = |meant: &Meant| match meant {
        Meant::Number(number) => Value { number: *number as u64, text: std::ptr::null() },
        Meant::Text(text) => Value { number: text.len() as u64, text: text.as_ptr() },
    };
    of.iter().map(value).collect()
}

/// Runs what a filter comes to, after the kernel's check of it.
fn decide(compiled: &Compiled, description: &str, fields: &[Meant], contexts: &[Meant]) -> bool {
    let program = match compiled {
        Compiled::Always => return true,
        Compiled::Never => return false,
        Compiled::Program(program) => program,
    };
    let mut words = vec![0u64; program.len().div_ceil(8)];
    let description = CString::new(description).unwrap();
    let mut inputs = [0; FIELDS_MAX];
    let (fields, contexts) = (values(fields), values(contexts));
    // SAFETY: the words have room for the program, the inputs for all that there can be; the values
    // are as many as the event has fields, and as there are contexts, and their texts outlive them.
    unsafe {
        let to = words.as_mut_ptr();
        std::ptr::copy_nonoverlapping(program.as_ptr(), to.cast(), program.len());
        let count = lull_filter_fields(description.as_ptr(), inputs.as_mut_ptr());
        assert_eq!(count, fields.len());
        let wrong = lull_filter_check(to, program.len(), inputs.as_ptr(), count);
        assert!(wrong.is_null(), "{:?}", CStr::from_ptr(wrong));
        lull_filter_run(to, fields.as_ptr(), contexts.as_ptr()) & 1 == 1
    }
}

fn some_fields() -> Vec<Meant> {
    use Meant::{Number, Text};
    let text = |text: &str| Text(text.into());
    let (pid, count, ret, small, family) =
        (Number(42), Number(u64::MAX.into()), Number(-2), Number(200), Number(2));
    let (flags, is, at) = (Number(0x41), Number(1), Number(0xffff_8000_0000_0000));
    let none = Number(0);
    vec![
        pid,
        count,
        ret,
        text("git-status"),
        small,
        none.clone(),
        family,
        none,
        flags,
        is,
        at,
        text(""),
        Number(6),
    ]
}

fn some_contexts() -> Vec<Meant> {
    let mut contexts: Vec<Meant> =
        Context::all().map(|context| Meant::Number(100 + i128::from(context.number))).collect();
    contexts[2] = Meant::Text("make".into());
    contexts
}

/// Decides by the rule of a filter for events that are read.
fn decide_read(text: &str, fields: &[Meant], contexts: &[Meant]) -> bool {
    let rules = Filter::parse(text).and_then(|filter| filter.rules(&[&event(EVENT)])).unwrap();
    let know = |input| {
        let meant = match input {
            Input::Field(index) => fields.get(index)?,
            Input::Context(context) => contexts.get(usize::from(context.number))?,
        };
        Some(match meant {
            Meant::Number(number) => Known::Number(*number as u64),
            Meant::Text(text) => Known::Text(text.as_bytes().into()),
        })
    };
    rules[0].holds(&know)
}

fn holds(text: &str) -> bool {
    let read = decide_read(text, &some_fields(), &some_contexts());
    let recorded = holds_recorded(text);
    assert_eq!(read, recorded, "{text}: read and recorded");
    recorded
}

fn holds_recorded(text: &str) -> bool {
    let compiled = compile(text, EVENT).unwrap_or_else(|error| panic!("{error}"));
    decide(&compiled, EVENT, &some_fields(), &some_contexts())
}

#[test]
fn program_for_what_never_holds_takes_nothing() {
    let never = compile("1 == 2", EVENT).unwrap().into_program().unwrap();
    assert!(!decide(&Compiled::Program(never), EVENT, &some_fields(), &some_contexts()));
}

#[test]
fn comparisons_mean_numbers_whatever_their_size_and_sign() {
    for text in [
        "pid == 42",
        "pid != 41",
        "pid < 43",
        "pid <= 42",
        "pid > -1",
        "pid >= 42",
        "42 == pid",
        "41 < pid",
        "42 >= pid",
        "ret < 0",
        "ret == -2",
        "ret > -3",
        "-2 >= ret",
        "count > 5",
        "count == 18446744073709551615",
        "count > ret",
        "ret < count",
        "ret != count",
        "count >= ret",
        "ret <= count",
        "pid < count",
        "ret < pid",
        "small == 200",
        "small < 256",
        "small != 1000",
        "small > -1",
        "pid == 0x2a",
        "pid == 052",
        "at > 0x7fffffffffffffff",
        "is",
        "!!is",
        "pid",
        "$pid == 100",
        "tid == 101",
        "$prio < 104",
        "cgroup == $cgroup",
        "pid != $pid",
    ] {
        assert!(holds(text), "{text}");
        assert!(!holds(&format!("!({text})")), "{text}");
    }
}

#[test]
fn bits_labels_and_texts_are_compared() {
    for text in [
        "flags & 0x40",
        "flags & 0x41 == 0x41",
        "(flags & 2) == 0",
        "0x40 & flags != 0",
        "flags & 1 & 3",
        "ret & 0xff == 0xfe",
        "flags & 0x40 < 65",
        "flags & 1 == is & 1",
        "mode & W_OK",
        "R_OK & mode",
        "mode & RW == RW",
        "mode & X_OK == F_OK",
        "mode == RW",
        "family == AF_INET",
        "AF_UNIX != family",
        "family == 2",
        "name == \"git-status\"",
        "name == \"git*\"",
        "\"git-*\" == name",
        "name != \"git\"",
        "name == \"*\"",
        "comm == \"\"",
        "$comm == \"make\"",
        "$comm == \"m*\"",
        "name != \"git-status\\*\"",
        "name == \"git?status\" || name =~ \"git?status\"",
        "name =~ \"*-st?t*s\"",
        "name =~ \"git*\" && name =~ \"*\" && name =~ \"git-status\"",
        "!(name =~ \"*-st?t*x\") && !(name =~ \"git\\?status\")",
    ] {
        assert!(holds(text), "{text}");
        assert!(!holds(&format!("!({text})")), "{text}");
    }
}

#[test]
fn contexts_are_explained_where_they_are_known() {
    let switch = event("sched:switch\n6\n:\ni32 prio\n");
    let explained = |text: &str, of| Filter::parse(text).unwrap().unexplained(&[&switch], of);
    for text in ["$pid == 1 && $tid == 1", "$comm == \"a\"", "$cpu == 0", "prio == 1"] {
        assert_eq!(explained(text, Of::Tracefs), None, "{text}");
    }
    for text in ["$prio == 1", "$uid == 1", "$cgroup == 1", "$gid == 1"] {
        assert_eq!(explained(text, Of::Kernel), None, "{text}");
        assert!(explained(text, Of::Tracefs).is_some(), "{text}");
    }
}

#[test]
fn arithmetic_is_exact_and_binds_as_in_c() {
    for text in [
        "pid + 1 == 43",
        "2 + pid * 2 == 86",
        "(2 + pid) * 2 == 88",
        "pid - 40 - 1 == 1",
        "pid / 5 == 8 && pid % 5 == 2",
        "ret / 2 == -1 && -ret == 2 && -ret - 3 == ret + 1",
        "(ret - 5) / 2 == -3 && (ret - 5) % 2 == -1",
        "count + 0 > count - 1 && count / 2 == 0x7fffffffffffffff",
        "-count < -9223372036854775809",
        "-count - 1 + count == -1",
        "(ret - 9223372036854775806) / -1 == 0x8000000000000000",
        "1 << is == 2 && count >> 63 == 1 && ret >> 1 == -1 && ret >> 99 == -1",
        "ret << 63 == -count - 1",
        "flags | 2 == 0x43",
        "flags ^ 1 == 0x40",
        "flags & ~1 == 0x40",
        "~flags & 0xff == 0xbe",
        "flags & (0x40 | 1) == 65",
        "flags & pid == 0 && flags & small == 64",
        "mode & (R_OK | W_OK) == RW",
        "mode & ~RW == F_OK",
        "ret & count == 0xfffffffffffffffe",
        "ret & -1 == ret",
        "ret & ~1 == -2 && ret & ~3 == -4 && ret & ~3 < pid && pid & ~3 == 40",
        "pid - tid == 42 - 101",
        "$prio * 2 > $uid",
        "pid + tid + $prio + 1 - is == 42 + 101 + 103",
        "pid * pid * pid * pid == 3111696",
        "1 + 2 * 3 << 1 | 1 == 15 && is",
    ] {
        assert!(holds(text), "{text}");
        assert!(!holds(&format!("!({text})")), "{text}");
    }
}

#[test]
fn comparison_with_what_has_no_number_holds_neither_way() {
    for text in [
        "pid / (is - 1) == 1",
        "pid % (is - 1) == 0",
        "count + count > 0",
        "count * count > 0",
        "-count - 2 < 0",
        "-(-count - is) > 0",
        "count << 1 > 0",
        "is << 64 > 0",
        "is << ret > 0",
        "is >> ret > 0",
        "(-count - is) * -1 > 0",
        "(-count - is) / -is > 0",
    ] {
        assert!(!holds(text), "{text}");
        assert!(!holds(&format!("!({text})")), "{text}");
        assert!(holds(&format!("{text} || is")), "{text}");
    }
    assert!(holds("is - 1 << count == 0 && (-count - is) / is == -count - 1"));
}

#[test]
fn masks_that_are_computed_cost_no_step() {
    for (plain, computed) in [
        ("mode & 6 == 6", "mode & (R_OK | W_OK) == RW"),
        ("count & 0xfffffffffffffff0 == 0", "count & ~0xf == 0"),
        ("ret & 0xfffffffffffffff8 == 0", "0 == ret & ~7"),
        ("pid < 1000000", "pid < 1000 * 1000"),
        ("pid == 4 || pid == 6", "2 + 2 == pid || pid == (1 + 2) * 2"),
    ] {
        let tests = |text| match compile(text, EVENT).unwrap() {
            Compiled::Program(program) => {
                let count = usize::from(u16::from_ne_bytes([program[4], program[5]]));
                program[8..8 + 24 * count].to_vec()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(tests(plain), tests(computed), "{plain}");
    }
}

#[test]
fn comparison_with_what_a_trace_does_not_tell_holds_neither_way() {
    for text in
        ["$prio == 1", "$comm == \"make\"", "$prio < $uid", "pid == $pid", "$prio - pid == 1"]
    {
        for text in [text.to_string(), format!("!({text})")] {
            assert!(!decide_read(&text, &some_fields(), &[]), "{text}");
        }
    }
    assert!(decide_read("$prio == 1 || pid == 42", &some_fields(), &[]));
    let filter = Filter::parse("is || !is && prio").unwrap();
    assert!(!filter.rules(&[&event(EVENT)]).unwrap()[0].is_always());
}

#[test]
fn and_binds_before_or_and_parentheses_before_both() {
    for text in [
        "pid == 42 || pid == 1 && pid == 2",
        "(pid == 42 || is) && !(pid == 1)",
        "pid == 1 && is || is",
        "!(pid == 1 || pid == 2) && (is && (ret == 5 || pid == 42))",
    ] {
        assert!(holds(text), "{text}");
    }
    assert!(!holds("(pid == 42 || pid == 1) && pid == 2"));
}

#[test]
fn what_is_known_before_needs_no_program() {
    let read = "syscalls:sys_exit_read\n6\n:\ni64 ret\n";
    let compiled = |text: &str| compile(text, read).unwrap();
    assert_eq!(compiled("syscall == read"), Compiled::Always);
    assert_eq!(compiled("syscall == \"re*\""), Compiled::Always);
    assert_eq!(compiled("syscall != read"), Compiled::Never);
    assert_eq!(compiled("!(syscall == \"write\")"), Compiled::Always);
    assert_eq!(compiled("syscall == \"write\" && ret < 0"), Compiled::Never);
    assert!(matches!(compiled("syscall == read && ret < 0"), Compiled::Program(_)));
    assert_eq!(compiled("ret < 0x8000000000000000"), Compiled::Always);
    assert_eq!(compiled("ret == 0x8000000000000000"), Compiled::Never);
    assert_eq!(compiled("1 < 2"), Compiled::Always);
}

#[test]
fn comparison_with_a_field_that_the_event_lacks_holds_neither_way() {
    let with = event("a:b\n6\n:\ni32 fd\nenum family AF_INET=2\n");
    let without = event("a:c\n6\n:\nau8 fd\n");
    let compile = |text: &str| {
        let compiled = Filter::parse(text).unwrap().compile(&[&with, &without]).unwrap();
        assert!(matches!(compiled[0], Compiled::Program(_)), "{text}");
        compiled[1].clone()
    };
    for text in [
        "fd == 3",
        "!(fd == 3)",
        "fd",
        "!fd",
        "fd & 1",
        "family == AF_INET",
        "fd < 4 && tid == 1",
        "fd + 1 == 4",
        "!(tid - fd * 2 == 4)",
        "4 > 0x10 / fd",
    ] {
        assert_eq!(compile(text), Compiled::Never, "{text}");
    }
    assert!(matches!(compile("fd == 3 || tid == 1"), Compiled::Program(_)));
    assert!(matches!(compile("!(fd == 3 && tid == 1)"), Compiled::Program(_)));
}

/// What a text is refused for, and which part of it.
fn refused(text: &str) -> (String, String) {
    let error = compile(text, EVENT).expect_err(text);
    (error.why.clone(), text.get(error.place).unwrap().to_string())
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, place, why) in [
        ("pid = 42", "=", "write =="),
        ("pid == 42 | is == 1", "==", "&& or ||"),
        ("comm == 'git'", "'", "write \""),
        ("comm == \"git", "\"", "no \" at its end"),
        ("comm == \"g*t\"", "*", "at the end only"),
        ("comm =~ git", "git", "behind =~"),
        ("\"g*\" =~ comm", "comm", "behind =~"),
        ("pid =~ \"4?\"", "pid =~ \"4?\"", "no number"),
        ("comm == \"g\\it\"", "\\", "after a backslash"),
        ("pid == 42x", "42x", "no number"),
        ("pid == 0178", "0178", "no number"),
        ("pid == 18446744073709551616", "18446744073709551616", "64 bits"),
        ("pid == -x", "x", "no event"),
        ("pid == -", "", "could stand a field"),
        ("$ == 1", "$", "after $"),
        ("pid == 1 %", "", "could stand a field"),
        ("pid == 1 @", "@", "part of no filter"),
        ("pid ==", "", "could stand a field"),
        ("", "", "could stand a field"),
        ("(pid == 1", "", "parenthesis that is open"),
        ("pid == 1)", ")", "no parenthesis"),
        ("pid == 1 is", "is", "could stand &&"),
        ("1 < pid < 3", "<", "two at a time"),
        ("$host == 1", "$host", "there are $pid"),
        ("pid == 1 || hots == 1", "hots", "no event"),
        ("list == 1", "list", "neither an integer"),
        ("ratio < 1", "ratio", "neither an integer"),
        ("family == AF_INNET", "AF_INNET", "no event"),
        ("syscall == openat", "openat", "no event"),
        ("syscall < openat", "syscall < openat", "== and != only"),
        ("name < \"a\"", "name < \"a\"", "== and != only"),
        ("name == comm", "name == comm", "one in quotes"),
        ("\"a\" == \"b\"", "\"a\" == \"b\"", "one in quotes"),
        ("pid == \"1\"", "pid == \"1\"", "no number"),
        ("name", "name", "compare this"),
        ("is && 1", "1", "no condition"),
        ("(is || pid) == 1", "(is || pid)", "no number and no text"),
        ("flags & \"a\"", "\"a\"", "no number"),
        ("is && name + 1 == 2", "name", "no number"),
        ("is && 2 * comm == 2", "comm", "no number"),
        ("1 + syscall == 2", "syscall", "no number"),
        ("pid == 1 + count / (2 - 2) && is", "count / (2 - 2)", "divides by 0"),
        ("count % 0 == 1", "count % 0", "divides by 0"),
        ("is || 1 << 70 > pid", "1 << 70", "64 bits and a sign"),
        ("pid << -1", "pid << -1", "negative number"),
        ("18446744073709551615 * 2 > pid", "18446744073709551615 * 2", "64 bits and a sign"),
        ("1 + 1", "1 + 1", "no condition"),
        ("(is || pid) + 1", "(is || pid)", "no number and no text"),
        ("pid + !is == 3", "!is", "no number and no text"),
        ("pid & list", "list", "neither an integer"),
    ] {
        let (told, at) = refused(text);
        assert!(told.contains(why), "{text}: {told}");
        assert_eq!(at, place, "{text}: {told}");
    }
}

#[test]
fn mark_stands_under_the_place() {
    let error = compile("comm == \"gît\" &&\tpif == 1", EVENT).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[1], "  comm == \"gît\" && pif == 1");
    assert_eq!(lines[2], "                   ^^^");
    let error = compile("pid ==", EVENT).unwrap_err().to_string();
    assert!(error.ends_with("\n  pid ==\n        ^"), "{error}");
}

#[test]
fn filters_that_are_too_large_are_refused() {
    let long = format!("comm == \"{}\"", "a".repeat(256));
    assert!(refused(&long).0.contains("255 bytes"));
    assert!(compile(&long.replace("aa\"", "a\""), EVENT).is_ok());
    let many = vec!["pid == 1"; 129].join(" || ");
    assert!(refused(&many).0.contains("128 comparisons"));
    assert!(compile(&vec!["pid == 1"; 128].join(" && "), EVENT).is_ok());
    let texts: Vec<String> = (0..30).map(|i| format!("name == \"{i:0>200}\"")).collect();
    assert!(refused(&texts.join("||")).0.contains("4096 bytes"));
    let deep = format!("{}is{}", "(".repeat(65), ")".repeat(65));
    assert!(refused(&deep).0.contains("too deep"));
    assert!(compile(&deep[1..deep.len() - 1], EVENT).is_ok());
    assert!(refused(&"!".repeat(65)).0.contains("too deep"));
    assert!(refused(&"-~".repeat(33)).0.contains("too deep"));
    let right = |many: usize| format!("{}{}", "pid - (".repeat(many), "1") + &")".repeat(many);
    for (before, behind) in [("", ""), ("1 < ", ""), ("", " < 1"), ("", " == tid - pid")] {
        let told = |many| compile(&format!("{before}{}{behind}", right(many)), EVENT);
        assert!(told(6).is_ok(), "{before}{behind}");
        assert!(told(7).unwrap_err().why.contains("too many numbers at once"));
    }
    assert!(compile(&format!("{} > 1", vec!["pid"; 128].join(" + ")), EVENT).is_ok());
    assert!(refused(&vec!["pid"; 129].join(" + ")).0.contains("255 numbers and operators"));
    let steps = vec!["pid + 1 == 1"; 65].join(" || ");
    assert!(refused(&steps).0.contains("128 tests"));
    assert!(compile(&steps[16..], EVENT).is_ok());
    let longest = Filter::parse(&" ".repeat(TEXT_BYTES_MAX + 1)).unwrap_err();
    assert!(longest.why.contains("8192"), "{longest}");
}

/// The numbers and names of the C header, so that both sides mean the same.
#[test]
fn contexts_are_those_of_the_header() {
    let header = include_str!("../../../core/include/lull/abi/context.h");
    let body = header.split_once("enum lull_context {").unwrap().1.split_once('}').unwrap().0;
    let names: Vec<(String, String)> = body
        .lines()
        .filter_map(|line| line.trim().strip_prefix("LULL_CONTEXT_")?.split_once(", /* "))
        .map(|(name, comment)| {
            let kind = comment.split([':', ' ']).next().unwrap();
            (name.to_lowercase(), kind.to_string())
        })
        .collect();
    let ours: Vec<(String, String)> =
        Context::all().map(|context| (context.name.to_string(), context.kind.name())).collect();
    assert_eq!(names, ours);
    assert!(Context::all().enumerate().all(|(at, context)| at == usize::from(context.number)));
    let lines = header.split_once("define LULL_CONTEXT_LINES").unwrap().1;
    let lines = lines.split_once("/*").unwrap().0; // counters, which no filter reads, come after
    let lines: Vec<&str> = lines.split('"').filter_map(|line| line.strip_suffix("\\n")).collect();
    let described = |context: &Context| format!("{} {}", context.kind.name(), context.name);
    assert_eq!(lines, Context::all().map(described).collect::<Vec<_>>());
    let filter = include_str!("../../../core/include/lull/abi/filter.h");
    for (name, value) in
        [("FIELDS_MAX", FIELDS_MAX), ("CONTEXT", CONTEXT.into()), ("CONSTANT", CONSTANT.into())]
    {
        assert!(filter.contains(&format!("#define LULL_FILTER_{name} {value}u")), "{name}");
    }
}

#[test]
fn texts_of_any_bytes_are_refused_or_compiled_without_a_panic() {
    let mut random = fastrand::Rng::with_seed(9);
    let parts = [
        "pid",
        "$comm",
        "syscall",
        "family",
        "AF_INET",
        "\"a*\"",
        "\"",
        "\\",
        "(",
        ")",
        "!",
        "&&",
        "||",
        "&",
        "==",
        "<",
        "=~",
        "?",
        "-",
        "+",
        "*",
        "/",
        "%",
        "|",
        "~",
        ">>",
        "0x",
        "7",
        " ",
        "é",
        "\t",
        "$",
        "\u{1f600}",
        "'",
        "=",
    ];
    let event = event(EVENT);
    let mut parsed = 0;
    for _ in 0..50_000 {
        let count = random.usize(..12);
        let text: String = (0..count).map(|_| parts[random.usize(..parts.len())]).collect();
        match Filter::parse(&text).and_then(|filter| filter.compile(&[&event])) {
            Ok(_) => parsed += 1,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(parsed > 100, "{parsed}");
}

#[test]
fn a_filter_that_asks_only_whose_an_event_is_takes_both_ends_of_a_call() {
    for (text, wanted) in [
        ("pid == 5", true),
        ("$tid != 7 && comm =~ \"a*\"", true),
        ("uid == 0 || $gid == 3", true),
        ("pid == 5 && id > 3", false),
        ("$cpu == 1", false),
        ("result < 0", false),
        ("pid + 1 == id", false),
    ] {
        assert_eq!(Filter::parse(text).unwrap().is_of_thread(), wanted, "{text}");
    }
}
