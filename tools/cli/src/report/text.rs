// SPDX-License-Identifier: MIT
//! The report for people, section by section.
//!
//! Place in the flow: everything shown is in the `analysis::Report`; here it gets words, units and
//! an order: summary, verdict, events, latencies, scheduling, locks, files and so on. A
//! section that has nothing to say is left out.

use analysis::{FileRow, LockRow, OffKind, OffRow, ProcessRow, Report};

use crate::shown::shown;

use super::look::Look;
use super::number::{bytes, duration, grouped, offset, plural, rate, share};
use super::table::{Kind, Table};
use super::{exit, spark, verdict};

const OTHERS: &str = "(others)";
/// Waiting threads named in a row of the table of locks.
const WAITERS: usize = 2;

pub(super) fn render(report: &Report, look: &Look) -> String {
    let mut out = String::new();
    summary(report, look, &mut out);
    verdict::render(report, look, &mut out);
    if report.matched_events == 0 {
        out.push_str(match (report.events, report.has_span) {
            (0, false) => "No events were recorded.\n",
            (0, true) => "No events in this span.\n",
            _ => "No event meets all that is asked for; `lull report` alone shows what there is.\n",
        });
    }
    for section in [events, latencies, running, scheduling, locks, files, processes, threads] {
        let mut text = String::new();
        section(report, look, &mut text);
        if !text.is_empty() {
            out.push('\n');
            out.push_str(&text);
        }
    }
    let mut line = String::new();
    spark::render(report, look, &mut line);
    if !line.is_empty() {
        out.push('\n');
        out.push_str(&line);
    }
    notes(report, &[], look, &mut out);
    out
}

/// The one line that says how much there is, and a line for each trace.
pub(super) fn summary(report: &Report, look: &Look, out: &mut String) {
    let events = match report.matched_events == report.events {
        true => plural(report.events, "event"),
        false => {
            format!("{} of {}", grouped(report.matched_events), plural(report.events, "event"))
        }
    };
    let (time, per_s) = (duration(report.duration_ns), rate(report.events_per_s));
    let mut parts = vec![format!("{events} in {time} ({per_s}/s)")];
    parts.push(bytes(report.bytes));
    parts.push(plural(report.process_count, "process"));
    parts.push(plural(report.thread_count, "thread"));
    if report.cpu_count > 0 || report.matched_events == 0 {
        parts.push(plural(report.cpu_count, "CPU"));
    }
    out.push_str(&look.bold(&parts.join(", ")));
    out.push('\n');
    for trace in report.traces.iter().filter(|trace| !trace.path.is_empty()).take(look.top) {
        let command = trace.command.as_ref().map_or(String::new(), |c| format!(": {c}"));
        out.push_str(&format!("{}\n", shown(&format!("{}{command}", trace.path))));
    }
    if report.traces.len() > look.top {
        let more = (report.traces.len() - look.top) as u64;
        out.push_str(&format!("and {}\n", plural(more, "further trace")));
    }
}

/// A heading, the rows of a table up to --top, and how many there are more.
pub(super) fn section(title: &str, table: Table, count: usize, look: &Look, out: &mut String) {
    if count == 0 {
        return;
    }
    out.push_str(&look.bold(title));
    out.push('\n');
    table.render(look, out);
    if count > look.top {
        let more = grouped((count - look.top) as u64);
        out.push_str(&format!("and {more} more (--top)\n"));
    }
}

fn or_others(name: &Option<String>) -> String {
    name.clone().unwrap_or_else(|| OTHERS.into())
}

fn events(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("event", Kind::Text, 0)
        .column("where", Kind::Text, 0)
        .column("count", Kind::Number, 0)
        .column("rate/s", Kind::Number, 2)
        .column("share", Kind::Number, 1)
        .column("bytes/event", Kind::Number, 3);
    for row in report.event_names.iter().take(look.top) {
        table.row(vec![
            or_others(&row.name),
            row.group.clone().unwrap_or_default(),
            grouped(row.events),
            rate(row.events_per_s),
            share(row.share),
            format!("{:.1}", row.bytes_per_event),
        ]);
    }
    section("Events", table, report.event_names.len(), look, out);
}

