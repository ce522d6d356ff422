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
/// Of an answer in bytes: columns begin at a multiple of this; how long all numbers of a slice are.
const ALIGNED: usize = 8;
const SLICE_BYTES: usize = 24;

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

impl Row {
    /// The positions of slices whose state had not ended when the trace did.
    fn goes_on(&self) -> Vec<usize> {
        let open = self.slices.iter().enumerate().filter(|(_, slice)| slice.goes_on);
        open.map(|(at, _)| at).collect()
    }

    fn head(&self) -> Head<'_> {
        let Self { track, kind, lane, slices } = self;
        Head { track, kind, lane: *lane, count: slices.len(), goes_on: self.goes_on() }
    }
}

/// Tens of thousands of slices are one list of small numbers: most begin where the one before
/// ended, and a page makes no object of each.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 5)?;
        row.serialize_field("track", &self.track)?;
        row.serialize_field("kind", self.kind)?;
        row.serialize_field("lane", &self.lane)?;
        row.serialize_field("slices", &Numbers(&self.slices))?;
        row.serialize_field("goes_on", &self.goes_on())?;
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

/// A row of an answer in bytes: its slices stand behind the text, in columns.
#[derive(Serialize)]
struct Head<'a> {
    track: &'a str,
    kind: &'static str,
    lane: u32,
    count: usize,
    goes_on: Vec<usize>,
}

#[derive(Serialize)]
struct Heads<'a> {
    values: &'a [Said],
    rows: Vec<Head<'a>>,
    is_cut: bool,
}

impl Answer {
    /// The same in bytes, which a page takes as they are: to read the numbers of a text took it
    /// longer than to draw them.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let heads = self.rows.iter().map(Row::head).collect();
        let told = Heads { values: &self.values, rows: heads, is_cut: self.is_cut };
        let mut text = serde_json::to_vec(&told).map_err(|error| error.to_string())?;
        text.resize(text.len().next_multiple_of(ALIGNED), b' ');
        let size = u32::try_from(text.len()).map_err(|_| "the answer is too long")?;
        let count: usize = self.rows.iter().map(|row| row.slices.len()).sum();
        let mut bytes = Vec::with_capacity(ALIGNED + text.len() + count * SLICE_BYTES);
        bytes.extend(u64::from(size).to_le_bytes());
        bytes.append(&mut text);
        for Row { slices, .. } in &self.rows {
            bytes.extend(slices.iter().flat_map(|slice| (slice.begin as f64).to_le_bytes()));
            bytes.extend(slices.iter().flat_map(|slice| (slice.end as f64).to_le_bytes()));
            bytes.extend(slices.iter().flat_map(|slice| narrow(slice.value as u64)));
            bytes.extend(slices.iter().flat_map(|slice| narrow(slice.states)));
        }
        Ok(bytes)
    }
}

/// Four bytes of a number, or of the greatest that has four.
fn narrow(number: u64) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
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
