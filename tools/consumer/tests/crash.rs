// SPDX-License-Identifier: MIT
//! Writers that die or stall between reserve and commit: every committed event is in the trace,
//! the rest is counted, and nobody else waits or loses anything.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use support::*;

/// Committed steps by writer, in memory that a killed process leaves intact.
struct Committed {
    words: &'static [AtomicU32],
}

impl Committed {
    fn new(count: usize) -> Self {
        // SAFETY: a fresh anonymous mapping, zeroed, shared with children, never unmapped.
        let words = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), count * 4, protection, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            std::slice::from_raw_parts(map.cast::<AtomicU32>(), count)
        };
        Self { words }
    }
}

/// Runs `child` in a process of its own. Return: its number.
fn fork(child: impl FnOnce()) -> i32 {
    // SAFETY: the child only touches memory that exists already and system calls, then exits.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            child();
            libc::_exit(0);
        }
        pid
    }
}

fn kill_and_reap(pid: i32) {
    // SAFETY: plain system calls on our own child.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}

fn reap(pid: i32) {
    // SAFETY: plain system call on our own child.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn pin(cpu: usize) {
    // SAFETY: plain system calls on a local set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set), 0);
    }
}

/// Writes until it is killed, dwelling between reserve and commit so that kills hit there.
fn write_for_ever(writer: &mut Writer, index: u32, committed: &AtomicU32) {
    for step in 0.. {
        let mut payload = [0u8; 20];
        payload[..4].copy_from_slice(&index.to_ne_bytes());
        payload[4..8].copy_from_slice(&(step as u32).to_ne_bytes());
        payload[8..8 + step % 8].fill(b'x');
        if let Some(reserved) = writer.reserve(STEP, &payload[..9 + step % 8]) {
            for _ in 0..50 {
                std::hint::spin_loop();
            }
            writer.commit(reserved);
            committed.store(step as u32 + 1, Ordering::Release);
        }
        for _ in 0..1000 {
            std::hint::spin_loop();
        }
    }
}

fn storm(kind: Rings, name: &str) {
    const PROCESSES: usize = 8;
    let kills: usize = std::env::var("LULL_TEST_KILLS").map_or(120, |n| n.parse().unwrap());
    let setup = Setup {
        subbuf_size_bytes: 256 << 10,
        subbuf_count: 64,
        flush_period: Duration::from_millis(5),
        ..Setup::default()
    };
    let (session, mut consumer, path) = start(name, &setup);
    let committed = Committed::new(kills + PROCESSES);
    let mut running: Vec<(usize, i32)> = Vec::new();
    let mut random = fastrand::Rng::with_seed(1);
    let mut next = 0;
    for _ in 0..kills {
        while running.len() < PROCESSES {
            let (index, session, words) = (next, &session, committed.words);
            let mut writer = Writer::new(session, kind);
            let pid = fork(|| {
                writer.become_this_thread();
                write_for_ever(&mut writer, index as u32, &words[index]);
            });
            running.push((index, pid));
            next += 1;
        }
        let until = Instant::now() + Duration::from_micros(random.u64(..6000));
        while Instant::now() < until {
            consumer.tick();
        }
        let victim = running.swap_remove(random.usize(..PROCESSES));
        kill_and_reap(victim.1);
    }
    running.into_iter().for_each(|(_, pid)| kill_and_reap(pid));
    let before = Instant::now();
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert!(before.elapsed() < Duration::from_secs(20));
    assert_eq!((verdict.lost.full, verdict.lost.overflow), (0, 0), "{verdict:?}");
    assert!(verdict.lost.in_flight <= next as u64, "{verdict:?}");
    assert_eq!(verdict.damaged_packets, 0, "{verdict:?}");
    let lines = babeltrace(&path, true);
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); next];
    for (writer, step) in steps(&lines) {
        found[writer as usize].push(step);
    }
    for (index, steps) in found.iter().enumerate() {
        let mut sorted = steps.clone();
        sorted.sort_unstable();
        let committed = committed.words[index].load(Ordering::Acquire);
        let missing = (0..committed).find(|step| sorted.binary_search(step).is_err());
        assert_eq!(missing, None, "{index} committed {committed} steps: {verdict:?}");
        assert!(steps.len() as u32 <= committed + 1, "{index}: an event nobody committed");
        assert!(sorted.iter().copied().eq(0..steps.len() as u32), "{index}: a step is missing");
    }
    let lost = lines.iter().filter(|line| line.contains("lull:lost")).count() as u64;
    assert_eq!(lost, verdict.lost.in_flight);
    println!("{name}: {next} processes killed, {} events, {lost} lost", verdict.events);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn every_event_committed_before_a_kill_is_in_the_trace_and_the_rest_is_counted() {
    storm(Rings::PerCpu, "storm");
}

