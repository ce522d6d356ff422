// SPDX-License-Identifier: MIT
//! Values on their way into an Arrow array.
//!
//! Place in the flow: `decode` visits the fields of an event and adds each value to the cells of
//! its column; a finished batch takes the arrays. Numbers of all widths wait as 64 bits, which
//! costs less than a branch for each width at each value.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, Int8Array, ListArray, NullBufferBuilder, StringBuilder, StructArray,
    UInt16Array, UInt32Array, UInt64Array, UInt8Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field};

use crate::shape::Shape;

/// Cells of one column, or of one part of it.
pub enum Cells {
    Number { values: Vec<u64>, nulls: NullBufferBuilder, shape: Shape },
    Boolean { values: BooleanBufferBuilder, nulls: NullBufferBuilder },
    Float { values: Vec<f64>, nulls: NullBufferBuilder, is_single: bool },
    Text(StringBuilder),
    Label { label: StringBuilder, number: Box<Cells> },
    List { element: Box<Cells>, offsets: Vec<i32>, nulls: NullBufferBuilder, shape: Shape },
    Struct { fields: Vec<(String, Cells)>, nulls: NullBufferBuilder, shape: Shape },
}

fn nulls() -> NullBufferBuilder {
    NullBufferBuilder::new(0)
}

impl Cells {
    pub fn new(shape: &Shape) -> Self {
        match shape {
            Shape::Unsigned(_) | Shape::Signed(_) => {
                Self::Number { values: Vec::new(), nulls: nulls(), shape: shape.clone() }
            }
            Shape::Boolean => {
                Self::Boolean { values: BooleanBufferBuilder::new(0), nulls: nulls() }
            }
            Shape::Float32 | Shape::Float64 => {
                let is_single = *shape == Shape::Float32;
                Self::Float { values: Vec::new(), nulls: nulls(), is_single }
            }
            Shape::Text | Shape::Other => Self::Text(StringBuilder::new()),
            Shape::Label(number) => {
                Self::Label { label: StringBuilder::new(), number: Box::new(Self::new(number)) }
            }
            Shape::List(element) => Self::List {
                element: Box::new(Self::new(element)),
                offsets: vec![0],
                nulls: nulls(),
                shape: (**element).clone(),
            },
            Shape::Struct(fields) | Shape::Choice(fields) => {
                let of = |(name, shape): &(String, Shape)| (name.clone(), Self::new(shape));
                let fields = fields.iter().map(of).collect();
                Self::Struct { fields, nulls: nulls(), shape: shape.clone() }
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Number { values, .. } => values.len(),
            Self::Boolean { values, .. } => values.len(),
            Self::Float { values, .. } => values.len(),
            Self::Text(texts) => datafusion::arrow::array::ArrayBuilder::len(texts),
            Self::Label { number, .. } => number.len(),
            Self::List { offsets, .. } => offsets.len() - 1,
            Self::Struct { nulls, .. } => nulls.len(),
        }
    }

    /// No value.
    pub fn none(&mut self) {
        match self {
            Self::Number { values, nulls, .. } => {
                values.push(0);
                nulls.append_null();
            }
            Self::Boolean { values, nulls } => {
                values.append(false);
                nulls.append_null();
            }
            Self::Float { values, nulls, .. } => {
                values.push(0.0);
                nulls.append_null();
            }
            Self::Text(texts) => texts.append_null(),
            Self::Label { label, number } => {
                label.append_null();
                number.none();
            }
            Self::List { element, offsets, nulls, .. } => {
                offsets.push(element.len() as i32);
                nulls.append_null();
            }
            Self::Struct { fields, nulls, .. } => {
                fields.iter_mut().for_each(|(_, cells)| cells.none());
                nulls.append_null();
            }
        }
    }

    /// Fills up with no values to a length.
    pub fn reach(&mut self, len: usize) {
        while self.len() < len {
            self.none();
        }
    }

    /// A number, by its bits. A column that holds something else has its text.
    #[inline]
    pub fn number(&mut self, value: u64, signed: bool) {
        match self {
            Self::Number { values, nulls, .. } => {
                values.push(value);
                nulls.append_non_null();
            }
            Self::Boolean { values, nulls } => {
                values.append(value != 0);
                nulls.append_non_null();
            }
            Self::Text(texts) => match signed {
                true => texts.append_value((value as i64).to_string()),
                false => texts.append_value(value.to_string()),
            },
            _ => self.none(),
        }
    }

    pub fn float(&mut self, value: f64) {
        match self {
            Self::Float { values, nulls, .. } => {
                values.push(value);
                nulls.append_non_null();
            }
            Self::Text(texts) => texts.append_value(value.to_string()),
            _ => self.none(),
        }
    }

    /// Bytes that are no text become U+FFFD.
    pub fn text(&mut self, bytes: &[u8]) {
        match self {
            Self::Text(texts) => match std::str::from_utf8(bytes) {
                Ok(text) => texts.append_value(text),
                Err(_) => texts.append_value(String::from_utf8_lossy(bytes)),
            },
            _ => self.none(),
        }
    }

    pub fn label(&mut self, text: Option<&str>, value: u64, signed: bool) {
        match self {
            Self::Label { label, number } => {
                label.append_option(text);
                number.number(value, signed);
            }
            Self::Text(texts) => match text {
                Some(text) => texts.append_value(text),
                None => self.number(value, signed),
            },
            _ => self.number(value, signed),
        }
    }

    /// What follows since the last element belongs to a list that is over.
    pub fn end_list(&mut self) {
        if let Self::List { element, offsets, nulls, .. } = self {
            offsets.push(element.len() as i32);
            nulls.append_non_null();
        }
    }

    /// A struct or a variant is over: parts of it that had no value have none.
    pub fn end_struct(&mut self) {
        if let Self::Struct { fields, nulls, .. } = self {
            nulls.append_non_null();
            let len = nulls.len();
            fields.iter_mut().for_each(|(_, cells)| cells.reach(len));
        }
    }

    /// The array of what was added; nothing is left.
    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Number { values, nulls, shape } => {
                numbers(std::mem::take(values), nulls.finish(), shape)
            }
            Self::Boolean { values, nulls } => {
                Arc::new(BooleanArray::new(values.finish(), nulls.finish()))
            }
            Self::Float { values, nulls, is_single } => {
                let (values, nulls) = (std::mem::take(values), nulls.finish());
                match is_single {
                    true => {
                        let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
                        Arc::new(Float32Array::new(values.into(), nulls))
                    }
                    false => Arc::new(Float64Array::new(values.into(), nulls)),
                }
            }
            Self::Text(texts) => Arc::new(texts.finish()),
            Self::Label { label, number } => {
                let (label, number) = (Arc::new(label.finish()), number.finish());
                let fields = vec![
                    Field::new("label", DataType::Utf8, true),
                    Field::new("number", number.data_type().clone(), true),
                ];
                Arc::new(StructArray::new(fields.into(), vec![label, number], None))
            }
            Self::List { element, offsets, nulls, shape } => {
                let offsets = std::mem::replace(offsets, vec![0]);
                let field = Field::new("item", shape.data_type(), true);
                let offsets = OffsetBuffer::new(offsets.into());
                Arc::new(ListArray::new(Arc::new(field), offsets, element.finish(), nulls.finish()))
            }
            Self::Struct { fields, nulls, shape } => {
                let arrays = fields.iter_mut().map(|(_, cells)| cells.finish()).collect();
                let DataType::Struct(of) = shape.data_type() else {
                    return Arc::new(StructArray::new_empty_fields(nulls.len(), nulls.finish()));
                };
                Arc::new(StructArray::new(of, arrays, nulls.finish()))
            }
        }
    }

    /// The arrays of an enumeration's labels and of its numbers.
    pub fn finish_label(&mut self) -> Option<(ArrayRef, ArrayRef)> {
        match self {
            Self::Label { label, number } => Some((Arc::new(label.finish()), number.finish())),
            _ => None,
        }
    }
}

/// Numbers as wide as their column. Wider ones than the metadata allows do not occur.
fn numbers(values: Vec<u64>, nulls: Option<NullBuffer>, shape: &Shape) -> ArrayRef {
    macro_rules! array {
        ($array:ident, $native:ty) => {{
            let values: Vec<$native> = values.into_iter().map(|value| value as $native).collect();
            Arc::new($array::new(values.into(), nulls))
        }};
    }
    match shape {
        Shape::Unsigned(8) => array!(UInt8Array, u8),
        Shape::Unsigned(16) => array!(UInt16Array, u16),
        Shape::Unsigned(32) => array!(UInt32Array, u32),
        Shape::Signed(8) => array!(Int8Array, i8),
        Shape::Signed(16) => array!(Int16Array, i16),
        Shape::Signed(32) => array!(Int32Array, i32),
        Shape::Signed(_) => array!(Int64Array, i64),
        _ => Arc::new(UInt64Array::new(values.into(), nulls)),
    }
}
