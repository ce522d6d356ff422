// SPDX-License-Identifier: MIT
//! What a session's memory lies in: a segment of ours, the kernel's device, or a copy.
//!
//! Place in the flow: `memory` finds its parts in it, and asks it for pages.

use crate::device::Mapping;
use crate::segment::Segment;
use memmap2::MmapMut;
use std::io;

/// Who made the memory, and gives it its pages.
#[derive(Debug)]
pub(crate) enum Backing {
    /// A recorder, or a process that became another user's.
    Segment(Segment),
    /// The kernel, whose events are in it.
    Device(Mapping),
    /// This process, of what the kernel's session held when the machine went down.
    Copy(MmapMut),
}

impl Backing {
    pub fn as_ptr(&self) -> *mut u8 {
        match self {
            Self::Segment(segment) => segment.as_ptr(),
            Self::Device(mapping) => mapping.as_ptr(),
            Self::Copy(copy) => copy.as_ptr().cast_mut(),
        }
    }

    /// Gives memory to a range. The kernel has done so where a writer can come.
    pub fn populate(&self, begin: u64, bytes: u64) -> io::Result<()> {
        match self {
            Self::Segment(segment) => segment.populate(begin, bytes),
            Self::Device(_) | Self::Copy(_) => Ok(()),
        }
    }
}
