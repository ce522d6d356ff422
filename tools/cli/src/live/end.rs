// SPDX-License-Identifier: MIT
//! `lull stop`: end a session, and say what its trace is worth.
//!
//! Place in the flow: the recorder answers when the trace is whole and the session is gone, with
//! the verdict and the status that `lull record` would have ended with.

use super::find::find;
use super::{ask, confused};
use crate::shown::json_shown;
use crate::{say, stdout};
use control::{Answer, Request};
use session::directory::{running, Found};
use std::path::Path;
use verdict::text::short;

/// End a running session, wait until its trace is whole, and print the verdict
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The status is that of `lull report` of the trace: 0, or 1 when events were \
    lost, processes not recorded, or nothing matched, which is 124 when the session was begun with \
    --fail-on-loss; 1, too, when no session runs and none was named; 2 on an error, such as a name \
    that no session has. Programs of the session go on, and are no longer recorded. Of a \
    `lull record`, the recording ends, and the command goes on with its program."
)]
pub struct StopArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    pub session: Option<String>,

    /// End all sessions of yours
    #[arg(long)]
    pub all: bool,

    /// Print the verdict as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &StopArgs) -> anyhow::Result<i32> {
    let sessions = match args.all {
        true => running(),
        false => find(args.session.as_deref())?.into_iter().collect(),
    };
    if sessions.is_empty() {
        say("no session of yours is running");
        return Ok(1);
    }
    let mut status = 0;
    for found in &sessions {
        // With --all, one that cannot be stopped leaves the others to be stopped.
        status = status.max(match stop(found, args.json) {
            Err(error) if args.all => {
                crate::say_error(&error);
                2
            }
            other => other?,
        });
    }
    Ok(status)
}

fn stop(found: &Found, json: bool) -> anyhow::Result<i32> {
    // However long the disk takes: only the recorder's end ends the wait.
    let Answer::Stopped(stopped) = ask(found, &Request::Stop, None)? else {
        return confused(found);
    };
    if json {
        stdout::write(&format!("{}\n", json_shown(&stopped.verdict.to_string())))?;
        return Ok(stopped.status);
    }
    let nearer = short(Path::new(&stopped.trace)).display().to_string();
    for line in &stopped.lines {
        say(&line.replace(&stopped.trace, &nearer));
    }
    Ok(stopped.status)
}
