// SPDX-License-Identifier: MIT
//! Shows events in the notation of Babeltrace 2's text output, so that three accounts of a trace
//! can be compared: what testkit wrote, what this crate reads, what Babeltrace 2 prints.

use std::fmt::Write;

use testkit::Written;
use trace::{
    Base, Enumeration, Event, Float, Group, Integer, Message, Name, Problem, Trace, Visitor,
};

/// A float with six significant digits, as C's `%g` shows it.
fn six_digits(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..6).contains(&exponent) {
        return trim(&format!("{value:.0$}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits), exponent.abs())
}

/// Collects one scope.
#[derive(Default)]
pub struct Notation {
    pub text: String,
    needs_comma: bool,
}

impl Notation {
    fn name(&mut self, name: Name<'_>) {
        if self.needs_comma {
            self.text.push(',');
        }
        self.needs_comma = true;
        match name {
            Name::Field(name) => write!(self.text, " {name} = ").unwrap(),
            Name::Index(index) => write!(self.text, " [{index}] = ").unwrap(),
            Name::None => self.text.push(' '),
        }
    }

    fn number(&mut self, value: i128, ty: &Integer) {
        let bits = value as u128 & (u128::MAX >> (128 - ty.size_bits));
        match ty.base {
            Base::Decimal => write!(self.text, "{value}"),
            Base::Hexadecimal => write!(self.text, "0x{bits:X}"),
            Base::Octal => write!(self.text, "0{bits:o}"),
            Base::Binary => write!(self.text, "0b{bits:0width$b}", width = ty.size_bits as usize),
        }
        .unwrap();
    }
}

impl Visitor for Notation {
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        self.name(name);
        self.number(value.into(), ty);
    }
    fn signed(&mut self, name: Name<'_>, value: i64, ty: &Integer) {
        self.name(name);
        self.number(value.into(), ty);
    }
    fn float(&mut self, name: Name<'_>, value: f64, _: &Float) {
        self.name(name);
        self.text.push_str(&six_digits(value));
    }
    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        self.name(name);
        let labels: Vec<String> = ty.labels(value).map(|label| format!("\"{label}\"")).collect();
        let labels = match labels.is_empty() {
            true => "<unknown>".into(),
            false => labels.join(", "),
        };
        let number = match ty.container.signed {
            true => i128::from(value as i64),
            false => i128::from(value),
        };
        write!(self.text, "( {labels} : container = {number} )").unwrap();
    }
    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.name(name);
        write!(self.text, "\"{}\"", String::from_utf8_lossy(bytes)).unwrap();
    }
    fn begin(&mut self, name: Name<'_>, group: Group<'_>) {
        self.name(name);
        self.needs_comma = false;
        self.text.push(match group {
            Group::Struct | Group::Variant { .. } | Group::Optional { .. } => '{',
            Group::Array { .. } | Group::Sequence { .. } => '[',
        });
    }
    fn end(&mut self, group: Group<'_>) {
        self.needs_comma = true;
        self.text.push_str(match group {
            Group::Struct | Group::Variant { .. } | Group::Optional { .. } => " }",
            Group::Array { .. } | Group::Sequence { .. } => " ]",
        });
    }
}

/// Stream context, event context and payload, as far as the event has them.
pub fn scopes(event: &Event<'_>) -> Vec<String> {
    let mut scopes = Vec::new();
    let mut show = |exists: bool, visit: &dyn Fn(&mut Notation) -> Result<(), trace::Fault>| {
        if exists {
            let mut notation = Notation::default();
            visit(&mut notation).expect("an event that was found can be read");
            scopes.push(format!("{{{} }}", notation.text));
        }
    };
    show(event.stream_class().event_context.is_some(), &|n| event.stream_context(n));
    show(event.class().context.is_some(), &|n| event.context(n));
    show(event.class().payload.is_some(), &|n| event.fields(n));
    scopes
}

/// All events as testkit would describe them, and what was wrong.
#[allow(dead_code)] // Not every test file that includes this module reads whole traces.
pub fn read(trace: &Trace) -> (Vec<Written>, Vec<Problem>) {
    let mut merge = trace.merge();
    let mut events = Vec::new();
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        events.push(Written {
            cycles: event.cycles().0,
            cpu: event.cpu().map_or(0, |cpu| cpu.0),
            packet_bytes: event.packet().offset_bytes,
            name: event.name().into(),
            scopes: scopes(&event),
        });
    }
    (events, merge.problems())
}
