// SPDX-License-Identifier: MIT
//! What the recorder does when it is asked: status, pause, resume, snapshot, stop, and what
//! programs need that are to join.
//!
//! Place in the flow: `supervise` calls this between two turns over the rings, when something came
//! by the control socket (docs/formats/control.md).

use super::supervise::Supervisor;
use super::system::System;
use super::{filtered, fire, tell, Job};
use crate::trigger::Triggers;
use control::{Answer, Caller, PausedFor, Process, Request, State, Status, Stopped, Thinned};
use session::segment;
use std::path::Path;
use verdict::text::short;
use verdict::thinned::{Sampled, Throttled};
use verdict::Verdict;

/// The newest pauses that a status lists.
const PAUSES_MAX: usize = 64;
/// Throttled events that a status lists.
const THROTTLED_MAX: usize = 256;
/// Programs that joined whose events the verdict compares patterns with.
const PROGRAMS_MAX: usize = 64;

impl Supervisor<'_> {
    /// Does what was asked for. Return: whether the session is to end.
    pub(super) fn serve(&mut self) -> bool {
        for (caller, pid, request) in self.control.take() {
            // Whoever gave up was told so, and does not expect a change any more.
            if self.control.has_left(caller) {
                continue;
            }
            let answer = match request {
                Request::Status => Answer::Status(Box::new(self.status())),
                Request::Pause => done(self.consumer.pause_probes()),
                Request::Resume => done(self.consumer.resume_probes()),
                Request::Snapshot => self.snapshot_for_caller(),
                Request::Environment => self.environment(),
                Request::Expect { program } => self.expect(pid, &program),
                Request::Change { is_enable, patterns } => {
                    self.change(caller, is_enable, &patterns);
                    continue;
                }
                Request::Members { is_join, pids } => {
                    self.members(caller, is_join, pids);
                    continue;
                }
                Request::AddTriggers { triggers } => {
                    self.add_triggers(caller, triggers);
                    continue;
                }
                Request::RemoveTriggers { numbers } => {
                    self.remove_triggers(caller, &numbers);
                    continue;
                }
                Request::Stop => {
                    self.stoppers.push((caller, pid));
                    continue;
                }
            };
            self.control.answer(caller, &answer);
        }
        !self.stoppers.is_empty()
    }

    fn snapshot_for_caller(&mut self) -> Answer {
        if !self.job.session.flight_recorder {
            let why = "it is no flight recorder: begin it with --flight-recorder";
            return Answer::Refused { why: why.into() };
        }
        match self.snapshot() {
            Ok(Verdict { trace, missing, .. }) => {
                Answer::Snapshot { trace: trace.display().to_string(), missing }
            }
            Err(error) => Answer::Refused { why: format!("the snapshot failed: {error}") },
        }
    }

    fn environment(&self) -> Answer {
        match &self.loaded {
            Some(loaded) if self.consumer.is_active() => Answer::Environment {
                preload: loaded.preload().iter().map(|path| path.display().to_string()).collect(),
                beside: fire::beside(self.triggers.as_ref()),
            },
            Some(_) => refused("it has the size that --max-size allows, and records nothing more"),
            None => refused("it records the kernel only; begin one with `lull start -k`"),
        }
    }

    /// Notes that a process is about to become a program of the session's.
    fn expect(&mut self, pid: u32, program: &str) -> Answer {
        if self.loaded.is_none() {
            return refused("it records the kernel only");
        }
        self.consumer.expect_from_now(pid, program);
        let program = Path::new(program).to_path_buf();
        if self.programs.len() < PROGRAMS_MAX && !self.programs.contains(&program) {
            self.programs.push(program);
        }
        Answer::Done
    }

    fn status(&self) -> Status {
        let (consumer, recorder) = (&self.consumer, &self.recorder);
        let now = consumer.progress();
        let mut processes = consumer.processes();
        let recorded = processes.len() as u64;
        if processes.len() > control::PROCESSES_MAX {
            processes.sort_by_cached_key(|process| !is_there(process.pid));
            processes.truncate(control::PROCESSES_MAX);
        }
        let attached = |id: i32| segment::status(id).map_or(0, |found| found.attached);
        // Less one each, which is this process's.
        let attached = consumer.segments().into_iter().map(|id| attached(id).saturating_sub(1));
        let paused = |pause: &verdict::Pause| PausedFor {
            begin_ns: pause.begin.1,
            until_ns: pause.until.map(|until| until.1),
        };
        let pauses_more = consumer.pauses().len().saturating_sub(PAUSES_MAX);
        Status {
            name: recorder.name.clone(),
            state: match (consumer.is_active(), consumer.is_paused()) {
                (false, _) => State::Ended,
                (true, true) => State::Paused,
                (true, false) => State::Recording,
            },
            pid: recorder.pid,
            background: self.is_background,
            program: self.job.program.first().map(|name| name.to_string_lossy().into()),
            program_pid: self.child.as_ref().map(super::launch::Child::id),
            output: recorder.output.display().to_string(),
            mode: if recorder.flight_recorder { "flight recorder" } else { "discard" }.into(),
            kernel: self.job.session.kernel,
            patterns: self.patterns.text().into(),
            started: self.started.clone(),
            age_ns: u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
            progress: control::Progress { events: now.events, bytes: now.bytes, lost: now.lost },
            attached: attached.sum(),
            recorded,
            processes: processes
                .into_iter()
                .map(|of| Process { pid: of.pid, threads: of.threads, name: of.name() })
                .collect(),
            pauses: consumer.pauses()[pauses_more..].iter().map(paused).collect(),
            pauses_more: pauses_more as u64,
            snapshots: self.snapshots,
            buffer_bytes: self.session.memory.buffer_bytes(),
            sampled: filtered::sampled(&self.asked)
                .into_iter()
                .map(|Sampled { event, one_in, .. }| Thinned { event, one_in })
                .collect(),
            budget: self.budget(),
            triggers: self.triggers.as_ref().map_or_else(Vec::new, Triggers::status),
            takes_triggers: true,
            system: self.system.as_ref().map(System::status),
        }
    }
}

