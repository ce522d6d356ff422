// SPDX-License-Identifier: MIT
//! What can be seen of a thread that is stopped, by which its visitor decides what to do.
//!
//! Place in the flow: between a stop and the calls that follow it.

use crate::registers::Registers;
use crate::visit::Stopped;
use std::time::Duration;

impl Stopped<'_> {
    /// The address of the instruction that the thread comes back to.
    #[must_use]
    pub fn instruction(&self) -> u64 {
        self.saved.registers.rip
    }

    pub(crate) fn registers(&self) -> &Registers {
        &self.saved.registers
    }

    #[must_use]
    pub fn stack_pointer(&self) -> u64 {
        self.saved.registers.rsp
    }

    /// The system call that the thread waits in.
    #[must_use]
    pub fn system_call(&self) -> Option<u64> {
        self.saved.registers.is_in_call().then_some(self.saved.registers.call)
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.tracee.pid
    }

    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread.tid
    }

    /// Whether all of the process is stopped, by SIGSTOP or a terminal.
    #[must_use]
    pub fn is_with_all(&self) -> bool {
        self.is_with_all
    }

    /// How long the thread has been stopped.
    #[must_use]
    pub fn held(&self) -> Duration {
        self.since.elapsed()
    }

    /// `__errno_location` of the process: calls that follow leave the thread's errno as it is.
    pub fn keep_errno(&mut self, location: u64) {
        self.errno = location;
    }
}
