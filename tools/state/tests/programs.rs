// SPDX-License-Identifier: MIT
//! What the state says of made-up programs, from packets on, after every one of their events.

use state::{Exit, File, Limits, State, Step, ThreadKey};
use testkit::program::{Number, Program, Text, Who, NOBODY};
use testkit::{random_stream, Kind, Order, Spec};
use trace::{Merge, Message, Trace};

const MAIN: Who = (10, 10, "main");
const CHILD: Who = (20, 20, "main");

/// Hands every event to the state, which `look` sees after each. The result is how it ends.
fn follow(trace: Trace, mut look: impl FnMut(&State, Step)) -> State {
    let traces = [trace];
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        if let Some(step) = state.event(&event) {
            look(&state, step);
        }
    }
    state
}

fn trace(program: &Program) -> Trace {
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

/// What descriptor 7 of the thread's process was after each event.
fn seven(program: &Program) -> Vec<String> {
    let mut labels = Vec::new();
    follow(trace(program), |state, step| {
        let process = state.threads().process_of(step.thread);
        labels.push(state.descriptors().file(process, 7).label(state.texts()));
    });
    labels
}

#[test]
fn descriptor_stands_for_a_file_from_its_opening_to_its_closing_and_in_forks() {
    let mut program = Program::new();
    let opened = [("path", Text("/etc/hosts")), ("result", Number(3))];
    program.call((0, 1), MAIN, ("io:open_entry", &[]), ("io:open_exit", &opened));
    program.event(2, 0, MAIN, "io:dup2", &[("fd", Number(3)), ("result", Number(7))]);
    program.event(3, 0, CHILD, "process:forked", &[("parent_pid", Number(10))]);
    program.event(4, 0, MAIN, "io:close", &[("fd", Number(7)), ("result", Number(0))]);
    program.event(5, 0, CHILD, "tick", &[]);
    let start = [("pid", Number(20)), ("parent_pid", Number(10)), ("path", Text("/bin/cat"))];
    program.event(6, 0, CHILD, "process:start", &start);
    let (before, file) = ("descriptor 7", "/etc/hosts");
    assert_eq!(seven(&program), [before, before, file, file, before, file, file]);
    let state = follow(trace(&program), |_, _| {});
    let child = state.threads().processes().iter().position(|process| process.pid == Some(20));
    let child = state::ProcessIndex(child.unwrap() as u32);
    let open: Vec<i32> = state.descriptors().open(child).map(|(fd, _)| fd).collect();
    assert_eq!(open, [3, 7]);
    assert_eq!(state.threads().process_label(child, state.texts()), "cat[20]");
}

#[test]
fn a_call_used_the_file_that_it_closed() {
    let mut program = Program::new();
    let opened = [("path", Text("/x")), ("file", Number(0x10)), ("fd", Number(7))];
    program.event(1, 0, MAIN, "io:fopen", &opened);
    program.event(2, 0, MAIN, "io:fclose", &[("file", Number(0x10)), ("result", Number(0))]);
    let mut used = Vec::new();
    let state = follow(trace(&program), |state, step| {
        let uses = step.done.map(|done| done.uses).into_iter().flatten().flatten();
        used.extend(uses.map(|(file, _)| file.label(state.texts())));
    });
    assert_eq!(used, ["/x"]);
    let process = state::ProcessIndex(1);
    assert_eq!(state.descriptors().file(process, 7), File::Descriptor(process, 7));
}

#[test]
fn thread_is_in_a_call_from_its_entry_to_its_exit_and_what_it_is_about_is_known() {
    let mut program = Program::new();
    let mutex = [("mutex", Number(0xabc0))];
    program.call((10, 30), MAIN, ("mutex:wait_entry", &mutex), ("mutex:wait_exit", &mutex));
    let mut seen = Vec::new();
    follow(trace(&program), |state, step| {
        let open = state.calls().still_open();
        let subjects: Vec<_> =
            open.iter().map(|(_, call)| call.about.label(state.texts())).collect();
        let begin = step.done.map(|done| (done.pair, done.begin.map(|at| at.0)));
        seen.push((subjects, begin));
    });
    let pair = Some(state::PairIndex(0));
    let about = Some("mutex 0xabc0".to_string());
    assert_eq!(seen, [(vec![about], None), (vec![], Some((pair, Some(10))))]);
}

#[test]
fn exits_are_told_from_the_process_and_from_its_parent() {
    let mut program = Program::new();
    program.event(1, 0, CHILD, "tick", &[]);
    let waited = [("child_pid", Number(20)), ("status", Number(9))];
    program.call((2, 5), MAIN, ("process:wait_entry", &[]), ("process:wait_exit", &waited));
    program.event(6, 0, MAIN, "process:exit", &[("status", Number(3))]);
    let state = follow(trace(&program), |_, _| {});
    let exits: Vec<_> = state.threads().processes().iter().map(|p| (p.pid, p.exit)).collect();
    let (child, main) = ((Some(20), Some(Exit::Signal(9))), (Some(10), Some(Exit::Code(3))));
    assert_eq!(exits, [(None, None), child, main]);
}

#[test]
fn end_of_a_process_ends_what_its_threads_are_in() {
    let second = (20, 21, "main");
    let mutex = [("mutex", Number(0xa0))];
    let waited = |status| [("child_pid", Number(20)), ("status", Number(status))];
    let waits = |last: &dyn Fn(&mut Program)| {
        let mut program = Program::new();
        program.event(1, 0, MAIN, "process:wait_entry", &[]);
        program.event(2, 0, CHILD, "thread:sleep_entry", &[]);
        program.event(3, 0, second, "mutex:wait_entry", &mutex);
        last(&mut program);
        let mut cut = Vec::new();
        let state = follow(trace(&program), |state, _| {
            cut = state.calls().cut().iter().map(|(_, call)| call.begin.0).collect();
        });
        let ended: u64 = state.calls().unmatched(|_| true).iter().map(|pair| pair.ended).sum();
        (cut, state.calls().still_open().len(), ended)
    };
    let by_parent = |program: &mut Program, status| {
        program.event(9, 0, MAIN, "process:wait_exit", &waited(status));
    };
    assert_eq!(waits(&|p| by_parent(p, 9)), (vec![2, 3], 0, 2), "killed");
    assert_eq!(waits(&|p| by_parent(p, 0x137f)), (vec![], 2, 0), "stopped");
    let status = [("status", Number(3))];
    assert_eq!(waits(&|p| p.event(9, 0, CHILD, "process:exit", &status)), (vec![2, 3], 1, 2));
    let by_kernel = |p: &mut Program| {
        p.switch((4, 1), (MAIN, 0), second);
        p.event(5, 0, CHILD, "process:exit", &status);
    };
    assert_eq!(waits(&by_kernel), (vec![], 3, 0), "the kernel tells of each thread");
    let dead = |p: &mut Program| {
        by_kernel(p);
        p.switch((6, 1), (second, 0x10), MAIN);
    };
    assert_eq!(waits(&dead), (vec![3], 2, 1));
}

#[test]
fn thread_of_one_packet_is_not_assumed_in_the_next() {
    let mut program = Program::new();
    program.event(100, 3, MAIN, "tick", &[]);
    program.end_packet(200, 3, [0; 4]);
    program.event(300, 3, NOBODY, "tick", &[]);
    let mut labels = Vec::new();
    follow(trace(&program), |state, step| labels.push(state.threads().label(step.thread)));
    assert_eq!(labels, ["main[10]", "CPU 3"]);
}

#[test]
fn thread_stands_under_the_name_that_another_thread_gave_it() {
    let mut program = Program::new();
    let worker = (10, 11, "main");
    program.event(1, 0, worker, "thread:start", &[("handle", Number(0x7f00))]);
    let name = [("handle", Number(0x7f00)), ("name", Text("pool-1"))];
    program.event(2, 0, MAIN, "thread:name", &name);
    program.event(3, 0, worker, "tick", &[]);
    let mut labels = Vec::new();
    follow(trace(&program), |state, step| labels.push(state.threads().label(step.thread)));
    assert_eq!(labels, ["main[11]", "main[10]", "pool-1[11]"]);
}

#[test]
fn call_seen_by_interposer_and_kernel_uses_its_file_once() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
    program.event(110, 0, MAIN, "syscall_entry_read", &[("fd", Number(3))]);
    program.event(120, 0, MAIN, "syscall_exit_read", &[("ret", Number(8))]);
    program.event(130, 0, MAIN, "io:read_exit", &[("result", Number(8))]);
    let (mut done, mut used) = (0, 0);
    follow(trace(&program), |_, step| {
        done += usize::from(step.done.is_some());
        used += step.done.map_or(0, |done| done.uses.iter().flatten().count());
    });
    assert_eq!((done, used), (2, 1));
}

