// SPDX-License-Identifier: MIT
//! The tables that follow the state of threads: `calls`, `syscalls`, `locks` and `files`.
//!
//! Place in the flow: one pass in the order of time hands every event to the crate `state`, which
//! joins entries and exits and knows what each descriptor stands for; a row is made of each call
//! that is over. What is read before a condition on time would be met decides of the answer, so
//! only `--from` and `--to` shorten the pass.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use state::{
    error_name, system_call, Done, Limits, Moved, OpenCall, Operation, PairIndex, State, Step,
    ThreadIndex,
};
use trace::{Event, Merge, Message, Ns};

use crate::fixed::{schema, Cell, Columns, Kind, Rows};
use crate::identity::{who_by_state, Who};
use crate::json::Json;
use crate::reading::{Meter, Reading, Tally};
use crate::scan::{Give, Request, Source};

/// Entries whose fields are remembered until their exits come.
const MOST_REMEMBERED: usize = 1 << 16;

/// Which table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Calls,
    SystemCalls,
    Locks,
    Files,
}

const CALLS: &Columns = &[
    ("time", Kind::Time),
    ("host", Kind::Text),
    ("trace", Kind::Text),
    ("cpu", Kind::Signed),
    ("pid", Kind::Signed),
    ("tid", Kind::Signed),
    ("comm", Kind::Text),
    ("name", Kind::Text),
    ("duration", Kind::Signed),
    ("result", Kind::Signed),
    ("error", Kind::Text),
    ("arguments", Kind::Text),
];
const ARGUMENTS: usize = 11;

const LOCKS: &Columns = &[
    ("time", Kind::Time),
    ("host", Kind::Text),
    ("trace", Kind::Text),
    ("cpu", Kind::Signed),
    ("pid", Kind::Signed),
    ("tid", Kind::Signed),
    ("comm", Kind::Text),
    ("kind", Kind::Text),
    ("address", Kind::Unsigned),
    ("duration", Kind::Signed),
];

const FILES: &Columns = &[
    ("time", Kind::Time),
    ("host", Kind::Text),
    ("trace", Kind::Text),
    ("cpu", Kind::Signed),
    ("pid", Kind::Signed),
    ("tid", Kind::Signed),
    ("comm", Kind::Text),
    ("name", Kind::Text),
    ("file", Kind::Text),
    ("read_bytes", Kind::Signed),
    ("written_bytes", Kind::Signed),
    ("duration", Kind::Signed),
    ("result", Kind::Signed),
    ("error", Kind::Text),
];

impl What {
    pub const ALL: [What; 4] = [Self::Calls, Self::SystemCalls, Self::Locks, Self::Files];

    fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::SystemCalls => "syscalls",
            Self::Locks => "locks",
            Self::Files => "files",
        }
    }

    fn columns(self) -> &'static Columns {
        match self {
            Self::Calls | Self::SystemCalls => CALLS,
            Self::Locks => LOCKS,
            Self::Files => FILES,
        }
    }
}

/// One of the tables.
#[derive(Debug)]
pub struct CallTable {
    pub reading: Arc<Reading>,
    pub what: What,
}

impl Source for CallTable {
    fn name(&self) -> &str {
        self.what.name()
    }

    fn schema(&self) -> SchemaRef {
        schema(self.what.columns())
    }

    fn has_bounds(&self) -> bool {
        false
    }

    fn read(&self, request: &Request, give: &mut Give<'_>) {
        let reading = &*self.reading;
        let rows = Rows::begin(self.what.columns(), request, reading, give);
        let Some(rows) = rows else { return };
        let mut merge = Merge::between(&reading.traces, &reading.span);
        let state = State::new(&reading.traces, merge.stream_count(), &Limits::default());
        let keeps_arguments = matches!(self.what, What::Calls | What::SystemCalls);
        let remembered = (keeps_arguments && rows.wants(ARGUMENTS)).then(Remembered::default);
        let mut pass = Pass { reading, what: self.what, state, rows, remembered };
        let mut meter = Meter::default();
        let mut tally = Tally::default();
        while let Some(message) = merge.next() {
            match message {
                Message::Loss(loss) => {
                    tally.loss(&loss);
                    pass.state.loss(&loss);
                }
                Message::Event(event) => {
                    meter.see(&event, reading);
                    if pass.event(&event, give).is_break() {
                        reading.end(&tally, &merge);
                        return;
                    }
                }
            }
        }
        tally.read = meter.read;
        if pass.open_calls(give).is_continue() {
            pass.rows.end(give);
        }
        reading.not_measured(&pass.state, |pair| pass.call_name(pair).is_some());
        reading.end(&tally, &merge);
    }
}

