// SPDX-License-Identifier: MIT
//! The verdict: whether a trace is complete, or what is missing, where, why, and what to do.
//!
//! Place in the flow: `consumer` and `lull record` fill a [`Verdict`] in, `environment` writes it
//! into the trace's environment and reads it back, and every reader says the same words. A trace
//! that does not carry a verdict is never called complete.

pub mod environment;
pub mod nearest;
pub mod number;
pub mod shown;
pub mod text;
pub mod thinned;

use serde::Serialize;
use std::path::{Path, PathBuf};
use text::{bytes, causes, events, plural, seconds, short};
use thinned::{KernelOf, Sampled, Throttled};

/// What is known of a trace as a whole. The order is that of severity: the verdict on several
/// traces has the gravest state of theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Everything that was asked for is in the trace.
    Complete,
    /// Everything is there but for what the verdict's limits name; nothing was lost.
    Limited,
    /// Recording ended before the program did, as --max-size asked.
    Stopped,
    /// The trace does not say.
    Unknown,
    /// No program that was recorded has an event that the patterns ask for.
    NothingMatched,
    /// Something is missing.
    Incomplete,
    /// The recorder has not completed the trace: it is still at work, or it was killed.
    NotFinished,
}

/// What the environment says while the trace is being recorded.
pub const RECORDING: &str = "recording";

impl State {
    const ALL: [State; 7] = [
        Self::Complete,
        Self::Limited,
        Self::Stopped,
        Self::Unknown,
        Self::NothingMatched,
        Self::Incomplete,
        Self::NotFinished,
    ];

    /// The word in the trace's environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Limited => "limited",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
            Self::NothingMatched => "nothing_matched",
            Self::Incomplete => "incomplete",
            Self::NotFinished => RECORDING,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The verdict in one line. One that ends in a colon is followed by sentences.
    pub fn headline(self) -> &'static str {
        match self {
            Self::Complete => "complete: no event is missing",
            Self::Limited => "complete within these limits:",
            Self::Stopped => "stopped: complete until the limit of --max-size",
            Self::Unknown => "unknown: the trace does not say whether events are missing",
            Self::NothingMatched => {
                "nothing matched: no event was recorded that the patterns ask for"
            }
            Self::Incomplete => "INCOMPLETE:",
            Self::NotFinished => "not finished:",
        }
    }

    /// Whether it says that all events are there that are to be expected.
    pub fn claims_all(self) -> bool {
        self <= Self::Stopped
    }

    /// Whether readers end with status 1: the trace is not what was asked for.
    pub fn is_failure(self) -> bool {
        self >= Self::NothingMatched
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
    pub fn total(&self) -> u64 {
        [self.full, self.overflow, self.too_big, self.in_flight]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    pub fn add(&mut self, other: &Lost) {
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
    /// How often: a site counts anew each time that a change enables it.
    pub enabled: u32,
    pub unpatched: u32,
    pub unregistered: u32,
}

/// A process that recorded processes started, and that recorded nothing itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRecorded {
    /// As the process that started it named the program.
    pub path: String,
    /// 0 where it is not known.
    pub pid: u32,
    pub why: String,
}

/// A process that went on when recording ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WentOn {
    pub path: String,
    pub pid: u32,
}

/// A pattern that matched no event of the programs that were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    pub pattern: String,
    /// Names that differ least from it.
    pub nearest: Vec<String>,
}

/// A time in which nothing was recorded, as `lull pause` and `lull resume` asked. Each moment is in
/// cycles of the trace's clock, and in nanoseconds since recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pause {
    pub begin: (u64, u64),
    /// None: until the recording's end.
    pub until: Option<(u64, u64)>,
}

/// A change of what was recorded, as `lull enable` and `lull disable` asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// In cycles of the trace's clock, and in nanoseconds since recording began. Programs follow
    /// later, each at its own time.
    pub at: (u64, u64),
    /// The patterns, each as -e takes it; those that leave events out begin with `!`.
    pub patterns: Vec<String>,
}

