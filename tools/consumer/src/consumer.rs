// SPDX-License-Identifier: MIT
//! All rings of a session, on a timer: what to read next, when to flush, when to stop.
//!
//! Place in the flow: `lull record` ticks it while the program runs and finishes it when the
//! program has ended. No ring wakes the recorder: probes make no system calls, and the timer
//! looks as often as the rings fill (`pace`; B 4.3.2, ReadPoll). `turn` says what is read first.

mod budget;
mod change;
mod channel;
mod close;
mod counts;
mod kernel;
mod live;
mod module;
mod pause;
mod recover;
mod snapshot;
mod turn;
mod users;

use crate::clock::{end_cycles, now_cycles};
use crate::drain::{Drain, OpenSlots, Tally, Tools};
use crate::filtered::{filtered, Filtered};
use crate::lives::Absent;
use crate::metadata::Facts;
use crate::output::{Output, Trace};
use crate::ring::Ring;
use crate::stream::{Budget, Stream};
use crate::walk::Walker;
pub use change::ChangeError;
use change::Changes;
use channel::{channels, judge_stream, ring_name, Channel};
pub use counts::{CountedEvent, Counts};
pub use module::name_functions;
pub use pause::PauseError;
use pause::Pauses;
use session::abi::{
    ControlLive, LOST_CAUSES, LOST_FULL, LOST_IN_FLIGHT, LOST_OVERFLOW, LOST_TOO_BIG,
};
use session::clock::Calibration;
use session::{Memory, Session};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace::{stream_files_text, STREAM_FILES};
pub use users::User;
use verdict::environment::{Environment, Value};
use verdict::{Lost, Sites, State, Verdict};

/// How often to look at flight recorders, and for users whose processes have joined.
const CALM_PAUSE: Duration = Duration::from_millis(10);
/// How long the end of a recording waits for threads that have a slot open.
const FINISH_PATIENCE: Duration = Duration::from_secs(1);
const FINISH_PAUSE: Duration = Duration::from_micros(500);
/// Different problems that a verdict lists; a hostile program must not fill it.
const PROBLEMS_MAX: usize = 20;

pub struct Options {
    pub facts: Facts,
    pub flush_period: Duration,
    /// None: as much as the disk takes.
    pub limit_bytes: Option<u64>,
}

/// What has happened so far, for a progress line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    pub events: u64,
    pub bytes: u64,
    pub lost: u64,
}

impl Progress {
    /// Adds what was counted of one stream.
    fn add(&mut self, tally: &Tally, lost: [u64; LOST_CAUSES]) {
        self.events += tally.events;
        let lost = lost_of(lost).total().saturating_add(tally.unwritten_events);
        self.lost = self.lost.saturating_add(lost);
    }
}

/// Process identifiers that Linux gives out.
const PROCESSES_MAX: u32 = 1 << 22;

/// What a recording saw, beside what is in the verdict already.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Whether any process attached to the session.
    pub joined: bool,
    /// Processes that recorded events.
    pub pids: HashSet<u32>,
    /// Processes that were started and recorded nothing.
    pub absent: Vec<Absent>,
    /// Further ones that were only counted.
    pub absent_more: u64,
    /// Starts of processes that could not be followed, because there were too many at a time.
    pub unwatched: u64,
    /// Starts by processes whose number is not known.
    pub unnumbered: u64,
    /// Whether all that was recorded was seen: nothing was overwritten or cut off.
    pub is_whole: bool,
    /// Whether nothing was recorded for a while.
    pub was_paused: bool,
    /// Names and levels of the events that some process had enabled.
    pub events: Vec<(String, u8)>,
    /// The events of programs that have a filter.
    pub filtered: Vec<Filtered>,
}

