// SPDX-License-Identifier: MIT
//! What `/proc/PID/status` says, and why a process may not be visited.
//!
//! Place in the flow: before a process is touched. The texts are the kernel's, but for the name of
//! the program, which that chooses; the kernel escapes line ends in it.

use crate::{threads, Error, Result};
use std::io;
use std::os::unix::fs::MetadataExt;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// `R`, `S`, `D`, `T` (stopped), `t`, `Z` and others.
    pub state: u8,
    pub parent: u32,
    pub tracer: u32,
    /// Effective.
    pub user: u32,
    /// 0: none, 1: strict, 2: a filter.
    pub seccomp: u32,
    pub has_memory: bool,
    pub has_shadow_stack: bool,
}

/// What a process can be in that we are not in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    Mount,
    Process,
    Ipc,
}

impl Status {
    pub fn read(pid: u32) -> Result<Self> {
        Self::read_at(&format!("/proc/{pid}/status")).ok_or(Error::Absent { pid })
    }

    /// Of one thread.
    pub(crate) fn read_thread(pid: u32, tid: u32) -> Option<Self> {
        Self::read_at(&format!("/proc/{pid}/task/{tid}/status"))
    }

    fn read_at(path: &str) -> Option<Self> {
        Some(Self::parse(&String::from_utf8_lossy(&std::fs::read(path).ok()?)))
    }

    fn parse(text: &str) -> Self {
        let mut status = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let mut words = value.split_ascii_whitespace();
            let mut number = |index| words.nth(index).and_then(|word| word.parse().ok());
            match name {
                "State" => status.state = value.trim().bytes().next().unwrap_or(b'?'),
                "PPid" => status.parent = number(0).unwrap_or(0),
                "TracerPid" => status.tracer = number(0).unwrap_or(0),
                "Uid" => status.user = number(1).unwrap_or(0),
                "Seccomp" => status.seccomp = number(0).unwrap_or(0),
                "VmSize" => status.has_memory = true,
                "x86_Thread_features" => {
                    status.has_shadow_stack = words.any(|word| word == "shstk");
                }
                _ => {}
            }
        }
        status
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    pub(crate) fn check(&self, pid: u32) -> Result<()> {
        if self.is_ended() && !has_other_threads(pid) {
            return Err(Error::Zombie { pid });
        }
        if !self.has_memory && !self.is_ended() {
            // Those of the kernel are children of its second process, which has no parent.
            return Err(match self.parent {
                0 | 2 => Error::KernelThread { pid },
                _ => Error::Ended { pid },
            });
        }
        if self.tracer != 0 {
            return Err(Error::Traced { pid, tracer: self.tracer });
        }
        if self.has_shadow_stack {
            return Err(Error::ShadowStack { pid });
        }
        Ok(())
    }
}

/// A process whose first thread has ended may go on by the others.
fn has_other_threads(pid: u32) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.take(2).count() > 1)
}

/// Whether the process has ended, or is about to: whatever is found of it then may be half of it.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    let is_gone = |status: Status| status.is_ended() || !status.has_memory;
    Status::read(pid).map_or(true, is_gone) && !has_other_threads(pid)
}

/// Why the kernel did not let us. A process that ends has no memory, and so nobody may have it.
pub(crate) fn refused(pid: u32, status: &Status, error: io::Error) -> Error {
    if has_ended(pid) {
        return Error::Ended { pid };
    }
    // SAFETY: no preconditions.
    let own = unsafe { libc::geteuid() };
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0u32);
    match error.kind() {
        io::ErrorKind::NotFound => Error::Absent { pid },
        io::ErrorKind::PermissionDenied if own != 0 && status.user != own => {
            Error::OtherUser { pid, user: status.user }
        }
        io::ErrorKind::PermissionDenied if scope > 2 || (scope > 0 && own != 0) => {
            Error::Scope { scope }
        }
        io::ErrorKind::PermissionDenied => Error::Forbidden { pid },
        _ => Error::System { doing: "opening the memory", pid, source: error },
    }
}

/// By the file that is executed, as far as we may read it.
pub(crate) fn check_word_size(pid: u32) -> Result<()> {
    use std::io::Read;
    const CLASS_32: u8 = 1;
    let mut start = [0u8; 5];
    let file = std::fs::File::open(format!("{}/exe", threads::folder(pid)));
    match file.and_then(|mut file| file.read_exact(&mut start)) {
        Ok(()) if start == [0x7f, b'E', b'L', b'F', CLASS_32] => Err(Error::WordSize { pid }),
        _ => Ok(()),
    }
}

pub(crate) fn is_elsewhere(pid: u32, namespace: Namespace) -> bool {
    let name = match namespace {
        Namespace::Mount => "mnt",
        Namespace::Process => "pid",
        Namespace::Ipc => "ipc",
    };
    let of = |whose: &str| {
        let found = std::fs::metadata(format!("{whose}/ns/{name}")).ok()?;
        Some((found.dev(), found.ino()))
    };
    of(&threads::folder(pid)) != of("/proc/self")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_the_kernel_is_understood_and_other_lines_are_passed_over() {
        let text =
            "Name:\ta:b\\n\nState:\tT (stopped)\nPPid:\t3\nTracerPid:\t7\nUid:\t1\t2\t3\t4\n\
                    VmSize:\t  9 kB\nSeccomp:\t2\nSeccomp_filters:\t1\n\
                    x86_Thread_features:\tshstk wrss\n";
        let status = Status {
            state: b'T',
            parent: 3,
            tracer: 7,
            user: 2,
            seccomp: 2,
            has_memory: true,
            has_shadow_stack: true,
        };
        assert_eq!(Status::parse(text), status);
        assert_eq!(Status::parse("State:\nUid:\nTracerPid: x\n:").tracer, 0);
    }

    #[test]
    fn thread_of_the_kernel_and_absent_process_are_refused_by_name() {
        assert!(matches!(Status::read(u32::MAX), Err(Error::Absent { .. })));
        let bare = Status { state: b'S', ..Status::default() };
        assert!(matches!(bare.check(2), Err(Error::KernelThread { pid: 2 })));
        let traced = Status { state: b'S', tracer: 9, has_memory: true, ..Status::default() };
        assert!(matches!(traced.check(2), Err(Error::Traced { tracer: 9, .. })));
    }

    #[test]
    fn process_without_memory_is_the_kernels_or_is_ending() {
        let ending = Status { state: b'R', parent: 77, ..Status::default() };
        assert!(matches!(ending.check(1), Err(Error::Ended { .. })));
        let kernels = Status { parent: 2, ..ending };
        assert!(matches!(kernels.check(1), Err(Error::KernelThread { .. })));
    }
}
