// SPDX-License-Identifier: MIT
//! A number in the fields of events as a line over time: of each pixel the least, the greatest and
//! the last value.
//!
//! Place in the flow: the page asks for a field that a person chose, and for which there are. How
//! many threads are ready to run is offered, too, and made of the history's states. Only
//! the packets of the span are read, up to a bound; the answer says where it stopped, and the page
//! goes on from there. What is no number, a text or a NaN, is counted and not drawn.

use std::collections::BTreeSet;

use history::{History, Kind, Track, Value as State};
use serde::{Serialize, Serializer};
use state::event_name;
use trace::{Event, EventClass, Merge, Message, Ns, Span, Trace, Type, Value, THREAD_EVENT};

use crate::ask::{between, Ask, Cut};
use crate::patience::Patience;

/// Events that are read for one answer, and those that are read for the value before the span.
const MOST_READ: u64 = 1_000_000;
const MOST_READ_BEFORE: u64 = 100_000;
/// What is made of states instead: threads that are ready to run, on no CPU.
const RUNNABLE: &str = "threads that wait for a CPU";
/// Such waits of one answer.
const MOST_WAITS: usize = 1 << 20;
/// How far before the span the value is looked for, as widths of the span.
const WIDTHS_BEFORE: [i64; 3] = [1, 8, 64];
/// Names of one answer.
const MOST_NAMES: usize = 4096;
/// The largest integer that a script tells from its neighbours.
const MOST_EXACT: u128 = (1 << 53) - 1;

/// The value of a field. Integers of 64 bits, signed or not, are compared exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    fn of(value: &Value<'_>) -> Option<Self> {
        match *value {
            Value::Unsigned(value) | Value::Enumeration { value, .. } => {
                Some(Number::Whole(value.into()))
            }
            Value::Signed(value) => Some(Number::Whole(value.into())),
            Value::Float(value) => Some(Number::Real(value)).filter(|_| value.is_finite()),
            Value::Text(_) | Value::Compound => None,
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    fn is_less(self, other: Self) -> bool {
        match (self, other) {
            (Number::Whole(one), Number::Whole(other)) => one < other,
            _ => self.real() < other.real(),
        }
    }
}

/// A number, or the digits of an integer that a script does not hold exactly.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number::Real(value) => serializer.serialize_f64(*value),
            Number::Whole(value) => match i64::try_from(*value) {
                Ok(small) if value.unsigned_abs() <= MOST_EXACT => serializer.serialize_i64(small),
                _ => serializer.collect_str(value),
            },
        }
    }
}

/// Of one pixel.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
struct Column(u32, Number, Number, Number);

#[derive(Debug, Serialize, Default)]
pub(crate) struct Counter {
    /// Pixel, least, greatest and last value, where there are any.
    columns: Vec<Column>,
    /// The last value before the span, if one was found near it.
    before: Option<Number>,
    count: u64,
    /// Values that are no numbers.
    not_numbers: u64,
    /// Where reading stopped, if before the end of the span.
    stopped: Option<i64>,
}

/// Which field of which event, by trace and class.
struct Wanted(Vec<Vec<Option<usize>>>);

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Integer(_) | Type::Float(_) | Type::Enumeration(_))
}

fn is_called(class: &EventClass, event: &str) -> bool {
    &*class.name == event || event_name(class) == event
}

impl Wanted {
    fn of(traces: &[Trace], counter: &str) -> Result<Self, String> {
        let (event, field) =
            counter.rsplit_once('.').ok_or("a counter is a field of an event: EVENT.FIELD")?;
        let all = || traces.iter().flat_map(Trace::event_classes);
        let called = || all().filter(|class| is_called(class, event));
        if called().next().is_none() {
            return Err(format!("no event of the trace is called {event}"));
        }
        let place = |class: &EventClass| {
            let at = class.field_index(field)?;
            let fields = &class.payload.as_ref()?.fields;
            fields.get(at).filter(|found| is_number(&found.ty)).map(|_| at)
        };
        if !called().any(|class| place(class).is_some()) {
            return Err(format!("{event} has no field {field} that is a number"));
        }
        let of_class = |class: &EventClass| place(class).filter(|_| is_called(class, event));
        Ok(Self(traces.iter().map(|trace| trace.event_classes().map(of_class).collect()).collect()))
    }

