// SPDX-License-Identifier: MIT
//! Where events are missing.
//!
//! Place in the flow: the history lists losses. Those that share a pixel are told as one, with the
//! sum of their counts: none is left out.

use std::collections::BTreeMap;

use history::Lost;
use serde::Serialize;
use trace::Ns;

use crate::ask::Cut;

/// A stretch of time in which so many events or packets are missing, somewhere.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Region {
    pub host: u32,
    /// Without one: on any of the machine's CPUs.
    pub cpu: Option<u32>,
    pub begin: i64,
    pub until: i64,
    pub count: u64,
    /// How many losses are in it.
    losses: u64,
}

/// Every loss of a span, each by itself, as time since the beginning of the span.
pub(crate) fn all(losses: &[Lost], (from, until): (Ns, Ns)) -> Vec<Region> {
    let inside = losses.iter().filter(|lost| lost.begin < until && from <= lost.until);
    let region = |lost: &Lost| Region {
        host: lost.host,
        cpu: lost.cpu.map(|cpu| cpu.0),
        begin: lost.begin.0.saturating_sub(from.0),
        until: lost.until.0.saturating_sub(from.0),
        count: lost.count,
        losses: 1,
    };
    inside.map(region).collect()
}

/// How many events and packets are missing in a span, or around its edges: on a machine and CPU, if
/// they are given.
pub(crate) fn count(
    losses: &[Lost],
    (from, until): (Ns, Ns),
    place: Option<(u32, Option<u32>)>,
) -> u64 {
    let is_there = |lost: &&Lost| {
        let is_on = place.is_none_or(|(host, cpu)| {
            let own = lost.cpu.map(|cpu| cpu.0);
            host == lost.host && (cpu.is_none() || own.is_none() || own == cpu)
        });
        is_on && lost.begin < until && from <= lost.until
    };
    let inside = losses.iter().filter(is_there);
    inside.fold(0, |sum, lost| sum.saturating_add(lost.count))
}

#[derive(Debug, Serialize)]
pub(crate) struct Regions {
    pub regions: Vec<Region>,
}

pub(crate) fn regions(losses: &[Lost], cut: &Cut) -> Regions {
    let (from, until) = cut.span();
    let (pixels, width) = (i128::from(cut.pixels), cut.width_ns());
    let pixel = |time: i64| (i128::from(time) - i128::from(from.0)) * pixels / width;
    let mut inside: Vec<&Lost> =
        losses.iter().filter(|lost| lost.begin < until && from <= lost.until).collect();
    inside.sort_by_key(|lost| (lost.begin, lost.until));
    let mut by_cpu: BTreeMap<(u32, Option<u32>), Vec<Region>> = BTreeMap::new();
    for lost in inside {
        let (host, cpu) = (lost.host, lost.cpu.map(|cpu| cpu.0));
        let (begin, until) = (lost.begin.0, lost.until.0);
        let of_cpu = by_cpu.entry((host, cpu)).or_default();
        match of_cpu.last_mut().filter(|last| pixel(begin) <= pixel(last.until)) {
            Some(last) => {
                last.until = last.until.max(until);
                last.count = last.count.saturating_add(lost.count);
                last.losses += 1;
            }
            None => of_cpu.push(Region { host, cpu, begin, until, count: lost.count, losses: 1 }),
        }
    }
    let mut regions: Vec<Region> = by_cpu.into_values().flatten().collect();
    for region in &mut regions {
        region.begin = cut.offset(Ns(region.begin));
        region.until = cut.offset(Ns(region.until));
    }
    Regions { regions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Ask;
    use trace::CpuId;

    fn lost(cpu: Option<u32>, begin: i64, until: i64, count: u64) -> Lost {
        let (begin, until, cpu) = (Ns(1000 + begin), Ns(1000 + until), cpu.map(CpuId));
        Lost { host: 0, cpu, count, begin, until }
    }

    fn told(losses: &[Lost], query: &str) -> Vec<(Option<u32>, i64, i64, u64, u64)> {
        let cut = Ask::new(query).unwrap().cut(Ns(1000)).unwrap();
        let found = regions(losses, &cut);
        let short = |r: Region| (r.cpu, r.begin, r.until, r.count, r.losses);
        found.regions.into_iter().map(short).collect()
    }

    #[test]
    fn losses_that_share_a_pixel_are_one_and_their_counts_are_added() {
        let losses = [lost(Some(1), 90, 95, 5), lost(Some(1), 10, 12, 3), lost(Some(1), 13, 14, 4)];
        let far = told(&losses, "from=0&until=100&pixels=10");
        assert_eq!(far, [(Some(1), 10, 14, 7, 2), (Some(1), 90, 95, 5, 1)]);
        let near = told(&losses, "from=10&until=20&pixels=10");
        assert_eq!(near, [(Some(1), 10, 12, 3, 1), (Some(1), 13, 14, 4, 1)]);
    }

    #[test]
    fn losses_of_other_cpus_and_of_no_time_are_told_too() {
        let losses = [lost(None, 50, 50, 1), lost(Some(0), 50, 51, 2), lost(Some(1), 50, 51, 3)];
        let found = told(&losses, "from=0&until=100&pixels=1");
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().map(|region| region.3).sum::<u64>(), 6);
    }
}
