// SPDX-License-Identifier: MIT
//! What an executable file is, as far as preloading liblull goes: `user/interpose/target.h`.
//!
//! Place in the flow: `record` asks before it starts a program; liblull, before its descendants
//! execute one.

use std::ffi::{c_char, c_int, c_ulong, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

extern "C" {
    fn lull_target_open(directory: c_int, path: *const c_char) -> c_int;
    fn lull_target_look(file: c_int, is_kept: c_int) -> c_int;
    fn lull_target_is_sanitizer(path: *const c_char, bytes: c_ulong) -> c_int;
}

/// `enum lull_target`: of a file, or of the process that executes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Loads,
    Unknown,
    Static,
    Privileged,
    OtherMachine,
    OtherLibc,
    Sanitized,
    Seccomp,
    Unreadable,
    Declined,
}

impl Target {
    pub fn from_number(number: c_int) -> Self {
        match number {
            0 => Self::Loads,
            2 => Self::Static,
            3 => Self::Privileged,
            4 => Self::OtherMachine,
            5 => Self::OtherLibc,
            6 => Self::Sanitized,
            7 => Self::Seccomp,
            8 => Self::Unreadable,
            9 => Self::Declined,
            _ => Self::Unknown,
        }
    }

    /// Why liblull is not preloaded into such a program, if it is not.
    pub fn refuses(self) -> Option<&'static str> {
        match self {
            Self::OtherMachine => Some("is for another machine or word size"),
            Self::OtherLibc => Some("uses another C library than glibc"),
            Self::Sanitized => Some("runs with a sanitizer, whose runtime goes before liblull"),
            _ => None,
        }
    }

    /// Why a process was not recorded of which liblull found this when it was started.
    pub fn prevents(self) -> Option<&'static str> {
        match self {
            Self::Loads | Self::Unknown => None,
            Self::Static => Some("is statically linked"),
            Self::Privileged => {
                Some("gains privileges, and the dynamic linker preloads nothing into it")
            }
            Self::Seccomp => Some("runs under a seccomp filter, where liblull must not start"),
            Self::Unreadable => {
                Some("cannot read liblull: its user may not, or its root directory has none")
            }
            Self::Declined => Some("was started with LULL_SESSION empty or unset"),
            _ => self.refuses(),
        }
    }
}

/// Looks at a file; for a script, at its interpreter.
pub fn look(path: &Path) -> Target {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return Target::Unknown };
    // SAFETY: the path is NUL-terminated; the descriptor is new and given away.
    Target::from_number(unsafe {
        lull_target_look(lull_target_open(libc::AT_FDCWD, path.as_ptr()), 0)
    })
}

/// Whether a list of libraries, as in LD_PRELOAD, names the runtime of a sanitizer.
pub fn names_sanitizer(list: &OsStr) -> bool {
    let mut names = list.as_bytes().split(|byte| matches!(byte, b':' | b' '));
    // SAFETY: the bytes are readable for the length given.
    names.any(|name| unsafe {
        lull_target_is_sanitizer(name.as_ptr().cast(), name.len() as u64) != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_binary_loads_and_a_text_is_unknown() {
        assert_eq!(look(Path::new("/bin/sh")), Target::Loads);
        assert_eq!(look(Path::new("/etc/passwd")), Target::Unknown);
        assert_eq!(look(Path::new("/no/such/program")), Target::Unknown);
    }

    #[test]
    fn runtimes_of_sanitizers_are_recognised_in_lists() {
        let found = |list: &str| names_sanitizer(OsStr::new(list));
        assert!(found("libasan.so.8") && found("/a/b.so:/usr/lib/libtsan.so.2 c.so"));
        assert!(!found("") && !found("/libasan.so.8/other.so:libas.so"));
    }

    /// A file is hostile input: no damage may crash or hang the look.
    #[test]
    fn damaged_programs_are_looked_at_without_harm() {
        let folder = std::env::temp_dir().join(format!("lull-target-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let whole = std::fs::read("/bin/sh").unwrap();
        let path = folder.join("damaged");
        for at in 0..1024 {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            std::fs::write(&path, &damaged).unwrap();
            look(&path);
        }
        for length in (0..4096).step_by(61) {
            std::fs::write(&path, &whole[..length]).unwrap();
            look(&path);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
