// SPDX-License-Identifier: MIT
//! `lull-query`: what `lull query` and `lull export --parquet` run.
//!
//! Place in the flow: `lull` has chosen the traces and turned times into nanoseconds; here they are
//! opened, and the answer is written. The exit status is that of all reading commands: 0 done, 1
//! incomplete or no row, 2 an error.

mod destination;
mod listing;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Arc;

use clap::Parser;
use destination::Destination;
use futures::StreamExt;
use query::{
    definition, export, is_dataset, Complaint, Engine, Failure, Format, Found, Limits, Output,
    Progress, Reading, PASSES,
};
use trace::{Ns, Span, Trace};
use verdict::shown::{lines_shown, shown};
use verdict::State;

const DONE: i32 = 0;
const INCOMPLETE: i32 = 1;
const FAILED: i32 = 2;
/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Rows of a table for people, unless more are asked for.
const TABLE_ROWS: u64 = 1000;
/// Of a query's text. The engine calls itself once for each operator within another one.
const SQL_BYTES_MAX: usize = 16 << 10;
/// Of each thread that plans or runs a query: so that the deepest query that fits has room. What is
/// not used of it takes no memory.
const STACK_BYTES: usize = 1 << 30;

/// Answer SQL over traces, for `lull query`; not to be called by people
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Folders of traces, or of datasets
    #[arg(required = true)]
    folders: Vec<PathBuf>,

    /// The query
    #[arg(long, required_unless_present_any = ["tables", "describe", "ddl", "export"])]
    sql: Option<String>,

    /// List the tables
    #[arg(long)]
    tables: bool,

    /// List the columns of a table
    #[arg(long)]
    describe: Option<String>,

    /// Print the statements that define the tables of datasets elsewhere
    #[arg(long)]
    ddl: bool,

    /// Write all tables as a dataset into this folder
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,

    #[arg(long, value_enum, default_value = "table")]
    format: Format,

    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Rows at most; 0: all
    #[arg(long)]
    limit: Option<u64>,

    #[arg(long, allow_negative_numbers = true)]
    from_ns: Option<i64>,

    #[arg(long, allow_negative_numbers = true)]
    until_ns: Option<i64>,

    /// What sorts, joins and groups may have in memory
    #[arg(long)]
    memory_bytes: Option<u64>,

    /// Where they put what finds no space in memory
    #[arg(long)]
    spill_folder: Option<PathBuf>,

    /// Processors to use
    #[arg(long)]
    processors: Option<usize>,
}

fn main() {
    let arguments = Arguments::parse();
    let planner =
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || run(&arguments));
    let result = match planner.map(std::thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        // The thread has said why.
        Ok(Err(_)) => exit(FAILED),
        Err(error) => Err(format!("starting a thread: {error}")),
    };
    let status = result.unwrap_or_else(|what| {
        say_lines(&what);
        FAILED
    });
    exit(status);
}

/// A line for people; that no one reads standard error is no error.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "lull: {}", shown(line));
}

/// The same of several lines, which are indented but for the first.
fn say_lines(text: &str) {
    let _ = writeln!(std::io::stderr(), "lull: {}", lines_shown(text));
}

