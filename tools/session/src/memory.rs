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

mod budget;

use crate::abi::*;
use crate::backing::Backing;
use crate::context::Recorded;
use crate::counts::{self, Tables};
use crate::description::{hash, SYSTEM_EVENTS};
use crate::device::{self, Device, Mapping};
use crate::error::{Error, Result};
use crate::layout::{budget_bytes, layout, Plan, FILTER_STATES_BYTES};
use crate::machine::{available_bytes, online_cpus};
use crate::segment::Segment;
use memmap2::MmapMut;
use std::io;
use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};

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
    /// Up to where the event table and the arena have memory.
    control_populated: AtomicU64,
    /// None: the session records.
    counts: Option<counts::Layout>,
    /// With each event of programs. What the memory says of that, others can have written.
    recorded: Recorded,
    /// How often the rules were changed. What the memory says of that, others can have written.
    rules_sequence: AtomicU32,
}

impl Memory {
    /// Makes the memory of the user who runs this process. It is a session only after
    /// [`Memory::fill_in`]. `name` writes down its segment's key, as in [`Segment::create`].
    pub fn create(plan: &Plan, name: impl FnMut(i32) -> Result<()>) -> Result<Self> {
        Self::create_as(plan, layout(plan)?, name)
    }

    /// Makes the memory of another user, whose it then is, and fills it in.
    pub(crate) fn create_for(
        plan: &Plan,
        user_id: u32,
        stream_id: u32,
        name: impl FnMut(i32) -> Result<()>,
    ) -> Result<Self> {
        let fixed = ControlFixed { user_id, stream_id, ..layout(plan)? };
        let memory = Self::create_as(plan, fixed, name)?;
        memory.fill_in(plan);
        if let Backing::Segment(segment) = &memory.backing {
            segment.give(user_id).map_err(|source| Error::Segment { source })?;
        }
        Ok(memory)
    }

