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

pub(super) fn sheet(report: &Report) -> Sheet {
    Sheet { tables: vec![table(&report.files)], ..Sheet::default() }
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
        when_empty: "The trace has no finished calls on files.",
        columns: &FILES,
        rows: rows.collect(),
    }
}
