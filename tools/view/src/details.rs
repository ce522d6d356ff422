// SPDX-License-Identifier: MIT
//! What is known of one track at one time, with the true begin and end of each state.
//!
//! Place in the flow: the page asks when something is selected, because what it has drawn is cut
//! at pixels.

use history::{History, Interval, Kind, Lost};
use serde::Serialize;
use trace::Ns;

use crate::ask::{between, Ask};
use crate::slices::{said, told_kind, Said};
use crate::tracks::{Track, Tracks};

/// States that one answer tells.
const MOST_STATES: usize = 256;

#[derive(Debug, Serialize)]
pub(crate) struct State {
    pub kind: &'static str,
    pub lane: u32,
    pub label: String,
    /// The row of the thread that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    pub begin: i64,
    pub until: i64,
    pub goes_on: bool,
}

/// Waits for a lock, the first in order.
#[derive(Debug, Serialize)]
pub(crate) struct Waits {
    states: Vec<State>,
    /// With those that are not told.
    count: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Details<'a> {
    track: &'a Track,
    at: i64,
    /// The time of day, as nanoseconds of the clock.
    at_ns: String,
    pub states: Vec<State>,
    /// Of a lock: all waits that have a time in common with the state of its holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Waits>,
    /// Events are missing around this time.
    pub is_lossy: bool,
}

/// What is asked about: a track, by its identifier, and a time.
pub(crate) struct Question<'a> {
    /// What times of the answer count from.
    pub origin: Ns,
    pub track: &'a str,
    pub at: Ns,
}

impl<'a> Question<'a> {
    pub fn of(ask: &'a Ask, origin: Ns) -> Result<Self, String> {
        let at = ask.time("at", origin)?.ok_or("details have a time: at")?;
        Ok(Self { origin, track: ask.text("track").unwrap_or(""), at })
    }
}

pub(crate) fn tell<'a>(
    history: &History,
    tracks: &'a Tracks,
    &Question { origin, track, at }: &Question<'_>,
) -> Result<Details<'a>, String> {
    let track = tracks.get(track).ok_or("there is no such track")?;
    let mut states: Vec<State> = Vec::new();
    let span = between((at, Ns(at.0.saturating_add(1))));
    let is_its = |found: &history::Track| {
        Some(found.subject) == track.subject && !found.kind.is_known_late()
    };
    let mut whole: Option<(Ns, Ns)> = None;
    let mut take = |found: history::Track, interval: Interval| {
        let holds = interval.begin <= at && (at < interval.end || interval.goes_on);
        if (holds || interval.begin == at) && states.len() < MOST_STATES {
            states.push(state(history, origin, (found, &interval)));
            if found.kind == Kind::Holder {
                let (begin, end) = whole.unwrap_or((interval.begin, interval.end));
                whole = Some((begin.min(interval.begin), end.max(interval.end)));
            }
        }
    };
    history.visit(&span, is_its, &mut take).map_err(|error| error.to_string())?;
    states.sort_by_key(|state| (state.kind, state.lane, state.begin));
    let waits = match whole {
        Some(whole) => Some(waits(history, origin, (track, whole))?),
        None => None,
    };
    let is_near = |lost: &Lost| {
        let is_here =
            lost.cpu.is_none() || track.cpu.is_none() || track.cpu == lost.cpu.map(|c| c.0);
        lost.host == track.host && is_here && lost.begin <= at && at <= lost.until
    };
    let is_lossy = history.losses().iter().any(is_near);
    let (at, at_ns) = (at.0.saturating_sub(origin.0), at.0.to_string());
    Ok(Details { track, at, at_ns, states, waits, is_lossy })
}

fn state(history: &History, origin: Ns, (track, interval): (history::Track, &Interval)) -> State {
    let Said { label, thread, .. } = said(history.names(), &interval.value);
    let offset = |time: Ns| time.0.saturating_sub(origin.0);
    State {
        kind: told_kind(track.kind),
        lane: track.lane,
        label,
        thread,
        begin: offset(interval.begin),
        until: offset(interval.end),
        goes_on: interval.goes_on,
    }
}

/// Who waited for a lock at any time of a span.
fn waits(
    history: &History,
    origin: Ns,
    (track, span): (&Track, (Ns, Ns)),
) -> Result<Waits, String> {
    let mut told = Waits { states: Vec::new(), count: 0 };
    let is_wait =
        |found: &history::Track| Some(found.subject) == track.subject && found.kind == Kind::Waiter;
    let visited = history.visit(&between(span), is_wait, |found, interval| {
        told.count += 1;
        if told.states.len() < MOST_STATES {
            told.states.push(state(history, origin, (found, &interval)));
        }
    });
    visited.map_err(|error| error.to_string())?;
    told.states.sort_by_key(|state| (state.begin, state.lane));
    Ok(told)
}
