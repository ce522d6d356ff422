// SPDX-License-Identifier: MIT
//! `periodic`: what threads do at regular intervals: the period, how far they are from it, and what
//! they missed.
//!
//! Place in the flow: each event name of each thread, and each thread's waking up, has intervals.
//! The period is the median of the first of them; from then on each is held against it.

use std::cmp::Reverse;

use state::{NameIndex, Place, State, ThreadIndex};
use trace::{CpuId, Ns};

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};

/// Threads and names that are told apart.
const TASKS_MAX: usize = 1 << 13;
/// Intervals from which the period is found.
const FIRST: usize = 32;
/// Fewer are no period.
const INTERVALS_MIN: usize = 8;
/// An interval is near the period if it differs by no more than this part of it.
const NEAR: f64 = 0.25;
/// The part of intervals that are near the period, or several periods, of what is periodic.
const NEAR_SHARE_MIN: f64 = 0.8;
/// The part of the time between the first and the last that intervals without a miss have to cover.
/// What comes in bursts, each call right after the one before, covers next to nothing of it.
const COVERED_MIN: f64 = 0.1;
/// A longer interval, in periods, has missed something.
const MISSED: f64 = 1.5;
/// Misses that are kept with their times, for each task.
const KEPT_MISSES: usize = 8;

const TASKS: [Column; 10] = [
    text("thread", "thread", 0),
    text("event", "what", 0),
    number("count", "times", 0),
    number("period_ns", "period", 0),
    number("jitter_ns", "mean jitter", 0),
    number("max_jitter_ns", "max jitter", 1),
    number("p50_ns", "p50", 3),
    number("p99_ns", "p99", 2),
    number("late", "late", 0),
    number("missed", "missed", 0),
];

const MISSES: [Column; 5] = [
    text("thread", "thread", 0),
    text("event", "what", 0),
    number("begin_ns", "after", 0),
    number("interval_ns", "nothing for", 0),
    number("missed", "missed", 0),
];

/// A thread's event; without a name, its waking up.
type Task = (ThreadIndex, Option<NameIndex>);

#[derive(Debug, Clone, Copy)]
struct Interval {
    begin: Ns,
    ns: u64,
}

#[derive(Debug, Default)]
struct Account {
    last: Option<Ns>,
    count: u64,
    first: Vec<Interval>,
    /// Found, once there are enough.
    period_ns: u64,
    near: u64,
    /// The length of all intervals, and of those that have missed nothing.
    total_ns: u64,
    covered_ns: u64,
    jitter_ns: u64,
    longest_jitter_ns: u64,
    late: u64,
    missed: u64,
    misses: Vec<(Interval, u64)>,
    intervals: Distribution<2>,
}

struct Periodic {
    tasks: Rows<Task, Account>,
}

pub(super) fn make<'t>(_start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    Ok(Box::new(Periodic { tasks: Rows::new(TASKS_MAX) }))
}

impl Study for Periodic {
    fn event(&mut self, moment: &Moment<'_>) {
        if moment.is_taken {
            let task = (moment.step.thread, Some(moment.step.name));
            self.tasks.row(task).happened(moment.event.time_ns());
        }
    }

    fn moved(&mut self, state: &State, _cpu: Option<(u32, CpuId)>, _at: Ns) {
        for moved in state.moves() {
            let now = state.stay(moved.thread);
            let wakes = matches!(now.place, Place::Waiting | Place::Running(_));
            if matches!(moved.was.place, Place::Off(_)) && wakes {
                self.tasks.row((moved.thread, None)).happened(now.since);
            }
        }
    }

    fn loss(&mut self, _loss: &trace::LossMessage<'_>, _state: &State) {
        // What is missing would look like a miss.
        self.tasks.iter_mut().for_each(|(_, account)| account.last = None);
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        self.tasks.iter_mut().for_each(|(_, account)| account.settle());
        // The row of the others is of several.
        let known = self.tasks.iter().filter_map(|(task, account)| Some((task?, account)));
        let mut known: Vec<_> = known
            .filter(|((thread, _), account)| end.is_asked(*thread) && account.is_periodic())
            .collect();
        known.sort_by_key(|(task, a)| (Reverse(a.missed), Reverse(a.count), task.0));
        let names = |(thread, name): Task| {
            let names = end.state.classes().names();
            let name = name.and_then(|name| names.get(name.0 as usize));
            let name = name.map_or_else(|| "(wakes up)".into(), |name| name.text.clone());
            [Cell::text(end.state.threads().label(thread)), Cell::Text(name)]
        };
        let tasks = known.iter().map(|(task, account)| {
            names(*task).into_iter().chain(account.cells()).collect::<Vec<Cell>>()
        });
        let tasks: Vec<Vec<Cell>> = tasks.collect();
        let misses = known.iter().flat_map(|(task, account)| {
            account.misses.iter().map(move |(interval, missed)| {
                let numbers =
                    [Cell::At(interval.begin.0), Cell::Ns(interval.ns), Cell::Count(*missed)];
                (interval.ns, names(*task).into_iter().chain(numbers).collect::<Vec<Cell>>())
            })
        });
        let mut misses: Vec<(u64, Vec<Cell>)> = misses.collect();
        misses.sort_by_key(|(ns, _)| Reverse(*ns));
        let others = self.tasks.iter().next().map_or(0, |(_, others)| others.count);
        sheet(tasks, misses.into_iter().map(|(_, cells)| cells).collect(), others)
    }
}

