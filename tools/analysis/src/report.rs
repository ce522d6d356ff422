// SPDX-License-Identifier: MIT
//! What an analysis says in the end. The field names are those of `lull report --json`
//! (docs/guide/report.md), with units: `_ns` is nanoseconds, points in time count from the clock's
//! origin.
//!
//! Place in the flow: filled by `Analyses::finish`, shown by the command line.

use serde::Serialize;

use crate::files::FileRow;
use crate::latency::LatencyRow;
use crate::locks::LockRow;
use crate::losses::{Lost, LostRow, Verdict};
use crate::rate::RateReport;
use crate::scheduling::SchedulingRow;
use crate::writers::{ProcessRow, ThreadRow};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Raised when a field changes its meaning or goes away.
    pub schema_version: u32,
    /// Whether the verdict's state is `complete`: nothing is missing, without a limit.
    pub complete: bool,
    /// All events of the traces, whatever the filter.
    pub events: u64,
    /// Events that the filter let through; tables and rates are about these.
    pub matched_events: u64,
    pub lost: Lost,
    pub lost_where: Vec<LostRow>,
    pub verdict: Verdict,
    pub traces: Vec<TraceRow>,
    pub bytes: u64,
    /// First and last event, whatever the filter.
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Whether reading ended before the span did, because there was too much ([`Options`]).
    ///
    /// [`Options`]: crate::Options
    #[serde(skip)]
    pub is_cut: bool,
    /// Whether it is about a span of time, and not about all that there is.
    #[serde(skip)]
    pub has_span: bool,
    pub duration_ns: u64,
    pub events_per_s: f64,
    pub process_count: u64,
    pub thread_count: u64,
    pub cpu_count: u64,
    pub event_names: Vec<EventRow>,
    pub latencies: Vec<LatencyRow>,
    pub running: Running,
    pub unmatched: Vec<UnmatchedRow>,
    pub locks: Vec<LockRow>,
    pub files: Vec<FileRow>,
    /// Threads, if the trace has the scheduler's events.
    pub scheduling: Vec<SchedulingRow>,
    pub processes: Vec<ProcessRow>,
    pub threads: Vec<ThreadRow>,
    pub cpus: Vec<CpuRow>,
    pub rate: RateReport,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceRow {
    pub path: String,
    pub bytes: u64,
    pub streams: u64,
    pub tracer: Option<String>,
    pub hostname: Option<String>,
    pub command: Option<String>,
}

/// Events of one name, or of one name in one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventRow {
    /// `None`: all that came after the table was full.
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub events: u64,
    pub events_per_s: f64,
    /// The part of all matched events, 0 to 1.
    pub share: f64,
    /// Headers and fields, without what packets add.
    pub bytes: u64,
    pub bytes_per_event: f64,
}

/// Entries whose exits had not come when the trace ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Running {
    pub count: u64,
    /// The longest of them.
    pub longest: Vec<RunningRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunningRow {
    pub name: String,
    pub thread: String,
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    /// The lock or file it is about.
    pub subject: Option<String>,
    pub begin_ns: i64,
    /// Until the last event of the trace.
    pub elapsed_ns: u64,
    /// Events were lost after it began; its exit may be one of them.
    pub exit_may_be_lost: bool,
}

/// Halves of pairs, where there were any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnmatchedRow {
    pub name: String,
    pub still_running: u64,
    /// Its thread or process ended inside, or became another program.
    pub ended_inside: u64,
    pub exits_without_entry: u64,
    /// Entries given up because too many were open.
    pub forgotten_entries: u64,
    /// Exits before which events were lost since the entry: each may be another call's.
    pub unsure: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CpuRow {
    /// `None`: processors with very high numbers, or events of no known processor.
    pub cpu: Option<u32>,
    pub events: u64,
}
