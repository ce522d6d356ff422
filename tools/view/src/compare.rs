// SPDX-License-Identifier: MIT
//! What is different in a second trace, over the spans of both that are in view.
//!
//! Place in the flow: `analysis` compares; here are the spans, the bounds, and what a person has to
//! know of each side: how much of its span was read, and how much is missing there.

use analysis::{Options, Report};
use serde::Serialize;
use trace::Ns;

use crate::answer::Viewed;
use crate::ask::{between, Ask};
use crate::lost;

/// Events that are read of each trace.
const MOST_READ: u64 = 2_000_000;
/// Rows that are told of each table; those that differ come first.
const MOST_ROWS: usize = 300;

/// What was read of one trace.
#[derive(Debug, Serialize)]
struct Side {
    events: u64,
    /// Events from here on were not read.
    stopped: Option<i64>,
    lost: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    a: Side,
    b: Side,
    latencies: Rows,
    rates: Rows,
    notes: Vec<String>,
}

/// A table of `analysis`, with the number of rows that have no room.
#[derive(Debug, Serialize)]
struct Rows {
    rows: serde_json::Value,
    left_out: usize,
}

impl Side {
    fn of(viewed: &Viewed, span: (Ns, Ns), report: &Report) -> Self {
        let origin = viewed.history().begin();
        let end = report.end_ns.saturating_sub(origin.0);
        Self {
            events: report.events,
            stopped: report.is_cut.then_some(end),
            lost: lost::count(viewed.history().losses(), span, None),
        }
    }
}

pub(crate) fn tell(first: &Viewed, second: &Viewed, ask: &Ask) -> Result<Compared, String> {
    of_some(first, second, ask, MOST_READ)
}

/// The same of the first so many events of each.
pub(crate) fn of_some(
    first: &Viewed,
    second: &Viewed,
    ask: &Ask,
    most: u64,
) -> Result<Compared, String> {
    let a = ask.span(first.history().begin())?;
    let b = ask.span_of(("b_from", "b_until"), second.history().begin())?;
    let goes_on = || !ask.patience.is_over();
    let options = |span| Options {
        span: between(span),
        most_events: Some(most),
        goes_on: Some(&goes_on),
        ..Options::default()
    };
    let answer =
        analysis::compare((first.traces(), &options(a)), (second.traces(), &options(b)), |_, _| {});
    let other = answer.other.as_ref().ok_or("the second trace was not read")?;
    let rows = |key: &str| -> Result<Rows, String> {
        let mut table = answer.sheet.table(key).cloned().ok_or("nothing was compared")?;
        let left_out = table.rows.len().saturating_sub(MOST_ROWS);
        table.rows.truncate(MOST_ROWS);
        let rows = serde_json::to_value(&table).map_err(|error| error.to_string())?;
        Ok(Rows { rows, left_out })
    };
    Ok(Compared {
        a: Side::of(first, a, &answer.report),
        b: Side::of(second, b, other),
        latencies: rows("latencies")?,
        rates: rows("rates")?,
        notes: answer.sheet.notes.clone(),
    })
}