pub struct Consumer {
    /// One per user, the recorder's own user first.
    memories: Vec<Arc<Memory>>,
    channels: Vec<Channel>,
    tools: Tools,
    output: Arc<Output>,
    options: Options,
    start_cycles: u64,
    started: Instant,
    flushed: Instant,
    /// When users were last looked for.
    met: Instant,
    /// When a sub-buffer was last read.
    moved: Instant,
    queue: turn::Queue,
    /// Whether recording goes on, be it paused.
    active: bool,
    pauses: Pauses,
    changes: Changes,
    /// None: events cost what they cost.
    budget: Option<budget::Budget>,
    throttles: budget::Throttles,
    snapshots: u64,
    problems: Vec<String>,
    /// Rings that could not be closed when the session was stopped.
    unclosed: Vec<String>,
    /// None: no events are read from tracefs. It is given back before the session is.
    kernel: Option<kernel::Kernel>,
    /// None: no module records the kernel's events.
    module: Option<module::Module>,
    /// Its directory, which names all memory, is removed after that.
    session: Arc<Session>,
}

impl Consumer {
    /// Gives every ring its first state and writes the first metadata; before any writer.
    pub fn start(
        session: Arc<Session>,
        output: Output,
        options: Options,
    ) -> Result<Self, crate::Error> {
        let memory = Arc::clone(&session.memory);
        let fixed = *memory.fixed();
        if !crate::clock::start(fixed.clock_kind) {
            return Err(crate::Error::Clock { kind: fixed.clock_kind });
        }
        let start_cycles = now_cycles();
        let output = Arc::new(output);
        let mut channels = channels(&memory, 0, output.folder(), start_cycles, Ring::attach)?;
        for channel in &mut channels {
            channel.drain.ring.reset(0);
        }
        let walker = Walker::new(Arc::clone(&memory));
        let limit_bytes = options.limit_bytes.unwrap_or(u64::MAX);
        let budget = Budget { used_bytes: 0, limit_bytes };
        let mut tools = Tools::new(walker, budget, false);
        let is_trace = memory.counts_layout().is_none();
        if fixed.mode == session::abi::MODE_DISCARD && is_trace {
            let facts = options.facts.clone();
            let output = Arc::clone(&output);
            tools.trace = Some(Trace::start(output, facts, &tools.walker.classes())?);
        }
        let now = Instant::now();
        Ok(Self {
            session,
            memories: vec![memory],
            channels,
            tools,
            output,
            options,
            start_cycles,
            started: now,
            flushed: now,
            met: now,
            moved: now,
            queue: turn::Queue::default(),
            active: true,
            pauses: Pauses::default(),
            changes: Changes::default(),
            budget: None,
            throttles: budget::Throttles::default(),
            snapshots: 0,
            problems: Vec::new(),
            unclosed: Vec::new(),
            kernel: None,
            module: None,
        })
    }

    /// The directory of the recording.
    pub fn output(&self) -> &Output {
        &self.output
    }

    fn is_flight_recorder(&self) -> bool {
        self.session.memory.fixed().mode != session::abi::MODE_DISCARD
    }

    /// Reads the rings of a memory from now on, in turn with all others.
    fn rings(&self, memory: &Arc<Memory>) -> Result<Vec<Channel>, crate::Error> {
        let source = self.tools.walker.next_source();
        channels(memory, source, self.output.folder(), self.start_cycles, Ring::attach)
    }

    fn add_rings(&mut self, memory: &Arc<Memory>, rings: Vec<Channel>) {
        self.channels.extend(rings);
        self.tools.walker.add(Arc::clone(memory));
    }

    /// The segments of all users' memory.
    pub fn segments(&self) -> Vec<i32> {
        self.memories.iter().filter_map(|memory| memory.id()).collect()
    }