/// A condition was met that `--on` had named, and what was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Firing {
    /// When the recorder acted: in cycles of the trace's clock, and in nanoseconds since recording
    /// began.
    pub at: (u64, u64),
    /// When the event was that met the condition, in cycles; 0 where there is none.
    pub event_cycles: u64,
    /// Whose it was; 0 where that is not known.
    pub pid: u64,
    pub tid: u64,
    pub condition: String,
    /// What was done, in words.
    pub done: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub state: State,
    #[serde(serialize_with = "as_text")]
    pub trace: PathBuf,
    pub events: u64,
    /// Those of them that are the kernel's.
    pub kernel_events: u64,
    pub bytes: u64,
    /// The stream files that were written, each with its bytes.
    #[serde(skip)]
    pub files: Vec<(String, u64)>,
    pub packets: u64,
    pub cpus: u64,
    /// Processes that recorded events.
    pub processes: u64,
    pub threads: u64,
    pub duration_ns: u64,
    pub lost: Lost,
    pub lost_where: Vec<RingLost>,
    pub unwritten_packets: u64,
    pub unwritten_events: u64,
    pub unwritten_where: Vec<Unwritten>,
    pub damaged_packets: u64,
    pub refused_processes: u64,
    pub sites: Sites,
    pub not_recorded: Vec<NotRecorded>,
    /// Further processes that were not recorded and are not listed.
    pub not_recorded_more: u64,
    pub went_on: Vec<WentOn>,
    pub pauses: Vec<Pause>,
    pub changes: Vec<Change>,
    /// Events that were sampled by the user's wish.
    pub sampled: Vec<Sampled>,
    /// Patterns of events of which a filter left some occurrences out, by more than whose they are.
    pub filtered: Vec<String>,
    /// Whose events of the kernel's there are.
    pub kernel_of: KernelOf,
    /// Events that were throttled to keep a budget, in order.
    pub throttled: Vec<Throttled>,
    pub firings: Vec<Firing>,
    pub unmatched: Vec<Unmatched>,
    /// The recording was asked to end, while programs may run.
    #[serde(skip)]
    pub was_asked_to_end: bool,
    /// No pattern matched anything.
    #[serde(skip)]
    pub nothing_matched: bool,
    /// What is missing, one sentence for each thing.
    pub missing: Vec<String>,
    /// What a trace without loss does not tell, one sentence for each thing.
    pub limits: Vec<String>,
    /// What else a person should know.
    pub notes: Vec<String>,
}

/// A path for people: JSON has no other bytes than those of UTF-8.
fn as_text<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

