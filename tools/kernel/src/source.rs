// SPDX-License-Identifier: MIT
//! Events at places that the user names: what `--probe` asks for, as the module takes it.
//!
//! Place in the flow: text -> **source** -> `session::device`, which hands it to the module. The
//! words are those of tracefs's `kprobe_events`, so that what an engineer knows of them holds:
//!
//! ```text
//! p[:GROUP/EVENT] [MODULE:]SYMBOL[+OFFSET] [FIELD...]   a function's begin, or a place in it
//! p[:GROUP/EVENT] /PATH:OFFSET [FIELD...]         a place in a program or library
//! r[MAX][:GROUP/EVENT] [MODULE:]SYMBOL [FIELD...]       a function's return
//! r[:GROUP/EVENT] /PATH:OFFSET [FIELD...]         the return of a program's function
//! t[:GROUP/EVENT] [MODULE:]TRACEPOINT [FIELD...]  a tracepoint; without fields, all its arguments
//! w[:GROUP/EVENT] SYMBOL|ADDRESS:BYTES:w|rw|x [FIELD...]   an access
//! ```
//!
//! FIELD is `[NAME=]VALUE[:TYPE]`; VALUE is `%REGISTER`, `$argN`, `$arg*`, `$retval`, `\NUMBER`,
//! `@SYMBOL`, `@ADDRESS`, `+OFFSET(VALUE)`, `+uOFFSET(VALUE)`, or a parameter's name with the names
//! of members behind `->`, which the kernel's own types explain.

use crate::types::{Parameter, Types, Value};
use session::abi::*;
use session::device::Source;
use std::collections::HashSet;

const LEVEL: u8 = 6;
#[cfg(target_arch = "x86_64")]
const REGISTERS: [&str; 21] = [
    "r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di",
    "orig_ax", "ip", "cs", "flags", "sp", "ss",
];
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: [&str; 34] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
    "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
    "x28", "x29", "x30", "sp", "pc", "pstate",
];

/// A text that cannot be understood, and why.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("--probe '{text}': {why}")]
pub struct BadSource {
    pub text: String,
    pub why: String,
}

type Result<T> = std::result::Result<T, String>;

/// A value: where it begins, what leads to it, and what it is by itself.
struct Found {
    field: SourceField,
    steps: Vec<i32>,
    kind: Option<&'static str>,
    name: Option<String>,
}

/// What is asked of the kernel while a text is read.
pub trait Known {
    /// The types of the kernel, or of one of its modules.
    fn types(&self, module: Option<&str>) -> Result<Types>;
    /// Where a symbol is.
    fn symbol(&self, name: &str) -> Result<u64>;
}

/// The kernel that runs.
struct Running;

impl Known for Running {
    fn types(&self, module: Option<&str>) -> Result<Types> {
        Types::read(module)
    }

    fn symbol(&self, name: &str) -> Result<u64> {
        let symbols =
            std::fs::read_to_string("/proc/kallsyms").map_err(|error| error.to_string())?;
        let found = symbols.lines().find_map(|line| {
            let mut words = line.split(' ');
            let at = words.next()?;
            (words.nth(1)?.split('\t').next() == Some(name)).then_some(at)
        });
        let at = found.and_then(|at| u64::from_str_radix(at, 16).ok()).filter(|at| *at != 0);
        at.ok_or_else(|| format!("/proc/kallsyms does not tell where `{name}` is"))
    }
}

/// The kernel while one text is read.
struct Kernel<'a> {
    known: &'a dyn Known,
    parameters: Option<(Types, Vec<Parameter>)>,
}

/// Reads one text of `--probe`.
pub fn parse(text: &str) -> std::result::Result<Source, BadSource> {
    parse_with(text, &Running).map_err(|why| BadSource { text: text.to_string(), why })
}

