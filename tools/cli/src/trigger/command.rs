// SPDX-License-Identifier: MIT
//! Commands that a trigger runs.
//!
//! Place in the flow: `record::fire` starts one when a condition is met. The recorder never waits
//! for a command: it looks now and then whether one has ended.

use super::Met;
use crate::record::launch::{self, Inherited};
use crate::record::promptness;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Commands that run at the same time.
const RUNNING_MAX: usize = 8;

/// Those that run.
pub struct Commands {
    running: Vec<Child>,
    /// Where the recording was begun; a recorder in the background stays in no folder.
    folder: PathBuf,
}

/// What a command is told of the session.
pub struct Told<'a> {
    pub session: &'a str,
    pub condition: &'a str,
    /// The trace, or the snapshot that was just written.
    pub trace: &'a Path,
}

impl Commands {
    pub fn new(folder: &Path) -> Self {
        Self { running: Vec::new(), folder: folder.to_path_buf() }
    }

    /// Starts one, with the signals and the priority that the recorder was started with.
    pub fn start(
        &mut self,
        line: &str,
        met: &Met,
        told: &Told,
        inherited: Inherited,
    ) -> Result<(), String> {
        self.reap();
        if self.running.len() >= RUNNING_MAX {
            return Err(format!("{RUNNING_MAX} commands of triggers run already"));
        }
        let error = |error: io::Error| format!("{line}: {error}");
        // What it prints is for who reads the recorder's messages, and is no output of the program.
        let out = io::stderr().as_fd().try_clone_to_owned().map_err(error)?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(out).process_group(0);
        command.current_dir(&self.folder);
        // SAFETY: the closure makes system calls only, and what it uses is its own.
        unsafe {
            command.pre_exec(move || {
                promptness::restore();
                match launch::restore(&inherited) {
                    true => Ok(()),
                    false => Err(io::Error::last_os_error()),
                }
            })
        };
        let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let moment = met.moment.as_ref();
        command
            .env("LULL_TRIGGER", told.condition)
            .env("LULL_SESSION_NAME", told.session)
            .env("LULL_TRACE", told.trace)
            .env("LULL_FIRINGS", met.count.to_string())
            .env("LULL_EVENT", moment.map_or("", |moment| &moment.event))
            .env("LULL_FIELDS", moment.map_or("", |moment| &moment.fields))
            .env("LULL_TIME_NS", number(moment.and_then(|m| u64::try_from(m.at_ns).ok())))
            .env("LULL_DURATION_NS", number(moment.and_then(|moment| moment.took_ns)))
            .env("LULL_UID", number(moment.and_then(|moment| moment.user).map(u64::from)))
            .env("LULL_PID", number(moment.and_then(|moment| moment.pid)))
            .env("LULL_TID", number(moment.and_then(|moment| moment.tid)));
        self.running.push(command.spawn().map_err(error)?);
        Ok(())
    }

    /// Forgets those that have ended.
    pub fn reap(&mut self) {
        // An error: something else has waited for it.
        self.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}
