// SPDX-License-Identifier: MIT
//! The text form: `HH:MM:SS.nnnnnnnnn cpu thread/tid event field=value ...`.
//!
//! Place in the flow: the default of `lull print`. Integers have the base the trace asks for;
//! floats the shortest digits that read back as the same value (as Rust's `{:?}` gives them);
//! enumerations are `label(number)`, or the number where it has no label, bits with names
//! `label|label(number)`, a system call's error `NAME(number)`; structs `{a=1 b=2}`, arrays
//! `[1 2]`, variants `{option=value}`; context is a struct before the fields; bytes in base sixteen
//! `[0x12ab]`; an address in a call stack `function+0x12`, the kernel's where the trace knows that,
//! a program's where the file does, and in place of a copy of the stack the frames in it; unknown
//! things are `-`. The field that holds a sequence's length is left out.

use std::io::Write;

use analysis::StackPlaces;
use trace::{
    Base, Enumeration, Event, Fault, Float, Group, Integer, LossKind, LossMessage, Meaning, Name,
    Ns, Symbols, Visitor,
};

use super::clock::TimeOfDay;
use super::{classes, number, text, About, Form};

/// What stands in the first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Local,
    Utc,
    Cycles,
}

impl Times {
    pub fn of(utc: bool, cycles: bool) -> Self {
        match (utc, cycles) {
            (_, true) => Times::Cycles,
            (true, _) => Times::Utc,
            _ => Times::Local,
        }
    }
}

pub(super) struct LineForm {
    times: Times,
    time_of_day: TimeOfDay,
    delta: bool,
    previous: Option<Ns>,
    /// By trace; empty where there is one only.
    labels: Vec<String>,
    has_packets: bool,
}

impl LineForm {
    pub fn new(delta: bool, times: Times) -> Self {
        let time_of_day = TimeOfDay::new(times == Times::Utc);
        Self { times, time_of_day, delta, previous: None, labels: Vec::new(), has_packets: false }
    }

    /// With the date before the time of day.
    pub fn dated(self) -> Self {
        Self { time_of_day: self.time_of_day.dated(), ..self }
    }

    /// With what tells traces apart before the processor.
    pub fn labelled(self, labels: Vec<String>) -> Self {
        Self { labels, ..self }
    }

    /// With the fields of the packet's context that the reader has no use for.
    pub fn with_packets(self) -> Self {
        Self { has_packets: true, ..self }
    }

    fn label(&self, out: &mut Vec<u8>, trace_index: usize) {
        if let Some(label) = self.labels.get(trace_index).filter(|label| !label.is_empty()) {
            out.extend_from_slice(label.as_bytes());
            out.push(b' ');
        }
    }

    fn delta(&mut self, out: &mut Vec<u8>, now: Ns) {
        let Some(previous) = self.previous.replace(now) else {
            out.extend_from_slice(b" (+?.?????????)");
            return;
        };
        let since = now.0.saturating_sub(previous.0);
        out.extend_from_slice(if since < 0 { b" (-" } else { b" (+" });
        let ns = since.unsigned_abs();
        number::unsigned(out, ns / 1_000_000_000);
        out.push(b'.');
        number::nine_digits(out, (ns % 1_000_000_000) as u32);
        out.push(b')');
    }

    fn time_of(&mut self, out: &mut Vec<u8>, ns: Option<Ns>) {
        match ns {
            Some(ns) => self.time_of_day.write(out, ns.0),
            None => out.push(b'-'),
        }
    }
}

impl Form for LineForm {
    fn event(&mut self, out: &mut Vec<u8>, event: &Event<'_>, about: About<'_>) {
        if self.times == Times::Cycles || event.clock().is_none() {
            number::unsigned(out, event.cycles().0);
        } else {
            self.time_of_day.write(out, event.time_ns().0);
        }
        if self.delta {
            self.delta(out, event.time_ns());
        }
        out.push(b' ');
        self.label(out, event.trace_index());
        match event.cpu() {
            Some(cpu) => number::unsigned(out, u64::from(cpu.0)),
            None => out.push(b'-'),
        }
        out.push(b' ');
        match about.thread {
            Some(thread) => out.extend_from_slice(thread.label),
            None => out.push(b'-'),
        }
        out.extend_from_slice(&about.class.label);
        let mut fields = Fields::new(out, about.symbols);
        (fields.has_result, fields.places) = (about.class.has_result(), about.places);
        let scopes = [
            fields.context(event.stream_class().event_context.is_some(), |fields| {
                event.stream_context(fields)
            }),
            fields.context(event.class().context.is_some(), |fields| event.context(fields)),
            event.fields(&mut fields),
        ];
        if let Some(fault) = scopes.into_iter().find_map(Result::err) {
            // Writing to a vector does not fail.
            let _ = write!(out, " <{fault}>");
        }
        if self.has_packets {
            out.extend_from_slice(b" packet={");
            // Damage of a packet's context is told when the packet is entered.
            let mut fields = Fields::new(out, None);
            fields.opened = true;
            let _ = event.packet_context(&mut fields);
            out.push(b'}');
        }
        out.push(b'\n');
    }

