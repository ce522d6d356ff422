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
//! Memory is bounded by [`Limits`], whatever the trace: tables are `rows` that end in a row for
//! all others. Any trace is safe: nothing panics.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analyses;
mod counts;
mod distribution;
mod files;
mod filter;
mod latency;
mod locks;
mod losses;
mod rate;
mod report;
mod rows;
mod scheduling;
mod writers;

pub use analyses::{analyse, Analyses, By, Limits, Options, Takes, Wanted};
pub use distribution::DistributionReport;
pub use files::FileRow;
pub use latency::LatencyRow;
pub use locks::{LockRow, WaiterRow};
pub use losses::{late_beginnings, recorded_verdict, Cause, Lost, LostRow, Verdict};
pub use rate::RateReport;
pub use report::{CpuRow, EventRow, Report, Running, RunningRow, TraceRow, UnmatchedRow};
pub use scheduling::{OffKind, OffRow, SchedulingRow};
pub use state::{event_name, LockKind};
pub use writers::{ProcessRow, ThreadRow};
