// SPDX-License-Identifier: MIT
//! Events over time, as series of numbers.
//!
//! Place in the flow: counts are those of `ticks`, for each processor and for each machine. From
//! afar they are bytes that were written, and the name of the series says so. A series ends where
//! counting did: what was not counted is not shown as nothing.

use serde::Serialize;
use serde_json::{json, Value};

use super::library::Loaded;
use super::query::Query;
use super::{Answer, Status};
use crate::ticks;
use crate::tracks::Track;

/// Series of one answer, and numbers in all of them.
const MOST_SERIES: usize = 1024;
const MOST_VALUES: usize = 1 << 20;
/// Events that are counted for one answer.
const MOST_COUNTED: u64 = 300_000;

/// Machines and their processors: numbers of their rows in the time line, and the rows above.
fn series(loaded: &Loaded) -> impl Iterator<Item = (usize, Option<usize>, &Track)> {
    let timeline = loaded.timeline();
    loaded.viewed.tracks().all().iter().filter_map(|track| {
        let is_one = track.kind == "machine" || track.kind == "cpu";
        let above = track.parent.as_ref().and_then(|id| timeline.of_track(id));
        is_one.then_some((timeline.of_track(&track.id)?, above, track))
    })
}

pub(super) fn tree(loaded: &Loaded) -> Answer {
    let entries = series(loaded).take(MOST_SERIES).map(|(id, above, track)| {
        let is_machine = above.is_none();
        let mut entry = json!({
            "id": id, "labels": [track.name], "hasData": true, "isDefault": is_machine,
            "style": { "parentKey": null, "values": { "series-type": "line" } },
        });
        if let (Some(above), Some(entry)) = (above, entry.as_object_mut()) {
            entry.insert("parentId".into(), above.into());
        }
        entry
    });
    let model = json!({
        "headers": [{ "name": "Name", "tooltip": "machines and processors" }],
        "entries": entries.collect::<Vec<_>>(),
        "autoExpandLevel": 1,
    });
    Answer::new(model, Status::Completed, None)
}

pub(super) fn xy(loaded: &Loaded, query: &Query) -> Result<Answer, String> {
    let cut = query.cut()?;
    let items = query.items()?;
    let (filter, patience) = Default::default();
    let question = ticks::Question { cut, start: None, most: MOST_COUNTED, filter, patience };
    let counted = loaded.viewed.ticks(&question)?;
    // The parts that were counted to their ends.
    let is_counted = |part: i128| {
        let edge = i128::from(cut.from.0) + cut.width_ns() * (part + 1) / i128::from(cut.pixels);
        counted.stopped.is_none_or(|stopped| edge <= i128::from(stopped))
    };
    let begin = |part: i128| {
        let at = i128::from(cut.from.0) + cut.width_ns() * part / i128::from(cut.pixels);
        i64::try_from(at).unwrap_or(i64::MAX)
    };
    let parts = (0..i128::from(cut.pixels)).take_while(|part| is_counted(*part));
    let times: Vec<i64> = parts.map(begin).collect();
    let wanted = series(loaded).filter(|(id, ..)| items.contains(&(*id as i64)));
    let most = (MOST_VALUES / times.len().max(1)).min(MOST_SERIES);
    let mut wanted = wanted.peekable();
    let told = wanted.by_ref().take(most).map(|(id, _, track)| {
        let mut values = vec![0_u64; times.len()];
        // Each event is in one row that is of no thread.
        let is_its = |row: &&ticks::Row| {
            let is_here = row.key.host == track.host && row.key.tid.is_none();
            is_here && (track.cpu.is_none() || track.cpu == row.key.cpu)
        };
        for row in counted.rows.iter().filter(is_its) {
            for (part, count) in &row.counts {
                if let Some(value) = values.get_mut(*part as usize) {
                    *value = value.saturating_add(*count);
                }
            }
        }
        let name = format!("{} ({})", track.name, counted.measure);
        one(id, name, (&times, values), counted.measure)
    });
    let series: Vec<Series<'_>> = told.collect();
    let title = match counted.measure {
        "bytes" => "Bytes written, by packets",
        _ => "Events",
    };
    let stopped = counted.stopped.map(|at| format!("events are counted up to {at} ns"));
    let note = match wanted.peek() {
        Some(_) => Some("some series are not shown".into()),
        None => stopped,
    };
    Ok(Answer::new(Model { title, series }, Status::Completed, note))
}

#[derive(Serialize)]
struct Model<'a> {
    title: &'a str,
    series: Vec<Series<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Series<'a> {
    series_id: usize,
    series_name: String,
    x_values: &'a [i64],
    y_values: Vec<u64>,
    x_values_description: Value,
    y_values_description: Value,
    style: Value,
}

fn one<'a>(
    series_id: usize,
    series_name: String,
    (x_values, y_values): (&'a [i64], Vec<u64>),
    unit: &str,
) -> Series<'a> {
    Series {
        series_id,
        series_name,
        x_values,
        y_values,
        x_values_description: json!({ "label": "Time", "unit": "ns", "dataType": "TIMESTAMP" }),
        y_values_description: json!({ "label": unit, "unit": "", "dataType": "NUMBER" }),
        style: json!({ "parentKey": null, "values": { "series-type": "line" } }),
    }
}
