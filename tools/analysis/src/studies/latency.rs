// SPDX-License-Identifier: MIT
//! `latency`: how long calls took, or the time between two events that belong together; and when
//! the longest were.
//!
//! Place in the flow: the state joins entries with exits; `join` joins any other two events by a
//! key. Durations go into HDR histograms (percentiles within 0.1 %).

mod asked;
mod join;

use state::{PairIndex, State};

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::error::Error;
use crate::files::{outcome, Outcome};
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};
use crate::spells::{Spell, Spells};

pub(super) use asked::Asked;
use join::Join;

/// Pairs that are told apart.
const PAIRS_MAX: usize = 1 << 10;

const LATENCIES: [Column; 14] = [
    text("name", "what", 0),
    number("count", "count", 0),
    number("failures", "failed", 3),
    number("total_ns", "total", 1),
    number("mean_ns", "mean", 4),
    number("min_ns", "min", 3),
    number("p50_ns", "p50", 0),
    number("p90_ns", "p90", 2),
    number("p99_ns", "p99", 0),
    number("p999_ns", "p99.9", 1),
    number("p9999_ns", "p99.99", 2),
    number("max_ns", "max", 0),
    number("max_at_ns", "when", 0),
    text("max_thread", "in", 1),
];

const LONGEST: [Column; 5] = [
    text("name", "what", 0),
    number("duration_ns", "lasted", 0),
    number("begin_ns", "from", 0),
    text("thread", "thread", 0),
    number("cpu", "CPU", 1),
];

const HISTOGRAM: [Column; 5] = [
    text("name", "what", 1),
    number("from_ns", "from", 0),
    number("until_ns", "below", 0),
    number("count", "count", 0),
    number("share", "share", 0),
];

const UNMATCHED: [Column; 6] = [
    text("name", "what", 0),
    number("begins", "begins without an end", 0),
    number("ends", "ends without a begin", 0),
    number("ended_inside", "thread ended inside", 1),
    number("forgotten", "forgotten", 1),
    number("unsure", "events lost inside", 1),
];

#[derive(Debug, Default)]
struct Calls {
    spells: Spells,
    failures: u64,
}

/// What of two events has no partner.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Halves {
    begins: u64,
    ends: u64,
    ended_inside: u64,
    forgotten: u64,
    unsure: u64,
}

enum What {
    /// Those of the numbers; all, if there are none.
    Pairs(Vec<PairIndex>),
    Joined(Box<Join>),
}

struct Latency {
    what: What,
    calls: Rows<PairIndex, Calls>,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    let question = start.question;
    let what = match &question.between {
        Some(between) => What::Joined(Join::new(start.traces, between, &question.keys)?.into()),
        None => What::Pairs(pairs(start)?),
    };
    Ok(Box::new(Latency { what, calls: Rows::new(PAIRS_MAX) }))
}

fn pairs(start: &Start<'_>) -> Result<Vec<PairIndex>, Error> {
    let known = start.classes.pairs();
    let number = |name: &String| {
        let position = known.iter().position(|pair| pair.name == *name);
        position.map(|position| PairIndex(position as u32)).ok_or_else(|| Error::Unknown {
            what: "pair of events",
            name: name.clone(),
            known: known.iter().map(|pair| pair.name.clone()).collect(),
        })
    };
    start.question.pairs.iter().map(number).collect()
}

