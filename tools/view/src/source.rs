// SPDX-License-Identifier: MIT
//! Where events come from.
//!
//! Place in the flow: the command implements [`Events`] with the selection and the JSON that `lull
//! print` has, so that a filter means the same in the page as on the command line.

use trace::{Ns, Span};

use crate::ask::Filter;

/// An event that a filter lets through.
pub struct Row<'a> {
    /// When it was.
    pub time: Ns,
    /// Its name.
    pub name: &'a str,
    /// The number of its trace among those that are viewed.
    pub trace: usize,
    /// The CPU that it happened on, where that is known.
    pub cpu: Option<u32>,
    /// Its process, where that is known.
    pub pid: Option<i64>,
    /// Its thread, where that is known.
    pub tid: Option<i64>,
    /// The event as `lull print --json` has it.
    pub json: &'a dyn Fn() -> Vec<u8>,
}

/// How far a visit came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visited {
    /// How many events were read, those that the filter left out included.
    pub scanned: u64,
    /// Where it stopped before the end of the span: the time of the last event that was read.
    pub stopped: Option<Ns>,
}

/// The events of the traces that are viewed.
pub trait Events: Send + Sync {
    /// Gives the events of a span that a filter lets through, in the order of time. Ends when
    /// `each` answers that it wants no more, or when `budget` events were read and time has gone
    /// on since the beginning of the span.
    ///
    /// # Errors
    ///
    /// What is wrong with the filter, for the person who wrote it.
    fn visit(
        &self,
        filter: &Filter,
        span: &Span,
        budget: u64,
        each: &mut dyn FnMut(&Row<'_>) -> bool,
    ) -> Result<Visited, String>;

    /// What the names of functions lack that were told so far, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