fn latencies(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("call", Kind::Text, 0)
        .column("where", Kind::Text, 0)
        .column("count", Kind::Number, 0)
        .column("total", Kind::Number, 0)
        .column("p50", Kind::Number, 2)
        .column("p90", Kind::Number, 3)
        .column("p99", Kind::Number, 1)
        .column("max", Kind::Number, 0)
        .column("failed", Kind::Number, 2);
    for row in report.latencies.iter().take(look.top) {
        table.row(vec![
            or_others(&row.name),
            row.group.clone().unwrap_or_default(),
            grouped(row.duration.count),
            duration(row.duration.total_ns),
            duration(row.duration.p50_ns),
            duration(row.duration.p90_ns),
            duration(row.duration.p99_ns),
            duration(row.duration.max_ns),
            or_nothing(row.failures),
        ]);
    }
    section("Latency, from entry to exit", table, report.latencies.len(), look, out);
}

fn running(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("call", Kind::Text, 0)
        .column("thread", Kind::Text, 0)
        .column("on", Kind::Path, 1)
        .column("for", Kind::Number, 0)
        .column("", Kind::Text, 2);
    for row in report.running.longest.iter().take(look.top) {
        table.row(vec![
            row.name.clone(),
            row.thread.clone(),
            row.subject.clone().unwrap_or_default(),
            duration(row.elapsed_ns),
            if row.exit_may_be_lost { "or its exit was lost".into() } else { String::new() },
        ]);
    }
    let count = usize::try_from(report.running.count).unwrap_or(usize::MAX);
    section("Still running at the end: entries without an exit", table, count, look, out);
}

fn scheduling(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("thread", Kind::Text, 0)
        .column("on CPU", Kind::Number, 0)
        .column("waits", Kind::Number, 2)
        .column("waited", Kind::Number, 0)
        .column("max", Kind::Number, 1)
        .column("off", Kind::Number, 0)
        .column("mostly in", Kind::Text, 3);
    for row in report.scheduling.iter().take(look.top) {
        table.row(vec![
            row.thread.clone(),
            duration(row.on_cpu_ns),
            grouped(row.waits),
            duration(row.wait_ns),
            duration(row.max_wait_ns),
            duration(row.off_ns),
            row.off.first().map(off_text).unwrap_or_default(),
        ]);
    }
    let title = "Threads on a CPU, waiting for one, and off";
    section(title, table, report.scheduling.len(), look, out);
}

fn off_text(off: &OffRow) -> String {
    let kind = match off.kind {
        OffKind::Sleep => "",
        OffKind::Uninterruptible => ", uninterruptible",
        OffKind::Stopped => ", stopped",
        OffKind::Other => ", other",
    };
    format!("{}{kind} {}", off.call.as_deref().unwrap_or("no call"), duration(off.off_ns))
}

fn locks(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("waiting for", Kind::Text, 0)
        .column("in", Kind::Text, 1)
        .column("waits", Kind::Number, 0)
        .column("total", Kind::Number, 0)
        .column("p99", Kind::Number, 2)
        .column("max", Kind::Number, 0)
        .column("longest", Kind::Text, 3);
    for row in report.locks.iter().take(look.top) {
        table.row(vec![
            lock_name(row),
            row.process.clone().unwrap_or_default(),
            grouped(row.wait.count),
            duration(row.wait.total_ns),
            duration(row.wait.p99_ns),
            duration(row.wait.max_ns),
            waiters(row),
        ]);
    }
    section("Waits for locks and conditions", table, report.locks.len(), look, out);
}

fn lock_name(row: &LockRow) -> String {
    match (&row.kind, &row.address) {
        (Some(kind), Some(address)) => {
            let name = row.name.iter().flat_map(|name| [" ", name]).collect::<String>();
            format!("{}{name} {address}", kind.name())
        }
        _ => OTHERS.into(),
    }
}

/// The threads that waited longest, in total.
fn waiters(row: &LockRow) -> String {
    let named = row.threads.iter().take(WAITERS);
    let named = named.map(|waiter| format!("{} {}", waiter.thread, duration(waiter.wait_ns)));
    named.collect::<Vec<_>>().join(", ")
}

