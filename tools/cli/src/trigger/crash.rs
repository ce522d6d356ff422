// SPDX-License-Identifier: MIT
//! Which processes of a session were ended by a signal, of those that are not the recorder's
//! children.
//!
//! Place in the flow: `matching` tells of processes that joined; each is watched by a descriptor
//! of its own. Linux 6.15 and later says by that how a process ended, once its parent has heard of
//! it. On other kernels it is not known, and that is said. Numbers of processes come from memory
//! that programs write, so a process is watched only if it has that memory.

use super::moment::{Met, Moment};
use consumer::process::segments as attached;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Processes that are watched at the same time.
const WATCHED_MAX: usize = 512;
/// PIDFD_GET_INFO, and the part of the answer that says how the process ended.
const GET_INFO: libc::Ioctl = 0xc040_ff0b_u32 as libc::Ioctl;
const INFO_EXIT: u64 = 1 << 3;

/// Signals by which people and shells end programs, which are no crash.
const POLITE: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Whether the end by a signal is one that a condition is met by.
pub fn is_crash(signal: i32) -> bool {
    !POLITE.contains(&signal)
}

/// `struct pidfd_info`, as its first version is.
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

struct Watched {
    descriptor: OwnedFd,
    /// Where users are told apart.
    user: Option<u32>,
}

#[derive(Default)]
pub struct Crashes {
    watched: BTreeMap<u32, Watched>,
    /// Processes whose end is not known: the kernel does not say, or they had ended before.
    pub untold: u64,
    pub unseen: u64,
    pub no_room: u64,
}

impl Crashes {
    /// Watches processes from now on. `user`: whose they are, where users are told apart;
    /// `segments`: memory of the session, of which each has some.
    pub fn watch(
        &mut self,
        joined: impl Iterator<Item = u32>,
        user: Option<u32>,
        segments: &[i32],
    ) {
        for pid in joined {
            if self.watched.contains_key(&pid) {
                continue;
            }
            if self.watched.len() >= WATCHED_MAX {
                self.no_room += 1;
                if !self.makes_room(user) {
                    continue;
                }
            }
            let Some(descriptor) = open(pid) else {
                self.unseen += 1;
                continue;
            };
            // After it was opened, so that no other process has taken the number meanwhile.
            if attached(pid).iter().any(|id| segments.contains(id)) {
                self.watched.insert(pid, Watched { descriptor, user });
            } else {
                self.unseen += 1;
            }
        }
    }

    /// Watches one process less of the user who has most, unless this is that user.
    fn makes_room(&mut self, user: Option<u32>) -> bool {
        let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        self.watched.values().for_each(|one| *counts.entry(one.user).or_default() += 1);
        let own = counts.get(&user).copied().unwrap_or(0);
        let most = counts.iter().max_by_key(|(_, count)| **count);
        let Some((most, _)) = most.filter(|(_, count)| **count > own + 1) else { return false };
        let last = self.watched.iter().rev().find(|(_, one)| one.user == *most);
        let Some(pid) = last.map(|(pid, _)| *pid) else { return false };
        self.watched.remove(&pid).is_some()
    }

    /// Watches none any more.
    pub fn rest(&mut self) {
        self.watched.clear();
    }

    /// Those that were ended by a signal since the last look.
    pub fn look(&mut self) -> Vec<Met> {
        let mut polled: Vec<libc::pollfd> = self
            .watched
            .values()
            .map(|watched| libc::pollfd {
                fd: watched.descriptor.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the array is writable for its length.
        let count = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) };
        if count <= 0 {
            return Vec::new();
        }
        let mut met = Vec::new();
        let pids: Vec<u32> = self.watched.keys().copied().collect();
        for (pid, polled) in pids.into_iter().zip(polled) {
            if polled.revents == 0 {
                continue;
            }
            match exit_code(polled.fd) {
                Some(code) => {
                    let user = self.watched.remove(&pid).and_then(|watched| watched.user);
                    let signal = code & 0x7f;
                    if signal != 0 && is_crash(signal) {
                        met.push(crash(pid, signal, user));
                    }
                }
                // Its parent has not heard of it yet: the kernel says it afterwards.
                None if polled.revents & libc::POLLHUP == 0 && is_zombie(pid) => {}
                None => {
                    self.watched.remove(&pid);
                    self.untold += 1;
                }
            }
        }
        met
    }
}

/// A crash, as a condition that was met.
pub fn crash(pid: u32, signal: i32, user: Option<u32>) -> Met {
    let moment = Moment {
        user,
        pid: Some(pid.into()),
        event: "crash".into(),
        fields: format!("signal={signal}"),
        ..Moment::default()
    };
    Met { count: 1, moment: Some(moment) }
}

fn open(pid: u32) -> Option<OwnedFd> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
    // SAFETY: no memory is passed; the descriptor is new, and ours alone.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
        Some(OwnedFd::from_raw_fd(descriptor))
    }
}

/// The status that a process ended with, as wait(2) has it; None where that is not known.
fn exit_code(descriptor: i32) -> Option<i32> {
    let mut info = Info { mask: INFO_EXIT, ..Info::default() };
    // SAFETY: the structure is as large as the request's number says.
    let result = unsafe { libc::ioctl(descriptor, GET_INFO, &raw mut info) };
    (result == 0 && info.mask & INFO_EXIT != 0).then_some(info.exit_code)
}

fn is_zombie(pid: u32) -> bool {
    consumer::process::thread_is_dead(pid)
        && std::path::Path::new(&format!("/proc/{pid}/stat")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn kernel_says_how_a_process_ended_that_was_watched() {
        let mut child =
            Command::new("sh").args(["-c", "read x; kill -SEGV $$"]).stdin(Stdio::piped()).spawn();
        let child = child.as_mut().unwrap();
        let descriptor = open(child.id()).unwrap();
        assert_eq!(exit_code(descriptor.as_raw_fd()), None, "it lives");
        drop(child.stdin.take());
        child.wait().unwrap();
        // Kernels before 6.15 do not say it.
        let code = exit_code(descriptor.as_raw_fd());
        assert!(code.is_none_or(|code| code & 0x7f == libc::SIGSEGV), "{code:?}");
    }

    #[test]
    fn process_without_the_sessions_memory_is_not_watched() {
        let mut crashes = Crashes::default();
        crashes.watch([std::process::id(), 0, u32::MAX].into_iter(), None, &[-1]);
        assert!(crashes.watched.is_empty() && crashes.unseen == 3);
        assert!(crashes.look().is_empty());
        assert!(is_crash(libc::SIGSEGV) && is_crash(libc::SIGKILL) && !is_crash(libc::SIGTERM));
    }

    #[test]
    fn user_with_many_processes_leaves_room_for_those_of_others() {
        let me = std::process::id();
        let mut crashes = Crashes::default();
        for pid in 0..WATCHED_MAX as u32 {
            let watched = Watched { descriptor: open(me).unwrap(), user: Some(1) };
            crashes.watched.insert(1_000_000 + pid, watched);
        }
        let segment = session::segment::Segment::create(4096, |_| Ok(())).unwrap();
        crashes.watch(std::iter::once(me), Some(1), &[segment.id()]);
        assert!(!crashes.watched.contains_key(&me), "its own have taken all");
        crashes.watch(std::iter::once(me), Some(2), &[segment.id()]);
        assert!(crashes.watched.contains_key(&me) && crashes.watched.len() == WATCHED_MAX);
        assert_eq!(crashes.no_room, 2);
    }
}
