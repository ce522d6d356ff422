// SPDX-License-Identifier: MIT
//! A session's memory: the files `control` and `rings`, made, filled in and mapped.
//!
//! Place in the flow: `lull record` makes it, traced processes map it, the consumer reads it.
//! Memory that a traced process can write to is allocated by us: a full tmpfs must be our
//! error, not its SIGBUS. The first sub-buffers of each ring are there before the program starts,
//! the others some milliseconds later, so that programs that end at once need not wait for them.
//! Paper: B 3.2, 3.4, 4.5.

use crate::abi::*;
use crate::description::{hash, SYSTEM_EVENTS};
use crate::directory::{bases, create_private, file_system, Base, Directory};
use crate::error::{Error, Result};
use crate::layout::{layout, Plan};
use crate::machine::online_cpus;
use memmap2::MmapRaw;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory beside the rings that tmpfs needs for page tables of the file and small files.
const SLACK_BYTES: u64 = 1 << 20;
/// Sub-buffers of each ring that are allocated before the program starts.
const SUBBUFS_AT_START: u64 = 2;

/// A session that exists: its directory, and its memory mapped here.
#[derive(Debug)]
pub struct Session {
    pub directory: Directory,
    fixed: ControlFixed,
    control: MmapRaw,
    rings: MmapRaw,
    rings_file: File,
    /// The rings that are given memory.
    used_rings: Vec<u32>,
    /// How many sub-buffers [`Session::allocate_next`] has allocated.
    allocated: AtomicU64,
}

