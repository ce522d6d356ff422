// SPDX-License-Identifier: MIT
//! What became of the processes of the machine, and what the verdict says of it.
//!
//! Place in the flow: `system` counts here; nothing here grows with the number of processes.

use crate::record::attach::{incarnation, Incarnation};
use crate::shown::shown;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;
use verdict::text::plural;
use verdict::{NotRecorded, Verdict};

pub const ENDED: &str = "it carries events, and ended before it could join";

/// Processes that the verdict names.
const NAMED_MAX: usize = 64;

/// Counts of a session.
#[derive(Debug, Default)]
pub struct Tally {
    joined: u64,
    pub users: BTreeSet<u32>,
    /// Of programs that began meanwhile, by how many microseconds later they had joined: how many
    /// took less than 2^index.
    delays: [u64; 32],
    longest_ns: u64,
    /// Programs that ended before they were looked at.
    pub unseen: u64,
    /// Looks at processes that could not be looked at.
    pub hidden: u64,
    /// How often more programs began than could be taken.
    pub overflows: u64,
    /// Each with what tells its process from others of that number.
    not_recorded: Vec<(Option<Incarnation>, NotRecorded)>,
    not_recorded_more: u64,
    not_followed: Vec<String>,
    not_followed_more: u64,
}

impl Tally {
    /// A process has joined, and is none that is not recorded, whatever it ran before. `exec_ns`:
    /// when its program began, on the monotonic clock.
    pub fn joined(&mut self, pid: u32, user: u32, exec_ns: Option<u64>) {
        self.joined += 1;
        if self.not_recorded.iter().any(|(_, process)| process.pid == pid) {
            let begun = |of: Option<Incarnation>| of.map(|(begun, ..)| begun);
            let now = begun(incarnation(pid));
            self.not_recorded.retain(|(of, process)| process.pid != pid || begun(*of) != now);
        }
        self.users.insert(user);
        if let Some(exec_ns) = exec_ns {
            self.took(monotonic_ns().saturating_sub(exec_ns));
        }
    }

    fn took(&mut self, ns: u64) {
        self.longest_ns = self.longest_ns.max(ns);
        let index = (u64::BITS - (ns / 1000).leading_zeros()) as usize;
        self.delays[index.min(self.delays.len() - 1)] += 1;
    }

    /// A time that half of the delays are not above, as far as it is known: a power of two, or the
    /// longest.
    fn median(&self) -> Option<Duration> {
        let count: u64 = self.delays.iter().sum();
        let mut below = 0;
        let index = self.delays.iter().position(|of| {
            below += of;
            below * 2 >= count
        })?;
        let longest = Duration::from_nanos(self.longest_ns);
        (count > 0).then(|| Duration::from_micros(1 << index).min(longest))
    }

    pub fn joined_count(&self) -> u64 {
        self.joined
    }

    /// A process that carries events will not be recorded.
    pub fn not_recorded(
        &mut self,
        name: &str,
        (pid, incarnation): (u32, Option<Incarnation>),
        why: &str,
    ) {
        if self.not_recorded.len() >= NAMED_MAX {
            self.not_recorded_more += 1;
            return;
        }
        let path = shown(name).into_owned();
        self.not_recorded.push((incarnation, NotRecorded { path, pid, why: why.into() }));
    }

    /// A process that is in the session is not in its companion.
    pub fn not_followed(&mut self, name: &str, pid: u32, why: &str) {
        if self.not_followed.len() >= NAMED_MAX {
            self.not_followed_more += 1;
            return;
        }
        self.not_followed.push(format!(
            "a firing may be missing: conditions did not see all of {}, pid {pid}: {why}",
            shown(name)
        ));
    }

    /// One that was seen to carry events has ended.
    pub fn ended(&mut self, pid: u32) {
        self.not_recorded("a program", (pid, None), ENDED);
    }

