// SPDX-License-Identifier: MIT
//! Where events come from.
//!
//! Place in the flow: the command implements [`Events`] with the selection and the JSON that `lull
//! print` has, so that a filter means the same in the page as on the command line.

use trace::{Event, Ns, Span};

use crate::ask::Filter;

/// An event that a filter lets through.
pub struct Row<'a> {
    /// When it was.
    pub time: Ns,
    /// The latest time of all events of the visit up to this one, those that the filter left out
    /// included. Where no clock goes backwards, it is `time`.
    pub reached: Ns,
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

/// Which events of a merge over a span are in a visit, and how far it has come.
pub struct Reach {
    latest: Option<Ns>,
    /// Streams of which an event was in the span.
    has_begun: Vec<bool>,
}

impl Reach {
    /// Of a merge of so many streams.
    #[must_use]
    pub fn new(stream_count: usize) -> Self {
        Self { latest: None, has_begun: vec![false; stream_count] }
    }

    /// [`Row::reached`] at the next event of the merge; `None` where it is not in the visit.
    pub fn by(&mut self, event: &Event<'_>) -> Option<Ns> {
        let has_begun = self.has_begun.get_mut(event.stream_index())?;
        if event.is_before_span() && !*has_begun {
            return None;
        }
        *has_begun = true;
        self.latest = self.latest.max(Some(event.time_ns()));
        self.latest
    }
}

/// How far a visit came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visited {
    /// How many events were read, those that the filter left out included.
    pub scanned: u64,
    /// Where it stopped before the end of the span: the latest time of the events that were read.
    pub stopped: Option<Ns>,
}

/// The events of the traces that are viewed.
pub trait Events: Send + Sync {
    /// Gives the events of a span that a filter lets through, in the order of time. Of a stream
    /// whose clock goes backwards, all are given that follow the first one in the span, so that a
    /// visit from any [`Row::reached`] on gives what one from an earlier time on does. Ends when
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
