// SPDX-License-Identifier: MIT
//! The recording itself: session and consumer made, the program started, signals passed on,
//! packets moved until the program has ended, and the verdict.
//!
//! Place in the flow: the middle of `lull record`. One thread waits for signals and for the
//! consumer's timer at once; the program's own signals go to the program.

use super::asked::Asked;
use super::attach::{Attachment, LOOK_PERIOD};
use super::begin::{begin, Begun};
use super::judge::{Joined, Judge};
use super::kernel::Kernel;
use super::launch::{self, Child};
use super::plan::{Loaded, Plan};
use super::progress::Progress;
use super::reach::{self, Reaching};
use super::signals::{self, Signals, Witness};
use super::system::System;
use super::triggers::Latecomers;
use super::{program, promptness, serve, tell, Job, SessionArgs, FAILED};
use crate::say;
use crate::trigger::Triggers;
use anyhow::Context;
use consumer::Consumer;
use control::{Caller, Server};
use session::clock::Recording;
use session::directory::Recorder;
use session::pattern::Patterns;
use session::Session;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verdict::Verdict;

/// How long to look more often, at the beginning, whether buffers need more memory, and how often.
const BEGINNING: Duration = Duration::from_millis(100);
const BEGINNING_PAUSE: Duration = Duration::from_millis(1);
/// How often a recorder in the background looks whether its directory is still there.
const REACH_PERIOD: Duration = Duration::from_secs(1);

/// Records in the background, and tells the starter how that begins. Return: the exit status.
pub fn record_in_background(
    mut job: Job,
    plan: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<i32> {
    let recorded = plan().and_then(|plan| record(&mut job, plan));
    match (recorded, job.starter.take()) {
        (Err(error), Some(starter)) => {
            starter.failed(&error);
            Ok(FAILED)
        }
        (recorded, _) => recorded,
    }
}

/// Records, until the program ends or the session is told to. Return: the exit status.
pub fn record(job: &mut Job, mut plan: Plan) -> anyhow::Result<i32> {
    let warning = plan.program.iter().find_map(|program| program.warning.as_ref());
    warning.into_iter().for_each(|warning| tell(job.session, warning));
    let signals = Signals::take().context("taking over signals")?;
    let witness = match plan.program {
        Some(_) => Some(Witness::start().context("starting the witness of signals")?),
        None => None,
    };
    let mut begun = begin(job, &plan)?;
    if job.wait_all {
        launch::adopt_descendants();
    }
    let (mut triggers, directories) = begun.begin_beside(job, &mut plan)?;
    let mut child = None;
    if let (Some(program), Some(loaded)) = (&plan.program, &plan.loaded) {
        let (arguments, inherited) = (job.program, signals.inherited);
        let started = match launch::start(program, loaded, arguments, &directories, inherited) {
            Ok(started) => child.insert(started),
            Err(error) => return Ok(start_failed(&program.path, &error)),
        };
        begun.expect(triggers.as_mut(), started.id(), &program.path);
        begun.recorder.program_pid = started.id();
        begun.session.directory.introduce(&begun.recorder)?;
    }
    let (attachment, system) = System::begin(job, &plan, &directories, triggers.as_ref())?;
    begun.keep_trace(job);
    promptness::ask();
    let is_background = job.starter.is_some();
    match job.starter.take() {
        Some(starter) => starter.ready(&begun.ready(), begun.session.path())?,
        // While the program starts.
        None => tell::left_behind(job.session.quiet),
    }
    let Begun { session, consumer, recording, control, recorder, folder } = begun;
    let mut supervisor = Supervisor {
        programs: plan.program.map(|program| program.path).into_iter().collect(),
        progress: Progress::new(job.session.quiet || is_background || job.counting.is_some()),
        job,
        patterns: plan.patterns,
        asked: plan.asked,
        loaded: plan.loaded,
        kernel: plan.kernel,
        plan: plan.session,
        session,
        consumer,
        recording,
        control,
        recorder,
        folder,
        signals,
        witness,
        child,
        attachment,
        system,
        is_background,
        started: chrono::Utc::now().to_rfc3339(),
        begun: Instant::now(),
        reached: Instant::now(),
        stoppers: Vec::new(),
        snapshots: 0,
        reaching: Vec::new(),
        throttling: None,
        triggers,
        latecomers: None,
        is_told_to_stop: false,
    };
    let ending = supervisor.watch()?;
    supervisor.conclude(ending)
}

/// Prints a line that is no part of the verdict, unless --quiet was given.
pub(super) fn tell(args: &SessionArgs, line: &str) {
    if !args.quiet {
        say(line);
    }
}

fn start_failed(path: &Path, error: &std::io::Error) -> i32 {
    say(&format!("{}: cannot be started: {error}", path.display()));
    program::start_status(error)
}

pub(super) struct Supervisor<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) patterns: Patterns,
    pub(super) asked: Asked,
    /// None: no program can join.
    pub(super) loaded: Option<Loaded>,
    /// Those that were started or told of, some at most.
    pub(super) programs: Vec<PathBuf>,
    pub(super) kernel: Option<Kernel>,
    /// By which the session was made.
    pub(super) plan: session::Plan,
    pub(super) session: Arc<Session>,
    pub(super) consumer: Consumer,
    pub(super) recording: Recording,
    pub(super) control: Server,
    pub(super) recorder: Recorder,
    /// Where the recording was begun.
    pub(super) folder: PathBuf,
    pub(super) signals: Signals,
    /// As long as there is a program to pass signals on to.
    witness: Option<Witness>,
    pub(super) child: Option<Child>,
    /// Processes that ran already.
    pub(super) attachment: Option<Attachment>,
    /// None: who is to join was started in the session or named.
    pub(super) system: Option<System>,
    progress: Progress,
    pub(super) is_background: bool,
    /// RFC 3339.
    pub(super) started: String,
    pub(super) begun: Instant,
    /// When the directory was last looked for.
    reached: Instant,
    /// Who waits for the end, each with its process.
    pub(super) stoppers: Vec<(Caller, u32)>,
    pub(super) snapshots: u64,
    /// Requests whose processes are being asked, and who waits for that, if anybody does.
    pub(super) reaching: Vec<(Option<Caller>, Reaching<reach::Outcome>)>,
    /// The processes that are being asked to take events out of their code.
    pub(super) throttling: Option<Reaching<reach::Asked>>,
    /// None: there never were any.
    pub(super) triggers: Option<Triggers>,
    /// None: each program of the session knows its companion from its begin.
    pub(super) latecomers: Option<Latecomers>,
    /// By a trigger.
    pub(super) is_told_to_stop: bool,
}

