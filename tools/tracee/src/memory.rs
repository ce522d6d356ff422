// SPDX-License-Identifier: MIT
//! The memory of the process, by `/proc/PID/mem`.
//!
//! Place in the flow: what is looked for in the process, and what is written for a call. The file
//! is locked while a visit is under way, so that two recorders do not use the same bytes: only who
//! may reach into the process can open it, and a lock ends with its owner.

use crate::threads;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

pub struct Memory {
    file: File,
}

/// The longest text that is read.
pub(crate) const TEXT_BYTES_MAX: usize = 4096;

impl Memory {
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        Self::open_at(&threads::folder(pid))
    }

    /// `folder`: where the kernel shows the process or one of its threads.
    pub(crate) fn open_at(folder: &str) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(format!("{folder}/mem"))?;
        Ok(Self { file })
    }

    /// Return: whether nobody else visits the process.
    pub(crate) fn lock(&self) -> bool {
        // SAFETY: the descriptor is ours; no memory is involved.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
    }

    pub(crate) fn unlock(&self) {
        // SAFETY: as above.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }

    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, address)
    }

    pub fn read_word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    pub fn read_u32(&self, address: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_ne_bytes(bytes))
    }

    /// A text up to its NUL, or its first bytes.
    pub fn read_text(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut part = [0u8; 64];
        while text.len() < TEXT_BYTES_MAX {
            let at = address.wrapping_add(text.len() as u64);
            // To the next boundary: a text may end at the end of what is mapped.
            let room = part.len() - (at % part.len() as u64) as usize;
            let part = &mut part[..room];
            self.read(at, part)?;
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&part[..end]);
                break;
            }
            text.extend_from_slice(part);
        }
        Ok(text)
    }

    /// Also where the process itself may not write, which a tracer may.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, address)
    }
}
