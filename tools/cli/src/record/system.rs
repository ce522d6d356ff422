// SPDX-License-Identifier: MIT
//! A session of the whole machine: every process that carries events which are asked for joins it,
//! whoever's it is, those that run and those that begin (O 5; docs/design/95-system.md).
//!
//! Place in the flow: `supervise` calls this in each turn. The kernel tells which programs begin
//! (`births`), threads look at processes (`look`) and have them join (`attach`), so that a turn
//! takes no longer for it; `queue` has what waits. Where there are triggers, a process joins the
//! session and its companion, each of which has memory for its user by then.

mod births;
mod look;
mod queue;
mod tally;

use super::asked::Asked;
use super::attach::{self, incarnation, Attachment, Incarnation, Joining, Place, Several};
use super::plan::{Loaded, Plan};
use super::reach::Reaching;
use super::supervise::Supervisor;
use super::Job;
use crate::record::attach::Target;
use crate::trigger::Triggers;
use births::{Birth, Births};
use look::{Looker, Seen};
use queue::{Candidate, Queue, Watch};
use session::pattern::Patterns;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;

/// How often all processes are looked at: for what they load later, and where the kernel does not
/// tell of programs that begin.
const ALL_PERIOD: Duration = Duration::from_secs(30);
const ALL_PERIOD_UNTOLD: Duration = Duration::from_secs(5);
/// How soon they are where something was missed.
const SOON: Duration = Duration::from_secs(1);
/// What has begun is taken at most so often, however much begins.
const BIRTHS_PERIOD: Duration = Duration::from_millis(1);
/// How often a turn looks whether threads are done.
const DONE_PERIOD: Duration = Duration::from_millis(1);
/// Processes of one look.
const LOOKS_MAX: usize = 256;
/// How long one process may take to join, and those that are asked together.
const PATIENCE: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(4);
/// How often a process is asked that does not join.
const ATTEMPTS_MAX: u32 = 3;

/// A process that did not join.
struct Refused {
    incarnation: Option<Incarnation>,
    attempts: u32,
    name: String,
    why: String,
    /// It is in the session, and did not join what is beside it.
    is_member: bool,
}

/// What is under way beside the session.
pub struct System {
    births: Result<Births, std::io::Error>,
    births_taken: Instant,
    queue: Queue,
    looker: Arc<Looker>,
    looking: Option<Reaching<Vec<(Watch, Seen)>>>,
    joining: Option<(Vec<Candidate>, Reaching<Vec<Joining>>)>,
    /// When all processes are looked at.
    all_at: Instant,
    refused: HashMap<u32, Refused>,
    tally: Tally,
}

/// Whether this process may have all of the machine's join.
pub fn check() -> anyhow::Result<()> {
    if crate::owner::me() != 0 {
        anyhow::bail!(
            "--system: only root can reach into the programs of all users; run it as root \
             (sudo lull start --system)"
        );
    }
    if !look::is_allowed() {
        anyhow::bail!(
            "--system: the kernel does not show what the processes have loaded \
             (/proc/PID/map_files); give us CAP_SYS_ADMIN, or run lull outside the container"
        );
    }
    Ok(())
}

/// Whether the kernel tells this process of programs that begin.
pub fn tells_of_births() -> std::io::Result<()> {
    Births::open().map(drop)
}

impl System {
    /// Has those processes join that were named, or will have those that are found.
    pub fn begin(
        job: &Job,
        plan: &Plan,
        directories: &OsStr,
        triggers: Option<&Triggers>,
    ) -> anyhow::Result<(Option<Attachment>, Option<Self>)> {
        if !job.is_system {
            return Ok((Attachment::begin(job, plan, directories)?, None));
        }
        let attachment = Attachment::new(attach::names_of_sessions(directories)?, false);
        Ok((Some(attachment), Some(Self::new(plan, triggers))))
    }

    fn new(plan: &Plan, triggers: Option<&Triggers>) -> Self {
        let now = Instant::now();
        let beside = triggers.and_then(Triggers::sought).cloned();
        let looker = looker(&plan.patterns, &plan.asked, beside, plan.loaded.as_ref());
        Self {
            births: Births::open(),
            births_taken: now,
            queue: Queue::default(),
            looker: Arc::new(looker),
            looking: None,
            joining: None,
            all_at: now,
            refused: HashMap::new(),
            tally: Tally::default(),
        }
    }

