// SPDX-License-Identifier: MIT
//! No trace, however damaged or absurd, stops the state or takes it past its limits: they hold
//! after every event.

use state::{Limits, ProcessIndex, State, TextIndex, ThreadIndex};
use testkit::program::{Number, Program, Text};
use testkit::Random;
use trace::{Merge, Message, Trace};

const LIMITS: Limits = Limits { threads: 5, descriptors: 7, maps: 4, texts: 3 };
/// Two numbers of texts stand for none and for the others.
const MOST_TEXT: TextIndex = TextIndex(LIMITS.texts as u32 + 1);

/// Follows a trace; the result is how many events there were.
fn follow(trace: Trace) -> u64 {
    let traces = [trace];
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &LIMITS);
    let mut events = 0;
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        let Some(step) = state.event(&event) else { continue };
        events += 1;
        assert!(state.classes().names().get(step.name.0 as usize).is_some());
        let values = step.done.map(|done| done.values).unwrap_or_default();
        assert!(values.text.0 <= MOST_TEXT.0 && values.more_text.0 <= MOST_TEXT.0);
        check(&state, step.thread);
    }
    events
}

fn check(state: &State, thread: ThreadIndex) {
    let threads = state.threads();
    assert!(!threads.label(thread).is_empty());
    // The first of each stands for the others.
    assert!(threads.threads().len() <= LIMITS.threads + 1);
    assert!(threads.processes().len() <= LIMITS.threads + 1);
    let processes = (0..threads.processes().len() as u32).map(ProcessIndex);
    let open = processes.map(|process| {
        assert!(!threads.process_label(process, state.texts()).is_empty());
        let mut behind = 0;
        for map in state.maps().of(process) {
            assert!(behind <= map.begin && map.begin < map.until);
            behind = map.until;
        }
        (state.descriptors().open(process).count(), state.maps().of(process).count())
    });
    let (open, maps) = open.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert!(open <= LIMITS.descriptors && maps <= LIMITS.maps);
    for (thread, call) in state.calls().still_open() {
        assert_ne!(thread, ThreadIndex::OTHERS);
        call.about.label(state.texts());
    }
}

#[test]
fn absurd_values_under_meaningful_names_are_survived() {
    let mut events = 0;
    for seed in 0..300 {
        let (metadata, streams) = testkit::absurd(seed);
        let trace = Trace::from_bytes(metadata.as_bytes(), streams);
        events += follow(trace.expect("the metadata is right"));
    }
    assert!(events > 5_000, "the traces had {events} events");
}

/// Processes that fork, execute, open, map, close and end, more of them than there is space for.
fn busy() -> Program {
    let mut program = Program::new();
    for i in 0..20 {
        let (at_ns, who) = (i as u64 * 100, (10 + i, 10 + i, "busy"));
        let opened = [("path", Text("/x")), ("result", Number(i))];
        program.call((at_ns, at_ns), who, ("io:open_entry", &[]), ("io:open_exit", &opened));
        program.event(at_ns + 1, 0, who, "io:dup2", &[("fd", Number(i)), ("result", Number(99))]);
        program.event(at_ns + 2, 0, who, "io:read_entry", &[("fd", Number(99))]);
        let mapped = [("fd", Number(99)), ("len", Number(9 << 12)), ("prot", Number(5))];
        let (entry, exit) = ("syscalls:sys_enter_mmap", "syscalls:sys_exit_mmap");
        let result = [("ret", Number(0x7000 + (i << 14)))];
        program.call((at_ns + 2, at_ns + 2), who, (entry, &mapped), (exit, &result));
        let child = (11 + i, 11 + i, "busy");
        program.event(at_ns + 3, 0, child, "process:forked", &[("parent_pid", Number(10 + i))]);
        let start = [("parent_pid", Number(10 + i)), ("path", Text("/bin/y"))];
        program.event(at_ns + 4, 0, child, "process:start", &start);
        let range = [("first_fd", Number(0)), ("last_fd", Number(i)), ("result", Number(0))];
        program.event(at_ns + 5, 0, child, "io:close_range", &range);
        let waited = [("child_pid", Number(9 + i)), ("status", Number(i))];
        let (entry, exit) = (("process:wait_entry", &[][..]), ("process:wait_exit", &waited[..]));
        program.call((at_ns + 6, at_ns + 7), child, entry, exit);
    }
    program
}

#[test]
fn any_flipped_byte_is_survived() {
    let (metadata, streams) = busy().files();
    let random = &mut Random::new(7);
    let mut events = 0;
    for at in (0..streams[0].1.len()).step_by(4) {
        let mut damaged = streams.clone();
        damaged[0].1[at] ^= 1 << random.below(8);
        let trace = Trace::from_bytes(metadata.as_bytes(), damaged).expect("the metadata is whole");
        events += follow(trace);
    }
    assert!(events > 10 * streams[0].1.len() as u64, "{events} events in all");
}