#[test]
fn kills_in_a_plain_ring_lose_nothing_committed_either() {
    storm(Rings::Plain, "storm-plain");
}

#[test]
fn slot_of_a_dead_writer_becomes_a_lost_event_and_the_ring_goes_on_for_many_laps() {
    for kind in [Rings::PerCpu, Rings::Plain] {
        pin(0);
        let setup = Setup { subbuf_size_bytes: 4096, ..Setup::default() };
        let (session, mut consumer, path) = start("hole", &setup);
        let mut writer = Writer::new(&session, kind);
        let mut step = 0;
        // More deaths than a ring has spare sub-buffers.
        for _ in 0..80 {
            for _ in 0..40 {
                assert!(writer.step(1, step, "text"));
                step += 1;
            }
            let mut dying = Writer::new(&session, kind);
            reap(fork(|| {
                dying.become_this_thread();
                assert!(dying.reserve(STEP, &step_payload(2, 0, "never committed")).is_some());
            }));
            for _ in 0..80 {
                assert!(writer.step(1, step, "text"), "no one waits for the dead: {step}");
                step += 1;
                consumer.tick();
            }
        }
        let verdict = consumer.finish(|_, _| {}).unwrap();
        assert_eq!(verdict.lost.in_flight, 80, "{verdict:?}");
        assert_eq!(verdict.lost.total(), 80);
        let lines = babeltrace(&path, true);
        assert_eq!(steps(&lines), (0..step).map(|step| (1, step)).collect::<Vec<_>>());
        assert_eq!(lines.iter().filter(|line| line.contains("lull:lost_bytes")).count(), 80);
        std::fs::remove_dir_all(&path).unwrap();
    }
}

