// SPDX-License-Identifier: MIT
//! The fragments of CTF 2 metadata: preamble, trace, clocks, data streams, event records.
//!
//! Place in the flow: each JSON text of the metadata is one fragment. They fill the same blocks
//! that TSDL fills, so that everything behind them is the same for both.

use std::collections::HashMap;

use serde_json::Value;

use super::field_class::{uuid, Classes};
use super::object::{Object, Result};
use crate::clock::Clock;
use crate::metadata::EnvironmentValue;
use crate::tsdl::{parse_uuid, Blocks, RawEvent, RawStream, MAX_CLOCKS};
use crate::types::Scope;

/// Who defines what log levels and the place in the source are called in `attributes`.
const NAMESPACES: [&str; 2] = ["babeltrace.org,2020", "lttng.org,2009"];
/// Log levels in the order of their numbers.
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

pub(super) struct Fragments<'j> {
    blocks: Blocks,
    classes: Classes<'j>,
    /// Place of each clock class by its identifier.
    clocks: HashMap<&'j str, u16>,
    /// Clock of each data stream class.
    clock_of: HashMap<u64, Option<u16>>,
    has_trace: bool,
}

impl<'j> Fragments<'j> {
    pub fn new() -> Self {
        let missing = Some("the metadata does not begin with a preamble of CTF 2");
        Self {
            blocks: Blocks { missing, has_roles: true, describes_clock: true, ..Blocks::default() },
            classes: Classes::new(HashMap::new()),
            clocks: HashMap::new(),
            clock_of: HashMap::new(),
            has_trace: false,
        }
    }

    pub fn finish(self) -> Blocks {
        self.blocks
    }

    pub fn add(&mut self, line: u32, value: &'j Value) -> Result<()> {
        self.classes.line = line;
        let ty = value.get("type").and_then(Value::as_str).ok_or("a fragment has no `type`")?;
        match ty {
            "preamble" => self.preamble(value),
            "field-class-alias" => {
                let alias = Object::of(value, &["name", "field-class"])?;
                let name = alias.text("name")?.ok_or("an alias has no name")?;
                self.classes.alias(name, alias.need("field-class")?)
            }
            "trace-class" => self.trace(value),
            "clock-class" => self.clock(value),
            "data-stream-class" => self.stream(line, value),
            "event-record-class" => self.event(line, value),
            other => Err(format!("a fragment of type `{other}` is not known")),
        }
        .map_err(|what| format!("{ty}: {what}"))
    }

    fn preamble(&mut self, value: &'j Value) -> Result<()> {
        let preamble = Object::of(value, &["version", "uuid"])?;
        match preamble.unsigned("version")? {
            Some(2) => {}
            Some(other) => return Err(format!("the metadata is of CTF {other}, which is unknown")),
            None => return Err("the version is missing".into()),
        }
        if self.blocks.missing.take().is_none() {
            return Err("there are two".into());
        }
        if let Some(value) = preamble.get("uuid") {
            self.blocks.uuid = Some(uuid(value).ok_or("the UUID is not 16 bytes")?);
        }
        Ok(())
    }

    fn trace(&mut self, value: &'j Value) -> Result<()> {
        let known = ["namespace", "name", "uid", "environment", "packet-header-field-class"];
        let trace = Object::of(value, &known)?;
        if std::mem::replace(&mut self.has_trace, true) {
            return Err("there are two".into());
        }
        for (name, value) in trace.map("environment")?.into_iter().flatten() {
            let value = match value {
                Value::String(text) => EnvironmentValue::Text(text.clone()),
                Value::Number(_) => match super::object::number(value) {
                    Some(number) => EnvironmentValue::Number(number),
                    None => return Err(format!("`{name}` is not a whole number of 64 bits")),
                },
                _ => return Err(format!("`{name}` is neither a string nor a number")),
            };
            self.blocks.environment.push((name.clone(), value));
        }
        self.classes.clock = None;
        let header = trace.get("packet-header-field-class");
        self.blocks.packet_header = self.classes.root(header, Scope::PacketHeader)?;
        Ok(())
    }

