// SPDX-License-Identifier: MIT
//! The state of processes and threads at each moment of a trace: their names, the calls that they
//! are in, the file that each descriptor and each range of memory stands for, which of them have
//! ended and how.
//!
//! ```no_run
//! use trace::{Merge, Message};
//!
//! let traces = [trace::Trace::open("a/trace")?];
//! let mut merge = Merge::over(&traces);
//! let limits = state::Limits::default();
//! let mut state = state::State::new(&traces, merge.stream_count(), &limits);
//! while let Some(message) = merge.next() {
//!     let Message::Event(event) = message else { continue };
//!     if let Some(step) = state.event(&event) {
//!         println!("{}", state.threads().label(step.thread));
//!     }
//! }
//! # Ok::<(), trace::Error>(())
//! ```
//!
//! Flow: `classes` decides from the metadata what each event class means, with the meanings in
//! `operation` and the fields in `operands`; for each event, `streams`, `running` and `threads`
//! find its thread, `calls` joins exits with their entries, and what a finished call changes goes
//! to `threads`, `maps` and `descriptors` (`usage` knows which call does what). `running` and
//! `places` follow the scheduler, `interrupts` those of each processor; `changes` notes what an
//! event touched. [`State`] drives them, one event after the other, in the order of time. [`Flows`]
//! pairs what let a thread go on with where it did, `schedule` reads the scheduler's events whole.
//!
//! Everything is numbered: threads, processes, names, pairs and texts each have an index type of
//! their own. Numbers stay valid as long as the state, whatever happens after.
//!
//! Any trace is safe. Memory is bounded by [`Limits`] and by the metadata, whatever the events say:
//! things that find no space share the first number, which stands for all others. The work for an
//! event is bounded by what is remembered of its process. Nothing panics.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod calls;
mod changes;
mod classes;
mod descriptors;
mod dump;
mod errors;
mod flows;
mod followed;
mod interrupts;
mod left_out;
mod lives;
mod locks;
mod mapped;
mod maps;
mod moment;
mod names;
mod operands;
mod operation;
mod places;
mod running;
mod schedule;
mod streams;
mod tasks;
mod texts;
mod threads;
mod usage;
mod wakers;

pub use calls::{About, Calls, OpenCall, Unmatched};
pub use changes::Change;
pub use classes::{event_name, pair_ends, ClassName, Classes, NameIndex, Pair, PairIndex};
pub use descriptors::{Descriptors, File};
pub use errors::error_name;
pub use flows::{Flows, LockFlow};
pub use interrupts::{Interrupt, InterruptKind};
pub use left_out::recorded_verdict;
pub use locks::{Ending, Held, Holding, Lock, Locks, WaitedFor};
pub use mapped::{FileKey, Mapped, Within};
pub use maps::{Map, Maps, Object};
pub use moment::{Done, Limits, Part, Read, State, Step};
pub use names::ShortName;
pub use operation::{system_call, LockKind, Operation, Values};
pub use places::{Move, OffKind, Place, Stay};
pub use schedule::{Schedule, Scheduled, Task, Wake};
pub use streams::ThreadContext;
pub use tasks::Dump;
pub use texts::{TextIndex, Texts, OTHERS_TEXT};
pub use threads::{Exit, Process, ProcessIndex, Thread, ThreadIndex, ThreadKey, Threads};
pub use usage::{Moved, Uses};
pub use wakers::{Source, Waker};
