// SPDX-License-Identifier: MIT
//! How many events each thread and each process wrote, and when.
//!
//! Place in the flow: every counted event passes through; the `state` knows which thread wrote it.
//! The rows of the report begin with those that wrote most.

use std::cmp::Reverse;

use serde::Serialize;
use state::{
    Exit, Process, ProcessIndex, Texts, Thread, ThreadIndex, ThreadKey, Threads, OTHERS_TEXT,
};
use trace::Ns;

/// A thread that wrote events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadRow {
    /// `None`: threads that the trace does not name, or that found no space in the table.
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    pub name: String,
    pub events: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub has_ended: bool,
}

/// A process that wrote events, or that its parent told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessRow {
    pub pid: Option<i64>,
    pub parent_pid: Option<i64>,
    pub name: String,
    pub path: String,
    pub arguments: String,
    pub threads: u64,
    pub events: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    events: u64,
    first: Ns,
    last: Ns,
}

impl Written {
    const NOTHING: Written = Written { events: 0, first: Ns(i64::MAX), last: Ns(i64::MIN) };
}

/// By thread; as many as the state tells apart.
pub(crate) struct Writers {
    written: Vec<Written>,
}

impl Writers {
    pub fn new() -> Self {
        Self { written: Vec::new() }
    }

    /// Counts an event.
    #[inline]
    pub fn event(&mut self, thread: ThreadIndex, at: Ns) {
        let position = thread.0 as usize;
        if position >= self.written.len() {
            self.written.resize(position + 1, Written::NOTHING);
        }
        let written = &mut self.written[position];
        written.events += 1;
        written.first = written.first.min(at);
        written.last = written.last.max(at);
    }

    /// What a thread wrote, if it wrote anything.
    fn of(&self, thread: ThreadIndex) -> Option<Written> {
        self.written.get(thread.0 as usize).copied().filter(|written| written.events > 0)
    }

    /// Threads with counted events, those with most first.
    pub fn thread_rows(&self, threads: &Threads) -> Vec<ThreadRow> {
        let threads = threads.threads().iter().zip(0..);
        let rows = threads
            .filter_map(|(thread, index)| Some(thread_row(thread, self.of(ThreadIndex(index))?)));
        let mut rows: Vec<ThreadRow> = rows.collect();
        rows.sort_by_key(|row| (Reverse(row.events), row.pid, row.tid));
        rows
    }

    /// Processes with counted events, those with most first.
    pub fn process_rows(&self, threads: &Threads, texts: &Texts) -> Vec<ProcessRow> {
        let others = ProcessIndex::OTHERS.0 as usize;
        let processes = threads.processes().iter().skip(others + 1);
        let rows = processes.filter_map(|process| {
            let counted = process.threads.iter().filter_map(|thread| self.of(*thread));
            let counted: Vec<Written> = counted.collect();
            let name = threads.process_name(process, texts);
            process_row(process, name, &counted, texts)
        });
        let mut rows: Vec<ProcessRow> = rows.collect();
        rows.sort_by_key(|row| (Reverse(row.events), row.pid));
        rows
    }
}

fn thread_row(thread: &Thread, written: Written) -> ThreadRow {
    let (pid, tid, name) = match thread.key {
        Some(ThreadKey::Named { pid, tid, .. }) => (Some(pid), Some(tid), thread.name.text()),
        Some(ThreadKey::Idle { .. }) => (Some(0), Some(0), thread.name.text()),
        Some(ThreadKey::Scheduled { tid, .. }) => (None, Some(tid), thread.name.text()),
        Some(ThreadKey::Unnamed { cpu, .. }) => (None, None, format!("unknown, on CPU {cpu}")),
        None => (None, None, OTHERS_TEXT.into()),
    };
    ThreadRow {
        pid,
        tid,
        name,
        events: written.events,
        first_ns: written.first.0,
        last_ns: written.last.0,
        has_ended: thread.has_ended,
    }
}

fn process_row(
    process: &Process,
    name: String,
    counted: &[Written],
    texts: &Texts,
) -> Option<ProcessRow> {
    let (exit_code, exit_signal) = match process.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    Some(ProcessRow {
        pid: process.pid,
        parent_pid: process.parent_pid,
        name,
        path: texts.text(process.path),
        arguments: texts.text(process.arguments),
        threads: counted.len() as u64,
        events: counted.iter().map(|written| written.events).sum(),
        first_ns: counted.iter().map(|written| written.first.0).min()?,
        last_ns: counted.iter().map(|written| written.last.0).max()?,
        exit_code,
        exit_signal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use state::ShortName;

    fn key(pid: i64, tid: i64) -> ThreadKey {
        ThreadKey::Named { host: 0, pid, tid }
    }

    #[test]
    fn threads_are_counted_and_processes_sum_them_up() {
        let (mut threads, mut writers) = (Threads::new(9), Writers::new());
        let main = threads.index(key(10, 10), Some(ShortName::new(b"sort")));
        let other = threads.index(key(10, 11), Some(ShortName::new(b"worker")));
        threads.index(key(20, 20), Some(ShortName::new(b"silent")));
        writers.event(main, Ns(5));
        for at in [7, 9, 8] {
            writers.event(other, Ns(at));
        }
        let rows = writers.thread_rows(&threads);
        assert_eq!((rows[0].name.as_str(), rows[0].events), ("worker", 3));
        assert_eq!((rows[0].first_ns, rows[0].last_ns), (7, 9));
        assert_eq!((rows[1].name.as_str(), rows[1].tid), ("sort", Some(10)));
        let processes = writers.process_rows(&threads, &Texts::new(9));
        assert_eq!((rows.len(), processes.len()), (2, 1));
        let row = &processes[0];
        assert_eq!((row.events, row.threads, row.first_ns, row.last_ns), (4, 2, 5, 9));
        assert_eq!((row.name.as_str(), row.pid), ("sort", Some(10)));
    }

    #[test]
    fn threads_past_the_limit_are_counted_together() {
        let (mut threads, mut writers) = (Threads::new(1), Writers::new());
        for tid in 1..4 {
            writers.event(threads.index(key(1, tid), None), Ns(tid));
        }
        let rows = writers.thread_rows(&threads);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.events)).collect();
        assert_eq!(found, [(OTHERS_TEXT, 2), ("", 1)]);
    }
}
