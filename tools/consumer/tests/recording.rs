// SPDX-License-Identifier: MIT
//! Rings to trace, end to end: what writers committed is what babeltrace2 reads.

mod support;

use consumer::folder::Sharing;
use consumer::output::{Older, Output};
use consumer::ring::Ring;
use consumer::{Consumer, Options};
use session::abi::*;
use session::segment::Segment;
use session::{Memory, Plan, Session};
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;
use verdict::State;

fn finish(consumer: &mut Consumer) -> verdict::Verdict {
    consumer.finish(|_, _| {}).unwrap()
}

#[test]
fn every_event_of_one_thread_is_read_back_in_order() {
    for kind in [Rings::PerCpu, Rings::Plain] {
        let (session, mut consumer, path) = start("order", &Setup::default());
        let mut writer = Writer::new(&session, kind);
        for step in 0..20_000 {
            assert!(writer.step(1, step, ["", "a", "abc", "abcdefgh"][step as usize % 4]));
            if step % 1000 == 0 {
                consumer.tick();
            }
        }
        let verdict = finish(&mut consumer);
        assert_eq!((verdict.events, verdict.has_loss()), (20_000, false), "{verdict:?}");
        let found = steps(&babeltrace(&path, false));
        assert_eq!(found, (0..20_000).map(|step| (1, step)).collect::<Vec<_>>());
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn events_committed_are_on_disk_after_a_flush_though_no_sub_buffer_was_closed() {
    let (session, mut consumer, path) = start("flush", &Setup::default());
    let mut writer = Writer::new(&session, Rings::PerCpu);
    for step in 0..100 {
        writer.step(1, step, "x");
        consumer.tick();
        let found = steps(&babeltrace(&path, false));
        assert_eq!(found.last(), Some(&(1, step)));
        assert_eq!(found.len(), step as usize + 1, "nothing twice");
    }
    finish(&mut consumer);
    let lines = babeltrace(&path, false);
    assert_eq!(steps(&lines).len(), 100);
    let threads = lines.iter().filter(|line| line.contains("lull:thread"));
    assert!(threads.count() >= 100, "each part says whose events it holds");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn what_threads_wrote_and_what_was_lost_add_up() {
    const THREADS: u32 = 4;
    const STEPS: u32 = 30_000;
    for kind in [Rings::PerCpu, Rings::Plain] {
        let setup = Setup { subbuf_size_bytes: 4096, ..Setup::default() };
        let (session, mut consumer, path) = start("threads", &setup);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|index| {
                    let session = &session;
                    scope.spawn(move || {
                        let mut writer = Writer::new(session, kind);
                        (0..STEPS).filter(|step| writer.step(index, *step, "text")).count() as u64
                    })
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                consumer.tick();
            }
            let written: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            let verdict = finish(&mut consumer);
            // A thread that is preempted in the middle of an event while the ring is full may
            // lose that event, and it is counted.
            let lost = verdict.lost;
            assert_eq!(verdict.events + lost.in_flight, written, "{verdict:?}");
            assert_eq!(lost.full + lost.overflow + written, u64::from(THREADS * STEPS));
            assert!(lost.in_flight < 10, "{verdict:?}");
            let found = steps(&babeltrace(&path, true));
            assert_eq!(found.len() as u64, verdict.events);
            for index in 0..THREADS {
                let of_one: Vec<u32> =
                    found.iter().filter(|(w, _)| *w == index).map(|(_, step)| *step).collect();
                assert!(of_one.windows(2).all(|pair| pair[0] < pair[1]), "order of {index}");
            }
        });
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn full_rings_are_copied_before_they_are_written_and_their_order_is_kept() {
    for kind in [Rings::PerCpu, Rings::Plain] {
        let setup = Setup { subbuf_size_bytes: 4096, subbuf_count: 8, ..Setup::default() };
        let (session, mut consumer, path) = start("full", &setup);
        let mut writer = Writer::new(&session, kind);
        let mut step = 0;
        for _ in 0..20 {
            while writer.step(1, step, "text") {
                step += 1;
            }
            consumer.tick();
        }
        let verdict = finish(&mut consumer);
        assert_eq!((verdict.lost.full, verdict.damaged_packets), (20, 0), "{verdict:?}");
        assert_eq!((verdict.events, verdict.lost.total()), (step.into(), 20), "{verdict:?}");
        let found = steps(&babeltrace(&path, true));
        assert_eq!(found, (0..step).map(|step| (1, step)).collect::<Vec<_>>());
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn losses_stand_in_the_packets_even_when_nothing_follows_them() {
    let setup = Setup { subbuf_size_bytes: 4096, subbuf_count: 2, ..Setup::default() };
    let (session, mut consumer, path) = start("lost", &setup);
    let mut writer = Writer::new(&session, Rings::Plain);
    let written = (0..2000).filter(|step| writer.step(1, *step, "x")).count() as u64;
    let too_big = writer.write(STEP, &[b'x'; 5000]);
    assert!(!too_big);
    let verdict = finish(&mut consumer);
    assert_eq!(verdict.events, written);
    assert_eq!(verdict.lost.full, 2000 - written);
    assert_eq!(verdict.lost.too_big, 1);
    let stream = std::fs::read(path.join("stream-any0")).unwrap();
    let mut at = 0;
    let mut discarded = 0;
    while at < stream.len() {
        let word = |offset: usize| {
            u64::from_ne_bytes(stream[at + offset..at + offset + 8].try_into().unwrap())
        };
        discarded = word(64);
        at += word(48) as usize / 8;
    }
    assert_eq!(at, stream.len(), "packets fill the file");
    assert_eq!(discarded, 2000 - written + 1);
    babeltrace(&path, true);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn size_limit_stops_recording_at_a_packet_and_the_trace_reads() {
    let setup = Setup { limit_bytes: Some(100_000), subbuf_size_bytes: 4096, ..Setup::default() };
    let (session, mut consumer, path) = start("limit", &setup);
    let mut writer = Writer::new(&session, Rings::PerCpu);
    for step in 0..20_000 {
        writer.step(1, step, "text");
        if step % 100 == 0 {
            consumer.tick();
        }
    }
    assert!(consumer.limit_reached());
    assert_eq!(consumer.tick(), Duration::from_secs(1), "nothing is left to do");
    assert!(!session.memory.is_active(), "probes are told to stop");
    let verdict = finish(&mut consumer);
    assert!(verdict.bytes <= 100_000 && verdict.bytes > 90_000, "{}", verdict.bytes);
    assert_eq!(consumer.progress().bytes, verdict.bytes);
    assert_eq!(steps(&babeltrace(&path, true)).len() as u64, verdict.events);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn flight_recorder_keeps_the_newest_events_and_snapshots_are_traces_of_their_own() {
    for kind in [Rings::PerCpu, Rings::Plain] {
        let setup = Setup { flight_recorder: true, subbuf_size_bytes: 4096, ..Setup::default() };
        let (session, mut consumer, path) = start("flight", &setup);
        pin_to_this_cpu();
        let mut writer = Writer::new(&session, kind);
        for step in 0..10_000 {
            assert!(writer.step(1, step, "text"), "a flight recorder is never full");
        }
        let first = consumer.snapshot().unwrap();
        // What was overwritten was recorded, too.
        assert_eq!((first.state, first.limits.len()), (State::Limited, 1));
        for step in 10_000..10_010 {
            writer.step(1, step, "text");
        }
        let second = finish(&mut consumer);
        let found = steps(&babeltrace(&first.trace, false));
        let newest: Vec<_> = (10_000 - found.len() as u32..10_000).map(|step| (1, step)).collect();
        assert_eq!(found, newest);
        assert!(found.len() > 200, "{}", found.len());
        // What the first snapshot had is in the second, too: nothing has overwritten it.
        let found = steps(&babeltrace(&second.trace, false));
        let newest: Vec<_> = (10_010 - found.len() as u32..10_010).map(|step| (1, step)).collect();
        assert_eq!(found, newest);
        assert!(found.len() > 200, "{}", found.len());
        assert_eq!(first.trace, std::fs::canonicalize(path.join("snapshot-1")).unwrap());
        std::fs::remove_dir_all(&path).unwrap();
    }
}

fn pin_to_this_cpu() {
    // SAFETY: plain system calls on a local set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

#[test]
fn all_kinds_of_fields_reach_babeltrace_as_they_were_written() {
    let (session, mut consumer, path) = start("fields", &Setup::default());
    let text = "test:all\n7\nfile.c:7\nu8 a\ni16 b\nx32 c\ni64 d\nf32 e\nf64 f\nbool g\nptr h\n\
                str text\nbytes data\nai16 list\nenum state IDLE=0,BUSY=-1\nu8 event\nu8 _under\n";
    assert!(session.memory.publish_event(9, text));
    assert!(session.memory.publish_event(300, "test:none\n6\nfile.c:8\n"));
    let mut payload = vec![200u8];
    payload.extend((-2i16).to_ne_bytes());
    payload.extend(0xabcdu32.to_ne_bytes());
    payload.extend((-3i64).to_ne_bytes());
    payload.extend(1.5f32.to_ne_bytes());
    payload.extend((-2.25f64).to_ne_bytes());
    payload.push(1);
    payload.extend(0xdead_beefu64.to_ne_bytes());
    payload.extend(b"a \"b\"\0");
    payload.extend(2u32.to_ne_bytes());
    payload.extend([1, 255]);
    payload.extend(1u32.to_ne_bytes());
    payload.extend((-7i16).to_ne_bytes());
    payload.extend((-1i32).to_ne_bytes());
    payload.extend([4, 5]);
    let mut writer = Writer::new(&session, Rings::PerCpu);
    assert!(writer.write(9, &payload));
    assert!(writer.write(300, &[]), "an identifier that needs the extended header");
    let verdict = finish(&mut consumer);
    assert_eq!((verdict.events, verdict.cpus), (2, 1));
    let lines = babeltrace(&path, false);
    let line = lines.iter().find(|line| line.contains("test:all")).unwrap();
    let fields = "{ a = 200, b = -2, c = 0xABCD, d = -3, e = 1.5, f = -2.25, g = 1, \
                  h = 0xDEADBEEF, text = \"a \\\"b\\\"\", _data_length = 2, \
                  data = [ [0] = 0x1, [1] = 0xFF ], _list_length = 1, list = [ [0] = -7 ], \
                  state = ( \"BUSY\" : container = -1 ), event = 4, _under = 5 }";
    assert!(line.contains(fields), "{line}");
    assert!(lines.iter().any(|line| line.contains("test:none")));
    let thread = lines.iter().find(|line| line.contains("lull:thread")).unwrap();
    assert!(thread.contains("name = \"writer\""), "{thread}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn empty_recording_is_a_trace_that_reads() {
    let (_session, mut consumer, path) = start("empty", &Setup::default());
    let verdict = finish(&mut consumer);
    assert_eq!((verdict.events, verdict.has_loss()), (0, false));
    assert!(babeltrace(&path, false).is_empty());
    std::fs::remove_dir_all(&path).unwrap();
}

/// Memory as a process of root's makes it for the user that it becomes, with `test:step` in it.
/// Return: the memory, and its key.
fn memory_for(session: &Session, user: u32, missing_bytes: u64) -> (Arc<Memory>, i32) {
    let fixed = session.memory.fixed();
    let mut key = 0;
    let name = |named| {
        key = named;
        Ok(())
    };
    let segment = Segment::create(fixed.memory_bytes - missing_bytes, name).unwrap();
    let fixed = ControlFixed { memory_bytes: segment.bytes(), ..*fixed };
    let memory = Arc::new(Memory::adopt(fixed, segment).unwrap());
    if missing_bytes == 0 {
        assert!(
            memory.publish_event(STEP, "test:step\n6\ntest.c:1\nu32 writer\nu32 step\nstr text\n")
        );
        for ring in 0..memory.ring_count() {
            Ring::attach(&memory, ring).unwrap().reset(0);
        }
        memory.set_active(true);
    }
    // SAFETY: an all-zero structure is valid, and is filled in before it is used.
    unsafe {
        let mut status: libc::shmid_ds = std::mem::zeroed();
        assert_eq!(libc::shmctl(memory.id().unwrap(), libc::IPC_STAT, &mut status), 0);
        status.shm_perm.uid = user;
        assert_eq!(libc::shmctl(memory.id().unwrap(), libc::IPC_SET, &mut status), 0);
    }
    (memory, key)
}

#[test]
fn users_whose_memory_cannot_be_met_leave_the_streams_of_others_readable() {
    let (session, mut consumer, path) = start("users", &Setup::default());
    if session.memory.fixed().user_id != 0 {
        return; // only root's processes can become another user's
    }
    let link = |user: u32, key: i32| {
        symlink(format!("key:{key}"), session.path().join(format!("memory-{user}"))).unwrap();
    };
    let bad = [59_999, 60_001].map(|user| (user, memory_for(&session, user, 4096)));
    let (good, key) = memory_for(&session, 60_000, 0);
    // In whichever order links are listed, one of the bad ones comes first.
    link(bad[0].0, bad[0].1 .1);
    link(60_000, key);
    link(bad[1].0, bad[1].1 .1);
    for step in 0..10 {
        assert!(Writer::new(&session, Rings::Plain).step(1, step, "own"));
        assert!(Writer::over(&good, Rings::Plain).step(2, step, "other"));
    }
    let verdict = finish(&mut consumer);
    assert_eq!(verdict.events, 20);
    assert!(verdict.missing.iter().any(|what| what.contains("another user")), "{verdict:?}");
    let mut found = steps(&babeltrace(&path, false));
    found.sort_unstable();
    let expected: Vec<(u32, u32)> =
        (1..3).flat_map(|writer| (0..10).map(move |step| (writer, step))).collect();
    assert_eq!(found, expected);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn session_directory_removed_while_recording_is_in_the_verdict_and_events_are_kept() {
    let (session, mut consumer, path) = start("removed", &Setup::default());
    let mut writer = Writer::new(&session, Rings::PerCpu);
    writer.step(1, 1, "before");
    std::fs::remove_dir_all(session.path()).unwrap();
    writer.step(1, 2, "after");
    let verdict = finish(&mut consumer);
    assert_eq!(verdict.events, 2);
    assert!(verdict.missing.iter().any(|line| line.contains("was removed")), "{verdict:?}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn rings_scribbled_over_while_they_are_read_end_in_a_verdict_and_not_in_a_panic() {
    let setup = Setup { subbuf_size_bytes: 4096, ..Setup::default() };
    for seed in 1..=20u64 {
        let (session, mut consumer, path) = start("scribble", &setup);
        let mut writer = Writer::new(&session, Rings::PerCpu);
        for step in 0..300 {
            writer.step(1, step, "text");
        }
        let mut random = fastrand::Rng::with_seed(seed);
        let words_limit = if seed % 2 == 0 { u64::MAX } else { 8192 };
        let control_bytes = session.memory.fixed().ring_stride_bytes as usize;
        let data_bytes = session.memory.fixed().subbuf_size_bytes as usize * 5;
        for round in 0..30 {
            for ring in 0..session.memory.ring_count() {
                // SAFETY: inside the session's mapping; that is the point of the test.
                unsafe {
                    let data = session.memory.ring_data(ring).add(random.usize(..data_bytes));
                    data.write_volatile(random.u8(..));
                    if round % 3 == 0 {
                        let at = random.usize(..control_bytes / 8);
                        let word = session.memory.ring_control(ring).cast::<u64>().add(at);
                        word.write_volatile(random.u64(..words_limit));
                    }
                }
            }
            consumer.tick();
        }
        let before = Instant::now();
        finish(&mut consumer);
        assert!(before.elapsed() < Duration::from_secs(60), "it ended");
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn packet_with_senseless_bytes_is_kept_up_to_them_and_counted() {
    let (session, mut consumer, path) = start("damage", &Setup::default());
    let mut writer = Writer::new(&session, Rings::Plain);
    for step in 0..10 {
        writer.step(1, step, "text");
    }
    let ring = session.memory.ring_count() - 1;
    // The sixth slot: each is a thread record, a header and the payload.
    let slot_bytes = 40 + 4 + 16;
    // SAFETY: inside the session's mapping.
    unsafe {
        session.memory.ring_data(ring).add(PACKET_HEADER_BYTES + 5 * slot_bytes).write_volatile(199)
    };
    let verdict = finish(&mut consumer);
    assert_eq!((verdict.events, verdict.damaged_packets), (5, 1), "{verdict:?}");
    assert!(verdict.has_loss());
    assert_eq!(steps(&babeltrace(&path, true)).len(), 5);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn idle_recorder_sleeps_and_says_when_its_trace_was_moved() {
    for is_moved in [false, true] {
        let (_session, mut consumer, path) = start("moved", &Setup::default());
        assert!(consumer.tick() > Duration::ZERO);
        let moved = path.with_extension("moved");
        if is_moved {
            std::fs::rename(&path, &moved).unwrap();
        }
        let verdict = finish(&mut consumer);
        let said = verdict.notes.iter().any(|note| note.contains("was moved"));
        assert_eq!(said, is_moved, "{verdict:?}");
        std::fs::remove_dir_all(if is_moved { moved } else { path }).unwrap();
    }
}

#[test]
fn clock_that_there_is_not_starts_no_recording() {
    assert!(!consumer::clock::start(77));
    let (session, consumer, path) = start("clock", &Setup::default());
    drop((session, consumer));
    let plan = Plan {
        uuid: [7; 16],
        flight_recorder: false,
        clock_kind: 77,
        cpu_count: 1,
        rseq: true,
        subbuf_size_bytes: 4096,
        subbuf_count: 2,
        patterns: "*".into(),
        filters: Vec::new(),
        counts: None,
        has_budget: false,
        recorded: Default::default(),
    };
    let session = Arc::new(Session::create(&plan).unwrap());
    let output = Output::create(&path, Sharing::PRIVATE, Older::Replace).unwrap();
    let options =
        Options { facts: facts(plan.uuid), flush_period: Duration::ZERO, limit_bytes: None };
    let refused = Consumer::start(session, output, options).map(|_| ());
    assert!(matches!(refused, Err(consumer::Error::Clock { kind: 77 })), "{refused:?}");
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn counts_that_processes_made_are_in_the_verdict() {
    use std::sync::atomic::Ordering::Relaxed;
    let counted = |counts: [u32; 5]| {
        let (session, mut consumer, path) = start("sites", &Setup::default());
        let live = session.memory.live();
        let [seen, enabled, unpatched, unregistered, refused] = counts;
        live.site_count.store(seen, Relaxed);
        live.enabled_count.store(enabled, Relaxed);
        live.unpatched_count.store(unpatched, Relaxed);
        live.unregistered_count.store(unregistered, Relaxed);
        live.refused_count.store(refused, Relaxed);
        let verdict = finish(&mut consumer);
        std::fs::remove_dir_all(path).unwrap();
        let sites = &verdict.sites;
        let all = [sites.seen, sites.enabled, sites.unpatched, sites.unregistered];
        let is_said = verdict.missing.iter().any(|line| line.contains("that are in no count"));
        (all, verdict.refused_processes, is_said)
    };
    assert_eq!(counted([10, 4, 6, 2, 5]), ([10, 4, 6, 2], 5, false));
    assert_eq!(counted([10, 5, 6, 2, 5]), ([0; 4], 0, true), "more than were seen");
    assert_eq!(counted([10, 4, 3, 2, (1 << 22) + 1]), ([0; 4], 0, true));
    assert_eq!(counted([u32::MAX, 1, 1, 0, 1 << 22]), ([u32::MAX, 1, 1, 0], 1 << 22, false));
}

#[test]
fn ring_is_stuck_where_a_closed_sub_buffer_has_a_slot_that_is_not_committed() {
    let setup = Setup { subbuf_size_bytes: 4096, flight_recorder: true, ..Setup::default() };
    let (session, consumer, path) = start("stuck", &setup);
    let mut writer = Writer::new(&session, Rings::Plain);
    let ring = Ring::attach(&session.memory, session.memory.ring_count() - 1).unwrap();
    assert!(!ring.is_left() && !ring.stuck_incomplete());
    assert!(Ring::attach_left(&session.memory, 0).unwrap().is_left());
    let before = ring.pending_bytes();
    let reserved = writer.reserve(STEP, &step_payload(1, 0, "later")).unwrap();
    assert!(ring.pending_bytes() > before);
    assert!(!ring.is_kernels());
    assert!(!ring.stuck_incomplete(), "it is open");
    for step in 1..200 {
        writer.step(1, step, "text");
    }
    assert!(ring.stuck_incomplete());
    writer.commit(reserved);
    assert!(!ring.stuck_incomplete());
    drop(consumer);
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn counts_of_lost_events_that_nobody_can_have_made_are_not_believed() {
    let (session, mut consumer, path) = start("counts", &Setup::default());
    let ring = session.memory.ring_count() - 1;
    let lost = std::mem::offset_of!(RingShared, lost);
    // SAFETY: inside the session's memory; that is the point of the test.
    unsafe {
        let word = session.memory.ring_control(ring).add(lost).cast::<u64>();
        word.write_volatile(3);
        assert_eq!(consumer.progress().lost, 3);
        word.write_volatile(u64::MAX);
    }
    session.memory.live().enabled_count.store(u32::MAX, std::sync::atomic::Ordering::Relaxed);
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert_eq!(verdict.lost.total(), 3);
    assert_eq!(verdict.sites.enabled, 0);
    let said = |what: &str| verdict.missing.iter().any(|line| line.contains(what));
    assert!(said("wrote over its counts of lost events"), "{:?}", verdict.missing);
    assert!(said("wrote over the session's counts"), "{:?}", verdict.missing);
    babeltrace(&path, true);
    std::fs::remove_dir_all(path).unwrap();
}
