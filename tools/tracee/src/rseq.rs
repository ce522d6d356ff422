// SPDX-License-Identifier: MIT
//! Threads that were stopped inside of a restartable sequence (rseq(2)).
//!
//! Place in the flow: before a thread's registers are changed for the first time. The kernel aborts
//! the sequence of a thread that goes on inside of it after a preemption. A thread that we send
//! elsewhere is outside of it when the kernel looks, and the kernel forgets the sequence; back in
//! it, the thread would go on with what it read of a CPU that it may have left. So the thread comes
//! back where the kernel would have sent it.

use crate::ptrace::Thread;
use crate::registers::Registers;
use crate::Memory;

pub(crate) const WHY: &str =
    "it may be in a restartable sequence, of which this kernel does not tell (Linux 5.13 does)";

/// `struct rseq`: where the address of the sequence is.
const SEQUENCE_OFFSET: u64 = 8;

/// Leads out of a sequence, if the thread is in one. None: that cannot be known, or not be done.
pub(crate) fn leave(thread: &Thread, memory: &Memory, registers: &mut Registers) -> Option<()> {
    if registers.is_in_call() {
        return Some(()); // no sequence may make one
    }
    let place = thread.rseq_place()?;
    if place.area == 0 {
        return Some(());
    }
    let sequence = memory.read_word(place.area.checked_add(SEQUENCE_OFFSET)?).ok()?;
    if sequence == 0 {
        return Some(());
    }
    let begin = memory.read_word(sequence.checked_add(8)?).ok()?;
    let bytes = memory.read_word(sequence.checked_add(16)?).ok()?;
    let abort = memory.read_word(sequence.checked_add(24)?).ok()?;
    if registers.rip.wrapping_sub(begin) >= bytes {
        return Some(());
    }
    let signature = memory.read_u32(abort.checked_sub(4)?).ok()?;
    if signature != place.signature {
        return None;
    }
    registers.rip = abort;
    Some(())
}
