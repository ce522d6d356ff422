// SPDX-License-Identifier: MIT
//! Signals of the recorder: which are for the program, and which of those it has got already.
//!
//! Place in the flow: `supervise` waits for signals and passes on those that only the recorder got.
//! docs/adr/0011-a-witness-tells-who-was-signalled.md says why there is a witness.

use super::launch::Inherited;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Signals that are meant for the program when they reach the recorder.
const PASSED_ON: [i32; 5] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR2];

pub fn is_passed_on(signal: &libc::signalfd_siginfo) -> bool {
    PASSED_ON.contains(&(signal.ssi_signo as i32))
}

/// From now on the first of the signals by which programs are ended ends this process.
pub fn end_at_the_next() {
    let _ = passed_on_set().and_then(|set| change_mask(libc::SIG_UNBLOCK, &set));
}

fn passed_on_set() -> io::Result<libc::sigset_t> {
    // SAFETY: sigemptyset initialises the set before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in PASSED_ON {
            if libc::sigaddset(&mut set, signal) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(set)
    }
}

fn change_mask(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is initialised; the old mask is not asked for.
    match unsafe { libc::sigprocmask(how, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A child in the recorder's process group that does nothing but get the group's signals. A signal
/// that the witness got as well was sent to the group, and the program has it; a signal that only
/// the recorder got is to be passed on.
pub struct Witness {
    socket: OwnedFd,
    pid: libc::pid_t,
    /// One bit for each signal that the witness got and the recorder has not read yet.
    seen: u64,
}

impl Witness {
    /// Starts the witness. It must be called while there is one thread, with the signals blocked.
    pub fn start() -> io::Result<Self> {
        let set = passed_on_set()?;
        let arguments = argument_memory();
        let mut sockets = [-1; 2];
        // SAFETY: the array has room for two descriptors, which are ours alone afterwards; the
        // child calls the kernel only and does not return.
        unsafe {
            let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
            if libc::socketpair(libc::AF_UNIX, kind, 0, sockets.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let [ours, its] = sockets.map(|socket| OwnedFd::from_raw_fd(socket));
            match libc::fork() {
                0 => watch(its.as_raw_fd(), &set, arguments),
                pid if pid < 0 => Err(io::Error::last_os_error()),
                pid => Ok(Self { socket: ours, pid, seen: 0 }),
            }
        }
    }

    /// Whether a signal that the recorder got reached the whole group.
    pub fn saw(&mut self, signal: i32) -> bool {
        let bit = 1u64 << signal;
        if self.seen & bit == 0 {
            self.seen |= self.ask();
        }
        let saw = self.seen & bit != 0;
        self.seen &= !bit;
        saw
    }

    /// The signals that the witness got since it was asked last.
    fn ask(&self) -> u64 {
        let mut answer = [0u8; 8];
        // SAFETY: each call has memory of the size it is told.
        unsafe {
            // While the kernel signals a group, it holds its list of processes until all members
            // have the signal. A change of group, be it to the same group, waits for that.
            libc::setpgid(self.pid, libc::getpgrp());
            let socket = self.socket.as_raw_fd();
            if libc::send(socket, [0u8].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) != 1 {
                return 0;
            }
            if libc::recv(socket, answer.as_mut_ptr().cast(), 8, libc::MSG_WAITALL) != 8 {
                return 0;
            }
        }
        u64::from_ne_bytes(answer)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: the child is ours and has not been waited for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// The witness: answers until the recorder is gone.
///
/// # Safety
/// Only in the child of a fork; `arguments` is this process's memory of arguments.
unsafe fn watch(socket: i32, set: &libc::sigset_t, arguments: Option<(usize, usize)>) -> ! {
    let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let mut request = [0u8; 1];
    // A name of its own, so that `pkill lull` does not end the witness.
    libc::prctl(libc::PR_SET_NAME, c"signal-witness".as_ptr());
    if let Some((begin, until)) = arguments {
        std::ptr::write_bytes(begin as *mut u8, 0, until - begin);
    }
    libc::dup2(socket, 0);
    libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
    while libc::recv(0, request.as_mut_ptr().cast(), 1, 0) == 1 {
        let mut seen = 0u64;
        // Bound: a blocked signal is pending once.
        loop {
            match libc::sigtimedwait(set, std::ptr::null_mut(), &none) {
                signal if signal > 0 => seen |= 1 << signal,
                _ => break,
            }
        }
        libc::send(0, seen.to_ne_bytes().as_ptr().cast(), 8, libc::MSG_NOSIGNAL);
    }
    libc::_exit(0)
}

/// Where the kernel has this process's arguments, which others see as its command line.
fn argument_memory() -> Option<(usize, usize)> {
    let stat = session::machine::kernel_text("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')')?;
    // Fields 48 and 49 of proc(5), of which the first two end with the parenthesis.
    let mut fields = fields.split_whitespace().skip(45);
    let (begin, until): (usize, usize) =
        (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (begin != 0 && begin < until).then_some((begin, until))
}

/// The signals that we read from a descriptor instead of being interrupted by them.
pub struct Signals {
    file: OwnedFd,
    pub inherited: Inherited,
}

impl Signals {
    pub fn take() -> std::io::Result<Self> {
        // SAFETY: sets and structures are initialised before they are read; the descriptor is
        // new and owned by nobody else.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in PASSED_ON.into_iter().chain([libc::SIGUSR1, libc::SIGCHLD]) {
                libc::sigaddset(&mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, &mut mask) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            let child_ignored = libc::signal(libc::SIGCHLD, libc::SIG_DFL) == libc::SIG_IGN;
            // A file size limit is an error to report, not to die of.
            let file_size_ignored = libc::signal(libc::SIGXFSZ, libc::SIG_IGN) == libc::SIG_IGN;
            let file = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if file < 0 {
                return Err(std::io::Error::last_os_error());
            }
            let inherited = Inherited { mask, child_ignored, file_size_ignored };
            Ok(Self { file: OwnedFd::from_raw_fd(file), inherited })
        }
    }

    /// Waits for signals, or for one of the other descriptors to be readable, at most for `pause`.
    /// Return: the signals, and whether another is readable.
    pub fn wait<'a>(
        &self,
        pause: Duration,
        others: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> std::io::Result<(Vec<libc::signalfd_siginfo>, bool)> {
        let poll =
            |fd: BorrowedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut polls: Vec<libc::pollfd> =
            std::iter::once(poll(self.file.as_fd())).chain(others.map(poll)).collect();
        let timeout = libc::timespec {
            tv_sec: pause.as_secs().min(60) as libc::time_t,
            tv_nsec: pause.subsec_nanos().into(),
        };
        let mut found = Vec::new();
        let count = polls.len() as libc::nfds_t;
        // SAFETY: the descriptors are open, the signal mask stays as it is; each read fills one
        // whole structure or none.
        unsafe {
            if libc::ppoll(polls.as_mut_ptr(), count, &timeout, std::ptr::null()) <= 0 {
                return Ok((found, false));
            }
            let is_readable = polls[1..].iter().any(|poll| poll.revents != 0);
            loop {
                let mut signal: libc::signalfd_siginfo = std::mem::zeroed();
                let bytes = std::mem::size_of_val(&signal);
                let read = libc::read(self.file.as_raw_fd(), (&raw mut signal).cast(), bytes);
                if read != bytes as isize {
                    return Ok((found, is_readable));
                }
                found.push(signal);
            }
        }
    }
}
