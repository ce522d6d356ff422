// SPDX-License-Identifier: MIT
//! Stacks of a span: time in calls, time off the CPU, or events that carry call stacks.
//!
//! Place in the flow: `analysis` finds them as for `lull report flame`; here are the span, whose
//! stacks are meant, and the bounds. The page draws them.

use analysis::{Cell, FlameOf, Options, Question};
use serde::Serialize;
use state::{ThreadIndex, Threads};

use crate::answer::Viewed;
use crate::ask::{between, Ask};
use crate::lost;
use crate::tracks::Track;

/// Events that are read.
const MOST_READ: u64 = 2_000_000;
/// Stacks that are told; the others are added up.
const MOST_STACKS: usize = 4000;

#[derive(Debug, Serialize)]
struct Stack {
    /// The outermost first: a process, its thread, and what is in it.
    frames: Vec<String>,
    value: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Flame {
    /// What was added up: `ns` or `events`.
    measure: &'static str,
    /// What the stacks are of, in words.
    of: String,
    /// The largest first.
    stacks: Vec<Stack>,
    /// Of all stacks, those that are not told included.
    total: u64,
    left_out: usize,
    events: u64,
    /// Events from here on were not read.
    stopped: Option<i64>,
    lost: u64,
    notes: Vec<String>,
}

pub(crate) fn tell(viewed: &Viewed, ask: &Ask) -> Result<Flame, String> {
    of_some(viewed, ask, (MOST_READ, MOST_STACKS))
}

/// The same of the first so many events, and at most so many stacks.
pub(crate) fn of_some(
    viewed: &Viewed,
    ask: &Ask,
    (most_read, most_stacks): (u64, usize),
) -> Result<Flame, String> {
    let origin = viewed.history().begin();
    let span = ask.span(origin)?;
    let of = match ask.text("of").filter(|of| !of.is_empty()) {
        None => None,
        Some("calls") => Some(FlameOf::Calls),
        Some("waits") => Some(FlameOf::Waits),
        Some("stacks") => Some(FlameOf::Stacks),
        Some(_) => return Err("a flame graph is of=calls, waits or stacks".into()),
    };
    let track = match ask.text("track").filter(|id| !id.is_empty()) {
        Some(id) => Some(viewed.tracks().get(id).ok_or("there is no such track")?),
        None => None,
    };
    if track.is_some_and(|track| track.kind == "cpu") {
        return Err("stacks are of threads: name a machine, a process or a thread".into());
    }
    let whose = |threads: &Threads, thread| track.is_none_or(|track| is_of(track, threads, thread));
    let goes_on = || !ask.patience.is_over();
    let options = Options {
        whose: track.is_some().then_some(&whose),
        span: between(span),
        most_events: Some(most_read),
        goes_on: Some(&goes_on),
        names: Some(viewed.names().clone()),
        ..Options::default()
    };
    let named = analysis::named("flame").ok_or("there is no such analysis")?;
    let question = Question { flame_of: of, ..Question::default() };
    let answer = analysis::ask(named, &question, viewed.traces(), &options, |_| {})
        .map_err(|error| error.to_string())?;
    let (report, mut sheet) = (answer.report, answer.sheet);
    let table = sheet.tables.pop().ok_or("there are no stacks")?;
    let mut stacks: Vec<Stack> = table.rows.iter().filter_map(|row| stack(row)).collect();
    let total = stacks.iter().fold(0u64, |sum, stack| sum.saturating_add(stack.value));
    let left_out = stacks.len().saturating_sub(most_stacks);
    stacks.truncate(most_stacks);
    let is_count = table.columns.iter().any(|column| column.key == "count");
    if stacks.is_empty() {
        sheet.notes.push(table.when_empty.into());
    }
    Ok(Flame {
        measure: if is_count { "events" } else { "ns" },
        of: table.title.into(),
        stacks,
        total,
        left_out,
        events: report.events,
        stopped: report.is_cut.then_some(report.end_ns.saturating_sub(origin.0)),
        lost: lost::count(viewed.history().losses(), span, None),
        notes: sheet.notes,
    })
}

/// Whether a thread is of a machine, of a process, or itself what a track is of.
fn is_of(track: &Track, threads: &Threads, thread: ThreadIndex) -> bool {
    let process = threads.process_of(thread);
    let known = threads.processes().get(process.0 as usize);
    known.is_some_and(|known| known.host == track.host)
        && (track.kind == "machine" || threads.pid(process) == track.pid)
        && (track.kind != "thread" || threads.tid(thread) == track.tid)
}

fn stack(row: &[Cell]) -> Option<Stack> {
    let [Cell::Text(frames), Cell::Ns(value) | Cell::Count(value)] = row else { return None };
    Some(Stack { frames: frames.split(';').map(str::to_string).collect(), value: *value })
}