/// Why the recording ends.
enum Ending {
    /// There was no program, or it ended.
    Over(ExitStatus),
    /// It was asked for, while the program runs.
    Asked,
}

impl Supervisor<'_> {
    /// Moves packets until the program, or with --wait-all its last descendant, has ended, or the
    /// session is told to end.
    fn watch(&mut self) -> anyhow::Result<Ending> {
        let mut status = self.child.is_none().then(ExitStatus::default);
        loop {
            let Some(pause) = self.turn() else { return Ok(Ending::Over(ExitStatus::default())) };
            if self.is_told_to_stop {
                return Ok(status.map_or(Ending::Asked, Ending::Over));
            }
            let births = self.system.as_ref().and_then(System::descriptor);
            let others = self.control.descriptors().chain(births);
            let (signals, has_callers) = self.signals.wait(pause, others)?;
            if has_callers && self.serve() {
                return Ok(status.map_or(Ending::Asked, Ending::Over));
            }
            for signal in signals {
                if signal.ssi_signo as i32 == libc::SIGUSR1 {
                    self.snapshot_for_signal();
                } else if let Some(status) = status.filter(|_| signals::is_passed_on(&signal)) {
                    // The program has ended, or there is none, so the signal is to end the
                    // recording. A second signal is to end the writing of the trace, too; but not
                    // before tracefs is as it was.
                    if !self.job.session.kernel {
                        signals::end_at_the_next();
                    }
                    return Ok(Ending::Over(status));
                } else {
                    pass_on(&signal, self.child.as_ref(), self.witness.as_mut());
                }
            }
            let Some(child) = &self.child else { continue };
            if status.is_none() {
                status = child.try_wait().context("waiting for the program")?;
                status.into_iter().for_each(|status| self.fire_for_end(status));
            }
            if let Some(status) = status {
                self.witness = None;
                if !self.job.wait_all || !launch::reap_descendants() {
                    return Ok(Ending::Over(status));
                }
            }
        }
    }

    /// One turn over everything that is due. Return: when the next is; None at the end of
    /// --duration, and where nobody can reach the session any more.
    fn turn(&mut self) -> Option<Duration> {
        if let Some(calibration) = self.recording.refined() {
            self.consumer.calibrate(&calibration);
            self.triggers.iter_mut().for_each(|triggers| triggers.calibrate(&calibration));
        }
        let mut pause = self.consumer.tick().min(self.consumer.keep_budget());
        pause = pause.min(self.follow_triggers()).min(self.follow_system());
        pause = pause.min(self.seek_latecomers());
        self.ask_for_budget();
        if let Some(duration) = self.job.duration {
            pause = pause.min(duration.checked_sub(self.begun.elapsed())?);
        }
        if let Some(attachment) = &mut self.attachment {
            pause = pause.min(LOOK_PERIOD);
            if attachment.is_over() {
                return None;
            }
        }
        if self.reached() || self.throttling.is_some() {
            pause = pause.min(reach::LOOK_PERIOD);
        }
        if self.is_background {
            pause = pause.min(REACH_PERIOD);
            if self.reached.elapsed() >= REACH_PERIOD {
                self.reached = Instant::now();
                if !self.session.directory.reachable() {
                    return None;
                }
            }
        }
        if self.allocate() {
            pause = Duration::ZERO;
        } else if self.begun.elapsed() < BEGINNING {
            pause = pause.min(BEGINNING_PAUSE);
        }
        if let Some(counting) = &self.job.counting {
            let mut counting = counting.borrow_mut();
            if counting.due_in() == Some(Duration::ZERO) {
                counting.show(&self.consumer);
            }
            pause = counting.due_in().map_or(pause, |due| pause.min(due));
        }
        if self.progress.is_due() {
            self.progress.show(&self.consumer.progress());
        }
        Some(pause)
    }

    /// Goes on allocating buffers. Return: whether there is more to do.
    fn allocate(&mut self) -> bool {
        if !self.consumer.is_active() {
            return false;
        }
        self.consumer.allocate().unwrap_or_else(|error| {
            // A writer must not come to memory that cannot be had.
            self.consumer.stop_probes();
            say(&format!("recording stopped: {error}"));
            self.consumer.give_up(format!("recording stopped: {error}"));
            false
        })
    }

    fn snapshot_for_signal(&mut self) {
        if !self.job.session.flight_recorder {
            say("SIGUSR1 asks for a snapshot, which only --flight-recorder makes");
            return;
        }
        if let Err(error) = self.snapshot() {
            say(&format!("snapshot: {error}"));
        }
    }

    /// Writes what a flight recorder holds. Return: where, and what that lacks.
    pub(super) fn snapshot(&mut self) -> Result<Verdict, consumer::Error> {
        self.snapshots += 1;
        self.consumer.calibrate(&self.recording.finish());
        let told = self.consumer.snapshot()?;
        tell(self.job.session, &serve::snapshot_line(&told.trace));
        told.missing.iter().for_each(|missing| tell(self.job.session, missing));
        Ok(told)
    }

    /// Completes the trace, removes the session, tells the verdict to all who wait for it, and ends
    /// as the program does.
    fn conclude(mut self, ending: Ending) -> anyhow::Result<i32> {
        self.progress.clear();
        // Who joins the companion has done so before it ends; and what triggers do at the end may
        // ask processes, too.
        self.end_reaching();
        self.end_system();
        self.end_triggers();
        self.end_reaching();
        let told = match self.finish() {
            Ok(told) => told,
            Err(error) => {
                let error = self.leave_behind(&error);
                serve::tell_failure(&mut self.control, &self.stoppers, &error);
                return Err(error);
            }
        };
        tell::tell(self.job, &told);
        let Self { job, mut control, signals, witness, child, .. } = self;
        let segments = self.consumer.segments();
        self.consumer.end();
        drop(self.consumer);
        // With it, the module: whoever is told of the end may unload it.
        drop(self.kernel);
        drop(self.session);
        serve::tell_end(&mut control, &self.stoppers, &told, job);
        drop(control);
        reach::leave(&segments);
        let status = match (ending, child) {
            (Ending::Over(status), _) => status,
            (Ending::Asked, Some(child)) => wait(&child, &signals, witness)?,
            (Ending::Asked, None) => ExitStatus::default(),
        };
        let program_status = match (status.code(), status.signal()) {
            (Some(code), _) => code,
            (None, signal) => 128 + signal.unwrap_or(0),
        };
        let ours = tell::status(job, &told, program_status);
        if let Some(signal) = status.signal().filter(|_| ours == program_status) {
            end_by(signal);
        }
        Ok(ours)
    }

    /// Lets the session stay, as that of a killed recorder does. Return: the error, and what to do.
    fn leave_behind(&self, error: &anyhow::Error) -> anyhow::Error {
        self.consumer.leave();
        let (told, session) = (crate::told(error), self.session.path().display());
        anyhow::anyhow!(
            "{told}: what is in memory stays there, and `lull recover -o DIR {session}` writes it \
             into DIR"
        )
    }

    /// The last of the trace, with what the machine tells about it.
    fn finish(&mut self) -> anyhow::Result<Verdict> {
        let calibration = self.recording.finish();
        self.consumer.calibrate(&calibration);
        let segments = self.consumer.segments();
        if let Some(attachment) = &mut self.attachment {
            // Nobody reads the buffers while the processes are asked to leave.
            self.consumer.stop_probes();
            attachment.end(&segments);
        }
        let first_pid = self.child.as_ref().map_or(self.recorder.pid, Child::id);
        let stoppers: Vec<u32> = self.stoppers.iter().map(|(_, pid)| *pid).collect();
        let was_asked = self.is_told_to_stop || !self.stoppers.is_empty();
        let is_open = self.child.is_none() || was_asked;
        let counting = self.job.counting.as_ref();
        let counts = counting.map(|_| self.consumer.counts_at_end());
        let judge = Judge {
            patterns: &self.patterns,
            asked: &self.asked,
            joined: self.loaded.as_ref().map(|_| Joined {
                programs: &self.programs,
                first_pid,
                is_open,
                is_system: self.system.is_some(),
                stoppers: &stoppers,
            }),
            segments: &segments,
            is_flight_recorder: self.job.session.flight_recorder,
            is_counting: counting.is_some(),
            kernel: self.kernel.as_ref(),
            warnings: calibration.warnings(),
        };
        let attachment = self.attachment.as_ref();
        let system = self.system.as_mut();
        let triggers = self.triggers.as_ref();
        let told = self.consumer.finish(|verdict, seen| {
            judge.add(verdict, seen);
            attachment.into_iter().for_each(|attachment| attachment.judge(verdict));
            system.into_iter().for_each(|system| system.judge(verdict));
            triggers.into_iter().for_each(|triggers| triggers.judge(verdict));
            if let Some((counting, counts)) = counting.zip(counts) {
                counting.borrow_mut().conclude(counts, verdict);
            }
        })?;
        // What its last snapshot lacks for want of room is in memory still.
        let is_kept = self.job.session.flight_recorder && told.unwritten_packets > 0;
        let missing = || told.missing.first().cloned().unwrap_or_default();
        anyhow::ensure!(!is_kept, "{}: {}", told.trace.display(), missing());
        Ok(told)
    }
}