    /// Gives buffers their memory where writers come near to what has none. Return: whether there
    /// may be more to do.
    pub fn allocate(&self) -> session::Result<bool> {
        // Bound: USERS_MAX.
        for memory in &self.memories {
            if memory.populate_ahead()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether recording goes on, be it paused.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Stops the probes of all users' processes.
    pub fn stop_probes(&mut self) {
        self.active = false;
        for memory in &self.memories {
            memory.set_active(false);
        }
        self.stop_kernel();
    }

    /// Reads what there is. Return: when to come back.
    pub fn tick(&mut self) -> Duration {
        if self.met.elapsed() >= CALM_PAUSE {
            self.met = Instant::now();
            self.meet_users();
            self.check_flags();
        }
        if self.is_flight_recorder() {
            return self.tick_flight_recorder();
        }
        if self.tools.limit_reached {
            return Duration::from_secs(1);
        }
        let now_ns = self.now_ns();
        for channel in &mut self.channels {
            channel.pace.note(now_ns, &channel.drain.ring.level());
        }
        self.take_turn();
        let is_due = self.flushed.elapsed() >= self.options.flush_period;
        let kernel_pause = self.look_at_kernel(is_due);
        if is_due {
            self.flushed = Instant::now();
            for channel in &mut self.channels {
                channel.drain.flush_open(&mut self.tools, &mut channel.stream, OpenSlots::Wait);
            }
        }
        if self.tools.limit_reached {
            self.stop_probes();
        }
        self.pause().min(kernel_pause)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn tick_flight_recorder(&mut self) -> Duration {
        let Self { channels, tools, problems, .. } = self;
        for channel in channels {
            if let Err(problem) = channel.drain.clear_way(tools) {
                note(problems, problem);
            }
        }
        CALM_PAUSE
    }

    pub fn progress(&self) -> Progress {
        let mut progress = Progress { bytes: self.tools.budget.used_bytes, ..Progress::default() };
        for Channel { drain, .. } in &self.channels {
            progress.add(&drain.tally, drain.ring.lost());
        }
        self.add_kernel_progress(&mut progress);
        progress
    }

    /// Adds a sentence to what the verdict says is missing.
    pub fn give_up(&mut self, problem: String) {
        note(&mut self.problems, problem);
    }

    pub fn limit_reached(&self) -> bool {
        self.tools.limit_reached
    }

    /// Makes times of what is written from now on follow a later calibration.
    pub fn calibrate(&mut self, calibration: &Calibration) {
        let told: Environment = calibration
            .environment()
            .into_iter()
            .map(|(name, value)| (name.to_string(), value.into()))
            .collect();
        let trace = self.tools.trace.as_mut().map(|trace| &mut trace.facts);
        for facts in std::iter::once(&mut self.options.facts).chain(trace) {
            facts.clock = calibration.ctf();
            facts.environment.retain(|(name, _)| !told.iter().any(|(other, _)| other == name));
            facts.environment.extend(told.iter().cloned());
        }
    }

    /// Tells of the process that is about to run `program`, so that it is missed if it never joins.
    pub fn expect(&mut self, pid: u32, program: &str) {
        self.tools.walker.threads.lives.expect(pid, program, self.start_cycles);
        self.expect_in_kernel(pid, program);
    }

    /// What the rings told; the caller, which can look at the machine, judges it.
    fn seen(&mut self) -> Seen {
        let (absent, absent_more) = self.tools.walker.threads.absent();
        let kernel_events = self.kernel_events();
        let joined = |memory: &Arc<Memory>| memory.live().process_count.load(Ordering::Relaxed) > 0;
        Seen {
            joined: self.memories.iter().any(joined),
            pids: self.tools.walker.threads.pids(),
            absent,
            absent_more,
            unwatched: self.tools.walker.threads.lives.unwatched_count(),
            unnumbered: self.tools.walker.threads.lives.unnumbered_count(),
            was_paused: !self.pauses().is_empty(),
            is_whole: !self.tools.limit_reached && !self.is_flight_recorder(),
            events: self.tools.walker.enabled_events().into_iter().chain(kernel_events).collect(),
            filtered: self.memories.iter().flat_map(|memory| filtered(memory)).collect(),
        }
    }

    /// Stops all probes, reads everything that is left, and completes the trace. `adjust` adds
    /// what the caller knows before the verdict is written; it is told what was seen.
    pub fn finish(
        &mut self,
        adjust: impl FnOnce(&mut Verdict, Seen),
    ) -> Result<Verdict, crate::Error> {
        self.meet_users();
        self.stop_probes();
        self.close_rings();
        if self.is_flight_recorder() {
            self.output.release();
            return self.write_last_snapshot(adjust);
        }
        self.finish_kernel();
        self.drain_all(FINISH_PATIENCE, true);
        let mut verdict = self.verdict(self.output.path().to_path_buf());
        self.name_functions(&mut verdict);
        let seen = self.seen();
        adjust(&mut verdict, seen);
        verdict.conclude(self.tools.limit_reached);
        self.write_verdict(&mut verdict);
        Ok(verdict)
    }

    fn write_verdict(&mut self, verdict: &mut Verdict) {
        let Some(trace) = &mut self.tools.trace else { return };
        let files = verdict.files.iter().map(|(name, bytes)| (name.as_str(), *bytes));
        let mut environment = verdict.environment();
        environment.push((STREAM_FILES.into(), Value::Text(stream_files_text(files))));
        if let Err(error) = trace.finish(&self.tools.walker.classes(), environment) {
            let what = "the trace's metadata could not be completed";
            verdict.missing.push(verdict.because(what, &error.to_string()));
            verdict.state = State::Incomplete;
        }
    }

    /// Reads every ring to its end, waiting at most `patience` for threads in the middle of an
    /// event. `last`: after that, what they have not finished is lost.
    fn drain_all(&mut self, patience: Duration, last: bool) {
        let until = Instant::now() + patience;
        let mut open: Vec<usize> = (0..self.channels.len()).collect();
        loop {
            let patient = Instant::now() < until;
            let Self { channels, tools, problems, .. } = self;
            open.retain(|index| {
                let Channel { drain, stream, .. } = &mut channels[*index];
                !drain_to_end(drain, stream, tools, problems, patient, last)
            });
            if open.is_empty() || !patient {
                break;
            }
            std::thread::sleep(FINISH_PAUSE);
        }
        for Channel { drain, stream, .. } in &mut self.channels {
            // Where that is not known, it is the end of the stream.
            drain.write_lost(&mut self.tools, stream, end_cycles().unwrap_or(0));
        }
    }

    /// What was counted so far.
    fn verdict(&self, path: PathBuf) -> Verdict {
        let threads = &self.tools.walker.threads;
        let mut verdict = Verdict::new(path);
        let mut cpus = HashSet::new();
        for Channel { memory, drain, stream, .. } in &self.channels {
            let tally = &drain.tally;
            let name = ring_name(memory, drain.ring.index);
            if drain.ring.is_kernels() {
                verdict.kernel_events += tally.events;
            }
            if tally.events > 0 && !memory.ring_is_plain(drain.ring.index) {
                cpus.insert(drain.ring.index);
            }
            judge_stream(&mut verdict, &name, stream, tally, drain.ring.lost());
            if drain.ring.is_overwritten() {
                verdict.missing.push(format!(
                    "events lost on {name} that are in no count: a process that shares the ring \
                     wrote over its counts of lost events"
                ));
            }
        }
        self.judge_kernel(&mut verdict, &mut cpus);
        verdict.missing.extend(self.missing_of_module());
        // What a crash left is judged by `lull recover`, which reads all of the trace.
        if !self.session.memory.is_past() {
            self.tools.walker.dumps().judge(&mut verdict);
        }
        verdict.cpus = cpus.len() as u64;
        for memory in &self.memories {
            if !add_counts(&mut verdict, memory.live(), self.changes.rules_count()) {
                verdict.missing.push(format!(
                    "sites and processes of user {} that are in no count: a process wrote over \
                     the session's counts",
                    memory.fixed().user_id
                ));
            }
        }
        verdict.limits.extend(pause::sentence(self.pauses()));
        verdict.limits.extend(close::sentence(&self.unclosed));
        verdict.pauses = self.pauses().to_vec();
        verdict.limits.extend(change::sentence(self.changes.list()));
        verdict.changes = self.changes.list().to_vec();
        verdict.sampled = self.sampled();
        self.judge_budget(&mut verdict);
        verdict.processes = threads.process_count();
        verdict.threads = threads.thread_count();
        verdict.duration_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        verdict.missing.extend(self.problems.iter().cloned());
        if let Some(error) = self.tools.trace.as_ref().and_then(|trace| trace.last_error.as_ref()) {
            let note = verdict.because("metadata could not be updated while recording", error);
            verdict.notes.push(note);
        }
        if !self.output.is_at_its_path() {
            verdict.notes.push(format!(
                "{} was moved, removed or replaced while recording; the trace is in the \
                 directory that was there at the beginning",
                self.output.path().display()
            ));
        }
        if !self.session.memory.is_past() && !self.session.directory.reachable() {
            verdict.missing.push(format!(
                "the session directory {} was removed while recording: programs started after \
                 that are not in the trace",
                self.session.path().display()
            ));
        }
        verdict
    }
}

/// What a ring's words, or a packet's header, say of losses.
pub fn lost_of(words: [u64; LOST_CAUSES]) -> Lost {
    Lost {
        full: words[LOST_FULL],
        overflow: words[LOST_OVERFLOW],
        too_big: words[LOST_TOO_BIG],
        in_flight: words[LOST_IN_FLIGHT],
    }
}

/// Reads one ring as far as it goes. Return: whether that is to its end.
fn drain_to_end(
    drain: &mut Drain,
    stream: &mut Stream,
    tools: &mut Tools,
    problems: &mut Vec<String>,
    patient: bool,
    last: bool,
) -> bool {
    let open_slots = match (last, patient) {
        (false, _) => OpenSlots::Cut,
        (true, true) => OpenSlots::Wait,
        (true, false) => OpenSlots::Lose,
    };
    if drain.ring.is_flight_recorder() {
        let closed = drain.look_at_closed(tools, stream, patient, last);
        return (closed && drain.flush_open(tools, stream, open_slots)) || tools.limit_reached;
    }
    // Bound: no more than a buffer's worth is there, and what comes meanwhile.
    for _ in 0..2 * drain.ring.subbuf_count() {
        let count = drain.drain_full(tools, stream, drain.ring.subbuf_count());
        let rescued = match drain.rescue(tools, Some(&mut *stream), patient) {
            Ok(rescued) => rescued,
            Err(problem) => {
                note(problems, problem);
                return !patient;
            }
        };
        if count == 0 && !rescued {
            break;
        }
    }
    let closed = drain.ring.stuck().is_none();
    let flushed = drain.flush_open(tools, stream, open_slots);
    tools.limit_reached || (closed && flushed)
}

fn note(problems: &mut Vec<String>, problem: String) {
    if problems.len() < PROBLEMS_MAX && !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// Adds what the processes of one user counted. Return: false, and nothing is added, when these
/// are not counts that processes made.
fn add_counts(verdict: &mut Verdict, live: &ControlLive, rules_count: u64) -> bool {
    let count = |word: &AtomicU32| word.load(Ordering::Relaxed);
    let sites = Sites {
        // Processes add to what they saw first, so it is read last.
        enabled: count(&live.enabled_count),
        unpatched: count(&live.unpatched_count),
        unregistered: count(&live.unregistered_count),
        seen: count(&live.site_count),
    };
    let refused = count(&live.refused_count);
    let marked = u64::from(sites.enabled) + u64::from(sites.unpatched);
    // A site counts anew each time that other rules enable it.
    let most = u64::from(sites.seen).saturating_mul(rules_count);
    if marked > most || refused > PROCESSES_MAX {
        return false;
    }
    let total = &mut verdict.sites;
    total.seen = total.seen.saturating_add(sites.seen);
    total.enabled = total.enabled.saturating_add(sites.enabled);
    total.unpatched = total.unpatched.saturating_add(sites.unpatched);
    total.unregistered = total.unregistered.saturating_add(sites.unregistered);
    verdict.refused_processes += u64::from(refused);
    true
}
