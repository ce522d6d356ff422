// SPDX-License-Identifier: MIT
//! The table of events, and how many there are of each name.
//!
//! Place in the flow: `index` finds the event of a line's number, and its text is that of `lull
//! print --json`. A search reads a bounded number of events and says where it stopped.

use std::fmt;

use regex_lite::{Regex, RegexBuilder};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{json, Value};

use super::library::Loaded;
use super::query::Query;
use super::{Answer, Status};
use crate::source::Row;

/// Lines of one answer, and events that a search reads.
const MOST_LINES: u64 = 1000;
const MOST_SEARCHED: u64 = 1_000_000;
/// Events that a search backwards reads at once.
const STEP: u64 = 8192;
/// The bytes that an expression may take once it is understood.
const MOST_EXPRESSION_BYTES: usize = 1 << 16;
/// The mark of what a search has found.
const HIGHLIGHT: u32 = 8;

/// Numbers of columns are positions. Viewers find the time by the name of its column.
const COLUMNS: [(&str, &str, &str); 8] = [
    ("Timestamp ns", "when it was, in nanoseconds of the clock", "TIMESTAMP"),
    ("Event type", "the name of the event", "STRING"),
    ("Contents", "its fields", "STRING"),
    ("CPU", "the processor that recorded it", "NUMBER"),
    ("Thread", "the name of its thread", "STRING"),
    ("PID", "the number of its process", "NUMBER"),
    ("TID", "the number of its thread", "NUMBER"),
    ("Context", "what was recorded beside its fields", "STRING"),
];

pub(super) fn columns() -> Answer {
    let mut model: Vec<Value> = Vec::new();
    for (id, (name, description, kind)) in COLUMNS.iter().enumerate() {
        model.push(json!({ "id": id, "name": name, "description": description, "type": kind }));
    }
    Answer::new(model, Status::Completed, None)
}

/// Members of an object in their order, each with its text.
#[derive(Default)]
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl Members {
    /// As a person reads them. `symbols`: of call stacks, what stands for their addresses.
    fn shown(&self, symbols: Option<&Members>) -> String {
        let shown = |(name, value): &(String, Box<RawValue>)| {
            let mut symbols = symbols.iter().flat_map(|symbols| &symbols.0);
            let places = symbols.find(|(stack, _)| stack == name);
            let stack = places.and_then(|(_, places)| stack(value.get(), places.get()));
            format!("{name}={}", stack.unwrap_or_else(|| value.get().to_string()))
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join(", ")
    }
}

/// A frame that was found in a copy of a stack.
#[derive(Deserialize)]
struct Frame {
    address: u64,
    place: Option<String>,
}

/// The frames of a call stack by their functions; addresses of those without a name.
fn stack(addresses: &str, places: &str) -> Option<String> {
    let text = |(address, place): (u64, Option<String>)| match place {
        Some(place) => place,
        None => format!("{address:#x}"),
    };
    let frames: Vec<String> = match serde_json::from_str::<Vec<Frame>>(places) {
        Ok(frames) if !frames.is_empty() => {
            frames.into_iter().map(|frame| text((frame.address, frame.place))).collect()
        }
        _ => {
            let addresses: Vec<u64> = serde_json::from_str(addresses).ok()?;
            let places: Vec<Option<String>> = serde_json::from_str(places).ok()?;
            let places = places.into_iter().chain(std::iter::repeat(None));
            addresses.into_iter().zip(places).map(text).collect()
        }
    };
    Some(format!("[{}]", frames.join(", ")))
}

#[derive(Default, Deserialize)]
struct Thread {
    name: Option<String>,
}

/// What of an event's text has columns.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Printed {
    thread: Option<Thread>,
    fields: Option<Members>,
    context: Option<Members>,
    symbols: Option<Members>,
}

impl Printed {
    fn shown(&self, members: Option<&Members>) -> String {
        members.map(|members| members.shown(self.symbols.as_ref())).unwrap_or_default()
    }
}

/// An event whose text is read when a column needs it.
struct Cells<'a, 'r> {
    row: &'a Row<'r>,
    printed: Option<Printed>,
}

impl Cells<'_, '_> {
    fn printed(&mut self) -> &Printed {
        let row = self.row;
        // What is no such object has nothing to show in these columns.
        self.printed
            .get_or_insert_with(|| serde_json::from_slice(&(row.json)()).unwrap_or_default())
    }

