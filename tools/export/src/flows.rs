// SPDX-License-Identifier: MIT
//! What led to what: arrows from one event to another.
//!
//! Place in the flow: `follow` asks here for the two ends of arrows. Three things are known: a
//! thread that unlocks, signals or posts lets one go on that waits for the same lock, condition or
//! semaphore; a thread wakes another, whose next event is the arrow's other end; and the user knows
//! which fields of two events name the same message. An arrow's number is given out at its tail, so
//! a tail may have no head; viewers draw none then.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};
use state::{event_name, LockKind, ProcessIndex, ThreadIndex};
use trace::{Event, EventClass, Ns, Trace, Value};

use crate::error::Error;

/// Locks that are waited for, threads that are woken, and messages under way: of each, at most.
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

/// Which calls let a thread go on, the field that says what they release, and whether one call
/// lets several go.
const RELEASES: [(&str, LockKind, &str, bool); 5] = [
    ("mutex:unlock", LockKind::Mutex, "mutex", false),
    ("rwlock:unlock", LockKind::Rwlock, "rwlock", true),
    ("cond:signal", LockKind::Cond, "cond", false),
    ("cond:broadcast", LockKind::Cond, "cond", true),
    ("sem:post", LockKind::Sem, "sem", false),
];

type LockKey = (ProcessIndex, LockKind, i64);

#[derive(Debug, Clone, Copy)]
struct Release {
    kind: LockKind,
    field: usize,
    is_of_many: bool,
}

#[derive(Debug, Clone, Copy)]
struct Released {
    number: u64,
    by: ThreadIndex,
    at: Ns,
    is_of_many: bool,
}

/// By trace and by class.
type ByClass<T> = Vec<Vec<T>>;

#[derive(Debug)]
pub(crate) struct FlowFinder {
    next: u64,
    releases: ByClass<Option<Release>>,
    /// How many threads wait for what.
    waiting: FxHashMap<LockKey, u32>,
    released: FxHashMap<LockKey, Released>,
    /// By machine and thread's number.
    woken: FxHashMap<(u32, i64), u64>,
    /// Fields that begin, and that end, the arrows of a rule.
    keys: ByClass<Vec<(usize, usize, bool)>>,
    messages: FxHashMap<(usize, u64), u64>,
    /// The messages in the order of their sending, with the numbers of their arrows.
    order: VecDeque<((usize, u64), u64)>,
}

impl FlowFinder {
    pub fn new(traces: &[Trace], rules: &[FlowRule]) -> Result<Self, Error> {
        let of_class = |class: &EventClass| {
            let name = event_name(class);
            let (_, kind, field, is_of_many) = RELEASES.iter().find(|row| row.0 == name)?;
            let field = class.field_index(field)?;
            Some(Release { kind: *kind, field, is_of_many: *is_of_many })
        };
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
        let releases = |trace: &Trace| trace.event_classes().map(of_class).collect::<Vec<_>>();
        Ok(Self {
            next: 1,
            releases: traces.iter().map(releases).collect(),
            waiting: FxHashMap::default(),
            released: FxHashMap::default(),
            woken: FxHashMap::default(),
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

    /// A thread begins to wait for a lock.
    pub fn waits(&mut self, key: LockKey) {
        if self.waiting.len() < KNOWN || self.waiting.contains_key(&key) {
            *self.waiting.entry(key).or_default() += 1;
        }
    }

    /// A thread has waited, since `begin`. Return: the arrow that ends here. `has_it`: whether the
    /// wait ended because of a release, and not by a time limit.
    pub fn waited(
        &mut self,
        key: LockKey,
        thread: ThreadIndex,
        begin: Ns,
        has_it: bool,
    ) -> Option<u64> {
        let waiting = self.waiting.get_mut(&key)?;
        *waiting = waiting.saturating_sub(1);
        let is_last = *waiting == 0;
        let released = self.released.get(&key).copied();
        if is_last {
            self.waiting.remove(&key);
            self.released.remove(&key);
        }
        let released = released.filter(|released| has_it && released.at >= begin)?;
        if released.by == thread {
            return None;
        }
        if !released.is_of_many {
            self.released.remove(&key);
        }
        Some(released.number)
    }

    /// The arrow that begins at an event because it releases what another thread waits for.
    pub fn releases(
        &mut self,
        event: &Event<'_>,
        process: ProcessIndex,
        thread: ThreadIndex,
    ) -> Option<u64> {
        let release = (*self.releases.get(event.trace_index())?.get(event.class().index)?)?;
        let subject = match event.value(release.field)? {
            Value::Unsigned(value) | Value::Enumeration { value, .. } => value as i64,
            Value::Signed(value) => value,
            _ => return None,
        };
        let key = (process, release.kind, subject);
        if !self.waiting.contains_key(&key) {
            return None;
        }
        let number = self.number();
        let (by, at, is_of_many) = (thread, event.time_ns(), release.is_of_many);
        // No more than there are locks that are waited for.
        self.released.insert(key, Released { number, by, at, is_of_many });
        Some(number)
    }

    /// A thread is woken. Return: the arrow that begins here.
    pub fn wakes(&mut self, host: u32, tid: i64) -> Option<u64> {
        if self.woken.len() >= KNOWN && !self.woken.contains_key(&(host, tid)) {
            return None;
        }
        let number = self.number();
        self.woken.insert((host, tid), number);
        Some(number)
    }

    /// The arrow that ends at the first event of a thread after it was woken.
    #[inline]
    pub fn is_awake(&mut self, host: u32, tid: Option<i64>) -> Option<u64> {
        if self.woken.is_empty() {
            return None;
        }
        self.woken.remove(&(host, tid?))
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
