// SPDX-License-Identifier: MIT
//! Any two events that belong together because fields of theirs are equal.
//!
//! Place in the flow: the first event opens, the second closes what was opened last with its key.
//! What is open is bounded: where there is no room, the oldest is forgotten and counted. Between a
//! first event and an end that is not its own, others were missed: where any may have been, nothing
//! is measured.

use state::{event_name, State, ThreadIndex};
use trace::{EventClass, Ns, Trace, Value};
use verdict::text::plural;

use super::Halves;
use crate::analyses::since;
use crate::by_class::ByClass;
use crate::error::Error;
use crate::pending::Pending;
use crate::spells::{Spell, Spells};
use crate::studies::Moment;

/// Begins that wait for their ends.
const OPEN_MAX: usize = 1 << 18;
/// Bytes of a text that a key keeps.
const TEXT_BYTES_MAX: usize = 256;

/// Where a part of a key is found in an event.
#[derive(Debug, Clone, Copy)]
enum Part {
    Field(usize),
    Thread,
    Process,
    Cpu,
}

#[derive(Debug, Default)]
struct Roles {
    begins: Option<Vec<Part>>,
    ends: Option<Vec<Part>>,
}

/// A first event.
#[derive(Debug, Clone, Copy)]
struct Begin {
    at: Ns,
    host: u32,
    /// How often events had been missed by then: of its machine, and of any.
    missed: (u64, u64),
}

impl Begin {
    fn new(moment: &Moment<'_>) -> Self {
        let (host, missed) = now(moment);
        Self { at: moment.event.time_ns(), host, missed }
    }

    /// Whether all between it and a second event was recorded.
    fn is_sure(&self, moment: &Moment<'_>) -> bool {
        let (host, (of_host, of_any)) = now(moment);
        match host == self.host {
            true => of_host == self.missed.0,
            false => of_any == self.missed.1,
        }
    }
}

/// The machine of an event, and how often events had been missed by then.
fn now(moment: &Moment<'_>) -> (u32, (u64, u64)) {
    let state: &State = moment.state;
    let host = state.host(moment.event.trace_index());
    (host, (state.missed(host), state.missed_anywhere()))
}

pub(in crate::studies) struct Join {
    name: String,
    roles: ByClass<Roles>,
    open: Pending<Box<[u8]>, Begin>,
    key: Vec<u8>,
    spells: Spells,
    begins_again: u64,
    without_key: u64,
    halves: Halves,
}

impl Join {
    /// `keys`: names of fields of the first and of the second event that must be equal; without
    /// any, both are of one thread.
    pub fn new(
        traces: &[Trace],
        (first, second): &(String, String),
        keys: &[(String, String)],
    ) -> Result<Self, Error> {
        for name in [first, second] {
            let names = || traces.iter().flat_map(Trace::event_classes).map(event_name);
            if !names().any(|known| known == name) {
                let known = names().map(str::to_string).collect();
                return Err(Error::Unknown { what: "event", name: name.clone(), known });
            }
        }
        let of_thread = [("$tid".to_string(), "$tid".to_string())];
        let keys = if keys.is_empty() { &of_thread[..] } else { keys };
        let mut missing = None;
        let mut parts = |class: &EventClass, side: fn(&(String, String)) -> &String| {
            let part = |key: &(String, String)| match side(key).as_str() {
                "$tid" => Some(Part::Thread),
                "$pid" => Some(Part::Process),
                "$cpu" => Some(Part::Cpu),
                field => {
                    let found = class.field_index(field).map(Part::Field);
                    if found.is_none() {
                        missing = Some((field.to_string(), class.name.to_string()));
                    }
                    found
                }
            };
            keys.iter().map(part).collect::<Option<Vec<Part>>>()
        };
        let roles = ByClass::new(traces, |class| {
            let name = event_name(class);
            let begins = if name == first { parts(class, |key| &key.0) } else { None };
            let ends = if name == second { parts(class, |key| &key.1) } else { None };
            (begins.is_some() || ends.is_some()).then_some(Roles { begins, ends })
        });
        if let Some((name, class)) = missing {
            let classes = traces.iter().flat_map(Trace::event_classes);
            let class = classes.into_iter().find(|known| *known.name == *class);
            let fields = class.and_then(|class| class.payload.as_ref());
            let fields = fields.map_or(&[][..], |payload| &payload.fields[..]);
            let known = fields.iter().map(|field| field.name().to_string()).collect();
            return Err(Error::Unknown { what: "field for --key called", name, known });
        }
        Ok(Self {
            name: format!("{first} to {second}"),
            roles,
            open: Pending::new(OPEN_MAX),
            key: Vec::new(),
            spells: Spells::default(),
            begins_again: 0,
            without_key: 0,
            halves: Halves::default(),
        })
    }

