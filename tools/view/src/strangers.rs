// SPDX-License-Identifier: MIT
//! Connections that have shown nothing yet by which they may ask.
//!
//! Place in the flow: `connections` has so many places, and any user of the machine can take them.
//! Where none is left, the stranger that came first gives up its place to who comes now: a page
//! asks at once, and is no stranger any more when it does.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// Those that are there, by their numbers, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    list: Mutex<VecDeque<(u64, AbortHandle)>>,
    next: AtomicU64,
}

/// A connection, as long as it is there.
pub(crate) struct Guest {
    number: u64,
    strangers: Arc<Strangers>,
}

impl Guest {
    pub fn new(strangers: &Arc<Strangers>) -> Self {
        let number = strangers.next.fetch_add(1, Ordering::Relaxed);
        Self { number, strangers: strangers.clone() }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// It has shown that it may ask.
    pub fn is_known(&self) {
        self.strangers.list().retain(|(other, _)| *other != self.number);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.is_known();
    }
}

impl Strangers {
    fn list(&self) -> MutexGuard<'_, VecDeque<(u64, AbortHandle)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn came(&self, number: u64, connection: AbortHandle) {
        self.list().push_back((number, connection));
    }

    /// Ends the one that came first.
    pub fn end_first(&self) {
        if let Some((_, connection)) = self.list().pop_front() {
            connection.abort();
        }
    }
}