/// The walk over what lies behind the slot takes longer than the writer's commit and its end.
#[test]
fn slot_that_is_committed_during_a_look_by_a_writer_that_ends_is_not_lost() {
    const BEHIND: u32 = 2000;
    let text = "t".repeat(1000);
    for kind in [Rings::PerCpu, Rings::Plain] {
        pin(0);
        let setup = Setup { subbuf_size_bytes: 8 << 20, ..Setup::default() };
        let (session, mut consumer, path) = start("look", &setup);
        let told = Committed::new(2);
        let [is_reserved, is_looked_at] = told.words else { unreachable!() };
        let mut ending = Writer::new(&session, kind);
        for round in 1..=5 {
            let writer = fork(|| {
                ending.become_this_thread();
                let reserved = ending.reserve(STEP, &step_payload(1, round, "committed"));
                for step in 0..BEHIND {
                    ending.step(2, step, &text);
                }
                is_reserved.store(round, Ordering::Release);
                // Bound: the test's recorder is about to look.
                while is_looked_at.load(Ordering::Acquire) != round {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(1));
                ending.commit(reserved.unwrap());
            });
            while is_reserved.load(Ordering::Acquire) != round {
                std::thread::yield_now();
            }
            is_looked_at.store(round, Ordering::Release);
            consumer.tick();
            reap(writer);
        }
        let verdict = consumer.finish(|_, _| {}).unwrap();
        assert_eq!(verdict.lost.total(), 0, "{verdict:?}");
        let steps = steps(&babeltrace(&path, false));
        assert_eq!(steps.iter().filter(|(writer, _)| *writer == 1).count(), 5);
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn living_writer_that_stalls_costs_one_event_when_the_ring_fills_and_corrupts_nothing() {
    pin(0);
    let setup = Setup { subbuf_size_bytes: 4096, ..Setup::default() };
    let (session, mut consumer, path) = start("stall", &setup);
    let mut stalled = Writer::new(&session, Rings::PerCpu);
    let reserved = stalled.reserve(STEP, &step_payload(2, 0, "late")).unwrap();
    let mut writer = Writer::new(&session, Rings::PerCpu);
    let mut written = Vec::new();
    for step in 0..4000 {
        if writer.step(1, step, "text") {
            written.push((1, step));
        }
        consumer.tick();
    }
    // The ring's memory is exchanged for the writers' next laps, however long that takes.
    let until = Instant::now() + Duration::from_secs(60);
    while !writer.step(1, 4000, "text") {
        assert!(Instant::now() < until, "the stalled writer's sub-buffer was never taken");
        consumer.tick();
    }
    written.push((1, 4000));
    stalled.commit(reserved);
    for step in 4001..8000 {
        assert!(writer.step(1, step, "text"));
        written.push((1, step));
        consumer.tick();
    }
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert_eq!((verdict.lost.in_flight, verdict.damaged_packets), (1, 0), "{verdict:?}");
    assert_eq!(steps(&babeltrace(&path, true)), written);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn flight_recorder_with_a_dead_writer_in_it_keeps_recording_and_its_snapshot_reads() {
    pin(0);
    let setup = Setup { flight_recorder: true, subbuf_size_bytes: 4096, ..Setup::default() };
    let (session, mut consumer, path) = start("flight-hole", &setup);
    let mut writer = Writer::new(&session, Rings::PerCpu);
    let mut dying = Writer::new(&session, Rings::PerCpu);
    writer.step(1, 0, "text");
    reap(fork(|| {
        dying.become_this_thread();
        assert!(dying.reserve(STEP, &step_payload(2, 0, "never committed")).is_some());
    }));
    let mut lost = 0;
    for step in 1..5000 {
        lost += u32::from(!writer.step(1, step, "text"));
        consumer.tick();
    }
    assert!(lost < 100, "the dead writer's sub-buffer was put out of the way: {lost}");
    reap(fork(|| {
        dying.become_this_thread();
        assert!(dying.reserve(STEP, &step_payload(2, 1, "never committed")).is_some());
    }));
    writer.step(1, 5000, "last");
    let verdict = consumer.finish(|_, _| {}).unwrap();
    let lines = babeltrace(&verdict.trace, true);
    assert_eq!(steps(&lines).last(), Some(&(1, 5000)));
    assert_eq!(lines.iter().filter(|line| line.contains("lull:lost_bytes")).count(), 1);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn more_unfinished_sub_buffers_than_there_are_spares_are_all_read_at_the_end() {
    pin(0);
    let setup = Setup { subbuf_size_bytes: 4096, subbuf_count: 128, ..Setup::default() };
    let (session, mut consumer, path) = start("spares", &setup);
    let mut writer = Writer::new(&session, Rings::Plain);
    let mut written = 0;
    while writer.step(1, written, "text") {
        written += 1;
    }
    let control = session.memory.ring_control(session.memory.ring_count() - 1);
    for index in 0..128 {
        // SAFETY: words of the ring: struct lull_ring_shared, then references, then commits.
        unsafe {
            let reference = control.add(192 + index * 8).cast::<u64>();
            *reference |= 1 << 16; // being written
            let commit = control.add(192 + 128 * 8 + index * 16).cast::<u64>();
            *commit -= 4;
            *commit.add(1) = 0;
        }
    }
    consumer.tick();
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert_eq!(verdict.events, u64::from(written), "{verdict:?}");
    assert_eq!(steps(&babeltrace(&path, true)).len(), written as usize);
    std::fs::remove_dir_all(&path).unwrap();
}
