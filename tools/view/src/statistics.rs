// SPDX-License-Identifier: MIT
//! How long calls and states of a span took, by name.
//!
//! Place in the flow: the history has each call and each state from its begin to its end, and
//! `analysis` the distributions that the command line tells of; here they are brought together for
//! what is in view. A duration counts where all of it is known and inside of the span; what reaches
//! over an edge, and what may have ended among lost events, is counted apart.

use std::collections::HashMap;

use analysis::{Distribution, DistributionReport};
use history::{History, Interval, Kind, Lost, Names, Subject, Track, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use state::PairIndex;
use trace::Ns;

use crate::ask::{between, Ask};
use crate::lost;
use crate::slices::{look, said};
use crate::tracks::{kind_name, Tracks};

/// Calls and states that are read for one answer.
const MOST_READ: u64 = 4_000_000;
/// Names that are told apart; what has another one counts as one of all others.
const MOST_NAMES: usize = 256;

/// What calls and states are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Call(PairIndex),
    /// A thread's states are told as the time line shows them.
    Look(&'static str),
    Value(Value),
}

impl Name {
    fn of(value: Value) -> Self {
        match value {
            Value::In(call) => Name::Call(call.pair),
            Value::Runs(_) | Value::Idle | Value::Interrupted { .. } => Name::Value(value),
            // Whether it is certain counts, and is no other name.
            Value::Held { by, .. } => Name::Value(Value::Held { by, is_certain: true }),
            _ => Name::Look(look(&value)),
        }
    }
}

#[derive(Debug, Default)]
struct Durations {
    told: Option<(Kind, Value)>,
    whole: Distribution,
    inside_ns: u64,
    cut: u64,
    unsure: u64,
    longest: Option<(Track, Interval)>,
}

/// The longest of a name, for who wants to see it.
#[derive(Debug, Serialize)]
struct Longest {
    track: String,
    lane: u32,
    begin: i64,
    until: i64,
}

#[derive(Debug, Serialize)]
struct Row {
    /// `null`: all that came after as many names as are told apart.
    kind: Option<&'static str>,
    name: Option<String>,
    look: &'static str,
    #[serde(flatten)]
    whole: DistributionReport,
    /// The time in the span, of what is cut at its edges too.
    inside_ns: u64,
    cut: u64,
    unsure: u64,
    /// From one power of two on, below the next, how many.
    buckets: Vec<(u64, u64, u64)>,
    longest: Option<Longest>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Statistics {
    rows: Vec<Row>,
    read: u64,
    /// What ended later was not read.
    stopped: Option<i64>,
    lost: u64,
}

struct Reading {
    span: (Ns, Ns),
    /// Where losses begin, by machine and CPU: an interrupt that ends there may have gone on.
    losses: FxHashSet<(u32, Option<u32>, Ns)>,
    rows: FxHashMap<Name, Durations>,
    others: Durations,
    /// The last state of each track, until the next one says whether it ended there.
    last: FxHashMap<Track, Interval>,
    read: u64,
    most: u64,
    stopped: Option<Ns>,
}

pub(crate) fn tell(history: &History, tracks: &Tracks, ask: &Ask) -> Result<Statistics, String> {
    of_some(history, tracks, ask, MOST_READ)
}

/// The same of the first so many calls and states.
pub(crate) fn of_some(
    history: &History,
    tracks: &Tracks,
    ask: &Ask,
    most: u64,
) -> Result<Statistics, String> {
    let origin = history.begin();
    let (from, until) = ask.span(origin)?;
    let id = ask.text("track").filter(|id| !id.is_empty());
    let wanted = match id {
        Some(id) => tracks.within(id).ok_or("there is no such track")?,
        None => tracks.subjects().collect(),
    };
    let whose = id.and_then(|id| tracks.get(id));
    let cpu = whose.and_then(|track| track.cpu);
    let place = whose.map(|track| (track.host, track.cpu));
    let is_of_locks = whose.is_some_and(|track| matches!(track.kind, "lock" | "locks"));
    let lost = lost::count(history.losses(), (from, until), place);
    let mut reading = Reading::new((from, until), history.losses(), most);
    // Who a CPU runs is told of by the threads already, but where one CPU is asked for. Holdings
    // are no part of a process's time.
    let takes = |track: &Track| {
        wanted.contains_key(&track.subject)
            && match track.kind {
                Kind::Call | Kind::Place | Kind::Interrupt => true,
                Kind::Runs => cpu.is_some(),
                Kind::Holder => is_of_locks,
                _ => false,
            }
    };
    history
        .visit_ended(&between((from, until)), takes, |track, interval| {
            !ask.patience.is_over() && reading.take(track, interval)
        })
        .map_err(|error| error.to_string())?;
    let offset = |time: Ns| time.0.saturating_sub(origin.0);
    let (read, stopped) = (reading.read, reading.stopped.map(offset));
    let rows = reading.finish(history.names(), &wanted, offset);
    Ok(Statistics { rows, read, stopped, lost })
}

impl Reading {
    fn new(span: (Ns, Ns), losses: &[Lost], most: u64) -> Self {
        let begins = losses.iter().map(|lost| (lost.host, lost.cpu.map(|cpu| cpu.0), lost.begin));
        Self {
            span,
            losses: begins.collect(),
            rows: FxHashMap::default(),
            others: Durations::default(),
            last: FxHashMap::default(),
            read: 0,
            most,
            stopped: None,
        }
    }

    /// `false`: enough was read.
    fn take(&mut self, track: Track, interval: Interval) -> bool {
        if self.read == self.most {
            self.stopped = Some(interval.end);
            return false;
        }
        self.read += 1;
        if matches!(interval.value, Value::Unheld { .. }) {
            return true;
        }
        if let Some(before) = self.last.insert(track, interval) {
            self.count(track, before, goes_on_as(&before, &interval));
        }
        true
    }

    fn count(&mut self, track: Track, interval: Interval, is_split: bool) {
        let Interval { begin, end, goes_on, value } = interval;
        let (from, until) = self.span;
        let name = Name::of(value);
        let row = match self.rows.len() < MOST_NAMES || self.rows.contains_key(&name) {
            true => self.rows.entry(name).or_default(),
            false => &mut self.others,
        };
        row.told.get_or_insert((track.kind, value));
        let inside = end.min(until).0.saturating_sub(begin.max(from).0);
        row.inside_ns = row.inside_ns.saturating_add(u64::try_from(inside).unwrap_or(0));
        let may_be_over = match value {
            Value::In(call) => call.may_be_over,
            Value::Held { is_certain, .. } => !is_certain,
            _ => false,
        };
        let ends_in_loss = match track.subject {
            Subject::Cpu { host, cpu } if track.kind == Kind::Interrupt => {
                [None, Some(cpu)].iter().any(|cpu| self.losses.contains(&(host, *cpu, end)))
            }
            _ => false,
        };
        if is_split && track.kind == Kind::Call {
            // The other part is counted.
        } else if may_be_over || is_split || ends_in_loss {
            row.unsure += 1;
        } else if begin < from || end >= until || goes_on {
            row.cut += 1;
        } else {
            let ns = u64::try_from(end.0.saturating_sub(begin.0)).unwrap_or(0);
            if row.longest.is_none() || ns > row.whole.most_ns() {
                row.longest = Some((track, interval));
            }
            row.whole.record(ns);
        }
    }

    fn finish(
        mut self,
        names: &Names,
        ids: &HashMap<Subject, &str>,
        offset: impl Fn(Ns) -> i64,
    ) -> Vec<Row> {
        for (track, interval) in std::mem::take(&mut self.last) {
            self.count(track, interval, false);
        }
        let longest = |(track, interval): (Track, Interval)| {
            Some(Longest {
                track: ids.get(&track.subject)?.to_string(),
                lane: track.lane,
                begin: offset(interval.begin),
                until: offset(interval.end),
            })
        };
        let row = |durations: Durations, is_named: bool| {
            let told = durations.told.filter(|_| is_named);
            let value = told.map(|(_, value)| value);
            Row {
                kind: told.and_then(|(kind, _)| kind_name(kind)),
                name: value.map(|value| match Name::of(value) {
                    Name::Look(look) => look.to_string(),
                    _ => said(names, &value).name,
                }),
                look: value.map_or("unknown", |value| look(&value)),
                whole: durations.whole.report(),
                inside_ns: durations.inside_ns,
                cut: durations.cut,
                unsure: durations.unsure,
                buckets: durations.whole.buckets(),
                longest: durations.longest.and_then(longest),
            }
        };
        let mut rows: Vec<Row> = self.rows.into_values().map(|found| row(found, true)).collect();
        let place = |kind: Option<&str>| {
            ["call", "place", "runs", "interrupt", "holder"]
                .iter()
                .position(|known| Some(*known) == kind)
        };
        rows.sort_by(|a, b| {
            let order = place(a.kind).cmp(&place(b.kind));
            order.then(b.inside_ns.cmp(&a.inside_ns)).then_with(|| a.name.cmp(&b.name))
        });
        if self.others.told.is_some() {
            rows.push(row(self.others, false));
        }
        rows
    }
}

/// Whether a state did not end where the next begins: events were lost there.
fn goes_on_as(before: &Interval, next: &Interval) -> bool {
    before.end == next.begin
        && match (before.value, next.value) {
            (Value::In(call), Value::In(again)) => {
                call.pair == again.pair && !call.may_be_over && again.may_be_over
            }
            (Value::Running(_) | Value::Waiting | Value::Off(..), Value::Unknown) => true,
            (Value::Runs(_) | Value::Idle, Value::Unknown) => true,
            _ => false,
        }
}
