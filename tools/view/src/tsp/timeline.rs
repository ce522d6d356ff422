// SPDX-License-Identifier: MIT
//! The time line as a time graph: a tree of rows, and the states of some.
//!
//! Place in the flow: rows are the tracks of the page. A row of this protocol has one state at a
//! time, so what a track has several of, such as calls in one another, stands in rows below its
//! own. States are those of `slices`, a tooltip is that of `details`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use serde_json::{json, Value};

use super::library::Loaded;
use super::query::{Query, MOST_ITEMS};
use super::{Answer, Status};
use crate::ask::Cut;
use crate::details;
use crate::patience::Patience;
use crate::slices;
use crate::tracks::{Track, Tracks};

/// A mark of the protocol: a state that does not have what is looked for.
const DIMMED: u32 = 1;

/// A row: of a track, one kind of state in one lane; none, where a track has no states itself.
pub(super) struct Entry {
    /// The position of its track.
    pub track: usize,
    pub parent: Option<usize>,
    row: Option<(&'static str, u32)>,
    label: String,
}

/// Rows, by their numbers in the protocol.
pub(super) struct Timeline {
    pub entries: Vec<Entry>,
    by_row: HashMap<(usize, &'static str, u32), usize>,
    /// By track: its own row.
    own: Vec<usize>,
    by_track: HashMap<String, usize>,
}

/// The kind of state that stands in a track's own row.
fn own_kind(track: &Track) -> &'static str {
    match track.kind {
        "cpu" => "runs",
        "process" => "life",
        "lock" => "holder",
        _ => "place",
    }
}

impl Timeline {
    pub fn of(tracks: &Tracks) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut by_row, mut by_track) = (HashMap::new(), HashMap::new());
        let mut own = Vec::new();
        for (number, track) in tracks.all().iter().enumerate() {
            let at = entries.len();
            let parent = track.parent.as_ref().and_then(|id| by_track.get(id));
            let parent = parent.and_then(|number: &usize| own.get(*number)).copied();
            let kind = own_kind(track);
            let row = track.lanes.contains_key(kind).then_some((kind, 0));
            entries.push(Entry { track: number, parent, row, label: track.name.clone() });
            own.push(at);
            by_track.insert(track.id.clone(), number);
            by_row.insert((number, kind, 0), at);
            let lanes =
                track.lanes.iter().flat_map(|(kind, count)| (0..*count).map(|l| (*kind, l)));
            for (kind, lane) in lanes.filter(|row| *row != (kind, 0)) {
                let word = match kind {
                    "call" => "calls",
                    "queue" => "threads that wait",
                    other => other,
                };
                let label = match lane {
                    0 => word.to_string(),
                    lane if kind == "holder" => format!("holder {}", lane + 1),
                    lane => format!("{word}, {} deep", lane + 1),
                };
                by_row.insert((number, kind, lane), entries.len());
                let row = Some((kind, lane));
                entries.push(Entry { track: number, parent: Some(at), row, label });
            }
        }
        Self { entries, by_row, own, by_track }
    }

    pub fn get(&self, item: i64) -> Option<&Entry> {
        self.entries.get(usize::try_from(item).ok()?)
    }

    /// A track's own row.
    pub fn of_track(&self, id: &str) -> Option<usize> {
        self.own.get(*self.by_track.get(id)?).copied()
    }
}

#[derive(Serialize)]
struct EntryModel<'a> {
    id: usize,
    #[serde(rename = "parentId", skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    labels: [&'a str; 1],
    start: i64,
    end: i64,
    #[serde(rename = "hasData")]
    has_data: bool,
    metadata: BTreeMap<&'static str, [i64; 1]>,
}

#[derive(Serialize)]
struct TreeModel<'a> {
    headers: [Value; 1],
    entries: Vec<EntryModel<'a>>,
    #[serde(rename = "autoExpandLevel")]
    expanded: u32,
}

pub(super) fn tree(loaded: &Loaded) -> Answer {
    let (history, tracks) = (loaded.viewed.history(), loaded.viewed.tracks());
    let (start, end) = (history.begin().0, history.end().0);
    let all = &loaded.timeline().entries;
    let told = all.iter().take(MOST_ITEMS).enumerate().filter_map(|(id, entry)| {
        let track = tracks.all().get(entry.track)?;
        let numbers = [("cpu", track.cpu.map(i64::from)), ("pid", track.pid), ("tid", track.tid)];
        let known = numbers.into_iter().filter_map(|(name, number)| Some((name, [number?])));
        Some(EntryModel {
            id,
            parent: entry.parent,
            labels: [&entry.label],
            start,
            end,
            has_data: entry.row.is_some(),
            metadata: known.collect(),
        })
    });
    let tooltip = "machines, processors, processes and threads";
    let model = TreeModel {
        headers: [json!({ "name": "Name", "tooltip": tooltip })],
        entries: told.collect(),
        // Machines, and what is on them; threads and their calls are unfolded by who wants them.
        expanded: 2,
    };
    let left_out = all.len().saturating_sub(MOST_ITEMS);
    let note = (left_out > 0).then(|| format!("{left_out} rows are not shown"));
    Answer::new(model, Status::Completed, note)
}

