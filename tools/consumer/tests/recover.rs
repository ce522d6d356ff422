// SPDX-License-Identifier: MIT
//! Recorders that are killed: what they left in shared memory becomes part of the trace, each
//! committed event once, and the rest is counted.

mod support;

use consumer::output::Output;
use consumer::ring::Ring;
use consumer::{Consumer, Options};
use session::directory::{running, Found, Recorder};
use session::segment::{status, Segment};
use session::{Memory, Session};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use support::*;
use verdict::Verdict;

static ALONE: Mutex<()> = Mutex::new(());

/// A recorder in a process of its own, and what it records into.
struct Recording {
    /// A recorder that one test forks would hold the locks that another test has.
    _alone: MutexGuard<'static, ()>,
    pid: i32,
    found: Found,
    memory: Arc<Memory>,
}

impl Recording {
    fn start(name: &str, setup: &Setup) -> Self {
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: the child makes a session, records, and is killed.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            record(name, setup);
        }
        let asked = Instant::now();
        let is_ours = |found: &Found| found.recorder.pid == pid as u32;
        let found = loop {
            if let Some(found) = running().into_iter().find(is_ours) {
                break found;
            }
            assert!(asked.elapsed() < Duration::from_secs(30), "no recorder");
            std::thread::yield_now();
        };
        let key = session::directory::memories(&found.path)[0].key;
        let memory = Segment::attach(session::segment::find(key).unwrap()).unwrap();
        let memory = Arc::new(session::left::memory(&found.path, memory).unwrap());
        Self { _alone: alone, pid, found, memory }
    }

    fn kill(&self) {
        // SAFETY: plain system calls on our own child, which was not waited for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }

    fn output(&self) -> &Path {
        &self.found.recorder.output
    }

    /// A recorder of what was left.
    fn recovery(&self) -> Result<Consumer, String> {
        let session = Session::reopen(&self.found.path).map_err(|error| error.to_string())?;
        let facts = facts(session.memory.fixed().uuid);
        let options = Options { facts, flush_period: Duration::ZERO, limit_bytes: None };
        let output = Output::reopen(self.output()).map_err(|error| error.to_string())?;
        Consumer::recover(Arc::new(session), output, options).map_err(|error| error.to_string())
    }

    /// Recovers, and removes the session.
    fn recover(&self) -> Verdict {
        let mut consumer = self.recovery().unwrap();
        let verdict = consumer.finish(|_, _| {}).unwrap();
        consumer.take_over();
        drop(consumer);
        assert!(!self.found.path.exists());
        verdict
    }
}

fn record(name: &str, setup: &Setup) -> ! {
    let (session, mut consumer, output) = start(name, setup);
    let recorder = Recorder {
        name: "test".into(),
        pid: std::process::id(),
        program: "test".into(),
        program_pid: 1,
        output,
        flight_recorder: setup.flight_recorder,
        kernel: false,
    };
    session.directory.introduce(&recorder).unwrap();
    // Bound: it is killed; where the test dies before, it ends after a minute.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        consumer.tick();
    }
    std::process::exit(1);
}

fn small() -> Setup {
    Setup {
        subbuf_size_bytes: 4096,
        subbuf_count: 8,
        flush_period: Duration::from_micros(200),
        ..Setup::default()
    }
}

/// Steps that were committed, and how many were lost for want of room or with a dead thread.
struct Written {
    steps: Vec<u32>,
    full: u64,
    dead: u64,
}

/// How a thread writes.
#[derive(Clone, Copy)]
struct Pattern {
    kind: Rings,
    /// Between two steps.
    spins: u32,
    /// Steps after the recorder was killed.
    more: u64,
}

/// Writes until `stop`, and some steps after it; now and then a thread dies in a slot.
fn write(memory: &Memory, pattern: Pattern, index: u32, stop: &AtomicBool) -> Written {
    let Pattern { kind, spins, more } = pattern;
    let mut writer = Writer::over(memory, kind);
    let mut written = Written { steps: Vec::new(), full: 0, dead: 0 };
    let mut left = more;
    for step in 0.. {
        if stop.load(Ordering::Relaxed) {
            if left == 0 {
                break;
            }
            left -= 1;
        }
        if step % 97 == 50 && written.dead < 40 {
            let died = std::thread::scope(|scope| {
                let reserve = || {
                    let mut dying = Writer::over(memory, kind);
                    dying.reserve(STEP, &step_payload(9, step, "never committed")).is_some()
                };
                scope.spawn(reserve).join().unwrap()
            });
            written.dead += u64::from(died);
            written.full += u64::from(!died);
        }
        match writer.step(index, step, "text") {
            true => written.steps.push(step),
            false => written.full += 1,
        }
        for _ in 0..spins {
            std::hint::spin_loop();
        }
    }
    written
}

