// SPDX-License-Identifier: MIT
//! Where the event of a number is, and how many there are.
//!
//! Place in the flow: a table is asked for by numbers of lines, and events are found by time. One
//! pass, in a thread of its own, notes the place of every 4096th event and counts names; meanwhile
//! what it has come to is answered, and that it goes on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace::{Ns, Span};

use crate::source::{Events, Row, Visited};
use crate::Filter;

/// From one noted event to the next.
const EVERY: u64 = 4096;
/// Names that are counted apart.
const MOST_NAMES: usize = 4096;
/// What stands for further names.
const OTHERS: &str = "(other names)";

/// Where an event is: at a time, after so many others of that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    time: Ns,
    before: u64,
}

#[derive(Debug, Default)]
struct Known {
    places: Vec<Place>,
    count: u64,
    by_name: BTreeMap<String, u64>,
    is_complete: bool,
    failure: Option<String>,
}

/// What the pass has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    pub count: u64,
    pub is_complete: bool,
    /// Why there will be no more.
    pub failure: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    known: Mutex<Known>,
    is_unwanted: AtomicBool,
}

impl Index {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn progress(&self) -> Progress {
        let known = self.known();
        let Known { count, is_complete, .. } = *known;
        Progress { count, is_complete, failure: known.failure.clone() }
    }

    pub fn by_name(&self) -> Vec<(String, u64)> {
        self.known().by_name.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// Ends the pass.
    pub fn give_up(&self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
    }

    /// Reads all events, once.
    pub fn build(&self, events: &dyn Events) {
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        let mut last = Place { time: Ns(i64::MIN), before: 0 };
        let mut count = 0;
        let visited = events.visit(&Filter::default(), &Span::ALL, u64::MAX, &mut |row| {
            last = match last.time == row.time && count > 0 {
                true => Place { before: last.before + 1, ..last },
                false => Place { time: row.time, before: 0 },
            };
            if count % EVERY == 0 {
                let mut known = self.known();
                known.places.push(last);
                known.count = count;
            }
            count += 1;
            let is_new = !by_name.contains_key(row.name);
            let name = if is_new && by_name.len() >= MOST_NAMES { OTHERS } else { row.name };
            match by_name.get_mut(name) {
                Some(count) => *count += 1,
                None => _ = by_name.insert(name.to_string(), 1),
            }
            !self.is_unwanted.load(Ordering::Relaxed)
        });
        let mut known = self.known();
        (known.count, known.by_name) = (count, by_name);
        (known.is_complete, known.failure) = (true, visited.err());
    }

    /// Gives the events from a number on, with their numbers, until `each` wants no more or
    /// `budget` were read. `None`: the pass has not come there, or there is no such event.
    pub fn visit(
        &self,
        events: &dyn Events,
        (first, budget): (u64, u64),
        each: &mut dyn FnMut(u64, &Row<'_>) -> bool,
    ) -> Option<Result<Visited, String>> {
        let place = {
            let known = self.known();
            let place = known.places.get(usize::try_from(first / EVERY).ok()?).copied()?;
            (first < known.count).then_some(place)?
        };
        let mut number = first - first % EVERY;
        let mut before = place.before;
        let span = Span { from: Some(place.time), until: None };
        let budget = budget.saturating_add(first % EVERY).saturating_add(before);
        Some(events.visit(&Filter::default(), &span, budget, &mut |row| {
            if before > 0 {
                before -= 1;
                return true;
            }
            let own = number;
            number += 1;
            own < first || each(own, row)
        }))
    }

    /// The number of the first event at a time or after it. `None`: there is none, or the pass has
    /// not come there.
    pub fn at(&self, events: &dyn Events, time: Ns) -> Result<Option<u64>, String> {
        let block = {
            let known = self.known();
            known.places.partition_point(|place| place.time < time).saturating_sub(1) as u64
        };
        let mut found = None;
        let budget = 2 * EVERY;
        let visited = self.visit(events, (block * EVERY, budget), &mut |number, row| {
            if row.time >= time {
                found = Some(number);
            }
            found.is_none()
        });
        visited.transpose()?;
        Ok(found.filter(|number| *number < self.known().count))
    }
}