    pub fn event(&mut self, moment: &Moment<'_>) {
        let Some(roles) = self.roles.get(moment.event) else { return };
        if !moment.is_taken {
            return;
        }
        let at = moment.event.time_ns();
        if let Some(parts) = &roles.ends {
            if !read_key(parts, moment, &mut self.key) {
                self.without_key += 1;
            } else if let Some(begin) = self.open.end(&self.key[..]) {
                if begin.is_sure(moment) {
                    let (begin, thread, cpu) = (begin.at, moment.step.thread, moment.event.cpu());
                    self.spells.record(Spell { begin, ns: since(begin, at), thread, cpu });
                } else {
                    self.halves.unsure += 1;
                }
            } else {
                self.halves.ends += 1;
            }
        }
        if let Some(parts) = &roles.begins {
            if !read_key(parts, moment, &mut self.key) {
                self.without_key += 1;
                return;
            }
            let again = self.open.begin(self.key.clone().into(), Begin::new(moment)).is_some();
            self.begins_again += u64::from(again);
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn spells(&self) -> &Spells {
        &self.spells
    }

    pub(super) fn halves(&self) -> Halves {
        let begins = self.open.len() as u64 + self.begins_again;
        Halves { begins, forgotten: self.open.forgotten(), ..self.halves }
    }

    pub fn note(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.begins_again > 0 {
            notes.push(format!(
                "{} times the first event came again with a key that was open: the later one \
                 counts",
                self.begins_again
            ));
        }
        if self.halves.unsure > 0 {
            notes.push(format!(
                "{} not measured: between the two events others were lost, or recording was \
                 paused or changed",
                plural(self.halves.unsure, "pair")
            ));
        }
        if self.without_key > 0 {
            notes.push(format!(
                "{} events have no value for the key, and join nothing",
                self.without_key
            ));
        }
        notes
    }
}

/// Writes what the parts say, so that different values never have the same bytes.
fn read_key(parts: &[Part], moment: &Moment<'_>, key: &mut Vec<u8>) -> bool {
    key.clear();
    for part in parts {
        let value = match part {
            Part::Thread if moment.step.thread == ThreadIndex::OTHERS => None,
            Part::Thread => Some(Value::Unsigned(moment.step.thread.0.into())),
            Part::Process => {
                let process = moment.state.threads().process_of(moment.step.thread);
                let is_known = moment.state.threads().pid(process).is_some();
                is_known.then_some(Value::Unsigned(process.0.into()))
            }
            Part::Cpu => moment.event.cpu().map(|cpu| Value::Unsigned(cpu.0.into())),
            Part::Field(index) => moment.event.value(*index),
        };
        let number = match value {
            Some(Value::Unsigned(value)) => i128::from(value),
            Some(Value::Signed(value)) => value.into(),
            // An enumeration's value is sign-extended: the number is the same without a label.
            Some(Value::Enumeration { value, .. }) => i128::from(value as i64),
            Some(Value::Float(value)) => value.to_bits().into(),
            Some(Value::Text(bytes)) => bytes.len() as i128,
            Some(Value::Compound) | None => return false,
        };
        key.extend_from_slice(&number.to_le_bytes());
        if let Some(Value::Text(bytes)) = value {
            key.extend_from_slice(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]);
        }
    }
    true
}
