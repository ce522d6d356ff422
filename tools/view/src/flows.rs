// SPDX-License-Identifier: MIT
//! What let threads go on: arrows from the event that did to where the thread went on.
//!
//! Place in the flow: the history has them, but for those that reach over a loss. The page asks for
//! those of a selected slice, or of the rows in view, and draws them.

use std::collections::HashSet;

use history::{Cause, History, Interval, Kind, Subject, Value};
use serde::Serialize;
use trace::Ns;

use crate::ask::{between, Ask};
use crate::slices::asked_tracks;
use crate::tracks::Tracks;

/// Arrows of one answer, and those that are read for it.
const MOST_ARROWS: usize = 2000;
const MOST_READ: u64 = 1_000_000;

/// Where an arrow begins or ends.
#[derive(Debug, Serialize)]
pub(crate) struct End {
    /// `None`: in a row that is not there.
    pub track: Option<String>,
    pub at: i64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Arrow {
    /// `wake` or `lock`.
    kind: &'static str,
    /// What happened to the thread at its end.
    label: String,
    pub from: End,
    pub to: End,
}

#[derive(Debug, Serialize)]
pub(crate) struct Arrows {
    /// In the order in which they end.
    arrows: Vec<Arrow>,
    /// There are more than an answer holds.
    is_cut: bool,
    /// Those that end later were not read.
    stopped: Option<i64>,
}

pub(crate) fn tell(history: &History, tracks: &Tracks, ask: &Ask) -> Result<Arrows, String> {
    of_some(history, tracks, ask, MOST_READ)
}

/// The same of the first so many arrows.
pub(crate) fn of_some(
    history: &History,
    tracks: &Tracks,
    ask: &Ask,
    most: u64,
) -> Result<Arrows, String> {
    let origin = history.begin();
    let span = ask.span(origin)?;
    let asked: HashSet<&str> = asked_tracks(ask)?.into_iter().filter(|id| !id.is_empty()).collect();
    let limit = ask.number("limit")?.unwrap_or(MOST_ARROWS).clamp(1, MOST_ARROWS);
    let (mut read, mut told) = (0, Arrows { arrows: Vec::new(), is_cut: false, stopped: None });
    let takes = |end: &End| end.track.as_deref().is_some_and(|id| asked.contains(id));
    visit(history, tracks, (origin, span), &mut |arrow| {
        read += 1;
        if read > most || (read % 1024 == 0 && ask.patience.is_over()) {
            told.stopped = Some(arrow.to.at);
        } else if asked.is_empty() || takes(&arrow.from) || takes(&arrow.to) {
            told.is_cut = told.arrows.len() == limit;
            if !told.is_cut {
                told.arrows.push(arrow);
            }
        }
        !told.is_cut && told.stopped.is_none()
    })?;
    Ok(told)
}

/// Hands out the arrows that have a time in common with a span, ends included, in the order in
/// which they end, until `take` says `false`. Times count from `origin`.
pub(crate) fn visit(
    history: &History,
    tracks: &Tracks,
    (origin, (from, until)): (Ns, (Ns, Ns)),
    take: &mut dyn FnMut(Arrow) -> bool,
) -> Result<(), String> {
    let names = history.names();
    let id = |subject| tracks.of_subject(subject).map(|track| track.id.clone());
    let wide = between((Ns(from.0.saturating_sub(1)), Ns(until.0.saturating_add(1))));
    let is_flow = |track: &history::Track| track.kind == Kind::Flow;
    let visited = history.visit_ended(&wide, is_flow, |track, interval| {
        let Interval { begin, end, value, .. } = interval;
        let host = || match track.subject {
            Subject::Thread(_) => tracks.of_subject(track.subject).map_or(0, |track| track.host),
            _ => 0,
        };
        let (kind, source) = match value {
            Value::Woken(Cause::Thread(by)) => ("wake", Subject::Thread(by)),
            Value::Woken(Cause::Interrupt { cpu, .. } | Cause::Idle(cpu)) => {
                ("wake", Subject::Cpu { host: host(), cpu })
            }
            Value::LetGo { by, .. } => ("lock", Subject::Thread(by)),
            _ => return true,
        };
        let offset = |at: Ns| at.0.saturating_sub(origin.0);
        let from = End { track: id(source), at: offset(begin) };
        let to = End { track: id(track.subject), at: offset(end) };
        take(Arrow { kind, label: names.value(&value), from, to })
    });
    visited.map_err(|error| error.to_string())
}
