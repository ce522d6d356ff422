// SPDX-License-Identifier: MIT
//! Where the state says threads are and what processors do, from made-up events of a kernel's
//! scheduler, through losses.

use state::{Interrupt, InterruptKind, Limits, OffKind, Place, State, ThreadKey};
use testkit::program::{Number, Program, Text, Who};
use trace::{CpuId, Merge, Message, Trace};

const IDLE: Who = (0, 0, "swapper/0");
const APP: Who = (10, 10, "app");
const OTHER: Who = (20, 20, "other");
const SLEEPS: i64 = 1;

/// The places of the threads of these numbers, after each event and each end of a loss.
fn places(program: &Program, tids: &[i64]) -> Vec<(i64, Vec<Place>)> {
    let mut seen = Vec::new();
    follow(program, |state, at| {
        let of = |key| match key {
            Some(ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. }) => tid,
            _ => -1,
        };
        let thread =
            |tid: i64| state.threads().threads().iter().position(|thread| of(thread.key) == tid);
        let place = |tid: &i64| {
            thread(*tid).map_or(Place::Unknown, |t| state.stay(state::ThreadIndex(t as u32)).place)
        };
        seen.push((at, tids.iter().map(place).collect()));
    });
    seen
}

fn follow(program: &Program, mut look: impl FnMut(&State, i64)) {
    let (metadata, streams) = program.files();
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed");
    let traces = [trace];
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                while let Some(at) = state.advance(event.time_ns()) {
                    look(&state, at.0);
                }
                if state.event(&event).is_some() {
                    look(&state, event.time_ns().0);
                }
            }
            Message::Loss(loss) => state.loss(&loss),
        }
    }
}

#[test]
fn thread_is_on_a_processor_waits_for_one_or_is_off_and_ends() {
    let mut program = Program::new();
    let p = &mut program;
    p.wakeup((10, 0), IDLE, APP);
    p.switch((20, 0), (IDLE, 0), APP);
    p.switch((30, 0), (APP, SLEEPS), OTHER);
    p.wakeup((40, 0), OTHER, APP);
    p.switch((50, 0), (OTHER, 0x20), APP);
    let (running, off) = (Place::Running(CpuId(0)), Place::Off(OffKind::Sleep));
    let wanted = [
        (10, vec![Place::Waiting, Place::Unknown]),
        (20, vec![running, Place::Unknown]),
        (30, vec![off, running]),
        (40, vec![Place::Waiting, running]),
        (50, vec![running, Place::Over]),
    ];
    assert_eq!(places(&program, &[10, 20]), wanted);
}

#[test]
fn waker_tells_since_when_a_thread_waits_where_no_event_of_the_woken_does() {
    let woken = [("comm", Text("app")), ("pid", Number(10))];
    let mut program = Program::new();
    program.switch((10, 0), (IDLE, 0), APP);
    program.switch((20, 0), (APP, SLEEPS), OTHER);
    program.event(30, 0, OTHER, "sched:sched_waking", &woken);
    let last = |program: &Program| places(program, &[10]).pop().unwrap();
    assert_eq!(last(&program), (30, vec![Place::Waiting]));
    program.event(40, 0, OTHER, "sched:sched_wakeup", &woken);
    let seen = places(&program, &[10]);
    assert_eq!(seen[2..], [(30, vec![Place::Off(OffKind::Sleep)]), (40, vec![Place::Waiting])]);
}

#[test]
fn nothing_is_known_of_a_thread_whose_wakeup_or_switch_may_be_lost() {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((10, 0), (IDLE, 0), APP);
    p.switch((11, 1), (IDLE, 0), OTHER);
    p.switch((20, 0), (APP, SLEEPS), IDLE);
    p.end_packet(30, 0, [0; 4]);
    p.event(40, 0, IDLE, "tick", &[]);
    p.switch((50, 0), (IDLE, 0), APP);
    // Whatever was lost was lost between 30 and 60.
    p.end_packet(60, 0, [5, 0, 0, 0]);
    p.event(70, 0, IDLE, "tick", &[]);
    let (here, there) = (Place::Running(CpuId(0)), Place::Running(CpuId(1)));
    let wanted = [
        (10, vec![here, Place::Unknown]),
        (11, vec![here, there]),
        (20, vec![Place::Off(OffKind::Sleep), there]),
        (40, vec![Place::Unknown, there]),
        (50, vec![here, there]),
        (60, vec![Place::Unknown, there]),
        (70, vec![Place::Unknown, there]),
    ];
    assert_eq!(places(&program, &[10, 20]), wanted);
}

