// SPDX-License-Identifier: MIT
//! What a kernel did is one state, whether Lull's kernel tracer tells it or LTTng's, with whichever
//! contexts; what LTTng does not tell is unknown.

use state::{Dump, Exit, Limits, OffKind, Place, ProcessIndex, State, ThreadIndex};
use testkit::kernel::{Kernel, Tracer};
use testkit::program::{Number, Program, Text, Who};
use trace::{CpuId, Merge, Message, Trace};

const IDLE: Who = (0, 0, "swapper/0");
const DUMPER: Who = (5, 5, "dumper");
const APP: Who = (10, 10, "app");
const SECOND: Who = (10, 11, "second");
const CHILD: Who = (20, 20, "app");
const DEAD: Who = (30, 30, "dead");
const SLEEPS: i64 = 1;

const LTTNG: Tracer = Tracer::Lttng(&[]);
/// The machine's numbers, as far as these contexts have them, and those of a container.
const TRACERS: [Tracer; 7] = [
    Tracer::Lull,
    LTTNG,
    Tracer::Lttng(&["pid", "tid", "procname"]),
    Tracer::Lttng(&["tid"]),
    Tracer::Lttng(&["procname", "pid"]),
    Tracer::Lttng(&["vpid", "vtid"]),
    Tracer::Lttng(&["vtid", "tid", "vpid"]),
];

fn follow(program: &Program, mut look: impl FnMut(&State, ThreadIndex)) -> State {
    let (metadata, streams) = program.files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("it is well formed");
    let traces = [trace];
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                if let Some(step) = state.event(&event) {
                    look(&state, step.thread);
                }
            }
            Message::Loss(loss) => state.loss(&loss),
        }
    }
    state
}

fn process(state: &State, pid: i64) -> ProcessIndex {
    let found = state.threads().processes().iter().position(|process| process.pid == Some(pid));
    ProcessIndex(found.expect("there is the process") as u32)
}

/// The open descriptors of a process, each as `NUMBER PATH`.
fn files(state: &State, pid: i64) -> Vec<String> {
    let open = state.descriptors().open(process(state, pid));
    open.map(|(fd, file)| format!("{fd} {}", file.label(state.texts()))).collect()
}

/// The threads that live, each as `NAME[TID] of PID`.
fn living(state: &State) -> Vec<String> {
    let threads = state.threads();
    let all = (1..threads.threads().len() as u32).map(ThreadIndex);
    let mut living: Vec<String> = all
        .filter(|thread| !threads.is_over(*thread) && threads.tid(*thread).unwrap_or(0) != 0)
        .map(|thread| {
            let pid = threads.pid(threads.process_of(thread));
            format!("{} of {}", threads.label(thread), pid.unwrap_or(-1))
        })
        .collect();
    living.sort();
    living
}

/// A dump tells of `app` with two threads and two descriptors, and of a zombie. `app` opens, forks
/// and becomes another program, its child ends.
fn story(tracer: Tracer) -> Program {
    let mut kernel = Kernel::new(tracer);
    let k = &mut kernel;
    k.switch((10, 0), (IDLE, 0), DUMPER).dump_begins((20, 0), DUMPER);
    k.dump_thread((21, 0), DUMPER, APP, true);
    k.dump_file((22, 0), DUMPER, (APP, 3), ("/kept", false));
    k.dump_file((23, 0), DUMPER, (APP, 4), ("/marked", true));
    k.dump_thread((24, 0), DUMPER, SECOND, true).dump_thread((25, 0), DUMPER, DEAD, false);
    k.dump_thread((26, 0), DUMPER, DUMPER, true).dump_ends((30, 0), DUMPER);
    k.switch((40, 0), (DUMPER, SLEEPS), APP);
    let path = [("filename", Text("/new")), ("flags", Number(0))];
    k.enter((41, 0), APP, "openat", &path).exit((42, 0), APP, "openat", &[("ret", Number(5))]);
    k.enter((43, 0), APP, "pipe2", &[("flags", Number(0))]);
    k.exit_with_ends((44, 0), APP, "pipe2", [6, 7]);
    k.enter((45, 0), APP, "socketpair", &[("family", Number(1))]);
    k.exit_with_ends((46, 0), APP, "socketpair", [8, 9]);
    k.fork((50, 0), APP, CHILD).execute((55, 0), APP, "/bin/other");
    k.switch((60, 0), (APP, SLEEPS), CHILD);
    k.enter((61, 0), CHILD, "exit_group", &[("error_code", Number(7))]).end((62, 0), CHILD);
    k.switch((63, 0), (CHILD, 0x10), IDLE);
    kernel.program
}

