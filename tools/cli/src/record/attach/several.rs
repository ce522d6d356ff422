// SPDX-License-Identifier: MIT
//! Several processes that are to join, or to leave, one after the other, within a limit.
//!
//! Place in the flow: a thread of the recorder's own calls this (`reach`), for a request that names
//! the processes.

use super::process::{leave, Attached, Failure, Left};
use super::targets::name_of;
use super::Target;
use consumer::process::segments as attached;
use std::ffi::CString;
use std::path::Path;
use std::time::{Duration, Instant};

/// What became of a process that was asked to join.
pub type Joining = (Target, Result<Attached, Failure>);
/// What became of a process that was asked to leave.
pub type Leaving = (Target, Result<Left, Failure>);

/// A session that processes join, or leave, with others.
#[derive(Debug, Clone)]
pub struct Place {
    pub directory: CString,
    /// Its memory, by which it is seen which processes are in it.
    pub segments: Vec<i32>,
}

impl Place {
    /// Whether a process that has these segments is in it.
    pub fn has(&self, attached: &[i32]) -> bool {
        attached.iter().any(|id| self.segments.contains(id))
    }
}

/// Who is asked, of which sessions, and how long that may take.
pub struct Several<'a> {
    pub pids: Vec<u32>,
    pub places: &'a [Place],
    pub limit: Duration,
    /// How long one of them may go on with what it does.
    pub patience: Duration,
    /// Whether to ask no more of them.
    pub is_over: &'a dyn Fn() -> bool,
}

/// Has them join those of the sessions in which they are not.
pub fn join_all(several: &Several, library: &Path) -> Vec<Joining> {
    each(several, |target, lacking, count| match lacking.len() {
        0 => Err(Failure::moot("it takes part already".into())),
        _ => {
            let joined = Attached::join(target, library, lacking, several.patience);
            joined.map(|attached| attached.further(lacking.len() < count))
        }
    })
}

pub fn leave_all(several: &Several) -> Vec<Leaving> {
    let sessions: Vec<CString> = several.places.iter().map(|one| one.directory.clone()).collect();
    each(several, |target, lacking, count| match lacking.len() < count {
        true => leave(target.pid, &sessions),
        false => Err(Failure::moot("it does not take part".into())),
    })
}

/// `ask` is told the sessions in which a process is not, and how many there are.
fn each<T>(
    several: &Several,
    ask: impl Fn(&Target, &[CString], usize) -> Result<T, Failure>,
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
            Err(Failure::from(why.as_str()))
        } else if is_there {
            let attached = attached(*pid);
            let lacking = several.places.iter().filter(|place| !place.has(&attached));
            let lacking: Vec<CString> = lacking.map(|place| place.directory.clone()).collect();
            ask(&target, &lacking, several.places.len())
        } else {
            Err(Failure::moot(format!("there is no process {pid}")))
        };
        asked.push((target, result));
    }
    asked
}
