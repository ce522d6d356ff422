// SPDX-License-Identifier: MIT
//! `compare`: what is different in a second trace, and which of it is more than chance.
//!
//! Place in the flow: the one pass of `analyses` runs over each trace; a study keeps durations of
//! each pair and counts of each name by window. `ranks` says how likely such a difference is where
//! there is none; names, not numbers, join the two.

mod ranks;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use state::{NameIndex, PairIndex};
use trace::Trace;

use crate::analyses::{drive, since, Options};
use crate::by_time::{Scale, Series};
use crate::distribution::Distribution;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};
use crate::studies::{Answer, End, Moment, Study, COMPARE};

use ranks::{adjusted, test, Tested};

/// Pairs and names that are told apart, in each trace.
const PAIRS_MAX: usize = 1 << 10;
const NAMES_MAX: usize = 1 << 12;
/// Durations of a pair that are kept for the test: all, or as many drawn by chance.
const SAMPLES: usize = 1 << 12;
/// How likely a difference may be by chance that is told as one.
const LEVEL: f64 = 0.05;
/// Where chance begins; the same for each run, so that a comparison can be repeated.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

const LATENCIES: [Column; 12] = [
    text("name", "what", 0),
    text("verdict", "is", 0),
    number("count_a", "A", 2),
    number("count_b", "B", 2),
    number("p50_a_ns", "p50 A", 0),
    number("p50_b_ns", "p50 B", 0),
    number("p99_a_ns", "p99 A", 2),
    number("p99_b_ns", "p99 B", 2),
    number("total_change_ns", "total change", 0),
    number("longer_share", "B longer than A", 1),
    number("p", "p", 3),
    number("q", "q", 1),
];

const RATES: [Column; 9] = [
    text("name", "event", 0),
    text("verdict", "is", 0),
    number("count_a", "A", 0),
    number("count_b", "B", 0),
    number("per_s_a", "A/s", 1),
    number("per_s_b", "B/s", 1),
    number("more_share", "windows of B have more", 2),
    number("p", "p", 3),
    number("q", "q", 1),
];

#[derive(Debug, Default)]
struct Calls {
    durations: Distribution<3>,
    sample: Vec<u64>,
}

/// What is known of one trace, by numbers while it is read and by names in the end.
#[derive(Debug)]
struct Side {
    scale: Scale,
    chance: u64,
    calls: Rows<PairIndex, Calls>,
    rates: Rows<NameIndex, Series>,
    calls_by_name: BTreeMap<String, Calls>,
    rates_by_name: BTreeMap<String, (u64, Series)>,
    windows: usize,
    duration_ns: u64,
}

/// The side is looked at after the pass.
struct Shared(Rc<RefCell<Side>>);

impl Study for Shared {
    fn event(&mut self, moment: &Moment<'_>) {
        let at = moment.event.time_ns();
        let side = &mut *self.0.borrow_mut();
        side.scale.reach(at);
        if !moment.is_taken {
            return;
        }
        side.rates.row(moment.step.name).add(&side.scale, at, 0);
        if let Some((pair, begin)) = moment.step.done.and_then(|done| done.pair.zip(done.begin)) {
            side.called(pair, since(begin, at));
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let side = &mut *self.0.borrow_mut();
        let classes = end.state.classes();
        side.duration_ns = since(end.first, end.last);
        // The last window is cut off.
        side.windows = side.scale.window(end.last);
        for (pair, calls) in side.calls.iter_mut() {
            if let Some(pair) = pair.and_then(|pair| classes.pair(pair)) {
                side.calls_by_name.insert(pair.name.clone(), std::mem::take(calls));
            }
        }
        for (name, series) in side.rates.iter_mut() {
            if let Some(name) = name.and_then(|name| classes.names().get(name.0 as usize)) {
                let windows = series.windows(&side.scale, side.windows + 1);
                let count = windows.iter().map(|window| window.count).sum();
                side.rates_by_name.insert(name.text.clone(), (count, std::mem::take(series)));
            }
        }
        Sheet::default()
    }
}

impl Side {
    fn new() -> Self {
        Self {
            scale: Scale::new(),
            chance: SEED,
            calls: Rows::new(PAIRS_MAX),
            rates: Rows::new(NAMES_MAX),
            calls_by_name: BTreeMap::new(),
            rates_by_name: BTreeMap::new(),
            windows: 0,
            duration_ns: 0,
        }
    }

