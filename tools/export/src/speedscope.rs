// SPDX-License-Identifier: MIT
//! speedscope's own format: for each thread a profile of openings and closings of calls.
//!
//! Place in the flow: `follow` tells of calls; a record of each goes to the spill, since a profile
//! is written in one piece. What ran on each processor, and losses, have profiles of their own;
//! events without a duration have no place.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::json;
use state::{NameIndex, PairIndex, State};
use trace::{Ns, Trace};

use crate::nesting::Open;
use crate::places::{host_names, shown, Place};
use crate::sink::{call_text, Counter, End, Late, Lost, Moment, Ran, Sink};
use crate::spill::{Spill, StreamIndex};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";
/// Names of frames; others are called [`OTHER`].
const FRAMES: usize = 1 << 17;
const OTHER: &str = "(other)";
/// Calls that are renamed because their ends were not seen.
const RENAMED: usize = 1 << 20;
/// Whether it opens or closes, its frame, when.
const RECORD_BYTES: usize = 1 + 4 + 8;
const OPENS: u8 = b'O';
const CLOSES: u8 = b'C';

type FrameIndex = u32;

/// A profile in the making.
#[derive(Debug, Default)]
struct Profile {
    stream: StreamIndex,
    /// Of the calls that are open: number of the record, and frame.
    open: Vec<(u64, FrameIndex)>,
    records: u64,
    /// Time never goes back in a profile.
    last_ns: u64,
    open_at_end: u64,
}

pub(crate) struct Speedscope<'w> {
    out: &'w mut dyn Write,
    spill: Spill,
    hosts: Vec<String>,
    name: String,
    origin: Option<Ns>,
    profiles: FxHashMap<Place, Profile>,
    frames: FxHashMap<String, FrameIndex>,
    frame_names: Vec<String>,
    /// Frames of the records of a stream, where they differ from what was written.
    renamed: FxHashMap<(StreamIndex, u64), FrameIndex>,
    left_out: u64,
}

impl<'w> Speedscope<'w> {
    pub fn new(traces: &[Trace], out: &'w mut dyn Write, spill: Spill) -> Self {
        let name = traces.first().map_or("lull".into(), |t| t.path().display().to_string());
        Self {
            out,
            spill,
            hosts: host_names(traces),
            name,
            origin: None,
            profiles: FxHashMap::default(),
            frames: FxHashMap::default(),
            frame_names: vec![OTHER.into()],
            renamed: FxHashMap::default(),
            left_out: 0,
        }
    }

    fn frame(&mut self, name: String) -> FrameIndex {
        if let Some(known) = self.frames.get(&name) {
            return *known;
        }
        if self.frame_names.len() >= FRAMES {
            return 0;
        }
        let index = self.frame_names.len() as FrameIndex;
        self.frame_names.push(name.clone());
        self.frames.insert(name, index);
        index
    }

    fn time(&mut self, at: Ns) -> u64 {
        let origin = *self.origin.get_or_insert(at);
        u64::try_from(at.0.saturating_sub(origin.0)).unwrap_or(0)
    }

    fn profile(&mut self, place: Place) -> Option<&mut Profile> {
        if !self.profiles.contains_key(&place) {
            let stream = self.spill.open()?;
            self.profiles.insert(place, Profile { stream, ..Profile::default() });
        }
        self.profiles.get_mut(&place)
    }

    fn record(&mut self, place: Place, kind: u8, frame: FrameIndex, at: Ns) -> io::Result<()> {
        let at = self.time(at);
        let Some(profile) = self.profile(place) else {
            self.left_out += 1;
            return Ok(());
        };
        profile.last_ns = profile.last_ns.max(at);
        let (at, stream) = (profile.last_ns, profile.stream);
        match kind {
            OPENS => profile.open.push((profile.records, frame)),
            _ => drop(profile.open.pop()),
        }
        profile.records += 1;
        let mut record = [0; RECORD_BYTES];
        record[0] = kind;
        record[1..5].copy_from_slice(&frame.to_le_bytes());
        record[5..].copy_from_slice(&at.to_le_bytes());
        self.spill.add(stream, &record).map(drop)
    }

    /// Opens and closes at once.
    fn slice(&mut self, place: Place, name: String, begin: Ns, until: Ns) -> io::Result<()> {
        let frame = self.frame(name);
        self.record(place, OPENS, frame, begin)?;
        self.record(place, CLOSES, frame, until)
    }

