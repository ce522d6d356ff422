// SPDX-License-Identifier: MIT
//! The tables `packets` and `lost`: what the traces are made of, and what they lack.
//!
//! Place in the flow: `packets` looks at headers only; `lost` reads the traces once for what their
//! packets count as lost and for what is damaged, and adds what their recorders said.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use trace::{LossKind, LossMessage, Merge, Message, Problem, Trace};
use verdict::State;

use crate::fixed::{schema, Cell, Columns, Kind, Rows};
use crate::reading::{Meter, Reading, Tally};
use crate::scan::{Give, Request, Source};

const PACKETS: &Columns = &[
    ("begin", Kind::Time),
    ("end", Kind::Time),
    ("host", Kind::Text),
    ("trace", Kind::Text),
    ("cpu", Kind::Signed),
    ("file", Kind::Text),
    ("packet", Kind::Signed),
    ("offset_bytes", Kind::Signed),
    ("size_bytes", Kind::Signed),
    ("content_bytes", Kind::Signed),
    ("sequence", Kind::Signed),
    ("discarded", Kind::Signed),
];

const LOST: &Columns = &[
    ("begin", Kind::Time),
    ("until", Kind::Time),
    ("host", Kind::Text),
    ("trace", Kind::Text),
    ("cpu", Kind::Signed),
    ("kind", Kind::Text),
    ("cause", Kind::Text),
    ("count", Kind::Signed),
    ("what", Kind::Text),
];

/// What an unfinished trace lacks.
const NOT_FINISHED: &str =
    "the recording was not finished when the trace was read: what came later is not here";

/// The table of packets.
#[derive(Debug)]
pub struct PacketTable(pub Arc<Reading>);

/// The table of losses.
#[derive(Debug)]
pub struct LostTable(pub Arc<Reading>);

/// What tells of which trace a row is.
fn origin(reading: &Reading, trace_index: usize) -> (Cell<'_>, Cell<'_>) {
    (
        reading.hosts.get(trace_index).and_then(Option::as_deref).into(),
        reading.labels.get(trace_index).map(String::as_str).into(),
    )
}

impl Source for PacketTable {
    fn name(&self) -> &str {
        "packets"
    }

    fn schema(&self) -> SchemaRef {
        schema(PACKETS)
    }

    fn has_bounds(&self) -> bool {
        false
    }

    fn read(&self, request: &Request, give: &mut Give<'_>) {
        let reading = &*self.0;
        let Some(mut rows) = Rows::begin(PACKETS, request, reading, give) else { return };
        for (trace_index, trace) in reading.traces.iter().enumerate() {
            for file in trace.files() {
                let name = file.path().file_name().map(|name| name.to_string_lossy());
                let mut is_over = false;
                let problems = trace.each_packet(file, |times| {
                    let packet = times.packet;
                    let (host, label) = origin(reading, trace_index);
                    let row = [
                        times.begin.map(|at| at.0).into(),
                        times.end.map(|at| at.0).into(),
                        host,
                        label,
                        packet.cpu.map(|cpu| i64::from(cpu.0)).into(),
                        name.as_deref().into(),
                        Cell::Count(packet.index),
                        Cell::Count(packet.offset_bytes),
                        Cell::Count(packet.size_bytes),
                        Cell::Count(packet.content_bits.div_ceil(8)),
                        packet.sequence.into(),
                        packet.events_discarded.into(),
                    ];
                    is_over = rows.add(&row, give).is_break();
                    !is_over
                });
                reading.damaged(&problems);
                if is_over {
                    return;
                }
            }
        }
        rows.end(give);
    }
}

impl Source for LostTable {
    fn name(&self) -> &str {
        "lost"
    }

    fn schema(&self) -> SchemaRef {
        schema(LOST)
    }

    fn has_bounds(&self) -> bool {
        false
    }

