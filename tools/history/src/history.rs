// SPDX-License-Identifier: MIT
//! A history that is open, and what can be asked of it.
//!
//! Place in the flow: readers come here. An index that is there and of these traces is opened, any
//! other is built; a question reads the segments that can have an answer, and their blocks.

use std::collections::BTreeMap;

use state::Read;
use trace::{CpuId, LossMessage, Ns, Span, Trace};

use crate::builder::{build, Bounds};
use crate::edges::Edges;
use crate::error::Error;
use crate::far::Far;
use crate::folder::{fingerprint, places, Kept};
use crate::gaps::Gaps;
use crate::names::Names;
use crate::overview::{Drawn, Overview};
use crate::segment::{Segment, Wanted};
use crate::storage::{Sink, Storage};
use crate::tail::{Tail, MAGIC};
use crate::track::{Subject, Track};
use crate::value::{Interval, Value};

/// The longest index in memory, of a trace that can have none in a file.
const MOST_MEMORY_BYTES: u64 = 1 << 29;

/// Events or packets that are missing: somewhere in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The machine's number.
    pub host: u32,
    /// Where. `None`: on any of its CPUs.
    pub cpu: Option<CpuId>,
    /// How many.
    pub count: u64,
    /// Not before this time.
    pub begin: Ns,
    /// And not after this one.
    pub until: Ns,
}

impl Lost {
    pub(crate) fn of(loss: &LossMessage<'_>, host: u32) -> Self {
        let begin = loss.begin_ns().or(loss.time_ns()).unwrap_or(Ns(0));
        let until = loss.until_ns().unwrap_or(begin).max(begin);
        Self { host, cpu: loss.loss.cpu, count: loss.loss.count, begin, until }
    }

    /// Stands for another one, too.
    pub(crate) fn join(&mut self, other: &Lost) {
        if (self.host, self.cpu) != (other.host, other.cpu) {
            self.cpu = None;
        }
        self.count = self.count.saturating_add(other.count);
        self.begin = self.begin.min(other.begin);
        self.until = self.until.max(other.until);
    }
}

/// What is known of a track at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The track.
    pub track: Track,
    /// Its state.
    pub value: Value,
    /// Since when it is so.
    pub since: Ns,
}

/// The states of everything at one time, in the order of tracks. What is not among them is not
/// known, or is not so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moment {
    known: Vec<Known>,
}

impl Moment {
    pub(crate) fn of(mut known: Vec<Known>) -> Self {
        known.sort_by_key(|known| (known.track, known.since));
        known.dedup_by_key(|known| known.track);
        Self { known }
    }

    /// Everything.
    pub fn all(&self) -> &[Known] {
        &self.known
    }

    /// What is known of a track.
    pub fn get(&self, track: Track) -> Option<&Known> {
        let found = self.known.binary_search_by_key(&track, |known| known.track).ok()?;
        self.known.get(found)
    }

    /// What is known of a subject.
    pub fn of_subject(&self, subject: Subject) -> &[Known] {
        let begin = self.known.partition_point(|known| known.track.subject < subject);
        let until = self.known.partition_point(|known| known.track.subject <= subject);
        self.known.get(begin..until).unwrap_or(&[])
    }
}

/// The states of everything at all times of some traces.
#[derive(Debug)]
pub struct History {
    storage: Storage,
    kept: Kept,
    tail: Tail,
    /// The numbers of tracks, in the order of the tracks.
    sorted: Vec<u32>,
    gaps: Gaps,
}

impl History {
    /// The history of traces: opened if there is an index of them, otherwise built in one pass and
    /// kept for the next time. `progress` hears how many bytes of the traces have been read.
    pub fn open_or_build(traces: &[Trace], progress: impl FnMut(u64)) -> Result<Self, Error> {
        Self::within(traces, Bounds::default(), progress)
    }

