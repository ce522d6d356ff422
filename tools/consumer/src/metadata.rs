// SPDX-License-Identifier: MIT
//! The trace's metadata: CTF 1.8 TSDL text that describes every byte of the stream files.
//!
//! Place in the flow: `output` writes it when recording starts, when new events appear and when
//! recording ends. `trace` and other CTF readers read it. docs/formats/trace.md explains it.

use crate::events::{Event, Events};
use session::clock::CtfClock;
use session::description::{Field, FieldKind};
use std::collections::HashSet;
use std::fmt::Write;
use uuid::Uuid;
use verdict::environment::{Environment, Value};

/// Everything the metadata says beside the events.
#[derive(Debug, Clone)]
pub struct Facts {
    pub uuid: [u8; 16],
    pub clock: CtfClock,
    /// Readers relate traces whose clocks have one UUID: this boot's.
    pub clock_uuid: Option<String>,
    pub environment: Environment,
    /// Of a trace whose recorder was killed: classes that only its old metadata describe, as
    /// [`kept_classes`] found them there.
    pub kept: String,
}

/// A stream class: what one user's processes recorded, or the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Class<'a> {
    pub number: u32,
    pub events: &'a Events,
}

/// The stream class of the kernel's events. Users have the numbers from 0 on.
pub const KERNEL_CLASS: u32 = 1 << 16;

const HEAD: &str = r#"/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 8; align = 8; signed = true; } := i8;
typealias integer { size = 16; align = 8; signed = true; } := i16;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; signed = true; } := i64;
typealias integer { size = 8; align = 8; signed = false; base = 16; } := x8;
typealias integer { size = 16; align = 8; signed = false; base = 16; } := x16;
typealias integer { size = 32; align = 8; signed = false; base = 16; } := x32;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := character;
typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;
typealias string { encoding = UTF8; } := text;
"#;

const CYCLES: &str = r"
typealias integer {
	size = 24; align = 8; signed = false; map = clock.monotonic.value;
} := cycles24;
typealias integer {
	size = 64; align = 8; signed = false; map = clock.monotonic.value;
} := cycles64;
";

const STREAM: &str = r"
stream {
	id = CLASS;
	packet.context := struct {
		cycles64 timestamp_begin;
		cycles64 timestamp_end;
		u64 content_size;
		u64 packet_size;
		u64 packet_seq_num;
		u64 events_discarded;
		u64 lost_full;
		u64 lost_overflow;
		u64 lost_too_big;
		u64 lost_in_flight;
		u32 cpu_id;
		u32 flags;
	};
	event.header := struct {
		enum : u8 { compact = 1 ... 252, extended = 253 } id;
		variant <id> {
			struct {
				cycles24 timestamp;
			} compact;
			struct {
				integer { size = 32; align = 32; signed = false; } id;
				cycles64 timestamp;
			} extended;
		} v;
	} align(32);
};
";

/// The whole text.
pub fn metadata(facts: &Facts, classes: &[Class]) -> String {
    let mut text = String::from(HEAD);
    trace(&mut text, facts);
    environment(&mut text, &facts.environment);
    clock(&mut text, facts);
    text.push_str(CYCLES);
    for Class { number, events } in classes {
        text.push_str(&STREAM.replace("CLASS", &number.to_string()));
        let mut names = HashSet::new();
        for item in events.iter() {
            event(&mut text, *number, item, &mut names);
        }
    }
    text.push_str(&facts.kept);
    text
}

/// The part of a metadata text of ours that describes the kernel's events, which no session's
/// memory does. No text in it can look like a class's beginning: there is no line break in one.
pub fn kept_classes(text: &str) -> String {
    let begin = STREAM.split_once("CLASS").map_or("", |(begin, _)| begin);
    let Some(at) = text.find(&format!("{begin}{KERNEL_CLASS};")) else { return String::new() };
    let rest = &text[at..];
    let until = rest[begin.len()..].find(begin).map_or(rest.len(), |until| begin.len() + until);
    rest[..until].to_string()
}

