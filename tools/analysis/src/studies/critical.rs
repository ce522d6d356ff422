// SPDX-License-Identifier: MIT
//! `critical-path`: what the end of a span had to wait for, in segments that add up to the span.
//!
//! Place in the flow: the state moves threads from place to place, and wake-ups tell who woke
//! whom; where the scheduler does not tell, waits for locks do, with whoever let them go. `walk`
//! goes from the end of the span back.

mod edges;
mod walk;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use state::{
    event_name, About, InterruptKind, Operation, PairIndex, State, TextIndex, ThreadIndex, Waker,
};
use trace::{CpuId, LossMessage, Ns};

use super::interrupts::soft_name;
use super::latency::Asked;
use super::off_cpu::about;
use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::by_class::ByClass;
use crate::error::Error;
use crate::sheet::{number, path, text, Cell, Column, Sheet, Table};
use crate::spells::Spell;

use edges::{Edges, Stay, Wait};
use walk::{Segment, SEGMENTS_MAX};

const TOTALS: [Column; 7] = [
    text("what", "what", 0),
    text("thread", "thread", 0),
    text("call", "in", 1),
    text("by", "by", 1),
    number("count", "times", 1),
    number("total_ns", "total", 0),
    number("share", "of the span", 0),
];

const SEGMENTS: [Column; 8] = [
    number("begin_ns", "from", 0),
    number("duration_ns", "for", 0),
    text("what", "what", 0),
    text("thread", "thread", 0),
    text("call", "in", 1),
    path("about", "on", 1),
    text("by", "by", 1),
    number("depth", "depth", 3),
];

struct Critical {
    asked: Option<Asked>,
    edges: Edges,
    /// Positions of the number of the thread that is about to wake up.
    wakings: ByClass<usize>,
    woken: FxHashMap<ThreadIndex, (Ns, Waker)>,
    from: Ns,
    has_switches: bool,
    has_interrupts: bool,
    losses: u64,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    let names = || start.classes.names().iter().map(|name| name.text.as_str());
    let is_of_interrupts = |operation| matches!(operation, Operation::Interrupt(_));
    let asked = Asked::of(start)?;
    if asked.is_none() && !start.has_threads {
        return Err(Error::Lacks {
            analysis: "critical-path",
            option: "--tid, --pair or --between",
            purpose: "the thread, or the call or request whose longest is followed",
        });
    }
    Ok(Box::new(Critical {
        asked,
        edges: Edges::default(),
        wakings: ByClass::new(start.traces, |class| match event_name(class) {
            "sched_waking" | "sched:sched_waking" => {
                class.field_index("tid").or(class.field_index("pid"))
            }
            _ => None,
        }),
        woken: FxHashMap::default(),
        from: start.from(),
        has_switches: names().any(|name| name == "sched_switch" || name == "sched:sched_switch"),
        has_interrupts: start.classes.pairs().iter().any(|pair| is_of_interrupts(pair.operation)),
        losses: 0,
    }))
}

impl Study for Critical {
    fn event(&mut self, moment: &Moment<'_>) {
        let (state, event, thread) = (moment.state, moment.event, moment.step.thread);
        let at = event.time_ns();
        self.edges.lives(thread, at);
        if let Some(asked) = &mut self.asked {
            asked.event(moment);
        }
        if let Some(field) = self.wakings.get(event) {
            let tid = event.value(*field).and_then(|value| value.as_i64());
            let host = state.host(event.trace_index());
            let woken = tid.and_then(|tid| state.threads().of_tid(host, tid));
            if let (Some(woken), Some(waker)) = (woken, waker_at(moment)) {
                self.woken.insert(woken, (at, waker));
            }
        }
        if !state.moves().is_empty() {
            let waker = waker_at(moment);
            self.moves(state, waker);
        }
        if !self.has_switches {
            self.waits(moment);
        }
    }

    fn moved(&mut self, state: &State, cpu: Option<(u32, CpuId)>, _at: Ns) {
        // Those of an event come with the event, which knows who woke whom.
        if cpu.is_none() {
            self.moves(state, None);
        }
    }

