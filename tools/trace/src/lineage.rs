// SPDX-License-Identifier: MIT
//! Which files are parts of one stream.
//!
//! Place in the flow: a tracer that begins new files while it records (at a size, or when it is
//! told to) goes on counting packets and discarded events, so the first packet of a file tells of
//! a loss only against the last packet of the file before. The merge asks [`join`] once, before
//! the first event: each cursor whose stream has an earlier file learns where that one ended.
//!
//! Snapshots of one recording have packets in common. Each packet is handed out once: by the trace
//! that goes on longer, which may have more of the packet in which the other one ends.
//!
//! Files are of one stream if they are of one trace (by its UUID and host, or in one folder), one
//! stream class, one instance and one processor, and if the numbers of their packets go on.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cursor::{Cursor, Previous};
use crate::packet::Counter;

/// A stream whose first packets are not in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning<'a> {
    pub trace_index: usize,
    pub file: &'a Path,
    /// Number of the first packet that is there; the stream's first packet has the number 0.
    pub packet_number: u64,
    /// Events discarded from the stream's beginning to the end of that packet. How many of them
    /// were lost before it is not known, so none is counted as lost.
    pub discarded: u64,
}

/// What tells one stream from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    uuid: Option<[u8; 16]>,
    host: Option<String>,
    /// Position of the trace if it has no UUID.
    trace_index: Option<usize>,
    class: u64,
    instance: Option<u64>,
    cpu: Option<u64>,
}

/// What the first packet of a file says.
struct First {
    cursor_index: usize,
    trace_index: usize,
    begin: Option<u64>,
    number: Option<Counter>,
    discarded: Option<Counter>,
}

impl First {
    /// Whether it is the first packet of its stream.
    fn is_start(&self) -> bool {
        self.number.is_some_and(|number| number.value == 0)
    }
}

/// A stream whose packets, from one on, are also in another trace, and are read there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated<'a> {
    pub trace_index: usize,
    pub file: &'a Path,
    /// Position of the other trace.
    pub read_in: usize,
}

/// Tells each cursor where the file before it in its stream ended, and of packets that two traces
/// have, lets one hand them out. The position of each one's trace is beside it. Return: of each
/// cursor that is cut short, its position and the trace that has the packets, too.
pub(crate) fn join(cursors: &mut [(&mut Cursor<'_>, usize)]) -> Vec<(usize, usize)> {
    let mut streams: BTreeMap<Identity, Vec<First>> = BTreeMap::new();
    for (cursor_index, (cursor, trace_index)) in cursors.iter().enumerate() {
        let Some(scan) = cursor.first_scan() else { continue };
        let (instance, cpu) = (scan.instance, scan.cpu);
        if instance.is_none() && cpu.is_none() {
            continue;
        }
        let (uuid, trace_index) = (cursor.metadata.uuid, *trace_index);
        let of_trace = uuid.is_none().then_some(trace_index);
        let class = cursor.class.id.0;
        let host = cursor.metadata.environment_text("hostname").map(str::to_string);
        let identity = Identity { uuid, host, trace_index: of_trace, class, instance, cpu };
        let begin = scan.begin.map(|_| scan.cycles);
        let (number, discarded) = (scan.sequence, scan.discarded);
        let first = First { cursor_index, trace_index, begin, number, discarded };
        streams.entry(identity).or_default().push(first);
    }
    let mut cut = Vec::new();
    for mut files in streams.into_values().filter(|files| files.len() > 1) {
        files.sort_by_key(|file| (file.begin, file.number.map(|number| number.value)));
        let mut files = files.into_iter();
        let Some(mut before) = files.next() else { continue };
        for after in files {
            match join_two(cursors, &before, &after) {
                Some(Cut::After) => cut.push((after.cursor_index, before.trace_index)),
                Some(Cut::Before) => {
                    cut.push((before.cursor_index, after.trace_index));
                    before = after;
                }
                None => before = after,
            }
        }
    }
    cut
}

/// Which of two files is cut short.
enum Cut {
    /// From where the other one begins.
    Before,
    /// All of it.
    After,
}

/// Joins two files of a stream, of which the second does not begin earlier.
fn join_two(
    cursors: &mut [(&mut Cursor<'_>, usize)],
    before: &First,
    after: &First,
) -> Option<Cut> {
    let may_repeat = before.trace_index != after.trace_index;
    if after.is_start() && !may_repeat {
        return None;
    }
    let cursor = &cursors.get(before.cursor_index)?.0;
    let ended = cursor.at_end();
    let common = may_repeat.then(|| common_packet(cursor, before, after, &ended)).flatten();
    let Some((offset, previous)) = common else {
        go_on(cursors, after, ended);
        return None;
    };
    let is_first = previous.sequence.is_none();
    let other = &mut cursors.get_mut(after.cursor_index)?.0;
    // Of two that begin alike, the one that ends earlier has nothing of its own.
    if is_first && other.at_end().sequence < ended.sequence {
        other.stop_at = 0;
        return Some(Cut::After);
    }
    let cursor = &mut cursors.get_mut(before.cursor_index)?.0;
    cursor.stop_at = offset;
    let ended = if is_first { cursor.previous.clone() } else { previous };
    go_on(cursors, after, ended);
    Some(Cut::Before)
}

/// Tells a file where the one before it ended, if it goes on from there.
fn go_on(cursors: &mut [(&mut Cursor<'_>, usize)], after: &First, ended: Previous) {
    if after.is_start() || !goes_on(after, &ended) {
        return;
    }
    if let Some((cursor, _)) = cursors.get_mut(after.cursor_index) {
        cursor.beginning = None;
        // One that begins in the middle of its file knows what was before.
        if cursor.packets_seen == 0 {
            cursor.previous = ended;
        }
    }
}

/// Where a file has the first packet of another trace's file, as snapshots of one recording have
/// it, and what is remembered of the packet before. It is the same packet if it has the same number
/// and begins at the same time; it may have more events in the file that goes on longer.
fn common_packet(
    cursor: &Cursor<'_>,
    before: &First,
    after: &First,
    ended: &Previous,
) -> Option<(usize, Previous)> {
    let number = after.number?.value;
    let is_within = before.number?.value <= number && number <= ended.sequence?;
    is_within.then(|| cursor.find_packet(number, after.begin?)).flatten()
}

/// Whether a file's first packet may be the next after where another file ended.
fn goes_on(file: &First, ended: &Previous) -> bool {
    let grows =
        |now: Option<Counter>, before: Option<u64>| now.zip(before).map(|(n, b)| n.since(b));
    match (grows(file.number, ended.sequence), grows(file.discarded, ended.discarded)) {
        (Some(packets), discarded) => {
            packets.is_some_and(|packets| packets > 0) && discarded != Some(None)
        }
        (None, discarded) => discarded.is_some_and(|discarded| discarded.is_some()),
    }
}
