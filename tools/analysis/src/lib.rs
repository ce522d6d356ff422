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
//! Flow: `classes` decides from the metadata what each event class is to the analyses, with the
//! meanings in `operation`; `streams` and `threads` find out whose an event is; `counts`, `rate`,
//! `latency`, `locks`, `files` (with `descriptors`) and `losses` each keep one part of the answer;
//! `analyses` passes the events around and gathers the [`Report`].
//!
//! Memory is bounded by [`Limits`], whatever the trace: tables are `rows` that end in a row for
//! all others, texts are kept once each in `texts`. Any trace is safe: nothing panics.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analyses;
mod classes;
mod counts;
mod descriptors;
mod distribution;
mod files;
mod glob;
mod latency;
mod locks;
mod losses;
mod operation;
mod rate;
mod report;
mod rows;
mod streams;
mod texts;
mod threads;

pub use analyses::{analyse, Analyses, By, Limits, Options};
pub use distribution::DistributionReport;
pub use files::FileRow;
pub use glob::Glob;
pub use latency::LatencyRow;
pub use locks::{LockRow, WaiterRow};
pub use losses::{recorded_verdict, Cause, Lost, LostRow, Verdict};
pub use operation::LockKind;
pub use rate::RateReport;
pub use report::{CpuRow, EventRow, Report, Running, RunningRow, TraceRow, UnmatchedRow};
pub use threads::{ProcessRow, ThreadRow};
