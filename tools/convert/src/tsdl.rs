// SPDX-License-Identifier: MIT
//! The new trace's metadata as TSDL text, for CTF 1.8.
//!
//! Place in the flow: describes what `encode` and `stream` write. What CTF 1.8 has no words for is
//! written as the nearest that has the same values: bit maps and booleans as numbers, UTF-16 and
//! UTF-32 as UTF-8. Optional fields, and variants whose tag has no label for each option, have
//! none.

use std::fmt::Write;

use trace::{
    Base, Clock, Encoding, Enumeration, EnvironmentValue, EventClass, Field, Form, Integer,
    Metadata, Reference, Scope, StreamClass, Struct, Type, Variant,
};

use crate::layout::{Layout, StreamLayout, COUNTERS, NS_CLOCK};
use crate::path::Roots;
use crate::Error;

/// Words that TSDL keeps for itself.
const KEYWORDS: [&str; 27] = [
    "align",
    "callsite",
    "char",
    "clock",
    "const",
    "double",
    "enum",
    "env",
    "event",
    "floating_point",
    "float",
    "integer",
    "int",
    "long",
    "short",
    "signed",
    "stream",
    "string",
    "struct",
    "trace",
    "typealias",
    "typedef",
    "unsigned",
    "variant",
    "void",
    "_Bool",
    "_Complex",
];

