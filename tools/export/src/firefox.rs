// SPDX-License-Identifier: MIT
//! The Firefox profiler's processed format: for each thread a table of markers.
//!
//! Place in the flow: `follow` tells; each event and each finished call becomes a record in the
//! spill, from which the columns of the tables are written one after the other. Markers need not
//! nest, so calls that overlap have no row of their own. The version is one that the profiler
//! brings to its newest itself, as it does with every file.

mod document;

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use state::{NameIndex, PairIndex, State, ThreadIndex};
use trace::{Ns, Trace};

use crate::arguments::{Argument, Value};
use crate::nesting::Open;
use crate::places::{host_names, Place};
use crate::sink::{call_text, event_text, Counter, End, Late, Lost, Moment, Ran, Sink};
use crate::spill::{Spill, StreamIndex};
use document::{Marker, Phase, Schemas};

/// Open calls whose arguments are kept until they end.
const KEPT: usize = 1 << 16;
const RUNNING: &str = "running";
const LOST: &str = "lost";

/// The markers of a row, and the names that they have.
#[derive(Debug, Default)]
struct Row {
    stream: StreamIndex,
    names: Vec<u32>,
    positions: FxHashMap<u32, u32>,
    markers: u64,
    first: u64,
}

pub(crate) struct Firefox<'w> {
    out: &'w mut dyn Write,
    spill: Spill,
    hosts: Vec<String>,
    product: String,
    origin: Option<Ns>,
    rows: FxHashMap<Place, Row>,
    schemas: Schemas,
    /// Arguments of the calls that each thread is in; `None`: of too many.
    open: FxHashMap<ThreadIndex, Vec<Option<Vec<Argument>>>>,
    kept: usize,
    left_out: u64,
}

impl<'w> Firefox<'w> {
    pub fn new(traces: &[Trace], out: &'w mut dyn Write, spill: Spill) -> Self {
        let command = |t: &Trace| t.metadata().environment_text("command").map(str::to_string);
        let product = traces.iter().find_map(command).unwrap_or_else(|| "lull".into());
        Self {
            out,
            spill,
            hosts: host_names(traces),
            product: crate::arguments::cut(&product, crate::arguments::NAME_BYTES),
            origin: None,
            rows: FxHashMap::default(),
            schemas: Schemas::default(),
            open: FxHashMap::default(),
            kept: 0,
            left_out: 0,
        }
    }

    fn time(&mut self, at: Ns) -> u64 {
        let origin = *self.origin.get_or_insert(at);
        u64::try_from(at.0.saturating_sub(origin.0)).unwrap_or(0)
    }

    fn marker(
        &mut self,
        (place, phase): (Place, Phase),
        (begin, until): (Ns, Ns),
        (name, arguments): (&str, &[Argument]),
        is_counter: bool,
    ) -> io::Result<()> {
        let (begin, until) = (self.time(begin), self.time(until));
        if !self.rows.contains_key(&place) {
            let Some(stream) = self.spill.open() else {
                self.left_out += 1;
                return Ok(());
            };
            let row = Row { stream, first: begin, ..Row::default() };
            self.rows.insert(place, row);
        }
        let Some(row) = self.rows.get_mut(&place) else { return Ok(()) };
        let name = self.schemas.name(name, is_counter);
        let names = &mut row.names;
        let position = *row.positions.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        });
        let data = self.schemas.data(name, arguments)?;
        let marker = Marker { phase, name: position, begin, until, data: &data };
        let has_space = self.spill.add(row.stream, &marker.record())?;
        row.markers += u64::from(has_space);
        self.left_out += u64::from(!has_space);
        row.first = row.first.min(begin);
        Ok(())
    }

    fn of_call(
        &mut self,
        moment: &Moment<'_>,
        (pair, begin, phase): (PairIndex, Ns, Phase),
        arguments: &[Argument],
    ) -> io::Result<()> {
        let name = call_text(moment.state, pair);
        let place = Place::Thread(moment.thread);
        self.marker((place, phase), (begin, moment.at), (&name, arguments), false)
    }
}

fn remark(text: &str) -> Argument {
    Argument { name: "lull".into(), value: Value::Text(text.into()) }
}

impl Sink for Firefox<'_> {
    fn begin(&mut self, moment: &Moment<'_>, _: PairIndex) -> io::Result<()> {
        self.time(moment.at);
        let has_space = self.kept < KEPT;
        self.kept += usize::from(has_space);
        let arguments = has_space.then(|| moment.arguments.to_vec());
        self.open.entry(moment.thread).or_default().push(arguments);
        Ok(())
    }

    fn end(&mut self, moment: &Moment<'_>, open: &Open, end: End) -> io::Result<()> {
        let kept = self.open.get_mut(&moment.thread).and_then(Vec::pop).flatten();
        self.kept = self.kept.saturating_sub(usize::from(kept.is_some()));
        let mut arguments = kept.unwrap_or_default();
        arguments.extend_from_slice(moment.arguments);
        let phase = match end {
            End::Seen => Phase::Interval,
            End::NotSeen => {
                arguments.push(remark("end not seen"));
                Phase::Interval
            }
            End::Open => Phase::IntervalStart,
        };
        self.of_call(moment, (open.pair, open.begin, phase), &arguments)
    }

    fn late(&mut self, moment: &Moment<'_>, late: &Late) -> io::Result<()> {
        let mut arguments = moment.arguments.to_vec();
        if late.from != late.begin {
            arguments.push(remark("goes on after the call around it"));
        }
        self.of_call(moment, (late.pair, late.from, Phase::Interval), &arguments)
    }

    fn instant(&mut self, moment: &Moment<'_>, name: NameIndex) -> io::Result<()> {
        let name = event_text(moment.state, name);
        let place = (Place::Thread(moment.thread), Phase::Instant);
        self.marker(place, (moment.at, moment.at), (&name, moment.arguments), false)
    }

    fn counter(&mut self, moment: &Moment<'_>, counter: &Counter<'_>) -> io::Result<()> {
        let value = [Argument { name: "value".into(), value: counter.value.clone() }];
        let place = (Place::Thread(moment.thread), Phase::Instant);
        self.marker(place, (moment.at, moment.at), (counter.name, &value), true)
    }

    fn ran(&mut self, _: &State, ran: &Ran) -> io::Result<()> {
        let thread = Value::Text(ran.label.as_str().into());
        let mut arguments = vec![Argument { name: "thread".into(), value: thread }];
        if !ran.is_whole {
            arguments.push(remark("end not seen"));
        }
        let place = (Place::Cpu(ran.host, ran.cpu), Phase::Interval);
        self.marker(place, (ran.begin, ran.until), (RUNNING, &arguments), false)
    }

    fn lost(&mut self, _: &State, lost: &Lost) -> io::Result<()> {
        let what = Value::Text(lost.text().into());
        let mut arguments = vec![Argument { name: "what".into(), value: what }];
        for (cause, count) in &lost.causes {
            let name = crate::arguments::cut(cause, crate::arguments::NAME_BYTES);
            arguments.push(Argument { name, value: Value::Unsigned(*count) });
        }
        let begin = lost.begin.unwrap_or(lost.until);
        let place = (Place::Losses(lost.host, lost.cpu), Phase::Interval);
        self.marker(place, (begin, lost.until), (LOST, &arguments), false)
    }

    fn finish(&mut self, state: &State, last: Ns) -> io::Result<()> {
        self.time(last);
        self.document(state)
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }
}
