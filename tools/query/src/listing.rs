// SPDX-License-Identifier: MIT
//! What tables and columns there are: lines for people, rows for programs.
//!
//! Place in the flow: `main` asks for `--tables` and `--describe`. Nothing of the traces is read
//! but their metadata. Lines show names of events, which anyone may have chosen, with escapes; rows
//! have them as they are.

use std::io::{ErrorKind, Write};
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use query::{quoted, Engine, Failure, Format, Output, TableInfo};
use verdict::shown::shown;

use crate::{DONE, INCOMPLETE};

/// Lists all tables, or the columns of the one that is named.
pub fn list(
    name: Option<&str>,
    engine: &Engine,
    format: Format,
    out: impl FnOnce() -> Result<Box<dyn Write + Send>, Failure>,
) -> Result<i32, String> {
    let tables = match name {
        Some(name) => std::slice::from_ref(find(engine, name)?),
        None => &engine.tables[..],
    };
    if format != Format::Table {
        return match write_rows(tables, format, out) {
            Err(failure) if failure.is_gone() => Ok(DONE),
            Err(failure) => Err(format!("writing the output: {failure}")),
            Ok(0) => Ok(INCOMPLETE),
            Ok(_) => Ok(DONE),
        };
    }
    match (name, tables) {
        (Some(_), [table]) => write_lines(&lines_of_columns(table)),
        _ => write_lines(&tables.iter().map(line_of_table).collect::<Vec<_>>()),
    }
}

fn find<'e>(engine: &'e Engine, name: &str) -> Result<&'e TableInfo, String> {
    if let Some(table) = engine.table(name) {
        return table.trouble.clone().map_or(Ok(table), Err);
    }
    let names = engine.tables.iter().map(|table| table.name.as_str());
    let nearest = verdict::nearest::nearest(&[name], names);
    let help = match nearest[..] {
        [] => "`lull query --tables` lists them".to_string(),
        _ => format!("the nearest is {}", nearest.join(", ")),
    };
    Err(format!("no table is named {}; {help}", quoted(name)))
}

fn line_of_table(table: &TableInfo) -> String {
    let columns: Vec<String> =
        table.schema.fields().iter().map(|field| quoted(field.name())).collect();
    let name = quoted(&table.name);
    shown(&format!("{name:<24} {}", columns.join(", "))).into_owned()
}

fn lines_of_columns(table: &TableInfo) -> Vec<String> {
    let fields = table.schema.fields();
    let width = fields.iter().map(|field| quoted(field.name()).chars().count()).max().unwrap_or(0);
    let line = |field: &Arc<Field>| {
        shown(&format!("{:<width$}  {}", quoted(field.name()), field.data_type())).into_owned()
    };
    fields.iter().map(line).collect()
}

/// A row for each column of each table. Return: how many.
fn write_rows(
    tables: &[TableInfo],
    format: Format,
    out: impl FnOnce() -> Result<Box<dyn Write + Send>, Failure>,
) -> Result<usize, Failure> {
    let of_table = |table: &TableInfo| {
        let row = |field: &Arc<Field>| {
            [table.name.clone(), field.name().clone(), field.data_type().to_string()]
        };
        table.schema.fields().iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<[String; 3]> = tables.iter().flat_map(of_table).collect();
    let columns = ["table", "column", "type"];
    let field = |name: &str| Field::new(name, DataType::Utf8, true);
    let schema = Arc::new(Schema::new(columns.map(field).to_vec()));
    let array = |at: usize| -> Arc<_> {
        Arc::new(rows.iter().map(|row| Some(row[at].as_str())).collect::<StringArray>())
    };
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array(0), array(1), array(2)])?;
    let mut output = Output::new(format, out()?, &schema)?;
    output.write(&batch)?;
    output.end()?;
    Ok(rows.len())
}

/// Writes lines; a reader that goes away early has what it wanted.
pub fn write_lines(lines: &[String]) -> Result<i32, String> {
    let text = lines.join("\n") + "\n";
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("writing the output: {error}"))
        }
        _ => Ok(DONE),
    }
}
