// SPDX-License-Identifier: MIT
//! One ring of a session, from the reader's side: `core/ring/reader.c` with Rust's guarantees.
//!
//! Place in the flow: `drain` asks it for sub-buffers and hands them back. It also keeps the
//! physical sub-buffers that are not in use: the reader's own, spares, and those in quarantine,
//! whose late writers may still come. Paper: B 4.3.2, 4.5.
//!
//! What orders the ring's words is C, and in the pair table of `core/ring/ring.c`. Here are the
//! words for a recorder that goes on after this one was killed (`models/session/recorded.pml`):
//!
//! Barrier pairs:
//! `[session.recorded:A]` the three words before their index, with `[session.recover:A]`
//! `[session.recover:A]` the recorder's death before the words, with `[session.recorded:A]`

use crate::ffi;
use crate::pace::Level;
use crate::process::Owner;
use crate::view::View;
use session::abi::*;
use session::Memory;
use std::cell::Cell;
use std::ffi::CStr;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod left;
pub use left::Place;

/// A sub-buffer in quarantine, of which some writer is not known by name, is used again after this
/// time, and only when spares run out.
const QUARANTINE: Duration = Duration::from_secs(10);

/// Events that writers can lose between two looks: a quarter of an hour, one each nanosecond.
const LOST_AT_ONCE_MAX: u64 = 1 << 40;

/// A sub-buffer in the reader's hands.
#[derive(Clone, Copy)]
pub struct Subbuf {
    raw: ffi::Subbuf,
    size_bytes: usize,
}

impl Subbuf {
    /// All of its bytes. They may change under the reader's eyes if a writer misbehaves.
    pub fn view(&self) -> View<'_> {
        // SAFETY: reader.c checked the physical index, so data is a whole sub-buffer inside the
        // session's mapping, which the ring keeps alive; View tolerates concurrent writes.
        unsafe { View::new(self.raw.data, self.size_bytes) }
    }

    /// The read count it was taken at.
    pub fn position(&self) -> u64 {
        self.raw.position
    }

    /// Where slots end, as far as the write count tells.
    pub fn content_bytes(&self) -> usize {
        usize::try_from(self.raw.content_bytes).map_or(0, |bytes| bytes.min(self.size_bytes))
    }

    pub fn committed_bytes(&self) -> u64 {
        self.raw.committed_bytes
    }

    pub fn complete(&self) -> bool {
        self.raw.complete != 0
    }
}

/// How urgently a ring wants to be read: B algorithm 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readiness {
    Empty,
    Readable,
    Urgent,
}

/// A full sub-buffer that was copied to a spare one; its own memory is its writers' again.
pub struct Held(Subbuf);

impl Held {
    pub fn subbuf(&self) -> &Subbuf {
        &self.0
    }
}

struct Quarantined {
    subbuf: ffi::Subbuf,
    /// The threads that may still write to it; None when that may be a thread that nothing names.
    debtors: Option<Vec<Owner>>,
    since: Instant,
}

pub struct Ring {
    view: ffi::RingView,
    memory: Arc<Memory>,
    pub index: u32,
    spare: u32,
    /// Allocated, owned by the reader, and free.
    pool: Vec<u32>,
    /// The first spare that has not been given memory yet.
    unallocated: u32,
    quarantine: Vec<Quarantined>,
    /// Events lost, as far as that is believed.
    counted: Cell<[u64; LOST_CAUSES]>,
    overwritten: Cell<bool>,
    /// A killed recorder left it, and no program will write to it again: nothing is put into it.
    is_left: bool,
}

/// How far a ring is on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnDisk {
    /// Of the ring's bytes, free-running.
    pub count: u64,
    /// Of the stream file.
    pub bytes: u64,
    /// The next packet's sequence number.
    pub packets: u64,
}

// SAFETY: the view's pointers lead into the user's memory, which `memory` keeps alive and
// which any thread may use; one Ring is used by one thread at a time.
unsafe impl Send for Ring {}

