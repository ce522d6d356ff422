// SPDX-License-Identifier: MIT
//! `unusual`: windows of time in which the rate of an event or the latency of a call left the range
//! that it has in most of the trace.
//!
//! Place in the flow: counts and sums by window and name; in the end the usual range of each name
//! is the median of its windows and their median absolute deviation (MAD), which a few odd windows
//! do not move.

use std::cmp::Reverse;

use state::{NameIndex, PairIndex};

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::by_time::{Scale, Series};
use crate::error::Error;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};

/// Names and pairs that are told apart; each takes 4 KiB.
const ROWS_MAX: usize = 1 << 12;
/// Fewer windows have no usual range.
const WINDOWS_MIN: usize = 16;
/// Calls in a window whose mean says something.
const CALLS_MIN: u64 = 3;
/// How many deviations from the median are usual. The deviation is the MAD times 1.4826, which for
/// a normal distribution is the standard deviation.
const DEVIATIONS: f64 = 6.0;
const MAD_TO_DEVIATION: f64 = 1.4826;
/// Latencies that differ by a smaller part of the median are not unusual, however regular.
const PART_MIN: f64 = 0.25;

const UNUSUAL: [Column; 9] = [
    text("what", "what", 0),
    text("name", "of", 0),
    number("begin_ns", "from", 0),
    number("duration_ns", "for", 0),
    number("value", "was", 0),
    number("usual", "usual", 0),
    number("usual_min", "at least", 1),
    number("usual_max", "at most", 1),
    number("deviations", "deviations", 2),
];

struct Unusual {
    scale: Scale,
    rates: Rows<NameIndex, Series>,
    latencies: Rows<PairIndex, Series>,
}

pub(super) fn make<'t>(_start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    let (rates, latencies) = (Rows::new(ROWS_MAX), Rows::new(ROWS_MAX));
    Ok(Box::new(Unusual { scale: Scale::new(), rates, latencies }))
}

/// A stretch of windows outside of the usual range.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    first: usize,
    last: usize,
    /// The value that is farthest from the usual.
    value: f64,
    deviations: f64,
}

/// The range that most values are in.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    median: f64,
    deviation: f64,
}