#[test]
fn processes_threads_and_descriptors_are_those_that_lull_tells() {
    for tracer in TRACERS {
        let state = follow(&story(tracer), |_, _| ());
        assert_eq!(state.dump(), Dump::Whole, "{tracer:?}");
        assert_eq!(living(&state), ["app[10] of 10", "dumper[5] of 5"], "{tracer:?}");
        let ends = ["6 pipe", "7 pipe", "8 socket", "9 socket"];
        let of_app = [["3 /kept", "5 /new"].as_slice(), &ends].concat();
        assert_eq!(files(&state, 10), of_app, "{tracer:?}: 4 closes on execution");
        let of_child = [["3 /kept", "4 /marked", "5 /new"].as_slice(), &ends].concat();
        assert_eq!(files(&state, 20), of_child, "{tracer:?}");
        let child = &state.threads().processes()[process(&state, 20).0 as usize];
        assert_eq!((child.parent_pid, child.exit), (Some(10), Some(Exit::Code(7))), "{tracer:?}");
        let app = &state.threads().processes()[process(&state, 10).0 as usize];
        assert_eq!(state.texts().text(app.path), "/bin/other", "{tracer:?}");
    }
}

#[test]
fn threads_of_events_are_those_of_the_machine_whatever_contexts_there_are() {
    for tracer in TRACERS {
        let mut of_events = Vec::new();
        let program = story(tracer);
        follow(&program, |state, thread| {
            let threads = state.threads();
            of_events.push((threads.tid(thread), threads.pid(threads.process_of(thread))));
        });
        let of_app = of_events.iter().filter(|of| **of == (Some(10), Some(10))).count();
        let of_child = of_events.iter().filter(|of| **of == (Some(20), Some(20))).count();
        assert_eq!((of_app, of_child), (9, 3), "{tracer:?}: {of_events:?}");
    }
}

#[test]
fn idle_threads_are_one_of_each_processor_with_contexts_too() {
    let mut kernel = Kernel::new(Tracer::Lttng(&["tid", "pid", "procname"]));
    kernel.soft((10, 20), 0, IDLE, 7).soft((11, 21), 1, (0, 0, "swapper/1"), 7);
    kernel.switch((30, 1), ((0, 0, "swapper/1"), 0), APP);
    let mut labels = Vec::new();
    let state = follow(&kernel.program, |state, thread| labels.push(state.threads().label(thread)));
    assert_eq!(labels, ["swapper/0", "swapper/1", "swapper/0", "swapper/1", "swapper/1"]);
    assert_eq!(living(&state), ["app[10] of -1"], "nothing tells its process");
}

#[test]
fn places_are_those_of_the_scheduler_and_unknown_before_its_first_event() {
    for tracer in TRACERS {
        let mut kernel = Kernel::new(tracer);
        let k = &mut kernel;
        k.wake((5, 1), IDLE, APP).switch((10, 0), (IDLE, 0), APP);
        k.switch((20, 0), (APP, SLEEPS), SECOND).wake((30, 0), SECOND, APP);
        k.switch((40, 0), (SECOND, 0x100), APP).switch((50, 0), (APP, 0x10), IDLE);
        let mut places = Vec::new();
        follow(&kernel.program, |state, _| {
            let place = |tid| {
                let thread = state.threads().of_tid(0, tid);
                thread.map_or(Place::Unknown, |thread| state.stay(thread).place)
            };
            places.push([place(10), place(11)]);
        });
        let (running, sleeps) = (Place::Running(CpuId(0)), Place::Off(OffKind::Sleep));
        let wanted = [
            [Place::Unknown, Place::Unknown],
            [Place::Waiting, Place::Unknown],
            [running, Place::Unknown],
            [sleeps, running],
            [sleeps, running],
            [Place::Waiting, running],
            [running, Place::Waiting],
            [Place::Over, Place::Waiting],
        ];
        assert_eq!(places, wanted, "{tracer:?}");
    }
}