fn sheet(tasks: Vec<Vec<Cell>>, misses: Vec<Vec<Cell>>, others: u64) -> Sheet {
    let tasks = Table {
        key: "tasks",
        title: "What happens at regular intervals",
        when_empty: "Nothing happens at regular intervals.",
        columns: &TASKS,
        rows: tasks,
    };
    let misses = Table {
        key: "misses",
        title: "The longest intervals without",
        when_empty: "",
        columns: &MISSES,
        rows: misses,
    };
    let mut notes = vec![format!(
        "The period is the median of the first {FIRST} intervals. Periodic is what has \
         {INTERVALS_MIN} intervals or more, {:.0} % of them within {:.0} % of the period or of \
         several, and goes on for {:.0} % of the time between its first and its \
         last. Late is an interval of more than {MISSED} periods; it has missed those that would \
         have fitted in.",
        NEAR_SHARE_MIN * 100.0,
        NEAR * 100.0,
        COVERED_MIN * 100.0
    )];
    if others > 0 {
        notes.push(format!("{others} events found no room in the table, and are not judged."));
    }
    Sheet { tables: vec![tasks, misses], notes, ..Sheet::default() }
}

impl Account {
    fn happened(&mut self, at: Ns) {
        self.count += 1;
        let Some(begin) = self.last.replace(at) else { return };
        let interval = Interval { begin, ns: since(begin, at) };
        self.intervals.record(interval.ns);
        if self.period_ns > 0 {
            return self.judge(interval);
        }
        self.first.push(interval);
        if self.first.len() >= FIRST {
            self.settle();
        }
    }

    /// Finds the period.
    fn settle(&mut self) {
        if self.period_ns > 0 || self.first.len() < INTERVALS_MIN {
            return;
        }
        let first = std::mem::take(&mut self.first);
        let mut lengths: Vec<u64> = first.iter().map(|interval| interval.ns).collect();
        lengths.sort_unstable();
        self.period_ns = lengths.get(lengths.len() / 2).copied().unwrap_or(0).max(1);
        first.into_iter().for_each(|interval| self.judge(interval));
    }

    fn judge(&mut self, interval: Interval) {
        let periods = interval.ns as f64 / self.period_ns as f64;
        let whole = periods.round().max(1.0);
        let jitter = (interval.ns as f64 - whole * self.period_ns as f64).abs() as u64;
        self.jitter_ns = self.jitter_ns.saturating_add(jitter);
        self.longest_jitter_ns = self.longest_jitter_ns.max(jitter);
        self.total_ns = self.total_ns.saturating_add(interval.ns);
        self.near += u64::from(jitter as f64 <= NEAR * self.period_ns as f64);
        if periods > MISSED {
            let missed = whole as u64 - 1;
            self.late += 1;
            self.missed = self.missed.saturating_add(missed);
            let at = self.misses.partition_point(|(longer, _)| longer.ns >= interval.ns);
            self.misses.insert(at, (interval, missed));
            self.misses.truncate(KEPT_MISSES);
        } else {
            self.covered_ns = self.covered_ns.saturating_add(interval.ns);
        }
    }

    fn is_periodic(&self) -> bool {
        let intervals = self.intervals.count();
        // With most intervals several periods long, the period is none.
        self.period_ns > 0
            && self.near as f64 >= NEAR_SHARE_MIN * intervals as f64
            && self.late.saturating_mul(2) <= intervals
            && self.covered_ns as f64 >= COVERED_MIN * self.total_ns as f64
    }

    fn cells(&self) -> [Cell; 8] {
        let report = self.intervals.report();
        [
            Cell::Count(self.count),
            Cell::Ns(self.period_ns),
            Cell::Ns(self.jitter_ns.checked_div(report.count).unwrap_or(0)),
            Cell::Ns(self.longest_jitter_ns),
            Cell::Ns(report.p50_ns),
            Cell::Ns(report.p99_ns),
            Cell::Count(self.late),
            Cell::Count(self.missed),
        ]
    }
}