impl Ring {
    /// A view of the memory's ring `index`; the ring itself is not touched.
    pub fn attach(memory: &Arc<Memory>, index: u32) -> Result<Self, String> {
        let fixed = memory.fixed();
        let geometry = ffi::Geometry {
            subbuf_size_bytes: fixed.subbuf_size_bytes,
            subbuf_count: fixed.subbuf_count,
            physical_count: fixed.physical_count,
            mode: fixed.mode,
            plain: u32::from(memory.ring_is_plain(index)),
            cpu_id: index,
            stream_id: fixed.stream_id,
            uuid: fixed.uuid,
        };
        let data = ffi::Memory { base: memory.ring_data(index), pages: std::ptr::null() };
        let control = memory.ring_control(index);
        // SAFETY: geometry is valid for reads; the answer is NULL or a static string.
        let refusal = unsafe { ffi::lull_ring_check(&geometry) };
        if !refusal.is_null() {
            // SAFETY: as above.
            return Err(unsafe { CStr::from_ptr(refusal) }.to_string_lossy().into_owned());
        }
        // SAFETY: the geometry passed the check above.
        let control_bytes = unsafe { ffi::lull_ring_control_bytes(&geometry) };
        if control_bytes as u64 > fixed.ring_stride_bytes {
            return Err("a ring's shared words are larger than the session's stride".into());
        }
        // SAFETY: attach fills in the whole view; layout() sized control and data for it.
        let view = unsafe {
            let mut view = std::mem::zeroed();
            ffi::lull_ring_attach(&mut view, &geometry, control, data);
            view
        };
        Ok(Self {
            view,
            memory: Arc::clone(memory),
            index,
            spare: fixed.subbuf_count,
            pool: Vec::new(),
            unallocated: fixed.subbuf_count + 1,
            quarantine: Vec::new(),
            counted: Cell::new([0; LOST_CAUSES]),
            overwritten: Cell::new(false),
            is_left: false,
        })
    }

    /// Ends what the session's flag has ended: after that, no thread reserves in this ring, even if
    /// it found the flag set. Return: false where this thread may not run on the ring's CPU, or
    /// the ring is damaged.
    pub fn close(&mut self) -> bool {
        if self.is_left || self.close_here() {
            return true;
        }
        if self.memory.ring_is_plain(self.index) {
            return false; // which has no CPU
        }
        let Ok(before) = rustix::thread::sched_getaffinity(None) else { return false };
        let mut there = rustix::thread::CpuSet::new();
        if self.index as usize >= rustix::thread::CpuSet::MAX_CPU {
            return false;
        }
        there.set(self.index as usize);
        if rustix::thread::sched_setaffinity(None, &there).is_err() {
            return false;
        }
        let is_closed = self.close_here();
        // It may fail where the CPUs of this thread were changed meanwhile: then it stays there.
        let _ = rustix::thread::sched_setaffinity(None, &before);
        is_closed
    }

    fn close_here(&mut self) -> bool {
        // SAFETY: the view is attached.
        unsafe { ffi::lull_consumer_close(&mut self.view) == 0 }
    }

    /// The physical sub-buffer that a reference names.
    fn physical_at(&self, index: u32) -> u32 {
        assert!(index < self.subbuf_count());
        // SAFETY: attach placed subbuf_count references inside the session's mapping.
        let reference = unsafe { &*self.view.reference.add(index as usize) };
        reference.load(Ordering::Relaxed) as u32 & self.view.physical_mask
    }

    /// Writes to the shared memory how far the ring is on disk, for `lull recover` if this recorder
    /// is killed. A kill between any two of these stores leaves what was valid before.
    pub fn tell_on_disk(&self, on_disk: OnDisk) {
        let shared = self.shared();
        let next = !shared.recorded_index.load(Ordering::Relaxed) & 1;
        let at = next as usize;
        shared.recorded_count[at].store(on_disk.count, Ordering::Relaxed);
        shared.recorded_bytes[at].store(on_disk.bytes, Ordering::Relaxed);
        shared.recorded_packets[at].store(on_disk.packets, Ordering::Relaxed);
        // [session.recorded:A] release. Pairs with [session.recover:A].
        // Orders: the stores of the three words before that of the index, which makes them valid.
        // Else: a recorder that is killed between the stores leaves an index to three words that
        // do not belong together, and lull recover goes on where no packet ends.
        // Mutants: RECORDED_EARLY, RECORDED_IN_PLACE.
        shared.recorded_index.store(next, Ordering::Release);
    }

    /// Says in the shared memory that a sub-buffer is about to be taken out of the ring: the
    /// compare-and-swap that takes it keeps this store before it.
    fn tell_taken(&self, subbuf: &Subbuf) {
        let physical = u64::from(subbuf.raw.physical & self.view.physical_mask);
        self.shared().taken.store(subbuf.raw.position | TAKEN | physical, Ordering::Relaxed);
    }

