// SPDX-License-Identifier: MIT
//! From what a user asks for to where every byte of a session lies.
//!
//! Place in the flow: `Plan` (sizes, mode, patterns) -> `layout()` (offsets) -> `memory` makes the
//! segment. Sizes are powers of two because the ring's equations need them (B 4.1).

use crate::abi::*;
use crate::context::Recorded;
use crate::counts;
use crate::error::{Error, Result};
use std::mem::size_of;

/// Events one session can know; their descriptions share the arena.
pub(crate) const EVENT_CAPACITY: u32 = 8192;
const ARENA_BYTES: u32 = 1 << 20;
const PAGE_BYTES: u64 = 4096;
const LINE_BYTES: u64 = 64;
const FILTER_ALIGN: usize = 8;
/// Of all filters of a session, and of all its patterns.
pub(crate) const FILTERS_BYTES_MAX: usize = 1 << 20;
pub(crate) const PATTERNS_BYTES_MAX: u32 = 1 << 20;
/// Room for patterns and filters, where those that a session begins with need less: it may get
/// others while it runs. Nothing is there until it is used.
const PATTERNS_ROOM_BYTES: u32 = 16 << 10;
const FILTERS_ROOM_BYTES: u32 = 64 << 10;
/// What became of each event's filter, in front of the filters.
pub(crate) const FILTER_STATES_BYTES: u32 = EVENT_CAPACITY * size_of::<u32>() as u32;

/// What a session is to be like.
#[derive(Debug, Clone)]
pub struct Plan {
    pub uuid: [u8; 16],
    pub flight_recorder: bool,
    /// `enum lull_clock_kind`.
    pub clock_kind: u32,
    /// Possible CPUs.
    pub cpu_count: u32,
    /// Whether threads of this machine can make restartable reservations.
    pub rseq: bool,
    pub subbuf_size_bytes: u64,
    pub subbuf_count: u32,
    /// One pattern a line.
    pub patterns: String,
    /// Of programs' events, as [`filters`] writes them.
    pub filters: Vec<u8>,
    /// None: the session records.
    pub counts: Option<counts::Plan>,
    /// Whether events are counted and throttled to keep a budget.
    pub has_budget: bool,
    /// With each event of programs.
    pub recorded: Recorded,
}

/// Which occurrences of a pattern's events are recorded.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'f> {
    /// The number of the pattern, from 0.
    pub rule: usize,
    /// The unlinked program of what they meet; empty: all do.
    pub unlinked: &'f [u8],
    /// One in so many of those.
    pub sample: u32,
}

/// Filters of programs' events as a session has them: `struct lull_session_filter`, and an unlinked
/// program.
pub fn filters<'f>(of: impl Iterator<Item = Filter<'f>>) -> Vec<u8> {
    let mut all = Vec::new();
    for Filter { rule, unlinked, sample } in of {
        for word in [rule as u32, unlinked.len() as u32, sample, 0] {
            all.extend(word.to_ne_bytes());
        }
        all.extend(unlinked);
        all.resize(all.len().next_multiple_of(FILTER_ALIGN), 0);
    }
    all
}

impl Plan {
    /// Checks every size against what a ring can be.
    pub fn check(&self) -> Result<()> {
        let size = self.subbuf_size_bytes;
        if !size.is_power_of_two() || !(SUBBUF_BYTES_MIN..=SUBBUF_BYTES_MAX).contains(&size) {
            return Err(Error::Setting {
                what: "--buffer-size",
                value: size,
                allowed: "a power of two from 4K to 8M",
            });
        }
        let count = self.subbuf_count;
        if !count.is_power_of_two() || !(SUBBUF_COUNT_MIN..=SUBBUF_COUNT_MAX).contains(&count) {
            return Err(Error::Setting {
                what: "--buffers",
                value: u64::from(count),
                allowed: "a power of two from 2 to 1024",
            });
        }
        if self.cpu_count == 0 || self.cpu_count > CPU_COUNT_MAX {
            return Err(Error::Setting {
                what: "number of possible CPUs",
                value: u64::from(self.cpu_count),
                allowed: "1 to 8192",
            });
        }
        if self.filters.len() > FILTERS_BYTES_MAX {
            return Err(Error::Setting {
                what: "bytes of filters",
                value: self.filters.len() as u64,
                allowed: "up to 1M",
            });
        }
        Ok(())
    }
}