struct Pass<'r> {
    reading: &'r Reading,
    what: What,
    state: State,
    rows: Rows,
    remembered: Option<Remembered>,
}

/// What begins each row.
struct Begin<'a> {
    time: Option<Ns>,
    trace_index: usize,
    cpu: Option<i64>,
    who: &'a Who,
}

impl<'r> Pass<'r> {
    fn event(&mut self, event: &Event<'_>, give: &mut Give<'_>) -> ControlFlow<()> {
        let Some(step) = self.state.event(event) else { return ControlFlow::Continue(()) };
        if !event.is_before_span() && self.has_unreturned() {
            for (thread, call) in self.state.calls().cut().to_vec() {
                self.unreturned((thread, &call), give)?;
            }
        }
        if let (Some(remembered), None) = (&mut self.remembered, step.done) {
            if let Some(call) = entered(&self.state, &step, event) {
                remembered.enter(step.thread, &call, event);
            }
        }
        let Some(done) = step.done.filter(|_| !event.is_before_span()) else {
            return ControlFlow::Continue(());
        };
        let arguments = match (&mut self.remembered, done.pair, done.begin) {
            (Some(remembered), Some(pair), Some(begin)) => {
                remembered.leave(step.thread, pair, begin)
            }
            _ => None,
        };
        let who = who_by_state(&self.state, step.thread);
        let begin = Begin {
            time: done.begin,
            trace_index: event.trace_index(),
            cpu: event.cpu().map(|cpu| i64::from(cpu.0)),
            who: &who,
        };
        let duration = done.begin.map(|begin| event.time_ns().0.saturating_sub(begin.0));
        match self.what {
            What::Calls | What::SystemCalls => {
                let Some(name) = done.pair.and_then(|pair| self.call_name(pair)) else {
                    return ControlFlow::Continue(());
                };
                let (result, error) = outcome(&done);
                let row = begin.row(self.reading).into_iter();
                let row: Vec<Cell<'_>> = row
                    .chain([
                        Cell::Text(name),
                        duration.into(),
                        result.into(),
                        error.into(),
                        arguments.into(),
                    ])
                    .collect();
                self.rows.add(&row, give)
            }
            What::Locks => {
                let Operation::Lock(kind) = done.operation else {
                    return ControlFlow::Continue(());
                };
                let row = begin.row(self.reading).into_iter();
                let row: Vec<Cell<'_>> = row
                    .chain([
                        Cell::Text(kind.name().into()),
                        Cell::Unsigned(done.values.subject as u64),
                        duration.into(),
                    ])
                    .collect();
                self.rows.add(&row, give)
            }
            What::Files => self.files(&begin, &done, (event, duration), give),
        }
    }

    /// A row for each file that a call used.
    fn files(
        &mut self,
        begin: &Begin<'_>,
        done: &Done,
        (event, duration): (&Event<'_>, Option<i64>),
        give: &mut Give<'_>,
    ) -> ControlFlow<()> {
        let (result, error) = outcome(done);
        let name = match done.pair.and_then(|pair| self.state.classes().pair(pair)) {
            Some(pair) => pair.name.as_str(),
            None => state::event_name(event.class()),
        };
        for (file, moved) in done.uses.iter().flatten() {
            let (read, written) = match moved {
                Moved::In(bytes) => (*bytes, 0),
                Moved::Out(bytes) => (0, *bytes),
                Moved::Nothing => (0, 0),
            };
            let row = begin.row(self.reading).into_iter();
            let row: Vec<Cell<'_>> = row
                .chain([
                    Cell::Text(name.into()),
                    Cell::Text(file.label(self.state.texts()).into()),
                    Cell::Count(read),
                    Cell::Count(written),
                    duration.into(),
                    result.into(),
                    error.into(),
                ])
                .collect();
            self.rows.add(&row, give)?;
        }
        ControlFlow::Continue(())
    }

    /// What the table calls a pair; `None`: it is not in the table.
    fn call_name(&self, pair: PairIndex) -> Option<Cow<'static, str>> {
        let name = &self.state.classes().pair(pair)?.name;
        match self.what {
            What::SystemCalls => system_call(name).map(|name| Cow::Owned(name.to_string())),
            _ => Some(Cow::Owned(name.clone())),
        }
    }

