// SPDX-License-Identifier: MIT
//! Conditions were met: what is to be done is done.
//!
//! Place in the flow: `supervise` calls this in each turn. What was met since the last look is
//! acted on once for each trigger, in the order in which they were given; what was met more often
//! is counted. So a turn does a bounded number of things, whatever programs do.

use super::change;
use super::supervise::Supervisor;
use crate::trigger::{command, crash, Met, Triggers};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use trigger::Action;
use verdict::Firing;

/// Directories of sessions as a program's environment has them.
pub(super) fn directories(session: &Path, triggers: Option<&Triggers>) -> OsString {
    let beside = triggers.and_then(Triggers::directory).map(Path::as_os_str);
    super::launch::append(session.as_os_str().to_os_string(), beside)
}

impl Supervisor<'_> {
    /// Looks which conditions were met, and does what is to be done. Return: when to look again.
    pub(super) fn follow_triggers(&mut self) -> Duration {
        let Some(triggers) = self.triggers.as_mut() else { return Duration::MAX };
        if triggers.is_due() {
            triggers.commands.reap();
            self.look_at_triggers();
        }
        self.triggers.as_ref().map_or(Duration::MAX, Triggers::due_in)
    }

    /// The same, whether it is time to look or not.
    pub(super) fn look_at_triggers(&mut self) {
        let Some(mut triggers) = self.triggers.take() else { return };
        let met = triggers.look(self.child_pid());
        self.fire(&mut triggers, met, false);
        self.triggers = Some(triggers);
    }

    /// The process of whose end the recorder hears itself.
    pub(super) fn child_pid(&self) -> Option<u32> {
        self.child.as_ref().map(super::launch::Child::id)
    }

    /// The program has ended, perhaps by a signal.
    pub(super) fn fire_for_end(&mut self, status: ExitStatus) {
        let signal = status.signal().filter(|signal| crash::is_crash(*signal));
        let pid = self.child_pid();
        let Some((signal, pid)) = signal.zip(pid) else { return };
        let Some(mut triggers) = self.triggers.take() else { return };
        let crashed = crash::crash(pid, signal, None);
        // What it recorded before it died comes first.
        let mut met = triggers.look(Some(pid));
        met.extend(triggers.of_crashes().into_iter().map(|index| (index, crashed.clone())));
        self.fire(&mut triggers, met, false);
        self.triggers = Some(triggers);
    }

    /// Acts on what was recorded until the end.
    pub(super) fn end_triggers(&mut self) {
        let Some(mut triggers) = self.triggers.take() else { return };
        let met = triggers.end(self.child_pid());
        self.fire(&mut triggers, met, true);
        self.triggers = Some(triggers);
    }

    fn fire(&mut self, triggers: &mut Triggers, met: Vec<(u64, Met)>, is_last: bool) {
        for (number, met) in met {
            let (cycles, ns) = self.consumer.now();
            let mut list = triggers.list.iter_mut();
            let Some(running) = list.find(|running| running.number == number) else { continue };
            running.fired = running.fired.saturating_add(met.count);
            running.acted += 1;
            running.first_ns.get_or_insert(ns);
            running.last_ns = Some(ns);
            let mut done = Vec::new();
            let mut snapshot = None;
            for at in 0..running.doing.len() {
                let Some(doing) = running.doing.get_mut(at) else { continue };
                if !doing.pace.take(ns) {
                    doing.withheld += 1;
                    continue;
                }
                let action = doing.deed.action.clone();
                let text = running.condition.text.clone();
                let result = match &action {
                    Action::Run(line) => {
                        let trace = snapshot.as_ref().unwrap_or(&self.recorder.output);
                        let session = self.recorder.name.as_str();
                        let told = command::Told { session, condition: &text, trace };
                        let signals = self.signals.inherited;
                        triggers.commands.start(line, &met, &told, signals).map(|()| true)
                    }
                    action => self.act(action, &mut snapshot),
                };
                match result {
                    // It was so already.
                    Ok(false) => {}
                    Ok(true) => {
                        doing.done += 1;
                        done.push(match &snapshot {
                            Some(path) if action == Action::Snapshot => {
                                format!("snapshot: {}", path.display())
                            }
                            _ => doing.deed.text.clone(),
                        });
                    }
                    Err(why) => {
                        doing.failed += 1;
                        doing.why = why;
                    }
                }
            }
            let moment = met.moment.unwrap_or_default();
            let condition = running.condition.text.clone();
            triggers.note(Firing {
                at: (cycles, ns),
                event_cycles: moment.cycles,
                pid: moment.pid.unwrap_or(0),
                tid: moment.tid.unwrap_or(0),
                condition,
                done,
            });
        }
        if let Some(firings) = triggers.untold(is_last) {
            self.consumer.tell_firings(firings);
        }
    }

    /// Does what a trigger asks for. Return: whether anything is different. An error: in words, why
    /// it was not done.
    fn act(&mut self, action: &Action, snapshot: &mut Option<PathBuf>) -> Result<bool, String> {
        let told = |error: consumer::consumer::PauseError| error.to_string();
        match action {
            Action::Count | Action::Run(_) => Ok(true),
            Action::Snapshot => {
                let told = self.snapshot().map_err(|error| error.to_string())?;
                *snapshot = Some(told.trace);
                Ok(true)
            }
            Action::Start if !self.consumer.is_paused() => Ok(false),
            Action::Start => self.consumer.resume_probes().map_err(told).map(|()| true),
            Action::Pause if self.consumer.is_paused() => Ok(false),
            Action::Pause => self.consumer.pause_probes().map_err(told).map(|()| true),
            Action::Stop => Ok(!std::mem::replace(&mut self.is_told_to_stop, true)),
            Action::Enable(argument) => self.change_by_trigger(true, argument),
            Action::Disable(argument) => self.change_by_trigger(false, argument),
        }
    }

    fn change_by_trigger(&mut self, is_enable: bool, argument: &String) -> Result<bool, String> {
        let arguments = std::slice::from_ref(argument);
        let told = |error: anyhow::Error| crate::told(&error);
        let later = change::asked(is_enable, arguments).map_err(told)?;
        if self.asked.arguments().ends_with(&later.arguments()) {
            return Ok(false); // It is so since an earlier firing.
        }
        let reaching = self.changed(is_enable, arguments).map_err(told)?;
        self.reaching.push((None, reaching));
        Ok(true)
    }
}

/// The directories behind the first, one by one.
pub(super) fn beside(triggers: Option<&Triggers>) -> Vec<String> {
    let directory = triggers.and_then(Triggers::directory).map(Path::as_os_str);
    directory.map(OsStr::to_string_lossy).into_iter().map(|path| path.into_owned()).collect()
}
