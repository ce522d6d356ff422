// SPDX-License-Identifier: MIT
//! Bytes, calls and time by file.
//!
//! Place in the flow: `analyses` hands over each finished call with the files that it used. Files
//! with a path are one row for all processes; descriptors of which no event told what they are stay
//! apart.

use std::cmp::Reverse;

use serde::Serialize;
use state::{File, Moved, ProcessIndex, Texts, Threads, Uses, Values, OTHERS_TEXT};

use crate::distribution::Distribution;
use crate::rows::Rows;

/// EINTR, EAGAIN (which EWOULDBLOCK is, too) and EINPROGRESS, the same on all of Linux's machines
/// that Lull runs on.
const RETRY_REASONS: [i64; 3] = [4, 11, 115];

#[derive(Debug, Default)]
struct Account {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    other_calls: u64,
    failures: u64,
    retries: u64,
    durations: Distribution<2>,
    process: Option<ProcessIndex>,
    has_several_processes: bool,
}

/// A file, or another object that has a descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRow {
    pub name: String,
    /// The one process that used it; `None` if there were several.
    pub pid: Option<i64>,
    pub process: Option<String>,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Calls that move no bytes, such as fsync.
    pub other_calls: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls to be made again, as nothing was ready or a signal came: EAGAIN, EINTR, EINPROGRESS.
    pub retries: u64,
    pub duration_ns: u64,
    /// Exact to 1 %.
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

pub(crate) struct Files {
    accounts: Rows<File, Account>,
}

impl Files {
    pub fn new(limit: usize) -> Self {
        Self { accounts: Rows::new(limit) }
    }

    /// A finished call to be counted.
    pub fn event(&mut self, process: ProcessIndex, uses: Uses, values: &Values, duration_ns: u64) {
        for (file, moved) in uses.into_iter().flatten() {
            self.accounts.row(file).add(process, moved, values, duration_ns);
        }
    }

    /// Rows in order of bytes, then of time.
    pub fn finish(&self, threads: &Threads, texts: &Texts) -> Vec<FileRow> {
        let used = self.accounts.iter().filter(|(_, account)| account.calls() > 0);
        let mut rows: Vec<FileRow> = used
            .map(|(file, account)| {
                let durations = account.durations.report();
                let one = account.process.filter(|_| !account.has_several_processes);
                FileRow {
                    name: file.map_or_else(|| OTHERS_TEXT.into(), |file| file.label(texts)),
                    pid: one.and_then(|process| threads.pid(process)),
                    process: one.map(|process| threads.process_label(process, texts)),
                    reads: account.reads,
                    read_bytes: account.read_bytes,
                    writes: account.writes,
                    write_bytes: account.write_bytes,
                    other_calls: account.other_calls,
                    failures: account.failures,
                    retries: account.retries,
                    duration_ns: durations.total_ns,
                    p50_ns: durations.p50_ns,
                    p99_ns: durations.p99_ns,
                    max_ns: durations.max_ns,
                }
            })
            .collect();
        rows.sort_by_cached_key(|row| {
            let bytes = row.read_bytes.saturating_add(row.write_bytes);
            (Reverse(bytes), Reverse(row.duration_ns), row.name.clone(), row.pid)
        });
        rows
    }
}

impl Account {
    fn add(&mut self, process: ProcessIndex, moved: Moved, values: &Values, duration_ns: u64) {
        match moved {
            Moved::In(bytes) => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.saturating_add(bytes);
            }
            Moved::Out(bytes) => {
                self.writes += 1;
                self.write_bytes = self.write_bytes.saturating_add(bytes);
            }
            Moved::Nothing => self.other_calls += 1,
        }
        match outcome(values) {
            Outcome::Done => {}
            Outcome::Failure => self.failures += 1,
            Outcome::Retry => self.retries += 1,
        }
        self.durations.record(duration_ns);
        self.has_several_processes |= self.process.is_some_and(|known| known != process);
        self.process = Some(process);
    }

    fn calls(&self) -> u64 {
        self.reads + self.writes + self.other_calls
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failure,
    Retry,
}

/// How a call ended. The C library's functions give -1 and put the reason elsewhere; system calls
/// give the reason itself, negative.
pub(crate) fn outcome(values: &Values) -> Outcome {
    let reason = if values.error > 0 { values.error } else { values.result.saturating_neg() };
    match values.result {
        0.. => Outcome::Done,
        _ if RETRY_REASONS.contains(&reason) => Outcome::Retry,
        _ => Outcome::Failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessIndex = ProcessIndex(1);
    const INPUT: File = File::Descriptor(P, 0);
    const OUTPUT: File = File::Descriptor(P, 1);

    fn returned(result: i64) -> Values {
        Values { result, ..Values::default() }
    }

    #[test]
    fn bytes_calls_errors_and_time_add_up_by_file() {
        let mut files = Files::new(9);
        files.event(P, [Some((INPUT, Moved::In(100))), None], &returned(100), 7);
        files.event(P, [Some((INPUT, Moved::In(0))), None], &returned(-1), 3);
        files.event(P, [Some((INPUT, Moved::Nothing)), None], &returned(0), 1);
        files.event(P, [Some((OUTPUT, Moved::Out(40))), None], &returned(40), 2);
        let rows = files.finish(&Threads::new(1), &Texts::new(1));
        let row = &rows[0];
        assert_eq!((row.name.as_str(), row.read_bytes, row.write_bytes), ("stdin", 100, 0));
        assert_eq!((row.reads, row.writes, row.other_calls, row.failures), (2, 0, 1, 1));
        assert_eq!((row.duration_ns, row.max_ns), (11, 7));
        assert_eq!((rows[1].name.as_str(), rows[1].write_bytes), ("stdout", 40));
    }

    #[test]
    fn calls_to_be_made_again_are_no_failures() {
        let mut files = Files::new(9);
        let mut read = |result, error| {
            let values = Values { error, ..returned(result) };
            files.event(P, [Some((INPUT, Moved::In(0))), None], &values, 1);
        };
        let (interrupted, again, in_progress, bad_descriptor) = (4, 11, 115, 9);
        for reason in [interrupted, again, in_progress, bad_descriptor] {
            read(-1, reason); // the C library's function
            read(-reason, 0); // the system call
        }
        read(0, again);
        let row = &files.finish(&Threads::new(1), &Texts::new(1))[0];
        assert_eq!((row.reads, row.failures, row.retries), (9, 2, 6));
    }

    #[test]
    fn copying_counts_on_both_sides_and_files_past_the_limit_are_counted_together() {
        let mut files = Files::new(1);
        files.event(
            P,
            [Some((INPUT, Moved::In(30))), Some((OUTPUT, Moved::Out(30)))],
            &returned(30),
            2,
        );
        files.event(P, [Some((File::Pipe(P), Moved::Out(5))), None], &returned(5), 2);
        let rows = files.finish(&Threads::new(1), &Texts::new(1));
        let found: Vec<_> =
            rows.iter().map(|r| (r.name.as_str(), r.read_bytes, r.write_bytes)).collect();
        assert_eq!(found, [("(others)", 0, 35), ("stdin", 30, 0)]);
    }
}