    pub fn not_recorded_count(&self) -> u64 {
        self.not_recorded.len() as u64 + self.not_recorded_more
    }

    /// `untold`: why the kernel did not tell of programs that began.
    pub fn judge(&self, verdict: &mut Verdict, untold: Option<&io::Error>) {
        let not_recorded = self.not_recorded.iter().map(|(_, process)| process.clone());
        verdict.not_recorded.extend(not_recorded);
        verdict.not_recorded_more += self.not_recorded_more;
        verdict.notes.extend(self.not_followed.iter().cloned());
        if self.not_followed_more > 0 {
            verdict.notes.push(format!(
                "a firing may be missing: conditions did not see all of {} more",
                plural(self.not_followed_more, "process")
            ));
        }
        let mut of_joined = format!(
            "from when each process joined that carries events: {} of {} joined",
            plural(self.joined, "process"),
            plural(self.users.len() as u64, "user")
        );
        if let Some(median) = self.median() {
            of_joined += &format!(
                "; half of the programs that began meanwhile joined within {} ms of their begin, \
                 all of them within {} ms",
                milliseconds(median),
                milliseconds(Duration::from_nanos(self.longest_ns))
            );
        }
        verdict.limits.push(of_joined);
        if let Some(error) = untold {
            verdict.limits.push(format!(
                "of the processes that were found by a look at all of them now and then: the \
                 kernel does not tell of programs that begin ({error})"
            ));
        }
        if self.unseen > 0 {
            verdict.limits.push(format!(
                "of the programs that ran long enough: {} ended before they could be looked at, \
                 and whether they carried events is not known",
                plural(self.unseen, "program")
            ));
        }
        if self.overflows > 0 {
            verdict.limits.push(format!(
                "of the programs that could be followed: {} more began than could be taken, of \
                 which those are known that ran when all processes were looked at",
                plural(self.overflows, "time")
            ));
        }
        if self.hidden > 0 {
            verdict.limits.push(format!(
                "of the processes that could be looked at: {} showed nothing of what they carry",
                plural(self.hidden, "look")
            ));
        }
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1e3)
}

/// The clock by which the kernel tells of births.
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable for its size.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_delays_are_not_above_the_median_that_is_told() {
        let mut tally = Tally::default();
        assert_eq!(tally.median(), None);
        [900, 3_000_000, 3_000_001, 70_000_000].iter().for_each(|ns| tally.took(*ns));
        assert_eq!(tally.median(), Some(Duration::from_micros(4096)));
        assert_eq!(tally.longest_ns, 70_000_000);
        tally.took(u64::MAX);
        let mut one = Tally::default();
        one.took(892_200_000);
        assert_eq!(
            one.median(),
            Some(Duration::from_nanos(892_200_000)),
            "no more than all of them"
        );
    }

    #[test]
    fn process_that_joined_in_another_program_is_none_that_is_not_recorded() {
        let mut tally = Tally::default();
        let me = std::process::id();
        let before = incarnation(me).map(|(begun, ..)| (begun, 0, 0));
        tally.not_recorded("sh", (me, before), "it is statically linked");
        tally.not_recorded("its number's last owner", (me, Some((1, 2, 3))), "why");
        tally.not_recorded("another", (1, incarnation(1)), "why");
        tally.joined(me, 0, None);
        let left: Vec<&str> = tally.not_recorded.iter().map(|(_, one)| one.path.as_str()).collect();
        assert_eq!(left, ["its number's last owner", "another"]);
    }

    #[test]
    fn processes_that_were_not_recorded_are_named_up_to_a_limit_and_counted() {
        let mut tally = Tally::default();
        (0..NAMED_MAX as u32 + 5).for_each(|pid| tally.not_recorded("a\u{1b}", (pid, None), "why"));
        assert_eq!((tally.not_recorded.len(), tally.not_recorded_more), (NAMED_MAX, 5));
        assert!(!tally.not_recorded[0].1.path.contains('\u{1b}'));
    }
}
