// SPDX-License-Identifier: MIT
//! The call stack that a copy of a stack in a trace holds, by the tables for unwinding of the files
//! that ran.
//!
//! Place in the flow: analyses hand over a copy at the moment of its event, when the state knows
//! what was mapped where, and get addresses as a recorded call stack has them. A copy is what a
//! program left on its stack, and the files are somebody's: each step goes on towards the stack's
//! end, and there are at most as many as the longest recorded stack has frames.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use state::{FileKey, Mapped, ProcessIndex, State, Within};
use trace::Ns;
use unwind::{Caller, Frame, Unknown};

use crate::elf::Unwinding;
use crate::file::{self, Expected};

/// Frames of a stack.
const FRAMES_MAX: usize = 128;
/// Registers that precede the words of a copy: instruction, stack pointer, frame pointer.
const REGISTERS: usize = 3;
const WORD_BYTES: u64 = 8;
/// Files whose tables are remembered, and bytes of them.
const FILES_MAX: usize = 1 << 10;
const BYTES_MAX: usize = 512 << 20;

/// Why a call stack has no further frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last one is the outermost one.
    Whole,
    /// What is needed of the next is not in the copy.
    Copy,
    /// No table says what called the last one: its file was not read, or has none for it.
    Table,
}

/// Follows copies of stacks.
#[derive(Debug, Default)]
pub struct Copies {
    files: FxHashMap<FileKey, Option<Arc<Unwinding>>>,
    bytes: usize,
    read_bytes: u64,
}

impl Copies {
    /// The frames of a copy, innermost first, behind those in `frames`. `at`: the event's time.
    pub fn frames(
        &mut self,
        (state, process): (&State, ProcessIndex),
        at: Ns,
        copy: &[u64],
        frames: &mut Vec<u64>,
    ) -> End {
        let Some(([instruction, stack, pointer], words)) = copy.split_first_chunk::<REGISTERS>()
        else {
            return End::Copy;
        };
        let word = |at: u64| {
            let offset = at.checked_sub(*stack).filter(|offset| offset % WORD_BYTES == 0)?;
            words.get(usize::try_from(offset / WORD_BYTES).ok()?).copied()
        };
        frames.push(*instruction);
        let mut frame = Frame::new(*instruction, *stack);
        let mut is_first = true;
        for _ in 1..FRAMES_MAX {
            let Some((unwinding, inside)) = self.unwinding(state, process, frame.instruction, at)
            else {
                return End::Table;
            };
            if std::mem::take(&mut is_first) {
                frame = frame.with_frame_pointer(unwinding.machine, *pointer);
            }
            match unwinding.tables.caller(unwinding.machine, &frame, inside, word) {
                Ok(Caller::Frame(caller)) if caller.stack > frame.stack => frame = caller,
                Ok(Caller::None) => return End::Whole,
                Err(Unknown::Value) => return End::Copy,
                Ok(Caller::Frame(_)) | Err(Unknown::Table) => return End::Table,
            }
            frames.push(frame.instruction);
        }
        End::Copy
    }

    /// The tables of the file that is mapped where a call returns to, and the address there of the
    /// call. `None`: they are not known.
    fn unwinding(
        &mut self,
        state: &State,
        process: ProcessIndex,
        returned_to: u64,
        at: Ns,
    ) -> Option<(Arc<Unwinding>, u64)> {
        let place = Mapped::of(state, process, returned_to.checked_sub(1)?, at)?;
        let key = place.file;
        let known = match self.files.get(&key) {
            Some(known) => known.clone(),
            None if self.files.len() >= FILES_MAX => None,
            None => {
                let expected = Expected::of(state.texts(), &key, at);
                let read = self.read(state.texts().bytes(key.path), expected).map(Arc::new);
                self.files.insert(key, read.clone());
                read
            }
        };
        let unwinding = known?;
        let inside = match place.within {
            Within::File(offset) => unwinding.segments.address(offset)?,
            Within::Object(address) => address,
        };
        Some((unwinding, inside))
    }

    fn read(&mut self, path: &[u8], expected: Expected<'_>) -> Option<Unwinding> {
        if self.read_bytes >= file::READ_BYTES_MAX {
            return None;
        }
        let path = file::path(path)?;
        let bytes = file::read(&path, Some(expected)).ok()?;
        self.read_bytes = self.read_bytes.saturating_add(bytes.len() as u64);
        let found = Unwinding::parse(&bytes)?;
        self.bytes = self.bytes.checked_add(found.tables.bytes())?;
        (self.bytes <= BYTES_MAX).then_some(found)
    }
}