impl Session {
    /// Makes a session in the first base directory that has room for it.
    pub fn create(plan: &Plan) -> Result<Self> {
        let fixed = layout(plan)?;
        let mut full = None;
        let mut tried = Vec::new();
        for base in bases() {
            match Self::create_in(&base, plan, &fixed) {
                Ok(session) => return Ok(session),
                Err(error @ Error::Memory { .. }) => full = full.or(Some(error)),
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(full.unwrap_or(Error::NoDirectory { tried: tried.join("; ") }))
    }

    fn create_in(base: &Base, plan: &Plan, fixed: &ControlFixed) -> Result<Self> {
        let used_rings = used_rings(fixed);
        let subbufs = u64::from(fixed.subbuf_count + 1);
        let needed_bytes = used_rings.len() as u64 * subbufs * fixed.subbuf_size_bytes
            + fixed.data_offset_bytes
            + u64::from(fixed.control_bytes);
        let not_enough =
            |free_bytes| Error::Memory { path: base.path.clone(), needed_bytes, free_bytes };
        let free_bytes = file_system(&base.path).map_err(Error::io("look at", &base.path))?.1;
        if free_bytes < needed_bytes + SLACK_BYTES {
            return Err(not_enough(free_bytes));
        }
        let directory = Directory::create(base)?;
        let (control_file, control) =
            make_file(&directory, CONTROL_FILE, u64::from(fixed.control_bytes))?;
        let (rings_file, mapped) = make_file(&directory, RINGS_FILE, fixed.rings_bytes)?;
        let allocate = || {
            allocate(&control_file, 0, u64::from(fixed.control_bytes))?;
            allocate(&rings_file, 0, fixed.data_offset_bytes)?;
            for &ring in &used_rings {
                let begin = fixed.data_offset_bytes + u64::from(ring) * fixed.data_stride_bytes;
                allocate(&rings_file, begin, SUBBUFS_AT_START * fixed.subbuf_size_bytes)?;
            }
            Ok(())
        };
        allocate().map_err(|error: io::Error| match error.raw_os_error() {
            Some(libc::ENOSPC | libc::ENOMEM | libc::EDQUOT) => not_enough(free_bytes),
            _ => Error::io("allocate", directory.path())(error),
        })?;
        let (rings, allocated) = (mapped, AtomicU64::new(0));
        let session =
            Self { directory, fixed: *fixed, control, rings, rings_file, used_rings, allocated };
        session.fill_in(plan);
        Ok(session)
    }

    /// Writes the control block, patterns and system events; `magic` last, so that a process
    /// that comes too early sees no session yet.
    fn fill_in(&self, plan: &Plan) {
        let base = self.control.as_mut_ptr();
        let fixed = &self.fixed;
        // SAFETY: layout() placed every part inside the mapping, which no one else has seen.
        unsafe {
            let patterns = base.add(fixed.patterns_offset_bytes as usize);
            patterns.copy_from_nonoverlapping(plan.patterns.as_ptr(), plan.patterns.len());
            base.cast::<ControlFixed>().write(ControlFixed { magic: 0, ..*fixed });
        }
        for (id, text) in SYSTEM_EVENTS {
            self.publish_event(id, text);
        }
        self.set_active(true);
        // SAFETY: the mapping starts with the magic, on a page boundary.
        unsafe { &*base.cast::<AtomicU64>() }.store(SESSION_MAGIC, Ordering::Release);
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
        // SAFETY: the range was just reserved for us in the arena, which lies in the mapping.
        unsafe {
            let to = self.control.as_mut_ptr().add(place);
            to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        entry.hash.store(hash(text.as_bytes()), Ordering::Relaxed);
        entry.length_bytes.store(length, Ordering::Relaxed);
        entry.offset_bytes.store(offset + 1, Ordering::Release);
        true
    }

    /// The layout, as this process decided it; never read back from shared memory.
    pub fn fixed(&self) -> &ControlFixed {
        &self.fixed
    }

    /// The words that traced processes count in.
    pub fn live(&self) -> &ControlLive {
        // SAFETY: the mapping is larger than Control and lives as long as self; all members
        // are atomic.
        let control = unsafe { &*self.control.as_ptr().cast::<Control>() };
        &control.live
    }

    /// Lets probes record, or stops them all.
    pub fn set_active(&self, active: bool) {
        self.live().active.store(u32::from(active), Ordering::SeqCst);
    }

    fn events(&self) -> &[EventEntry] {
        let offset = self.fixed.events_offset_bytes as usize;
        // SAFETY: layout() placed the table inside the mapping, 64-byte aligned; entries are
        // atomic.
        unsafe {
            let first = self.control.as_ptr().add(offset).cast::<EventEntry>();
            std::slice::from_raw_parts(first, self.fixed.event_capacity as usize)
        }
    }

    /// The description of an event, copied; None until a process published it.
    pub fn event_description(&self, id: u32) -> Option<Vec<u8>> {
        let entry = self.events().get(id as usize)?;
        let offset = entry.offset_bytes.load(Ordering::Acquire).checked_sub(1)? as usize;
        let length = entry.length_bytes.load(Ordering::Relaxed) as usize;
        let arena_bytes = self.fixed.arena_bytes as usize;
        if offset > arena_bytes || length > arena_bytes - offset {
            return None;
        }
        let mut text = vec![0u8; length];
        // SAFETY: the range was checked to lie in the arena, which lies in the mapping.
        unsafe {
            let from = self.control.as_ptr().add(self.fixed.arena_offset_bytes as usize + offset);
            from.copy_to_nonoverlapping(text.as_mut_ptr(), length);
        }
        let until = text.iter().position(|byte| *byte == 0).unwrap_or(length);
        text.truncate(until);
        Some(text)
    }

    pub fn event_capacity(&self) -> u32 {
        self.fixed.event_capacity
    }

    /// How many rings there are: one a CPU, then the plain ones.
    pub fn ring_count(&self) -> u32 {
        self.fixed.cpu_count + self.fixed.plain_count
    }

    pub fn ring_is_plain(&self, ring: u32) -> bool {
        ring >= self.fixed.cpu_count
    }

    /// The shared words of a ring. Panics when there is no such ring.
    pub fn ring_control(&self, ring: u32) -> *mut u8 {
        assert!(ring < self.ring_count());
        // SAFETY: layout() placed every ring's control inside the mapping.
        unsafe {
            self.rings.as_mut_ptr().add(ring as usize * self.fixed.ring_stride_bytes as usize)
        }
    }

    /// The sub-buffers of a ring. Panics when there is no such ring.
    pub fn ring_data(&self, ring: u32) -> *mut u8 {
        self.ring_control(ring);
        let offset = self.fixed.data_offset_bytes + u64::from(ring) * self.fixed.data_stride_bytes;
        // SAFETY: layout() placed every ring's data inside the mapping.
        unsafe { self.rings.as_mut_ptr().add(offset as usize) }
    }

    /// Allocates one more of the sub-buffers that were left for later. Return: whether there may
    /// be more.
    pub fn allocate_next(&self) -> Result<bool> {
        let rings = &self.used_rings;
        let next = self.allocated.fetch_add(1, Ordering::Relaxed);
        let physical = SUBBUFS_AT_START + next / rings.len() as u64;
        if physical > u64::from(self.fixed.subbuf_count) {
            return Ok(false);
        }
        let ring = rings[(next % rings.len() as u64) as usize];
        self.allocate_subbuf(ring, physical as u32)
            .map_err(Error::io("allocate buffers in", self.path()))?;
        Ok(true)
    }

    /// Gives memory to a spare sub-buffer, so that writing to it cannot fail.
    pub fn allocate_subbuf(&self, ring: u32, physical: u32) -> io::Result<()> {
        if ring >= self.ring_count() || physical >= self.fixed.physical_count {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let begin = self.fixed.data_offset_bytes
            + u64::from(ring) * self.fixed.data_stride_bytes
            + u64::from(physical) * self.fixed.subbuf_size_bytes;
        allocate(&self.rings_file, begin, self.fixed.subbuf_size_bytes)
    }

    /// Total size of the sub-buffers in use, for people.
    pub fn buffer_bytes(&self) -> u64 {
        let subbufs = u64::from(self.fixed.subbuf_count);
        self.used_rings.len() as u64 * subbufs * self.fixed.subbuf_size_bytes
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// The rings that can be written to as the machine is now: those of running CPUs where threads
/// can make restartable reservations, and the plain ones.
fn used_rings(fixed: &ControlFixed) -> Vec<u32> {
    let mut rings = Vec::new();
    if fixed.plain_count < fixed.cpu_count || fixed.cpu_count == 1 {
        rings.extend(online_cpus().into_iter().filter(|cpu| *cpu < fixed.cpu_count));
    }
    rings.extend(fixed.cpu_count..fixed.cpu_count + fixed.plain_count);
    rings
}

fn make_file(directory: &Directory, name: &str, bytes: u64) -> Result<(File, MmapRaw)> {
    let path = directory.path().join(name);
    let make = || {
        let file = create_private(&path)?;
        file.set_len(bytes)?;
        let map = MmapRaw::map_raw(&file)?;
        Ok((file, map))
    };
    make().map_err(Error::io("make", &path))
}

fn allocate(file: &File, begin: u64, bytes: u64) -> io::Result<()> {
    let (begin, bytes) = (begin as libc::off_t, bytes as libc::off_t);
    loop {
        // SAFETY: the descriptor is open for the length of the call.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, begin, bytes) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // A file system that cannot allocate ahead: the warning about it not being tmpfs
            // has been given.
            Some(libc::EOPNOTSUPP) => return Ok(()),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::random_uuid;

    fn plan() -> Plan {
        Plan {
            uuid: random_uuid(),
            flight_recorder: false,
            clock_kind: 0,
            cpu_count: 2,
            rseq: true,
            subbuf_size_bytes: 4096,
            subbuf_count: 2,
            patterns: "io:*\nthread:*".into(),
        }
    }

    #[test]
    fn session_on_disk_has_the_layout_it_says_and_is_active() {
        let session = Session::create(&plan()).unwrap();
        let control = std::fs::read(session.path().join(CONTROL_FILE)).unwrap();
        let rings = std::fs::metadata(session.path().join(RINGS_FILE)).unwrap();
        assert_eq!(control.len(), session.fixed().control_bytes as usize);
        assert_eq!(rings.len(), session.fixed().rings_bytes);
        assert_eq!(control[..8], SESSION_MAGIC.to_ne_bytes());
        let patterns = session.fixed().patterns_offset_bytes as usize;
        assert_eq!(&control[patterns..patterns + 14], b"io:*\nthread:*\0");
        assert_eq!(session.live().active.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn system_events_are_in_the_table_under_their_identifiers() {
        let session = Session::create(&plan()).unwrap();
        for (id, text) in SYSTEM_EVENTS {
            assert_eq!(session.event_description(id).unwrap(), text.as_bytes());
        }
        assert_eq!(session.event_description(0), None);
        assert_eq!(session.event_description(EVENT_FIRST), None);
        assert_eq!(session.event_description(u32::MAX), None);
    }

    #[test]
    fn entry_that_points_outside_the_arena_is_no_description() {
        let session = Session::create(&plan()).unwrap();
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
    fn all_sub_buffers_in_use_have_memory_once_allocation_is_done() {
        use std::os::unix::fs::MetadataExt;
        let session = Session::create(&plan()).unwrap();
        let rings_file = session.path().join(RINGS_FILE);
        let blocks = || std::fs::metadata(&rings_file).unwrap().blocks() * 512;
        let before = blocks();
        while session.allocate_next().unwrap() {}
        assert!(!session.allocate_next().unwrap());
        let rings = used_rings(session.fixed()).len() as u64;
        let first = session.fixed().data_offset_bytes + rings * 2 * 4096;
        assert_eq!((before, blocks()), (first, first + rings * 4096));
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
        let error = Session::create(&huge).unwrap_err().to_string();
        assert!(error.contains("not enough shared memory"), "{error}");
        assert!(error.contains("--buffer-size"), "{error}");
    }
}
