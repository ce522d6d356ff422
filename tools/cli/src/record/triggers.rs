// SPDX-License-Identifier: MIT
//! Triggers come and go while the session runs: `lull trigger`.
//!
//! Place in the flow: `serve` calls this when it is asked to. What is asked for is checked first;
//! then the companion (`trigger::companion`) records the events of other conditions, and is made
//! where there was none. A thread has the processes of the session join it, or look at its rules
//! (`reach`). Programs that were executed by ones that ran before the companion know nothing of it,
//! so it is looked for them now and then.

use super::attach::{join_beside, names_of_sessions, poll, Failure};
use super::change::REACHING_MAX;
use super::kernel::Kernel;
use super::reach::{self, Outcome, Reaching};
use super::supervise::Supervisor;
use crate::trigger::args::Given;
use crate::trigger::plan::{self, Facts, Whence};
use crate::trigger::{Of, Triggers};
use consumer::process::segments as attached;
use control::{Caller, NewTrigger, TriggersChanged, TRIGGERS_MAX};
use session::clock::Calibration;
use session::pattern::Patterns;
use session::segment;
use std::ffi::CString;
use std::time::{Duration, Instant};

/// How often it is looked for processes that lack the companion; where some cannot be made to join,
/// less and less often.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
const LOOK_PERIOD_MAX: Duration = Duration::from_secs(60);

/// When it is looked for processes of the session that lack a companion which came later.
pub(super) struct Latecomers {
    at: Instant,
    period: Duration,
    /// How many had which memory when it was last looked.
    counts: (u64, u64),
}

impl Latecomers {
    fn new() -> Self {
        Self { at: Instant::now() + LOOK_PERIOD, period: LOOK_PERIOD, counts: (0, 0) }
    }

    /// Whether to look now. `counts`: how many processes have the session's memory, and how many
    /// the companion's.
    fn are_due(&mut self, now: Instant, counts: (u64, u64)) -> bool {
        let is_other = counts != self.counts;
        let period = if is_other { LOOK_PERIOD } else { self.period * 2 };
        (self.counts, self.period) = (counts, period.min(LOOK_PERIOD_MAX));
        self.at = now + self.period;
        counts.0 > counts.1
    }
}

/// Which processes are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    All,
    /// Those that lack the companion.
    Latecomers,
}

/// How many processes have some of these segments, this one not counted.
fn count(segments: &[i32]) -> u64 {
    let each = segments.iter().map(|id| segment::status(*id).map_or(0, |found| found.attached));
    each.map(|attached| attached.saturating_sub(1)).sum()
}

