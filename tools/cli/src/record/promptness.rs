// SPDX-License-Identifier: MIT
//! How soon the recorder is run when it has something to do.
//!
//! Place in the flow: once, before the loop of `supervise` begins.

/// Asks the scheduler to run us soon after we wake up, in short turns: buffers fill while we
/// wait behind the programs that fill them; and the timer to wake us when we said, where by
/// default it may take 50 us more. What is not allowed is left.
pub fn ask() {
    const SLACK_NS: libc::c_ulong = 1;
    const TURN_NS: u64 = 200_000;
    const NICE: i32 = -10;
    /// `struct sched_attr`, its first version.
    #[repr(C)]
    struct SchedulingAttributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    // SAFETY: concerns this thread and no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
    for nice in [NICE, 0] {
        let attributes = SchedulingAttributes {
            size: std::mem::size_of::<SchedulingAttributes>() as u32,
            policy: libc::SCHED_OTHER as u32,
            flags: 0,
            nice,
            priority: 0,
            runtime_ns: TURN_NS,
            deadline_ns: 0,
            period_ns: 0,
        };
        // SAFETY: the structure is readable for the size it states; it concerns this thread.
        if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } == 0 {
            return;
        }
    }
}
