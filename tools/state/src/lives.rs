// SPDX-License-Identifier: MIT
//! How processes begin and end, as they tell themselves and their parents tell.
//!
//! Place in the flow: `moment` hands over the operations. What a process had, and what its threads
//! were in, is over with it. What the kernel tells of its tasks is in `tasks`.

use crate::moment::State;
use crate::operation::Values;
use crate::threads::ProcessIndex;

impl State {
    /// A program begins: in a new process, or in one that ran another until now.
    pub(crate) fn start(&mut self, host: u32, process: ProcessIndex, values: &Values) {
        let parent_pid = values.other;
        self.cut_calls(process);
        self.descriptors.executed(process);
        self.maps.forget(process);
        self.locks.ended(process);
        if !self.threads.has_origin(process) {
            if let Some(parent) = self.threads.process_of_pid(host, parent_pid) {
                self.descriptors.inherited(process, parent, true);
            }
        }
        self.threads.started(process, parent_pid, values.text, values.more_text);
    }

    /// A program told that it ends, which takes its threads with it. A kernel that tells what runs
    /// tells the end of each thread, and before it what else the thread does.
    pub(crate) fn said_its_end(&mut self, host: u32, process: ProcessIndex) {
        if !self.running.is_told(host) {
            self.cut_calls(process);
        }
    }

    /// A process's parent learned its status: it is over, unless it was stopped or goes on.
    pub(crate) fn waited_for(&mut self, child: ProcessIndex, status: i64) {
        if self.threads.waited_for(child, status) {
            self.descriptors.ended(child);
            self.maps.forget(child);
            self.locks.ended(child);
            self.cut_calls(child);
        }
    }

    /// What the threads of a process are in will not be left any more.
    fn cut_calls(&mut self, process: ProcessIndex) {
        for thread in self.threads.threads_of(process) {
            self.calls.thread_ended(*thread);
        }
    }
}
