// SPDX-License-Identifier: MIT
//! Counts as one line of JSON: docs/formats/count.md.
//!
//! Place in the flow: `display` writes a line each time and one at the end.

use super::display::Display;
use super::{table, value};
use crate::shown::json_shown;
use consumer::consumer::{CountedEvent, Counts};
use serde_json::{json, Map, Number, Value as Json};
use session::counts::{Cell, Distribution, Value};
use verdict::Verdict;

/// `verdict`: at the end only.
pub(super) fn line(
    display: &Display,
    counts: &Counts,
    seconds: f64,
    verdict: Option<&Verdict>,
) -> String {
    let mut line = json!({
        "version": 1,
        "final": verdict.is_some(),
        "seconds": seconds,
        "events": counts.events.iter().map(|event| self::event(display, event)).collect::<Vec<_>>(),
        "unfinished": counts.unfinished,
    });
    if let (Some(verdict), Some(object)) = (verdict, line.as_object_mut()) {
        let mut verdict = serde_json::to_value(verdict).unwrap_or_default();
        if let Some(verdict) = verdict.as_object_mut() {
            verdict.remove("trace"); // there is none
        }
        object.insert("verdict".into(), verdict);
    }
    format!("{}\n", json_shown(&line.to_string()))
}

fn event(display: &Display, event: &CountedEvent) -> Json {
    let mut told = Map::new();
    told.insert("event".into(), event.description.name.as_str().into());
    told.insert("count".into(), table::total(event).into());
    if display.tells_apart() {
        told.insert("others".into(), event.rest.into());
        let rows = table::sorted(event).into_iter().map(|(by, cell)| row(display, event, by, cell));
        told.insert("values".into(), rows.collect::<Vec<_>>().into());
    }
    told.into()
}

fn row(display: &Display, event: &CountedEvent, by: &[Value], cell: &Cell) -> Json {
    let mut row = Map::new();
    if !by.is_empty() {
        let values = display.by.iter().zip(by).map(|(name, found)| {
            (name.clone(), value::json(found, value::kind_of(&event.description, name)))
        });
        row.insert("by".into(), values.collect::<Map<String, Json>>().into());
    }
    row.insert("count".into(), cell.total().into());
    if display.hist.is_some() {
        row.insert("distribution".into(), distribution(&cell.distribution));
    }
    row.into()
}

fn distribution(found: &Distribution) -> Json {
    let number =
        |value: Option<i128>| value.and_then(Number::from_i128).map_or(Json::Null, Json::from);
    let buckets = found.buckets().map(|bucket| {
        json!({
            "from": number(Some(bucket.from)),
            "until": number(Some(bucket.until)),
            "count": bucket.count,
        })
    });
    json!({
        "count": found.count(),
        "min": number(found.least()),
        "p50": number(found.quantile(500)),
        "p90": number(found.quantile(900)),
        "p99": number(found.quantile(990)),
        "max": number(found.greatest()),
        "buckets": buckets.collect::<Vec<_>>(),
    })
}
