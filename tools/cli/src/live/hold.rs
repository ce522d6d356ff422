// SPDX-License-Identifier: MIT
//! `lull pause`, `lull resume` and `lull snapshot`.
//!
//! Place in the flow: one request each; the trace says from when to when it was paused.

use super::find::find;
use super::{ask, confused, PATIENCE, SNAPSHOT_PATIENCE};
use crate::shown::shown;
use crate::{say, stdout};
use control::{Answer, Request};

/// Record nothing in a running session, until `lull resume`
#[derive(Debug, clap::Args)]
#[command(after_help = "All programs of the session, and with -k the kernel, stop recording at \
    once and go on. The trace says from when to when nothing was recorded.")]
pub struct PauseArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

/// Record again in a session that `lull pause` paused
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

/// Write what a running flight recorder holds, and print where
#[derive(Debug, clap::Args)]
#[command(after_help = "The status is 0, or 1 when the snapshot lacks events that the flight \
    recorder held, as on a full disk.")]
pub struct SnapshotArgs {
    /// The flight recorder: its session's name, its process, its program's process, or its output
    /// directory [default: the only session]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

pub fn pause(args: &PauseArgs) -> anyhow::Result<i32> {
    switch(args.session.as_deref(), &Request::Pause)
}

pub fn resume(args: &ResumeArgs) -> anyhow::Result<i32> {
    switch(args.session.as_deref(), &Request::Resume)
}

fn switch(wanted: Option<&str>, request: &Request) -> anyhow::Result<i32> {
    let Some(found) = find(wanted)? else {
        say("no session of yours is running");
        return Ok(1);
    };
    match ask(&found, request, Some(PATIENCE))? {
        Answer::Done => Ok(0),
        _ => confused(&found),
    }
}

pub fn snapshot(args: &SnapshotArgs) -> anyhow::Result<i32> {
    let Some(found) = find(args.session.as_deref())? else {
        say("no flight recorder of yours is running");
        return Ok(1);
    };
    match ask(&found, &Request::Snapshot, Some(SNAPSHOT_PATIENCE))? {
        Answer::Snapshot { trace, missing } => {
            stdout::write(&format!("{trace}\n"))?;
            missing.iter().for_each(|missing| say(&format!("it lacks: {}", shown(missing))));
            Ok(i32::from(!missing.is_empty()))
        }
        _ => confused(&found),
    }
}
