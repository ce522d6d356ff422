// SPDX-License-Identifier: MIT
//! Users whose processes join: each has memory of its own (docs/adr/0010), with what this session
//! is by then.
//!
//! Place in the flow: the first process of another user makes the memory; a turn of the recorder
//! finds it, and reads its rings from then on.

use super::{note, Consumer};
use session::Memory;
use std::sync::Arc;

/// Users whose processes may record in one session; more are not, and the verdict says so.
const USERS_MAX: usize = 64;

/// A user whose processes may record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// The stream class of what they record.
    pub class: u32,
    pub number: u32,
    /// The memory that they write to.
    pub segment: i32,
}

impl Consumer {
    /// The users that have memory, the recorder's own first.
    pub fn users(&self) -> impl Iterator<Item = User> + '_ {
        let of_programs = self.memories.iter().filter(|memory| !memory.is_kernels());
        of_programs.filter_map(|memory| {
            let fixed = memory.fixed();
            Some(User { class: fixed.stream_id, number: fixed.user_id, segment: memory.id()? })
        })
    }

    /// Adds the rings of users whose processes have joined since.
    pub(super) fn meet_users(&mut self) {
        let known: Vec<u32> = self.memories.iter().map(|memory| memory.fixed().user_id).collect();
        for link in self.session.newcomers(&known) {
            let class = self.memories.len();
            let added = match self.session.meet(link, class as u32) {
                Ok(_) if class >= USERS_MAX => {
                    Err(crate::Error::Users { limit: USERS_MAX }.to_string())
                }
                Ok(memory) => self.add_user(Arc::new(memory)).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(problem) = added {
                note(&mut self.problems, format!("processes of another user: {problem}"));
            }
        }
    }

    /// Makes memory for a user whose processes are to join, if the user has none. `plan`: that of
    /// the session.
    pub fn provide(&mut self, plan: &session::Plan, user_id: u32) -> Result<(), crate::Error> {
        self.meet_users();
        if self.users().any(|user| user.number == user_id) {
            return Ok(());
        }
        let class = self.memories.len();
        if class >= USERS_MAX {
            return Err(crate::Error::Users { limit: USERS_MAX });
        }
        let provided = self.session.provide(plan, user_id, class as u32);
        let added = provided
            .map_err(crate::Error::from)
            .and_then(|(memory, key)| self.begin_user(&Arc::new(memory), key));
        self.session.forget_unfinished(user_id);
        if !added? {
            self.meet_users();
        }
        Ok(())
    }

    /// Adds memory that nobody has seen. Return: false where its user has some.
    fn begin_user(&mut self, memory: &Arc<Memory>, key: i32) -> Result<bool, crate::Error> {
        let mut rings = self.rings(memory)?;
        rings.iter_mut().for_each(|channel| channel.drain.ring.reset(0));
        memory.set_active(self.is_recording());
        self.changes.bring_up_to_date(memory)?;
        if !self.session.publish(memory.fixed().user_id, key)? {
            return Ok(false);
        }
        self.add_rings(memory, rings);
        self.memories.push(Arc::clone(memory));
        Ok(true)
    }

    fn add_user(&mut self, memory: Arc<Memory>) -> Result<(), crate::Error> {
        let rings = self.rings(&memory)?;
        self.add_rings(&memory, rings);
        // Its maker took flag and rules over from its own user's, which may have changed since.
        memory.set_active(self.is_recording());
        self.changes.bring_up_to_date(&memory)?;
        self.memories.push(memory);
        Ok(())
    }

    /// Tells processes that the session is over: they leave it when they look.
    pub fn end(&self) {
        self.memories.iter().filter(|memory| !memory.is_kernels()).for_each(|memory| memory.end());
    }
}