impl Study for Unusual {
    fn event(&mut self, moment: &Moment<'_>) {
        let at = moment.event.time_ns();
        self.scale.reach(at);
        if !moment.is_taken {
            return;
        }
        self.rates.row(moment.step.name).add(&self.scale, at, 0);
        if let Some((pair, begin)) = moment.step.done.and_then(|done| done.pair.zip(done.begin)) {
            self.latencies.row(pair).add(&self.scale, at, since(begin, at));
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        // The last window is cut off.
        let count = self.scale.window(end.last);
        let classes = end.state.classes();
        let mut rows: Vec<(f64, Vec<Cell>)> = Vec::new();
        for (name, series) in self.rates.iter_mut() {
            let windows = series.windows(&self.scale, count);
            let counts: Vec<Option<f64>> = windows.iter().map(|w| Some(w.count as f64)).collect();
            let name = name.and_then(|name| classes.names().get(name.0 as usize));
            let name = name.map_or(Cell::Others, |name| Cell::text(&name.text));
            // A count of events that come independently varies by its square root.
            let least = |median: f64| median.sqrt().max(1.0);
            told(&mut rows, ("rate", name, Cell::Number), &self.scale, &counts, least);
        }
        for (pair, series) in self.latencies.iter_mut() {
            let windows = series.windows(&self.scale, count);
            let mean = |window: &crate::by_time::Window| {
                (window.count >= CALLS_MIN).then(|| window.sum as f64 / window.count as f64)
            };
            let means: Vec<Option<f64>> = windows.iter().map(mean).collect();
            let name = pair.and_then(|pair| classes.pair(pair));
            let name = name.map_or(Cell::Others, |pair| Cell::text(&pair.name));
            let least = |median: f64| median * PART_MIN / DEVIATIONS;
            let cell = |ns: f64| Cell::Ns(ns.round() as u64);
            told(&mut rows, ("latency", name, cell), &self.scale, &means, least);
        }
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let table = Table {
            key: "windows",
            title: "Windows outside of the usual range, the farthest first",
            when_empty: "No window is outside of its usual range.",
            columns: &UNUSUAL,
            rows: rows.into_iter().map(|(_, cells)| cells).collect(),
        };
        let mut sheet = Sheet { tables: vec![table], ..Sheet::default() };
        sheet.fact("window_ns", "Width of a window", Cell::Ns(self.scale.width_ns()));
        sheet.fact("windows", "Windows", Cell::Count(count as u64));
        sheet.notes.push(format!(
            "The usual range is the median of all windows and {DEVIATIONS} deviations to both \
             sides. A deviation is 1.4826 times the median absolute deviation; for rates at least \
             the square root of the median, for latencies at least so much that a quarter of the \
             median is usual. Latencies are means of windows with {CALLS_MIN} calls or more; \
             rates are events in a window. The last window is cut off and left out.",
        ));
        if count < WINDOWS_MIN {
            sheet.notes.push("The trace is too short to have a usual range.".into());
        }
        sheet
    }
}

/// Adds the rows of a name. `cell` makes a cell of a value.
fn told(
    rows: &mut Vec<(f64, Vec<Cell>)>,
    (what, name, cell): (&'static str, Cell, fn(f64) -> Cell),
    scale: &Scale,
    values: &[Option<f64>],
    least: impl Fn(f64) -> f64,
) {
    let Some(range) = range(values, least) else { return };
    for stretch in stretches(values, range) {
        let width = scale.width_ns();
        let windows = (stretch.last - stretch.first + 1) as u64;
        let margin = DEVIATIONS * range.deviation;
        let (low, high) = ((range.median - margin).max(0.0), range.median + margin);
        rows.push((
            stretch.deviations,
            vec![
                Cell::text(what),
                name.clone(),
                Cell::At(scale.begin_of(stretch.first).0),
                Cell::Ns(width.saturating_mul(windows)),
                cell(stretch.value),
                cell(range.median),
                cell(low),
                cell(high),
                Cell::Number(stretch.deviations),
            ],
        ));
    }
}

fn range(values: &[Option<f64>], least: impl Fn(f64) -> f64) -> Option<Range> {
    let mut known: Vec<f64> = values.iter().copied().flatten().collect();
    if known.len() < WINDOWS_MIN {
        return None;
    }
    let median = median(&mut known)?;
    let mut away: Vec<f64> = known.iter().map(|value| (value - median).abs()).collect();
    let deviation = (self::median(&mut away)? * MAD_TO_DEVIATION).max(least(median));
    Some(Range { median, deviation })
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}

/// Neighbours on the same side are one stretch.
fn stretches(values: &[Option<f64>], range: Range) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (window, value) in values.iter().enumerate() {
        let Some(value) = *value else { continue };
        let deviations = (value - range.median).abs() / range.deviation;
        if deviations.is_nan() || deviations <= DEVIATIONS {
            continue;
        }
        let stretch = Stretch { first: window, last: window, value, deviations };
        match stretches.last_mut() {
            Some(last)
                if last.last + 1 == window
                    && (last.value > range.median) == (value > range.median) =>
            {
                last.last = window;
                if deviations > last.deviations {
                    (last.value, last.deviations) = (value, deviations);
                }
            }
            _ => stretches.push(stretch),
        }
    }
    stretches.sort_by_key(|stretch| Reverse(stretch.last - stretch.first));
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_of_the_median_and_odd_windows_do_not_move_it() {
        let mut values: Vec<Option<f64>> = (0..20).map(|i| Some(f64::from(10 + i % 3))).collect();
        values[5] = Some(1e6);
        values[6] = Some(2e6);
        values[11] = None;
        let range = range(&values, |_| 0.1).unwrap();
        assert_eq!(range, Range { median: 11.0, deviation: 1.4826 });
        let found = stretches(&values, range);
        assert_eq!((found.len(), found[0].first, found[0].last), (1, 5, 6));
        assert_eq!(found[0].value, 2e6);
        assert_eq!(super::range(&values[..8], |_| 0.1), None);
    }

    #[test]
    fn value_that_never_changes_has_the_least_deviation() {
        let values = vec![Some(100.0); 30];
        assert_eq!(range(&values, f64::sqrt).unwrap().deviation, 10.0);
    }
}
