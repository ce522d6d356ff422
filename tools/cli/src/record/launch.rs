// SPDX-License-Identifier: MIT
//! Starting the traced program as if there were no recorder: its signals, its descriptors and its
//! environment are what they would be without one, but for two variables.
//!
//! Place in the flow: `supervise` starts the program when the session is there, and waits for its
//! end. Until it executes the program, the new process uses the recorder's memory while the
//! recorder waits (as that of vfork(2) does): to copy the page tables would take longer than all
//! that the new process does.

use super::plan::Loaded;
use super::program::Program;
use super::runtime::{close_standard, restore_pipe_signal};
use std::ffi::{c_char, c_int, c_void, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

/// Stack of the new process, beside what execvpe(3) may need for the arguments.
const STACK_BYTES: usize = 64 << 10;
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// The parts of the recorder's signal state that the program must not inherit.
#[derive(Clone, Copy)]
pub struct Inherited {
    pub mask: libc::sigset_t,
    pub child_ignored: bool,
    pub file_size_ignored: bool,
}

/// The program's process.
pub struct Child {
    pid: libc::pid_t,
}

impl Child {
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// How it ended, if it did; to be asked until then only.
    pub fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        if ended(libc::P_PID, self.id())?.is_none() {
            return Ok(None);
        }
        let mut status = 0;
        // SAFETY: the status is writable.
        match unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } {
            0 => Ok(None),
            found if found < 0 => Err(io::Error::last_os_error()),
            _ => Ok(Some(ExitStatus::from_raw(status))),
        }
    }
}

