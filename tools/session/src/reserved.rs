// SPDX-License-Identifier: MIT
//! Memory that was reserved at boot, and the session that a crash of the machine left in it.
//!
//! Place in the flow: `lull recover` opens what was left, and gives the [`Memory`] to the consumer;
//! `lull doctor` asks what there is. What was left is bytes that an earlier boot wrote, or nobody:
//! all of it is copied once, and only the copy is read, so that nothing changes while it is
//! checked. Bytes: `core/include/lull/abi/kernel.h`. Paper: B 4.5.

use crate::abi::*;
use crate::device::{call, parts_are_inside, Device};
use crate::error::{Error, Result};
use crate::machine::available_bytes;
use crate::memory::Memory;
use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

/// The session that a crash left. Nobody else can read it, and the memory is not free for others,
/// until this is dropped.
#[derive(Debug)]
pub struct Left {
    file: File,
    found: KernelReserved,
}

impl Device {
    /// What the kernel says of the memory that was reserved.
    pub fn reserved(&self) -> Result<KernelReserved> {
        let bytes = size_of::<KernelReserved>() as u32;
        let mut answer = KernelReserved { bytes, ..KernelReserved::default() };
        call(&self.file, KERNEL_RESERVED, &raw mut answer)
            .map_err(|source| Error::Device { doing: "asking for reserved memory", source })?;
        Ok(answer)
    }

    /// The session that a crash left; None where there is none.
    pub fn left(&self) -> Result<Option<Left>> {
        let found = self.reserved()?;
        if found.state != RESERVED_LEFT {
            return Ok(None);
        }
        let doing = "opening what a crash left in reserved memory";
        // SAFETY: the call takes no argument.
        let descriptor =
            unsafe { libc::ioctl(self.file.as_raw_fd(), KERNEL_LEFT as libc::Ioctl, 0) };
        if descriptor < 0 {
            return Err(Error::Device { doing, source: io::Error::last_os_error() });
        }
        // SAFETY: the kernel has just made the descriptor for us.
        let file = unsafe { File::from_raw_fd(descriptor) };
        Ok(Some(Left { file, found }))
    }
}

/// Memory of this process alone, zero where nothing is copied to; pages come as they are written.
fn empty_copy(bytes: usize) -> io::Result<MmapMut> {
    MmapOptions::new().len(bytes).no_reserve_swap().map_anon()
}

impl Left {
    /// The session's clock, and nanoseconds since the epoch, at one moment when it was made.
    pub fn begun(&self) -> (u64, u64) {
        (self.found.begun_cycles, self.found.begun_ns)
    }

    /// A copy of all that was left.
    pub fn memory(&self) -> Result<Memory> {
        let failed = |source| Error::Device {
            doing: "copying what a crash left in reserved memory",
            source,
        };
        let too_much = || failed(io::ErrorKind::OutOfMemory.into());
        if available_bytes().is_some_and(|available| available < self.found.reserved_bytes) {
            return Err(too_much());
        }
        let bytes = usize::try_from(self.found.memory_bytes).map_err(|_| too_much())?;
        if bytes < size_of::<Control>() {
            return Err(Error::Layout { why: "what a crash left is too small to be a session" });
        }
        let mut copy = empty_copy(bytes).map_err(failed)?;
        let head = size_of::<ControlFixed>();
        self.file.read_exact_at(&mut copy[..head], 0).map_err(failed)?;
        // SAFETY: the copy is large enough, on a page boundary; the block is plain numbers, of
        // which any value is one.
        let fixed = unsafe { copy.as_ptr().cast::<ControlFixed>().read() };
        check(&fixed, &self.found).map_err(|why| Error::Layout { why })?;
        self.copy_rest(&fixed, &mut copy).map_err(failed)?;
        Ok(Memory::of_copy(fixed, copy))
    }

