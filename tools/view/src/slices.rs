// SPDX-License-Identifier: MIT
//! The states of some tracks in a span, drawn for so many pixels.
//!
//! Place in the flow: the history's overview keeps, for each pixel, the state that took most of
//! it. An answer has at most one slice for each pixel of each row, whatever the trace has.

use history::{Drawn, Far, History, Interval, Kind, Names, Subject, Value};
use rustc_hash::FxHashMap;
use serde::Serialize;
use state::{OffKind, ThreadIndex};
use trace::Ns;

use crate::ask::{between, Ask, Cut};
use crate::patience::Patience;
use crate::tracks::{identifier, kind_name, Tracks};

/// Tracks of one answer, slices of one answer.
const MOST_TRACKS: usize = 200;
const MOST_SLICES: usize = 1 << 17;

/// Which rows, and how they are drawn.
pub(crate) struct Question<'a> {
    pub cut: Cut,
    /// Identifiers of tracks; one that is unknown has no row.
    pub tracks: Vec<&'a str>,
    pub patience: Patience,
}

impl<'a> Question<'a> {
    pub fn of(ask: &'a Ask, origin: Ns) -> Result<Self, String> {
        let (cut, tracks) = (ask.cut(origin)?, asked_tracks(ask)?);
        Ok(Self { cut, tracks, patience: ask.patience.clone() })
    }
}

/// The identifiers of tracks that a question names.
pub(crate) fn asked_tracks(ask: &Ask) -> Result<Vec<&str>, String> {
    let tracks: Vec<&str> = ask.text("tracks").unwrap_or("").split(',').collect();
    match tracks.len() > MOST_TRACKS {
        true => Err(format!("at most {MOST_TRACKS} tracks are drawn at once")),
        false => Ok(tracks),
    }
}

/// What a slice says: `look` decides its colour, `name` stands in it.
#[derive(Debug, Serialize)]
pub(crate) struct Said {
    pub look: &'static str,
    pub name: String,
    pub label: String,
    /// The row of the thread that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

/// Slices of one row: begin, end, number of what it says, whether it goes on, and how many states
/// in a row it stands for.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub track: String,
    pub kind: &'static str,
    pub lane: u32,
    pub slices: Vec<(i64, i64, usize, u8, u64)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    pub values: Vec<Said>,
    pub rows: Vec<Row>,
    /// There were more slices than an answer holds.
    pub is_cut: bool,
}

/// The words of the protocol for what a state looks like.
pub(crate) fn look(value: &Value) -> &'static str {
    match value {
        Value::Unknown => "unknown",
        Value::Running(_) => "running",
        Value::Waiting => "waiting",
        Value::Off(OffKind::Uninterruptible, _) => "blocked",
        Value::Off(..) => "asleep",
        Value::Over | Value::Ended(_) => "over",
        Value::In(_) => "call",
        Value::Runs(_) => "runs",
        Value::Idle => "idle",
        Value::Interrupted { .. } | Value::Served(_) => "interrupt",
        Value::Named(_) | Value::Lives { .. } | Value::Open(_) => "life",
        Value::Awaited { .. } | Value::Woken(_) | Value::LetGo { .. } => "life",
        Value::Held { is_certain: true, .. } => "held",
        Value::Held { .. } => "held_unsure",
        Value::Unheld { .. } => "unheld",
        Value::Queued { .. } => "queue",
    }
}

/// The thread that a state of something else is about.
fn whose(value: &Value) -> Option<ThreadIndex> {
    match *value {
        Value::Runs(by) | Value::Held { by, .. } | Value::Awaited { by, .. } => Some(by),
        Value::Unheld { let_go_by, had_by } => had_by.or(let_go_by),
        _ => None,
    }
}

pub(crate) fn said(names: &Names, value: &Value) -> Said {
    let label = names.value(value);
    let name = match value {
        Value::In(call) => names.call(call).to_string(),
        Value::Runs(thread) | Value::Held { by: thread, .. } => names.thread(*thread),
        Value::Unheld { had_by: Some(by), .. } => format!("until {} let go", names.thread(*by)),
        _ => label.clone(),
    };
    let thread = whose(value).and_then(|thread| identifier(Subject::Thread(thread)));
    Said { look: look(value), name, label, thread }
}

pub(crate) fn draw(
    (history, far): (&History, Option<&Far>),
    tracks: &Tracks,
    Question { cut, tracks: asked, patience }: &Question<'_>,
) -> Result<Answer, String> {
    let known = asked.iter().filter_map(|id| tracks.get(id));
    let by_subject: FxHashMap<Subject, &str> =
        known.filter_map(|track| Some((track.subject?, track.id.as_str()))).collect();
    let takes = |track: &history::Track| {
        !patience.is_over()
            && by_subject.contains_key(&track.subject)
            && kind_name(track.kind).is_some()
    };
    let span = between(cut.span());
    let found = match far.and_then(|far| far.overview(history, &span, cut.pixels, takes)) {
        Some(found) => found,
        None => history.overview(&span, cut.pixels, takes).map_err(|error| error.to_string())?,
    };
    let mut drawn = Answer { values: Vec::new(), rows: Vec::new(), is_cut: false };
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let mut count = 0;
    for (track, intervals) in found {
        let names = by_subject.get(&track.subject).zip(kind_name(track.kind));
        let Some((id, kind)) = names else { continue };
        let mut slices = Vec::with_capacity(intervals.len());
        for Drawn { interval, count: states } in intervals {
            let Interval { begin, end, goes_on, value } = interval;
            count += 1;
            if count > MOST_SLICES {
                drawn.is_cut = true;
                break;
            }
            let number = *numbers.entry(value).or_insert_with(|| {
                drawn.values.push(said(history.names(), &value));
                drawn.values.len() - 1
            });
            slices.push((cut.offset(begin), cut.offset(end), number, u8::from(goes_on), states));
        }
        drawn.rows.push(Row { track: id.to_string(), kind, lane: track.lane, slices });
    }
    Ok(drawn)
}

/// The kinds that a question about one moment tells of, beside those that are drawn.
pub(crate) fn told_kind(kind: Kind) -> &'static str {
    kind_name(kind).unwrap_or(match kind {
        Kind::Name => "name",
        Kind::Open => "open",
        Kind::Waiter => "waiter",
        Kind::Flow => "flow",
        _ => "serves",
    })
}
