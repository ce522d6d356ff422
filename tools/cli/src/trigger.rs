// SPDX-License-Identifier: MIT
//! Triggers of a session: conditions that --on names, and what --do asks for when they are met.
//!
//! Place in the flow: `args` and `plan` check what was asked before anything is made. While the
//! session runs, `companion` is a second session over the same processes that records the events
//! of the conditions and nothing else; the recorder's loop reads it every [`PERIOD`], `matching`
//! says which conditions were met (`lanes`, by which users' processes), `crash` which processes
//! were ended by a signal, and `record::fire` does what is to be done. `told` says it in the
//! trace, the verdict and the status. docs/design/94-triggers.md says why it is so.

pub mod args;
pub mod command;
mod companion;
pub mod crash;
pub mod kernel;
mod lanes;
mod matching;
mod moment;
pub mod plan;
mod told;

pub use moment::Met;

use command::Commands;
use companion::Companion;
use consumer::process::attaches;
use control::RemovedTrigger;
use crash::Crashes;
use kernel::Origin;
use lanes::{Joined, Lanes};
use matching::Writer;
use plan::Trigger;
use session::clock::Calibration;
use session::pattern::Patterns;
use session::Session;
use std::path::Path;
use std::time::{Duration, Instant};
use trigger::{Condition, Deed, Kind, Pace};
use verdict::Firing;

/// How often the companion is read. From an event to what is done for it, twice this passes at
/// most, and what the recorder needs for its own work.
pub const PERIOD: Duration = Duration::from_millis(10);
/// How often the trace is told of new firings.
const TOLD_PERIOD: Duration = Duration::from_secs(1);
/// Firings that a trace tells of; further ones are counted.
const FIRINGS_MAX: usize = 1000;
/// What kept conditions from being seen.
const PROBLEMS_MAX: usize = 128;
/// Removed triggers that the verdict tells of one by one.
const REMOVED_MAX: usize = 64;

/// Something to do, and how often it was.
pub struct Doing {
    pub deed: Deed,
    pub pace: Pace,
    pub done: u64,
    /// Because it was done as often already as its rate allows.
    pub withheld: u64,
    pub failed: u64,
    /// The last failure.
    pub why: String,
}

/// A trigger of a session that runs.
pub struct Running {
    /// No other trigger of the session has or had it.
    pub number: u64,
    /// When it came, since recording began. None: recording began with it.
    added_ns: Option<u64>,
    pub condition: Condition,
    pub doing: Vec<Doing>,
    pub fired: u64,
    /// In how many turns of the recorder's it fired: each is acted on once.
    pub acted: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
}

/// The triggers of a session.
pub struct Triggers {
    pub list: Vec<Running>,
    /// Those that the session has no longer, each with when it went, and further ones with all
    /// their firings.
    removed: Vec<(Running, u64)>,
    removed_more: (u64, u64),
    /// How many there ever were.
    count: u64,
    /// The events of conditions, as patterns.
    sought: Option<Patterns>,
    companion: Option<Companion>,
    lanes: Lanes,
    /// Whether users are told apart.
    is_apart: bool,
    crashes: Option<Crashes>,
    pub commands: Commands,
    firings: Vec<Firing>,
    firings_more: u64,
    /// Whether the trace lacks the newest.
    is_untold: bool,
    told: Instant,
    looked: Instant,
    /// What kept conditions from being seen, in sentences.
    problems: Vec<String>,
    /// Names and levels of the events that processes had in the companion, once it has ended.
    seen: Vec<(String, u8)>,
}

/// The session that has triggers.
pub struct Of<'a> {
    pub plan: &'a session::Plan,
    pub session: &'a Session,
    pub calibration: Calibration,
    /// None: only programs are recorded.
    pub kernel: Option<Origin>,
    /// Whether it records already.
    pub is_late: bool,
    /// Whether it is one of the whole machine, whose users are told apart.
    pub is_apart: bool,
}

