// SPDX-License-Identifier: MIT
//! What a signal that ends the command takes away first: the output, while that is not whole.
//!
//! Place in the flow: `lull` and `lull-query` say here what they write before they write it. The
//! signal's handler only wakes a thread, which removes the output and ends the process by the
//! same signal. A second signal of the same kind is not waited for. What SIGKILL leaves is marked
//! (`consumer::output`) or has a name of its own, and is in the way of no retry.

use std::io::{Error, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

pub type Remove = Box<dyn Fn() + Send>;

/// Removes the output that is being written: a command has one.
static UNFINISHED: Mutex<Option<Remove>> = Mutex::new(None);
/// Where the handler writes which signal came.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// As long as it is there, signals remove the output.
#[derive(Debug)]
pub struct Unfinished(());

impl Unfinished {
    /// Begins an output, and takes what removes it. A signal comes before or after that.
    pub fn begin<T, E: From<Error>>(
        begin: impl FnOnce() -> Result<(T, Remove), E>,
    ) -> Result<(T, Self), E> {
        static WATCHED: OnceLock<Result<(), String>> = OnceLock::new();
        let watched = WATCHED.get_or_init(|| watch().map_err(|error| error.to_string()));
        if let Err(error) = watched {
            return Err(Error::other(format!("waiting for signals: {error}")).into());
        }
        let mut unfinished = unfinished();
        let (output, remove) = begin()?;
        *unfinished = Some(remove);
        Ok((output, Self(())))
    }

    /// Finishes the output. A signal comes before or after that, and leaves nothing or all of it.
    pub fn finish<T>(self, finish: impl FnOnce() -> T) -> T {
        let mut remove = unfinished();
        let finished = finish();
        *remove = None;
        drop(remove);
        finished
    }
}

impl Drop for Unfinished {
    /// Once a signal has come, this does not return.
    fn drop(&mut self) {
        *unfinished() = None;
    }
}

fn unfinished() -> MutexGuard<'static, Option<Remove>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() -> std::io::Result<()> {
    let (mut woken, wake) = UnixStream::pair()?;
    WAKE.store(wake.into_raw_fd(), Ordering::Relaxed);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signal = [0];
        if woken.read_exact(&mut signal).is_ok() {
            let remove = unfinished();
            if let Some(remove) = &*remove {
                remove();
            }
            end_by(signal[0].into());
        }
    })?;
    SIGNALS.into_iter().for_each(handle);
    Ok(())
}

/// A signal that this process was started to ignore, as `nohup` does, stays ignored.
fn handle(signal: i32) {
    // SAFETY: the structures are of the size that is meant; the handler only writes to a socket.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let is_known = libc::sigaction(signal, std::ptr::null(), &mut action) == 0;
        if is_known && action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    let number = signal as u8;
    // SAFETY: one byte, which is there. The socket has room for one of each signal, so the call
    // neither waits nor fails, and leaves errno as it is.
    unsafe { libc::write(WAKE.load(Ordering::Relaxed), (&raw const number).cast(), 1) };
}

/// Ends the process as a signal would have, now that what it was to leave is left.
pub fn end_by(signal: i32) -> i32 {
    // SAFETY: the default action of these signals ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    128 + signal
}