/// The same for another kernel than the one that runs, as tests have it.
pub fn parse_with(text: &str, known: &dyn Known) -> Result<Source> {
    let mut words = text.split_whitespace();
    let (head, place) = words.next().zip(words.next()).ok_or("it names no place")?;
    let (kind, name) = head.split_once(':').map_or((head, None), |(a, b)| (a, Some(b)));
    let mut source = place_of(kind, place, known)?;
    let mut kernel = Kernel { known, parameters: None };
    let mut words: Vec<&str> = words.collect();
    if words.is_empty() && source.kind == SOURCE_TRACEPOINT {
        words.push("$arg*");
    }
    let mut lines = Vec::new();
    for word in words {
        if word == "$arg*" {
            let all = kernel.parameters(&source)?.1.clone();
            for parameter in all.iter().filter(|p| is_held(&p.value)) {
                add_field(&mut source, &mut lines, &mut kernel, &parameter.name)?;
            }
        } else {
            add_field(&mut source, &mut lines, &mut kernel, word)?;
        }
    }
    let has_steps = source.fields.iter().any(|field| field.step_count > 0);
    if has_steps && source.fields.len() < SOURCE_FIELDS_MAX {
        source.fields.push(SourceField { from: FROM_UNREAD, ..SourceField::default() });
        lines.push("x32 unread".to_string());
    }
    if source.fields.len() > SOURCE_FIELDS_MAX {
        return Err(format!("an event has at most {SOURCE_FIELDS_MAX} fields"));
    }
    let mut names = HashSet::new();
    let twice =
        lines.iter().filter_map(|line| line.split(' ').nth(1)).find(|name| !names.insert(*name));
    if let Some(twice) = twice {
        return Err(format!("two fields have the name `{twice}`"));
    }
    let name = event_name(name, place)?;
    let place: String = place.chars().filter(|c| !c.is_control()).collect();
    source.description = format!("{name}\n{LEVEL}\n{place}:0\n");
    lines.iter().for_each(|line| source.description += &format!("{line}\n"));
    Ok(source)
}

/// Whether an event can hold a value.
fn is_held(value: &Value) -> bool {
    !matches!(value, Value::Structure(_) | Value::Other)
}

fn place_of(kind: &str, place: &str, known: &dyn Known) -> Result<Source> {
    let mut source = Source::default();
    let digits = kind.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = kind.strip_suffix(digits).unwrap_or_default();
    source.kind = match letters {
        "p" if place.starts_with('/') => SOURCE_PROGRAM,
        "p" => SOURCE_FUNCTION,
        "r" if place.starts_with('/') => SOURCE_PROGRAM_RETURN,
        "r" => SOURCE_RETURN,
        "t" => SOURCE_TRACEPOINT,
        "w" => SOURCE_ACCESS,
        _ => return Err(format!("`{kind}` is none of p, r, t and w")),
    };
    if !digits.is_empty() && source.kind != SOURCE_RETURN {
        return Err(format!("`{kind}`: only r of the kernel's functions takes a number"));
    }
    if !digits.is_empty() {
        source.length = digits.parse().map_err(|_| format!("`{kind}` has no number"))?;
    }
    match source.kind {
        SOURCE_PROGRAM | SOURCE_PROGRAM_RETURN => {
            let (path, offset) = place.rsplit_once(':').ok_or("a path needs :OFFSET")?;
            source.target = path.to_string();
            source.offset = number(offset)? as u64;
        }
        SOURCE_FUNCTION => {
            let (symbol, offset) = place.split_once('+').unwrap_or((place, "0"));
            source.target = symbol.to_string();
            source.offset = number(offset)? as u64;
        }
        SOURCE_ACCESS => {
            let parts: Vec<&str> = place.split(':').collect();
            let &[at, bytes, access] = parts.as_slice() else {
                return Err("an access needs ADDRESS:BYTES:w, :rw or :x".into());
            };
            source.offset = address(at, known)?;
            source.length = number(bytes)? as u32;
            source.access = match access {
                "w" => ACCESS_WRITE,
                "rw" => ACCESS_READ_WRITE,
                "x" => ACCESS_EXECUTE,
                _ => return Err(format!("`{access}` is none of w, rw and x")),
            };
        }
        _ => source.target = place.to_string(),
    }
    Ok(source)
}

/// The module that a symbol or a tracepoint is in, if one is named, and its name there.
fn owner(target: &str) -> (Option<&str>, &str) {
    target.split_once(':').map_or((None, target), |(module, name)| (Some(module), name))
}

/// GROUP/EVENT or EVENT, else the place's own name, as GROUP:EVENT.
fn event_name(asked: Option<&str>, place: &str) -> Result<String> {
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let Some(asked) = asked else {
        let last = place.rsplit('/').next().unwrap_or(place);
        let name = last.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        return Ok(format!("probe:{name}"));
    };
    let (group, event) = asked.split_once('/').unwrap_or(("probe", asked));
    if is_name(group) && is_name(event) {
        return Ok(format!("{group}:{event}"));
    }
    Err(format!("`{asked}` is no name of an event, such as GROUP/EVENT"))
}

