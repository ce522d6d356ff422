// SPDX-License-Identifier: MIT
//! New traces that are made of old ones.
//!
//! Place in the flow: `convert`, `trim` and `merge` claim the new trace's directory as `record`
//! does, and let the `convert` crate write. Until the metadata is written, last, there is no new
//! trace; after an error or a signal nothing of it is left, and what a killed command left goes
//! when its directory is claimed again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::convert::{convert, Converted, Correction, Options, Part};
use anyhow::{bail, Context};
use consumer::folder::Sharing;
use consumer::output::{self, Output};
use interrupt::Unfinished;
use trace::{find_traces, Cycles, EnvironmentValue, Merge, Trace, SYMBOLS_FILE};
use verdict::environment::{self, DAMAGED};
use verdict::{thinned, State};

use crate::report::progress::Progress;
use crate::{newest, say, unfinished};

pub(crate) const DONE: i32 = 0;
pub(crate) const INCOMPLETE: i32 = 1;
/// Problems shown one by one.
const PROBLEMS_SHOWN: usize = 20;
/// What a new trace says of its damaged source: nothing else in it might tell.
const OF_DAMAGED: &str =
    "the trace that this was made of was damaged, or had other events than its recorder wrote: \
     what could not be read is in no count";

/// What a new trace says that was made of one that its recorder had not finished.
const OF_UNFINISHED: &str =
    "the recording was not finished when this was made of it: what came later is not here";

/// The only trace at or below a folder, or the newest made here.
pub(crate) fn only(named: Option<&PathBuf>, purpose: &str) -> anyhow::Result<Trace> {
    let root = match named {
        Some(path) => path.clone(),
        None => newest::find()?,
    };
    let folders = find_traces(&root).with_context(|| format!("no trace to {purpose}"))?;
    let [folder] = &folders[..] else {
        bail!("{} holds {} traces; name one of them", root.display(), folders.len());
    };
    Ok(Trace::open(folder)?)
}

/// Refuses a place within one of the traces that are read: a trace would have another one in it.
pub(crate) fn refuse_within(traces: &[Trace], output: &Path) -> anyhow::Result<()> {
    let output = std::path::absolute(output)?;
    // Of a path that is not there yet, those above it are.
    let mut above = output.ancestors().filter_map(|path| path.canonicalize().ok());
    let read = |trace: &Trace| trace.path().canonicalize().ok();
    let read: Vec<_> = traces.iter().filter_map(read).collect();
    match above.find(|path| read.contains(path)) {
        Some(path) => bail!(
            "{} is within the trace {}; choose another directory with -o",
            output.display(),
            path.display()
        ),
        None => Ok(()),
    }
}

/// The directory of what is made. Dropped before it is kept, nothing of it is left.
pub(crate) struct New {
    pub output: Arc<Output>,
    // The last one that drops the output, so that no signal comes while that takes all away.
    unfinished: Unfinished,
}

impl New {
    pub fn keep(self) {
        self.unfinished.finish(|| self.output.keep());
    }
}

/// Claims the directory of a new trace, or of several.
pub(crate) fn claim(path: &Path) -> anyhow::Result<New> {
    let (output, unfinished) = Unfinished::begin(|| {
        let output = Arc::new(create(path)?);
        let removed = output.clone();
        anyhow::Ok((output, Box::new(move || removed.discard())))
    })?;
    Ok(New { output, unfinished })
}

fn create(path: &Path) -> anyhow::Result<Output> {
    match Output::create_unfinished(path, Sharing::PRIVATE) {
        Err(output::Error::Older { path }) => {
            bail!("{} holds a trace; choose another directory with -o", path.display());
        }
        Err(output::Error::Foreign { path, name }) => {
            let (path, name) = (path.display(), name.display());
            bail!("{path} holds {name}; choose another directory with -o");
        }
        other => Ok(other?),
    }
}

/// Writes a new trace, metadata included; the caller keeps it.
pub(crate) fn write(
    trace: &Trace,
    (options, part): (Options, Part<'_>),
    output: &Output,
    progress: &mut Progress,
) -> anyhow::Result<Converted> {
    let miscount = |merge: &Merge<'_>, read| {
        analysis::miscounts(std::slice::from_ref(trace), merge, &[read]).pop()
    };
    let environment_of_damaged = of_damaged(trace);
    let mut part = part;
    if options.for_trace_compass || part.correction.is_some() {
        part.environment.extend(retimed(trace, part.correction));
    }
    part.environment.extend(of_unfinished(trace));
    let part = Part { environment_of_damaged, miscount: Some(&miscount), ..part };
    let mut make = |name: &str| output.folder().make_file(name);
    let done = convert(trace, options, &part, &mut make, &mut |bytes| progress.advance(bytes))
        .with_context(|| format!("nothing was written of {}", trace.path().display()))?;
    if trace.symbols().is_some_and(|symbols| !symbols.is_empty()) {
        let text = std::fs::read_to_string(trace.path().join(SYMBOLS_FILE));
        let written = text.and_then(|text| output.write_symbols(&text));
        written.context("copying the names of the kernel's functions")?;
    }
    output.finish(&done.metadata).context("writing the metadata")?;
    Ok(done)
}

