// SPDX-License-Identifier: MIT
//! Values: how they are encoded, and how a reader should show them.
//!
//! Place in the flow: a test writes data with `encode` and compares what a reader shows with
//! `render`, whose notation is that of Babeltrace 2's text output.

use crate::bit_writer::{BitWriter, Order};
use crate::kind::{Int, Kind};

/// A value of some [`Kind`].
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Vec<u8>),
    /// Fields of a struct, or elements.
    List(Vec<Datum>),
    /// A variant's option.
    Option(usize, Box<Datum>),
}

fn encode_int(bits: &mut BitWriter, int: &Int, value: u64) {
    bits.align(u64::from(int.align_bits));
    bits.integer(value, int.size_bits, int.order);
}

impl Kind {
    /// Alignment of the whole value.
    pub fn align_bits(&self) -> u64 {
        match self {
            Kind::Int(int) | Kind::Enumeration { container: int, .. } => u64::from(int.align_bits),
            Kind::Float { align_bits, .. } => u64::from(*align_bits),
            Kind::Text | Kind::CharArray(_) | Kind::CharSequence { .. } => 8,
            Kind::Struct { fields, align_bits } => fields
                .iter()
                .map(|(_, kind)| kind.align_bits().max(kind.governor_align_bits()))
                .fold(u64::from(*align_bits), u64::max),
            Kind::Array { element, .. } | Kind::Sequence { element, .. } => element.align_bits(),
            Kind::Variant { .. } => 1,
        }
    }

    /// Alignment of the length or tag in front.
    fn governor_align_bits(&self) -> u64 {
        match self {
            Kind::CharSequence { length } | Kind::Sequence { length, .. } => {
                u64::from(length.align_bits).max(self.align_bits())
            }
            Kind::Variant { tag, .. } => u64::from(tag.align_bits),
            _ => 1,
        }
    }

    /// Appends a value.
    pub fn encode(&self, value: &Datum, bits: &mut BitWriter) {
        match (self, value) {
            (Kind::Int(int) | Kind::Enumeration { container: int, .. }, Datum::Unsigned(value)) => {
                encode_int(bits, int, *value);
            }
            (Kind::Int(int) | Kind::Enumeration { container: int, .. }, Datum::Signed(value)) => {
                encode_int(bits, int, *value as u64);
            }
            (Kind::Float { size_bits, align_bits, order }, Datum::Float(value)) => {
                bits.align(u64::from(*align_bits));
                let raw = match size_bits {
                    32 => u64::from((*value as f32).to_bits()),
                    _ => value.to_bits(),
                };
                bits.integer(raw, *size_bits, *order);
            }
            (Kind::Text, Datum::Text(text)) => {
                bits.align(8);
                bits.bytes(text);
                bits.bytes(&[0]);
            }
            (Kind::CharArray(count), Datum::Text(text)) => {
                bits.align(8);
                let mut bytes = text.clone();
                bytes.resize(*count as usize, 0);
                bits.bytes(&bytes);
            }
            (Kind::CharSequence { length }, Datum::Text(text)) => {
                encode_int(bits, length, text.len() as u64);
                bits.align(8);
                bits.bytes(text);
            }
            (Kind::Struct { fields, .. }, Datum::List(values)) => {
                bits.align(self.align_bits());
                for ((_, kind), value) in fields.iter().zip(values) {
                    kind.encode(value, bits);
                }
            }
            (Kind::Array { element, .. }, Datum::List(values)) => {
                bits.align(element.align_bits());
                values.iter().for_each(|value| element.encode(value, bits));
            }
            (Kind::Sequence { element, length }, Datum::List(values)) => {
                encode_int(bits, length, values.len() as u64);
                bits.align(element.align_bits());
                values.iter().for_each(|value| element.encode(value, bits));
            }
            (Kind::Variant { tag, options }, Datum::Option(index, value)) => {
                encode_int(bits, tag, *index as u64);
                options[*index].1.encode(value, bits);
            }
            (kind, value) => panic!("{value:?} is no value of {kind:?}"),
        }
    }

    /// How a reader shows the fields of a struct: `name = value, ...`.
    pub fn render_fields(&self, value: &Datum) -> String {
        let (Kind::Struct { fields, .. }, Datum::List(values)) = (self, value) else {
            panic!("only a struct has fields")
        };
        let mut parts = Vec::new();
        for ((name, kind), value) in fields.iter().zip(values) {
            let name = name.strip_prefix('_').unwrap_or(name);
            parts.extend(kind.render_governor(name, value));
            parts.push(format!("{name} = {}", kind.render(value)));
        }
        parts.join(", ")
    }

    fn render_governor(&self, name: &str, value: &Datum) -> Option<String> {
        match (self, value) {
            (Kind::CharSequence { .. }, Datum::Text(text)) => {
                Some(format!("{name}_length = {}", text.len()))
            }
            (Kind::Sequence { .. }, Datum::List(values)) => {
                Some(format!("{name}_length = {}", values.len()))
            }
            (Kind::Variant { options, .. }, Datum::Option(index, _)) => {
                let label = &options[*index].0;
                Some(format!("{name}_tag = ( \"{label}\" : container = {index} )"))
            }
            _ => None,
        }
    }

    fn render(&self, value: &Datum) -> String {
        match (self, value) {
            (Kind::Enumeration { labels, .. }, value) => {
                let number = match value {
                    Datum::Unsigned(value) => i128::from(*value),
                    Datum::Signed(value) => i128::from(*value),
                    _ => panic!("an enumeration is a number"),
                };
                let inside = |(_, begin, until): &&(String, i64, i64)| {
                    (i128::from(*begin)..=i128::from(*until)).contains(&number)
                };
                let label = labels.iter().find(inside).map(|(label, ..)| format!("\"{label}\""));
                format!("( {} : container = {number} )", label.unwrap_or("<unknown>".into()))
            }
            (_, Datum::Unsigned(value)) => value.to_string(),
            (_, Datum::Signed(value)) => value.to_string(),
            (_, Datum::Float(value)) => value.to_string(),
            (_, Datum::Text(text)) => format!("\"{}\"", String::from_utf8_lossy(text)),
            (Kind::Struct { .. }, value) => format!("{{ {} }}", self.render_fields(value)),
            (Kind::Array { element, .. } | Kind::Sequence { element, .. }, Datum::List(values)) => {
                let parts: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(i, value)| format!("[{i}] = {}", element.render(value)))
                    .collect();
                match parts.is_empty() {
                    true => "[ ]".into(),
                    false => format!("[ {} ]", parts.join(", ")),
                }
            }
            (Kind::Variant { options, .. }, Datum::Option(index, value)) => {
                format!("{{ {} }}", options[*index].1.render(value))
            }
            (kind, value) => panic!("{value:?} is no value of {kind:?}"),
        }
    }
}

/// The number of the low `size_bits` read in `order`, for a test that patches bytes.
pub fn encoded(value: u64, size_bits: u32, order: Order) -> Vec<u8> {
    let mut bits = BitWriter::new();
    bits.integer(value, size_bits, order);
    bits.into_bytes()
}
