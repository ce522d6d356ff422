// SPDX-License-Identifier: MIT
//! Field classes of CTF 2: from JSON objects to the types that every trace is decoded by.
//!
//! Place in the flow: `fragment` builds each scope here; lengths and tags stay open until
//! `tsdl::reference` finds their targets. An alias is built anew at each use, because what a role
//! means depends on the scope; the nodes built are counted, as hostile metadata can double a type
//! with each alias.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::object::{number, ranges, Object, Result};
use crate::measure::MAX_DEPTH;
use crate::types::{
    Array, Base, ByteOrder, Encoding, Enumeration, Extent, Field, Float, Form, Integer, Mapping,
    Meaning, Path, Range, Reference, Role, Scope, Sequence, Struct, Type, Variant,
};

/// Type nodes that one metadata may expand to.
const MAX_NODES: u64 = 1 << 20;
/// The slots of lengths and tags are given by `tsdl::reference`.
const NO_SLOT: u32 = 0;

/// The aliases met so far, and the scope that is being built.
pub(super) struct Classes<'j> {
    aliases: HashMap<String, &'j Value>,
    nodes_left: u64,
    pub scope: Scope,
    /// The clock of the scope's data stream class.
    pub clock: Option<u16>,
    pub line: u32,
}

impl<'j> Classes<'j> {
    pub fn new(aliases: HashMap<String, &'j Value>) -> Self {
        let (scope, clock) = (Scope::PacketHeader, None);
        Self { aliases, nodes_left: MAX_NODES, scope, clock, line: 1 }
    }

    /// Names a field class that is whole without itself.
    pub fn alias(&mut self, name: &str, class: &'j Value) -> Result<()> {
        self.build(class, 0)?;
        match self.aliases.insert(name.into(), class) {
            None => Ok(()),
            Some(_) => Err(format!("the alias `{name}` is given twice")),
        }
    }

    /// The struct of a root scope, if there is one.
    pub fn root(&mut self, class: Option<&'j Value>, scope: Scope) -> Result<Option<Struct>> {
        self.scope = scope;
        match class.map(|class| self.build(class, 0)).transpose()? {
            None => Ok(None),
            Some(Type::Struct(s)) => Ok(Some(s)),
            Some(_) => Err("only a structure can stand here".into()),
        }
    }

    fn build(&mut self, class: &'j Value, depth: u32) -> Result<Type> {
        if depth > MAX_DEPTH {
            return Err("field classes are nested too deeply".into());
        }
        let left = self.nodes_left.checked_sub(1);
        self.nodes_left = left.ok_or("the field classes expand to more than the reader's limit")?;
        if let Value::String(name) = class {
            let found = self.aliases.get(name).copied();
            let found = found.ok_or_else(|| format!("no field class is named `{name}` here"))?;
            return self.build(found, depth + 1);
        }
        let ty = class.get("type").and_then(Value::as_str).ok_or("a field class has no `type`")?;
        match ty {
            "structure" => self.structure(class, depth),
            "static-length-array" | "dynamic-length-array" => self.array(class, depth),
            "optional" => self.optional(class, depth),
            "variant" => self.variant(class, depth),
            "null-terminated-string" => {
                let class = Object::of(class, &["encoding"])?;
                Ok(Type::Text(encoding(class)?))
            }
            "static-length-string" | "dynamic-length-string" => {
                let known = ["encoding", "length", "length-field-location"];
                let class = Object::of(class, &known)?;
                self.bytes(class, Meaning::Character(encoding(class)?))
            }
            "static-length-blob" | "dynamic-length-blob" => {
                let known = ["media-type", "length", "length-field-location", "roles"];
                self.bytes(Object::of(class, &known)?, Meaning::Byte)
            }
            "fixed-length-floating-point-number" => float(class),
            _ => self.number(ty, class),
        }
        .map_err(|what| if depth == 0 { format!("{ty}: {what}") } else { what })
    }

    fn structure(&mut self, class: &'j Value, depth: u32) -> Result<Type> {
        let class = Object::of(class, &["member-classes", "minimum-alignment"])?;
        let mut names = HashSet::new();
        let mut fields = Vec::new();
        for member in class.list("member-classes")?.into_iter().flatten() {
            let member = Object::of(member, &["name", "field-class"])?;
            let name = member.text("name")?.ok_or("a member has no name")?;
            if !names.insert(name) {
                return Err(format!("there are two members named `{name}`"));
            }
            let ty = self.build(member.need("field-class")?, depth + 1);
            fields.push(Field::spelt(name.into(), ty.map_err(|what| format!("{name}: {what}"))?));
        }
        let least_align_bits = class.alignment("minimum-alignment")?;
        Ok(Type::Struct(Struct { fields, least_align_bits, ..Struct::default() }))
    }