/// Moments that the environment tells in cycles of the old trace's clock, on the new one's, which
/// counts nanoseconds.
fn retimed(trace: &Trace, correction: Option<Correction>) -> Vec<(String, EnvironmentValue)> {
    let Some(clock) = trace.clocks().first() else { return Vec::new() };
    let move_it = |cycles: &mut u64| {
        let ns = clock.ns(Cycles(*cycles)).0;
        *cycles = correction.map_or(ns, |correction| correction.apply(ns)).max(0) as u64;
    };
    let mut said = analysis::recorded_verdict(trace.metadata());
    for pause in &mut said.pauses {
        let moments = std::iter::once(&mut pause.begin).chain(&mut pause.until);
        moments.for_each(|(cycles, _)| move_it(cycles));
    }
    said.changes.iter_mut().for_each(|change| move_it(&mut change.at.0));
    for throttled in &mut said.throttled {
        let moments = std::iter::once(&mut throttled.begin).chain(&mut throttled.until);
        moments.for_each(|(cycles, _)| move_it(cycles));
    }
    for firing in &mut said.firings {
        let moments = [&mut firing.at.0, &mut firing.event_cycles].into_iter();
        moments.filter(|cycles| **cycles > 0).for_each(move_it);
    }
    let entries = [
        environment::of_pauses(&said.pauses),
        environment::of_changes(&said.changes),
        environment::of_firings(&said.firings),
        thinned::of_throttled(&said.throttled),
    ];
    let told = entries.into_iter().filter_map(|(name, value)| match value {
        environment::Value::Text(text) if !text.is_empty() => {
            Some((name, EnvironmentValue::Text(text)))
        }
        _ => None,
    });
    told.collect()
}

/// What a new trace says in place of that it is being recorded, which it is not.
fn of_unfinished(trace: &Trace) -> Vec<(String, EnvironmentValue)> {
    let mut said = analysis::recorded_verdict(trace.metadata());
    if said.state != State::NotFinished {
        return Vec::new();
    }
    said.missing.push(OF_UNFINISHED.into());
    let entry = |name: &str, text: String| (name.into(), EnvironmentValue::Text(text));
    vec![
        entry("verdict", State::Incomplete.name().into()),
        entry("verdict_missing", said.missing.join("\n")),
    ]
}

/// What a new trace says besides where the old one is damaged, whoever's it is.
fn of_damaged(trace: &Trace) -> Vec<(String, EnvironmentValue)> {
    let entry = |name: &str, text: &str| (name.into(), EnvironmentValue::Text(text.into()));
    let mut entries = vec![entry(DAMAGED, OF_DAMAGED)];
    if trace.metadata().environment_text("tracer_name") == Some("lull") {
        entries.push(entry("verdict", State::Incomplete.name()));
    }
    entries
}

/// Says what was wrong with the old trace, and gives the exit status.
pub(crate) fn tell(trace: &Trace, done: &Converted) -> i32 {
    let unfinished = unfinished::sentence(trace);
    if let Some(sentence) = &unfinished {
        let (path, headline) = (trace.path().display(), State::NotFinished.headline());
        say(&format!("{path}: {headline} {sentence}"));
    }
    for problem in done.problems.iter().take(PROBLEMS_SHOWN) {
        say(&problem.to_string());
    }
    if done.problems.len() > PROBLEMS_SHOWN {
        say(&format!("and {} problems more", done.problems.len() - PROBLEMS_SHOWN));
    }
    done.miscount.iter().for_each(|sentence| say(sentence));
    if done.cut_streams > 0 {
        let count = done.cut_streams;
        say(&format!(
            "the first packets of {count} streams are not in the old trace, which the new one does \
             not tell: what was lost with them is not known"
        ));
    }
    if done.problems.is_empty() && done.miscount.is_none() && unfinished.is_none() {
        DONE
    } else {
        INCOMPLETE
    }
}
