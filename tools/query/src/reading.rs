// SPDX-License-Identifier: MIT
//! The traces of a query, and what was found out while they were read.
//!
//! Place in the flow: every table reads the same traces through one [`Reading`], which at the end
//! says what is missing from the answer.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use state::{PairIndex, State};
use trace::{Event, LossKind, LossMessage, Merge, Problem, Span, Trace};

use crate::identity::is_bookkeeping;

/// Sentences about damage that are kept; the rest are counted.
pub const MOST_PROBLEMS: usize = 20;

/// Open traces, and how to read them.
#[derive(Debug)]
pub struct Reading {
    pub traces: Vec<Trace>,
    /// What is read at most.
    pub span: Span,
    pub workers: usize,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Names of the machines, by trace.
    pub hosts: Vec<Option<String>>,
    /// What tells the traces apart.
    pub labels: Vec<String>,
    pub total_bytes: u64,
    /// By trace and class, whether recorders count such events.
    counted: Vec<Vec<bool>>,
    bytes_read: AtomicU64,
    found: Mutex<Found>,
}

impl Reading {
    pub fn new(traces: Vec<Trace>, span: Span, workers: usize, batch_rows: usize) -> Self {
        let host =
            |trace: &Trace| trace.metadata().environment_text("hostname").map(str::to_string);
        let counted = |trace: &Trace| trace.event_classes().map(|c| !is_bookkeeping(c)).collect();
        let files = traces.iter().flat_map(Trace::files);
        let sizes = files.map(|file| std::fs::metadata(file.path()).map_or(0, |m| m.len()));
        Self {
            span,
            workers,
            batch_rows: batch_rows.max(1),
            hosts: traces.iter().map(host).collect(),
            labels: labels(&traces),
            total_bytes: sizes.sum(),
            counted: traces.iter().map(counted).collect(),
            bytes_read: AtomicU64::new(0),
            found: Mutex::new(Found::default()),
            traces,
        }
    }

    /// What was found out so far. It is whole at every moment, so a panic elsewhere spoils nothing.
    pub fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    pub fn add_bytes(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes down what was wrong with packets.
    pub fn damaged(&self, problems: &[Problem]) {
        self.found().add(&Tally::default(), problems);
    }

    /// Where other events were read by a pass than recorders wrote, a sentence each.
    pub fn miscounts(&self, tally: &Tally, rest: &Merge<'_>) -> Vec<String> {
        match self.span == Span::ALL {
            true => analysis::miscounts(&self.traces, rest, &tally.read),
            false => Vec::new(),
        }
    }

    /// Takes down which calls are in no table, of those that it has a row for.
    pub fn not_measured(&self, state: &State, has_row: impl Fn(PairIndex) -> bool) {
        let notes = analysis::not_measured(&self.traces, state, has_row);
        self.found().notes.extend(notes);
    }

    /// Takes down what one pass over the traces found.
    pub fn end(&self, tally: &Tally, rest: &Merge<'_>) {
        let problems = rest.problems();
        let mut found = self.found();
        found.add(tally, &problems);
        found.miscounts.extend(self.miscounts(tally, rest));
        found.notes.extend(analysis::late_beginnings(&self.traces, rest));
        found.notes.extend(analysis::repeated_packets(&self.traces, rest));
    }
}

/// The last part of each path, or the whole where two are alike.
fn labels(traces: &[Trace]) -> Vec<String> {
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let short: BTreeSet<_> = traces.iter().map(|trace| last(trace.path())).collect();
    let is_enough = short.len() == traces.len() && !short.contains(&None);
    let label = |trace: &Trace| match last(trace.path()) {
        Some(name) if is_enough => name,
        _ => trace.path().to_string_lossy().into_owned(),
    };
    traces.iter().map(label).collect()
}

/// What one pass met.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub lost_events: u64,
    pub lost_packets: u64,
    /// Events whose fields could not be decoded to their end.
    pub faults: u64,
    /// Lists too long to be given.
    pub cut: u64,
    /// Events of each trace that recorders count, if the pass read all; else nothing.
    pub read: Vec<u64>,
}

impl Tally {
    pub fn loss(&mut self, message: &LossMessage<'_>) {
        let sum = match message.loss.kind {
            LossKind::Events => &mut self.lost_events,
            LossKind::Packets => &mut self.lost_packets,
        };
        *sum = sum.saturating_add(message.loss.count);
    }

