// SPDX-License-Identifier: MIT
//! What is wrong with a query, and where.
//!
//! Place in the flow: the engine's errors become a [`Complaint`]: what is wrong, the line of the
//! query with the place marked, and what to write instead.

use std::fmt;

use datafusion::common::{DataFusionError, SchemaError, Span};

/// An error of the person who wrote the query, or of the machine that ran it.
#[derive(Debug, Clone, PartialEq)]
pub struct Complaint {
    pub what: String,
    /// Line and column, from 1 on, and how many characters.
    pub place: Option<(u64, u64, u64)>,
    pub help: Option<String>,
    /// The query.
    pub sql: String,
}

impl Complaint {
    pub fn new(what: impl Into<String>, sql: &str) -> Self {
        Self { what: what.into(), place: None, help: None, sql: sql.into() }
    }

    pub fn at(self, place: Option<(u64, u64, u64)>) -> Self {
        Self { place, ..self }
    }

    pub fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// What the engine says, with the place that it names.
    pub fn of(error: &DataFusionError, sql: &str) -> Self {
        let root = error.find_root();
        let diagnostic = error.diagnostic();
        let span = diagnostic.and_then(|diagnostic| diagnostic.span);
        let mut helps: Vec<String> = Vec::new();
        if let Some(diagnostic) = diagnostic {
            helps.extend(diagnostic.notes.iter().map(|note| note.message.clone()));
            helps.extend(diagnostic.helps.iter().map(|help| help.message.clone()));
        }
        if matches!(root, DataFusionError::ResourcesExhausted(_)) {
            helps.push(MORE_MEMORY.into());
        }
        let mut what = match root {
            DataFusionError::SQL(error, _) => error.to_string(),
            DataFusionError::SchemaError(error, _) => schema_error(error),
            other => other.strip_backtrace(),
        };
        for prefix in ["sql parser error: ", "Error during planning: ", "Execution error: "] {
            if let Some(rest) = what.strip_prefix(prefix) {
                what = rest.to_string();
            }
        }
        let told = place_in(&what);
        if let Some((before, _)) = what.split_once(" at Line: ") {
            what = before.to_string();
        }
        let place = span.map(of_span).or(told);
        let help = (!helps.is_empty()).then(|| helps.join("; "));
        Self { what, place, help, sql: sql.into() }
    }
}

/// What to do where what cannot go to files finds no space.
const MORE_MEMORY: &str = "--memory gives a query more; ORDER BY with a LIMIT and most joins are \
                           kept in memory, which is why --spill does not help";

fn schema_error(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, .. } => {
            format!("no column is named {}", field.quoted_flat_name())
        }
        other => other.to_string(),
    }
}

fn of_span(span: Span) -> (u64, u64, u64) {
    let length = match span.start.line == span.end.line {
        true => span.end.column.saturating_sub(span.start.column).max(1),
        false => 1,
    };
    (span.start.line, span.start.column, length)
}

/// The parser writes the place behind what it says: `at Line: 1, Column: 8`.
fn place_in(text: &str) -> Option<(u64, u64, u64)> {
    let (_, rest) = text.rsplit_once("Line: ")?;
    let (line, rest) = rest.split_once(", Column: ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((line.parse().ok()?, rest.get(..digits)?.parse().ok()?, 1))
}

/// How many characters of the query's line are shown on each side of the place.
const AROUND: usize = 60;

/// The message, then the line with the place under it, then what to do.
impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some((line, column, length)) = self.place {
            let at = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
            if let Some(text) = at.and_then(|at| self.sql.lines().nth(at)) {
                let [before, after] = around(text, column.saturating_sub(1) as usize);
                let marks = (length as usize).clamp(1, after.chars().count().max(1));
                let indent = " ".repeat(before.chars().count());
                write!(f, "\n  {before}{after}\n  {indent}{}", "^".repeat(marks))?;
            }
        }
        if let Some(help) = &self.help {
            write!(f, "\n  {help}")?;
        }
        Ok(())
    }
}

/// What is shown of a line before and after a place in it: what is left out of either end of a long
/// line is "...".
fn around(text: &str, place: usize) -> [String; 2] {
    let characters: Vec<char> = text.chars().collect();
    let place = place.min(characters.len());
    let first = place.saturating_sub(AROUND);
    let last = (place + AROUND).min(characters.len());
    let part = |range: std::ops::Range<usize>| {
        verdict::shown::shown(&characters[range].iter().collect::<String>()).into_owned()
    };
    let dots = |left_out: bool| if left_out { "..." } else { "" };
    [
        format!("{}{}", dots(first > 0), part(first..place)),
        format!("{}{}", part(place..last), dots(last < characters.len())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_without_space_is_told_what_gives_it_more() {
        let error = DataFusionError::ResourcesExhausted("no space for TopK".into());
        let said = Complaint::of(&error, "SELECT 1").to_string();
        assert!(said.contains("no space for TopK") && said.contains("--memory"), "{said}");
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let sql = format!("SELECT\n{}!{}", "a".repeat(1000), "b".repeat(1000));
        let shown = Complaint::new("wrong", &sql).at(Some((2, 1001, 1))).to_string();
        let [_, line, mark] = shown.lines().collect::<Vec<_>>().try_into().unwrap();
        let (a, b) = ("a".repeat(AROUND), "b".repeat(AROUND - 1));
        assert_eq!(line, format!("  ...{a}!{b}..."));
        assert_eq!(mark.find('^'), line.find('!'));
        // The place may lie behind the line's end.
        let end = Complaint::new("wrong", "SELECT").at(Some((1, 7, 3))).to_string();
        assert_eq!(end, "wrong\n  SELECT\n        ^");
    }
}