    fn loss(&mut self, loss: &LossMessage<'_>, _state: &State) {
        self.losses = self.losses.saturating_add(loss.loss.count);
        self.woken.clear();
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let Some(spell) = self.span(end) else {
            let totals = table("totals", "The path", NOTHING, &TOTALS, Vec::new());
            return Sheet { tables: vec![totals], ..Sheet::default() };
        };
        let until = Ns(spell.begin.0.saturating_add(i64::try_from(spell.ns).unwrap_or(i64::MAX)));
        let path = walk::path(&self.edges, spell.thread, spell.begin, until);
        let mut sheet = Sheet::default();
        let label = end.state.threads().label(spell.thread);
        sheet.fact("thread", "Thread at the end", Cell::Text(label));
        sheet.fact("begin_ns", "From", Cell::At(spell.begin.0));
        sheet.fact("until_ns", "Until", Cell::At(until.0));
        sheet.fact("span_ns", "Span", Cell::Ns(spell.ns));
        sheet.tables = vec![totals(&path, spell.ns, end.state), segments(&path, end.state)];
        sheet.notes = self.notes(spell.begin, path.len());
        sheet
    }
}

const NOTHING: &str = "The trace has nothing of the thread, call or request that was asked for.";

impl Critical {
    fn moves(&mut self, state: &State, waker: Option<Waker>) {
        for moved in state.moves() {
            let thread = moved.thread;
            let now = state.stay(thread);
            if self.edges.of(thread).is_none_or(|line| line.stays.is_empty()) {
                let was = moved.was;
                if was.place != state::Place::Unknown {
                    let since = was.since.max(self.from);
                    let (waker, about) = (None, About::Nothing);
                    let stay = Stay { place: was.place, since, waker, call: was.call, about };
                    self.edges.stays(thread, stay);
                }
            }
            let open = state.calls().innermost(thread);
            let is_off = matches!(now.place, state::Place::Off(_));
            let open = open.filter(|_| is_off);
            let wakes = now.place == state::Place::Waiting
                && matches!(moved.was.place, state::Place::Off(_) | state::Place::Unknown);
            let early = self.woken.remove(&thread).filter(|(at, _)| *at >= moved.was.since);
            let waker = early.map(|(_, waker)| waker).or(waker).filter(|_| wakes);
            let about = if is_off { about(state, thread) } else { About::Nothing };
            let (since, call) = (now.since, open.map(|open| open.pair));
            self.edges.stays(thread, Stay { place: now.place, since, waker, call, about });
        }
    }

    /// Where the scheduler does not tell, calls that wait do.
    fn waits(&mut self, moment: &Moment<'_>) {
        let (thread, end) = (moment.step.thread, moment.event.time_ns());
        let Some(done) = moment.step.done else { return };
        let (Some(begin), Some(call)) = (done.begin, done.pair) else { return };
        let (about, by) = match done.operation {
            Operation::Lock(kind) => {
                let by = done.waited_for.handed_by.or(done.waited_for.held_by);
                (About::Lock(kind, done.values.subject as u64), by)
            }
            Operation::Read | Operation::Write | Operation::Copy | Operation::Touch => {
                let file = done.uses[0].map(|(file, _)| About::File(file));
                (file.unwrap_or_default(), None)
            }
            Operation::Accept | Operation::Connect | Operation::ChildWait => (About::Nothing, None),
            _ => return,
        };
        self.edges.waited(thread, Wait { begin, end, call, about, by });
    }

    /// The span, and the thread at its end.
    fn span(&self, end: &End<'_>) -> Option<Spell> {
        if let Some(asked) = &self.asked {
            return asked.longest();
        }
        let threads = (0..end.state.threads().threads().len() as u32).map(ThreadIndex);
        let lives = threads.filter_map(|thread| {
            let line = self.edges.of(thread)?;
            let last = line.life.map(|(_, last)| last);
            let last = last.max(line.stays.last().map(|stay| stay.since))?;
            Some((thread, last))
        });
        let asked = lives.filter(|(thread, _)| end.is_asked(*thread));
        let (thread, _) = asked.max_by_key(|(_, last)| *last)?;
        let ns = since(end.first, end.last);
        Some(Spell { begin: end.first, ns, thread, cpu: None })
    }

