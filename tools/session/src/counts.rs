// SPDX-License-Identifier: MIT
//! What a session that counts has in place of a trace: `core/include/lull/abi/count.h`.
//!
//! Place in the flow: a plan says what is told apart; `layout` gives the tables their place, probes
//! add to them, and [`Tables::read`] says what they hold. Traced processes can write to all of it:
//! each word is read once, and every loop ends where the tables do, whatever is in them.

mod distribution;

use crate::abi::*;
pub use distribution::Distribution;
use std::collections::HashMap;
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

const WORD: usize = size_of::<u64>();
const VALUE_WORDS: usize = size_of::<CountValue>() / WORD;
const SLOT_WORDS: usize = size_of::<CountSlot>() / WORD;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Fields or contexts whose values are told apart.
    pub by: Vec<String>,
    /// The field whose distribution is counted.
    pub value: Option<String>,
    /// How many different values each table has room for, if any are told apart.
    pub keys: u32,
    /// The first pattern whose events are counted.
    pub first_rule: u32,
    /// As many as there are CPUs, or more.
    pub tables: u32,
}

impl Plan {
    /// As traced processes read it.
    pub fn bytes(&self) -> CountPlan {
        let layout = Layout::of(self);
        let mut plan = CountPlan {
            table_count: layout.tables as u32,
            capacity: layout.capacity as u32,
            slot_bytes: (layout.slot_words() * WORD) as u32,
            first_rule: self.first_rule,
            stride_bytes: (layout.stride_words() * WORD) as u64,
            by_count: layout.by_count as u32,
            has_value: u32::from(layout.has_value),
            by: [0; COUNT_NAMES_BYTES],
            value: [0; COUNT_NAME_BYTES],
        };
        for (place, name) in plan.by.chunks_exact_mut(COUNT_NAME_BYTES).zip(&self.by) {
            name_store(place, name);
        }
        name_store(&mut plan.value, self.value.as_deref().unwrap_or_default());
        plan
    }

    /// Pages of the plan and all tables.
    pub fn pages(&self) -> u32 {
        let layout = Layout::of(self);
        let bytes = layout.tables * layout.stride_words() * WORD;
        u32::try_from(1 + bytes / COUNT_PLAN_BYTES).unwrap_or(u32::MAX)
    }
}

/// The name, cut so that a NUL follows it.
fn name_store(place: &mut [u8], name: &str) {
    let length = place.len() - 1;
    for (byte, from) in place[..length].iter_mut().zip(name.bytes()) {
        *byte = from;
    }
}

/// Where everything lies in the tables. The recorder decides it, and reads it from nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub tables: usize,
    pub events: usize,
    /// 0: nothing is told apart.
    pub capacity: usize,
    pub by_count: usize,
    pub has_value: bool,
}

impl Layout {
    pub fn of(plan: &Plan) -> Self {
        let tells_apart = !plan.by.is_empty() || plan.value.is_some();
        let keys = plan.keys.clamp(1, COUNT_CAPACITY_MAX).next_power_of_two() as usize;
        Self {
            tables: plan.tables.clamp(1, COUNT_TABLES_MAX).next_power_of_two() as usize,
            events: crate::layout::EVENT_CAPACITY as usize,
            capacity: if tells_apart { keys } else { 0 },
            by_count: plan.by.len().min(COUNT_BY_MAX),
            has_value: plan.value.is_some(),
        }
    }

    fn slot_words(&self) -> usize {
        let buckets = if self.has_value { COUNT_BUCKETS } else { 0 };
        (SLOT_WORDS + self.by_count * VALUE_WORDS + buckets).next_multiple_of(64 / WORD)
    }

    fn stride_words(&self) -> usize {
        let words = self.events + self.capacity * self.slot_words();
        words.next_multiple_of(COUNT_PLAN_BYTES / WORD)
    }
}

