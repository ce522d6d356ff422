// SPDX-License-Identifier: MIT
//! The control interface: how a running recorder is asked what it does, paused, resumed, told to
//! write a snapshot, and stopped.
//!
//! Place in the flow: the recorder has a [`Server`] in its session's directory and looks at it
//! between two turns over the rings; `lull status`, `pause`, `stop` and the others [`ask`] it.
//! docs/formats/control.md describes the messages. Whoever can open the socket may be hostile: a
//! message is one packet of a bounded size, the recorder never waits for anyone, and it has a
//! bounded number of callers.

mod client;
mod message;
mod server;

pub use client::{ask, ask_unless};
pub use message::{
    parse_answer, parse_request, Answer, Progress, Request, State, Status, Stopped, System, Trigger,
};
pub use message::{
    Budget, Changed, Did, Member, Members, NewTrigger, PausedFor, Process, Refusal, RemovedTrigger,
    Thinned, TriggersChanged, Unreached, ANSWER_BYTES_MAX, MEMBERS_MAX, PROCESSES_MAX,
    REQUEST_BYTES_MAX, TRIGGERS_MAX, VERSION,
};
pub use server::{Caller, Server, CALLERS_MAX};

/// The socket's name in a session's directory.
pub const SOCKET: &str = "control";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{doing} {path}: {source}")]
    Socket { doing: &'static str, path: String, source: std::io::Error },
    #[error("its recorder has no control socket, or has ended")]
    Gone,
    #[error("its recorder ended before it answered")]
    Ended,
    #[error("its recorder did not answer within {seconds} s; it is stopped, or waits for a disk")]
    Silent { seconds: u64 },
    #[error("its recorder is stopped and does not answer, and what was asked for is not done")]
    Stopped,
    #[error("the message is no JSON of the control interface: {why}")]
    Malformed { why: String },
    #[error("the message has more than {limit} bytes")]
    TooLong { limit: usize },
    #[error(
        "it speaks version {theirs} of the control interface, and this is version {VERSION}; use \
         the same Lull on both sides"
    )]
    Version { theirs: u64 },
}

pub type Result<T> = std::result::Result<T, Error>;
