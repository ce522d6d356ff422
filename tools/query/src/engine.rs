// SPDX-License-Identifier: MIT
//! The query engine over open traces: tables by name, SQL to a stream of batches.
//!
//! Place in the flow: `main`, `export` and the tests ask here. Queries only read: statements that
//! would define or change something are refused before they are planned.

use std::collections::BTreeSet;
use std::ops::ControlFlow as Flow;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{visit_relations, ObjectName};

use crate::calls::{CallTable, What};
use crate::columns::EventTable;
use crate::complaint::Complaint;
use crate::events::Events;
use crate::missing::{LostTable, PacketTable};
use crate::reading::Reading;
use crate::scan::{Source, Table};
use crate::spill::Spill;
use crate::states::StateTable;
use crate::tasks::TaskTable;

/// How much a query may use.
#[derive(Debug, Clone)]
pub struct Limits {
    pub memory_bytes: usize,
    /// What does not find space in memory goes there.
    pub spill_folder: PathBuf,
    pub spill_bytes: u64,
    pub processors: usize,
}

impl Default for Limits {
    /// Half of the machine's memory; a hundred gigabytes beside it.
    fn default() -> Self {
        Self {
            memory_bytes: machine_bytes().unwrap_or(4 << 30) / 2,
            spill_folder: std::env::temp_dir(),
            spill_bytes: 100 << 30,
            processors: trace::processors(),
        }
    }
}

/// The memory of the machine, as Linux tells it.
fn machine_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// What the listing of tables says of one.
#[derive(Debug, Clone)]
pub struct TableInfo {
    pub name: String,
    pub schema: SchemaRef,
    /// Whether it is of events of one name.
    pub is_of_events: bool,
    /// Where the files of a dataset's table are; of a trace's table, nothing.
    pub folders: Vec<PathBuf>,
    /// Why the table cannot be asked.
    pub trouble: Option<String>,
}

/// Tables of traces, ready for queries.
pub struct Engine {
    context: SessionContext,
    pub tables: Vec<TableInfo>,
    sources: Vec<Arc<dyn Source>>,
}

/// Every table of some traces: those that are always there, then one for each name of events.
pub fn sources(reading: &Arc<Reading>) -> Vec<Arc<dyn Source>> {
    let all = EventTable::of_all(&reading.traces);
    let mut sources: Vec<Arc<dyn Source>> = vec![Arc::new(Events::new(Arc::clone(reading), all))];
    for is_of_processes in [false, true] {
        let reading = Arc::clone(reading);
        sources.push(Arc::new(TaskTable { reading, is_of_processes }));
    }
    sources.push(Arc::new(StateTable(Arc::clone(reading))));
    for what in What::ALL {
        sources.push(Arc::new(CallTable { reading: Arc::clone(reading), what }));
    }
    sources.push(Arc::new(PacketTable(Arc::clone(reading))));
    sources.push(Arc::new(LostTable(Arc::clone(reading))));
    for table in EventTable::each(&reading.traces) {
        sources.push(Arc::new(Events::new(Arc::clone(reading), table)));
    }
    sources
}

const SORT_LEAST: usize = 64 << 10;
const SORT_MOST: usize = 10 << 20;

/// How many tables there are that are of no event.
pub const GENERAL_TABLES: usize = 10;

/// The name of each table: an event that is called like a table gets an underscore behind it, and
/// one without a name, of which SQL cannot speak, is an underscore.
pub fn names(sources: &[Arc<dyn Source>]) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let name = |source: &Arc<dyn Source>| {
        let mut name = source.name().to_string();
        // Bound: each round needs another table.
        while name.is_empty() || !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    sources.iter().map(name).collect()
}

impl Engine {
    pub fn new(reading: &Arc<Reading>, limits: &Limits) -> Result<Self, DataFusionError> {
        let mut engine = Self::empty(limits, reading.batch_rows)?;
        engine.sources = sources(reading);
        let names = names(&engine.sources);
        for (at, (name, source)) in names.into_iter().zip(&engine.sources).enumerate() {
            let table = TableReference::bare(name.clone());
            engine.context.register_table(table, Arc::new(Table(Arc::clone(source))))?;
            let (schema, is_of_events) = (source.schema(), at >= GENERAL_TABLES);
            let (folders, trouble) = (Vec::new(), None);
            engine.tables.push(TableInfo { name, schema, is_of_events, folders, trouble });
        }
        Ok(engine)
    }

