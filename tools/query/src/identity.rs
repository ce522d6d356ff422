// SPDX-License-Identifier: MIT
//! Which thread an event is of.
//!
//! Place in the flow: the tables of events ask for each row. Lull's packets name their threads, and
//! other tracers write contexts with each event; both are in the packet, so that any slice of a
//! trace can be read alone. Where only the scheduler's events tell, the crate `state` has to see
//! all events from the beginning ([`needs_state`]).

use state::{event_name, ShortName, State, ThreadContext};
use trace::{
    Event, EventClass, StreamClass, ThreadFields, Trace, Value, BOOKKEEPING, THREAD_EVENT,
};

const SWITCHES: [&str; 2] = ["sched_switch", "sched:sched_switch"];

/// A thread, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Who {
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    pub name: Option<ShortName>,
}

/// Whether events of a class are Lull's own records for readers.
pub fn is_bookkeeping(class: &EventClass) -> bool {
    BOOKKEEPING.contains(&&*class.name)
}

/// Whether only the scheduler tells of some events which thread they are of.
pub fn needs_state(traces: &[Trace]) -> bool {
    let is_switch = |class: &EventClass| SWITCHES.contains(&event_name(class));
    let is_silent = |stream: &StreamClass| !has_records(stream) && !has_contexts(stream);
    traces.iter().any(|trace| trace.event_classes().any(is_switch))
        && traces.iter().any(|trace| trace.metadata().streams.iter().any(is_silent))
}

fn has_records(stream: &StreamClass) -> bool {
    stream.events.iter().any(|class| &*class.name == THREAD_EVENT)
}

fn has_contexts(stream: &StreamClass) -> bool {
    let fields = stream.event_context.as_ref().map_or(&[][..], |context| &context.fields);
    fields.iter().any(|field| matches!(field.name(), "tid" | "vtid" | "pid" | "vpid"))
}

/// What is remembered of a stream.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// The packet in which the thread was named.
    packet_bytes: Option<u64>,
    who: Who,
}

/// Finds threads by what is in packets.
pub struct Records {
    /// By trace and class.
    fields: Vec<Vec<Option<ThreadFields>>>,
    streams: Vec<Stream>,
}

impl Records {
    pub fn new(traces: &[Trace], stream_count: usize) -> Self {
        let fields = traces.iter().map(|t| t.event_classes().map(ThreadFields::of).collect());
        Self { fields: fields.collect(), streams: vec![Stream::default(); stream_count] }
    }

    /// Takes over what an event tells if it is a record; to be called for each.
    #[inline]
    pub fn see(&mut self, event: &Event<'_>) {
        let of_trace = self.fields.get(event.trace_index());
        let fields = of_trace.and_then(|fields| *fields.get(event.class().index)?);
        if let Some(fields) = fields {
            self.switch(event, fields);
        }
    }

    fn switch(&mut self, event: &Event<'_>, fields: ThreadFields) {
        let Some(stream) = self.streams.get_mut(event.stream_index()) else { return };
        let number = |field| event.value(field).and_then(|value| value.as_i64());
        let name = match event.value(fields.name) {
            Some(Value::Text(bytes)) => Some(ShortName::new(bytes)),
            _ => None,
        };
        stream.packet_bytes = Some(event.packet().offset_bytes);
        stream.who = Who { pid: number(fields.pid), tid: number(fields.tid), name };
    }

    /// The thread of an event.
    pub fn who(&self, event: &Event<'_>) -> Who {
        let stream = event.stream_class();
        if has_contexts(stream) {
            let context = ThreadContext::of(event);
            return Who { pid: context.pid, tid: context.tid, name: context.name };
        }
        match self.streams.get(event.stream_index()) {
            Some(known) if known.packet_bytes == Some(event.packet().offset_bytes) => known.who,
            _ => Who::default(),
        }
    }
}

/// What the state knows of the thread of an event that it has just seen.
pub fn who_by_state(state: &State, thread: state::ThreadIndex) -> Who {
    let threads = state.threads();
    let known = threads.threads().get(thread.0 as usize);
    Who {
        pid: threads.pid(threads.process_of(thread)),
        tid: threads.tid(thread),
        name: known.map(|known| known.name).filter(|name| !name.as_bytes().is_empty()),
    }
}
