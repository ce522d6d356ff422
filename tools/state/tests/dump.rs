// SPDX-License-Identifier: MIT
//! What a dump of the kernel's state says, and what events beside it say, make one state.

use state::{Dump, Limits, ProcessIndex, State};
use testkit::program::{Number, Program, Text, Who};
use trace::{Merge, Message, Trace};

const WORKER: Who = (9, 9, "kworker");
const SHELL: Who = (10, 10, "sh");
const SECOND: Who = (10, 11, "sh");
const CHILD: Who = (20, 20, "sh");

/// A program's events, one nanosecond after the other.
struct Story {
    program: Program,
    now_ns: u64,
}

impl Story {
    /// A dump has begun.
    fn new() -> Self {
        let mut story = Self { program: Program::new(), now_ns: 0 };
        story.event(WORKER, "state:begin", &[("number", Number(1))]);
        story
    }

    fn event(
        &mut self,
        who: Who,
        name: &'static str,
        fields: &[(&str, testkit::program::Value)],
    ) -> &mut Self {
        self.now_ns += 1;
        self.program.event(self.now_ns, 0, who, name, fields);
        self
    }

    fn thread(&mut self, tid: i64, pid: i64, name: &'static str, state: &'static str) -> &mut Self {
        let fields = [
            ("tid", Number(tid)),
            ("pid", Number(pid)),
            ("ppid", Number(1)),
            ("name", Text(name)),
            ("state", Text(state)),
        ];
        self.event(WORKER, "state:thread", &fields)
    }

    fn file(&mut self, pid: i64, fd: i64, path: &'static str, on_exec: i64) -> &mut Self {
        let fields = [
            ("tid", Number(pid)),
            ("pid", Number(pid)),
            ("fd", Number(fd)),
            ("closes_on_exec", Number(on_exec)),
            ("path", Text(path)),
        ];
        self.event(WORKER, "state:file", &fields)
    }

    /// Whether a descriptor closes when its process becomes another program, from now on.
    fn mark(&mut self, who: Who, fd: i64, on_exec: i64) -> &mut Self {
        let entry = [("fd", Number(fd)), ("cmd", Number(2)), ("arg", Number(on_exec))];
        self.event(who, "syscalls:sys_enter_fcntl", &entry);
        self.event(who, "syscalls:sys_exit_fcntl", &[("ret", Number(0))])
    }

    fn fork(&mut self, who: Who, tid: i64, flags: i64) -> &mut Self {
        let fields = [("pid", Number(tid)), ("comm", Text("sh")), ("clone_flags", Number(flags))];
        self.event(who, "task:task_newtask", &fields)
    }

    fn execute(&mut self, who: Who) -> &mut Self {
        let fields = [("filename", Text("/bin/cat")), ("pid", Number(who.0))];
        self.event(who, "sched:sched_process_exec", &fields)
    }

    fn close(&mut self, who: Who, fd: i64) -> &mut Self {
        self.event(who, "syscalls:sys_enter_close", &[("fd", Number(fd))]);
        self.event(who, "syscalls:sys_exit_close", &[("ret", Number(0))])
    }

    fn open(&mut self, who: Who, path: &'static str, fd: i64) -> &mut Self {
        let fields = [("filename", Text(path)), ("flags", Number(0))];
        self.event(who, "syscalls:sys_enter_openat", &fields);
        self.event(who, "syscalls:sys_exit_openat", &[("ret", Number(fd))])
    }

    fn map(&mut self, pid: i64, begin: i64, until: i64, path: &'static str) -> &mut Self {
        let fields = [
            ("pid", Number(pid)),
            ("begin", Number(begin)),
            ("until", Number(until)),
            ("flags", Number(0x75)),
            ("offset_bytes", Number(0x1000)),
            ("inode", Number(7)),
            ("path", Text(path)),
        ];
        self.event(WORKER, "state:map", &fields)
    }

