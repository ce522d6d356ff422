// SPDX-License-Identifier: MIT
//! The states of some tracks in a span, drawn for so many pixels.
//!
//! Place in the flow: the history's overview keeps, for each pixel, the state that took most of
//! it. An answer has at most one slice for each pixel of each row, whatever the trace has.

use history::{Drawn, Far, History, Interval, Kind, Names, Subject, Value};
use rustc_hash::FxHashMap;
use serde::ser::{SerializeSeq, SerializeStruct, Serializer};
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

/// States of a row that are drawn as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub begin: i64,
    pub end: i64,
    /// Number of what it says.
    pub value: usize,
    pub goes_on: bool,
    /// How many states in a row it stands for.
    pub states: u64,
}

/// Slices of one row.
#[derive(Debug)]
pub(crate) struct Row {
    pub track: String,
    pub kind: &'static str,
    pub lane: u32,
    pub slices: Vec<Slice>,
}

/// Tens of thousands of slices are one list of small numbers: most begin where the one before
/// ended, and a page makes no object of each.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let open = self.slices.iter().enumerate().filter(|(_, slice)| slice.goes_on);
        let goes_on: Vec<usize> = open.map(|(at, _)| at).collect();
        let mut row = serializer.serialize_struct("Row", 5)?;
        row.serialize_field("track", &self.track)?;
        row.serialize_field("kind", self.kind)?;
        row.serialize_field("lane", &self.lane)?;
        row.serialize_field("slices", &Numbers(&self.slices))?;
        row.serialize_field("goes_on", &goes_on)?;
        row.end()
    }
}

/// Four numbers of each slice: the time since the end of the one before, how long it is, what it
/// says, and how many states it stands for.
struct Numbers<'a>(&'a [Slice]);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = serializer.serialize_seq(Some(4 * self.0.len()))?;
        let mut before = 0;
        for &Slice { begin, end, value, states, .. } in self.0 {
            numbers.serialize_element(&begin.saturating_sub(before))?;
            numbers.serialize_element(&end.saturating_sub(begin))?;
            numbers.serialize_element(&value)?;
            numbers.serialize_element(&states)?;
            before = end;
        }
        numbers.end()
    }
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
            let (begin, end) = (cut.offset(begin), cut.offset(end));
            slices.push(Slice { begin, end, value: number, goes_on, states });
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