    fn read(&self, request: &Request, give: &mut Give<'_>) {
        let reading = &*self.0;
        let Some(mut rows) = Rows::begin(LOST, request, reading, give) else { return };
        let mut merge = Merge::between(&reading.traces, &reading.span);
        let (mut meter, mut tally) = (Meter::default(), Tally::default());
        let mut flow = ControlFlow::Continue(());
        while let Some(message) = merge.next() {
            match message {
                Message::Event(event) => meter.see(&event, reading),
                Message::Loss(loss) => {
                    tally.loss(&loss);
                    flow = add_loss(reading, &mut rows, &loss, give);
                    if flow.is_break() {
                        break;
                    }
                }
            }
        }
        if flow.is_continue() {
            tally.read = meter.read;
        }
        reading.end(&tally, &merge);
        let late = analysis::late_beginnings(&reading.traces, &merge);
        let mut rest = || {
            flow?;
            for problem in merge.problems() {
                add_problem(reading, &mut rows, &problem, give)?;
            }
            for (trace_index, trace) in reading.traces.iter().enumerate() {
                for sentence in &said_missing(trace) {
                    add_sentence(
                        &mut rows,
                        origin(reading, trace_index),
                        "verdict",
                        sentence,
                        give,
                    )?;
                }
            }
            for sentence in &reading.miscounts(&tally, &merge) {
                add_sentence(&mut rows, (Cell::None, Cell::None), "verdict", sentence, give)?;
            }
            for sentence in &late {
                add_sentence(&mut rows, (Cell::None, Cell::None), "beginning", sentence, give)?;
            }
            ControlFlow::Continue(())
        };
        if rest().is_continue() {
            rows.end(give);
        }
    }
}

/// What a trace's recorder said that is missing, a sentence each. Where it named nothing, and the
/// trace still is not what was asked for, that is the sentence.
fn said_missing(trace: &Trace) -> Vec<String> {
    let said = analysis::recorded_verdict(trace.metadata());
    let of_state = match said.state {
        State::NotFinished => Some(NOT_FINISHED),
        state if state.is_failure() && said.missing.is_empty() => {
            Some(state.headline().trim_end_matches(':'))
        }
        _ => None,
    };
    of_state.map(str::to_string).into_iter().chain(said.missing).collect()
}

/// A row for each cause of a loss.
fn add_loss(
    reading: &Reading,
    rows: &mut Rows,
    message: &LossMessage<'_>,
    give: &mut Give<'_>,
) -> ControlFlow<()> {
    let loss = message.loss;
    let kind = match loss.kind {
        LossKind::Events => "events",
        LossKind::Packets => "packets",
    };
    let mut add = |cause: Option<&str>, count: u64| {
        let (host, label) = origin(reading, message.trace_index);
        let row = [
            message.begin_ns().map(|at| at.0).into(),
            message.until_ns().map(|at| at.0).into(),
            host,
            label,
            loss.cpu.map(|cpu| i64::from(cpu.0)).into(),
            Cell::Text(kind.into()),
            cause.into(),
            Cell::Count(count),
            Cell::None,
        ];
        rows.add(&row, give)
    };
    let mut rest = loss.count;
    for (cause, count) in &loss.causes {
        let count = (*count).min(rest);
        rest -= count;
        if count > 0 {
            add(Some(cause), count)?;
        }
    }
    match rest {
        0 => ControlFlow::Continue(()),
        rest => add(None, rest),
    }
}

fn add_problem(
    reading: &Reading,
    rows: &mut Rows,
    problem: &Problem,
    give: &mut Give<'_>,
) -> ControlFlow<()> {
    let is_in = |trace: &Trace| problem.file.starts_with(trace.path());
    let trace_index = reading.traces.iter().position(is_in).unwrap_or(usize::MAX);
    add_sentence(rows, origin(reading, trace_index), "damage", &problem.to_string(), give)
}

fn add_sentence(
    rows: &mut Rows,
    (host, label): (Cell<'_>, Cell<'_>),
    kind: &str,
    sentence: &str,
    give: &mut Give<'_>,
) -> ControlFlow<()> {
    let row = [
        Cell::None,
        Cell::None,
        host,
        label,
        Cell::None,
        Cell::Text(kind.into()),
        Cell::None,
        Cell::None,
        Cell::Text(sentence.into()),
    ];
    rows.add(&row, give)
}
