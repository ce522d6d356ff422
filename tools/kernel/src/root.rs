// SPDX-License-Identifier: MIT
//! Where tracefs is, what it offers, and what killed recorders left in it.
//!
//! Place in the flow: found before anything is made. Only our own instances' files are written to;
//! what the machine's other users of tracefs have set stays as it is.

use crate::format::Format;
use crate::instance::clock_name;
use crate::{text, Error, Result};
use session::clock::ClockKind;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const INSTANCES: &str = "instances";
/// The first part of an instance's name, if it is a recorder's.
const PREFIX: &str = "lull-";

/// A mounted tracefs that this process may make instances in.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
}

/// An instance of a recorder that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: PathBuf,
    /// The number that the recorder had.
    pub pid: u32,
}

impl Root {
    pub fn find() -> Result<Self> {
        let mut refused = None;
        for place in PLACES {
            let path = Path::new(place);
            match fs::metadata(path.join(INSTANCES)) {
                Ok(_) if is_writable(&path.join(INSTANCES)) => {
                    return Ok(Self { path: path.into() })
                }
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {}
                _ => refused = refused.or(Some(Error::NotPermitted { path: path.into() })),
            }
        }
        Err(refused.unwrap_or(Error::NotMounted))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all events, as `GROUP:NAME`, that can be enabled.
    pub fn events(&self) -> Result<Vec<String>> {
        let text = text(&self.path.join("available_events"))?;
        let mut names: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
        names.retain(|name| name.contains(':'));
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// The trace clock for a recording that would have this one if only programs were recorded: one
    /// that the kernel has, too.
    pub fn clock(&self, wanted: ClockKind) -> ClockKind {
        let offered = text(&self.path.join("trace_clock")).unwrap_or_default();
        let mut names = offered.split_whitespace().map(|name| name.trim_matches(['[', ']']));
        match wanted {
            ClockKind::Tsc if names.any(|name| name == clock_name(wanted)) => wanted,
            _ => ClockKind::Monotonic,
        }
    }

    /// What the kernel says of an event's bytes.
    pub fn format(&self, name: &str) -> Result<Format> {
        let path = self.path.join("events").join(name.replacen(':', "/", 1)).join("format");
        let text = text(&path)?;
        Format::parse(&text).map_err(|why| Error::Format { path, why })
    }

    /// Where the instance of this process is to be; `token` tells it from others of the process.
    pub(crate) fn instance(&self, token: &str) -> PathBuf {
        let pid = std::process::id();
        let began = began(pid).unwrap_or(0);
        self.path.join(INSTANCES).join(format!("{PREFIX}{pid}-{began}-{token}"))
    }

    /// Instances of recorders that do not live any more.
    pub fn left_behind(&self) -> Vec<Left> {
        let entries = fs::read_dir(self.path.join(INSTANCES)).into_iter().flatten().flatten();
        let left = entries.filter_map(|entry| {
            let (pid, begin) = recorder_of(entry.file_name().to_str()?)?;
            (began(pid) != Some(begin)).then(|| Left { path: entry.path(), pid })
        });
        left.collect()
    }
}

impl Left {
    /// Removes it. The kernel refuses while a process has a file in it open, which a recorder has
    /// as long as it lives: so no recorder loses its instance, whatever its number seems to be.
    pub fn remove(&self) -> Result<()> {
        // What costs the machine time goes at once, also if the rest cannot.
        let _ = fs::write(self.path.join("tracing_on"), "0");
        fs::remove_dir(&self.path).map_err(Error::io("remove", &self.path))
    }
}

/// Number and time of beginning of the recorder that an instance's name tells.
fn recorder_of(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let (pid, began) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (parts.next().is_some() && parts.next().is_none()).then_some((pid, began))
}

/// When a process began, in ticks since the machine did; None if it does not live.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The state follows the name, which is in parentheses and may hold any character; the time is
    // field 22 of proc(5), and the state is field 3.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn is_writable(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is NUL-terminated.
    unsafe { libc::access(path.as_ptr(), libc::W_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_an_instance_tells_its_recorder_and_no_other_name_does() {
        let root = Root { path: "/t".into() };
        let path = root.instance("abc");
        let name = path.file_name().unwrap().to_str().unwrap();
        let me = std::process::id();
        assert_eq!(recorder_of(name), Some((me, began(me).unwrap())));
        for other in ["lull-1-2", "lull-1-2-a-b", "lull-x-2-a", "lull-1-x-a", "other-1-2-a", ""] {
            assert_eq!(recorder_of(other), None, "{other}");
        }
    }

    #[test]
    fn clock_is_the_programs_where_the_kernel_has_it_and_else_one_that_both_have() {
        let path = std::env::temp_dir().join(format!("lull-root-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let root = Root { path: path.clone() };
        let with = |offered: &str, wanted| {
            fs::write(path.join("trace_clock"), offered).unwrap();
            root.clock(wanted)
        };
        let (tsc, mono) = (ClockKind::Tsc, ClockKind::Monotonic);
        assert_eq!(with("[local] global mono x86-tsc\n", tsc), tsc);
        assert_eq!(with("local global mono [x86-tsc]\n", tsc), tsc);
        assert_eq!(with("[local] global mono\n", tsc), mono);
        assert_eq!(with("[local] x86-tsc mono\n", mono), mono);
        assert_eq!(with("[local] mono\n", ClockKind::Cntvct), mono);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn process_that_has_ended_or_was_never_there_has_no_beginning() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        assert!(began(child.id()).is_some());
        child.kill().unwrap();
        while began(child.id()).is_some() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(began(child.id()), None);
    }
}
