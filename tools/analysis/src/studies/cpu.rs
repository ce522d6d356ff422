// SPDX-License-Identifier: MIT
//! `cpu`: how long threads were on a CPU and waited for one, and how busy each CPU was.
//!
//! Place in the flow: the state moves threads from place to place; each stay is added up where it
//! ends. A thread waits from the wake-up, or from the moment at which another one took its place,
//! to the moment at which it runs. What was not told, before the first switch and after a loss, is
//! counted as not known.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use state::{Place, State, Stay, ThreadIndex, ThreadKey};
use trace::{CpuId, Ns};

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};

pub(super) const WITHOUT_SCHEDULER: &str =
    "The trace has no events of the scheduler's; `lull record -k` records them.";
/// Threads that are told apart.
const THREADS_MAX: usize = 1 << 13;
/// Processors that are told apart.
const CPUS_MAX: usize = 1 << 12;

const THREADS: [Column; 9] = [
    text("thread", "thread", 0),
    number("on_cpu_ns", "on CPU", 0),
    number("share", "of the time", 2),
    number("waits", "waits", 1),
    number("wait_ns", "waited", 0),
    number("p99_wait_ns", "p99", 2),
    number("max_wait_ns", "max wait", 0),
    number("max_wait_at_ns", "when", 1),
    number("off_ns", "off", 0),
];

const CPUS: [Column; 6] = [
    number("cpu", "CPU", 0),
    number("busy_ns", "busy", 0),
    number("idle_ns", "idle", 0),
    number("unknown_ns", "not known", 1),
    number("share", "busy of what is known", 0),
    number("switches", "switches", 1),
];

#[derive(Debug, Default)]
struct Account {
    on_cpu_ns: u64,
    off_ns: u64,
    waits: Distribution<2>,
    longest: Option<(u64, Ns)>,
}

#[derive(Debug)]
struct Processor {
    runs: Option<ThreadIndex>,
    since: Ns,
    busy_ns: u64,
    idle_ns: u64,
    unknown_ns: u64,
    switches: u64,
}

struct Cpu {
    from: Ns,
    threads: Rows<ThreadIndex, Account>,
    /// By machine and number.
    cpus: BTreeMap<(u32, CpuId), Processor>,
    runnable: i64,
    most_runnable: (i64, Ns),
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    Ok(Box::new(Cpu {
        from: start.from(),
        threads: Rows::new(THREADS_MAX),
        cpus: BTreeMap::new(),
        runnable: 0,
        most_runnable: (0, Ns(0)),
    }))
}

