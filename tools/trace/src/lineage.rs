// SPDX-License-Identifier: MIT
//! Which files are parts of one stream.
//!
//! Place in the flow: a tracer that begins new files while it records (at a size, or when it is
//! told to) goes on counting packets and discarded events, so the first packet of a file tells of
//! a loss only against the last packet of the file before. The merge asks [`join`] once, before
//! the first event: each cursor whose stream has an earlier file learns where that one ended.
//!
//! Files are of one stream if they are of one trace (by its UUID, or in one folder), one stream
//! class, one instance and one processor, and if the numbers of their packets go on.

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
    /// Position of the trace if it has no UUID.
    trace_index: Option<usize>,
    class: u64,
    instance: Option<u64>,
    cpu: Option<u64>,
}

/// What the first packet of a file says.
struct First {
    cursor_index: usize,
    begin: Option<u64>,
    number: Option<Counter>,
    discarded: Option<Counter>,
}

/// Tells each cursor where the file before it in its stream ended. The position of each one's
/// trace is beside it.
pub(crate) fn join(cursors: &mut [(&mut Cursor<'_>, usize)]) {
    let mut streams: BTreeMap<Identity, Vec<First>> = BTreeMap::new();
    for (cursor_index, (cursor, trace_index)) in cursors.iter().enumerate() {
        let Some(scan) = cursor.first_scan() else { continue };
        let (instance, cpu) = (scan.instance, scan.cpu);
        if instance.is_none() && cpu.is_none() {
            continue;
        }
        let uuid = cursor.metadata.uuid;
        let trace_index = uuid.is_none().then_some(*trace_index);
        let identity = Identity { uuid, trace_index, class: cursor.class.id.0, instance, cpu };
        let begin = scan.begin.map(|_| scan.cycles);
        let (number, discarded) = (scan.sequence, scan.discarded);
        let first = First { cursor_index, begin, number, discarded };
        streams.entry(identity).or_default().push(first);
    }
    for mut files in streams.into_values().filter(|files| files.len() > 1) {
        files.sort_by_key(|file| (file.begin, file.number.map(|number| number.value)));
        for pair in files.windows(2) {
            let [before, after] = pair else { continue };
            if after.number.is_some_and(|number| number.value == 0) {
                continue; // the first packet of its stream
            }
            let Some((cursor, _)) = cursors.get(before.cursor_index) else { continue };
            let ended = cursor.at_end();
            if goes_on(after, &ended) {
                let cursor = cursors.get_mut(after.cursor_index).map(|(cursor, _)| cursor);
                if let Some(cursor) = cursor {
                    cursor.beginning = None;
                    // One that begins in the middle of its file knows what was before.
                    if cursor.packets_seen == 0 {
                        cursor.previous = ended;
                    }
                }
            }
        }
    }
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
