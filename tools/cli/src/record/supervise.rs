// SPDX-License-Identifier: MIT
//! The recording itself: session and consumer made, the program started, signals passed on,
//! packets moved until the program has ended, and the verdict.
//!
//! Place in the flow: the middle of `lull record`. One thread waits for signals and for the
//! consumer's timer at once; the program's own signals go to the program.

use super::asked::Asked;
use super::judge::Judge;
use super::kernel::Kernel;
use super::launch::{self, Child};
use super::plan::Plan;
use super::progress::Progress;
use super::signals::{self, Signals, Witness};
use super::{tell, RecordArgs, NOT_EXECUTABLE, NOT_FOUND};
use crate::{newest, say};
use anyhow::Context;
use consumer::metadata::Facts;
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use session::clock::{Calibration, Recording};
use session::directory::{Recorder, SnapshotDone};
use session::pattern::Patterns;
use session::{machine, Session};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verdict::environment::{Environment, Value};
use verdict::text::short;

/// How long to look more often, at the beginning, whether buffers need more memory, and how often.
const BEGINNING: Duration = Duration::from_millis(100);
const BEGINNING_PAUSE: Duration = Duration::from_millis(1);

pub fn record(args: &RecordArgs, plan: Plan) -> anyhow::Result<i32> {
    if let Some(warning) = plan.traced.as_ref().and_then(|traced| traced.program.warning.as_ref()) {
        tell(args, warning);
    }
    let signals = Signals::take().context("taking over signals")?;
    let witness = match plan.traced {
        Some(_) => Some(Witness::start().context("starting the witness of signals")?),
        None => None,
    };
    let output = make_output(args)?;
    let mut recording = Recording::start(plan.clock);
    let session = Arc::new(Session::create(&plan.session)?);
    let mut consumer = make_consumer(args, &plan, output, &session, &recording.provisional())?;
    if args.wait_all {
        // SAFETY: makes orphans of the program our children; no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    // Before the program starts: it may ask for a snapshot at once.
    let recorder = Recorder {
        pid: std::process::id(),
        program: args
            .program
            .first()
            .map_or("(kernel)".into(), |name| name.to_string_lossy().into()),
        program_pid: 0,
        output: consumer.output().path().to_path_buf(),
        flight_recorder: args.flight_recorder,
    };
    session.directory.introduce(&recorder)?;
    consumer.begin_kernel()?;
    let mut child = None;
    if let Some(traced) = &plan.traced {
        let path = &traced.program.path;
        let begun = launch::start(traced, &args.program, session.path(), signals.inherited);
        let begun = match begun {
            Ok(begun) => child.insert(begun),
            Err(error) => return Ok(start_failed(path, &error)),
        };
        consumer.expect(begun.id(), &path.to_string_lossy());
        session.directory.introduce(&Recorder { program_pid: begun.id(), ..recorder })?;
    }
    consumer.output().keep();
    // While the program starts.
    tell::left_behind(args);
    ask_for_promptness();
    if args.output.is_none() {
        if let Err(error) = consumer.output().link(newest::LINK) {
            tell(args, &error.to_string());
        }
    }
    let progress = Progress::new(args.quiet);
    let mut supervisor = Supervisor {
        args,
        patterns: plan.patterns,
        asked: plan.asked,
        program: plan.traced.map(|traced| traced.program.path),
        kernel: plan.kernel,
        session,
        consumer,
        recording,
        signals,
        witness,
        child,
        progress,
        snapshots: 0,
    };
    let status = supervisor.watch()?;
    supervisor.conclude(status)
}

fn make_consumer(
    args: &RecordArgs,
    plan: &Plan,
    output: Output,
    session: &Arc<Session>,
    calibration: &Calibration,
) -> anyhow::Result<Consumer> {
    let facts = Facts {
        uuid: plan.session.uuid,
        clock: calibration.ctf(),
        clock_uuid: machine::boot_id(),
        environment: environment(args, plan, session, calibration),
        kept: String::new(),
    };
    let limit_bytes = args.max_size;
    let options = Options { facts, flush_period: plan.flush_period, limit_bytes };
    let mut consumer = Consumer::start(Arc::clone(session), output, options)?;
    if let Some(kernel) = &plan.kernel {
        super::kernel::remove_left(args.quiet);
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
fn tell(args: &RecordArgs, line: &str) {
    if !args.quiet {
        say(line);
    }
}

/// The directory that was named, or one of a new name.
fn make_output(args: &RecordArgs) -> Result<Output, consumer::output::Error> {
    match (&args.output, args.overwrite) {
        (Some(path), true) => Output::create(path, args.mode, Older::Replace),
        (Some(path), false) => Output::create(path, args.mode, Older::Refuse),
        (None, _) => Output::create_new(&newest::name(), args.mode),
    }
}

fn start_failed(program: &Path, error: &std::io::Error) -> i32 {
    say(&format!("{}: cannot be started: {error}", program.display()));
    if error.kind() == std::io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        NOT_EXECUTABLE
    }
}

fn environment(
    args: &RecordArgs,
    plan: &Plan,
    session: &Session,
    calibration: &Calibration,
) -> Environment {
    let number = |text: &str| Value::from(text.parse::<u64>().unwrap_or(0));
    let command: Vec<_> = args.program.iter().map(|word| word.to_string_lossy()).collect();
    let mode = if args.flight_recorder { "flight recorder" } else { "discard" };
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

struct Supervisor<'a> {
    args: &'a RecordArgs,
    patterns: Patterns,
    asked: Asked,
    /// None, as its process is: only the kernel is recorded.
    program: Option<PathBuf>,
    kernel: Option<Kernel>,
    session: Arc<Session>,
    consumer: Consumer,
    recording: Recording,
    signals: Signals,
    /// As long as there is a program to pass signals on to.
    witness: Option<Witness>,
    child: Option<Child>,
    progress: Progress,
    snapshots: u64,
}

impl Supervisor<'_> {
    /// Moves packets until the program, or with --wait-all its last descendant, has ended.
    fn watch(&mut self) -> anyhow::Result<ExitStatus> {
        let mut status = self.child.is_none().then(ExitStatus::default);
        let begun = Instant::now();
        loop {
            if let Some(calibration) = self.recording.refined() {
                self.consumer.calibrate(&calibration);
            }
            let mut pause = self.consumer.tick();
            if let Some(duration) = self.args.duration {
                match duration.checked_sub(begun.elapsed()) {
                    Some(left) => pause = pause.min(left),
                    None => return Ok(ExitStatus::default()),
                }
            }
            if self.allocate() {
                pause = Duration::ZERO;
            } else if begun.elapsed() < BEGINNING {
                pause = pause.min(BEGINNING_PAUSE);
            }
            if self.progress.is_due() {
                self.progress.show(&self.consumer.progress());
            }
            for signal in self.signals.wait(pause)? {
                if signal.ssi_signo as i32 == libc::SIGUSR1 {
                    self.snapshot();
                } else if let Some(status) = status.filter(|_| signals::is_passed_on(&signal)) {
                    // The program has ended, or there is none, so the signal is to end the
                    // recording. A second signal is to end the writing of the trace, too; but not
                    // before tracefs is as it was.
                    if !self.args.kernel {
                        signals::end_at_the_next();
                    }
                    return Ok(status);
                } else {
                    self.pass_on(&signal);
                }
            }
            let Some(child) = &self.child else { continue };
            if status.is_none() {
                status = child.try_wait().context("waiting for the program")?;
            }
            if let Some(status) = status {
                self.witness = None;
                if !self.args.wait_all || !reap_descendants() {
                    return Ok(status);
                }
            }
        }
    }

    /// Gives the program a signal that was meant for it and reached only us.
    fn pass_on(&mut self, signal: &libc::signalfd_siginfo) {
        // What the terminal sends has reached the program already; this came by kill(2).
        let by_a_process = signal.ssi_code <= 0;
        if !signals::is_passed_on(signal) || !by_a_process {
            return;
        }
        let number = signal.ssi_signo as i32;
        if self.witness.as_mut().is_some_and(|witness| witness.saw(number)) {
            return; // so did the program
        }
        let pid = self.child.as_ref().and_then(|child| libc::pid_t::try_from(child.id()).ok());
        if let Some(pid) = pid {
            // SAFETY: the child has not been waited for while status is unknown, so the number
            // is still its own.
            unsafe { libc::kill(pid, number) };
        }
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

    fn snapshot(&mut self) {
        if !self.args.flight_recorder {
            say("SIGUSR1 asks for a snapshot, which only --flight-recorder makes");
            return;
        }
        self.snapshots += 1;
        self.consumer.calibrate(&self.recording.finish());
        let done = match self.consumer.snapshot() {
            Ok(verdict) => {
                if !self.args.quiet {
                    say(&format!("snapshot: {}", short(&verdict.trace).display()));
                }
                SnapshotDone { count: self.snapshots, path: verdict.trace, error: None }
            }
            Err(error) => {
                say(&format!("snapshot: {error}"));
                let error = Some(error.to_string());
                SnapshotDone { count: self.snapshots, path: Default::default(), error }
            }
        };
        if let Err(error) = self.session.directory.announce(&done) {
            say(&error.to_string());
        }
    }

    /// Completes the trace, tells the verdict, and ends as the program did.
    fn conclude(mut self, status: ExitStatus) -> anyhow::Result<i32> {
        self.progress.clear();
        let calibration = self.recording.finish();
        self.consumer.calibrate(&calibration);
        let segments = self.consumer.segments();
        let judge = Judge {
            patterns: &self.patterns,
            asked: &self.asked,
            program: self.program.as_deref().zip(self.child.as_ref().map(Child::id)),
            segments: &segments,
            is_flight_recorder: self.args.flight_recorder,
            kernel: self.kernel.as_ref(),
            warnings: calibration.warnings(),
        };
        let told = self.consumer.finish(|verdict, seen| judge.add(verdict, seen))?;
        tell::tell(self.args, &told);
        let program_status = match (status.code(), status.signal()) {
            (Some(code), _) => code,
            (None, signal) => 128 + signal.unwrap_or(0),
        };
        let ours = tell::status(self.args, &told, program_status);
        drop(self.consumer);
        drop(self.session);
        if let Some(signal) = status.signal().filter(|_| ours == program_status) {
            end_by(signal);
        }
        Ok(ours)
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