    /// Some process is not where it should be.
    pub fn look_at_all_soon(&mut self) {
        self.all_at = self.all_at.min(Instant::now() + SOON);
    }

    /// What to wait for, unless it was taken just now.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let births = self.births.as_ref().ok()?;
        (self.births_taken.elapsed() >= BIRTHS_PERIOD).then(|| births.descriptor())
    }

    fn take_births(&mut self, now: Instant) {
        let Ok(births) = &self.births else { return };
        if now.duration_since(self.births_taken) < BIRTHS_PERIOD {
            return;
        }
        self.births_taken = now;
        let mut told = Vec::new();
        if !births.take(&mut told) {
            self.tally.overflows += 1;
            self.all_at = now;
        }
        for birth in told {
            match birth {
                Birth::Exec { pid, at_ns } => {
                    self.forget(pid);
                    self.queue.begin(pid, Some(at_ns), now);
                }
                // What its parent is about to join, the child does not.
                Birth::Fork { parent, child } if self.is_under_way(parent) => {
                    self.queue.begin(child, None, now);
                }
                Birth::Fork { .. } => {}
            }
        }
        if std::mem::take(&mut self.queue.dropped) > 0 {
            self.tally.overflows += 1;
            self.look_at_all_soon();
        }
    }

    fn is_under_way(&self, pid: u32) -> bool {
        let joining = self.joining.iter().flat_map(|(candidates, _)| candidates);
        self.queue.is_watched(pid)
            || self.queue.is_waiting(pid)
            || joining.into_iter().any(|candidate| candidate.target.pid == pid)
    }

    /// A process that did not join has ended, or has become another program.
    fn forget(&mut self, pid: u32) {
        match self.refused.remove(&pid) {
            Some(Refused { name, why, is_member: true, .. }) => {
                self.tally.not_followed(&name, pid, &why);
            }
            Some(Refused { incarnation, name, why, .. }) => {
                self.tally.not_recorded(&name, (pid, incarnation), &why);
            }
            None => {}
        }
    }

    /// Has a thread look at those processes whose time it is.
    fn begin_look(&mut self, places: Vec<Place>, now: Instant) {
        if self.looking.is_some() {
            return;
        }
        let looker = Arc::clone(&self.looker);
        let begun = if now >= self.all_at {
            let period = if self.births.is_ok() { ALL_PERIOD } else { ALL_PERIOD_UNTOLD };
            self.all_at = now + period;
            self.forget_ended();
            Reaching::beside(move |is_over| looks_at_all(&looker, &places, is_over))
        } else {
            let due = self.queue.take_due(now, LOOKS_MAX);
            if due.is_empty() {
                return;
            }
            Reaching::beside(move |_| {
                due.into_iter().map(|watch| (watch, looker.look(watch.pid, &places))).collect()
            })
        };
        // Without a thread, they are found when all are looked at.
        self.looking = begun.ok();
    }

    fn forget_ended(&mut self) {
        let is_there = |pid: u32, refused: &Refused| {
            refused.incarnation.is_some() && refused.incarnation == incarnation(pid)
        };
        let ended: Vec<u32> = self
            .refused
            .iter()
            .filter(|(pid, refused)| !is_there(**pid, refused))
            .map(|(pid, _)| *pid)
            .collect();
        ended.into_iter().for_each(|pid| self.forget(pid));
    }

    fn take_looks(&mut self, looks: Vec<(Watch, Seen)>, now: Instant) {
        for (watch, seen) in looks {
            match seen {
                Seen::Gone if watch.carries => self.tally.ended(watch.pid),
                Seen::Gone if watch.looks == 0 && watch.exec_ns.is_some() => self.tally.unseen += 1,
                Seen::Gone | Seen::Member => {}
                // It may have become another program just then.
                Seen::Hidden if watch.may_start() => self.queue.again(watch, now),
                Seen::Hidden => self.tally.hidden += 1,
                Seen::Bare => self.queue.again(watch, now),
                Seen::Carries { is_starting: true, .. } if watch.may_start() => {
                    self.queue.again(Watch { carries: true, ..watch }, now);
                }
                Seen::Carries { user, .. } => self.want(watch, user, false),
                Seen::Lacks { user } => self.want(watch, user, true),
            }
        }
    }

    /// A process is to join, unless it would not.
    fn want(&mut self, watch: Watch, user: u32, is_member: bool) {
        let Watch { pid, exec_ns, .. } = watch;
        let is_refused = self.refused.get(&pid).is_some_and(|refused| {
            refused.attempts >= ATTEMPTS_MAX && refused.incarnation == incarnation(pid)
        });
        if is_refused || self.is_under_way(pid) {
            return;
        }
        let Some(name) = attach::name_of(pid) else { return };
        let target = Target { pid, name, is_named: false };
        if !self.queue.add(Candidate { target, user, exec_ns, is_member }) {
            // It is found again when all are looked at.
            self.tally.overflows += 1;
        }
    }

    fn take_joined(
        &mut self,
        candidates: &[Candidate],
        joined: Vec<Joining>,
        attachment: &mut Attachment,
    ) {
        for (target, result) in joined {
            let candidate = candidates.iter().find(|one| one.target.pid == target.pid);
            let Some(candidate) = candidate else { continue };
            match result {
                Ok(attached) => {
                    self.refused.remove(&target.pid);
                    if !attached.is_further {
                        self.tally.joined(target.pid, candidate.user, candidate.exec_ns);
                    }
                    attachment.add_found(attached);
                }
                Err(failure) if failure.is_moot && tracee::has_ended(target.pid) => {
                    self.tally.not_recorded(&target.name, (target.pid, None), tally::ENDED);
                }
                // It takes part by now.
                Err(failure) if failure.is_moot => drop(self.refused.remove(&target.pid)),
                Err(failure) => self.refuse(candidate, failure.why),
            }
        }
    }

    fn refuse(&mut self, Candidate { target, is_member, .. }: &Candidate, why: String) {
        const REFUSED_MAX: usize = 4096;
        let (pid, is_member) = (target.pid, *is_member);
        let attempts = 1 + self.refused.get(&pid).map_or(0, |refused| refused.attempts);
        let (incarnation, name) = (incarnation(pid), target.name.clone());
        self.refused.insert(pid, Refused { incarnation, attempts, name, why, is_member });
        if self.refused.len() > REFUSED_MAX {
            self.forget(pid);
        }
    }

    /// When there is something to do.
    fn due_in(&self, now: Instant) -> Duration {
        if self.looking.is_some() || self.joining.is_some() || self.queue.waiting_count() > 0 {
            return DONE_PERIOD;
        }
        let next = self.queue.due_at().map_or(self.all_at, |due| due.min(self.all_at));
        let births = match self.births_taken.elapsed() < BIRTHS_PERIOD && self.births.is_ok() {
            true => BIRTHS_PERIOD,
            false => Duration::MAX,
        };
        next.saturating_duration_since(now).min(births)
    }

    pub fn status(&self) -> control::System {
        control::System {
            joined: self.tally.joined_count(),
            users: self.tally.users.len() as u64,
            waiting: self.queue.waiting_count() as u64,
            refused: self.refused.values().filter(|refused| !refused.is_member).count() as u64
                + self.tally.not_recorded_count(),
            unseen: self.tally.unseen,
        }
    }

    pub fn judge(&mut self, verdict: &mut verdict::Verdict) {
        let refused: Vec<u32> = self.refused.keys().copied().collect();
        refused.into_iter().for_each(|pid| self.forget(pid));
        self.tally.judge(verdict, self.births.as_ref().err());
    }
}

