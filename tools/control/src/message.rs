// SPDX-License-Identifier: MIT
//! The messages: each is one JSON object in one packet of the socket.
//!
//! Place in the flow: [`parse_request`] reads what a caller sent, [`parse_answer`] what a recorder
//! answered. The version comes first, so that two versions that differ can say so.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Of the control interface: another number means that messages changed their meaning.
pub const VERSION: u64 = 1;
pub const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Less than what Linux lets a socket hold by default.
pub const ANSWER_BYTES_MAX: usize = 128 << 10;
/// Processes that a status lists.
pub const PROCESSES_MAX: usize = 512;
/// Processes that one request names.
pub const MEMBERS_MAX: usize = 64;
/// Triggers that a session has at a time, and that one request removes.
pub const TRIGGERS_MAX: usize = 32;

/// What a recorder is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    Status,
    Pause,
    Resume,
    Snapshot,
    /// To record other events from now on; the answer comes when all processes were asked to.
    Change {
        /// Whether the patterns ask for events; else they leave events out.
        is_enable: bool,
        /// As -e takes them, without a `!`.
        patterns: Vec<String>,
    },
    /// To have processes that run already take part, or no longer take part; the answer comes when
    /// all were asked.
    Members {
        /// Whether they are to take part; else they are to leave.
        is_join: bool,
        /// At most [`MEMBERS_MAX`].
        pids: Vec<u32>,
    },
    /// To have further triggers; the answer comes when all processes were asked to follow.
    AddTriggers {
        triggers: Vec<NewTrigger>,
    },
    /// To have some triggers no longer, by their numbers; the answer comes as for further ones.
    RemoveTriggers {
        /// At most [`TRIGGERS_MAX`].
        numbers: Vec<u64>,
    },
    /// To end the session; the answer comes when the trace is whole.
    Stop,
    /// What a program's environment has to have, so that it takes part.
    Environment,
    /// Tells that the caller, whose process this is, is about to become a program that takes part.
    Expect {
        program: String,
    },
}

/// A condition, and what is to be done when it is met, as --on and --do take them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTrigger {
    pub on: String,
    #[serde(rename = "do")]
    pub does: Vec<String>,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Done,
    Status(Box<Status>),
    Snapshot {
        trace: String,
        /// What it lacks, in sentences.
        #[serde(default)]
        missing: Vec<String>,
    },
    /// Libraries to preload, in this order.
    Environment {
        preload: Vec<String>,
        /// Directories of further sessions that a program joins with this one.
        #[serde(default)]
        beside: Vec<String>,
    },
    Changed(Box<Changed>),
    Members(Members),
    Triggers(Box<TriggersChanged>),
    Stopped(Box<Stopped>),
    /// It was not done.
    Refused {
        why: String,
    },
}

/// How a change reached the processes of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Processes that follow it.
    pub reached: u64,
    /// Probes and sites that are different in them.
    pub changed: u64,
    /// For how long a thread was stopped at most.
    pub held_ns: u64,
    /// The first processes that could not be asked; they follow when they next load a library, fork
    /// or begin a thread.
    pub unreached: Vec<Unreached>,
    /// Further ones.
    pub unreached_more: u64,
    /// What else a person should know.
    pub notes: Vec<String>,
}

/// Triggers that came or went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggersChanged {
    /// The numbers of new ones, in the order in which they were given.
    pub added: Vec<u64>,
    pub removed: Vec<RemovedTrigger>,
    /// Whether all are on events of the kernel's: then no process was to be asked.
    #[serde(default)]
    pub is_kernels: bool,
    /// How that reached the processes.
    pub reached: Changed,
}

/// A trigger that a session has no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedTrigger {
    pub number: u64,
    pub on: String,
    pub fired: u64,
}

/// A process that could not be asked to follow a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreached {
    pub pid: u32,
    pub name: String,
    pub why: String,
}

/// What became of processes that were to join or to leave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// Those that did.
    pub done: Vec<Member>,
    pub refused: Vec<Refusal>,
}

/// A process that has joined or left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub pid: u32,
    pub name: String,
    /// For how long one of its threads was stopped at most at a time.
    pub held_ns: u64,
    /// Entries of its tables of calls that were changed.
    pub calls: u64,
    /// Why those of a process that has left are not as before. None: they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// A process that has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub pid: u32,
    pub name: String,
    pub why: String,
    /// There is nothing to be done: it has ended, or is already as it was to be.
    pub is_moot: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Recording,
    Paused,
    /// The trace has the size that --max-size allows, or there was no memory: nothing more is
    /// recorded.
    Ended,
}

/// What was recorded so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub events: u64,
    pub bytes: u64,
    pub lost: u64,
}

