// SPDX-License-Identifier: MIT
//! `interrupts`: how often and how long devices, soft interrupts and vectors interrupted CPUs.
//!
//! Place in the flow: the state joins an interrupt's entry with its exit. An interrupt that another
//! one interrupts lasts until its own exit, so the time of the inner one is in both.

use std::cmp::Reverse;

use state::{InterruptKind, Operation, PairIndex, State, TextIndex};
use trace::CpuId;

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::error::Error;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};
use crate::spells::{Spell, Spells};

/// Sources that are told apart.
const SOURCES_MAX: usize = 1 << 12;
/// Sources on processors that are told apart; they keep no percentiles.
const PLACES_MAX: usize = 1 << 14;

/// Soft interrupts by number, as Linux's interface has them.
const SOFT: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

const SOURCES: [Column; 11] = [
    text("kind", "kind", 0),
    number("number", "number", 1),
    text("name", "name", 0),
    number("count", "count", 0),
    number("total_ns", "time", 0),
    number("share", "of one CPU", 2),
    number("p50_ns", "p50", 2),
    number("p99_ns", "p99", 1),
    number("max_ns", "max", 0),
    number("max_at_ns", "when", 0),
    number("max_cpu", "on CPU", 1),
];

const CPUS: [Column; 6] = [
    number("cpu", "CPU", 0),
    text("kind", "kind", 0),
    text("name", "name", 0),
    number("count", "count", 0),
    number("total_ns", "time", 0),
    number("max_ns", "max", 0),
];

const LONGEST: [Column; 6] = [
    text("kind", "kind", 0),
    text("name", "name", 0),
    number("duration_ns", "lasted", 0),
    number("begin_ns", "from", 0),
    number("cpu", "CPU", 0),
    text("thread", "interrupted", 1),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Source {
    kind: InterruptKind,
    number: i64,
    /// Vectors are told apart by their events.
    pair: u32,
}

#[derive(Debug, Default)]
struct Account {
    name: Option<TextIndex>,
    spells: Spells,
}

#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    count: u64,
    ns: u64,
    longest_ns: u64,
}

struct Interrupts {
    sources: Rows<Source, Account>,
    places: Rows<(CpuId, Source), Sum>,
}

pub(super) fn make<'t>(_start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    Ok(Box::new(Interrupts { sources: Rows::new(SOURCES_MAX), places: Rows::new(PLACES_MAX) }))
}

impl Study for Interrupts {
    fn event(&mut self, moment: &Moment<'_>) {
        let Some(done) = moment.step.done.filter(|_| moment.is_taken) else { return };
        let Operation::Interrupt(kind) = done.operation else { return };
        let (Some(begin), Some(pair), Some(cpu)) = (done.begin, done.pair, moment.event.cpu())
        else {
            return;
        };
        let source = Source { kind, number: done.values.subject, pair: pair.0 };
        let ns = since(begin, moment.event.time_ns());
        let account = self.sources.row(source);
        if done.values.text != TextIndex::NONE {
            account.name = Some(done.values.text);
        }
        let spell = Spell { begin, ns, thread: moment.step.thread, cpu: Some(cpu) };
        account.spells.record(spell);
        let sum = self.places.row((cpu, source));
        sum.count += 1;
        sum.ns = sum.ns.saturating_add(ns);
        sum.longest_ns = sum.longest_ns.max(ns);
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let tables = vec![self.sources(end), self.cpus(end.state), self.longest(end.state)];
        Sheet { tables, ..Sheet::default() }
    }
}

/// What Linux calls a soft interrupt.
pub(super) fn soft_name(number: i64) -> Option<&'static str> {
    SOFT.get(usize::try_from(number).ok()?).copied()
}

fn word(kind: InterruptKind) -> &'static str {
    match kind {
        InterruptKind::Device => "device",
        InterruptKind::Soft => "soft",
        InterruptKind::Vector => "vector",
    }
}

