// SPDX-License-Identifier: MIT
//! Bytes, calls and time by file.
//!
//! Place in the flow: `analyses` hands over each finished call, and what opened and closed
//! descriptors. Files with a path are one row for all processes; descriptors of which no event told
//! what they are stay apart.

use std::cmp::Reverse;

use serde::Serialize;

use crate::descriptors::{Descriptors, File};
use crate::operation::{Operation, Values};
use crate::rows::Rows;
use crate::texts::{TextIndex, Texts};
use crate::threads::{ProcessIndex, Threads};

const CLOSES_ON_EXEC: i64 = 0o2_000_000;
const CLOSE_RANGE_ON_EXEC: i64 = 4;
/// EINTR, EAGAIN (which EWOULDBLOCK is, too) and EINPROGRESS, the same on all of Linux's machines
/// that Lull runs on.
const RETRY_REASONS: [i64; 3] = [4, 11, 115];
const DUPLICATE: i64 = 0;
const DUPLICATE_ON_EXEC: i64 = 1030;

#[derive(Debug, Default)]
struct Account {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    other_calls: u64,
    failures: u64,
    retries: u64,
    duration_ns: u64,
    longest_ns: u64,
    process: Option<ProcessIndex>,
    has_several_processes: bool,
}

/// A file, or what else has a descriptor.
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
    pub max_ns: u64,
}

pub(crate) struct Files {
    pub descriptors: Descriptors,
    accounts: Rows<File, Account>,
}

impl Files {
    pub fn new(file_limit: usize, descriptor_limit: usize) -> Self {
        Self { descriptors: Descriptors::new(descriptor_limit), accounts: Rows::new(file_limit) }
    }

    /// A finished call. `duration_ns` is `None` for calls not to be counted: the filter leaves them
    /// out, but what they open must be known.
    pub fn event(
        &mut self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
        duration_ns: Option<u64>,
        texts: &mut Texts,
    ) {
        let Some(moved) = self.moved(operation, process, values) else {
            return self.changed(operation, process, values, texts);
        };
        if let Some(duration_ns) = duration_ns {
            for (file, way) in moved.into_iter().flatten() {
                self.accounts.row(file).add(process, way, values, duration_ns);
            }
        }
        if operation == Operation::StreamClose {
            self.descriptors.stream_closed(process, values.subject as u64);
        }
    }

    /// The files a call moves bytes of, and how many.
    fn moved(&self, operation: Operation, process: ProcessIndex, values: &Values) -> Option<Moved> {
        let bytes = u64::try_from(values.result).unwrap_or(0);
        let items = bytes.saturating_mul(u64::try_from(values.other).unwrap_or(0));
        let file = |fd| self.descriptors.file(process, fd);
        let stream = || self.descriptors.stream_file(process, values.subject as u64);
        Some(match operation {
            Operation::Read => [Some((file(values.subject), Way::In(bytes))), None],
            Operation::Write => [Some((file(values.subject), Way::Out(bytes))), None],
            Operation::Touch => [Some((file(values.subject), Way::None)), None],
            Operation::Copy => [
                Some((file(values.subject), Way::In(bytes))),
                Some((file(values.other), Way::Out(bytes))),
            ],
            Operation::StreamRead => [Some((stream(), Way::In(items))), None],
            Operation::StreamWrite => [Some((stream(), Way::Out(items))), None],
            Operation::StreamTouch | Operation::StreamClose => [Some((stream(), Way::None)), None],
            _ => return None,
        })
    }

    /// What a call that has not returned is about.
    pub fn subject(
        &self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
        texts: &Texts,
    ) -> Option<String> {
        let file = match operation {
            Operation::Connect | Operation::Accept => {
                self.descriptors.file(process, values.subject)
            }
            Operation::Open if values.text != TextIndex::NONE => File::Path(values.text),
            call => self.moved(call, process, values)?[0]?.0,
        };
        Some(name(Some(file), texts))
    }

