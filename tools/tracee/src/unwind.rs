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
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, ParsedEhFrameHdr,
    Pointer, Register, RegisterRule, UnwindContext, UnwindSection, X86_64,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const FRAMES_MAX: usize = 512;
const INDEX_BYTES_MAX: u64 = 8 << 20;
const TABLE_BYTES_MAX: u64 = 64 << 20;
/// Those that a function leaves as they were, unless its table says where they are.
const KEPT: [Register; 6] =
    [X86_64::RBX, X86_64::RBP, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

type Slice<'a> = EndianSlice<'a, NativeEndian>;

/// An object's tables, as bytes, and where they are in the process.
struct Tables {
    index_at: u64,
    index: Vec<u8>,
    frames_at: u64,
    frames: Vec<u8>,
}

/// The tables of a process's objects, each read when it is first needed.
pub(crate) struct Unwinder {
    mappings: Vec<Mapping>,
    read: Mutex<BTreeMap<u64, Option<Arc<Tables>>>>,
}

/// Where a frame's registers are those of its caller.
#[derive(Clone, Copy)]
struct Frame {
    instruction: u64,
    stack: u64,
    kept: [u64; KEPT.len()],
}

impl Unwinder {
    pub(crate) fn new(mappings: &[Mapping]) -> Self {
        Self { mappings: mappings.to_vec(), read: Mutex::default() }
    }

    /// The thread's instruction, and an address within each call that it returns to, the innermost
    /// first. None: they are not known exactly.
    pub(crate) fn frames(&self, memory: &Memory, registers: &Registers) -> Option<Vec<u64>> {
        let mut frame = Frame {
            instruction: registers.rip,
            stack: registers.rsp,
            kept: [
                registers.rbx,
                registers.rbp,
                registers.r12,
                registers.r13,
                registers.r14,
                registers.r15,
            ],
        };
        let stack = self.mappings.iter().find(|one| one.contains(frame.stack))?;
        let mut found = vec![frame.instruction];
        while found.len() < FRAMES_MAX {
            let at = found.last().copied()?;
            let Some(caller) = self.caller(memory, &frame, at)? else { return Some(found) };
            if caller.stack <= frame.stack || caller.stack > stack.until {
                return None;
            }
            // The call is before the address that it returns to, which may be another function's.
            found.push(caller.instruction.checked_sub(1)?);
            frame = caller;
        }
        None
    }

    /// The caller's frame; none for the outermost. `at`: an address within the frame's function.
    #[allow(clippy::option_option, reason = "not known is not the same as none")]
    fn caller(&self, memory: &Memory, frame: &Frame, at: u64) -> Option<Option<Frame>> {
        let tables = self.tables(memory, at)?;
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(tables.index_at)
            .set_eh_frame(tables.frames_at);
        let section = EhFrame::from(EndianSlice::new(&tables.frames, NativeEndian));
        let index = parsed(&tables.index, &bases)?;
        let found = index.table()?.lookup(at, &bases).ok()?;
        let Pointer::Direct(entry) = found else { return None };
        let offset = usize::try_from(entry.checked_sub(tables.frames_at)?).ok()?;
        let entry =
            section.fde_from_offset(&bases, offset.into(), EhFrame::cie_from_offset).ok()?;
        if !entry.contains(at) || entry.is_signal_trampoline() {
            return None;
        }
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&section, &bases, &mut context, at).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let begin = frame.value(*register)?.wrapping_add_signed(*offset);
        let place = |offset: i64| begin.wrapping_add_signed(offset);
        let instruction = match row.register(X86_64::RA) {
            RegisterRule::Undefined => return Some(None),
            RegisterRule::Offset(offset) => memory.read_word(place(offset)).ok()?,
            _ => return None,
        };
        let mut kept = frame.kept;
        for (value, register) in kept.iter_mut().zip(KEPT) {
            *value = match row.register(register) {
                RegisterRule::Undefined | RegisterRule::SameValue => *value,
                RegisterRule::Offset(offset) => memory.read_word(place(offset)).ok()?,
                RegisterRule::ValOffset(offset) => place(offset),
                _ => return None,
            };
        }
        Some(Some(Frame { instruction, stack: begin, kept }))
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
        let bases = BaseAddresses::default().set_eh_frame_hdr(index_at);
        let Pointer::Direct(frames_at) = parsed(&index, &bases)?.eh_frame_ptr() else {
            return None;
        };
        let mapping = self.mappings.iter().find(|one| one.contains(frames_at))?;
        let bytes = (mapping.until - frames_at).min(TABLE_BYTES_MAX);
        let mut frames = vec![0; usize::try_from(bytes).ok()?];
        memory.read(frames_at, &mut frames).ok()?;
        Some(Arc::new(Tables { index_at, index, frames_at, frames }))
    }
}

impl Frame {
    fn value(&self, register: Register) -> Option<u64> {
        if register == X86_64::RSP {
            return Some(self.stack);
        }
        let place = KEPT.iter().position(|kept| *kept == register)?;
        self.kept.get(place).copied()
    }
}

fn parsed<'a>(index: &'a [u8], bases: &BaseAddresses) -> Option<ParsedEhFrameHdr<Slice<'a>>> {
    const ADDRESS_BYTES: u8 = 8;
    EhFrameHdr::new(index, NativeEndian).parse(bases, ADDRESS_BYTES).ok()
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
