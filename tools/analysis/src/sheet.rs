// SPDX-License-Identifier: MIT
//! What a named analysis says: facts, tables, sentences.
//!
//! Place in the flow: each study fills a [`Sheet`]; the command line shows it as text, and it
//! serializes itself as JSON. Both come from the same cells, so that neither can say what the other
//! does not. A column's key is its name in JSON, with its unit.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// A value, with what it counts.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not known, or there is none.
    None,
    /// The row of all that found no room in the table.
    Others,
    Text(String),
    Count(u64),
    /// A duration.
    Ns(u64),
    /// A difference between durations.
    Change(i64),
    /// A point in time.
    At(i64),
    Bytes(u64),
    /// A part of a whole, 0 to 1.
    Share(f64),
    /// How likely something is, 0 to 1; small ones matter.
    Probability(f64),
    Number(f64),
    /// A number that names something and counts nothing.
    Id(i64),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::None, Into::into)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

/// How a column is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Number,
    /// Text of which the beginning matters most.
    Text,
    /// Text of which the end matters most.
    Path,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its heading for people.
    pub title: &'static str,
    pub shape: Shape,
    /// Where there is little width, columns of higher ranks are left out first, those of 0 never.
    pub rank: u8,
}

/// A column of numbers.
pub(crate) const fn number(key: &'static str, title: &'static str, rank: u8) -> Column {
    Column { key, title, shape: Shape::Number, rank }
}

/// A column of texts.
pub(crate) const fn text(key: &'static str, title: &'static str, rank: u8) -> Column {
    Column { key, title, shape: Shape::Text, rank }
}

/// A column of paths.
pub(crate) const fn path(key: &'static str, title: &'static str, rank: u8) -> Column {
    Column { key, title, shape: Shape::Path, rank }
}

/// Rows of one kind. A row has a cell for each column.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name in JSON.
    pub key: &'static str,
    pub title: &'static str,
    /// What is said where it has no rows; without words, nothing is.
    pub when_empty: &'static str,
    pub columns: &'static [Column],
    pub rows: Vec<Vec<Cell>>,
}

/// A number by itself.
#[derive(Debug, Clone)]
pub struct Fact {
    pub key: &'static str,
    pub title: &'static str,
    pub value: Cell,
}

/// All that one analysis says.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    pub facts: Vec<Fact>,
    pub tables: Vec<Table>,
    /// How to read it, and what it cannot tell: a sentence each.
    pub notes: Vec<String>,
}

impl Sheet {
    pub fn fact(&mut self, key: &'static str, title: &'static str, value: Cell) {
        self.facts.push(Fact { key, title, value });
    }

    /// The table of a key.
    pub fn table(&self, key: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.key == key)
    }
}

impl Table {
    /// The cell of a row in the column of a key.
    pub fn cell(&self, row: usize, key: &str) -> Option<&Cell> {
        let column = self.columns.iter().position(|column| column.key == key)?;
        self.rows.get(row)?.get(column)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::None | Cell::Others => serializer.serialize_none(),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Count(number) | Cell::Ns(number) | Cell::Bytes(number) => {
                serializer.serialize_u64(*number)
            }
            Cell::Change(number) | Cell::At(number) | Cell::Id(number) => {
                serializer.serialize_i64(*number)
            }
            Cell::Share(number) | Cell::Probability(number) | Cell::Number(number) => {
                serializer.serialize_f64(*number)
            }
        }
    }
}

/// A row as an object.
struct Row<'a>(&'a [Column], &'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            map.serialize_entry(column.key, cell)?;
        }
        map.end()
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            rows.serialize_element(&Row(self.columns, row))?;
        }
        rows.end()
    }
}

/// The facts by their keys.
pub(crate) struct Facts<'a>(pub &'a [Fact]);

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|fact| (fact.key, &fact.value)))
    }
}

/// The tables by their keys.
pub(crate) struct Tables<'a>(pub &'a [Table]);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|table| (table.key, table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_objects_under_the_keys_of_their_columns() {
        const COLUMNS: [Column; 3] =
            [text("thread", "thread", 0), number("on_cpu_ns", "on CPU", 0), number("x", "x", 1)];
        let rows = vec![vec![Cell::Others, Cell::Ns(7), Cell::Share(0.5)]];
        let table = Table { key: "t", title: "T", when_empty: "", columns: &COLUMNS, rows };
        let json = serde_json::to_string(&Tables(std::slice::from_ref(&table))).unwrap();
        assert_eq!(json, r#"{"t":[{"thread":null,"on_cpu_ns":7,"x":0.5}]}"#);
        assert_eq!(table.cell(0, "on_cpu_ns"), Some(&Cell::Ns(7)));
        assert_eq!((table.cell(1, "x"), table.cell(0, "y")), (None, None));
    }
}