fn looker(
    patterns: &Patterns,
    asked: &Asked,
    beside: Option<Patterns>,
    loaded: Option<&Loaded>,
) -> Looker {
    let library = loaded.map_or(Path::new(""), Loaded::liblull);
    Looker::new(patterns.clone(), asked.patterns(), beside, library)
}

/// Those of all processes that can join, or that cannot be looked at.
fn looks_at_all(
    looker: &Looker,
    places: &[Place],
    is_over: &dyn Fn() -> bool,
) -> Vec<(Watch, Seen)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let looks = pids.take_while(|_| !is_over()).map(|pid| {
        let watch = Watch { pid, exec_ns: None, looks: Watch::LAST, carries: false };
        (watch, looker.look(pid, places))
    });
    let is_told =
        |seen: &Seen| matches!(seen, Seen::Carries { .. } | Seen::Lacks { .. } | Seen::Hidden);
    looks.filter(|(_, seen)| is_told(seen)).collect()
}

impl Supervisor<'_> {
    /// Finds processes that carry events, and has them join. Return: when to do so again.
    pub(super) fn follow_system(&mut self) -> Duration {
        let Some(mut system) = self.system.take() else { return Duration::MAX };
        let due = match self.consumer.is_active() {
            true => self.system_turn(&mut system),
            false => Duration::MAX,
        };
        self.system = Some(system);
        due
    }

    fn system_turn(&mut self, system: &mut System) -> Duration {
        let now = Instant::now();
        let beside = self.triggers.as_ref().and_then(Triggers::sought);
        if !system.looker.is_by(&self.patterns, beside) {
            let loaded = self.loaded.as_ref();
            let looker = looker(&self.patterns, &self.asked, beside.cloned(), loaded);
            system.looker = Arc::new(looker);
            system.all_at = now;
        }
        system.take_births(now);
        if let Some(looks) = system.looking.as_mut().and_then(Reaching::ended) {
            system.looking = None;
            system.take_looks(looks.unwrap_or_default(), now);
        }
        if let Some(joined) = system.joining.as_mut().and_then(|(_, joining)| joining.ended()) {
            self.take_system(system, joined);
        }
        if system.joining.is_none() {
            self.begin_join(system);
        }
        // A path that cannot be named to a process was refused when the session began.
        if let Ok(places) = self.places() {
            system.begin_look(places, now);
        }
        system.due_in(now)
    }

    /// Has the next ones join, whose user has memory by then.
    fn begin_join(&mut self, system: &mut System) {
        let candidates = system.queue.take_turn();
        let Some(user) = candidates.first().map(|candidate| candidate.user) else { return };
        let places = match self.provide(user) {
            Ok(places) => places,
            Err(error) => {
                let why = format!("there is no memory for its user: {}", crate::told(&error));
                candidates.iter().for_each(|one| system.refuse(one, why.clone()));
                return;
            }
        };
        let Some(loaded) = &self.loaded else { return };
        let library = loaded.liblull().to_path_buf();
        let pids = candidates.iter().map(|candidate| candidate.target.pid).collect();
        let joining = Reaching::begin(move |is_over| {
            let (places, limit, patience) = (&places[..], LIMIT, PATIENCE);
            let several = Several { pids, places, limit, patience, is_over };
            attach::join_all(&several, &library)
        });
        match joining {
            Ok(joining) => system.joining = Some((candidates, joining)),
            Err(error) => {
                candidates.iter().for_each(|one| system.refuse(one, format!("no thread: {error}")))
            }
        }
    }

    /// Makes memory for a user, in the session and beside it, before processes join. Return: what
    /// they are to join. Where there is none beside the session, its conditions miss the user.
    fn provide(&mut self, user: u32) -> anyhow::Result<Vec<Place>> {
        self.consumer.provide(&self.plan, user)?;
        let has_beside = self.triggers.as_mut().is_none_or(|triggers| triggers.provides(user));
        let mut places = self.places()?;
        if !has_beside {
            places.truncate(1);
        }
        Ok(places)
    }

    fn take_system(&mut self, system: &mut System, joined: Option<Vec<Joining>>) {
        let Some((candidates, _)) = system.joining.take() else { return };
        let Some(attachment) = self.attachment.as_mut() else { return };
        attachment.forget_ended();
        system.take_joined(&candidates, joined.unwrap_or_default(), attachment);
    }

    /// Looks for no more processes, and waits for those that are being asked.
    pub(super) fn end_system(&mut self) {
        let Some(mut system) = self.system.take() else { return };
        system.looking.take().map(Reaching::end);
        if let Some((candidates, joining)) = system.joining.take() {
            let joined = joining.end().unwrap_or_default();
            if let Some(attachment) = self.attachment.as_mut() {
                system.take_joined(&candidates, joined, attachment);
            }
        }
        self.system = Some(system);
    }
}
