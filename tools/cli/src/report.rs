// SPDX-License-Identifier: MIT
//! `lull report`: what happened, for people or as JSON.
//!
//! Place in the flow: the `analysis` crate reads the traces once and gathers the report; here are
//! the arguments, the choice of trace and the exit status: 0 done, 1 incomplete, not finished or
//! nothing matched, 2 error. `report/text.rs` lays the report out, `report/table.rs` aligns it.

mod exit;
mod look;
mod number;
pub(crate) mod progress;
mod spark;
mod table;
mod text;
mod verdict;

#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use analysis::{analyse, By, Limits, Options, Report};
use anyhow::Context;
use state::{Classes, ThreadIndex, Threads};
use trace::{Event, EventClass, Trace};

use crate::chosen;
use crate::selection::{Selection, SelectionArgs, Who};
use crate::shown::json_shown;
use crate::unfinished;

use look::Look;
use progress::Progress;

/// Sum up a trace: events, rates, latencies, waits, files, losses
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Folders with traces in or below them [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Print everything, with exact numbers, as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Rows in each table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Tell events and latencies apart by where they happened, too
    #[arg(long, value_name = "WHAT")]
    pub by: Option<Grouping>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Grouping {
    Process,
    Thread,
    Cpu,
}

impl From<Grouping> for By {
    fn from(grouping: Grouping) -> Self {
        match grouping {
            Grouping::Process => By::Process,
            Grouping::Thread => By::Thread,
            Grouping::Cpu => By::Cpu,
        }
    }
}

/// Runs the command; the result is the exit status.
pub fn run(args: &ReportArgs) -> anyhow::Result<i32> {
    let selection = Selection::new(&args.selection)?;
    let wanted = |names: &[&str], log_level| selection.wants(names, log_level);
    let chosen = chosen::choose(&args.traces, "report on")?;
    let mut traces = Vec::new();
    for folder in &chosen.folders {
        traces.push(Trace::open(folder)?);
    }
    let known = Classes::new(&traces);
    let names = |trace: usize, class: &EventClass| known.names_of(trace, class);
    let rules = selection.rules(&traces, &names)?;
    let takes = |event: &Event<'_>, threads: &Threads, thread: ThreadIndex| {
        let name = threads.threads().get(thread.0 as usize).map(|thread| thread.name.text());
        let pid = threads.pid(threads.process_of(thread));
        let name = name.as_ref().map(|name| name.as_bytes());
        rules.take(event, Some(Who { pid, tid: threads.tid(thread), name }))
    };
    let options = Options {
        wanted: Some(&wanted),
        takes: rules.has_conditions().then_some(&takes),
        span: selection.span(&traces, false)?,
        by: args.by.map(By::from),
        limits: Limits::default(),
    };
    let mut progress = Progress::new(&traces);
    let mut report = analyse(&traces, &options, |bytes_read| progress.advance(bytes_read));
    progress.finish();
    report.verdict.notes.extend(chosen.notes);
    report.verdict.missing.splice(0..0, traces.iter().filter_map(unfinished::sentence));
    let output = match args.json {
        true => {
            let json =
                serde_json::to_string_pretty(&report).context("writing the report as JSON")?;
            json_shown(&json) + "\n"
        }
        false => text::render(&report, &Look::of_stdout(args.top)),
    };
    write_out(output.as_bytes())?;
    Ok(status(&report))
}

fn status(report: &Report) -> i32 {
    i32::from(report.verdict.state.is_failure() || report.matched_events == 0)
}

/// A reader of our output that goes away early has what it wanted.
fn write_out(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing the output")
        }
        _ => Ok(()),
    }
}
