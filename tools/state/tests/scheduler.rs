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
