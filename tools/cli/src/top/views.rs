// SPDX-License-Identifier: MIT
//! The tables of a frame: which columns there are, in which order rows come, which are shown.
//!
//! Place in the flow: `text` prints them, `screen` draws them. A table is laid out by
//! `report::table`, which escapes what a terminal would obey. The same rows go into the JSON.

use super::frame::{CpuRow, Frame};
use crate::report::number::{duration, rate, share};
use crate::report::table::{Kind, Table};
use analysis::live::{CallRow, LiveEventRow, TaskRow, WaitRow};
use std::cmp::Ordering;
use verdict::text::{bytes, grouped};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum View {
    Processes,
    Threads,
    Events,
    Calls,
    Locks,
    Cpus,
}

pub const VIEWS: [View; 6] =
    [View::Processes, View::Threads, View::Events, View::Calls, View::Locks, View::Cpus];

/// A column; those of higher ranks are left out first where space is short.
#[derive(Debug)]
pub struct Column {
    pub title: &'static str,
    kind: Kind,
    rank: u8,
}

const fn text(title: &'static str, rank: u8) -> Column {
    Column { title, kind: Kind::Text, rank }
}

const fn number(title: &'static str, rank: u8) -> Column {
    Column { title, kind: Kind::Number, rank }
}

/// The slowest call's name is behind its duration, by which rows are put in order.
const TASKS: [Column; 11] = [
    text("name", 0),
    number("events/s", 0),
    number("bytes/s", 2),
    number("events", 3),
    number("calls/s", 2),
    number("slowest", 0),
    text("call", 1),
    number("lock waits", 2),
    number("waiting", 1),
    number("CPU", 1),
    number("ready", 3),
];

const EVENTS: [Column; 5] = [
    text("event", 0),
    number("events/s", 0),
    number("share", 1),
    number("bytes/s", 1),
    number("events", 0),
];

const CALLS: [Column; 9] = [
    text("call", 0),
    number("calls/s", 0),
    number("count", 1),
    number("p50", 0),
    number("p99", 0),
    number("max", 0),
    number("total", 2),
    number("failed", 3),
    text("slowest in", 2),
];

const LOCKS: [Column; 9] = [
    text("lock", 0),
    text("process", 1),
    number("waits/s", 0),
    number("waiting", 1),
    number("count", 2),
    number("p50", 2),
    number("p99", 1),
    number("max", 0),
    text("longest in", 2),
];

const CPUS: [Column; 9] = [
    text("stream", 0),
    number("bytes/s", 0),
    number("packets/s", 2),
    number("written", 1),
    number("lost/s", 0),
    number("full", 0),
    number("overflow", 2),
    number("too big", 2),
    number("in flight", 2),
];

/// A row: what it shows, and what it is put in order by where that is a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub cells: Vec<String>,
    keys: Vec<f64>,
}

impl Row {
    /// What tells the row from others.
    pub fn name(&self) -> &str {
        self.cells.first().map_or("", String::as_str)
    }
}

/// Gathers a row cell by cell.
#[derive(Default)]
struct Cells {
    cells: Vec<String>,
    keys: Vec<f64>,
}

impl Cells {
    fn text(mut self, text: &str) -> Self {
        self.cells.push(text.into());
        self.keys.push(f64::NAN);
        self
    }

    fn number(mut self, key: f64, shown: String) -> Self {
        self.cells.push(shown);
        self.keys.push(key);
        self
    }

    fn rate(self, per_s: f64) -> Self {
        self.number(per_s, rate(per_s))
    }

    fn bytes_rate(self, per_s: f64) -> Self {
        self.number(per_s, bytes(per_s.round() as u64))
    }

    fn count(self, count: u64) -> Self {
        self.number(count as f64, grouped(count))
    }

    fn ns(self, ns: u64) -> Self {
        self.number(ns as f64, duration(ns))
    }

    fn share(self, part: Option<f64>) -> Self {
        match part {
            Some(part) => self.number(part, share(part)),
            None => self.number(-1.0, String::new()),
        }
    }

    fn row(self) -> Row {
        Row { cells: self.cells, keys: self.keys }
    }
}

impl View {
    pub fn title(self) -> &'static str {
        match self {
            View::Processes => "processes",
            View::Threads => "threads",
            View::Events => "events",
            View::Calls => "calls",
            View::Locks => "locks",
            View::Cpus => "CPUs",
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self {
            View::Processes | View::Threads => &TASKS,
            View::Events => &EVENTS,
            View::Calls => &CALLS,
            View::Locks => &LOCKS,
            View::Cpus => &CPUS,
        }
    }

    /// The column that rows are first put in order by: what is frequent, or what is slow.
    pub fn first_order(self) -> usize {
        match self {
            View::Processes | View::Threads | View::Events => 1,
            View::Calls => 5,
            View::Locks => 7,
            View::Cpus => 0,
        }
    }