/// What states look like; the colours are those of the page.
pub(super) fn styles() -> Value {
    let style = |name: &str, colour: &str, height: f64| {
        json!({ "parentKey": null, "values": {
            "style-name": name, "background-color": colour, "height": height } })
    };
    json!({ "styles": {
        "running": style("on a processor", "#3d9a50", 1.0),
        "waiting": style("waiting for a processor", "#e5b02f", 0.7),
        "asleep": style("asleep", "#d5dae3", 0.4),
        "held": style("holds the lock", "#8fbf8f", 0.6),
        "held_unsure": style("got the lock, and may have let it go", "#c3dcc3", 0.6),
        "unheld": style("not known to be held", "#e3e6ec", 0.4),
        "queue": style("threads wait", "#e5b02f", 0.4),
        "blocked": style("in an uninterruptible wait", "#d9694a", 0.6),
        "call": style("in a call", "#6f9bd1", 0.9),
        "runs": style("runs a thread", "#5c8fc4", 1.0),
        "idle": style("idle", "#eceff3", 0.3),
        "interrupt": style("in an interrupt", "#b05fb8", 0.8),
        "life": style("lives", "#c9d8ee", 0.5),
        "unknown": style("not known", "#bdbdbd", 0.2),
    } })
}

#[derive(Serialize)]
struct StateModel<'a> {
    start: i64,
    end: i64,
    label: String,
    #[serde(skip_serializing_if = "is_zero")]
    tags: u32,
    style: StyleModel<'a>,
}

#[derive(Serialize)]
struct StyleModel<'a> {
    #[serde(rename = "parentKey")]
    parent: &'a str,
    values: BTreeMap<&'static str, Value>,
}

#[derive(Serialize)]
struct RowModel<'a> {
    #[serde(rename = "entryId")]
    entry: usize,
    states: Vec<StateModel<'a>>,
}

#[derive(Serialize)]
struct RowsModel<'a> {
    rows: Vec<RowModel<'a>>,
}

fn is_zero(tags: &u32) -> bool {
    *tags == 0
}

pub(super) fn states(loaded: &Loaded, query: &Query) -> Result<Answer, String> {
    let timeline = loaded.timeline();
    let all = loaded.viewed.tracks().all();
    let asked: HashSet<usize> =
        query.items()?.iter().filter_map(|item| usize::try_from(*item).ok()).collect();
    let entries = asked.iter().filter_map(|at| timeline.entries.get(*at));
    let tracks: HashSet<usize> =
        entries.filter(|entry| entry.row.is_some()).map(|entry| entry.track).collect();
    let ids = tracks.iter().filter_map(|number| all.get(*number)).map(|track| track.id.as_str());
    let question = slices::Question {
        cut: query.cut()?,
        tracks: ids.collect(),
        patience: Patience::default(),
    };
    let drawn = loaded.viewed.slices(&question)?;
    let (dimmed, wanted) = (query.texts("1"), query.texts("4"));
    let mut rows = Vec::new();
    for row in &drawn.rows {
        let number = timeline.by_track.get(&row.track).copied();
        let entry = number.and_then(|number| timeline.by_row.get(&(number, row.kind, row.lane)));
        let Some(entry) = entry.copied().filter(|entry| asked.contains(entry)) else { continue };
        let mut states = Vec::with_capacity(row.slices.len());
        for slice in &row.slices {
            let (start, end) = (slice.begin, slice.end);
            let said = drawn.values.get(slice.value).filter(|said| said.look != "over");
            let Some(said) = said else { continue };
            let has = |texts: &[String]| {
                let text = said.label.to_lowercase();
                texts.is_empty() || texts.iter().any(|wanted| text.contains(wanted))
            };
            if !has(&wanted) {
                continue;
            }
            let label = match slice.states {
                0 | 1 => said.name.clone(),
                count => format!("{} ×{count}", said.name),
            };
            let tags = if has(&dimmed) { 0 } else { DIMMED };
            let style = StyleModel { parent: said.look, values: BTreeMap::new() };
            states.push(StateModel { start, end, label, tags, style });
        }
        rows.push(RowModel { entry, states });
    }
    rows.sort_by_key(|row| row.entry);
    let note = drawn.is_cut.then(|| "there are more states than an answer holds".to_string());
    Ok(Answer::new(RowsModel { rows }, Status::Completed, note))
}

/// What is known of a row at a time.
pub(super) fn tooltip(loaded: &Loaded, query: &Query) -> Result<Answer, String> {
    let at = query.time().ok_or("a tooltip has a time: requested_times")?;
    let item = query.items()?.first().copied().ok_or("a tooltip has a row: requested_items")?;
    let timeline = loaded.timeline();
    let entry = timeline.get(item).ok_or("there is no such row")?;
    let tracks = loaded.viewed.tracks();
    let track = tracks.all().get(entry.track).ok_or("there is no such row")?;
    let mut told: BTreeMap<&str, String> = BTreeMap::new();
    let is_state = query.requested_element.as_ref();
    if is_state.is_none_or(|element| element.kind.eq_ignore_ascii_case("state")) {
        let cut = Cut { origin: trace::Ns(0), from: at, until: at, pixels: 1 };
        let question = details::Question { origin: cut.origin, track: &track.id, at };
        let details = details::tell(loaded.viewed.history(), tracks, &question)?;
        let is_its = |state: &&details::State| entry.row == Some((state.kind, state.lane));
        if let Some(state) = details.states.iter().find(is_its) {
            told.insert("State", state.label.clone());
            told.insert("Begins at (ns)", state.begin.to_string());
            match state.goes_on {
                true => told.insert("Ends", "not before the trace does".into()),
                false => told.insert("Ends at (ns)", state.until.to_string()),
            };
            let length = state.until.saturating_sub(state.begin);
            told.insert("Lasts (ns)", length.to_string());
        }
        if details.is_lossy {
            let text = "events are missing around this time";
            told.insert("Lost events", text.into());
        }
    }
    told.insert("Track", track.name.clone());
    Ok(Answer::new(told, Status::Completed, None))
}
