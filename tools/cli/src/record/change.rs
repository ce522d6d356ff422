// SPDX-License-Identifier: MIT
//! What is recorded is changed while the session runs: `lull enable` and `lull disable`.
//!
//! Place in the flow: `serve` calls this when it is asked to. The new patterns are checked first;
//! then the rules of all memory are replaced, and the processes are asked to look (`reach`).

use super::asked::Asked;
use super::filtered;
use super::reach::{self, Outcome, Reaching};
use super::supervise::Supervisor;
use crate::shown::shown;
use control::{Answer, Caller, Changed, Unreached};

/// Changes whose processes are being asked at the same time.
pub(super) const REACHING_MAX: usize = 8;

/// Patterns with their filters, or without what they match.
pub fn asked(is_enable: bool, arguments: &[String]) -> anyhow::Result<Asked> {
    match is_enable {
        true => Asked::new(arguments),
        false => Asked::none_of(arguments),
    }
}

impl Supervisor<'_> {
    /// Records other events from now on. The answer comes later, but for a refusal.
    pub(super) fn change(&mut self, caller: Caller, is_enable: bool, arguments: &[String]) {
        let begun = self.changed(is_enable, arguments);
        self.answer_later(caller, begun);
    }

    /// Has a caller wait until the processes were asked, or refuses at once.
    pub(super) fn answer_later(
        &mut self,
        caller: Caller,
        begun: anyhow::Result<Reaching<Outcome>>,
    ) {
        match begun {
            Ok(reaching) => self.reaching.push((Some(caller), reaching)),
            Err(error) => {
                let why = crate::told(&error);
                self.control.answer(caller, &Answer::Refused { why });
            }
        }
    }

    /// The same, of which nobody may want to hear.
    pub(super) fn changed(
        &mut self,
        is_enable: bool,
        arguments: &[String],
    ) -> anyhow::Result<Reaching<Outcome>> {
        anyhow::ensure!(!arguments.is_empty(), "no pattern was given");
        anyhow::ensure!(self.loaded.is_some(), "it records the kernel only, and always the same");
        anyhow::ensure!(self.job.counting.is_none(), "it counts, and always the same events");
        anyhow::ensure!(
            self.reaching.len() < REACHING_MAX,
            "{REACHING_MAX} changes are under way; try again"
        );
        let later = asked(is_enable, arguments)?;
        let told = later.arguments();
        let asked = self.asked.clone().and(later);
        let patterns = self.patterns.with(asked.patterns())?;
        let filters = filtered::of_session(&asked, &patterns);
        self.consumer.change_rules(patterns.text(), &filters, told)?;
        let mut notes = Vec::new();
        if let Some(loaded) = self.loaded.as_mut().filter(|_| patterns.names_allocation()) {
            notes.extend(loaded.preload_allocation().map(str::to_string));
        }
        if self.job.session.kernel {
            notes.push("of the kernel, the same is recorded as before".into());
        }
        (self.asked, self.patterns) = (asked, patterns);
        let segments = self.consumer.segments();
        Ok(Reaching::begin(move |is_over| {
            let changed = reach::all(&segments, reach::LIMIT, is_over).changed;
            Outcome::Changed(Changed { notes, ..changed })
        })?)
    }

    /// Answers those whose request has reached all processes. Return: whether others still wait.
    pub(super) fn reached(&mut self) -> bool {
        let mut ended = Vec::new();
        self.reaching.retain_mut(|(caller, reaching)| match reaching.ended() {
            Some(outcome) => {
                ended.push((*caller, outcome));
                false
            }
            None => true,
        });
        ended.into_iter().for_each(|(caller, outcome)| self.answer_reached(caller, outcome));
        !self.reaching.is_empty()
    }

    /// Answers all who wait for processes to be asked, before the session ends.
    pub(super) fn end_reaching(&mut self) {
        for (caller, reaching) in std::mem::take(&mut self.reaching) {
            self.answer_reached(caller, reaching.end());
        }
        if let Some(reaching) = self.throttling.take() {
            self.budget_asked(reaching.end());
        }
    }

    /// Has the processes take events out of their code or put them back, if a budget asks for that
    /// and none are being asked for it.
    pub(super) fn ask_for_budget(&mut self) {
        if let Some(asked) = self.throttling.as_mut().and_then(Reaching::ended) {
            self.throttling = None;
            self.budget_asked(asked);
        }
        if self.throttling.is_some() || !self.consumer.budget_asks() {
            return;
        }
        let segments = self.consumer.segments();
        match Reaching::begin(move |is_over| reach::all(&segments, reach::LIMIT, is_over)) {
            Ok(reaching) => self.throttling = Some(reaching),
            Err(error) => {
                let why = format!("no process: {error}");
                self.consumer.budget_asked(0, std::iter::once(why));
            }
        }
    }

    fn budget_asked(&mut self, asked: Option<reach::Asked>) {
        let Some(reach::Asked { changed, all_held_ns, .. }) = asked else {
            let why = "the recorder failed to ask them".to_string();
            return self.consumer.budget_asked(0, std::iter::once(why));
        };
        let told = |process: &Unreached| {
            format!("{} ({}): {}", shown(&process.name), process.pid, process.why)
        };
        self.consumer.budget_asked(all_held_ns, changed.unreached.iter().map(told));
    }

    fn answer_reached(&mut self, caller: Option<Caller>, outcome: Option<Outcome>) {
        let answer = match outcome {
            Some(Outcome::Changed(changed)) => Answer::Changed(Box::new(changed)),
            Some(Outcome::Joined(joined)) => Answer::Members(self.take_members(joined)),
            Some(Outcome::Left(left)) => Answer::Members(self.lose_members(left)),
            Some(Outcome::Triggers(changed, pids)) => {
                self.take_followers(&pids);
                Answer::Triggers(Box::new(changed))
            }
            None => {
                let why = "which processes follow is not known: the recorder failed to ask them";
                Answer::Refused { why: why.into() }
            }
        };
        if let Some(caller) = caller {
            self.control.answer(caller, &answer);
        }
    }
}
