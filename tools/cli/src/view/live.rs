// SPDX-License-Identifier: MIT
//! `lull view --live`: the newest events of a session that runs.
//!
//! Place in the flow: follows the trace as `lull top` does (`top::follow`), and shows its newest
//! packets anew every few seconds, up to a bound on their bytes. The recorder is not asked for
//! anything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::view::{Shown, Viewed};
use anyhow::{bail, Context};
use history::History;
use session::directory::Found;
use trace::Trace;

use super::printed;
use crate::live::find::find;
use crate::say;
use crate::top::follow::{refusal, Follower};

/// Packets that are shown: reading them takes a part of a second.
const NEWEST_BYTES: u64 = 16 << 20;
/// How often the files are looked at, and how often what is shown is renewed, at least.
const LOOK: Duration = Duration::from_millis(100);
const RENEWAL: Duration = Duration::from_secs(1);
/// What following may take of a CPU: a renewal is followed by a rest that is so many times longer.
const REST: u32 = 4;

/// The session that is meant, and its follower.
pub struct Session {
    found: Found,
    follower: Follower,
    /// Older packets are there than those that are shown.
    has_older: bool,
}

impl Session {
    pub fn find(wanted: &str) -> anyhow::Result<Self> {
        let wanted = Some(wanted).filter(|wanted| !wanted.is_empty());
        let Some(found) = find(wanted)? else {
            bail!("no session of yours is running; `lull start` begins one");
        };
        if let Some(why) = refusal(&found) {
            bail!("{}: {why}", found.recorder.name);
        }
        let output = &found.recorder.output;
        let follower = Follower::behind(output, NEWEST_BYTES);
        let follower = follower.with_context(|| format!("following {}", output.display()))?;
        Ok(Self { found, follower, has_older: false })
    }

    /// What is there by now, which may be nothing, and a thread that goes on showing what comes.
    pub fn show(mut self) -> anyhow::Result<Arc<Shown>> {
        let folder = &self.found.recorder.output;
        let metadata = std::fs::read(folder.join("metadata"));
        let metadata = metadata.with_context(|| folder.display().to_string())?;
        let empty = Trace::from_bytes(&metadata, Vec::new())?;
        let shown = Arc::new(Shown::live(self.viewed(empty, self.notes(true))?));
        let own = shown.clone();
        // It ends with the process.
        std::thread::spawn(move || self.follow(&own));
        Ok(shown)
    }

    fn follow(&mut self, shown: &Shown) {
        let mut rest = RENEWAL;
        loop {
            let due = Instant::now() + rest;
            let mut is_over = false;
            // Bound: the rest.
            while Instant::now() < due && !is_over {
                std::thread::sleep(LOOK);
                is_over = self.follower.look(Instant::now()).is_err() || !self.found.path.exists();
            }
            // What the recorder wrote before it ended.
            let _ = self.follower.look(Instant::now());
            let begin = Instant::now();
            if let Err(error) = self.renew(shown, is_over) {
                let why = crate::told(&error);
                say(&format!("the session is not followed any more: {why}"));
                return;
            }
            if is_over {
                say(&format!("the session has ended: {}", self.whole()));
                return;
            }
            rest = RENEWAL.max(begin.elapsed() * REST);
        }
    }

    fn renew(&mut self, shown: &Shown, is_over: bool) -> anyhow::Result<()> {
        if let Some(newest) = self.follower.newest(Instant::now(), is_over)? {
            self.has_older = newest.has_older;
            shown.replace(self.viewed(newest.trace, self.notes(true))?);
        }
        if is_over {
            shown.end(self.notes(false));
        }
        Ok(())
    }

    fn whole(&self) -> String {
        format!("`lull view {}` shows all of it", self.found.recorder.output.display())
    }

    fn notes(&self, goes_on: bool) -> Vec<String> {
        let mut notes = vec![match goes_on {
            true => "The session runs: what is shown is a few seconds old.".to_string(),
            false => format!("The session has ended: {}.", self.whole()),
        }];
        if self.has_older {
            notes.push(format!(
                "Only the newest {} MiB are shown, and states from before them are not known: {}.",
                NEWEST_BYTES >> 20,
                self.whole()
            ));
        }
        notes.extend(self.follower.complaints());
        notes
    }

    fn viewed(&self, trace: Trace, notes: Vec<String>) -> anyhow::Result<Viewed> {
        let traces = Arc::new(vec![trace]);
        let history = History::open_or_build(&traces, |_| {})?;
        Ok(printed(traces, history, notes).written_in(&self.found.recorder.output))
    }
}
