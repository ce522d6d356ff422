// SPDX-License-Identifier: MIT
//! The trace clock as writers read it, for the reader: nothing it reads may be later than now.

use crate::ffi;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether what is read was written before the machine was started again.
static IS_PAST: AtomicBool = AtomicBool::new(false);
/// Later than all that an earlier boot wrote.
const LATEST_CYCLES: u64 = u64::MAX >> 1;

/// Makes this process read the session's kind of clock. Return: whether it can.
pub fn start(kind: u32) -> bool {
    IS_PAST.store(false, Ordering::Relaxed);
    // SAFETY: no preconditions; called before any ring is read, by one thread.
    unsafe { ffi::lull_clock_start(kind) == 0 }
}

/// The kind that a traced process of this machine would choose.
pub fn best_kind() -> u32 {
    // SAFETY: no preconditions; as above.
    unsafe { ffi::lull_clock_kind() }
}

/// From now on, what an earlier boot wrote is read. How far its counter went is not known, so no
/// time is too late.
pub fn leave() {
    IS_PAST.store(true, Ordering::Relaxed);
}

/// The moment that the trace ends at, if it is known.
pub fn end_cycles() -> Option<u64> {
    (!IS_PAST.load(Ordering::Relaxed)).then(now_cycles)
}

pub fn now_cycles() -> u64 {
    if IS_PAST.load(Ordering::Relaxed) {
        return LATEST_CYCLES;
    }
    // SAFETY: no preconditions.
    unsafe { ffi::lull_consumer_cycles() }
}
