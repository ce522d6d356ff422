// SPDX-License-Identifier: MIT
//! Whether a process carries events that a session asks for: in its program, or in a library that
//! it has loaded. Where calls of the C library are asked for, every process does that has files.
//!
//! Place in the flow: `system` has a thread look, for what /proc tells of a process can take long.
//! The files belong to whoever runs the process: each is opened as it is mapped, not by a path, and
//! is read in bounded parts (`elf`).

use crate::elf;
use crate::record::attach::Place;
use session::pattern::Patterns;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tracee::{Mapping, Status};

/// Files that are remembered.
const FILES_MAX: usize = 16 << 10;
/// Files of one process that are looked at.
const OBJECTS_MAX: usize = 1024;

/// A file as it was: one that was written to since is another.
type Identity = (u64, u64, u64, i64, i64);

/// What a process is, as far as the session is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It has ended, or is the kernel's.
    Gone,
    /// It has the session's memory, and its companion's if there is one.
    Member,
    /// It has one of them only.
    Lacks { user: u32 },
    /// It carries no event that is asked for, as far as it has loaded its libraries.
    Bare,
    /// It carries events. `is_starting`: its C library is not there yet, or never will be.
    Carries { user: u32, is_starting: bool },
    /// What it carries cannot be seen.
    Hidden,
}

/// What patterns ask for, with what is known of files.
pub struct Looker {
    patterns: Patterns,
    /// Those of conditions.
    beside: Option<Patterns>,
    /// Calls of the C library are asked for by name.
    has_calls: bool,
    files: Mutex<HashMap<Identity, bool>>,
    /// This command: no recorder is recorded.
    own: Option<(u64, u64)>,
}

impl Looker {
    /// `asked`: the patterns that were given; `beside`: those of conditions; `library`: liblull,
    /// whose events are those calls.
    pub fn new(
        patterns: Patterns,
        asked: &[String],
        beside: Option<Patterns>,
        library: &Path,
    ) -> Self {
        let named = Patterns::exactly(asked).ok().filter(|_| !asked.is_empty());
        let is_named = |event: &elf::Carried| {
            let event = &event.description;
            let each = named.iter().chain(&beside);
            each.into_iter().any(|named| named.matches(&event.name, event.level))
        };
        let has_calls = elf::read(library).is_ok_and(|object| object.events.iter().any(is_named));
        let own = std::fs::metadata("/proc/self/exe").ok();
        let own = own.map(|own| (own.dev(), own.ino()));
        Self { patterns, beside, has_calls, files: Mutex::default(), own }
    }

    /// Whether these are the patterns that it looks by.
    pub fn is_by(&self, patterns: &Patterns, beside: Option<&Patterns>) -> bool {
        self.patterns.text() == patterns.text()
            && self.beside.as_ref().map(Patterns::text) == beside.map(Patterns::text)
    }

    /// Looks at a process. `places`: the session, and its companion if there is one.
    pub fn look(&self, pid: u32, places: &[Place]) -> Seen {
        let mappings = match Mapping::all_of(pid) {
            Ok(mappings) => mappings,
            Err(_) if tracee::has_ended(pid) => return Seen::Gone,
            Err(_) => return Seen::Hidden,
        };
        let is_in = |place: &Place| mappings.iter().any(|one| one.is_segment(&place.segments));
        match places.iter().filter(|place| is_in(place)).count() {
            0 => {}
            count if count == places.len() => return Seen::Member,
            _ => {
                let status = Status::read(pid);
                return status.map_or(Seen::Gone, |status| Seen::Lacks { user: status.user });
            }
        }
        let program = std::fs::metadata(format!("/proc/{pid}/exe")).ok();
        if program.is_some_and(|found| self.own == Some((found.dev(), found.ino()))) {
            return Seen::Bare;
        }
        let is_library = |one: &Mapping| one.file_name().starts_with("libc.so");
        let is_starting = !mappings.iter().any(is_library);
        match self.carries_any(pid, &mappings) {
            Some(true) => match Status::read(pid) {
                Ok(status) => Seen::Carries { user: status.user, is_starting },
                Err(_) => Seen::Gone,
            },
            Some(false) => Seen::Bare,
            None if tracee::has_ended(pid) => Seen::Gone,
            None => Seen::Hidden,
        }
    }

