// SPDX-License-Identifier: MIT
//! The rows of tables of events.
//!
//! Place in the flow: a [`RowWriter`] turns events into batches of the wanted columns; [`Events`]
//! is the [`Source`] that drives one over a merge of the traces, on several processors where the
//! traces can be cut into slices.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Int64Type, SchemaRef, TimestampNanosecondType};
use datafusion::common::Result;
use state::{event_name, Limits, State};
use trace::{in_slices, Event, EventClass, Merge, Message, Span, Type, Value};

use crate::cells::Cells;
use crate::columns::{ClassPlaces, EventTable, Origin};
use crate::decode::FieldWriter;
use crate::identity::{needs_state, who_by_state, Records, Who};
use crate::json::Json;
use crate::reading::{Meter, Reading, Tally};
use crate::scan::{failure, Give, Request, Source};
use crate::shape::Shape;

/// Fewer fields than this are read one by one.
const FEW_FIELDS: usize = 4;

/// How the wanted fields of one class are read.
struct ClassPlan {
    stream_context: Vec<Option<usize>>,
    context: Vec<Option<usize>>,
    payload: Vec<Option<usize>>,
    /// Position and cells of each wanted field of the payload, if each can be read by itself.
    few: Option<Vec<(usize, usize)>>,
}

impl ClassPlan {
    fn new(places: &ClassPlaces, class: &EventClass, wants: &Wants) -> Self {
        let wanted = |places: &[Option<usize>], wanted: &[bool]| -> Vec<Option<usize>> {
            let is_wanted = |place: &usize| wanted.get(*place).copied().unwrap_or(false);
            places.iter().map(|place| place.filter(is_wanted)).collect()
        };
        let payload = wanted(&places.payload, &wants.fields);
        let fields = class.payload.as_ref().map_or(&[][..], |payload| &payload.fields);
        let one = |(position, place): (usize, &Option<usize>)| {
            place.map(|place| fields.get(position).map(|field| (position, place, &field.ty)))
        };
        let simple = |found: Option<(usize, usize, &Type)>| {
            found.filter(|(_, _, ty)| is_simple(ty)).map(|(position, place, _)| (position, place))
        };
        let few: Option<Vec<(usize, usize)>> =
            payload.iter().enumerate().filter_map(one).map(simple).collect();
        Self {
            stream_context: wanted(&places.stream_context, &wants.context),
            context: wanted(&places.context, &wants.context),
            few: few.filter(|few| few.len() < FEW_FIELDS),
            payload,
        }
    }
}

/// Whether [`Event::value`] gives the value.
fn is_simple(ty: &Type) -> bool {
    match ty {
        Type::Integer(_) | Type::Float(_) => true,
        Type::Text(encoding) => *encoding == trace::Encoding::Utf8,
        _ => false,
    }
}

/// What is wanted of a table's fields.
struct Wants {
    fields: Vec<bool>,
    context: Vec<bool>,
    who: bool,
    /// All fields as text.
    texts: bool,
}

/// Collects rows of one table.
pub struct RowWriter<'t> {
    reading: &'t Reading,
    table: &'t EventTable,
    schema: SchemaRef,
    /// The wanted columns, with cells for those that are no fields.
    columns: Vec<(Origin, Cells)>,
    fields: Vec<Cells>,
    context: Vec<Cells>,
    plans: Vec<Vec<Option<ClassPlan>>>,
    wants: Wants,
    pub rows: usize,
    pub tally: Tally,
}

