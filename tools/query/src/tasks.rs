// SPDX-License-Identifier: MIT
//! The tables `threads` and `processes`: who wrote events, and what is known of them.
//!
//! Place in the flow: one pass with the crate `state`, as for calls; the rows are what the state
//! knows at the end, with the events of each thread counted on the way.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use state::{Exit, Limits, Process, State, Thread, ThreadKey};
use trace::{Merge, Message, Ns};

use crate::fixed::{schema, Cell, Columns, Kind, Rows};
use crate::reading::{Meter, Reading, Tally};
use crate::scan::{Give, Request, Source};

const THREADS: &Columns = &[
    ("host", Kind::Text),
    ("pid", Kind::Signed),
    ("tid", Kind::Signed),
    ("comm", Kind::Text),
    ("process", Kind::Text),
    ("events", Kind::Signed),
    ("first", Kind::Time),
    ("last", Kind::Time),
    ("has_ended", Kind::Boolean),
];

const PROCESSES: &Columns = &[
    ("host", Kind::Text),
    ("pid", Kind::Signed),
    ("parent_pid", Kind::Signed),
    ("name", Kind::Text),
    ("path", Kind::Text),
    ("arguments", Kind::Text),
    ("threads", Kind::Signed),
    ("events", Kind::Signed),
    ("first", Kind::Time),
    ("last", Kind::Time),
    ("exit_code", Kind::Signed),
    ("exit_signal", Kind::Signed),
];

/// One of the two tables.
#[derive(Debug)]
pub struct TaskTable {
    pub reading: Arc<Reading>,
    pub is_of_processes: bool,
}

/// The events of a thread or a process.
#[derive(Debug, Clone, Copy, Default)]
struct Activity {
    events: u64,
    first: Option<Ns>,
    last: Option<Ns>,
    /// The trace of the first event.
    trace_index: usize,
}

impl Activity {
    fn add(&mut self, other: &Activity) {
        let is_first = other.first.is_some() && self.first.is_none_or(|at| other.first < Some(at));
        if is_first {
            (self.first, self.trace_index) = (other.first, other.trace_index);
        }
        self.events += other.events;
        self.last = self.last.max(other.last);
    }
}

impl TaskTable {
    fn columns(&self) -> &'static Columns {
        match self.is_of_processes {
            true => PROCESSES,
            false => THREADS,
        }
    }
}

impl Source for TaskTable {
    fn name(&self) -> &str {
        match self.is_of_processes {
            true => "processes",
            false => "threads",
        }
    }

    fn schema(&self) -> SchemaRef {
        schema(self.columns())
    }

    fn has_bounds(&self) -> bool {
        false
    }

    fn read(&self, request: &Request, give: &mut Give<'_>) {
        let reading = &*self.reading;
        let rows = Rows::begin(self.columns(), request, reading, give);
        let Some(mut rows) = rows else { return };
        let (state, activities) = pass(reading);
        let activity_of = |thread: usize| activities.get(thread).copied().unwrap_or_default();
        if self.is_of_processes {
            for process in state.threads().processes() {
                let mut activity = Activity::default();
                for thread in &process.threads {
                    activity.add(&activity_of(thread.0 as usize));
                }
                if process.pid.is_some() {
                    let row = process_row(reading, &state, process, &activity);
                    if rows.add(&row, give).is_break() {
                        return;
                    }
                }
            }
        } else {
            for (index, thread) in state.threads().threads().iter().enumerate() {
                let activity = activity_of(index);
                // The first stands for all that found no space.
                if thread.key.is_none() && activity.events == 0 {
                    continue;
                }
                if rows.add(&thread_row(reading, &state, thread, &activity), give).is_break() {
                    return;
                }
            }
        }
        rows.end(give);
    }
}

fn pass(reading: &Reading) -> (State, Vec<Activity>) {
    let mut merge = Merge::between(&reading.traces, &reading.span);
    let mut state = State::new(&reading.traces, merge.stream_count(), &Limits::default());
    let mut activities: Vec<Activity> = Vec::new();
    let (mut meter, mut tally) = (Meter::default(), Tally::default());
    while let Some(message) = merge.next() {
        let event = match message {
            Message::Event(event) => event,
            Message::Loss(loss) => {
                tally.loss(&loss);
                state.loss(&loss);
                continue;
            }
        };
        meter.see(&event, reading);
        let Some(step) = state.event(&event).filter(|_| !event.is_before_span()) else { continue };
        let index = step.thread.0 as usize;
        if activities.len() <= index {
            // Bound: the state's limit of threads.
            activities.resize(index + 1, Activity::default());
        }
        let at = event.clock().map(|_| event.time_ns());
        let trace_index = event.trace_index();
        activities[index].add(&Activity { events: 1, first: at, last: at, trace_index });
    }
    tally.read = meter.read;
    reading.end(&tally, &merge);
    (state, activities)
}

fn host<'r>(reading: &'r Reading, activity: &Activity) -> Cell<'r> {
    match activity.events {
        0 if reading.traces.len() != 1 => Cell::None,
        _ => reading.hosts.get(activity.trace_index).and_then(Option::as_deref).into(),
    }
}

fn thread_row<'a>(
    reading: &'a Reading,
    state: &'a State,
    thread: &'a Thread,
    activity: &Activity,
) -> [Cell<'a>; 9] {
    let threads = state.threads();
    let tid = match thread.key {
        Some(ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. }) => Some(tid),
        Some(ThreadKey::Idle { .. }) => Some(0),
        _ => None,
    };
    let process = threads.processes().get(thread.process.0 as usize);
    let name = process.filter(|process| process.pid.is_some());
    let comm = match thread.name.as_bytes() {
        [] => Cell::None,
        bytes => Cell::Bytes(bytes),
    };
    [
        host(reading, activity),
        threads.pid(thread.process).into(),
        tid.into(),
        comm,
        name.map(|process| threads.process_name(process, state.texts())).into(),
        Cell::Count(activity.events),
        activity.first.map(|at| at.0).into(),
        activity.last.map(|at| at.0).into(),
        Cell::Boolean(thread.has_ended),
    ]
}

fn process_row<'a>(
    reading: &'a Reading,
    state: &'a State,
    process: &'a Process,
    activity: &Activity,
) -> [Cell<'a>; 12] {
    let text = |index| match state.texts().bytes(index) {
        [] => Cell::None,
        bytes => Cell::Bytes(bytes),
    };
    let (code, signal) = match process.exit {
        Some(Exit::Code(code)) => (Some(i64::from(code)), None),
        Some(Exit::Signal(signal)) => (None, Some(i64::from(signal))),
        None => (None, None),
    };
    [
        host(reading, activity),
        process.pid.into(),
        process.parent_pid.into(),
        Cell::Text(state.threads().process_name(process, state.texts()).into()),
        text(process.path),
        text(process.arguments),
        Cell::Count(process.threads.len() as u64),
        Cell::Count(activity.events),
        activity.first.map(|at| at.0).into(),
        activity.last.map(|at| at.0).into(),
        code.into(),
        signal.into(),
    ]
}
