// SPDX-License-Identifier: MIT
//! Functions called in real programs, which check themselves meanwhile (`victim.c`).

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tracee::{Error, Loader, Object, Stopped, Tracee, Visit};

/// How long a process may go on loading libraries.
const PATIENCE: Duration = Duration::from_secs(5);

fn victim() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("victim-{}", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/victim.c");
        let built = Command::new("cc")
            .args(["-O2", "-mavx2", "-pthread", "-rdynamic", "-o"])
            .args([path.as_os_str(), source.as_ref()])
            .status();
        assert!(built.unwrap().success());
        let library = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-DLATE", "-o"])
            .args([path.with_extension("so").as_os_str(), source.as_ref()])
            .status();
        assert!(library.unwrap().success());
        path
    })
}

/// A victim that runs, and ends with this.
struct Victim {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Victim {
    fn start(mode: &str, threads: u32) -> Self {
        let mut victim = Self::begin(mode, threads);
        victim.wait_for_ready();
        victim
    }

    /// Starts one, which may be at any moment of its start.
    fn begin(mode: &str, threads: u32) -> Self {
        let mut child = Command::new(victim())
            .args([mode, &threads.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until it has said something.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn wait_for_ready(&mut self) {
        assert_eq!(self.line(), "ready\n");
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the process is our child, and not waited for yet.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    fn state(&self) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        text.rsplit(')').next().unwrap().trim().chars().take(1).collect()
    }

    /// Ends it. Return: the number after that word in what it says of itself.
    fn end(mut self, word: &str) -> u64 {
        self.signal(libc::SIGTERM);
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        let mut words = said.split_whitespace().skip_while(|found| *found != word);
        words.nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open(victim: &Victim) -> (Tracee, Object) {
    let tracee = Tracee::open(victim.child.id()).unwrap();
    let object = tracee.object(|name| name.starts_with("victim-")).unwrap().unwrap();
    (tracee, object)
}

fn function(tracee: &Tracee, name: &str) -> u64 {
    let object = tracee.object(|file| file.starts_with("victim-")).unwrap().unwrap();
    object.function(tracee.memory(), name).unwrap().address
}

fn errno_location(tracee: &Tracee) -> u64 {
    let library = tracee.object(|name| name == "libc.so.6").unwrap().unwrap();
    library.function(tracee.memory(), "__errno_location").unwrap().address
}

/// Calls it that often, each time in a visit of its own.
fn call_often(tracee: &Tracee, name: &str, count: u64) {
    let (called, errno) = (function(tracee, name), errno_location(tracee));
    for round in 0..count {
        let result = tracee.visit(&Visit::default(), |stopped: &mut Stopped| {
            stopped.keep_errno(errno);
            stopped.call(called, &[round, 1, 1, 1, 1, 1]).map(Some)
        });
        assert_eq!(result.unwrap(), round as i64 + 20);
    }
}

#[test]
fn threads_that_compute_and_block_all_signals_keep_registers_vectors_errno_and_red_zone() {
    let victim = Victim::start("compute", 8);
    let (tracee, _) = open(&victim);
    call_often(&tracee, "victim_called", 200);
    assert_eq!(victim.end("called"), 200);
}

#[test]
fn several_calls_in_one_visit_return_and_leave_no_memory_behind() {
    let victim = Victim::start("compute", 2);
    let (tracee, _) = open(&victim);
    let called = function(&tracee, "victim_called");
    let before = tracee.mappings().unwrap();
    let sum = tracee.visit(&Visit::default(), |stopped| {
        let text = stopped.text(c"a text")?;
        assert_eq!(tracee.memory().read_text(text).unwrap(), b"a text");
        let mut sum = 0;
        for number in 0..10 {
            sum += stopped.call(called, &[number])?;
        }
        Ok(Some(sum))
    });
    assert_eq!(sum.unwrap(), 45);
    assert_eq!(tracee.mappings().unwrap(), before);
    victim.end("called");
}

#[test]
fn sleep_wait_and_read_go_on_as_if_nothing_had_been() {
    for mode in ["sleep", "futex", "epoll"] {
        let victim = Victim::start(mode, 0);
        let (tracee, _) = open(&victim);
        call_often(&tracee, "victim_called", 100);
        assert_eq!(victim.end("called"), 100, "{mode}");
    }
}

#[test]
fn signals_that_come_meanwhile_are_delivered() {
    let victim = Victim::start("read", 0);
    let (tracee, _) = open(&victim);
    let called = function(&tracee, "victim_called");
    for _ in 0..100 {
        victim.signal(libc::SIGALRM);
        let visited = tracee.visit(&Visit::default(), |stopped| {
            let result = stopped.call(called, &[1])?;
            victim.signal(libc::SIGALRM);
            stopped.call(called, &[result as u64]).map(Some)
        });
        visited.unwrap();
        // Two of one signal that come together are one.
        let text = std::fs::read_to_string(format!("/proc/{}/status", victim.child.id())).unwrap();
        assert!(!text.contains("ShdPnd:\t0000000000002000") || victim.state() == "R");
    }
    assert!(victim.end("alarms") >= 100);
}

#[test]
fn stopped_process_does_the_work_and_stays_stopped() {
    let victim = Victim::start("sleep", 3);
    victim.signal(libc::SIGSTOP);
    let stopped = || {
        let begun = Instant::now();
        while victim.state() != "T" && begun.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        victim.state()
    };
    assert_eq!(stopped(), "T");
    let (tracee, _) = open(&victim);
    call_often(&tracee, "victim_called", 5);
    assert_eq!(stopped(), "T");
    victim.signal(libc::SIGCONT);
    assert_eq!(victim.end("called"), 5);
}

/// A thread holds what it holds until the process goes on: nothing is waited for.
#[test]
fn process_that_was_just_stopped_is_told_from_one_that_holds_locks() {
    let victim = Victim::start("sleep", 3);
    let (tracee, _) = open(&victim);
    let loader = Loader::find(&tracee, PATIENCE).unwrap();
    for _ in 0..50 {
        victim.signal(libc::SIGSTOP);
        let visited = tracee.visit_safely(&Visit::default(), &loader, |stopped| {
            assert!(!stopped.is_with_all());
            Ok(())
        });
        assert!(matches!(visited, Ok(()) | Err(Error::Stopped { .. })), "{visited:?}");
        let is_with_all = tracee.visit(&Visit::default(), |stopped| {
            Ok(Some(stopped.is_with_all()).filter(|is_with_all| *is_with_all))
        });
        assert!(is_with_all.unwrap());
        victim.signal(libc::SIGCONT);
    }
    let is_with_all = tracee.visit(&Visit::default(), |stopped| Ok(Some(stopped.is_with_all())));
    assert!(!is_with_all.unwrap());
}

/// Each call adds one to the word that the sequence reads, waits with, and stores.
#[test]
fn thread_in_a_restartable_sequence_starts_it_anew() {
    let victim = Victim::start("rseq", 0);
    let (tracee, _) = open(&victim);
    let bump = function(&tracee, "victim_bump");
    for _ in 0..200 {
        tracee.visit(&Visit::default(), |stopped| stopped.call(bump, &[]).map(Some)).unwrap();
    }
    victim.signal(libc::SIGTERM);
    let mut victim = victim;
    let mut said = String::new();
    victim.output.read_to_string(&mut said).unwrap();
    let number = |word: &str| -> u64 {
        let mut words = said.split_whitespace().skip_while(|found| *found != word);
        words.nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(number("word"), number("own") + 200, "{said}");
}

/// Whether a thread of a victim in that mode may load a library.
fn may_load(mode: &str) -> bool {
    let victim = Victim::start(mode, 0);
    let (tracee, _) = open(&victim);
    let loader = Loader::find(&tracee, PATIENCE).unwrap();
    let visited = tracee.visit_safely(&Visit::default(), &loader, |_| Ok(()));
    victim.end("called");
    match visited {
        Ok(()) => true,
        Err(Error::Unsafe { .. }) => false,
        Err(error) => panic!("{mode}: {error}"),
    }
}

#[test]
fn former_calls_that_a_stack_still_shows_do_not_keep_a_waiting_thread_from_loading() {
    assert!(may_load("allocated"));
    assert!(may_load("looked"));
}

#[test]
fn thread_that_the_linker_waits_for_may_not_load() {
    assert!(!may_load("loading"));
}

#[test]
fn fault_of_a_call_is_told_and_the_thread_goes_on() {
    let victim = Victim::start("compute", 0);
    let (tracee, _) = open(&victim);
    let faults = function(&tracee, "victim_faults");
    let called = function(&tracee, "victim_called");
    let visited = tracee.visit(&Visit::default(), |stopped| {
        let faulted = stopped.call(faults, &[]);
        // The thread can be made to call again.
        assert_eq!(stopped.call(called, &[7, 1, 1, 1, 1, 1])?, 27);
        faulted.map(Some)
    });
    assert!(matches!(visited, Err(Error::Faulted { signal: libc::SIGSEGV, .. })), "{visited:?}");
    call_often(&tracee, "victim_called", 3);
    victim.end("called");
}

#[test]
fn call_that_lasts_is_left_to_the_thread_which_comes_back_by_itself() {
    let victim = Victim::start("compute", 0);
    let (tracee, _) = open(&victim);
    let slow = function(&tracee, "victim_slow");
    let visit = Visit { call_limit: Duration::from_millis(20), ..Visit::default() };
    let visited = tracee.visit(&visit, |stopped| stopped.call(slow, &[300]).map(Some));
    assert!(matches!(visited, Err(Error::Unfinished { .. })), "{visited:?}");
    call_often(&tracee, "victim_called", 3);
    assert_eq!(victim.end("called"), 3);
}

#[test]
fn process_that_is_killed_meanwhile_is_told() {
    let victim = Victim::start("compute", 4);
    let (tracee, _) = open(&victim);
    let slow = function(&tracee, "victim_slow");
    let visited = tracee.visit(&Visit::default(), |stopped| {
        victim.signal(libc::SIGKILL);
        stopped.call(slow, &[5000]).map(Some)
    });
    assert!(matches!(visited, Err(Error::Ended { .. })), "{visited:?}");
    assert!(matches!(
        tracee.visit(&Visit::default(), |_| Ok(Some(()))),
        Err(Error::Ended { .. } | Error::Late { .. })
    ));
}

#[test]
fn process_that_has_executed_a_program_is_not_called_by_what_it_was_before() {
    let mut victim = Victim::start("sleep", 0);
    let (tracee, _) = open(&victim);
    let called = function(&tracee, "victim_called");
    let loader = Loader::find(&tracee, PATIENCE).unwrap();
    victim.signal(libc::SIGUSR1);
    victim.wait_for_ready();
    let visited = tracee.visit(&Visit::default(), |stopped| stopped.call(called, &[1]).map(Some));
    assert!(matches!(visited, Err(Error::Executed { .. })), "{visited:?}");
    let begun = Instant::now();
    let visited = tracee.visit_safely(&Visit::default(), &loader, |_| Ok(()));
    assert!(matches!(visited, Err(Error::Executed { .. })), "{visited:?}");
    assert!(begun.elapsed() < Visit::default().patience, "it is told at once");
    assert!(matches!(tracee.memory().read_word(called), Err(error)
        if error.kind() == std::io::ErrorKind::UnexpectedEof));
    let (tracee, _) = open(&victim);
    call_often(&tracee, "victim_called", 3);
    assert_eq!(victim.end("called"), 3);
}

#[test]
fn process_that_has_unmapped_what_tells_executions_apart_is_called() {
    let mut victim = Victim::start("unmapped", 0);
    victim.wait_for_ready();
    let (tracee, _) = open(&victim);
    call_often(&tracee, "victim_called", 3);
    assert_eq!(victim.end("called"), 3);
}

/// The memory of the child is the parent's, who would be in the session in the child's place.
#[test]
fn child_that_has_its_parents_memory_is_refused_until_it_executes() {
    let mut victim = Victim::start("vfork", 0);
    let child: u32 = victim.line().trim().parse().unwrap();
    let refused = Tracee::open(child).map(|_| ());
    assert!(matches!(refused, Err(Error::Shared { .. })), "{refused:?}");
    // SAFETY: the child is the victim's, who waits for it.
    unsafe { libc::kill(child as i32, libc::SIGUSR1) };
    victim.wait_for_ready();
    let tracee = Tracee::open(child).unwrap();
    call_often(&tracee, "victim_called", 3);
    // SAFETY: as above.
    unsafe { libc::kill(child as i32, libc::SIGTERM) };
    assert_eq!(victim.end("called"), 3);
}

/// Whatever moment of its start it is at, the C library is found once it is there.
#[test]
fn process_that_begins_is_looked_at_when_it_has_its_libraries() {
    for round in 0..40u64 {
        let victim = Victim::begin("sleep", 0);
        std::thread::sleep(Duration::from_micros(round * 61 % 1500));
        let begun = Instant::now();
        // Bound: the time.
        loop {
            let tracee = Tracee::open(victim.child.id());
            let found = tracee.and_then(|tracee| Loader::find(&tracee, PATIENCE).map(drop));
            match found {
                Ok(()) => break,
                Err(Error::Executed { .. } | Error::Shared { .. } | Error::Ended { .. })
                    if begun.elapsed() < PATIENCE => {}
                Err(error) => panic!("{round}: {error}"),
            }
        }
    }
}

/// A process of ours that calls and calls, until it is killed at some moment.
fn caller_that_is_killed(victim: &Victim, after: Duration) {
    let mut caller = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "call_until_killed", "--nocapture"])
        .env("TRACEE_VICTIM", victim.child.id().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(caller.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("calling") && output.read_line(&mut line).unwrap() > 0 {}
    std::thread::sleep(after);
    caller.kill().unwrap();
    caller.wait().unwrap();
}

/// What the process of `caller_that_is_killed` does; nothing in the tests' own process.
#[test]
fn call_until_killed() {
    let Ok(pid) = std::env::var("TRACEE_VICTIM") else { return };
    let tracee = Tracee::open(pid.parse().unwrap()).unwrap();
    let (called, errno) = (function(&tracee, "victim_called"), errno_location(&tracee));
    println!("calling");
    loop {
        let visited = tracee.visit(&Visit::default(), |stopped: &mut Stopped| {
            stopped.keep_errno(errno);
            stopped.call(called, &[1])?;
            stopped.call(called, &[2]).map(Some)
        });
        visited.unwrap();
    }
}

#[test]
fn caller_killed_at_any_moment_leaves_the_program_unharmed() {
    let rounds: u32 = std::env::var("TRACEE_KILLS").map_or(60, |text| text.parse().unwrap());
    for (mode, threads) in [("compute", 3), ("sleep", 0), ("futex", 1), ("rseq", 0)] {
        let victim = Victim::start(mode, threads);
        for round in 0..rounds / 4 {
            caller_that_is_killed(&victim, Duration::from_micros(u64::from(round * 977 % 5000)));
        }
        if mode == "rseq" {
            continue;
        }
        let (tracee, _) = open(&victim);
        call_often(&tracee, "victim_called", 1);
        assert!(victim.end("called") > 0, "{mode}");
    }
}
