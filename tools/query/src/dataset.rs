// SPDX-License-Identifier: MIT
//! Datasets, which `export` writes, as tables of the engine.
//!
//! Place in the flow: where a folder that is named for a query is a dataset, its Parquet files are
//! read in place of traces. Datasets of several hosts have one table for each name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use serde_json::{json, Value};

use crate::engine::{Engine, Limits, TableInfo};

/// The list of a dataset's tables.
const LIST: &str = "lull-dataset.json";
const VERSION: u64 = 1;
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
    std::fs::write(&path, format!("{list:#}\n")).map_err(|e| format!("{}: {e}", path.display()))
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
    if list["version"] != json!(VERSION) {
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
            let table = listing(&engine, &folders).await;
            let table = table.map_err(|error| format!("table {name}: {error}"))?;
            let schema = table.schema();
            let place = TableReference::bare(name.clone());
            engine.context().register_table(place, table).map_err(|e| e.to_string())?;
            engine.add(TableInfo { name, schema, is_of_events: false, folders });
        }
        Ok(engine)
    }
}

async fn listing(
    engine: &Engine,
    folders: &[PathBuf],
) -> Result<Arc<ListingTable>, DataFusionError> {
    let urls: Result<Vec<ListingTableUrl>, DataFusionError> = folders
        .iter()
        .map(|folder| ListingTableUrl::parse(format!("{}/", folder.display())))
        .collect();
    let options =
        ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
    let state = engine.context().state();
    let config = ListingTableConfig::new_with_multi_paths(urls?).with_listing_options(options);
    let config = config.infer_schema(&state).await?;
    Ok(Arc::new(ListingTable::try_new(config)?))
}
