// SPDX-License-Identifier: MIT
//! How soon the recorder is run when it has something to do.
//!
//! Place in the flow: once, before the loop of `supervise` begins. What the recorder starts later,
//! for triggers, is run as it would be without a recorder.

use std::sync::OnceLock;

/// How soon we were run before.
static BEFORE: OnceLock<Promptness> = OnceLock::new();

struct Promptness {
    attributes: SchedulingAttributes,
    slack_ns: libc::c_ulong,
}

/// `struct sched_attr`, its first version.
#[repr(C)]
#[derive(Default)]
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

const ATTRIBUTES_BYTES: u32 = std::mem::size_of::<SchedulingAttributes>() as u32;

impl SchedulingAttributes {
    /// Those of this thread.
    fn now() -> Option<Self> {
        let mut found = Self::default();
        // SAFETY: the structure is writable for the size that is stated.
        let result = unsafe {
            libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, ATTRIBUTES_BYTES, 0)
        };
        (result == 0).then_some(found)
    }

    /// Return: whether this thread has them now.
    fn take(&self) -> bool {
        // SAFETY: the structure is readable for the size it states; it concerns this thread.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(self), 0) == 0 }
    }
}

/// Asks the scheduler to run us soon after we wake up, in short turns: buffers fill while we
/// wait behind the programs that fill them; and the timer to wake us when we said, where by
/// default it may take 50 us more. What is not allowed is left, and so is a priority or a policy
/// that somebody chose: by nice(1), chrt(1) or in a service.
pub fn ask() {
    const SLACK_NS: libc::c_ulong = 1;
    const TURN_NS: u64 = 200_000;
    const NICE: i32 = -10;
    const NOT_CHOSEN: (u32, i32) = (libc::SCHED_OTHER as u32, 0);
    // SAFETY: concerns this thread and no memory.
    let slack_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    let before = SchedulingAttributes::now();
    let chosen = before.as_ref().map_or(NOT_CHOSEN, |it| (it.policy, it.nice));
    if let Some((attributes, slack_ns)) = before.zip(libc::c_ulong::try_from(slack_ns).ok()) {
        BEFORE.get_or_init(|| Promptness { attributes, slack_ns });
    }
    // SAFETY: concerns this thread and no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
    let asked = |nice| SchedulingAttributes {
        size: ATTRIBUTES_BYTES,
        policy: libc::SCHED_OTHER as u32,
        nice,
        runtime_ns: TURN_NS,
        ..Default::default()
    };
    let _ = match chosen {
        NOT_CHOSEN => asked(NICE).take() || asked(0).take(),
        (policy, nice) => policy == libc::SCHED_OTHER as u32 && asked(nice).take(),
    };
}

/// Gives a new process what we had before we asked. It makes system calls only.
pub fn restore() {
    if let Some(before) = BEFORE.get() {
        before.attributes.take();
        // SAFETY: concerns this thread and no memory.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, before.slack_ns) };
    }
}
