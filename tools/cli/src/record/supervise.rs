// SPDX-License-Identifier: MIT
//! The recording itself: session and consumer made, the program started, signals passed on,
//! packets moved until the program has ended, and the verdict.
//!
//! Place in the flow: the middle of `lull record`. One thread waits for signals and for the
//! consumer's timer at once; the program's own signals go to the program.

use super::asked::Asked;
use super::detach::Ready;
use super::judge::{Joined, Judge};
use super::kernel::Kernel;
use super::launch::{self, Child};
use super::plan::{Loaded, Plan};
use super::progress::Progress;
use super::signals::{self, Signals, Witness};
use super::{name, program, serve, tell, Job, SessionArgs, FAILED};
use crate::{newest, say};
use anyhow::Context;
use consumer::folder::Sharing;
use consumer::metadata::Facts;
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use control::{Caller, Server};
use session::clock::{Calibration, Recording};
use session::directory::{running, Recorder};
use session::pattern::Patterns;
use session::{machine, Session};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verdict::environment::{Environment, Value};
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
pub fn record(job: &mut Job, plan: Plan) -> anyhow::Result<i32> {
    let warning = plan.program.as_ref().and_then(|program| program.warning.as_ref());
    if let Some(warning) = warning {
        tell(job.session, warning);
    }
    let signals = Signals::take().context("taking over signals")?;
    let witness = match plan.program {
        Some(_) => Some(Witness::start().context("starting the witness of signals")?),
        None => None,
    };
    let mut begun = begin(job, &plan)?;
    if job.wait_all {
        // SAFETY: makes orphans of the program our children; no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    begun.consumer.begin_kernel()?;
    let mut child = None;
    if let (Some(program), Some(loaded)) = (&plan.program, &plan.loaded) {
        let (arguments, inherited) = (job.program, signals.inherited);
        let started = launch::start(program, loaded, arguments, begun.session.path(), inherited);
        let started = match started {
            Ok(started) => child.insert(started),
            Err(error) => return Ok(start_failed(&program.path, &error)),
        };
        begun.consumer.expect(started.id(), &program.path.to_string_lossy());
        begun.recorder.program_pid = started.id();
        begun.session.directory.introduce(&begun.recorder)?;
    }
    begun.keep_trace(job);
    // While the program starts.
    if job.starter.is_none() {
        tell::left_behind(job.session.quiet);
    }
    ask_for_promptness();
    let is_background = job.starter.is_some();
    if let Some(starter) = job.starter.take() {
        starter.ready(&begun.ready(), begun.session.path())?;
    }
    let Begun { session, consumer, recording, control, recorder } = begun;
    let mut supervisor = Supervisor {
        programs: plan.program.map(|program| program.path).into_iter().collect(),
        progress: Progress::new(job.session.quiet || is_background || job.counting.is_some()),
        job,
        patterns: plan.patterns,
        asked: plan.asked,
        loaded: plan.loaded,
        kernel: plan.kernel,
        session,
        consumer,
        recording,
        control,
        recorder,
        signals,
        witness,
        child,
        is_background,
        started: chrono::Utc::now().to_rfc3339(),
        begun: Instant::now(),
        reached: Instant::now(),
        stoppers: Vec::new(),
        snapshots: 0,
    };
    let ending = supervisor.watch()?;
    supervisor.conclude(ending)
}

/// A session that programs can join.
struct Begun {
    session: Arc<Session>,
    consumer: Consumer,
    recording: Recording,
    control: Server,
    recorder: Recorder,
}

impl Begun {
    /// From now on the trace stays, and the link to the newest leads to it.
    fn keep_trace(&self, job: &Job) {
        if job.counting.is_some() {
            return;
        }
        self.consumer.output().keep();
        if job.session.output.is_none() {
            if let Err(error) = self.consumer.output().link(newest::LINK) {
                tell(job.session, &error.to_string());
            }
        }
    }

    fn ready(&self) -> Ready {
        Ready {
            name: self.recorder.name.clone(),
            pid: self.recorder.pid,
            output: self.recorder.output.display().to_string(),
            directory: self.session.path().display().to_string(),
        }
    }
}

/// Makes the trace's directory, the session, what reads it and what is asked, and says which
/// session it is: before any program starts, which may ask for a snapshot at once.
fn begin(job: &Job, plan: &Plan) -> anyhow::Result<Begun> {
    let program = job.program.first().map(OsString::as_os_str);
    let asked = job.session.name.as_deref();
    let is_kernels = plan.loaded.is_none();
    let name = name::choose(asked, program, is_kernels, &running())?;
    let output = match &job.counting {
        Some(_) => None,
        None => Some(make_output(job.session)?),
    };
    let mut recording = Recording::start(plan.clock);
    let session = Arc::new(Session::create(&plan.session)?);
    let output = match output {
        Some(output) => output,
        None => no_output(&session)?,
    };
    let consumer = make_consumer(job, plan, output, &session, &recording.provisional())?;
    let control = Server::open(session.path())?;
    let nobody = if is_kernels { "(kernel)" } else { "(programs)" };
    let mut recorder = Recorder {
        name,
        pid: std::process::id(),
        program: program.map_or(nobody.into(), |name| name.to_string_lossy().into()),
        program_pid: 0,
        output: consumer.output().path().to_path_buf(),
        flight_recorder: job.session.flight_recorder,
    };
    session.directory.introduce(&recorder)?;
    // Another may have begun meanwhile.
    let mut others = running();
    others.retain(|found| found.path != session.path());
    if others.iter().any(|found| found.recorder.name == recorder.name) {
        recorder.name = name::choose(asked, program, is_kernels, &others)?;
        session.directory.introduce(&recorder)?;
    }
    Ok(Begun { session, consumer, recording, control, recorder })
}

fn make_consumer(
    job: &Job,
    plan: &Plan,
    output: Output,
    session: &Arc<Session>,
    calibration: &Calibration,
) -> anyhow::Result<Consumer> {
    let facts = Facts {
        uuid: plan.session.uuid,
        clock: calibration.ctf(),
        clock_uuid: machine::boot_id(),
        environment: environment(job, plan, session, calibration),
        kept: String::new(),
    };
    let limit_bytes = job.session.max_size;
    let options = Options { facts, flush_period: plan.flush_period, limit_bytes };
    let mut consumer = Consumer::start(Arc::clone(session), output, options)?;
    if let Some(kernel) = &plan.kernel {
        super::kernel::remove_left(job.session.quiet);
        kernel.prepare(plan, &mut consumer)?;
    }
    Ok(consumer)
}

/// Asks the scheduler to run us soon after we wake up, in short turns: buffers fill while we
/// wait behind the programs that fill them; and the timer to wake us when we said, where by
/// default it may take 50 us more. What is not allowed is left.
fn ask_for_promptness() {
    const SLACK_NS: libc::c_ulong = 1;
    const TURN_NS: u64 = 200_000;
    const NICE: i32 = -10;
    /// `struct sched_attr`, its first version.
    #[repr(C)]
    struct SchedulingAttributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    // SAFETY: concerns this thread and no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
    for nice in [NICE, 0] {
        let attributes = SchedulingAttributes {
            size: std::mem::size_of::<SchedulingAttributes>() as u32,
            policy: libc::SCHED_OTHER as u32,
            flags: 0,
            nice,
            priority: 0,
            runtime_ns: TURN_NS,
            deadline_ns: 0,
            period_ns: 0,
        };
        // SAFETY: the structure is readable for the size it states; it concerns this thread.
        if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } == 0 {
            return;
        }
    }
}

