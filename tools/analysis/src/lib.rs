// SPDX-License-Identifier: MIT
//! What a trace tells: rates, latencies, waits, files, losses, in one bounded pass.
//!
//! ```no_run
//! let traces = [trace::Trace::open("a/trace")?];
//! let report = analysis::analyse(&traces, &analysis::Options::default(), |_bytes_read| {});
//! println!("{} events, complete: {}", report.events, report.complete);
//! # Ok::<(), trace::Error>(())
//! ```
//!
//! Flow: the crate `state` finds an event's thread and the call that it finishes; `filter` says
//! whether it is counted; `counts`, `rate`, `writers`, `latency`, `locks`, `files`, `scheduling`
//! and `losses` each keep one part of the answer; `analyses` passes the events around and gathers
//! the [`Report`].
//!
//! A named analysis ([`NAMED`]) is asked with [`ask`] and answers with a [`Sheet`] of its own.
//!
//! A trace that is still being written is read part by part by [`live::Live`].
//!
//! Memory is bounded by [`Limits`], whatever the trace: tables are `rows` that end in a row for
//! all others. Any trace is safe: nothing panics.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analyses;
mod by_class;
mod by_time;
mod compare;
mod counts;
mod distribution;
mod error;
mod files;
mod filter;
mod latency;
pub mod live;
mod locks;
mod losses;
mod names;
mod pending;
mod places;
mod rate;
mod report;
mod rows;
mod scheduling;
mod sheet;
mod spells;
mod stacks;
mod studies;
mod writers;

pub use analyses::{analyse, not_measured, Analyses, By, Limits, Options, Takes, Wanted, Whose};
pub use compare::compare;
pub use distribution::{Distribution, DistributionReport};
pub use error::Error;
pub use files::FileRow;
pub use latency::LatencyRow;
pub use locks::{LockRow, WaiterRow};
pub use losses::{
    judged, late_beginnings, miscounts, recorded_verdict, repeated_packets, Cause, Lost, LostRow,
    Verdict,
};
pub use names::{variables, Namer, Names};
pub use places::{Places, StackPlaces};
pub use rate::RateReport;
pub use report::{CpuRow, EventRow, Report, Running, RunningRow, TraceRow, UnmatchedRow};
pub use scheduling::{OffRow, SchedulingRow};
pub use sheet::{Cell, Column, Fact, Shape, Sheet, Table};
pub use stacks::has_stack;
pub use state::{event_name, LockKind, OffKind};
pub use studies::{ask, named, Answer, FlameOf, Moment, Named, Question, Study, COMPARE, NAMED};
pub use writers::{ProcessRow, ThreadRow};