/// Bytes of a ring's shared words: those with a name, references and commit counts.
pub fn ring_bytes(subbuf_count: u32, physical_count: u32) -> u64 {
    size_of::<RingShared>() as u64
        + u64::from(subbuf_count) * size_of::<u64>() as u64
        + u64::from(physical_count) * size_of::<Commit>() as u64
}

/// Rows in which processes count events.
pub(crate) fn budget_rows(cpu_count: u32) -> u32 {
    cpu_count.min(BUDGET_ROWS_MAX).next_power_of_two()
}

/// A word for each event by which it is throttled, and the rows.
pub(crate) fn budget_bytes(cpu_count: u32) -> u32 {
    (1 + budget_rows(cpu_count)) * EVENT_CAPACITY * size_of::<u32>() as u32
}

/// Where the budget begins, or 0, and where what is behind it can begin.
fn budget_place(plan: &Plan, from: u32) -> (u32, u32) {
    match plan.has_budget {
        true => (from, from + budget_bytes(plan.cpu_count)),
        false => (0, from),
    }
}

/// Where everything lies in the memory of the user who runs this process.
pub fn layout(plan: &Plan) -> Result<ControlFixed> {
    plan.check()?;
    let plain_count = if plan.rseq { 1 } else { plan.cpu_count };
    let physical_count = (plan.subbuf_count + 1 + SUBBUF_SPARES).next_power_of_two();
    let patterns_bytes = u32::try_from(plan.patterns.len() + 1).unwrap_or(u32::MAX);
    if patterns_bytes > PATTERNS_BYTES_MAX {
        return Err(Error::Setting {
            what: "bytes of patterns",
            value: u64::from(patterns_bytes),
            allowed: "up to 1M",
        });
    }
    let room = |bytes: u32, least: u32| bytes.next_multiple_of(FILTER_ALIGN as u32).max(least);
    let patterns_bytes = room(patterns_bytes, PATTERNS_ROOM_BYTES);
    let filters_bytes = room(plan.filters.len() as u32, FILTERS_ROOM_BYTES);
    let ring_bytes = ring_bytes(plan.subbuf_count, physical_count);
    let ring_stride_bytes = ring_bytes.next_multiple_of(2 * LINE_BYTES);
    let ring_count = u64::from(plan.cpu_count + plain_count);
    let data_stride_bytes = u64::from(physical_count) * plan.subbuf_size_bytes;
    let own_offset_bytes = size_of::<Control>() as u32;
    let patterns_offset_bytes = own_offset_bytes + size_of::<OwnEvents>() as u32;
    let filters_offset_bytes =
        (patterns_offset_bytes + 2 * patterns_bytes).next_multiple_of(LINE_BYTES as u32);
    let events_offset_bytes = (filters_offset_bytes + FILTER_STATES_BYTES + 2 * filters_bytes)
        .next_multiple_of(LINE_BYTES as u32);
    let arena_offset_bytes = events_offset_bytes + EVENT_CAPACITY * size_of::<EventEntry>() as u32;
    let arena_until = (arena_offset_bytes + ARENA_BYTES).next_multiple_of(LINE_BYTES as u32);
    let (budget_offset_bytes, budget_until) = budget_place(plan, arena_until);
    let control_bytes = budget_until.next_multiple_of(PAGE_BYTES as u32);
    let rings_offset_bytes = u64::from(control_bytes);
    let data_offset_bytes =
        (rings_offset_bytes + ring_count * ring_stride_bytes).next_multiple_of(PAGE_BYTES);
    let count_pages = plan.counts.as_ref().map_or(0, counts::Plan::pages);
    let counts_offset_bytes = data_offset_bytes + ring_count * data_stride_bytes;
    Ok(ControlFixed {
        magic: SESSION_MAGIC,
        version: SESSION_VERSION,
        control_bytes,
        uuid: plan.uuid,
        mode: if plan.flight_recorder { MODE_FLIGHT_RECORDER } else { MODE_DISCARD },
        clock_kind: plan.clock_kind,
        cpu_count: plan.cpu_count,
        plain_count,
        subbuf_size_bytes: plan.subbuf_size_bytes,
        subbuf_count: plan.subbuf_count,
        physical_count,
        ring_stride_bytes,
        data_offset_bytes,
        data_stride_bytes,
        memory_bytes: counts_offset_bytes + u64::from(count_pages) * PAGE_BYTES,
        patterns_offset_bytes,
        patterns_bytes,
        events_offset_bytes,
        event_capacity: EVENT_CAPACITY,
        arena_offset_bytes,
        arena_bytes: ARENA_BYTES,
        rings_offset_bytes,
        // SAFETY: geteuid has no preconditions.
        user_id: unsafe { libc::geteuid() },
        stream_id: 0,
        own_offset_bytes,
        filters_offset_bytes,
        filters_bytes,
        count_pages,
        budget_offset_bytes,
        reserved: [0; 60],
    })
}

