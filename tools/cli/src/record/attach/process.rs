// SPDX-License-Identifier: MIT
//! One process that runs: what it takes to join the session and to leave it.
//!
//! Place in the flow: `attach` asks each of its targets. What a process cannot do is found out
//! before it is touched, as far as that can be.

use super::{name_of, Target};
use session::directory::left_behind;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tracee::{Error, Loader, Namespace, Object, Stopped, Tracee, Visit};

/// How long a process may go on with what it does when it is asked to join or to leave.
pub const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// Sessions of recorders that were killed, which a process is made to leave.
const LEFT_MAX: usize = 64;

const OTHER_VERSION: &str = "it has loaded another version of liblull, which can neither join a \
                             session nor follow a change while it runs; start the program again";

/// Finds a process. Another recorder that visits it just now is its tracer, for a moment.
fn open(pid: u32) -> tracee::Result<Tracee> {
    const VISIT_LIMIT: Duration = Duration::from_millis(500);
    let begun = Instant::now();
    loop {
        match Tracee::open(pid) {
            Err(Error::Traced { .. }) if begun.elapsed() < VISIT_LIMIT => {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

/// A process that has joined.
pub struct Attached {
    pub pid: u32,
    pub name: String,
    /// When it was started, in the kernel's ticks: another may get its number.
    begun: u64,
    /// How long its thread was stopped, at most at a time.
    pub held: Duration,
    /// Entries of its tables of calls that lead to liblull now.
    pub redirected: u64,
    /// It took part already, and is now in what is beside the session, too.
    pub is_further: bool,
}

/// Sessions of recorders that were killed.
fn sessions_left() -> impl Iterator<Item = CString> {
    let paths = left_behind().into_iter().map(|left| left.path);
    paths.filter_map(|path| CString::new(path.as_os_str().as_bytes()).ok()).take(LEFT_MAX)
}

/// Why a process did not join or leave.
pub struct Failure {
    pub why: String,
    /// There is nothing to be done: it has ended, is no program, or is already as it was to be.
    pub is_moot: bool,
    /// It may be another program at the next moment, or is one already.
    is_passing: bool,
}

impl Failure {
    pub fn moot(why: String) -> Self {
        Self { why, is_moot: true, is_passing: false }
    }

    fn lasting(why: String) -> Self {
        Self { why, is_moot: false, is_passing: false }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_moot = matches!(
            error,
            Error::Absent { .. }
                | Error::Ended { .. }
                | Error::Executed { .. }
                | Error::Zombie { .. }
                | Error::KernelThread { .. }
        );
        let is_passing = matches!(error, Error::Executed { .. } | Error::Shared { .. });
        Self { why: error.to_string(), is_moot, is_passing }
    }
}

/// What is found of a process that ends meanwhile may look like any reason.
fn unless_ended<T>(pid: u32, result: Result<T, Failure>) -> Result<T, Failure> {
    result.map_err(|failure| match failure.is_moot || !tracee::has_ended(pid) {
        true => failure,
        false => Error::Ended { pid }.into(),
    })
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        Self::lasting(why.into())
    }
}

impl Attached {
    /// Has a process join, which may go on with what it does for some time. One that executes a
    /// program meanwhile joins as that.
    pub fn join(
        target: &Target,
        library: &Path,
        sessions: &[CString],
        patience: Duration,
    ) -> Result<Self, Failure> {
        let begun = Instant::now();
        loop {
            match Self::try_join(target, library, sessions, patience) {
                Err(failure) if failure.is_passing && begun.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                }
                joined => return unless_ended(target.pid, joined),
            }
        }
    }

    fn try_join(
        target: &Target,
        library: &Path,
        sessions: &[CString],
        patience: Duration,
    ) -> Result<Self, Failure> {
        let tracee = open(target.pid)?;
        let joined = Self::join_opened(&tracee, target, library, sessions, patience);
        joined.map_err(|failure| match tracee.is_current() {
            true => failure,
            false => Error::Executed { pid: target.pid }.into(),
        })
    }

    fn join_opened(
        tracee: &Tracee,
        target: &Target,
        library: &Path,
        sessions: &[CString],
        patience: Duration,
    ) -> Result<Self, Failure> {
        let begun = begun(target.pid).ok_or(Error::Ended { pid: target.pid })?;
        check(tracee, library)?;
        let visit = Visit { patience, ..Visit::default() };
        tracee.load(&visit, library)?;
        let functions = Functions::find(tracee, library)?;
        let loader = Loader::find(tracee, patience)?;
        let left: Vec<CString> = sessions_left().collect();
        let asked = again_while_busy(patience, || {
            tracee.visit_safely(&visit, &loader, |stopped| {
                // Objects may have come and gone while their calls did not lead to liblull.
                stopped.call(functions.scan, &[])?;
                for dead in &left {
                    functions.call(stopped, functions.leave, dead)?;
                }
                let mut joined = 0;
                for session in sessions {
                    joined = functions.call(stopped, functions.join, session)?;
                    if joined < 0 {
                        break;
                    }
                }
                let redirected = if joined < 0 { 0 } else { stopped.call(functions.begin, &[])? };
                Ok((joined, (redirected as i32 as i64, stopped.held())))
            })
        });
        if let Err(Error::Faulted { .. }) = asked {
            // It may have joined, but for some of its objects.
            let _ = leave(target.pid, sessions);
        }
        let (joined, (redirected, held)) = asked?;
        if joined < 0 {
            if sessions.len() > 1 {
                // It may have joined the first of them.
                let _ = leave(target.pid, sessions);
            }
            return Err(join_failure(joined));
        }
        let Ok(calls) = u64::try_from(redirected) else {
            let _ = leave(target.pid, sessions);
            let error = std::io::Error::from_raw_os_error(-redirected as i32);
            return Err(Failure::lasting(format!("its calls: {error}")));
        };
        let (pid, redirected) = (target.pid, calls);
        let name = name_of(pid).unwrap_or_else(|| target.name.clone());
        Ok(Self { pid, name, begun, held, redirected, is_further: false })
    }

    /// The same, which took part already or not.
    pub fn further(self, is_further: bool) -> Self {
        Self { is_further, ..self }
    }

    /// Whether both are one process.
    pub fn is(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Its number and when it was started, which no other process has together.
    pub fn identity(&self) -> (u32, u64) {
        (self.pid, self.begun)
    }

    pub fn runs(&self) -> bool {
        begun(self.pid) == Some(self.begun)
    }
}

/// The functions of liblull's in a process.
struct Functions {
    join: u64,
    leave: u64,
    poll: u64,
    abandon: u64,
    scan: u64,
    begin: u64,
    end: u64,
}

impl Functions {
    fn find(tracee: &Tracee, library: &Path) -> Result<Self, Failure> {
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let object = tracee.object(|found| *found == *name)?;
        Self::of(tracee, &object.ok_or("liblull is not among its objects")?)
    }

    fn of(tracee: &Tracee, object: &Object) -> Result<Self, Failure> {
        let find = |name| object.function(tracee.memory(), name).map(|found| found.address);
        let found = || {
            Some(Self {
                join: find("lull_control_join")?,
                leave: find("lull_control_leave")?,
                poll: find("lull_control_poll")?,
                abandon: find("lull_control_abandon")?,
                scan: find("lull_object_loaded")?,
                begin: find("lull_redirect_begin")?,
                end: find("lull_redirect_end")?,
            })
        };
        found().ok_or_else(|| OTHER_VERSION.into())
    }

    /// Those of the liblull that the process has, whichever file it is. None: it has none.
    fn loaded(tracee: &Tracee) -> Result<Option<Self>, Failure> {
        let object = tracee.object(|name| name.starts_with("liblull.so"))?;
        object.map(|object| Self::of(tracee, &object)).transpose()
    }

    /// The function's result, of which the upper half of the register is not said.
    fn call(&self, stopped: &mut Stopped, function: u64, session: &CStr) -> tracee::Result<i64> {
        let text = stopped.text(session)?;
        self.change(stopped, function, &[text])
    }

    /// A call that ends by a signal leaves no change begun, for which others would wait.
    fn change(
        &self,
        stopped: &mut Stopped,
        function: u64,
        arguments: &[u64],
    ) -> tracee::Result<i64> {
        let called = stopped.call(function, arguments);
        if let Err(Error::Faulted { .. }) = called {
            stopped.call(self.abandon, &[])?;
        }
        Ok(i64::from(called? as i32))
    }
}

/// What it took to leave.
#[derive(Default)]
pub struct Left {
    /// How long its thread was stopped, at most at a time.
    pub held: Duration,
    /// Entries of its tables of calls that are as before: none while another session wants them.
    pub restored: u64,
    /// Why its calls still lead to liblull, which records none of them. None: they do not.
    pub kept: Option<String>,
}

/// Has a process leave the session, and puts back what was redirected. That takes a thread which
/// holds no lock; one that has left, and has none such, is not a member all the same.
pub fn leave(pid: u32, sessions: &[CString]) -> Result<Left, Failure> {
    unless_ended(pid, try_leave(pid, sessions))
}

fn try_leave(pid: u32, sessions: &[CString]) -> Result<Left, Failure> {
    let tracee = open(pid)?;
    let Some(functions) = Functions::loaded(&tracee)? else { return Ok(Left::default()) };
    let visit = Visit { patience: PATIENCE, ..Visit::default() };
    let others: Vec<CString> = sessions_left().collect();
    const NOT_IN_IT: i64 = -(libc::ENOENT as i64);
    let (left, held) = again_while_busy(PATIENCE, || {
        tracee.visit(&visit, |stopped| {
            // A session whose recorder was killed would keep the calls as they are.
            for dead in &others {
                functions.call(stopped, functions.leave, dead)?;
            }
            let mut left = 0;
            for session in sessions {
                match functions.call(stopped, functions.leave, session)? {
                    NOT_IN_IT => {}
                    result => left = left.min(result),
                }
            }
            Ok(Some((left, stopped.held())))
        })
    })?;
    let ended = Loader::find(&tracee, PATIENCE).and_then(|loader| {
        tracee.visit_safely(&visit, &loader, |stopped| {
            Ok((i64::from(stopped.call(functions.end, &[])? as i32), stopped.held()))
        })
    });
    let refusal = |result: i64| std::io::Error::from_raw_os_error(-result as i32).to_string();
    if left < 0 {
        return Err(refusal(left).as_str().into());
    }
    let kept = |why| Ok(Left { held, restored: 0, kept: Some(why) });
    match ended {
        Ok((result @ ..0, _)) => kept(refusal(result)),
        Ok((restored, again)) => {
            Ok(Left { held: held.max(again), restored: restored.unsigned_abs(), kept: None })
        }
        Err(error) => match Failure::from(error) {
            failure if failure.is_moot || tracee::has_ended(pid) => Err(failure),
            failure => kept(failure.why),
        },
    }
}

/// What a process said of a change.
pub struct Polled {
    /// Probes and sites that are different.
    pub changed: u64,
    /// How long its thread was stopped.
    pub held: Duration,
}

/// Has a process take over what has changed in its sessions, and leave those that have ended.
pub fn poll(pid: u32) -> Result<Polled, Failure> {
    unless_ended(pid, try_poll(pid))
}

fn try_poll(pid: u32) -> Result<Polled, Failure> {
    ask_loaded(pid, |functions, stopped| functions.change(stopped, functions.poll, &[]))
}

/// Has a process that is in one session of a recorder's already join another one of it.
pub fn join_beside(pid: u32, session: &CStr) -> Result<Polled, Failure> {
    let joined = ask_loaded(pid, |functions, stopped| {
        // The result is the place of the session.
        Ok(functions.call(stopped, functions.join, session)?.min(0))
    });
    unless_ended(pid, joined)
}

/// Has a process call something of the liblull that it has.
fn ask_loaded(
    pid: u32,
    call: impl Fn(&Functions, &mut Stopped) -> tracee::Result<i64> + Sync,
) -> Result<Polled, Failure> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let tracee = open(pid)?;
    let functions = Functions::loaded(&tracee)?;
    let functions = functions.ok_or("liblull is linked into it, and not loaded")?;
    let visit = Visit { patience: PATIENCE, call_limit: PATIENCE };
    let (result, held) = again_while_busy(PATIENCE, || {
        tracee.visit(&visit, |stopped| {
            let result = call(&functions, stopped)?;
            Ok(Some((result, stopped.held())))
        })
    })?;
    match u64::try_from(result) {
        Ok(changed) => Ok(Polled { changed, held }),
        Err(_) => Err(join_failure(result)),
    }
}

/// Asks for a change as long as another one is under way, of an object or by another recorder.
fn again_while_busy<T>(
    patience: Duration,
    mut ask: impl FnMut() -> tracee::Result<(i64, T)>,
) -> tracee::Result<(i64, T)> {
    const BUSY: [i64; 2] = [-(libc::EBUSY as i64), -(libc::EAGAIN as i64)];
    let begun = Instant::now();
    loop {
        let answer = ask()?;
        if !BUSY.contains(&answer.0) || begun.elapsed() > patience {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the process can load this library and map the session's memory.
fn check(tracee: &Tracee, library: &Path) -> Result<(), Failure> {
    if tracee.is_elsewhere(Namespace::Ipc) {
        return Err("it is in another ipc namespace, perhaps a container, where the session's \
                    memory is not; record it from in there"
            .into());
    }
    let there = PathBuf::from(format!("{}/root", tracee::folder(tracee.pid())));
    let there = there.join(library.strip_prefix("/").unwrap_or(library));
    let identity = |path: &Path| Some((path.metadata().ok()?.dev(), path.metadata().ok()?.ino()));
    if identity(&there) != identity(library) {
        return Err(Failure::lasting(format!(
            "it sees other files than we do, and not {}; record it from in there",
            library.display()
        )));
    }
    Ok(())
}

fn join_failure(result: i64) -> Failure {
    let error = std::io::Error::from_raw_os_error(-result as i32);
    let why = match error.raw_os_error() {
        Some(libc::ENOENT) => {
            "the session has no memory for its user; run lull record as that user".into()
        }
        Some(libc::ENOMEM) => "there is no room for the session's memory in its address space, \
                               perhaps because that is limited (ulimit -v)"
            .into(),
        Some(libc::ENOSPC) => "8 recorders record it already".into(),
        Some(libc::EBUSY) => "it loads libraries all the time; try again".into(),
        Some(libc::EPERM) => "it has forbidden itself system calls".into(),
        _ => format!("liblull: {error}"),
    };
    Failure::lasting(why)
}

/// When a process was started. None: it has ended.
fn begun(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may have any character in it.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace();
    let state = words.next()?;
    if matches!(state, "Z" | "X") && tracee::has_ended(pid) {
        return None;
    }
    words.nth(18)?.parse().ok()
}

/// A program in a process: when that was started, and the file of the program.
pub type Incarnation = (u64, u64, u64);

/// What a process is now. None: it has ended.
pub fn incarnation(pid: u32) -> Option<Incarnation> {
    let program = std::fs::metadata(format!("{}/exe", tracee::folder(pid))).ok()?;
    Some((begun(pid)?, program.dev(), program.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_of_a_process_is_known_until_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(begun(child.id()) >= begun(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(begun(child.id()), None);
    }

    #[test]
    fn ended_process_is_told_from_one_that_refuses() {
        assert!(Failure::from(Error::Ended { pid: 1 }).is_moot);
        assert!(Failure::from(Error::KernelThread { pid: 2 }).is_moot);
        assert!(!Failure::from(Error::Seccomp { pid: 1 }).is_moot);
        assert!(join_failure(-(libc::ENOMEM as i64)).why.contains("ulimit -v"));
        assert!(join_failure(-28).why.contains('8'));
    }
}
