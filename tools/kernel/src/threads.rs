// SPDX-License-Identifier: MIT
//! Whose thread a number is: its process and its name, as far as they are known.
//!
//! Place in the flow: `tracing` asks for each event's thread, and tells of the events that say
//! something about threads, in the order of time. What was there before recording began is in
//! /proc; of a thread that no event told of, /proc knows while it lives, and tracefs remembers some
//! that have ended. A process that is not known has the number 0, and a name that is not is empty.

use crate::root::Root;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

pub const NAME_BYTES: usize = 16;
/// Threads that are remembered; of more, nothing is known.
const THREADS_MAX: usize = 1 << 20;
/// `CLONE_THREAD`: a new thread of the same process.
const CLONE_THREAD: u64 = 0x1_0000;

/// As `lull:thread` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    pub pid: u32,
    pub tid: u32,
    pub name: [u8; NAME_BYTES],
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    pid: u32,
    name: [u8; NAME_BYTES],
}

/// All threads that are known.
#[derive(Debug, Default)]
pub struct Threads {
    known: HashMap<u32, Known>,
    /// Where tracefs remembers threads, if it was not read since this was set.
    remembered: Option<Root>,
}

/// A name of at most 15 characters, as the kernel keeps it.
fn short(text: &[u8]) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let count = end.min(NAME_BYTES - 1);
    name[..count].copy_from_slice(&text[..count]);
    name
}

impl Threads {
    /// The threads that there are.
    pub fn scan(&mut self) {
        for pid in numbers(Path::new("/proc")) {
            for tid in numbers(&Path::new("/proc").join(pid.to_string()).join("task")) {
                if let Ok(name) = fs::read(format!("/proc/{pid}/task/{tid}/comm")) {
                    self.set(tid, Known { pid, name: short(name.trim_ascii_end()) });
                }
            }
        }
    }

    fn set(&mut self, tid: u32, known: Known) {
        if self.known.len() < THREADS_MAX || self.known.contains_key(&tid) {
            self.known.insert(tid, known);
        }
    }

    /// From now on a thread that is not known may be looked for in tracefs, once.
    pub fn refresh(&mut self, root: &Root) {
        self.remembered = Some(root.clone());
    }

    /// The thread of this number. The idle threads all have the number 0.
    pub fn thread(&mut self, tid: u32, cpu: u32) -> Thread {
        if tid == 0 {
            return Thread { pid: 0, tid, name: short(format!("swapper/{cpu}").as_bytes()) };
        }
        let known = match self.known.get(&tid) {
            Some(known) => *known,
            None => self.look_up(tid),
        };
        Thread { pid: known.pid, tid, name: known.name }
    }

    /// A thread of which no event told.
    fn look_up(&mut self, tid: u32) -> Known {
        let mut found = of_proc(tid);
        if found.is_none() {
            if let Some(root) = self.remembered.take() {
                self.remember(&root);
                found = self.known.get(&tid).copied();
            }
        }
        let found = found.unwrap_or_default();
        self.set(tid, found);
        found
    }

    /// Takes over what tracefs remembers of threads that are not known.
    fn remember(&mut self, root: &Root) {
        let lines = |file: &str| crate::text(&root.path().join(file)).unwrap_or_default();
        let pair = |line: &str| {
            let (tid, rest) = line.trim().split_once(' ')?;
            Some((tid.parse::<u32>().ok()?, rest.to_string()))
        };
        for (tid, pid) in lines("saved_tgids").lines().filter_map(pair) {
            if let (Ok(pid), None) = (pid.trim().parse(), self.known.get(&tid)) {
                self.set(tid, Known { pid, ..Known::default() });
            }
        }
        for (tid, name) in lines("saved_cmdlines").lines().filter_map(pair) {
            if let Some(known) = self.known.get_mut(&tid) {
                if known.name[0] == 0 {
                    known.name = short(name.as_bytes());
                }
            }
        }
    }

    /// A program is about to be started in this process.
    pub fn expect(&mut self, pid: u32, name: &[u8]) {
        self.set(pid, Known { pid, name: short(name) });
    }

    /// A thread made another one.
    pub fn began(&mut self, by: u32, tid: u32, name: &[u8], clone_flags: u64) {
        let pid = match clone_flags & CLONE_THREAD {
            0 => tid,
            _ => self.thread(by, 0).pid,
        };
        self.set(tid, Known { pid, name: short(name) });
    }

    /// A thread has another name now.
    pub fn renamed(&mut self, tid: u32, name: &[u8]) {
        if tid == 0 {
            return;
        }
        let pid = self.thread(tid, 0).pid;
        self.set(tid, Known { pid, name: short(name) });
    }

    /// A thread that is not known, or one whose name changed unseen, is called this. Return:
    /// whether that is new.
    pub fn seen(&mut self, tid: u32, name: &[u8]) -> bool {
        match self.known.get_mut(&tid) {
            Some(known) => std::mem::replace(&mut known.name, short(name)) != known.name,
            None => {
                self.renamed(tid, name);
                true
            }
        }
    }
}

/// The entries of a directory that are numbers.
fn numbers(path: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What /proc says of a thread that lives.
fn of_proc(tid: u32) -> Option<Known> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let pid = of("Tgid:")?.trim().parse().ok()?;
    Some(Known { pid, name: short(of("Name:")?.trim().as_bytes()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(threads: &mut Threads, tid: u32) -> (u32, String) {
        let Thread { pid, name, .. } = threads.thread(tid, 3);
        let end = name.iter().position(|byte| *byte == 0).unwrap();
        (pid, String::from_utf8(name[..end].to_vec()).unwrap())
    }

    #[test]
    fn new_thread_is_of_its_makers_process_and_a_new_process_is_of_itself() {
        let mut threads = Threads::default();
        threads.expect(70_000_000, b"a program with a long name");
        let name = (70_000_000, "a program with ".to_string());
        assert_eq!(named(&mut threads, 70_000_000), name);
        threads.began(70_000_000, 70_000_001, b"worker\0junk", CLONE_THREAD | 0xf00);
        assert_eq!(named(&mut threads, 70_000_001), (70_000_000, "worker".into()));
        threads.began(70_000_001, 70_000_002, b"child", 17);
        assert_eq!(named(&mut threads, 70_000_002), (70_000_002, "child".into()));
        threads.renamed(70_000_001, b"other");
        assert!(threads.seen(70_000_002, b"changed") && !threads.seen(70_000_002, b"changed"));
        assert_eq!(named(&mut threads, 70_000_001), (70_000_000, "other".into()));
        assert_eq!(named(&mut threads, 70_000_002), (70_000_002, "changed".into()));
    }

    #[test]
    fn own_thread_is_found_in_proc_and_one_that_is_nowhere_is_told_as_such() {
        let mut threads = Threads::default();
        let me = std::process::id();
        assert_eq!(named(&mut threads, me).0, me);
        assert_eq!(named(&mut threads, 80_000_000), (0, String::new()));
        assert_eq!(named(&mut threads, 0), (0, "swapper/3".into()));
        let mut scanned = Threads::default();
        scanned.scan();
        assert_eq!(scanned.known.get(&me).map(|known| known.pid), Some(me));
    }
}