    /// Whether the kernel writes to it, whose writers finish what they begin.
    pub fn is_kernels(&self) -> bool {
        self.memory.is_kernels()
    }

    /// True when no thread that this can be will commit to the ring any more.
    pub fn is_dead(&self, owner: &Owner) -> bool {
        self.memory.id().is_some_and(|segment| owner.is_dead(segment))
    }

    /// Heavy barriers of this thread are those for this ring's writers from now on.
    pub fn select(&self) {
        let descriptor = self.memory.device().map_or(-1, |device| device.descriptor());
        // SAFETY: no preconditions; the descriptor is open as long as the ring is.
        unsafe { ffi::lull_consumer_select(descriptor) }
    }

    /// Gives the ring its first state; before any writer.
    pub fn reset(&mut self, start_bytes: u64) {
        // SAFETY: the view is attached; the caller made this ring and no one writes yet.
        unsafe { ffi::lull_ring_reset(&mut self.view, start_bytes) }
    }

    pub fn is_plain(&self) -> bool {
        self.view.geometry.plain != 0
    }

    pub fn is_flight_recorder(&self) -> bool {
        self.view.geometry.mode == MODE_FLIGHT_RECORDER
    }

    pub fn subbuf_size_bytes(&self) -> usize {
        self.view.geometry.subbuf_size_bytes as usize
    }

    pub fn subbuf_count(&self) -> u32 {
        self.view.geometry.subbuf_count
    }

    fn shared(&self) -> &RingShared {
        // SAFETY: points into the session's mapping, 64-byte aligned; all members are atomic.
        unsafe { &*self.view.shared }
    }

    pub fn poll(&self) -> Readiness {
        // SAFETY: the view is attached.
        match unsafe { ffi::lull_ring_poll(&self.view) } {
            0 => Readiness::Empty,
            1 => Readiness::Readable,
            _ => Readiness::Urgent,
        }
    }

    fn wrap(&self, raw: ffi::Subbuf) -> Subbuf {
        Subbuf { raw, size_bytes: self.subbuf_size_bytes() }
    }

    /// A physical sub-buffer as the one that was at `position`.
    fn subbuf_in(&self, physical: u32, position: u64, is_complete: bool) -> Subbuf {
        let size = self.view.geometry.subbuf_size_bytes;
        let at = (physical & self.view.physical_mask) as usize * size as usize;
        self.wrap(ffi::Subbuf {
            data: self.view.memory.base.wrapping_add(at),
            position,
            content_bytes: size,
            committed_bytes: 0,
            physical,
            complete: is_complete.into(),
            last_cycles: 0,
        })
    }

    /// The number of the packet that begins at `position`, as its closer writes it down.
    pub fn packet_number(&self, position: u64) -> u64 {
        position >> self.view.geometry.subbuf_size_bytes.trailing_zeros()
    }

    /// Whether a sub-buffer is the one at `position`, to go by its header.
    fn is_at(&self, subbuf: &Subbuf, position: u64) -> bool {
        let header = subbuf.view().packet_header();
        header.is_some_and(|header| header.packet_seq_num == self.packet_number(position))
    }

    /// Bytes from the oldest unread byte to the last reserved one.
    pub fn pending_bytes(&self) -> u64 {
        self.level().pending_bytes
    }

    /// How far it is filled, as its shared words say.
    pub fn level(&self) -> Level {
        let shared = self.shared();
        let read = shared.read_count.load(Ordering::Relaxed);
        let written_bytes = shared.write_count.load(Ordering::Relaxed);
        Level {
            subbuf_bytes: self.view.geometry.subbuf_size_bytes,
            subbuf_count: self.subbuf_count(),
            written_bytes,
            pending_bytes: written_bytes.wrapping_sub(read),
        }
    }

    /// The oldest full sub-buffer.
    pub fn get(&mut self) -> Option<Subbuf> {
        let mut raw = empty_subbuf();
        // SAFETY: the view is attached; spare is a physical sub-buffer this reader owns.
        let rc = unsafe { ffi::lull_ring_get(&mut self.view, &mut self.spare, &mut raw) };
        (rc == 0).then(|| self.wrap(raw))
    }

