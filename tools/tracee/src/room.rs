// SPDX-License-Identifier: MIT
//! Where a visit's code is written: bytes that nothing refers to, or what a visit that was killed
//! has left.
//!
//! Place in the flow: between a stop and the first piece of code that the thread runs.

use crate::frame::{self, Area};
use crate::status::Status;
use crate::visit::Stopped;
use crate::{symbols, Error, Mapping, Result};
use std::ops::Range;

impl Stopped<'_> {
    /// Whether a thread that had begun a visit is surely not in the visit's code any more: it has
    /// ended, or is the one that is stopped elsewhere.
    fn is_past(&self, owner: Option<u32>, code: Range<u64>) -> bool {
        let Some(owner) = owner else { return false };
        if owner == self.thread.tid {
            let own = &self.saved.registers;
            return !code.contains(&own.rip) && !code.contains(&own.rsp);
        }
        Status::read_thread(self.tracee.pid, owner).is_none()
    }

    /// The memory of a visit that was killed.
    pub(crate) fn left_area(&self) -> Result<Option<Area>> {
        let mappings = self.tracee.mappings()?;
        let is_code = |one: &&Mapping| {
            let bytes = one.until - one.begin;
            one.is_executable && one.inode == 0 && bytes == frame::CODE_BYTES
        };
        let found = mappings.iter().filter(is_code).find(|code| {
            let mut found = vec![0u8; frame::second_bytes()];
            let is_read = self.tracee.memory.read(code.begin, &mut found).is_ok();
            let area = Area { base: code.begin };
            is_read
                && self.is_past(frame::second_owner(&found), area.base..area.base + Area::BYTES)
                && mappings.iter().any(|stack| {
                    stack.begin == area.stack() && stack.until >= area.base + Area::BYTES
                })
        });
        Ok(found.map(|code| Area { base: code.begin }))
    }

    /// Where the first piece of code is written, behind the code of an object.
    pub(crate) fn room(&mut self) -> Result<u64> {
        if let Some(room) = self.room {
            return Ok(room);
        }
        let bytes = frame::first_bytes() as u64;
        let is_unused = |_, found: &[u8]| found.iter().all(|byte| *byte == 0);
        // A visit that was killed leaves its bytes; only its thread can still be among them.
        let is_left =
            |at: u64, found: &[u8]| self.is_past(frame::first_owner(found), at..at + bytes);
        let (memory, mappings) = (&self.tracee.memory, self.tracee.mappings()?);
        let room = symbols::rooms(memory, &mappings, bytes as usize, is_unused)
            .or_else(|| symbols::rooms(memory, &mappings, bytes as usize, is_left));
        let Some(room) = room else {
            // The memory of a process that ended after its mappings were read has no room, either.
            self.tracee.mappings()?;
            return Err(Error::NoRoom { pid: self.tracee.pid });
        };
        self.room = Some(room);
        Ok(room)
    }
}