    /// A call that changes which descriptors there are.
    fn changed(
        &mut self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
        texts: &mut Texts,
    ) {
        let Values { subject, other, third, result, text, .. } = *values;
        let open = &mut self.descriptors;
        let on_exec = third & CLOSES_ON_EXEC != 0;
        match operation {
            Operation::Connect if text != TextIndex::NONE => {
                open.opened(process, subject, File::To(text), false);
            }
            _ if result < 0 => {}
            Operation::Open if text != TextIndex::NONE => {
                open.opened(process, result, File::Path(text), on_exec);
            }
            Operation::StreamOpen if text != TextIndex::NONE => {
                open.opened(process, other, File::Path(text), false);
                open.stream_opened(process, subject as u64, other, File::Path(text));
            }
            Operation::StreamAttach => {
                let file = open.file(process, other);
                open.stream_opened(process, subject as u64, other, file);
            }
            Operation::Close => open.closed(process, subject, subject),
            Operation::CloseRange if third & CLOSE_RANGE_ON_EXEC == 0 => {
                open.closed(process, subject, other);
            }
            Operation::CloseFrom => open.closed(process, subject, i64::MAX),
            Operation::Duplicate => open.duplicated(process, subject, result, on_exec),
            Operation::Control if matches!(other, DUPLICATE | DUPLICATE_ON_EXEC) => {
                open.duplicated(process, subject, result, other == DUPLICATE_ON_EXEC);
            }
            Operation::Pipe => {
                open.opened(process, subject, File::Pipe(process), on_exec);
                open.opened(process, other, File::Pipe(process), on_exec);
            }
            Operation::SocketPair => {
                open.opened(process, subject, File::Socket(process), false);
                open.opened(process, other, File::Socket(process), false);
            }
            Operation::Socket => open.opened(process, result, File::Socket(process), false),
            Operation::Bind if text != TextIndex::NONE => {
                open.opened(process, subject, File::At(text), false);
            }
            Operation::Accept => {
                let peer = peer(text, texts);
                let file =
                    if peer == TextIndex::NONE { File::Socket(process) } else { File::From(peer) };
                open.opened(process, result, file, false);
            }
            _ => {}
        }
    }

