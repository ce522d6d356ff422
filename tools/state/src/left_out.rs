// SPDX-License-Identifier: MIT
//! What was left out of a recording on purpose, as its recorder tells in the environment: pauses,
//! changes of what is recorded, and events of which only some occurrences are.
//!
//! Place in the flow: `moment` treats a pause as a loss of which nobody counts the events, and a
//! change as a moment after which no exit is sure to be recorded; `calls` measures no call of
//! which an entry or an exit may be another one's, and those of a sample only where each call was
//! drawn as a whole; `running` believes of a processor no more than the switches tell that there
//! are.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{Cycles, EnvironmentValue, Metadata, Ns, Trace};
use verdict::environment::Value;
use verdict::thinned::KernelOf;
use verdict::Verdict;

use crate::classes::{ClassName, Classes, PairIndex};

/// Patterns that names are compared with: each is for each name.
const MOST_PATTERNS: usize = 256;

/// The verdict that a trace's recorder left in its metadata.
pub fn recorded_verdict(metadata: &Metadata) -> Verdict {
    Verdict::parse(Default::default(), |name| {
        Some(match metadata.environment_value(name)? {
            EnvironmentValue::Number(number) => Value::Integer(i64::try_from(*number).ok()?),
            EnvironmentValue::Text(text) => Value::Text(text.clone()),
        })
    })
}

/// A moment from which on exits may not be recorded of which the entries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub at: Ns,
    pub host: u32,
    /// Of a pause: nothing was recorded then.
    pub pause: Option<Pause>,
}

/// Until when nothing was recorded; `None`: to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause {
    pub until: Option<Ns>,
}

/// The gaps of some traces, in the order of time.
#[derive(Debug)]
pub(crate) struct Gaps {
    all: Vec<Gap>,
    next: usize,
}

impl Gaps {
    fn new(mut all: Vec<Gap>) -> Self {
        all.sort_by_key(|gap| gap.at);
        Self { all, next: 0 }
    }

    /// Takes over those that are told by now, of which some were met here.
    pub fn again(&mut self, told: Self) {
        let met = self.next.checked_sub(1).and_then(|last| self.all.get(last)).map(|gap| gap.at);
        *self = told;
        self.next = self.all.partition_point(|gap| met.is_some_and(|met| gap.at <= met));
    }

    /// When the next one is.
    #[inline]
    pub fn next_at(&self) -> Ns {
        self.all.get(self.next).map_or(Ns(i64::MAX), |gap| gap.at)
    }

    /// The next one, if it is before a time.
    pub fn take(&mut self, before: Ns) -> Option<Gap> {
        let gap = self.all.get(self.next).filter(|gap| gap.at < before).copied()?;
        self.next += 1;
        Some(gap)
    }
}

/// Names of events of which only some occurrences are recorded, and patterns of such names.
#[derive(Default)]
struct Partly {
    names: FxHashSet<String>,
    patterns: FxHashSet<String>,
    /// Names of ends of calls that were drawn as a whole, with the rates.
    by_call: FxHashMap<String, Vec<u32>>,
}

impl Partly {
    fn add(&mut self, pattern: &str) {
        let set = if pattern.contains('*') { &mut self.patterns } else { &mut self.names };
        if !set.contains(pattern) {
            set.insert(pattern.to_string());
        }
    }

    /// What a trace's recorder told.
    fn hear(&mut self, said: &Verdict) {
        for sampled in &said.sampled {
            match sampled.by_call {
                true => self.by_call.entry(sampled.event.clone()).or_default().push(sampled.one_in),
                false => self.add(&sampled.event),
            }
        }
        said.throttled.iter().for_each(|throttled| self.add(&throttled.event));
        said.filtered.iter().for_each(|pattern| self.add(pattern));
        for asked in said.changes.iter().flat_map(|change| &change.patterns) {
            let end = [" if ", " sample "].iter().filter_map(|word| asked.find(word)).min();
            if let Some(pattern) = end.and_then(|end| asked.get(..end)) {
                self.add(pattern);
            }
        }
    }

    /// With more patterns than anybody asks for, any name may be one of theirs.
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
            || self.patterns.len() > MOST_PATTERNS
            || self.patterns.iter().any(|pattern| matches(pattern, name))
    }
}

/// Which calls were recorded, by number of their pair.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// Whether only some of the pair's events were.
    pub partial: Vec<bool>,
    /// Of pairs of which each call was drawn as a whole: one in so many, as each trace says.
    pub rates: Vec<Vec<u32>>,
}

/// What one trace has of a pair.
#[derive(Default)]
struct OfPair<'a> {
    is_partial: bool,
    /// It has an event all of whose occurrences were recorded.
    is_whole: bool,
    drawn: FxHashSet<&'a str>,
    rates: FxHashSet<u32>,
}

