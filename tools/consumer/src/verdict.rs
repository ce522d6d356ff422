// SPDX-License-Identifier: MIT
//! The verdict: whether a trace is complete, or what is missing, where, and what to do.
//!
//! Place in the flow: `consumer` counts, `lull record` prints it, and the trace's environment
//! keeps it, so that every reader can say the same.

use crate::metadata::{Environment, Value};
use crate::number::{bytes, plural};
use serde::Serialize;
use session::abi::{LOST_CAUSES, LOST_FULL, LOST_IN_FLIGHT, LOST_OVERFLOW, LOST_TOO_BIG};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Everything that was asked for is in the trace.
    Complete,
    /// Something is missing.
    Incomplete,
    /// Recording ended before the program did, as --max-size asked.
    Stopped,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Stopped => "stopped",
        }
    }
}

/// Events lost, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    pub full: u64,
    pub overflow: u64,
    pub too_big: u64,
    pub in_flight: u64,
}

impl Lost {
    pub fn from_words(words: [u64; LOST_CAUSES]) -> Self {
        Self {
            full: words[LOST_FULL],
            overflow: words[LOST_OVERFLOW],
            too_big: words[LOST_TOO_BIG],
            in_flight: words[LOST_IN_FLIGHT],
        }
    }

    pub fn total(&self) -> u64 {
        [self.full, self.overflow, self.too_big, self.in_flight]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    fn add(&mut self, other: &Lost) {
        self.full = self.full.saturating_add(other.full);
        self.overflow = self.overflow.saturating_add(other.overflow);
        self.too_big = self.too_big.saturating_add(other.too_big);
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
    }
}

/// What one ring lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RingLost {
    pub ring: String,
    pub lost: Lost,
}

/// What could not be written for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unwritten {
    pub rings: Vec<String>,
    pub packets: u64,
    pub events: u64,
    pub reason: String,
}

/// What traced processes said about their sites.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sites {
    pub seen: u32,
    pub enabled: u32,
    pub unpatched: u32,
    pub unregistered: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub state: State,
    pub trace: PathBuf,
    pub events: u64,
    pub bytes: u64,
    pub packets: u64,
    pub cpus: u64,
    pub processes: u64,
    pub threads: u64,
    pub duration_ns: u64,
    pub lost: Lost,
    pub lost_where: Vec<RingLost>,
    pub unwritten_packets: u64,
    pub unwritten_events: u64,
    pub unwritten_where: Vec<Unwritten>,
    pub damaged_packets: u64,
    pub refused_processes: u32,
    pub sites: Sites,
    /// What is missing, a sentence each.
    pub missing: Vec<String>,
    /// What else a person should know.
    pub notes: Vec<String>,
}

