// SPDX-License-Identifier: MIT
//! Where events are missing, as annotations.
//!
//! Place in the flow: regions are those of `lost`. Each is told for the whole chart, on the rows
//! of the processor that lost the events, and on the other rows of its machine, because what
//! happened there may be incomplete, too. It is the only category there is.

use std::collections::BTreeMap;

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
    let mut by_cpu: BTreeMap<(u32, Option<u32>), Vec<&Region>> = BTreeMap::new();
    for region in &regions {
        by_cpu.entry((region.host, region.cpu)).or_default().push(region);
    }
    // Of one processor, with what may be on it; or of all of a machine.
    let on = |host: u32, cpu: Option<u32>| {
        let is_it = move |(own, _): &(&(u32, Option<u32>), _)| {
            own.0 == host && (cpu.is_none() || own.1.is_none() || own.1 == cpu)
        };
        by_cpu.iter().filter(is_it).flat_map(|(_, regions)| regions.iter().copied())
    };
    let all = loaded.viewed.tracks().all();
    let asked = query.items()?.iter().filter_map(|item| {
        let entry = loaded.timeline().get(*item)?;
        Some((*item, all.get(entry.track)?))
    });
    let (on_cpus, elsewhere): (Vec<_>, Vec<_>) = asked.partition(|(_, track)| track.cpu.is_some());
    let rows = on_cpus.iter().chain(&elsewhere);
    let of_rows = rows.flat_map(|(row, track)| on(track.host, track.cpu).map(|r| (r, *row)));
    let of_chart = regions.iter().map(|region| (region, CHART));
    let mut wanted = of_chart.chain(of_rows);
    let told: Vec<Value> = wanted
        .by_ref()
        .take(MOST_ANNOTATIONS)
        .map(|(region, row)| annotation(region, row))
        .collect();
    let note = wanted.next().map(|_| "some annotations of rows are not shown".to_string());
    let model = json!({ "annotations": { CATEGORY: told } });
    Ok(Answer::new(model, Status::Completed, note))
}