fn trace(text: &mut String, facts: &Facts) {
    let order = if cfg!(target_endian = "big") { "be" } else { "le" };
    let uuid = Uuid::from_bytes(facts.uuid);
    let _ = write!(
        text,
        "
trace {{
	major = 1;
	minor = 8;
	uuid = \"{uuid}\";
	byte_order = {order};
	packet.header := struct {{
		u32 magic;
		u8 uuid[16];
		u32 stream_id;
	}};
}};
"
    );
}

fn environment(text: &mut String, environment: &Environment) {
    text.push_str("\nenv {\n");
    for (name, value) in environment {
        let name = identifier(name);
        let _ = match value {
            Value::Integer(value) => writeln!(text, "\t{name} = {value};"),
            Value::Text(value) => writeln!(text, "\t{name} = \"{}\";", escape(value)),
        };
    }
    text.push_str("};\n");
}

fn clock(text: &mut String, facts: &Facts) {
    text.push_str("\nclock {\n\tname = \"monotonic\";\n");
    if let Some(uuid) = &facts.clock_uuid {
        let _ = writeln!(text, "\tuuid = \"{}\";", escape(uuid));
    }
    let CtfClock { frequency_hz, precision_cycles, offset_s, offset_cycles } = facts.clock;
    let _ = write!(
        text,
        "\tdescription = \"Trace clock, with its offset to UTC\";
	freq = {frequency_hz};
	precision = {precision_cycles};
	offset_s = {offset_s};
	offset = {offset_cycles};
	absolute = true;
}};
"
    );
}

fn event(text: &mut String, class: u32, event: &Event, names: &mut HashSet<String>) {
    let description = &event.description;
    let mut name = escape(&description.name);
    if !names.insert(name.clone()) {
        // Two programs disagree on an event's fields: readers tell the two apart by source.
        name = format!("{name}#{}", event.id);
        names.insert(name.clone());
    }
    let _ = write!(
        text,
        "\nevent {{\n\tid = {};\n\tname = \"{name}\";\n\tstream_id = {class};\n\tloglevel = {};\n",
        event.id,
        loglevel(description.level)
    );
    if !description.source.is_empty() {
        let _ = writeln!(text, "\tmodel.emf.uri = \"{}\";", escape(&description.source));
    }
    // Babeltrace 2.0 aborts where an event's own context has a sequence: from the first one on,
    // context stands among the fields, which it precedes anyway.
    let is_sequence = |field: &Field| matches!(field.kind, FieldKind::Addresses);
    let fixed = event.context.iter().position(is_sequence).unwrap_or(event.context.len());
    let (context, sequences) = event.context.split_at(fixed);
    if !context.is_empty() {
        structure(text, "context", &[], context);
    }
    structure(text, "fields", sequences, &description.fields);
    text.push_str("};\n");
}

fn structure(text: &mut String, scope: &str, before: &[Field], fields: &[Field]) {
    let _ = writeln!(text, "\t{scope} := struct {{");
    // A program's names come first, so that a field of ours never changes one of them.
    let mut members = HashSet::new();
    let mut named = |fields: &[Field]| -> Vec<String> {
        fields.iter().map(|field| member(&field.name, &mut members)).collect()
    };
    let (own, ours) = (named(fields), named(before));
    for (item, name) in before.iter().zip(ours).chain(fields.iter().zip(own)) {
        field(text, item, &name, &mut members);
    }
    text.push_str("\t};\n");
}

/// Readers of CTF know the log levels of LTTng, where debugging has levels 7 to 14.
fn loglevel(level: u8) -> u8 {
    if level >= 7 {
        14
    } else {
        level
    }
}

fn field(text: &mut String, field: &Field, name: &str, members: &mut HashSet<String>) {
    let _ = match &field.kind {
        FieldKind::Bool => writeln!(text, "\t\tu8 {name};"),
        FieldKind::Pointer => writeln!(text, "\t\tx64 {name};"),
        FieldKind::Text => writeln!(text, "\t\ttext {name};"),
        FieldKind::Name => writeln!(text, "\t\tcharacter {name}[16];"),
        FieldKind::Bytes => sequence(text, &field.name, name, "x8", members),
        FieldKind::Addresses => sequence(text, &field.name, name, "x64", members),
        FieldKind::Sequence { bits, signed } => {
            let element = format!("{}{bits}", if *signed { 'i' } else { 'u' });
            sequence(text, &field.name, name, &element, members)
        }
        FieldKind::Enumeration(values) => enumeration(text, name, "i32", values),
        FieldKind::Flags { names: values, .. } => {
            enumeration(text, name, &field.kind.name(), values)
        }
        kind => writeln!(text, "\t\t{} {name};", kind.name()),
    };
}