impl<'t> RowWriter<'t> {
    pub fn new(reading: &'t Reading, table: &'t EventTable, columns: &[usize]) -> Result<Self> {
        let schema = Arc::new(table.schema.project(columns)?);
        let origins: Vec<Origin> =
            columns.iter().filter_map(|at| table.origins.get(*at).copied()).collect();
        let of_field = |origin: &Origin| match origin {
            Origin::Field(at) | Origin::Number(at) => Some(*at),
            _ => None,
        };
        let mut fields = vec![false; table.fields.len()];
        for at in origins.iter().filter_map(of_field) {
            if let Some(is_wanted) = fields.get_mut(at) {
                *is_wanted = true;
            }
        }
        let is_any = |of: &[Origin]| origins.iter().any(|origin| of.contains(origin));
        let wants = Wants {
            fields,
            context: vec![is_any(&[Origin::Context]); table.context.len()],
            who: is_any(&[Origin::Pid, Origin::Tid, Origin::Comm]),
            texts: is_any(&[Origin::FieldsText, Origin::ContextText]),
        };
        let plan = |(class, places): (&EventClass, &Option<ClassPlaces>)| {
            places.as_ref().map(|places| ClassPlan::new(places, class, &wants))
        };
        let of_trace = |(trace, classes): (&trace::Trace, &Vec<Option<ClassPlaces>>)| {
            trace.event_classes().zip(classes).map(plan).collect()
        };
        let plans = reading.traces.iter().zip(&table.classes).map(of_trace).collect();
        let cells = |(_, shape): &(String, Shape)| Cells::new(shape);
        Ok(Self {
            reading,
            table,
            schema,
            columns: origins.iter().map(|origin| (*origin, Cells::new(&origin.shape()))).collect(),
            fields: table.fields.iter().map(cells).collect(),
            context: table.context.iter().map(cells).collect(),
            plans,
            wants,
            rows: 0,
            tally: Tally::default(),
        })
    }

    /// Whether it matters of which thread an event is.
    pub fn wants_who(&self) -> bool {
        self.wants.who
    }

    /// Whether an event is of the table.
    #[inline]
    pub fn takes(&self, event: &Event<'_>) -> bool {
        let of_trace = self.plans.get(event.trace_index());
        of_trace.is_some_and(|plans| matches!(plans.get(event.class().index), Some(Some(_))))
    }

    /// Adds the row of an event of the table.
    pub fn add(&mut self, event: &Event<'_>, who: &Who) {
        for (origin, cells) in &mut self.columns {
            common(*origin, cells, event, who, self.reading);
        }
        let of_trace = self.plans.get(event.trace_index());
        let Some(Some(plan)) = of_trace.and_then(|plans| plans.get(event.class().index)) else {
            return;
        };
        let mut is_faulty = false;
        match &plan.few {
            Some(few) => {
                for (position, place) in few {
                    let Some(cells) = self.fields.get_mut(*place) else { continue };
                    match event.value(*position) {
                        Some(value) => add_value(cells, value),
                        None => is_faulty = true,
                    }
                }
            }
            None => {
                let mut writer = FieldWriter::new(&mut self.fields, &plan.payload);
                if event.fields(&mut writer).is_err() {
                    writer.abandon();
                    is_faulty = true;
                }
                self.tally.cut += writer.cut;
            }
        }
        if self.wants.context.first() == Some(&true) {
            let mut writer = FieldWriter::new(&mut self.context, &plan.stream_context);
            is_faulty |= event.stream_context(&mut writer).map_err(|_| writer.abandon()).is_err();
            let mut writer = FieldWriter::new(&mut self.context, &plan.context);
            is_faulty |= event.context(&mut writer).map_err(|_| writer.abandon()).is_err();
        }
        if self.wants.texts {
            is_faulty |= self.add_texts(event);
        }
        self.tally.faults += u64::from(is_faulty);
        self.rows += 1;
        for (at, cells) in self.fields.iter_mut().enumerate() {
            if self.wants.fields.get(at) == Some(&true) {
                cells.reach(self.rows);
            }
        }
        if self.wants.context.first() == Some(&true) {
            self.context.iter_mut().for_each(|cells| cells.reach(self.rows));
        }
    }

    /// Adds the JSON texts of all fields. Return: whether some could not be decoded.
    fn add_texts(&mut self, event: &Event<'_>) -> bool {
        let mut is_faulty = false;
        for (origin, cells) in &mut self.columns {
            let mut json = Json::object();
            let visited = match origin {
                Origin::FieldsText => event.fields(&mut json),
                Origin::ContextText => {
                    event.stream_context(&mut json).and_then(|()| event.context(&mut json))
                }
                _ => continue,
            };
            match visited {
                Ok(()) => cells.text(&json.end_object()),
                Err(_) => {
                    cells.none();
                    is_faulty = true;
                }
            }
        }
        is_faulty
    }