    /// `Some(None)`: the field is there, and its value is no number.
    #[inline]
    fn value(&self, event: &Event<'_>) -> Option<Option<Number>> {
        let field = *self.0.get(event.trace_index())?.get(event.class().index)?;
        Some(event.value(field?).as_ref().and_then(Number::of))
    }

    /// Hands out the values of a span in the order of time. Return: where that stopped, because so
    /// many events were read.
    fn visit(
        &self,
        (traces, span): (&[Trace], &Span),
        most: u64,
        patience: &Patience,
        mut take: impl FnMut(Ns, Option<Number>),
    ) -> Option<Ns> {
        let mut merge = Merge::between(traces, span);
        let mut read = 0;
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            if event.is_before_span() {
                continue;
            }
            let at = event.time_ns();
            // Those of one time are read together, so that the next answer may begin with another.
            if (read >= most && span.from.is_none_or(|from| at > from)) || patience.is_over() {
                return Some(at);
            }
            read += 1;
            if let Some(value) = self.value(&event) {
                take(at, value);
            }
        }
        None
    }
}

pub(crate) fn tell(traces: &[Trace], history: &History, ask: &Ask) -> Result<Counter, String> {
    match ask.text("counter") {
        Some(RUNNABLE) => runnable(history, ask, MOST_WAITS),
        _ => of_some(traces, ask, history.begin(), (MOST_READ, MOST_READ_BEFORE)),
    }
}

/// How many threads are ready to run at each time: every change of that number is a value.
pub(crate) fn runnable(history: &History, ask: &Ask, most: usize) -> Result<Counter, String> {
    let cut = ask.cut(history.begin())?;
    let (mut changes, mut before) = (Vec::new(), 0);
    let mut count = 0;
    let takes = |track: &Track| track.kind == Kind::Place && !ask.patience.is_over();
    let visited = history.visit(&between(cut.span()), takes, |_, interval| {
        if interval.value == State::Waiting && count <= most {
            count += 1;
            match interval.begin <= cut.from {
                true => before += 1,
                false => changes.push((interval.begin, 1)),
            }
            if interval.end < cut.until && !interval.goes_on {
                changes.push((interval.end, -1));
            }
        }
    });
    visited.map_err(|error| error.to_string())?;
    if count > most {
        return Err(format!("more than {most} waits for a CPU are in view: zoom in to count them"));
    }
    changes.sort_unstable();
    let mut told = Counter { before: Some(Number::Whole(before)), ..Counter::default() };
    let mut now = before;
    for same in changes.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((at, _)) = same.first() else { continue };
        now += same.iter().map(|(_, by)| by).sum::<i128>();
        told.add(pixel(&cut, *at), Number::Whole(now));
    }
    Ok(told)
}

/// The same of so many events, and so many before the span.
pub(crate) fn of_some(
    traces: &[Trace],
    ask: &Ask,
    origin: Ns,
    (most, most_before): (u64, u64),
) -> Result<Counter, String> {
    let cut = ask.cut(origin)?;
    let wanted = Wanted::of(traces, ask.text("counter").unwrap_or(""))?;
    let start = ask.time("start", origin)?.filter(|start| *start > cut.from);
    let mut told = Counter::default();
    let stopped = wanted.visit(
        (traces, &between((start.unwrap_or(cut.from), cut.until))),
        most,
        &ask.patience,
        |at, value| match value {
            Some(number) => told.add(pixel(&cut, at), number),
            None => told.not_numbers += 1,
        },
    );
    told.stopped = stopped.map(|at| cut.offset(at));
    if start.is_none() {
        told.before = before(&wanted, traces, (&cut, most_before), &ask.patience);
    }
    Ok(told)
}

