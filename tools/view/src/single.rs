// SPDX-License-Identifier: MIT
//! A page that is one file, with a range of the traces in it.
//!
//! Place in the flow: `lull export --html` asks for it. The file has the rows, states, losses and
//! events of the range, each as it is; `viewer/src/inside.ts` answers the page's questions from
//! them. A file that would be too large is not written: the error says what part would fit.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use history::{Interval, Subject, Value};
use serde::Serialize;
use trace::{Ns, Span};

use crate::answer::{About, Viewed};
use crate::ask::{between, Filter};
use crate::flows::{self, Arrow};
use crate::lost::{self, Region};
use crate::page::{self, Asks};
use crate::rows::Told;
use crate::slices::{said, told_kind, Row, Said, Slice};
use crate::tracks::Track;

/// What a state takes in the file, about; an event takes what its text does.
const STATE_BYTES: u64 = 24;
/// What an arrow takes, about.
const ARROW_BYTES: u64 = 160;
/// How often a range is halved to find one that fits.
const MOST_HALVINGS: u32 = 40;

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingleError {
    /// The range is too much.
    #[error("the page would have more than {most_bytes} bytes{}", part_text(*.fits))]
    TooLarge {
        /// How much was allowed.
        most_bytes: u64,
        /// Of the range that was asked for, a part at its beginning that does fit.
        fits: Option<(Ns, Ns)>,
    },
    /// The filter makes no sense, or the traces cannot be read.
    #[error("{0}")]
    Asked(String),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// The program has no page.
    #[error("this lull was built without the viewer's page")]
    NoPage,
}

fn part_text(fits: Option<(Ns, Ns)>) -> String {
    match fits {
        Some((from, until)) => {
            let width = until.0.saturating_sub(from.0);
            format!("; its first {} µs fit: --from {} --to {}", width / 1000, from.0, until.0)
        }
        None => ", and so would its beginning: choose fewer events, or allow more".into(),
    }
}

/// What is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Single {
    /// Events of the range.
    pub events: u64,
    /// Events and packets that are missing in it.
    pub lost: u64,
    /// The length of the page.
    pub bytes: u64,
}

#[derive(Serialize)]
struct Data<'a> {
    about: About<'a>,
    hosts: &'a [u32],
    tracks: Vec<&'a Track>,
    values: Vec<Said>,
    rows: Vec<Row>,
    lost: Vec<Region>,
    flows: Vec<Arrow>,
    events: Vec<Told>,
}

/// What states say, the states by row, and the tracks that have any.
struct States {
    values: Vec<Said>,
    rows: Vec<Row>,
    seen: BTreeSet<String>,
}

/// What is counted while it is collected.
struct Room {
    left: u64,
}

impl Room {
    fn take(&mut self, bytes: u64) -> Result<(), Failed> {
        self.left = self.left.checked_sub(bytes).ok_or(Failed::Large)?;
        Ok(())
    }
}

enum Failed {
    Large,
    Asked(String),
}

impl Viewed {
    /// Writes the page with what a filter lets through of a range, in at most so many bytes.
    ///
    /// # Errors
    ///
    /// [`SingleError`]; nothing is written but for `Write`.
    pub fn write_single(
        &self,
        range: &Span,
        filter: &Filter,
        most_bytes: u64,
        out: &mut dyn Write,
    ) -> Result<Single, SingleError> {
        let (before, after) = page::around(Asks::Nobody).ok_or(SingleError::NoPage)?;
        let frame = (before.len() + after.len()) as u64;
        let (begin, end) = (self.history().begin(), self.history().end());
        let from = range.from.unwrap_or(begin).clamp(begin, end);
        let last = Ns(end.0.saturating_add(1));
        let until = range.until.unwrap_or(last).clamp(Ns(from.0.saturating_add(1)), last);
        let room = most_bytes.saturating_sub(frame);
        let (text, single) = match self.data((from, until), filter, room) {
            Ok(found) => found,
            Err(Failed::Asked(reason)) => return Err(SingleError::Asked(reason)),
            Err(Failed::Large) => {
                let fits = self.fitting((from, until), filter, room);
                return Err(SingleError::TooLarge { most_bytes, fits });
            }
        };
        out.write_all(before.as_bytes())?;
        out.write_all(&text)?;
        out.write_all(after.as_bytes())?;
        Ok(Single { bytes: frame + text.len() as u64, ..single })
    }

    /// The longest of the halves, quarters and so on, from its beginning, that is small enough.
    fn fitting(&self, (from, until): (Ns, Ns), filter: &Filter, room: u64) -> Option<(Ns, Ns)> {
        let mut width = until.0.saturating_sub(from.0);
        for _ in 0..MOST_HALVINGS {
            width /= 2;
            if width == 0 {
                return None;
            }
            let until = Ns(from.0.saturating_add(width));
            if self.data((from, until), filter, room).is_ok() {
                return Some((from, until));
            }
        }
        None
    }