/// Prints a line that is no part of the verdict, unless --quiet was given.
fn tell(args: &SessionArgs, line: &str) {
    if !args.quiet {
        say(line);
    }
}

/// The directory that was named, or one of a new name.
fn make_output(args: &SessionArgs) -> Result<Output, consumer::output::Error> {
    match (&args.output, args.overwrite) {
        (Some(path), true) => Output::create(path, args.mode, Older::Replace),
        (Some(path), false) => Output::create(path, args.mode, Older::Refuse),
        (None, _) => Output::create_new(&newest::name(), args.mode),
    }
}

/// Where a trace would be, had a session that counts any: an empty directory in its own.
fn no_output(session: &Session) -> Result<Output, consumer::output::Error> {
    Output::create(&session.path().join("counts"), Sharing::PRIVATE, Older::Refuse)
}

fn start_failed(path: &Path, error: &std::io::Error) -> i32 {
    say(&format!("{}: cannot be started: {error}", path.display()));
    program::start_status(error)
}

fn environment(
    job: &Job,
    plan: &Plan,
    session: &Session,
    calibration: &Calibration,
) -> Environment {
    let number = |text: &str| Value::from(text.parse::<u64>().unwrap_or(0));
    let command: Vec<_> = job.program.iter().map(|word| word.to_string_lossy()).collect();
    let mode = if job.session.flight_recorder { "flight recorder" } else { "discard" };
    let mut environment: Environment = vec![
        ("tracer_name".into(), "lull".into()),
        ("tracer_major".into(), number(env!("CARGO_PKG_VERSION_MAJOR"))),
        ("tracer_minor".into(), number(env!("CARGO_PKG_VERSION_MINOR"))),
        ("tracer_patchlevel".into(), number(env!("CARGO_PKG_VERSION_PATCH"))),
        ("domain".into(), "user".into()),
        ("hostname".into(), machine::host_name().into()),
        ("command".into(), command.join(" ").into()),
        ("started".into(), chrono::Utc::now().to_rfc3339().into()),
        ("mode".into(), mode.into()),
        ("patterns".into(), plan.patterns.text().into()),
        ("buffer_bytes".into(), session.memory.buffer_bytes().into()),
        ("verdict".into(), verdict::RECORDING.into()),
    ];
    let clock = calibration.environment().into_iter();
    environment.extend(clock.map(|(name, value)| (name.to_string(), Value::from(value))));
    environment
}

