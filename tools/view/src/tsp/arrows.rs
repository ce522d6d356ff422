// SPDX-License-Identifier: MIT
//! Arrows of the time line: from the thread that left a processor to the one that came.
//!
//! Place in the flow: the history says which thread each processor ran, in the order in which that
//! ended. Between two threads that follow one another without a gap there is an arrow; where a
//! processor was idle, or events are missing, there is none. An answer has at most one for each
//! processor and part of the span, and says where reading stopped.

use std::collections::BTreeMap;

use history::{Interval, Kind, Subject, Value};
use serde_json::json;

use super::library::Loaded;
use super::query::Query;
use super::{Answer, Status};
use crate::ask::between;
use trace::Ns;

/// States of processors that are read for one answer, and arrows in it.
const MOST_READ: u64 = 400_000;
const MOST_ARROWS: usize = 20_000;

/// What a processor ran last: which thread, until when, and in which part there was an arrow.
#[derive(Clone, Copy)]
struct Last {
    interval: Interval,
    part: Option<i128>,
}

pub(super) fn arrows(loaded: &Loaded, query: &Query) -> Result<Answer, String> {
    let cut = query.cut()?;
    let history = loaded.viewed.history();
    let row_of: BTreeMap<Subject, usize> = loaded
        .viewed
        .tracks()
        .subjects()
        .filter_map(|(subject, id)| Some((subject, loaded.timeline().of_track(id)?)))
        .collect();
    let part = |at: Ns| {
        (i128::from(at.0) - i128::from(cut.from.0)) * i128::from(cut.pixels) / cut.width_ns()
    };
    let mut last: BTreeMap<Subject, Last> = BTreeMap::new();
    let (mut found, mut read, mut stopped) = (Vec::new(), 0, None);
    let is_running = |track: &history::Track| track.kind == Kind::Runs;
    let visited = history.visit_ended(&between(cut.span()), is_running, |track, interval| {
        read += 1;
        if read > MOST_READ || found.len() >= MOST_ARROWS {
            stopped = Some(interval.begin);
            return false;
        }
        let before = last.get(&track.subject).copied();
        let mut at = Last { interval, part: before.and_then(|before| before.part) };
        if let Some(before) = before.filter(|before| before.interval.end == interval.begin) {
            let own = part(interval.begin);
            let ends = (before.interval.value, interval.value);
            let (Value::Runs(source), Value::Runs(target)) = ends else {
                last.insert(track.subject, at);
                return true;
            };
            let row = |thread| row_of.get(&Subject::Thread(thread)).copied();
            if let (Some(source), Some(target)) = (row(source), row(target)) {
                if at.part != Some(own) && source != target {
                    found.push(json!({ "sourceId": source, "targetId": target,
                        "start": before.interval.end.0, "end": interval.begin.0,
                        "style": { "parentKey": null, "values": { "color": "#666666" } } }));
                    at.part = Some(own);
                }
            }
        }
        last.insert(track.subject, at);
        true
    });
    visited.map_err(|error| error.to_string())?;
    let note = stopped.map(|at: Ns| format!("arrows are shown up to {} ns", at.0));
    Ok(Answer::new(found, Status::Completed, note))
}
