// SPDX-License-Identifier: MIT
//! When events of each machine may be missing, for quick questions.
//!
//! Place in the flow: made of the losses when a history is opened. What is known from two events
//! is known only if nothing is missing between them.

use std::collections::BTreeMap;

use trace::Ns;

use crate::history::Lost;

/// By machine: stretches that share no time, in order.
#[derive(Debug, Default)]
pub(crate) struct Gaps(BTreeMap<u32, Vec<(Ns, Ns)>>);

impl Gaps {
    pub fn of(losses: &[Lost]) -> Self {
        let mut sorted: Vec<&Lost> = losses.iter().collect();
        sorted.sort_by_key(|lost| (lost.host, lost.begin));
        let mut gaps: BTreeMap<u32, Vec<(Ns, Ns)>> = BTreeMap::new();
        for Lost { host, begin, until, .. } in sorted {
            let own = gaps.entry(*host).or_default();
            match own.last_mut().filter(|last| *begin <= last.1) {
                Some(last) => last.1 = last.1.max(*until),
                None => own.push((*begin, *until)),
            }
        }
        Self(gaps)
    }

    /// Whether events may be missing that were after the one time and before the other.
    pub fn is_between(&self, host: u32, from: Ns, until: Ns) -> bool {
        let Some(own) = self.0.get(&host) else { return false };
        let first = own.partition_point(|(_, end)| *end <= from);
        own.get(first).is_some_and(|(begin, _)| *begin < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_between_two_times_is_found_by_machine() {
        let lost = |host, begin, until| {
            let (begin, until) = (Ns(begin), Ns(until));
            Lost { host, cpu: None, count: 1, begin, until }
        };
        let gaps = Gaps::of(&[lost(1, 90, 90), lost(0, 50, 60), lost(0, 10, 20), lost(0, 15, 30)]);
        let between = |host, from, until| gaps.is_between(host, Ns(from), Ns(until));
        assert!(between(0, 5, 11) && between(0, 29, 31) && between(0, 0, 99) && between(1, 89, 91));
        assert!(!between(0, 5, 10) && !between(0, 30, 50) && !between(0, 60, 99));
        assert!(!between(1, 10, 30) && !between(1, 90, 95) && !between(7, 0, 99));
    }
}
