// SPDX-License-Identifier: MIT
//! Threads and processes as rows of the report.
//!
//! Place in the flow: after the last event; those that wrote most come first.

use std::cmp::Reverse;

use serde::Serialize;

use super::{Exit, Thread, ThreadKey, Threads};
use crate::texts::Texts;

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

impl Threads {
    fn thread_row(&self, thread: &Thread) -> ThreadRow {
        let (pid, tid) = match thread.key {
            Some(ThreadKey::Named { pid, tid, .. }) => (Some(pid), Some(tid)),
            _ => (None, None),
        };
        let name = match thread.key {
            Some(ThreadKey::Unnamed { cpu, .. }) => format!("unknown, on CPU {cpu}"),
            Some(ThreadKey::Named { .. }) => thread.name.text(),
            None => crate::texts::OTHERS_TEXT.into(),
        };
        ThreadRow {
            pid,
            tid,
            name,
            events: thread.events,
            first_ns: thread.first.0,
            last_ns: thread.last.0,
            has_ended: thread.has_ended,
        }
    }

    /// Threads with counted events, those with most first.
    pub fn thread_rows(&self) -> Vec<ThreadRow> {
        let counted = self.threads.iter().filter(|thread| thread.events > 0);
        let mut rows: Vec<ThreadRow> = counted.map(|thread| self.thread_row(thread)).collect();
        rows.sort_by_key(|row| (Reverse(row.events), row.pid, row.tid));
        rows
    }

    /// Processes with counted events, those with most first.
    pub fn process_rows(&self, texts: &Texts) -> Vec<ProcessRow> {
        let mut rows = Vec::new();
        for process in self.processes.iter().skip(1) {
            let of_threads = process.threads.iter().filter_map(|t| self.threads.get(t.0 as usize));
            let counted: Vec<&Thread> = of_threads.filter(|thread| thread.events > 0).collect();
            let (Some(first), Some(last)) = (
                counted.iter().map(|thread| thread.first.0).min(),
                counted.iter().map(|thread| thread.last.0).max(),
            ) else {
                continue;
            };
            rows.push(ProcessRow {
                pid: process.pid,
                parent_pid: process.parent_pid,
                name: self.name(process, texts),
                path: texts.text(process.path),
                arguments: texts.text(process.arguments),
                threads: counted.len() as u64,
                events: counted.iter().map(|thread| thread.events).sum(),
                first_ns: first,
                last_ns: last,
                exit_code: process.exit.and_then(|exit| match exit {
                    Exit::Code(code) => Some(code),
                    Exit::Signal(_) => None,
                }),
                exit_signal: process.exit.and_then(|exit| match exit {
                    Exit::Signal(signal) => Some(signal),
                    Exit::Code(_) => None,
                }),
            });
        }
        rows.sort_by_key(|row| (Reverse(row.events), row.pid));
        rows
    }
}
