// SPDX-License-Identifier: MIT
//! Sessions that live on without a terminal: the commands that begin one, put programs into it,
//! look at it, hold it and end it.
//!
//! Place in the flow: `start` makes a recorder as `record` does (`record::supervise`); all others
//! find the recorder of a session (`find`) and ask it by its control socket (crate `control`).

pub mod attach;
pub mod change;
pub mod end;
pub mod find;
pub mod hold;
pub mod join;
pub mod sessions;
pub mod start;
pub mod status;
pub mod triggers;

use crate::record::tell::left_line_of;
use anyhow::{bail, Context};
use consumer::process::thread_is_stopped;
use control::{Answer, Request};
use session::directory::Found;
use std::time::Duration;

/// How long a recorder may take to answer what costs it next to nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to write a snapshot.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(60);

/// Asks the recorder of a session; what it refuses is an error.
fn ask(found: &Found, request: &Request, patience: Option<Duration>) -> anyhow::Result<Answer> {
    let (name, pid) = (&found.recorder.name, found.recorder.pid);
    match control::ask_unless(&found.path, request, patience, &|| thread_is_stopped(pid)) {
        Ok(Answer::Refused { why }) => bail!("session {name}: {why}"),
        Err(error @ control::Error::Silent { .. }) => bail!(
            "session {name}: {error}; unless it has begun already, what was asked for is not done"
        ),
        Err(error @ control::Error::Stopped) => {
            bail!("session {name}: {error}; `kill -CONT {pid}` has it go on")
        }
        Err(error @ (control::Error::Gone | control::Error::Ended)) => {
            let left = left_line_of(&found.path).map(|line| format!(": {line}"));
            bail!("session {name}: {error}{}", left.unwrap_or_default())
        }
        other => other.with_context(|| format!("session {name}")),
    }
}

/// The answer is not one to the request: the recorder is broken.
fn confused<T>(found: &Found) -> anyhow::Result<T> {
    bail!("session {}: its recorder answered something else", found.recorder.name)
}
