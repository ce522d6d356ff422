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

/// What a recorder is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    Status,
    Pause,
    Resume,
    Snapshot,
    /// To end the session; the answer comes when the trace is whole.
    Stop,
    /// What a program's environment has to have, so that it takes part.
    Environment,
    /// Tells that the caller, whose process this is, is about to become a program that takes part.
    Expect {
        program: String,
    },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Done,
    Status(Box<Status>),
    Snapshot {
        trace: String,
    },
    /// Libraries to preload, in this order.
    Environment {
        preload: Vec<String>,
    },
    Stopped(Box<Stopped>),
    /// It was not done.
    Refused {
        why: String,
    },
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    pub threads: u64,
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
    /// The first of these, by number.
    pub processes: Vec<Process>,
    pub pauses: Vec<PausedFor>,
    /// Pauses before those that are listed.
    pub pauses_more: u64,
    pub snapshots: u64,
    pub buffer_bytes: u64,
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
        for request in requests {
            assert_eq!(parse_request(&request.bytes()).unwrap(), request);
        }
        assert_eq!(Request::Stop.bytes(), br#"{"lull":1,"request":"stop"}"#);
        let refused = Answer::Refused { why: "no".into() };
        assert_eq!(parse_answer(&refused.bytes()).unwrap(), refused);
    }

    #[test]
    fn other_versions_and_other_texts_are_refused_for_what_they_are() {
        let refused = |text: &str| parse_request(text.as_bytes()).unwrap_err().to_string();
        assert!(refused(r#"{"lull":2,"request":"dance"}"#).contains("version 2"));
        assert!(refused(r#"{"lull":1,"request":"dance"}"#).contains("dance"));
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