impl Supervisor<'_> {
    /// Has further triggers. The answer comes later, but for a refusal.
    pub(super) fn add_triggers(&mut self, caller: Caller, new: Vec<NewTrigger>) {
        let begun = self.added_triggers(new);
        self.answer_later(caller, begun);
    }

    /// Has some triggers no longer.
    pub(super) fn remove_triggers(&mut self, caller: Caller, numbers: &[u64]) {
        let begun = self.removed_triggers(numbers);
        self.answer_later(caller, begun);
    }

    fn added_triggers(&mut self, new: Vec<NewTrigger>) -> anyhow::Result<Reaching<Outcome>> {
        anyhow::ensure!(!new.is_empty(), "no trigger was given");
        anyhow::ensure!(self.job.counting.is_none(), "it counts, and has no triggers");
        anyhow::ensure!(
            self.consumer.is_active(),
            "it has the size that --max-size allows, and records nothing more"
        );
        self.check_room()?;
        let facts = Facts {
            is_flight_recorder: self.job.session.flight_recorder,
            has_program: self.child.is_some(),
            can_join: self.loaded.is_some(),
            kernel: Whence::by(self.kernel.as_ref()),
        };
        let given = new.into_iter().map(|NewTrigger { on, does }| Given { on, does });
        let new = plan::parsed(&given.collect::<Vec<_>>(), &facts)?;
        plan::check_kernel(&new, &facts)?;
        let mut notes = Vec::new();
        if !self.consumer.is_paused() && plan::begins_paused(&new) {
            notes.push("it records already; until `lull pause`, a start changes nothing".into());
        }
        if let Some(loaded) = self.loaded.as_mut() {
            let asked = plan::companion(new.iter().map(|trigger| &trigger.condition))?;
            let patterns = asked.map(|asked| Patterns::exactly(asked.patterns())).transpose()?;
            if patterns.is_some_and(|patterns| patterns.names_allocation()) {
                notes.extend(loaded.preload_allocation().map(str::to_string));
            }
        }
        let (_, now_ns) = self.consumer.now();
        let calibration = self.recording.provisional();
        let is_apart = self.job.is_system;
        let triggers = self.triggers.take();
        let of = self.of(calibration);
        let mut triggers = triggers.unwrap_or_else(|| Triggers::new(&self.folder, is_apart));
        let had_companion = triggers.directory().is_some();
        let added = triggers.add(&new, &of, Some(now_ns));
        let is_kernels = added.as_ref().is_ok_and(|added| triggers.are_kernels(added, &of));
        self.triggers = Some(triggers);
        let changed = TriggersChanged { added: added?, is_kernels, ..TriggersChanged::default() };
        if !had_companion {
            self.has_companion()?;
        }
        self.reach_for_triggers(Whom::All, changed, notes)
    }

    fn removed_triggers(&mut self, numbers: &[u64]) -> anyhow::Result<Reaching<Outcome>> {
        anyhow::ensure!(!numbers.is_empty(), "no trigger was named");
        anyhow::ensure!(
            numbers.len() <= TRIGGERS_MAX,
            "a request removes {TRIGGERS_MAX} triggers at most"
        );
        self.check_room()?;
        // What was met until now is acted on, and counted, as if nobody had asked.
        self.look_at_triggers();
        let (_, now_ns) = self.consumer.now();
        let calibration = self.recording.provisional();
        let Some(mut triggers) = self.triggers.take() else { anyhow::bail!("it has no triggers") };
        let of = self.of(calibration);
        let is_kernels = triggers.are_kernels(numbers, &of);
        let removed = triggers.remove(numbers, &of, now_ns);
        self.triggers = Some(triggers);
        let removed = removed?;
        let changed = TriggersChanged { removed, is_kernels, ..TriggersChanged::default() };
        self.reach_for_triggers(Whom::All, changed, Vec::new())
    }

    /// The session, as its companion is made and changed by it while it records.
    fn of(&self, calibration: Calibration) -> Of<'_> {
        Of {
            plan: &self.plan,
            session: &self.session,
            calibration,
            kernel: self.kernel.as_ref().map(Kernel::origin),
            is_late: true,
            is_apart: self.job.is_system,
        }
    }

    fn check_room(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.reaching.len() < REACHING_MAX,
            "{REACHING_MAX} requests are under way; try again"
        );
        Ok(())
    }

    /// Processes that were attached leave a companion that came later, too; it has memory for each
    /// user that the session has some for, before they join it.
    fn has_companion(&mut self) -> anyhow::Result<()> {
        let directory = self.triggers.as_ref().and_then(Triggers::directory);
        let Some(directory) = directory else { return Ok(()) };
        let sessions = names_of_sessions(directory.as_os_str())?;
        self.attachment.iter_mut().for_each(|attachment| attachment.leaves_too(&sessions));
        let users: Vec<u32> = self.consumer.users().map(|user| user.number).collect();
        if let Some(triggers) = &mut self.triggers {
            users.iter().for_each(|user| _ = triggers.provides(*user));
        }
        self.latecomers = Some(Latecomers::new());
        Ok(())
    }

    /// Has the processes of the session join the companion, or look at its rules.
    fn reach_for_triggers(
        &mut self,
        whom: Whom,
        changed: TriggersChanged,
        notes: Vec<String>,
    ) -> anyhow::Result<Reaching<Outcome>> {
        let directory = self.triggers.as_ref().and_then(Triggers::directory);
        let names = directory.map(|path| names_of_sessions(path.as_os_str())).transpose()?;
        let name: Option<CString> = names.and_then(|names| names.into_iter().next());
        let beside = self.triggers.as_ref().map_or_else(Vec::new, Triggers::segments);
        let segments = self.consumer.segments();
        Ok(Reaching::begin(move |is_over| {
            let ask = |pid| match &name {
                Some(name) if !attached(pid).iter().any(|id| beside.contains(id)) => {
                    join_beside(pid, name)
                }
                _ if whom == Whom::Latecomers => Err(Failure::moot("it has the companion".into())),
                _ => poll(pid),
            };
            let mut changed = changed;
            if changed.is_kernels {
                changed.reached.notes = notes;
                return Outcome::Triggers(changed, Vec::new());
            }
            let asked = reach::each(&segments, reach::LIMIT, is_over, &ask);
            changed.reached = control::Changed { notes, ..asked.changed };
            Outcome::Triggers(changed, asked.pids)
        })?)
    }

    /// Has those processes join a companion that came later which were executed without it.
    pub(super) fn seek_latecomers(&mut self) -> Duration {
        let now = Instant::now();
        let Some(latecomers) = &mut self.latecomers else { return Duration::MAX };
        let due = latecomers.at.saturating_duration_since(now);
        let beside = self.triggers.as_ref().map_or_else(Vec::new, Triggers::segments);
        if !due.is_zero() || beside.is_empty() || !self.reaching.is_empty() {
            return due.max(reach::LOOK_PERIOD);
        }
        let counts = (count(&self.consumer.segments()), count(&beside));
        if latecomers.are_due(now, counts) {
            if let Some(system) = &mut self.system {
                // In the turns of their users, for some may not let themselves be asked.
                system.look_at_all_soon();
                return LOOK_PERIOD;
            }
            // Without a thread, they are found the next time.
            let begun =
                self.reach_for_triggers(Whom::Latecomers, TriggersChanged::default(), Vec::new());
            self.reaching.extend(begun.ok().map(|reaching| (None, reaching)));
        }
        LOOK_PERIOD
    }

    /// The processes were asked.
    pub(super) fn take_followers(&mut self, pids: &[u32]) {
        let child = self.child_pid();
        self.triggers.iter_mut().for_each(|triggers| triggers.joined(pids, child));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_without_the_companion_are_sought_when_counts_change_and_else_less_and_less() {
        let begun = Instant::now();
        let mut latecomers = Latecomers::new();
        assert!(!latecomers.are_due(begun, (2, 2)), "all have it");
        assert!(latecomers.are_due(begun, (3, 2)));
        assert_eq!(latecomers.at, begun + LOOK_PERIOD);
        assert!(latecomers.are_due(begun, (3, 2)), "one that cannot be asked is asked again");
        assert_eq!(latecomers.at, begun + 2 * LOOK_PERIOD);
        for _ in 0..100 {
            latecomers.are_due(begun, (3, 2));
        }
        assert_eq!(latecomers.at, begun + LOOK_PERIOD_MAX);
        latecomers.are_due(begun, (4, 2));
        assert_eq!(latecomers.at, begun + LOOK_PERIOD, "another has come");
    }
}
