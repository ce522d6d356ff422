// SPDX-License-Identifier: MIT
//! How many events there were, of which name, where, and how many bytes they took.
//!
//! Place in the flow: the one analysis that every counted event passes through.

use std::cmp::Reverse;

use trace::{CpuId, Ns};

use crate::report::{CpuRow, EventRow};
use crate::rows::Rows;

/// Processors counted apart; those beyond share the last place.
const MOST_CPUS: usize = 4096;

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    events: u64,
    bits: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, bits: u64) {
        self.events += 1;
        self.bits = self.bits.saturating_add(bits);
    }
}

pub(crate) struct Counts {
    by_name: Vec<Count>,
    by_group: Rows<(u32, u32), Count>,
    by_cpu: Vec<u64>,
    without_cpu: u64,
    pub total: u64,
    pub first: Ns,
    pub last: Ns,
}

/// An event, as far as it is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub name: u32,
    pub group: Option<u32>,
    pub cpu: Option<CpuId>,
    pub bits: u64,
}

impl Counts {
    pub fn new(name_count: usize, row_limit: usize) -> Self {
        Self {
            by_name: vec![Count::default(); name_count],
            by_group: Rows::new(row_limit),
            by_cpu: Vec::new(),
            without_cpu: 0,
            total: 0,
            first: Ns(i64::MAX),
            last: Ns(i64::MIN),
        }
    }

    /// Notes the time of any event, counted or not.
    #[inline]
    pub fn reach(&mut self, at: Ns) {
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }

    #[inline]
    pub fn event(&mut self, event: Counted) {
        self.total += 1;
        if let Some(group) = event.group {
            self.by_group.row((event.name, group)).add(event.bits);
        } else if let Some(count) = self.by_name.get_mut(event.name as usize) {
            count.add(event.bits);
        }
        match event.cpu {
            Some(CpuId(cpu)) if (cpu as usize) < self.by_cpu.len() => {
                self.by_cpu[cpu as usize] += 1;
            }
            cpu => self.new_cpu(cpu),
        }
    }

    #[cold]
    fn new_cpu(&mut self, cpu: Option<CpuId>) {
        match cpu.map(|cpu| cpu.0 as usize) {
            Some(cpu) if cpu < MOST_CPUS => {
                self.by_cpu.resize(cpu + 1, 0);
                self.by_cpu[cpu] += 1;
            }
            _ => self.without_cpu += 1,
        }
    }

    /// From the first event to the last.
    pub fn duration_ns(&self) -> u64 {
        u64::try_from(self.last.0.saturating_sub(self.first.0)).unwrap_or(0)
    }

    /// A count as a rate over the time from first to last event.
    pub fn per_s(&self, events: u64) -> f64 {
        match self.duration_ns() {
            0 => 0.0,
            duration_ns => events as f64 * 1e9 / duration_ns as f64,
        }
    }

    /// Rows, most events first. `name` and `group` say what to call names and groups.
    pub fn rows(
        &self,
        name: impl Fn(u32) -> String,
        group: impl Fn(u32) -> Option<String>,
    ) -> Vec<EventRow> {
        let plain = self.by_name.iter().enumerate();
        let plain = plain.map(|(index, count)| (Some(name(index as u32)), None, count));
        let grouped = self.by_group.iter().map(|(key, count)| {
            (key.map(|(index, _)| name(index)), key.and_then(|(_, index)| group(index)), count)
        });
        let counted = plain.chain(grouped).filter(|(.., count)| count.events > 0);
        let mut rows: Vec<EventRow> = counted
            .map(|(name, group, count)| EventRow {
                name,
                group,
                events: count.events,
                events_per_s: self.per_s(count.events),
                share: count.events as f64 / self.total as f64,
                bytes: count.bits.div_ceil(8),
                bytes_per_event: count.bits as f64 / 8.0 / count.events as f64,
            })
            .collect();
        rows.sort_by_cached_key(|row| (Reverse(row.events), row.name.clone(), row.group.clone()));
        rows
    }

    pub fn cpus(&self) -> Vec<CpuRow> {
        let known = self.by_cpu.iter().enumerate();
        let known = known.map(|(cpu, events)| CpuRow { cpu: Some(cpu as u32), events: *events });
        let rest = CpuRow { cpu: None, events: self.without_cpu };
        known.chain([rest]).filter(|row| row.events > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(name: u32, group: Option<u32>, cpu: u32) -> Counted {
        Counted { name, group, cpu: Some(CpuId(cpu)), bits: 100 }
    }

    #[test]
    fn names_are_counted_with_rate_share_and_bytes_most_first() {
        let mut counts = Counts::new(2, 9);
        for at in [0, 1_000_000_000, 2_000_000_000] {
            counts.reach(Ns(at));
            counts.event(counted(1, None, 0));
        }
        counts.event(counted(0, None, 2));
        let rows = counts.rows(|name| format!("n{name}"), |_| None);
        let first = &rows[0];
        assert_eq!((first.name.as_deref(), first.events), (Some("n1"), 3));
        assert_eq!((first.events_per_s, first.share), (1.5, 0.75));
        assert_eq!((first.bytes, first.bytes_per_event), (38, 12.5));
        let cpus: Vec<_> = counts.cpus().iter().map(|row| (row.cpu, row.events)).collect();
        assert_eq!(cpus, [(Some(0), 3), (Some(2), 1)]);
    }

    #[test]
    fn groups_are_rows_of_their_own_and_huge_processor_numbers_share_one() {
        let mut counts = Counts::new(1, 2);
        for group in [7, 7, 8, 9] {
            counts.event(counted(0, Some(group), u32::MAX));
        }
        let rows = counts.rows(|_| "n".into(), |group| Some(format!("g{group}")));
        let found: Vec<_> = rows.iter().map(|r| (r.group.as_deref(), r.events)).collect();
        assert_eq!(found, [(Some("g7"), 2), (None, 1), (Some("g8"), 1)]);
        let cpus: Vec<_> = counts.cpus().iter().map(|row| (row.cpu, row.events)).collect();
        assert_eq!(cpus, [(None, 4)]);
        assert_eq!(counts.per_s(9), 0.0);
    }
}
