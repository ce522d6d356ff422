// SPDX-License-Identifier: MIT
//! Which events are new values of a counter.
//!
//! Place in the flow: decided from the metadata before the first event. A counter is what the user
//! names, or an event that has one field and nothing else, which is called like a quantity.

use rustc_hash::FxHashMap;
use state::{event_name, Classes};
use trace::{Event, EventClass, Trace, Type};

use crate::arguments::{cut, Value, NAME_BYTES};
use crate::error::Error;

/// A field of these names, alone in its event, is a quantity.
const QUANTITIES: [&str; 7] = ["value", "count", "level", "depth", "size", "length", "total"];
/// Or one whose name ends in a unit.
const UNITS: [&str; 4] = ["_bytes", "_count", "_ns", "_hz"];

/// The counters of one class.
#[derive(Debug, Clone, Default)]
struct ClassCounters {
    /// Number of the counter, and position of its field.
    fields: Vec<(usize, usize)>,
    /// Whether the event says nothing else.
    is_all: bool,
}

#[derive(Debug)]
pub(crate) struct Counters {
    by_trace: Vec<Vec<ClassCounters>>,
    names: Vec<String>,
}

impl Counters {
    /// `asked`: events and their fields, by name.
    pub fn new(
        traces: &[Trace],
        classes: &Classes,
        asked: &[(String, String)],
    ) -> Result<Self, Error> {
        let mut names: Vec<String> = Vec::new();
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        let mut met = vec![false; asked.len()];
        let pairs: FxHashMap<&str, bool> =
            classes.names().iter().map(|name| (name.text.as_str(), name.pair.is_some())).collect();
        let mut by_trace = Vec::new();
        for trace in traces {
            let mut of_trace = Vec::new();
            for class in trace.event_classes() {
                let name = event_name(class);
                let mut fields = Vec::new();
                for ((event, field), met) in asked.iter().zip(&mut met) {
                    if event == name {
                        fields.extend(class.field_index(field).filter(|at| is_number(class, *at)));
                        *met |= !fields.is_empty();
                    }
                }
                let is_end = pairs.get(name).copied().unwrap_or(false);
                if fields.is_empty() && !is_end {
                    fields.extend(quantity(class));
                }
                let is_all = fields.len() == shown_fields(class);
                let numbered = fields.iter().filter_map(|at| {
                    let field = class.payload.as_ref()?.fields.get(*at)?;
                    let text = cut(&format!("{name}.{}", field.name()), NAME_BYTES);
                    let number = *numbers.entry(text.clone()).or_insert_with(|| {
                        names.push(text);
                        names.len() - 1
                    });
                    Some((number, *at))
                });
                of_trace.push(ClassCounters { fields: numbered.collect(), is_all });
            }
            by_trace.push(of_trace);
        }
        match asked.iter().zip(&met).find(|(_, met)| !**met) {
            Some(((event, field), _)) => {
                Err(Error::NoField { event: event.clone(), field: field.clone() })
            }
            None => Ok(Self { by_trace, names }),
        }
    }

    /// The name of a counter.
    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    /// The counters that an event has values of, and whether it says nothing else.
    pub fn of(&self, event: &Event<'_>) -> (Vec<(usize, Value)>, bool) {
        let of_trace = self.by_trace.get(event.trace_index());
        let Some(class) = of_trace.and_then(|classes| classes.get(event.class().index)) else {
            return (Vec::new(), false);
        };
        let values = class.fields.iter().filter_map(|(number, at)| {
            let value = match event.value(*at)? {
                trace::Value::Unsigned(value) => Value::Unsigned(value),
                trace::Value::Signed(value) => Value::Signed(value),
                trace::Value::Float(value) => Value::Float(value),
                _ => return None,
            };
            Some((*number, value))
        });
        let values: Vec<_> = values.collect();
        let is_all = class.is_all && !values.is_empty();
        (values, is_all)
    }
}

fn is_number(class: &EventClass, at: usize) -> bool {
    let field = class.payload.as_ref().and_then(|payload| payload.fields.get(at));
    field.is_some_and(|field| matches!(field.ty, Type::Integer(_) | Type::Float(_)))
}

fn shown_fields(class: &EventClass) -> usize {
    class.payload.as_ref().map_or(0, |payload| payload.fields.len())
}

/// The only field of an event, if it is called like a quantity.
fn quantity(class: &EventClass) -> Option<usize> {
    let [field] = class.payload.as_ref()?.fields.get(..)? else { return None };
    let name = field.name();
    let is_one = QUANTITIES.contains(&name) || UNITS.iter().any(|unit| name.ends_with(unit));
    (is_one && is_number(class, 0)).then_some(0)
}