    /// [`History::open_or_build`] with other bounds, which count where it is built.
    pub fn within(
        traces: &[Trace],
        bounds: Bounds,
        mut progress: impl FnMut(u64),
    ) -> Result<Self, Error> {
        let of_traces = || {
            fingerprint(traces, bounds.least_bytes).map_err(|reason| Error::traces(traces, reason))
        };
        let Some(number) = of_traces()? else {
            // Nobody reads it a second time, so a picture is made when one is asked for.
            let bounds = Bounds { far: u64::MAX, ..bounds };
            let built = Self::build(traces, bounds, (&mut progress, 0), memory());
            return Ok(built.map_err(|_| Error::no_space(String::new()))?.kept(Kept::Memory));
        };
        let places = places(traces);
        for kept in &places {
            if let Some(history) = Self::open(kept, number) {
                return Ok(history);
            }
        }
        let mut reasons = Vec::new();
        for kept in places.into_iter().chain([Kept::Temporary]) {
            let mut built = |kept: &Kept| {
                let mut unfinished = kept.create()?;
                let sink = Sink::new(Storage::File(unfinished.take()?), u64::MAX);
                let history = Self::build(traces, bounds, (&mut progress, number), sink)?;
                Ok::<_, std::io::Error>((history, unfinished))
            };
            match built(&kept) {
                Ok((history, unfinished)) => {
                    // What changed meanwhile is told as it was read, and not kept.
                    let is_kept = of_traces()? == Some(number) && unfinished.finish(&kept).is_ok();
                    return Ok(history.kept(if is_kept { kept } else { Kept::Temporary }));
                }
                Err(reason) => reasons.push(match kept.path() {
                    Some(path) => format!("{}: {reason}", path.display()),
                    None => format!("{}: {reason}", std::env::temp_dir().display()),
                }),
            }
        }
        let built = Self::build(traces, bounds, (&mut progress, number), memory());
        Ok(built.map_err(|_| Error::no_space(reasons.join("; ")))?.kept(Kept::Temporary))
    }

    fn open(kept: &Kept, fingerprint: u64) -> Option<Self> {
        let storage = Storage::File(kept.open()?);
        // One that cannot be read, or makes no sense, is built again.
        let tail = Tail::read(&storage, fingerprint).ok()??;
        Some(Self::of(storage, tail).kept(kept.clone()))
    }

    fn build(
        traces: &[Trace],
        bounds: Bounds,
        (progress, fingerprint): (&mut dyn FnMut(u64), u64),
        mut sink: Sink<'_>,
    ) -> std::io::Result<Self> {
        sink.append(&MAGIC)?;
        let (mut tail, made) = build(traces, &mut sink, bounds, progress)?;
        tail.far = made.map(|made| made.store(&mut sink)).transpose()?;
        tail.write(&mut sink, fingerprint)?;
        Ok(Self::of(sink.finish(), tail))
    }

    /// What it looks like from afar, if that is in the index.
    pub(crate) fn stored_far(&self) -> Result<Option<Far>, Error> {
        let Some(stored) = &self.tail.far else { return Ok(None) };
        match Far::open(&self.storage, stored, &self.tail.tracks) {
            Ok(Some(far)) => Ok(Some(far)),
            Ok(None) => Err(Error::damaged(&self.kept)),
            Err(reason) => Err(Error::reading(&self.kept, reason)),
        }
    }

