// SPDX-License-Identifier: MIT
//! `lull trim`: some of the events of a trace as another trace.
//!
//! Place in the flow: the arguments choose events as those of `print` do; `derived` writes what is
//! chosen. What is cut away is not called lost: losses are those in the span, and the verdict says
//! that it is the whole recording's.

use std::path::PathBuf;

use ::convert::{Converted, Format, Options, Part};
use analysis::event_name;
use anyhow::bail;
use serde_json::json;
use trace::{ByteOrder, EnvironmentValue, Event, EventClass, RecordedThread, Trace};
use verdict::environment::PART;

use crate::derived;
use crate::print::classes::who;
use crate::report::progress::Progress;
use crate::selection::{Selection, SelectionArgs};
use crate::{nearest, say, stdout};

/// Entry of the environment with the recorder's remarks, a line for each.
const NOTES: &str = "verdict_notes";
const NOTE: &str = "this is a part of a recording (lull trim): what the verdict counts is of the \
                    whole recording";

/// Tells where code and variables of a process are.
const OBJECTS: &str = "process:object";
/// Kinds of events about locks, which are called like the variables that they are.
const LOCKS: [&str; 5] = ["mutex:", "rwlock:", "cond:", "sem:", "barrier:"];
const NAMELESS: &str =
    "functions in call stacks and locks have no names where the new trace lacks \
                        what told of them: process:object, from the beginning on";

/// Write some of the events of a trace as another trace: a span of time, processes, kinds of events
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Events keep their names, fields, values, times and threads. Lost events and \
    packets stay counted if they were lost in the span; what is cut away is not called lost. The \
    new trace is CTF 1.8.\n\nThe status is 0 when all was written, 1 when the old trace is damaged \
    or being recorded or no event was chosen, 2 on an error; then nothing was written."
)]
pub struct TrimArgs {
    /// The trace [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub trace: Option<PathBuf>,

    /// The directory of the new trace, which must not hold anything
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Times of day in --from and --to are UTC
    #[arg(long)]
    pub utc: bool,

    /// Say what was written as a JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &TrimArgs) -> anyhow::Result<i32> {
    let selection = Selection::new(&args.selection)?;
    if selection.is_everything() {
        bail!(
            "nothing says which events to keep; give --from, --to, -e, --pid, --tid, --cpu or \
             --comm"
        );
    }
    let trace = derived::only(args.trace.as_ref(), "trim")?;
    let traces = std::slice::from_ref(&trace);
    let span = selection.span(traces, args.utc)?;
    let names = |_, class: &EventClass| vec![class.name.to_string(), event_name(class).into()];
    let rules = selection.rules(traces, &names)?;
    let wanted: Vec<bool> = trace
        .event_classes()
        .map(|class| selection.wants(&[&class.name, event_name(class)], class.log_level))
        .collect();
    let take = |event: &Event<'_>, thread: Option<&RecordedThread>| {
        wanted.get(event.class().index) == Some(&true) && rules.take(event, thread.map(who))
    };
    let chooses = rules.has_conditions() || !wanted.iter().all(|is_wanted| *is_wanted);
    let part = Part {
        span,
        take: chooses.then_some(&take),
        environment: environment(&trace),
        ..Part::default()
    };
    let is_nameless = loses_names(&trace, &wanted, span.from.is_some() || rules.has_conditions());
    let options =
        Options { format: Format::Ctf1, order: ByteOrder::Little, for_trace_compass: false };
    derived::refuse_within(traces, &args.output)?;
    let new = derived::claim(&args.output)?;
    let mut progress = Progress::new(traces);
    let done = derived::write(&trace, (options, part), &new.output, &mut progress);
    progress.finish();
    let done = done?;
    let path = new.output.path().display().to_string();
    new.keep();
    let status = derived::tell(&trace, &done);
    match args.json {
        true => stdout::write(&(summary(&path, &done) + "\n"))?,
        false => say(&text(&path, &done)),
    }
    if done.events > 0 {
        if is_nameless {
            say(NAMELESS);
        }
        return Ok(status);
    }
    let names = trace.event_classes().map(|class| &*class.name);
    match wanted.contains(&true) {
        true => say("no event of the trace meets all that is asked for"),
        false => say(&nearest::no_match(selection.patterns(), names)),
    }
    Ok(derived::INCOMPLETE)
}

/// Whether events are kept that have addresses, and not all that names them. `cuts`: of the events
/// of a kind not all are kept.
fn loses_names(trace: &Trace, wanted: &[bool], cuts: bool) -> bool {
    let classes = || trace.event_classes().zip(wanted);
    let has_address = |class: &EventClass| {
        analysis::has_stack(class) || LOCKS.iter().any(|kind| event_name(class).starts_with(kind))
    };
    let is_lost =
        |class: &EventClass, is_wanted: bool| event_name(class) == OBJECTS && (cuts || !is_wanted);
    classes().any(|(class, is_wanted)| *is_wanted && has_address(class))
        && classes().any(|(class, is_wanted)| is_lost(class, *is_wanted))
}

/// What a trace of Lull's has to say of itself that the whole recording did not.
fn environment(trace: &Trace) -> Vec<(String, EnvironmentValue)> {
    let metadata = trace.metadata();
    if metadata.environment_text("tracer_name") != Some("lull") {
        return Vec::new();
    }
    let old = metadata.environment_text(NOTES).unwrap_or("");
    let is_told = old.lines().any(|line| line == NOTE);
    let lines = old.lines().chain((!is_told).then_some(NOTE));
    let notes = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    vec![
        (NOTES.into(), EnvironmentValue::Text(notes)),
        (PART.into(), EnvironmentValue::Text("yes".into())),
    ]
}

fn text(path: &str, done: &Converted) -> String {
    let (events, packets) = (done.lost_events, done.lost_packets);
    let lost = match (events, packets) {
        (0, 0) => String::new(),
        _ => format!("; {events} events and {packets} packets were lost in their time"),
    };
    format!("{path}: {} events written{lost}", done.events)
}

fn summary(path: &str, done: &Converted) -> String {
    json!({
        "version": 1,
        "trace": path,
        "events": done.events,
        "left_out_in_span": done.left_out,
        "lost_events": done.lost_events,
        "lost_packets": done.lost_packets,
        "problems": done.problems.len(),
    })
    .to_string()
}
