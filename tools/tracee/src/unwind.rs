// SPDX-License-Identifier: MIT
//! The functions that a stopped thread is in: its instruction's, and those that it returns to, by
//! the tables for unwinding (`.eh_frame`) of the objects as they are mapped.
//!
//! Place in the flow: where the words on a thread's stack may be return addresses or may be left
//! over, this tells which are. It answers only where it can be exact: each frame is described by
//! its object's table, and the last one says that it is the last. Code that was made at run time,
//! a signal's handler or a table that computes by expressions ends it without an answer.
//!
//! The process can have anything in its tables; what is read of them is bounded.

use crate::maps::Mapping;
use crate::registers::Registers;
use crate::{symbols, Memory};
use ::unwind::{Caller, Frame, Tables};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const FRAMES_MAX: usize = 512;
const INDEX_BYTES_MAX: u64 = 8 << 20;
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// The tables of a process's objects, each read when it is first needed.
pub(crate) struct Unwinder {
    mappings: Vec<Mapping>,
    read: Mutex<BTreeMap<u64, Option<Arc<Tables>>>>,
}

impl Unwinder {
    pub(crate) fn new(mappings: &[Mapping]) -> Self {
        Self { mappings: mappings.to_vec(), read: Mutex::default() }
    }

    /// The thread's instruction, and an address within each call that it returns to, the innermost
    /// first. None: they are not known exactly.
    pub(crate) fn frames(&self, memory: &Memory, registers: &Registers) -> Option<Vec<u64>> {
        let Registers { rbx, rbp, r12, r13, r14, r15, .. } = *registers;
        let mut frame = Frame::new(registers.rip, registers.rsp);
        frame = frame.with_kept([rbx, rbp, r12, r13, r14, r15]);
        let stack = self.mappings.iter().find(|one| one.contains(frame.stack))?;
        let mut found = vec![frame.instruction];
        while found.len() < FRAMES_MAX {
            let at = found.last().copied()?;
            let tables = self.tables(memory, at)?;
            let word = |at| memory.read_word(at).ok();
            let caller = tables.caller(&::unwind::X86, &frame, at, word).ok()?;
            let Caller::Frame(caller) = caller else { return Some(found) };
            if caller.stack <= frame.stack || caller.stack > stack.until {
                return None;
            }
            // The call is before the address that it returns to, which may be another function's.
            found.push(caller.instruction.checked_sub(1)?);
            frame = caller;
        }
        None
    }

    /// The tables of the object whose code is at an address.
    fn tables(&self, memory: &Memory, address: u64) -> Option<Arc<Tables>> {
        let code = self.mappings.iter().find(|one| one.contains(address) && one.is_executable)?;
        let is_first = |one: &&Mapping| {
            let is_same = one.inode == code.inode && one.path == code.path;
            is_same && one.offset == 0 && one.begin <= code.begin
        };
        let first = self.mappings.iter().rfind(is_first)?;
        let mut read = self.read.lock().ok()?;
        read.entry(first.begin).or_insert_with(|| self.read_tables(memory, first)).clone()
    }

    fn read_tables(&self, memory: &Memory, first: &Mapping) -> Option<Arc<Tables>> {
        let (index_at, bytes) = symbols::unwinding_index(memory, first)?;
        let mut index = vec![0; usize::try_from(bytes.min(INDEX_BYTES_MAX)).ok()?];
        memory.read(index_at, &mut index).ok()?;
        let frames = |frames_at| {
            let mapping = self.mappings.iter().find(|one| one.contains(frames_at))?;
            let bytes = (mapping.until - frames_at).min(TABLE_BYTES_MAX);
            let mut frames = vec![0; usize::try_from(bytes).ok()?];
            memory.read(frames_at, &mut frames).ok()?;
            Some(frames)
        };
        Tables::new(index_at, index, frames).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This thread's registers in the function that calls this.
    #[inline(always)]
    fn own() -> Registers {
        // SAFETY: the context is plain data, which getcontext() fills.
        let context = unsafe {
            let mut context: libc::ucontext_t = std::mem::zeroed();
            assert_eq!(libc::getcontext(&mut context), 0);
            context
        };
        let register = |number: i32| context.uc_mcontext.gregs[number as usize] as u64;
        Registers {
            rip: register(libc::REG_RIP),
            rsp: register(libc::REG_RSP),
            rbx: register(libc::REG_RBX),
            rbp: register(libc::REG_RBP),
            r12: register(libc::REG_R12),
            r13: register(libc::REG_R13),
            r14: register(libc::REG_R14),
            r15: register(libc::REG_R15),
            ..Registers::default()
        }
    }

    fn unwinder() -> (Unwinder, Memory) {
        let pid = std::process::id();
        (Unwinder::new(&crate::maps::read(pid).unwrap()), Memory::open(pid).unwrap())
    }

    #[test]
    fn frames_of_a_thread_are_known_from_its_instruction_to_its_start() {
        let (unwinder, memory) = unwinder();
        let registers = own();
        let frames = unwinder.frames(&memory, &registers).unwrap();
        assert_eq!(frames[0], registers.rip);
        assert!((4..200).contains(&frames.len()), "{}", frames.len());
        let elsewhere = Registers { rip: &raw const registers as u64, ..registers };
        assert_eq!(unwinder.frames(&memory, &elsewhere), None, "no object's code");
        let lost = Registers { rsp: registers.rsp + 64, rbp: 1, ..registers };
        assert_ne!(unwinder.frames(&memory, &lost), Some(frames));
    }

    #[test]
    fn tables_that_were_damaged_anywhere_are_followed_to_an_end() {
        let (unwinder, memory) = unwinder();
        let registers = own();
        let sound = unwinder.tables(&memory, registers.rip).unwrap();
        let place = *unwinder.read.lock().unwrap().keys().next().unwrap();
        let mut random = 1u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize
        };
        for round in 0..300 {
            let Tables { index_at, frames_at, .. } = *sound;
            let (mut index, mut frames) = (sound.index.clone(), sound.frames.clone());
            for _ in 0..8 {
                let at = next() % if round % 2 == 0 { 16 } else { index.len() };
                index[at] ^= next() as u8;
            }
            for _ in 0..frames.len() / 16 {
                let at = next() % frames.len();
                frames[at] = next() as u8;
            }
            let damaged = Arc::new(Tables { index_at, index, frames_at, frames });
            unwinder.read.lock().unwrap().insert(place, Some(damaged));
            unwinder.frames(&memory, &registers);
        }
    }
}