fn sequence(
    text: &mut String,
    field: &str,
    name: &str,
    element: &str,
    members: &mut HashSet<String>,
) -> std::fmt::Result {
    let length = length(field, members);
    writeln!(text, "\t\tu32 {length};")?;
    writeln!(text, "\t\t{element} {name}[{length}];")
}

/// Bits that combine have a container in base 16, by which readers know them.
fn enumeration<T: std::fmt::Display>(
    text: &mut String,
    name: &str,
    container: &str,
    values: &[(String, T)],
) -> std::fmt::Result {
    write!(text, "\t\tenum : {container} {{")?;
    for (index, (label, value)) in values.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma} \"{}\" = {value}", escape(label))?;
    }
    writeln!(text, " }} {name};")
}

/// A field's name in TSDL: CTF's readers take one leading underscore off, so that a name may
/// be a keyword. Members are named in their order.
fn member(name: &str, members: &mut HashSet<String>) -> String {
    let mut member = format!("_{}", identifier(name));
    while members.contains(&format!("_{member}")) || !members.insert(member.clone()) {
        member.push('_');
    }
    member
}

/// The name of the member that says how long another one is. Babeltrace 2.0 takes a name for that
/// of a member before it with one leading underscore more, so there is neither in a structure.
fn length(field: &str, members: &mut HashSet<String>) -> String {
    let mut length = format!("__{}_length", identifier(field));
    while members.contains(&length)
        || members.contains(&length[1..])
        || members.contains(&format!("_{length}"))
    {
        length.insert(0, '_');
    }
    members.insert(length.clone());
    length
}

/// Letters, digits and underscores only; a description may hold anything.
fn identifier(name: &str) -> String {
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().map(valid).collect()
}