impl Verdict {
    pub fn new(trace: PathBuf) -> Self {
        Self {
            state: State::Complete,
            trace,
            events: 0,
            bytes: 0,
            packets: 0,
            cpus: 0,
            processes: 0,
            threads: 0,
            duration_ns: 0,
            lost: Lost::default(),
            lost_where: Vec::new(),
            unwritten_packets: 0,
            unwritten_events: 0,
            unwritten_where: Vec::new(),
            damaged_packets: 0,
            refused_processes: 0,
            sites: Sites::default(),
            missing: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Counts what a ring lost.
    pub fn add_ring(&mut self, ring: String, lost: Lost) {
        if lost.total() > 0 {
            self.lost.add(&lost);
            self.lost_where.push(RingLost { ring, lost });
        }
    }

    /// Takes down why packets of a ring were not written. Rings that failed for one reason are told
    /// in one sentence.
    pub fn add_unwritten(&mut self, ring: &str, (packets, events): (u64, u64), reason: &str) {
        match self.unwritten_where.iter_mut().find(|unwritten| unwritten.reason == reason) {
            Some(unwritten) => {
                unwritten.rings.push(ring.to_string());
                unwritten.packets += packets;
                unwritten.events += events;
            }
            None => self.unwritten_where.push(Unwritten {
                rings: vec![ring.to_string()],
                packets,
                events,
                reason: reason.to_string(),
            }),
        }
    }

    /// A sentence and its reason, which is said once in a verdict.
    pub fn because(&self, what: &str, reason: &str) -> String {
        let said = self.missing.iter().chain(&self.notes).any(|line| line.ends_with(reason));
        if said || self.unwritten_where.iter().any(|unwritten| unwritten.reason == reason) {
            format!("{what}, for the same reason")
        } else {
            format!("{what}: {reason}")
        }
    }

    /// Whether events are known to be missing; what --fail-on-loss asks.
    pub fn has_loss(&self) -> bool {
        self.lost.total() > 0 || self.unwritten_packets > 0 || self.damaged_packets > 0
    }

    /// Puts what was counted into sentences and decides on the state.
    pub fn conclude(&mut self, stopped: bool) {
        let mut missing = Vec::new();
        for RingLost { ring, lost } in &self.lost_where {
            for (count, why) in causes(lost) {
                missing.push(format!("{} lost on {ring}: {why}", events(count)));
            }
        }
        for Unwritten { rings, packets, events: count, reason } in &self.unwritten_where {
            let (packets, count) = (plural(*packets, "packet"), events(*count));
            missing.push(format!(
                "{packets} with {count} of {} not written: {reason}",
                rings.join(", ")
            ));
        }
        if self.damaged_packets > 0 {
            missing.push(format!(
                "{} cut short: a traced program overwrote Lull's buffers",
                plural(self.damaged_packets, "packet")
            ));
        }
        if self.refused_processes > 0 {
            missing.push(format!(
                "{} could not join: their clock or their user differs from the recorder's",
                plural(u64::from(self.refused_processes), "process")
            ));
        }
        let Sites { unpatched, unregistered, .. } = self.sites;
        if unpatched > 0 {
            missing.push(format!(
                "{} not recorded: the program's text could not be changed",
                plural(u64::from(unpatched), "site")
            ));
        }
        if unregistered > 0 {
            missing.push(format!(
                "{} not recorded: the session's event table is full; use fewer patterns",
                plural(u64::from(unregistered), "site")
            ));
        }
        missing.append(&mut self.missing);
        self.missing = missing;
        self.state = match (self.missing.is_empty(), stopped) {
            (false, _) => State::Incomplete,
            (true, true) => State::Stopped,
            (true, false) => State::Complete,
        };
    }

    /// What the trace's environment says.
    pub fn environment(&self) -> Environment {
        let number = |name: &str, value: u64| (name.to_string(), Value::from(value));
        let mut environment = vec![
            ("verdict".to_string(), Value::from(self.state.name())),
            ("verdict_missing".to_string(), Value::from(self.missing.join("; "))),
            ("verdict_notes".to_string(), Value::from(self.notes.join("; "))),
            number("events", self.events),
            number("processes", self.processes),
            number("threads", self.threads),
            number("duration_ns", self.duration_ns),
            number("lost_full", self.lost.full),
            number("lost_overflow", self.lost.overflow),
            number("lost_too_big", self.lost.too_big),
            number("lost_in_flight", self.lost.in_flight),
            number("unwritten_packets", self.unwritten_packets),
            number("unwritten_events", self.unwritten_events),
            number("damaged_packets", self.damaged_packets),
        ];
        environment.push(number("sites_unpatched", u64::from(self.sites.unpatched)));
        environment
    }

    /// The verdict for people: what was recorded, then whether it is complete.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} ({}) of {} on {} in {}: {}",
            events(self.events),
            bytes(self.bytes),
            plural(self.processes, "process"),
            plural(self.cpus, "CPU"),
            seconds(self.duration_ns),
            short(&self.trace).display()
        )];
        lines.push(match self.state {
            State::Complete => "complete: no event is missing".to_string(),
            State::Stopped => "stopped: complete until the limit of --max-size".to_string(),
            State::Incomplete => "INCOMPLETE:".to_string(),
        });
        lines.extend(self.missing.iter().map(|line| format!("  {line}")));
        lines.extend(self.notes.iter().map(|line| format!("note: {line}")));
        lines
    }
}

/// A path as seen from here, if it is below here.
pub fn short(path: &Path) -> &Path {
    let below = std::env::current_dir().ok().and_then(|here| path.strip_prefix(here).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path)
}

fn causes(lost: &Lost) -> Vec<(u64, &'static str)> {
    let all = [
        (lost.full, "its buffer was full; use larger --buffer-size or more --buffers"),
        (lost.overflow, "a sub-buffer came round again before a slow thread had left it"),
        (lost.too_big, "they do not fit into a sub-buffer; use a larger --buffer-size"),
        (lost.in_flight, "their threads were killed or stopped while writing them"),
    ];
    all.into_iter().filter(|(count, _)| *count > 0).collect()
}

fn events(count: u64) -> String {
    plural(count, "event")
}

fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_without_loss_is_complete() {
        let mut verdict = Verdict::new("trace".into());
        verdict.conclude(false);
        assert_eq!(verdict.state, State::Complete);
        assert!(!verdict.has_loss());
    }

    #[test]
    fn every_cause_is_named_with_its_ring_and_makes_the_trace_incomplete() {
        let mut verdict = Verdict::new("trace".into());
        verdict.add_ring("CPU 3".into(), Lost { full: 1, overflow: 2, too_big: 3, in_flight: 4 });
        verdict.conclude(true);
        assert_eq!(verdict.state, State::Incomplete);
        assert_eq!(verdict.lost.total(), 10);
        assert_eq!(verdict.missing.len(), 4);
        assert!(verdict.missing.iter().all(|line| line.contains("CPU 3")));
        assert!(verdict.missing[0].starts_with("1 event lost"));
    }

    #[test]
    fn reason_why_the_disk_refused_is_said_once() {
        let mut verdict = Verdict::new("trace".into());
        verdict.add_unwritten("CPU 0", (1, 10), "disk full");
        verdict.add_unwritten("CPU 1", (2, 30), "disk full");
        verdict.notes.push(verdict.because("metadata is old", "disk full"));
        verdict.conclude(false);
        assert_eq!(
            verdict.missing,
            ["3 packets with 40 events of CPU 0, CPU 1 not written: disk full"]
        );
        assert_eq!(verdict.notes, ["metadata is old, for the same reason"]);
        assert_eq!(verdict.because("x", "other"), "x: other");
    }

    #[test]
    fn limit_alone_is_stopped_and_not_a_loss() {
        let mut verdict = Verdict::new("trace".into());
        verdict.conclude(true);
        assert_eq!(verdict.state, State::Stopped);
        assert!(!verdict.has_loss());
    }
}