impl Supervisor<'_> {
    fn budget(&self) -> Option<control::Budget> {
        let budget = self.consumer.budget()?;
        let (throttles, _) = self.consumer.throttles();
        let now = throttles.iter().filter(|throttled| throttled.until.is_none());
        let thinned = |of: &Throttled| Thinned { event: of.event.clone(), one_in: of.one_in };
        Some(control::Budget {
            budget_ppm: budget.ppm().into(),
            cost_ppm: budget.last.ppm(),
            total_cost_ppm: budget.all.ppm(),
            event_ps: budget.event_ps(),
            throttled: now.take(THROTTLED_MAX).map(thinned).collect(),
        })
    }
}

/// Whether a process has that number now. Events say the numbers, so they can be any.
fn is_there(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 0) else { return false };
    // SAFETY: signal 0 is sent to nobody.
    let sent = unsafe { libc::kill(pid, 0) };
    sent == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

fn refused(why: &str) -> Answer {
    Answer::Refused { why: why.into() }
}

fn done(result: Result<(), consumer::consumer::PauseError>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(error) => Answer::Refused { why: error.to_string() },
    }
}

/// Answers all who wait for an end that failed.
pub(super) fn tell_failure(
    control: &mut control::Server,
    stoppers: &[(Caller, u32)],
    error: &anyhow::Error,
) {
    for (caller, _) in stoppers {
        control.answer(
            *caller,
            &refused(&format!("its trace could not be finished: {}", crate::told(error))),
        );
    }
}

/// Answers all who wait for the end, and all who asked for something else too late.
pub(super) fn tell_end(
    control: &mut control::Server,
    stoppers: &[(Caller, u32)],
    verdict: &Verdict,
    job: &Job,
) {
    let counted = job.counting.as_ref().map(|counting| counting.borrow().told());
    let stopped = Answer::Stopped(Box::new(Stopped {
        trace: verdict.trace.display().to_string(),
        status: tell::status(job, verdict, i32::from(verdict.has_loss())),
        lines: counted.unwrap_or_else(|| verdict.lines_at(&verdict.trace)),
        verdict: serde_json::to_value(verdict).unwrap_or_default(),
    }));
    for (caller, _) in stoppers {
        control.answer(*caller, &stopped);
    }
    // Bound: the callers that came before the session's directory was removed.
    for _ in 0..control::CALLERS_MAX {
        for (caller, _, request) in control.take() {
            match request {
                Request::Stop => control.answer(caller, &stopped),
                _ => control.answer(caller, &refused("it has just ended")),
            }
        }
    }
}

/// The path of a snapshot, for a person who reads the recorder's own messages.
pub(super) fn snapshot_line(path: &Path) -> String {
    format!("snapshot: {}", short(path).display())
}
