// SPDX-License-Identifier: MIT
//! Where events are missing, as annotations.
//!
//! Place in the flow: regions are those of `lost`. Each is told for the whole chart, on the rows
//! of the processor that lost the events, and on the other rows of its machine, because what
//! happened there may be incomplete, too. It is the only category there is.

use serde_json::{json, Value};

use super::library::Loaded;
use super::query::Query;
use super::{Answer, Status};
use crate::lost::{self, Region};

pub(super) const CATEGORY: &str = "Lost events";
const COLOUR: &str = "#c62828";
/// Annotations of one answer. Those of the chart and of processors come first.
const MOST_ANNOTATIONS: usize = 20_000;
/// The row of what is on no row.
const CHART: i64 = -1;

pub(super) fn categories() -> Answer {
    Answer::new(json!({ "annotationCategories": [CATEGORY] }), Status::Completed, None)
}

fn annotation(region: &Region, row: i64) -> Value {
    let place = match region.cpu {
        Some(cpu) => format!("on CPU {cpu}"),
        None => "on some CPU".into(),
    };
    let noun = if region.count == 1 { "event or packet is" } else { "events or packets are" };
    let opacity = if row == CHART { 0.25 } else { 1.0 };
    json!({
        "entryId": row,
        "type": "CHART",
        "time": region.begin,
        "duration": region.until.saturating_sub(region.begin),
        "label": format!("{} {noun} missing {place}", region.count),
        "style": { "parentKey": null, "values": {
            "color": COLOUR, "opacity": opacity, "symbol-type": "cross", "height": 1.0 } },
    })
}

pub(super) fn annotations(loaded: &Loaded, query: &Query) -> Result<Answer, String> {
    let categories = query.requested_marker_categories.as_ref();
    let is_wanted = |wanted: &Vec<String>| wanted.iter().any(|category| category == CATEGORY);
    if !categories.is_none_or(is_wanted) {
        return Ok(Answer::new(json!({ "annotations": {} }), Status::Completed, None));
    }
    let history = loaded.viewed.history();
    let regions = lost::regions(history.losses(), &query.cut_or_all(history)?).regions;
    let all = loaded.viewed.tracks().all();
    let asked = query.items()?.iter().filter_map(|item| {
        let entry = loaded.timeline().get(*item)?;
        Some((*item, all.get(entry.track)?))
    });
    let (on_cpus, elsewhere): (Vec<_>, Vec<_>) = asked.partition(|(_, track)| track.cpu.is_some());
    let mut told: Vec<Value> = Vec::new();
    let mut left_out = 0_u64;
    let mut tell = |region: &Region, row: i64| match told.len() < MOST_ANNOTATIONS {
        true => told.push(annotation(region, row)),
        false => left_out += 1,
    };
    regions.iter().for_each(|region| tell(region, CHART));
    for (row, track) in on_cpus.iter().chain(&elsewhere) {
        let may_be = |region: &&Region| {
            let is_here = track.cpu.is_none() || region.cpu.is_none() || region.cpu == track.cpu;
            region.host == track.host && is_here
        };
        regions.iter().filter(may_be).for_each(|region| tell(region, *row));
    }
    let note = (left_out > 0).then(|| format!("{left_out} annotations of rows are not shown"));
    let model = json!({ "annotations": { CATEGORY: told } });
    Ok(Answer::new(model, Status::Completed, note))
}
