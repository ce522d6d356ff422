// SPDX-License-Identifier: MIT
//! `lull query`: SQL over traces, which the program `lull-query` answers.
//!
//! Place in the flow: here are the arguments and the choice of traces, which mean what they mean
//! for `print` and `report`. The query engine is a program of its own (docs/adr/0014), which lies
//! beside `lull` or in libexec; it takes over this process.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context};
use clap::ValueEnum;
use trace::{Span, Trace};

use crate::record::size;
use crate::selection::{parse_time, Selection, SelectionArgs, Time};
use crate::{chosen, say, unfinished};

const PROGRAM: &str = "lull-query";
/// The list that makes a folder a dataset (tools/query/src/dataset.rs).
const DATASET_LIST: &str = "lull-dataset.json";
/// The engine takes no longer one (tools/query/src/main.rs).
const MOST_QUERY_BYTES: u64 = 16 << 10;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FormatArg {
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

/// Ask traces in SQL: every event type is a table
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "lull query [OPTIONS] SQL [TRACE]...\n       \
        lull query [OPTIONS] <-f FILE | --tables | --describe TABLE | --ddl> [TRACE]...",
    after_help = "Each event name is a table: SELECT * FROM \"http:request\". There are also \
    events, threads, processes, states, calls, syscalls, locks, files, packets and lost. A TRACE \
    is a folder with traces in or below it, or a dataset of `lull export --parquet`; without one \
    it is lull-trace, the newest made here. The SQL is that of Apache DataFusion.\n\nThe \
    status is 0 when there were rows, 1 when there was none or events are missing from what was \
    read, 2 on an error."
)]
pub struct QueryArgs {
    /// The query, or - to read it from standard input; then folders with traces in or below them
    #[arg(value_name = "SQL [TRACE]")]
    pub words: Vec<OsString>,

    /// Read the query from a file
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// List the tables and their columns; with a --format for programs, a row for each column
    #[arg(long, conflicts_with_all = ["file", "describe"])]
    pub tables: bool,

    /// List the columns of a table and their types
    #[arg(long, value_name = "TABLE", conflicts_with = "file")]
    pub describe: Option<String>,

    /// Print the CREATE EXTERNAL TABLE statements that give a dataset's tables to another engine
    /// with DataFusion
    #[arg(long, conflicts_with_all = ["file", "tables", "describe"])]
    pub ddl: bool,

    /// The form of the rows
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatArg,

    /// Write the rows to a file, not to standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write at most so many rows; 0: all. A table stops after 1000 unless this says otherwise
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub limit: Option<u64>,

    /// Read only from this time on: 14:03, +1.5s after the beginning, 'last 2s', as `lull print`
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_negative_numbers = true)]
    pub from: Option<Time>,

    /// Read only before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_negative_numbers = true)]
    pub to: Option<Time>,

    /// Memory for sorts, joins and groups, like 512M; what sorts and groups find no space for goes
    /// to files, but for most joins and ORDER BY with a LIMIT it has to suffice [default: half of
    /// the machine's]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory: Option<u64>,

    /// The folder of those files [default: $TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR")]
    pub spill: Option<PathBuf>,
}

/// Runs the command; it returns only when it cannot be run.
pub fn run(args: &QueryArgs) -> anyhow::Result<i32> {
    let asks_no_sql = args.tables || args.ddl || args.describe.is_some();
    let mut words = args.words.iter();
    let sql = match (&args.file, asks_no_sql) {
        (Some(file), _) => Some(read_file(file)?),
        (None, true) => None,
        (None, false) => {
            let first = words.next().context(
                "no query: write one, like 'SELECT name, count(*) FROM events GROUP BY name'; \
                 `lull query --tables` lists what there is",
            )?;
            Some(match first.to_str() {
                Some("-") => read_sql(std::io::stdin(), "standard input")?,
                Some(sql) => sql.to_string(),
                None => bail!("the query is not in UTF-8"),
            })
        }
    };
    let traces: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let mut command = Command::new(program()?);
    if let Some(sql) = &sql {
        command.arg(format!("--sql={sql}"));
    }
    if args.tables {
        command.arg("--tables");
    }
    if let Some(table) = &args.describe {
        command.arg(format!("--describe={table}"));
    }
    if args.ddl {
        command.arg("--ddl");
    }
    if let Some(format) = args.format.to_possible_value() {
        command.arg(format!("--format={}", format.get_name()));
    }
    path_argument(&mut command, "--output=", args.output.as_deref());
    path_argument(&mut command, "--spill-folder=", args.spill.as_deref());
    if let Some(limit) = args.limit {
        command.arg(format!("--limit={limit}"));
    }
    if let Some(memory) = args.memory {
        command.arg(format!("--memory-bytes={memory}"));
    }
    read_from(&mut command, &traces, (args.from.as_ref(), args.to.as_ref()))?;
    Err(command.exec()).with_context(|| format!("starting {PROGRAM}"))
}

