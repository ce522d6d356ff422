// SPDX-License-Identifier: MIT
//! A recorder in the background: a process of its own, without the terminal, that tells the process
//! which started it once that it is ready, or why it is not.
//!
//! Place in the flow: `lull start` splits here before anything is made. The recorder's side goes on
//! to `supervise`; the starter's waits and tells what it is told.

use anyhow::{bail, Context};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Where a recorder without a terminal writes, in its session's directory.
pub const LOG: &str = "log";
/// What a recorder tells is shorter.
const TOLD_BYTES_MAX: u64 = 64 << 10;

/// A session that is ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ready {
    pub name: String,
    pub pid: u32,
    pub output: String,
    pub directory: String,
}

#[derive(Serialize, Deserialize)]
enum Told {
    Ready(Ready),
    Failed(String),
}

/// The recorder's way to tell its starter.
pub struct Starter(File);

pub enum Side {
    /// The process that started the recorder, with what this told.
    Starter(Ready),
    Recorder(Starter),
}

/// Splits this process in two. It must be called while there is one thread.
pub fn split() -> anyhow::Result<Side> {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for two descriptors, which are ours alone afterwards.
    let [reader, writer] = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error()).context("making a pipe");
        }
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    // SAFETY: there is one thread, so the child may do what this process may.
    match unsafe { libc::fork() } {
        0 => {
            drop(reader);
            Ok(Side::Recorder(Starter(leave(writer).context("leaving the terminal")?)))
        }
        pid if pid < 0 => Err(io::Error::last_os_error()).context("starting the recorder"),
        pid => {
            drop(writer);
            Ok(Side::Starter(hear(File::from(reader), pid)?))
        }
    }
}

/// Leaves the terminal's session, and all descriptors but standard error and the pipe.
fn leave(writer: OwnedFd) -> io::Result<File> {
    const FIRST: i32 = 3;
    // SAFETY: no memory is passed but numbers; the descriptors that are closed are nobody's here:
    // this process has opened none but the pipe, which is moved below the others first.
    let file = unsafe {
        libc::setsid();
        if writer.as_raw_fd() == FIRST {
            std::mem::forget(writer);
        } else if libc::dup3(writer.as_raw_fd(), FIRST, libc::O_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        } else {
            drop(writer);
        }
        libc::syscall(libc::SYS_close_range, FIRST + 1, u32::MAX, 0);
        File::from_raw_fd(FIRST)
    };
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    become_standard(&null, &[0, 1])?;
    Ok(file)
}

fn become_standard(file: &File, numbers: &[i32]) -> io::Result<()> {
    for number in numbers {
        // SAFETY: both are descriptors; standard ones are no object's of this process.
        if unsafe { libc::dup2(file.as_raw_fd(), *number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn open_log(path: &Path) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let log = options.append(true).create_new(true).mode(0o600).open(path);
    let log = log.with_context(|| path.display().to_string())?;
    become_standard(&log, &[1, 2]).context("opening the log")
}

/// Waits for what the recorder tells.
fn hear(mut pipe: File, pid: libc::pid_t) -> anyhow::Result<Ready> {
    let mut text = Vec::new();
    (&mut pipe).take(TOLD_BYTES_MAX).read_to_end(&mut text).context("hearing of the recorder")?;
    match serde_json::from_slice(&text) {
        Ok(Told::Ready(ready)) => Ok(ready),
        Ok(Told::Failed(why)) => bail!("{why}"),
        Err(_) => {
            let mut status = 0;
            // SAFETY: the status is writable; the child is ours.
            unsafe { libc::waitpid(pid, &mut status, 0) };
            bail!("the recorder ended before it was ready (its status is {status:#x})")
        }
    }
}

impl Starter {
    /// Tells that the session is ready; from now on this process writes to the session's log.
    pub fn ready(mut self, ready: &Ready, directory: &Path) -> anyhow::Result<()> {
        let opened = open_log(&directory.join(LOG));
        self.tell(&match &opened {
            Ok(()) => Told::Ready(ready.clone()),
            Err(error) => Told::Failed(crate::told(error)),
        });
        // So that no file system is kept from being unmounted.
        let _ = std::env::set_current_dir("/");
        opened
    }

    /// Tells why there is no session.
    pub fn failed(mut self, error: &anyhow::Error) {
        self.tell(&Told::Failed(crate::told(error)));
    }

    fn tell(&mut self, told: &Told) {
        // The starter may be gone, and the session goes on without it.
        let _ = self.0.write_all(&serde_json::to_vec(told).unwrap_or_default());
    }
}
