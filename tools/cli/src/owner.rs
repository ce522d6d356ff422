// SPDX-License-Identifier: MIT
//! Whose something is: users, by number.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The user with whose rights this process opens files.
pub fn me() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

/// Whose a file is, or a link itself; None where nothing is to be seen.
pub fn owner(path: &Path) -> Option<u32> {
    std::fs::symlink_metadata(path).ok().map(|found| found.uid())
}
