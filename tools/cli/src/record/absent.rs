// SPDX-License-Identifier: MIT
//! Why a program was not recorded, as far as its file tells, and what liblull found at its start.
//!
//! Place in the flow: `judge` asks for each process that was started and recorded nothing. The
//! paths are what processes claimed, so a file is only looked at, once, and never waited for.

use super::program::{executed_file, privileges, search};
use crate::elf::{self, Kind};
use crate::target::{self, Target};
use consumer::lives::Absent;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use verdict::shown::shown;
use verdict::NotRecorded;

const UNKNOWN: &str =
    "it did not join the session, and what kept it from that is not known: another user, ipc \
     namespace or /dev/shm than the recorder's, no LD_PRELOAD, no room in its address space \
     (ulimit -v), or an end before it could";
const LINKER: &str =
    "it is the dynamic linker, which is recorded once it starts a program and has preloaded \
     liblull: with --verify, --list or LD_TRACE_LOADED_OBJECTS, as ldd calls it, it starts none";
const PERHAPS_LOST: &str =
    "there is no start of it: it did not join the session, or its start is among what was lost";

/// Why each of some processes was not recorded. `has_lost`: events were lost, and the start of a
/// process may be among them.
pub fn with_reasons<'a>(
    processes: impl Iterator<Item = &'a Absent>,
    has_lost: bool,
) -> Vec<NotRecorded> {
    let mut known: HashMap<(&str, u32), Option<String>> = HashMap::new();
    let mut found = Vec::new();
    for Absent { pid, path, recorded } in processes {
        let reason = known.entry((path, *recorded)).or_insert_with(|| reason(path, *recorded));
        let why = reason.clone().unwrap_or_else(|| match has_lost {
            true => PERHAPS_LOST.into(),
            false => UNKNOWN.into(),
        });
        let path = if path.is_empty() { "(unknown)".into() } else { shown(path).into_owned() };
        found.push(NotRecorded { path, pid: *pid, why });
    }
    found
}

/// What speaks against recording a program. Its file knows most of it, where it is still the one
/// that was executed; the rest is what liblull found then.
fn reason(path: &str, recorded: u32) -> Option<String> {
    let found = Target::from_number(i32::try_from(recorded).unwrap_or(-1));
    let of_process = matches!(found, Target::Seccomp | Target::Unreadable | Target::Declined);
    let of_file = if of_process { None } else { reason_by_file(path) };
    of_file.or_else(|| found.prevents().map(|how| format!("it {how}")))
}

/// What the file of a program says against recording it.
fn reason_by_file(path: &str) -> Option<String> {
    let path = Path::new(path);
    let file = resolve(path)?;
    let why = reason_of(&executed_file(&file))?;
    Some(match path.is_absolute() {
        true => why,
        // Its directory and PATH need not be ours.
        false => format!("{why} (as {} is)", shown(&file.to_string_lossy()).into_owned()),
    })
}

fn resolve(path: &Path) -> Option<PathBuf> {
    if path.as_os_str().as_encoded_bytes().contains(&b'/') {
        return std::path::absolute(path).ok();
    }
    search(OsStr::new(path)).ok()
}

fn reason_of(file: &Path) -> Option<String> {
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    if let Some(how) = privileges(file) {
        return Some(format!("it {how}, and the dynamic linker preloads nothing into it"));
    }
    let object = elf::read(file).ok()?;
    match (&object.kind, target::look(file).refuses()) {
        (Kind::OtherMachine { machine }, _) => Some(format!("it is a program for {machine}")),
        (_, Some(how)) => Some(format!("it {how}")),
        (Kind::DynamicLinker, _) => Some(LINKER.into()),
        (Kind::Static, _) if !object.has_liblull() => Some("it is statically linked".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_given_only_where_the_file_tells_it() {
        let odd = |path: &str| Absent { pid: 7, path: path.into(), recorded: 0 };
        let odd = [odd("/bin/sh"), odd("/nowhere"), odd("/dev/zero"), odd("no-such"), odd("")];
        for (process, known) in odd.iter().zip(with_reasons(odd.iter(), false)) {
            assert_eq!(known.why, UNKNOWN, "{process:?}");
        }
        assert_eq!(with_reasons(odd.iter(), true)[0].why, PERHAPS_LOST);
        assert_eq!(with_reasons(odd.iter(), true)[4].path, "(unknown)");
    }

    #[test]
    fn what_liblull_found_is_told_where_the_file_tells_nothing() {
        let why = |path: &str, recorded| {
            let process = Absent { pid: 7, path: path.into(), recorded };
            with_reasons([process].iter(), false).remove(0).why
        };
        assert_eq!(why("/nowhere", 2), "it is statically linked");
        let Kind::Dynamic { interpreter } = elf::read(Path::new("/bin/sh")).unwrap().kind else {
            panic!("/bin/sh is linked dynamically");
        };
        assert_eq!(why(&interpreter, 2), LINKER);
        assert!(why("/nowhere", 4).starts_with("it is for another machine"));
        assert!(why("/bin/sh", 7).starts_with("it runs under a seccomp filter"));
        assert!(why("/nowhere", 8).contains("cannot read liblull: its user may not, or its root"));
        for unknown in [0, 1, 99, u32::MAX] {
            assert_eq!(why("/nowhere", unknown), UNKNOWN);
        }
    }

    #[test]
    fn pipe_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("lull-absent-{}", std::process::id()));
        let text = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(text.as_ptr(), 0o600) }, 0);
        let process = Absent { pid: 7, path: path.to_str().unwrap().into(), recorded: 0 };
        assert_eq!(with_reasons([process].iter(), false)[0].why, UNKNOWN);
        std::fs::remove_file(&path).unwrap();
    }
}