    /// An array of bytes: a string or a BLOB.
    fn bytes(&mut self, class: Object<'j>, meaning: Meaning) -> Result<Type> {
        let mut byte = Integer::new(8, 8, ByteOrder::Little);
        byte.meaning = meaning;
        if meaning == Meaning::Byte {
            byte.base = Base::Hexadecimal;
            byte.role = self.role(class)?;
        }
        self.elements(class, Type::Integer(byte), 1)
    }

    fn array(&mut self, class: &'j Value, depth: u32) -> Result<Type> {
        let known = ["element-field-class", "minimum-alignment", "length", "length-field-location"];
        let class = Object::of(class, &known)?;
        let element = self.build(class.need("element-field-class")?, depth + 1)?;
        self.elements(class, element, class.alignment("minimum-alignment")?)
    }

    /// As many elements as the class says, or the field that it names.
    fn elements(&self, class: Object<'j>, element: Type, least_align_bits: u32) -> Result<Type> {
        let (element, extent) = (Box::new(element), Extent::default());
        match (class.unsigned("length")?, class.get("length-field-location")) {
            (Some(count), None) => {
                Ok(Type::Array(Array { element, count, least_align_bits, extent }))
            }
            (None, Some(location)) => {
                let length = self.reference(location)?;
                Ok(Type::Sequence(Sequence { element, length, least_align_bits, extent }))
            }
            _ => Err("there is not one of `length` and `length-field-location`".into()),
        }
    }

    fn optional(&mut self, class: &'j Value, depth: u32) -> Result<Type> {
        let known = ["selector-field-location", "selector-field-ranges", "field-class"];
        let class = Object::of(class, &known)?;
        let ranges = match class.get("selector-field-ranges") {
            Some(value) => ranges(value)?,
            None => vec![(1, u64::MAX.into())],
        };
        let ty = self.build(class.need("field-class")?, depth + 1)?;
        let range = |(begin, until)| Range { begin, until, option: 0 };
        Ok(Type::Variant(Variant {
            options: vec![Field::spelt("".into(), ty)],
            is_optional: true,
            ranges: Some(ranges.into_iter().map(range).collect()),
            tag: Some(self.reference(class.need("selector-field-location")?)?),
            tag_signed: false,
            choices: Arc::new([]),
            extent: Extent::default(),
        }))
    }

    fn variant(&mut self, class: &'j Value, depth: u32) -> Result<Type> {
        let class = Object::of(class, &["selector-field-location", "options"])?;
        let (mut options, mut all) = (Vec::new(), Vec::new());
        for option in class.list("options")?.into_iter().flatten() {
            let option = Object::of(option, &["name", "field-class", "selector-field-ranges"])?;
            let index = options.len() as u32;
            let name = option.text("name")?.map_or_else(|| index.to_string(), String::from);
            let ty = self.build(option.need("field-class")?, depth + 1)?;
            options.push(Field::spelt(name.into(), ty));
            let ranges = ranges(option.need("selector-field-ranges")?)?;
            let range = |(begin, until)| Range { begin, until, option: index };
            all.extend(ranges.into_iter().map(range));
        }
        Ok(Type::Variant(Variant {
            options,
            is_optional: false,
            ranges: Some(all.into()),
            tag: Some(self.reference(class.need("selector-field-location")?)?),
            tag_signed: false,
            choices: Arc::new([]),
            extent: Extent::default(),
        }))
    }

