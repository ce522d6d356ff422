// SPDX-License-Identifier: MIT
//! Datasets, which `export` writes, as tables of the engine.
//!
//! Place in the flow: where a folder that is named for a query is a dataset, its Parquet files are
//! read in place of traces. Datasets of several hosts have one table for each name, with the
//! columns that any of them has.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type, Schema, SchemaRef};
use datafusion::common::{DataFusionError, TableReference};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use futures::TryStreamExt;
use serde_json::{json, Value};

use crate::complaint::Complaint;
use crate::engine::{quoted, Engine, Limits, TableInfo};
use crate::export::new_file;
use crate::reading::{Found, MOST_PROBLEMS};

/// The list of a dataset's tables.
pub const LIST: &str = "lull-dataset.json";
/// In datasets of version 1, counts are numbers without a sign.
const VERSION: u64 = 2;
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=VERSION;
/// The tables that have counts.
const COUNTING: [&str; 5] = ["threads", "processes", "files", "packets", "lost"];
/// A list that is larger is no list.
const MOST_LIST_BYTES: u64 = 64 << 20;
const BATCH_ROWS: usize = 8192;

/// A table of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub name: String,
    pub folder: String,
}

/// Whether a folder is a dataset.
pub fn is_dataset(folder: &Path) -> bool {
    folder.join(LIST).is_file()
}

pub(crate) fn write_list(folder: &Path, tables: &[Listed]) -> Result<(), String> {
    let one = |table: &Listed| json!({ "name": table.name, "folder": table.folder });
    let list = json!({ "version": VERSION, "tables": tables.iter().map(one).collect::<Vec<_>>() });
    let path = folder.join(LIST);
    let written =
        new_file(&path).and_then(|mut file| file.write_all(format!("{list:#}\n").as_bytes()));
    written.map_err(|e| format!("{}: {e}", path.display()))
}

fn read_list(folder: &Path) -> Result<Vec<Listed>, String> {
    let path = folder.join(LIST);
    let said = |what: &str| format!("{}: {what}", path.display());
    let size = std::fs::metadata(&path).map_err(|e| said(&e.to_string()))?.len();
    if size > MOST_LIST_BYTES {
        return Err(said("this is no list of a dataset's tables: it is too large"));
    }
    let text = std::fs::read(&path).map_err(|e| said(&e.to_string()))?;
    let list: Value = serde_json::from_slice(&text).map_err(|e| said(&e.to_string()))?;
    if !list["version"].as_u64().is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(said("the version of this dataset is not one that is known here"));
    }
    let tables = list["tables"].as_array().ok_or_else(|| said("no tables are listed"))?;
    let table = |table: &Value| {
        let text = |key: &str| table[key].as_str().map(str::to_string);
        let (name, folder) = (text("name")?, text("folder")?);
        // The list may be anyone's: it must not lead out of its folder.
        let is_inside = !folder.contains('/') && folder != ".." && !folder.is_empty();
        is_inside.then_some(Listed { name, folder })
    };
    tables
        .iter()
        .map(|one| table(one).ok_or_else(|| said("a table has no name or folder")))
        .collect()
}

impl Engine {
    /// An engine with the tables of datasets.
    pub async fn over_datasets(folders: &[PathBuf], limits: &Limits) -> Result<Self, String> {
        let mut engine = Self::empty(limits, BATCH_ROWS).map_err(|e| e.to_string())?;
        let mut parts: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for folder in folders {
            let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
            for table in read_list(&folder)? {
                parts.entry(table.name).or_default().push(folder.join(table.folder));
            }
        }
        for (name, folders) in parts {
            let said = |error: DataFusionError| format!("table {name}: {error}");
            let parts = Parts::of(&engine, &folders).await.map_err(said)?;
            let (schema, trouble) = parts.united(&name);
            if trouble.is_none() {
                let table = parts.listing(Arc::clone(&schema)).map_err(said)?;
                let place = TableReference::bare(name.clone());
                engine.context().register_table(place, table).map_err(|e| e.to_string())?;
            }
            engine.add(TableInfo { name, schema, is_of_events: false, folders, trouble });
        }
        Ok(engine)
    }

    /// What was found out when the datasets were written: their tables of losses tell it. That one
    /// of these cannot be read is found here, too.
    pub async fn found_before(&self) -> Found {
        let mut found = Found::default();
        if self.table(LOST).is_some() {
            if let Err(complaint) = self.add_found(&mut found).await {
                found.problem_count += 1;
                found.problems.push(format!("what is missing is not known: {}", complaint.what));
            }
        }
        found
    }