    /// Flight recorder: the closed sub-buffer at `position`, which stays where it is. What is
    /// copied of it is good if it is [`Ring::unchanged`] then.
    pub fn look(&self, position: u64) -> Option<Subbuf> {
        self.select();
        let mut raw = empty_subbuf();
        // SAFETY: the view is attached.
        let rc = unsafe { ffi::lull_ring_look(&self.view, position, &mut raw) };
        (rc == 0).then(|| self.wrap(raw))
    }

    /// Flight recorder: where the oldest sub-buffer begins that can still be there, and the open
    /// one, or the next one that will be.
    pub fn span(&self) -> (u64, u64) {
        let size = self.view.geometry.subbuf_size_bytes;
        let open = self.level().written_bytes & !(size - 1);
        let oldest = self.oldest_position();
        let behind = open.wrapping_sub(oldest);
        let buffer_bytes = u64::from(self.subbuf_count()).saturating_mul(size);
        // A writer that died may not have pushed the reader.
        (if behind > buffer_bytes { open.wrapping_sub(buffer_bytes) } else { oldest }, open)
    }

    /// What the open sub-buffer holds so far. In a ring that discards it has to be the oldest one.
    pub fn peek(&self) -> Option<Subbuf> {
        self.select();
        let mut raw = empty_subbuf();
        // SAFETY: the view is attached.
        let rc = unsafe { ffi::lull_ring_peek(&self.view, &mut raw) };
        (rc == 0).then(|| self.wrap(raw))
    }

    /// Whether what was peeked or looked at is still in place.
    pub fn unchanged(&self, subbuf: &Subbuf) -> bool {
        self.select();
        // SAFETY: the view is attached, the sub-buffer came from it.
        unsafe { ffi::lull_ring_unchanged(&self.view, &subbuf.raw) != 0 }
    }

    /// Gives back what `get` or `take` gave.
    pub fn put(&mut self, subbuf: &Subbuf) {
        // SAFETY: the view is attached, the sub-buffer came from it.
        unsafe { ffi::lull_ring_put(&mut self.view, &subbuf.raw) }
    }

    /// Copies the oldest full sub-buffer to a spare one and gives it back to its writers. The copy
    /// outlives us: until it is on disk, `lull recover` finds it by its header.
    pub fn hold(&mut self) -> Option<Held> {
        let full = self.get()?;
        if !self.is_at(&full, full.position()) {
            return None;
        }
        let spare = self.free_subbuf().ok()??;
        let held = self.subbuf_in(spare, full.position(), true);
        // SAFETY: two whole physical sub-buffers of this ring; the spare one is the reader's alone.
        unsafe {
            let to = held.raw.data.cast_mut();
            to.copy_from_nonoverlapping(full.raw.data, full.size_bytes);
        }
        self.put(&full);
        Some(Held(held))
    }

    /// The copy is not needed any more.
    pub fn release(&mut self, held: Held) {
        let physical = held.0.raw.physical;
        self.clear(physical);
        self.pool.push(physical);
    }

    /// The oldest sub-buffer when it is closed; `get` has refused it, so it is incomplete. Only
    /// to look at: a writer may complete it at any time.
    pub fn stuck(&self) -> Option<Subbuf> {
        let mut raw = empty_subbuf();
        // SAFETY: the view is attached.
        let rc = unsafe { ffi::lull_ring_stuck(&self.view, &mut raw) };
        (rc == 0).then(|| self.wrap(raw))
    }

    /// Whether the oldest sub-buffer is closed and a slot in it is not committed.
    pub fn stuck_incomplete(&self) -> bool {
        self.stuck().is_some_and(|stuck| stuck.committed_bytes() < stuck.size_bytes as u64)
    }

    /// Flight recorder: the next sub-buffer to be opened is the oldest one.
    pub fn overwrites_next(&self) -> bool {
        // SAFETY: the view is attached.
        unsafe { ffi::lull_ring_overwrites_next(&self.view) != 0 }
    }

    /// Takes the oldest closed sub-buffer although writers have not finished it; `debtors` are the
    /// threads that still may.
    pub fn take(
        &mut self,
        stuck: &Subbuf,
        debtors: Option<Vec<Owner>>,
    ) -> Result<Option<Subbuf>, String> {
        if self.is_left {
            return Ok(None);
        }
        let spare = self.spare_subbuf()?;
        let mut raw = empty_subbuf();
        self.tell_taken(stuck);
        self.select();
        // SAFETY: the view is attached; spare is a physical sub-buffer this reader owns.
        if unsafe { ffi::lull_ring_take(&mut self.view, spare, &mut raw) } != 0 {
            self.pool.push(spare);
            return Ok(None);
        }
        let since = Instant::now();
        self.quarantine.push(Quarantined { subbuf: raw, debtors, since });
        Ok(Some(self.wrap(raw)))
    }

