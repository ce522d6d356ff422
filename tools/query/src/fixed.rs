// SPDX-License-Identifier: MIT
//! Rows of tables whose columns are always the same.
//!
//! Place in the flow: the tables of calls, threads, packets and losses say their columns once, as a
//! list, and add rows of [`Cell`]s in the same order; only the wanted ones are kept.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{
    DataType, Field, Int64Type, Schema, SchemaRef, TimestampNanosecondType,
};
use datafusion::common::Result;

use crate::cells::Cells;
use crate::columns::TIME;
use crate::reading::Reading;
use crate::scan::{Give, Request};
use crate::shape::Shape;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Time,
    Signed,
    Unsigned,
    Boolean,
    Text,
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Self::Time => TIME,
            _ => self.shape().data_type(),
        }
    }

    fn shape(self) -> Shape {
        match self {
            Self::Time | Self::Signed => Shape::Signed(64),
            Self::Unsigned => Shape::Unsigned(64),
            Self::Boolean => Shape::Boolean,
            Self::Text => Shape::Text,
        }
    }
}

/// Names and kinds of a table's columns.
pub type Columns = [(&'static str, Kind)];

pub fn schema(columns: &Columns) -> SchemaRef {
    let field = |(name, kind): &(&str, Kind)| Field::new(*name, kind.data_type(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A value of a row.
pub enum Cell<'a> {
    None,
    Signed(i64),
    Unsigned(u64),
    /// How many or where, which has a sign in its column: SQL's differences of it are right, too.
    Count(u64),
    Boolean(bool),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

impl From<Option<i64>> for Cell<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::None, Self::Signed)
    }
}

impl From<Option<u64>> for Cell<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::None, Self::Count)
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    fn from(value: Option<&'a str>) -> Self {
        value.map_or(Self::None, |text| Self::Text(text.into()))
    }
}

impl From<Option<String>> for Cell<'_> {
    fn from(value: Option<String>) -> Self {
        value.map_or(Self::None, |text| Self::Text(text.into()))
    }
}

/// Collects the wanted columns.
pub struct Rows {
    schema: SchemaRef,
    /// Position in a row, kind, cells.
    columns: Vec<(usize, Kind, Cells)>,
    rows: usize,
    batch_rows: usize,
}

impl Rows {
    /// Begins to answer a request; where that cannot be, gives the error.
    pub fn begin(
        columns: &Columns,
        request: &Request,
        reading: &Reading,
        give: &mut Give<'_>,
    ) -> Option<Self> {
        match Self::new(columns, &request.columns, reading.batch_rows) {
            Ok(rows) => Some(rows),
            Err(error) => {
                let _ = give(Err(error));
                None
            }
        }
    }

    fn new(columns: &Columns, wanted: &[usize], batch_rows: usize) -> Result<Self> {
        let of =
            |at: &usize| columns.get(*at).map(|(_, kind)| (*at, *kind, Cells::new(&kind.shape())));
        Ok(Self {
            schema: Arc::new(schema(columns).project(wanted)?),
            columns: wanted.iter().filter_map(of).collect(),
            rows: 0,
            batch_rows,
        })
    }

    /// Whether a column is wanted.
    pub fn wants(&self, position: usize) -> bool {
        self.columns.iter().any(|(at, ..)| *at == position)
    }

    /// Adds a row, and gives a batch when there are enough.
    pub fn add(&mut self, row: &[Cell<'_>], give: &mut Give<'_>) -> ControlFlow<()> {
        for (at, _, cells) in &mut self.columns {
            match row.get(*at) {
                None | Some(Cell::None) => cells.none(),
                Some(Cell::Signed(value)) => cells.number(*value as u64, true),
                Some(Cell::Unsigned(value)) => cells.number(*value, false),
                Some(Cell::Count(value)) => cells.number((*value).min(i64::MAX as u64), true),
                Some(Cell::Boolean(value)) => cells.number(u64::from(*value), false),
                Some(Cell::Text(text)) => cells.text(text.as_bytes()),
                Some(Cell::Bytes(bytes)) => cells.text(bytes),
            }
        }
        self.rows += 1;
        match self.rows >= self.batch_rows {
            true => give(self.batch()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Gives what is left.
    pub fn end(&mut self, give: &mut Give<'_>) {
        if self.rows > 0 {
            let _ = give(self.batch());
        }
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let array = |(_, kind, cells): &mut (usize, Kind, Cells)| -> ArrayRef {
            let array = cells.finish();
            match kind {
                Kind::Time => {
                    let times = array.as_primitive::<Int64Type>();
                    Arc::new(times.reinterpret_cast::<TimestampNanosecondType>())
                }
                _ => array,
            }
        };
        let arrays = self.columns.iter_mut().map(array).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}
