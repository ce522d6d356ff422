// SPDX-License-Identifier: MIT
//! Durations with their places: how they are distributed, and when and where the longest were.
//!
//! Place in the flow: analyses record what lasted; rows for tables come out.

use state::ThreadIndex;
use trace::{CpuId, Ns};

use crate::distribution::Distribution;

/// The longest that are kept with their places.
const LONGEST: usize = 10;

/// Something that lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spell {
    pub begin: Ns,
    pub ns: u64,
    pub thread: ThreadIndex,
    pub cpu: Option<CpuId>,
}

/// Many of them.
#[derive(Debug, Default)]
pub(crate) struct Spells {
    pub durations: Distribution<3>,
    longest: Vec<Spell>,
}

impl Spells {
    #[inline]
    pub fn record(&mut self, spell: Spell) {
        self.durations.record(spell.ns);
        let is_among = |least: &Spell| spell.ns > least.ns;
        if self.longest.len() < LONGEST || self.longest.last().is_some_and(is_among) {
            let at = self.longest.partition_point(|longer| longer.ns >= spell.ns);
            self.longest.insert(at, spell);
            self.longest.truncate(LONGEST);
        }
    }

    /// The longest, first the longest of all; of equal ones, the earliest.
    pub fn longest(&self) -> &[Spell] {
        &self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_in_order_and_the_first_of_equals_stays() {
        let mut spells = Spells::default();
        for at in 0..100u64 {
            let ns = (at * 37) % 50;
            let (begin, thread) = (Ns(at as i64), ThreadIndex(0));
            spells.record(Spell { begin, ns, thread, cpu: None });
        }
        let kept: Vec<u64> = spells.longest().iter().map(|spell| spell.ns).collect();
        assert_eq!(kept, [49, 49, 48, 48, 47, 47, 46, 46, 45, 45]);
        assert!(spells.longest()[0].begin < spells.longest()[1].begin);
        assert_eq!(spells.durations.count(), 100);
    }
}