    fn reference(&self, location: &Value) -> Result<Reference> {
        let location = Object::of(location, &["origin", "path"])?;
        let origin = location.text("origin")?.map(|origin| match origin {
            "packet-header" => Ok(Scope::PacketHeader),
            "packet-context" => Ok(Scope::PacketContext),
            "event-record-header" => Ok(Scope::EventHeader),
            "event-record-common-context" => Ok(Scope::StreamContext),
            "event-record-specific-context" => Ok(Scope::EventContext),
            "event-record-payload" => Ok(Scope::Payload),
            other => Err(format!("`{other}` is no origin of a field location")),
        });
        let step = |value: &Value| match value {
            Value::Null => Some(None),
            Value::String(name) => Some(Some(Arc::from(name.as_str()))),
            _ => None,
        };
        let steps: Option<Arc<[_]>> =
            location.list("path")?.and_then(|path| path.iter().map(step).collect());
        let steps = steps.filter(|steps| matches!(steps.last(), Some(Some(_))));
        let steps = steps.ok_or("the path of a field location does not end at a name")?;
        let path = Path::Located { origin: origin.transpose()?, steps };
        Ok(Reference { path, line: self.line, slot: NO_SLOT, target: None })
    }

    /// Integers, booleans, bit arrays and bit maps.
    fn number(&mut self, ty: &str, value: &'j Value) -> Result<Type> {
        let known = [
            "length",
            "byte-order",
            "bit-order",
            "alignment",
            "preferred-display-base",
            "mappings",
            "roles",
            "flags",
        ];
        let class = Object::of(value, &known)?;
        let mut integer = match ty.strip_prefix("fixed-length-") {
            Some(_) => fixed(class)?,
            None => Integer { form: Form::Variable, ..Integer::new(64, 8, ByteOrder::Little) },
        };
        match ty {
            "fixed-length-bit-array" => {
                integer.base = Base::Hexadecimal;
                return Ok(Type::Integer(integer));
            }
            "fixed-length-bit-map" => {
                let flags = class.map("flags")?.ok_or("a bit map has no `flags`")?;
                let mappings = mappings(flags, false)?;
                if mappings.iter().any(|flag| flag.until >= integer.size_bits.into()) {
                    return Err("a flag is of a bit that the bit map does not have".into());
                }
                let container = Integer { base: Base::Hexadecimal, ..integer };
                return Ok(Type::Enumeration(Enumeration {
                    container,
                    mappings,
                    is_bit_map: true,
                }));
            }
            "fixed-length-boolean" => {
                integer.meaning = Meaning::Boolean;
                return Ok(Type::Integer(integer));
            }
            "fixed-length-unsigned-integer" | "variable-length-unsigned-integer" => {
                integer.role = self.role(class)?;
                let is_dated = has_role(class, TIMESTAMP) || integer.role == Role::PacketEnd;
                integer.clock = self.clock.filter(|_| is_dated);
            }
            "fixed-length-signed-integer" | "variable-length-signed-integer" => {
                integer.signed = true;
            }
            _ => return Err("this type of field class is not known".into()),
        }
        integer.base = match class.unsigned("preferred-display-base")? {
            None | Some(10) => Base::Decimal,
            Some(2) => Base::Binary,
            Some(8) => Base::Octal,
            Some(16) => Base::Hexadecimal,
            Some(other) => return Err(format!("{other} is no base to display numbers in")),
        };
        let signed = integer.signed;
        Ok(match class.map("mappings")? {
            Some(map) if !map.is_empty() => Type::Enumeration(Enumeration {
                container: integer,
                mappings: mappings(map, signed)?,
                is_bit_map: false,
            }),
            _ => Type::Integer(integer),
        })
    }

    /// What the reader needs the field for: the first of its roles that this scope gives a use.
    fn role(&self, class: Object<'j>) -> Result<Role> {
        let is_known = |value: &Value| value.as_str().is_some_and(|role| ROLES.contains(&role));
        if class.list("roles")?.is_some_and(|roles| !roles.iter().all(is_known)) {
            return Err("`roles` has one that is not known".into());
        }
        let role = |value: &Value| match (value.as_str()?, self.scope) {
            ("packet-magic-number", Scope::PacketHeader) => Some(Role::Magic),
            ("metadata-stream-uuid", Scope::PacketHeader) => Some(Role::UuidByte),
            ("data-stream-class-id", Scope::PacketHeader) => Some(Role::StreamId),
            ("data-stream-id", Scope::PacketHeader) => Some(Role::StreamInstance),
            ("packet-total-length", Scope::PacketContext) => Some(Role::PacketSize),
            ("packet-content-length", Scope::PacketContext) => Some(Role::ContentSize),
            (TIMESTAMP, Scope::PacketContext) => Some(Role::PacketBegin),
            ("packet-end-default-clock-timestamp", Scope::PacketContext) => Some(Role::PacketEnd),
            ("discarded-event-record-counter-snapshot", Scope::PacketContext) => {
                Some(Role::EventsDiscarded)
            }
            ("packet-sequence-number", Scope::PacketContext) => Some(Role::PacketSequence),
            ("event-record-class-id", Scope::EventHeader) => Some(Role::EventId),
            _ => None,
        };
        let roles = class.list("roles")?.into_iter().flatten();
        Ok(roles.filter_map(role).next().unwrap_or_default())
    }
}

