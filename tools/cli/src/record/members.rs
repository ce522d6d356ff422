// SPDX-License-Identifier: MIT
//! Processes that run already join and leave while the session runs: `lull attach` and
//! `lull detach`.
//!
//! Place in the flow: `serve` calls this when it is asked to; a thread asks the processes
//! (`reach`), and what came of it is taken over here, where the end of the session finds it.

use super::attach::{self, Attachment, Joining, Leaving, Place, Several, PATIENCE};
use super::change::REACHING_MAX;
use super::reach::{self, Outcome, Reaching};
use super::supervise::Supervisor;
use control::{Caller, Members, MEMBERS_MAX};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
        let places = self.places()?;
        if self.attachment.is_none() {
            let sessions = places.iter().map(|place| place.directory.clone()).collect();
            self.attachment = Some(Attachment::new(sessions, false));
        }
        Ok(Reaching::begin(move |is_over| {
            let (places, limit, patience) = (&places[..], reach::LIMIT, PATIENCE);
            let several = Several { pids, places, limit, patience, is_over };
            match is_join {
                true => Outcome::Joined(attach::join_all(&several, &library)),
                false => Outcome::Left(attach::leave_all(&several)),
            }
        })?)
    }

    /// The session, and its companion if there is one: who joins one joins both.
    pub(super) fn places(&self) -> anyhow::Result<Vec<Place>> {
        let name = |path: &Path| CString::new(path.as_os_str().as_bytes());
        let own =
            Place { directory: name(self.session.path())?, segments: self.consumer.segments() };
        let triggers = self.triggers.as_ref();
        let beside = triggers.and_then(|triggers| Some((triggers.directory()?, triggers)));
        let beside = beside.map(|(directory, triggers)| {
            Ok(Place { directory: name(directory)?, segments: triggers.segments() })
        });
        std::iter::once(Ok(own)).chain(beside).collect()
    }

    pub(super) fn take_members(&mut self, joined: Vec<Joining>) -> Members {
        self.attachment.as_mut().map(|found| found.take(joined)).unwrap_or_default()
    }

    pub(super) fn lose_members(&mut self, left: Vec<Leaving>) -> Members {
        self.attachment.as_mut().map(|found| found.lose(left)).unwrap_or_default()
    }
}