    /// What to say where there is no row.
    pub fn when_empty(self) -> &'static str {
        match self {
            View::Processes | View::Threads | View::Events => "No event was recorded yet.",
            View::Calls => "No call has ended yet whose entry and exit are both recorded.",
            View::Locks => "No thread has waited for a lock yet; `-e 'mutex:*'` records waits.",
            View::Cpus => "No CPU has written a packet yet.",
        }
    }

    /// Rows that a filter takes, in an order.
    pub fn rows(self, frame: &Frame, order: usize, filter: &str) -> Vec<Row> {
        let picture = &frame.picture;
        let mut rows: Vec<Row> = match self {
            View::Processes => picture.processes.iter().map(task).collect(),
            View::Threads => picture.threads.iter().map(task).collect(),
            View::Events => picture.by_event.iter().map(event).collect(),
            View::Calls => picture.calls.iter().map(call).collect(),
            View::Locks => picture.locks.iter().map(lock).collect(),
            View::Cpus => frame.cpus.iter().map(cpu).collect(),
        };
        let filter = filter.to_lowercase();
        if !filter.is_empty() {
            rows.retain(|row| self.is_taken(row, &filter));
        }
        rows.sort_by(|a, b| compare(a, b, order));
        rows
    }

    /// Whether a text is in a row's texts, whatever their case.
    fn is_taken(self, row: &Row, filter: &str) -> bool {
        let cells = row.cells.iter().zip(self.columns());
        cells
            .filter(|(_, column)| column.kind != Kind::Number)
            .any(|(cell, _)| cell.to_lowercase().contains(filter))
    }

    pub fn table(self, rows: &[Row]) -> Table {
        let columns = self.columns().iter();
        let mut table = columns.fold(Table::new(), |table, column| {
            table.column(column.title, column.kind, column.rank)
        });
        rows.iter().for_each(|row| table.row(row.cells.clone()));
        table
    }
}

/// Numbers from the highest, texts from A; what is alike by name.
fn compare(a: &Row, b: &Row, order: usize) -> Ordering {
    let key = |row: &Row| row.keys.get(order).copied().unwrap_or(f64::NAN);
    let text = |row: &Row| row.cells.get(order).cloned().unwrap_or_default();
    let by_order = match (key(a), key(b)) {
        (first, second) if first.is_nan() || second.is_nan() => text(a).cmp(&text(b)),
        (first, second) => second.total_cmp(&first),
    };
    by_order.then_with(|| a.name().cmp(b.name())).then_with(|| a.cells.cmp(&b.cells))
}

fn task(task: &TaskRow) -> Row {
    let slowest = task.slowest.as_ref();
    Cells::default()
        .text(&task.name)
        .rate(task.events_per_s)
        .bytes_rate(task.bytes_per_s)
        .count(task.events)
        .rate(task.calls_per_s)
        .number(
            slowest.map_or(-1.0, |slowest| slowest.ns as f64),
            slowest.map_or_else(String::new, |slowest| duration(slowest.ns)),
        )
        .text(slowest.map_or("", |slowest| &slowest.call))
        .count(task.waits)
        .share(Some(task.wait_share))
        .share(task.cpu_share)
        .share(task.ready_share)
        .row()
}

fn event(event: &LiveEventRow) -> Row {
    Cells::default()
        .text(&event.name)
        .rate(event.events_per_s)
        .share(Some(event.share))
        .bytes_rate(event.bytes_per_s)
        .count(event.events)
        .row()
}

fn call(call: &CallRow) -> Row {
    let duration = &call.duration;
    Cells::default()
        .text(&call.name)
        .rate(call.calls_per_s)
        .count(duration.count)
        .ns(duration.p50_ns)
        .ns(duration.p99_ns)
        .ns(duration.max_ns)
        .ns(duration.total_ns)
        .count(call.failures)
        .text(&call.slowest_in)
        .row()
}

fn lock(lock: &WaitRow) -> Row {
    let wait = &lock.wait;
    Cells::default()
        .text(&lock.name)
        .text(&lock.process)
        .rate(lock.waits_per_s)
        .rate(lock.waiting)
        .count(wait.count)
        .ns(wait.p50_ns)
        .ns(wait.p99_ns)
        .ns(wait.max_ns)
        .text(&lock.longest_in)
        .row()
}

fn cpu(cpu: &CpuRow) -> Row {
    Cells::default()
        .text(&cpu.stream)
        .bytes_rate(cpu.bytes_per_s)
        .rate(cpu.packets_per_s)
        .number(cpu.bytes as f64, bytes(cpu.bytes))
        .rate(cpu.lost_per_s)
        .count(cpu.lost.full)
        .count(cpu.lost.overflow)
        .count(cpu.lost.too_big)
        .count(cpu.lost.in_flight)
        .row()
}

/// A frame with the rows that a filter takes, so many of each table at most, in the first order.
pub fn cut(frame: &Frame, filter: &str, rows: usize) -> Frame {
    let mut frame = frame.clone();
    let picture = &mut frame.picture;
    keep(View::Processes, &mut picture.processes, task, (filter, rows));
    keep(View::Threads, &mut picture.threads, task, (filter, rows));
    keep(View::Events, &mut picture.by_event, event, (filter, rows));
    keep(View::Calls, &mut picture.calls, call, (filter, rows));
    keep(View::Locks, &mut picture.locks, lock, (filter, rows));
    keep(View::Cpus, &mut frame.cpus, cpu, (filter, rows));
    frame
}

fn keep<T: Clone>(view: View, of: &mut Vec<T>, row: fn(&T) -> Row, (filter, count): (&str, usize)) {
    let filter = filter.to_lowercase();
    let mut rows: Vec<(Row, &T)> = of.iter().map(|value| (row(value), value)).collect();
    rows.retain(|(row, _)| filter.is_empty() || view.is_taken(row, &filter));
    rows.sort_by(|(a, _), (b, _)| compare(a, b, view.first_order()));
    *of = rows.into_iter().take(count).map(|(_, value)| value.clone()).collect();
}
