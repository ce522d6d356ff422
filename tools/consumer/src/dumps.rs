// SPDX-License-Identifier: MIT
//! Whether the kernel's dump of its state is whole: what its own events say.
//!
//! Place in the flow: `walk` hands over `state:begin`, `state:count` and `state:end`; the verdict
//! says whether the last dump is whole, and what it lacks. The dump runs on any CPU and rings are
//! read one after the other, so the events count by their times, not by their order. `lull recover`
//! hands over the events of a whole trace, in their order, and counts the records beside them.

use crate::events::Event;
use crate::lives::{field, Field};
use crate::view::View;
use std::collections::BTreeMap;
use verdict::text::plural;
use verdict::Verdict;

/// Kinds that one dump counts.
const KINDS_MAX: usize = 64;
/// Bytes of a kind's name.
const KIND_BYTES: usize = 32;

/// Which event of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Begin,
    Count,
    End,
}

impl Part {
    /// By the event's name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "state:begin" => Self::Begin,
            "state:count" => Self::Count,
            "state:end" => Self::End,
            _ => return None,
        })
    }
}

/// What the last dump says of one kind: what it has written, and what not.
#[derive(Debug, Clone, Copy)]
struct Count {
    at: u64,
    written: u64,
    lost: u64,
    skipped: u64,
    /// Of what was written, what is not there; 0 where nobody counts what is.
    absent: u64,
}

/// The last dump of which events were read.
#[derive(Debug, Default)]
pub struct Dumps {
    begun: Option<u64>,
    /// When it ended, and whether the kernel says that it is whole.
    ended: Option<(u64, bool)>,
    counts: BTreeMap<Box<str>, Count>,
    /// Records since the begin, by kind; None where nobody counts them.
    records: Option<BTreeMap<Box<str>, u64>>,
}

/// What the verdict says of a dump.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// That it is whole.
    Note(String),
    /// What it lacks.
    Limit(String),
}

impl Dumps {
    /// For events that come in the order of their times, records among them.
    pub fn in_order() -> Self {
        Self { records: Some(BTreeMap::new()), ..Self::default() }
    }

    /// Takes an event of a dump: its payload is the bytes `at..until` of `view`.
    pub fn note(&mut self, part: Part, payload: (View, usize, usize), event: &Event, cycles: u64) {
        let (view, at, until) = payload;
        self.take(part, cycles, |name| field(view, (at, until), event, name));
    }

    /// Takes an event of a dump; `at` is its time, on any one clock.
    pub fn take(&mut self, part: Part, at: u64, field: impl Fn(&str) -> Option<Field>) {
        let number = |name| match field(name) {
            Some(Field::Number(number)) => number,
            _ => 0,
        };
        match part {
            Part::Begin => {
                self.begun = self.begun.max(Some(at));
                self.records.iter_mut().for_each(BTreeMap::clear);
            }
            Part::End => {
                let ended = (at, number("is_whole") != 0);
                self.ended = self.ended.max(Some(ended));
            }
            Part::Count => {
                let Some(Field::Text(kind)) = field("kind") else { return };
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let has_room = self.counts.len() < KINDS_MAX || self.counts.contains_key(&kind);
                if has_room && kind.len() <= KIND_BYTES && kind.chars().all(is_name) {
                    let written = number("written");
                    let (lost, skipped) = (number("lost"), number("skipped"));
                    let there = |records: &BTreeMap<_, _>| records.get(&kind).copied().unwrap_or(0);
                    let absent =
                        self.records.as_ref().map_or(0, |all| written.saturating_sub(there(all)));
                    let count = Count { at, written, lost, skipped, absent };
                    let older = self.counts.insert(kind.clone(), count);
                    if let Some(newer) = older.filter(|older| older.at > at) {
                        self.counts.insert(kind, newer);
                    }
                }
            }
        }
    }

    /// Takes a record of a thing of this kind.
    pub fn take_record(&mut self, kind: &str) {
        let Some(records) = &mut self.records else { return };
        if let Some(count) = records.get_mut(kind) {
            *count += 1;
        } else if records.len() < KINDS_MAX {
            records.insert(kind.into(), 1);
        }
    }

    /// Says in the verdict what the last dump has. Nothing is said where no dump was read, or only
    /// the rest of one that was overwritten.
    pub fn judge(&self, verdict: &mut Verdict) {
        match self.told() {
            Some(Told::Note(note)) => verdict.notes.push(note),
            Some(Told::Limit(limit)) => verdict.limits.push(limit),
            None => {}
        }
    }

