// SPDX-License-Identifier: MIT
//! An instance of tracefs: buffers, clock and enabled events of our own, which nobody else's are
//! mixed with.
//!
//! Place in the flow: `tracing` makes one, sets it up and enables events in it. It is removed when
//! this is dropped. Where this process is killed, the next recorder finds and removes it (`root`).

use crate::root::Root;
use crate::{text, Error, Result};
use session::clock::ClockKind;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often removal is tried while the kernel still uses the instance, and how long to wait then.
const REMOVALS_MAX: u32 = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    is_removed: bool,
}

impl Instance {
    /// Makes an instance, in which nothing is enabled and nothing recorded.
    pub fn create(root: &Root, token: &str) -> Result<Self> {
        let path = root.instance(token);
        fs::create_dir(&path).map_err(Error::io("make", &path))?;
        let instance = Self { path, is_removed: false };
        instance.record(false)?;
        Ok(instance)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn read(&self, file: &str) -> Result<String> {
        text(&self.path.join(file))
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.path.join(file);
        // Not fs::write: files are there, and none is to be made.
        let write = || {
            let mut file = fs::OpenOptions::new().write(true).truncate(true).open(&path)?;
            io::Write::write_all(&mut file, text.as_bytes())
        };
        write().map_err(Error::io("write", &path))
    }

    /// Whether events are recorded.
    pub fn record(&self, is_on: bool) -> Result<()> {
        self.write("tracing_on", if is_on { "1" } else { "0" })
    }

    /// Makes time stamps those of the trace's clock.
    pub fn set_clock(&self, clock: ClockKind) -> Result<()> {
        let wanted = clock_name(clock);
        let offered = self.read("trace_clock")?;
        let mut names = offered.split_whitespace().map(|name| name.trim_matches(['[', ']']));
        if !names.any(|name| name == wanted) {
            return Err(Error::Clock { wanted, offered: offered.trim().to_string() });
        }
        self.write("trace_clock", wanted)
    }

    /// Events that find no room are dropped and counted; each CPU has a buffer of this size.
    pub fn set_buffers(&self, bytes: u64) -> Result<()> {
        self.write("options/overwrite", "0")?;
        self.write("buffer_size_kb", &bytes.div_ceil(1024).to_string())
    }

    /// The size of a page of the buffers, where a file says so.
    pub fn page_bytes(&self) -> Option<usize> {
        let kibibytes: usize = self.read("buffer_subbuf_size_kb").ok()?.trim().parse().ok()?;
        (1..=1024).contains(&kibibytes).then_some(kibibytes << 10)
    }

    /// Sets an option that not every kernel has, or a list that one without it does not need.
    pub fn try_write(&self, file: &str, text: &str) -> bool {
        self.write(file, text).is_ok()
    }

    /// Enables events, by whole groups where all of a group are wanted. Return: those that could
    /// not be enabled, each with a reason.
    pub fn enable(&self, all: &[String], wanted: &[String]) -> Vec<(String, String)> {
        let mut groups: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for name in wanted {
            groups.entry(group(name)).or_default().push(name);
        }
        let mut failed = Vec::new();
        for (group, names) in groups {
            let is_whole =
                all.iter().filter(|name| self::group(name) == group).count() == names.len();
            let file = format!("events/{group}/enable");
            let is_done = || self.read(&file).is_ok_and(|state| state.trim() == "1");
            if is_whole && self.write(&file, "1").is_ok() && is_done() {
                continue;
            }
            for name in names {
                let file = format!("events/{}/enable", name.replacen(':', "/", 1));
                if let Err(error) = self.write(&file, "1") {
                    failed.push((name.clone(), error.to_string()));
                }
            }
        }
        failed
    }

    /// Disables events that were enabled.
    pub fn disable(&self, names: &[String]) -> Result<()> {
        let file = |name: &String| format!("events/{}/enable", name.replacen(':', "/", 1));
        names.iter().try_for_each(|name| self.write(&file(name), "0"))
    }

    /// Removes the instance with all that it holds.
    pub fn remove(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        for file in ["tracing_on", "events/enable", "options/record-tgid"] {
            self.try_write(file, "0");
        }
        for _ in 0..REMOVALS_MAX {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(REMOVAL_PAUSE);
                }
                other => return other.map_err(Error::io("remove", &self.path)),
            }
        }
        let path = self.path.clone();
        Err(Error::Io { doing: "remove", path, source: io::ErrorKind::ResourceBusy.into() })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn group(name: &str) -> &str {
    name.split_once(':').map_or(name, |(group, _)| group)
}

/// What tracefs calls a clock. A counter of another machine than x86 is not among its clocks.
pub(crate) fn clock_name(clock: ClockKind) -> &'static str {
    match clock {
        ClockKind::Tsc => "x86-tsc",
        ClockKind::Cntvct | ClockKind::Monotonic => "mono",
    }
}
