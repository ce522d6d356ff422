// SPDX-License-Identifier: MIT
//! `lull sessions`: the user's sessions that run, and those that killed recorders left.
//!
//! Place in the flow: directories say which sessions there are, each recorder says what it has
//! recorded; one that does not answer is listed with what its directory says.

use super::status::age;
use crate::record::tell::left_line;
use crate::report::look::Look;
use crate::report::table::{Kind, Table};
use crate::{say, stdout};
use control::{Answer, Request, Status};
use serde_json::json;
use session::directory::{left_behind, running, Found, LeftBehind};
use std::io::IsTerminal;
use std::time::Duration;
use verdict::text::{bytes, grouped};

/// How long a list waits for each recorder.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than the longest path has.
const COLUMNS_MAX: usize = 1 << 16;

/// List your running sessions, and those that killed recorders left
#[derive(Debug, clap::Args)]
#[command(after_help = "The status is 0 when a session runs, 1 when none does.")]
pub struct SessionsArgs {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// A session as far as it is known.
enum Known {
    Answered(Box<Status>),
    /// The recorder did not answer, for this reason.
    Silent(Found, String),
}

/// Runs the command; the result is the exit status.
pub fn run(args: &SessionsArgs) -> anyhow::Result<i32> {
    let found: Vec<Known> = running().into_iter().filter_map(look).collect();
    let left = left_behind();
    let text = match args.json {
        true => found.iter().map(as_json).chain(left.iter().map(left_json)).collect(),
        false => table(&found),
    };
    stdout::write(&text)?;
    if !args.json {
        for left in &left {
            say(&format!("dead: {}", left_line(left)));
        }
        if found.is_empty() {
            say("no session of yours is running");
        }
    }
    Ok(i32::from(found.is_empty()))
}

/// None where the session has ended meanwhile.
fn look(found: Found) -> Option<Known> {
    match control::ask(&found.path, &Request::Status, Some(PATIENCE)) {
        Ok(Answer::Status(status)) => Some(Known::Answered(status)),
        Ok(_) => Some(Known::Silent(found, "its recorder answered something else".into())),
        Err(_) if !found.path.exists() => None,
        Err(error) => Some(Known::Silent(found, error.to_string())),
    }
}

fn table(found: &[Known]) -> String {
    let mut table = Table::new()
        .column("name", Kind::Text, 0)
        .column("state", Kind::Text, 0)
        .column("age", Kind::Number, 1)
        .column("processes", Kind::Number, 2)
        .column("events", Kind::Number, 1)
        .column("written", Kind::Number, 2)
        .column("lost", Kind::Number, 1)
        .column("mode", Kind::Text, 3)
        .column("trace", Kind::Path, 0);
    for known in found {
        table.row(match known {
            Known::Answered(status) => vec![
                status.name.clone(),
                super::status::state(status.state).into(),
                age(status.age_ns),
                grouped(status.attached),
                grouped(status.progress.events),
                bytes(status.progress.bytes),
                grouped(status.progress.lost),
                super::status::mode(status),
                status.output.clone(),
            ],
            Known::Silent(Found { recorder, .. }, _) => {
                let mut row = vec![recorder.name.clone(), "silent".into()];
                row.resize(8, "?".into());
                row.push(recorder.output.display().to_string());
                row
            }
        });
    }
    let mut text = String::new();
    if !found.is_empty() {
        let mut look = Look::of_stdout(usize::MAX);
        if !std::io::stdout().is_terminal() {
            // Whatever reads it needs whole names.
            look.columns = COLUMNS_MAX;
        }
        table.render(&look, &mut text);
    }
    for known in found {
        if let Known::Silent(found, why) = known {
            let Found { recorder, .. } = found;
            text.push_str(&format!("{} (pid {}): {why}\n", recorder.name, recorder.pid));
        }
    }
    text
}

fn as_json(known: &Known) -> String {
    let object = match known {
        Known::Answered(status) => serde_json::to_value(status).unwrap_or_default(),
        Known::Silent(Found { recorder, path }, why) => json!({
            "name": recorder.name,
            "state": "silent",
            "why": why,
            "pid": recorder.pid,
            "program": recorder.program,
            "output": recorder.output.to_string_lossy(),
            "directory": path.to_string_lossy(),
        }),
    };
    format!("{object}\n")
}

fn left_json(left: &LeftBehind) -> String {
    let recorder = left.recorder.as_ref();
    let object = json!({
        "name": recorder.map(|recorder| recorder.name.clone()),
        "state": "dead",
        "program": recorder.map(|recorder| recorder.program.clone()),
        "output": recorder.map(|recorder| recorder.output.to_string_lossy().into_owned()),
        "directory": left.path.to_string_lossy(),
    });
    format!("{object}\n")
}
