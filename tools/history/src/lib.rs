// SPDX-License-Identifier: MIT
//! The state of everything in a trace at every moment, as intervals: threads, CPUs, processes,
//! descriptors, locks, interrupts.
//!
//! ```no_run
//! use history::{History, Kind, Subject, Value};
//! use trace::{Ns, Span, Trace};
//!
//! let traces = [Trace::open("a/trace")?];
//! let history = History::open_or_build(&traces, |bytes_read| eprintln!("{bytes_read}"))?;
//! for known in history.at(Ns(1_700_000_000_000_000_000))?.all() {
//!     let (subject, value) = (known.track.subject, known.value);
//!     println!("{}: {}", history.names().subject(subject), history.names().value(&value));
//! }
//! for thread in history.subjects().filter(|s| matches!(s, Subject::Thread(_))) {
//!     for (track, intervals) in history.intervals(thread, &Span::ALL)? {
//!         let ran = intervals.iter().filter(|i| matches!(i.value, Value::Running(_)));
//!         println!("{:?}: ran {} times", track.kind, ran.count());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Flow: `builder` steps the `state` crate from event to event; `facts` says what the state tells
//! of each track, and what is no more so becomes an interval; `segment` and `tail` write them by
//! `coding` to `storage`, which `folder` finds a place for. `history` answers. The page
//! docs/design/80-history.md has the reasons, docs/formats/history.md the bytes.
//!
//! An interval says what events told. Where none did, or where events were lost since, nothing is
//! said: [`History::intervals`] has such time as [`Value::Unknown`] in tracks that always have a
//! state ([`Kind::is_always`]).
//!
//! Any trace is safe, and any index: memory is bounded ([`Bounds`]), and bytes that make no sense
//! are an error.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod builder;
mod cache;
mod coding;
mod edges;
mod error;
mod facts;
mod far;
mod flows;
mod folder;
mod gaps;
mod history;
mod names;
mod overview;
mod segment;
mod storage;
mod tail;
mod track;
mod value;

pub use builder::Bounds;
pub use error::Error;
pub use facts::now;
pub use far::Far;
pub use folder::Kept;
pub use history::{History, Known, Lost, Moment};
pub use names::{interrupt_name, off_name, LockPlace, Names, ProcessName, ThreadName};
pub use overview::Drawn;
pub use track::{Kind, Subject, Track};
pub use value::{Call, Cause, Interval, Value};

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod oracle;
