// SPDX-License-Identifier: MIT
//! What wakes a thread up: another one, or an interrupt.
//!
//! Place in the flow: an event that tells of a wake-up happens on the processor that wakes; what
//! that is in at the moment of the event is what did it.

use trace::Event;

use crate::classes::PairIndex;
use crate::interrupts::{Interrupt, InterruptKind};
use crate::moment::State;
use crate::operation::Operation;
use crate::texts::TextIndex;
use crate::threads::{ThreadIndex, ThreadKey};

/// Soft interrupts by number, as Linux's interface has them.
const TIMERS: [i64; 2] = [1, 8];
const NETWORK: [i64; 2] = [2, 3];
const BLOCK: i64 = 4;

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    /// A thread.
    Thread(ThreadIndex),
    /// An interrupt.
    Interrupt {
        /// What it is of.
        source: Source,
        /// What kind of interrupt.
        kind: InterruptKind,
        /// Its source's number.
        number: i64,
        /// Its handler's name.
        name: TextIndex,
        /// The events that begin and end it.
        pair: PairIndex,
    },
    /// A CPU that had nothing to run, in an interrupt of which no event tells.
    Idle,
}

/// What an interrupt is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A device.
    Device,
    /// The network.
    Network,
    /// Time that has passed.
    Timer,
    /// Something else.
    Other,
}

impl State {
    /// What wakes a thread up, at the event that tells it; `thread` is the event's own.
    pub fn waker(&self, event: &Event<'_>, thread: ThreadIndex) -> Option<Waker> {
        let host = self.host(event.trace_index());
        let interrupts = event.cpu().map_or(&[][..], |cpu| self.interrupts(host, cpu));
        if let Some(interrupt) = interrupts.last() {
            // What a thread sends to its own machine arrives in an interrupt that it raised itself.
            let is_delivery =
                interrupt.kind == InterruptKind::Soft && NETWORK.contains(&interrupt.number);
            if !(is_delivery && self.sends(thread)) {
                let Interrupt { kind, number, name, pair, .. } = *interrupt;
                let source = self.source(interrupt);
                return Some(Waker::Interrupt { source, kind, number, name, pair });
            }
        }
        match self.threads().threads().get(thread.0 as usize)?.key? {
            ThreadKey::Idle { .. } => Some(Waker::Idle),
            ThreadKey::Unnamed { .. } => None,
            _ => Some(Waker::Thread(thread)),
        }
    }

    /// Whether a thread is in a call that sends.
    fn sends(&self, thread: ThreadIndex) -> bool {
        let operation = |pair: PairIndex| self.classes().pair(pair).map(|pair| pair.operation);
        self.calls().of(thread).any(|call| {
            let operation = operation(call.pair);
            matches!(operation, Some(Operation::Write | Operation::Copy | Operation::Connect))
        })
    }

    fn source(&self, interrupt: &Interrupt) -> Source {
        let pair = self.classes().pair(interrupt.pair).map_or("", |pair| pair.name.as_str());
        match interrupt.kind {
            InterruptKind::Device => Source::Device,
            InterruptKind::Soft if TIMERS.contains(&interrupt.number) => Source::Timer,
            InterruptKind::Soft if NETWORK.contains(&interrupt.number) => Source::Network,
            InterruptKind::Soft if interrupt.number == BLOCK => Source::Device,
            InterruptKind::Vector if pair.contains("timer") => Source::Timer,
            InterruptKind::Soft | InterruptKind::Vector => Source::Other,
        }
    }
}