    /// An engine without tables.
    pub fn empty(limits: &Limits, batch_rows: usize) -> Result<Self, DataFusionError> {
        let mut config = SessionConfig::new()
            .with_batch_size(batch_rows)
            .with_target_partitions(limits.processors.max(1))
            .with_information_schema(false);
        let options = config.options_mut();
        options.sql_parser.collect_spans = true;
        // Texts have one type everywhere: that of the tables.
        options.sql_parser.map_string_types_to_utf8view = false;
        options.execution.parquet.schema_force_view_types = false;
        // What a sort keeps for merging what it has written to files.
        let of_sort = limits.memory_bytes / 16 / limits.processors.max(1);
        options.execution.sort_spill_reservation_bytes = of_sort.clamp(SORT_LEAST, SORT_MOST);
        let spill = Spill::new(limits.spill_folder.clone(), limits.spill_bytes)?;
        let disk = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(spill));
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(limits.memory_bytes)))
            .with_disk_manager_builder(disk)
            .build_arc()?;
        let context = SessionContext::new_with_config_rt(config, runtime);
        Ok(Self { context, tables: Vec::new(), sources: Vec::new() })
    }

    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Adds a table that is no trace's.
    pub fn add(&mut self, info: TableInfo) {
        self.tables.push(info);
    }

    pub fn table(&self, name: &str) -> Option<&TableInfo> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Plans a query and begins it.
    pub async fn run(&self, sql: &str) -> Result<SendableRecordBatchStream, Complaint> {
        let complain = |error: DataFusionError| Complaint::of(&error, sql);
        let state = self.context.state();
        let dialect = state.config().options().sql_parser.dialect;
        let statement = state.sql_to_statement(sql, &dialect).map_err(complain)?;
        self.check_tables(&statement, sql)?;
        let plan = state.statement_to_plan(statement).await.map_err(complain)?;
        let only_reads = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        only_reads.verify_plan(&plan).map_err(|_| {
            Complaint::new("only queries are run: what changes something is refused", sql)
        })?;
        let frame = self.context.execute_logical_plan(plan).await.map_err(complain)?;
        frame.execute_stream().await.map_err(complain)
    }

    /// Finds tables that are not there or cannot be asked, and says where they are named.
    fn check_tables(&self, statement: &Statement, sql: &str) -> Result<(), Complaint> {
        let state = self.context.state();
        let complain = |error: DataFusionError| Complaint::of(&error, sql);
        let named = state.resolve_table_references(statement).map_err(complain)?;
        for reference in named {
            let known = self.table(reference.table()).filter(|_| reference.schema().is_none());
            let is_inner = matches!(reference.schema(), Some("information_schema"));
            let name = reference.to_string();
            match known.map(|table| &table.trouble) {
                Some(Some(trouble)) => {
                    return Err(Complaint::new(trouble, sql).at(place_of(statement, &name)));
                }
                Some(None) => continue,
                None if is_inner => continue,
                None => (),
            }
            let names = self.tables.iter().map(|table| table.name.as_str());
            let nearest = verdict::nearest::nearest(&[&name], names);
            let help = match nearest[..] {
                [] => "`lull query --tables` lists them".to_string(),
                _ => {
                    let quoted: Vec<String> = nearest.iter().map(|name| quoted(name)).collect();
                    format!("the nearest is {}", quoted.join(", "))
                }
            };
            let complaint = Complaint::new(format!("no table is named {}", quoted(&name)), sql);
            return Err(complaint.at(place_of(statement, &name)).with_help(Some(help)));
        }
        Ok(())
    }
}

/// A name as it is written in SQL.
pub fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    match is_plain {
        true => name.into(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Where a statement names a table.
fn place_of(statement: &Statement, name: &str) -> Option<(u64, u64, u64)> {
    let Statement::Statement(statement) = statement else { return None };
    let mut found = None;
    let _ = visit_relations(statement, |relation: &ObjectName| {
        let idents: Vec<_> = relation.0.iter().filter_map(|part| part.as_ident()).collect();
        let plain = |value: &str, is_quoted| match is_quoted {
            true => value.to_string(),
            false => value.to_ascii_lowercase(),
        };
        let parts = idents.iter().map(|i| plain(&i.value, i.quote_style.is_some()));
        let written = parts.collect::<Vec<_>>().join(".");
        match (idents.first(), idents.last()) {
            (Some(first), Some(last)) if written == name => {
                let (begin, end) = (first.span.start, last.span.end);
                found = Some((begin.line, begin.column, end.column.saturating_sub(begin.column)));
                Flow::Break(())
            }
            _ => Flow::Continue(()),
        }
    });
    found.filter(|(line, ..)| *line > 0)
}