    /// Whether calls that did not return have rows.
    fn has_unreturned(&self) -> bool {
        matches!(self.what, What::Calls | What::SystemCalls)
    }

    /// Rows of calls that had not returned at the end.
    fn open_calls(&mut self, give: &mut Give<'_>) -> ControlFlow<()> {
        if !self.has_unreturned() {
            return ControlFlow::Continue(());
        }
        for (thread, call) in self.state.calls().still_open() {
            self.unreturned((thread, &call), give)?;
        }
        ControlFlow::Continue(())
    }

    /// The row of a call that has not returned.
    fn unreturned(
        &mut self,
        (thread, call): (ThreadIndex, &OpenCall),
        give: &mut Give<'_>,
    ) -> ControlFlow<()> {
        let Some(name) = self.call_name(call.pair) else { return ControlFlow::Continue(()) };
        let remembered = self.remembered.as_mut();
        let arguments = remembered.and_then(|r| r.leave(thread, call.pair, call.begin));
        let who = who_by_state(&self.state, thread);
        // Which of the traces it is of is not remembered where there are several.
        let trace_index = if self.reading.traces.len() == 1 { 0 } else { usize::MAX };
        let begin = Begin { time: Some(call.begin), trace_index, cpu: None, who: &who };
        let row = begin.row(self.reading).into_iter();
        let row: Vec<Cell<'_>> = row
            .chain([Cell::Text(name), Cell::None, Cell::None, Cell::None, arguments.into()])
            .collect();
        self.rows.add(&row, give)
    }
}

impl<'a> Begin<'a> {
    /// The columns that all these tables begin with.
    fn row(&self, reading: &'a Reading) -> [Cell<'a>; 7] {
        [
            self.time.map(|time| time.0).into(),
            reading.hosts.get(self.trace_index).and_then(Option::as_deref).into(),
            reading.labels.get(self.trace_index).map(String::as_str).into(),
            self.cpu.into(),
            self.who.pid.into(),
            self.who.tid.into(),
            self.who.name.as_ref().map_or(Cell::None, |name| Cell::Bytes(name.as_bytes())),
        ]
    }
}

/// What a call returned, and the name of the error that it said.
fn outcome(done: &Done) -> (Option<i64>, Option<&'static str>) {
    if !done.operation.has_result() {
        return (None, None);
    }
    let (result, error) = (done.values.result, done.values.error);
    let reason = if error > 0 { error.saturating_neg() } else { result };
    (Some(result), if result < 0 { error_name(reason) } else { None })
}

/// The call that an event is the entry of.
fn entered(state: &State, step: &Step, event: &Event<'_>) -> Option<OpenCall> {
    let name = state.classes().names().get(step.name.0 as usize)?;
    let call = state.calls().innermost(step.thread)?;
    (name.pair == Some(call.pair) && call.begin == event.time_ns()).then_some(call)
}

/// The fields of entries, as text, until their calls return.
#[derive(Default)]
struct Remembered {
    by_thread: HashMap<ThreadIndex, Vec<(PairIndex, Ns, String)>>,
    count: usize,
}

impl Remembered {
    fn enter(&mut self, thread: ThreadIndex, call: &OpenCall, event: &Event<'_>) {
        if self.count >= MOST_REMEMBERED {
            // Calls that never return are in the way: all are forgotten.
            *self = Self::default();
        }
        let mut json = Json::object();
        if event.fields(&mut json).is_err() {
            return;
        }
        let text = String::from_utf8_lossy(&json.end_object()).into_owned();
        self.by_thread.entry(thread).or_default().push((call.pair, call.begin, text));
        self.count += 1;
    }

    fn leave(&mut self, thread: ThreadIndex, pair: PairIndex, begin: Ns) -> Option<String> {
        let open = self.by_thread.get_mut(&thread)?;
        let at = open.iter().rposition(|(known, at, _)| *known == pair && *at == begin)?;
        self.count -= 1;
        Some(open.remove(at).2)
    }
}
