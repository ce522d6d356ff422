// SPDX-License-Identifier: MIT
//! What a format is told of a trace, in the order of time.
//!
//! Place in the flow: `follow` reads the traces and calls; each format implements [`Sink`].

use std::io;

use state::{NameIndex, PairIndex, Scheduled, State, ThreadIndex};
use trace::{CpuId, LossKind, Ns};

use crate::arguments::{cut, Argument, Value, NAME_BYTES};
use crate::flows::Flows;
use crate::nesting::Open;

/// An event, and everything known at its moment.
pub(crate) struct Moment<'a> {
    pub at: Ns,
    pub thread: ThreadIndex,
    pub cpu: Option<CpuId>,
    pub state: &'a State,
    pub arguments: &'a [Argument],
    pub flows: Flows,
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its exit.
    Seen,
    /// Its exit was not seen; it ends here at the latest for viewers, because the call around it
    /// does, or the thread.
    NotSeen,
    /// It was open when the trace ended.
    Open,
}

/// A call that is known when it ends, and has no place on the stack.
pub(crate) struct Late {
    pub pair: PairIndex,
    pub begin: Ns,
    /// From where it has not been written yet.
    pub from: Ns,
}

/// A counter, by its number.
pub(crate) struct Counter<'a> {
    pub number: usize,
    pub name: &'a str,
    pub value: &'a Value,
}

/// A thread that was on a processor.
pub(crate) struct Ran {
    pub host: u32,
    pub cpu: u32,
    /// `name[tid]`.
    pub label: String,
    pub begin: Ns,
    pub until: Ns,
    /// Whether it was seen to leave.
    pub is_whole: bool,
}

/// Events that are missing.
pub(crate) struct Lost {
    pub host: u32,
    pub cpu: Option<u32>,
    pub kind: LossKind,
    pub count: u64,
    pub causes: Vec<(String, u64)>,
    /// Where the loss begins, at the latest known event before.
    pub begin: Option<Ns>,
    pub until: Ns,
}

impl Lost {
    pub fn text(&self) -> String {
        let what = match self.kind {
            LossKind::Events => "events",
            LossKind::Packets => "packets",
        };
        format!("{} {what} lost", self.count)
    }
}

/// Writes one format.
pub(crate) trait Sink {
    /// A call begins.
    fn begin(&mut self, moment: &Moment<'_>, pair: PairIndex) -> io::Result<()>;
    /// The innermost call of the thread ends.
    fn end(&mut self, moment: &Moment<'_>, open: &Open, end: End) -> io::Result<()>;
    /// A call ends that [`Sink::begin`] did not tell of, or that was cut.
    fn late(&mut self, moment: &Moment<'_>, late: &Late) -> io::Result<()>;
    /// What lets a thread go on leads here: the call that ends now waited for it.
    fn goes_on(&mut self, _moment: &Moment<'_>) -> io::Result<()> {
        Ok(())
    }
    /// An event without a duration.
    fn instant(&mut self, moment: &Moment<'_>, name: NameIndex) -> io::Result<()>;
    /// A counter has a new value.
    fn counter(&mut self, moment: &Moment<'_>, counter: &Counter<'_>) -> io::Result<()>;
    /// The scheduler says something.
    fn scheduled(&mut self, _moment: &Moment<'_>, _told: &Scheduled<'_>) -> io::Result<()> {
        Ok(())
    }
    /// A thread leaves a processor.
    fn ran(&mut self, _state: &State, _ran: &Ran) -> io::Result<()> {
        Ok(())
    }
    /// Events are missing.
    fn lost(&mut self, state: &State, lost: &Lost) -> io::Result<()>;
    /// The traces end. The open calls have been ended with [`End::Open`].
    fn finish(&mut self, state: &State, last: Ns) -> io::Result<()>;
    /// Calls that the format has no place for.
    fn left_out(&self) -> u64 {
        0
    }
}

/// The name of the place where a waiting call was let go on.
pub(crate) const GOES_ON: &str = "goes on";

/// The name of an event.
pub(crate) fn event_text(state: &State, name: NameIndex) -> String {
    let name = state.classes().names().get(name.0 as usize);
    name.map_or_else(String::new, |name| cut(&name.text, NAME_BYTES))
}

/// The name of a call.
pub(crate) fn call_text(state: &State, pair: PairIndex) -> String {
    state.classes().pair(pair).map_or_else(String::new, |pair| cut(&pair.name, NAME_BYTES))
}

/// The group of an event: what stands before the first colon of its name.
pub(crate) fn category(name: &str) -> &str {
    name.split_once(':').map_or("", |(group, _)| group)
}
