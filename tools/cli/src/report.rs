// SPDX-License-Identifier: MIT
//! `lull report`: what happened, for people or as JSON.
//!
//! Place in the flow: the `analysis` crate reads the traces once and gathers the report; here are
//! the arguments, the choice of trace and the exit status: 0 done, 1 incomplete, not finished or
//! nothing matched, 2 error. `report/text.rs` lays the report out, `report/table.rs` aligns it.

mod answer;
mod exit;
mod flame;
pub(crate) mod look;
pub(crate) mod number;
pub(crate) mod progress;
mod question;
mod spark;
pub(crate) mod table;
mod text;
mod verdict;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use analysis::{analyse, By, Limits, Named, Options, Report, COMPARE, NAMED};
use anyhow::Context;
use serde::Serialize;
use state::{Classes, ThreadIndex, Threads};
use trace::{Event, EventClass, Trace};

use crate::chosen;
use crate::nearest::nearest;
use crate::selection::{with_who, Selection, SelectionArgs};
use crate::shown::json_shown;
use crate::{stdout, unfinished};

use look::Look;
use progress::Progress;
use question::QuestionArgs;

/// Sum up a trace: events, rates, latencies, waits, files, losses
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// An analysis, if the first is the name of one, and folders with traces in or below them
    /// [default: the sum of all, of lull-trace, the newest made here]
    #[arg(value_name = "ANALYSIS|TRACE")]
    pub traces: Vec<PathBuf>,

    /// Say which analyses there are
    #[arg(long)]
    pub list: bool,

    /// Print everything, with exact numbers, as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub question: QuestionArgs,

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
    if args.list {
        stdout::write(&answer::list())?;
        return Ok(0);
    }
    let (named, folders) = asked(&args.traces)?;
    let question = args.question.question(named.map(|named| named.name))?;
    if named.is_some_and(|named| named.name == COMPARE) {
        return compare(args, folders);
    }
    let chosen = Chosen::of(folders)?;
    let look = Look::of_stdout(args.top);
    let mut progress = Progress::new(&chosen.traces);
    let advance = |bytes_read| progress.advance(bytes_read);
    let (status, output) = chosen.with_options(args, |options| {
        let Some(named) = named else {
            let mut report = analyse(&chosen.traces, options, advance);
            chosen.finish(&mut report);
            let text = || text::render(&report, &look);
            return Ok((status(&report), shape(args.json, &report, text)?));
        };
        let mut answer = analysis::ask(named, &question, &chosen.traces, options, advance)
            .map_err(question::explained)?;
        chosen.finish(&mut answer.report);
        flame::write(&answer, &args.question)?;
        let text = || answer::render(&answer, &look);
        let output = match args.question.writes_to_stdout() {
            true => String::new(),
            false => shape(args.json, &answer, text)?,
        };
        Ok((status(&answer.report), output))
    })?;
    progress.finish();
    stdout::write(&output)?;
    Ok(status)
}

/// `lull report compare A B`
fn compare(args: &ReportArgs, folders: &[PathBuf]) -> anyhow::Result<i32> {
    let [first, second] = folders else {
        anyhow::bail!("compare needs two folders with traces: `lull report compare A B`");
    };
    let first = Chosen::of(std::slice::from_ref(first))?;
    let second = Chosen::of(std::slice::from_ref(second))?;
    let mut progress = [Progress::new(&first.traces), Progress::new(&second.traces)];
    let advance = |which: usize, bytes_read| {
        if let Some(progress) = progress.get_mut(which) {
            progress.advance(bytes_read);
        }
    };
    let mut answer = first.with_options(args, |a| {
        second.with_options(args, |b| {
            Ok(analysis::compare((&first.traces, a), (&second.traces, b), advance))
        })
    })?;
    progress.into_iter().for_each(Progress::finish);
    first.finish(&mut answer.report);
    let mut worst = status(&answer.report);
    if let Some(other) = &mut answer.other {
        second.finish(other);
        worst = worst.max(status(other));
    }
    let text = || answer::render(&answer, &Look::of_stdout(args.top));
    stdout::write(&shape(args.json, &answer, text)?)?;
    Ok(worst)
}

/// The traces to report on.
struct Chosen {
    traces: Vec<Trace>,
    notes: Vec<String>,
}

impl Chosen {
    fn of(folders: &[PathBuf]) -> anyhow::Result<Self> {
        let chosen = chosen::choose(folders, "report on")?;
        let open = |folder: &PathBuf| Trace::open(folder);
        let traces = chosen.folders.iter().map(open).collect::<Result<Vec<Trace>, _>>()?;
        Ok(Self { traces, notes: chosen.notes })
    }

    /// Runs an analysis with what the arguments choose of these traces.
    fn with_options<R>(
        &self,
        args: &ReportArgs,
        run: impl FnOnce(&Options<'_>) -> anyhow::Result<R>,
    ) -> anyhow::Result<R> {
        let selection = Selection::new(&args.selection)?;
        let wanted = |names: &[&str], log_level| selection.wants(names, log_level);
        let known = Classes::new(&self.traces);
        let names = |trace: usize, class: &EventClass| known.names_of(trace, class);
        let rules = selection.rules(&self.traces, &names)?;
        let takes = |event: &Event<'_>, threads: &Threads, thread: ThreadIndex| {
            with_who(threads, thread, |who| rules.take(event, Some(who)))
        };
        let whose = |threads: &Threads, thread: ThreadIndex| {
            with_who(threads, thread, |who| rules.take_thread(who))
        };
        run(&Options {
            wanted: Some(&wanted),
            takes: rules.has_conditions().then_some(&takes),
            whose: selection.has_threads().then_some(&whose),
            span: selection.span(&self.traces, false)?,
            most_events: None,
            goes_on: None,
            names: None,
            by: args.by.map(By::from),
            limits: Limits::default(),
        })
    }

    /// Adds what the analysis cannot know.
    fn finish(&self, report: &mut Report) {
        report.verdict.notes.extend(self.notes.iter().cloned());
        let unfinished = self.traces.iter().filter_map(unfinished::sentence);
        report.verdict.missing.splice(0..0, unfinished);
    }
}

/// The analysis that is asked for, and the folders: the first argument is an analysis if that is
/// its name. A word that is neither an analysis nor a folder is most likely misspelt.
fn asked(arguments: &[PathBuf]) -> anyhow::Result<(Option<&'static Named>, &[PathBuf])> {
    let Some((first, rest)) = arguments.split_first() else { return Ok((None, arguments)) };
    let Some(word) = first.to_str().filter(|word| !word.contains('/')) else {
        return Ok((None, arguments));
    };
    if let Some(named) = analysis::named(word) {
        return Ok((Some(named), rest));
    }
    if first.exists() {
        return Ok((None, arguments));
    }
    let names = NAMED.iter().map(|named| named.name);
    match nearest(&[word], names)[..] {
        [] => anyhow::bail!(
            "{word} is neither an analysis nor a folder; `lull report --list` says which analyses \
             there are"
        ),
        ref near => anyhow::bail!(
            "{word} is neither an analysis nor a folder; the nearest analysis is {}",
            near.join(" or ")
        ),
    }
}

/// As JSON or as text.
fn shape(
    is_json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<String> {
    if !is_json {
        return Ok(text());
    }
    let json = serde_json::to_string_pretty(value).context("writing the report as JSON")?;
    Ok(json_shown(&json) + "\n")
}

fn status(report: &Report) -> i32 {
    i32::from(report.verdict.state.is_failure() || report.matched_events == 0)
}