    /// Rows in order of bytes, then of time.
    pub fn finish(&self, threads: &Threads, texts: &Texts) -> Vec<FileRow> {
        let used = self.accounts.iter().filter(|(_, account)| account.calls() > 0);
        let mut rows: Vec<FileRow> = used
            .map(|(file, account)| {
                let one = account.process.filter(|_| !account.has_several_processes);
                FileRow {
                    name: name(file, texts),
                    pid: one.and_then(|process| threads.pid(process)),
                    process: one.map(|process| threads.process_label(process, texts)),
                    reads: account.reads,
                    read_bytes: account.read_bytes,
                    writes: account.writes,
                    write_bytes: account.write_bytes,
                    other_calls: account.other_calls,
                    failures: account.failures,
                    retries: account.retries,
                    duration_ns: account.duration_ns,
                    max_ns: account.longest_ns,
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

type Moved = [Option<(File, Way)>; 2];

#[derive(Debug, Clone, Copy)]
enum Way {
    In(u64),
    Out(u64),
    None,
}

impl Account {
    fn add(&mut self, process: ProcessIndex, way: Way, values: &Values, duration_ns: u64) {
        match way {
            Way::In(bytes) => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.saturating_add(bytes);
            }
            Way::Out(bytes) => {
                self.writes += 1;
                self.write_bytes = self.write_bytes.saturating_add(bytes);
            }
            Way::None => self.other_calls += 1,
        }
        match outcome(values) {
            Outcome::Done => {}
            Outcome::Failure => self.failures += 1,
            Outcome::Retry => self.retries += 1,
        }
        self.duration_ns = self.duration_ns.saturating_add(duration_ns);
        self.longest_ns = self.longest_ns.max(duration_ns);
        self.has_several_processes |= self.process.is_some_and(|known| known != process);
        self.process = Some(process);
    }

    fn calls(&self) -> u64 {
        self.reads + self.writes + self.other_calls
    }
}

enum Outcome {
    Done,
    Failure,
    Retry,
}

/// How a call ended. The C library's functions give -1 and put the reason elsewhere; system calls
/// give the reason itself, negative.
fn outcome(values: &Values) -> Outcome {
    let reason = if values.error > 0 { values.error } else { values.result.saturating_neg() };
    match values.result {
        0.. => Outcome::Done,
        _ if RETRY_REASONS.contains(&reason) => Outcome::Retry,
        _ => Outcome::Failure,
    }
}

/// A peer's address without its port: a server's rows are its clients, not their connections.
fn peer(address: TextIndex, texts: &mut Texts) -> TextIndex {
    let host = match texts.bytes(address) {
        b"none" => return TextIndex::NONE,
        text if text.starts_with(b"unix:") => return address,
        text => match text.iter().rposition(|byte| *byte == b':') {
            Some(colon) => text[..colon].to_vec(),
            None => return address,
        },
    };
    texts.index(&host)
}

fn name(file: Option<File>, texts: &Texts) -> String {
    match file {
        None => crate::texts::OTHERS_TEXT.into(),
        Some(File::Path(path)) => texts.text(path),
        Some(File::To(address)) => format!("socket to {}", texts.text(address)),
        Some(File::From(address)) => format!("socket from {}", texts.text(address)),
        Some(File::At(address)) => format!("socket at {}", texts.text(address)),
        Some(File::Socket(_)) => "socket".into(),
        Some(File::Pipe(_)) => "pipe".into(),
        Some(File::Descriptor(_, 0)) => "stdin".into(),
        Some(File::Descriptor(_, 1)) => "stdout".into(),
        Some(File::Descriptor(_, 2)) => "stderr".into(),
        Some(File::Descriptor(_, fd)) => format!("descriptor {fd}"),
        Some(File::Stream(_)) => "streams opened before".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessIndex = ProcessIndex(1);

    fn values(subject: i64, other: i64, result: i64) -> Values {
        Values { subject, other, result, ..Values::default() }
    }

    #[test]
    fn bytes_and_time_go_to_the_path_behind_the_descriptor() {
        let (mut files, mut texts) = (Files::new(9, 99), Texts::new(9));
        let path = texts.index(b"/tmp/x");
        let mut event = |operation, values: Values, ns| {
            files.event(operation, P, &values, ns, &mut texts);
        };
        event(Operation::Open, Values { text: path, ..values(0, 0, 3) }, None);
        event(Operation::Read, values(3, 0, 100), Some(7));
        event(Operation::Read, values(3, 0, -1), Some(3));
        event(Operation::Duplicate, values(3, 0, 5), None);
        event(Operation::Close, values(3, 0, 0), None);
        event(Operation::Write, values(5, 0, 40), Some(1));
        event(Operation::Read, values(3, 0, 9), Some(1));
        let rows = files.finish(&Threads::new(1), &texts);
        let row = &rows[0];
        assert_eq!((row.name.as_str(), row.read_bytes, row.write_bytes), ("/tmp/x", 100, 40));
        assert_eq!((row.reads, row.writes, row.failures), (2, 1, 1));
        assert_eq!((row.duration_ns, row.max_ns), (11, 7));
        assert_eq!((rows[1].name.as_str(), rows[1].read_bytes), ("descriptor 3", 9));
    }

    #[test]
    fn calls_to_be_made_again_are_no_failures() {
        let (mut files, mut texts) = (Files::new(9, 99), Texts::new(9));
        let mut read = |result, error| {
            let values = Values { error, ..values(3, 0, result) };
            files.event(Operation::Read, P, &values, Some(1), &mut texts);
        };
        let (interrupted, again, in_progress, bad_descriptor) = (4, 11, 115, 9);
        for reason in [interrupted, again, in_progress, bad_descriptor] {
            read(-1, reason); // the C library's function
            read(-reason, 0); // the system call
        }
        read(0, again);
        let row = &files.finish(&Threads::new(1), &texts)[0];
        assert_eq!((row.reads, row.failures, row.retries), (9, 2, 6));
    }

    #[test]
    fn calls_left_out_by_the_filter_open_files_and_count_nothing() {
        let (mut files, mut texts) = (Files::new(9, 99), Texts::new(9));
        files.event(Operation::Write, P, &values(1, 0, 5), None, &mut texts);
        assert!(files.finish(&Threads::new(1), &texts).is_empty());
    }

    #[test]
    fn copying_counts_on_both_sides_and_streams_count_items() {
        let (mut files, mut texts) = (Files::new(9, 99), Texts::new(9));
        files.event(Operation::Copy, P, &values(0, 1, 30), Some(2), &mut texts);
        files.event(Operation::StreamAttach, P, &values(0x10, 1, 0), None, &mut texts);
        files.event(Operation::StreamWrite, P, &values(0x10, 8, 3), Some(2), &mut texts);
        let rows = files.finish(&Threads::new(1), &texts);
        let found: Vec<_> =
            rows.iter().map(|r| (r.name.as_str(), r.read_bytes, r.write_bytes)).collect();
        assert_eq!(found, [("stdout", 0, 54), ("stdin", 30, 0)]);
    }

    #[test]
    fn connections_of_one_client_are_one_row() {
        let (mut files, mut texts) = (Files::new(9, 99), Texts::new(9));
        for (fd, port) in [(7, 4001), (8, 4002)] {
            let text = texts.index(format!("127.0.0.1:{port}").as_bytes());
            let accepted = Values { text, ..values(4, 0, fd) };
            files.event(Operation::Accept, P, &accepted, None, &mut texts);
            files.event(Operation::Read, P, &values(fd, 0, 10), Some(1), &mut texts);
        }
        let rows = files.finish(&Threads::new(1), &texts);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].name.as_str(), rows[0].read_bytes), ("socket from 127.0.0.1", 20));
    }
}
