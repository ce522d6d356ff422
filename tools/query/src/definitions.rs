// SPDX-License-Identifier: MIT
//! The statements that give the tables of datasets to another engine.
//!
//! Place in the flow: `lull query --ddl`. An engine with DataFusion's `CREATE EXTERNAL TABLE`
//! reads these before a query. Columns are written out, because an engine that looks for them
//! itself takes the folders `host=NAME` for one more column `host`, and refuses hosts whose files
//! differ in a column.

use std::path::Path;

use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};

use crate::engine::TableInfo;

/// The statement that defines a table of datasets, in one line.
pub fn definition(table: &TableInfo) -> Result<String, String> {
    if let Some(trouble) = &table.trouble {
        return Err(trouble.clone());
    }
    let said = |what: String| format!("table {}: {what}", table.name);
    let columns = parts(table.schema.fields()).map_err(said)?;
    let places: Result<Vec<String>, String> = table.folders.iter().map(|f| place(f)).collect();
    let places = places.map_err(said)?;
    let places = match &places[..] {
        [] => {
            return Err("only tables of datasets can be defined elsewhere; \
                 `lull export --parquet DIR` makes a dataset of traces"
                .into());
        }
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    };
    let name = quote(&table.name, '"').map_err(said)?;
    Ok(format!("CREATE EXTERNAL TABLE {name} ({columns}) STORED AS PARQUET LOCATION {places};"))
}

/// A text between quotes. Clients split a file of statements at lines, whatever is quoted, so a
/// name with more than one line could bring a statement of its own.
fn quote(text: &str, mark: char) -> Result<String, String> {
    if text.contains(char::is_control) {
        return Err(format!("{text:?} has control characters, which statements cannot have"));
    }
    let doubled = text.replace(mark, &format!("{mark}{mark}"));
    Ok(format!("{mark}{doubled}{mark}"))
}

/// A folder as a text of SQL.
fn place(folder: &Path) -> Result<String, String> {
    let path = folder.to_str();
    let path = path.ok_or_else(|| format!("{} is not in UTF-8", folder.display()))?;
    quote(&format!("{path}/"), '\'')
}

/// The fields of a table or a struct.
fn parts(fields: &Fields) -> Result<String, String> {
    let part = |field: &Field| {
        let name = quote(field.name(), '"')?;
        let sql_type = sql_type(field.data_type()).map_err(|what| format!("{name}: {what}"))?;
        Ok(format!("{name} {sql_type}"))
    };
    let parts: Result<Vec<String>, String> = fields.iter().map(|field| part(field)).collect();
    Ok(parts?.join(", "))
}

/// The name of a type in SQL. The nesting of the columns that the files have bounds the recursion.
fn sql_type(data_type: &DataType) -> Result<String, String> {
    let name = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::UInt32 => "INT UNSIGNED",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::Utf8View => "VARCHAR",
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP",
        DataType::List(item) => return Ok(format!("ARRAY<{}>", sql_type(item.data_type())?)),
        DataType::Struct(fields) => return Ok(format!("STRUCT<{}>", parts(fields)?)),
        other => return Err(format!("{other} has no name in SQL")),
    };
    Ok(name.into())
}