    fn told(&self) -> Option<Told> {
        let begun = self.begun?;
        let of = "of the kernel's state when recording began";
        let Some((_, is_whole)) = self.ended.filter(|(at, _)| *at >= begun) else {
            let why = "recording stopped before its dump had ended";
            return Some(Told::Limit(format!("{of}, only a part is known: {why}")));
        };
        let counted = self.counts.iter().filter(|(_, count)| count.at >= begun);
        let mut lacking: Vec<String> = Vec::new();
        for (kind, Count { written, lost, skipped, absent, .. }) in counted {
            let event = format!("state:{kind} event");
            if *lost > 0 {
                lacking.push(format!("{} lost", plural(*lost, &event)));
            }
            if *absent > 0 {
                lacking.push(format!("{absent} of {} not in the trace", plural(*written, &event)));
            }
            if *skipped > 0 {
                lacking.push(format!("{skipped} of kind {kind} could not be read"));
            }
        }
        let why = match lacking.is_empty() {
            true if is_whole => return Some(Told::Note(format!("the dump {of} is whole"))),
            true => "its dump was ended early".to_string(),
            false => lacking.join(", "),
        };
        Some(Told::Limit(format!("{of}, only a part is known: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Events;
    use session::description::Description;

    const BEGIN: (u32, &str) = (8, "state:begin\n6\nf:1\nu32 number\n");
    const COUNT: (u32, &str) =
        (9, "state:count\n6\nf:1\nstrn kind\nu64 written\nu64 lost\nu64 skipped\n");
    const END: (u32, &str) = (10, "state:end\n6\nf:1\nu32 number\nbool is_whole\n");

    fn note(dumps: &mut Dumps, (id, text): (u32, &str), cycles: u64, payload: &[u8]) {
        let mut events = Events::default();
        events.add(id, Description::parse(text.as_bytes()).unwrap());
        let event = events.get(id).unwrap();
        let words: Vec<u64> = payload
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            })
            .collect();
        // SAFETY: the words outlive the view and cover its length.
        let view = unsafe { View::new(words.as_ptr().cast(), payload.len()) };
        let part = Part::of(&event.description.name).unwrap();
        dumps.note(part, (view, 0, payload.len()), event, cycles);
    }

    fn count(kind: &str, lost: u64, skipped: u64) -> Vec<u8> {
        let numbers = [7, lost, skipped].into_iter().flat_map(u64::to_ne_bytes);
        kind.bytes().chain([0]).chain(numbers).collect()
    }

    fn told(dumps: &Dumps) -> (bool, String) {
        match dumps.told().unwrap() {
            Told::Note(text) => (true, text),
            Told::Limit(text) => (false, text),
        }
    }

    #[test]
    fn dump_is_whole_if_its_end_says_so_whatever_order_rings_are_read_in() {
        let mut dumps = Dumps::default();
        assert_eq!(dumps.told(), None);
        note(&mut dumps, END, 30, &[1, 0, 0, 0, 1]);
        assert_eq!(dumps.told(), None, "the rest of a dump that was overwritten");
        note(&mut dumps, BEGIN, 10, &[1, 0, 0, 0]);
        assert!(told(&dumps).0);
        note(&mut dumps, BEGIN, 40, &[2, 0, 0, 0]);
        assert!(!told(&dumps).0 && told(&dumps).1.contains("before its dump had ended"));
    }

    #[test]
    fn what_a_dump_lost_or_could_not_read_is_named_by_its_kind() {
        let mut dumps = Dumps::default();
        note(&mut dumps, COUNT, 5, &count("thread", 9, 0));
        note(&mut dumps, BEGIN, 10, &[1, 0, 0, 0]);
        note(&mut dumps, COUNT, 20, &count("file", 1, 0));
        note(&mut dumps, COUNT, 15, &count("file", 8, 0));
        note(&mut dumps, COUNT, 20, &count("map", 2, 3));
        note(&mut dumps, COUNT, 20, &count("cpu", 0, 0));
        note(&mut dumps, COUNT, 20, &count("odd\n", 1, 1));
        note(&mut dumps, END, 30, &[1, 0, 0, 0, 0]);
        let (is_whole, text) = told(&dumps);
        let lacks = "1 state:file event lost, 2 state:map events lost, 3 of kind map could not";
        assert!(!is_whole && text.contains(lacks), "{text}");
        assert!(!text.contains("thread") && !text.contains("cpu") && !text.contains("odd"));
        note(&mut dumps, BEGIN, 40, &[2, 0, 0, 0]);
        note(&mut dumps, END, 50, &[2, 0, 0, 0, 0]);
        assert!(told(&dumps).1.ends_with("ended early"));
    }

    #[test]
    fn records_that_a_whole_dump_has_written_and_the_trace_lacks_are_told() {
        let mut dumps = Dumps::in_order();
        let run = |dumps: &mut Dumps, at: u64, files: u64| {
            note(dumps, BEGIN, at, &[1, 0, 0, 0]);
            (0..files).for_each(|_| dumps.take_record("file"));
            note(dumps, COUNT, at + 1, &count("file", 0, 0));
            note(dumps, END, at + 2, &[1, 0, 0, 0, 1]);
        };
        run(&mut dumps, 10, 7);
        assert!(told(&dumps).0);
        run(&mut dumps, 20, 5);
        let (is_whole, text) = told(&dumps);
        assert!(!is_whole && text.ends_with("2 of 7 state:file events not in the trace"), "{text}");
    }
}