fn run(args: &Arguments) -> Result<i32, String> {
    let limits = limits(args);
    try_threads(limits.processors).map_err(|error| {
        format!(
            "{} threads, one for each processor, cannot be started: {error}; each needs {} GiB \
             of address space (ulimit -v), and counts as a process of its user (ulimit -u)",
            limits.processors,
            STACK_BYTES >> 30
        )
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(limits.processors)
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let datasets = args.folders.iter().filter(|folder| is_dataset(folder)).count();
    if datasets > 0 {
        if datasets < args.folders.len() {
            return Err("traces and datasets cannot be queried together".into());
        }
        if args.from_ns.is_some() || args.until_ns.is_some() {
            return Err("--from and --to are for traces; ask a dataset with WHERE time".into());
        }
        if args.export.is_some() {
            return Err("this is a dataset already".into());
        }
        let engine = runtime.block_on(Engine::over_datasets(&args.folders, &limits))?;
        let status = answer(args, &engine, None, &runtime)?;
        let found = match args.sql {
            Some(_) => runtime.block_on(engine.found_before()),
            None => Found::default(),
        };
        return Ok(told(&found, status));
    }
    let reading = Arc::new(open(args, limits.processors)?);
    let is_failure = say_verdicts(&reading.traces);
    let status = match &args.export {
        Some(folder) => export_all(&reading, folder)?,
        None => {
            let engine = Engine::new(&reading, &limits).map_err(|error| error.to_string())?;
            answer(args, &engine, Some(&reading), &runtime)?
        }
    };
    let status = told(&reading.found(), status);
    Ok(if is_failure { status.max(INCOMPLETE) } else { status })
}

/// Says what is missing from the answer. Return: the exit status, which says so too.
fn told(found: &Found, status: i32) -> i32 {
    found.sentences().iter().for_each(|sentence| say(sentence));
    if found.is_incomplete() {
        return status.max(INCOMPLETE);
    }
    status
}

/// Whether so many threads can be there at once: the engine's runtime has no error for that.
fn try_threads(count: usize) -> std::io::Result<()> {
    let stay = std::sync::RwLock::new(());
    let until_all_are_there = stay.write();
    std::thread::scope(|scope| {
        // They end when the lock is let go, which is done before they are waited for.
        let _until_all_are_there = until_all_are_there;
        for _ in 0..count {
            let wait = || drop(stay.read());
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, wait)?;
        }
        Ok(())
    })
}

fn limits(args: &Arguments) -> Limits {
    let default = Limits::default();
    let memory_bytes = args.memory_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    Limits {
        memory_bytes: memory_bytes.unwrap_or(default.memory_bytes),
        spill_folder: args.spill_folder.clone().unwrap_or(default.spill_folder),
        spill_bytes: default.spill_bytes,
        processors: args.processors.unwrap_or(default.processors).max(1),
    }
}

fn open(args: &Arguments, processors: usize) -> Result<Reading, String> {
    let open = |folder: &PathBuf| Trace::open(folder).map_err(|error| error.to_string());
    let traces: Vec<Trace> = args.folders.iter().map(open).collect::<Result<_, _>>()?;
    for warning in traces.iter().flat_map(Trace::warnings) {
        say(&warning);
    }
    let span = Span { from: args.from_ns.map(Ns), until: args.until_ns.map(Ns) };
    Ok(Reading::new(traces, span, processors, BATCH_ROWS))
}

/// Says what the traces' recorders said, unless that is that nothing is missing, or is nothing.
/// Return: whether that is a failure.
fn say_verdicts(traces: &[Trace]) -> bool {
    let mut is_failure = false;
    for trace in traces {
        let verdict = analysis::recorded_verdict(trace.metadata());
        if !matches!(verdict.state, State::Complete | State::Unknown) {
            let lines = verdict.judgement();
            say_lines(&format!("{}: {}", trace.path().display(), lines.join("\n")));
        }
        is_failure |= verdict.state.is_failure();
    }
    is_failure
}

fn export_all(reading: &Arc<Reading>, folder: &Path) -> Result<i32, String> {
    let mut progress = Progress::start(reading, PASSES);
    let exported = export(reading, folder);
    progress.end();
    let done = exported?;
    let (tables, files) = (done.tables, done.files);
    say(&format!("{}: {} rows of {tables} tables in {files} files", folder.display(), done.rows));
    Ok(if done.rows > 0 { DONE } else { INCOMPLETE })
}

fn answer(
    args: &Arguments,
    engine: &Engine,
    reading: Option<&Arc<Reading>>,
    runtime: &tokio::runtime::Runtime,
) -> Result<i32, String> {
    let destination = Destination::new(args.output.as_deref());
    if args.tables || args.describe.is_some() {
        let describe = args.describe.as_deref();
        let status = listing::list(describe, engine, args.format, || destination.open())?;
        return destination.keep().map(|()| status);
    }
    if args.ddl {
        let statements: Result<Vec<String>, String> =
            engine.tables.iter().map(definition).collect();
        return listing::write_lines(&statements?);
    }
    let sql = args.sql.as_deref().unwrap_or_default();
    if sql.len() > SQL_BYTES_MAX {
        let length = sql.len();
        return Err(format!("the query has {length} bytes; {SQL_BYTES_MAX} are allowed"));
    }
    let progress = reading.map(|reading| Progress::start(reading, 1));
    let result = runtime.block_on(write_rows(args, &destination, (engine, sql), progress));
    if result.is_ok() {
        destination.keep()?;
    }
    match result {
        Ok(0) => Ok(INCOMPLETE),
        Ok(_) => Ok(DONE),
        Err(Trouble::Query(complaint)) => Err(complaint.to_string()),
        Err(Trouble::Output(failure)) if failure.is_gone() => {
            // A reader of our output that goes away early has what it wanted.
            Ok(DONE)
        }
        Err(Trouble::Output(failure)) => Err(format!("writing the output: {failure}")),
    }
}

enum Trouble {
    Query(Complaint),
    Output(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Output(failure)
    }
}

/// Runs a query and writes its rows. Return: how many there were.
async fn write_rows(
    args: &Arguments,
    destination: &Destination<'_>,
    (engine, sql): (&Engine, &str),
    mut progress: Option<Progress>,
) -> Result<u64, Trouble> {
    let mut stream = engine.run(sql).await.map_err(Trouble::Query)?;
    let schema = stream.schema();
    let is_table = args.format == Format::Table;
    let limit = match args.limit {
        Some(0) => u64::MAX,
        Some(limit) => limit,
        None if is_table => TABLE_ROWS,
        None => u64::MAX,
    };
    let mut output = None;
    if args.format == Format::Arrow && !destination.is_file() {
        // Who reads the stream learns the columns before the rows are found.
        output = Some(Output::new(args.format, destination.open()?, &schema)?);
    }
    let mut rows = 0;
    let mut is_cut = false;
    while let Some(batch) = stream.next().await {
        let complain = |error| Trouble::Query(Complaint::of(&error, sql));
        let batch = batch.map_err(complain)?;
        let left = usize::try_from(limit - rows).unwrap_or(usize::MAX);
        is_cut = batch.num_rows() > left;
        let batch = batch.slice(0, batch.num_rows().min(left));
        rows += batch.num_rows() as u64;
        if output.is_none() {
            if let (Some(progress), true) = (&mut progress, std::io::stdout().is_terminal()) {
                progress.end();
            }
            output = Some(Output::new(args.format, destination.open()?, &schema)?);
        }
        if let Some(output) = &mut output {
            output.write(&batch)?;
        }
        if is_cut {
            break;
        }
    }
    let output = match output {
        Some(output) => output,
        None => Output::new(args.format, destination.open()?, &schema)?,
    };
    output.end()?;
    drop(progress);
    if is_cut && args.limit.is_none() {
        say(&format!("only the first {limit} rows are shown: --limit 0 shows all"));
    }
    Ok(rows)
}