fn check(path: &Path, verdict: &Verdict, written: &[Written]) {
    let lines = babeltrace(path, true);
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); written.len()];
    for (writer, step) in steps(&lines) {
        found[writer as usize].push(step);
    }
    for (index, writer) in written.iter().enumerate() {
        let mut sorted = found[index].clone();
        sorted.sort_unstable();
        assert_eq!(sorted, found[index], "{index}: in their order");
        let differs = sorted.iter().zip(&writer.steps).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{index}: first step found, and committed: {verdict:?}");
        assert_eq!(sorted.len(), writer.steps.len(), "{index}: {verdict:?}");
    }
    let total = |count: fn(&Written) -> u64| written.iter().map(count).sum::<u64>();
    let room = verdict.lost.full + verdict.lost.overflow;
    assert_eq!(room, total(|writer| writer.full), "{verdict:?}");
    assert_eq!(verdict.lost.in_flight, total(|writer| writer.dead), "{verdict:?}");
    let is_count = |line: &String| line.contains(" lost on ");
    assert!(verdict.missing.iter().all(is_count), "{verdict:?}");
    assert_eq!((verdict.unwritten_packets, verdict.damaged_packets), (0, 0), "{verdict:?}");
}

/// LULL_TEST_RECOVERIES: how many recorders are killed.
#[test]
fn killed_recorders_trace_has_every_committed_event_once_and_counts_the_rest() {
    let kills: u64 = std::env::var("LULL_TEST_RECOVERIES").map_or(20, |n| n.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(u64::from(std::process::id()));
    for kill in 0..kills {
        let recording = Recording::start(&format!("recover-{kill}"), &small());
        let stop = AtomicBool::new(false);
        let (memory, stop) = (&recording.memory, &stop);
        // Every other time so fast that the recorder has to free memory before it writes.
        let spins = if kill % 2 == 0 { 300 } else { 0 };
        let more = random.u64(..600);
        let delay = Duration::from_micros(random.u64(..20_000));
        let written: Vec<Written> = std::thread::scope(|scope| {
            let kinds = [Rings::PerCpu, Rings::Plain].into_iter().enumerate();
            let writers: Vec<_> = kinds
                .map(|(index, kind)| {
                    let pattern = Pattern { kind, spins, more };
                    scope.spawn(move || write(memory, pattern, index as u32, stop))
                })
                .collect();
            let begun = Instant::now();
            while begun.elapsed() < delay {
                std::hint::spin_loop();
            }
            recording.kill();
            stop.store(true, Ordering::Relaxed);
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let verdict = recording.recover();
        check(recording.output(), &verdict, &written);
        std::fs::remove_dir_all(recording.output()).unwrap();
    }
}

/// Waits until a recorder has written to a stream.
fn wait_for_packets(recording: &Recording, stream: &str) {
    let file = recording.output().join(stream);
    let asked = Instant::now();
    while std::fs::metadata(&file).map_or(0, |found| found.len()) == 0 {
        assert!(asked.elapsed() < Duration::from_secs(30), "{stream} was not written");
        std::thread::yield_now();
    }
}

fn wrote(memory: &Memory, count: u32) -> Vec<(u32, u32)> {
    let mut writer = Writer::over(memory, Rings::Plain);
    (0..count).map(|step| (0, step)).filter(|(_, step)| writer.step(0, *step, "text")).collect()
}

#[test]
fn session_that_is_not_taken_over_stays_and_a_second_recovery_waits_for_the_first() {
    let recording = Recording::start("recover-twice", &small());
    assert!(recording.recovery().is_err_and(|error| error.contains("at work")), "it lives");
    recording.kill();
    let written = wrote(&recording.memory, 50);
    let first = recording.recovery().unwrap();
    let error = recording.recovery().err().unwrap();
    assert!(error.contains("another `lull recover`"), "{error}");
    drop(first);
    assert!(recording.found.path.exists() && status(recording.memory.id().unwrap()).is_ok());
    // One that ends after it has read, and before it has removed the session.
    recording.recovery().unwrap().finish(|_, _| {}).unwrap();
    assert!(recording.found.path.exists());
    recording.recover();
    assert_eq!(steps(&babeltrace(recording.output(), false)), written);
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn program_that_still_runs_records_nothing_more_once_its_session_is_recovered() {
    let recording = Recording::start("recover-running", &small());
    recording.kill();
    let written = wrote(&recording.memory, 50);
    let consumer = recording.recovery().unwrap();
    assert!(!recording.memory.is_active());
    drop(consumer);
    recording.recover();
    assert_eq!(steps(&babeltrace(recording.output(), false)), written);
    assert!(
        status(recording.memory.id().unwrap()).is_err() || wrote(&recording.memory, 1).len() == 1
    );
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn sub_buffer_that_the_recorder_had_taken_and_not_yet_written_is_in_the_trace() {
    let recording = Recording::start("recover-taken", &small());
    recording.kill();
    let memory = &recording.memory;
    let stop = AtomicBool::new(true);
    // Enough for a dead thread's hole in the first sub-buffer, and for the second to be opened.
    let pattern = Pattern { kind: Rings::Plain, spins: 300, more: 150 };
    let written = write(memory, pattern, 0, &stop);
    assert_eq!((written.full, written.dead), (0, 2));
    let mut ring = Ring::attach(memory, memory.ring_count() - 1).unwrap();
    let stuck = ring.stuck().unwrap();
    assert!(ring.take(&stuck, None).unwrap().is_some());
    // It has counted the hole, too.
    ring.count_in_flight(1);
    drop(ring);
    let verdict = recording.recover();
    check(recording.output(), &verdict, &[written]);
    std::fs::remove_dir_all(recording.output()).unwrap();
}

/// Fills a ring, part of whose first sub-buffer is on disk, and does as a pressed recorder does
/// before it is killed: two sub-buffers are copied and given back, and filled again.
fn held(name: &str) -> (Recording, Vec<(u32, u32)>) {
    let recording = Recording::start(name, &small());
    let memory = &recording.memory;
    let mut writer = Writer::over(memory, Rings::Plain);
    let mut written: Vec<(u32, u32)> = (0..20).map(|step| (0, step)).collect();
    assert!(written.iter().all(|(_, step)| writer.step(0, *step, "text")));
    wait_for_packets(&recording, "stream-any0");
    recording.kill();
    let fill = |writer: &mut Writer, written: &mut Vec<(u32, u32)>| {
        for step in written.len() as u32.. {
            if !writer.step(0, step, "text") {
                break;
            }
            written.push((0, step));
        }
    };
    fill(&mut writer, &mut written);
    let mut ring = Ring::attach(memory, memory.ring_count() - 1).unwrap();
    assert!(ring.hold().is_some() && ring.hold().is_some());
    let before = written.len();
    fill(&mut writer, &mut written);
    assert!(written.len() > before, "there is room again");
    (recording, written)
}

#[test]
fn sub_buffers_that_were_copied_and_given_back_and_not_yet_written_are_in_the_trace() {
    let (recording, written) = held("recover-held");
    let verdict = recording.recover();
    assert_eq!(steps(&babeltrace(recording.output(), true)), written, "{verdict:?}");
    assert_eq!((verdict.lost.full, verdict.missing.len()), (2, 1), "{verdict:?}");
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn copies_that_a_process_wrote_over_are_said_to_be_missing() {
    let (recording, written) = held("recover-held-hostile");
    let (memory, setup) = (&recording.memory, small());
    let size = setup.subbuf_size_bytes as usize;
    for spare in setup.subbuf_count..memory.fixed().physical_count {
        // SAFETY: whole physical sub-buffers of the ring, which nobody uses.
        unsafe {
            let data = memory.ring_data(memory.ring_count() - 1);
            data.add(spare as usize * size).write_bytes(0, size);
        }
    }
    let verdict = recording.recover();
    let found = steps(&babeltrace(recording.output(), true));
    assert!(found.len() > 20 && written.ends_with(&found[20..]), "{verdict:?}");
    let is_told = |line: &String| line.starts_with("2 sub-buffers of events on shared ring 0");
    assert!(verdict.missing.iter().any(is_told), "{verdict:?}");
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn what_stands_in_the_file_beyond_the_recorders_last_word_goes() {
    let recording = Recording::start("recover-beyond", &small());
    let mut written = wrote(&recording.memory, 20);
    wait_for_packets(&recording, "stream-any0");
    recording.kill();
    let mut writer = Writer::over(&recording.memory, Rings::Plain);
    assert!(writer.step(0, 20, "text"));
    written.push((0, 20));
    let file = recording.output().join("stream-any0");
    let mut bytes = std::fs::read(&file).unwrap();
    // A packet twice, and a part of another, as after a kill in the middle of writing.
    bytes.extend(bytes.clone());
    bytes.extend([0x5a; 5000]);
    std::fs::write(&file, bytes).unwrap();
    let verdict = recording.recover();
    assert_eq!(steps(&babeltrace(recording.output(), false)), written, "{verdict:?}");
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn thread_that_wrote_before_and_after_the_kill_is_named_again_where_the_trace_goes_on() {
    let recording = Recording::start("recover-thread", &small());
    // SAFETY: plain system calls on a local set; the test's own thread stays on one CPU.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(0, &mut set);
        assert_eq!(libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set), 0);
    }
    let mut writer = Writer::over(&recording.memory, Rings::PerCpu);
    assert!(writer.step(0, 0, "text"));
    wait_for_packets(&recording, "stream-cpu0");
    recording.kill();
    assert!(writer.step(0, 1, "text"));
    recording.recover();
    let lines = babeltrace(recording.output(), false);
    assert_eq!(steps(&lines), [(0, 0), (0, 1)]);
    assert_eq!(lines.iter().filter(|line| line.contains("lull:thread")).count(), 2, "{lines:?}");
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn flight_recorder_that_was_killed_leaves_one_more_snapshot() {
    let recording = Recording::start("recover-flight", &Setup { flight_recorder: true, ..small() });
    let written = wrote(&recording.memory, 5000);
    recording.kill();
    std::fs::create_dir(recording.output().join("snapshot-4")).unwrap();
    let verdict = recording.recover();
    assert_eq!(verdict.trace, recording.output().join("snapshot-5"));
    let found = steps(&babeltrace(&verdict.trace, true));
    assert!(found.len() > 450, "{} {verdict:?}", found.len());
    assert!(written.ends_with(&found), "the newest of them, in their order");
    std::fs::remove_dir_all(recording.output()).unwrap();
}

#[test]
fn words_that_no_recorder_wrote_lose_no_event_and_the_trace_says_so() {
    for hostile in
        [(1_u64, 0_u64, 0_u64), (u64::MAX, 0, 0), (120, 7, 1), (0, u64::MAX, 0), (0, 0, 5)]
    {
        let recording = Recording::start("recover-hostile", &small());
        let written = wrote(&recording.memory, 40);
        wait_for_packets(&recording, "stream-any0");
        recording.kill();
        let ring = recording.memory.ring_count() - 1;
        // SAFETY: words of the ring: struct lull_ring_shared.
        let shared =
            unsafe { &*recording.memory.ring_control(ring).cast::<session::abi::RingShared>() };
        for at in 0..2 {
            shared.recorded_count[at].store(hostile.0, Ordering::Relaxed);
            shared.recorded_bytes[at].store(hostile.1, Ordering::Relaxed);
            shared.recorded_packets[at].store(hostile.2, Ordering::Relaxed);
        }
        let verdict = recording.recover();
        let mut found = steps(&babeltrace(recording.output(), true));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, written, "{hostile:?}");
        if hostile != (0, 0, 5) {
            assert!(verdict.missing.iter().any(|line| line.contains("twice")), "{verdict:?}");
        }
        std::fs::remove_dir_all(recording.output()).unwrap();
    }
}

#[test]
fn trace_that_is_gone_is_an_error_and_the_session_stays() {
    let recording = Recording::start("recover-gone", &small());
    recording.kill();
    std::fs::remove_dir_all(recording.output()).unwrap();
    assert!(recording.recovery().is_err());
    assert!(!PathBuf::from(recording.output()).exists(), "nothing is made");
    let session = Session::reopen(&recording.found.path).unwrap();
    session.take_over();
}