    /// Whether a process has an event that is asked for. None: that cannot be seen.
    fn carries_any(&self, pid: u32, mappings: &[Mapping]) -> Option<bool> {
        if self.has_calls {
            // The first process is left alone: a machine ends with it.
            return Some(pid != 1 && mappings.iter().any(|one| one.inode != 0));
        }
        let mut is_hidden = false;
        let objects = mappings.iter().filter(|one| one.is_executable && one.inode != 0);
        for mapping in objects.take(OBJECTS_MAX) {
            match self.carries(pid, mapping) {
                Some(true) => return Some(pid != 1),
                Some(false) => {}
                None => is_hidden = true,
            }
        }
        (!is_hidden).then_some(false)
    }

    /// Whether a mapped file has an event that is asked for. None: it cannot be looked at.
    fn carries(&self, pid: u32, mapping: &Mapping) -> Option<bool> {
        // liblull's own events are of every process that loads it.
        if mapping.file_name().starts_with("liblull") {
            return Some(false);
        }
        let path = mapped_file(pid, mapping);
        let found = std::fs::metadata(&path).ok()?;
        if !found.is_file() {
            return Some(false);
        }
        let changed = found.ctime().wrapping_mul(1_000_000_000).wrapping_add(found.ctime_nsec());
        let identity = (found.dev(), found.ino(), found.size(), found.mtime(), changed);
        let known = |files: &HashMap<_, bool>| files.get(&identity).copied();
        if let Some(known) = known(&self.files.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some(known);
        }
        let carries = self.reads(&path)?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= FILES_MAX {
            files.clear();
        }
        files.insert(identity, carries);
        Some(carries)
    }

    fn reads(&self, path: &Path) -> Option<bool> {
        let object = elf::read(path).ok()?;
        let mut events = object.events.iter().map(|carried| &carried.description);
        let each = || std::iter::once(&self.patterns).chain(&self.beside);
        Some(events.any(|event| each().any(|one| one.matches(&event.name, event.level))))
    }
}

/// The very file that is mapped, whatever is at its path by now.
fn mapped_file(pid: u32, mapping: &Mapping) -> PathBuf {
    format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.begin, mapping.until).into()
}

/// Whether files of mappings can be opened at all: with `CAP_SYS_ADMIN` in the first user
/// namespace, or `CAP_CHECKPOINT_RESTORE`.
pub fn is_allowed() -> bool {
    let own = std::process::id();
    let Ok(mappings) = Mapping::all_of(own) else { return false };
    let mut files = mappings.iter().filter(|one| one.is_executable && one.inode != 0);
    files.any(|one| std::fs::metadata(mapped_file(own, one)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::Stdio;

    fn looker(patterns: &[&str]) -> Looker {
        let asked: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_string()).collect();
        Looker::new(Patterns::exactly(&asked).unwrap(), &asked, None, Path::new("/nowhere"))
    }

    fn place(segment: i32) -> Place {
        Place { directory: c"/nowhere".into(), segments: vec![segment] }
    }

    #[test]
    fn process_without_events_is_bare_and_one_that_has_ended_is_gone() {
        if !is_allowed() {
            return;
        }
        let looker = looker(&["no-such:*"]);
        let mut cat = std::process::Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // A program that answers has loaded what it needs; its name comes before its mappings.
        child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(looker.look(child.id(), &[]), Seen::Bare);
        assert!(!looker.files.lock().unwrap().is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(looker.look(child.id(), &[]), Seen::Gone);
        assert_eq!(looker.look(std::process::id(), &[]), Seen::Bare, "we record nobody of ours");
        let [same, other] =
            ["no-such:*", "a:*"].map(|text| Patterns::exactly(&[text.to_string()]).unwrap());
        assert!(looker.is_by(&same, None) && !looker.is_by(&other, None));
        assert!(!looker.is_by(&same, Some(&other)), "a condition came");
    }

    #[test]
    fn process_that_has_a_segment_of_the_session_is_a_member() {
        let segment = session::segment::Segment::create(4096, |_| Ok(())).unwrap();
        let looker = looker(&["*"]);
        let (me, own) = (std::process::id(), place(segment.id()));
        let other = place(segment.id().wrapping_add(1));
        assert_eq!(looker.look(me, std::slice::from_ref(&own)), Seen::Member);
        assert_eq!(looker.look(me, &[own.clone(), own.clone()]), Seen::Member);
        let user = crate::owner::me();
        assert_eq!(looker.look(me, &[own.clone(), other.clone()]), Seen::Lacks { user });
        assert_eq!(looker.look(me, &[other.clone(), own]), Seen::Lacks { user });
        assert_eq!(looker.look(me, &[other.clone(), other]), Seen::Bare);
    }
}
