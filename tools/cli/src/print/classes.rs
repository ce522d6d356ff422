// SPDX-License-Identifier: MIT
//! What to do with each event class, and which thread each stream is in.
//!
//! Place in the flow: decided once for each class before the first event. Lull's probes write a
//! `lull:thread` event where a packet goes over to another thread; events up to the next one, or to
//! the end of the packet, are that thread's.

use analysis::event_name;
use trace::{
    Event, EventClass, RecordedThread, RecordedThreads, Symbols, ThreadFields, Trace, BOOKKEEPING,
};

use super::{number, text};
use crate::selection::{Rules, Selection, Who};

/// Whether an event is shown with `--all` only. What it tells is counted as lost by the packets.
pub(super) fn is_hidden(name: &str) -> bool {
    BOOKKEEPING.contains(&name)
}

/// The field of the kernel's call stack, whose addresses may have names.
pub(super) const KERNEL_STACK: &str = "kernel_stack";
/// The field of a program's call stack.
pub(super) const USER_STACK: &str = "user_stack";
pub(super) const USER_COPY: &str = "user_stack_copy";
/// The field of a system call's result, in events whose names begin so.
pub(super) const RESULT: &str = "ret";
const EXITS: [&str; 2] = ["syscalls:sys_exit_", "raw_syscalls:sys_exit"];

pub(super) struct ClassPlan {
    /// Of a system call's exit, which field has the result.
    result: Option<usize>,
    pub is_shown: bool,
    /// Whether it is shown with `--all` only.
    pub is_hidden: bool,
    has_stack: bool,
    pub has_user_stack: bool,
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
        state::error_name(event.value(self.result?)?.as_i64()?)
    }
}

/// The plans of all classes of all traces.
pub(super) struct Classes<'a> {
    by_trace: Vec<Vec<ClassPlan>>,
    symbols: Vec<Option<&'a Symbols>>,
    rules: Rules<'a>,
}

impl<'a> Classes<'a> {
    pub fn new(
        traces: &'a [Trace],
        selection: &'a Selection<'_>,
        all: bool,
    ) -> anyhow::Result<Self> {
        let names = |_, class: &EventClass| vec![class.name.to_string(), event_name(class).into()];
        let plan = |class: &EventClass| {
            let name = &*class.name;
            let matches = selection.wants(&[name, event_name(class)], class.log_level);
            let mut label = vec![b' '];
            // Two sites of one event are one event to a person; `--json` tells them apart.
            text::word(&mut label, event_name(class).as_bytes());
            let is_exit = EXITS.iter().any(|begin| name.starts_with(begin));
            ClassPlan {
                label,
                result: class.field_index(RESULT).filter(|_| is_exit),
                is_shown: matches && (all || !is_hidden(name)),
                is_hidden: is_hidden(name),
                has_stack: has_field(class, KERNEL_STACK),
                has_user_stack: has_field(class, USER_STACK) || has_field(class, USER_COPY),
                thread: ThreadFields::of(class),
            }
        };
        let by_trace = traces.iter().map(|trace| trace.event_classes().map(plan).collect());
        let symbols = traces.iter().map(Trace::symbols).collect();
        let rules = selection.rules(traces, &names)?;
        Ok(Self { by_trace: by_trace.collect(), symbols, rules })
    }

    pub fn trace_count(&self) -> usize {
        self.by_trace.len()
    }

    /// Whether an event of a class that is shown is printed.
    #[inline]
    pub fn take(&self, event: &Event<'_>, thread: Option<Thread<'_>>) -> bool {
        self.rules.take(event, thread.map(|thread| who(thread.recorded)))
    }

    /// Names for the addresses of the event's call stack, if it has one and they are known.
    #[inline]
    pub fn symbols(&self, event: &Event<'_>) -> Option<&'a Symbols> {
        if !self.of(event).has_stack {
            return None;
        }
        *self.symbols.get(event.trace_index())?
    }

    /// Whether events with the call stack of a program are shown.
    pub fn show_user_stacks(&self) -> bool {
        let mut plans = self.by_trace.iter().flatten();
        plans.any(|plan| plan.is_shown && plan.has_user_stack)
    }

    /// The plan for an event's class.
    pub fn of(&self, event: &Event<'_>) -> &ClassPlan {
        &self.by_trace[event.trace_index()][event.class().index]
    }
}

/// Whether an event has a call stack, among its fields or in its context.
fn has_field(class: &EventClass, stack: &str) -> bool {
    let context = class.context.iter().flat_map(|context| &context.fields);
    class.field_index(stack).is_some() || context.into_iter().any(|field| field.name() == stack)
}

/// The thread of an event, and what it is called in a line.
#[derive(Clone, Copy)]
pub(super) struct Thread<'a> {
    pub recorded: &'a RecordedThread,
    /// `name/tid`, ready to print.
    pub label: &'a [u8],
}

/// The threads of all streams.
pub(super) struct Threads {
    recorded: RecordedThreads,
    labels: Vec<Vec<u8>>,
}

impl Threads {
    pub fn new(stream_count: usize) -> Self {
        let labels = vec![Vec::new(); stream_count];
        Self { recorded: RecordedThreads::new(stream_count), labels }
    }

    /// Takes over what a `lull:thread` event says.
    pub fn switch(&mut self, event: &Event<'_>, fields: &ThreadFields) {
        let label = &mut self.labels[event.stream_index()];
        label.clear();
        if let Some(thread) = self.recorded.switch(event, fields) {
            text::word(label, &thread.name);
            label.push(b'/');
            number::unsigned(label, thread.tid);
        }
    }

    /// The thread of an event, if its packet has named one.
    pub fn of(&self, event: &Event<'_>) -> Option<Thread<'_>> {
        let recorded = self.recorded.of(event)?;
        Some(Thread { recorded, label: &self.labels[event.stream_index()] })
    }
}

/// A recorded thread, as selections ask for it.
pub(crate) fn who(thread: &RecordedThread) -> Who<'_> {
    Who {
        pid: i64::try_from(thread.pid).ok(),
        tid: i64::try_from(thread.tid).ok(),
        name: Some(&thread.name),
        user: None,
    }
}
