// SPDX-License-Identifier: MIT
//! The meaning of a trace's metadata: clocks, environment, stream classes, event classes.
//!
//! Place in the flow: built once by `tsdl`, then shared read-only by every cursor, walker and
//! printer. [`Metadata::parse`] is also the entry for callers that have text and no trace, such as
//! a consumer that checks the rings it copies.

use std::collections::HashMap;
use std::sync::Arc;

use crate::clock::Clock;
use crate::error::MetadataError;
use crate::header::HeaderShape;
use crate::leading::Leading;
use crate::plan::Plan;
use crate::tsdl;
use crate::types::{ByteOrder, Struct};
use crate::units::{EventId, StreamId};

/// A value of the `env` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentValue {
    Number(i128),
    Text(String),
}

/// Everything the metadata says.
#[derive(Debug)]
pub struct Metadata {
    pub byte_order: ByteOrder,
    pub uuid: Option<[u8; 16]>,
    pub environment: Vec<(String, EnvironmentValue)>,
    pub clocks: Vec<Clock>,
    /// Attributes and blocks that were not understood and not needed.
    pub warnings: Vec<MetadataError>,
    pub packet_header: Option<Struct>,
    pub streams: Vec<StreamClass>,
    /// How many values a decoder of this trace keeps for lengths and tags.
    pub(crate) slot_count: u32,
}

impl Metadata {
    /// Parses TSDL text, or the JSON text sequence of CTF 2. Fails at the first error.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        let (metadata, mut errors) = tsdl::parse_either(text);
        if errors.is_empty() {
            Ok(metadata)
        } else {
            Err(errors.swap_remove(0))
        }
    }

    /// Reads the bytes of a `metadata` file, text or packets, and keeps what is intact.
    pub fn salvage(bytes: &[u8]) -> (Self, Vec<MetadataError>) {
        tsdl::salvage(bytes)
    }

    /// The value of an `env` entry.
    pub fn environment_value(&self, key: &str) -> Option<&EnvironmentValue> {
        self.environment.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of an `env` entry that is a text.
    pub fn environment_text(&self, key: &str) -> Option<&str> {
        match self.environment_value(key)? {
            EnvironmentValue::Text(text) => Some(text),
            EnvironmentValue::Number(_) => None,
        }
    }

    /// Whether the tracer is an LTTng that noted a packet's end before the last event of the packet
    /// took its time, so that an event may be after the end: lttng-ust before 2.11, lttng-modules
    /// before 2.9.13 and 2.10.10.
    pub(crate) fn notes_ends_early(&self) -> bool {
        let number = |key| match self.environment_value(key) {
            Some(EnvironmentValue::Number(number)) => Some(*number),
            _ => None,
        };
        let (Some(major), Some(minor)) = (number("tracer_major"), number("tracer_minor")) else {
            return false;
        };
        let patch = number("tracer_patch").or_else(|| number("tracer_patchlevel")).unwrap_or(0);
        let version = (major, minor, patch);
        match self.environment_text("tracer_name") {
            Some("lttng-ust") => version < (2, 11, 0),
            Some("lttng-modules") => {
                version < (2, 9, 13) || ((2, 10, 0)..(2, 10, 10)).contains(&version)
            }
            _ => false,
        }
    }

    pub fn stream(&self, id: StreamId) -> Option<&StreamClass> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    /// All event classes, stream by stream.
    pub fn event_classes(&self) -> impl Iterator<Item = &EventClass> {
        self.streams.iter().flat_map(|stream| &stream.events)
    }

    pub(crate) fn clock_of(&self, stream: &StreamClass) -> Option<&Clock> {
        self.clocks.get(usize::from(stream.clock?))
    }
}

