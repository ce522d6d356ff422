// SPDX-License-Identifier: MIT
//! The new trace's metadata as a sequence of JSON texts, for CTF 2.
//!
//! Place in the flow: describes what `encode` and `stream` write.

use serde_json::{json, Map, Value};

use trace::{
    Base, ByteOrder, Encoding, Enumeration, EnvironmentValue, EventClass, Field, Form, Integer,
    Meaning, Metadata, Reference, Scope, Sequence, StreamClass, Struct, Type, Variant,
};

use crate::layout::{Layout, StreamLayout, COUNTERS, NS_CLOCK};
use crate::path::Roots;
use crate::Error;

/// Log levels in the order of their numbers, as Babeltrace's attribute calls them.
const LOG_LEVELS: [&str; 15] = [
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "info",
    "debug:system",
    "debug:program",
    "debug:process",
    "debug:module",
    "debug:unit",
    "debug:function",
    "debug:line",
    "debug",
];
/// What the counters of a packet's context are to readers.
const COUNTER_ROLES: [&str; COUNTERS.len()] = [
    "packet-content-length",
    "packet-total-length",
    "packet-sequence-number",
    "discarded-event-record-counter-snapshot",
];

pub(crate) fn metadata(old: &Metadata, layout: &Layout) -> Result<String, Error> {
    let mut fragments = vec![preamble(layout), trace_class(layout)];
    clock_classes(old, layout, &mut fragments);
    for (class, parts) in old.streams.iter().zip(&layout.streams) {
        fragments.push(stream_class(class, parts, layout)?);
        for event in &class.events {
            fragments.push(event_class(class, event, layout)?);
        }
    }
    Ok(fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect())
}

fn preamble(layout: &Layout) -> Value {
    let mut preamble = json!({"type": "preamble", "version": 2});
    if let Some(uuid) = layout.uuid {
        preamble["uuid"] = json!(uuid);
    }
    preamble
}

fn trace_class(layout: &Layout) -> Value {
    let mut environment = Map::new();
    for (name, value) in &layout.environment {
        let value = match value {
            EnvironmentValue::Text(text) => json!(text),
            EnvironmentValue::Number(number) => match i64::try_from(*number) {
                Ok(number) => json!(number),
                Err(_) => json!(u64::try_from(*number).unwrap_or(u64::MAX)),
            },
        };
        environment.insert(name.clone(), value);
    }
    let mut header = vec![member("magic", role(32, layout, "packet-magic-number"))];
    if layout.uuid.is_some() {
        let roles = ["metadata-stream-uuid"];
        let class = json!({"type": "static-length-blob", "length": 16, "roles": roles});
        header.push(member("uuid", class));
    }
    header.push(member("stream_id", role(64, layout, "data-stream-class-id")));
    json!({
        "type": "trace-class",
        "environment": environment,
        "packet-header-field-class": structure(header),
    })
}

fn clock_classes(old: &Metadata, layout: &Layout, fragments: &mut Vec<Value>) {
    if layout.in_ns {
        fragments.push(json!({
            "type": "clock-class", "id": NS_CLOCK, "name": NS_CLOCK,
            "frequency": 1_000_000_000u64, "origin": "unix-epoch",
        }));
        return;
    }
    for (index, clock) in old.clocks.iter().enumerate() {
        let whole_s = clock.offset_cycles / clock.frequency_hz;
        let seconds = clock.offset_s.saturating_add(i64::try_from(whole_s).unwrap_or(i64::MAX));
        let cycles = clock.offset_cycles % clock.frequency_hz;
        let mut class = json!({
            "type": "clock-class", "id": clock_id(index), "name": clock.name,
            "frequency": clock.frequency_hz, "precision": clock.precision_cycles,
            "offset-from-origin": {"seconds": seconds, "cycles": cycles},
        });
        if clock.absolute {
            class["origin"] = json!("unix-epoch");
        }
        if !clock.description.is_empty() {
            class["description"] = json!(clock.description);
        }
        if let Some(uuid) = clock.uuid {
            class["uid"] = json!(crate::tsdl::uuid_text(uuid));
        }
        fragments.push(class);
    }
}

fn clock_id(index: usize) -> String {
    format!("clock{index}")
}

