// SPDX-License-Identifier: MIT
//! Which thread is asked first: one that notices nothing at all.
//!
//! Place in the flow: at the beginning of a visit. A thread that computes, and one that waits in a
//! call which the kernel simply makes anew, come first. Then come calls of which the kernel keeps
//! the remaining time. Last are the calls that end with EINTR when a process is stopped
//! (signal(7)): registers.rs has them made anew, and their time begins anew, too.

use crate::status::Status;
use crate::{calls, Error, Result};

/// Threads that are looked at.
const THREADS_MAX: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Anew,
    KeepsTime,
    Interrupted,
}

/// By the number of the system call; the third word is the call's fourth argument.
fn rank(text: &str) -> Rank {
    let mut words = text.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
        return Rank::Anew; // it runs
    };
    let timeout = words.nth(3).unwrap_or("0x0");
    match number {
        calls::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_semop
        | libc::SYS_semtimedop
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_io_getevents => Rank::Interrupted,
        libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep
        | calls::SYS_poll
        | libc::SYS_restart_syscall => Rank::KeepsTime,
        libc::SYS_futex if timeout != "0x0" => Rank::KeepsTime,
        _ => Rank::Anew,
    }
}

/// The first threads of a process.
fn tids(pid: u32) -> std::io::Result<impl Iterator<Item = u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    Ok(tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).take(THREADS_MAX))
}

/// The threads of a process, best first.
pub(crate) fn candidates(pid: u32) -> Result<Vec<u32>> {
    let mut ranked: Vec<(Rank, u32)> = tids(pid)
        .map_err(|_| Error::Ended { pid })?
        .filter_map(|tid| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
            Some((rank(&text), tid))
        })
        .collect();
    ranked.sort_unstable();
    Ok(ranked.into_iter().map(|(_, tid)| tid).collect())
}

/// Where the kernel shows what the process has: its memory, its file, its root. Once its first
/// thread has ended, it shows that in the folders of the others only.
#[must_use]
pub fn folder(pid: u32) -> String {
    let own = format!("/proc/{pid}");
    if Status::read(pid).map_or(true, |status| !status.is_ended()) {
        return own;
    }
    let is_alive = |tid: &u32| Status::read_thread(pid, *tid).is_some_and(|one| !one.is_ended());
    // The first, so that two recorders lock the same file.
    let alive = tids(pid).into_iter().flatten().filter(is_alive).min();
    alive.map_or(own.clone(), |tid| format!("{own}/task/{tid}"))
}

/// Whether one of them at least has not ended.
pub(crate) fn is_any_alive(pid: u32) -> bool {
    candidates(pid).is_ok_and(|tids| {
        tids.iter().any(|tid| Status::read_thread(pid, *tid).is_some_and(|one| !one.is_ended()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_are_made_anew_come_before_those_that_are_interrupted() {
        assert_eq!(rank("running"), Rank::Anew);
        assert_eq!(rank("-1 0x7ffd 0x7f00"), Rank::Anew);
        assert_eq!(rank("0 0x3 0x7f 0x1000 0x9 0x0 0x0 0x7ffd 0x7f00"), Rank::Anew);
        assert_eq!(rank("202 0x3 0x80 0x0 0x0 0x0 0x0 0x7ffd 0x7f00"), Rank::Anew);
        assert_eq!(rank("202 0x3 0x80 0x0 0x7ff 0x0 0x0 0x7ffd 0x7f00"), Rank::KeepsTime);
        assert_eq!(rank("232 0x3 0x7f 0x1000 0x9 0x0 0x0 0x7ffd 0x7f00"), Rank::Interrupted);
        assert!(Rank::Anew < Rank::KeepsTime && Rank::KeepsTime < Rank::Interrupted);
    }
}