    /// `who` maps a descriptor's file, or no file by a descriptor of -1.
    fn maps(&mut self, who: Who, fd: i64, at: i64, length: i64) -> &mut Self {
        let fields = [
            ("fd", Number(fd)),
            ("len", Number(length)),
            ("prot", Number(5)),
            ("flags", Number(if fd < 0 { 0x22 } else { 2 })),
            ("off", Number(0x2000)),
        ];
        self.event(who, "syscalls:sys_enter_mmap", &fields);
        self.event(who, "syscalls:sys_exit_mmap", &[("ret", Number(at))])
    }

    fn unmap(&mut self, who: Who, at: i64, length: i64) -> &mut Self {
        let fields = [("addr", Number(at)), ("len", Number(length))];
        self.event(who, "syscalls:sys_enter_munmap", &fields);
        self.event(who, "syscalls:sys_exit_munmap", &[("ret", Number(0))])
    }

    fn state(&mut self) -> State {
        let fields = [("number", Number(1)), ("is_whole", Number(1))];
        self.event(WORKER, "state:end", &fields);
        let (metadata, streams) = self.program.files();
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("it is well formed");
        let traces = [trace];
        let mut merge = Merge::over(&traces);
        let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
        while let Some(message) = merge.next() {
            if let Message::Event(event) = message {
                state.event(&event);
            }
        }
        state
    }
}

fn process(state: &State, pid: i64) -> ProcessIndex {
    let index = state.threads().processes().iter().position(|process| process.pid == Some(pid));
    ProcessIndex(index.unwrap() as u32)
}

/// The maps of a process, each as `BEGIN-UNTIL FLAGS OFFSET PATH`, in pages.
fn maps(state: &State, pid: i64) -> Vec<String> {
    let all = state.maps().of(process(state, pid));
    all.map(|map| {
        let path = state.texts().text(map.path);
        let [begin, until, first] = [map.begin, map.until, map.offset_bytes].map(|at| at >> 12);
        format!("{begin:x}-{until:x} {} {first:x} {path}", map.flags_text())
    })
    .collect()
}

/// The open descriptors of a process, each as `NUMBER PATH`.
fn files(state: &State, pid: i64) -> Vec<String> {
    let open = state.descriptors().open(process(state, pid));
    open.map(|(fd, file)| format!("{fd} {}", file.label(state.texts()))).collect()
}

/// The threads that live, each as `NAME[TID]`.
fn threads(state: &State) -> Vec<String> {
    let all = (1..state.threads().threads().len() as u32).map(state::ThreadIndex);
    let living = all.filter(|thread| !state.threads().is_over(*thread));
    living.map(|thread| state.threads().label(thread)).filter(|l| !l.contains("kworker")).collect()
}

#[test]
fn command_lines_are_those_of_the_program_that_the_dump_met() {
    let mut story = Story::new();
    let command = |pid, text| [("pid", Number(pid)), ("text", Text(text)), ("is_cut", Number(0))];
    story.thread(10, 10, "sh", "S").thread(12, 12, "cat", "S").thread(13, 13, "ls", "S");
    let program = [("pid", Number(10)), ("program", Text("/bin/sh"))];
    story.event(WORKER, "state:process", &program);
    story.event(WORKER, "state:command", &command(10, "sh -c work"));
    story.event(WORKER, "state:command", &command(13, "(unreadable)"));
    story.execute((12, 12, "cat"));
    story.event(WORKER, "state:command", &command(12, "old program"));
    story.fork(SHELL, 20, 0);
    let state = story.state();
    let told = |pid| {
        let process = state.threads().processes().iter().find(|process| process.pid == Some(pid));
        state.texts().text(process.unwrap().arguments)
    };
    assert_eq!([told(10), told(20)], ["sh -c work", "sh -c work"]);
    assert_eq!([told(12), told(13)], ["", ""], "another program by then; not in memory");
}

#[test]
fn system_calls_tell_which_descriptors_they_made() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S");
    story.event(
        SHELL,
        "syscalls:sys_enter_pipe2",
        &[("fildes", Number(4096)), ("flags", Number(0))],
    );
    let ends = [("ret", Number(0)), ("fildes_read", Number(5)), ("fildes_write", Number(6))];
    story.event(SHELL, "syscalls:sys_exit_pipe2", &ends);
    story.event(SHELL, "syscalls:sys_enter_socketpair", &[("family", Number(1))]);
    let pair = [("ret", Number(0)), ("usockvec_first", Number(7)), ("usockvec_second", Number(8))];
    story.event(SHELL, "syscalls:sys_exit_socketpair", &pair);
    let state = story.state();
    assert_eq!(files(&state, 10), ["5 pipe", "6 pipe", "7 socket", "8 socket"]);
}

