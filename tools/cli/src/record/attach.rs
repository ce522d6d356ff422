// SPDX-License-Identifier: MIT
//! Recording programs that run already: `lull record -p`, `--comm`, `--all-mine`, `lull attach`.
//!
//! Place in the flow: after the session is made, in place of starting a program, or when the
//! recorder is asked to (`members`); and before the trace is completed. One thread of each process
//! is made to load liblull, to lead the calls of the program's objects to it, and to join the
//! session; in the end, to undo that (docs/design/91-attach.md). Nothing is done to a process that
//! cannot do all of it.

mod process;
mod several;
mod targets;

pub use process::{incarnation, join_beside, poll, Failure, Incarnation, Polled, PATIENCE};
pub use several::{join_all, leave_all, Joining, Leaving, Place, Several};
pub use targets::{name_of, Target, TargetArgs};

use super::plan::Plan;
use super::Job;
use crate::say;
use consumer::process::segments as attached;
use control::{Member, Members, Refusal};
use process::Attached;
use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};
use verdict::shown::shown;
use verdict::text::plural;
use verdict::{NotRecorded, Verdict};

/// How often it is looked whether any of the processes still runs.
pub const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// The processes that take part because they were asked to.
pub struct Attachment {
    /// Directories of the sessions that they join together.
    sessions: Vec<CString>,
    attached: Vec<Attached>,
    /// Who has ever joined, and who was asked to leave.
    joined: Occasions,
    left: Occasions,
    refused: Vec<NotRecorded>,
    /// What could not be undone, in sentences.
    warnings: Vec<String>,
    looked: Instant,
    /// The recording is of them alone, and ends with the last of them.
    is_all: bool,
}

impl Attachment {
    pub fn new(sessions: Vec<CString>, is_all: bool) -> Self {
        Self {
            sessions,
            attached: Vec::new(),
            joined: Occasions::default(),
            left: Occasions::default(),
            refused: Vec::new(),
            warnings: Vec::new(),
            looked: Instant::now(),
            is_all,
        }
    }

    /// Has the processes join a session that run already, if any shall. Fails where none of them
    /// did.
    pub fn begin(job: &Job, plan: &Plan, directories: &OsStr) -> anyhow::Result<Option<Self>> {
        let Some(loaded) = plan.loaded.as_ref().filter(|_| !job.targets.is_empty()) else {
            return Ok(None);
        };
        let is_quiet = job.session.quiet;
        let mut attachment = Self::new(names_of_sessions(directories)?, true);
        for target in job.targets {
            match Attached::join(target, loaded.liblull(), &attachment.sessions, PATIENCE) {
                Ok(attached) => {
                    if !is_quiet {
                        say(&member_line(&member(&attached), true));
                    }
                    attachment.add(attached);
                }
                // A program that was looked for by its name may have ended since.
                Err(Failure { is_moot: true, .. }) if !target.is_named => {}
                Err(failure) => attachment.refuse(target, &failure, is_quiet),
            }
        }
        if attachment.attached.is_empty() {
            let why = match attachment.refused.first() {
                Some(refused) => format!("{}, pid {}: {}", refused.path, refused.pid, refused.why),
                None => "all of them ended meanwhile".into(),
            };
            anyhow::bail!("no process joined the session: {why}");
        }
        Ok(Some(attachment))
    }

    fn add(&mut self, attached: Attached) {
        if !attached.is_further {
            self.joined.add(attached.identity());
        }
        self.add_found(attached);
    }

    /// Adds a process that nobody named (`system`).
    pub fn add_found(&mut self, attached: Attached) {
        if !self.attached.iter().any(|known| known.is(&attached)) {
            self.attached.push(attached);
        }
    }

    /// Processes leave these sessions with the others, too.
    pub fn leaves_too(&mut self, sessions: &[CString]) {
        self.sessions.extend(sessions.iter().cloned());
    }

    /// Forgets processes that have ended.
    pub fn forget_ended(&mut self) {
        self.attached.retain(Attached::runs);
    }

    /// Adds processes that have joined meanwhile, and tells of all that were asked to.
    pub fn take(&mut self, joined: Vec<Joining>) -> Members {
        let mut members = Members::default();
        for (target, result) in joined {
            match result {
                Ok(attached) => {
                    members.done.push(member(&attached));
                    self.add(attached);
                }
                Err(failure) => {
                    if !failure.is_moot {
                        self.refuse(&target, &failure, true);
                    }
                    members.refused.push(refusal(target, failure));
                }
            }
        }
        members
    }

    /// Forgets processes that have left meanwhile, and tells of all that were asked to.
    pub fn lose(&mut self, left: Vec<Leaving>) -> Members {
        let mut members = Members::default();
        for (target, result) in left {
            match result {
                Ok(left) => {
                    let known = self.attached.iter().find(|attached| attached.pid == target.pid);
                    self.left.add(known.map_or((target.pid, 0), Attached::identity));
                    self.attached.retain(|attached| attached.pid != target.pid);
                    members.done.push(Member {
                        pid: target.pid,
                        name: target.name,
                        held_ns: nanoseconds(left.held),
                        calls: left.restored,
                        kept: left.kept,
                    });
                }
                Err(failure) => members.refused.push(refusal(target, failure)),
            }
        }
        members
    }

