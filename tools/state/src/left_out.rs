// SPDX-License-Identifier: MIT
//! What was left out of a recording on purpose, as its recorder tells in the environment: pauses,
//! changes of what is recorded, and events of which only some occurrences are.
//!
//! Place in the flow: `moment` treats a pause as a loss of which nobody counts the events, and a
//! change as a moment after which no exit is sure to be recorded; `calls` measures no call of
//! which an entry or an exit may be another one's.

use rustc_hash::FxHashSet;
use trace::{Cycles, EnvironmentValue, Metadata, Ns, Trace};
use verdict::environment::Value;
use verdict::Verdict;

use crate::classes::Classes;

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
        said.sampled.iter().for_each(|sampled| self.add(&sampled.event));
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

/// What the recorders of traces tell: when nothing was recorded or something else was; and, by
/// number of a pair, whether events of it were recorded of which others, that met no filter or are
/// not in the sample, were not.
pub(crate) fn left_out(traces: &[Trace], hosts: &[u32], classes: &Classes) -> (Gaps, Vec<bool>) {
    let (mut gaps, mut partly) = (Vec::new(), Partly::default());
    for (trace, host) in traces.iter().zip(hosts) {
        let said = recorded_verdict(trace.metadata());
        partly.hear(&said);
        if let Some(clock) = trace.clocks().first() {
            hear_gaps(&said, *host, |(cycles, _)| clock.ns(Cycles(cycles)), &mut gaps);
        }
    }
    (Gaps::new(gaps), partial_pairs(&partly, classes))
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

fn partial_pairs(partly: &Partly, classes: &Classes) -> Vec<bool> {
    let mut partial = vec![false; classes.pairs().len()];
    for name in classes.names() {
        let is_partial = name.pair.and_then(|pair| partial.get_mut(pair.0 as usize));
        if let Some(is_partial) = is_partial {
            *is_partial |= partly.has(&name.text);
        }
    }
    partial
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
