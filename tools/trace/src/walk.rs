// SPDX-License-Identifier: MIT
//! Runs decode plans over packet bytes.
//!
//! Place in the flow: the event cursor and the raw walker step over event bodies with it; values
//! needed later go to slots. Bounded on any input: each step is inside the packet or fails, and
//! loops over elements without bits draw on a budget.

use std::cell::Cell;

use crate::bits::{align_up, mask, sign_extend, Bits};
use crate::clock::extend;
use crate::error::Fault;
use crate::metadata::{EventClass, StreamClass};
use crate::plan::{Count, Plan, ReadStep, Step};
use crate::types::{range_contains, Choice, Integer};
use crate::visit::unusual_bits;

/// Values kept for lengths and tags, shared by all decoders of one stream.
pub(crate) type Slots = [Cell<u64>];

pub(crate) fn new_slots(count: u32) -> Box<Slots> {
    (0..count).map(|_| Cell::new(0)).collect()
}

#[inline]
pub(crate) fn slot(slots: &Slots, index: u32) -> u64 {
    slots.get(index as usize).map_or(0, Cell::get)
}

#[inline]
pub(crate) fn store(slots: &Slots, index: u32, value: u64) {
    if let Some(cell) = slots.get(index as usize) {
        cell.set(value);
    }
}

/// The option that a tag value selects.
#[inline]
pub(crate) fn choose(choices: &[Choice], tag: u64, signed: bool) -> Option<usize> {
    let found = choices.iter().find(|c| range_contains(c.begin, c.until, tag, signed));
    found.map(|c| c.option as usize)
}

/// Iterations without progress that one packet may cost beyond one for each of its bits.
const FREE_ITERATIONS: u64 = 1 << 16;

/// The budget for all events of a packet.
pub(crate) fn packet_budget(limit_bits: u64) -> u64 {
    limit_bits.saturating_add(FREE_ITERATIONS)
}

pub(crate) struct Walk<'a> {
    pub bits: Bits<'a>,
    pub position: u64,
    pub slots: &'a Slots,
    pub cycles: u64,
    pub budget: u64,
}

impl Walk<'_> {
    #[inline]
    pub fn run(&mut self, plan: &Plan) -> Result<(), Fault> {
        self.steps(&plan.steps)
    }

    /// Runs over a whole event body, its stream's context first.
    #[inline]
    pub fn run_body(&mut self, stream: &StreamClass, event: &EventClass) -> Result<(), Fault> {
        self.run(&stream.event_context_plan)?;
        self.run(&event.body_plan)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.position > self.bits.limit_bits() {
            return Err(Fault::Truncated);
        }
        Ok(())
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Fault> {
        let mut next = 0;
        while let Some(step) = steps.get(next) {
            next += 1;
            match step {
                Step::Advance(bits) => {
                    self.position = self.position.saturating_add(*bits);
                    self.check()?;
                }
                Step::Align(align_bits) => self.position = align_up(self.position, *align_bits),
                Step::Read(read) => self.read(read)?,
                Step::ReadUnusual(integer) => self.read_unusual(integer)?,
                Step::Text(encoding) => {
                    let text = self.bits.string(self.position, *encoding)?;
                    self.position += (text.len() + encoding.unit_bytes()) as u64 * 8;
                }
                Step::Run { slot, stride_bits, last_bits } => {
                    self.run_of(*slot, *stride_bits, *last_bits)?;
                }
                Step::Repeat { count, least_bits, steps: body } => {
                    let until = next + *body as usize;
                    self.repeat(*count, *least_bits, steps.get(next..until).unwrap_or(&[]))?;
                    next = until;
                }
                Step::Select { slot: tag, signed, is_optional, choices, bodies, steps: all } => {
                    let tag = slot(self.slots, *tag);
                    let option = choose(choices, tag, *signed).and_then(|o| bodies.get(o));
                    if let Some((begin, until)) = option {
                        let body = steps.get(next + *begin as usize..next + *until as usize);
                        self.steps(body.unwrap_or(&[]))?;
                    } else if !is_optional {
                        return Err(Fault::UnknownTag(tag as i64));
                    }
                    next += *all as usize;
                }
            }
        }
        self.check()
    }

    #[inline]
    fn read(&mut self, step: &ReadStep) -> Result<(), Fault> {
        let value = self.bits.read(self.position, step.size_bits, step.order)?;
        self.position += u64::from(step.size_bits);
        if let Some(slot) = step.slot {
            let signed = sign_extend(value, step.size_bits) as u64;
            store(self.slots, slot, if step.signed { signed } else { value });
        }
        if step.moves_clock {
            self.cycles = extend(self.cycles, value, mask(step.size_bits));
        }
        Ok(())
    }

    #[cold]
    fn read_unusual(&mut self, integer: &Integer) -> Result<(), Fault> {
        let (value, size_bits) = unusual_bits(&self.bits, self.position, integer)?;
        self.position += u64::from(size_bits);
        if let Some(slot) = integer.slot {
            store(self.slots, slot, value);
        }
        if integer.clock.is_some() {
            self.cycles = extend(self.cycles, value, mask(size_bits));
        }
        Ok(())
    }

    fn run_of(&mut self, count: u32, stride_bits: u64, last_bits: u64) -> Result<(), Fault> {
        let count = slot(self.slots, count);
        let Some(before_last) = count.checked_sub(1) else { return Ok(()) };
        let left = self.bits.limit_bits().saturating_sub(self.position);
        let size = before_last.checked_mul(stride_bits).and_then(|n| n.checked_add(last_bits));
        match size {
            Some(0) => self.spend(count),
            Some(size) if size <= left => {
                self.position += size;
                Ok(())
            }
            _ => Err(Fault::SequenceTooLong(count)),
        }
    }

    fn spend(&mut self, iterations: u64) -> Result<(), Fault> {
        let left = self.budget.checked_sub(iterations);
        self.budget = left.ok_or(Fault::SequenceTooLong(iterations))?;
        Ok(())
    }

    fn repeat(&mut self, count: Count, least_bits: u64, body: &[Step]) -> Result<(), Fault> {
        let count = match count {
            Count::Fixed(count) => count,
            Count::Slot(index) => slot(self.slots, index),
        };
        let left = self.bits.limit_bits().saturating_sub(self.position);
        if count.checked_mul(least_bits).is_none_or(|size| size > left) {
            return Err(Fault::SequenceTooLong(count));
        }
        for _ in 0..count {
            let before = self.position;
            self.steps(body)?;
            if self.position == before {
                self.spend(1)?;
            }
        }
        Ok(())
    }
}