    fn get(&mut self, column: usize) -> String {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        match column {
            0 => self.row.time.0.to_string(),
            1 => self.row.name.to_string(),
            2 => {
                let printed = self.printed();
                printed.shown(printed.fields.as_ref())
            }
            3 => text(self.row.cpu),
            4 => text(self.printed().thread.as_ref().and_then(|thread| thread.name.as_ref())),
            5 => text(self.row.pid),
            6 => text(self.row.tid),
            _ => {
                let printed = self.printed();
                printed.shown(printed.context.as_ref())
            }
        }
    }
}

/// What lines are to have, column by column.
struct Search(Vec<(usize, Regex)>);

impl Search {
    fn of(query: &Query) -> Result<Self, String> {
        let mut all = Vec::new();
        for (column, text) in query.table_search_expressions.iter().flatten() {
            let column = column.parse().ok().filter(|column| *column < COLUMNS.len());
            let column = column.ok_or("table_search_expressions name no such column")?;
            let regex = RegexBuilder::new(text).size_limit(MOST_EXPRESSION_BYTES).build();
            all.push((column, regex.map_err(|error| format!("{text}: {error}"))?));
        }
        Ok(Self(all))
    }

    fn finds(&self, cells: &mut Cells<'_, '_>) -> bool {
        self.0.iter().all(|(column, regex)| regex.is_match(&cells.get(*column)))
    }
}

/// Lines that were asked for, as they are found.
struct Lines {
    columns: Vec<usize>,
    count: usize,
    lines: Vec<Value>,
}

impl Lines {
    fn add(&mut self, number: u64, cells: &mut Cells<'_, '_>, search: &Search) {
        let is_found = !search.0.is_empty() && search.finds(cells);
        let tags = if is_found { HIGHLIGHT } else { 0 };
        let is_searched = |column: usize| search.0.iter().any(|(own, _)| *own == column);
        let cell = |column: &usize| {
            let tags = if is_searched(*column) { tags } else { 0 };
            json!({ "content": cells.get(*column), "tags": tags })
        };
        let cells: Vec<Value> = self.columns.iter().map(cell).collect();
        self.lines.push(json!({ "index": number, "cells": cells, "tags": tags }));
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= self.count
    }
}

enum Direction {
    None,
    Next,
    Previous,
}

pub(super) fn lines(loaded: &Loaded, query: &Query) -> Result<Answer, String> {
    let search = Search::of(query)?;
    let columns = match &query.requested_table_column_ids {
        None => (0..COLUMNS.len()).collect(),
        Some(ids) if ids.len() > COLUMNS.len() => {
            return Err("there are not so many columns".into())
        }
        Some(ids) => {
            let column = |id: &i64| usize::try_from(*id).ok().filter(|id| *id < COLUMNS.len());
            ids.iter().map(column).collect::<Option<_>>().ok_or("there is no such column")?
        }
    };
    let count = u64::try_from(query.requested_table_count.unwrap_or(1)).unwrap_or(0);
    let count = count.clamp(1, MOST_LINES) as usize;
    let events = loaded.viewed.events();
    let first = match (query.requested_table_index, query.time()) {
        (Some(index), _) => u64::try_from(index).ok(),
        (None, Some(time)) => loaded.index.at(events, time)?,
        (None, None) => return Err("there is no requested_table_index".into()),
    };
    let direction = match query.table_search_direction.as_deref() {
        _ if search.0.is_empty() => Direction::None,
        None => Direction::None,
        Some("NEXT") => Direction::Next,
        Some("PREVIOUS") => Direction::Previous,
        Some(_) => return Err("table_search_direction is NEXT or PREVIOUS".into()),
    };
    let mut lines = Lines { columns, count, lines: Vec::new() };
    let (mut first, mut note) = (first, None);
    if let (Direction::Previous, Some(last)) = (&direction, first) {
        (first, note) = before(loaded, last, &search)?;
    }
    if let Some(first) = first {
        let mut is_found = !matches!(direction, Direction::Next);
        let mut searched = 0;
        let visited = loaded.index.visit(events, (first, u64::MAX), &mut |number, row| {
            let mut cells = Cells { row, printed: None };
            searched += 1;
            is_found = is_found || search.finds(&mut cells);
            if is_found {
                lines.add(number, &mut cells, &search);
            }
            !lines.is_full() && (is_found || searched < MOST_SEARCHED)
        });
        visited.transpose()?;
        if !is_found && searched >= MOST_SEARCHED {
            note = Some(format!("nothing was found in {MOST_SEARCHED} events"));
        }
    }
    let progress = loaded.index.progress();
    let low = lines.lines.first().and_then(|line| line.get("index")).cloned();
    let model = json!({
        "lowIndex": low.unwrap_or_else(|| first.unwrap_or(0).into()),
        "size": progress.count,
        "columnIds": lines.columns,
        "lines": lines.lines,
    });
    Ok(Answer::new(model, status(loaded), note))
}