    pub fn add(&mut self, other: &Tally) {
        self.lost_events = self.lost_events.saturating_add(other.lost_events);
        self.lost_packets = self.lost_packets.saturating_add(other.lost_packets);
        self.faults = self.faults.saturating_add(other.faults);
        self.cut = self.cut.saturating_add(other.cut);
        self.read.resize(self.read.len().max(other.read.len()), 0);
        self.read.iter_mut().zip(&other.read).for_each(|(sum, read)| *sum += read);
    }
}

/// The worst that any pass found: a query may read a trace several times.
#[derive(Debug, Default)]
pub struct Found {
    pub tally: Tally,
    pub problems: Vec<String>,
    pub problem_count: usize,
    /// Where other events were read than recorders wrote.
    pub miscounts: BTreeSet<String>,
    /// What began before the traces did, what is in two of them, and what is not measured.
    pub notes: BTreeSet<String>,
}

impl Found {
    fn add(&mut self, tally: &Tally, problems: &[Problem]) {
        let known = &mut self.tally;
        known.lost_events = known.lost_events.max(tally.lost_events);
        known.lost_packets = known.lost_packets.max(tally.lost_packets);
        known.faults = known.faults.max(tally.faults);
        known.cut = known.cut.max(tally.cut);
        if problems.len() > self.problem_count {
            self.problem_count = problems.len();
            self.problems = problems.iter().take(MOST_PROBLEMS).map(ToString::to_string).collect();
        }
    }

    /// What is missing from the answer, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let &Tally { lost_events, lost_packets, faults, cut, .. } = &self.tally;
        let mut said = Vec::new();
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                said.push(format!("{} {what}", verdict::text::plural(count, "event")));
            }
        };
        let where_ = "of what was read: SELECT * FROM lost tells where";
        say(lost_events, &format!("lost {where_}"));
        say(faults, "with fields that cannot be decoded: they are NULL");
        if lost_packets > 0 {
            let packets = verdict::text::plural(lost_packets, "packet");
            said.push(format!("{packets} lost {where_}"));
        }
        if cut > 0 {
            let lists = verdict::text::plural(cut, "list");
            said.push(format!("{lists} of more than a million elements: they are NULL"));
        }
        said.extend(self.problems.iter().cloned());
        if self.problem_count > self.problems.len() {
            said.push(format!("and {} problems more", self.problem_count - self.problems.len()));
        }
        said.extend(self.miscounts.iter().chain(&self.notes).cloned());
        said
    }

    /// Whether events are missing from what was read.
    pub fn is_incomplete(&self) -> bool {
        let &Tally { lost_events, lost_packets, faults, cut, .. } = &self.tally;
        lost_events + lost_packets + faults + cut > 0
            || self.problem_count > 0
            || !self.miscounts.is_empty()
    }
}

/// How much of the traces was read, packet by packet.
#[derive(Default)]
pub struct Meter {
    packets: Vec<u64>,
    bytes: u64,
    /// Events of each trace that its recorder counts.
    pub read: Vec<u64>,
}

impl Meter {
    /// Bytes are told in pieces of this size.
    const PIECE_BYTES: u64 = 1 << 20;

    #[inline]
    pub fn see(&mut self, event: &Event<'_>, reading: &Reading) {
        let trace_index = event.trace_index();
        if self.read.is_empty() {
            self.read.resize(reading.traces.len(), 0);
        }
        let counted = reading.counted.get(trace_index);
        let is_counted = counted.and_then(|of| of.get(event.class().index)) == Some(&true);
        if let Some(read) = self.read.get_mut(trace_index).filter(|_| is_counted) {
            *read += 1;
        }
        let (stream, packet) = (event.stream_index(), event.packet());
        if self.packets.get(stream) == Some(&(packet.offset_bytes + 1)) {
            return;
        }
        if self.packets.len() <= stream {
            self.packets.resize(stream + 1, 0);
        }
        self.packets[stream] = packet.offset_bytes + 1;
        self.bytes += packet.size_bytes;
        if self.bytes >= Self::PIECE_BYTES {
            reading.add_bytes(std::mem::take(&mut self.bytes));
        }
    }
}