    /// A history in memory whose parts a test has changed, each before its checksum was made.
    /// `None` if that is found out at once.
    #[doc(hidden)]
    pub fn spoilt(
        traces: &[Trace],
        bounds: Bounds,
        spoil: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Option<Self> {
        let sink = Sink::spoilt(Storage::Memory(Vec::new()), MOST_MEMORY_BYTES, spoil);
        let built = Self::build(traces, bounds, (&mut |_| {}, 0), sink).ok()?;
        let Storage::Memory(bytes) = built.storage else { return None };
        Self::from_bytes(bytes, 0)
    }

    /// The index in these bytes; `None` if they are none, or that of traces with another
    /// fingerprint. For tests of what bytes can do.
    pub fn from_bytes(bytes: Vec<u8>, fingerprint: u64) -> Option<Self> {
        let storage = Storage::Memory(bytes);
        let tail = Tail::read(&storage, fingerprint).ok()??;
        Some(Self::of(storage, tail))
    }

    /// The bytes of an index in memory, with a fingerprint of 0.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.storage {
            Storage::Memory(bytes) => Some(bytes),
            Storage::File(_) => None,
        }
    }

    fn of(storage: Storage, tail: Tail) -> Self {
        let mut sorted: Vec<u32> = (0..tail.tracks.len() as u32).collect();
        sorted.sort_by_key(|number| tail.tracks.get(*number as usize));
        let gaps = Gaps::of(&tail.losses);
        Self { storage, kept: Kept::Memory, tail, sorted, gaps }
    }

    fn kept(self, kept: Kept) -> Self {
        Self { kept, ..self }
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Every track, by number.
    pub(crate) fn numbered(&self) -> &[Track] {
        &self.tail.tracks
    }

    /// Where it is.
    pub fn place(&self) -> &Kept {
        &self.kept
    }

    /// What stands behind numbers.
    pub fn names(&self) -> &Names {
        &self.tail.names
    }

    /// The time of the first event.
    pub fn begin(&self) -> Ns {
        self.tail.begin
    }

    /// The time of the last event.
    pub fn end(&self) -> Ns {
        self.tail.end
    }

    /// Where events or packets are missing, in the order in which that was told.
    pub fn losses(&self) -> &[Lost] {
        &self.tail.losses
    }

    /// How many changes are not in it, because their tracks found no space.
    pub fn left_out(&self) -> u64 {
        self.tail.left_out
    }

    /// What was read of each trace.
    pub fn read(&self) -> &[Read] {
        &self.tail.read
    }

    /// What was wrong with packets, a sentence each, of the first that were found.
    pub fn problems(&self) -> &[String] {
        &self.tail.problems
    }

    /// How many intervals there are, but for those that go on at the end.
    pub fn interval_count(&self) -> u64 {
        self.tail.interval_count()
    }

    /// Everything that has states, in order.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> + '_ {
        let mut last = None;
        let all = self.tracks().map(|track| track.subject);
        all.filter(move |subject| last.replace(*subject) != Some(*subject))
    }

    /// Every track, in order.
    pub fn tracks(&self) -> impl Iterator<Item = Track> + '_ {
        self.sorted.iter().filter_map(|number| self.tail.tracks.get(*number as usize)).copied()
    }

    /// What is known at a time, after the events of that time.
    pub fn at(&self, time: Ns) -> Result<Moment, Error> {
        let segments = &self.tail.segments;
        let first = segments.partition_point(|segment| segment.moment <= time.0);
        let first = first.min(segments.len().saturating_sub(1));
        // A segment that found out that something was unknown before has the last word.
        let last = segments.iter().rposition(|segment| segment.revised <= time.0).unwrap_or(0);
        let last = last.max(first);
        let mut known: Vec<Known> = Vec::new();
        let wanted = Wanted { from: time.0, until: time.0, takes: &|_| true };
        for segment in segments.get(first..=last).unwrap_or(&[]) {
            self.visit_segment(segment, &wanted, &mut |track, interval| {
                if interval.end > time {
                    let Interval { begin: since, value, .. } = interval;
                    known.push(Known { track, value, since });
                }
            })?;
        }
        if let Some(last) = segments.get(last) {
            self.visit_going(last, &mut |(_, track), since, value| {
                if since <= time {
                    known.push(Known { track, value, since });
                }
            })?;
        }
        known.retain(|known| known.value != Value::Unknown && !known.track.kind.is_known_late());
        Ok(Moment::of(known))
    }

    /// Hands out all intervals that share time with a span, of the tracks that are wanted: of each
    /// track in the order of time, and for one stretch of time after the other.
    pub fn visit(
        &self,
        span: &Span,
        takes: impl Fn(&Track) -> bool,
        mut take: impl FnMut(Track, Interval),
    ) -> Result<(), Error> {
        for part in self.stretches() {
            self.visit_part(span, &takes, part, &mut take)?;
        }
        Ok(())
    }

    /// The segments, and last what goes on at the end.
    fn stretches(&self) -> impl Iterator<Item = Option<&Segment>> {
        self.tail.segments.iter().map(Some).chain([None])
    }

    fn visit_part(
        &self,
        span: &Span,
        takes: &dyn Fn(&Track) -> bool,
        part: Option<&Segment>,
        take: &mut dyn FnMut(Track, Interval),
    ) -> Result<(), Error> {
        let from = span.from.map_or(i64::MIN, |from| from.0);
        let until = span.until.map_or(i64::MAX, |until| until.0.saturating_sub(1));
        let tracks = &self.tail.tracks;
        let takes = |number: u32| tracks.get(number as usize).is_some_and(takes);
        match (part, self.tail.segments.last()) {
            (Some(segment), _) => {
                let wanted = Wanted { from, until, takes: &takes };
                self.visit_segment(segment, &wanted, &mut |track, interval| {
                    if !track.kind.is_known_late() || !self.is_across_loss(&track, &interval) {
                        take(track, interval);
                    }
                })
            }
            (None, Some(last)) => self.visit_going(last, &mut |(number, track), since, value| {
                if since.0 <= until && takes(number) {
                    let end = self.end().max(since);
                    take(track, Interval { begin: since, end, goes_on: true, value });
                }
            }),
            (None, None) => Ok(()),
        }
    }

    /// Whether events of a thread's machine may be missing between the two ends of an interval,
    /// which are known from two events.
    fn is_across_loss(&self, track: &Track, interval: &Interval) -> bool {
        let Subject::Thread(thread) = track.subject else { return false };
        let known = self.names().threads().get(thread.0 as usize);
        let process =
            known.and_then(|known| self.names().processes().get(known.process.0 as usize));
        let host = process.map_or(0, |process| process.host);
        self.gaps.is_between(host, interval.begin, interval.end)
    }

    /// [`History::visit`] in the order in which the intervals end, as far as the events told that
    /// in order; last come those that go on. Ends when `take` says `false`.
    pub fn visit_ended(
        &self,
        span: &Span,
        takes: impl Fn(&Track) -> bool,
        mut take: impl FnMut(Track, Interval) -> bool,
    ) -> Result<(), Error> {
        let mut ended: Vec<(Ns, Ns, Track, Interval)> = Vec::new();
        let mut goes_on = true;
        for part in self.stretches() {
            self.visit_part(span, &takes, part, &mut |track, interval| {
                ended.push((interval.end, interval.begin, track, interval));
            })?;
            ended.sort_by_key(|(end, begin, track, _)| (*end, *begin, *track));
            for (_, _, track, interval) in ended.drain(..) {
                goes_on = goes_on && take(track, interval);
            }
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// The intervals of a subject that share time with a span, by track. In a track that always
    /// has a state, the time before the first that an event told is unknown, too.
    pub fn intervals(
        &self,
        subject: Subject,
        span: &Span,
    ) -> Result<BTreeMap<Track, Vec<Interval>>, Error> {
        let mut found: BTreeMap<Track, Vec<Interval>> = BTreeMap::new();
        self.visit(
            span,
            |track| track.subject == subject,
            |track, interval| {
                found.entry(track).or_default().push(interval);
            },
        )?;
        for track in self.tracks().filter(|track| track.subject == subject) {
            if track.kind.is_always() {
                let known = found.remove(&track).unwrap_or_default();
                found.insert(track, self.with_unknown(known, span));
            }
        }
        Ok(found)
    }

    fn with_unknown(&self, known: Vec<Interval>, span: &Span) -> Vec<Interval> {
        let mut at = span.from.unwrap_or(self.begin()).max(self.begin());
        let until = span.until.unwrap_or(self.end()).min(self.end());
        let mut all = Vec::with_capacity(known.len());
        let unknown = |begin, end, goes_on| Interval { begin, end, goes_on, value: Value::Unknown };
        for mut interval in known {
            if at < interval.begin && interval.value == Value::Unknown {
                interval.begin = at;
            } else if at < interval.begin {
                all.push(unknown(at, interval.begin, false));
            }
            at = interval.end;
            all.push(interval);
        }
        if at < until {
            all.push(unknown(at, until, until == self.end()));
        }
        all
    }

    /// At most so many intervals of each track that is wanted: the span is cut in that many equal
    /// parts, and each shows the state that took most of it; equal neighbours are one.
    pub fn overview(
        &self,
        span: &Span,
        parts: u32,
        takes: impl Fn(&Track) -> bool,
    ) -> Result<BTreeMap<Track, Vec<Drawn>>, Error> {
        let from = span.from.unwrap_or(self.begin());
        let until = span.until.unwrap_or(self.end());
        let edges = Edges::new((from, until), parts);
        let mut overviews: BTreeMap<Track, Overview> = BTreeMap::new();
        self.visit(&Span { from: Some(from), until: Some(until) }, takes, |track, interval| {
            let overview = overviews.entry(track);
            overview.or_insert_with(|| Overview::new(edges)).add(&interval, 1);
        })?;
        Ok(overviews.into_iter().map(|(track, overview)| (track, overview.finish())).collect())
    }

    fn visit_segment(
        &self,
        segment: &Segment,
        wanted: &Wanted<'_>,
        take: &mut dyn FnMut(Track, Interval),
    ) -> Result<(), Error> {
        let whole = segment.visit(&self.storage, wanted, &mut |number, interval| {
            if let Some(track) = self.tail.tracks.get(number as usize) {
                take(*track, interval);
            }
        });
        match whole {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(Error::damaged(&self.kept)),
            Err(reason) => Err(Error::reading(&self.kept, reason)),
        }
    }

    fn visit_going(
        &self,
        segment: &Segment,
        take: &mut dyn FnMut((u32, Track), Ns, Value),
    ) -> Result<(), Error> {
        match segment.going(&self.storage) {
            Ok(Some(going)) => {
                for state in going {
                    if let Some(track) = self.tail.tracks.get(state.track as usize) {
                        take((state.track, *track), Ns(state.since), state.value);
                    }
                }
                Ok(())
            }
            Ok(None) => Err(Error::damaged(&self.kept)),
            Err(reason) => Err(Error::reading(&self.kept, reason)),
        }
    }
}

fn memory() -> Sink<'static> {
    Sink::new(Storage::Memory(Vec::new()), MOST_MEMORY_BYTES)
}
