// SPDX-License-Identifier: MIT
//! The blocks of TSDL: `trace`, `env`, `clock`, `stream`, `event`.
//!
//! Place in the flow: after parsing. One pass finds what types depend on (byte order, clocks), a
//! second one builds everything; `finish` then joins events to streams.

use super::ast::{Attribute, BlockKind, Item, Value};
use super::build_type::{boolean, byte_order, number, word, Builder, Result};
use super::scope::Scopes;
use crate::clock::Clock;
use crate::error::MetadataError;
use crate::metadata::EnvironmentValue;
use crate::types::{ByteOrder, Struct, Type};

/// More of these make no sense, and looking through them takes time.
pub(crate) const MAX_CLOCKS: usize = 64;
pub(crate) const MAX_STREAMS: usize = 1024;

/// A stream block before its references are resolved.
#[derive(Default)]
pub(crate) struct RawStream {
    pub line: u32,
    pub id: u64,
    pub packet_context: Option<Struct>,
    pub event_header: Option<Struct>,
    pub event_context: Option<Struct>,
}

/// An event block before its references are resolved.
#[derive(Default)]
pub(crate) struct RawEvent {
    pub line: u32,
    pub id: u64,
    pub stream: Option<u64>,
    pub name: String,
    pub log_level: Option<i64>,
    pub emf_uri: Option<String>,
    pub context: Option<Struct>,
    pub payload: Option<Struct>,
}

/// All blocks of a metadata text.
pub(crate) struct Blocks {
    pub builder: Builder,
    pub errors: Vec<MetadataError>,
    /// What must be there and was not met yet.
    pub missing: Option<&'static str>,
    /// Whether the metadata says which integers the reader needs; otherwise their names do.
    pub has_roles: bool,
    /// Whether there is a `clock` block, even one that cannot be used.
    pub describes_clock: bool,
    pub uuid: Option<[u8; 16]>,
    pub packet_header: Option<Struct>,
    pub environment: Vec<(String, EnvironmentValue)>,
    pub streams: Vec<RawStream>,
    pub events: Vec<RawEvent>,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            builder: Builder {
                native: ByteOrder::Little,
                clocks: Vec::new(),
                warnings: Vec::new(),
                scopes: Scopes::new(),
            },
            errors: Vec::new(),
            missing: None,
            has_roles: false,
            describes_clock: false,
            uuid: None,
            packet_header: None,
            environment: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
        }
    }
}

pub(super) fn build(items: &[Item]) -> Blocks {
    let mut blocks = Blocks { missing: Some("there is no `trace` block"), ..Blocks::default() };
    blocks.find_byte_order_and_clocks(items);
    for item in items {
        let depth = blocks.builder.scopes.depth();
        if let Err(error) = blocks.top_level(item) {
            blocks.builder.scopes.leave_to(depth);
            blocks.errors.push(error);
        }
    }
    blocks
}

impl Blocks {
    fn find_byte_order_and_clocks(&mut self, items: &[Item]) {
        for item in items {
            let Item::Block { kind, items, line } = item else { continue };
            let result = match kind {
                BlockKind::Trace => self.native_byte_order(items),
                BlockKind::Clock => self.clock(*line, items),
                _ => Ok(()),
            };
            self.errors.extend(result.err());
        }
    }

    fn native_byte_order(&mut self, items: &[Item]) -> Result<()> {
        self.missing = None;
        for item in items {
            let Item::Attribute(attribute) = item else { continue };
            if attribute.key == ["byte_order"] {
                self.builder.native =
                    word(&attribute.value).and_then(byte_order).ok_or_else(|| {
                        let what = "the byte order of a trace is `le` or `be`";
                        MetadataError::new(attribute.line, what)
                    })?;
            }
        }
        Ok(())
    }

