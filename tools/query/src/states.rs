// SPDX-License-Identifier: MIT
//! The table `states`: where each thread was, from when to when, as the scheduler's events tell.
//!
//! Place in the flow: one pass with the crate `state`, as for calls. A stay that a loss of events
//! ended is a row until the loss; time of which nothing is known has no row.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use state::{Limits, Move, OffKind, Place, State, Stay, ThreadIndex};
use trace::{Merge, Message};

use crate::fixed::{schema, Cell, Columns, Kind, Rows};
use crate::identity::who_by_state;
use crate::reading::{Meter, Reading, Tally};
use crate::scan::{Give, Request, Source};

const STATES: &Columns = &[
    ("time", Kind::Time),
    ("host", Kind::Text),
    ("cpu", Kind::Signed),
    ("pid", Kind::Signed),
    ("tid", Kind::Signed),
    ("comm", Kind::Text),
    ("state", Kind::Text),
    ("call", Kind::Text),
    ("duration", Kind::Signed),
];

/// The table.
#[derive(Debug)]
pub struct StateTable(pub Arc<Reading>);

impl Source for StateTable {
    fn name(&self) -> &str {
        "states"
    }

    fn schema(&self) -> SchemaRef {
        schema(STATES)
    }

    fn has_bounds(&self) -> bool {
        false
    }

    fn read(&self, request: &Request, give: &mut Give<'_>) {
        let reading = &*self.0;
        let Some(rows) = Rows::begin(STATES, request, reading, give) else { return };
        let mut merge = Merge::between(&reading.traces, &reading.span);
        let state = State::new(&reading.traces, merge.stream_count(), &Limits::default());
        let mut pass = Pass { reading, state, rows, hosts: Vec::new() };
        let (mut meter, mut tally) = (Meter::default(), Tally::default());
        let mut flow = ControlFlow::Continue(());
        while let (Some(message), true) = (merge.next(), flow.is_continue()) {
            flow = match message {
                Message::Loss(loss) => {
                    tally.loss(&loss);
                    pass.state.loss(&loss);
                    pass.moves(loss.trace_index, give)
                }
                Message::Event(event) => {
                    meter.see(&event, reading);
                    let trace_index = event.trace_index();
                    let mut flow = ControlFlow::Continue(());
                    while flow.is_continue() && pass.state.advance(event.time_ns()).is_some() {
                        flow = pass.moves(trace_index, give);
                    }
                    pass.state.event(&event);
                    match flow {
                        ControlFlow::Continue(()) => pass.moves(trace_index, give),
                        ended => ended,
                    }
                }
            };
        }
        if flow.is_continue() {
            tally.read = meter.read;
            reading.not_measured(&pass.state, |_| true);
            if pass.last_stays(give).is_continue() {
                pass.rows.end(give);
            }
        }
        reading.end(&tally, &merge);
    }
}

struct Pass<'r> {
    reading: &'r Reading,
    state: State,
    rows: Rows,
    /// A trace of the machine of each thread that has moved.
    hosts: Vec<Option<usize>>,
}

impl Pass<'_> {
    /// Rows of the places that threads have left.
    fn moves(&mut self, trace_index: usize, give: &mut Give<'_>) -> ControlFlow<()> {
        let moves: Vec<Move> = self.state.moves().to_vec();
        for Move { thread, was } in moves {
            let index = thread.0 as usize;
            if self.hosts.len() <= index {
                // Bound: the state's limit of threads.
                self.hosts.resize(index + 1, None);
            }
            self.hosts[index] = Some(trace_index);
            let until = self.state.stay(thread).since;
            // What a loss turned out to be older than, nobody saw.
            if until > was.since {
                self.add(thread, &was, Some(until.0 - was.since.0), give)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Rows of where threads are at the end.
    fn last_stays(&mut self, give: &mut Give<'_>) -> ControlFlow<()> {
        for index in 0..self.hosts.len() {
            let thread = ThreadIndex(index as u32);
            let stay = self.state.stay(thread);
            self.add(thread, &stay, None, give)?;
        }
        ControlFlow::Continue(())
    }

    fn add(
        &mut self,
        thread: ThreadIndex,
        stay: &Stay,
        duration: Option<i64>,
        give: &mut Give<'_>,
    ) -> ControlFlow<()> {
        let (name, cpu) = match stay.place {
            Place::Running(cpu) => ("running", Some(i64::from(cpu.0))),
            Place::Waiting => ("waiting", None),
            Place::Off(OffKind::Sleep) => ("asleep", None),
            Place::Off(OffKind::Uninterruptible) => ("uninterruptible", None),
            Place::Off(OffKind::Stopped) => ("stopped", None),
            Place::Off(OffKind::Other) => ("off", None),
            Place::Over | Place::Unknown => return ControlFlow::Continue(()),
        };
        let who = who_by_state(&self.state, thread);
        let trace_index = self.hosts.get(thread.0 as usize).copied().flatten();
        let host = trace_index.and_then(|index| self.reading.hosts.get(index)?.as_deref());
        let call = stay.call.and_then(|pair| self.state.classes().pair(pair));
        let row = [
            Cell::Signed(stay.since.0),
            host.into(),
            cpu.into(),
            who.pid.into(),
            who.tid.into(),
            who.name.as_ref().map_or(Cell::None, |name| Cell::Bytes(name.as_bytes())),
            Cell::Text(name.into()),
            call.map(|pair| pair.name.as_str()).into(),
            duration.into(),
        ];
        self.rows.add(&row, give)
    }
}
