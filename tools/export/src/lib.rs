// SPDX-License-Identifier: MIT
//! Writes what a trace tells in the formats of other viewers: Perfetto, Chrome's trace viewer, the
//! Firefox profiler, speedscope, and folded stacks for flame graphs.
//!
//! ```no_run
//! let traces = [trace::Trace::open("a/trace")?];
//! let mut out = std::fs::File::create("a.perfetto-trace")?;
//! let options = export::Options::default();
//! let done = export::export(&traces, export::Format::Perfetto, &options, &mut out, |_| {})?;
//! println!("{} events", done.events);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Flow: `follow` reads the traces once, with the crate `state` beside it, which knows threads and
//! calls, wake-ups and what ran where; `nesting` makes stacks of the calls, `flows` finds what led
//! to what, `counters` and `arguments` read fields; `sink` is what a format is told. Each
//! format is a module of its own. Those whose files have one thread after the other keep what they
//! are told in a temporary file (`spill`).
//!
//! Memory does not grow with the trace: what is kept of threads, open calls and names has a named
//! bound. Any trace is safe: nothing panics, names are cut and escaped.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod chrome;
mod counters;
mod error;
mod firefox;
mod flows;
mod folded;
mod follow;
mod nesting;
mod perfetto;
mod places;
mod sink;
mod speedscope;
mod spill;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;

use analysis::{Takes, Wanted};
use trace::{Problem, Span, Trace};

pub use error::Error;
pub use flows::FlowRule;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Protobuf packets with track events, for ui.perfetto.dev and trace_processor.
    Perfetto,
    /// JSON trace events, for chrome://tracing and what else reads them.
    Chrome,
    /// JSON of the Firefox profiler's own format.
    Firefox,
    /// JSON of speedscope's own format: one evented profile per thread.
    Speedscope,
    /// A line for each stack of calls, with the nanoseconds that were spent in it.
    Folded,
}

/// What is exported, and how.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Which events, by name; none: all.
    pub wanted: Option<Wanted<'a>>,
    /// Of those that are wanted; none: all.
    pub takes: Option<Takes<'a>>,
    /// The time.
    pub span: Span,
    /// Fields whose values are a counter, each with its event.
    pub counters: Vec<(String, String)>,
    /// Events that are the two ends of a message.
    pub flows: Vec<FlowRule>,
    /// Where a temporary file is made; none: where the system wants it.
    pub folder: Option<PathBuf>,
    /// How much of threads and files is known at once.
    pub limits: state::Limits,
}

/// What was exported.
#[derive(Debug, Default)]
pub struct Done {
    /// Events that are in the export.
    pub events: u64,
    /// Events that the traces say are missing.
    pub lost_events: u64,
    /// Packets that are missing, with an unknown number of events.
    pub lost_packets: u64,
    /// Calls that were open at the end.
    pub open_calls: u64,
    /// Calls that ended for viewers where the call around them did, because their exits came later
    /// or not at all.
    pub cut_calls: u64,
    /// Exits whose entries the traces do not have.
    pub exits_without_entry: u64,
    /// Calls of threads beyond those that are told apart.
    pub without_room: u64,
    /// What the format has no place for.
    pub left_out: u64,
    /// What the reader found damaged.
    pub problems: Vec<Problem>,
    /// Sentences about traces of which other events were read than their recorders wrote.
    pub miscounts: Vec<String>,
    /// What the names of functions in call stacks lack.
    pub notes: Vec<String>,
}

/// Reads traces from beginning to end and writes them in a format. `progress` hears how many bytes
/// have been read.
pub fn export(
    traces: &[Trace],
    format: Format,
    options: &Options<'_>,
    out: &mut dyn Write,
    progress: impl FnMut(u64),
) -> Result<Done, Error> {
    let spill = || spill::Spill::new(options.folder.as_deref());
    let mut sink: Box<dyn sink::Sink + '_> = match format {
        Format::Perfetto => Box::new(perfetto::Perfetto::new(traces, out)),
        Format::Chrome => Box::new(chrome::Chrome::new(traces, out)),
        Format::Firefox => Box::new(firefox::Firefox::new(traces, out, spill()?)),
        Format::Speedscope => Box::new(speedscope::Speedscope::new(traces, out, spill()?)),
        Format::Folded => Box::new(folded::Folded::new(out)),
    };
    follow::follow(traces, options, sink.as_mut(), progress)
}