/// A value that occurrences were told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// The event has no such field.
    None,
    Unsigned(u64),
    Signed(i64),
    Text {
        bytes: Vec<u8>,
        /// Its first bytes only; other texts that begin like it are counted here, too.
        is_cut: bool,
    },
}

/// Occurrences of an event with the same values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Those whose value is in no distribution.
    pub count: u64,
    pub distribution: Distribution,
}

impl Cell {
    pub fn total(&self) -> u64 {
        self.count.saturating_add(self.distribution.count())
    }

    pub fn add(&mut self, other: &Cell) {
        self.count = self.count.saturating_add(other.count);
        self.distribution.add(&other.distribution);
    }
}

/// What the tables hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// By event and values.
    pub cells: HashMap<(u32, Vec<Value>), Cell>,
    /// By event: what is not told apart, or found no room among what is.
    pub totals: HashMap<u32, u64>,
    /// Slots that threads had claimed and not published: of each, one occurrence is in no count.
    pub unfinished: u64,
}

/// The tables of one user's memory.
pub struct Tables<'m> {
    pub layout: Layout,
    pub words: &'m [AtomicU64],
}

impl Tables<'_> {
    /// Reads all of it once.
    pub fn read(&self) -> Counted {
        let mut counted = Counted::default();
        let tables = self.words.chunks_exact(self.layout.stride_words());
        for table in tables.take(self.layout.tables) {
            let (totals, slots) = table.split_at(self.layout.events);
            for (event, total) in (0..).zip(totals) {
                let total = total.load(Ordering::Relaxed);
                if total > 0 {
                    let sum = counted.totals.entry(event).or_default();
                    *sum = sum.saturating_add(total);
                }
            }
            let slots = slots.chunks_exact(self.layout.slot_words());
            slots.take(self.layout.capacity).for_each(|slot| self.slot_read(slot, &mut counted));
        }
        counted
    }

    fn slot_read(&self, slot: &[AtomicU64], counted: &mut Counted) {
        let (head, rest) = slot.split_at(SLOT_WORDS);
        let (values, buckets) = rest.split_at(self.layout.by_count * VALUE_WORDS);
        // [count.read:A] acquire. Pairs with [count.publish:A].
        // Orders: the load of the state before those of the key and of the first occurrence.
        // Else: counts are told under values that nobody had. Mutant: COUNT_READ_RELAXED.
        let state = head[0].load(Ordering::Acquire);
        if state & u64::from(COUNT_READY) != u64::from(COUNT_READY) {
            counted.unfinished += u64::from(state != 0);
            return;
        }
        let word = |index: usize| head[index].load(Ordering::Relaxed);
        let [event, value_kind] = halves(word(4));
        let by = values.chunks_exact(VALUE_WORDS).map(value_read).collect();
        let buckets = if self.layout.has_value { &buckets[..COUNT_BUCKETS] } else { &[] };
        let distribution = Distribution::read(value_kind, [word(2), word(3)], buckets);
        let cell = Cell { count: word(1), distribution };
        counted.cells.entry((event, by)).or_default().add(&cell);
    }
}

/// The two numbers of 32 bits in a word, in the order in which they lie.
fn halves(word: u64) -> [u32; 2] {
    let bytes = word.to_ne_bytes();
    let half = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
    [half(0), half(4)]
}

fn value_read(words: &[AtomicU64]) -> Value {
    let word = |index: usize| words[index].load(Ordering::Relaxed);
    let [kind, bytes] = halves(word(0));
    match kind {
        COUNT_UNSIGNED => Value::Unsigned(word(1)),
        COUNT_SIGNED => Value::Signed(word(1) as i64),
        COUNT_TEXT => {
            let mut text: Vec<u8> = (1..VALUE_WORDS).flat_map(|i| word(i).to_ne_bytes()).collect();
            text.truncate(bytes as usize);
            Value::Text { bytes: text, is_cut: bytes as usize > COUNT_TEXT_BYTES }
        }
        _ => Value::None,
    }
}

#[cfg(test)]
mod tests;