    async fn add_found(&self, found: &mut Found) -> Result<(), Complaint> {
        for batch in self.collected(LOST_COUNTS).await? {
            let kinds = batch.column(0).as_string::<i32>();
            let (counts, rows) = (batch.column(1), batch.column(2).as_primitive::<Int64Type>());
            let counts = counts.as_primitive::<Int64Type>();
            for ((kind, count), rows) in kinds.iter().zip(counts).zip(rows.values()) {
                let count = u64::try_from(count.unwrap_or(0)).unwrap_or(0);
                match kind {
                    Some("events") => found.tally.lost_events += count,
                    Some("packets") => found.tally.lost_packets += count,
                    _ => found.problem_count += usize::try_from(*rows).unwrap_or(0),
                }
            }
        }
        for batch in self.collected(&lost_sentences()).await? {
            let sentences = batch.column(0).as_string::<i32>();
            found.problems.extend(sentences.iter().flatten().map(str::to_string));
        }
        Ok(())
    }

    async fn collected(&self, sql: &str) -> Result<Vec<RecordBatch>, Complaint> {
        let rows = self.run(sql).await?.try_collect().await;
        rows.map_err(|error| Complaint::of(&error, sql))
    }
}

/// Whether one is a count of version 1 and the other one of a later version.
fn are_counts(one: &DataType, other: &DataType) -> bool {
    let both = [one, other];
    both.contains(&&DataType::Int64) && both.contains(&&DataType::UInt64)
}

const LOST: &str = "lost";

/// How much each kind of loss is, and in how many rows; a beginning that came late is no loss.
const LOST_COUNTS: &str = "SELECT CAST(kind AS VARCHAR) AS kind, \
    TRY_CAST(sum(count) AS BIGINT) AS count, CAST(count(*) AS BIGINT) AS rows \
    FROM lost WHERE kind IS DISTINCT FROM 'beginning' GROUP BY kind";

/// Asks for the sentences about all that is not counted.
fn lost_sentences() -> String {
    format!(
        "SELECT CAST(CASE WHEN kind = 'verdict' AND trace IS NOT NULL THEN trace || ': ' || what \
         ELSE what END AS VARCHAR) AS what FROM lost \
         WHERE kind NOT IN ('events', 'packets', 'beginning') AND what IS NOT NULL \
         LIMIT {MOST_PROBLEMS}"
    )
}

/// A table's part in each dataset.
struct Parts<'a> {
    options: ListingOptions,
    /// A folder of files, and their columns.
    parts: Vec<(&'a Path, ListingTableUrl, SchemaRef)>,
}

impl<'a> Parts<'a> {
    async fn of(engine: &Engine, folders: &'a [PathBuf]) -> Result<Self, DataFusionError> {
        // Texts have the type here that they have in traces' tables.
        let format = ParquetFormat::default().with_force_view_types(false);
        let options = ListingOptions::new(Arc::new(format)).with_file_extension(".parquet");
        let state = engine.context().state();
        let mut parts = Vec::new();
        for folder in folders {
            let url = ListingTableUrl::parse(format!("{}/", folder.display()))?;
            let columns = options.infer_schema(&state, &url).await?;
            parts.push((folder.as_path(), url, columns));
        }
        Ok(Self { options, parts })
    }

    /// The columns that any part has: those that others lack are NULL in their rows. A column that
    /// has two types is trouble.
    fn united(&self, table: &str) -> (SchemaRef, Option<String>) {
        let mut columns: Vec<(FieldRef, &Path)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut trouble = None;
        for (folder, fields) in self.parts.iter().map(|(folder, _, part)| (*folder, part.fields()))
        {
            for field in fields {
                let Some(&at) = places.get(field.name().as_str()) else {
                    places.insert(field.name(), columns.len());
                    columns.push((Arc::new(field.as_ref().clone().with_nullable(true)), folder));
                    continue;
                };
                let Some((known, known_in)) = columns.get_mut(at) else { continue };
                if COUNTING.contains(&table) && are_counts(known.data_type(), field.data_type()) {
                    let signed = known.as_ref().clone().with_data_type(DataType::Int64);
                    *known = Arc::new(signed);
                    continue;
                }
                if known.data_type() != field.data_type() && trouble.is_none() {
                    trouble = Some(format!(
                        "the datasets differ in the column {} of {}: it is {} in {}, and {} in {}; \
                         name one of the datasets alone",
                        quoted(field.name()),
                        quoted(table),
                        known.data_type(),
                        known_in.display(),
                        field.data_type(),
                        folder.display(),
                    ));
                }
            }
        }
        let fields: Vec<FieldRef> = columns.into_iter().map(|(field, _)| field).collect();
        (Arc::new(Schema::new(fields)), trouble)
    }

    fn listing(self, columns: SchemaRef) -> Result<Arc<ListingTable>, DataFusionError> {
        let urls = self.parts.into_iter().map(|(_, url, _)| url).collect();
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(self.options)
            .with_schema(columns);
        Ok(Arc::new(ListingTable::try_new(config)?))
    }
}