    fn loss(&mut self, out: &mut Vec<u8>, message: &LossMessage<'_>) {
        let loss = message.loss;
        match message.time_ns() {
            Some(ns) if self.times != Times::Cycles => self.time_of_day.write(out, ns.0),
            _ => number::unsigned(out, message.cycles().0),
        }
        out.push(b' ');
        self.label(out, message.trace_index);
        match loss.cpu {
            Some(cpu) => number::unsigned(out, u64::from(cpu.0)),
            None => out.push(b'-'),
        }
        out.extend_from_slice(b" - *** LOST ");
        number::unsigned(out, loss.count);
        out.extend_from_slice(match (loss.kind, loss.count) {
            (LossKind::Events, 1) => b" event",
            (LossKind::Events, _) => b" events",
            (LossKind::Packets, 1) => b" packet",
            (LossKind::Packets, _) => b" packets",
        });
        for (cause, count) in &loss.causes {
            out.push(b' ');
            text::word(out, cause.as_bytes());
            out.push(b'=');
            number::unsigned(out, *count);
        }
        out.extend_from_slice(b" between ");
        self.time_of(out, message.begin_ns());
        out.extend_from_slice(b" and ");
        self.time_of(out, message.until_ns());
        out.extend_from_slice(b" ***\n");
    }
}

/// Whether a field only says how long another one is, which shows anyway: tracers give such
/// fields names that begin with an underscore. So may a program, whose fields nothing refers to.
fn is_length_of_another(name: &str, ty: &Integer) -> bool {
    name.starts_with('_') && ty.is_referred_to()
}

/// Writes ` name=value` for each field.
struct Fields<'a> {
    out: &'a mut Vec<u8>,
    /// Whether a bracket was opened just now, so that no blank is needed.
    opened: bool,
    /// Whether the field `ret` is a system call's result.
    has_result: bool,
    /// For addresses of the kernel's call stack.
    symbols: Option<&'a Symbols>,
    /// Whether the elements that follow are such addresses, and have names.
    is_stack: bool,
    /// Of the program's call stack.
    places: StackPlaces<'a>,
    /// Which element of that stack comes next, where its elements follow.
    next_place: Option<usize>,
    /// Whether the elements that follow are a copy of the stack, whose frames were written.
    is_copy: bool,
}

impl<'a> Fields<'a> {
    fn new(out: &'a mut Vec<u8>, symbols: Option<&'a Symbols>) -> Self {
        let (places, next_place) = (StackPlaces::default(), None);
        let (opened, has_result, is_stack, is_copy) = (false, false, false, false);
        Self { out, opened, has_result, symbols, is_stack, places, next_place, is_copy }
    }

    /// A scope before the event's own fields, whose names may be the same: in brackets.
    fn context(
        &mut self,
        is_there: bool,
        visit: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if !is_there {
            return Ok(());
        }
        self.out.extend_from_slice(b" {");
        self.opened = true;
        let visited = visit(self);
        self.out.push(b'}');
        self.opened = false;
        visited
    }