    /// The batch of the rows so far; none are left.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let mut labels: Vec<Option<(ArrayRef, ArrayRef)>> =
            self.fields.iter_mut().map(Cells::finish_label).collect();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (origin, cells) in &mut self.columns {
            arrays.push(match *origin {
                Origin::Time => {
                    let times = cells.finish();
                    let times = times.as_primitive::<Int64Type>();
                    Arc::new(times.reinterpret_cast::<TimestampNanosecondType>())
                }
                Origin::Field(at) => match labels.get_mut(at) {
                    Some(Some((label, _))) => Arc::clone(label),
                    _ => self.fields.get_mut(at).map(Cells::finish).ok_or_else(|| failure(at))?,
                },
                Origin::Number(at) => match labels.get_mut(at) {
                    Some(Some((_, number))) => Arc::clone(number),
                    _ => return Err(failure("an enumeration without numbers")),
                },
                Origin::Context => {
                    let arrays: Vec<_> = self.context.iter_mut().map(Cells::finish).collect();
                    let DataType::Struct(of) =
                        Shape::Struct(self.table.context.clone()).data_type()
                    else {
                        return Err(failure("contexts that are no struct"));
                    };
                    Arc::new(StructArray::try_new(of, arrays, None)?) as Arc<dyn Array>
                }
                _ => cells.finish(),
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// Adds what every event has to the cells of its column.
#[inline]
fn common(origin: Origin, cells: &mut Cells, event: &Event<'_>, who: &Who, reading: &Reading) {
    let number = |cells: &mut Cells, value: Option<i64>| match value {
        Some(value) => cells.number(value as u64, true),
        None => cells.none(),
    };
    let text = |cells: &mut Cells, text: Option<&str>| match text {
        Some(text) => cells.text(text.as_bytes()),
        None => cells.none(),
    };
    match origin {
        Origin::Time => number(cells, event.clock().map(|_| event.time_ns().0)),
        Origin::Cpu => number(cells, event.cpu().map(|cpu| i64::from(cpu.0))),
        Origin::Pid => number(cells, who.pid),
        Origin::Tid => number(cells, who.tid),
        Origin::Comm => match &who.name {
            Some(name) => cells.text(name.as_bytes()),
            None => cells.none(),
        },
        Origin::Name => cells.text(event_name(event.class()).as_bytes()),
        Origin::Host => {
            text(cells, reading.hosts.get(event.trace_index()).and_then(Option::as_deref));
        }
        Origin::Trace => {
            text(cells, reading.labels.get(event.trace_index()).map(String::as_str));
        }
        Origin::Context
        | Origin::Field(_)
        | Origin::Number(_)
        | Origin::FieldsText
        | Origin::ContextText => {}
    }
}

fn add_value(cells: &mut Cells, value: Value<'_>) {
    match value {
        Value::Unsigned(value) => cells.number(value, false),
        Value::Signed(value) => cells.number(value as u64, true),
        Value::Float(value) => cells.float(value),
        Value::Text(bytes) => cells.text(bytes),
        Value::Enumeration { .. } | Value::Compound => cells.none(),
    }
}

/// A table of events.
#[derive(Debug)]
pub struct Events {
    reading: Arc<Reading>,
    table: EventTable,
}

impl Events {
    pub fn new(reading: Arc<Reading>, table: EventTable) -> Self {
        Self { reading, table }
    }

    /// Reads one merge to its end, and gives batches. Return: what was met.
    fn rows(&self, request: &Request, merge: &mut Merge<'_>, give: &mut Give<'_>) -> Tally {
        let reading = &*self.reading;
        let mut writer = match RowWriter::new(reading, &self.table, &request.columns) {
            Ok(writer) => writer,
            Err(error) => {
                let _ = give(Err(error));
                return Tally::default();
            }
        };
        let asks_who = writer.wants_who() || request.bounds.ask_who();
        let mut finder = Finder::new(reading, merge.stream_count(), asks_who);
        let mut meter = Meter::default();
        while let Some(message) = merge.next() {
            let event = match message {
                Message::Event(event) => event,
                Message::Loss(loss) => {
                    writer.tally.loss(&loss);
                    finder.loss(&loss);
                    continue;
                }
            };
            meter.see(&event, reading);
            finder.see(&event);
            let is_taken =
                writer.takes(&event) && !event.is_before_span() && request.bounds.take_cpu(&event);
            if !is_taken {
                continue;
            }
            let who = finder.who(&event);
            if !request.bounds.take_who(&who) {
                continue;
            }
            writer.add(&event, &who);
            if writer.rows >= reading.batch_rows && give(writer.finish()).is_break() {
                return writer.tally;
            }
        }
        writer.tally.read = meter.read;
        if writer.rows > 0 {
            let _ = give(writer.finish());
        }
        writer.tally
    }
}

/// Knows of which thread events are.
pub enum Finder {
    /// Nobody asks.
    Nobody,
    Records(Records),
    State(Box<State>, Who),
}

impl Finder {
    pub fn new(reading: &Reading, stream_count: usize, is_asked: bool) -> Self {
        if !is_asked {
            return Self::Nobody;
        }
        match needs_state(&reading.traces) {
            true => {
                let state = State::new(&reading.traces, stream_count, &Limits::default());
                Self::State(Box::new(state), Who::default())
            }
            false => Self::Records(Records::new(&reading.traces, stream_count)),
        }
    }

    #[inline]
    pub fn see(&mut self, event: &Event<'_>) {
        match self {
            Self::Nobody => {}
            Self::Records(records) => records.see(event),
            Self::State(state, who) => {
                let step = state.event(event);
                *who = step.map_or(Who::default(), |step| who_by_state(state, step.thread));
            }
        }
    }

    pub fn loss(&mut self, loss: &trace::LossMessage<'_>) {
        if let Self::State(state, _) = self {
            state.loss(loss);
        }
    }

    pub fn who(&self, event: &Event<'_>) -> Who {
        match self {
            Self::Nobody => Who::default(),
            Self::Records(records) => records.who(event),
            Self::State(_, who) => *who,
        }
    }
}

impl Source for Events {
    fn name(&self) -> &str {
        &self.table.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table.schema)
    }

    fn has_bounds(&self) -> bool {
        true
    }

    fn read(&self, request: &Request, give: &mut Give<'_>) {
        let reading = &*self.reading;
        let origins = request.columns.iter().filter_map(|at| self.table.origins.get(*at));
        let names_threads =
            |origin: &Origin| matches!(origin, Origin::Pid | Origin::Tid | Origin::Comm);
        let asks_who = request.bounds.ask_who() || origins.clone().any(names_threads);
        // What the scheduler told before decides of whom the events are.
        let from_begin = asks_who && needs_state(&reading.traces);
        let (mut span, mut workers) = (request.bounds.span(&reading.span), reading.workers);
        if from_begin {
            (span.from, workers) = (reading.span.from, 1);
        }
        if span.from.zip(span.until).is_some_and(|(from, until)| from >= until) {
            return;
        }
        let mut tally = Tally::default();
        let mut is_over = false;
        let work = |merge: &mut Merge<'_>| {
            let mut batches = Vec::new();
            let tally = self.rows(request, merge, &mut |batch| {
                batches.push(batch);
                ControlFlow::Continue(())
            });
            (batches, tally)
        };
        let mut rest = in_slices(&reading.traces, &span, workers, work, |(batches, part)| {
            tally.add(&part);
            is_over = batches.into_iter().any(|batch| give(batch).is_break());
            match is_over {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if !is_over {
            tally.add(&self.rows(request, &mut rest, give));
        }
        if is_over || span != Span::ALL {
            tally.read.clear();
        }
        reading.end(&tally, &rest);
    }
}
