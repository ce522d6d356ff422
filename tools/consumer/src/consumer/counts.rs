// SPDX-License-Identifier: MIT
//! What a session counts, of all its users: by event and values, with the events' descriptions.
//!
//! Place in the flow: `lull count` asks now and then, and at the end. Users whose processes take
//! part have tables of their own, in which events have other identifiers; here they are one.

use super::Consumer;
use session::counts::{Cell, Counted, Value};
use session::description::Description;
use session::Memory;
use std::collections::{BTreeMap, HashMap};

/// What was counted of one event.
#[derive(Debug, Clone)]
pub struct CountedEvent {
    pub description: Description,
    /// By the values that are told apart, one for each field asked for.
    pub cells: HashMap<Vec<Value>, Cell>,
    /// What is not told apart: all, if nothing was asked for, or else what found no room.
    pub rest: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// By name and fields.
    pub events: Vec<CountedEvent>,
    /// Occurrences that threads were counting when they were killed.
    pub unfinished: u64,
    /// Occurrences of events that nobody described.
    pub unknown: u64,
}

/// Events by their names and fields: sites of one event are one.
#[derive(Default)]
struct Merged {
    events: BTreeMap<Vec<u8>, CountedEvent>,
    unfinished: u64,
    unknown: u64,
}

impl Merged {
    fn add(&mut self, memory: &Memory, counted: Counted) {
        self.unfinished = self.unfinished.saturating_add(counted.unfinished);
        for (id, total) in counted.totals {
            match self.event(memory, id) {
                Some(event) => event.rest = event.rest.saturating_add(total),
                None => self.unknown = self.unknown.saturating_add(total),
            }
        }
        for ((id, by), cell) in counted.cells {
            match self.event(memory, id) {
                Some(event) => event.cells.entry(by).or_default().add(&cell),
                None => self.unknown = self.unknown.saturating_add(cell.total()),
            }
        }
    }

    fn event(&mut self, memory: &Memory, id: u32) -> Option<&mut CountedEvent> {
        let text = memory.event_description(id)?;
        // Behind the name: the level, and where the site is.
        let mut lines = text.splitn(4, |byte| *byte == b'\n');
        let key = [lines.next()?, b"\n", lines.nth(2)?].concat();
        if !self.events.contains_key(&key) {
            let description = Description::parse(&text).ok()?;
            let event = CountedEvent { description, cells: HashMap::new(), rest: 0 };
            self.events.insert(key.clone(), event);
        }
        self.events.get_mut(&key)
    }
}

impl Consumer {
    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        let mut merged = Merged::default();
        for memory in &self.memories {
            if let Some(tables) = memory.counts() {
                merged.add(memory, tables.read());
            }
        }
        let Merged { events, unfinished, unknown } = merged;
        Counts { events: events.into_values().collect(), unfinished, unknown }
    }

    /// Stops all probes, and says what they counted.
    pub fn counts_at_end(&mut self) -> Counts {
        self.meet_users();
        self.stop_probes();
        self.counts()
    }
}