const TIMESTAMP: &str = "default-clock-timestamp";
const ROLES: [&str; 11] = [
    "packet-magic-number",
    "metadata-stream-uuid",
    "data-stream-class-id",
    "data-stream-id",
    "packet-total-length",
    "packet-content-length",
    TIMESTAMP,
    "packet-end-default-clock-timestamp",
    "discarded-event-record-counter-snapshot",
    "packet-sequence-number",
    "event-record-class-id",
];

fn has_role(class: Object<'_>, name: &str) -> bool {
    let roles = class.get("roles").and_then(Value::as_array).into_iter().flatten();
    roles.filter_map(Value::as_str).any(|role| role == name)
}

/// Size, alignment and order of the bits of a fixed-length class.
fn fixed(class: Object<'_>) -> Result<Integer> {
    let size_bits = match class.unsigned("length")? {
        Some(size @ 1..=64) => size as u32,
        Some(size) => return Err(format!("{size} bits are not 1 to 64")),
        None => return Err("the property `length` is missing".into()),
    };
    let order = match class.text("byte-order")? {
        Some("little-endian") => ByteOrder::Little,
        Some("big-endian") => ByteOrder::Big,
        _ => return Err("`byte-order` is not `little-endian` or `big-endian`".into()),
    };
    let mut integer = Integer::new(size_bits, class.alignment("alignment")?, order);
    integer.form = match (class.text("bit-order")?, order) {
        (None, _)
        | (Some("first-to-last"), ByteOrder::Little)
        | (Some("last-to-first"), ByteOrder::Big) => Form::Fixed,
        (Some("first-to-last" | "last-to-first"), _) => Form::Reversed,
        (Some(other), _) => return Err(format!("`{other}` is no bit order")),
    };
    Ok(integer)
}

fn float(class: &Value) -> Result<Type> {
    let class = Object::of(class, &["length", "byte-order", "bit-order", "alignment"])?;
    let Integer { size_bits, align_bits, order, form, .. } = fixed(class)?;
    match size_bits {
        16 | 32 | 64 => Ok(Type::Float(Float { size_bits, align_bits, order, form })),
        _ => Err(format!("only floats of 16, 32 and 64 bits can be read, not of {size_bits}")),
    }
}

fn encoding(class: Object<'_>) -> Result<Encoding> {
    match class.text("encoding")?.unwrap_or("utf-8") {
        "utf-8" => Ok(Encoding::Utf8),
        "utf-16be" => Ok(Encoding::Utf16(ByteOrder::Big)),
        "utf-16le" => Ok(Encoding::Utf16(ByteOrder::Little)),
        "utf-32be" => Ok(Encoding::Utf32(ByteOrder::Big)),
        "utf-32le" => Ok(Encoding::Utf32(ByteOrder::Little)),
        other => Err(format!("`{other}` is no encoding of a string")),
    }
}

fn mappings(map: &serde_json::Map<String, Value>, signed: bool) -> Result<Arc<[Mapping]>> {
    let mut mappings = Vec::new();
    for (label, value) in map {
        let bound = |value: i128| match signed {
            true => i64::try_from(value).ok().map(|value| value as u64),
            false => u64::try_from(value).ok(),
        };
        for (begin, until) in ranges(value)? {
            let bounds = bound(begin).zip(bound(until));
            let (begin, until) = bounds.ok_or_else(|| format!("`{label}` has no such values"))?;
            mappings.push(Mapping { label: label.as_str().into(), begin, until });
        }
    }
    Ok(mappings.into())
}

/// 16 numbers of a byte each.
pub(super) fn uuid(value: &Value) -> Option<[u8; 16]> {
    let byte = |value: &Value| u8::try_from(number(value)?).ok();
    let bytes: Option<Vec<u8>> = value.as_array()?.iter().map(byte).collect();
    bytes?.try_into().ok()
}