fn stream_class(
    class: &StreamClass,
    parts: &StreamLayout,
    layout: &Layout,
) -> Result<Value, Error> {
    const STAMP: &str = "default-clock-timestamp";
    let mut context = Vec::new();
    let mut header = vec![member("id", role(parts.event_id_bits, layout, "event-record-class-id"))];
    if parts.has_clock {
        let end = "packet-end-default-clock-timestamp";
        context.push(member("timestamp_begin", role(64, layout, STAMP)));
        context.push(member("timestamp_end", role(64, layout, end)));
        header.push(member("timestamp", role(64, layout, STAMP)));
    }
    for (name, of) in COUNTERS.into_iter().zip(COUNTER_ROLES) {
        context.push(member(name, role(64, layout, of)));
    }
    for cause in &parts.causes {
        context.push(member(&format!("lost_{cause}"), fixed("unsigned-integer", 64, layout)));
    }
    let mut types = Types { roots: Roots::default(), layout };
    for field in parts.kept(class) {
        context.push(types.member(field)?);
    }
    let mut fragment = json!({
        "type": "data-stream-class", "id": parts.id,
        "packet-context-field-class": structure(context),
        "event-record-header-field-class": structure(header),
    });
    if let Some(clock) = class.clock {
        let id = if layout.in_ns { NS_CLOCK.into() } else { clock_id(usize::from(clock)) };
        fragment["default-clock-class-id"] = json!(id);
    }
    types.roots.stream_context = class.event_context.as_ref();
    let mut common = match &class.event_context {
        Some(context) => types.members(context)?,
        None => Vec::new(),
    };
    if layout.has_threads {
        for name in ["vpid", "vtid"] {
            common.push(member(name, fixed("signed-integer", 32, layout)));
        }
    }
    if class.event_context.is_some() || layout.has_threads {
        fragment["event-record-common-context-field-class"] = structure(common);
    }
    Ok(fragment)
}

fn event_class(class: &StreamClass, event: &EventClass, layout: &Layout) -> Result<Value, Error> {
    let roots = Roots {
        stream_context: class.event_context.as_ref(),
        event_context: event.context.as_ref(),
        payload: event.payload.as_ref(),
    };
    let types = Types { roots, layout };
    let mut fragment = json!({
        "type": "event-record-class", "data-stream-class-id": class.id.0, "id": event.id.0,
        "name": &*event.name,
    });
    let mut attributes = Map::new();
    if let Some(level) = event.log_level {
        let name = usize::try_from(level).ok().and_then(|level| LOG_LEVELS.get(level));
        attributes.insert("log-level".into(), name.map_or(json!(level), |name| json!(name)));
    }
    if let Some(uri) = &event.emf_uri {
        attributes.insert("emf-uri".into(), json!(uri));
    }
    if !attributes.is_empty() {
        fragment["attributes"] = json!({"babeltrace.org,2020": attributes});
    }
    if let Some(context) = &event.context {
        fragment["specific-context-field-class"] = structure(types.members(context)?);
    }
    if let Some(payload) = &event.payload {
        fragment["payload-field-class"] = structure(types.members(payload)?);
    }
    Ok(fragment)
}

fn member(name: &str, class: Value) -> Value {
    json!({"name": name, "field-class": class})
}

fn structure(members: Vec<Value>) -> Value {
    json!({"type": "structure", "member-classes": members})
}

/// A class of fixed length that begins at a byte.
fn fixed(ty: &str, length: u32, layout: &Layout) -> Value {
    let order = match layout.order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    };
    let ty = format!("fixed-length-{ty}");
    json!({"type": ty, "length": length, "byte-order": order, "alignment": 8})
}

fn role(length: u32, layout: &Layout, role: &str) -> Value {
    let mut class = fixed("unsigned-integer", length, layout);
    class["roles"] = json!([role]);
    class
}

/// The field classes of one scope.
struct Types<'m> {
    roots: Roots<'m>,
    layout: &'m Layout,
}

