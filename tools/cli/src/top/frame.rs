// SPDX-License-Identifier: MIT
//! All that there is to show at one moment: what the recorder says, and what its trace tells.
//!
//! Place in the flow: `watch` makes one frame in each interval; `--json` prints it as it is,
//! `views` makes tables of it.

use analysis::live::Picture;
use serde::Serialize;
use verdict::text::plural;
use verdict::Lost;

/// Raised when a key changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// What became of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    #[default]
    Recording,
    Paused,
    /// Nothing more is recorded: the trace has its size, or there was no memory.
    Full,
    /// The recorder does not answer in time.
    Silent,
    /// The recorder completes the trace.
    Concluding,
    /// The session is over.
    Ended,
    /// The recorder was killed.
    Dead,
    /// The trace's directory is not there any more.
    TraceGone,
}

impl Condition {
    pub fn name(self) -> &'static str {
        match self {
            Condition::Recording => "recording",
            Condition::Paused => "paused",
            Condition::Full => "full",
            Condition::Silent => "silent",
            Condition::Concluding => "concluding",
            Condition::Ended => "ended",
            Condition::Dead => "dead",
            Condition::TraceGone => "trace gone",
        }
    }

    /// Nothing more can come.
    pub fn is_final(self) -> bool {
        matches!(self, Condition::Ended | Condition::Dead | Condition::TraceGone)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Frame {
    pub schema_version: u32,
    pub session: String,
    pub state: Condition,
    pub trace: String,
    pub mode: String,
    /// Since the session began.
    pub age_ns: u64,
    /// Since the frame before.
    pub interval_ns: u64,
    /// Of the recorder: what it wrote, and what its rings lost. `None`: it does not say.
    pub recorded: Option<Recorded>,
    /// Memory of the buffers.
    pub buffer_bytes: u64,
    /// Processes that take part now.
    pub attached: u64,
    /// Whether the tables are filled from the trace.
    pub is_followed: bool,
    /// Which part of what was written since the frame before is in the tables, from 0 to 1.
    pub read_share: f64,
    pub lost_by_cause: Lost,
    pub verdict: String,
    /// What else is to be known, a sentence each.
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub picture: Picture,
    pub cpus: Vec<CpuRow>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recorded {
    pub recorded_per_s: f64,
    pub written_bytes_per_s: f64,
    pub lost_per_s: f64,
    pub recorded_events: u64,
    pub written_bytes: u64,
    pub lost_events: u64,
}

/// A stream: the ring of a CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CpuRow {
    pub stream: String,
    pub cpu: Option<u32>,
    pub bytes_per_s: f64,
    pub packets_per_s: f64,
    pub lost_per_s: f64,
    pub bytes: u64,
    #[serde(flatten)]
    pub lost: Lost,
}

/// What the verdict would say by now, as far as that is known before the end.
pub fn verdict_so_far(lost: u64, causes: &Lost, pauses: u64) -> String {
    let all = [
        (causes.full, "its buffer was full"),
        (causes.overflow, "overtaken in its buffer"),
        (causes.too_big, "too big for a sub-buffer"),
        (causes.in_flight, "its thread died or stopped"),
    ];
    let mut text = match lost {
        0 => "no event was counted as lost so far".to_string(),
        lost => format!("{} lost so far", plural(lost, "event")),
    };
    let causes: Vec<String> = all
        .iter()
        .filter(|(count, _)| lost > 0 && *count > 0)
        .map(|(count, why)| format!("{} {why}", verdict::text::grouped(*count)))
        .collect();
    if !causes.is_empty() {
        text.push_str(&format!(" ({})", causes.join(", ")));
    }
    if pauses > 0 {
        text.push_str(&format!("; {}", plural(pauses, "pause")));
    }
    text
}
