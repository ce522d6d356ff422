// SPDX-License-Identifier: MIT
//! The answer of a named analysis for people.
//!
//! Place in the flow: the cells of its sheet get units and are aligned; how complete the trace is
//! stands before them, as in the whole report.

use analysis::{Answer, Cell, Fact, Shape, Table as Told};

use super::look::Look;
use super::number::{bytes, duration, grouped, offset, rate, share};
use super::table::{Kind, Table};
use super::{text, verdict};

const OTHERS: &str = "(others)";

pub(super) fn render(answer: &Answer, look: &Look) -> String {
    let mut out = String::new();
    for (name, report) in [("A: ", Some(&answer.report)), ("B: ", answer.other.as_ref())] {
        let Some(report) = report else { continue };
        if answer.other.is_some() {
            out.push_str(name);
        }
        text::summary(report, look, &mut out);
        verdict::render(report, look, &mut out);
    }
    let begin_ns = answer.report.begin_ns;
    if !answer.sheet.facts.is_empty() {
        out.push('\n');
    }
    for Fact { title, value, .. } in &answer.sheet.facts {
        out.push_str(&format!("{title}: {}\n", crate::shown::shown(&cell(value, begin_ns))));
    }
    for told in &answer.sheet.tables {
        table(told, begin_ns, look, &mut out);
    }
    text::notes(&answer.report, &answer.sheet.notes, look, &mut out);
    out
}

fn table(told: &Told, begin_ns: i64, look: &Look, out: &mut String) {
    if told.rows.is_empty() {
        if !told.when_empty.is_empty() {
            out.push_str(&format!("\n{}\n", told.when_empty));
        }
        return;
    }
    let mut table = Table::new();
    for column in told.columns {
        let kind = match column.shape {
            Shape::Number => Kind::Number,
            Shape::Text => Kind::Text,
            Shape::Path => Kind::Path,
        };
        table = table.column(column.title, kind, column.rank);
    }
    for row in told.rows.iter().take(look.top) {
        table.row(row.iter().map(|value| cell(value, begin_ns)).collect());
    }
    out.push('\n');
    text::section(told.title, table, told.rows.len(), look, out);
}

fn cell(cell: &Cell, begin_ns: i64) -> String {
    match cell {
        Cell::None => String::new(),
        Cell::Others => OTHERS.into(),
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => grouped(*count),
        Cell::Ns(ns) => duration(*ns),
        Cell::Change(ns) if *ns < 0 => format!("-{}", duration(ns.unsigned_abs())),
        Cell::Change(0) => "0".into(),
        Cell::Change(ns) => format!("+{}", duration(ns.unsigned_abs())),
        Cell::At(at) => offset(*at, begin_ns),
        Cell::Bytes(count) => bytes(*count),
        Cell::Share(part) => share(*part),
        Cell::Probability(p) if *p < 0.0001 => "<0.0001".into(),
        Cell::Probability(p) => format!("{p:.4}"),
        Cell::Number(number) => rate(*number),
        Cell::Id(number) => number.to_string(),
    }
}

/// The analyses and what they tell.
pub(super) fn list() -> String {
    let widest = analysis::NAMED.iter().map(|named| named.name.len()).max().unwrap_or(0);
    let line = |named: &analysis::Named| format!("{:widest$}  {}\n", named.name, named.summary);
    let analyses: String = analysis::NAMED.iter().map(line).collect();
    format!("{analyses}\n`lull report NAME [TRACE]`; a folder that is called like one is ./NAME\n")
}
