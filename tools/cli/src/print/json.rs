// SPDX-License-Identifier: MIT
//! The JSON form: one object per line.
//!
//! Place in the flow: `lull print --json`; docs/formats/print.md describes it. An event is `{"v",
//! "time_ns", "cycles", "cpu", "stream", "trace"?, "thread"?, "name", "error"?, "context"?,
//! "fields", "symbols"?, "packet"?}`, where the error is the name of what a system call's negative
//! result says; a loss is `{"v", "lost": "events"|"packets", "count", "causes", "begin_ns",
//! "until_ns", "cpu", "stream", "trace"?}`. Integers are numbers of up to 64 bits; enumerations
//! and named bits `{"label", "value"}`; variants `{OPTION: value}`; optional fields that are
//! absent `null`; floats without a JSON form are the strings `"NaN"`, `"inf"`, `"-inf"`.

use std::io::Write;

use trace::{
    Enumeration, Event, Float, Group, Integer, LossKind, LossMessage, Meaning, Name, Ns, Symbols,
    Visitor,
};

use super::{classes, number, text, About, Form};

#[derive(Default)]
pub(super) struct JsonForm {
    /// By trace; empty where there is one only.
    labels: Vec<String>,
    has_packets: bool,
}

impl JsonForm {
    pub fn new() -> Self {
        Self::default()
    }

    /// With what tells traces apart.
    pub fn labelled(self, labels: Vec<String>) -> Self {
        Self { labels, ..self }
    }

    /// With the fields of the packet's context that the reader has no use for.
    pub fn with_packets(self) -> Self {
        Self { has_packets: true, ..self }
    }

    fn label(&self, out: &mut Vec<u8>, trace_index: usize) {
        if let Some(label) = self.labels.get(trace_index).filter(|label| !label.is_empty()) {
            key(out, "trace");
            text::json(out, label.as_bytes());
        }
    }
}

/// The beginning of a line, with the version of the form: it is raised when a key changes its
/// meaning or goes away.
fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"v\":1");
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn optional(out: &mut Vec<u8>, name: &str, value: Option<i64>) {
    key(out, name);
    match value {
        Some(value) => number::signed(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

impl Form for JsonForm {
    fn event(&mut self, out: &mut Vec<u8>, event: &Event<'_>, about: About<'_>) {
        begin(out);
        key(out, "time_ns");
        match event.clock() {
            Some(_) => number::signed(out, event.time_ns().0),
            None => out.extend_from_slice(b"null"),
        }
        key(out, "cycles");
        number::unsigned(out, event.cycles().0);
        optional(out, "cpu", event.cpu().map(|cpu| i64::from(cpu.0)));
        key(out, "stream");
        number::unsigned(out, event.stream_index() as u64);
        self.label(out, event.trace_index());
        if let Some(thread) = about.thread {
            key(out, "thread");
            out.extend_from_slice(b"{\"name\":");
            text::json(out, &thread.recorded.name);
            key(out, "pid");
            number::unsigned(out, thread.recorded.pid);
            key(out, "tid");
            number::unsigned(out, thread.recorded.tid);
            out.push(b'}');
        }
        key(out, "name");
        text::json(out, event.name().as_bytes());
        if let Some(error) = about.class.error_of(event) {
            key(out, "error");
            text::json(out, error.as_bytes());
        }
        if event.stream_class().event_context.is_some() || event.class().context.is_some() {
            key(out, "context");
            object(out, |fields| {
                event.stream_context(fields)?;
                event.context(fields)
            });
        }
        key(out, "fields");
        object(out, |fields| event.fields(fields));
        if about.symbols.is_some() || !about.places.is_empty() {
            stacks(out, event, about);
        }
        if self.has_packets {
            key(out, "packet");
            object(out, |fields| event.packet_context(fields));
        }
        out.extend_from_slice(b"}\n");
    }

    fn loss(&mut self, out: &mut Vec<u8>, message: &LossMessage<'_>) {
        let loss = message.loss;
        begin(out);
        key(out, "lost");
        out.extend_from_slice(match loss.kind {
            LossKind::Events => b"\"events\"".as_slice(),
            LossKind::Packets => b"\"packets\"",
        });
        key(out, "count");
        number::unsigned(out, loss.count);
        key(out, "causes");
        out.push(b'{');
        for (index, (cause, count)) in loss.causes.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            text::json(out, cause.as_bytes());
            out.push(b':');
            number::unsigned(out, *count);
        }
        out.push(b'}');
        let ns = |time: Option<Ns>| time.map(|ns| ns.0);
        optional(out, "begin_ns", ns(message.begin_ns()));
        optional(out, "until_ns", ns(message.until_ns()));
        optional(out, "cpu", loss.cpu.map(|cpu| i64::from(cpu.0)));
        key(out, "stream");
        number::unsigned(out, message.stream_index as u64);
        self.label(out, message.trace_index);
        out.extend_from_slice(b"}\n");
    }
}

/// Writes an object of visited fields; a fault ends it early but well-formed.
fn object(out: &mut Vec<u8>, visit: impl Fn(&mut Fields<'_>) -> Result<(), trace::Fault>) {
    let begin = out.len();
    out.push(b'{');
    let mut fields = Fields { out, opened: true };
    if let Err(fault) = visit(&mut fields) {
        out.truncate(begin);
        out.extend_from_slice(b"{\"fault\":");
        text::json(out, fault.to_string().as_bytes());
    }
    out.push(b'}');
}

/// Writes the names of the places in call stacks, which their addresses stand for.
fn stacks(out: &mut Vec<u8>, event: &Event<'_>, about: About<'_>) {
    key(out, "symbols");
    out.push(b'{');
    if let Some(symbols) = about.symbols {
        let mut places = Places { out, symbols, is_stack: false, is_first: true };
        places.out.extend_from_slice(b"\"kernel_stack\":[");
        // Damage is told where the fields are.
        let _ = event.context(&mut places).and_then(|()| event.fields(&mut places));
        out.push(b']');
    }
    if !about.places.user.is_empty() {
        list(out, "user_stack", about.places.user, |out, place| optional_text(out, place.as_ref()));
    }
    if !about.places.copy.is_empty() {
        list(out, "user_stack_copy", about.places.copy, |out, (address, place)| {
            out.extend_from_slice(b"{\"address\":");
            number::unsigned(out, *address);
            out.extend_from_slice(b",\"place\":");
            optional_text(out, place.as_ref());
            out.push(b'}');
        });
    }
    out.push(b'}');
}

/// Writes a member of an object that is a list.
fn list<T>(out: &mut Vec<u8>, name: &str, all: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    text::json(out, name.as_bytes());
    out.extend_from_slice(b":[");
    for (index, one) in all.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, one);
    }
    out.push(b']');
}

fn optional_text(out: &mut Vec<u8>, text: Option<&String>) {
    match text {
        Some(text) => text::json(out, text.as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

/// Writes the elements of the field that is the kernel's call stack, and nothing else.
struct Places<'a> {
    out: &'a mut Vec<u8>,
    symbols: &'a Symbols,
    is_stack: bool,
    is_first: bool,
}

impl Visitor for Places<'_> {
    fn unsigned(&mut self, name: Name<'_>, value: u64, _: &Integer) {
        if !self.is_stack || !matches!(name, Name::Index(_)) {
            return;
        }
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        match self.symbols.returned_to(value) {
            // The names have nothing but printable characters.
            Some(place) => {
                let place = format!("{}+{:#x}", place.function, place.offset);
                text::json(self.out, place.as_bytes());
            }
            None => self.out.extend_from_slice(b"null"),
        }
    }
    fn begin(&mut self, name: Name<'_>, _: Group<'_>) {
        self.is_stack = name == Name::Field(classes::KERNEL_STACK);
    }
    fn end(&mut self, _: Group<'_>) {
        self.is_stack = false;
    }
}

struct Fields<'a> {
    out: &'a mut Vec<u8>,
    opened: bool,
}

impl Fields<'_> {
    fn name(&mut self, name: Name<'_>) {
        if !self.opened {
            self.out.push(b',');
        }
        self.opened = false;
        if let Name::Field(name) = name {
            text::json(self.out, name.as_bytes());
            self.out.push(b':');
        }
    }
}

