// SPDX-License-Identifier: MIT
//! What a recording can be told and asked while it goes on, beside pauses.
//!
//! Place in the flow: `lull run` and `lull status` come here through the recorder's control socket.

use super::Consumer;
use crate::clock::now_cycles;
use crate::walk::Process;
use verdict::thinned::{self, Sampled};
use verdict::{environment, Firing};

impl Consumer {
    /// Tells of a process that is about to run `program`, so that it is missed if it never joins.
    pub fn expect_from_now(&mut self, pid: u32, program: &str) {
        self.tools.walker.threads.lives.expect(pid, program, now_cycles());
        self.expect_in_kernel(pid, program);
    }

    /// Has the trace tell of conditions that were met, and of what was done.
    pub fn tell_firings(&mut self, firings: &[Firing]) {
        self.tell(environment::of_firings(firings));
    }

    /// The moment, in cycles of the trace's clock and in nanoseconds since recording began.
    pub fn now(&self) -> (u64, u64) {
        self.moment()
    }

    /// Processes that recorded events, as far as these were read, by number.
    pub fn processes(&self) -> Vec<Process> {
        self.tools.walker.threads.processes()
    }

    /// What was to be sampled, by pattern, as the trace's environment says since the begin.
    pub(super) fn sampled(&self) -> Vec<Sampled> {
        let environment = &self.options.facts.environment;
        thinned::sampled(|name| {
            environment.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        })
    }
}