    fn notes(&self, begin: Ns, segments: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.has_switches {
            notes.push(
                "The trace has no events of the scheduler's: waits are those for locks and of \
                 calls on files; whether a thread was on a CPU is not known. `lull record -k` \
                 records both."
                    .into(),
            );
        } else if !self.has_interrupts {
            notes.push(
                "The trace has no events of interrupts: a wake-up by an interrupt counts for the \
                 thread that it interrupted."
                    .into(),
            );
        }
        if self.edges.kept_from.is_some_and(|from| from > begin) {
            notes.push(format!(
                "More than {} moves of threads: the oldest were forgotten, and what was before is \
                 unknown. A shorter span (--from, --to) has room.",
                edges::EDGES_MAX
            ));
        }
        if segments >= SEGMENTS_MAX {
            notes.push(format!(
                "The path has more than {SEGMENTS_MAX} segments; its beginning is told as unknown."
            ));
        }
        if self.losses > 0 {
            notes.push(format!(
                "{} events or packets were lost in the traces: where a thread was in the meantime \
                 is unknown.",
                self.losses
            ));
        }
        notes
    }
}

fn waker_at(moment: &Moment<'_>) -> Option<Waker> {
    moment.state.waker(moment.event, moment.step.thread)
}

fn by_text(by: Option<Waker>, state: &State) -> Cell {
    match by {
        None => Cell::None,
        Some(Waker::Thread(thread)) => Cell::Text(state.threads().label(thread)),
        Some(Waker::Idle) => Cell::text("an interrupt of which no event tells"),
        Some(Waker::Interrupt { name, .. }) if name != TextIndex::NONE => {
            Cell::Text(state.texts().text(name))
        }
        Some(Waker::Interrupt { number, pair, .. }) => {
            let Some(pair) = state.classes().pair(pair) else { return Cell::None };
            match (pair.operation, soft_name(number)) {
                (Operation::Interrupt(InterruptKind::Soft), Some(name)) => {
                    Cell::Text(format!("softirq {name}"))
                }
                _ => Cell::Text(format!("{} {number}", pair.name)),
            }
        }
    }
}

fn call_text(call: Option<PairIndex>, state: &State) -> Cell {
    call.and_then(|call| state.classes().pair(call)).map(|pair| pair.name.clone()).into()
}

fn table(
    key: &'static str,
    title: &'static str,
    when_empty: &'static str,
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
) -> Table {
    Table { key, title, when_empty, columns, rows }
}

fn totals(path: &[Segment], span_ns: u64, state: &State) -> Table {
    type Kind = (walk::What, ThreadIndex, Option<PairIndex>, String);
    let mut sums: FxHashMap<Kind, (u64, u64, Cell)> = FxHashMap::default();
    for segment in path {
        let by = by_text(segment.by, state);
        let kind = (segment.what, segment.thread, segment.call, format!("{by:?}"));
        let sum = sums.entry(kind).or_insert((0, 0, by));
        sum.0 += 1;
        sum.1 = sum.1.saturating_add(segment.ns());
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(a_kind, a), (b_kind, b)| (Reverse(a.1), a_kind).cmp(&(Reverse(b.1), b_kind)));
    let row = |((what, thread, call, _), (count, ns, by)): (Kind, (u64, u64, Cell))| {
        vec![
            Cell::text(what.name()),
            Cell::Text(state.threads().label(thread)),
            call_text(call, state),
            by,
            Cell::Count(count),
            Cell::Ns(ns),
            Cell::Share(ns as f64 / span_ns.max(1) as f64),
        ]
    };
    let rows = sums.into_iter().map(row).collect();
    table("totals", "What the span consists of", NOTHING, &TOTALS, rows)
}

fn segments(path: &[Segment], state: &State) -> Table {
    let row = |segment: &Segment| {
        vec![
            Cell::At(segment.begin.0),
            Cell::Ns(segment.ns()),
            Cell::text(segment.what.name()),
            Cell::Text(state.threads().label(segment.thread)),
            call_text(segment.call, state),
            segment.about.label(state.texts()).into(),
            by_text(segment.by, state),
            Cell::Count(segment.depth.into()),
        ]
    };
    let rows = path.iter().map(row).collect();
    table("segments", "The path, in the order of time", "", &SEGMENTS, rows)
}