impl Triggers {
    /// None so far. `folder`: where commands run; `is_apart`: whether users are told apart.
    pub fn new(folder: &Path, is_apart: bool) -> Self {
        let now = Instant::now();
        Self {
            list: Vec::new(),
            removed: Vec::new(),
            removed_more: (0, 0),
            count: 0,
            sought: None,
            companion: None,
            lanes: Lanes::default(),
            is_apart,
            crashes: None,
            commands: Commands::new(folder),
            firings: Vec::new(),
            firings_more: 0,
            is_untold: false,
            told: now,
            looked: now,
            problems: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Follows the conditions of further triggers: all, or, at an error, none of them. `at_ns`:
    /// since recording began. Return: their numbers.
    pub fn add(
        &mut self,
        new: &[Trigger],
        of: &Of,
        at_ns: Option<u64>,
    ) -> anyhow::Result<Vec<u64>> {
        let count = self.list.len() + new.len();
        anyhow::ensure!(
            count <= plan::TRIGGERS_MAX,
            "it would have {count} triggers, and {} is the most; remove some first",
            plan::TRIGGERS_MAX
        );
        let new_conditions = || new.iter().map(|trigger| &trigger.condition);
        let are_kernels = match self.is_apart {
            true => plan::are_kernels(new_conditions(), of.kernel.as_ref())?,
            false => Vec::new(),
        };
        let asked = plan::companion(self.conditions().chain(new_conditions()))?;
        match (&mut self.companion, asked) {
            (Some(companion), asked) => companion.follow(asked, of)?,
            (None, Some(asked)) => self.companion = Some(Companion::begin(asked, of)?),
            (None, None) => {}
        }
        let before = self.count;
        for (index, trigger) in new.iter().enumerate() {
            self.count += 1;
            let is_kernels = are_kernels.get(index) == Some(&true);
            self.lanes.add(self.count, &trigger.condition, is_kernels);
            self.list.push(Running::new(self.count, trigger, at_ns, self.is_apart));
        }
        self.seek();
        self.watch_crashes();
        Ok((before + 1..=self.count).collect())
    }

    /// Follows the conditions of some triggers no longer: of all that are numbered, or, at an
    /// error, of none. What they did is told in the end.
    pub fn remove(
        &mut self,
        numbers: &[u64],
        of: &Of,
        at_ns: u64,
    ) -> anyhow::Result<Vec<RemovedTrigger>> {
        let has = |number: &u64| self.list.iter().any(|running| running.number == *number);
        if let Some(number) = numbers.iter().find(|number| !has(number)) {
            anyhow::bail!("it has no trigger {number}; `lull trigger` lists those that it has");
        }
        let is_left = |running: &Running| !numbers.contains(&running.number);
        let left = self.list.iter().filter(|running| is_left(running));
        let asked = plan::companion(left.map(|running| &running.condition))?;
        if let Some(companion) = &mut self.companion {
            companion.follow(asked, of)?;
        }
        let (left, gone) = std::mem::take(&mut self.list).into_iter().partition(is_left);
        self.list = left;
        let mut told = Vec::new();
        for running in Vec::from_iter::<Vec<Running>>(gone) {
            let (number, fired) = (running.number, running.fired);
            self.lanes.remove(number);
            told.push(RemovedTrigger { number, on: running.condition.text.clone(), fired });
            if self.removed.len() < REMOVED_MAX {
                self.removed.push((running, at_ns));
            } else {
                self.removed_more.0 += 1;
                self.removed_more.1 = self.removed_more.1.saturating_add(fired);
            }
        }
        self.seek();
        self.watch_crashes();
        Ok(told)
    }

    /// Whether the conditions of those that are numbered are all on events of the kernel's.
    pub fn are_kernels(&self, numbers: &[u64], of: &Of) -> bool {
        let numbered = self.list.iter().filter(|running| numbers.contains(&running.number));
        plan::are_all_kernels(numbered.map(|running| &running.condition), of.kernel.as_ref())
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.list.iter().map(|running| &running.condition)
    }

    /// Looks for the ends of processes if any trigger waits for one.
    fn watch_crashes(&mut self) {
        match plan::watches_all(self.conditions()) {
            true => _ = self.crashes.get_or_insert_with(Crashes::default),
            false => self.crashes.iter_mut().for_each(Crashes::rest),
        }
    }

    /// Tells which processes are in the companion, whose joining it has not recorded.
    pub fn joined(&mut self, pids: &[u32], child: Option<u32>) {
        if !plan::watches_all(self.conditions()) {
            return;
        }
        let Some((crashes, companion)) = self.crashes.as_mut().zip(self.companion.as_ref()) else {
            return;
        };
        let others = || pids.iter().copied().filter(|pid| Some(*pid) != child);
        if !self.is_apart {
            return crashes.watch(others(), None, &companion.segments());
        }
        for Writer { user, segment, .. } in companion.writers() {
            crashes.watch(others().filter(|pid| attaches(*pid, segment)), Some(user), &[segment]);
        }
    }

    /// Makes memory for a user whose processes are to join, if the user has none and conditions
    /// name events. Return: false where that cannot be done.
    pub fn provides(&mut self, user: u32) -> bool {
        let Some(companion) = &mut self.companion else { return true };
        let Err(error) = companion.provide(user) else { return true };
        let problem = format!("there is no memory for what user {user} writes: {error}");
        if !self.problems.contains(&problem) && self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
        false
    }

    /// By which events conditions bring processes; None where there is none.
    pub fn sought(&self) -> Option<&Patterns> {
        self.sought.as_ref()
    }

    /// A crash brings no process: it is one of those that are there.
    fn seek(&mut self) {
        let of_events = self.conditions().filter(|condition| condition.kind != Kind::Crash);
        let asked = plan::companion(of_events).ok().flatten();
        self.sought = asked.and_then(|asked| Patterns::exactly(asked.patterns()).ok());
    }

    /// The recorder's program runs in this process.
    pub fn expect(&mut self, pid: u32, program: &str) {
        self.companion.iter_mut().for_each(|companion| companion.expect(pid, program));
    }

    /// Memory of the companion, if there is one.
    pub fn segments(&self) -> Vec<i32> {
        self.companion.as_ref().map_or_else(Vec::new, Companion::segments)
    }

    /// The directory of the companion, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        self.companion.as_ref().map(Companion::path)
    }

    /// Follows a later calibration of the clock.
    pub fn calibrate(&mut self, calibration: &Calibration) {
        if let Some(companion) = &mut self.companion {
            companion.calibrate(calibration);
        }
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        self.looked.elapsed() >= PERIOD
    }

    pub fn due_in(&self) -> Duration {
        PERIOD.saturating_sub(self.looked.elapsed())
    }

    /// Which conditions were met since the last look, each with its trigger's number. `child`: the
    /// process of whose end the recorder hears itself.
    pub fn look(&mut self, child: Option<u32>) -> Vec<(u64, Met)> {
        self.looked = Instant::now();
        let Self { companion, lanes, problems, .. } = self;
        if let Some(companion) = companion {
            if let Err(error) = companion.look(|writer, part| lanes.read(writer, part)) {
                self.companion = None;
                problems
                    .push(format!("conditions were followed no longer: {}", crate::told(&error)));
            }
        }
        self.met(child)
    }

    /// The same for the last time, when programs record no more.
    pub fn end(&mut self, child: Option<u32>) -> Vec<(u64, Met)> {
        let Self { lanes, problems, .. } = self;
        if let Some(companion) = self.companion.take() {
            match companion.end(|writer, part| lanes.read(writer, part)) {
                Ok(ended) => {
                    problems.extend(ended.missing);
                    self.seen = ended.events;
                }
                Err(error) => {
                    problems.push(format!("conditions were not followed: {}", crate::told(&error)))
                }
            }
        }
        self.met(child)
    }

    fn met(&mut self, child: Option<u32>) -> Vec<(u64, Met)> {
        let mut met = self.lanes.take();
        if let Some(crashes) = &mut self.crashes {
            let all = self.companion.as_ref().map_or_else(Vec::new, Companion::segments);
            for Joined { writer, pids } in self.lanes.joined() {
                let segments = writer.map_or_else(|| all.clone(), |writer| vec![writer.segment]);
                let others = pids.into_iter().filter(|pid| Some(*pid) != child);
                crashes.watch(others, writer.map(|writer| writer.user), &segments);
            }
            for crash in crashes.look() {
                let waiting = self.list.iter().filter(|r| r.condition.kind == Kind::Crash);
                met.extend(waiting.map(|running| (running.number, crash.clone())));
            }
        }
        met
    }

    /// Which triggers wait for the end of a program by a signal.
    pub fn of_crashes(&self) -> Vec<u64> {
        let waiting = self.list.iter().filter(|r| r.condition.kind == Kind::Crash);
        waiting.map(|running| running.number).collect()
    }

    /// Takes down what was done.
    pub fn note(&mut self, firing: Firing) {
        if self.firings.len() >= FIRINGS_MAX {
            self.firings_more += 1;
            return;
        }
        self.is_untold = true;
        self.firings.push(firing);
    }

    /// What the trace is to tell, if it is time to.
    pub fn untold(&mut self, is_last: bool) -> Option<&[Firing]> {
        if !self.is_untold || (!is_last && self.told.elapsed() < TOLD_PERIOD) {
            return None;
        }
        (self.is_untold, self.told) = (false, Instant::now());
        Some(&self.firings)
    }
}

impl Running {
    /// `is_by_anybody`: whether any user of the machine can have it fire.
    fn new(number: u64, trigger: &Trigger, added_ns: Option<u64>, is_by_anybody: bool) -> Self {
        let doing = |deed: &Deed| Doing {
            deed: deed.clone(),
            pace: Pace::new(if is_by_anybody { deed.rate_for_anybody() } else { deed.rate }),
            done: 0,
            withheld: 0,
            failed: 0,
            why: String::new(),
        };
        Self {
            number,
            added_ns,
            condition: trigger.condition.clone(),
            doing: trigger.deeds.iter().map(doing).collect(),
            fired: 0,
            acted: 0,
            first_ns: None,
            last_ns: None,
        }
    }
}
