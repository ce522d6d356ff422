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
use crate::description::{hash, SYSTEM_EVENTS};
use crate::device::{self, Device, Mapping};
use crate::error::{Error, Result};
use crate::layout::{layout, Plan};
use crate::machine::{available_bytes, online_cpus};
use crate::segment::Segment;
use memmap2::MmapMut;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

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
}

impl Memory {
    /// Makes the memory of the user who runs this process. It is a session only after
    /// [`Memory::fill_in`]. `name` writes down its segment's key, as in [`Segment::create`].
    pub fn create(plan: &Plan, name: impl FnMut(i32) -> Result<()>) -> Result<Self> {
        let fixed = layout(plan)?;
        let rings = used_rings(&fixed).len() as u64;
        let needed_bytes = rings * used_bytes(&fixed) + fixed.data_offset_bytes;
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
        let memory = Self::over(fixed, Backing::Segment(segment));
        memory.populate_start().map_err(|source| failed(Error::Segment { source }))?;
        Ok(memory)
    }

    /// Memory that someone else made, of a size and layout that we know.
    pub fn adopt(fixed: ControlFixed, segment: Segment) -> Result<Self> {
        if segment.bytes() < fixed.memory_bytes {
            return Err(Error::Segment { source: io::ErrorKind::InvalidData.into() });
        }
        Ok(Self::over(fixed, Backing::Segment(segment)))
    }

    /// Memory of a session that the kernel makes by this plan, for its own events.
    pub fn of_kernel(device: Device, plan: &Plan, stream_id: u32) -> Result<Self> {
        let (fixed, mapping) = device.plan(plan, stream_id)?;
        let (backing, used_rings) = (Backing::Device(mapping), Vec::new());
        Ok(Self { fixed, backing, used_rings, control_populated: 0.into() })
    }

