// SPDX-License-Identifier: MIT
//! Processes that run already join and leave while the session runs: `lull attach` and
//! `lull detach`.
//!
//! Place in the flow: `serve` calls this when it is asked to; a thread asks the processes
//! (`reach`), and what came of it is taken over here, where the end of the session finds it.

use super::attach::{self, names_of_sessions, Attachment, Joining, Leaving, Several, PATIENCE};
use super::change::REACHING_MAX;
use super::fire;
use super::reach::{self, Outcome, Reaching};
use super::supervise::Supervisor;
use control::{Caller, Members, MEMBERS_MAX};

impl Supervisor<'_> {
    /// Has processes join or leave. The answer comes later, but for a refusal.
    pub(super) fn members(&mut self, caller: Caller, is_join: bool, pids: Vec<u32>) {
        let begun = self.asked_members(is_join, pids);
        self.answer_later(caller, begun);
    }

    fn asked_members(
        &mut self,
        is_join: bool,
        pids: Vec<u32>,
    ) -> anyhow::Result<Reaching<Outcome>> {
        anyhow::ensure!(!pids.is_empty(), "no process was named");
        anyhow::ensure!(
            pids.len() <= MEMBERS_MAX,
            "a request names {MEMBERS_MAX} processes at most"
        );
        anyhow::ensure!(
            self.reaching.len() < REACHING_MAX,
            "{REACHING_MAX} requests are under way; try again"
        );
        anyhow::ensure!(
            !is_join || self.consumer.is_active(),
            "it has the size that --max-size allows, and records nothing more"
        );
        let Some(loaded) = &self.loaded else { anyhow::bail!("it records the kernel only") };
        let library = loaded.liblull().to_path_buf();
        let directories = fire::directories(self.session.path(), self.triggers.as_ref());
        let sessions = names_of_sessions(&directories)?;
        if self.attachment.is_none() {
            self.attachment = Some(Attachment::new(sessions.clone(), false));
        }
        let segments = self.consumer.segments();
        Ok(Reaching::begin(move |is_over| {
            let (segments, sessions) = (&segments[..], &sessions[..]);
            let (limit, patience) = (reach::LIMIT, PATIENCE);
            let several = Several { pids, segments, sessions, limit, patience, is_over };
            match is_join {
                true => Outcome::Joined(attach::join_all(&several, &library)),
                false => Outcome::Left(attach::leave_all(&several)),
            }
        })?)
    }

    pub(super) fn take_members(&mut self, joined: Vec<Joining>) -> Members {
        self.attachment.as_mut().map(|found| found.take(joined)).unwrap_or_default()
    }

    pub(super) fn lose_members(&mut self, left: Vec<Leaving>) -> Members {
        self.attachment.as_mut().map(|found| found.lose(left)).unwrap_or_default()
    }
}
