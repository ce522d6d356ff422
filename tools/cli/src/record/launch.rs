// SPDX-License-Identifier: MIT
//! Starting the traced program as if there were no recorder: its signals, its descriptors and its
//! environment are what they would be without one, but for two variables.

use super::plan::Plan;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

/// The parts of the recorder's signal state that the program must not inherit.
#[derive(Clone, Copy)]
pub struct Inherited {
    pub mask: libc::sigset_t,
    pub child_ignored: bool,
    pub file_size_ignored: bool,
}

/// Starts the program. The error is that of the execution.
pub fn start(
    plan: &Plan,
    arguments: &[OsString],
    session: &Path,
    inherited: Inherited,
) -> io::Result<Child> {
    let mut command = Command::new(&plan.program.path);
    command.arg0(&arguments[0]).args(&arguments[1..]);
    if plan.program.loads {
        command.env("LD_PRELOAD", preload(plan, std::env::var_os("LD_PRELOAD").as_deref()));
    }
    let variable = session::abi::SESSION_VARIABLE;
    command.env(variable, sessions(session, std::env::var_os(variable).as_deref()));
    // SAFETY: only system calls that are async-signal-safe run between fork and exec.
    unsafe {
        command.pre_exec(move || restore(inherited));
    }
    command.spawn()
}

/// Gives the new process the signal state that we were started with.
fn restore(inherited: Inherited) -> io::Result<()> {
    let ignore = |signal, ignored: bool| {
        let action = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: sets a disposition of this process; no handler is involved.
        unsafe { libc::signal(signal, action) };
    };
    ignore(libc::SIGCHLD, inherited.child_ignored);
    ignore(libc::SIGXFSZ, inherited.file_size_ignored);
    // SAFETY: the mask was filled in by sigprocmask.
    match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &inherited.mask, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn preload(plan: &Plan, existing: Option<&OsStr>) -> OsString {
    let mut value = plan.libraries.lull.clone().into_os_string();
    if let Some(allocation) = plan.libraries.allocation.as_ref().filter(|_| plan.preload_allocation)
    {
        value.push(":");
        value.push(allocation);
    }
    append(value, existing)
}

/// Sessions of a recorder that records this recorder go on: the new one comes after them.
fn sessions(session: &Path, existing: Option<&OsStr>) -> OsString {
    match existing.filter(|existing| !existing.is_empty()) {
        Some(existing) => append(existing.to_os_string(), Some(session.as_os_str())),
        None => session.as_os_str().to_os_string(),
    }
}

fn append(mut value: OsString, more: Option<&OsStr>) -> OsString {
    if let Some(more) = more.filter(|more| !more.is_empty()) {
        value.push(":");
        value.push(more);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_joins_those_of_recorders_around_us() {
        let session = Path::new("/dev/shm/b");
        assert_eq!(sessions(session, None), "/dev/shm/b");
        assert_eq!(sessions(session, Some(OsStr::new(""))), "/dev/shm/b");
        assert_eq!(sessions(session, Some(OsStr::new("/dev/shm/a"))), "/dev/shm/a:/dev/shm/b");
    }

    #[test]
    fn libraries_the_user_preloads_stay_after_ours() {
        assert_eq!(append("ours".into(), Some(OsStr::new("theirs"))), "ours:theirs");
        assert_eq!(append("ours".into(), Some(OsStr::new(""))), "ours");
    }
}