    #[inline]
    fn name(&mut self, name: Name<'_>) {
        if !self.opened && name != Name::None {
            self.out.push(b' ');
        }
        self.opened = false;
        if let Name::Field(name) = name {
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b'=');
        }
    }

    /// An address of the kernel's call stack.
    fn place(&mut self, name: Name<'_>, address: u64, ty: &Integer) {
        self.name(name);
        match self.symbols.and_then(|symbols| symbols.returned_to(address)) {
            Some(place) => {
                self.out.extend_from_slice(place.function.as_bytes());
                number::based(self.out, b"+0x", place.offset, 4);
            }
            None => self.number(address, ty),
        }
    }

    /// An address of the program's call stack.
    fn program_place(&mut self, name: Name<'_>, at: usize, address: u64, ty: &Integer) {
        self.next_place = Some(at + 1);
        self.name(name);
        match self.places.user.get(at) {
            Some(Some(place)) => text::word(self.out, place.as_bytes()),
            _ => self.number(address, ty),
        }
    }

    /// The frames that are in a copy of the program's stack, in place of its words.
    fn frames(&mut self) {
        for (index, (address, place)) in self.places.copy.iter().enumerate() {
            if index > 0 {
                self.out.push(b' ');
            }
            match place {
                Some(place) => text::word(self.out, place.as_bytes()),
                None => number::based(self.out, b"0x", *address, 4),
            }
        }
    }

    #[inline]
    fn number(&mut self, value: u64, ty: &Integer) {
        // A negative number in another base than ten shows its own bits only.
        let bits = value & (u64::MAX >> (64 - ty.size_bits.clamp(1, 64)));
        match ty.base {
            Base::Decimal if ty.signed => number::signed(self.out, value as i64),
            Base::Decimal => number::unsigned(self.out, value),
            Base::Hexadecimal => number::based(self.out, b"0x", bits, 4),
            Base::Octal => number::based(self.out, b"0", bits, 3),
            Base::Binary => number::based(self.out, b"0b", bits, 1),
        }
    }
}

impl Visitor for Fields<'_> {
    #[inline]
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        match name {
            Name::Field(name) if is_length_of_another(name, ty) => {}
            Name::Field(_) if ty.is_of_reader() => {}
            _ if ty.meaning == Meaning::Boolean => {
                self.name(name);
                let word: &[u8] = if value == 0 { b"false" } else { b"true" };
                self.out.extend_from_slice(word);
            }
            Name::Index(_) if self.is_copy => {}
            Name::Index(_) if self.is_stack => self.place(name, value, ty),
            Name::Index(_) if self.next_place.is_some() => {
                self.program_place(name, self.next_place.unwrap_or_default(), value, ty);
            }
            Name::Index(_) if ty.size_bits == 8 && ty.base == Base::Hexadecimal => {
                if std::mem::take(&mut self.opened) {
                    self.out.extend_from_slice(b"0x");
                }
                text::hex_byte(self.out, value as u8);
            }
            _ => {
                self.name(name);
                self.number(value, ty);
            }
        }
    }
    #[inline]
    fn signed(&mut self, name: Name<'_>, value: i64, ty: &Integer) {
        self.name(name);
        if value < 0 && self.has_result && name == Name::Field(classes::RESULT) {
            if let Some(error) = state::error_name(value) {
                self.out.extend_from_slice(error.as_bytes());
                self.out.push(b'(');
                self.number(value as u64, ty);
                self.out.push(b')');
                return;
            }
        }
        self.number(value as u64, ty);
    }
    fn float(&mut self, name: Name<'_>, value: f64, ty: &Float) {
        self.name(name);
        // Writing to a vector does not fail.
        let _ = match ty.size_bits {
            32 => write!(self.out, "{:?}", value as f32),
            _ => write!(self.out, "{value:?}"),
        };
    }
    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        self.name(name);
        match ty.text(value) {
            Some(label) => text::word(self.out, label.as_bytes()),
            None => return self.number(value, &ty.container),
        }
        self.out.push(b'(');
        self.number(value, &ty.container);
        self.out.push(b')');
    }
    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.name(name);
        text::quoted(self.out, bytes);
    }
    fn begin(&mut self, name: Name<'_>, group: Group<'_>) {
        self.is_stack = self.symbols.is_some() && name == Name::Field(classes::KERNEL_STACK);
        let is_programs = !self.places.user.is_empty() && name == Name::Field(classes::USER_STACK);
        self.is_copy = !self.places.copy.is_empty() && name == Name::Field(classes::USER_COPY);
        self.next_place = is_programs.then_some(0);
        self.name(name);
        match group {
            Group::Struct => self.out.push(b'{'),
            Group::Array { .. } | Group::Sequence { .. } => self.out.push(b'['),
            Group::Variant { option } => {
                self.out.push(b'{');
                self.out.extend_from_slice(option.as_bytes());
                self.out.push(b'=');
            }
            Group::Optional { is_present: false } => self.out.extend_from_slice(b"none"),
            Group::Optional { is_present: true } => {}
        }
        if self.is_copy {
            self.frames();
        }
        self.opened = true;
    }
    fn end(&mut self, group: Group<'_>) {
        (self.opened, self.is_stack, self.next_place) = (false, false, None);
        self.is_copy = false;
        match group {
            Group::Struct | Group::Variant { .. } => self.out.push(b'}'),
            Group::Array { .. } | Group::Sequence { .. } => self.out.push(b']'),
            Group::Optional { .. } => {}
        }
    }
}