/// A name as TSDL must spell it to show it: identifiers only, and readers take one underscore away.
fn name(shown: &str) -> String {
    let letters = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let word: String = letters.collect();
    let is_odd = word.is_empty() || word.starts_with(|c: char| c == '_' || c.is_ascii_digit());
    match is_odd || KEYWORDS.contains(&word.as_str()) {
        true => format!("_{word}"),
        false => word,
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub(crate) fn uuid_text(uuid: [u8; 16]) -> String {
    let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

fn unsigned(size_bits: u32, more: &str) -> String {
    format!("integer {{ size = {size_bits}; align = 8; signed = false; {more}}}")
}

pub(crate) fn metadata(old: &Metadata, layout: &Layout) -> Result<String, Error> {
    let mut text = String::from("/* CTF 1.8 */\n\n");
    trace_block(layout, &mut text);
    // Writing to a string does not fail.
    let _ = writeln!(text, "env {{");
    for (key, value) in &layout.environment {
        let _ = match value {
            EnvironmentValue::Number(number) => writeln!(text, "\t{} = {number};", name(key)),
            EnvironmentValue::Text(value) => writeln!(text, "\t{} = {};", name(key), quoted(value)),
        };
    }
    let _ = writeln!(text, "}};\n");
    clocks(old, layout, &mut text);
    for (class, parts) in old.streams.iter().zip(&layout.streams) {
        stream_block(old, class, parts, layout, &mut text)?;
        for event in &class.events {
            event_block(class, event, &mut text)?;
        }
    }
    Ok(text)
}

fn trace_block(layout: &Layout, text: &mut String) {
    let order = match layout.order {
        trace::ByteOrder::Little => "le",
        trace::ByteOrder::Big => "be",
    };
    let _ = writeln!(text, "trace {{\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = {order};");
    let mut header = format!("\t\t{} magic;\n", unsigned(32, ""));
    if let Some(uuid) = layout.uuid {
        let _ = writeln!(text, "\tuuid = \"{}\";", uuid_text(uuid));
        let _ = writeln!(header, "\t\t{} uuid[16];", unsigned(8, ""));
    }
    let _ = writeln!(header, "\t\t{} stream_id;", unsigned(64, ""));
    let _ = writeln!(text, "\tpacket.header := struct {{\n{header}\t}};\n}};\n");
}

fn clocks(old: &Metadata, layout: &Layout, text: &mut String) {
    if layout.in_ns {
        let _ = writeln!(
            text,
            "clock {{\n\tname = \"{NS_CLOCK}\";\n\tfreq = 1000000000;\n\toffset = 0;\n}};\n"
        );
        return;
    }
    for clock in &old.clocks {
        let Clock { frequency_hz, precision_cycles, offset_s, offset_cycles, .. } = clock;
        let _ = writeln!(text, "clock {{\n\tname = {};", quoted(&name(&clock.name)));
        if let Some(uuid) = clock.uuid {
            let _ = writeln!(text, "\tuuid = \"{}\";", uuid_text(uuid));
        }
        if !clock.description.is_empty() {
            let _ = writeln!(text, "\tdescription = {};", quoted(&clock.description));
        }
        let _ = writeln!(
            text,
            "\tfreq = {frequency_hz};\n\tprecision = {precision_cycles};\n\
             \toffset_s = {offset_s};\n\toffset = {offset_cycles};\n\tabsolute = {};\n}};\n",
            clock.absolute
        );
    }
}

fn stream_block(
    old: &Metadata,
    class: &StreamClass,
    parts: &StreamLayout,
    layout: &Layout,
    text: &mut String,
) -> Result<(), Error> {
    let clock = match (layout.in_ns, class.clock.and_then(|c| old.clocks.get(usize::from(c)))) {
        (true, Some(_)) => Some(NS_CLOCK.to_string()),
        (false, Some(clock)) => Some(name(&clock.name)),
        (_, None) => None,
    };
    let stamp = clock.map(|clock| unsigned(64, &format!("map = clock.{clock}.value; ")));
    let _ = writeln!(text, "stream {{\n\tid = {};\n\tpacket.context := struct {{", parts.id);
    for field in ["timestamp_begin", "timestamp_end"] {
        if let Some(stamp) = &stamp {
            let _ = writeln!(text, "\t\t{stamp} {field};");
        }
    }
    for field in COUNTERS {
        let _ = writeln!(text, "\t\t{} {field};", unsigned(64, ""));
    }
    for cause in &parts.causes {
        let cause = name(&format!("lost_{cause}"));
        let _ = writeln!(text, "\t\t{} {cause};", unsigned(64, ""));
    }
    let mut types = Types { roots: Roots::default(), scope: Scope::PacketContext, path: vec![] };
    for field in parts.kept(class) {
        let _ = writeln!(text, "\t\t{}", types.declare(field, None)?);
    }
    let id = unsigned(parts.event_id_bits, "");
    let _ = writeln!(text, "\t}};\n\tevent.header := struct {{\n\t\t{id} id;");
    if let Some(stamp) = &stamp {
        let _ = writeln!(text, "\t\t{stamp} timestamp;");
    }
    let _ = writeln!(text, "\t}};");
    let stream_context = class.event_context.as_ref();
    if stream_context.is_some() || layout.has_threads {
        types.roots.stream_context = stream_context;
        types.scope = Scope::StreamContext;
        let mut fields = match stream_context {
            Some(context) => types.fields(context)?,
            None => String::new(),
        };
        if layout.has_threads {
            let id = "integer { size = 32; align = 8; signed = true; }";
            let _ = write!(fields, "{id} vpid; {id} vtid; ");
        }
        let _ = writeln!(text, "\tevent.context := struct {{ {fields}}};");
    }
    let _ = writeln!(text, "}};\n");
    Ok(())
}

fn event_block(class: &StreamClass, event: &EventClass, text: &mut String) -> Result<(), Error> {
    let roots = Roots {
        stream_context: class.event_context.as_ref(),
        event_context: event.context.as_ref(),
        payload: event.payload.as_ref(),
    };
    let _ = writeln!(text, "event {{\n\tname = {};\n\tid = {};", quoted(&event.name), event.id);
    let _ = writeln!(text, "\tstream_id = {};", class.id);
    if let Some(level) = event.log_level {
        let _ = writeln!(text, "\tloglevel = {level};");
    }
    if let Some(uri) = &event.emf_uri {
        let _ = writeln!(text, "\tmodel.emf.uri = {};", quoted(uri));
    }
    let scopes = [
        ("context", Scope::EventContext, roots.event_context),
        ("fields", Scope::Payload, roots.payload),
    ];
    for (word, scope, root) in scopes {
        if let Some(root) = root {
            let fields =
                Types { roots, scope, path: vec![] }.fields(root).map_err(|error| match error {
                    Error::Inexpressible { what, why } => Error::Inexpressible {
                        what: format!("event `{}`: {what}", event.name),
                        why,
                    },
                    other => other,
                })?;
            let _ = writeln!(text, "\t{word} := struct {{ {fields}}};");
        }
    }
    let _ = writeln!(text, "}};\n");
    Ok(())
}

/// The types of one scope.
struct Types<'m> {
    roots: Roots<'m>,
    scope: Scope,
    /// The node that is being described.
    path: Vec<u32>,
}

impl Types<'_> {
    fn fields(&mut self, s: &Struct) -> Result<String, Error> {
        let mut text = String::new();
        for (index, field) in s.fields.iter().enumerate() {
            self.path.push(index as u32);
            text.push_str(&self.declare(field, None)?);
            text.push(' ');
            self.path.pop();
        }
        Ok(text)
    }

    /// `TYPE NAME[LENGTH];`, under the field's own name or another.
    fn declare(&mut self, field: &Field, other: Option<&str>) -> Result<String, Error> {
        let (ty, suffix) = self.ty(&field.ty)?;
        let name = other.map_or_else(|| name(field.name()), String::from);
        Ok(format!("{ty} {name}{suffix};"))
    }

    /// The type, and what stands behind the name.
    fn ty(&mut self, ty: &Type) -> Result<(String, String), Error> {
        let plain = |text: String| Ok((text, String::new()));
        let string = || "string { encoding = UTF8; }".to_string();
        match ty {
            Type::Integer(integer) => plain(number(integer)),
            Type::Enumeration(enumeration) => plain(labelled(enumeration)),
            Type::Float(float) => {
                let (exponent, mantissa) = if float.size_bits == 64 { (11, 53) } else { (8, 24) };
                plain(format!(
                    "floating_point {{ exp_dig = {exponent}; mant_dig = {mantissa}; align = 8; }}"
                ))
            }
            Type::Text(_) => plain(string()),
            Type::Struct(s) => plain(format!("struct {{ {}}}", self.fields(s)?)),
            Type::Array(a) => match a.element.character() {
                Some(Encoding::Utf16(_) | Encoding::Utf32(_)) => plain(string()),
                _ => self.elements(&a.element, &a.count.to_string()),
            },
            Type::Sequence(s) => match s.element.character() {
                Some(Encoding::Utf16(_) | Encoding::Utf32(_)) => plain(string()),
                _ => self.elements(&s.element, &self.reference(s.length())?),
            },
            Type::Variant(v) => plain(self.variant(v)?),
        }
    }

    fn elements(&mut self, element: &Type, count: &str) -> Result<(String, String), Error> {
        self.path.push(0);
        let (ty, suffix) = self.ty(element)?;
        self.path.pop();
        Ok((ty, format!("[{count}]{suffix}")))
    }

    fn variant(&mut self, v: &Variant) -> Result<String, Error> {
        let inexpressible = |why| Error::Inexpressible { what: "a variant".into(), why };
        if v.is_optional {
            return Err(inexpressible("its field is optional"));
        }
        let tag = v.tag().ok_or(inexpressible("it has no tag"))?;
        let target = tag.target().and_then(|target| self.roots.find(target));
        let Some(Type::Enumeration(labels)) = target else {
            return Err(inexpressible("its tag has no labels"));
        };
        let mut text = format!("variant <{}> {{ ", self.reference(tag)?);
        for (index, option) in v.options.iter().enumerate() {
            let mut choices = v.choices().iter().filter(|c| c.option as usize == index);
            let label = choices.clone().find_map(|choice| {
                let is_same =
                    |m: &&trace::Mapping| (m.begin, m.until) == (choice.begin, choice.until);
                labels.mappings.iter().find(is_same).map(|mapping| mapping.label.clone())
            });
            let label = label.ok_or(inexpressible("its tag has no label for an option"))?;
            let all_same = choices.all(|choice| {
                labels
                    .mappings
                    .iter()
                    .any(|m| (m.begin, m.until, &m.label) == (choice.begin, choice.until, &label))
            });
            if !all_same || name(&label).trim_start_matches('_') != label.trim_start_matches('_') {
                return Err(inexpressible("its tag's labels are no names of options"));
            }
            self.path.push(index as u32);
            let _ = write!(text, "{} ", self.declare(option, Some(&label))?);
            self.path.pop();
        }
        text.push('}');
        Ok(text)
    }

    fn reference(&self, reference: &Reference) -> Result<String, Error> {
        let path = reference.target().and_then(|target| {
            let (is_other, fields) = self.roots.relative(target, self.scope, &self.path)?;
            let names: Vec<String> = fields.iter().map(|field| name(field.name())).collect();
            Some(match (is_other, target.scope) {
                (true, Scope::StreamContext) => format!("stream.event.context.{}", names.join(".")),
                (true, Scope::EventContext) => format!("event.context.{}", names.join(".")),
                _ => names.join("."),
            })
        });
        path.ok_or(Error::Inexpressible {
            what: "a length or a tag".into(),
            why: "where it is has no name there, or is in a header",
        })
    }
}

fn number(integer: &Integer) -> String {
    let Integer { size_bits, signed, .. } = integer;
    let base = match integer.base {
        Base::Binary => "base = 2; ",
        Base::Octal => "base = 8; ",
        Base::Decimal => "",
        Base::Hexadecimal => "base = 16; ",
    };
    let encoding = match integer.meaning {
        trace::Meaning::Character(_) => "encoding = UTF8; ",
        _ => "",
    };
    debug_assert!(integer.form != Form::Variable || *size_bits == 64);
    format!("integer {{ size = {size_bits}; align = 8; signed = {signed}; {base}{encoding}}}")
}

fn labelled(enumeration: &Enumeration) -> String {
    let container = number(&enumeration.container);
    if enumeration.is_bit_map || enumeration.mappings.is_empty() {
        return container;
    }
    let bound = |value: u64| match enumeration.container.signed {
        true => (value as i64).to_string(),
        false => value.to_string(),
    };
    let labels = enumeration.mappings.iter().map(|mapping| {
        format!(
            "{} = {} ... {}",
            quoted(&mapping.label),
            bound(mapping.begin),
            bound(mapping.until)
        )
    });
    format!("enum : {container} {{ {} }}", labels.collect::<Vec<_>>().join(", "))
}