/// Says which folders to read, and from when to when.
pub fn read_from(
    command: &mut Command,
    named: &[PathBuf],
    (from, to): (Option<&Time>, Option<&Time>),
) -> anyhow::Result<()> {
    let is_dataset = |folder: &PathBuf| folder.join(DATASET_LIST).is_file();
    if named.iter().any(is_dataset) {
        if from.is_some() || to.is_some() {
            bail!("--from and --to are for traces; ask a dataset with WHERE time");
        }
        command.arg("--").args(named);
        return Ok(());
    }
    let chosen = chosen::choose(named, "query")?;
    chosen.notes.iter().for_each(|note| say(note));
    let mut traces = Vec::new();
    for folder in &chosen.folders {
        traces.push(Trace::open(folder)?);
    }
    traces.iter().filter_map(unfinished::sentence).for_each(|sentence| say(&sentence));
    let selection = SelectionArgs { from: from.cloned(), to: to.cloned(), ..Default::default() };
    let Span { from, until } = Selection::new(&selection)?.span(&traces, false)?;
    for (name, time) in [("--from-ns", from), ("--until-ns", until)] {
        if let Some(time) = time {
            command.arg(format!("{name}={time}"));
        }
    }
    command.arg("--").args(&chosen.folders);
    Ok(())
}

/// Where the query engine lies: beside `lull`, or where installed programs have their parts. No
/// other place is asked: what reads a trace is what was installed with this command.
pub fn program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("finding the folder of lull")?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(PROGRAM), folder.join("../libexec/lull").join(PROGRAM)];
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.clone()),
        None => bail!(
            "{PROGRAM}, which answers queries, is neither {} nor {}: `make query-engine` builds \
             it, `make install` puts it there; other places, such as $PATH, are not searched",
            places[0].display(),
            places[1].display()
        ),
    }
}

/// Adds an argument that is a path, if there is one.
pub fn path_argument(command: &mut Command, name: &str, path: Option<&Path>) {
    if let Some(path) = path {
        let mut argument = OsString::from(name);
        argument.push(path);
        command.arg(argument);
    }
}

fn read_file(path: &Path) -> anyhow::Result<String> {
    let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    read_sql(file, &path.display().to_string())
}

fn read_sql(from: impl Read, name: &str) -> anyhow::Result<String> {
    let mut text = Vec::new();
    from.take(MOST_QUERY_BYTES + 1).read_to_end(&mut text).context(name.to_string())?;
    if text.len() as u64 > MOST_QUERY_BYTES {
        bail!("{name}: the query is longer than {MOST_QUERY_BYTES} bytes");
    }
    String::from_utf8(text).context(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_are_no_text_or_too_long_are_refused() {
        assert_eq!(read_sql(&b"SELECT 1"[..], "f").unwrap(), "SELECT 1");
        assert!(read_sql(&b"\xff"[..], "f").is_err());
        let long = vec![b' '; MOST_QUERY_BYTES as usize + 1];
        let error = read_sql(&long[..], "f").unwrap_err().to_string();
        assert_eq!(error, "f: the query is longer than 16384 bytes");
    }

    #[test]
    fn without_the_engine_it_is_said_where_it_was_looked_for() {
        // Tests run from the folder of what was built for tests, where there is none.
        let error = program().unwrap_err().to_string();
        assert!(error.contains("make query-engine") && error.contains("$PATH"), "{error}");
    }
}
