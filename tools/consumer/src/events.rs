// SPDX-License-Identifier: MIT
//! What the consumer knows of each event: its description, and from it where its slot ends.
//!
//! Place in the flow: `walk` asks for lengths; `metadata` writes the descriptions down. Events
//! are learned from the session's table when they are first met in a ring, which is after a
//! process published them there.

use crate::lives::Sign;
use crate::view::View;
use session::abi::{EVENT_CONTEXT, EVENT_FIRST, THREAD_NAME_BYTES};
use session::description::{Description, Field, FieldKind, SYSTEM_EVENTS};
use session::Memory;
use std::sync::Arc;

/// The field of a context that has the kernel's call stack.
pub(crate) const KERNEL_STACK: &str = "kernel_stack";
/// A payload that `fixed` has no size for.
const NOT_FIXED: u32 = u32::MAX;

/// One step of measuring a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Skip(usize),
    Text,
    /// u32 count of elements of this size.
    Sequence(usize),
}

/// An event of the trace.
#[derive(Debug, Clone)]
pub struct Event {
    pub id: u32,
    pub description: Description,
    /// Fields that come before its own: context that its session records with each event.
    pub context: Arc<[Field]>,
    steps: Vec<Step>,
    /// Counted for people: everything but Lull's own bookkeeping.
    pub counts: bool,
    /// What it says of its process's life.
    pub sign: Option<Sign>,
}

/// All events met so far, by identifier.
#[derive(Debug)]
pub struct Events {
    known: Vec<Option<Event>>,
    /// By identifier, the payload's size where it is the same for each occurrence.
    fixed: Vec<u32>,
    /// By identifier, whether the event has a sign.
    signs: Vec<bool>,
    /// Grows when an event is added: the metadata is out of date.
    pub generation: u64,
    /// Of all but Lull's own.
    context: Arc<[Field]>,
    /// Where in it the kernel's call stack begins.
    stack_at: Option<usize>,
}

/// Lull's own events, which every trace has.
impl Default for Events {
    fn default() -> Self {
        let (known, fixed, signs) = (Vec::new(), Vec::new(), Vec::new());
        let context = Arc::new([]);
        let mut events = Self { known, fixed, signs, generation: 0, context, stack_at: None };
        for (id, text) in SYSTEM_EVENTS {
            if let Ok(description) = Description::parse(text.as_bytes()) {
                events.add(id, description);
            }
        }
        events
    }
}

/// Why an event cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// Not known yet: ask the session's table.
    Unknown,
    /// It does not end before the limit.
    TooLong,
}

pub(crate) fn fixed_bytes(kind: &FieldKind) -> Option<usize> {
    match kind {
        FieldKind::Unsigned { bits, .. }
        | FieldKind::Signed { bits }
        | FieldKind::Flags { bits, .. }
        | FieldKind::Float { bits } => Some(usize::from(*bits) / 8),
        FieldKind::Bool => Some(1),
        FieldKind::Pointer => Some(8),
        FieldKind::Name => Some(THREAD_NAME_BYTES),
        FieldKind::Enumeration(_) => Some(4),
        FieldKind::Text | FieldKind::Bytes | FieldKind::Sequence { .. } | FieldKind::Addresses => {
            None
        }
    }
}

/// Where the kernel's call stack begins in a context: what is before it has a fixed size.
fn stack_at(context: &[Field]) -> Option<usize> {
    let mut at = 0;
    for field in context {
        if field.name == KERNEL_STACK && field.kind == FieldKind::Addresses {
            return Some(at);
        }
        at += fixed_bytes(&field.kind)?;
    }
    None
}

impl Event {
    fn new(id: u32, description: Description, context: &Arc<[Field]>) -> Self {
        let context = if id >= EVENT_FIRST { Arc::clone(context) } else { Arc::new([]) };
        let mut steps: Vec<Step> = Vec::new();
        for field in context.iter().chain(&description.fields) {
            let step = match (&field.kind, fixed_bytes(&field.kind)) {
                (_, Some(bytes)) => Step::Skip(bytes),
                (FieldKind::Text, _) => Step::Text,
                (FieldKind::Sequence { bits, .. }, _) => Step::Sequence(usize::from(*bits) / 8),
                (FieldKind::Addresses, _) => Step::Sequence(8),
                _ => Step::Sequence(1),
            };
            match (steps.last_mut(), step) {
                (Some(Step::Skip(before)), Step::Skip(bytes)) => *before += bytes,
                _ => steps.push(step),
            }
        }
        let sign = Sign::of(&description.name).filter(|_| id >= EVENT_FIRST);
        Self { id, description, context, steps, counts: id >= EVENT_FIRST, sign }
    }