    /// Each call is kept with the same probability, however many come (Vitter's algorithm R).
    fn called(&mut self, pair: PairIndex, ns: u64) {
        let calls = self.calls.row(pair);
        calls.durations.record(ns);
        if calls.sample.len() < SAMPLES {
            return calls.sample.push(ns);
        }
        // xorshift: chance need not be good here, only even.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        let place = self.chance % calls.durations.count();
        if let Some(kept) = calls.sample.get_mut(place as usize) {
            *kept = ns;
        }
    }
}

/// Reads both traces and says what changed from the first to the second. `progress` hears how many
/// bytes of which of them have been read.
pub fn compare<'a>(
    (first, first_options): (&'a [Trace], &Options<'a>),
    (second, second_options): (&'a [Trace], &Options<'a>),
    mut progress: impl FnMut(usize, u64),
) -> Answer {
    let side = || Rc::new(RefCell::new(Side::new()));
    let (a, b) = (side(), side());
    let study = |side: &Rc<RefCell<Side>>| -> Option<Box<dyn Study>> {
        Some(Box::new(Shared(side.clone())))
    };
    let (report, _) = drive(first, first_options, study(&a), |bytes| progress(0, bytes));
    let (other, _) = drive(second, second_options, study(&b), |bytes| progress(1, bytes));
    let (mut a, mut b) = (a.borrow_mut(), b.borrow_mut());
    let tables = vec![latencies(&a, &b), rates(&mut a, &mut b)];
    let notes = vec![format!(
        "Method: durations of calls, and counts in windows of equal width, are compared by the \
         rank-sum test of Mann and Whitney, two-sided, with the normal approximation, corrected \
         for ties; p is how likely such a difference is by chance. q is p adjusted by the method \
         of Benjamini and Hochberg within each table; a row is told as different where q is below \
         {LEVEL}. Of more than {SAMPLES} calls of a name, as many are drawn by chance. The test \
         takes calls as independent of each other; calls that come in bursts are less so, and p \
         is then too small."
    )];
    let sheet = Sheet { tables, notes, ..Sheet::default() };
    Answer { analysis: COMPARE, report, other: Some(other), sheet }
}

fn verdict(tested: Option<Tested>, q: Option<f64>, words: (&'static str, &'static str)) -> Cell {
    match (tested, q) {
        (Some(tested), Some(q)) if q < LEVEL && tested.second_larger > 0.5 => Cell::text(words.1),
        (Some(_), Some(q)) if q < LEVEL => Cell::text(words.0),
        (Some(_), _) => Cell::text("not known to differ"),
        (None, _) => Cell::text("too few to tell"),
    }
}

fn share(tested: Option<Tested>) -> Cell {
    tested.map_or(Cell::None, |tested| Cell::Share(tested.second_larger))
}

fn probability(p: Option<f64>) -> Cell {
    p.map_or(Cell::None, Cell::Probability)
}