    /// A copy of what a session of the kernel's held when the machine went down.
    pub(crate) fn of_copy(fixed: ControlFixed, copy: MmapMut) -> Self {
        let (backing, used_rings) = (Backing::Copy(copy), Vec::new());
        Self { fixed, backing, used_rings, control_populated: 0.into() }
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

    fn over(fixed: ControlFixed, backing: Backing) -> Self {
        let used_rings = used_rings(&fixed).into_iter().map(|ring| (ring, START_BYTES.into()));
        let used_rings = used_rings.collect();
        Self { fixed, backing, used_rings, control_populated: 0.into() }
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

    /// Writes the control block, patterns and system events; `magic` last, so that a process
    /// that comes too early sees no session yet.
    pub fn fill_in(&self, plan: &Plan) {
        let base = self.backing.as_ptr();
        let fixed = &self.fixed;
        // SAFETY: layout() placed every part inside the segment, which no one else has seen.
        unsafe {
            let patterns = base.add(fixed.patterns_offset_bytes as usize);
            patterns.copy_from_nonoverlapping(plan.patterns.as_ptr(), plan.patterns.len());
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

    /// Lets probes record, or stops them all. Nothing is ordered by it: a probe may see it late,
    /// and what it reserves before that is read, or counted as lost (`models/session/stop.pml`).
    pub fn set_active(&self, active: bool) {
        for ring in 0..self.ring_count() {
            self.ring_shared(ring).active.store(u64::from(active), Ordering::Relaxed);
        }
    }

    /// Whether probes may record, as far as the first ring tells.
    pub fn is_active(&self) -> bool {
        self.ring_shared(0).active.load(Ordering::Relaxed) != 0
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
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { patterns: "io:*\nthread:*".into(), ..Plan::small() }
    }

    fn session() -> Memory {
        let memory = Memory::create(&plan(), |_| Ok(())).unwrap();
        memory.fill_in(&plan());
        memory
    }

    #[test]
    fn memory_has_the_layout_it_says_and_is_active() {
        let memory = session();
        let fixed = memory.fixed();
        assert_eq!(crate::segment::status(memory.id().unwrap()).unwrap().bytes, fixed.memory_bytes);
        // SAFETY: the control block is initialised and nobody else has the segment.
        let bytes = unsafe {
            std::slice::from_raw_parts(memory.backing.as_ptr(), fixed.control_bytes as usize)
        };
        assert_eq!(bytes[..8], SESSION_MAGIC.to_ne_bytes());
        let patterns = fixed.patterns_offset_bytes as usize;
        assert_eq!(&bytes[patterns..patterns + 14], b"io:*\nthread:*\0");
        let plain: Vec<u32> = (0..3).filter(|ring| memory.ring_is_plain(*ring)).collect();
        assert_eq!((memory.ring_count(), plain), (3, vec![2]));
        assert!(memory.is_active());
        memory.set_active(false);
        for ring in 0..memory.ring_count() {
            assert_eq!(memory.ring_shared(ring).active.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn system_events_are_in_the_table_under_their_identifiers() {
        let session = session();
        for (id, text) in SYSTEM_EVENTS {
            assert_eq!(session.event_description(id).unwrap(), text.as_bytes());
        }
        assert_eq!(session.event_description(0), None);
        assert_eq!(session.event_description(EVENT_FIRST), None);
        assert_eq!(session.event_description(u32::MAX), None);
    }

    #[test]
    fn entry_that_points_outside_the_arena_is_no_description() {
        let session = session();
        let entry = &session.events()[EVENT_FIRST as usize];
        entry.length_bytes.store(100, Ordering::Relaxed);
        for offset in [session.fixed().arena_bytes - 50, u32::MAX] {
            entry.offset_bytes.store(offset, Ordering::Relaxed);
            assert_eq!(session.event_description(EVENT_FIRST), None);
        }
        entry.offset_bytes.store(session.fixed().arena_bytes - 200, Ordering::Relaxed);
        assert!(session.event_description(EVENT_FIRST).is_some());
    }

    #[test]
    fn memory_is_given_ahead_of_writers_until_all_sub_buffers_in_use_have_it() {
        let plan = Plan { subbuf_size_bytes: 256 << 10, ..plan() };
        let memory = Memory::create(&plan, |_| Ok(())).unwrap();
        let fixed = *memory.fixed();
        let resident = |at: u64| {
            let mut page = [0u8];
            let at = memory.backing.as_ptr().wrapping_add((at & !4095) as usize);
            // SAFETY: one page of the segment, and one byte for it.
            assert_eq!(unsafe { libc::mincore(at.cast(), 4096, page.as_mut_ptr()) }, 0);
            page[0] & 1 == 1
        };
        let last = memory.used_rings.last().unwrap().0;
        let ring = u64::from(last);
        let data = fixed.data_offset_bytes + ring * fixed.data_stride_bytes;
        let (arena, arena_until) =
            (u64::from(fixed.arena_offset_bytes), u64::from(fixed.control_bytes) - 1);
        assert!(resident(data + START_BYTES - 1) && !resident(data + START_BYTES));
        assert!(resident(arena + START_ARENA_BYTES - 1) && !resident(arena_until));
        let table = u64::from(fixed.events_offset_bytes);
        assert!(resident(table + START_TABLE_BYTES - 1) && !resident(arena - 4096));
        assert!(resident(fixed.rings_offset_bytes) && resident(fixed.data_offset_bytes - 1));
        assert!(!memory.populate_ahead().unwrap(), "nothing was written");
        let populate_all = || while memory.populate_ahead().unwrap() {};
        let write = |bytes| {
            let ring = &memory.ring_shared(last).write_count;
            ring.store(bytes, Ordering::Relaxed);
            populate_all();
        };
        write(START_BYTES / 4);
        assert!(!resident(data + START_BYTES), "there is room yet");
        write(START_BYTES / 4 + 1);
        assert!(resident(data + START_BYTES + STEP_BYTES - 1));
        assert!(!resident(data + START_BYTES + STEP_BYTES) && !resident(arena_until));
        memory.live().arena_used_bytes.store(START_ARENA_BYTES as u32, Ordering::Relaxed);
        write(u64::MAX);
        let used_bytes = u64::from(plan.subbuf_count + 1) * plan.subbuf_size_bytes;
        assert!((0..used_bytes).step_by(4096).all(|at| resident(data + at)));
        assert!(!resident(data + used_bytes), "spare sub-buffers wait until they are used");
        assert!(resident(arena_until));
    }

    #[test]
    fn what_lies_at_the_end_of_the_arena_is_a_description_and_what_lies_beyond_is_none() {
        let session = session();
        let arena_bytes = session.fixed().arena_bytes;
        let entry = &session.events()[EVENT_FIRST as usize];
        let described = |offset_bytes: u32, length_bytes: u32| {
            entry.length_bytes.store(length_bytes, Ordering::Relaxed);
            entry.offset_bytes.store(offset_bytes + 1, Ordering::Relaxed);
            session.event_description(EVENT_FIRST).map(|text| text.len())
        };
        let end = session.fixed().arena_offset_bytes as usize + arena_bytes as usize;
        // SAFETY: the last bytes of the arena, which lies in the segment.
        unsafe { session.backing.as_ptr().add(end - 4).copy_from(b"a:bc".as_ptr(), 4) };
        assert_eq!(described(arena_bytes - 4, 4), Some(4));
        assert_eq!(described(arena_bytes - 4, 5), None);
        assert_eq!(described(arena_bytes, 0), Some(0));
        assert_eq!(described(arena_bytes + 1, 0), None);
        assert_eq!(described(arena_bytes - 8, 8), Some(0), "a text ends at its NUL");
    }

    #[test]
    fn event_that_table_or_arena_have_no_room_for_is_not_described() {
        let session = session();
        let used = || session.live().arena_used_bytes.load(Ordering::Relaxed);
        let (before, room) = (used(), session.fixed().arena_bytes - used());
        assert!(!session.publish_event(session.event_capacity(), "a:b"));
        assert!(!session.publish_event(9, &"x".repeat(room as usize + 1)));
        assert_eq!((used(), session.event_description(9)), (before, None));
        assert!(session.publish_event(session.event_capacity() - 1, "a:b"));
        assert_eq!(session.event_description(session.event_capacity() - 1).unwrap(), b"a:b");
        assert_eq!(session.events()[8191].hash.load(Ordering::Relaxed), hash(b"a:b"));
        assert!(session.publish_event(9, &"x".repeat(room as usize - 3)));
        assert_eq!(used(), session.fixed().arena_bytes);
    }

    #[test]
    fn rings_lie_side_by_side_where_the_layout_says() {
        let memory = session();
        let fixed = memory.fixed();
        for ring in 0..memory.ring_count() {
            let from_base = |at: *mut u8| at as u64 - memory.backing.as_ptr() as u64;
            let (index, control) = (u64::from(ring), from_base(memory.ring_control(ring)));
            assert_eq!(control, fixed.rings_offset_bytes + index * fixed.ring_stride_bytes);
            let data = from_base(memory.ring_data(ring));
            assert_eq!(data, fixed.data_offset_bytes + index * fixed.data_stride_bytes);
            assert_eq!(memory.ring_is_plain(ring), ring == 2);
        }
        let beyond = [Memory::ring_control, Memory::ring_data].map(|at| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| at(&memory, 3))).is_err()
        });
        assert_eq!(beyond, [true; 2]);
    }

    #[test]
    fn spare_sub_buffer_is_given_all_of_its_memory_and_no_other() {
        let memory = session();
        let fixed = *memory.fixed();
        let is_resident = |ring: u32, physical: u32| {
            let at = u64::from(physical) * fixed.subbuf_size_bytes;
            let mut page = [0u8];
            let at = memory.ring_data(ring).wrapping_add(at as usize);
            // SAFETY: one page of the segment, and one byte for it.
            assert_eq!(unsafe { libc::mincore(at.cast(), 4096, page.as_mut_ptr()) }, 0);
            page[0] & 1 == 1
        };
        assert!(memory.populate_subbuf(3, 0).is_err());
        assert!(memory.populate_subbuf(0, fixed.physical_count).is_err());
        memory.populate_subbuf(1, 20).unwrap();
        memory.populate_subbuf(2, fixed.physical_count - 1).unwrap();
        let given: Vec<(u32, u32)> = (0..3)
            .flat_map(|ring| (10..fixed.physical_count).map(move |physical| (ring, physical)))
            .filter(|(ring, physical)| is_resident(*ring, *physical))
            .collect();
        assert_eq!(given, [(1, 20), (2, fixed.physical_count - 1)]);
    }

    #[test]
    fn rings_in_use_are_those_of_running_cpus_that_can_be_written_to_and_the_plain_ones() {
        let rings = |plan: Plan| used_rings(&layout(&plan).unwrap());
        let running: Vec<u32> = online_cpus().to_vec();
        let cpu_count = running.last().unwrap() + 1;
        let all = Plan { cpu_count, ..plan() };
        let mut expected = running.clone();
        expected.push(cpu_count);
        assert_eq!(rings(all.clone()), expected);
        let first = running.iter().copied().filter(|cpu| *cpu < 1).chain([1]);
        assert_eq!(rings(Plan { cpu_count: 1, ..all.clone() }), first.collect::<Vec<_>>());
        let without = Plan { cpu_count: 3, rseq: false, ..all.clone() };
        assert_eq!(rings(without), [3, 4, 5]);
        let memory = Memory::create(&all, |_| Ok(())).unwrap();
        assert_eq!(memory.buffer_bytes(), expected.len() as u64 * 2 * 4096);
    }

    #[test]
    fn adopted_memory_is_removed_once_it_is_taken_over() {
        let fixed = layout(&plan()).unwrap();
        let mut key = 0;
        let name = |named| {
            key = named;
            Ok(())
        };
        let made = Segment::create(fixed.memory_bytes, name).unwrap();
        let adopted = || Memory::adopt(fixed, Segment::attach(made.id()).unwrap()).unwrap();
        assert_eq!(adopted().id(), Some(made.id()));
        assert!(crate::segment::find(key).is_ok());
        adopted().take_over();
        assert!(crate::segment::find(key).is_err());
    }

    #[test]
    fn memory_that_is_smaller_than_a_session_needs_is_not_adopted() {
        let fixed = layout(&plan()).unwrap();
        let adopt = |bytes| Memory::adopt(fixed, Segment::unnamed(bytes));
        assert!(adopt(fixed.memory_bytes - 4096).is_err());
        assert!(adopt(fixed.memory_bytes).is_ok() && adopt(fixed.memory_bytes + 4096).is_ok());
    }

    #[test]
    fn rings_that_do_not_fit_are_refused_before_anything_is_written() {
        let huge = Plan {
            cpu_count: 4096,
            rseq: false,
            subbuf_size_bytes: 8 << 20,
            subbuf_count: 1024,
            ..plan()
        };
        let error = Memory::create(&huge, |_| panic!("it is named")).unwrap_err();
        let Error::Memory { needed_bytes, .. } = error else { panic!("{error}") };
        let data_offset_bytes = layout(&huge).unwrap().data_offset_bytes;
        assert_eq!(needed_bytes, 4096 * 1025 * (8 << 20) + data_offset_bytes);
        let error = error.to_string();
        assert!(error.contains("not enough memory"), "{error}");
        assert!(error.contains("--buffer-size"), "{error}");
    }
}