impl Recorded {
    fn new(pair_count: usize) -> Self {
        Self { partial: vec![false; pair_count], rates: vec![Vec::new(); pair_count] }
    }

    /// Adds what a trace has. Both ends of a pair have to be drawn by call, and alike.
    fn add<'a>(&mut self, partly: &Partly, names: impl Iterator<Item = &'a ClassName>) {
        let mut pairs: FxHashMap<PairIndex, OfPair> = FxHashMap::default();
        for name in names {
            let Some(pair) = name.pair else { continue };
            let of_pair = pairs.entry(pair).or_default();
            of_pair.is_partial |= partly.has(&name.text);
            match partly.by_call.get(&name.text) {
                Some(rates) => {
                    of_pair.drawn.insert(&name.text);
                    of_pair.rates.extend(rates);
                }
                None => of_pair.is_whole = true,
            }
        }
        for (PairIndex(pair), of_pair) in pairs {
            let OfPair { is_partial, is_whole, drawn, rates } = of_pair;
            let is_drawn = !drawn.is_empty();
            let is_alike = !is_whole && drawn.len() > 1 && rates.len() == 1;
            let Some(partial) = self.partial.get_mut(pair as usize) else { continue };
            *partial |= is_partial || (is_drawn && !is_alike);
            if let Some(all) = self.rates.get_mut(pair as usize).filter(|_| is_drawn) {
                all.extend(rates);
                all.sort_unstable();
                all.dedup();
            }
        }
    }
}

/// What the recorders of traces tell: when nothing was recorded or something else was; and of which
/// calls only some ends or only some calls were, as others met no filter or are not in the sample.
pub(crate) fn left_out(traces: &[Trace], hosts: &[u32], classes: &Classes) -> (Gaps, Recorded) {
    let (mut gaps, mut recorded) = (Vec::new(), Recorded::new(classes.pairs().len()));
    for (index, (trace, host)) in traces.iter().zip(hosts).enumerate() {
        let said = recorded_verdict(trace.metadata());
        let mut partly = Partly::default();
        partly.hear(&said);
        let plans = trace.event_classes().filter_map(|class| classes.plan(index, class));
        recorded.add(&partly, plans.filter_map(|plan| classes.names().get(plan.name.0 as usize)));
        if let Some(clock) = trace.clocks().first() {
            hear_gaps(&said, *host, |(cycles, _)| clock.ns(Cycles(cycles)), &mut gaps);
        }
    }
    (Gaps::new(gaps), recorded)
}

/// Of each trace, whose switches its recorder recorded.
pub(crate) fn switches(traces: &[Trace], names: &[&str]) -> Vec<KernelOf> {
    let of_trace = |trace: &Trace| {
        let mut said = recorded_verdict(trace.metadata());
        said.filtered.clear(); // What is said of whose events there are takes account of them.
        let mut partly = Partly::default();
        partly.hear(&said);
        match names.iter().any(|name| partly.has(name)) {
            true => KernelOf::Filter,
            false => said.kernel_of,
        }
    };
    traces.iter().map(of_trace).collect()
}

fn hear_gaps(said: &Verdict, host: u32, ns: impl Fn((u64, u64)) -> Ns, gaps: &mut Vec<Gap>) {
    let of_pause = |pause: &verdict::Pause| Gap {
        at: ns(pause.begin),
        host,
        pause: Some(Pause { until: pause.until.map(&ns) }),
    };
    gaps.extend(said.pauses.iter().map(of_pause));
    let of_change = |change: &verdict::Change| Gap { at: ns(change.at), host, pause: None };
    gaps.extend(said.changes.iter().map(of_change));
}

/// Whether a name is what a pattern says, in which a star stands for any characters. Bound: the
/// product of their lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some(at) = rest.find(before) else { return false };
            rest = rest.get(at + before.len()..).unwrap_or_default();
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_are_looked_for_and_too_many_patterns_are_not() {
        let mut partly = Partly::default();
        assert!(!partly.has("a:b_entry"));
        ["a:c_exit", "x:*"].into_iter().for_each(|pattern| partly.add(pattern));
        assert!(partly.has("a:c_exit") && partly.has("x:y_exit") && !partly.has("a:b_entry"));
        (0..MOST_PATTERNS).for_each(|number| partly.add(&format!("{number}:*")));
        assert!(partly.has("a:b_entry"), "it is not sure that it is recorded whole");
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, wanted) in [
            ("a:b", "a:b", true),
            ("a:b", "a:bc", false),
            ("a:*", "a:bc", true),
            ("*", "", true),
            ("*:wait_*", "mutex:wait_entry", true),
            ("*:wait_*", "mutex:unlock", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "axbyb", true),
            ("a*aa", "aa", false),
            ("a*a", "aa", true),
            ("**e", "e", true),
        ] {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
