// SPDX-License-Identifier: MIT
//! The tables of events: one for each name, with the columns of all classes of that name.
//!
//! Place in the flow: made from the metadata when the traces are opened. Two programs may have
//! events of one name with different fields: the table has the fields of both, and a field of two
//! forms has one that holds both, or is text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use state::event_name;
use trace::{EventClass, StreamClass, Trace};

use crate::identity::is_bookkeeping;
use crate::shape::Shape;

/// Where the values of a column come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Time,
    Host,
    Trace,
    Cpu,
    Pid,
    Tid,
    Comm,
    /// The event's name.
    Name,
    /// All fields of the contexts.
    Context,
    /// One of [`EventTable::fields`]; of an enumeration the label.
    Field(usize),
    /// The number of an enumeration.
    Number(usize),
    /// All fields, or those of the contexts, as JSON.
    FieldsText,
    ContextText,
}

/// The columns that all tables of events have.
pub const COMMON: [(&str, Origin); 7] = [
    ("time", Origin::Time),
    ("host", Origin::Host),
    ("trace", Origin::Trace),
    ("cpu", Origin::Cpu),
    ("pid", Origin::Pid),
    ("tid", Origin::Tid),
    ("comm", Origin::Comm),
];
const CONTEXT: &str = "context";
const EVENTS: [(&str, Origin); 3] =
    [("name", Origin::Name), ("context", Origin::ContextText), ("fields", Origin::FieldsText)];

/// The type of a time. Without a zone, because readers of Parquet cut times with one to
/// microseconds; it is UTC where the trace's clock is.
pub const TIME: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

impl Origin {
    fn data_type(self) -> DataType {
        match self {
            Self::Time => TIME,
            Self::Cpu => DataType::UInt32,
            Self::Pid | Self::Tid => DataType::Int64,
            _ => DataType::Utf8,
        }
    }

    /// Cells for its values.
    pub fn shape(self) -> Shape {
        match self {
            Self::Time | Self::Pid | Self::Tid => Shape::Signed(64),
            Self::Cpu => Shape::Unsigned(32),
            _ => Shape::Text,
        }
    }
}

/// Which of a table's fields the fields of one scope of a class are, by position.
pub type Places = Vec<Option<usize>>;

/// The scopes of a class that have fields.
#[derive(Debug, Default, Clone)]
pub struct ClassPlaces {
    pub stream_context: Places,
    pub context: Places,
    pub payload: Places,
}

/// A table of the events of one name, or of all events.
#[derive(Debug)]
pub struct EventTable {
    pub name: String,
    pub schema: SchemaRef,
    pub origins: Vec<Origin>,
    pub fields: Vec<(String, Shape)>,
    pub context: Vec<(String, Shape)>,
    /// By trace and class; `None`: events of the class are not in the table.
    pub classes: Vec<Vec<Option<ClassPlaces>>>,
}

impl EventTable {
    /// The table of all events.
    pub fn of_all(traces: &[Trace]) -> Self {
        let all = |class: &EventClass| (!is_bookkeeping(class)).then(ClassPlaces::default);
        let classes = traces.iter().map(|t| t.event_classes().map(all).collect()).collect();
        let (mut fields, mut origins) = (Vec::new(), Vec::new());
        let (common, last) = (COMMON.into_iter(), EVENTS.into_iter());
        for (name, origin) in common.chain(last) {
            fields.push(Field::new(name, origin.data_type(), true));
            origins.push(origin);
        }
        let schema = Arc::new(Schema::new(fields));
        let (fields, context) = (Vec::new(), Vec::new());
        Self { name: "events".into(), schema, origins, fields, context, classes }
    }

    /// A table for each name of events, by name.
    pub fn each(traces: &[Trace]) -> Vec<Self> {
        let mut names: BTreeMap<&str, Making> = BTreeMap::new();
        for (trace_index, trace) in traces.iter().enumerate() {
            for stream in &trace.metadata().streams {
                for class in stream.events.iter().filter(|class| !is_bookkeeping(class)) {
                    let making = names.entry(event_name(class)).or_default();
                    making.add(trace_index, stream, class);
                }
            }
        }
        let counts: Vec<usize> = traces.iter().map(|t| t.event_classes().count()).collect();
        names.into_iter().map(|(name, making)| making.table(name, &counts)).collect()
    }
}

