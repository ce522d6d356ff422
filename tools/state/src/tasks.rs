// SPDX-License-Identifier: MIT
//! What the kernel tells of its tasks, by events and by a dump of the state.
//!
//! Place in the flow: `moment` hands over the operations of the kernel's own events, whose numbers
//! of threads are those of the machine. A dump's record counts unless an event since the dump's
//! begin told of the same thing (`dump` knows). Paper: O 4.2 (state dump).

use trace::Ns;

use crate::descriptors::File;
use crate::maps::Map;
use crate::moment::State;
use crate::names::ShortName;
use crate::operation::{Operation, Values};
use crate::texts::TextIndex;
use crate::threads::{ProcessIndex, ThreadIndex, ThreadKey};
use crate::usage::CLOSES_ON_EXEC;

/// What LTTng's dump calls zombies and the dead.
const LTTNG_ENDED: [i64; 3] = [3, 4, 7];
const CLONE_PARENT: i64 = 0x8000;
const CLONE_THREAD: i64 = 0x1_0000;

/// What the trace has of the kernel's last dump of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dump {
    /// Nothing: what events did not tell is not known.
    #[default]
    Absent,
    /// Its begin, and not its end.
    Begun,
    /// Its begin and its end, and the kernel says that it could not write all of it, or it does not
    /// say and events were lost in between.
    CutOff,
    /// All of it.
    Whole,
}

impl State {
    /// Takes over what a kernel's event of a task, or a dump's, says. `thread`: wrote the event.
    pub(crate) fn task(
        &mut self,
        operation: Operation,
        (host, thread): (u32, ThreadIndex),
        values: &Values,
    ) {
        match operation {
            Operation::TaskNew => self.task_begins(host, thread, values),
            Operation::TaskFork => {
                let Values { subject: tid, other: pid, third: parent_pid, .. } = *values;
                let parent = self.threads.process_of_pid(host, parent_pid);
                let parent = parent.unwrap_or(ProcessIndex::OTHERS);
                self.thread_begins((host, pid, tid), (parent, parent_pid), values);
            }
            Operation::TaskExec => self.task_executes(host, values),
            Operation::TaskName => {
                if let Some(named) = self.threads.by_tid(host, values.subject) {
                    self.threads.is_called(named, ShortName::new(self.texts.bytes(values.text)));
                    self.descriptors.told.thread(named);
                }
            }
            Operation::DumpBegin => {
                self.descriptors.told.dump_begins(self.running.is_losing());
                self.dump = Dump::Begun;
            }
            Operation::DumpEnd => self.dump_ends(values.subject != 0),
            Operation::DumpDone => self.dump_ends(self.descriptors.told.is_whole()),
            Operation::DumpThread => self.is_thread(host, values),
            Operation::DumpProcess => self.is_process(host, values),
            Operation::DumpFile => self.is_file((host, values.subject), values, values.third != 0),
            Operation::DumpTableFile => self.is_table_file(host, values),
            Operation::DumpCommand => self.is_command(host, values),
            Operation::DumpMap => self.is_map(host, values),
            _ => {}
        }
    }

    /// The running thread made another one, or a process with its first.
    fn task_begins(&mut self, host: u32, by: ThreadIndex, values: &Values) {
        let Values { subject: tid, third: flags, .. } = *values;
        let parent = self.threads.process_of(by);
        let Some(parent_pid) = self.threads.pid(parent) else { return };
        let is_thread = flags & CLONE_THREAD != 0;
        let pid = if is_thread { parent_pid } else { tid };
        let of_parent = self.threads.parent_pid(parent).unwrap_or(0);
        let child = self.thread_begins((host, pid, tid), (parent, parent_pid), values);
        if let (Some(child), true) = (child, flags & CLONE_PARENT != 0) {
            self.threads.is_child_of(child, of_parent);
        }
    }

    /// A thread is there from now on. The result is its process, if that is new with it.
    fn thread_begins(
        &mut self,
        (host, pid, tid): (u32, i64, i64),
        (parent, parent_pid): (ProcessIndex, i64),
        values: &Values,
    ) -> Option<ProcessIndex> {
        let name = ShortName::new(self.texts.bytes(values.text));
        let begun = self.threads.lives(ThreadKey::Named { host, pid, tid }, name);
        self.descriptors.told.thread(begun);
        let child = self.threads.process_of(begun);
        if pid == parent_pid || child == parent || child == ProcessIndex::OTHERS {
            return None;
        }
        self.threads.alone(begun);
        self.threads.forked(child, parent, parent_pid);
        self.descriptors.ended(child);
        self.locks.ended(child);
        self.descriptors.told.born(child, pid, parent);
        self.descriptors.inherited(child, parent, false);
        self.maps.inherited(child, parent);
        Some(child)
    }