    /// The data as text that can stand within a page.
    fn data(
        &self,
        span: (Ns, Ns),
        filter: &Filter,
        most_bytes: u64,
    ) -> Result<(Vec<u8>, Single), Failed> {
        let mut room = Room { left: most_bytes };
        let events = self.events_of(span, filter, &mut room)?;
        let States { values, mut rows, seen } = self.states_of(span, &mut room)?;
        let flows = self.flows_of(span, &seen, &mut room)?;
        rows.sort_by(|a, b| (&a.track, a.kind, a.lane).cmp(&(&b.track, b.kind, b.lane)));
        let lost = lost::all(self.history().losses(), span);
        let missing = lost.iter().fold(0, |sum: u64, region| sum.saturating_add(region.count));
        let mut about = self.about();
        about.origin_ns = span.0 .0.to_string();
        about.length_ns = span.1 .0.saturating_sub(span.0 .0);
        about.lost = missing;
        let notes = [self.notes(), &self.events().notes()].concat();
        about.notes = &notes;
        let tracks = self.tracks().seen(&seen);
        let single = Single { events: events.len() as u64, lost: missing, bytes: 0 };
        let hosts = self.hosts();
        let data = Data { about, hosts, tracks, values, rows, lost, flows, events };
        let text = serde_json::to_vec(&data).map_err(|error| Failed::Asked(error.to_string()))?;
        let text = page::within(&text);
        match text.len() as u64 <= most_bytes {
            true => Ok((text, single)),
            false => Err(Failed::Large),
        }
    }

    fn events_of(
        &self,
        span: (Ns, Ns),
        filter: &Filter,
        room: &mut Room,
    ) -> Result<Vec<Told>, Failed> {
        let (mut told, mut failed) = (Vec::new(), None);
        let asked = self.events().visit(filter, &between(span), u64::MAX, &mut |row| {
            let added = Told::new(row, span.0).map_err(Failed::Asked).and_then(|event| {
                room.take(event.bytes())?;
                told.push(event);
                Ok(())
            });
            failed = added.err();
            failed.is_none()
        });
        asked.map_err(Failed::Asked)?;
        failed.map_or(Ok(told), Err)
    }

    /// The arrows of the range. An end in a row that is not in the file is in none.
    fn flows_of(
        &self,
        span: (Ns, Ns),
        seen: &BTreeSet<String>,
        room: &mut Room,
    ) -> Result<Vec<Arrow>, Failed> {
        let (mut arrows, mut failed) = (Vec::new(), None);
        let within = (span.0, span);
        let visited = flows::visit(self.history(), self.tracks(), within, &mut |mut arrow| {
            failed = room.take(ARROW_BYTES).err();
            for end in [&mut arrow.from, &mut arrow.to] {
                end.track = end.track.take().filter(|id| seen.contains(id));
            }
            arrows.push(arrow);
            failed.is_none()
        });
        visited.map_err(Failed::Asked)?;
        failed.map_or(Ok(arrows), Err)
    }

    fn states_of(&self, span: (Ns, Ns), room: &mut Room) -> Result<States, Failed> {
        let history = self.history();
        let subjects: HashMap<Subject, &str> = self.tracks().subjects().collect();
        let (mut values, mut seen) = (Vec::new(), BTreeSet::new());
        let mut numbers: HashMap<Value, usize> = HashMap::new();
        let mut rows: BTreeMap<history::Track, Row> = BTreeMap::new();
        let mut failed = None;
        let at = |time: Ns| time.0.saturating_sub(span.0 .0);
        let takes = |track: &history::Track| {
            subjects.contains_key(&track.subject) && !track.kind.is_known_late()
        };
        let visited = history.visit(&between(span), takes, |track, interval| {
            let Some(id) = subjects.get(&track.subject).filter(|_| failed.is_none()) else {
                return;
            };
            let Interval { begin, end, goes_on, value } = interval;
            let number = *numbers.entry(value).or_insert_with(|| {
                values.push(said(history.names(), &value));
                values.len() - 1
            });
            failed = room.take(STATE_BYTES).err();
            if !matches!(value, Value::Over | Value::Ended(_)) {
                seen.insert((*id).to_string());
            }
            let row = rows.entry(track).or_insert_with(|| Row {
                track: (*id).to_string(),
                kind: told_kind(track.kind),
                lane: track.lane,
                slices: Vec::new(),
            });
            let (begin, end) = (at(begin), at(end));
            row.slices.push(Slice { begin, end, value: number, goes_on, states: 1 });
        });
        visited.map_err(|error| Failed::Asked(error.to_string()))?;
        failed.map_or(Ok(()), Err)?;
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.retain(|row| seen.contains(&row.track));
        Ok(States { values, rows, seen })
    }
}
