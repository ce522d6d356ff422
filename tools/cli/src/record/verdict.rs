// SPDX-License-Identifier: MIT
//! Telling the verdict: lines for people or one line of JSON, always on standard error, for
//! standard output is the program's.

use super::RecordArgs;
use crate::say;
use crate::shown::json_shown;
use consumer::verdict::Verdict;
use std::io::Write;

pub fn tell(args: &RecordArgs, verdict: &Verdict) {
    if args.quiet {
        return;
    }
    if args.json {
        let text = serde_json::to_string(verdict).unwrap_or_default();
        let _ = writeln!(std::io::stderr(), "{}", json_shown(&text));
        return;
    }
    for line in verdict.lines() {
        say(&line);
    }
}

/// The status that is ours to give after the program's own.
pub fn status(args: &RecordArgs, verdict: &Verdict, program_status: i32) -> i32 {
    if args.fail_on_loss && verdict.has_loss() {
        super::LOST
    } else {
        program_status
    }
}