#[test]
fn thread_of_which_only_the_scheduler_told_is_the_one_that_an_event_names() {
    let mut program = Program::new();
    let worker = (10, 11, "worker");
    program.switch((10, 0), (IDLE, 0), worker);
    program.event(20, 0, worker, "tick", &[]);
    let mut threads = Vec::new();
    follow(&program, |state, _| {
        let on = state.on(0, CpuId(0)).expect("the processor runs a thread");
        let pid = state.threads().pid(state.threads().process_of(on));
        threads.push((on, pid, state.threads().label(on)));
    });
    let worker = || "worker[11]".to_string();
    let on = threads[0].0;
    assert_eq!(threads, [(on, None, worker()), (on, Some(10), worker())]);
}

#[test]
fn threads_whose_process_is_not_known_are_not_of_one() {
    let strangers: [Who; 2] = [(0, 30, "one"), (0, 40, "other")];
    let mut program = Program::new();
    program.wakeup((10, 0), strangers[0], APP);
    program.wakeup((20, 0), strangers[1], APP);
    let mut found = Vec::new();
    follow(&program, |state, _| {
        found = [30, 40].map(|tid| state.threads().of_tid(0, tid)).to_vec();
        found.retain(|thread| {
            thread.is_some_and(|t| state.threads().pid(state.threads().process_of(t)).is_none())
        });
    });
    assert!(found.len() == 2 && found[0] != found[1], "{found:?}");
}

#[test]
fn interrupts_are_the_processors_and_unknown_after_a_loss() {
    let mut program = Program::new();
    let p = &mut program;
    let device = [("irq", Number(9)), ("name", Text("disk"))];
    p.event(10, 0, APP, "irq:irq_handler_entry", &device);
    p.event(20, 0, APP, "irq:softirq_entry", &[("vec", Number(3))]);
    p.event(30, 0, APP, "irq:softirq_exit", &[("vec", Number(3))]);
    p.end_packet(31, 0, [0; 4]);
    p.event(40, 0, APP, "irq:irq_handler_exit", &[("irq", Number(9))]);
    p.event(50, 0, APP, "irq:softirq_entry", &[("vec", Number(3))]);
    p.end_packet(60, 0, [0, 0, 0, 1]);
    p.event(70, 0, APP, "tick", &[]);
    let mut seen = Vec::new();
    follow(&program, |state, at| {
        let known = state.interrupts(0, CpuId(0)).iter();
        let of = |i: &Interrupt| (i.kind, i.number, state.texts().text(i.name));
        seen.push((at, known.map(of).collect::<Vec<_>>()));
    });
    let disk = || (InterruptKind::Device, 9, "disk".to_string());
    let soft = || (InterruptKind::Soft, 3, String::new());
    let wanted = [
        (10, vec![disk()]),
        (20, vec![disk(), soft()]),
        (30, vec![disk()]),
        (40, vec![]),
        (50, vec![soft()]),
        (60, vec![]),
        (70, vec![]),
    ];
    assert_eq!(seen, wanted);
}

/// A program of which alone the kernel's events are recorded.
fn alone(environment: &str) -> Program {
    let mut program = Program::new();
    program.environment = format!("tracer_name = \"lull\"; {environment};");
    program
}

/// What a processor runs, by number of the thread, after each event.
fn runs(program: &Program) -> Vec<(i64, Option<i64>)> {
    let mut seen = Vec::new();
    follow(program, |state, at| {
        let on = state.on(0, CpuId(0)).and_then(|thread| state.threads().tid(thread));
        seen.push((at, on));
    });
    seen
}

