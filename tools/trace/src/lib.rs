// SPDX-License-Identifier: MIT
//! A reader of CTF traces, versions 1.8 and 2.
//!
//! ```no_run
//! use trace::{Message, Trace};
//!
//! let trace = Trace::open("a/trace")?;
//! let mut merge = trace.merge();
//! while let Some(message) = merge.next() {
//!     match message {
//!         Message::Event(event) => println!("{} {}", event.time_ns(), event.name()),
//!         Message::Loss(lost) => println!("{} lost", lost.loss.count),
//!     }
//! }
//! for problem in merge.problems() {
//!     eprintln!("{problem}");
//! }
//! # Ok::<(), trace::Error>(())
//! ```
//!
//! Flow: `folders` finds, `trace` opens, `mapping` holds the files; `tsdl` (CTF 1.8) and `ctf2`
//! turn the metadata into types (`types`) and decode plans (`plan`); `cursor` and `stream_file`
//! step through a stream with `header`, `walk` and `packet`; `lineage` finds the files of one
//! stream, `merge` orders the streams; `event` and `visit` give field values; `walker` does the
//! same for bytes in memory.
//!
//! Any input is safe: a wrong byte makes a [`Problem`], never a panic, an endless loop or an
//! allocation beyond a fixed multiple of the metadata. docs/design/79-reader.md has the reasons.

#![cfg_attr(not(test), forbid(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ahead;
mod bits;
mod clock;
mod ctf2;
mod cursor;
mod error;
mod event;
mod finished;
mod folders;
mod header;
mod index;
mod index_file;
mod leading;
mod lineage;
mod loss;
mod mapping;
mod measure;
mod merge;
mod metadata;
mod packet;
mod packets;
mod plan;
mod slices;
mod source;
mod span;
mod stream_file;
mod symbols;
mod threads;
mod tournament;
mod trace;
mod tsdl;
mod types;
mod units;
mod visit;
mod walk;
mod walker;

pub use clock::{extend, Clock};
pub use error::{Error, Fault, MetadataError, Problem, ProblemKind};
pub use event::{Event, Value};
pub use finished::{stream_files_text, STREAM_FILES};
pub use folders::find_traces;
pub use index_file::{check_own, own_index_folder};
pub use lineage::{Beginning, Repeated};
pub use loss::{Loss, LossKind};
pub use merge::{LossMessage, Merge, Message};
pub use metadata::{EnvironmentValue, EventClass, Metadata, StreamClass};
pub use packet::Packet;
pub use packets::PacketTimes;
pub use slices::{in_slices, processors};
pub use span::Span;
pub use symbols::{symbols_text, Place, Symbol, Symbols, SymbolsError, FILE as SYMBOLS_FILE};
pub use threads::{RecordedThread, RecordedThreads, ThreadFields, BOOKKEEPING, THREAD_EVENT};
pub use trace::{StreamFile, Trace};
pub use types::{
    Array, Base, ByteOrder, Choice, Encoding, Enumeration, Field, Float, Form, Integer, Mapping,
    Meaning, Reference, Scope, Sequence, Struct, Target, Type, Variant,
};
pub use units::{CpuId, Cycles, EventId, Ns, StreamId};
pub use visit::{Group, Name, Visitor};
pub use walker::{Slot, Walker};