    fn fixed_bytes(&self) -> Option<u32> {
        match self.steps[..] {
            [] => Some(0),
            [Step::Skip(bytes)] => u32::try_from(bytes).ok(),
            _ => None,
        }
    }

    /// Where the payload that begins at `at` ends; None when that is beyond `limit`.
    fn payload_until(&self, view: View, at: usize, limit: usize) -> Option<usize> {
        let mut at = at;
        for step in &self.steps {
            let bytes = match *step {
                Step::Skip(bytes) => bytes,
                Step::Text => view.text_bytes(at, limit)? + 1,
                Step::Sequence(element) => {
                    let count = u32::from_ne_bytes(view.bytes(at)?) as usize;
                    count.checked_mul(element)?.checked_add(4)?
                }
            };
            at = at.checked_add(bytes).filter(|at| *at <= limit)?;
        }
        Some(at)
    }
}

impl Events {
    /// Those of a session, and the context that it records with each: the kernel describes its own,
    /// and what programs record was our own wish.
    pub fn of(memory: &Memory) -> Self {
        let of_kernels = || {
            let text = memory.event_description(EVENT_CONTEXT)?;
            Description::parse(&text).ok()
        };
        let of_programs = || memory.recorded().description();
        let context = if memory.is_kernels() { of_kernels() } else { of_programs() };
        let mut events = context.map_or_else(Self::default, Self::with_context);
        events.learn_all(memory);
        events
    }

    /// None but Lull's own; those that are added have context before their fields.
    pub(crate) fn with_context(context: Description) -> Self {
        let stack_at = stack_at(&context.fields);
        Self { context: context.fields.into(), stack_at, ..Self::default() }
    }

    /// Where, in the payload of all events but Lull's own, the kernel's call stack begins.
    #[inline]
    pub fn stack_at(&self) -> Option<usize> {
        self.stack_at
    }

    /// Adds what a session says of an event. Return: false when it says nothing usable.
    pub fn learn(&mut self, memory: &Memory, id: u32) -> bool {
        if id == EVENT_CONTEXT {
            return false; // it says what others have, and is none itself
        }
        let Some(text) = memory.event_description(id) else { return false };
        let Ok(description) = Description::parse(&text) else { return false };
        self.add(id, description);
        true
    }

    /// Adds every event in the session's table, met or not.
    pub fn learn_all(&mut self, memory: &Memory) {
        for id in 1..memory.event_capacity() {
            if self.get(id).is_none() {
                let known = self.learn(memory, id);
                if !known && id >= EVENT_FIRST {
                    break;
                }
            }
        }
    }

    pub fn add(&mut self, id: u32, description: Description) {
        let index = id as usize;
        if self.known.len() <= index {
            self.known.resize_with(index + 1, || None);
            self.fixed.resize(index + 1, NOT_FIXED);
            self.signs.resize(index + 1, false);
        }
        let event = Event::new(id, description, &self.context);
        self.fixed[index] = event.fixed_bytes().unwrap_or(NOT_FIXED);
        self.signs[index] = event.sign.is_some();
        self.known[index] = Some(event);
        self.generation += 1;
    }

    pub fn get(&self, id: u32) -> Option<&Event> {
        self.known.get(id as usize)?.as_ref()
    }

    /// Whether an event says something of its process's life.
    #[inline]
    pub fn tells_of_life(&self, id: u32) -> bool {
        self.signs.get(id as usize).is_some_and(|tells| *tells)
    }

    /// The payload's size of an event for people that has always the same and no sign.
    #[inline]
    pub fn plain_bytes(&self, id: u32) -> Option<usize> {
        let bytes = *self.fixed.get(id as usize)?;
        let is_plain = bytes != NOT_FIXED && id >= EVENT_FIRST && !self.tells_of_life(id);
        is_plain.then_some(bytes as usize)
    }

