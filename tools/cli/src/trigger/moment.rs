// SPDX-License-Identifier: MIT
//! An event that met a condition, as people, scripts and the trace are told of it.
//!
//! Place in the flow: `matching` describes the first that met a condition since the last look, and
//! `record::fire` hands it on. Names and texts are a program's own: what could end a word, act on a
//! terminal or look like another field is replaced or escaped here. The same holds of numbers:
//! where users are told apart, that of a process is told only if this has its user's memory.

use crate::print::text::{quoted, word};
use consumer::process::attaches;
use state::{event_name, State, ThreadContext, ThreadIndex};
use std::path::Path;
use trace::{Event, Value};

/// What is told of an event's fields.
const FIELDS_BYTES_MAX: usize = 1 << 10;

/// An event that met a condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    pub cycles: u64,
    /// Of the trace's clock.
    pub at_ns: i64,
    /// Whose processes wrote it, where users are told apart; none for the kernel's events.
    pub user: Option<u32>,
    pub pid: Option<u64>,
    pub tid: Option<u64>,
    pub event: String,
    /// `name=value`, with blanks between.
    pub fields: String,
    /// How long the call took, or how long after the first event this one came.
    pub took_ns: Option<u64>,
}

/// How often a condition was met since the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Met {
    pub count: u64,
    /// The first time.
    pub moment: Option<Moment>,
}

impl Met {
    /// Adds what met the same condition elsewhere.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        let is_first = |one: &Moment| self.moment.as_ref().is_none_or(|own| one.at_ns < own.at_ns);
        if other.moment.as_ref().is_some_and(is_first) {
            self.moment = other.moment;
        }
    }
}

impl Moment {
    pub fn of(
        event: &Event<'_>,
        thread: ThreadIndex,
        state: &State,
        user: Option<u32>,
        took_ns: Option<u64>,
    ) -> Self {
        let threads = state.threads();
        let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        let own = ThreadContext::of(event);
        Self {
            cycles: event.cycles().0,
            at_ns: event.time_ns().0,
            user,
            pid: number(threads.pid(threads.process_of(thread)).or(own.pid)),
            tid: number(threads.tid(thread).or(own.tid)),
            event: name(event_name(event.class())),
            fields: fields_of(event),
            took_ns,
        }
    }

    /// Forgets which process and which thread it was unless they have a segment now.
    pub fn believe(&mut self, segment: i32) {
        let number = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
        let pid = number(self.pid).filter(|pid| *pid > 0 && attaches(*pid, segment));
        let is_its = |tid: &u32| {
            pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}/task/{tid}")).exists())
        };
        let tid = number(self.tid).filter(is_its);
        (self.pid, self.tid) = (pid.map(u64::from), tid.map(u64::from));
    }
}

/// A name as a word.
fn name(name: &str) -> String {
    let mut text = Vec::new();
    word(&mut text, name.as_bytes());
    String::from_utf8_lossy(&text).into_owned()
}

/// Numbers and texts of an event, for a person or a script.
fn fields_of(event: &Event<'_>) -> String {
    let mut text = String::new();
    let payload = event.class().payload.as_ref();
    for (index, field) in payload.into_iter().flat_map(|payload| &payload.fields).enumerate() {
        let value = match event.value(index) {
            Some(Value::Unsigned(value) | Value::Enumeration { value, .. }) => value.to_string(),
            Some(Value::Signed(value)) => value.to_string(),
            Some(Value::Text(text)) => {
                let mut shown = Vec::new();
                quoted(&mut shown, text);
                String::from_utf8_lossy(&shown).into_owned()
            }
            _ => continue,
        };
        let name = name(field.name());
        if text.len() + name.len() + value.len() + 2 > FIELDS_BYTES_MAX {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&name);
        text.push('=');
        text.push_str(&value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::segment::Segment;

    #[test]
    fn process_is_told_if_it_has_the_memory_and_its_thread_if_it_is_its_own() {
        let segment = Segment::create(4096, |_| Ok(())).unwrap();
        let me = u64::from(std::process::id());
        let of = |pid, tid| Moment { pid: Some(pid), tid: Some(tid), ..Moment::default() };
        let told = |mut moment: Moment, segment| {
            moment.believe(segment);
            (moment.pid, moment.tid)
        };
        assert_eq!(told(of(me, me), segment.id()), (Some(me), Some(me)));
        assert_eq!(told(of(me, 1), segment.id()), (Some(me), None), "another's thread");
        assert_eq!(told(of(me, me), segment.id().wrapping_add(1)), (None, None));
        assert_eq!(told(of(1, 1), segment.id()), (None, None));
        assert_eq!(told(of(u64::MAX, 0), segment.id()), (None, None));
    }

    #[test]
    fn names_are_words_whatever_a_program_calls_its_events() {
        assert_eq!(name("http:request"), "http:request");
        assert_eq!(name("a b\u{1b}[2J"), "a_b_[2J");
    }

    #[test]
    fn of_what_was_met_in_several_places_the_first_is_told_and_all_are_counted() {
        let met = |count, at_ns| {
            let moment = Some(Moment { at_ns, ..Moment::default() });
            Met { count, moment }
        };
        let mut all = Met::default();
        all.add(met(2, 7));
        all.add(met(1, 5));
        all.add(met(3, 9));
        all.add(Met::default());
        assert_eq!(all, met(6, 5));
    }
}