/// A `stream { ... }` block and the events that belong to it.
#[derive(Debug)]
pub struct StreamClass {
    pub id: StreamId,
    pub packet_context: Option<Struct>,
    pub event_header: Option<Struct>,
    pub event_context: Option<Struct>,
    /// Index of the clock that dates this stream's events.
    pub clock: Option<u16>,
    pub events: Vec<EventClass>,
    /// Names of the packet context's `lost_*` counters, without the prefix.
    pub(crate) loss_causes: Vec<Arc<str>>,
    pub(crate) header_shape: Option<HeaderShape>,
    /// The largest alignment of anything in an event.
    pub(crate) widest_align_bits: u32,
    pub(crate) event_context_plan: Plan,
    pub(crate) table: EventTable,
}

impl StreamClass {
    /// Names of the packet context's `lost_*` counters, without the prefix.
    pub fn loss_causes(&self) -> &[Arc<str>] {
        &self.loss_causes
    }

    pub fn event(&self, id: EventId) -> Option<&EventClass> {
        self.table.find(id.0).and_then(|entry| self.events.get(entry.class as usize))
    }
}

/// An `event { ... }` block.
#[derive(Debug)]
pub struct EventClass {
    pub id: EventId,
    pub stream: StreamId,
    pub name: Arc<str>,
    pub log_level: Option<i64>,
    pub emf_uri: Option<String>,
    pub context: Option<Struct>,
    pub payload: Option<Struct>,
    pub(crate) context_plan: Plan,
    /// Context and payload in one; the stream's context comes before.
    pub(crate) body_plan: Plan,
    pub(crate) leading: Leading,
    /// Position of the event class among all of the trace.
    pub index: usize,
}

impl EventClass {
    /// Position of a payload field, for [`crate::Event::value`].
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.payload.as_ref()?.field_index(name)
    }
}

/// How to skip the body of one event class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventEntry {
    /// Size of the body from its aligned start; [`EventEntry::DYNAMIC`] if it varies.
    pub body_bits: u64,
    /// Alignment of the body, less one.
    pub align_mask: u32,
    /// Position in [`StreamClass::events`].
    pub class: u32,
}

impl EventEntry {
    pub const DYNAMIC: u64 = u64::MAX;
    /// An id without an event class: larger than any packet, so that it never fits.
    pub const ABSENT: EventEntry =
        EventEntry { body_bits: EventEntry::DYNAMIC, align_mask: 0, class: u32::MAX };
}

/// From event id to entry: an array for small ids, a map for the others.
#[derive(Debug, Default)]
pub(crate) struct EventTable {
    pub dense: Vec<EventEntry>,
    sparse: HashMap<u64, EventEntry>,
}

impl EventTable {
    const DENSE_IDS: u64 = 1 << 12;

    /// Adds an entry; `false` if the id is taken.
    pub fn insert(&mut self, id: u64, entry: EventEntry) -> bool {
        if self.find(id).is_some() {
            return false;
        }
        if id < Self::DENSE_IDS {
            let id = id as usize;
            if self.dense.len() <= id {
                self.dense.resize(id + 1, EventEntry::ABSENT);
            }
            self.dense[id] = entry;
        } else {
            self.sparse.insert(id, entry);
        }
        true
    }

    pub fn find(&self, id: u64) -> Option<EventEntry> {
        if id < Self::DENSE_IDS {
            let entry = self.dense.get(id as usize)?;
            (entry.class != u32::MAX).then_some(*entry)
        } else {
            self.sparse.get(&id).copied()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_table_finds_small_and_huge_ids_and_refuses_doubles() {
        let mut table = EventTable::default();
        let entry = |class| EventEntry { body_bits: 8, align_mask: 0, class };
        for (class, id) in [3, 0, u64::MAX, 1 << 40].into_iter().enumerate() {
            assert!(table.insert(id, entry(class as u32)));
            assert!(!table.insert(id, entry(9)));
            assert_eq!(table.find(id).map(|e| e.class), Some(class as u32));
        }
        assert!(
            table.find(1).is_none() && table.find(2).is_none() && table.find(1 << 41).is_none()
        );
        assert!(table.dense.len() < 10);
    }
}