    fn create_as(
        plan: &Plan,
        fixed: ControlFixed,
        name: impl FnMut(i32) -> Result<()>,
    ) -> Result<Self> {
        let rings = used_rings(&fixed).len() as u64;
        let count_bytes = u64::from(fixed.count_pages) * COUNT_PLAN_BYTES as u64;
        let needed_bytes = rings * used_bytes(&fixed) + fixed.data_offset_bytes + count_bytes;
        let free_bytes = available_bytes().unwrap_or(u64::MAX);
        let left_bytes = SLACK_BYTES.min(free_bytes / 2);
        if free_bytes < needed_bytes.saturating_add(left_bytes) {
            return Err(Error::Memory { needed_bytes, free_bytes, left_bytes });
        }
        let failed = |source| Error::Segment { source };
        let segment = Segment::create(fixed.memory_bytes, name)?;
        let counts = plan.counts.as_ref().map(counts::Layout::of);
        let memory = Self::over(fixed, Backing::Segment(segment), counts).recording(plan.recorded);
        memory.populate_start().map_err(failed)?;
        if !plan.filters.is_empty() || memory.counts.is_some() || memory.has_budget() {
            memory.populate_filter_states().map_err(failed)?;
        }
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

    /// The same memory, of a session that records these with each event.
    pub(crate) fn recording(self, recorded: Recorded) -> Self {
        Self { recorded, ..self }
    }

    /// What is recorded with each event of programs.
    pub fn recorded(&self) -> Recorded {
        self.recorded
    }

    /// What the memory says of that, if it can be.
    pub(crate) fn told_recorded(&self) -> Option<Recorded> {
        let live = self.live();
        let recorded = Recorded {
            contexts: live.contexts.load(Ordering::Relaxed),
            user_frames: live.user_frames.load(Ordering::Relaxed),
            copy_bytes: live.copy_bytes.load(Ordering::Relaxed),
        };
        recorded.checked()
    }

    /// Memory of a session that the kernel makes by this plan, for its own events.
    pub fn of_kernel(device: Device, plan: &Plan, stream_id: u32) -> Result<Self> {
        let (fixed, mapping) = device.plan(plan, stream_id)?;
        Ok(Self::with(fixed, Backing::Device(mapping), Vec::new(), None))
    }

    /// A copy of what a session of the kernel's held when the machine went down.
    pub(crate) fn of_copy(fixed: ControlFixed, copy: MmapMut) -> Self {
        Self::with(fixed, Backing::Copy(copy), Vec::new(), None)
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

    /// From now on the memory stays when this is dropped.
    pub fn leave(&self) {
        if let Backing::Segment(segment) = &self.backing {
            segment.leave();
        }
    }

    fn over(fixed: ControlFixed, backing: Backing, counts: Option<counts::Layout>) -> Self {
        let used_rings = used_rings(&fixed).into_iter().map(|ring| (ring, START_BYTES.into()));
        Self::with(fixed, backing, used_rings.collect(), counts)
    }

    fn with(
        fixed: ControlFixed,
        backing: Backing,
        used_rings: Vec<(u32, AtomicU64)>,
        counts: Option<counts::Layout>,
    ) -> Self {
        let control_populated = u64::from(fixed.events_offset_bytes).into();
        let rules_sequence = 0.into();
        let recorded = Recorded::default();
        let memory = Self {
            fixed,
            backing,
            used_rings,
            control_populated,
            counts,
            recorded,
            rules_sequence,
        };
        let found = memory.live().rules_sequence.load(Ordering::Relaxed);
        memory.rules_sequence.store(found, Ordering::Relaxed);
        memory
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
        // SAFETY: the control block is the first of the segment, which no one else has seen.
        unsafe { base.cast::<ControlFixed>().write(ControlFixed { magic: 0, ..*fixed }) };
        self.write_rules(0, &plan.patterns, &plan.filters);
        self.live().contexts.store(self.recorded.contexts, Ordering::Relaxed);
        self.live().user_frames.store(self.recorded.user_frames, Ordering::Relaxed);
        self.live().copy_bytes.store(self.recorded.copy_bytes, Ordering::Relaxed);
        if let Some(counts) = &plan.counts {
            // SAFETY: layout() placed the tables at the end of the segment, behind their plan.
            unsafe {
                let at = base.add(self.counts_offset_bytes() as usize);
                at.cast::<CountPlan>().write(counts.bytes());
            }
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

    /// Writes one of the two copies of the rules. They fit.
    fn write_rules(&self, sequence: u32, patterns: &str, filters: &[u8]) {
        let (fixed, which) = (&self.fixed, sequence & 1);
        assert!(patterns.len() < fixed.patterns_bytes as usize);
        assert!(filters.len() <= fixed.filters_bytes as usize);
        let patterns_at = fixed.patterns_offset_bytes + which * fixed.patterns_bytes;
        let filters_at =
            fixed.filters_offset_bytes + FILTER_STATES_BYTES + which * fixed.filters_bytes;
        // SAFETY: layout() placed both copies inside the segment, and they have room for this.
        unsafe {
            let base = self.backing.as_ptr();
            let text = base.add(patterns_at as usize);
            text.copy_from_nonoverlapping(patterns.as_ptr(), patterns.len());
            text.add(patterns.len()).write(0);
            let programs = base.add(filters_at as usize);
            programs.copy_from_nonoverlapping(filters.as_ptr(), filters.len());
        }
        let (live, which) = (self.live(), which as usize);
        live.patterns_used_bytes[which].store(patterns.len() as u32 + 1, Ordering::Relaxed);
        live.filters_used_bytes[which].store(filters.len() as u32, Ordering::Relaxed);
    }

    /// Whether rules of these lengths have room.
    pub fn rules_fit(&self, patterns: &str, filters: &[u8]) -> bool {
        patterns.len() < self.fixed.patterns_bytes as usize
            && filters.len() <= self.fixed.filters_bytes as usize
    }

    /// Other patterns and filters, which processes take over when they look. Return: false when
    /// they have no room, or the kernel made the memory.
    pub fn change_rules(&self, patterns: &str, filters: &[u8]) -> Result<bool> {
        if self.is_kernels() || !self.rules_fit(patterns, filters) {
            return Ok(false);
        }
        if !filters.is_empty() {
            let failed = |source| Error::Populate { source };
            self.populate_filter_states().map_err(failed)?;
        }
        let sequence = self.rules_sequence.load(Ordering::Relaxed).wrapping_add(1);
        self.write_rules(sequence, patterns, filters);
        // [session.rules:A] release. Pairs with [session.rules:B], [session.rules:C].
        // Orders: the stores of the rules before that of their sequence, and that of the sequence
        // before those of the change that follows.
        // Else: a process takes rules that are half of one change and half of another for those
        // of the sequence. Mutants: RULES_RELAXED, RULES_EARLY.
        self.live().rules_sequence.store(sequence, Ordering::Release);
        fence(Ordering::SeqCst);
        self.rules_sequence.store(sequence, Ordering::Relaxed);
        Ok(true)
    }

    /// Tells processes to leave the session, which is over.
    pub fn end(&self) {
        self.live().ended.store(1, Ordering::Relaxed);
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

    /// Whether a process has claimed an entry of the table.
    pub fn is_taken(&self, id: u32) -> bool {
        let entry = self.events().get(id as usize);
        entry.is_some_and(|entry| entry.hash.load(Ordering::Relaxed) != 0)
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
        if self.is_kernels() || id >= self.fixed.event_capacity {
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

    /// Gives memory to the words by which processes tell what became of filters.
    fn populate_filter_states(&self) -> io::Result<()> {
        self.backing.populate(self.fixed.filters_offset_bytes.into(), FILTER_STATES_BYTES.into())
    }

    /// Gives memory to the filters' words in memory that someone else made, where it has filters.
    pub fn populate_filters(&self) -> io::Result<()> {
        let used = &self.live().filters_used_bytes;
        let has_filters = used.iter().any(|bytes| bytes.load(Ordering::Relaxed) != 0);
        if self.counts.is_some() || has_filters {
            self.populate_filter_states()?;
        }
        Ok(())
    }

    /// Gives memory to what programs may need at once.
    pub fn populate_start(&self) -> io::Result<()> {
        let fixed = &self.fixed;
        let table = u64::from(fixed.events_offset_bytes);
        let arena = u64::from(fixed.arena_offset_bytes);
        self.backing.populate(0, fixed.patterns_offset_bytes.into())?;
        self.backing.populate(table, START_TABLE_BYTES.min(arena - table))?;
        self.backing.populate(arena, START_ARENA_BYTES.min(fixed.arena_bytes.into()))?;
        if self.has_budget() {
            let budget = fixed.budget_offset_bytes.into();
            self.backing.populate(budget, budget_bytes(fixed.cpu_count).into())?;
        }
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