    fn refuse(&mut self, target: &Target, failure: &Failure, is_quiet: bool) {
        let path = shown(&target.name).into_owned();
        if !is_quiet {
            say(&format!("{path} ({}) is not recorded: {}", target.pid, failure.why));
        }
        self.refused.push(NotRecorded { path, pid: target.pid, why: failure.why.clone() });
    }

    /// Whether the recording is of these processes alone, and none of them runs any more. Looks now
    /// and then only.
    pub fn is_over(&mut self) -> bool {
        if !self.is_all || self.looked.elapsed() < LOOK_PERIOD {
            return false;
        }
        self.looked = Instant::now();
        self.attached.iter().all(|process| !process.runs())
    }

    /// Has all processes leave the session, and those that they forked meanwhile. Programs that
    /// were started in it are among the latter here, and leave for good when it has ended.
    pub fn end(&mut self, segments: &[i32]) {
        const LIMIT: Duration = Duration::from_secs(30);
        const OTHERS_LIMIT: Duration = Duration::from_secs(5);
        let joined: HashSet<u32> = self.attached.iter().map(|process| process.pid).collect();
        let mut left_out_count = 0;
        let mut leave_all = |pids: &mut dyn Iterator<Item = u32>, limit: Duration| {
            let begun = Instant::now();
            pids.for_each(|pid| match begun.elapsed() < limit {
                true => self.leave(pid),
                false => left_out_count += 1,
            });
        };
        leave_all(&mut joined.iter().copied(), LIMIT);
        leave_all(&mut members(segments).filter(|pid| !joined.contains(pid)), OTHERS_LIMIT);
        if left_out_count > 0 {
            let others = plural(left_out_count, "process");
            self.warnings.push(format!(
                "{others} may still have liblull: asking the processes before took too long"
            ));
        }
    }

    fn leave(&mut self, pid: u32) {
        let why = match process::leave(pid, &self.sessions) {
            Ok(left) => left.kept,
            Err(failure) => Some(failure.why).filter(|_| !failure.is_moot),
        };
        let told = why.map(|why| format!("process {pid} still has liblull: {why}"));
        self.warnings.extend(told);
    }

    /// What the trace cannot have, because the programs ran before it began.
    pub fn judge(&self, verdict: &mut Verdict) {
        verdict.not_recorded.extend(self.refused.iter().cloned());
        if self.joined.times > 0 {
            verdict.limits.push(format!(
                "from when {}: what the programs did before is not in the trace, nor what \
                 they call by addresses that they had looked up by then, nor the programs that \
                 they execute",
                self.joined.text("joined")
            ));
        }
        if self.left.times > 0 {
            verdict.limits.push(format!(
                "until when {}, as they were asked to: what the programs did then is not in \
                 the trace",
                self.left.text("left")
            ));
        }
        verdict.notes.extend(self.warnings.iter().cloned());
    }
}

/// Processes that did something, and how often they did: each time was a request of its own.
#[derive(Default)]
struct Occasions {
    processes: HashSet<(u32, u64)>,
    times: u64,
}

impl Occasions {
    fn add(&mut self, process: (u32, u64)) {
        self.processes.insert(process);
        self.times += 1;
    }

    fn text(&self, did: &str) -> String {
        let count = self.processes.len() as u64;
        let mut text = format!("{} {did}", plural(count, "running process"));
        if self.times > count {
            text += &format!(", {} times in all", self.times);
        }
        text
    }
}

/// How directories of sessions, with colons between them, are named to liblull.
pub fn names_of_sessions(directories: &OsStr) -> anyhow::Result<Vec<CString>> {
    let each = directories.as_bytes().split(|byte| *byte == b':').map(CString::new);
    Ok(each.collect::<Result<_, _>>()?)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn member(attached: &Attached) -> Member {
    Member {
        pid: attached.pid,
        name: attached.name.clone(),
        held_ns: nanoseconds(attached.held),
        calls: attached.redirected,
        kept: None,
    }
}

fn refusal(target: Target, failure: Failure) -> Refusal {
    let Failure { why, is_moot, .. } = failure;
    Refusal { pid: target.pid, name: target.name, why, is_moot }
}

/// What became of a process that has joined, or left, for people.
pub fn member_line(member: &Member, is_join: bool) -> String {
    let Member { pid, calls, .. } = member;
    let (name, held_ms) = (shown(&member.name), member.held_ns as f64 / 1e6);
    let (has, calls_are) = match is_join {
        true => ("joined", "are led to liblull"),
        false => ("left", "were put back"),
    };
    let told = format!("{name} ({pid}) {has}; one of its threads was stopped for {held_ms:.1} ms");
    match &member.kept {
        None => format!("{told}, {calls} of its calls {calls_are}"),
        Some(why) => format!("{told}; its calls lead to liblull still: {}", shown(why)),
    }
}

/// Processes that have memory of the session, but for this one.
pub fn members(segments: &[i32]) -> impl Iterator<Item = u32> + '_ {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = pids.filter(|pid| *pid != std::process::id());
    others.filter(|pid| attached(*pid).iter().any(|id| segments.contains(id)))
}
