// SPDX-License-Identifier: MIT
//! The threads whose events a recorder of the kernel followed, where it followed a program's.
//!
//! Place in the flow: `running` asks whose switches are all recorded. A thread is followed from the
//! begin that another one's event tells to its own end, and then no more, whatever has its number:
//! the kernel forgets the number there. One that makes a system call is followed, too: its begin
//! may be lost, or before the trace. The recorder is until it has made the program's first thread;
//! then its wake-ups are left out.

use rustc_hash::FxHashMap;

/// Threads that are told apart; of further ones nothing is known.
const THREADS_MAX: usize = 1 << 16;

/// By machine and number, whether a thread is followed, or was.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    threads: FxHashMap<(u32, i64), bool>,
    /// The programs' first threads.
    first: Vec<(u32, i64)>,
}

impl Followed {
    fn known(&mut self, host: u32, tid: i64, default: bool) -> Option<&mut bool> {
        let has_room = self.threads.len() < THREADS_MAX || self.threads.contains_key(&(host, tid));
        (tid != 0 && has_room).then(|| self.threads.entry((host, tid)).or_insert(default))
    }

    /// The program's first thread has this number.
    pub fn expect(&mut self, host: u32, tid: i64) {
        self.known(host, tid, true);
        if !self.is_first(host, tid) {
            self.first.push((host, tid)); // one of each trace
        }
    }

    /// Whether a thread is a program's first, which its recorder makes.
    pub fn is_first(&self, host: u32, tid: i64) -> bool {
        self.first.contains(&(host, tid))
    }

    pub fn begins(&mut self, host: u32, tid: i64) {
        self.known(host, tid, true).into_iter().for_each(|is_followed| *is_followed = true);
    }

    pub fn calls(&mut self, host: u32, tid: i64) {
        self.known(host, tid, true);
    }

    pub fn ends(&mut self, host: u32, tid: i64) {
        self.known(host, tid, false).into_iter().for_each(|is_followed| *is_followed = false);
    }

    pub fn has(&self, host: u32, tid: i64) -> bool {
        self.threads.get(&(host, tid)) == Some(&true)
    }
}
