// SPDX-License-Identifier: MIT
//! The memory that a recorder shares with the traced processes of one user: made, filled in, and
//! seen from the recorder's side.
//!
//! Place in the flow: `session` has one for its own user and finds those of others; traced
//! processes attach it, the consumer reads it. What a traced process can write to is given memory
//! by us: memory that cannot be had must be our error, not its end. The first part of each ring has
//! memory before the program starts, and the rest gets it ahead of the writers: to give and to free
//! it is most of what a session costs, and programs that record little do not need it.
//! Paper: B 3.2, 3.4, 4.5.

use crate::abi::*;
use crate::backing::Backing;
use crate::counts::{self, Tables};
use crate::description::{hash, SYSTEM_EVENTS};
use crate::device::{self, Device, Mapping};
use crate::error::{Error, Result};
use crate::layout::{layout, Plan, FILTER_STATES_BYTES};
use crate::machine::{available_bytes, online_cpus};
use crate::segment::Segment;
use memmap2::MmapMut;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Memory that is left to others: what is available is an estimate.
const SLACK_BYTES: u64 = 16 << 20;
/// Bytes of each ring that have memory before the program starts: many times what it writes while
/// it is loaded, after which the recorder looks how much it needs.
const START_BYTES: u64 = 32 << 10;
/// Bytes of the table of events, and of descriptions, that have memory before the program starts:
/// more than liblull's own events take.
const START_TABLE_BYTES: u64 = 8 << 10;
const START_ARENA_BYTES: u64 = 32 << 10;
/// Bytes that are given memory in one step after that, some 0.1 ms.
const STEP_BYTES: u64 = 256 << 10;

#[derive(Debug)]
pub struct Memory {
    /// Where everything lies: decided by `layout`, or by the kernel and checked by `device`.
    fixed: ControlFixed,
    backing: Backing,
    /// The rings that are given memory, each with how many of its bytes have it.
    used_rings: Vec<(u32, AtomicU64)>,
    /// How many of the control block's bytes have memory.
    control_populated: AtomicU64,
    /// None: the session records.
    counts: Option<counts::Layout>,
}