fn files(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("file", Kind::Path, 0)
        .column("in", Kind::Text, 2)
        .column("read", Kind::Number, 0)
        .column("written", Kind::Number, 0)
        .column("calls", Kind::Number, 0)
        .column("failed", Kind::Number, 1)
        .column("retry", Kind::Number, 2)
        .column("time", Kind::Number, 0)
        .column("max", Kind::Number, 3);
    for row in report.files.iter().take(look.top) {
        table.row(vec![
            row.name.clone(),
            row.process.clone().unwrap_or_else(|| "several".into()),
            bytes(row.read_bytes),
            bytes(row.write_bytes),
            grouped(calls(row)),
            or_nothing(row.failures),
            or_nothing(row.retries),
            duration(row.duration_ns),
            duration(row.max_ns),
        ]);
    }
    section("Files and sockets", table, report.files.len(), look, out);
}

fn or_nothing(count: u64) -> String {
    if count == 0 {
        String::new()
    } else {
        grouped(count)
    }
}

fn calls(row: &FileRow) -> u64 {
    row.reads.saturating_add(row.writes).saturating_add(row.other_calls)
}

fn processes(report: &Report, look: &Look, out: &mut String) {
    let mut table = Table::new()
        .column("process", Kind::Text, 0)
        .column("pid", Kind::Number, 0)
        .column("parent", Kind::Number, 3)
        .column("threads", Kind::Number, 2)
        .column("events", Kind::Number, 0)
        .column("first", Kind::Number, 2)
        .column("last", Kind::Number, 2)
        .column("exit", Kind::Number, 1)
        .column("command", Kind::Text, 4);
    for row in report.processes.iter().take(look.top) {
        table.row(process_cells(row, report.begin_ns));
    }
    section("Processes", table, report.processes.len(), look, out);
}

fn process_cells(row: &ProcessRow, begin_ns: i64) -> Vec<String> {
    let number = |number: Option<i64>| number.map_or_else(String::new, |n| n.to_string());
    vec![
        row.name.clone(),
        number(row.pid),
        number(row.parent_pid),
        grouped(row.threads),
        grouped(row.events),
        offset(row.first_ns, begin_ns),
        offset(row.last_ns, begin_ns),
        exit::text(row),
        row.arguments.clone(),
    ]
}

/// Processes of one thread each have said all there is to say.
fn threads(report: &Report, look: &Look, out: &mut String) {
    if report.processes.len() == report.threads.len() {
        return;
    }
    let mut table = Table::new()
        .column("thread", Kind::Text, 0)
        .column("tid", Kind::Number, 0)
        .column("pid", Kind::Number, 1)
        .column("events", Kind::Number, 0)
        .column("first", Kind::Number, 2)
        .column("last", Kind::Number, 2)
        .column("", Kind::Text, 3);
    for row in report.threads.iter().take(look.top) {
        let number = |number: Option<i64>| number.map_or_else(String::new, |n| n.to_string());
        table.row(vec![
            row.name.clone(),
            number(row.tid),
            number(row.pid),
            grouped(row.events),
            offset(row.first_ns, report.begin_ns),
            offset(row.last_ns, report.begin_ns),
            if row.has_ended { "ended".into() } else { String::new() },
        ]);
    }
    section("Threads", table, report.threads.len(), look, out);
}

/// What the verdict means, after what else there is to say.
pub(super) fn notes(report: &Report, own: &[String], look: &Look, out: &mut String) {
    let notes: Vec<String> = own.iter().cloned().chain(verdict::notes(report)).collect();
    if notes.is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(&look.bold("Notes"));
    out.push('\n');
    for note in notes {
        for (index, line) in wrapped(&shown(&note), look.columns.min(100) - 2).iter().enumerate() {
            out.push_str(if index == 0 { "- " } else { "  " });
            out.push_str(line);
            out.push('\n');
        }
    }
}

/// Lines of at most `columns` characters, unless a word is longer.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines
}
