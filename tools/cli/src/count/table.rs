// SPDX-License-Identifier: MIT
//! Counts for people: a row for each event and values, and histograms.
//!
//! Place in the flow: `display` prints the text whole each time.

use super::display::Display;
use super::value;
use crate::report::look::Look;
use crate::report::table::{Kind, Table};
use crate::shown::shown;
use consumer::consumer::{CountedEvent, Counts};
use session::counts::{Cell, Distribution, Value};
use verdict::number::grouped;

/// What occurrences are counted under that found no room.
const OTHERS: &str = "(others)";
/// Histograms in one text: those of the rows with the most occurrences.
const HISTOGRAMS: usize = 5;
const BAR_COLUMNS: u64 = 40;

impl Display {
    pub(super) fn tells_apart(&self) -> bool {
        !self.by.is_empty() || self.hist.is_some()
    }
}

/// All occurrences of an event.
pub(super) fn total(event: &CountedEvent) -> u64 {
    event.cells.values().fold(event.rest, |sum, cell| sum.saturating_add(cell.total()))
}

/// The cells of an event, those with the most occurrences first.
pub(super) fn sorted(event: &CountedEvent) -> Vec<(&[Value], &Cell)> {
    let mut cells: Vec<_> = event.cells.iter().map(|(by, cell)| (by.as_slice(), cell)).collect();
    cells.sort_by(|a, b| b.1.total().cmp(&a.1.total()).then_with(|| a.0.cmp(b.0)));
    cells
}

pub(super) fn text(display: &Display, counts: &Counts, look: &Look) -> String {
    if counts.events.is_empty() {
        return "nothing counted\n".into();
    }
    let mut table = columns(display);
    let mut histograms = String::new();
    let mut drawn = 0;
    let mut events: Vec<&CountedEvent> = counts.events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(total(event)));
    for event in events {
        if !display.tells_apart() {
            table.row(vec![event.description.name.clone(), grouped(event.rest)]);
            continue;
        }
        let cells = sorted(event);
        for (by, cell) in cells.iter().take(look.top) {
            let row = row(display, event, by, cell);
            if display.hist.is_some() && !cell.distribution.is_empty() && drawn < HISTOGRAMS {
                drawn += 1;
                histogram(
                    &row[..=display.by.len()].join(" "),
                    &cell.distribution,
                    look,
                    &mut histograms,
                );
            }
            table.row(row);
        }
        let hidden = cells.iter().skip(look.top).map(|(_, cell)| cell.total());
        rest_row(
            display,
            event,
            format!("({} more values)", cells.len().saturating_sub(look.top)),
            hidden.fold(0, u64::saturating_add),
            &mut table,
        );
        rest_row(display, event, OTHERS.into(), event.rest, &mut table);
    }
    let mut out = String::new();
    table.render(look, &mut out);
    out + &histograms
}

fn columns(display: &Display) -> Table {
    let mut table = Table::new().column("event", Kind::Text, 0);
    for name in &display.by {
        table = table.column(name.clone(), Kind::Text, 0);
    }
    table = table.column("count", Kind::Number, 0);
    if display.hist.is_some() {
        for (title, rank) in [("min", 2), ("p50", 0), ("p90", 2), ("p99", 0), ("max", 0)] {
            table = table.column(title, Kind::Number, rank);
        }
    }
    table
}

fn row(display: &Display, event: &CountedEvent, by: &[Value], cell: &Cell) -> Vec<String> {
    let mut row = vec![event.description.name.clone()];
    let values = display.by.iter().zip(by);
    row.extend(
        values.map(|(name, found)| value::text(found, value::kind_of(&event.description, name))),
    );
    row.push(grouped(cell.total()));
    if display.hist.is_some() {
        let found = &cell.distribution;
        let quantiles = [500, 900, 990].map(|part| found.quantile(part));
        let [p50, p90, p99] = quantiles;
        let told = [found.least(), p50, p90, p99, found.greatest()];
        row.extend(told.map(|value| value.map_or_else(|| "-".into(), |value| value.to_string())));
    }
    row
}

/// A row for occurrences without values of their own, if there are any.
fn rest_row(display: &Display, event: &CountedEvent, what: String, count: u64, table: &mut Table) {
    if count == 0 {
        return;
    }
    let name = &event.description.name;
    let mut row = match display.by.is_empty() {
        true => vec![format!("{name} {what}")],
        false => vec![name.clone(), what],
    };
    row.resize(1 + display.by.len(), String::new());
    row.push(grouped(count));
    row.resize(row.len() + if display.hist.is_some() { 5 } else { 0 }, String::new());
    table.row(row);
}

/// Powers of two, each with a bar.
fn histogram(title: &str, found: &Distribution, look: &Look, out: &mut String) {
    let mut powers: Vec<(i128, i128, u64)> = Vec::new();
    for bucket in found.buckets() {
        let (from, until) = power(bucket.from);
        match powers.last_mut().filter(|last| last.0 == from) {
            Some(last) => last.2 = last.2.saturating_add(bucket.count),
            None => powers.push((from, until, bucket.count)),
        }
    }
    let most = powers.iter().map(|power| power.2).max().unwrap_or(1).max(1);
    let name = |(from, until, _): &(i128, i128, u64)| match (*from < 0, from == until) {
        (true, _) => "below 0".to_string(),
        (_, true) => from.to_string(),
        _ => format!("{from} .. {until}"),
    };
    let width = powers.iter().map(|power| name(power).len()).max().unwrap_or(0);
    let counts = powers.iter().map(|power| grouped(power.2).len()).max().unwrap_or(0);
    let block = if look.is_utf8 { "█" } else { "#" };
    out.push_str(&format!("\n{}\n", shown(title)));
    for power in &powers {
        let part = u128::from(power.2) * u128::from(BAR_COLUMNS) / u128::from(most);
        let bar = block.repeat((part as usize).max(1));
        let (label, count) = (name(power), grouped(power.2));
        out.push_str(&format!("  {label:>width$}  {count:>counts$}  {bar}\n"));
    }
}

/// The power of two that a value lies in: its first and its last value.
fn power(value: i128) -> (i128, i128) {
    match value {
        i128::MIN..=-1 => (i64::MIN.into(), -1),
        0 | 1 => (value, value),
        _ => {
            let from = 1i128 << (127 - value.leading_zeros());
            (from, 2 * from - 1)
        }
    }
}