#[test]
fn dump_tells_of_threads_and_files_that_no_event_told_of() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").thread(11, 10, "timer", "S").thread(12, 12, "dead", "Z");
    story.file(10, 0, "/dev/null", 0).file(10, 5, "socket:[7]", 1);
    let state = story.state();
    assert_eq!(threads(&state), ["sh[10]", "timer[11]"]);
    assert_eq!(files(&state, 10), ["0 /dev/null", "5 socket:[7]"]);
    assert_eq!(state.dump(), Dump::Whole);
}

#[test]
fn thread_that_was_ending_when_the_dump_began_is_gone_at_its_end() {
    let mut story = Story::new();
    story.event(SECOND, "sched:sched_process_free", &[("pid", Number(3))]);
    story.event(CHILD, "sched:sched_process_free", &[("pid", Number(4))]);
    story.thread(10, 10, "sh", "S").thread(20, 20, "sh", "X");
    story.event(CHILD, "sched:sched_process_free", &[("pid", Number(5))]);
    assert_eq!(threads(&story.state()), ["sh[10]"]);
}

#[test]
fn record_of_a_dump_is_not_taken_where_an_event_told_of_the_same_before() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").close(SHELL, 3).open(SHELL, "/new", 4);
    story.file(10, 3, "/closed", 0).file(10, 4, "/old", 0).file(10, 5, "/other", 0);
    let exit = [("comm", Text("sh")), ("pid", Number(20))];
    story.event(CHILD, "sched:sched_process_exit", &exit).thread(20, 20, "sh", "R");
    let name = [("pid", Number(11)), ("newcomm", Text("new"))];
    story.thread(11, 10, "sh", "S").event(SECOND, "task:task_rename", &name);
    story.thread(11, 10, "old", "S");
    let state = story.state();
    assert_eq!(files(&state, 10), ["4 /new", "5 /other"]);
    assert_eq!(threads(&state), ["sh[10]", "new[11]"]);
}

#[test]
fn child_of_a_dump_s_time_has_what_the_dump_tells_later_of_its_parent() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").fork(SHELL, 20, 0).close(CHILD, 4).fork(CHILD, 21, 0);
    story.execute(CHILD).file(10, 3, "/kept", 0).file(10, 4, "/closed", 0);
    story.file(10, 5, "/until/exec", 1);
    let state = story.state();
    assert_eq!(files(&state, 10), ["3 /kept", "4 /closed", "5 /until/exec"]);
    assert_eq!(files(&state, 20), ["3 /kept"]);
    assert_eq!(files(&state, 21), ["3 /kept"]);
}

#[test]
fn descriptor_that_is_marked_after_its_process_became_another_program_is_still_there() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").execute(SHELL).mark(SHELL, 3, 1);
    // A child has it as it was when the child began.
    story.fork(SHELL, 20, 0).execute(CHILD).mark(SHELL, 3, 0).fork(SHELL, 21, 0).mark(SHELL, 3, 1);
    story.execute((21, 21, "sh")).file(10, 3, "/marked", 1).file(10, 4, "/always", 1);
    let state = story.state();
    assert_eq!(files(&state, 10), ["3 /marked"]);
    assert!(files(&state, 20).is_empty(), "{:?}", files(&state, 20));
    assert_eq!(files(&state, 21), ["3 /marked"]);
}

#[test]
fn records_of_an_older_thread_are_not_those_of_the_one_that_got_its_number() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").thread(20, 20, "older", "S").file(20, 3, "/older", 0);
    let exit = [("comm", Text("older")), ("pid", Number(20))];
    story.event(CHILD, "sched:sched_process_exit", &exit).fork(SHELL, 20, 0);
    story.file(20, 4, "/older/too", 0).thread(20, 20, "sh", "S").file(20, 5, "/newer", 0);
    let state = story.state();
    assert_eq!(files(&state, 20), ["5 /newer"]);
}

