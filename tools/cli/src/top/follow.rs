// SPDX-License-Identifier: MIT
//! Follows a trace while its recorder writes it: packets that have become whole, in parts that are
//! in the order of time, with bounded memory and work.
//!
//! Place in the flow: `watch` looks several times per interval, and takes a part in each interval.
//! Each CPU has a file, and an event is in it a flush period after it was made, at most. So a part
//! ends where the newest packet ended [`DELAY`] ago: what comes later than that is counted as late
//! (`analysis::live`). Where more is written than can be read, the oldest packets are passed over
//! in all files of a lane alike. All files are one lane, unless those of users that must not
//! disturb each other are to be followed apart. The recorder is not asked for anything, and does
//! not notice.

use super::stream::{Counters, Packet, Piece, Stream};
use analysis::live::Part;
use anyhow::{bail, Context};
use session::directory::Found;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use trace::{Cycles, Ns, Trace};

const METADATA: &str = "metadata";
/// How much later than the newest event of all CPUs that of another may come to be in its file:
/// three times the period in which the recorder writes what there is, unless it was told another.
pub const DELAY: Duration = Duration::from_millis(300);
/// What one part may have, whatever was written: it is adjusted to what this machine can read.
const BUDGET_BYTES: u64 = 16 << 20;
const BUDGET_BYTES_MIN: u64 = 1 << 20;
const BUDGET_BYTES_MAX: u64 = 64 << 20;
/// Files that are held open.
const STREAMS_MAX: usize = 4096;
const FILES_MAX: usize = 1 << 16;
const METADATA_BYTES_MAX: u64 = 256 << 20;

/// How far the files reached at a moment.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Instant,
    cycles: u64,
}

/// How much of what was written is in a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub read_bytes: u64,
    pub passed_bytes: u64,
}

impl Share {
    /// From 0 to 1.
    pub fn of_all(&self) -> f64 {
        let all = self.read_bytes.saturating_add(self.passed_bytes);
        if all == 0 {
            return 1.0;
        }
        self.read_bytes as f64 / all as f64
    }

    pub fn add(&mut self, other: Share) {
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.passed_bytes = self.passed_bytes.saturating_add(other.passed_bytes);
    }
}

/// The end of a trace that is being written.
pub struct Newest {
    pub trace: Trace,
    /// Older packets were passed over.
    pub has_older: bool,
}

/// Why the trace of a session cannot be followed.
pub fn refusal(found: &Found) -> Option<&'static str> {
    let recorder = &found.recorder;
    if recorder.flight_recorder {
        return Some(
            "a flight recorder keeps its events in memory: what they are is not known before \
             `lull snapshot`",
        );
    }
    recorder.output.starts_with(&found.path).then_some(
        "the session counts its events in place and writes no trace: `lull count --interval` \
         prints the counts",
    )
}

/// Files that are followed together: nothing that is in those of one lane moves another.
#[derive(Default)]
struct Lane {
    streams: Vec<Stream>,
    marks: VecDeque<Mark>,
    /// Everything up to here was in a part, or passed over.
    reached: Option<u64>,
    has_gap: bool,
    /// Whether packets of the first part may begin before it, where they were not looked at.
    is_gone_on: bool,
    /// Whether a part had the metadata that there is.
    is_described: bool,
}

pub struct Follower {
    path: PathBuf,
    /// Device and number of the directory, which may get another name.
    identity: (u64, u64),
    /// Device, number, size and time of the metadata that was read last.
    described: Option<(u64, u64, u64, Option<SystemTime>)>,
    metadata: Vec<u8>,
    trace: Trace,
    lanes: BTreeMap<u32, Lane>,
    /// The lane of a stream class.
    lane_of: fn(u32) -> u32,
    /// Files that are followed, or are no streams.
    known: BTreeSet<OsString>,
    has_too_many: bool,
    budget_bytes: u64,
    delay: Duration,
}

