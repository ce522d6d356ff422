// SPDX-License-Identifier: MIT
//! What to do with each event class, and which thread each stream is in.
//!
//! Place in the flow: decided once for each class before the first event. Lull's probes write a
//! `lull:thread` event where a packet goes over to another thread; events up to the next one, or to
//! the end of the packet, are that thread's.

use analysis::event_name;
use trace::{Event, EventClass, Trace, Value};

use super::{names, number, text};
use crate::selection::{Rules, Selection, Who};

const THREAD_EVENT: &str = "lull:thread";
/// Bookkeeping: shown with `--all` only. What they tell is counted as lost by the packets.
const HIDDEN_EVENTS: [&str; 3] = [THREAD_EVENT, "lull:lost", "lull:lost_bytes"];

/// Positions of the fields of `lull:thread`.
pub(super) struct ThreadFields {
    pid: usize,
    tid: usize,
    name: usize,
}

impl ThreadFields {
    fn of(class: &EventClass) -> Option<Self> {
        if &*class.name != THREAD_EVENT {
            return None;
        }
        let field = |name| class.field_index(name);
        Some(Self { pid: field("pid")?, tid: field("tid")?, name: field("name")? })
    }
}

pub(super) fn is_hidden(name: &str) -> bool {
    HIDDEN_EVENTS.contains(&name)
}

/// The field of a system call's result, in events whose names begin so.
pub(super) const RESULT: &str = "ret";
const EXITS: [&str; 2] = ["syscalls:sys_exit_", "raw_syscalls:sys_exit"];

pub(super) struct ClassPlan {
    /// Of a system call's exit, which field has the result.
    result: Option<usize>,
    pub is_shown: bool,
    /// The name as it stands in a line, with a blank before it.
    pub label: Vec<u8>,
    pub thread: Option<ThreadFields>,
}

impl ClassPlan {
    pub fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// The name of the error that a system call ended with.
    pub fn error_of(&self, event: &Event<'_>) -> Option<&'static str> {
        names::error(event.value(self.result?)?.as_i64()?)
    }
}

/// The plans of all classes of all traces.
pub(super) struct Classes<'a> {
    by_trace: Vec<Vec<ClassPlan>>,
    rules: Rules<'a>,
}

impl<'a> Classes<'a> {
    pub fn new(traces: &[Trace], selection: &'a Selection<'_>, all: bool) -> anyhow::Result<Self> {
        let names = |_, class: &EventClass| vec![class.name.to_string(), event_name(class).into()];
        let plan = |class: &EventClass| {
            let name = &*class.name;
            let matches = selection.wants(&[name, event_name(class)], class.log_level);
            let mut label = vec![b' '];
            text::word(&mut label, name.as_bytes());
            let is_exit = EXITS.iter().any(|begin| name.starts_with(begin));
            ClassPlan {
                label,
                result: class.field_index(RESULT).filter(|_| is_exit),
                is_shown: matches && (all || !is_hidden(name)),
                thread: ThreadFields::of(class),
            }
        };
        let by_trace = traces.iter().map(|trace| trace.event_classes().map(plan).collect());
        Ok(Self { by_trace: by_trace.collect(), rules: selection.rules(traces, &names)? })
    }

    /// Whether an event of a class that is shown is printed.
    #[inline]
    pub fn take(&self, event: &Event<'_>, thread: Option<&Thread>) -> bool {
        let who = thread.map(|thread| Who {
            pid: i64::try_from(thread.pid).ok(),
            tid: i64::try_from(thread.tid).ok(),
            name: Some(&thread.name),
        });
        self.rules.take(event, who)
    }

    /// The plan for an event's class.
    pub fn of(&self, event: &Event<'_>) -> &ClassPlan {
        &self.by_trace[event.trace_index()][event.class().index]
    }
}

/// A stream's current thread.
#[derive(Default)]
pub(super) struct Thread {
    /// Offset of the packet in which the thread was named.
    packet_bytes: u64,
    is_known: bool,
    pub pid: u64,
    pub tid: u64,
    pub name: Vec<u8>,
    /// `name/tid`, ready to print.
    pub label: Vec<u8>,
}

pub(super) struct Threads {
    by_stream: Vec<Thread>,
}

impl Threads {
    pub fn new(stream_count: usize) -> Self {
        Self { by_stream: (0..stream_count).map(|_| Thread::default()).collect() }
    }

    /// Takes over what a `lull:thread` event says.
    pub fn switch(&mut self, event: &Event<'_>, fields: &ThreadFields) {
        let thread = &mut self.by_stream[event.stream_index()];
        let number = |index| event.value(index).and_then(|value| value.as_u64()).unwrap_or(0);
        thread.packet_bytes = event.packet().offset_bytes;
        thread.is_known = true;
        thread.pid = number(fields.pid);
        thread.tid = number(fields.tid);
        thread.name.clear();
        if let Some(Value::Text(name)) = event.value(fields.name) {
            thread.name.extend_from_slice(name);
        }
        thread.label.clear();
        text::word(&mut thread.label, &thread.name);
        thread.label.push(b'/');
        number::unsigned(&mut thread.label, thread.tid);
    }

    /// The thread of an event, if its packet has named one.
    pub fn of(&self, event: &Event<'_>) -> Option<&Thread> {
        let thread = &self.by_stream[event.stream_index()];
        let is_current = thread.is_known && thread.packet_bytes == event.packet().offset_bytes;
        is_current.then_some(thread)
    }
}