/// A process that recorded events, as these say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// In the process's own pid namespace.
    pub pid: u32,
    pub threads: u64,
    pub name: String,
}

/// A pause, in nanoseconds since recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedFor {
    pub begin_ns: u64,
    /// None: it goes on.
    pub until_ns: Option<u64>,
}

/// All that a recorder says of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub name: String,
    pub state: State,
    /// The recorder's process.
    pub pid: u32,
    /// Begun by `lull start`, so that it lives until it is stopped.
    pub background: bool,
    /// What `lull record` runs, if that is anything.
    pub program: Option<String>,
    pub program_pid: Option<u32>,
    pub output: String,
    /// `discard` or `flight recorder`.
    pub mode: String,
    pub kernel: bool,
    pub patterns: String,
    /// RFC 3339.
    pub started: String,
    pub age_ns: u64,
    pub progress: Progress,
    /// Processes that have the session's memory now, those without an event included.
    pub attached: u64,
    /// Processes that recorded events: of a flight recorder, in its snapshots.
    pub recorded: u64,
    /// These, by number. If there are more than `PROCESSES_MAX`, those that run come first.
    pub processes: Vec<Process>,
    pub pauses: Vec<PausedFor>,
    /// Pauses before those that are listed.
    pub pauses_more: u64,
    pub snapshots: u64,
    pub buffer_bytes: u64,
    /// Patterns of events that are sampled.
    #[serde(default)]
    pub sampled: Vec<Thinned>,
    /// None: events cost what they cost.
    #[serde(default)]
    pub budget: Option<Budget>,
    /// What --on and --do ask for.
    #[serde(default)]
    pub triggers: Vec<Trigger>,
    /// Whether the recorder knows requests for further triggers: older ones do not.
    #[serde(default)]
    pub takes_triggers: bool,
    /// None: programs join that were started in it or asked to.
    #[serde(default)]
    pub system: Option<System>,
}

/// Of a session of the whole machine: the processes that carry events which are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// How many have joined so far, of how many users.
    pub joined: u64,
    pub users: u64,
    /// How many are about to.
    pub waiting: u64,
    /// How many have not.
    pub refused: u64,
    /// Programs that ended before they could be looked at.
    pub unseen: u64,
}

/// Events of which one in so many occurrences is recorded; of 0, none is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinned {
    pub event: String,
    pub one_in: u32,
}

/// What events may cost and do, in millionths of the time of the CPUs on which they occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub budget_ppm: u64,
    /// At the last look, 50 times a second.
    pub cost_ppm: u64,
    /// Since the begin.
    pub total_cost_ppm: u64,
    /// What one event is taken to cost, in picoseconds.
    pub event_ps: u64,
    /// The events that are throttled now.
    pub throttled: Vec<Thinned>,
}

/// A condition, and how often it was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    pub on: String,
    #[serde(rename = "do")]
    pub does: Vec<String>,
    pub fired: u64,
    /// How often all was done that was to be.
    pub acted: u64,
    /// When it was last acted on, in nanoseconds since recording began.
    pub last_ns: Option<u64>,
    /// By which it is removed; 0 of an older recorder.
    #[serde(default)]
    pub number: u64,
    /// When it was added, in nanoseconds since recording began; None: recording began with it.
    #[serde(default)]
    pub added_ns: Option<u64>,
    /// What became of each of `does`.
    #[serde(default)]
    pub did: Vec<Did>,
}

/// How often an action of a trigger was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Did {
    pub done: u64,
    /// How often it was not, because it was done as often already as its rate allows.
    pub withheld: u64,
    pub failed: u64,
    /// Why it failed the last time.
    pub why: String,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    pub trace: String,
    /// The exit status that the recording has.
    pub status: i32,
    /// The verdict's lines.
    pub lines: Vec<String>,
    /// The verdict as `lull record --json` prints it; null where it is too long for a message.
    pub verdict: serde_json::Value,
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    lull: u64,
    #[serde(flatten)]
    message: &'a T,
}

#[derive(Deserialize)]
struct Version {
    lull: u64,
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8], limit: usize) -> Result<T> {
    if bytes.len() > limit {
        return Err(Error::TooLong { limit });
    }
    let malformed = |error: serde_json::Error| Error::Malformed { why: error.to_string() };
    let Version { lull } = serde_json::from_slice(bytes).map_err(malformed)?;
    if lull != VERSION {
        return Err(Error::Version { theirs: lull });
    }
    serde_json::from_slice(bytes).map_err(malformed)
}

/// What a caller's packet asks.
pub fn parse_request(bytes: &[u8]) -> Result<Request> {
    parse(bytes, REQUEST_BYTES_MAX)
}