#[cfg(test)]
impl Plan {
    /// Two CPUs with as little memory as a ring can have: what tests begin with.
    pub fn small() -> Plan {
        Plan {
            uuid: [7; 16],
            flight_recorder: false,
            clock_kind: 0,
            cpu_count: 2,
            rseq: true,
            subbuf_size_bytes: 4096,
            subbuf_count: 2,
            patterns: "io:*".into(),
            filters: Vec::new(),
            counts: None,
            has_budget: false,
            recorded: Recorded::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { cpu_count: 4, subbuf_size_bytes: 1 << 20, subbuf_count: 8, ..Plan::small() }
    }

    #[test]
    fn parts_of_the_memory_follow_each_other_without_overlap() {
        let fixed = layout(&plan()).unwrap();
        assert!(fixed.own_offset_bytes as usize >= size_of::<Control>());
        let own_until = fixed.own_offset_bytes as usize + size_of::<OwnEvents>();
        assert!(fixed.patterns_offset_bytes as usize >= own_until);
        let patterns_until = fixed.patterns_offset_bytes + 2 * fixed.patterns_bytes;
        assert!(fixed.filters_offset_bytes >= patterns_until);
        let states_until = fixed.filters_offset_bytes + FILTER_STATES_BYTES;
        assert!(fixed.events_offset_bytes >= states_until + 2 * fixed.filters_bytes);
        let table_until = fixed.events_offset_bytes + fixed.event_capacity * 16;
        assert_eq!(fixed.arena_offset_bytes, table_until);
        assert!(fixed.control_bytes >= fixed.arena_offset_bytes + fixed.arena_bytes);
        assert_eq!(fixed.rings_offset_bytes, u64::from(fixed.control_bytes));
        let commits_bytes = fixed.physical_count as usize * size_of::<Commit>();
        let ring_bytes = size_of::<RingShared>() + 8 * 8 + commits_bytes;
        let spare_bytes = fixed.ring_stride_bytes - ring_bytes as u64;
        assert!(spare_bytes < 2 * LINE_BYTES, "no more than alignment asks for");
        let controls_until = fixed.rings_offset_bytes + 5 * fixed.ring_stride_bytes;
        assert!(fixed.data_offset_bytes >= controls_until);
        assert_eq!(fixed.memory_bytes, fixed.data_offset_bytes + 5 * fixed.data_stride_bytes);
    }

    #[test]
    fn parts_of_the_memory_have_the_sizes_and_boundaries_that_writers_need() {
        let fixed = layout(&plan()).unwrap();
        assert_eq!(fixed.own_offset_bytes as usize, size_of::<Control>());
        let own_until = fixed.own_offset_bytes as usize + size_of::<OwnEvents>();
        assert_eq!(fixed.patterns_offset_bytes as usize, own_until);
        assert_eq!((fixed.patterns_bytes, fixed.filters_bytes), (16 << 10, 64 << 10));
        let patterns_until = fixed.patterns_offset_bytes + 2 * fixed.patterns_bytes;
        assert!(fixed.filters_offset_bytes - patterns_until < 64);
        let filters_until =
            fixed.filters_offset_bytes + FILTER_STATES_BYTES + 2 * fixed.filters_bytes;
        assert!(fixed.events_offset_bytes - filters_until < 64);
        let large = Plan { patterns: "x".repeat(20_001), filters: vec![0; 80_000], ..plan() };
        let large = layout(&large).unwrap();
        assert_eq!((large.patterns_bytes, large.filters_bytes), (20_008, 80_000));
        let arena_until = fixed.arena_offset_bytes + fixed.arena_bytes;
        assert!(fixed.control_bytes - arena_until < 4096);
        let controls_until = fixed.rings_offset_bytes + 5 * fixed.ring_stride_bytes;
        assert!(fixed.data_offset_bytes - controls_until < 4096);
        let rests = [
            u64::from(fixed.events_offset_bytes) % 64,
            u64::from(fixed.control_bytes) % 4096,
            fixed.ring_stride_bytes % 128,
            fixed.data_offset_bytes % 4096,
        ];
        assert_eq!(rests, [0; 4]);
        // 8 that are written to, the reader's, 31 spare ones, and what makes it a power of two
        assert_eq!((fixed.subbuf_count, fixed.physical_count), (8, 64));
        assert_eq!(fixed.data_stride_bytes, 64 << 20);
        assert_eq!((fixed.event_capacity, fixed.arena_bytes), (8192, 1 << 20));
        assert_eq!((fixed.mode, fixed.stream_id), (MODE_DISCARD, 0));
        let flight = layout(&Plan { flight_recorder: true, ..plan() }).unwrap();
        assert_eq!(flight, ControlFixed { mode: MODE_FLIGHT_RECORDER, ..fixed });
    }

    #[test]
    fn numbers_of_cpus_and_bytes_of_patterns_are_limited() {
        let cpus = |cpu_count| layout(&Plan { cpu_count, ..plan() });
        for value in [0, 8193, u32::MAX] {
            assert!(cpus(value).unwrap_err().to_string().contains("CPUs"), "{value}");
        }
        assert!(cpus(1).is_ok() && cpus(8192).is_ok());
        let patterns = |bytes| layout(&Plan { patterns: "x".repeat(bytes), ..plan() });
        assert!(patterns((1 << 20) - 1).is_ok());
        assert!(patterns(1 << 20).unwrap_err().to_string().contains("patterns"));
    }

    #[test]
    fn budget_has_a_word_for_each_event_and_rows_for_cpus() {
        assert_eq!(layout(&plan()).unwrap().budget_offset_bytes, 0);
        let of = |cpu_count| layout(&Plan { has_budget: true, cpu_count, ..plan() }).unwrap();
        for (cpu_count, rows) in [(1, 1), (2, 2), (3, 4), (64, 64), (65, 64), (8192, 64)] {
            let fixed = of(cpu_count);
            let until = fixed.budget_offset_bytes + (1 + rows) * fixed.event_capacity * 4;
            assert_eq!(fixed.budget_offset_bytes % 64, 0);
            assert!(fixed.budget_offset_bytes >= fixed.arena_offset_bytes + fixed.arena_bytes);
            assert!(until <= fixed.control_bytes && fixed.control_bytes - until < 4096);
        }
    }

    #[test]
    fn one_plain_ring_serves_threads_without_rseq_and_without_rseq_every_cpu_has_one() {
        assert_eq!(layout(&plan()).unwrap().plain_count, 1);
        assert_eq!(layout(&Plan { rseq: false, ..plan() }).unwrap().plain_count, 4);
    }

    #[test]
    fn sizes_that_a_ring_cannot_have_are_refused_by_the_name_of_the_option() {
        let size = |subbuf_size_bytes| layout(&Plan { subbuf_size_bytes, ..plan() });
        for value in [0, 1000, 2048, 16 << 20] {
            assert!(size(value).unwrap_err().to_string().contains("--buffer-size"));
        }
        assert!(size(4096).is_ok() && size(8 << 20).is_ok());
        let count = |subbuf_count| layout(&Plan { subbuf_count, ..plan() });
        for value in [0, 1, 3, 2048] {
            assert!(count(value).unwrap_err().to_string().contains("--buffers"));
        }
        assert!(count(2).is_ok() && count(1024).is_ok());
    }
}