    /// A process has another program; of its threads there is one left, with the process's number.
    fn task_executes(&mut self, host: u32, values: &Values) {
        let pid = values.subject;
        let Some(name) = self.threads.by_tid(host, pid).map(|index| self.threads.name(index))
        else {
            return;
        };
        let left = self.threads.lives(ThreadKey::Named { host, pid, tid: pid }, name);
        let process = self.threads.process_of(left);
        for thread in self.threads.threads_of(process) {
            self.descriptors.told.thread(*thread);
        }
        self.threads.alone(left);
        self.threads.runs(process, values.text);
        self.descriptors.executed(process);
        self.locks.ended(process);
        self.maps.forget(process);
    }

    /// A whole dump told of every thread that there is, unless an event told of it. Another thread
    /// was ending when the recording began: it wrote an event, and was gone when the dump came.
    fn dump_ends(&mut self, is_whole: bool) {
        let threads = self.descriptors.told.dump_ends();
        self.dump = if is_whole { Dump::Whole } else { Dump::CutOff };
        if let (true, Some(threads)) = (is_whole, threads) {
            self.threads.only(&threads);
        }
    }

    fn is_thread(&mut self, host: u32, values: &Values) {
        let Values { subject: tid, other: pid, third: parent_pid, .. } = *values;
        self.descriptors.told.has_table(values.fourth as u64, pid);
        let key = ThreadKey::Named { host, pid, tid };
        let is_taken = self.descriptors.told.takes_thread(self.threads.known(key), pid);
        if !is_taken {
            return;
        }
        let has_ended = matches!(self.texts.bytes(values.more_text), b"Z" | b"X")
            || LTTNG_ENDED.contains(&values.fifth);
        let name = ShortName::new(self.texts.bytes(values.text));
        let thread = self.threads.lives(key, name);
        self.descriptors.told.thread(thread);
        if has_ended {
            self.threads.ended(thread);
        }
        if tid == pid {
            self.threads.is_child_of(self.threads.process_of(thread), parent_pid);
        }
    }

    fn is_process(&mut self, host: u32, values: &Values) {
        let Some(process) = self.threads.process_of_pid(host, values.subject) else { return };
        let told = &mut self.descriptors.told;
        let is_taken = told.takes_of(values.subject) && told.takes_program(process);
        if is_taken && values.text != TextIndex::NONE {
            self.threads.runs(process, values.text);
        }
    }

    /// The arguments are those of the program that the process runs: they go when it runs another.
    fn is_command(&mut self, host: u32, values: &Values) {
        let Some(process) = self.threads.process_of_pid(host, values.subject) else { return };
        let told = &mut self.descriptors.told;
        let is_taken = told.takes_of(values.subject) && told.takes_program(process);
        if is_taken && self.texts.bytes(values.more_text) != b"(unreadable)" {
            self.threads.was_given(process, values.more_text);
        }
    }

    fn is_map(&mut self, host: u32, values: &Values) {
        let Some(process) = self.threads.process_of_pid(host, values.subject) else { return };
        if self.descriptors.told.takes_of(values.subject) {
            let map = Map {
                begin: values.other as u64,
                until: values.third as u64,
                flags: values.fourth as u32,
                offset_bytes: values.fifth as u64,
                path: values.text,
                inode: Some(values.sixth as u64),
                since: Ns(0),
            };
            self.maps.dumped(process, map, &self.descriptors.told);
        }
    }

    fn is_file(&mut self, (host, pid): (u32, i64), values: &Values, on_exec: bool) {
        let Some(process) = self.threads.process_of_pid(host, pid) else { return };
        if self.descriptors.told.takes_of(pid) {
            self.descriptors.dumped(process, values.other, File::Path(values.text), on_exec);
        }
    }

    /// LTTng tells the descriptors of a table after the first thread of a process that has it; old
    /// versions tell the process with each descriptor.
    fn is_table_file(&mut self, host: u32, values: &Values) {
        let told = (values.subject != 0).then_some(values.subject);
        let of_table = || self.descriptors.told.of_table(values.fourth as u64);
        if let Some(pid) = told.or_else(of_table) {
            self.is_file((host, pid), values, values.third & CLOSES_ON_EXEC != 0);
        }
    }
}
