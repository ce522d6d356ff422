// SPDX-License-Identifier: MIT
//! From what a user asks for to where every byte of a session lies.
//!
//! Place in the flow: `Plan` (sizes, mode, patterns) -> `layout()` (offsets) -> `memory` makes the
//! segment. Sizes are powers of two because the ring's equations need them (B 4.1).

use crate::abi::*;
use crate::counts;
use crate::error::{Error, Result};
use std::mem::size_of;

/// Events one session can know; their descriptions share the arena.
pub(crate) const EVENT_CAPACITY: u32 = 8192;
const ARENA_BYTES: u32 = 1 << 20;
const PAGE_BYTES: u64 = 4096;
const LINE_BYTES: u64 = 64;
const FILTER_ALIGN: usize = 8;
/// Of all filters of a session.
pub(crate) const FILTERS_BYTES_MAX: usize = 1 << 20;
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
}

/// Filters of programs' events as a session has them: each is the number of the pattern that it
/// belongs to, from 0, and an unlinked program.
pub fn filters<'f>(of: impl Iterator<Item = (usize, &'f [u8])>) -> Vec<u8> {
    let mut all = Vec::new();
    for (rule, unlinked) in of {
        all.extend((rule as u32).to_ne_bytes());
        all.extend((unlinked.len() as u32).to_ne_bytes());
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
        Ok(())
    }
}

/// Bytes of a ring's shared words: those with a name, references and commit counts.
pub fn ring_bytes(subbuf_count: u32, physical_count: u32) -> u64 {
    size_of::<RingShared>() as u64
        + u64::from(subbuf_count) * size_of::<u64>() as u64
        + u64::from(physical_count) * size_of::<Commit>() as u64
}

/// Of what became of filters, where a session filters or counts, and of the filters.
fn filters_bytes(plan: &Plan) -> u32 {
    match plan.filters.len() as u32 {
        0 if plan.counts.is_none() => 0,
        bytes => FILTER_STATES_BYTES + bytes,
    }
}

/// Where everything lies in the memory of the user who runs this process.
pub fn layout(plan: &Plan) -> Result<ControlFixed> {
    plan.check()?;
    let plain_count = if plan.rseq { 1 } else { plan.cpu_count };
    let physical_count = (plan.subbuf_count + 1 + SUBBUF_SPARES).next_power_of_two();
    let patterns_bytes = u32::try_from(plan.patterns.len() + 1).unwrap_or(u32::MAX);
    if patterns_bytes > 1 << 20 {
        return Err(Error::Setting {
            what: "bytes of patterns",
            value: u64::from(patterns_bytes),
            allowed: "up to 1M",
        });
    }
    if plan.filters.len() > FILTERS_BYTES_MAX {
        return Err(Error::Setting {
            what: "bytes of filters",
            value: plan.filters.len() as u64,
            allowed: "up to 1M",
        });
    }
    let filters_bytes = filters_bytes(plan);
    let ring_bytes = ring_bytes(plan.subbuf_count, physical_count);
    let ring_stride_bytes = ring_bytes.next_multiple_of(2 * LINE_BYTES);
    let ring_count = u64::from(plan.cpu_count + plain_count);
    let data_stride_bytes = u64::from(physical_count) * plan.subbuf_size_bytes;
    let own_offset_bytes = size_of::<Control>() as u32;
    let patterns_offset_bytes = own_offset_bytes + size_of::<OwnEvents>() as u32;
    let filters_offset_bytes =
        (patterns_offset_bytes + patterns_bytes).next_multiple_of(LINE_BYTES as u32);
    let events_offset_bytes =
        (filters_offset_bytes + filters_bytes).next_multiple_of(LINE_BYTES as u32);
    let arena_offset_bytes = events_offset_bytes + EVENT_CAPACITY * size_of::<EventEntry>() as u32;
    let control_bytes = (arena_offset_bytes + ARENA_BYTES).next_multiple_of(PAGE_BYTES as u32);
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
        assert!(fixed.events_offset_bytes >= fixed.patterns_offset_bytes + fixed.patterns_bytes);
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
        assert_eq!(fixed.patterns_bytes, 5, "io:* and its end");
        let patterns_until = fixed.patterns_offset_bytes + fixed.patterns_bytes;
        assert!(fixed.events_offset_bytes - patterns_until < 64);
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
