// SPDX-License-Identifier: MIT
//! Runs the Promela models under `models` and compares what SPIN finds with what each folder's
//! `expect.toml` says has to be found. `models/run` builds and starts this.
//!
//! Flow: `expect` reads runs, `schedule` has `spin` search each, `outcome` reads what was found,
//! `progress` tells it, `results` and `table` keep it. `trace` shows counter-examples.

mod cache;
mod check;
mod columns;
mod coverage;
mod effects;
mod error;
mod expect;
mod limit;
mod outcome;
mod progress;
mod replay;
mod results;
mod schedule;
mod source;
mod spin;
mod table;
mod text;
mod trace;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use cache::Cache;
use error::{Error, Result};
use expect::Run;
use progress::Progress;
use results::{Results, Row};
use schedule::{Place, Task};
use spin::Report;

/// Run the models and compare what SPIN finds with what is expected
#[derive(Debug, Parser)]
#[command(name = "models/run", bin_name = "models/run")]
#[command(after_help = "Exits with 0 when all is as expected, 1 when not, 2 when it cannot run.")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Also run what takes minutes to hours (`when = "full"`)
    #[arg(long)]
    full: bool,
    /// Only runs whose name or title contains this; may be given more than once
    #[arg(long, value_name = "SUBSTRING")]
    only: Vec<String>,
    /// How many runs at the same time [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// What the memory limits of runs at the same time may add up to
    #[arg(long, value_name = "N", default_value_t = 4096)]
    memory_mib: u32,
    /// Print the names of the runs and run nothing
    #[arg(long)]
    list: bool,
    /// Only compare the written tables with expect.toml; runs nothing
    #[arg(long)]
    check: bool,
    /// Write what was found to models/results
    #[arg(long)]
    write: bool,
    /// Write everything about the runs of this time to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print the statements that no unaltered run reached
    #[arg(long)]
    unreached: bool,
    /// Keep what searches found in this folder, and make none again that it holds; has no effect
    /// with --keep and --unreached, which are about the searches themselves
    #[arg(long, value_name = "DIR", env = "MODEL_CACHE")]
    cache: Option<PathBuf>,
    /// Keep what each run was built from and what it printed in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The folder of the models
    #[arg(long, value_name = "DIR", default_value = "models")]
    models: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the counter-example of a run: one column a process, one row a step
    Trace {
        /// The run, as --list prints it
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        run: Vec<String>,
    },
}

fn wanted(run: &Run, arguments: &Arguments) -> bool {
    let named = arguments.only.is_empty()
        || arguments.only.iter().any(|part| run.name().contains(part) || run.title.contains(part));
    named && (arguments.full || !run.full)
}

fn print_trace(runs: &[Run], name: &str, folder: &Path) -> Result<bool> {
    let Some(run) = runs.iter().find(|run| run.name() == name) else {
        let what = format!("no run is named {name}; `models/run --list --full` prints all names");
        return Err(Error::Usage(what));
    };
    trace::print(run, folder)
}

/// With what each cost the last time, so that the longest begin first.
fn tasks<'a>(models: &Path, chosen: &[&'a Run]) -> Result<Vec<Task<'a>>> {
    let mut tasks = Vec::new();
    let mut known: Vec<(&str, Results)> = Vec::new();
    for run in chosen {
        if known.last().is_none_or(|(noun, _)| *noun != run.folder) {
            known.push((&run.folder, Results::read(models, &run.folder)?));
        }
        let row = known.last().and_then(|(_, results)| results.get(run));
        tasks.push(Task { run, earlier_states: row.map(|row| row.states) });
    }
    Ok(tasks)
}

fn search<'a>(
    arguments: &Arguments,
    chosen: &[&'a Run],
    folder: &Path,
    progress: &mut Progress,
) -> Result<Vec<(&'a Run, Report)>> {
    let tasks = tasks(&arguments.models, chosen)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.unwrap_or(cores);
    let is_about_searches = arguments.unreached || arguments.keep.is_some();
    let cache = arguments.cache.as_deref().filter(|_| !is_about_searches);
    let cache = cache.map(Cache::open).transpose()?;
    let place = Place { memory_mib: arguments.memory_mib, folder, cache: cache.as_ref() };
    let mut done = Vec::new();
    schedule::all(tasks, jobs, place, |ended| {
        progress.ended(&ended);
        if let (Some(workshop), None) = (&ended.workshop, &arguments.keep) {
            workshop.clear();
        }
        if let Ok(report) = ended.report {
            done.push((ended.run, report));
        }
    });
    Ok(done)
}

/// Runs what is meant and writes what was found where that is wanted.
fn run_chosen(arguments: &Arguments, runs: &[Run], folder: &Path) -> Result<bool> {
    let chosen: Vec<&Run> = runs.iter().filter(|run| wanted(run, arguments)).collect();
    if chosen.is_empty() {
        let what = "no run is meant; `models/run --list --full` prints the names of all";
        return Err(Error::Usage(what.into()));
    }
    if arguments.list {
        for run in chosen {
            println!("{}", run.name());
        }
        return Ok(true);
    }
    let mut progress = Progress::new(chosen.len());
    let done = search(arguments, &chosen, folder, &mut progress)?;
    if let Some(path) = &arguments.json {
        coverage::write_json(path, &done)?;
    }
    if arguments.unreached {
        for line in coverage::unreached(&done) {
            progress.say(&line);
        }
    }
    if arguments.write {
        let rows: Vec<Row> =
            done.iter().map(|(run, report)| Row::of(run, report)).collect::<Result<_>>()?;
        check::write(&arguments.models, runs, &rows)?;
    }
    // Who runs a part is at work on it; the tables may wait.
    if arguments.only.is_empty() {
        let (right_count, messages) = check::check(&arguments.models, runs)?;
        progress.tables(right_count, &messages);
    }
    Ok(progress.finish())
}

fn execute(arguments: &Arguments) -> Result<bool> {
    let temporary = tempfile::tempdir()
        .map_err(|error| Error::file(&std::env::temp_dir(), error, "set TMPDIR"))?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let runs = expect::read(&arguments.models)?;
    match &arguments.command {
        Some(Command::Trace { run }) => print_trace(&runs, &run.join(" "), folder),
        None if arguments.check => {
            let (right_count, messages) = check::check(&arguments.models, &runs)?;
            let mut progress = Progress::new(0);
            progress.tables(right_count, &messages);
            Ok(progress.finish())
        }
        None => run_chosen(arguments, &runs, folder),
    }
}

fn main() -> ExitCode {
    match execute(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