#[test]
fn only_a_programs_threads_are_known_to_run_where_only_theirs_are_recorded() {
    let mut program = alone("kernel_of = \"program 10\"");
    let p = &mut program;
    let worker = (10, 11, "worker");
    let clone = [("pid", Number(11)), ("comm", Text("app")), ("clone_flags", Number(0x1_0000))];
    p.switch((10, 0), (OTHER, 0), APP);
    p.event(20, 0, APP, "task:task_newtask", &clone);
    p.wakeup((21, 0), APP, worker);
    p.wakeup((22, 0), APP, OTHER);
    p.switch((30, 0), (APP, SLEEPS), OTHER);
    p.wakeup((40, 0), OTHER, APP);
    p.switch((50, 0), (OTHER, 0), worker);
    p.switch((60, 0), (worker, 0), APP);
    p.event(70, 0, APP, "sched:sched_process_exit", &[("pid", Number(10))]);
    p.event(71, 0, APP, "syscalls:sys_enter_exit", &[]);
    p.switch((80, 0), (IDLE, 0), worker);
    // Another program's thread has the number now.
    p.switch((90, 0), (worker, SLEEPS), APP);
    p.switch((100, 0), (APP, 0), worker);
    let (running, off) = (Place::Running(CpuId(0)), Place::Off(OffKind::Sleep));
    let (waiting, unknown) = (Place::Waiting, Place::Unknown);
    let wanted = [
        (10, vec![running, unknown, unknown]),
        (20, vec![running, unknown, unknown]),
        (21, vec![running, waiting, unknown]),
        (22, vec![running, waiting, unknown]),
        (30, vec![off, waiting, unknown]),
        (40, vec![waiting, waiting, unknown]),
        (50, vec![waiting, running, unknown]),
        (60, vec![running, waiting, unknown]),
        (70, vec![unknown, waiting, unknown]),
        (71, vec![unknown, waiting, unknown]),
        (80, vec![unknown, running, unknown]),
        (90, vec![unknown, off, unknown]),
        (100, vec![unknown, running, unknown]),
    ];
    assert_eq!(places(&program, &[10, 11, 20]), wanted);
    let on = [Some(10); 4].into_iter().chain([None, None, Some(11), Some(10), None, None]);
    let on: Vec<_> = on.chain([Some(11), None, Some(11)]).collect();
    let told = runs(&program).into_iter().map(|(_, on)| on).collect::<Vec<_>>();
    assert_eq!(told, on, "an idle processor, too, is not known to stay so");
}

#[test]
fn thread_whose_begin_is_not_in_the_trace_is_the_programs_once_it_makes_a_system_call() {
    let mut program = alone("kernel_of = \"program 9\"");
    program.switch((10, 0), (OTHER, 0), APP);
    program.event(20, 0, APP, "syscalls:sys_enter_read", &[]);
    program.switch((30, 0), (APP, SLEEPS), OTHER);
    program.switch((40, 0), (OTHER, 0), APP);
    assert_eq!(runs(&program), [(10, None), (20, None), (30, None), (40, Some(10))]);
}

#[test]
fn recorder_that_has_made_the_program_is_not_known_to_run() {
    let mut program = alone("kernel_of = \"program 10\"");
    let clone = [("pid", Number(10)), ("comm", Text("lull")), ("clone_flags", Number(0))];
    program.event(10, 0, OTHER, "syscalls:sys_enter_read", &[]);
    program.switch((20, 0), (IDLE, 0), OTHER);
    program.event(30, 0, OTHER, "task:task_newtask", &clone);
    program.switch((40, 0), (OTHER, SLEEPS), APP);
    let wanted = [(10, None), (20, Some(20)), (30, None), (40, Some(10))];
    assert_eq!(runs(&program), wanted);
}

#[test]
fn nothing_is_known_to_run_where_switches_are_filtered() {
    for environment in [
        r#"kernel_of = "filter""#,
        r#"kernel_of = "anything else""#,
        r#"sampled = "sched:sched_switch\t10""#,
        r#"changes = "1\t0\tsched:* if next_prio < 100""#,
    ] {
        let mut program = alone(environment);
        program.switch((10, 0), (IDLE, 0), APP);
        program.event(20, 0, APP, "syscalls:sys_enter_read", &[]);
        program.switch((30, 0), (APP, SLEEPS), OTHER);
        assert!(runs(&program).iter().all(|(_, on)| on.is_none()), "{environment}");
        assert!(places(&program, &[10]).iter().all(|(_, of)| of[0] == Place::Unknown));
    }
}