impl Study for Latency {
    fn event(&mut self, moment: &Moment<'_>) {
        let event = moment.event;
        let at = event.time_ns();
        match &mut self.what {
            What::Pairs(wanted) => {
                let Some(done) = &moment.step.done else { return };
                let (Some(pair), Some(begin)) = (done.pair, done.begin) else { return };
                if !moment.is_taken || (!wanted.is_empty() && !wanted.contains(&pair)) {
                    return;
                }
                let calls = self.calls.row(pair);
                let has_failed =
                    done.operation.has_result() && outcome(&done.values) == Outcome::Failure;
                calls.failures += u64::from(has_failed);
                let (thread, cpu) = (moment.step.thread, event.cpu());
                calls.spells.record(Spell { begin, ns: since(begin, at), thread, cpu });
            }
            What::Joined(join) => join.event(moment),
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let mut told = Told::default();
        match &self.what {
            What::Joined(join) => {
                told.spells(Cell::text(join.name()), join.spells(), None, end.state);
                told.histogram(join.name(), join.spells());
                told.halves(join.name(), join.halves());
                told.notes.extend(join.note());
            }
            What::Pairs(wanted) => {
                let name = |pair: PairIndex| {
                    end.state.classes().pair(pair).map_or("", |pair| pair.name.as_str()).to_string()
                };
                let mut rows: Vec<_> =
                    self.calls.iter().filter(|(_, c)| c.spells.durations.count() > 0).collect();
                rows.sort_by_key(|(_, calls)| {
                    std::cmp::Reverse(calls.spells.durations.report().total_ns)
                });
                for (pair, calls) in rows {
                    let cell = pair.map_or(Cell::Others, |pair| Cell::text(name(pair)));
                    told.spells(cell, &calls.spells, Some(calls.failures), end.state);
                    if let Some(pair) = pair.filter(|_| !wanted.is_empty()) {
                        told.histogram(&name(pair), &calls.spells);
                    }
                }
                for (pair, halves) in halves(end, wanted) {
                    told.halves(&name(pair), halves);
                }
            }
        }
        told.sheet()
    }
}

/// What of each pair has no partner.
fn halves(end: &End<'_>, wanted: &[PairIndex]) -> Vec<(PairIndex, Halves)> {
    let state = end.state;
    let unmatched = state.calls().unmatched(|thread| end.is_asked(thread));
    let mut halves: Vec<Halves> = unmatched
        .iter()
        .map(|unmatched| Halves {
            begins: 0,
            ends: unmatched.exits,
            ended_inside: unmatched.ended,
            forgotten: unmatched.forgotten,
            unsure: unmatched.unsure,
        })
        .collect();
    for (thread, call) in state.calls().still_open() {
        if call.begin < end.first || !end.is_asked(thread) {
            continue;
        }
        if let Some(halves) = halves.get_mut(call.pair.0 as usize) {
            match state.threads().is_over(thread) {
                true => halves.ended_inside += 1,
                false => halves.begins += 1,
            }
        }
    }
    let numbered = halves.into_iter().zip(0..).map(|(halves, pair)| (PairIndex(pair), halves));
    numbered.filter(|(pair, _)| wanted.is_empty() || wanted.contains(pair)).collect()
}

#[derive(Default)]
struct Told {
    latencies: Vec<Vec<Cell>>,
    longest: Vec<(u64, Vec<Cell>)>,
    histogram: Vec<Vec<Cell>>,
    unmatched: Vec<Vec<Cell>>,
    notes: Vec<String>,
}

impl Told {
    fn spells(&mut self, name: Cell, spells: &Spells, failures: Option<u64>, state: &State) {
        let report = spells.durations.report();
        let quantile = |quantile| Cell::Ns(spells.durations.quantile(quantile));
        let longest = spells.longest().first();
        let label = |spell: &Spell| Cell::text(state.threads().label(spell.thread));
        self.latencies.push(vec![
            name.clone(),
            Cell::Count(report.count),
            failures.map_or(Cell::None, Cell::Count),
            Cell::Ns(report.total_ns),
            Cell::Ns(report.mean_ns),
            Cell::Ns(report.min_ns),
            Cell::Ns(report.p50_ns),
            Cell::Ns(report.p90_ns),
            Cell::Ns(report.p99_ns),
            quantile(0.999),
            quantile(0.9999),
            Cell::Ns(report.max_ns),
            longest.map_or(Cell::None, |spell| Cell::At(spell.begin.0)),
            longest.map_or(Cell::None, label),
        ]);
        for spell in spells.longest() {
            let cpu = spell.cpu.map_or(Cell::None, |cpu| Cell::Id(cpu.0.into()));
            let place = [Cell::Ns(spell.ns), Cell::At(spell.begin.0), label(spell), cpu];
            self.longest.push((spell.ns, [name.clone()].into_iter().chain(place).collect()));
        }
    }

    /// Counts between powers of two.
    fn histogram(&mut self, name: &str, spells: &Spells) {
        let total = spells.durations.count() as f64;
        for (from, until, count) in spells.durations.buckets() {
            self.histogram.push(vec![
                Cell::text(name),
                Cell::Ns(from),
                Cell::Ns(until),
                Cell::Count(count),
                Cell::Share(count as f64 / total),
            ]);
        }
    }

    fn halves(&mut self, name: &str, halves: Halves) {
        let counts =
            [halves.begins, halves.ends, halves.ended_inside, halves.forgotten, halves.unsure];
        if counts.iter().any(|count| *count > 0) {
            let counts = counts.map(Cell::Count);
            self.unmatched.push([Cell::text(name)].into_iter().chain(counts).collect());
        }
    }

    fn sheet(mut self) -> Sheet {
        self.longest.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        let longest = self.longest.into_iter().map(|(_, cells)| cells).collect();
        let table =
            |key, title, when_empty, columns, rows| Table { key, title, when_empty, columns, rows };
        Sheet {
            tables: vec![
                table(
                    "latencies",
                    "Latency, from begin to end",
                    "Nothing has both its begin and its end in the trace.",
                    &LATENCIES,
                    self.latencies,
                ),
                table("longest", "The longest, and when", "", &LONGEST, longest),
                table("histogram", "Histogram", "", &HISTOGRAM, self.histogram),
                table(
                    "unmatched",
                    "Without a partner in the trace, and counted nowhere above",
                    "",
                    &UNMATCHED,
                    self.unmatched,
                ),
            ],
            notes: self.notes,
            ..Sheet::default()
        }
    }
}
