// SPDX-License-Identifier: MIT
//! From what the analyses know to the report.
//!
//! Place in the flow: after the last event. Numbers become names, halves of pairs are told apart by
//! whether their threads are over, and the verdict is weighed.

use state::{OpenCall, PairIndex, ProcessIndex, State, ThreadIndex};
use trace::{Merge, Trace};
use verdict::number::grouped;
use verdict::text::plural;
use verdict::thinned::listed;
use verdict::State as Verdict;

use super::{since, Analyses, By};
use crate::losses::{comparable, late_beginnings, repeated_packets};
use crate::names::Namer;
use crate::report::{Report, Running, RunningRow, TraceRow, UnmatchedRow};
use crate::scheduling::SchedulingRow;

const SCHEMA_VERSION: u32 = 2;
/// Entries without exits that are listed.
const MOST_RUNNING: usize = 1000;

impl Analyses<'_> {
    /// What is odd about the traces' metadata, and what was left out.
    fn notes(&self, traces: &[Trace]) -> Vec<String> {
        let mut notes: Vec<String> = traces.iter().flat_map(Trace::warnings).collect();
        let is_asked = |pair| self.filter.counts_pair(pair);
        notes.extend(not_measured(traces, &self.state, is_asked));
        notes
    }

    fn group_name(&self, group: u32) -> Option<String> {
        let threads = self.state.threads();
        Some(match self.by? {
            By::Process => threads.process_label(ProcessIndex(group), self.state.texts()),
            By::Thread => threads.label(ThreadIndex(group)),
            By::Cpu if group == u32::MAX => "no CPU".into(),
            By::Cpu => format!("CPU {group}"),
        })
    }

    fn pair_name(&self, pair: PairIndex) -> String {
        self.state.classes().pair(pair).map_or_else(String::new, |pair| pair.name.clone())
    }

    /// Of the threads that were asked for, if the events that moved threads were, too.
    fn scheduling_rows(&self) -> Vec<SchedulingRow> {
        if !self.shows_scheduling {
            return Vec::new();
        }
        let name = |pair| self.pair_name(pair);
        let is_asked = |thread| self.is_asked(thread);
        self.scheduling.finish(&self.state, self.counts.last, is_asked, name)
    }

    fn is_asked(&self, thread: ThreadIndex) -> bool {
        self.whose.is_none_or(|whose| whose(self.state.threads(), thread))
    }

    /// What is still running, the longest first, and all halves of pairs, of the threads that were
    /// asked for; calls that began before the span are not told.
    fn running(&self) -> (Running, Vec<UnmatchedRow>) {
        let mut running = Running::default();
        let unmatched = self.state.calls().unmatched(|thread| self.is_asked(thread));
        let pairs = self.state.classes().pairs().iter().zip(unmatched);
        let mut rows: Vec<UnmatchedRow> = pairs
            .map(|(pair, unmatched)| UnmatchedRow {
                name: pair.name.clone(),
                still_running: 0,
                ended_inside: unmatched.ended,
                exits_without_entry: unmatched.exits,
                forgotten_entries: unmatched.forgotten,
                unsure: unmatched.unsure,
            })
            .collect();
        for (thread, call) in self.state.calls().still_open() {
            if call.begin < self.counts.first || !self.is_asked(thread) {
                continue;
            }
            let Some(row) = rows.get_mut(call.pair.0 as usize) else { continue };
            if self.state.threads().is_over(thread) {
                row.ended_inside += 1;
                continue;
            }
            row.still_running += 1;
            if !self.filter.counts_pair(call.pair) {
                continue;
            }
            running.count += 1;
            if running.longest.len() < MOST_RUNNING {
                running.longest.push(self.running_row(thread, &call));
            }
        }
        let counted = rows.into_iter().zip(0..).filter(|(row, pair)| {
            self.filter.counts_pair(PairIndex(*pair))
                && row.still_running
                    + row.ended_inside
                    + row.exits_without_entry
                    + row.forgotten_entries
                    + row.unsure
                    > 0
        });
        (running, counted.map(|(row, _)| row).collect())
    }

    fn running_row(&self, thread: ThreadIndex, call: &OpenCall) -> RunningRow {
        let threads = self.state.threads();
        RunningRow {
            name: self.pair_name(call.pair),
            thread: threads.label(thread),
            pid: threads.pid(threads.process_of(thread)),
            tid: threads.tid(thread),
            subject: call.about.label(self.state.texts()),
            begin_ns: call.begin.0,
            elapsed_ns: since(call.begin, self.counts.last),
            exit_may_be_lost: call.may_be_over
                || self.losses.latest().is_some_and(|latest| latest >= call.begin),
        }
    }

    /// The report.
    pub fn finish(self, traces: &[Trace], merge: &Merge<'_>) -> Report {
        let metadata: Vec<_> = traces.iter().map(Trace::metadata).collect();
        let read = self.reads_all.then(|| comparable(traces, merge, &self.events_read));
        let mut losses = self.losses.finish(&metadata, read.as_deref(), &merge.problems());
        let limits = late_beginnings(traces, merge);
        if !limits.is_empty() && losses.verdict.state == Verdict::Complete {
            losses.verdict.state = Verdict::Limited;
        }
        losses.verdict.limits.extend(limits);
        losses.verdict.notes.extend(self.notes(traces));
        losses.verdict.notes.extend(self.namer.iter().flat_map(Namer::notes));
        losses.verdict.notes.extend(repeated_packets(traces, merge));
        let (running, unmatched) = self.running();
        let names = self.state.classes().names();
        let name = |index: u32| {
            names.get(index as usize).map_or_else(String::new, |name| name.text.clone())
        };
        let counts = &self.counts;
        let (by_index, texts) = (self.state.threads(), self.state.texts());
        let threads = self.writers.thread_rows(by_index);
        let processes = self.writers.process_rows(by_index, texts);
        let cpus = counts.cpus();
        let rows: Vec<TraceRow> = traces.iter().map(trace_row).collect();
        let has_events = self.events_read.iter().any(|events| *events > 0);
        Report {
            schema_version: SCHEMA_VERSION,
            complete: losses.verdict.state == Verdict::Complete,
            events: self.events_read.iter().sum(),
            matched_events: counts.total,
            lost: losses.lost,
            lost_where: losses.places,
            verdict: losses.verdict,
            // Traces in memory have no files.
            bytes: match rows.iter().map(|row| row.bytes).sum() {
                0 => self.state.bytes_read(),
                bytes => bytes,
            },
            traces: rows,
            begin_ns: if has_events { counts.first.0 } else { 0 },
            end_ns: if has_events { counts.last.0 } else { 0 },
            is_cut: false,
            has_span: false,
            duration_ns: if has_events { counts.duration_ns() } else { 0 },
            events_per_s: counts.per_s(counts.total),
            process_count: processes.len() as u64,
            thread_count: threads.len() as u64,
            cpu_count: cpus.iter().filter(|row| row.cpu.is_some()).count() as u64,
            event_names: counts.rows(name, |group| self.group_name(group)),
            latencies: self
                .latency
                .finish(|pair| self.pair_name(pair), |group| self.group_name(group)),
            running,
            unmatched,
            locks: self.locks.finish(by_index, texts),
            files: self.files.finish(by_index, texts),
            scheduling: self.scheduling_rows(),
            processes,
            threads,
            cpus,
            rate: self.rate.finish(),
        }
    }
}