/// The last line that is found, from one on backwards, and what there is to say of the search.
fn before(
    loaded: &Loaded,
    last: u64,
    search: &Search,
) -> Result<(Option<u64>, Option<String>), String> {
    let mut until = last.saturating_add(1).min(loaded.index.progress().count);
    let end = until.saturating_sub(MOST_SEARCHED);
    while until > end {
        let from = until.saturating_sub(STEP).max(end);
        let mut found = None;
        let visit = &mut |number: u64, row: &Row<'_>| {
            if number < until && search.finds(&mut Cells { row, printed: None }) {
                found = Some(number);
            }
            number + 1 < until
        };
        loaded.index.visit(loaded.viewed.events(), (from, u64::MAX), visit).transpose()?;
        if found.is_some() {
            return Ok((found, None));
        }
        until = from;
    }
    let note = (end > 0).then(|| format!("nothing was found in {MOST_SEARCHED} events"));
    Ok((None, note))
}

fn status(loaded: &Loaded) -> Status {
    let progress = loaded.index.progress();
    match progress {
        _ if progress.failure.is_some() => Status::Failed,
        _ if progress.is_complete => Status::Completed,
        _ => Status::Running,
    }
}

/// How many events there are of each name, and how many are missing.
pub(super) fn statistics(loaded: &Loaded) -> Answer {
    let total = loaded.index.progress().count;
    let mut by_name = loaded.index.by_name();
    by_name.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let percent = |count: u64| match total {
        0 => String::new(),
        total => format!("{:.2} %", count as f64 * 100.0 / total as f64),
    };
    let mut entries = vec![
        json!({ "id": 0, "labels": ["All events", total.to_string(), percent(total)],
            "hasData": true }),
        json!({ "id": 1, "labels": ["Lost events and packets",
            loaded.viewed.about().lost.to_string(), ""], "hasData": true }),
    ];
    for (number, (name, count)) in by_name.iter().enumerate() {
        let labels = [name.clone(), count.to_string(), percent(*count)];
        entries.push(json!({ "id": number + 2, "parentId": 0, "labels": labels, "hasData": true }));
    }
    let model = json!({
        "headers": [
            { "name": "Event type", "tooltip": "", "dataType": "STRING" },
            { "name": "Events", "tooltip": "in the whole trace", "dataType": "NUMBER" },
            { "name": "Share", "tooltip": "of all events", "dataType": "STRING" },
        ],
        "entries": entries,
        "autoExpandLevel": -1,
    });
    Answer::new(model, status(loaded), loaded.index.progress().failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_stacks_are_shown_by_their_functions_where_these_have_names() {
        let text = r#"{"fields":{"user_stack":[16,17,18446744073709551615],"x":[1,2],
            "user_stack_copy":[1,2,3,4]},"context":{"kernel_stack":[5]},
            "symbols":{"user_stack":["main+0x1",null,"b"],"kernel_stack":["do_work+0x4"],
            "user_stack_copy":[{"address":9,"place":"f+0x2"},{"address":7,"place":null}]}}"#;
        let printed: Printed = serde_json::from_str(text).unwrap();
        assert_eq!(
            printed.shown(printed.fields.as_ref()),
            "user_stack=[main+0x1, 0x11, b], x=[1,2], user_stack_copy=[f+0x2, 0x7]"
        );
        assert_eq!(printed.shown(printed.context.as_ref()), "kernel_stack=[do_work+0x4]");
        let odd = r#"{"fields":{"user_stack":{"fault":"x"}},"symbols":{"user_stack":["a"]}}"#;
        let odd: Printed = serde_json::from_str(odd).unwrap();
        assert_eq!(odd.shown(odd.fields.as_ref()), r#"user_stack={"fault":"x"}"#);
    }
}