impl Study for Cpu {
    fn event(&mut self, _moment: &Moment<'_>) {}

    fn moved(&mut self, state: &State, cpu: Option<(u32, CpuId)>, at: Ns) {
        for moved in state.moves() {
            let now = state.stay(moved.thread);
            self.stayed(moved.thread, moved.was, now.since);
            self.runnable -= i64::from(moved.was.place == Place::Waiting);
            self.runnable += i64::from(now.place == Place::Waiting);
            if self.runnable > self.most_runnable.0 {
                self.most_runnable = (self.runnable, now.since);
            }
        }
        match cpu {
            Some(cpu) => self.switched(state, cpu, at),
            None => {
                let cpus: Vec<_> = self.cpus.keys().copied().collect();
                cpus.into_iter().for_each(|cpu| self.switched(state, cpu, at));
            }
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        for (index, _) in end.state.threads().threads().iter().enumerate() {
            let thread = ThreadIndex(index as u32);
            self.stayed(thread, end.state.stay(thread), end.last);
        }
        self.cpus.values_mut().for_each(|cpu| cpu.until(end.state, end.last));
        let mut sheet = Sheet { tables: vec![self.threads(end), self.cpus()], ..Sheet::default() };
        if self.most_runnable.0 > 0 {
            let (most, at) = self.most_runnable;
            sheet.fact("most_waiting", "Most threads waiting at once", Cell::Count(most as u64));
            sheet.fact("most_waiting_at_ns", "Since", Cell::At(at.0));
        }
        sheet
    }
}

impl Cpu {
    fn stayed(&mut self, thread: ThreadIndex, was: Stay, until: Ns) {
        let begin = was.since.max(self.from);
        let ns = since(begin, until);
        match was.place {
            Place::Running(_) => {
                let account = self.threads.row(thread);
                account.on_cpu_ns = account.on_cpu_ns.saturating_add(ns);
            }
            Place::Waiting => {
                let account = self.threads.row(thread);
                account.waits.record(ns);
                if account.longest.is_none_or(|(longest, _)| ns > longest) {
                    account.longest = Some((ns, begin));
                }
            }
            Place::Off(_) => {
                let account = self.threads.row(thread);
                account.off_ns = account.off_ns.saturating_add(ns);
            }
            Place::Over | Place::Unknown => {}
        }
    }

    fn switched(&mut self, state: &State, (host, cpu): (u32, CpuId), at: Ns) {
        let runs = state.on(host, cpu);
        if !self.cpus.contains_key(&(host, cpu)) && self.cpus.len() >= CPUS_MAX {
            return;
        }
        let processor = self.cpus.entry((host, cpu)).or_insert(Processor {
            runs,
            since: at,
            busy_ns: 0,
            idle_ns: 0,
            unknown_ns: 0,
            switches: 0,
        });
        if processor.runs != runs {
            processor.until(state, at);
            processor.runs = runs;
            processor.switches += u64::from(runs.is_some());
        }
    }

    fn threads(&self, end: &End<'_>) -> Table {
        let (duration, known) = (since(end.first, end.last), end.state.threads());
        let is_asked = |thread: &Option<ThreadIndex>| thread.is_none_or(|t| end.is_asked(t));
        let mut rows: Vec<_> = self
            .threads
            .iter()
            .filter(|(thread, account)| is_asked(thread) && account.has_any())
            .collect();
        rows.sort_by_key(|(thread, account)| {
            let waited = account.waits.report().total_ns;
            (Reverse(account.on_cpu_ns.saturating_add(waited)), *thread)
        });
        let row = |(thread, account): (Option<ThreadIndex>, &Account)| {
            let waits = account.waits.report();
            vec![
                thread.map_or(Cell::Others, |thread| Cell::text(known.label(thread))),
                Cell::Ns(account.on_cpu_ns),
                Cell::Share(account.on_cpu_ns as f64 / duration.max(1) as f64),
                Cell::Count(waits.count),
                Cell::Ns(waits.total_ns),
                Cell::Ns(waits.p99_ns),
                Cell::Ns(waits.max_ns),
                account.longest.map_or(Cell::None, |(_, at)| Cell::At(at.0)),
                Cell::Ns(account.off_ns),
            ]
        };
        Table {
            key: "threads",
            title: "Threads on a CPU, waiting for one, and off",
            when_empty: WITHOUT_SCHEDULER,
            columns: &THREADS,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn cpus(&self) -> Table {
        let row = |((_, cpu), processor): (&(u32, CpuId), &Processor)| {
            let known = processor.busy_ns.saturating_add(processor.idle_ns);
            vec![
                Cell::Id(cpu.0.into()),
                Cell::Ns(processor.busy_ns),
                Cell::Ns(processor.idle_ns),
                Cell::Ns(processor.unknown_ns),
                Cell::Share(processor.busy_ns as f64 / known.max(1) as f64),
                Cell::Count(processor.switches),
            ]
        };
        Table {
            key: "cpus",
            title: "CPUs, from the first switch of each",
            when_empty: "",
            columns: &CPUS,
            rows: self.cpus.iter().map(row).collect(),
        }
    }
}

impl Account {
    fn has_any(&self) -> bool {
        self.on_cpu_ns > 0 || self.off_ns > 0 || self.waits.count() > 0
    }
}

impl Processor {
    fn until(&mut self, state: &State, at: Ns) {
        let threads = state.threads().threads();
        let key = self.runs.and_then(|thread| threads.get(thread.0 as usize)?.key);
        let sum = match key {
            Some(ThreadKey::Idle { .. }) => &mut self.idle_ns,
            Some(_) => &mut self.busy_ns,
            None => &mut self.unknown_ns,
        };
        *sum = sum.saturating_add(since(self.since, at));
        self.since = self.since.max(at);
    }
}
