// SPDX-License-Identifier: MIT
//! What a recording can be told and asked while it goes on, beside pauses.
//!
//! Place in the flow: `lull run` and `lull status` come here through the recorder's control socket.

use super::Consumer;
use crate::clock::now_cycles;

impl Consumer {
    /// Tells of a process that is about to run `program`, so that it is missed if it never joins.
    pub fn expect_from_now(&mut self, pid: u32, program: &str) {
        self.tools.walker.threads.lives.expect(pid, program, now_cycles());
        self.expect_in_kernel(pid, program);
    }

    /// Processes that recorded events, as far as these were read, by number; each with how many
    /// of its threads did.
    pub fn processes(&self) -> Vec<(u32, u64)> {
        self.tools.walker.threads.processes()
    }
}