fn add_field(
    source: &mut Source,
    lines: &mut Vec<String>,
    kernel: &mut Kernel,
    word: &str,
) -> Result<()> {
    let (name, rest) = match word.split_once('=') {
        Some((name, rest)) => (Some(name), rest),
        None => (None, word),
    };
    let (value, asked) = match rest.rsplit_once(':') {
        Some((value, asked)) => (value, Some(asked)),
        None => (rest, None),
    };
    let mut found = kernel.value(source, value)?;
    let kind = match asked {
        Some("string") => "str",
        Some("ustring") => {
            found.field.is_user = 1;
            "str"
        }
        Some(asked) => known_type(asked)?,
        None => found.kind.unwrap_or("x64"),
    };
    if kind == "str" && (found.steps.is_empty() || found.kind == Some("ptr")) {
        found.steps.push(0);
    }
    if found.steps.len() > found.field.steps.len() {
        return Err(format!(
            "`{value}`: at most {} steps lead to a value",
            found.field.steps.len()
        ));
    }
    found.field.step_count = found.steps.len() as u8;
    found.field.steps.iter_mut().zip(&found.steps).for_each(|(to, from)| *to = *from);
    let name = name.map(str::to_string).or(found.name);
    let name = name.unwrap_or_else(|| format!("arg{}", source.fields.len() + 1));
    let is_first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !is_first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{name}` is no name of a field"));
    }
    source.fields.push(found.field);
    lines.push(format!("{kind} {name}"));
    Ok(())
}

fn known_type(asked: &str) -> Result<&'static str> {
    let types = [
        ("u8", "u8"),
        ("u16", "u16"),
        ("u32", "u32"),
        ("u64", "u64"),
        ("s8", "i8"),
        ("s16", "i16"),
        ("s32", "i32"),
        ("s64", "i64"),
        ("x8", "x8"),
        ("x16", "x16"),
        ("x32", "x32"),
        ("x64", "x64"),
        ("bool", "bool"),
        ("ptr", "ptr"),
    ];
    let found = types.iter().find(|(name, _)| *name == asked).map(|(_, kind)| *kind);
    found.ok_or_else(|| format!("`{asked}` is no type of a field"))
}

impl Kernel<'_> {
    fn parameters(&mut self, source: &Source) -> Result<&(Types, Vec<Parameter>)> {
        if self.parameters.is_none() {
            let is_tracepoint = source.kind == SOURCE_TRACEPOINT;
            if !is_tracepoint && (source.kind != SOURCE_FUNCTION || source.offset != 0) {
                return Err("only a function's begin and a tracepoint have parameters".into());
            }
            let (module, name) = owner(&source.target);
            let types = self.known.types(module)?;
            let found = match is_tracepoint {
                true => types.tracepoint(name),
                false => types.function(name),
            };
            let found = found.ok_or_else(|| {
                format!("the kernel's types tell no parameters of `{}`", source.target)
            })?;
            self.parameters = Some((types, found));
        }
        self.parameters.as_ref().ok_or_else(String::new)
    }

    fn value(&mut self, source: &Source, text: &str) -> Result<Found> {
        let begun = |from, index, constant| Found {
            field: SourceField { from, index, constant, ..SourceField::default() },
            steps: Vec::new(),
            kind: None,
            name: None,
        };
        if let Some(name) = text.strip_prefix('%') {
            let index = REGISTERS.iter().position(|register| *register == name);
            let index = index.ok_or_else(|| format!("there is no register `%{name}`"))?;
            return Ok(begun(FROM_REGISTER, index as u32 * 8, 0));
        }
        if text == "$retval" {
            return Ok(begun(FROM_RESULT, 0, 0));
        }
        if let Some(digits) = text.strip_prefix("$arg") {
            let position: u32 = digits.parse().map_err(|_| format!("`{text}` has no number"))?;
            let index = position.checked_sub(1).ok_or("arguments begin with $arg1")?;
            return Ok(begun(FROM_ARGUMENT, index, 0));
        }
        if let Some(digits) = text.strip_prefix('\\') {
            return Ok(begun(FROM_CONSTANT, 0, number(digits)? as u64));
        }
        if let Some(place) = text.strip_prefix('@') {
            let mut found = begun(FROM_CONSTANT, 0, address(place, self.known)?);
            found.steps.push(0);
            return Ok(found);
        }
        if text.starts_with(['+', '-']) {
            let (offset, inner) = text.split_once('(').ok_or("an offset needs (VALUE)")?;
            let inner = inner.strip_suffix(')').ok_or("a parenthesis is not closed")?;
            let mut found = self.value(source, inner)?;
            if found.field.is_user != 0 {
                return Err("only the last step can be in the program's memory".into());
            }
            let plain = offset.replacen('u', "", 1);
            found.field.is_user = u8::from(plain.len() < offset.len());
            let step = number(plain.trim_start_matches('+'))?;
            found.steps.push(i32::try_from(step).map_err(|_| format!("`{offset}` is too far"))?);
            found.kind = None;
            return Ok(found);
        }
        self.named(source, text, begun(FROM_ARGUMENT, 0, 0))
    }

    /// A parameter, and members of what it points to.
    fn named(&mut self, source: &Source, text: &str, mut found: Found) -> Result<Found> {
        let (types, parameters) = self.parameters(source)?;
        let mut names = text.split("->");
        let first = names.next().unwrap_or_default();
        let index = parameters.iter().position(|parameter| parameter.name == first);
        let index =
            index.ok_or_else(|| format!("`{}` has no parameter `{first}`", source.target))?;
        let before = parameters.get(..=index).unwrap_or_default();
        if before.iter().any(|p| matches!(p.value, Value::Structure(_))) {
            return Err(format!("`{}` takes a structure by value", source.target));
        }
        found.field.index = index as u32;
        let mut value = before.last().map_or(Value::Other, |parameter| parameter.value.clone());
        let mut name = first;
        for member in names {
            let Value::Pointer(structure) = value else {
                return Err(format!("`{name}` is no pointer"));
            };
            let (at, what) = types
                .member(structure, member)
                .ok_or_else(|| format!("what `{name}` points to has no whole member `{member}`"))?;
            found.steps.push(i32::try_from(at).map_err(|_| format!("`{member}` is too far"))?);
            (value, name) = (what, member);
        }
        found.name = Some(name.to_string());
        found.kind = match value {
            Value::Number(kind) => Some(kind),
            Value::Pointer(_) => Some("ptr"),
            Value::Text => Some("str"),
            _ => return Err(format!("`{text}` is nothing that a field can hold")),
        };
        Ok(found)
    }
}

fn number(text: &str) -> Result<i64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let parsed = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map(|number| number as i64),
        None => digits.parse(),
    };
    let parsed = parsed.map_err(|_| format!("`{text}` is no number"))?;
    Ok(if is_negative { parsed.wrapping_neg() } else { parsed })
}

/// A number, or where the kernel has a symbol.
fn address(text: &str, known: &dyn Known) -> Result<u64> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(number(text)? as u64);
    }
    let (symbol, offset) = text.split_once('+').unwrap_or((text, "0"));
    Ok(known.symbol(symbol)?.wrapping_add(number(offset)? as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that tells no types, and which it was asked for.
    #[derive(Default)]
    struct Silent(std::cell::RefCell<Vec<Option<String>>>);

    impl Known for Silent {
        fn types(&self, module: Option<&str>) -> Result<Types> {
            self.0.borrow_mut().push(module.map(str::to_string));
            Err("no types".into())
        }

        fn symbol(&self, name: &str) -> Result<u64> {
            if name == "here" {
                Ok(0x1000)
            } else {
                Err(format!("no {name}"))
            }
        }
    }

    fn plain(text: &str) -> Result<Source> {
        parse_with(text, &Silent::default())
    }

    #[test]
    fn place_and_fields_are_what_the_text_says() {
        let source = plain("p:own/open do_sys_openat2+4 dfd=%di:s32 name=+0(%si):ustring").unwrap();
        assert_eq!((source.kind, source.target.as_str(), source.offset), (2, "do_sys_openat2", 4));
        assert_eq!(
            source.description,
            "own:open\n6\ndo_sys_openat2+4:0\ni32 dfd\nstr name\nx32 unread\n"
        );
        let [dfd, name, unread] = source.fields[..] else { panic!("{:?}", source.fields) };
        #[cfg(target_arch = "x86_64")]
        assert_eq!((dfd.index, name.index), (14 * 8, 13 * 8));
        assert_eq!((dfd.from, dfd.step_count, name.step_count), (FROM_REGISTER, 0, 1));
        assert_eq!((name.is_user, unread.from), (1, FROM_UNREAD));
        let source = plain("r8 vfs_read $retval:s64").unwrap();
        assert_eq!((source.kind, source.length), (SOURCE_RETURN, 8));
        assert_eq!(source.description, "probe:vfs_read\n6\nvfs_read:0\ni64 arg1\n");
        let source = plain("p:main /bin/x:0x12 v=-8(+16(%sp)) c=\\3:u8").unwrap();
        assert_eq!((source.kind, source.offset), (SOURCE_PROGRAM, 0x12));
        assert_eq!((source.fields[0].step_count, source.fields[0].steps), (2, [16, -8, 0, 0]));
        assert_eq!(source.fields[1].constant, 3);
        let source = plain("w 0xffffffff81000000:8:rw").unwrap();
        assert_eq!((source.length, source.access), (8, ACCESS_READ_WRITE));
        assert_eq!(source.offset, 0xffff_ffff_8100_0000);
        let source = plain("w here+8:8:rw at=@here").unwrap();
        assert_eq!((source.offset, source.fields[0].constant), (0x1008, 0x1000));
        assert!(plain("p x %di @there").is_err());
    }

    #[test]
    fn places_in_modules_and_returns_of_programs_are_understood() {
        let source = plain("r /bin/x:0x12 $retval:s32").unwrap();
        assert_eq!((source.kind, source.target.as_str()), (SOURCE_PROGRAM_RETURN, "/bin/x"));
        assert_eq!((source.offset, source.fields[0].from), (0x12, FROM_RESULT));
        let source = plain("t 9pnet:9p_client_req $arg2").unwrap();
        assert_eq!(source.target, "9pnet:9p_client_req");
        assert_eq!(source.name(), "probe:9pnet_9p_client_req");
        let source = plain("p ext4:ext4_sync_fs+4").unwrap();
        assert_eq!((source.target.as_str(), source.offset), ("ext4:ext4_sync_fs", 4));
        let asked = Silent::default();
        for text in ["p a:b c", "t a:b c", "p b c"] {
            assert!(parse_with(text, &asked).is_err());
        }
        let module = || Some("a".to_string());
        assert_eq!(asked.0.into_inner(), [module(), module(), None]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, why) in [
            ("p", "no place"),
            ("q vfs_read", "none of p, r, t and w"),
            ("p vfs_read %no", "no register"),
            ("p vfs_read $arg0", "begin with $arg1"),
            ("p vfs_read a-b=%di", "no name of a field"),
            ("p vfs_read %di:f64", "no type"),
            ("p vfs_read +8(%di", "not closed"),
            ("p vfs_read +8(+u8(%di))", "only the last step"),
            ("p vfs_read +1(+1(+1(+1(+1(%di)))))", "at most 4 steps"),
            ("p vfs_read +0x100000000(%di)", "too far"),
            ("p:a:b vfs_read", "no name of an event"),
            ("p vfs_read a=%di b=%si a=%di", "two fields have the name `a`"),
            ("p vfs_read unread=+0(%di)", "two fields have the name `unread`"),
            ("p vfs_read count", "no types"),
            ("r vfs_read count", "have parameters"),
            ("p /bin/x", ":OFFSET"),
            ("r /bin/x", ":OFFSET"),
            ("r8 /bin/x:4", "takes a number"),
            ("p8 vfs_read", "takes a number"),
            ("w 0x1:8:q", "none of w, rw and x"),
        ] {
            let told = plain(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
        let many = "p vfs_read ".to_string() + &"%di ".repeat(17);
        assert!(plain(&many).unwrap_err().contains("at most 16 fields"));
    }

    #[test]
    fn parameters_and_members_are_found_by_the_kernels_types() {
        if Types::read(None).is_err() {
            return;
        }
        let source = parse("p vfs_read count file->f_mode:x32").unwrap();
        assert_eq!(source.fields[0].index, 2);
        assert_eq!((source.fields[1].index, source.fields[1].step_count), (0, 1));
        assert!(source.description.contains("\nu64 count\nx32 f_mode\n"), "{source:?}");
        let source = parse("t sched_process_fork parent->pid child->comm").unwrap();
        assert!(source.description.contains("\ni32 pid\nstr comm\n"), "{source:?}");
        let all = parse("t sched_process_fork").unwrap();
        assert!(all.description.contains("\nptr parent\nptr child\n"), "{all:?}");
    }
}