impl Visitor for Fields<'_> {
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        if ty.is_of_reader() {
            return;
        }
        self.name(name);
        match (ty.meaning, value) {
            (Meaning::Boolean, 0) => self.out.extend_from_slice(b"false"),
            (Meaning::Boolean, _) => self.out.extend_from_slice(b"true"),
            _ => number::unsigned(self.out, value),
        }
    }
    fn signed(&mut self, name: Name<'_>, value: i64, _: &Integer) {
        self.name(name);
        number::signed(self.out, value);
    }
    fn float(&mut self, name: Name<'_>, value: f64, ty: &Float) {
        self.name(name);
        let quote: &[u8] = if value.is_finite() { b"" } else { b"\"" };
        self.out.extend_from_slice(quote);
        // Writing to a vector does not fail.
        let _ = match ty.size_bits {
            32 => write!(self.out, "{:?}", value as f32),
            _ => write!(self.out, "{value:?}"),
        };
        self.out.extend_from_slice(quote);
    }
    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        self.name(name);
        self.out.extend_from_slice(b"{\"label\":");
        match ty.text(value) {
            Some(label) => text::json(self.out, label.as_bytes()),
            None => self.out.extend_from_slice(b"null"),
        }
        key(self.out, "value");
        match ty.container.signed {
            true => number::signed(self.out, value as i64),
            false => number::unsigned(self.out, value),
        }
        self.out.push(b'}');
    }
    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.name(name);
        text::json(self.out, bytes);
    }
    fn begin(&mut self, name: Name<'_>, group: Group<'_>) {
        self.name(name);
        match group {
            Group::Struct => self.out.push(b'{'),
            Group::Array { .. } | Group::Sequence { .. } => self.out.push(b'['),
            Group::Variant { option } => {
                self.out.push(b'{');
                text::json(self.out, option.as_bytes());
                self.out.push(b':');
            }
            Group::Optional { is_present: false } => self.out.extend_from_slice(b"null"),
            Group::Optional { is_present: true } => {}
        }
        self.opened = true;
    }
    fn end(&mut self, group: Group<'_>) {
        self.opened = false;
        match group {
            Group::Struct | Group::Variant { .. } => self.out.push(b'}'),
            Group::Array { .. } | Group::Sequence { .. } => self.out.push(b']'),
            Group::Optional { .. } => {}
        }
    }
}
