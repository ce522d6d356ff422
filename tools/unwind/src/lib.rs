// SPDX-License-Identifier: MIT
//! From a function's frame to that of its caller, by the tables for unwinding (`.eh_frame`) of the
//! object that the function is in.
//!
//! Place in the flow: `tracee` follows the frames of a thread that it has stopped, with tables read
//! from the process; `symbols` those of a copy of a stack in a trace, with tables read from files.
//! Both keep the tables, and say where words of the stack are read.
//!
//! An answer is exact, or there is none: code without a table, a signal's handler, and a table that
//! computes by expressions have none. Tables can hold anything: each step is bounded.

use gimli::{
    AArch64, BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry,
    NativeEndian, ParsedEhFrameHdr, Pointer, Register, RegisterRule, UnwindContext, UnwindSection,
    X86_64,
};

type Slice<'a> = EndianSlice<'a, NativeEndian>;

const ADDRESS_BYTES: u8 = 8;
/// How an index begins: its version, and how it writes where the tables are, how many entries there
/// are (32 bits, as the former), and these, sorted (two times 32 bits, from the index on).
const INDEX_FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
const INDEX_ENTRY_BYTES: usize = 8;
/// Registers of a machine that a function leaves as they were, at most.
const KEPT_MAX: usize = 11;
/// Bits of an address of a program's; those above them may be a signature on aarch64.
const ADDRESS_BITS: u64 = (1 << 48) - 1;

/// Which registers a machine has for what: [`X86`], [`ARM`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    stack: Register,
    return_address: Register,
    /// Those that a function leaves as they were, unless its table says where they are; the frame
    /// pointer among them.
    kept: &'static [Register],
    frame: Register,
}

/// Of 64 bits. What functions keep: rbx, rbp, r12, r13, r14, r15.
pub const X86: Machine = Machine {
    stack: X86_64::RSP,
    return_address: X86_64::RA,
    kept: &[X86_64::RBX, X86_64::RBP, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15],
    frame: X86_64::RBP,
};

/// Of 64 bits. What functions keep: x19 to x29.
pub const ARM: Machine = Machine {
    stack: AArch64::SP,
    return_address: AArch64::X30,
    kept: &[
        AArch64::X19,
        AArch64::X20,
        AArch64::X21,
        AArch64::X22,
        AArch64::X23,
        AArch64::X24,
        AArch64::X25,
        AArch64::X26,
        AArch64::X27,
        AArch64::X28,
        AArch64::X29,
    ],
    frame: AArch64::X29,
};

/// A function's frame: its registers where it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub instruction: u64,
    pub stack: u64,
    /// By [`Machine::kept`]; `None` where one is not known.
    kept: [Option<u64>; KEPT_MAX],
}

/// What called a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A function, whose frame this is.
    Frame(Frame),
    /// Nothing: it is the outermost one.
    None,
}

/// Why it is not known what called a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// No table says it, or only by what is not computed here.
    Table,
    /// A table says it, by a register or a word of the stack that is not known.
    Value,
}

/// An object's tables, as bytes, with their addresses in the object.
#[derive(Debug)]
pub struct Tables {
    /// The index (`.eh_frame_hdr`).
    pub index_at: u64,
    pub index: Vec<u8>,
    /// The tables (`.eh_frame`), or what of them there is.
    pub frames_at: u64,
    pub frames: Vec<u8>,
}

impl Frame {
    /// A frame of which nothing else is known.
    pub fn new(instruction: u64, stack: u64) -> Self {
        Self { instruction, stack, kept: [None; KEPT_MAX] }
    }

    /// With the values of the registers that functions leave as they were, in the machine's order.
    #[must_use]
    pub fn with_kept<const COUNT: usize>(mut self, values: [u64; COUNT]) -> Self {
        self.kept.iter_mut().zip(values).for_each(|(kept, value)| *kept = Some(value));
        self
    }

    /// With the value of the frame pointer.
    #[must_use]
    pub fn with_frame_pointer(mut self, machine: &Machine, value: u64) -> Self {
        let place = machine.kept.iter().position(|kept| *kept == machine.frame);
        if let Some(kept) = place.and_then(|place| self.kept.get_mut(place)) {
            *kept = Some(value);
        }
        self
    }

    fn value(&self, machine: &Machine, register: Register) -> Option<u64> {
        if register == machine.stack {
            return Some(self.stack);
        }
        let place = machine.kept.iter().position(|kept| *kept == register)?;
        self.kept.get(place).copied()?
    }
}