    fn events(&mut self, stream: StreamIndex) -> io::Result<()> {
        let (out, renamed) = (&mut *self.out, &self.renamed);
        let mut number = 0;
        self.spill.read(stream, |record| {
            let (Some(frame), Some(at)) = (record.get(1..5), record.get(5..13)) else {
                return Ok(());
            };
            let frame = frame.try_into().map_or(0, u32::from_le_bytes);
            let frame = renamed.get(&(stream, number)).copied().unwrap_or(frame);
            let at = at.try_into().map_or(0, u64::from_le_bytes);
            let kind = if record.first() == Some(&OPENS) { "O" } else { "C" };
            let comma = if number > 0 { ",\n" } else { "\n" };
            number += 1;
            write!(out, "{comma}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}")
        })
    }
}

impl Sink for Speedscope<'_> {
    fn begin(&mut self, moment: &Moment<'_>, pair: PairIndex) -> io::Result<()> {
        let frame = self.frame(call_text(moment.state, pair));
        self.record(Place::Thread(moment.thread), OPENS, frame, moment.at)
    }

    fn end(&mut self, moment: &Moment<'_>, open: &Open, end: End) -> io::Result<()> {
        let place = Place::Thread(moment.thread);
        let remark = match end {
            End::Seen => None,
            End::NotSeen => Some("end not seen"),
            End::Open => Some("not finished"),
        };
        let renamed = remark.map(|remark| {
            let name = format!("{} ({remark})", call_text(moment.state, open.pair));
            self.frame(name)
        });
        let Some(profile) = self.profiles.get_mut(&place) else { return Ok(()) };
        let Some((opened, frame)) = profile.open.last().copied() else { return Ok(()) };
        profile.open_at_end += u64::from(end == End::Open);
        let (stream, closed) = (profile.stream, profile.records);
        if let Some(frame) = renamed.filter(|_| self.renamed.len() + 2 <= RENAMED) {
            self.renamed.extend([((stream, opened), frame), ((stream, closed), frame)]);
        }
        self.record(place, CLOSES, frame, moment.at)
    }

    fn late(&mut self, _: &Moment<'_>, _: &Late) -> io::Result<()> {
        self.left_out += 1;
        Ok(())
    }

    fn instant(&mut self, moment: &Moment<'_>, _: NameIndex) -> io::Result<()> {
        self.time(moment.at);
        Ok(())
    }

    fn counter(&mut self, moment: &Moment<'_>, _: &Counter<'_>) -> io::Result<()> {
        self.time(moment.at);
        Ok(())
    }

    fn ran(&mut self, _: &State, ran: &Ran) -> io::Result<()> {
        let remark = if ran.is_whole { "" } else { " (end not seen)" };
        let name = format!("{}{remark}", ran.label);
        self.slice(Place::Cpu(ran.host, ran.cpu), name, ran.begin, ran.until)
    }

    fn lost(&mut self, _: &State, lost: &Lost) -> io::Result<()> {
        let begin = lost.begin.unwrap_or(lost.until);
        self.slice(Place::Losses(lost.host, lost.cpu), lost.text(), begin, lost.until)
    }

    fn finish(&mut self, state: &State, last: Ns) -> io::Result<()> {
        let until = self.time(last);
        let mut places: Vec<Place> = self.profiles.keys().copied().collect();
        places.sort_unstable();
        let frames: Vec<_> = self.frame_names.iter().map(|name| json!({ "name": name })).collect();
        write!(
            self.out,
            "{{\"$schema\":{},\"exporter\":\"lull\",\"name\":{},\"shared\":{{\"frames\":{}}},\n\
             \"profiles\":[",
            json!(SCHEMA),
            json!(self.name),
            json!(frames)
        )?;
        for (number, place) in places.into_iter().enumerate() {
            let Some(profile) = self.profiles.get(&place) else { continue };
            let shown = shown(state, &self.hosts, place);
            let open = match profile.open_at_end {
                0 => String::new(),
                1 => ", 1 call not finished".into(),
                count => format!(", {count} calls not finished"),
            };
            let name = format!("{} {}{open}", shown.process, shown.thread);
            let (stream, until) = (profile.stream, until.max(profile.last_ns));
            let comma = if number > 0 { ",\n" } else { "\n" };
            write!(
                self.out,
                "{comma}{{\"type\":\"evented\",\"name\":{},\"unit\":\"nanoseconds\",\
                 \"startValue\":0,\"endValue\":{until},\"events\":[",
                json!(name)
            )?;
            self.events(stream)?;
            write!(self.out, "]}}")?;
        }
        writeln!(self.out, "]}}")?;
        self.out.flush()
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }
}