    fn clock(&mut self, line: u32, items: &[Item]) -> Result<()> {
        self.describes_clock = true;
        let mut clock = Clock::new(String::new());
        for item in items {
            let Item::Attribute(attribute) = item else { continue };
            match attribute.key.join(".").as_str() {
                "name" => clock.name = text(attribute)?,
                "description" => clock.description = text(attribute)?,
                "uuid" => clock.uuid = self.uuid(attribute),
                "freq" => clock.frequency_hz = unsigned(attribute)?,
                "precision" => clock.precision_cycles = unsigned(attribute)?,
                "offset" => clock.offset_cycles = unsigned(attribute)?,
                "offset_s" => clock.offset_s = signed(attribute)?,
                "absolute" => clock.absolute = boolean(attribute)?,
                _ => self.builder.unknown(attribute),
            }
        }
        if clock.name.is_empty() {
            return Err(MetadataError::new(line, "a clock has no name"));
        }
        if clock.frequency_hz == 0 {
            self.builder.warn(line, "a clock with a frequency of 0 is taken as 1 GHz");
        }
        if self.builder.clocks.len() >= MAX_CLOCKS {
            return Err(MetadataError::new(
                line,
                format!("there are more than {MAX_CLOCKS} clocks"),
            ));
        }
        let clock = clock.finish();
        if !clock.has_origin() {
            let what = "the clock's offset is beyond what 64 bits of nanoseconds hold";
            return Err(MetadataError::new(line, what));
        }
        self.builder.clocks.push(clock);
        Ok(())
    }

    fn uuid(&mut self, attribute: &Attribute) -> Option<[u8; 16]> {
        let uuid = word(&attribute.value).and_then(parse_uuid);
        if uuid.is_none() {
            self.builder
                .warn(attribute.line, "a UUID has 32 hexadecimal digits; this one is ignored");
        }
        uuid
    }

    fn top_level(&mut self, item: &Item) -> Result<()> {
        if self.builder.type_item(item)? {
            return Ok(());
        }
        match item {
            Item::Block { line, kind, items } => {
                self.builder.scopes.enter();
                match kind {
                    BlockKind::Trace => self.trace(items)?,
                    BlockKind::Environment => self.environment(items),
                    BlockKind::Stream => self.stream(*line, items)?,
                    BlockKind::Event => self.event(*line, items)?,
                    BlockKind::Clock => {}
                    BlockKind::Other => {
                        self.builder.warn(*line, "a block of an unknown kind is ignored");
                    }
                }
                self.builder.scopes.leave();
            }
            Item::Attribute(attribute) => self.builder.unknown(attribute),
            Item::Assignment { line, .. } => {
                self.builder.warn(*line, "an assignment outside any block is ignored");
            }
            Item::Declaration { ty, .. } => {
                self.builder.warn(ty.line, "a declaration outside any block is ignored");
            }
            Item::Typedef { .. } | Item::Typealias { .. } => {}
        }
        Ok(())
    }

    fn trace(&mut self, items: &[Item]) -> Result<()> {
        for item in items {
            if self.builder.type_item(item)? {
                continue;
            }
            match item {
                Item::Attribute(attribute) => match attribute.key.join(".").as_str() {
                    "uuid" => self.uuid = self.uuid(attribute),
                    "byte_order" => {}
                    "major" | "minor" => self.check_version(attribute),
                    _ => self.builder.unknown(attribute),
                },
                Item::Assignment { line, key, ty } if *key == ["packet", "header"] => {
                    let ty = self.builder.build(ty)?;
                    self.packet_header = Some(structure(*line, ty)?);
                }
                other => self.ignored(other),
            }
        }
        Ok(())
    }

    fn check_version(&mut self, attribute: &Attribute) {
        let expected = if attribute.key == ["major"] { 1 } else { 8 };
        if attribute.value != Value::Number(expected) {
            let key = attribute.key.join(".");
            let what =
                format!("the trace's `{key}` version is not that of CTF 1.8, as which it is read");
            self.errors.push(MetadataError::new(attribute.line, what));
        }
    }

    fn ignored(&mut self, item: &Item) {
        let (line, what) = match item {
            Item::Assignment { line, key, .. } => (*line, key.join(".")),
            Item::Attribute(attribute) => (attribute.line, attribute.key.join(".")),
            Item::Declaration { ty, .. } => (ty.line, "a field".into()),
            Item::Block { line, .. } => (*line, "a block".into()),
            Item::Typedef { .. } | Item::Typealias { .. } => return,
        };
        self.builder.warn(line, format!("{what} has no meaning in this block and is ignored"));
    }

    fn environment(&mut self, items: &[Item]) {
        for item in items {
            let Item::Attribute(attribute) = item else {
                self.ignored(item);
                continue;
            };
            let value = match &attribute.value {
                Value::Number(number) => EnvironmentValue::Number(*number),
                Value::Text(text) => EnvironmentValue::Text(text.clone()),
                Value::Path(path) => EnvironmentValue::Text(path.join(".")),
                Value::Other => {
                    self.builder.unknown(attribute);
                    continue;
                }
            };
            self.environment.push((attribute.key.join("."), value));
        }
    }