#[test]
fn thread_contexts_of_each_event_tell_threads_as_lttng_writes_them() {
    let order = Order::Little;
    let context = Kind::structure(vec![
        ("vpid", Kind::u(32, order)),
        ("vtid", Kind::u(32, order)),
        ("procname", Kind::CharArray(17)),
    ]);
    let payload = || Kind::structure(vec![("fd", Kind::u(32, order))]);
    let events = vec![(1, "syscall_entry_read", payload()), (2, "syscall_exit_read", payload())];
    let spec = Spec { stream_context: Some(context), ..Spec::lull(order, events) };
    let (bytes, written) = random_stream(&spec, 0, 1, 8);
    let files = vec![("stream_0".into(), bytes)];
    let trace = Trace::from_bytes(spec.metadata().as_bytes(), files).expect("it is well formed");
    let mut of_thread = Vec::new();
    follow(trace, |state, step| {
        of_thread.push(state.threads().threads()[step.thread.0 as usize].key);
    });
    assert_eq!(of_thread.len(), written.len());
    assert!(of_thread.len() > 8, "{} events", of_thread.len());
    for (key, event) in of_thread.into_iter().zip(written) {
        let Some(ThreadKey::Named { pid, tid, .. }) = key else { panic!("threads are named") };
        let scope = format!("{{ vpid = {pid}, vtid = {tid}, procname = ");
        assert!(event.scopes[0].starts_with(&scope), "{} is not of {scope}", event.scopes[0]);
    }
}

#[test]
fn idle_threads_of_two_processors_are_two_threads() {
    let mut program = Program::new();
    let idle: [Who; 2] = [(0, 0, "swapper/0"), (0, 0, "swapper/1")];
    for (at, cpu, name) in [
        (1, 0, "irq:handler_entry"),
        (2, 1, "irq:handler_entry"),
        (3, 0, "irq:handler_exit"),
        (5, 1, "irq:handler_exit"),
    ] {
        program.event(at, cpu, idle[cpu as usize], name, &[]);
    }
    let mut begun = Vec::new();
    follow(trace(&program), |state, step| {
        let begin = step.done.and_then(|done| done.begin);
        begun.extend(begin.map(|begin| (state.threads().label(step.thread), begin.0)));
    });
    let first = begun[0].1;
    let since: Vec<(&str, i64)> = begun.iter().map(|(l, at)| (l.as_str(), at - first)).collect();
    assert_eq!((since[0].0, since[1].0), ("swapper/0", "swapper/1"));
    assert!(since[1].1 > 0, "each exit has the entry on its own processor: {since:?}");
}
