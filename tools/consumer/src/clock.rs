// SPDX-License-Identifier: MIT
//! The trace clock as writers read it, for the reader: nothing it reads may be later than now.

use crate::ffi;

/// Makes this process read the session's kind of clock. Return: whether it can.
pub fn start(kind: u32) -> bool {
    // SAFETY: no preconditions; called before any ring is read, by one thread.
    unsafe { ffi::lull_clock_start(kind) == 0 }
}

/// The kind that a traced process of this machine would choose.
pub fn best_kind() -> u32 {
    // SAFETY: no preconditions; as above.
    unsafe { ffi::lull_clock_kind() }
}

pub fn now_cycles() -> u64 {
    // SAFETY: no preconditions.
    unsafe { ffi::lull_consumer_cycles() }
}