    /// A physical sub-buffer that is not in use, if there is one.
    fn free_subbuf(&mut self) -> io::Result<Option<u32>> {
        if let Some(spare) = self.pool.pop() {
            return Ok(Some(spare));
        }
        let next = self.unallocated;
        if next >= self.memory.given_count() {
            return Ok(None);
        }
        self.memory.populate_subbuf(self.index, next)?;
        self.unallocated += 1;
        Ok(Some(next))
    }

    /// A physical sub-buffer that can be handed in.
    fn spare_subbuf(&mut self) -> Result<u32, String> {
        self.release_settled();
        let free = self.free_subbuf().map_err(|error| {
            format!("no memory to replace a sub-buffer that a dead thread left open: {error}")
        })?;
        if let Some(free) = free {
            return Ok(free);
        }
        let oldest = self.quarantine.iter().position(|q| q.since.elapsed() > QUARANTINE);
        match oldest {
            Some(oldest) => Ok(self.recycle(oldest)),
            None => Err("all spare sub-buffers are waiting for threads to finish".into()),
        }
    }

    fn release_settled(&mut self) {
        let mut at = 0;
        while at < self.quarantine.len() {
            let entry = &self.quarantine[at];
            // SAFETY: the view is attached, the sub-buffer came from it.
            let settled = unsafe { ffi::lull_ring_settled(&self.view, &entry.subbuf) != 0 };
            let debtors = entry.debtors.as_ref();
            let dead =
                || debtors.is_some_and(|owners| owners.iter().all(|owner| self.is_dead(owner)));
            if settled || dead() {
                let physical = self.recycle(at);
                self.pool.push(physical);
            } else {
                at += 1;
            }
        }
    }

    fn recycle(&mut self, index: usize) -> u32 {
        let physical = self.quarantine.swap_remove(index).subbuf.physical;
        self.clear(physical);
        physical
    }

    /// Makes a sub-buffer that no writer uses any more ready to be handed in.
    fn clear(&mut self, physical: u32) {
        if self.is_plain() {
            let size = self.subbuf_size_bytes();
            // SAFETY: a physical sub-buffer of this ring that nobody uses; plain rings need zeros
            // where a writer may die before its mark (port/PORT.md).
            unsafe {
                self.view.memory.base.add(physical as usize * size).write_bytes(0, size);
            }
        }
    }

    /// Events lost so far, by cause. A count that runs backwards, or faster than events can be
    /// lost, is not one that writers made: it stays where it was, see [`Ring::is_overwritten`].
    pub fn lost(&self) -> [u64; LOST_CAUSES] {
        let mut counted = self.counted.get();
        for (cause, count) in counted.iter_mut().enumerate() {
            // SAFETY: the view is attached; the cause is below LULL_LOST_CAUSES.
            let found = unsafe { ffi::lull_ring_lost(&self.view, cause as u32) };
            match found.checked_sub(*count) {
                Some(more) if more <= LOST_AT_ONCE_MAX => *count = found,
                _ => self.overwritten.set(true),
            }
        }
        self.counted.set(counted);
        counted
    }

    /// Whether a process wrote over the counts of lost events, so that they say too little.
    pub fn is_overwritten(&self) -> bool {
        self.overwritten.get()
    }

    pub fn count_in_flight(&mut self, events: u64) {
        // SAFETY: the view is attached.
        unsafe { ffi::lull_ring_count_lost(&mut self.view, LOST_IN_FLIGHT as u32, events) }
    }
}

fn empty_subbuf() -> ffi::Subbuf {
    ffi::Subbuf {
        data: std::ptr::null(),
        position: 0,
        content_bytes: 0,
        committed_bytes: 0,
        physical: 0,
        complete: 0,
        last_cycles: 0,
    }
}

/// Makes the light barriers of all writers hold for what is read from here on (B 4.4).
pub fn barrier_heavy() {
    // SAFETY: no preconditions.
    unsafe { ffi::lull_barrier_heavy() }
}
