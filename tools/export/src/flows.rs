// SPDX-License-Identifier: MIT
//! What led to what: arrows from one event to another.
//!
//! Place in the flow: `follow` asks here for the two ends of arrows. Those of locks and wake-ups
//! the crate `state` knows; of a thread that is woken, the next event is the arrow's head. The user
//! knows which fields of two events name the same message. An arrow's number is given out at its
//! tail, so a tail may have no head; viewers draw none then.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};
use state::{event_name, LockFlow, State, Step};
use trace::{Event, EventClass, Trace, Value};

use crate::error::Error;

/// Messages under way, at most.
const KNOWN: usize = 1 << 16;

/// The arrows that begin and end at an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flows {
    pub tail: Option<u64>,
    pub head: Option<u64>,
}

/// Two fields of two events that are equal where both are about the same message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRule {
    /// Name of the event that comes first, and its field.
    pub from: (String, String),
    /// Of the event that comes second.
    pub to: (String, String),
}

/// By trace and by class.
type ByClass<T> = Vec<Vec<T>>;

#[derive(Debug)]
pub(crate) struct FlowFinder {
    next: u64,
    /// Of locks and wake-ups.
    told: state::Flows<u64>,
    /// Fields that begin, and that end, the arrows of a rule.
    keys: ByClass<Vec<(usize, usize, bool)>>,
    messages: FxHashMap<(usize, u64), u64>,
    /// The messages in the order of their sending, with the numbers of their arrows.
    order: VecDeque<((usize, u64), u64)>,
}

impl FlowFinder {
    pub fn new(traces: &[Trace], rules: &[FlowRule]) -> Result<Self, Error> {
        let keys_of = |class: &EventClass| {
            let mut keys = Vec::new();
            for (number, rule) in rules.iter().enumerate() {
                for ((event, field), is_tail) in [(&rule.to, false), (&rule.from, true)] {
                    if event_name(class) == event {
                        keys.extend(class.field_index(field).map(|field| (number, field, is_tail)));
                    }
                }
            }
            keys
        };
        let classes = |trace: &Trace| trace.event_classes().map(keys_of).collect::<Vec<_>>();
        let keys: ByClass<_> = traces.iter().map(classes).collect();
        for (number, rule) in rules.iter().enumerate() {
            for ((event, field), is_tail) in [(&rule.from, true), (&rule.to, false)] {
                let mut known = keys.iter().flatten().flatten();
                if !known.any(|(of, _, tail)| *of == number && *tail == is_tail) {
                    return Err(Error::NoField { event: event.clone(), field: field.clone() });
                }
            }
        }
        Ok(Self {
            next: 1,
            told: state::Flows::default(),
            keys,
            messages: FxHashMap::default(),
            order: VecDeque::new(),
        })
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// The arrow of a lock that begins or ends at an event.
    pub fn of_locks(&mut self, state: &State, event: &Event<'_>, step: &Step) -> Flows {
        let number = self.next;
        match self.told.of_locks(state, event, step, || number) {
            Some(LockFlow::Tail(tail)) => {
                self.next += 1;
                Flows { tail: Some(tail), head: None }
            }
            Some(LockFlow::Head { tail, .. }) => Flows { tail: None, head: Some(tail) },
            None => Flows::default(),
        }
    }

    /// A thread is woken. Return: the arrow that begins here.
    pub fn wakes(&mut self, host: u32, tid: i64) -> Option<u64> {
        let number = self.next;
        let has_room = self.told.wakes(host, tid, number);
        self.next += u64::from(has_room);
        has_room.then_some(number)
    }

    /// The arrow that ends at the first event of a thread after it was woken.
    #[inline]
    pub fn is_awake(&mut self, host: u32, tid: Option<i64>) -> Option<u64> {
        self.told.is_awake(host, tid)
    }

    /// Events are missing: no arrow leads over the gap.
    pub fn forget(&mut self) {
        self.told.forget();
    }

    /// The arrows of messages that begin and end at an event. Of two rules, the first counts.
    pub fn messages(&mut self, event: &Event<'_>) -> Flows {
        let keys = self.keys.get(event.trace_index()).and_then(|all| all.get(event.class().index));
        let Some(keys) = keys.filter(|keys| !keys.is_empty()).cloned() else {
            return Flows::default();
        };
        let mut flows = Flows::default();
        for (rule, field, is_tail) in keys {
            let Some(key) = event.value(field).and_then(key) else { continue };
            match is_tail {
                true if flows.tail.is_none() => {
                    let number = self.number();
                    self.send((rule, key), number);
                    flows.tail = Some(number);
                }
                false if flows.head.is_none() => flows.head = self.messages.remove(&(rule, key)),
                _ => {}
            }
        }
        flows
    }

    fn send(&mut self, key: (usize, u64), number: u64) {
        if self.order.len() >= KNOWN {
            // A key that was sent again since has another number.
            if let Some((oldest, number)) = self.order.pop_front() {
                if self.messages.get(&oldest) == Some(&number) {
                    self.messages.remove(&oldest);
                }
            }
        }
        self.order.push_back((key, number));
        self.messages.insert(key, number);
    }
}

/// Equal values have equal keys; of different texts, two may be equal once in 2^64.
fn key(value: Value<'_>) -> Option<u64> {
    Some(match value {
        Value::Unsigned(value) | Value::Enumeration { value, .. } => value,
        Value::Signed(value) => value as u64,
        Value::Text(bytes) => {
            let hasher = FxBuildHasher;
            hasher.hash_one(Keyed(bytes))
        }
        Value::Float(_) | Value::Compound => return None,
    })
}

#[derive(Hash)]
struct Keyed<'a>(&'a [u8]);
