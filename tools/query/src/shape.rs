// SPDX-License-Identifier: MIT
//! What a field of a trace is as a column: from CTF's types to Arrow's.
//!
//! Place in the flow: `columns` asks for the shape of each field of an event and makes one of the
//! shapes that classes of the same name have; `cells` collects values of a shape.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Fields};
use trace::{Meaning, Struct, Type, Variant};

/// Types nested deeper become text: few tools read such columns.
const MOST_NESTED: u32 = 8;
/// Fields of one struct, and options of one variant, that become columns of their own.
const MOST_FIELDS: usize = 1 << 10;

/// The form of a column's values.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Of 8, 16, 32 or 64 bits.
    Unsigned(u8),
    Signed(u8),
    Boolean,
    Float32,
    Float64,
    Text,
    /// An enumeration: the label and the number.
    Label(Box<Shape>),
    List(Box<Shape>),
    Struct(Vec<(String, Shape)>),
    /// A variant: one column for each option, of which one has a value.
    Choice(Vec<(String, Shape)>),
    /// What has no column of its own: too deep, or different from class to class.
    Other,
}

impl Shape {
    pub fn of(ty: &Type) -> Self {
        Self::nested(ty, 0)
    }

    fn nested(ty: &Type, depth: u32) -> Self {
        if depth > MOST_NESTED {
            return Self::Other;
        }
        match ty {
            Type::Integer(integer) if integer.meaning == Meaning::Boolean => Self::Boolean,
            Type::Integer(integer) => Self::integer(integer.size_bits, integer.signed),
            Type::Enumeration(enumeration) => {
                let container = &enumeration.container;
                Self::Label(Box::new(Self::integer(container.size_bits, container.signed)))
            }
            Type::Float(float) if float.size_bits <= 32 => Self::Float32,
            Type::Float(_) => Self::Float64,
            Type::Text(_) => Self::Text,
            Type::Struct(s) => Self::structure(s, depth),
            Type::Array(array) => Self::list(&array.element, depth),
            Type::Sequence(sequence) => Self::list(&sequence.element, depth),
            Type::Variant(variant) => Self::variant(variant, depth),
        }
    }

    fn integer(size_bits: u32, signed: bool) -> Self {
        let bits = size_bits.clamp(8, 64).next_power_of_two() as u8;
        match signed {
            true => Self::Signed(bits),
            false => Self::Unsigned(bits),
        }
    }

    fn list(element: &Type, depth: u32) -> Self {
        match element.character() {
            Some(_) => Self::Text,
            None => Self::List(Box::new(Self::nested(element, depth + 1))),
        }
    }

    fn structure(s: &Struct, depth: u32) -> Self {
        let fields = s.fields.iter().map(|field| (field.name(), &field.ty));
        Self::fields(fields, depth).map_or(Self::Other, Self::Struct)
    }

    fn variant(variant: &Variant, depth: u32) -> Self {
        let options = variant.options.iter().map(|option| (option.name(), &option.ty));
        match (variant.is_optional, variant.options.first()) {
            (true, Some(option)) => Self::nested(&option.ty, depth + 1),
            _ => Self::fields(options, depth).map_or(Self::Other, Self::Choice),
        }
    }

    /// `None` where there are none, too many, or two of one name.
    fn fields<'a>(
        fields: impl Iterator<Item = (&'a str, &'a Type)>,
        depth: u32,
    ) -> Option<Vec<(String, Shape)>> {
        let mut found: Vec<(String, Shape)> = Vec::new();
        for (name, ty) in fields.take(MOST_FIELDS + 1) {
            if found.iter().any(|(known, _)| known == name) {
                return None;
            }
            found.push((name.to_string(), Self::nested(ty, depth + 1)));
        }
        (1..=MOST_FIELDS).contains(&found.len()).then_some(found)
    }

    /// The shape that holds the values of both.
    pub fn with(self, other: &Self) -> Self {
        match (self, other) {
            (same, other) if same == *other => same,
            (Self::Unsigned(a), Self::Unsigned(b)) => Self::Unsigned(a.max(*b)),
            (Self::Signed(a), Self::Signed(b)) => Self::Signed(a.max(*b)),
            (Self::Unsigned(a), Self::Signed(b)) if a < 64 => Self::Signed((a * 2).max(*b)),
            (Self::Signed(a), Self::Unsigned(b)) if *b < 64 => Self::Signed((b * 2).max(a)),
            (Self::Float32 | Self::Float64, Self::Float32 | Self::Float64) => Self::Float64,
            (Self::Label(a), Self::Label(b)) => match a.with(b) {
                Self::Other => Self::Other,
                number => Self::Label(Box::new(number)),
            },
            (Self::List(a), Self::List(b)) => Self::List(Box::new(a.with(b))),
            _ => Self::Other,
        }
    }

    pub fn data_type(&self) -> DataType {
        let nullable = |(name, shape): &(String, Shape)| Field::new(name, shape.data_type(), true);
        match self {
            Self::Unsigned(8) => DataType::UInt8,
            Self::Unsigned(16) => DataType::UInt16,
            Self::Unsigned(32) => DataType::UInt32,
            Self::Unsigned(_) => DataType::UInt64,
            Self::Signed(8) => DataType::Int8,
            Self::Signed(16) => DataType::Int16,
            Self::Signed(32) => DataType::Int32,
            Self::Signed(_) => DataType::Int64,
            Self::Boolean => DataType::Boolean,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Text | Self::Other => DataType::Utf8,
            Self::Label(number) => DataType::Struct(Fields::from(vec![
                Field::new("label", DataType::Utf8, true),
                Field::new("number", number.data_type(), true),
            ])),
            Self::List(element) => {
                DataType::List(Arc::new(Field::new("item", element.data_type(), true)))
            }
            Self::Struct(fields) | Self::Choice(fields) => {
                DataType::Struct(fields.iter().map(nullable).collect())
            }
        }
    }
}
