// SPDX-License-Identifier: MIT
//! What a recording has before any program starts: the trace's directory, the session, what reads
//! it, and what is asked.
//!
//! Place in the flow: the first step of `supervise`.

use super::detach::Ready;
use super::kernel::Kernel;
use super::plan::Plan;
use super::supervise::tell;
use super::{filtered, fire, name, Job, SessionArgs};
use crate::trigger::Triggers;
use crate::{newest, trigger};
use consumer::folder::Sharing;
use consumer::metadata::Facts;
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use control::Server;
use session::clock::{Calibration, Recording};
use session::directory::{running, Recorder, Turn};
use session::pattern::Patterns;
use session::{machine, Session};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verdict::environment::{Environment, Value};

/// A session that programs can join.
pub struct Begun {
    pub session: Arc<Session>,
    pub consumer: Consumer,
    pub recording: Recording,
    pub control: Server,
    pub recorder: Recorder,
    /// Where the recording was begun; a recorder in the background stays in no folder. Empty where
    /// that was removed, so that nothing can run in it.
    pub folder: PathBuf,
}

impl Begun {
    /// What begins beside the session, before any program: the pause that a trigger ends, what
    /// follows triggers, and the kernel's events. Return: with directories that programs join.
    pub fn begin_beside(
        &mut self,
        job: &Job,
        plan: &mut Plan,
    ) -> anyhow::Result<(Option<Triggers>, OsString)> {
        if trigger::plan::begins_paused(job.triggers) {
            self.consumer.pause_probes()?;
        }
        let triggers = self.triggers(job, plan)?;
        let directories = fire::directories(self.session.path(), triggers.as_ref());
        self.consumer.begin_kernel()?;
        Ok((triggers, directories))
    }

    /// What follows the triggers, if any were asked for.
    fn triggers(&mut self, job: &Job, plan: &mut Plan) -> anyhow::Result<Option<Triggers>> {
        if job.triggers.is_empty() {
            return Ok(None);
        }
        let asked = trigger::plan::companion(job.triggers.iter().map(|asked| &asked.condition))?;
        if let (Some(loaded), Some(asked)) = (plan.loaded.as_mut(), asked) {
            if Patterns::exactly(asked.patterns())?.names_allocation() {
                loaded.preload_allocation();
            }
        }
        let mut triggers = Triggers::new(&self.folder, job.is_system);
        let calibration = self.recording.provisional();
        let of = trigger::Of {
            plan: &plan.session,
            session: &self.session,
            calibration,
            kernel: plan.kernel.as_ref().map(Kernel::origin),
            is_late: false,
            is_apart: job.is_system,
        };
        triggers.add(job.triggers, &of, None)?;
        Ok(Some(triggers))
    }

    /// The program runs in this process.
    pub fn expect(&mut self, triggers: Option<&mut Triggers>, pid: u32, path: &Path) {
        let path = path.to_string_lossy();
        self.consumer.expect(pid, &path);
        triggers.into_iter().for_each(|triggers| triggers.expect(pid, &path));
    }

    /// From now on the trace stays, and the link to the newest leads to it.
    pub fn keep_trace(&self, job: &Job) {
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

    pub fn ready(&self) -> Ready {
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
pub fn begin(job: &Job, plan: &Plan) -> anyhow::Result<Begun> {
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
        kernel: plan.kernel.is_some(),
    };
    // Another may have begun meanwhile, or be about to.
    let turn = Turn::wait();
    recorder.name = name::choose(asked, program, is_kernels, &running())?;
    session.directory.introduce(&recorder)?;
    drop(turn);
    let folder = std::env::current_dir().unwrap_or_default();
    Ok(Begun { session, consumer, recording, control, recorder, folder })
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
    if let Some(ppm) = job.session.budget {
        consumer.start_budget(ppm, &plan.session.patterns, &plan.session.filters);
    }
    if let Some(kernel) = &plan.kernel {
        super::kernel::remove_left(job.session.quiet);
        kernel.prepare(plan, &mut consumer)?;
    }
    Ok(consumer)
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
    let release = machine::kernel_release();
    environment.extend(release.map(|release| ("kernel_release".into(), release.into())));
    let sampled = filtered::sampled(&plan.asked);
    if !sampled.is_empty() {
        // Until the end, when the events are known.
        environment.push(verdict::thinned::of_sampled(&sampled));
    }
    let patterns = filtered::partly(&plan.asked);
    if !patterns.is_empty() {
        environment.push(verdict::thinned::of_filtered(&patterns));
    }
    environment.extend(plan.kernel.iter().filter_map(|kernel| kernel.whose().entry()));
    if let Some(ppm) = job.session.budget {
        environment.push(("budget".into(), super::budget::shown(ppm.into()).into()));
    }
    let clock = calibration.environment().into_iter();
    environment.extend(clock.map(|(name, value)| (name.to_string(), Value::from(value))));
    environment
}