fn latencies(a: &Side, b: &Side) -> Table {
    let none = Calls::default();
    let names: BTreeSet<&String> = a.calls_by_name.keys().chain(b.calls_by_name.keys()).collect();
    let of = |side: &'_ Side, name: &String| -> (Vec<u64>, Distribution<3>) {
        let calls = side.calls_by_name.get(name).unwrap_or(&none);
        (calls.sample.clone(), calls.durations.clone())
    };
    let mut rows = Vec::new();
    for name in names {
        let ((sample_a, a), (sample_b, b)) = (of(a, name), of(b, name));
        rows.push((name, a.report(), b.report(), test(&sample_a, &sample_b)));
    }
    let p: Vec<Option<f64>> = rows.iter().map(|row| row.3.map(|tested| tested.p)).collect();
    let mut rows: Vec<_> = rows.into_iter().zip(adjusted(&p)).collect();
    rows.sort_by_key(|((_, a, b, _), q)| {
        let differs = q.is_some_and(|q| q < LEVEL);
        (!differs, Reverse(a.total_ns.abs_diff(b.total_ns)))
    });
    let row = |((name, a, b, tested), q): ((&String, _, _, Option<Tested>), Option<f64>)| {
        let (a, b): (crate::DistributionReport, crate::DistributionReport) = (a, b);
        let change = i128::from(b.total_ns) - i128::from(a.total_ns);
        let known = |count: u64, ns| if count > 0 { Cell::Ns(ns) } else { Cell::None };
        vec![
            Cell::text(name),
            verdict(tested, q, ("shorter", "longer")),
            Cell::Count(a.count),
            Cell::Count(b.count),
            known(a.count, a.p50_ns),
            known(b.count, b.p50_ns),
            known(a.count, a.p99_ns),
            known(b.count, b.p99_ns),
            Cell::Change(i64::try_from(change).unwrap_or(i64::MAX)),
            share(tested),
            probability(tested.map(|tested| tested.p)),
            probability(q),
        ]
    };
    Table {
        key: "latencies",
        title: "Calls, from A to B; those that differ first",
        when_empty: "Neither trace has finished calls.",
        columns: &LATENCIES,
        rows: rows.into_iter().map(row).collect(),
    }
}

fn rates(a: &mut Side, b: &mut Side) -> Table {
    // Windows are of one width in both.
    let width = a.scale.width_ns().max(b.scale.width_ns());
    for side in [&mut *a, &mut *b] {
        side.windows >>= (width / side.scale.width_ns()).ilog2();
        side.scale.widen_to(width);
    }
    let names: BTreeSet<String> =
        a.rates_by_name.keys().chain(b.rates_by_name.keys()).cloned().collect();
    let of = |side: &mut Side, name: &String| -> (u64, Vec<u64>) {
        let (scale, windows) = (side.scale, side.windows);
        match side.rates_by_name.get_mut(name) {
            Some((count, series)) => {
                let windows = series.windows(&scale, windows).iter();
                (*count, windows.map(|window| window.count).collect())
            }
            None => (0, vec![0; windows]),
        }
    };
    let mut rows = Vec::new();
    for name in names {
        let ((count_a, a), (count_b, b)) = (of(a, &name), of(b, &name));
        rows.push((name, count_a, count_b, test(&a, &b)));
    }
    let p: Vec<Option<f64>> = rows.iter().map(|row| row.3.map(|tested| tested.p)).collect();
    let per_s = |count: u64, side: &Side| count as f64 * 1e9 / side.duration_ns.max(1) as f64;
    let mut rows: Vec<_> = rows.into_iter().zip(adjusted(&p)).collect();
    rows.sort_by_key(|((_, count_a, count_b, _), q)| {
        let differs = q.is_some_and(|q| q < LEVEL);
        let change = (per_s(*count_a, a) - per_s(*count_b, b)).abs();
        (!differs, Reverse(change as u64))
    });
    let row = |((name, count_a, count_b, tested), q): ((String, u64, u64, _), Option<f64>)| {
        vec![
            Cell::Text(name),
            verdict(tested, q, ("rarer", "more frequent")),
            Cell::Count(count_a),
            Cell::Count(count_b),
            Cell::Number(per_s(count_a, a)),
            Cell::Number(per_s(count_b, b)),
            share(tested),
            probability(tested.map(|tested| tested.p)),
            probability(q),
        ]
    };
    Table {
        key: "rates",
        title: "Events, from A to B; those that differ first",
        when_empty: "",
        columns: &RATES,
        rows: rows.into_iter().map(row).collect(),
    }
}
