// SPDX-License-Identifier: MIT
//! Which interrupts each processor is in.
//!
//! Place in the flow: `moment` enters and leaves by the processor of the event, because an
//! interrupt is its processor's and not that of the thread that it interrupts. An interrupt may
//! come in another one; after a loss of the processor's events it is not known in which it is.

use rustc_hash::FxHashMap;
use trace::{CpuId, Ns};

use crate::changes::{Change, Notes};
use crate::classes::PairIndex;
use crate::texts::TextIndex;

/// Interrupts in one another; a processor has room on its stacks for far fewer.
const MOST_NESTED: usize = 64;

/// What interrupts a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptKind {
    /// A device, by the number of its line.
    Device,
    /// Work that was put off, by the number of its kind.
    Soft,
    /// Another processor or the processor's own timer, by the number of the vector.
    Vector,
}

/// An interrupt that a processor is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// The events that began it and will end it.
    pub pair: PairIndex,
    /// What interrupts.
    pub kind: InterruptKind,
    /// Its number.
    pub number: i64,
    /// The name of its handler, if the entry tells it.
    pub name: TextIndex,
    /// When it began.
    pub begin: Ns,
}

/// The interrupts of all processors.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    stacks: FxHashMap<(u32, CpuId), Vec<Interrupt>>,
    pub notes: Notes<Change>,
}

impl Interrupts {
    pub fn of(&self, host: u32, cpu: CpuId) -> &[Interrupt] {
        self.stacks.get(&(host, cpu)).map_or(&[], Vec::as_slice)
    }

    pub fn all(&self) -> impl Iterator<Item = (u32, CpuId, &[Interrupt])> {
        self.stacks.iter().map(|((host, cpu), stack)| (*host, *cpu, stack.as_slice()))
    }

    pub fn enter(&mut self, host: u32, cpu: CpuId, interrupt: Interrupt) {
        let stack = self.stacks.entry((host, cpu)).or_default();
        if stack.len() < MOST_NESTED {
            stack.push(interrupt);
            self.notes.add(Change::Interrupts(host, cpu.0));
        }
    }

    /// Those that came in the one that ends are over, too: their exits are missing.
    pub fn leave(&mut self, host: u32, cpu: CpuId, pair: PairIndex) {
        let Some(stack) = self.stacks.get_mut(&(host, cpu)) else { return };
        if let Some(position) = stack.iter().rposition(|interrupt| interrupt.pair == pair) {
            stack.truncate(position);
            self.notes.add(Change::Interrupts(host, cpu.0));
        }
    }

    /// Events were lost: on one processor, or nobody knows on which.
    pub fn loss(&mut self, host: u32, cpu: Option<CpuId>) {
        match cpu {
            Some(cpu) => self.forget((host, cpu)),
            None => {
                let of_host = self.stacks.keys().filter(|(of, _)| *of == host);
                for key in of_host.copied().collect::<Vec<_>>() {
                    self.forget(key);
                }
            }
        }
    }

    fn forget(&mut self, (host, cpu): (u32, CpuId)) {
        if self.stacks.remove(&(host, cpu)).is_some() {
            self.notes.add(Change::Interrupts(host, cpu.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(2);

    fn interrupt(pair: u32, begin: i64) -> Interrupt {
        Interrupt {
            pair: PairIndex(pair),
            kind: InterruptKind::Device,
            number: 9,
            name: TextIndex::NONE,
            begin: Ns(begin),
        }
    }

    #[test]
    fn interrupts_nest_and_one_that_ends_takes_those_inside_with_it() {
        let mut interrupts = Interrupts::default();
        for (pair, begin) in [(1, 1), (2, 2), (3, 3)] {
            interrupts.enter(0, CPU, interrupt(pair, begin));
        }
        interrupts.leave(0, CPU, PairIndex(2));
        assert_eq!(interrupts.of(0, CPU), [interrupt(1, 1)]);
        interrupts.leave(0, CPU, PairIndex(7));
        interrupts.leave(1, CPU, PairIndex(1));
        assert_eq!(interrupts.of(0, CPU).len(), 1);
    }

    #[test]
    fn after_a_loss_it_is_not_known_in_which_a_processor_is_and_depth_has_a_bound() {
        let mut interrupts = Interrupts::default();
        for begin in 0..2 * MOST_NESTED as i64 {
            interrupts.enter(0, CPU, interrupt(1, begin));
            interrupts.enter(0, CpuId(3), interrupt(1, begin));
        }
        assert_eq!(interrupts.of(0, CPU).len(), MOST_NESTED);
        interrupts.loss(0, Some(CPU));
        assert_eq!((interrupts.of(0, CPU).len(), interrupts.all().count()), (0, 1));
        interrupts.loss(0, None);
        assert_eq!(interrupts.all().count(), 0);
    }
}