impl Types<'_> {
    fn members(&self, s: &Struct) -> Result<Vec<Value>, Error> {
        s.fields.iter().map(|field| self.member(field)).collect()
    }

    fn member(&self, field: &Field) -> Result<Value, Error> {
        Ok(member(field.name(), self.class(&field.ty)?))
    }

    fn class(&self, ty: &Type) -> Result<Value, Error> {
        Ok(match ty {
            Type::Integer(integer) => self.number(integer),
            Type::Enumeration(enumeration) => self.labelled(enumeration),
            Type::Float(float) => {
                let length = if float.size_bits == 64 { 64 } else { 32 };
                fixed("floating-point-number", length, self.layout)
            }
            Type::Text(encoding) => {
                json!({"type": "null-terminated-string", "encoding": encoding_name(*encoding)})
            }
            Type::Struct(s) => structure(self.members(s)?),
            Type::Array(a) => {
                let mut class = self.elements("static-length", &a.element)?;
                class["length"] = json!(a.count);
                class
            }
            Type::Sequence(s) => self.sequence(s)?,
            Type::Variant(v) => self.variant(v)?,
        })
    }

    fn sequence(&self, s: &Sequence) -> Result<Value, Error> {
        let mut class = self.elements("dynamic-length", &s.element)?;
        class["length-field-location"] = self.location(s.length())?;
        Ok(class)
    }

    /// A string, a BLOB or an array.
    fn elements(&self, length: &str, element: &Type) -> Result<Value, Error> {
        if let Some(encoding) = element.character() {
            let ty = format!("{length}-string");
            return Ok(json!({"type": ty, "encoding": encoding_name(encoding)}));
        }
        if matches!(element, Type::Integer(i) if i.meaning == Meaning::Byte) {
            return Ok(json!({"type": format!("{length}-blob")}));
        }
        let ty = format!("{length}-array");
        Ok(json!({"type": ty, "element-field-class": self.class(element)?}))
    }

    fn variant(&self, v: &Variant) -> Result<Value, Error> {
        let bound = |value: u64| match v.is_tag_signed() {
            true => json!(value as i64),
            false => json!(value),
        };
        let ranges = |index: usize| -> Vec<Value> {
            let chosen = v.choices().iter().filter(|choice| choice.option as usize == index);
            chosen.map(|choice| json!([bound(choice.begin), bound(choice.until)])).collect()
        };
        let what = || "a variant".to_string();
        let tag = v.tag().ok_or(Error::Inexpressible { what: what(), why: "it has no tag" })?;
        let location = self.location(tag)?;
        if let (true, Some(option)) = (v.is_optional, v.options.first()) {
            let mut class = json!({
                "type": "optional", "selector-field-location": location,
                "field-class": self.class(&option.ty)?,
            });
            let selector = tag.target().and_then(|target| self.roots.find(target));
            let is_boolean =
                matches!(selector, Some(Type::Integer(i)) if i.meaning == Meaning::Boolean);
            if !is_boolean {
                class["selector-field-ranges"] = json!(ranges(0));
            }
            return Ok(class);
        }
        let mut options = Vec::new();
        for (index, option) in v.options.iter().enumerate() {
            let ranges = ranges(index);
            // What no value chooses is in no packet.
            if !ranges.is_empty() {
                options.push(json!({
                    "name": option.name(), "selector-field-ranges": ranges,
                    "field-class": self.class(&option.ty)?,
                }));
            }
        }
        Ok(json!({
            "type": "variant", "selector-field-location": location, "options": options,
        }))
    }

    fn location(&self, reference: &Reference) -> Result<Value, Error> {
        let target = reference.target();
        let fields = target.and_then(|target| Some((target, self.roots.absolute(target)?)));
        let (target, fields) = fields.ok_or(Error::Inexpressible {
            what: "a length or a tag".into(),
            why: "it is one of several fields, or in a header",
        })?;
        let origin = match target.scope {
            Scope::StreamContext => "event-record-common-context",
            Scope::EventContext => "event-record-specific-context",
            _ => "event-record-payload",
        };
        let path: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        Ok(json!({"origin": origin, "path": path}))
    }

    fn number(&self, integer: &Integer) -> Value {
        let sign = if integer.signed { "signed-integer" } else { "unsigned-integer" };
        let mut class = match (integer.form, integer.meaning) {
            (Form::Variable, _) => json!({"type": format!("variable-length-{sign}")}),
            (_, Meaning::Boolean) => return fixed("boolean", integer.size_bits, self.layout),
            _ => fixed(sign, integer.size_bits, self.layout),
        };
        match integer.base {
            Base::Binary => class["preferred-display-base"] = json!(2),
            Base::Octal => class["preferred-display-base"] = json!(8),
            Base::Decimal => {}
            Base::Hexadecimal => class["preferred-display-base"] = json!(16),
        }
        class
    }

    fn labelled(&self, enumeration: &Enumeration) -> Value {
        let container = &enumeration.container;
        let mut mappings = Map::new();
        for mapping in enumeration.mappings.iter() {
            let range = match container.signed {
                true => json!([mapping.begin as i64, mapping.until as i64]),
                false => json!([mapping.begin, mapping.until]),
            };
            let ranges = mappings.entry(&*mapping.label).or_insert_with(|| json!([]));
            if let Some(ranges) = ranges.as_array_mut() {
                ranges.push(range);
            }
        }
        let (mut class, key) = match enumeration.is_bit_map {
            true => (fixed("bit-map", container.size_bits, self.layout), "flags"),
            false => (self.number(container), "mappings"),
        };
        class[key] = Value::Object(mappings);
        class
    }
}

fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16(ByteOrder::Little) => "utf-16le",
        Encoding::Utf16(ByteOrder::Big) => "utf-16be",
        Encoding::Utf32(ByteOrder::Little) => "utf-32le",
        Encoding::Utf32(ByteOrder::Big) => "utf-32be",
    }
}
