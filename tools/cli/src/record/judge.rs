// SPDX-License-Identifier: MIT
//! The parts of the verdict that come from the machine and not from the rings: which processes went
//! on, why others were not recorded, and which patterns matched nothing.
//!
//! Place in the flow: called when everything was read, before the verdict is written. What
//! processes claimed is repeated, never acted on beyond a look at a file.

use super::asked::Asked;
use super::kernel::Kernel;
use super::{absent, filtered, limited, unmatched};
use consumer::consumer::Seen;
use consumer::process::segments as attached;
use session::pattern::Patterns;
use session::segment;
use std::collections::BTreeSet;
use std::path::PathBuf;
use verdict::shown::shown;
use verdict::text::plural;
use verdict::{Verdict, WentOn};

pub struct Judge<'a> {
    pub patterns: &'a Patterns,
    pub asked: &'a Asked,
    /// None: only the kernel is recorded.
    pub joined: Option<Joined<'a>>,
    pub segments: &'a [i32],
    pub is_flight_recorder: bool,
    /// Events are counted, and not recorded.
    pub is_counting: bool,
    /// None: only programs are recorded.
    pub kernel: Option<&'a Kernel>,
    pub warnings: Vec<String>,
}

/// The programs of a session.
#[derive(Clone, Copy)]
pub struct Joined<'a> {
    /// Those that are known by name.
    pub programs: &'a [PathBuf],
    /// No process of the session has a number that was given out before this one.
    pub first_pid: u32,
    /// Whether the session ended at its own time, and not with a program.
    pub is_open: bool,
    /// Who joins was found by what it carries (`system`), which says of whom that is not known.
    pub is_system: bool,
    /// Processes that stop it, which may have been started in the session.
    pub stoppers: &'a [u32],
}

impl Judge<'_> {
    pub fn add(self, verdict: &mut Verdict, seen: Seen) {
        verdict.notes.extend(self.warnings.iter().cloned());
        verdict.notes.extend(self.kernel.into_iter().flat_map(Kernel::notes));
        verdict.limits.extend(self.kernel.and_then(|kernel| kernel.whose().sentence()));
        if let Some(joined) = self.joined {
            self.add_processes(verdict, &seen, joined);
            if seen.joined {
                verdict.limits.extend(limited::sentences(joined.programs, self.patterns));
            }
            filtered::judge(verdict, self.asked, &seen.filtered, self.is_counting);
            if seen.joined || self.kernel.is_some() {
                let known = || self.known_events(joined.programs);
                unmatched::add(verdict, self.patterns, &seen.events, known);
            }
        }
        // As readers see it; counts are judged by themselves.
        let is_all = (seen.is_whole || self.is_flight_recorder) && !self.is_counting;
        verdict.nothing_matched |= verdict.events == 0 && is_all;
    }

    fn known_events(&self, programs: &[PathBuf]) -> Vec<(String, u8)> {
        let events = programs.iter().flat_map(|program| crate::list::known_events(program));
        let mut known: Vec<(String, u8)> = events.map(|event| (event.name, event.level)).collect();
        if self.kernel.is_some() {
            known.extend(super::kernel::known_events());
        }
        known
    }

    fn add_processes(&self, verdict: &mut Verdict, seen: &Seen, joined: Joined) {
        let left = self.left(seen, joined);
        verdict.was_asked_to_end = joined.is_open;
        verdict.went_on = left.iter().map(|pid| went_on(*pid)).collect();
        if joined.is_system {
            return;
        }
        // What a flight recorder's traces are, each says by itself.
        if !self.is_flight_recorder {
            self.add_unrecorded(verdict, seen, &left);
        }
        if !seen.joined && joined.programs.is_empty() {
            verdict.notes.push("no program joined the session".into());
        } else if !seen.joined && verdict.not_recorded.is_empty() {
            verdict.missing.push(
                "no process joined the session: the program is static, cleared its environment, \
                 or ended before it began"
                    .into(),
            );
        }
    }

    /// Programs that were not recorded, or why they are not known.
    fn add_unrecorded(&self, verdict: &mut Verdict, seen: &Seen, left: &BTreeSet<u32>) {
        if !self.patterns.watches_processes() {
            verdict.limits.push(
                "of the processes that joined: the patterns leave out events of process, so \
                 programs that were not recorded are not known"
                    .into(),
            );
        } else if seen.was_paused {
            verdict.limits.push(
                "of the processes that joined: recording was paused, so programs that were not \
                 recorded are not known"
                    .into(),
            );
        } else if !seen.is_whole {
            verdict.limits.push(
                "until recording stopped: programs that were not recorded are not known".into(),
            );
        } else {
            self.add_absent(verdict, seen, left);
        }
    }

    fn add_absent(&self, verdict: &mut Verdict, seen: &Seen, left: &BTreeSet<u32>) {
        let has_lost = verdict.lost.total() > 0
            || verdict.unwritten_packets > 0
            || verdict.damaged_packets > 0
            || verdict.sites.unregistered > 0;
        // One that maps the session joined it; its start came after the last look.
        let absent = seen.absent.iter().filter(|process| !left.contains(&process.pid));
        verdict.not_recorded = absent::with_reasons(absent, has_lost);
        verdict.not_recorded_more = seen.absent_more;
        if seen.unwatched > 0 {
            verdict.limits.push(format!(
                "of the processes that could be followed: {} came while too many others lived",
                plural(seen.unwatched, "start")
            ));
        }
        if seen.unnumbered > 0 {
            verdict.limits.push(format!(
                "of the processes that have a number: {} by processes without one, which a clone \
                 of the program's own made, may have been of programs that were not recorded",
                plural(seen.unnumbered, "start")
            ));
        }
    }

    /// Processes of the session that still run.
    fn left(&self, seen: &Seen, joined: Joined) -> BTreeSet<u32> {
        let has_others = |id: &i32| segment::status(*id).map_or(true, |found| found.attached > 1);
        if !self.segments.iter().any(has_others) {
            return BTreeSet::new(); // without a look at all processes of the machine
        }
        let candidates = seen.pids.iter().copied().chain(pids_since(joined.first_pid));
        let is_left = |pid: &u32| {
            *pid != std::process::id()
                && !joined.stoppers.contains(pid)
                && attached(*pid).iter().any(|id| self.segments.contains(id))
        };
        candidates.collect::<BTreeSet<u32>>().into_iter().filter(is_left).collect()
    }
}

fn went_on(pid: u32) -> WentOn {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    WentOn { path: shown(&path.to_string_lossy()).into_owned(), pid }
}

/// Processes with numbers that were given out since `first` was.
fn pids_since(first: u32) -> Vec<u32> {
    let last = session::machine::kernel_text("/proc/loadavg").and_then(|text| {
        let (_, last) = text.trim().rsplit_once(' ')?;
        last.parse::<u32>().ok()
    });
    let is_new = |pid: &u32| match last {
        Some(last) if last >= first => (first..=last).contains(pid),
        // The numbers began again, or are not known.
        Some(last) => *pid >= first || *pid <= last,
        None => true,
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_is_among_the_processes_since_itself_and_since_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(pids_since(child.id()).contains(&child.id()));
        assert!(pids_since(std::process::id()).contains(&child.id()));
        assert_eq!(went_on(child.id()).pid, child.id());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
