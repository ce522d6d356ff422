// SPDX-License-Identifier: MIT
//! The forms in which rows are written: a table for people, and five for programs.
//!
//! Place in the flow: `main` makes an [`Output`] for the answer's columns and hands it batch after
//! batch. Nothing is collected but the rows of the table for people, whose columns are as wide as
//! their widest value.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::json::{writer::JsonArray, writer::LineDelimited, Writer, WriterBuilder};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use verdict::shown::shown;

/// Rows of a table for people that are laid out together.
const PAGE_ROWS: usize = 1000;
const TIMES: &str = "%Y-%m-%d %H:%M:%S%.9f";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns, for people
    Table,
    /// Comma-separated values
    Csv,
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    Ndjson,
    /// An Arrow IPC stream
    Arrow,
    /// A Parquet file
    Parquet,
}

/// Why nothing more can be written.
#[derive(Debug)]
pub enum Failure {
    Io(io::Error),
    Other(String),
}

impl Failure {
    /// Whether the reader of the output went away.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => Self::Io(error),
            // The CSV writer hands an error of the output on as a text.
            ArrowError::CsvError(text) if text.contains("Broken pipe") => {
                Self::Io(io::ErrorKind::BrokenPipe.into())
            }
            other => Self::Other(other.to_string()),
        }
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Self::Io(*error),
                Err(error) => Self::Other(error.to_string()),
            },
            other => Self::Other(other.to_string()),
        }
    }
}

type Out = Box<dyn Write + Send>;

/// A writer of one form.
pub enum Output {
    Table { out: Out, schema: SchemaRef, page: Vec<Vec<String>>, has_written: bool },
    Csv { writer: Box<csv::Writer<Out>>, schema: SchemaRef },
    Json(Writer<Out, JsonArray>),
    Ndjson(Writer<Out, LineDelimited>),
    Arrow(StreamWriter<Out>),
    Parquet(Box<ArrowWriter<Out>>),
}

/// How Parquet files are written, here and in exports.
pub fn parquet_properties() -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    WriterProperties::builder().set_compression(Compression::ZSTD(level)).build()
}

impl Output {
    pub fn new(format: Format, out: Out, schema: &SchemaRef) -> Result<Self, Failure> {
        let json = || WriterBuilder::new().with_explicit_nulls(true);
        let schema = Arc::clone(schema);
        Ok(match format {
            Format::Table => Self::Table { out, schema, page: Vec::new(), has_written: false },
            Format::Csv => {
                let schema = flat_schema(&schema);
                let builder = csv::WriterBuilder::new().with_header(true);
                let mut writer = builder.with_timestamp_format(TIMES.into()).build(out);
                writer.write(&RecordBatch::new_empty(Arc::clone(&schema)))?;
                Self::Csv { writer: Box::new(writer), schema }
            }
            Format::Json => Self::Json(json().build(out)),
            Format::Ndjson => Self::Ndjson(json().build(out)),
            Format::Arrow => {
                // The writer has written the schema; whoever waits for it gets it now.
                let mut writer = StreamWriter::try_new(out, &schema)?;
                writer.flush()?;
                Self::Arrow(writer)
            }
            Format::Parquet => {
                let properties = Some(parquet_properties());
                Self::Parquet(Box::new(ArrowWriter::try_new(out, schema, properties)?))
            }
        })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Table { page, .. } => {
                let texts = texts(batch)?;
                for row in 0..batch.num_rows() {
                    let cell = |column: &Vec<String>| column.get(row).cloned().unwrap_or_default();
                    page.push(texts.iter().map(cell).collect());
                }
                if page.len() >= PAGE_ROWS {
                    self.turn_page()?;
                }
            }
            Self::Csv { writer, schema } => writer.write(&flat(batch, schema)?)?,
            Self::Json(writer) => writer.write(batch)?,
            Self::Ndjson(writer) => writer.write(batch)?,
            Self::Arrow(writer) => writer.write(batch)?,
            Self::Parquet(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Lays out the rows that wait.
    fn turn_page(&mut self) -> Result<(), Failure> {
        let Self::Table { out, schema, page, has_written } = self else { return Ok(()) };
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if !std::mem::replace(has_written, true) {
            table.set_header(schema.fields().iter().map(|field| shown(field.name()).into_owned()));
        }
        table.add_rows(page.drain(..));
        for (field, column) in schema.fields().iter().zip(table.column_iter_mut()) {
            column.set_padding((0, 2));
            if field.data_type().is_numeric() {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        out.flush()?;
        Ok(())
    }

    pub fn end(mut self) -> Result<(), Failure> {
        self.turn_page()?;
        let mut out = match self {
            Self::Table { out, .. } => out,
            Self::Csv { writer, .. } => writer.into_inner(),
            Self::Json(mut writer) => {
                writer.finish()?;
                let mut out = writer.into_inner();
                writeln!(out)?;
                out
            }
            Self::Ndjson(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Self::Arrow(mut writer) => {
                writer.finish()?;
                writer.into_inner()?
            }
            Self::Parquet(writer) => writer.into_inner()?,
        };
        out.flush()?;
        Ok(())
    }
}

/// Each value as a person reads it, column by column.
fn texts(batch: &RecordBatch) -> Result<Vec<Vec<String>>, Failure> {
    let options = FormatOptions::default().with_null("NULL").with_timestamp_format(Some(TIMES));
    let mut columns = Vec::with_capacity(batch.num_columns());
    for column in batch.columns() {
        let formatter = ArrayFormatter::try_new(column, &options)?;
        let text = |row| {
            let text = formatter.value(row).try_to_string()?;
            Ok(shown(&text).into_owned())
        };
        let column: Result<Vec<String>, ArrowError> = (0..batch.num_rows()).map(text).collect();
        columns.push(column?);
    }
    Ok(columns)
}

/// Comma-separated values hold no lists and structs: these become text.
fn flat_schema(schema: &Schema) -> SchemaRef {
    let flat = |field: &Arc<Field>| match field.data_type().is_nested() {
        true => Field::new(field.name(), DataType::Utf8, true),
        false => field.as_ref().clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(flat).collect::<Vec<_>>()))
}

fn flat(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let options = FormatOptions::default().with_timestamp_format(Some(TIMES));
    let column = |column: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        if !column.data_type().is_nested() {
            return Ok(Arc::clone(column));
        }
        let formatter = ArrayFormatter::try_new(column, &options)?;
        let texts: Result<StringArray, ArrowError> = (0..column.len())
            .map(|row| match column.is_null(row) {
                true => Ok(None),
                false => formatter.value(row).try_to_string().map(Some),
            })
            .collect();
        Ok(Arc::new(texts?))
    };
    let columns: Result<Vec<_>, _> = batch.columns().iter().map(column).collect();
    Ok(RecordBatch::try_new(Arc::clone(schema), columns?)?)
}