impl Tables {
    /// The tables of an object whose index (`.eh_frame_hdr`) has these bytes at an address.
    /// `frames`: reads the bytes from an address on.
    pub fn new(
        index_at: u64,
        index: Vec<u8>,
        frames: impl FnOnce(u64) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(index_at);
        let Pointer::Direct(frames_at) = parsed(&index, &bases)?.eh_frame_ptr() else {
            return None;
        };
        Some(Self { index_at, index, frames_at, frames: frames(frames_at)? })
    }

    /// How much memory they take.
    pub fn bytes(&self) -> usize {
        self.index.len() + self.frames.len()
    }

    /// What called the function that a frame is of. `at`: an address within that function, as the
    /// object has it; the call lies before the instruction where the function goes on. `word`:
    /// reads the stack.
    pub fn caller(
        &self,
        machine: &Machine,
        frame: &Frame,
        at: u64,
        word: impl Fn(u64) -> Option<u64>,
    ) -> Result<Caller, Unknown> {
        let bases = self.bases();
        let section = EhFrame::from(EndianSlice::new(&self.frames, NativeEndian));
        let entry = self.entry(&section, &bases, at).ok_or(Unknown::Table)?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&section, &bases, &mut context, at);
        let row = row.map_err(|_| Unknown::Table)?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
            return Err(Unknown::Table);
        };
        let register = frame.value(machine, *register).ok_or(Unknown::Value)?;
        let begin = register.wrapping_add_signed(*offset);
        let place = |offset: i64| begin.wrapping_add_signed(offset);
        let instruction = match row.register(machine.return_address) {
            RegisterRule::Undefined => return Ok(Caller::None),
            RegisterRule::Offset(offset) => word(place(offset)).ok_or(Unknown::Value)?,
            _ => return Err(Unknown::Table),
        };
        let mut caller = Frame { instruction: instruction & ADDRESS_BITS, stack: begin, ..*frame };
        for (value, register) in caller.kept.iter_mut().zip(machine.kept) {
            *value = match row.register(*register) {
                RegisterRule::Undefined | RegisterRule::SameValue => *value,
                // A copy of the stack may end before it, and it may not be needed.
                RegisterRule::Offset(offset) => word(place(offset)),
                RegisterRule::ValOffset(offset) => Some(place(offset)),
                _ => None,
            };
        }
        Ok(Caller::Frame(caller))
    }

    fn bases(&self) -> BaseAddresses {
        let bases = BaseAddresses::default().set_eh_frame_hdr(self.index_at);
        bases.set_eh_frame(self.frames_at)
    }

    /// What the tables have for the function that an address is in.
    fn entry<'a>(
        &'a self,
        section: &EhFrame<Slice<'a>>,
        bases: &BaseAddresses,
        at: u64,
    ) -> Option<FrameDescriptionEntry<Slice<'a>>> {
        let found = parsed(&self.index, bases)?.table()?.lookup(at, bases).ok()?;
        let Pointer::Direct(entry) = found else { return None };
        let offset = usize::try_from(entry.checked_sub(self.frames_at)?).ok()?;
        let entry = section.fde_from_offset(bases, offset.into(), EhFrame::cie_from_offset).ok()?;
        (entry.contains(at) && !entry.is_signal_trampoline()).then_some(entry)
    }
}

