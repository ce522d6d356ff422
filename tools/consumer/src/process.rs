// SPDX-License-Identifier: MIT
//! Whether a thread that owes a commit can still pay: what /proc says about it.

use std::{fs, io};

/// Whose slot a hole is. A writer leaves its number in the slot's second word when it reserves
/// it, and may have overwritten that with payload since; then the run it is in tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Thread(u32),
    /// The thread whose run the hole stands in, unless `mark` is a thread that began a run.
    Either {
        run: u32,
        mark: u32,
    },
    Unknown,
}

impl Owner {
    /// True when no thread that this can be will commit to the memory of this segment.
    pub fn is_dead(&self, segment: i32) -> bool {
        match *self {
            Self::Thread(tid) => thread_is_dead(tid),
            Self::Either { run, mark } => {
                thread_is_dead(run) && (thread_is_dead(mark) || !attaches(mark, segment))
            }
            Self::Unknown => false,
        }
    }
}

/// Whether a thread's process has a segment attached. Unreadable counts as no: not our user's.
pub fn attaches(tid: u32, segment: i32) -> bool {
    segments(tid).contains(&segment)
}

/// The segments that a thread's process has attached, by their identifiers, as far as they can be
/// read.
pub fn segments(tid: u32) -> Vec<i32> {
    let Ok(maps) = fs::read(format!("/proc/{tid}/maps")) else { return Vec::new() };
    let maps = String::from_utf8_lossy(&maps);
    let segment = |line: &str| {
        // address permissions offset device inode name; of a segment the inode is its identifier
        let mut fields = line.split_ascii_whitespace().skip(4);
        let inode = fields.next()?.parse().ok()?;
        fields.next()?.starts_with("/SYSV").then_some(inode)
    };
    maps.lines().filter_map(segment).collect()
}

/// True when no thread of this number runs any more. A number that was given out again counts
/// as alive; then a time limit decides.
pub fn thread_is_dead(tid: u32) -> bool {
    if tid == 0 {
        return false;
    }
    match state(tid) {
        Ok(state) => matches!(state, Some('Z' | 'X' | 'x')),
        Err(error) => matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)),
    }
}

/// Whether a signal has stopped a thread; no where that is not known.
pub fn thread_is_stopped(tid: u32) -> bool {
    matches!(state(tid), Ok(Some('T')))
}

fn state(tid: u32) -> io::Result<Option<char>> {
    let stat = fs::read_to_string(format!("/proc/{tid}/stat"))?;
    // The state follows the name, which is in parentheses and may hold any character.
    Ok(stat.rsplit_once(')').and_then(|(_, rest)| rest.trim().chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_owner_is_dead_when_the_run_is_and_the_mark_is_no_traced_thread() {
        let (me, nobody) = (std::process::id(), 0x7fff_fff0);
        let segment = session::segment::Segment::create(4096, |_| Ok(())).unwrap();
        let (attached, other) = (segment.id(), segment.id().wrapping_add(1));
        assert!(!Owner::Either { run: me, mark: nobody }.is_dead(attached));
        assert!(Owner::Either { run: nobody, mark: nobody }.is_dead(attached));
        assert!(Owner::Either { run: nobody, mark: me }.is_dead(other));
        assert!(!Owner::Either { run: nobody, mark: me }.is_dead(attached));
    }

    #[test]
    fn own_thread_is_alive_and_a_killed_child_is_dead_before_and_after_it_is_reaped() {
        assert!(!thread_is_dead(std::process::id()));
        assert!(!thread_is_dead(0), "a number that no thread has is no dead thread's");
        assert!(!Owner::Unknown.is_dead(0) && Owner::Thread(0x7fff_fff0).is_dead(0));
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        assert!(!thread_is_dead(child.id()));
        child.kill().unwrap();
        while !thread_is_dead(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(thread_is_dead(child.id()));
    }
}
