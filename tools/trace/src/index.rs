// SPDX-License-Identifier: MIT
//! Where the packets of a stream file are, and from when to when.
//!
//! Place in the flow: made by a look at every packet's header, or read from a file beside the trace
//! (`index_file`); a merge over a [`crate::Span`] starts each stream at the packet that the index
//! names. An index only saves time. What it says of the packets where reading starts is compared
//! with their headers, and from there on the packets' own sizes lead.
//!
//! A stream has no index if it is damaged, or if a packet does not say from when to when it is, in
//! 64 bits: fewer bits mean a time only to a reader that has read all packets before.

use crate::cursor::{Cursor, Stop};
use crate::types::Role;

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Entry {
    pub offset_bytes: u64,
    pub size_bytes: u64,
    pub content_bits: u64,
    /// Clock values, never before `begin` for `end`.
    pub begin: u64,
    pub end: u64,
    pub discarded: u64,
    /// The `id` of the stream's class.
    pub stream: u64,
    pub sequence: u64,
}

/// The packets of one stream file, one after the other without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    /// For each packet, the latest end of it and of those before.
    reach: Vec<u64>,
    /// Whether no packet begins before the one before it ends.
    pub is_ordered: bool,
}

impl Index {
    /// `None` if the entries do not lead from the file's first byte to its last, or one ends
    /// before it begins.
    pub fn of(entries: Vec<Entry>, file_bytes: u64) -> Option<Self> {
        let mut at = 0;
        let mut reached = 0;
        let mut is_ordered = true;
        let mut reach = Vec::with_capacity(entries.len());
        for entry in &entries {
            let is_next = entry.offset_bytes == at && entry.size_bytes > 0;
            if !is_next || entry.end < entry.begin {
                return None;
            }
            at = at.checked_add(entry.size_bytes)?;
            is_ordered &= entry.begin >= reached;
            reached = entry.end.max(reached);
            reach.push(reached);
        }
        (at == file_bytes).then_some(Self { entries, reach, is_ordered })
    }

    /// Looks at every header from where the cursor is, the beginning.
    pub fn scan(mut cursor: Cursor<'_>) -> Option<Self> {
        if !cursor.has_whole_times() {
            return None;
        }
        let mut entries = Vec::new();
        while cursor.enter() {
            let packet = &cursor.packet;
            let entry = Entry {
                offset_bytes: packet.offset_bytes,
                size_bytes: packet.size_bytes,
                content_bits: packet.content_bits,
                begin: packet.begin?.0,
                end: packet.end?.0,
                discarded: packet.events_discarded.unwrap_or(0),
                stream: cursor.class.id.0,
                sequence: packet.sequence.unwrap_or(0),
            };
            entries.push(entry);
            cursor.pass();
        }
        cursor.release();
        let is_intact = cursor.problems.is_empty() && cursor.problems_suppressed == 0;
        Self::of(entries, cursor.file.bytes().len() as u64).filter(|_| is_intact)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The position of the first packet that may have an event at or after a clock value.
    pub fn position(&self, cycles: u64) -> usize {
        self.reach.partition_point(|reach| *reach < cycles)
    }

    /// The first clock value and the last.
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let begin = self.entries.iter().map(|entry| entry.begin).min()?;
        Some((begin, *self.reach.last()?))
    }
}

impl Cursor<'_> {
    /// Goes on at one of the index's packets, as if all before it had been read. `false`, and the
    /// cursor is of no use, if the packet before is not what the index says.
    pub(crate) fn seek(&mut self, index: &Index, position: usize) -> bool {
        let Some(number) = position.checked_sub(1) else { return true };
        let Some(before) = index.entries.get(number) else { return false };
        let Ok(offset) = usize::try_from(before.offset_bytes) else { return false };
        self.next_packet = offset;
        self.packets_seen = number as u64;
        let is_there = self.enter()
            && self.problems.is_empty()
            && self.packet.offset_bytes == before.offset_bytes
            && self.packet.size_bytes == before.size_bytes
            && self.packet.begin.is_some_and(|begin| begin.0 == before.begin)
            && self.packet.end.is_some_and(|end| end.0 == before.end);
        self.pass();
        is_there
    }

    /// Whether each packet says in 64 bits when it begins and ends.
    fn has_whole_times(&self) -> bool {
        let fields = self.class.packet_context.as_ref().map_or(&[][..], |context| &context.fields);
        let is_whole = |role| {
            let mut integers = fields.iter().filter_map(|field| field.ty.as_integer());
            integers.any(|integer| integer.role == role && integer.size_bits == 64)
        };
        self.class.clock.is_some() && is_whole(Role::PacketBegin) && is_whole(Role::PacketEnd)
    }

    /// The lowest clock value of an event and the highest, found by reading all of them.
    pub(crate) fn bounds(&mut self) -> Option<(u64, u64)> {
        let mut bounds: Option<(u64, u64)> = None;
        loop {
            match self.step() {
                Stop::End => return bounds,
                Stop::Loss => {}
                Stop::Event => {
                    let (first, last) = bounds.unwrap_or((self.cycles, self.cycles));
                    bounds = Some((first.min(self.cycles), last.max(self.cycles)));
                }
            }
        }
    }

    /// Number of the file's first packet and its count of discarded events, where that is not the
    /// first of its stream.
    pub(crate) fn first_beginning(&self) -> Option<(u64, u64)> {
        let scan = self.first_scan()?;
        let number = scan.sequence.map(|counter| counter.value).filter(|number| *number > 0)?;
        Some((number, scan.discarded.map_or(0, |counter| counter.value)))
    }

    /// Leaves the packet without a look at its events.
    pub(crate) fn pass(&mut self) {
        self.previous.reached_cycles = self.packet.begin.map_or(0, |begin| begin.0);
        self.losses.clear();
        self.in_packet = false;
        self.position = 0;
        self.limit_bits = 0;
        self.release_window(self.next_packet);
    }
}
