// SPDX-License-Identifier: MIT
//! A session of the kernel's: the memory that the module lends through `/dev/lull`.
//!
//! Place in the flow: `lull record -k` opens the device, plans, and gives the [`Memory`] to the
//! consumer, which reads it as it reads that of a user. What differs is here: the kernel lays the
//! memory out and gives it its pages, and ends the session when the last descriptor is closed.
//! Its answers are checked before anything in the memory is reached by them.
//! Bytes: `core/include/lull/abi/kernel.h`. Paper: B 3.1, 3.4.
//!
//! [`Memory`]: crate::Memory

use crate::abi::*;
use crate::error::{Error, Result};
use crate::layout::{ring_bytes, Plan};
use crate::reserved;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;

/// Physical sub-buffers with memory beyond those in use: the reader's own. The kernel's writers
/// finish what they begin, so that no sub-buffer is ever taken from them.
const SPARE_COUNT: u32 = 1;
/// A ring's words of the writers and of the reader lie on lines of their own.
const RING_ALIGN: u64 = 128;

/// The device, open, and of a version that this recorder knows; not a session yet.
#[derive(Debug)]
pub struct Device {
    pub(crate) file: File,
    /// Of its plan.
    flags: u32,
}

/// A session of the kernel's, whose memory is mapped.
#[derive(Debug)]
pub struct Mapping {
    file: File,
    base: NonNull<u8>,
    bytes: u64,
}

/// Context that a session records with each of its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedContext {
    /// `1 << number` for each (`core/include/lull/abi/context.h`).
    pub contexts: u32,
    /// Of each stack, at most; 0: it is not recorded.
    pub kernel_frames: u32,
    pub user_frames: u32,
    /// `1 << number` for each (`core/include/lull/abi/context.h`).
    pub counters: u32,
}

/// An event of the session's own, at any place that the kernel can watch. Bytes and errors:
/// `core/include/lull/abi/kernel.h`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    pub kind: u32,
    pub target: String,
    pub offset: u64,
    pub length: u32,
    pub access: u32,
    pub description: String,
    pub fields: Vec<SourceField>,
}

impl Source {
    /// The event's name.
    pub fn name(&self) -> &str {
        self.description.lines().next().unwrap_or_default()
    }
}

// SAFETY: the memory may be used from any thread; what is in it is reached through atomics, or
// copied and checked.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Device {
    /// None where the module is not loaded. An error: it is, and cannot be used.
    pub fn open() -> Result<Option<Self>> {
        let failed = |source| Error::Device { doing: "opening /dev/lull", source };
        let file = match File::options().read(true).write(true).open(KERNEL_DEVICE) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENXIO)) => {
                return Ok(None)
            }
            other => other.map_err(failed)?,
        };
        // SAFETY: the call takes no argument.
        let version = unsafe { libc::ioctl(file.as_raw_fd(), KERNEL_VERSION as libc::Ioctl, 0) };
        if version != KERNEL_INTERFACE as i32 {
            return Err(Error::Interface { found: version, known: KERNEL_INTERFACE });
        }
        Ok(Some(Self { file, flags: 0 }))
    }

    /// Its session is to lie in the memory that was reserved at boot.
    pub fn in_reserved(self) -> Self {
        Self { flags: KERNEL_PLAN_RESERVED, ..self }
    }

    /// Makes this the session that is planned. `stream_id`: the stream class of its events. Return:
    /// the layout, and what it lies in.
    pub(crate) fn plan(self, plan: &Plan, stream_id: u32) -> Result<(ControlFixed, Mapping)> {
        let failed = |source| Error::Device { doing: "making its session", source };
        let patterns = CString::new(plan.patterns.as_str())
            .map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
        let mut asked = KernelPlan {
            bytes: size_of::<KernelPlan>() as u32,
            flags: self.flags,
            uuid: plan.uuid,
            mode: if plan.flight_recorder { MODE_FLIGHT_RECORDER } else { MODE_DISCARD },
            stream_id,
            subbuf_size_bytes: plan.subbuf_size_bytes,
            subbuf_count: plan.subbuf_count,
            spare_count: SPARE_COUNT,
            patterns: patterns.as_ptr() as u64,
            patterns_bytes: u32::try_from(patterns.as_bytes_with_nul().len()).unwrap_or(u32::MAX),
            clock_kind: 0,
            memory_bytes: 0,
        };
        let refused = |source| match self.flags {
            KERNEL_PLAN_RESERVED => reserved::refused(source),
            _ => failed(source),
        };
        call(&self.file, KERNEL_PLAN, &raw mut asked).map_err(refused)?;
        let mapping = Mapping::new(self.file, asked.memory_bytes).map_err(failed)?;
        if mapping.bytes < size_of::<Control>() as u64 {
            return Err(Error::Layout { why: "its memory is too small to be a session's" });
        }
        // SAFETY: the mapping is large enough, on a page boundary; the block is plain numbers, of
        // which any value is one.
        let found = unsafe { mapping.as_ptr().cast::<ControlFixed>().read_volatile() };
        check(&found, &asked).map_err(|why| Error::Layout { why })?;
        Ok((found, mapping))
    }
}

