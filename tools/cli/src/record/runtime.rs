// SPDX-License-Identifier: MIT
//! What Rust's runtime changes before `main`: it ignores SIGPIPE, and opens /dev/null in place of
//! standard descriptors that are closed.
//!
//! Place in the flow: the C library calls `look` before the runtime. `launch` and `lull run` give
//! both back in the process that becomes the program, which is to have them as this one had.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether SIGPIPE was ignored when this program was executed, as it is in services of systemd.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
/// Whether standard input, output and error were closed then, by number.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

#[used]
#[link_section = ".init_array"]
static BEFORE_THE_RUNTIME: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: an all-zero structure is valid, and is written to for its size; nothing is changed.
    let is_ignored = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    };
    PIPE_IGNORED.store(is_ignored, Ordering::Relaxed);
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: nothing is changed.
        closed.store(unsafe { libc::fcntl(number, libc::F_GETFD) } < 0, Ordering::Relaxed);
    }
}

/// Gives SIGPIPE the disposition in this process that it was started with.
pub fn restore_pipe_signal() {
    let is_ignored = PIPE_IGNORED.load(Ordering::Relaxed);
    let action = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: sets a disposition of this process; no handler is involved.
    unsafe { libc::signal(libc::SIGPIPE, action) };
}

/// Closes the standard descriptors in this process that it was started without. It makes system
/// calls only; what fails is left as it is.
pub fn close_standard() {
    for (number, _) in (0..).zip(&CLOSED).filter(|(_, closed)| closed.load(Ordering::Relaxed)) {
        // SAFETY: the runtime's /dev/null, which nothing in this process owns.
        unsafe { libc::close(number) };
    }
}