/// Gives the program a signal that was meant for it and reached only us.
fn pass_on(signal: &libc::signalfd_siginfo, child: Option<&Child>, witness: Option<&mut Witness>) {
    // What the terminal sends has reached the program already; this came by kill(2).
    let by_a_process = signal.ssi_code <= 0;
    if !signals::is_passed_on(signal) || !by_a_process {
        return;
    }
    let number = signal.ssi_signo as i32;
    if witness.is_some_and(|witness| witness.saw(number)) {
        return; // so did the program
    }
    let pid = child.and_then(|child| libc::pid_t::try_from(child.id()).ok());
    if let Some(pid) = pid {
        // SAFETY: the child has not been waited for while status is unknown, so the number
        // is still its own.
        unsafe { libc::kill(pid, number) };
    }
}

/// Waits for the program, which is no longer recorded.
fn wait(
    child: &Child,
    signals: &Signals,
    mut witness: Option<Witness>,
) -> anyhow::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().context("waiting for the program")? {
            return Ok(status);
        }
        for signal in signals.wait(Duration::MAX, std::iter::empty())?.0 {
            pass_on(&signal, Some(child), witness.as_mut());
        }
    }
}

/// Ends this process by the signal that ended the program, without a second core file.
fn end_by(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: changes only this process, which ends here; the set is initialised by sigemptyset.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