fn pixel(cut: &Cut, at: Ns) -> u32 {
    let offset = (i128::from(at.0) - i128::from(cut.from.0)).max(0);
    let pixel = offset * i128::from(cut.pixels) / cut.width_ns();
    u32::try_from(pixel).unwrap_or(u32::MAX).min(cut.pixels - 1)
}

/// The last value before a span, if it is near enough to be found.
fn before(
    wanted: &Wanted,
    traces: &[Trace],
    (cut, most): (&Cut, u64),
    patience: &Patience,
) -> Option<Number> {
    for widths in WIDTHS_BEFORE {
        let width = i64::try_from(cut.width_ns()).unwrap_or(i64::MAX).saturating_mul(widths);
        let from = Ns(cut.from.0.saturating_sub(width));
        let mut last = None;
        let span = between((from, cut.from));
        let stopped = wanted.visit((traces, &span), most, patience, |_, value| {
            last = value.or(last);
        });
        if stopped.is_some() {
            return None;
        }
        if last.is_some() {
            return last;
        }
    }
    None
}

impl Counter {
    fn add(&mut self, pixel: u32, number: Number) {
        self.count += 1;
        match self.columns.last_mut() {
            Some(Column(at, least, most, last)) if *at == pixel => {
                if number.is_less(*least) {
                    *least = number;
                }
                if most.is_less(number) {
                    *most = number;
                }
                *last = number;
            }
            _ => self.columns.push(Column(pixel, number, number, number)),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Names {
    names: Vec<String>,
    /// What is no field, and drawn of what the trace tells all the same.
    offered: Vec<&'static str>,
    left_out: usize,
}

/// The fields of events that are numbers.
pub(crate) fn names(traces: &[Trace]) -> Names {
    let mut names = BTreeSet::new();
    let classes = traces.iter().flat_map(Trace::event_classes);
    // The records for readers are no events of a program.
    for class in classes.filter(|class| event_name(class) != THREAD_EVENT) {
        let fields = class.payload.iter().flat_map(|payload| &payload.fields);
        for field in fields.filter(|field| is_number(&field.ty)) {
            names.insert(format!("{}.{}", event_name(class), field.name()));
        }
    }
    let mut all = traces.iter().flat_map(Trace::event_classes).map(event_name);
    let has_switches = all.any(|name| matches!(name, "sched:sched_switch" | "sched_switch"));
    let offered = has_switches.then_some(RUNNABLE).into_iter().collect();
    let left_out = names.len().saturating_sub(MOST_NAMES);
    Names { names: names.into_iter().take(MOST_NAMES).collect(), offered, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_exact_and_what_is_none_is_not_one() {
        let of = |value: Value<'_>| Number::of(&value);
        let json = |value| serde_json::to_string(&of(value).unwrap()).unwrap();
        assert_eq!(json(Value::Unsigned(u64::MAX)), "\"18446744073709551615\"");
        assert_eq!(json(Value::Signed(i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(json(Value::Signed((1 << 53) - 1)), "9007199254740991");
        assert_eq!(json(Value::Unsigned(1 << 53)), "\"9007199254740992\"");
        assert_eq!(json(Value::Float(-0.25)), "-0.25");
        assert_eq!(json(Value::Enumeration { value: 3, label: Some("x") }), "3");
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(of(Value::Float(none)), None);
        }
        assert_eq!((of(Value::Text(b"7")), of(Value::Compound)), (None, None));
    }

    #[test]
    fn neighbours_that_a_float_does_not_tell_apart_are_compared_exactly() {
        let mut counter = Counter::default();
        for value in [u64::MAX - 1, u64::MAX, u64::MAX - 2] {
            counter.add(0, Number::of(&Value::Unsigned(value)).unwrap());
        }
        let whole = |value: u64| Number::Whole(value.into());
        let [least, most] = [u64::MAX - 2, u64::MAX].map(whole);
        assert_eq!(counter.columns, [Column(0, least, most, least)]);
    }
}
