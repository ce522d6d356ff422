// SPDX-License-Identifier: MIT
//! Triggers of a session: conditions that --on names, and what --do asks for when they are met.
//!
//! Place in the flow: `args` and `plan` check what was asked before anything is made. While the
//! session runs, `companion` is a second session over the same processes that records the events
//! of the conditions and nothing else; the recorder's loop reads it every [`PERIOD`], `matching`
//! says which conditions were met, `crash` which processes were ended by a signal, and
//! `record::fire` does what is to be done. `told` says it in the trace, the verdict and the status.
//! docs/design/94-triggers.md says why it is so.

pub mod args;
pub mod command;
mod companion;
pub mod crash;
mod matching;
pub mod plan;
mod told;

pub use matching::Met;

use crate::record::plan::Plan;
use crate::record::Job;
use anyhow::Context;
use command::Commands;
use companion::Companion;
use crash::Crashes;
use matching::Matcher;
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
    companion: Option<Companion>,
    matcher: Matcher,
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

impl Triggers {
    /// Makes what follows the conditions. None: nothing was asked for.
    pub fn begin(
        job: &Job,
        plan: &mut Plan,
        session: &Session,
        calibration: &Calibration,
    ) -> anyhow::Result<Option<Self>> {
        if job.triggers.is_empty() {
            return Ok(None);
        }
        let watches_all = plan::watches_all(job.triggers);
        let asked = plan::companion(job.triggers, watches_all)?;
        let patterns = asked.as_ref().map(|asked| Patterns::exactly(asked.patterns()));
        if let Some(loaded) = plan.loaded.as_mut() {
            if patterns.transpose()?.is_some_and(|patterns| patterns.names_allocation()) {
                loaded.preload_allocation();
            }
        }
        let companion = match &asked {
            Some(asked) => Some(Companion::begin(asked, &plan.session, session, calibration)?),
            None => None,
        };
        let now = Instant::now();
        Ok(Some(Self {
            list: job.triggers.iter().map(Running::new).collect(),
            companion,
            matcher: Matcher::new(job.triggers, watches_all),
            crashes: watches_all.then(Crashes::default),
            commands: Commands::new().context("finding the folder of commands")?,
            firings: Vec::new(),
            firings_more: 0,
            is_untold: false,
            told: now,
            looked: now,
            problems: Vec::new(),
            seen: Vec::new(),
        }))
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

    /// Which conditions were met since the last look, each with its number. `child`: the process
    /// of whose end the recorder hears itself.
    pub fn look(&mut self, child: Option<u32>) -> Vec<(usize, Met)> {
        self.looked = Instant::now();
        let Self { companion, matcher, problems, .. } = self;
        if let Some(companion) = companion {
            if let Err(error) = companion.look(|part| matcher.read(part)) {
                self.companion = None;
                problems.push(format!("conditions were followed no longer: {error:#}"));
            }
        }
        self.met(child)
    }

    /// The same for the last time, when programs record no more.
    pub fn end(&mut self, child: Option<u32>) -> Vec<(usize, Met)> {
        let Self { matcher, problems, .. } = self;
        if let Some(companion) = self.companion.take() {
            match companion.end(|part| matcher.read(part)) {
                Ok(ended) => {
                    problems.extend(ended.missing);
                    self.seen = ended.events;
                }
                Err(error) => problems.push(format!("conditions were not followed: {error:#}")),
            }
        }
        self.met(child)
    }

    fn met(&mut self, child: Option<u32>) -> Vec<(usize, Met)> {
        let mut met = self.matcher.take();
        if let Some(crashes) = &mut self.crashes {
            let joined = self.matcher.joined().filter(|pid| Some(*pid) != child);
            crashes.watch(joined, self.companion.as_ref().map(Companion::segments));
            for crash in crashes.look() {
                self.list.iter().enumerate().for_each(|(index, running)| {
                    if running.condition.kind == Kind::Crash {
                        met.push((index, crash.clone()));
                    }
                });
            }
        }
        met
    }

    /// Which triggers wait for the end of a program by a signal.
    pub fn of_crashes(&self) -> Vec<usize> {
        let all = self.list.iter().enumerate();
        all.filter(|(_, running)| running.condition.kind == Kind::Crash).map(|(i, _)| i).collect()
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
    fn new(trigger: &Trigger) -> Self {
        let doing = |deed: &Deed| Doing {
            deed: deed.clone(),
            pace: Pace::new(deed.rate),
            done: 0,
            withheld: 0,
            failed: 0,
            why: String::new(),
        };
        Self {
            condition: trigger.condition.clone(),
            doing: trigger.deeds.iter().map(doing).collect(),
            fired: 0,
            acted: 0,
            first_ns: None,
            last_ns: None,
        }
    }
}