/// What a recorder's packet answers.
pub fn parse_answer(bytes: &[u8]) -> Result<Answer> {
    parse(bytes, ANSWER_BYTES_MAX)
}

impl Request {
    pub fn bytes(&self) -> Vec<u8> {
        bytes(self)
    }
}

impl Answer {
    /// The packet. An answer that would be too long says less: a verdict its lines first, and then
    /// only that it is in the trace.
    pub fn bytes(&self) -> Vec<u8> {
        let whole = bytes(self);
        if whole.len() <= ANSWER_BYTES_MAX {
            return whole;
        }
        let why = "the answer is too long for a message".to_string();
        let Self::Stopped(stopped) = self else { return bytes(&Self::Refused { why }) };
        let mut less = Stopped { verdict: serde_json::Value::Null, ..(**stopped).clone() };
        let without = bytes(&Self::Stopped(Box::new(less.clone())));
        if without.len() <= ANSWER_BYTES_MAX {
            return without;
        }
        less.lines = vec![format!("the verdict is long; `lull report {}` shows it", less.trace)];
        bytes(&Self::Stopped(Box::new(less)))
    }
}

fn bytes<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(&Versioned { lull: VERSION, message }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_that_was_made_is_read_back() {
        let requests =
            [Request::Status, Request::Stop, Request::Expect { program: "/bin/true".into() }];
        let change = Request::Change { is_enable: true, patterns: vec!["a:*".into()] };
        let members = Request::Members { is_join: false, pids: vec![1, u32::MAX] };
        let triggers =
            vec![NewTrigger { on: "a:b if x > 1".into(), does: vec!["run echo \"\0".into()] }];
        let triggers = Request::AddTriggers { triggers };
        let without = Request::RemoveTriggers { numbers: vec![u64::MAX; TRIGGERS_MAX] };
        assert!(without.bytes().len() <= REQUEST_BYTES_MAX);
        for request in requests.into_iter().chain([change, members, triggers, without]) {
            assert_eq!(parse_request(&request.bytes()).unwrap(), request);
        }
        assert_eq!(Request::Stop.bytes(), br#"{"lull":1,"request":"stop"}"#);
        let most = Request::Members { is_join: true, pids: vec![u32::MAX; MEMBERS_MAX] };
        assert!(most.bytes().len() <= REQUEST_BYTES_MAX);
        let refused = Answer::Refused { why: "no".into() };
        assert_eq!(parse_answer(&refused.bytes()).unwrap(), refused);
    }

    #[test]
    fn other_versions_and_other_texts_are_refused_for_what_they_are() {
        let refused = |text: &str| parse_request(text.as_bytes()).unwrap_err().to_string();
        assert!(refused(r#"{"lull":2,"request":"dance"}"#).contains("version 2"));
        assert!(refused(r#"{"lull":1,"request":"dance"}"#).contains("dance"));
        let no_list = r#"{"lull":1,"request":"add_triggers","triggers":7}"#;
        assert!(refused(no_list).contains("sequence"));
        assert!(refused(r#"{"lull":1,"request":"remove_triggers","numbers":[-1]}"#).contains("-1"));
        for text in ["", "{}", "[1]", r#"{"lull":-1}"#, r#"{"lull":1}"#, "\0\u{ff}"] {
            assert!(refused(text).contains("no JSON of the control interface"), "{text}");
        }
        let deep = "[".repeat(REQUEST_BYTES_MAX);
        assert!(refused(&deep).contains("no JSON"));
        assert!(refused(&" ".repeat(REQUEST_BYTES_MAX + 1)).contains("more than 8192 bytes"));
    }

    #[test]
    fn verdict_that_is_too_long_is_told_by_its_lines_and_then_by_its_trace() {
        let stopped = |lines: usize, verdict: usize| {
            Answer::Stopped(Box::new(Stopped {
                trace: "/t".into(),
                status: 3,
                lines: vec!["x".repeat(100); lines],
                verdict: "x".repeat(verdict).into(),
            }))
        };
        let read = |answer: Answer| {
            let bytes = answer.bytes();
            assert!(bytes.len() <= ANSWER_BYTES_MAX);
            match parse_answer(&bytes).unwrap() {
                Answer::Stopped(stopped) => stopped,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read(stopped(2, 10)).verdict, "xxxxxxxxxx");
        let without = read(stopped(2, ANSWER_BYTES_MAX));
        assert!(without.verdict.is_null() && without.lines.len() == 2);
        let least = read(stopped(ANSWER_BYTES_MAX / 100, 10));
        assert!(least.lines[0].contains("lull report /t") && least.status == 3);
    }
}
