// SPDX-License-Identifier: MIT
//! Fields as JSON text, where they have no columns: in the table of all events, and in values that
//! are nested too deep for a column.
//!
//! Place in the flow: a visitor like `decode`'s. The form is that of the columns: an enumeration is
//! its label and its number, a variant an object with the option's name; numbers that JSON does not
//! know are strings.

use std::io::Write;

use trace::{Enumeration, Float, Group, Integer, Meaning, Name, Visitor};

/// An object, an array or a value in the making.
#[derive(Default)]
pub struct Json {
    text: Vec<u8>,
    needs_comma: bool,
}

impl Json {
    /// An object whose fields follow.
    pub fn object() -> Self {
        Self { text: b"{".to_vec(), needs_comma: false }
    }

    /// The text of an object.
    pub fn end_object(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }

    /// The text of anything else.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    fn name(&mut self, name: Name<'_>) {
        if std::mem::replace(&mut self.needs_comma, true) {
            self.text.push(b',');
        }
        if let Name::Field(name) = name {
            self.string(name);
            self.text.push(b':');
        }
    }

    fn string(&mut self, text: &str) {
        // Writing to a vector does not fail.
        let _ = serde_json::to_writer(&mut self.text, text);
    }

    fn plain(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.text, "{value}");
    }
}

impl Visitor for Json {
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        self.name(name);
        match (ty.meaning, value) {
            (Meaning::Boolean, 0) => self.plain("false"),
            (Meaning::Boolean, _) => self.plain("true"),
            _ => self.plain(value),
        }
    }

    fn signed(&mut self, name: Name<'_>, value: i64, _: &Integer) {
        self.name(name);
        self.plain(value);
    }

    fn float(&mut self, name: Name<'_>, value: f64, ty: &Float) {
        self.name(name);
        let text = match ty.size_bits {
            64 => format!("{value:?}"),
            _ => format!("{:?}", value as f32),
        };
        match value.is_finite() {
            true => self.plain(text),
            false => self.string(&text),
        }
    }

    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        self.name(name);
        self.plain("{\"label\":");
        match ty.text(value) {
            Some(label) => self.string(&label),
            None => self.plain("null"),
        }
        self.plain(",\"number\":");
        match ty.container.signed {
            true => self.plain(value as i64),
            false => self.plain(value),
        }
        self.plain("}");
    }

    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.name(name);
        self.string(&String::from_utf8_lossy(bytes));
    }

    fn begin(&mut self, name: Name<'_>, group: Group<'_>) {
        self.name(name);
        match group {
            Group::Struct => self.plain("{"),
            Group::Array { .. } | Group::Sequence { .. } => self.plain("["),
            Group::Variant { option } => {
                self.plain("{");
                self.string(option);
                self.plain(":");
            }
            Group::Optional { is_present: false } => self.plain("null"),
            Group::Optional { is_present: true } => {}
        }
        self.needs_comma = false;
    }

    fn end(&mut self, group: Group<'_>) {
        match group {
            Group::Struct | Group::Variant { .. } => self.plain("}"),
            Group::Array { .. } | Group::Sequence { .. } => self.plain("]"),
            Group::Optional { .. } => {}
        }
        self.needs_comma = true;
    }
}