impl Interrupts {
    fn name(&self, source: Source, state: &State) -> Cell {
        let account = self.sources.iter().find(|(known, _)| *known == Some(source));
        let name = account.and_then(|(_, account)| account.name);
        match (source.kind, name) {
            (_, Some(name)) => Cell::text(state.texts().text(name)),
            (InterruptKind::Soft, _) => soft_name(source.number).map(str::to_string).into(),
            (InterruptKind::Vector, _) => {
                let pair = state.classes().pair(PairIndex(source.pair));
                pair.map(|pair| pair.name.clone()).into()
            }
            (InterruptKind::Device, _) => Cell::None,
        }
    }

    fn sources(&self, end: &End<'_>) -> Table {
        let mut rows: Vec<_> =
            self.sources.iter().filter(|(_, a)| a.spells.durations.count() > 0).collect();
        rows.sort_by_key(|(source, account)| {
            (Reverse(account.spells.durations.report().total_ns), *source)
        });
        let row = |(source, account): (Option<Source>, &Account)| {
            let report = account.spells.durations.report();
            let longest = account.spells.longest().first();
            let share = report.total_ns as f64 / since(end.first, end.last).max(1) as f64;
            vec![
                source.map_or(Cell::Others, |source| Cell::text(word(source.kind))),
                source.map_or(Cell::None, |source| Cell::Id(source.number)),
                source.map_or(Cell::None, |source| self.name(source, end.state)),
                Cell::Count(report.count),
                Cell::Ns(report.total_ns),
                Cell::Share(share),
                Cell::Ns(report.p50_ns),
                Cell::Ns(report.p99_ns),
                Cell::Ns(report.max_ns),
                longest.map_or(Cell::None, |spell| Cell::At(spell.begin.0)),
                longest.and_then(|s| s.cpu).map_or(Cell::None, |cpu| Cell::Id(cpu.0.into())),
            ]
        };
        Table {
            key: "sources",
            title: "Interrupts by source",
            when_empty: "The trace has no finished interrupts; `lull record -k -e 'irq:*' -e \
                         'irq_vectors:*'` records them.",
            columns: &SOURCES,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn cpus(&self, state: &State) -> Table {
        let mut rows: Vec<_> = self.places.iter().filter(|(_, sum)| sum.count > 0).collect();
        rows.sort_by_key(|(place, sum)| (place.map(|(cpu, _)| cpu.0), Reverse(sum.ns)));
        let row = |(place, sum): (Option<(CpuId, Source)>, &Sum)| {
            vec![
                place.map_or(Cell::Others, |(cpu, _)| Cell::Id(cpu.0.into())),
                place.map_or(Cell::None, |(_, source)| Cell::text(word(source.kind))),
                place.map_or(Cell::None, |(_, source)| self.name(source, state)),
                Cell::Count(sum.count),
                Cell::Ns(sum.ns),
                Cell::Ns(sum.longest_ns),
            ]
        };
        Table {
            key: "cpus",
            title: "Interrupts by CPU",
            when_empty: "",
            columns: &CPUS,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn longest(&self, state: &State) -> Table {
        let accounts = self.sources.iter();
        let mut longest: Vec<(Option<Source>, Spell)> = accounts
            .flat_map(|(source, a)| a.spells.longest().iter().map(move |spell| (source, *spell)))
            .collect();
        longest.sort_by_key(|(_, spell)| (Reverse(spell.ns), spell.begin));
        let row = |(source, spell): (Option<Source>, Spell)| {
            vec![
                source.map_or(Cell::Others, |source| Cell::text(word(source.kind))),
                source.map_or(Cell::None, |source| self.name(source, state)),
                Cell::Ns(spell.ns),
                Cell::At(spell.begin.0),
                spell.cpu.map_or(Cell::None, |cpu| Cell::Id(cpu.0.into())),
                Cell::text(state.threads().label(spell.thread)),
            ]
        };
        Table {
            key: "longest",
            title: "The longest, and when",
            when_empty: "",
            columns: &LONGEST,
            rows: longest.into_iter().map(row).collect(),
        }
    }
}
