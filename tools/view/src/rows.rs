// SPDX-License-Identifier: MIT
//! A page of events, each as `lull print --json` has it.
//!
//! Place in the flow: the page asks from a time on and says how many events from there on it has
//! already; the answer says where the next page begins. Integers beyond what a script counts
//! exactly become strings of their digits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trace::{Ns, Span};

use crate::ask::{Ask, Filter};
use crate::patience::Patience;
use crate::source::{Events, Row};

/// Rows of one answer, and events that are read for it.
const MOST_ROWS: usize = 500;
const MOST_SCANNED: u64 = 1_000_000;
/// The largest integer that a script tells from its neighbours.
const MOST_EXACT: u64 = (1 << 53) - 1;

/// Where another page begins.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Next {
    from: i64,
    /// Events from there on that were told already: those of this time, and, where a clock goes
    /// backwards, those of earlier times that follow them.
    skip: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Told {
    /// Nanoseconds since the first event.
    at: i64,
    /// The number of its trace.
    trace: usize,
    event: Box<RawValue>,
    /// Which of its texts are integers.
    #[serde(skip_serializing_if = "Option::is_none")]
    integers: Option<Integers>,
}

/// The names of those fields and contexts in which every text is an integer that a script would
/// have rounded.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Integers {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context: Vec<String>,
}

impl Integers {
    /// Of an event as `lull print --json` has it.
    fn of(event: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Parts<'a> {
            #[serde(borrow, default)]
            fields: BTreeMap<String, &'a RawValue>,
            #[serde(borrow, default)]
            context: BTreeMap<String, &'a RawValue>,
        }
        let Parts { fields, context } = serde_json::from_str(event).ok()?;
        let is_its = |value: &RawValue| {
            let text = value.get();
            !text.contains('"') && exact(text).len() > text.len()
        };
        let named = |part: BTreeMap<String, &RawValue>| {
            part.into_iter().filter(|(_, value)| is_its(value)).map(|(name, _)| name).collect()
        };
        Some(Self { fields: named(fields), context: named(context) })
    }
}

impl Told {
    pub fn new(row: &Row<'_>, origin: Ns) -> Result<Self, String> {
        let json = (row.json)();
        let json = String::from_utf8_lossy(&json);
        let text = exact(&json);
        // Only what is rounded becomes longer.
        let integers = Some(&json).filter(|json| json.len() < text.len());
        let integers = integers.and_then(|json| Integers::of(json));
        let event = RawValue::from_string(text)
            .map_err(|error| format!("an event could not be told: {error}"))?;
        let at = row.time.0.saturating_sub(origin.0);
        Ok(Self { at, trace: row.trace, event, integers })
    }

    /// About what it takes as text.
    pub fn bytes(&self) -> u64 {
        self.event.get().len() as u64 + 32
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Page {
    rows: Vec<Told>,
    /// How many events were read to find them.
    scanned: u64,
    next: Option<Next>,
    /// Which functions have no names, and which names are not verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Which events are on a page.
pub(crate) struct Question {
    /// What times of the answer count from.
    pub origin: Ns,
    pub from: Ns,
    pub until: Option<Ns>,
    /// Events from `from` on that come before the page.
    pub skip: u64,
    pub limit: usize,
    pub filter: Filter,
    pub patience: Patience,
}

impl Question {
    pub fn of(ask: &Ask, origin: Ns) -> Result<Self, String> {
        Ok(Self {
            origin,
            from: ask.time("from", origin)?.unwrap_or(origin),
            until: ask.time("until", origin)?,
            skip: ask.number("skip")?.unwrap_or(0),
            limit: ask.number("limit")?.unwrap_or(MOST_ROWS),
            filter: ask.filter()?,
            patience: ask.patience.clone(),
        })
    }
}

pub(crate) fn page(events: &dyn Events, question: &Question) -> Result<Page, String> {
    let Question { origin, from, until, mut skip, limit, ref filter, ref patience } = *question;
    if until.is_some_and(|until| until <= from) {
        return Err("until is after from".into());
    }
    let limit = limit.clamp(1, MOST_ROWS);
    let offset = |time: Ns| time.0.saturating_sub(origin.0);
    let mut rows: Vec<Told> = Vec::new();
    // The latest time that was reached, and how many events were told or skipped since then.
    let mut last = (from, 0);
    let (mut is_full, mut failure) = (false, None);
    let mut take = |row: &Row<'_>| {
        if patience.is_over() {
            return false;
        }
        if rows.len() == limit {
            is_full = true;
            return false;
        }
        last = if row.reached > last.0 { (row.reached, 1) } else { (last.0, last.1 + 1) };
        if skip > 0 {
            skip -= 1;
            return true;
        }
        match Told::new(row, origin) {
            Ok(told) => rows.push(told),
            Err(error) => failure = Some(error),
        }
        failure.is_none()
    };
    let span = Span { from: Some(from), until };
    let visited = events.visit(filter, &span, MOST_SCANNED, &mut take)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let next = match visited.stopped {
        _ if is_full => Some(Next { from: offset(last.0), skip: last.1 }),
        Some(at) if at == last.0 => Some(Next { from: offset(at), skip: last.1 }),
        Some(at) => Some(Next { from: offset(at), skip: 0 }),
        None => None,
    };
    Ok(Page { rows, scanned: visited.scanned, next, notes: events.notes() })
}

/// The same JSON, in which integers that a script would round are strings. The order of fields
/// stays as it is in the trace.
fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = match from.starts_with('"') {
            true => string_length(from),
            false => from.find(|c: char| !is_of_number(c)).unwrap_or(from.len()),
        };
        let (token, after) = from.split_at(length);
        match is_rounded(token) {
            true => out.extend(["\"", token, "\""]),
            false => out.push_str(token),
        }
        rest = after;
    }
    out + rest
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')
}

/// The length of the string that a text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_rounded(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer && digits.parse().map_or(true, |number: u64| number > MOST_EXACT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_a_script_would_round_become_strings() {
        let text = r#"{"z":9007199254740991,"a":[9007199254740992,-9007199254740993],
            "c":1.5e300,"d\"9007199254740992":"9007199254740992 \\","e":18446744073709551615}"#;
        let wanted = r#"{"z":9007199254740991,"a":["9007199254740992","-9007199254740993"],
            "c":1.5e300,"d\"9007199254740992":"9007199254740992 \\","e":"18446744073709551615"}"#;
        assert_eq!(exact(text), wanted);
        assert_eq!(exact("\"cut"), "\"cut");
        assert_eq!(exact(""), "");
    }

    #[test]
    fn integers_are_told_from_texts_of_digits() {
        let text = r#"{"name":"a:b","fields":{"id":18446744073709551615,"n":7,
            "text":"9007199254740993","all":[1,9007199254740993],"mixed":{"n":9007199254740993}},
            "context":{"text":18446744073709551615,"id":"18446744073709551615"}}"#;
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let (fields, context) = (names(&["all", "id"]), names(&["text"]));
        assert_eq!(Integers::of(text), Some(Integers { fields, context }));
        assert_eq!(Integers::of("{\"fields\":3}"), None);
    }
}