#[test]
fn dump_in_which_events_were_lost_is_not_whole_and_ends_no_thread() {
    let mut kernel = Kernel::new(LTTNG);
    let k = &mut kernel;
    k.switch((5, 0), (IDLE, 0), APP).switch((10, 0), (APP, SLEEPS), DUMPER);
    k.dump_begins((20, 0), DUMPER).dump_thread((21, 0), DUMPER, DUMPER, true);
    k.program.end_packet(22, 0, [0; 4]);
    k.dump_thread((23, 0), DUMPER, SECOND, true);
    k.program.end_packet(24, 0, [3, 0, 0, 0]);
    k.dump_ends((30, 0), DUMPER);
    let state = follow(&kernel.program, |_, _| ());
    assert_eq!(state.dump(), Dump::CutOff);
    let wanted = ["app[10] of -1", "dumper[5] of 5", "second[11] of 10"];
    assert_eq!(living(&state), wanted);
}

#[test]
fn descriptors_of_a_table_that_no_thread_was_told_to_have_are_nobodys() {
    let mut kernel = Kernel::new(LTTNG);
    let k = &mut kernel;
    k.dump_begins((20, 0), DUMPER).dump_thread((21, 0), DUMPER, APP, true);
    k.dump_file((22, 0), DUMPER, (CHILD, 3), ("/of/another", false));
    k.dump_thread((23, 0), DUMPER, CHILD, true);
    k.dump_file((24, 0), DUMPER, (APP, 4), ("/too/late", false));
    k.dump_ends((30, 0), DUMPER);
    let state = follow(&kernel.program, |_, _| ());
    assert_eq!((files(&state, 10).len(), files(&state, 20).len()), (0, 0));
}

#[test]
fn any_flipped_byte_is_survived() {
    let mut events = 0;
    for contexts in [&[][..], &["tid", "pid", "procname"]] {
        let (metadata, streams) = story(Tracer::Lttng(contexts)).files();
        for at in 0..streams[0].1.len() {
            let mut damaged = streams.clone();
            damaged[0].1[at] ^= 1 << (at % 8);
            let trace = Trace::from_bytes(metadata.as_bytes(), damaged).expect("the text is whole");
            let traces = [trace];
            let mut merge = Merge::over(&traces);
            let limits = Limits { threads: 4, descriptors: 5, maps: 2, texts: 3 };
            let mut state = State::new(&traces, merge.stream_count(), &limits);
            while let Some(message) = merge.next() {
                match message {
                    Message::Event(event) => events += u64::from(state.event(&event).is_some()),
                    Message::Loss(loss) => state.loss(&loss),
                }
            }
            assert!(state.threads().threads().len() <= limits.threads + 1);
        }
    }
    assert!(events > 10_000, "{events} events in all");
}

#[test]
fn numbers_of_states_are_those_of_the_kernel_that_was_traced() {
    let mut kernel = Kernel::new(LTTNG);
    kernel.switch((10, 0), (IDLE, 0), APP).switch((20, 0), (APP, 0x40), IDLE);
    for (release, wanted) in
        [("6.1.0", Place::Off(OffKind::Other)), ("4.9.0-19-amd64", Place::Over)]
    {
        kernel.program.environment =
            format!("domain = \"kernel\"; kernel_release = \"{release}\";");
        let state = follow(&kernel.program, |_, _| ());
        let thread = state.threads().of_tid(0, 10).unwrap();
        assert_eq!(state.stay(thread).place, wanted, "{release}");
    }
}
