// SPDX-License-Identifier: MIT
//! Telling the verdict: lines for people or one line of JSON, always on standard error, for
//! standard output is the program's.

use super::Job;
use crate::recover::{elsewhere, is_gone};
use crate::shown::json_shown;
use crate::{say, say_line};
use session::directory::LeftBehind;
use std::path::Path;
use verdict::text::plural;
use verdict::Verdict;

pub fn tell(job: &Job, verdict: &Verdict) {
    if let Some(counting) = &job.counting {
        return counting.borrow_mut().tell(verdict);
    }
    if job.session.quiet {
        return;
    }
    if job.json {
        let text = serde_json::to_string(verdict).unwrap_or_default();
        return say_line(&json_shown(&text));
    }
    for line in verdict.lines() {
        say(&line);
    }
}

/// The status that is ours to give after the program's own.
pub fn status(job: &Job, verdict: &Verdict, program_status: i32) -> i32 {
    if job.session.fail_on_loss && verdict.has_loss() {
        super::LOST
    } else {
        program_status
    }
}

/// Says which sessions killed recorders left behind: what they hold may be in no trace, so they
/// stay until the user recovers or discards them.
pub fn left_behind(is_quiet: bool) {
    let left = session::directory::left_behind();
    if is_quiet || left.is_empty() {
        return;
    }
    let sessions = plural(left.len() as u64, "session");
    say(&format!("{sessions} of recorders that were killed, with events that may be in no trace:"));
    list(&left);
}

/// Says of each session what it is.
pub fn list(left: &[LeftBehind]) {
    left.iter().for_each(|left| say(&format!("  {}", left_line(left))));
}

/// Where a session is, what it recorded and into which trace, and what to do with it.
pub fn left_line(left: &LeftBehind) -> String {
    let path = left.path.display();
    let Some(recorder) = &left.recorder else {
        let what = elsewhere(&left.path);
        return format!("{path}, of a recorder that had not started its program ({what})");
    };
    let of = format!("{path}, of {} into {}", recorder.program, recorder.output.display());
    match is_gone(&recorder.output) {
        true => format!("{of}, which is gone ({})", elsewhere(&left.path)),
        false => format!(
            "{of} (`lull recover {path}` adds it to the trace, `lull recover --discard {path}` \
             removes it)"
        ),
    }
}

/// The same of the session in a directory, if its recorder was killed.
pub fn left_line_of(directory: &Path) -> Option<String> {
    let left = session::directory::left_behind();
    left.iter().find(|left| left.path == directory).map(left_line)
}
