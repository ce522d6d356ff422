// SPDX-License-Identifier: MIT
//! Which thread the events of each stream are of, as the traces of Lull say it.
//!
//! Place in the flow: for readers that show, choose or copy events. Lull's probes write a
//! `lull:thread` event where a packet goes over to another thread; events up to the next one, or to
//! the end of the packet, are that thread's.

use crate::event::{Event, Value};
use crate::metadata::EventClass;

/// The name of the event that says which thread runs from there on.
pub const THREAD_EVENT: &str = "lull:thread";

/// Events that Lull's probes write for readers: no events of the program, and in no count.
pub const BOOKKEEPING: [&str; 3] = [THREAD_EVENT, "lull:lost", "lull:lost_bytes"];

/// Positions of the fields of `lull:thread`.
#[derive(Debug, Clone, Copy)]
pub struct ThreadFields {
    pub pid: usize,
    pub tid: usize,
    pub name: usize,
}

impl ThreadFields {
    /// `None` for every other class.
    pub fn of(class: &EventClass) -> Option<Self> {
        if &*class.name != THREAD_EVENT {
            return None;
        }
        let field = |name| class.field_index(name);
        Some(Self { pid: field("pid")?, tid: field("tid")?, name: field("name")? })
    }
}

/// A stream's current thread.
#[derive(Debug, Clone, Default)]
pub struct RecordedThread {
    /// Offset of the packet in which the thread was named.
    packet_bytes: u64,
    is_known: bool,
    pub pid: u64,
    pub tid: u64,
    pub name: Vec<u8>,
}

/// The current threads of all streams of a merge.
#[derive(Debug)]
pub struct RecordedThreads {
    by_stream: Vec<RecordedThread>,
}

impl RecordedThreads {
    pub fn new(stream_count: usize) -> Self {
        Self { by_stream: vec![RecordedThread::default(); stream_count] }
    }

    /// Takes over what a `lull:thread` event says.
    pub fn switch(&mut self, event: &Event<'_>, fields: &ThreadFields) -> Option<&RecordedThread> {
        let thread = self.by_stream.get_mut(event.stream_index())?;
        let number = |index| event.value(index).and_then(|value| value.as_u64()).unwrap_or(0);
        thread.packet_bytes = event.packet().offset_bytes;
        thread.is_known = true;
        thread.pid = number(fields.pid);
        thread.tid = number(fields.tid);
        thread.name.clear();
        if let Some(Value::Text(name)) = event.value(fields.name) {
            thread.name.extend_from_slice(name);
        }
        Some(thread)
    }

    /// The thread of an event, if its packet has named one.
    #[inline]
    pub fn of(&self, event: &Event<'_>) -> Option<&RecordedThread> {
        let thread = self.by_stream.get(event.stream_index())?;
        let is_current = thread.is_known && thread.packet_bytes == event.packet().offset_bytes;
        is_current.then_some(thread)
    }
}