#[test]
fn descriptor_that_another_thread_opens_before_close_returns_stays_open() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").thread(11, 10, "sh", "S").file(10, 3, "/old", 0);
    story.event(SHELL, "syscalls:sys_enter_close", &[("fd", Number(3))]);
    story.open(SECOND, "/new", 3);
    story.event(SHELL, "syscalls:sys_exit_close", &[("ret", Number(0))]);
    assert_eq!(files(&story.state(), 10), ["3 /new"]);
}

#[test]
fn process_that_becomes_another_program_loses_threads_and_marked_descriptors() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").thread(11, 10, "sh", "S");
    story.file(10, 3, "/kept", 0).file(10, 4, "/gone", 1).file(10, 5, "/marked", 0);
    story.mark(SHELL, 5, 1).execute(SHELL);
    let state = story.state();
    assert_eq!(files(&state, 10), ["3 /kept"]);
    assert_eq!(threads(&state), ["sh[10]"]);
}

#[test]
fn pipe_whose_numbers_are_not_told_is_not_taken_for_standard_input() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").file(10, 0, "/dev/null", 0);
    let entry = [("fildes", Number(0x7fff_0000)), ("flags", Number(0))];
    story.event(SHELL, "syscalls:sys_enter_pipe2", &entry);
    story.event(SHELL, "syscalls:sys_exit_pipe2", &[("ret", Number(0))]);
    assert_eq!(files(&story.state(), 10), ["0 /dev/null"]);
}

#[test]
fn maps_are_those_of_the_dump_but_for_what_calls_changed_since() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").file(10, 3, "/new.so", 0).maps(SHELL, 3, 0x8000, 0x1fff);
    story.unmap(SHELL, 0x2000, 0x1000).fork(SHELL, 20, 0).maps(CHILD, -1, 0x4000, 0x1000);
    story.map(10, 0x1000, 0x5000, "/bin/sh").map(10, 0x8000, 0x9000, "/old.so");
    story.map(10, 0x6000, 0x7000, "");
    story.unmap(SHELL, 0x8000, 0x1000);
    let state = story.state();
    assert_eq!(
        maps(&state, 10),
        ["1-2 r-xp 1 /bin/sh", "3-5 r-xp 3 /bin/sh", "9-a r-xp 3 /new.so"]
    );
    let of_child = ["1-2 r-xp 1 /bin/sh", "3-4 r-xp 3 /bin/sh", "8-a r-xp 2 /new.so"];
    assert_eq!(maps(&state, 20), of_child);
    let inode = |address| state.maps().at(process(&state, 10), address).unwrap().inode;
    assert_eq!((inode(0x1000), inode(0x9fff)), (Some(7), None));
    assert_eq!(state.maps().at(process(&state, 10), 0x2fff), None);
}

#[test]
fn maps_of_a_process_that_became_another_program_are_unknown_until_calls_tell() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").map(10, 0x1000, 0x5000, "/bin/sh").execute(SHELL);
    story.map(10, 0x6000, 0x7000, "/old/too").open(SHELL, "/lib/c.so", 3);
    story.maps(SHELL, 3, 0x1000, 0x1000).maps(SHELL, 9, 0x3000, 0x1000);
    let state = story.state();
    assert_eq!(maps(&state, 10), ["1-2 r-xp 2 /lib/c.so", "3-4 r-xp 2 "]);
}

#[test]
fn maps_are_gone_with_their_process_and_its_number() {
    let mut story = Story::new();
    story.thread(10, 10, "sh", "S").thread(20, 20, "older", "S").map(20, 0x1000, 0x5000, "/old");
    let exit = [("comm", Text("older")), ("pid", Number(20))];
    story.event(CHILD, "sched:sched_process_exit", &exit).fork(SHELL, 20, 0);
    story.map(10, 0x1000, 0x2000, "/bin/sh").map(20, 0x6000, 0x7000, "/stale");
    let state = story.state();
    assert_eq!(maps(&state, 20), ["1-2 r-xp 1 /bin/sh"], "its parent's");
}