/// Sentences about calls that a state did not measure, of pairs that are asked for.
pub fn not_measured(
    traces: &[Trace],
    state: &State,
    is_asked: impl Fn(PairIndex) -> bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (trace, events) in traces.iter().zip(state.unjoined()) {
        if *events > 0 {
            notes.push(format!(
                "{}: the trace does not say which thread wrote {}, entries and exits: they are \
                 not joined, and their latencies are not known",
                trace.path().display(),
                plural(*events, "event")
            ));
        }
    }
    let calls = state.calls();
    if calls.without_room() > 0 {
        notes.push(format!(
            "there are more threads than are told apart, {}: {} of the others are not measured",
            grouped(state.threads().threads().len().saturating_sub(1) as u64),
            plural(calls.without_room(), "call")
        ));
    }
    let pairs = (0..).map(PairIndex).zip(state.classes().pairs());
    let (mut partial, mut drawn) = (Vec::new(), Vec::new());
    for (pair, names) in pairs.filter(|(pair, _)| is_asked(*pair)) {
        let rates: Vec<String> =
            state.sample_rates(pair).iter().map(|rate| format!("1/{rate}")).collect();
        if calls.is_partial(pair) {
            partial.push(names.name.clone());
        } else if !rates.is_empty() {
            drawn.push(format!("{} {}", names.name, rates.join(" and ")));
        }
    }
    notes.extend(listed(partial, "call").map(|names| {
        format!(
            "only some entries and exits were recorded of {names}, as a rate, a budget or a filter \
             had it: which belong together is not known, and these calls are not measured"
        )
    }));
    notes.extend(listed(drawn, "call").map(|names| {
        format!(
            "of calls that were drawn as a whole, one in so many, those of the sample are \
             measured: {names}"
        )
    }));
    notes
}

fn trace_row(trace: &Trace) -> TraceRow {
    let bytes_of = |path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let value = |name| trace.metadata().environment_text(name).map(str::to_string);
    TraceRow {
        path: trace.path().display().to_string(),
        bytes: trace.files().iter().map(|file| bytes_of(file.path())).sum(),
        streams: trace.files().len() as u64,
        tracer: value("tracer_name"),
        hostname: value("hostname"),
        command: value("command"),
    }
}
