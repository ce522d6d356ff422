// SPDX-License-Identifier: MIT
//! What the latest events changed, for a reader that asked to hear of it.
//!
//! Place in the flow: the parts of the state note here which of their things they touched, and
//! [`crate::State::changes`] hands that out. A note says where to look and not what is there: a
//! thing may be noted twice, and may be what it was before.

use crate::locks::Lock;
use crate::threads::{ProcessIndex, ThreadIndex};

/// A thing whose state may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Where a thread is.
    Place(ThreadIndex),
    /// Which calls a thread is in.
    Calls(ThreadIndex),
    /// A thread's name, or whether it lives.
    Thread(ThreadIndex),
    /// Which thread a machine's processor runs.
    Processor(u32, u32),
    /// Which interrupts a machine's processor is in.
    Interrupts(u32, u32),
    /// A process's program, its parent, or whether it lives.
    Process(ProcessIndex),
    /// One descriptor of a process.
    Descriptor(ProcessIndex, i32),
    /// Any descriptors of a process.
    Descriptors(ProcessIndex),
    /// Who holds a lock, or let it go.
    Lock(Lock),
}

/// Notes, where somebody wants them.
#[derive(Debug)]
pub(crate) struct Notes<T> {
    is_wanted: bool,
    noted: Vec<T>,
}

impl<T> Default for Notes<T> {
    fn default() -> Self {
        Self { is_wanted: false, noted: Vec::new() }
    }
}

impl<T> Notes<T> {
    pub fn want(&mut self) {
        self.is_wanted = true;
    }

    #[inline]
    pub fn add(&mut self, change: T) {
        if self.is_wanted {
            self.noted.push(change);
        }
    }

    pub fn drain(&mut self) -> std::vec::Drain<'_, T> {
        self.noted.drain(..)
    }
}