impl Memory {
    /// Makes the memory of the user who runs this process. It is a session only after
    /// [`Memory::fill_in`]. `name` writes down its segment's key, as in [`Segment::create`].
    pub fn create(plan: &Plan, name: impl FnMut(i32) -> Result<()>) -> Result<Self> {
        let fixed = layout(plan)?;
        let rings = used_rings(&fixed).len() as u64;
        let count_bytes = u64::from(fixed.count_pages) * COUNT_PLAN_BYTES as u64;
        let needed_bytes = rings * used_bytes(&fixed) + fixed.data_offset_bytes + count_bytes;
        let free_bytes = available_bytes().unwrap_or(u64::MAX);
        let not_enough = || Error::Memory { needed_bytes, free_bytes };
        if free_bytes < needed_bytes.saturating_add(SLACK_BYTES) {
            return Err(not_enough());
        }
        let failed = |error: Error| match error {
            Error::Segment { source }
                if matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::ENOMEM)) =>
            {
                not_enough()
            }
            other => other,
        };
        let segment = Segment::create(fixed.memory_bytes, name).map_err(failed)?;
        let counts = plan.counts.as_ref().map(counts::Layout::of);
        let memory = Self::over(fixed, Backing::Segment(segment), counts);
        memory.populate_start().map_err(|source| failed(Error::Segment { source }))?;
        Ok(memory)
    }

    /// Memory that someone else made, of a size and layout that we know.
    pub fn adopt(fixed: ControlFixed, segment: Segment) -> Result<Self> {
        if segment.bytes() < fixed.memory_bytes {
            return Err(Error::Segment { source: io::ErrorKind::InvalidData.into() });
        }
        Ok(Self::over(fixed, Backing::Segment(segment), None))
    }

    /// The same memory, of a session that counts.
    pub(crate) fn counting(self, counts: Option<counts::Layout>) -> Self {
        Self { counts, ..self }
    }

    /// Memory of a session that the kernel makes by this plan, for its own events.
    pub fn of_kernel(device: Device, plan: &Plan, stream_id: u32) -> Result<Self> {
        let (fixed, mapping) = device.plan(plan, stream_id)?;
        let (backing, used_rings) = (Backing::Device(mapping), Vec::new());
        Ok(Self { fixed, backing, used_rings, control_populated: 0.into(), counts: None })
    }

    /// A copy of what a session of the kernel's held when the machine went down.
    pub(crate) fn of_copy(fixed: ControlFixed, copy: MmapMut) -> Self {
        let (backing, used_rings) = (Backing::Copy(copy), Vec::new());
        Self { fixed, backing, used_rings, control_populated: 0.into(), counts: None }
    }

    /// How the kernel is told what to do, where it made the memory.
    pub fn device(&self) -> Option<&Mapping> {
        match &self.backing {
            Backing::Segment(_) | Backing::Copy(_) => None,
            Backing::Device(mapping) => Some(mapping),
        }
    }

    /// Whether the kernel writes to it, or did.
    pub fn is_kernels(&self) -> bool {
        !matches!(self.backing, Backing::Segment(_))
    }

    /// Whether an earlier boot of the machine wrote it, whose clock is not this one's.
    pub fn is_past(&self) -> bool {
        matches!(self.backing, Backing::Copy(_))
    }

    /// From now on the memory is removed when this is dropped.
    pub fn take_over(&self) {
        if let Backing::Segment(segment) = &self.backing {
            segment.take_over();
        }
    }

    fn over(fixed: ControlFixed, backing: Backing, counts: Option<counts::Layout>) -> Self {
        let used_rings = used_rings(&fixed).into_iter().map(|ring| (ring, START_BYTES.into()));
        let used_rings = used_rings.collect();
        Self { fixed, backing, used_rings, control_populated: 0.into(), counts }
    }

    /// The identifier of its segment; None where the kernel made it.
    pub fn id(&self) -> Option<i32> {
        match &self.backing {
            Backing::Segment(segment) => Some(segment.id()),
            Backing::Device(_) | Backing::Copy(_) => None,
        }
    }

    /// How many of a ring's physical sub-buffers have memory, or can be given it.
    pub fn given_count(&self) -> u32 {
        match &self.backing {
            Backing::Segment(_) | Backing::Copy(_) => self.fixed.physical_count,
            Backing::Device(_) => device::given_count(&self.fixed),
        }
    }

    /// Writes the control block, patterns, filters and system events; `magic` last, so that a
    /// process that comes too early sees no session yet.
    pub fn fill_in(&self, plan: &Plan) {
        let base = self.backing.as_ptr();
        let fixed = &self.fixed;
        // SAFETY: layout() placed every part inside the segment, which no one else has seen.
        unsafe {
            let patterns = base.add(fixed.patterns_offset_bytes as usize);
            patterns.copy_from_nonoverlapping(plan.patterns.as_ptr(), plan.patterns.len());
            if !plan.filters.is_empty() {
                let filters = base.add((fixed.filters_offset_bytes + FILTER_STATES_BYTES) as usize);
                filters.copy_from_nonoverlapping(plan.filters.as_ptr(), plan.filters.len());
            }
            if let Some(counts) = &plan.counts {
                let at = base.add(self.counts_offset_bytes() as usize);
                at.cast::<CountPlan>().write(counts.bytes());
            }
            base.cast::<ControlFixed>().write(ControlFixed { magic: 0, ..*fixed });
        }
        for (id, text) in SYSTEM_EVENTS {
            self.publish_event(id, text);
        }
        self.set_active(true);
        // SAFETY: the segment starts with the magic, on a page boundary.
        let magic = unsafe { &*base.cast::<AtomicU64>() };
        // [session.magic:A], in user/attach.c, which does the same for another user's memory.
        magic.store(SESSION_MAGIC, Ordering::Release);
    }

    fn counts_offset_bytes(&self) -> u64 {
        self.fixed.memory_bytes - u64::from(self.fixed.count_pages) * COUNT_PLAN_BYTES as u64
    }

    /// How the tables of counts lie in it.
    pub fn counts_layout(&self) -> Option<counts::Layout> {
        self.counts
    }

    /// The tables of counts, if the session counts.
    pub fn counts(&self) -> Option<Tables<'_>> {
        let layout = self.counts?;
        let begin = self.counts_offset_bytes() as usize + COUNT_PLAN_BYTES;
        let words = (self.fixed.memory_bytes as usize).checked_sub(begin)? / size_of::<u64>();
        // SAFETY: layout() placed the tables at the end of the segment, on a page boundary; all
        // words are read as atomics, and the segment lives as long as self.
        let words = unsafe {
            std::slice::from_raw_parts(self.backing.as_ptr().add(begin).cast::<AtomicU64>(), words)
        };
        Some(Tables { layout, words })
    }

    /// Describes an event in the table, under an identifier that is free. Return: false when
    /// table or arena are full. Traced processes do the same in `user/events.c`.
    pub fn publish_event(&self, id: u32, text: &str) -> bool {
        let Some(entry) = self.events().get(id as usize) else { return false };
        let Ok(length) = u32::try_from(text.len()) else { return false };
        let used = &self.live().arena_used_bytes;
        let reserve =
            |used: u32| used.checked_add(length).filter(|until| *until <= self.fixed.arena_bytes);
        let reserved = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve);
        let Ok(offset) = reserved else { return false };
        let place = self.fixed.arena_offset_bytes as usize + offset as usize;
        // SAFETY: the range was just reserved for us in the arena, which lies in the segment.
        unsafe {
            let to = self.backing.as_ptr().add(place);
            to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        entry.hash.store(hash(text.as_bytes()), Ordering::Relaxed);
        entry.length_bytes.store(length, Ordering::Relaxed);
        // [session.describe:A], in user/events.c
        entry.offset_bytes.store(offset + 1, Ordering::Release);
        true
    }

    /// The layout, as this process decided or checked it once; never read again from shared memory.
    pub fn fixed(&self) -> &ControlFixed {
        &self.fixed
    }

    /// The words that traced processes count in.
    pub fn live(&self) -> &ControlLive {
        // SAFETY: the segment is larger than Control and lives as long as self; all members
        // are atomic.
        let control = unsafe { &*self.backing.as_ptr().cast::<Control>() };
        &control.live
    }

    /// Lets probes record, or stops them all, by one word that they all read (T 2, B 3.4). Nothing
    /// is ordered by it: a probe may see it late,
    /// and what it reserves before that is read, or counted as lost (`models/session/stop.pml`).
    pub fn set_active(&self, active: bool) {
        self.live().active.store(u64::from(active), Ordering::Relaxed);
    }

    /// Whether probes may record. Any process that shares the memory can have changed it.
    pub fn is_active(&self) -> bool {
        self.live().active.load(Ordering::Relaxed) != 0
    }

    fn ring_shared(&self, ring: u32) -> &RingShared {
        // SAFETY: layout() placed every ring's control, which begins with its shared words, inside
        // the segment, on a cache line; all members that change are atomic.
        unsafe { &*self.ring_control(ring).cast::<RingShared>() }
    }

    fn events(&self) -> &[EventEntry] {
        let offset = self.fixed.events_offset_bytes as usize;
        // SAFETY: layout() placed the table inside the segment, 64-byte aligned; entries are
        // atomic.
        unsafe {
            let first = self.backing.as_ptr().add(offset).cast::<EventEntry>();
            std::slice::from_raw_parts(first, self.fixed.event_capacity as usize)
        }
    }

    /// The description of an event, copied; None until a process published it.
    pub fn event_description(&self, id: u32) -> Option<Vec<u8>> {
        let entry = self.events().get(id as usize)?;
        // [session.read:A] acquire. Pairs with [session.describe:A].
        // Orders: the load of the offset before those of the length and the text.
        // Else: an event in the trace is described by what was in memory before.
        // Mutant: OFFSET_READ_RELAXED.
        let offset = entry.offset_bytes.load(Ordering::Acquire).checked_sub(1)? as usize;
        let length = entry.length_bytes.load(Ordering::Relaxed) as usize;
        let arena_bytes = self.fixed.arena_bytes as usize;
        if offset > arena_bytes || length > arena_bytes - offset {
            return None;
        }
        let mut text = vec![0u8; length];
        // SAFETY: the range was checked to lie in the arena, which lies in the segment.
        unsafe {
            let from = self.backing.as_ptr().add(self.fixed.arena_offset_bytes as usize + offset);
            from.copy_to_nonoverlapping(text.as_mut_ptr(), length);
        }
        let until = text.iter().position(|byte| *byte == 0).unwrap_or(length);
        text.truncate(until);
        Some(text)
    }

    /// What processes tell of an event's filter, `FILTER_STATE_*`; 0 where none does.
    pub fn filter_state(&self, id: u32) -> u32 {
        if self.fixed.filters_bytes == 0 || id >= self.fixed.event_capacity {
            return 0;
        }
        let place = self.fixed.filters_offset_bytes as usize + id as usize * size_of::<u32>();
        // SAFETY: layout() placed a word for each event there, inside the segment, aligned.
        let word = unsafe { &*self.backing.as_ptr().add(place).cast::<AtomicU32>() };
        word.load(Ordering::Relaxed)
    }

    pub fn event_capacity(&self) -> u32 {
        self.fixed.event_capacity
    }

    /// How many rings there are: one per CPU, then the plain ones.
    pub fn ring_count(&self) -> u32 {
        self.fixed.cpu_count + self.fixed.plain_count
    }

    pub fn ring_is_plain(&self, ring: u32) -> bool {
        ring >= self.fixed.cpu_count
    }

    /// The shared words of a ring. Panics when there is no such ring.
    pub fn ring_control(&self, ring: u32) -> *mut u8 {
        assert!(ring < self.ring_count());
        let offset = self.fixed.rings_offset_bytes + u64::from(ring) * self.fixed.ring_stride_bytes;
        // SAFETY: layout() placed every ring's control inside the segment.
        unsafe { self.backing.as_ptr().add(offset as usize) }
    }

    /// The sub-buffers of a ring. Panics when there is no such ring.
    pub fn ring_data(&self, ring: u32) -> *mut u8 {
        assert!(ring < self.ring_count());
        let offset = self.fixed.data_offset_bytes + u64::from(ring) * self.fixed.data_stride_bytes;
        // SAFETY: layout() placed every ring's data inside the segment.
        unsafe { self.backing.as_ptr().add(offset as usize) }
    }

    /// Gives memory to what programs may need at once.
    pub fn populate_start(&self) -> io::Result<()> {
        let fixed = &self.fixed;
        let (table, arena) = (fixed.events_offset_bytes.into(), fixed.arena_offset_bytes.into());
        self.backing.populate(0, START_TABLE_BYTES.saturating_add(table).min(arena))?;
        self.backing.populate(arena, START_ARENA_BYTES.min(fixed.arena_bytes.into()))?;
        let rings_offset = fixed.rings_offset_bytes;
        self.backing.populate(rings_offset, fixed.data_offset_bytes - rings_offset)?;
        for (ring, _) in &self.used_rings {
            let ring = *ring;
            let begin = fixed.data_offset_bytes + u64::from(ring) * fixed.data_stride_bytes;
            self.backing.populate(begin, START_BYTES.min(used_bytes(fixed)))?;
        }
        if self.counts.is_some() {
            let begin = self.counts_offset_bytes();
            self.backing.populate(begin, fixed.memory_bytes - begin)?;
        }
        Ok(())
    }

    /// Gives memory to one more step of what was left for later, where writers come near to it:
    /// each ring has twice as much as was written to it, and a start. Return: whether there may be
    /// more to do.
    pub fn populate_ahead(&self) -> Result<bool> {
        for (ring, populated) in &self.used_rings {
            let begin = populated.load(Ordering::Relaxed);
            let written = self.ring_shared(*ring).write_count.load(Ordering::Relaxed);
            let wanted = written.saturating_mul(2).saturating_add(START_BYTES / 2);
            let until = (begin + STEP_BYTES).min(used_bytes(&self.fixed));
            if begin < wanted && begin < until {
                let data =
                    self.fixed.data_offset_bytes + u64::from(*ring) * self.fixed.data_stride_bytes;
                self.populate_step(data + begin, until - begin)?;
                populated.store(until, Ordering::Relaxed);
                return Ok(true);
            }
        }
        let described = u64::from(self.live().arena_used_bytes.load(Ordering::Relaxed));
        let begin = self.control_populated.load(Ordering::Relaxed);
        let until = (begin + STEP_BYTES).min(self.fixed.control_bytes.into());
        let is_wanted = described > START_ARENA_BYTES / 2 && begin < until;
        if is_wanted {
            self.populate_step(begin, until - begin)?;
            self.control_populated.store(until, Ordering::Relaxed);
        }
        Ok(is_wanted)
    }

    fn populate_step(&self, begin: u64, bytes: u64) -> Result<()> {
        self.backing.populate(begin, bytes).map_err(|source| Error::Populate { source })
    }

    /// Gives memory to a spare sub-buffer, so that writing to it cannot fail.
    pub fn populate_subbuf(&self, ring: u32, physical: u32) -> io::Result<()> {
        if ring >= self.ring_count() || physical >= self.fixed.physical_count {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let begin = self.fixed.data_offset_bytes
            + u64::from(ring) * self.fixed.data_stride_bytes
            + u64::from(physical) * self.fixed.subbuf_size_bytes;
        self.backing.populate(begin, self.fixed.subbuf_size_bytes)
    }

    /// Total size of the sub-buffers in use, for people.
    pub fn buffer_bytes(&self) -> u64 {
        let subbufs = u64::from(self.fixed.subbuf_count);
        self.used_rings.len() as u64 * subbufs * self.fixed.subbuf_size_bytes
    }
}

/// Bytes of one ring's data that are in use from the start: all sub-buffers but the spare ones.
fn used_bytes(fixed: &ControlFixed) -> u64 {
    u64::from(fixed.subbuf_count + 1) * fixed.subbuf_size_bytes
}

/// The rings that can be written to as the machine is now: those of running CPUs where threads
/// can make restartable reservations, and the plain ones.
fn used_rings(fixed: &ControlFixed) -> Vec<u32> {
    let mut rings = Vec::new();
    if fixed.plain_count < fixed.cpu_count || fixed.cpu_count == 1 {
        rings.extend(online_cpus().iter().copied().filter(|cpu| *cpu < fixed.cpu_count));
    }
    rings.extend(fixed.cpu_count..fixed.cpu_count + fixed.plain_count);
    rings
}

#[cfg(test)]
mod tests;