    fn clock(&mut self, value: &'j Value) -> Result<()> {
        let known = [
            "id",
            "namespace",
            "name",
            "uid",
            "frequency",
            "origin",
            "offset-from-origin",
            "precision",
            "accuracy",
            "description",
        ];
        let class = Object::of(value, &known)?;
        let id = class.text("id")?.ok_or("a clock class has no `id`")?;
        let mut clock = Clock::new(class.text("name")?.unwrap_or(id).into());
        clock.uuid = class.text("uid")?.and_then(parse_uuid);
        clock.description = class.text("description")?.unwrap_or_default().into();
        let frequency = class.unsigned("frequency")?.filter(|frequency| *frequency > 0);
        clock.frequency_hz = frequency.ok_or("`frequency` is missing or 0")?;
        clock.precision_cycles = class.unsigned("precision")?.unwrap_or(0);
        clock.absolute = class.get("origin").is_some_and(|origin| origin == "unix-epoch");
        if let Some(offset) = class.get("offset-from-origin") {
            let offset = Object::of(offset, &["seconds", "cycles"])?;
            clock.offset_s = offset.signed("seconds")?.unwrap_or(0);
            clock.offset_cycles = offset.unsigned("cycles")?.unwrap_or(0);
            if clock.offset_cycles >= clock.frequency_hz {
                return Err("`cycles` are a second or more".into());
            }
        }
        let clocks = &mut self.blocks.builder.clocks;
        if clocks.len() >= MAX_CLOCKS {
            return Err(format!("there are more than {MAX_CLOCKS} clocks"));
        }
        if self.clocks.insert(id, clocks.len() as u16).is_some() {
            return Err(format!("two clock classes have the `id` \"{id}\""));
        }
        let clock = clock.finish();
        if !clock.has_origin() {
            return Err("the offset is beyond what 64 bits of nanoseconds hold".into());
        }
        clocks.push(clock);
        Ok(())
    }

    fn stream(&mut self, line: u32, value: &'j Value) -> Result<()> {
        const HEADER: &str = "event-record-header-field-class";
        const COMMON_CONTEXT: &str = "event-record-common-context-field-class";
        let known = [
            "id",
            "namespace",
            "name",
            "uid",
            "default-clock-class-id",
            "packet-context-field-class",
            HEADER,
            COMMON_CONTEXT,
        ];
        let class = Object::of(value, &known)?;
        let id = class.unsigned("id")?.unwrap_or(0);
        let clock = match class.text("default-clock-class-id")? {
            None => None,
            Some(name) => {
                let index = self.clocks.get(name).copied();
                Some(index.ok_or_else(|| format!("no clock class has the `id` \"{name}\""))?)
            }
        };
        self.classes.clock = clock;
        let context = class.get("packet-context-field-class");
        let stream = RawStream {
            line,
            id,
            packet_context: self.classes.root(context, Scope::PacketContext)?,
            event_header: self.classes.root(class.get(HEADER), Scope::EventHeader)?,
            event_context: self.classes.root(class.get(COMMON_CONTEXT), Scope::StreamContext)?,
        };
        self.blocks.add_stream(stream).map_err(|error| error.what)?;
        self.clock_of.insert(id, clock);
        Ok(())
    }

    fn event(&mut self, line: u32, value: &'j Value) -> Result<()> {
        const CONTEXT: &str = "specific-context-field-class";
        const PAYLOAD: &str = "payload-field-class";
        let known = ["id", "data-stream-class-id", "namespace", "name", "uid", CONTEXT, PAYLOAD];
        let class = Object::of(value, &known)?;
        let stream = class.unsigned("data-stream-class-id")?.unwrap_or(0);
        self.classes.clock = self.clock_of.get(&stream).copied().flatten();
        let attribute = |name: &str| {
            let of = |namespace: &&str| value.get("attributes")?.get(namespace)?.get(name);
            NAMESPACES.iter().find_map(of)
        };
        let level_number = |name: &str| LOG_LEVELS.iter().position(|level| *level == name);
        let event = RawEvent {
            line,
            id: class.unsigned("id")?.unwrap_or(0),
            stream: Some(stream),
            name: class.text("name")?.unwrap_or_default().into(),
            log_level: attribute("log-level").and_then(|level| match level {
                Value::String(name) => level_number(name).map(|number| number as i64),
                level => level.as_i64(),
            }),
            emf_uri: attribute("emf-uri").and_then(Value::as_str).map(String::from),
            context: self.classes.root(class.get(CONTEXT), Scope::EventContext)?,
            payload: self.classes.root(class.get(PAYLOAD), Scope::Payload)?,
        };
        self.blocks.events.push(event);
        Ok(())
    }
}
