// SPDX-License-Identifier: MIT
//! The program to run: where it is, and whether it can be recorded.
//!
//! Place in the flow: before anything is made or started. What the dynamic linker would ignore
//! without a word (privileged programs, static ones), or stumble over (other machines, other C
//! libraries, sanitizers), is said here.

use super::{FAILED, NOT_EXECUTABLE, NOT_FOUND};
use crate::elf::{self, Kind};
use crate::target::{self, Target};
use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A program that can be started.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    /// Whether it can load liblull; it is started without otherwise.
    pub loads: bool,
    /// Why less than expected will be recorded, if so.
    pub warning: Option<String>,
}

/// The status of a command whose program could not be executed.
pub fn start_status(error: &std::io::Error) -> i32 {
    match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    }
}

/// Why it is not started.
#[derive(Debug)]
pub enum Problem {
    NotFound(String),
    NotExecutable(PathBuf, std::io::Error),
    Privileged { path: PathBuf, how: &'static str },
}

impl Problem {
    pub fn status(&self) -> i32 {
        match self {
            Self::NotFound(_) => NOT_FOUND,
            Self::NotExecutable(..) => NOT_EXECUTABLE,
            Self::Privileged { .. } => FAILED,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NotFound(name) => write!(f, "{name}: no such program"),
            Self::NotExecutable(path, error) => {
                write!(f, "{}: cannot be executed: {error}", path.display())
            }
            Self::Privileged { path, how } => write!(
                f,
                "{}: refused: it {how}, and the kernel keeps privileged programs from being \
                 traced by their user; run lull record as the user it runs as",
                path.display()
            ),
        }
    }
}

/// Finds a program as the shell would, and looks whether it can be recorded.
pub fn find(name: &OsStr) -> Result<Program, Problem> {
    let path = search(name)?;
    let executed = executed_file(&path);
    if let Some(how) = privileges(&executed) {
        return Err(Problem::Privileged { path: executed, how });
    }
    let target = match std::env::var_os("LD_PRELOAD") {
        Some(list) if target::names_sanitizer(&list) => Target::Sanitized,
        _ => target::look(&executed),
    };
    let loads = target.refuses().is_none();
    let mut warning = target.refuses().map(|how| {
        format!(
            "{} {how}: it runs unrecorded, and so do the programs that it starts",
            executed.display()
        )
    });
    let is_static = |file: elf::Object| file.kind == Kind::Static && !file.has_liblull();
    if target == Target::Static && elf::read(&executed).is_ok_and(is_static) {
        warning = Some(format!(
            "{} is statically linked without liblull.a: it cannot be recorded, only dynamically \
             linked programs that it starts",
            executed.display()
        ));
    }
    Ok(Program { path, loads, warning })
}

pub(super) fn search(name: &OsStr) -> Result<PathBuf, Problem> {
    let not_found = || Problem::NotFound(name.to_string_lossy().into_owned());
    if name.is_empty() {
        return Err(not_found());
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match check(&path) {
            Ok(()) => Ok(path),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Err(not_found()),
            Err(error) => Err(Problem::NotExecutable(path, error)),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut refused = None;
    for folder in std::env::split_paths(&folders) {
        let path =
            if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }.join(name);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.raw_os_error() == Some(libc::EACCES) && path.exists() => {
                refused = refused.or(Some(Problem::NotExecutable(path, error)));
            }
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(not_found))
}

/// Whether a path is a file that we may execute.
fn check(path: &Path) -> std::io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(std::io::Error::from_raw_os_error(libc::EISDIR));
    }
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is NUL-terminated.
    match unsafe { libc::access(c_path.as_ptr(), libc::X_OK) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The file whose privileges count: for a script, its interpreter.
pub(super) fn executed_file(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // Bound: the kernel follows four interpreters.
    for _ in 0..4 {
        match elf::read(&path).map(|object| object.kind) {
            Ok(Kind::Script { interpreter }) if Path::new(&interpreter).is_file() => {
                path = interpreter.into();
            }
            _ => break,
        }
    }
    path
}

/// How executing a file changes privileges, if it does.
pub(super) fn privileges(path: &Path) -> Option<&'static str> {
    let found = std::fs::metadata(path).ok()?;
    // SAFETY: no preconditions.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    if found.mode() & libc::S_ISUID != 0 && found.uid() != user {
        return Some("is setuid to another user");
    }
    let group_executable = found.mode() & 0o10 != 0;
    if found.mode() & libc::S_ISGID != 0 && group_executable && found.gid() != group {
        return Some("is setgid to another group");
    }
    let c_path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let name = c"security.capability";
    // SAFETY: both texts are NUL-terminated; size 0 only asks for the size.
    let size = unsafe { libc::getxattr(c_path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
    (size > 0 && user != 0).then_some("has file capabilities")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_in_path_and_its_absence_is_127() {
        assert!(find(OsStr::new("sh")).unwrap().path.is_absolute());
        for name in ["no-such-program-here", "./no-such-program", ""] {
            assert_eq!(find(OsStr::new(name)).unwrap_err().status(), 127, "{name}");
        }
    }

    #[test]
    fn of_what_the_dynamic_linker_starts_nothing_is_foretold() {
        let Kind::Dynamic { interpreter } = elf::read(Path::new("/bin/sh")).unwrap().kind else {
            panic!("/bin/sh is linked dynamically");
        };
        let linker = find(OsStr::new(&interpreter)).unwrap();
        assert!(linker.loads);
        assert_eq!(linker.warning, None);
    }

    #[test]
    fn directory_and_plain_file_are_126() {
        assert_eq!(find(OsStr::new("/")).unwrap_err().status(), 126);
        assert_eq!(find(OsStr::new("/etc/passwd")).unwrap_err().status(), 126);
    }
}