/// Makes orphans of the program our children.
pub fn adopt_descendants() {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Waits for descendants that became ours. Return: whether any is left.
pub fn reap_descendants() -> bool {
    loop {
        match ended(libc::P_ALL, 0) {
            // SAFETY: no memory is passed.
            Ok(Some(pid)) => unsafe {
                libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG);
            },
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// A child that has ended, of these. A child that a thread of ours stops, to have it follow a
/// change, is told of like one that has ended; its stops are left for that thread.
fn ended(kind: libc::idtype_t, id: libc::id_t) -> io::Result<Option<libc::pid_t>> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: an all-zero structure is valid, and is written to for its size.
    let (code, pid) = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(kind, id, &mut found, options) != 0 {
            return Err(io::Error::last_os_error());
        }
        (found.si_code, found.si_pid())
    };
    let has_ended = matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    Ok((pid != 0 && has_ended).then_some(pid))
}

/// What the new process needs, made before it starts, and the error that it answers.
struct Execution {
    path: CString,
    arguments: Texts,
    environment: Texts,
    inherited: Inherited,
    error: c_int,
}

/// Texts as execve(2) wants them.
struct Texts {
    pointers: Vec<*const c_char>,
    _owned: Vec<CString>,
}

impl Texts {
    fn new(texts: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let owned = texts
            .map(|text| CString::new(text.into_vec()))
            .collect::<Result<Vec<CString>, _>>()
            .map_err(io::Error::from)?;
        let ends = std::iter::once(std::ptr::null());
        let pointers = owned.iter().map(|text| text.as_ptr()).chain(ends).collect();
        Ok(Self { pointers, _owned: owned })
    }
}

/// Starts the program. The error is that of the execution.
pub fn start(
    program: &Program,
    loaded: &Loaded,
    arguments: &[OsString],
    directories: &OsStr,
    inherited: Inherited,
) -> io::Result<Child> {
    let preload = loaded.preload();
    let ours = variables(directories, if program.loads { &preload } else { &[] });
    run(Execution {
        path: CString::new(program.path.as_os_str().as_bytes())?,
        arguments: Texts::new(arguments.iter().cloned())?,
        environment: Texts::new(environment(ours))?,
        inherited,
        error: 0,
    })
}

/// The variables by which a program that we start takes part in a session, beside those that we
/// take part in. `directories`: those of the sessions, with colons between them. `preload`: nothing
/// for a program that cannot load it.
pub fn variables(directories: &OsStr, preload: &[&Path]) -> Vec<(&'static str, OsString)> {
    let variable = session::abi::SESSION_VARIABLE;
    let mut ours = vec![(variable, sessions(directories, std::env::var_os(variable).as_deref()))];
    if let Some((first, others)) = preload.split_first() {
        let mut value = first.as_os_str().to_os_string();
        for other in others {
            value = append(value, Some(other.as_os_str()));
        }
        let existing = std::env::var_os(PRELOAD_VARIABLE);
        ours.push((PRELOAD_VARIABLE, append(value, existing.as_deref())));
    }
    ours
}

/// Our own environment, with these variables.
fn environment(ours: Vec<(&'static str, OsString)>) -> impl Iterator<Item = OsString> {
    let names: Vec<&str> = ours.iter().map(|(name, _)| *name).collect();
    let others = std::env::vars_os().filter(move |(name, _)| !names.iter().any(|our| name == our));
    let ours = ours.into_iter().map(|(name, value)| (OsString::from(name), value));
    others.chain(ours).map(|(mut text, value)| {
        text.push("=");
        text.push(value);
        text
    })
}

fn run(mut execution: Execution) -> io::Result<Child> {
    let pointers = execution.arguments.pointers.len() + 2;
    let bytes = STACK_BYTES + pointers * std::mem::size_of::<*const c_char>();
    let mut stack = Vec::<u128>::with_capacity(bytes.div_ceil(std::mem::size_of::<u128>()));
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack and what the new process reads and writes stay where they are until it has
    // executed the program or ended, for which the call waits. It begins at the stack's end, which
    // is aligned as a u128 is.
    let pid = unsafe {
        let end = stack.as_mut_ptr().add(stack.capacity()).cast();
        libc::clone(execute, end, flags, (&raw mut execution).cast())
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above, it was written before the call returned; the compiler does not know.
    match unsafe { (&raw const execution.error).read_volatile() } {
        0 => Ok(Child { pid }),
        error => {
            // SAFETY: the process is ours and has ended.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// The new process, up to the program. It calls nothing but what vfork(2)'s child may.
extern "C" fn execute(execution: *mut c_void) -> c_int {
    let execution: *mut Execution = execution.cast();
    // SAFETY: run() has made what this points to, and waits.
    unsafe {
        close_standard();
        if restore(&(*execution).inherited) {
            libc::execvpe(
                (*execution).path.as_ptr(),
                (*execution).arguments.pointers.as_ptr(),
                (*execution).environment.pointers.as_ptr(),
            );
        }
        (*execution).error = *libc::__errno_location();
        libc::_exit(super::NOT_EXECUTABLE)
    }
}

/// Gives a new process the signal state that we were started with. It makes system calls only.
pub fn restore(inherited: &Inherited) -> bool {
    let ignore = |signal, ignored: bool| {
        let action = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: sets a disposition of this process; no handler is involved.
        unsafe { libc::signal(signal, action) };
    };
    restore_pipe_signal();
    ignore(libc::SIGCHLD, inherited.child_ignored);
    ignore(libc::SIGXFSZ, inherited.file_size_ignored);
    // SAFETY: the mask was filled in by sigprocmask.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &inherited.mask, std::ptr::null_mut()) == 0 }
}

/// Sessions of a recorder that records this recorder go on: the new ones come after them, but for
/// those that are among them.
fn sessions(directories: &OsStr, existing: Option<&OsStr>) -> OsString {
    let Some(existing) = existing.filter(|existing| !existing.is_empty()) else {
        return directories.to_os_string();
    };
    let known: Vec<&[u8]> = existing.as_bytes().split(|byte| *byte == b':').collect();
    let each = directories.as_bytes().split(|byte| *byte == b':');
    let new = each.filter(|directory| !known.contains(directory)).map(OsStr::from_bytes);
    new.fold(existing.to_os_string(), |joined, directory| append(joined, Some(directory)))
}

/// The text with more behind a colon.
pub fn append(mut value: OsString, more: Option<&OsStr>) -> OsString {
    if let Some(more) = more.filter(|more| !more.is_empty()) {
        value.push(":");
        value.push(more);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(path: &str, arguments: &[&str]) -> Execution {
        // SAFETY: sigemptyset initialises the set before it is read.
        let mask = unsafe {
            let mut mask = std::mem::zeroed();
            libc::sigemptyset(&mut mask);
            mask
        };
        let texts = |texts: &[&str]| Texts::new(texts.iter().map(OsString::from)).unwrap();
        Execution {
            path: CString::new(path).unwrap(),
            arguments: texts(arguments),
            environment: texts(&["NUMBER=7"]),
            inherited: Inherited { mask, child_ignored: false, file_size_ignored: false },
            error: 0,
        }
    }

    fn end(child: &Child) -> ExitStatus {
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn program_gets_arguments_and_environment_and_its_end_is_told() {
        let child = run(execution("/bin/sh", &["sh", "-c", "exit $((NUMBER + $1))", "0", "4"]));
        assert_eq!(end(&child.unwrap()).code(), Some(11));
        let child = run(execution("/bin/sh", &["sh", "-c", "kill -KILL $$"]));
        assert_eq!(end(&child.unwrap()).signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn more_arguments_than_the_stack_would_hold_arrive_also_in_a_script_without_interpreter() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("lull-launch-{}", std::process::id()));
        std::fs::write(&path, "exit $(($# / 1000))").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let arguments = vec!["x"; 100_001];
        let child = run(execution(path.to_str().unwrap(), &arguments)).unwrap();
        assert_eq!(end(&child).code(), Some(100));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn error_of_the_execution_is_told_and_no_process_is_left() {
        let error = run(execution("/etc/passwd", &["x"])).map(|_| ()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EACCES));
        let error = run(execution("/nowhere", &["x"])).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn session_joins_those_of_recorders_around_us() {
        let session = OsStr::new("/dev/shm/b");
        assert_eq!(sessions(session, None), "/dev/shm/b");
        assert_eq!(sessions(session, Some(OsStr::new(""))), "/dev/shm/b");
        assert_eq!(sessions(session, Some(OsStr::new("/dev/shm/a"))), "/dev/shm/a:/dev/shm/b");
    }

    #[test]
    fn session_of_which_we_are_a_member_is_named_once() {
        let both = OsStr::new("/dev/shm/b:/dev/shm/c");
        for (existing, expected) in [
            ("/dev/shm/b:/dev/shm/c", "/dev/shm/b:/dev/shm/c"),
            ("/dev/shm/a:/dev/shm/b", "/dev/shm/a:/dev/shm/b:/dev/shm/c"),
            ("/dev/shm/bb", "/dev/shm/bb:/dev/shm/b:/dev/shm/c"),
        ] {
            assert_eq!(sessions(both, Some(OsStr::new(existing))), expected);
        }
    }

    #[test]
    fn libraries_the_user_preloads_stay_after_ours() {
        assert_eq!(append("ours".into(), Some(OsStr::new("theirs"))), "ours:theirs");
        assert_eq!(append("ours".into(), Some(OsStr::new(""))), "ours");
    }
}
