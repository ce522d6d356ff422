// SPDX-License-Identifier: MIT
//! `off-cpu`: why threads were off: the call that they were in, the file or lock that it was about,
//! and the kernel's word for the wait.
//!
//! Place in the flow: when a thread stops, the state knows its innermost call; when it is woken,
//! the time since then counts for that call.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use state::{About, OffKind, PairIndex, Place, State, Stay, ThreadIndex};
use trace::{CpuId, Ns};

use super::cpu::WITHOUT_SCHEDULER;
use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::error::Error;
use crate::rows::Rows;
use crate::sheet::{number, path, text, Cell, Column, Sheet, Table};

/// Reasons of threads that are told apart.
const ROWS_MAX: usize = 1 << 16;

const REASONS: [Column; 7] = [
    text("call", "in", 0),
    path("subject", "on", 0),
    text("kind", "kernel's word", 0),
    number("count", "times", 0),
    number("off_ns", "off", 0),
    number("max_ns", "max", 1),
    number("threads", "threads", 1),
];

const THREADS: [Column; 7] = [
    text("thread", "thread", 0),
    text("call", "in", 0),
    path("subject", "on", 1),
    text("kind", "kernel's word", 1),
    number("count", "times", 0),
    number("off_ns", "off", 0),
    number("max_ns", "max", 1),
];

/// Why: the call, what it is about, the kernel's word.
type Why = (Option<PairIndex>, About, OffKind);

#[derive(Debug, Default, Clone, Copy)]
struct Off {
    count: u64,
    ns: u64,
    longest_ns: u64,
}

struct OffCpu {
    from: Ns,
    rows: Rows<(ThreadIndex, Why), Off>,
    /// What the calls are about that threads which are off are in.
    waiting: FxHashMap<ThreadIndex, About>,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    Ok(Box::new(OffCpu {
        from: start.from(),
        rows: Rows::new(ROWS_MAX),
        waiting: FxHashMap::default(),
    }))
}

impl Study for OffCpu {
    fn event(&mut self, _moment: &Moment<'_>) {}

    fn moved(&mut self, state: &State, _cpu: Option<(u32, CpuId)>, _at: Ns) {
        for moved in state.moves() {
            let now = state.stay(moved.thread);
            self.stayed(moved.thread, moved.was, now.since);
            if matches!(now.place, Place::Off(_)) {
                self.waiting.insert(moved.thread, about(state, moved.thread));
            }
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        for (index, _) in end.state.threads().threads().iter().enumerate() {
            let thread = ThreadIndex(index as u32);
            self.stayed(thread, end.state.stay(thread), end.last);
        }
        Sheet { tables: self.tables(end), ..Sheet::default() }
    }
}

/// What a thread's calls are about: the innermost that is about anything says it.
pub(super) fn about(state: &State, thread: ThreadIndex) -> About {
    let abouts = state.calls().of(thread).map(|call| call.about);
    abouts.filter(|about| *about != About::Nothing).last().unwrap_or_default()
}

pub(super) fn word(kind: OffKind) -> &'static str {
    match kind {
        OffKind::Sleep => "sleep",
        OffKind::Uninterruptible => "uninterruptible",
        OffKind::Stopped => "stopped",
        OffKind::Other => "other",
    }
}

impl OffCpu {
    fn stayed(&mut self, thread: ThreadIndex, was: Stay, until: Ns) {
        let Place::Off(kind) = was.place else { return };
        let ns = since(was.since.max(self.from), until);
        let about = self.waiting.remove(&thread).unwrap_or_default();
        self.rows.row((thread, (was.call, about, kind))).add(Off { count: 1, ns, longest_ns: ns });
    }

    fn tables(&self, end: &End<'_>) -> Vec<Table> {
        let mut reasons: FxHashMap<Option<Why>, (Off, u64)> = FxHashMap::default();
        let mut threads = Vec::new();
        for (key, off) in self.rows.iter().filter(|(_, off)| off.count > 0) {
            if key.is_some_and(|(thread, _)| !end.is_asked(thread)) {
                continue;
            }
            let reason = reasons.entry(key.map(|(_, why)| why)).or_default();
            reason.0.add(*off);
            reason.1 += 1;
            threads.push((key, *off));
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        let label = |why: Option<Why>| self.why(why, end.state).map(|cell| format!("{cell:?}"));
        reasons.sort_by_cached_key(|(why, (off, _))| (Reverse(off.ns), label(*why)));
        threads.sort_by_cached_key(|(key, off)| {
            let (thread, why) = key.unzip();
            (Reverse(off.ns), thread, label(why))
        });
        let of_reason = |(why, (off, threads)): (Option<Why>, (Off, u64))| {
            let cells = self.why(why, end.state).into_iter().chain(off.cells());
            cells.chain([Cell::Count(threads)]).collect()
        };
        let of_thread = |(key, off): (Option<(ThreadIndex, Why)>, Off)| {
            let thread = key.map(|(thread, _)| end.state.threads().label(thread));
            let thread = thread.map_or(Cell::Others, Cell::Text);
            let why = self.why(key.map(|(_, why)| why), end.state);
            [thread].into_iter().chain(why).chain(off.cells()).collect()
        };
        let reasons = Table {
            key: "reasons",
            title: "Time off the CPU by reason",
            when_empty: WITHOUT_SCHEDULER,
            columns: &REASONS,
            rows: reasons.into_iter().map(of_reason).collect(),
        };
        let threads = Table {
            key: "threads",
            title: "Time off the CPU by thread and reason",
            when_empty: "",
            columns: &THREADS,
            rows: threads.into_iter().map(of_thread).collect(),
        };
        vec![reasons, threads]
    }

    fn why(&self, why: Option<Why>, state: &State) -> [Cell; 3] {
        let Some((call, about, kind)) = why else {
            return [Cell::Others, Cell::None, Cell::None];
        };
        let call = call.and_then(|pair| state.classes().pair(pair));
        [
            call.map(|pair| pair.name.clone()).into(),
            about.label(state.texts()).into(),
            Cell::text(word(kind)),
        ]
    }
}

impl Off {
    fn add(&mut self, other: Off) {
        self.count += other.count;
        self.ns = self.ns.saturating_add(other.ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    fn cells(&self) -> [Cell; 3] {
        [Cell::Count(self.count), Cell::Ns(self.ns), Cell::Ns(self.longest_ns)]
    }
}