/// An index, if it has the form that linkers give it and all of its entries are there: a library
/// multiplies with their number.
fn parsed<'a>(index: &'a [u8], bases: &BaseAddresses) -> Option<ParsedEhFrameHdr<Slice<'a>>> {
    let (head, rest) = index.split_first_chunk()?;
    let count = rest.get(4..8)?.try_into().ok().map(u32::from_ne_bytes)?;
    let entries = rest.len().checked_sub(8)? / INDEX_ENTRY_BYTES;
    if *head != INDEX_FORM || usize::try_from(count).ok()? > entries {
        return None;
    }
    EhFrameHdr::new(index, NativeEndian).parse(bases, ADDRESS_BYTES).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES_AT: u64 = 0x2000;
    const INDEX_AT: u64 = 0x1000;
    /// Of two functions of 64 bytes.
    const FUNCTIONS: [u64; 2] = [0x3000, 0x3040];

    /// A table of one entry for each function: its frame begins 16 bytes above the stack pointer,
    /// and its caller's instruction and frame pointer are there.
    fn tables(outermost: bool) -> Tables {
        let mut frames = vec![20, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b];
        frames.extend([0x0c, 7, 16, 0x90, 1, 0x86, 2]); // x86-64's: rsp + 16, rip, rbp
        let mut entries = Vec::new();
        for function in FUNCTIONS {
            entries.push((function, TABLES_AT + frames.len() as u64));
            let instructions: [u8; 3] = if outermost { [0x07, 16, 0] } else { [0; 3] };
            let begin = frames.len() as u32;
            frames.extend(16u32.to_ne_bytes());
            frames.extend((begin + 4).to_ne_bytes());
            let here = TABLES_AT + frames.len() as u64;
            frames.extend((function.wrapping_sub(here) as u32).to_ne_bytes());
            frames.extend(64u32.to_ne_bytes());
            frames.push(0);
            frames.extend(instructions);
        }
        frames.extend([0; 4]);
        let mut index = INDEX_FORM.to_vec();
        index.extend((TABLES_AT.wrapping_sub(INDEX_AT + 4) as u32).to_ne_bytes());
        index.extend((entries.len() as u32).to_ne_bytes());
        for (function, entry) in entries {
            index.extend((function.wrapping_sub(INDEX_AT) as u32).to_ne_bytes());
            index.extend((entry.wrapping_sub(INDEX_AT) as u32).to_ne_bytes());
        }
        Tables::new(INDEX_AT, index, |at| (at == TABLES_AT).then_some(frames)).unwrap()
    }

    /// The stack's words from 0x7000 on.
    fn word(at: u64) -> Option<u64> {
        let words = [0x7100, 0x3050, 3];
        words.get(usize::try_from(at.checked_sub(0x7000)? / 8).ok()?).copied()
    }

    #[test]
    fn callers_frame_is_where_the_table_says() {
        let tables = tables(false);
        let frame = Frame::new(0x3010, 0x7000);
        let Ok(Caller::Frame(caller)) = tables.caller(&X86, &frame, 0x300f, word) else {
            panic!("no caller")
        };
        assert_eq!((caller.instruction, caller.stack), (0x3050, 0x7010));
        assert_eq!(caller.value(&X86, X86_64::RBP), Some(0x7100));
        let beyond = tables.caller(&X86, &caller, 0x304f, word);
        assert_eq!(beyond, Err(Unknown::Value), "the stack's copy ends before");
        assert_eq!(tables.caller(&X86, &frame, 0x2fff, word), Err(Unknown::Table));
        assert_eq!(tables.caller(&X86, &frame, 0x3080, word), Err(Unknown::Table));
    }

    #[test]
    fn outermost_function_has_no_caller() {
        let frame = Frame::new(0x3010, 0x7000);
        assert_eq!(tables(true).caller(&X86, &frame, 0x300f, word), Ok(Caller::None));
    }

    #[test]
    fn index_of_more_entries_than_it_has_is_none() {
        let tables = tables(false);
        for count in [3, u32::MAX] {
            let mut index = tables.index.clone();
            index[8..12].copy_from_slice(&count.to_ne_bytes());
            assert!(Tables::new(INDEX_AT, index, |_| Some(Vec::new())).is_none());
        }
        for cut in 0..tables.index.len() {
            let index = tables.index[..cut].to_vec();
            assert!(Tables::new(INDEX_AT, index, |_| Some(Vec::new())).is_none());
        }
    }

    #[test]
    fn registers_that_a_function_keeps_are_known_by_their_machine() {
        let frame = Frame::new(1, 2).with_kept([3, 4, 5, 6, 7, 8]);
        let known = |register| frame.value(&X86, register);
        assert_eq!(
            (known(X86_64::RSP), known(X86_64::RBX), known(X86_64::R15)),
            (Some(2), Some(3), Some(8))
        );
        assert_eq!(known(X86_64::RAX), None);
        let frame = Frame::new(1, 2).with_frame_pointer(&ARM, 9);
        assert_eq!(
            (frame.value(&ARM, AArch64::X29), frame.value(&ARM, AArch64::X28)),
            (Some(9), None)
        );
    }

    #[test]
    fn damaged_tables_come_to_an_end() {
        let sound = tables(false);
        let frame = Frame::new(0x3010, 0x7000);
        for at in 0..sound.frames.len() + sound.index.len() {
            for bit in 0..8 {
                let Tables { index_at, frames_at, .. } = sound;
                let (mut index, mut frames) = (sound.index.clone(), sound.frames.clone());
                match frames.get_mut(at) {
                    Some(byte) => *byte ^= 1 << bit,
                    None => index[at - sound.frames.len()] ^= 1 << bit,
                }
                let damaged = Tables { index_at, index, frames_at, frames };
                let _ = damaged.caller(&X86, &frame, 0x300f, word);
            }
        }
    }
}