impl Follower {
    /// Follows the trace in a directory from its end on.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        Self::open_apart(path, |_| 0)
    }

    /// The same, with the files of each stream class in the lane whose number this says.
    pub fn open_apart(path: &Path, lane_of: fn(u32) -> u32) -> anyhow::Result<Self> {
        let mut follower = Self { lane_of, ..Self::begin(path)? };
        follower.look(Instant::now())?;
        let uuid = follower.uuid();
        follower.lanes.values_mut().for_each(|lane| lane.go_to_the_end(uuid));
        Ok(follower)
    }

    fn begin(path: &Path) -> anyhow::Result<Self> {
        let found = fs::metadata(path).with_context(|| path.display().to_string())?;
        let metadata = read_metadata(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            identity: (found.dev(), found.ino()),
            described: None,
            trace: Trace::from_bytes(&metadata, Vec::new())?,
            metadata,
            lanes: BTreeMap::new(),
            lane_of: |_| 0,
            known: BTreeSet::new(),
            has_too_many: false,
            budget_bytes: BUDGET_BYTES,
            delay: DELAY,
        })
    }

    /// Follows the trace in a directory from so many bytes before its end on, for
    /// [`Follower::newest`].
    pub fn behind(path: &Path, budget_bytes: u64) -> anyhow::Result<Self> {
        let mut follower = Self::begin(path)?;
        follower.budget_bytes = budget_bytes;
        follower.look(Instant::now())?;
        Ok(follower)
    }

    /// The newest packets that the budget has room for, as a trace in memory, when there are new
    /// ones; `part` is not asked for then, and all files are one lane.
    pub fn newest(&mut self, now: Instant, is_last: bool) -> anyhow::Result<Option<Newest>> {
        let (delay, budget_bytes) = (self.delay, self.budget_bytes);
        let next_end = |lane: &mut Lane| lane.next_end(now, is_last, delay);
        let Some(until) = self.lanes.get_mut(&0).and_then(next_end) else { return Ok(None) };
        self.describe()?;
        let Some(lane) = self.lanes.get_mut(&0) else { return Ok(None) };
        let first = lane.first().unwrap_or(until);
        lane.make_fit(first, until, budget_bytes);
        let pieces = lane.streams.iter_mut().map(|stream| stream.piece(until));
        let pieces = pieces.map(|piece| (piece.path, piece.bytes)).collect();
        let trace = Trace::from_bytes(&self.metadata, pieces)?;
        lane.reached = Some(until);
        Ok(Some(Newest { trace, has_older: lane.has_gap }))
    }

    /// The same, where all that was recorded is in the files sooner, and a part may have so much.
    pub fn hurried(self, delay: Duration, budget_bytes: u64) -> Self {
        Self { delay, budget_bytes, ..self }
    }

    /// Gives the memory of files back that nobody else reads, where it was in parts already.
    pub fn release(&mut self) {
        self.streams_mut().for_each(Stream::release);
    }

    fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.lanes.values().flat_map(|lane| &lane.streams)
    }

    fn streams_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.lanes.values_mut().flat_map(|lane| &mut lane.streams)
    }

    fn uuid(&self) -> [u8; 16] {
        self.trace.metadata().uuid.unwrap_or_default()
    }

    /// Notes what has been written. An error: the directory is not there any more.
    pub fn look(&mut self, now: Instant) -> anyhow::Result<()> {
        let path = self.path.display();
        match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == self.identity => {}
            Ok(_) => bail!("{path}: another directory has taken the place of the trace"),
            Err(error) => bail!("{path}: the trace is not there any more: {error}"),
        }
        self.find_streams()?;
        let uuid = self.uuid();
        self.lanes.values_mut().for_each(|lane| lane.look(uuid, now));
        Ok(())
    }

    /// Opens the files of streams that there were not before.
    fn find_streams(&mut self) -> anyhow::Result<()> {
        let uuid = self.uuid();
        let mut count = self.streams().count();
        let entries = fs::read_dir(&self.path).with_context(|| self.path.display().to_string())?;
        for entry in entries.take(FILES_MAX).flatten() {
            let name = entry.file_name();
            let is_other = name == METADATA || name.as_encoded_bytes().starts_with(b".");
            if is_other || self.known.contains(&name) {
                continue;
            }
            if count >= STREAMS_MAX {
                self.has_too_many = true;
                return Ok(());
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            let Ok(file) = File::open(entry.path()) else { continue };
            match Stream::new(entry.path(), file, uuid) {
                Ok(Some(stream)) => {
                    let lane = (self.lane_of)(stream.class);
                    self.lanes.entry(lane).or_default().streams.push(stream);
                    self.known.insert(name);
                    count += 1;
                }
                Ok(None) => {
                    self.known.insert(name);
                }
                // It has no whole header yet.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Hands over the next part, if there is one. `is_last`: nothing more will be written.
    pub fn part(
        &mut self,
        now: Instant,
        is_last: bool,
        mut read: impl FnMut(&Part<'_>),
    ) -> anyhow::Result<Share> {
        self.parts(now, is_last, |_, part| read(part))
    }

    /// The same of each lane, with its number. What is read at a time is bounded for each.
    pub fn parts(
        &mut self,
        now: Instant,
        is_last: bool,
        mut read: impl FnMut(u32, &Part<'_>),
    ) -> anyhow::Result<Share> {
        let delay = self.delay;
        let ends = self.lanes.iter_mut().filter_map(|(number, lane)| {
            lane.next_end(now, is_last, delay).map(|until| (*number, until))
        });
        let ends: Vec<(u32, u64)> = ends.collect();
        let mut share = Share::default();
        if ends.is_empty() {
            return Ok(share);
        }
        self.describe()?;
        for (number, until) in ends {
            let Some(lane) = self.lanes.get_mut(&number) else { continue };
            let read = |part: &Part<'_>| read(number, part);
            share.add(lane.part(&mut self.trace, until, self.budget_bytes, read)?);
        }
        Ok(share)
    }

    /// Reads less at a time if that took too much of the interval on a CPU, or more if it may.
    pub fn adjust(&mut self, took: Duration, interval: Duration) {
        if took > interval / 4 {
            self.budget_bytes = (self.budget_bytes / 2).max(BUDGET_BYTES_MIN);
        } else if took < interval / 16 {
            self.budget_bytes = (self.budget_bytes * 2).min(BUDGET_BYTES_MAX);
        }
    }

    /// Reads the metadata again if it is another: the recorder replaces it before it writes a
    /// packet that has new events.
    fn describe(&mut self) -> anyhow::Result<()> {
        let path = self.path.join(METADATA);
        let found = fs::metadata(&path).with_context(|| path.display().to_string())?;
        let mark = (found.dev(), found.ino(), found.size(), found.modified().ok());
        if self.described == Some(mark) {
            return Ok(());
        }
        let metadata = read_metadata(&self.path)?;
        if metadata != self.metadata {
            self.trace = Trace::from_bytes(&metadata, Vec::new())?;
            self.metadata = metadata;
            self.lanes.values_mut().for_each(|lane| lane.is_described = false);
        }
        self.described = Some(mark);
        Ok(())
    }

    /// Of each stream: its name, its CPU, and what it has written since it began.
    pub fn counters(&self) -> impl Iterator<Item = (&str, Option<u32>, Counters)> {
        self.streams().map(|stream| (stream.name.as_str(), stream.cpu, stream.counters))
    }

    /// What cannot be followed, a sentence each.
    pub fn complaints(&self) -> Vec<String> {
        let damaged = self.streams().filter_map(|stream| {
            let why = stream.damage.as_ref()?;
            Some(format!("{} is not followed any more: {why}", stream.name))
        });
        let too_many = format!("only {STREAMS_MAX} of the trace's files are followed");
        let mut all: Vec<String> = damaged.chain(self.has_too_many.then_some(too_many)).collect();
        all.sort_unstable();
        all
    }
}

impl Lane {
    /// Notes what has been written.
    fn look(&mut self, uuid: [u8; 16], now: Instant) {
        for stream in &mut self.streams {
            stream.walk(uuid);
        }
        let newest = self.streams.iter().filter_map(Stream::end_cycles).max();
        let known = self.marks.back().map(|mark| mark.cycles).or(self.reached);
        if let Some(cycles) = newest.filter(|newest| known.is_none_or(|known| *newest > known)) {
            self.marks.push_back(Mark { at: now, cycles });
        }
    }

    /// Passes over all that was written so far.
    fn go_to_the_end(&mut self, uuid: [u8; 16]) {
        let mut reached = self.reached;
        for stream in &mut self.streams {
            // Bound: the size of the file; each walk but the last leaves many packets behind.
            loop {
                reached = reached.max(stream.end_cycles());
                stream.pass(None);
                if !stream.walk(uuid) {
                    break;
                }
            }
            reached = reached.max(stream.end_cycles());
            stream.pass(None);
        }
        self.reached = reached;
        self.marks.clear();
    }

    /// Where the next part ends.
    fn next_end(&mut self, now: Instant, is_last: bool, delay: Duration) -> Option<u64> {
        let mut end = None;
        while let Some(mark) = self.marks.front() {
            if !is_last && now.saturating_duration_since(mark.at) < delay {
                break;
            }
            end = Some(mark.cycles);
            self.marks.pop_front();
        }
        end
    }

    /// Where the oldest packet begins.
    fn first(&self) -> Option<u64> {
        let begins = self.streams.iter().filter_map(|stream| stream.packets.front());
        begins.map(|packet| packet.begin_cycles).min()
    }

    /// Hands over the part that ends at a time.
    fn part(
        &mut self,
        trace: &mut Trace,
        until: u64,
        budget_bytes: u64,
        read: impl FnOnce(&Part<'_>),
    ) -> anyhow::Result<Share> {
        let first = self.first().unwrap_or(until);
        let from = self.reached.map_or(first, |reached| reached.saturating_add(1));
        let (from, passed_bytes) = self.make_fit(from, until, budget_bytes);
        let is_new = |packet: &&Packet| packet.is_new && packet.begin_cycles <= until;
        let new = self.streams.iter().flat_map(|stream| &stream.packets).filter(is_new);
        let read_bytes = new.map(|packet| packet.size_bytes).sum();
        let mut pieces: Vec<Piece> =
            self.streams.iter_mut().map(|stream| stream.piece(until)).collect();
        let taken = |piece: &mut Piece| (piece.path.clone(), std::mem::take(&mut piece.bytes));
        trace.replace_streams(pieces.iter_mut().map(taken).collect());
        let Some(clock) = trace.clocks().first() else { bail!("the trace has no clock") };
        let ns = |cycles| clock.ns(Cycles(cycles));
        let new_from = trace.files().iter().map(|file| {
            let piece = pieces.iter().find(|piece| piece.path == file.path());
            // Where packets were passed over, others may begin before the part.
            let is_whole = self.is_gone_on && !self.has_gap;
            piece.filter(|_| is_whole).map_or(u64::MAX, |piece| piece.new_from)
        });
        read(&Part {
            traces: std::slice::from_ref(trace),
            from: ns(from),
            until: Ns(ns(until).0.saturating_add(1)),
            is_described_anew: !self.is_described,
            has_gap: self.has_gap,
            new_from: &new_from.collect::<Vec<u64>>(),
        });
        (self.is_described, self.has_gap, self.is_gone_on) = (true, false, true);
        trace.replace_streams(Vec::new());
        for stream in &mut self.streams {
            stream.pass(Some(until.saturating_add(1)));
        }
        self.reached = Some(until);
        Ok(Share { read_bytes, passed_bytes })
    }

    /// Passes over what is too much for a part. Return: where the part begins then, and how many
    /// bytes were passed over.
    fn make_fit(&mut self, from: u64, until: u64, budget_bytes: u64) -> (u64, u64) {
        let packets = self.streams.iter().flat_map(|stream| &stream.packets);
        let mut sizes: Vec<(u64, u64)> = packets
            .filter(|packet| packet.begin_cycles <= until)
            .map(|packet| (packet.begin_cycles, packet.size_bytes))
            .collect();
        let mut left = budget_bytes;
        if sizes.iter().map(|(_, size)| *size).sum::<u64>() <= left {
            return (from, 0);
        }
        sizes.sort_unstable_by_key(|(begin, _)| std::cmp::Reverse(*begin));
        let mut begin = until;
        for (begins, size) in sizes {
            if size > left && begin < until {
                break;
            }
            left = left.saturating_sub(size);
            begin = begins;
        }
        let begin = begin.max(from);
        let passed = self.streams.iter_mut().map(|stream| stream.pass(Some(begin))).sum();
        self.has_gap |= begin > from;
        (begin, passed)
    }
}

fn read_metadata(path: &Path) -> anyhow::Result<Vec<u8>> {
    use std::io::Read;
    let path = path.join(METADATA);
    let shown = || path.display().to_string();
    let mut bytes = Vec::new();
    let file = File::open(&path).with_context(shown)?;
    file.take(METADATA_BYTES_MAX).read_to_end(&mut bytes).with_context(shown)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