    /// Copies everything behind the control block's fixed part. A ring for which there was no
    /// memory has none here.
    fn copy_rest(&self, fixed: &ControlFixed, to: &mut [u8]) -> io::Result<()> {
        let given_bytes = u64::from(self.found.given_count) * fixed.subbuf_size_bytes;
        let rings = (0..u64::from(fixed.cpu_count))
            .map(|ring| (fixed.data_offset_bytes + ring * fixed.data_stride_bytes, given_bytes));
        let control = size_of::<ControlFixed>() as u64;
        self.copy_part(to, control, fixed.data_offset_bytes - control)?;
        for (begin, bytes) in rings {
            match self.copy_part(to, begin, bytes) {
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn copy_part(&self, to: &mut [u8], begin: u64, bytes: u64) -> io::Result<()> {
        let part = to.get_mut(begin as usize..(begin + bytes) as usize);
        self.file.read_exact_at(part.ok_or(io::ErrorKind::InvalidData)?, begin)
    }

    /// Frees the memory for other sessions: what was left is in a trace, or not wanted.
    pub fn forget(self) -> Result<()> {
        call(&self.file, KERNEL_FORGET, std::ptr::null_mut::<KernelReserved>())
            .map_err(|source| Error::Device { doing: "freeing reserved memory", source })
    }
}

/// Whether the control block is one that the module makes, each part of it inside the memory.
fn check(fixed: &ControlFixed, found: &KernelReserved) -> std::result::Result<(), &'static str> {
    if fixed.magic != SESSION_MAGIC || fixed.version != SESSION_VERSION {
        return Err("what a crash left was made by another version of Lull");
    }
    let is_sized = fixed.memory_bytes == found.memory_bytes
        && fixed.plain_count == 0
        && fixed.mode <= MODE_FLIGHT_RECORDER
        && fixed.physical_count.is_power_of_two()
        && (1..=fixed.physical_count).contains(&found.given_count)
        && (1..=CPU_COUNT_MAX).contains(&fixed.cpu_count);
    match is_sized && parts_are_inside(fixed) {
        true => Ok(()),
        false => Err("what a crash left has sizes that no session has"),
    }
}

/// Why a session could not be made there.
pub(crate) fn refused(source: io::Error) -> Error {
    let why = match source.raw_os_error() {
        Some(libc::ENXIO) => {
            "there is none; it takes memmap=SIZE$ADDRESS on the kernel's command line, and the \
             parameter memory=SIZE@ADDRESS of the module lull"
        }
        Some(libc::EADDRINUSE) => "another recorder or `lull recover` uses it",
        Some(libc::ENOTEMPTY) => {
            "a session is there that a crash of the machine left; `lull recover` makes a trace of \
             it, and with --discard removes it"
        }
        Some(libc::ENOSPC) => {
            "it has no room for a ring for each CPU; use a smaller --buffer-size or fewer \
             --buffers, or reserve more"
        }
        _ => return Error::Device { doing: "making its session in reserved memory", source },
    };
    Error::Reserved { why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::layout;
    use crate::Plan;

    #[test]
    fn control_block_that_no_module_made_is_refused() {
        let fixed = ControlFixed { plain_count: 0, ..layout(&Plan::small()).unwrap() };
        let found = KernelReserved {
            given_count: 3,
            memory_bytes: fixed.memory_bytes,
            ..KernelReserved::default()
        };
        assert_eq!(check(&fixed, &found), Ok(()));
        let of_version = ControlFixed { version: fixed.version + 1, ..fixed };
        assert!(check(&of_version, &found).unwrap_err().contains("version"));
        let changes: [fn(&mut ControlFixed, &mut KernelReserved); 8] = [
            |fixed, _| fixed.memory_bytes += 4096,
            |fixed, _| fixed.plain_count = 1,
            |fixed, _| fixed.mode = 2,
            |fixed, _| fixed.physical_count = 48,
            |fixed, _| fixed.cpu_count = 0,
            |fixed, _| fixed.data_offset_bytes = u64::MAX,
            |_, found| found.given_count = 0,
            |fixed, found| found.given_count = fixed.physical_count + 1,
        ];
        for change in changes {
            let (mut fixed, mut found) = (fixed, found);
            change(&mut fixed, &mut found);
            assert!(check(&fixed, &found).unwrap_err().contains("sizes"), "{fixed:?} {found:?}");
        }
    }

    #[test]
    fn every_reason_of_the_kernels_says_what_to_do() {
        for (number, told) in [
            (libc::ENXIO, "memmap="),
            (libc::EADDRINUSE, "another recorder"),
            (libc::ENOTEMPTY, "lull recover"),
            (libc::ENOSPC, "--buffer-size"),
            (libc::ENOMEM, "making its session"),
        ] {
            let error = refused(io::Error::from_raw_os_error(number)).to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