impl Mapping {
    fn new(file: File, bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: the kernel chooses an address where nothing is.
        let base =
            unsafe { libc::mmap(null, length, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { file, base, bytes })
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Records the events that the plan's patterns match.
    pub fn enable(&self) -> io::Result<KernelEnable> {
        let bytes = size_of::<KernelEnable>() as u32;
        let mut answer = KernelEnable { bytes, ..KernelEnable::default() };
        call(&self.file, KERNEL_ENABLE, &raw mut answer)?;
        Ok(answer)
    }

    /// Adds an event of the session's own, which is recorded while it is enabled; they are numbered
    /// from 0 in their order.
    pub fn add_source(&self, source: &Source) -> io::Result<()> {
        let text = |text: &str| CString::new(text).map_err(|_| io::ErrorKind::InvalidInput);
        let (target, description) = (text(&source.target)?, text(&source.description)?);
        let bytes = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let mut asked = KernelSource {
            bytes: size_of::<KernelSource>() as u32,
            flags: 0,
            kind: source.kind,
            field_count: bytes(source.fields.len()),
            fields: source.fields.as_ptr() as u64,
            target: target.as_ptr() as u64,
            description: description.as_ptr() as u64,
            target_bytes: bytes(target.as_bytes_with_nul().len()),
            description_bytes: bytes(description.as_bytes_with_nul().len()),
            offset: source.offset,
            length: source.length,
            access: source.access,
        };
        call(&self.file, KERNEL_SOURCE, &raw mut asked)
    }

    /// How often an event of the session's own happened where no probe could run.
    pub fn missed(&self, number: usize) -> io::Result<u64> {
        let bytes = size_of::<KernelMissed>() as u32;
        let number = u32::try_from(number).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut answer = KernelMissed { bytes, number, ..KernelMissed::default() };
        call(&self.file, KERNEL_MISSED, &raw mut answer)?;
        Ok(answer.missed_count)
    }

    /// Records only what a program takes (`core/include/lull/abi/filter.h`) of the events whose
    /// description has this hash; before [`Mapping::add_source`] and [`Mapping::enable`], or
    /// between [`Mapping::change_rules`] and [`Mapping::enable`].
    pub fn filter(&self, event_hash: u64, program: &[u8]) -> io::Result<()> {
        let mut filter = KernelFilter {
            bytes: size_of::<KernelFilter>() as u32,
            event_hash,
            program: program.as_ptr() as u64,
            program_bytes: u32::try_from(program.len()).unwrap_or(u32::MAX),
            ..KernelFilter::default()
        };
        call(&self.file, KERNEL_FILTER, &raw mut filter)
    }

    /// Records the events of other patterns from now on, and forgets all filters: those of now are
    /// given next, and in force with [`Mapping::enable`], by which events begin that are new. What
    /// stays is recorded all the time.
    pub fn change_rules(&self, patterns: &str) -> io::Result<()> {
        let patterns = CString::new(patterns).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut asked = KernelRules {
            bytes: size_of::<KernelRules>() as u32,
            patterns: patterns.as_ptr() as u64,
            patterns_bytes: u32::try_from(patterns.as_bytes_with_nul().len()).unwrap_or(u32::MAX),
            ..KernelRules::default()
        };
        call(&self.file, KERNEL_RULES, &raw mut asked)
    }

    /// Records context with each event; once, and before [`Mapping::enable`].
    pub fn record_context(&self, context: &RecordedContext) -> io::Result<()> {
        let mut asked = KernelContext {
            bytes: size_of::<KernelContext>() as u32,
            contexts: context.contexts,
            kernel_frames: context.kernel_frames,
            user_frames: context.user_frames,
            counters: context.counters,
            ..KernelContext::default()
        };
        call(&self.file, KERNEL_CONTEXT, &raw mut asked)
    }

    /// Records nothing more. When this returns, every event is committed.
    pub fn disable(&self) -> io::Result<()> {
        call(&self.file, KERNEL_DISABLE, std::ptr::null_mut::<KernelEnable>())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is that of our mapping, which nobody uses any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
    }
}

/// A call with a structure that the kernel reads and fills in, or with none.
pub(crate) fn call<T>(file: &File, number: u32, argument: *mut T) -> io::Result<()> {
    // SAFETY: the structure, where there is one, is writable for the size that it states.
    match unsafe { libc::ioctl(file.as_raw_fd(), number as libc::Ioctl, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether what the kernel made is what was asked for, each part of it inside the mapping.
fn check(found: &ControlFixed, asked: &KernelPlan) -> std::result::Result<(), &'static str> {
    if found.magic != SESSION_MAGIC || found.version != SESSION_VERSION {
        return Err("its memory is laid out as another version of Lull does it");
    }
    let is_as_asked = found.uuid == asked.uuid
        && found.mode == asked.mode
        && found.stream_id == asked.stream_id
        && found.clock_kind == asked.clock_kind
        && found.subbuf_size_bytes == asked.subbuf_size_bytes
        && found.subbuf_count == asked.subbuf_count
        && found.memory_bytes == asked.memory_bytes
        && found.plain_count == 0
        && found.filters_bytes == 0
        && found.count_pages == 0
        && found.budget_offset_bytes == 0;
    if !is_as_asked {
        return Err("its session is not the one that was asked for");
    }
    let has_room = found.physical_count >= found.subbuf_count.saturating_add(asked.spare_count);
    let is_cpu_count = (1..=CPU_COUNT_MAX).contains(&found.cpu_count);
    if !has_room || !found.physical_count.is_power_of_two() || !is_cpu_count {
        return Err("its session has sizes that no session has");
    }
    if !parts_are_inside(found) {
        return Err("parts of its session lie outside of its memory, or in one another");
    }
    Ok(())
}

/// Whether all parts follow one another up to the end of the memory, on the boundaries they need.
pub(crate) fn parts_are_inside(found: &ControlFixed) -> bool {
    let wide = |number: u32| u64::from(number);
    let table_bytes = wide(found.event_capacity) * size_of::<EventEntry>() as u64;
    let cpus = wide(found.cpu_count);
    let parts = [
        (0, Some(size_of::<Control>() as u64)),
        (wide(found.own_offset_bytes), Some(size_of::<OwnEvents>() as u64)),
        (wide(found.patterns_offset_bytes), Some(wide(found.patterns_bytes))),
        (wide(found.events_offset_bytes), Some(table_bytes)),
        (wide(found.arena_offset_bytes), Some(wide(found.arena_bytes))),
        (wide(found.control_bytes), Some(0)),
        (found.rings_offset_bytes, found.ring_stride_bytes.checked_mul(cpus)),
        (found.data_offset_bytes, found.data_stride_bytes.checked_mul(cpus)),
        (found.memory_bytes, Some(0)),
    ];
    let mut until = Some(0u64);
    for (begin, bytes) in parts {
        let after = until.filter(|until| *until <= begin);
        until = after.and(bytes).and_then(|bytes| begin.checked_add(bytes));
    }
    let data_bytes = found.subbuf_size_bytes.checked_mul(wide(found.physical_count));
    until.is_some()
        && ring_bytes(found.subbuf_count, found.physical_count) <= found.ring_stride_bytes
        && data_bytes.is_some_and(|bytes| bytes <= found.data_stride_bytes)
        && [found.rings_offset_bytes, found.ring_stride_bytes].iter().all(|at| at % RING_ALIGN == 0)
        && wide(found.events_offset_bytes) % align_of::<EventEntry>() as u64 == 0
}

/// How many of a ring's physical sub-buffers have memory.
pub(crate) fn given_count(fixed: &ControlFixed) -> u32 {
    fixed.subbuf_count + SPARE_COUNT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::layout;

    fn asked() -> KernelPlan {
        let fixed = made();
        KernelPlan {
            uuid: fixed.uuid,
            mode: fixed.mode,
            stream_id: fixed.stream_id,
            subbuf_size_bytes: fixed.subbuf_size_bytes,
            subbuf_count: fixed.subbuf_count,
            spare_count: SPARE_COUNT,
            clock_kind: fixed.clock_kind,
            memory_bytes: fixed.memory_bytes,
            ..KernelPlan::default()
        }
    }

    /// A layout as the kernel makes it: without plain rings, with one copy of the patterns.
    fn made() -> ControlFixed {
        let own = layout(&Plan::small()).unwrap();
        let patterns_bytes = own.events_offset_bytes - own.patterns_offset_bytes;
        ControlFixed { plain_count: 0, stream_id: 9, patterns_bytes, filters_bytes: 0, ..own }
    }

    #[test]
    fn what_the_kernel_made_is_taken_where_it_is_what_was_asked_for() {
        assert_eq!(check(&made(), &asked()), Ok(()));
        let other = |change: fn(&mut ControlFixed)| {
            let mut found = made();
            change(&mut found);
            check(&found, &asked()).unwrap_err()
        };
        assert!(other(|found| found.magic = 0).contains("another version"));
        assert!(other(|found| found.version += 1).contains("another version"));
        let changes: [fn(&mut ControlFixed); 8] = [
            |found| found.uuid[3] = 0,
            |found| found.mode = MODE_FLIGHT_RECORDER,
            |found| found.stream_id = 1,
            |found| found.clock_kind = 1,
            |found| found.subbuf_size_bytes *= 2,
            |found| found.subbuf_count *= 2,
            |found| found.memory_bytes += 1,
            |found| found.plain_count = 1,
        ];
        for change in changes {
            assert!(other(change).contains("asked for"));
        }
        let changes: [fn(&mut ControlFixed); 4] = [
            |found| found.physical_count = found.subbuf_count,
            |found| found.physical_count = 48,
            |found| found.cpu_count = 0,
            |found| found.cpu_count = CPU_COUNT_MAX + 1,
        ];
        for change in changes {
            assert!(other(change).contains("sizes"));
        }
    }

    #[test]
    fn part_that_is_not_in_the_memory_or_in_another_is_refused() {
        let changes: [fn(&mut ControlFixed); 16] = [
            |found| found.own_offset_bytes = 8,
            |found| found.patterns_offset_bytes -= 64,
            |found| found.events_offset_bytes -= 64,
            |found| found.events_offset_bytes += 4,
            |found| found.event_capacity += 1,
            |found| found.arena_bytes = u32::MAX,
            |found| found.control_bytes -= 4096,
            |found| found.rings_offset_bytes -= 128,
            |found| found.rings_offset_bytes = u64::MAX - 127,
            |found| found.ring_stride_bytes -= 128,
            |found| found.ring_stride_bytes += 64,
            |found| found.ring_stride_bytes = u64::MAX - 127,
            |found| found.data_offset_bytes -= 4096,
            |found| found.data_offset_bytes += 1 << 20,
            |found| found.data_stride_bytes -= 4096,
            |found| found.data_stride_bytes = u64::MAX,
        ];
        for change in changes {
            let mut found = made();
            change(&mut found);
            let why = check(&found, &asked()).unwrap_err();
            assert!(why.contains("outside"), "{why}: {found:?}");
        }
    }
}
