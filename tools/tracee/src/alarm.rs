// SPDX-License-Identifier: MIT
//! A timer that interrupts its thread's wait, which the kernel offers no limit of time for.
//!
//! Place in the flow: `ptrace` waits with it for a thread to stop. Who waits asleep is woken on a
//! CPU that is free; who looks again and again instead stays where it is, and where another thread
//! computes there, too, each look came a tick of 4 ms later, with the visited thread stopped.

use std::cell::OnceCell;
use std::ffi::c_int;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

/// How often the wait is interrupted, to look at the clock.
const PERIOD: Duration = Duration::from_millis(10);

struct Alarm(libc::timer_t);

extern "C" fn nothing(_: c_int) {}

/// A number that nothing else uses.
fn signal() -> c_int {
    libc::SIGRTMAX()
}

/// Whether the signal interrupts and does nothing else. What the process was started with, or had
/// before, stays.
fn is_ours() -> bool {
    static IS_OURS: OnceLock<bool> = OnceLock::new();
    *IS_OURS.get_or_init(|| {
        // SAFETY: an all-zero structure is valid: no flags, so calls are not made anew, and no
        // signal blocked; the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal(), std::ptr::null(), &mut action) != 0
                || action.sa_sigaction != libc::SIG_DFL
            {
                return false;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(c_int) as libc::sighandler_t;
            libc::sigaction(signal(), &action, std::ptr::null_mut()) == 0
        }
    })
}

impl Alarm {
    /// Of the calling thread, or None: the system gives none.
    fn new() -> Option<Self> {
        if !is_ours() {
            return None;
        }
        // SAFETY: the structures are valid where they are all zero, and live during the calls.
        unsafe {
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut mask);
            libc::sigaddset(&mut mask, signal());
            if libc::pthread_sigmask(libc::SIG_UNBLOCK, &mask, std::ptr::null_mut()) != 0 {
                return None;
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = std::mem::zeroed();
            (libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) == 0)
                .then_some(Self(timer))
        }
    }

    fn set(&self, period: Duration) -> bool {
        let time = libc::timespec { tv_sec: 0, tv_nsec: period.subsec_nanos().into() };
        let times = libc::itimerspec { it_interval: time, it_value: time };
        // SAFETY: the timer is ours until it is dropped.
        unsafe { libc::timer_settime(self.0, 0, &times, std::ptr::null_mut()) == 0 }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: nothing has the timer any more.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Makes a system call that waits, and that ends with EINTR after a short time. Return: false: it
/// was not made, for want of a timer.
pub(crate) fn interrupted(wait: impl FnOnce() -> io::Result<()>) -> io::Result<bool> {
    thread_local! {
        static ALARM: OnceCell<Option<Alarm>> = const { OnceCell::new() };
    }
    ALARM.with(|alarm| {
        let Some(alarm) = alarm.get_or_init(Alarm::new) else { return Ok(false) };
        if !alarm.set(PERIOD) {
            return Ok(false);
        }
        let waited = wait();
        alarm.set(Duration::ZERO);
        match waited {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(true),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_without_an_end_is_interrupted_each_time() {
        for _ in 0..3 {
            let waited = interrupted(|| {
                // SAFETY: no memory is passed.
                match unsafe { libc::pause() } {
                    -1 => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                }
            });
            assert!(waited.unwrap());
        }
        // Nothing interrupts what comes later.
        let long = libc::timespec { tv_sec: 0, tv_nsec: (3 * PERIOD).subsec_nanos().into() };
        // SAFETY: the structure lives during the call, which is told nothing else.
        let slept = unsafe { libc::nanosleep(&long, std::ptr::null_mut()) };
        assert_eq!(slept, 0, "{}", io::Error::last_os_error());
    }
}
