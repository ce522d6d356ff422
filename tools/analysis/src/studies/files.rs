// SPDX-License-Identifier: MIT
//! `io`: what was read and written, by file.
//!
//! Place in the flow: the report's rows of files.

use state::OTHERS_TEXT;

use crate::files::FileRow;
use crate::report::Report;
use crate::sheet::{number, path, text, Cell, Column, Sheet, Table};

const FILES: [Column; 13] = [
    path("file", "file", 0),
    text("process", "in", 2),
    number("reads", "reads", 2),
    number("read_bytes", "read", 0),
    number("writes", "writes", 2),
    number("write_bytes", "written", 0),
    number("other_calls", "other calls", 3),
    number("failures", "failed", 1),
    number("retries", "retry", 3),
    number("duration_ns", "time", 0),
    number("p50_ns", "p50", 3),
    number("p99_ns", "p99", 2),
    number("max_ns", "max", 1),
];

/// Events that show that a program has streams of the C library.
const STREAMS: [&str; 2] = ["io:fopen", "io:fdopen"];
const OF_STREAMS: &str = "Of streams (fopen), fread() and fwrite() are recorded: what fprintf(), \
                          fgets(), getc() and their kin read and wrote is not counted.";
const RELATIVE: &str = "A relative path is one row, although it may be another file in each \
                        process: in which directory a process was is not known.";

pub(super) fn sheet(report: &Report) -> Sheet {
    Sheet { tables: vec![table(&report.files)], notes: notes(report), ..Sheet::default() }
}

fn notes(report: &Report) -> Vec<String> {
    let mut names = report.event_names.iter().filter_map(|row| row.name.as_deref());
    let has_streams = names.any(|name| STREAMS.contains(&name));
    let is_relative = |row: &FileRow| {
        // Of what has no path, only sockets are of several processes.
        let is_path = row.name != OTHERS_TEXT && !row.name.starts_with("socket ");
        row.process.is_none() && is_path && !row.name.starts_with('/')
    };
    let has_relative = report.files.iter().any(is_relative);
    let all = [(has_streams, OF_STREAMS), (has_relative, RELATIVE)];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note.into()).collect()
}

fn table(files: &[FileRow]) -> Table {
    let rows = files.iter().map(|row| {
        let file = match row.name.as_str() {
            OTHERS_TEXT => Cell::Others,
            name => Cell::text(name),
        };
        vec![
            file,
            row.process.clone().into(),
            Cell::Count(row.reads),
            Cell::Bytes(row.read_bytes),
            Cell::Count(row.writes),
            Cell::Bytes(row.write_bytes),
            Cell::Count(row.other_calls),
            Cell::Count(row.failures),
            Cell::Count(row.retries),
            Cell::Ns(row.duration_ns),
            Cell::Ns(row.p50_ns),
            Cell::Ns(row.p99_ns),
            Cell::Ns(row.max_ns),
        ]
    });
    Table {
        key: "files",
        title: "Files and sockets",
        when_empty:
            "The trace has no calls on files whose time is known, but for opening and closing.",
        columns: &FILES,
        rows: rows.collect(),
    }
}
