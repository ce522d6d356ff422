// SPDX-License-Identifier: MIT
//! Several processes that are to join, or to leave, one after the other, within a limit.
//!
//! Place in the flow: a thread of the recorder's own calls this (`reach`), for a request that names
//! the processes.

use super::process::{leave, Attached, Failure, Left};
use super::targets::name_of;
use super::Target;
use consumer::process::attaches;
use std::ffi::CString;
use std::path::Path;
use std::time::{Duration, Instant};

/// What became of a process that was asked to join.
pub type Joining = (Target, Result<Attached, Failure>);
/// What became of a process that was asked to leave.
pub type Leaving = (Target, Result<Left, Failure>);

/// Who is asked, of which sessions, and how long that may take.
pub struct Several<'a> {
    pub pids: Vec<u32>,
    pub segments: &'a [i32],
    pub sessions: &'a [CString],
    pub limit: Duration,
    /// How long one of them may go on with what it does.
    pub patience: Duration,
    /// Whether to ask no more of them.
    pub is_over: &'a dyn Fn() -> bool,
}

pub fn join_all(several: &Several, library: &Path) -> Vec<Joining> {
    each(several, |target, is_member| match is_member {
        true => Err(moot("it takes part already".into())),
        false => Attached::join(target, library, several.sessions, several.patience),
    })
}

pub fn leave_all(several: &Several) -> Vec<Leaving> {
    each(several, |target, is_member| match is_member {
        true => leave(target.pid, several.sessions),
        false => Err(moot("it does not take part".into())),
    })
}

fn each<T>(
    several: &Several,
    ask: impl Fn(&Target, bool) -> Result<T, Failure>,
) -> Vec<(Target, Result<T, Failure>)> {
    let begun = Instant::now();
    let mut asked: Vec<(Target, Result<T, Failure>)> = Vec::new();
    for pid in &several.pids {
        if asked.iter().any(|(target, _)| target.pid == *pid) {
            continue;
        }
        let name = name_of(*pid);
        let is_there = name.is_some();
        let name = name.unwrap_or_else(|| "process".into());
        let target = Target { pid: *pid, name, is_named: true };
        let result = if (several.is_over)() {
            Err(Failure::from("the session has ended"))
        } else if begun.elapsed() > several.limit {
            let why = format!("the others took {} s", begun.elapsed().as_secs());
            Err(Failure { why, is_moot: false })
        } else if is_there {
            ask(&target, several.segments.iter().any(|id| attaches(*pid, *id)))
        } else {
            Err(moot(format!("there is no process {pid}")))
        };
        asked.push((target, result));
    }
    asked
}

pub fn moot(why: String) -> Failure {
    Failure { why, is_moot: true }
}