    fn stream(&mut self, line: u32, items: &[Item]) -> Result<()> {
        let mut stream = RawStream { line, ..RawStream::default() };
        for item in items {
            if self.builder.type_item(item)? {
                continue;
            }
            match item {
                Item::Attribute(attribute) if attribute.key == ["id"] => {
                    stream.id = unsigned(attribute)?;
                }
                Item::Attribute(attribute) => self.builder.unknown(attribute),
                Item::Assignment { line, key, ty } => {
                    let slot = match key.join(".").as_str() {
                        "packet.context" => &mut stream.packet_context,
                        "event.header" => &mut stream.event_header,
                        "event.context" => &mut stream.event_context,
                        _ => {
                            self.ignored(item);
                            continue;
                        }
                    };
                    *slot = Some(structure(*line, self.builder.build(ty)?)?);
                }
                other => self.ignored(other),
            }
        }
        self.add_stream(stream)
    }

    pub(crate) fn add_stream(&mut self, stream: RawStream) -> Result<()> {
        let line = stream.line;
        if self.streams.iter().any(|known| known.id == stream.id) {
            let what = format!("stream {} is described twice", stream.id);
            return Err(MetadataError::new(line, what));
        }
        if self.streams.len() >= MAX_STREAMS {
            let what = format!("there are more than {MAX_STREAMS} streams");
            return Err(MetadataError::new(line, what));
        }
        self.streams.push(stream);
        Ok(())
    }

    fn event(&mut self, line: u32, items: &[Item]) -> Result<()> {
        let mut event = RawEvent { line, ..RawEvent::default() };
        for item in items {
            if self.builder.type_item(item)? {
                continue;
            }
            match item {
                Item::Attribute(attribute) => self.event_attribute(attribute, &mut event)?,
                Item::Assignment { line, key, ty } => {
                    let slot = match key.join(".").as_str() {
                        "context" => &mut event.context,
                        "fields" => &mut event.payload,
                        _ => {
                            self.ignored(item);
                            continue;
                        }
                    };
                    *slot = Some(structure(*line, self.builder.build(ty)?)?);
                }
                other => self.ignored(other),
            }
        }
        self.events.push(event);
        Ok(())
    }

    fn event_attribute(&mut self, attribute: &Attribute, event: &mut RawEvent) -> Result<()> {
        match attribute.key.join(".").as_str() {
            "name" => event.name = text(attribute)?,
            "id" => event.id = unsigned(attribute)?,
            "stream_id" => event.stream = Some(unsigned(attribute)?),
            "loglevel" => match number(attribute).map(i64::try_from) {
                Ok(Ok(level)) => event.log_level = Some(level),
                _ => self.builder.unknown(attribute),
            },
            "model.emf.uri" => event.emf_uri = Some(text(attribute)?),
            _ => self.builder.unknown(attribute),
        }
        Ok(())
    }
}

fn structure(line: u32, ty: Type) -> Result<Struct> {
    match ty {
        Type::Struct(structure) => Ok(structure),
        _ => Err(MetadataError::new(line, "only a struct can stand here")),
    }
}

fn text(attribute: &Attribute) -> Result<String> {
    match &attribute.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Path(path) => Ok(path.join(".")),
        _ => {
            let what = format!("`{}` is not a name or a string", attribute.key.join("."));
            Err(MetadataError::new(attribute.line, what))
        }
    }
}

fn unsigned(attribute: &Attribute) -> Result<u64> {
    u64::try_from(number(attribute)?).map_err(|_| {
        let what = format!("`{}` cannot be negative", attribute.key.join("."));
        MetadataError::new(attribute.line, what)
    })
}

fn signed(attribute: &Attribute) -> Result<i64> {
    i64::try_from(number(attribute)?).map_err(|_| {
        let what = format!("`{}` does not fit in 64 bits", attribute.key.join("."));
        MetadataError::new(attribute.line, what)
    })
}

pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let mut digits = text.chars().filter(|c| *c != '-').map(|c| c.to_digit(16));
    let mut uuid = [0; 16];
    for byte in &mut uuid {
        *byte = (digits.next()?? * 16 + digits.next()??) as u8;
    }
    digits.next().is_none().then_some(uuid)
}