pub(super) struct Supervisor<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) patterns: Patterns,
    asked: Asked,
    /// None: no program can join.
    pub(super) loaded: Option<Loaded>,
    /// Those that were started or told of, some at most.
    pub(super) programs: Vec<PathBuf>,
    kernel: Option<Kernel>,
    pub(super) session: Arc<Session>,
    pub(super) consumer: Consumer,
    recording: Recording,
    pub(super) control: Server,
    pub(super) recorder: Recorder,
    signals: Signals,
    /// As long as there is a program to pass signals on to.
    witness: Option<Witness>,
    pub(super) child: Option<Child>,
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
            let (signals, has_callers) = self.signals.wait(pause, self.control.descriptors())?;
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
            }
            if let Some(status) = status {
                self.witness = None;
                if !self.job.wait_all || !reap_descendants() {
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
        }
        let mut pause = self.consumer.tick();
        if let Some(duration) = self.job.duration {
            pause = pause.min(duration.checked_sub(self.begun.elapsed())?);
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

    /// Writes what a flight recorder holds. Return: where.
    pub(super) fn snapshot(&mut self) -> Result<PathBuf, consumer::Error> {
        self.snapshots += 1;
        self.consumer.calibrate(&self.recording.finish());
        let path = self.consumer.snapshot()?.trace;
        tell(self.job.session, &serve::snapshot_line(&path));
        Ok(path)
    }

    /// Completes the trace, removes the session, tells the verdict to all who wait for it, and ends
    /// as the program does.
    fn conclude(mut self, ending: Ending) -> anyhow::Result<i32> {
        self.progress.clear();
        let told = match self.finish() {
            Ok(told) => told,
            Err(error) => {
                serve::tell_failure(&mut self.control, &self.stoppers, &error);
                return Err(error);
            }
        };
        tell::tell(self.job, &told);
        let Self { job, mut control, signals, witness, child, .. } = self;
        drop(self.consumer);
        drop(self.session);
        serve::tell_end(&mut control, &self.stoppers, &told, tell::status(job, &told, 0));
        drop(control);
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

    /// The last of the trace, with what the machine tells about it.
    fn finish(&mut self) -> anyhow::Result<Verdict> {
        let calibration = self.recording.finish();
        self.consumer.calibrate(&calibration);
        let segments = self.consumer.segments();
        let first_pid = self.child.as_ref().map_or(self.recorder.pid, Child::id);
        let stoppers: Vec<u32> = self.stoppers.iter().map(|(_, pid)| *pid).collect();
        let is_open = self.child.is_none() || !self.stoppers.is_empty();
        let counting = self.job.counting.as_ref();
        let counts = counting.map(|_| self.consumer.counts_at_end());
        let judge = Judge {
            patterns: &self.patterns,
            asked: &self.asked,
            joined: self.loaded.as_ref().map(|_| Joined {
                programs: &self.programs,
                first_pid,
                is_open,
                stoppers: &stoppers,
            }),
            segments: &segments,
            is_flight_recorder: self.job.session.flight_recorder,
            is_counting: counting.is_some(),
            kernel: self.kernel.as_ref(),
            warnings: calibration.warnings(),
        };
        Ok(self.consumer.finish(|verdict, seen| {
            judge.add(verdict, seen);
            if let Some((counting, counts)) = counting.zip(counts) {
                counting.borrow_mut().conclude(counts, verdict);
            }
        })?)
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

/// Waits for descendants that became ours. Return: whether any is left.
fn reap_descendants() -> bool {
    loop {
        // SAFETY: no memory is passed.
        match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
            0 => return true,
            pid if pid < 0 => return false,
            _ => {}
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
