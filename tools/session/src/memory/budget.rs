// SPDX-License-Identifier: MIT
//! The words of a session with a budget: how often each event occurred, how far it is throttled.
//!
//! Place in the flow: processes count (`user/sampling.h`), the consumer reads and throttles.

use super::Memory;
use crate::layout::{budget_bytes, budget_rows};
use std::sync::atomic::{AtomicU32, Ordering};

impl Memory {
    /// Whether its events are counted and throttled.
    pub fn has_budget(&self) -> bool {
        self.fixed.budget_offset_bytes != 0
    }

    /// A word of the budget's; None where there is none.
    fn budget_word(&self, index: u32) -> Option<&AtomicU32> {
        let bytes = index.checked_mul(size_of::<u32>() as u32)?;
        if !self.has_budget() || bytes >= budget_bytes(self.fixed.cpu_count) {
            return None;
        }
        let place = self.fixed.budget_offset_bytes as usize + bytes as usize;
        // SAFETY: layout() placed so many bytes there, inside the segment, aligned.
        Some(unsafe { &*self.backing.as_ptr().add(place).cast::<AtomicU32>() })
    }

    /// By how much an event is throttled. Any process that shares the memory can have changed it.
    pub fn throttle(&self, id: u32) -> u32 {
        let word = self.budget_word(id).filter(|_| id < self.fixed.event_capacity);
        word.map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Of an event's occurrences, one in 2^throttle is recorded; above `THROTTLE_MAX`, none.
    pub fn set_throttle(&self, id: u32, throttle: u32) {
        if let Some(word) = self.budget_word(id).filter(|_| id < self.fixed.event_capacity) {
            word.store(throttle, Ordering::Relaxed);
        }
    }

    /// How often processes say that an event occurred, by row of counts, modulo 2^32.
    pub fn occurrences(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let rows = if id < self.fixed.event_capacity { self.count_rows() } else { 0 };
        let word = move |row| self.budget_word((1 + row) * self.fixed.event_capacity + id);
        (0..rows).filter_map(word).map(|word| word.load(Ordering::Relaxed))
    }

    /// Rows of counts.
    pub fn count_rows(&self) -> u32 {
        match self.has_budget() {
            true => budget_rows(self.fixed.cpu_count),
            false => 0,
        }
    }
}