/// A table in the making.
#[derive(Default)]
struct Making {
    fields: Merged,
    context: Merged,
    classes: Vec<(usize, usize, ClassPlaces)>,
}

/// Fields of several classes, each name once.
#[derive(Default)]
struct Merged {
    fields: Vec<(String, Shape)>,
    positions: BTreeMap<String, usize>,
}

impl Merged {
    /// Adds the fields of a scope. Of two fields of one name, the first is in the table.
    fn add(&mut self, scope: Option<&trace::Struct>) -> Places {
        let mut met = BTreeSet::new();
        let fields = scope.map_or(&[][..], |scope| &scope.fields);
        let place = |field: &trace::Field| {
            let name = field.name();
            met.insert(name.to_string()).then(|| self.place(name, Shape::of(&field.ty)))
        };
        fields.iter().map(place).collect()
    }

    fn place(&mut self, name: &str, shape: Shape) -> usize {
        if let Some(position) = self.positions.get(name) {
            if let Some((_, known)) = self.fields.get_mut(*position) {
                *known = std::mem::replace(known, Shape::Other).with(&shape);
            }
            return *position;
        }
        self.positions.insert(name.into(), self.fields.len());
        self.fields.push((name.into(), shape));
        self.fields.len() - 1
    }
}

impl Making {
    fn add(&mut self, trace_index: usize, stream: &StreamClass, class: &EventClass) {
        let stream_context = self.context.add(stream.event_context.as_ref());
        let mut context = self.context.add(class.context.as_ref());
        // The stream's context and the event's may have a field of one name: the first is taken.
        for place in &mut context {
            if place.is_some_and(|place| stream_context.contains(&Some(place))) {
                *place = None;
            }
        }
        let payload = self.fields.add(class.payload.as_ref());
        let places = ClassPlaces { stream_context, context, payload };
        self.classes.push((trace_index, class.index, places));
    }

    fn table(self, name: &str, class_counts: &[usize]) -> EventTable {
        let mut columns = Columns::default();
        for (name, origin) in COMMON {
            columns.add(name, origin.data_type(), origin);
        }
        let context = self.context.fields;
        if !context.is_empty() {
            let data_type = Shape::Struct(context.clone()).data_type();
            columns.add(CONTEXT, data_type, Origin::Context);
        }
        for (position, (name, shape)) in self.fields.fields.iter().enumerate() {
            match shape {
                Shape::Label(number) => {
                    let name = columns.add(name, DataType::Utf8, Origin::Field(position));
                    let of_number = format!("{name}_number");
                    columns.add(&of_number, number.data_type(), Origin::Number(position));
                }
                shape => {
                    columns.add(name, shape.data_type(), Origin::Field(position));
                }
            }
        }
        let mut classes: Vec<Vec<Option<ClassPlaces>>> =
            class_counts.iter().map(|count| vec![None; *count]).collect();
        for (trace_index, class_index, places) in self.classes {
            let of_trace = classes.get_mut(trace_index);
            if let Some(place) = of_trace.and_then(|classes| classes.get_mut(class_index)) {
                *place = Some(places);
            }
        }
        EventTable {
            name: name.into(),
            schema: Arc::new(Schema::new(columns.fields)),
            origins: columns.origins,
            fields: self.fields.fields,
            context,
            classes,
        }
    }
}

#[derive(Default)]
struct Columns {
    fields: Vec<Field>,
    origins: Vec<Origin>,
    names: BTreeSet<String>,
}

impl Columns {
    /// Adds a column. A name that is taken already gets an underscore behind it. Return: its name.
    fn add(&mut self, name: &str, data_type: DataType, origin: Origin) -> String {
        let mut name = name.to_string();
        // Bound: each round needs another column of the table.
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        self.fields.push(Field::new(&name, data_type, true));
        self.origins.push(origin);
        name
    }
}