    /// Names and levels of all but Lull's own.
    pub fn names(&self) -> Vec<(String, u8)> {
        let counted = self.iter().filter(|event| event.counts);
        let name = |event: &Event| (event.description.name.clone(), event.description.level);
        counted.map(name).collect()
    }

    /// In order of identifiers.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.known.iter().flatten()
    }

    /// Where the payload of event `id` at `at` ends, unpadded.
    #[inline]
    pub fn payload_until(
        &self,
        view: View,
        id: u32,
        at: usize,
        limit: usize,
    ) -> Result<usize, Unmeasured> {
        match self.fixed.get(id as usize) {
            Some(&bytes) if bytes != NOT_FIXED => {
                let until = at + bytes as usize;
                if until <= limit {
                    Ok(until)
                } else {
                    Err(Unmeasured::TooLong)
                }
            }
            _ => {
                let event = self.get(id).ok_or(Unmeasured::Unknown)?;
                event.payload_until(view, at, limit).ok_or(Unmeasured::TooLong)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Events {
        let mut events = Events::default();
        events.add(9, Description::parse(text.as_bytes()).unwrap());
        events
    }

    fn until(events: &Events, bytes: &[u8], limit: usize) -> Result<usize, Unmeasured> {
        let words: Vec<u32> = bytes
            .chunks(4)
            .map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_ne_bytes(word)
            })
            .collect();
        // SAFETY: the words outlive the view and cover its length.
        let view = unsafe { View::new(words.as_ptr().cast(), bytes.len()) };
        events.payload_until(view, 9, 0, limit)
    }

    #[test]
    fn fixed_fields_add_up_without_padding_between_them() {
        let text = "a:b\n6\nf:1\nu8 a\nf64 b\nbool c\nptr d\nenum e A=1\nname f\n";
        assert_eq!(until(&events(text), &[0; 64], 64), Ok(1 + 8 + 1 + 8 + 4 + 16));
    }

    #[test]
    fn plain_events_are_peoples_with_one_size_that_say_nothing_of_a_life() {
        let mut events = events("a:b\n6\nf:1\nu32 a\nu8 b\n");
        let parse = |text: &str| Description::parse(text.as_bytes()).unwrap();
        events.add(EVENT_FIRST, parse("a:none\n6\nf:1\n"));
        events.add(10, parse("a:text\n6\nf:1\nstr a\n"));
        events.add(11, parse("process:exit\n6\nf:1\nu32 status\n"));
        let plain: Vec<_> = (0..14).map(|id| events.plain_bytes(id)).collect();
        let mut expected = vec![None; 14];
        (expected[8], expected[9]) = (Some(0), Some(5));
        assert_eq!(plain, expected);
        let lives: Vec<u32> = (0..14).filter(|id| events.tells_of_life(*id)).collect();
        assert_eq!(lives, [11]);
        let names: Vec<String> = events.names().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a:none", "a:b", "a:text", "process:exit"]);
        assert_eq!(events.generation, 3 + 4);
        let none: Arc<[Field]> = Arc::new([]);
        let new = |id| Event::new(id, parse("process:exit\n6\nf:1\n"), &none).sign;
        assert_eq!((new(7), new(EVENT_FIRST)), (None, Some(Sign::Exit)));
    }

    #[test]
    fn events_are_learned_up_to_the_first_that_the_table_does_not_have() {
        let plan = session::Plan {
            has_budget: false,
            uuid: [7; 16],
            flight_recorder: false,
            clock_kind: 0,
            cpu_count: 1,
            rseq: true,
            subbuf_size_bytes: 4096,
            subbuf_count: 2,
            patterns: "*".into(),
            filters: Vec::new(),
            counts: None,
            recorded: Default::default(),
        };
        let memory = Memory::create(&plan, |_| Ok(())).unwrap();
        memory.fill_in(&plan);
        for (id, text) in [(8, "a:eight\n6\nf:1\n"), (9, "a:nine\n6\nf:1\n"), (11, "a:eleven\n6\n")]
        {
            assert!(memory.publish_event(id, text));
        }
        assert!(memory.publish_event(12, "not a description"));
        let mut events = Events::default();
        events.learn_all(&memory);
        let known: Vec<u32> = events.iter().map(|event| event.id).collect();
        assert_eq!(known, [1, 2, 3, 8, 9]);
        assert!(events.learn(&memory, 11) && events.get(11).is_some());
        assert!(!events.learn(&memory, 12) && !events.learn(&memory, 10));
        assert_eq!(events.iter().filter(|event| event.counts).count(), 3);
    }

    #[test]
    fn context_comes_before_the_fields_of_every_event_but_lulls_own() {
        let parse = |text: &str| Description::parse(text.as_bytes()).unwrap();
        let mut events = Events::with_context(parse("lull:context\n6\n:\ni32 pid\naptr stack\n"));
        events.add(2, parse("lull:lost\n4\n:\n"));
        events.add(9, parse("a:b\n6\nf:1\nstr c\n"));
        let mut bytes = 7u32.to_ne_bytes().to_vec();
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend([0x11; 8]);
        bytes.extend(b"hi\0");
        assert_eq!(until(&events, &bytes, bytes.len()), Ok(bytes.len()));
        assert_eq!(events.get(9).unwrap().context.len(), 2);
        assert!(events.get(2).unwrap().context.is_empty());
        assert_eq!(events.get(2).unwrap().fixed_bytes(), Some(0));
    }

    #[test]
    fn call_stack_of_the_kernels_is_found_behind_what_has_a_fixed_size() {
        let at = |text: &str| {
            let text = format!("lull:context\n6\n:\n{text}");
            Events::with_context(Description::parse(text.as_bytes()).unwrap()).stack_at()
        };
        assert_eq!(at("i32 pid\nname comm\naptr kernel_stack\naptr user_stack\n"), Some(20));
        assert_eq!(at("aptr kernel_stack\n"), Some(0));
        for none in ["i32 pid\naptr user_stack\n", "au8 kernel_stack\n"] {
            assert_eq!(at(none), None);
        }
        assert_eq!(at("aptr user_stack\naptr kernel_stack\n"), None);
    }

    #[test]
    fn fixed_payload_ends_at_the_limit_at_the_latest() {
        let events = events("a:b\n6\nf:1\nu32 a\n");
        assert_eq!(until(&events, &[0; 8], 4), Ok(4));
        assert_eq!(until(&events, &[0; 8], 3), Err(Unmeasured::TooLong));
        let sizes =
            ["u8", "i16", "x32", "f64", "bool", "ptr", "name", "enum", "str", "bytes", "au8"];
        let sizes = sizes.map(|name| {
            let text = format!("a:b\n6\nf:1\n{name} a A=1\n");
            fixed_bytes(&Description::parse(text.as_bytes()).unwrap().fields[0].kind)
        });
        let expected = [1, 2, 4, 8, 1, 8, 16, 4].map(Some);
        assert_eq!((&sizes[..8], &sizes[8..]), (&expected[..], &[None; 3][..]));
    }

    #[test]
    fn texts_and_sequences_are_measured_where_they_lie() {
        let events = events("a:b\n6\nf:1\nu8 a\nstr b\nau16 c\nbytes d\nu32 e\n");
        let mut bytes = vec![7, b'h', b'i', 0];
        bytes.extend(2u32.to_ne_bytes());
        bytes.extend([1, 0, 2, 0]);
        bytes.extend(1u32.to_ne_bytes());
        bytes.push(9);
        bytes.extend(5u32.to_ne_bytes());
        assert_eq!(until(&events, &bytes, bytes.len()), Ok(bytes.len()));
        for limit in 0..bytes.len() {
            assert_eq!(until(&events, &bytes, limit), Err(Unmeasured::TooLong), "{limit}");
        }
    }

    #[test]
    fn count_that_overflows_is_too_long() {
        let events = events("a:b\n6\nf:1\nau64 c\n");
        assert_eq!(until(&events, &[0xff; 16], 16), Err(Unmeasured::TooLong));
    }

    #[test]
    fn event_nobody_described_is_unknown() {
        let events = events("a:b\n6\nf:1\n");
        let words = [0u32];
        // SAFETY: the array outlives the view.
        let view = unsafe { View::new(words.as_ptr().cast(), 4) };
        assert_eq!(events.payload_until(view, 8, 0, 4), Err(Unmeasured::Unknown));
        assert_eq!(events.payload_until(view, 5000, 0, 4), Err(Unmeasured::Unknown));
    }
}