impl Verdict {
    /// The verdict on a trace of which nothing is known.
    pub fn new(trace: PathBuf) -> Self {
        Self {
            state: State::Unknown,
            trace,
            events: 0,
            kernel_events: 0,
            bytes: 0,
            files: Vec::new(),
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
            not_recorded: Vec::new(),
            not_recorded_more: 0,
            went_on: Vec::new(),
            pauses: Vec::new(),
            changes: Vec::new(),
            sampled: Vec::new(),
            filtered: Vec::new(),
            kernel_of: KernelOf::Machine,
            throttled: Vec::new(),
            firings: Vec::new(),
            unmatched: Vec::new(),
            was_asked_to_end: false,
            nothing_matched: false,
            missing: Vec::new(),
            limits: Vec::new(),
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

    /// Whether the trace is known to lack what was asked for; what --fail-on-loss asks.
    pub fn has_loss(&self) -> bool {
        self.state.is_failure()
    }

    /// Puts what was counted into sentences and decides on the state. `stopped`: recording
    /// ended at --max-size.
    pub fn conclude(&mut self, stopped: bool) {
        let mut missing = self.loss_sentences();
        missing.extend(self.unwritten_where.iter().map(text::unwritten));
        missing.extend(self.counted_sentences());
        missing.append(&mut self.missing);
        self.missing = missing;
        if !self.went_on.is_empty() {
            self.limits.insert(0, text::went_on(&self.went_on, self.was_asked_to_end));
        }
        let patterns: Vec<String> = self.unmatched.iter().map(text::unmatched).collect();
        self.notes.splice(0..0, patterns);
        self.state = if !self.missing.is_empty() {
            State::Incomplete
        } else if self.nothing_matched {
            State::NothingMatched
        } else if stopped {
            State::Stopped
        } else if !self.limits.is_empty() {
            State::Limited
        } else {
            State::Complete
        };
    }

    /// Lost events by ring and cause. Readers that count losses packet by packet say them
    /// themselves, with times.
    pub fn loss_sentences(&self) -> Vec<String> {
        let sentence =
            |ring: &str, (count, why)| format!("{} lost on {ring}: {why}", events(count));
        let of_ring = |row: &RingLost| {
            let ring = row.ring.clone();
            causes(&row.lost).into_iter().map(move |cause| sentence(&ring, cause))
        };
        self.lost_where.iter().flat_map(of_ring).collect()
    }

    fn counted_sentences(&self) -> Vec<String> {
        let Sites { unpatched, unregistered, .. } = self.sites;
        let counts = [
            (
                self.damaged_packets,
                "packet",
                "cut short: something other than events was written into Lull's buffers",
            ),
            (
                self.refused_processes,
                "process",
                "could not join: their clock or their user differs from the recorder's",
            ),
            (u64::from(unpatched), "site", "not recorded: the program's text could not be changed"),
            (
                u64::from(unregistered),
                "site",
                "not recorded: the session's event table is full (use fewer patterns), or the \
                 event's description is damaged (`lull list PROGRAM` says so)",
            ),
        ];
        let counted = counts.into_iter().filter(|(count, ..)| *count > 0);
        let counted = counted.map(|(count, noun, what)| format!("{} {what}", plural(count, noun)));
        let absent = self.not_recorded.iter().map(|process| {
            let pid = match process.pid {
                0 => "unknown".into(),
                pid => pid.to_string(),
            };
            format!("not recorded: {}, pid {pid}: {}", process.path, process.why)
        });
        let more = (self.not_recorded_more > 0)
            .then(|| format!("not recorded: {} more", plural(self.not_recorded_more, "process")));
        counted.chain(absent).chain(more).collect()
    }

    /// The verdict for people: what was recorded, then whether it is complete.
    pub fn lines(&self) -> Vec<String> {
        self.lines_at(short(&self.trace))
    }

    /// The same for a person elsewhere, who finds the trace at this path.
    pub fn lines_at(&self, trace: &Path) -> Vec<String> {
        let on_cpus = match self.cpus {
            0 if self.events > 0 => String::new(), // of rings that any CPU writes to
            cpus => format!(" on {}", plural(cpus, "CPU")),
        };
        let mut lines = vec![format!(
            "{} ({}){} of {}{on_cpus} in {}: {}",
            events(self.events),
            bytes(self.bytes),
            self.kernel_part(),
            plural(self.processes, "process"),
            seconds(self.duration_ns),
            trace.display()
        )];
        lines.extend(self.judgement());
        lines.extend(self.notes.iter().map(|line| format!("note: {line}")));
        lines
    }

    fn kernel_part(&self) -> String {
        match self.kernel_events {
            0 => String::new(),
            count => format!(", {} of them the kernel's,", text::grouped(count)),
        }
    }

    /// The headline and the sentences that belong to it.
    pub fn judgement(&self) -> Vec<String> {
        let sentences = self.missing.iter().chain(&self.limits).map(|line| format!("  {line}"));
        std::iter::once(self.state.headline().to_string()).chain(sentences).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concluded(verdict: &Verdict, stopped: bool, nothing_matched: bool) -> State {
        let mut verdict = Verdict { nothing_matched, ..verdict.clone() };
        verdict.conclude(stopped);
        verdict.state
    }

    #[test]
    fn verdict_without_loss_is_complete_and_one_that_was_not_concluded_is_not() {
        let verdict = Verdict::new("trace".into());
        assert_eq!(verdict.state, State::Unknown);
        assert_eq!(concluded(&verdict, false, false), State::Complete);
    }

    #[test]
    fn every_cause_is_named_with_its_ring_and_makes_the_trace_incomplete() {
        let mut verdict = Verdict::new("trace".into());
        verdict.add_ring("CPU 3".into(), Lost { full: 1, overflow: 2, too_big: 3, in_flight: 4 });
        verdict.nothing_matched = true;
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
    fn gravest_of_what_is_known_is_the_state() {
        let mut verdict = Verdict::new("trace".into());
        assert_eq!(concluded(&verdict, true, false), State::Stopped);
        verdict.went_on.push(WentOn { path: "/bin/d".into(), pid: 7 });
        assert_eq!(concluded(&verdict, false, false), State::Limited);
        assert_eq!(concluded(&verdict, true, false), State::Stopped);
        assert_eq!(concluded(&verdict, true, true), State::NothingMatched);
        let absent = NotRecorded { path: "/bin/s".into(), pid: 8, why: "it is static".into() };
        verdict.not_recorded.push(absent);
        assert_eq!(concluded(&verdict, true, true), State::Incomplete);
        let failures: Vec<_> = State::ALL.into_iter().filter(|state| state.is_failure()).collect();
        assert_eq!(failures, [State::NothingMatched, State::Incomplete, State::NotFinished]);
    }

    #[test]
    fn verdict_is_json_whatever_the_bytes_of_its_path_are() {
        use std::os::unix::ffi::OsStrExt;
        let path = std::ffi::OsStr::from_bytes(b"/tmp/\xff");
        let json = serde_json::to_value(Verdict::new(path.into())).unwrap();
        assert_eq!(json["trace"], "/tmp/\u{fffd}");
    }

    #[test]
    fn judgement_names_processes_with_their_path_number_and_reason() {
        let mut verdict = Verdict::new("trace".into());
        let absent = NotRecorded { path: "/bin/s".into(), pid: 8, why: "it is static".into() };
        verdict.not_recorded.push(absent.clone());
        verdict.not_recorded.push(NotRecorded { pid: 0, ..absent });
        verdict.not_recorded_more = 2;
        verdict.went_on.push(WentOn { path: "/bin/d".into(), pid: 7 });
        verdict.conclude(false);
        assert_eq!(
            verdict.judgement(),
            [
                "INCOMPLETE:",
                "  not recorded: /bin/s, pid 8: it is static",
                "  not recorded: /bin/s, pid unknown: it is static",
                "  not recorded: 2 processes more",
                "  until the program ended: 1 descendant went on and is no longer recorded: \
                 /bin/d, pid 7; --wait-all waits for all",
            ]
        );
    }
}