/// The inside of a TSDL string.
fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            c if c.is_control() => text.push('?'),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::description::Description;

    fn facts() -> Facts {
        Facts {
            uuid: [0xab; 16],
            clock: CtfClock {
                frequency_hz: 3_000_000_000,
                precision_cycles: 30,
                offset_s: 1_700_000_000,
                offset_cycles: 5,
            },
            clock_uuid: None,
            environment: vec![
                ("tracer_name".into(), "lull".into()),
                ("command".into(), "sh -c \"a\\b\"\n".into()),
                ("lull_events".into(), Value::Integer(-4)),
            ],
            kept: String::new(),
        }
    }

    fn text_of(description: &str) -> String {
        let mut events = Events::default();
        events.add(9, Description::parse(description.as_bytes()).unwrap());
        metadata(&facts(), &[Class { number: 0, events: &events }])
    }

    #[test]
    fn environment_and_clock_are_written_with_their_quotes_escaped() {
        let text = text_of("a:b\n6\nf:1\n");
        assert!(text.contains("command = \"sh -c \\\"a\\\\b\\\"\\n\";"), "{text}");
        assert!(text.contains("lull_events = -4;"));
        assert!(text.contains("freq = 3000000000;"));
    }

    #[test]
    fn fields_are_prefixed_and_sequences_carry_their_length() {
        let text = text_of("a:b\n7\nf.c:12\nu32 event\nbytes data\nai16 list\nptr p\nbool _x\n");
        for line in [
            "u32 _event;",
            "u32 __data_length;",
            "x8 _data[__data_length];",
            "i16 _list[__list_length];",
            "x64 _p;",
            "u8 __x;",
            "loglevel = 14;",
            "model.emf.uri = \"f.c:12\";",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn names_of_bits_have_a_container_in_base_16_and_names_of_values_one_in_base_10() {
        let text = text_of("a:b\n6\nf:1\nx64 flags A=1,B=0x8000000000000000\nenum e A=-1\n");
        let flags = "enum : x64 { \"A\" = 1, \"B\" = 9223372036854775808 } _flags;";
        assert!(text.contains(flags) && text.contains("enum : i32 { \"A\" = -1 } _e;"), "{text}");
    }

    #[test]
    fn context_is_described_before_the_fields_of_each_event_but_lulls_own() {
        let parse = |text: &str| Description::parse(text.as_bytes()).unwrap();
        let mut events = Events::with_context(parse("lull:context\n6\n:\ni32 x\naptr stack\n"));
        events.add(9, parse("a:b\n6\nf:1\nu8 stack\n"));
        let text = metadata(&facts(), &[Class { number: 0, events: &events }]);
        let context = "context := struct {\n\t\ti32 _x;\n\t};\n\tfields := struct {\n\t\tu32 \
                       __stack_length;\n\t\tx64 _stack_[__stack_length];\n\t\tu8 _stack;";
        assert!(text.contains(context), "{text}");
        assert_eq!(text.matches("\tcontext :=").count(), 1);
    }

    #[test]
    fn field_that_is_called_like_a_length_keeps_its_name() {
        for (own, length) in [("_len_length", "____len_length"), ("len_length", "___len_length")] {
            for fields in [format!("bytes len\nu32 {own}"), format!("u32 {own}\nbytes len")] {
                let text = text_of(&format!("a:b\n6\nf:1\n{fields}\n"));
                assert!(text.contains(&format!("u32 _{own};")), "{text}");
                let array = format!("u32 {length};\n\t\tx8 _len[{length}];");
                assert!(text.contains(&array), "{text}");
            }
        }
    }

    #[test]
    fn field_behind_one_with_an_underscore_more_is_told_from_it() {
        let text = text_of("a:b\n6\nf:1\nu8 _x\nu8 x\nu8 y\nu8 _y\n");
        let fields = "u8 __x;\n\t\tu8 _x_;\n\t\tu8 _y;\n\t\tu8 __y;";
        assert!(text.contains(fields), "{text}");
    }

    #[test]
    fn hostile_names_cannot_leave_their_place() {
        let text = text_of("a\"; };\n6\nf:1\nu8 x;y\nu8 x;y\nenum e A\"B=1\n");
        assert!(text.contains("name = \"a\\\"; };\";"));
        assert!(text.contains("u8 _x_y;"));
        assert!(text.contains("u8 _x_y_;"));
        assert!(text.contains("\"A\\\"B\" = 1"));
    }

    #[test]
    fn kernels_class_is_kept_as_it_was_wherever_it_stands() {
        let mut events = Events::default();
        events.add(9, Description::parse(b"stream {\n6\nf:1\nu8 x\n").unwrap());
        let class = |number| Class { number, events: &events };
        let of = |classes: &[Class]| metadata(&facts(), classes);
        let (alone, user) = (of(&[class(KERNEL_CLASS)]), of(&[class(0)]));
        let kept = alone.strip_prefix(&of(&[])).unwrap();
        assert!(kept.contains("id = 65536;") && kept.contains("stream_id = 65536;"), "{kept}");
        for classes in [&[class(KERNEL_CLASS), class(1)][..], &[class(0), class(KERNEL_CLASS)]] {
            assert_eq!(kept_classes(&of(classes)), kept);
        }
        assert_eq!(kept_classes(&user), "");
        let again = Facts { kept: kept.into(), ..facts() };
        assert_eq!(metadata(&again, &[]), alone);
    }

    #[test]
    fn two_events_of_one_name_are_told_apart() {
        let mut events = Events::default();
        events.add(9, Description::parse(b"a:b\n6\nf:1\nu8 x\n").unwrap());
        events.add(10, Description::parse(b"a:b\n6\nf:1\nu16 x\n").unwrap());
        let text = metadata(&facts(), &[Class { number: 0, events: &events }]);
        assert!(text.contains("name = \"a:b\";") && text.contains("name = \"a:b#10\";"));
    }
}
