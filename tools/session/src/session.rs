// SPDX-License-Identifier: MIT
//! A session: its directory, and the memory of the recorder's own user.
//!
//! Place in the flow: `lull record` makes one and hands it to the consumer.

use crate::abi::ControlFixed;
use crate::directory::{bases, Directory};
use crate::error::{Error, Result};
use crate::layout::Plan;
use crate::left;
use crate::memory::Memory;
use crate::segment::{self, Segment};
use std::io;
use std::path::Path;
use std::sync::Arc;

const ROOT: u32 = 0;
/// Permissions that a segment gives to anybody but its user.
const OTHERS_MODE: u32 = 0o077;

#[derive(Debug)]
pub struct Session {
    /// The memory of the user who records. It is removed first, so that after a kill in between the
    /// directory still names what is left.
    pub memory: Arc<Memory>,
    pub directory: Directory,
}

impl Session {
    /// Makes a session, in the first directory where one can be made.
    pub fn create(plan: &Plan) -> Result<Self> {
        let memory = Arc::new(Memory::create(plan)?);
        let mut tried = Vec::new();
        for base in bases() {
            let made = Directory::create(&base).and_then(|directory| {
                directory.link_memory(memory.id())?;
                Ok(directory)
            });
            match made {
                Ok(directory) => {
                    memory.fill_in(plan);
                    return Ok(Self { directory, memory });
                }
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(Error::NoDirectory { tried: tried.join("; ") })
    }

    /// The memory of users whose processes have joined, but for those `known`. Only root's
    /// processes can become another user's, and then make that user's memory.
    pub fn newcomers(&self, known: &[u32]) -> Vec<Result<Memory>> {
        let own = self.memory.fixed();
        if own.user_id != ROOT {
            return Vec::new();
        }
        let links = self.directory.memories().into_iter();
        let new = links.filter_map(|link| link.user.map(|user_id| (user_id, link.segment)));
        let new = new.filter(|(user_id, _)| !known.contains(user_id));
        let adopt = |(index, (user_id, segment)): (usize, (u32, i32))| {
            let memory = self.adopt(segment, user_id, (known.len() + index) as u32)?;
            memory.take_over();
            memory.populate_start().map_err(|source| Error::Populate { source })?;
            Ok(memory)
        };
        new.enumerate().map(adopt).collect()
    }

    /// The memory of another user, which processes made that had been the recorder's user's.
    pub fn adopt(&self, segment: i32, user_id: u32, stream_id: u32) -> Result<Memory> {
        let own = self.memory.fixed();
        let segment = attach(segment, user_id, own.user_id)?;
        Memory::adopt(ControlFixed { user_id, stream_id, ..*own }, segment)
    }

    /// Opens a session that a killed recorder left behind. It stays until it is taken over.
    pub fn reopen(path: &Path) -> Result<Self> {
        let directory = Directory::reopen(path)?;
        let own = directory.memories().into_iter().find(|link| link.user.is_none());
        let no_memory = || Error::Left { path: path.into(), why: "it names no memory" };
        let id = own.ok_or_else(no_memory)?.segment;
        // SAFETY: geteuid has no preconditions.
        let me = unsafe { libc::geteuid() };
        let segment = attach(id, me, me).map_err(|error| match error {
            Error::Segment { source } if is_gone(&source) => Error::Gone { path: path.into() },
            other => other,
        })?;
        let memory = left::memory(path, segment)?;
        Ok(Self { directory, memory: Arc::new(memory) })
    }

    /// Removes a session that a killed recorder left behind, and what it holds.
    pub fn discard(path: &Path) -> Result<()> {
        let directory = Directory::reopen(path)?;
        // SAFETY: geteuid has no preconditions.
        let me = unsafe { libc::geteuid() };
        for link in directory.memories() {
            let is_ours = |found: segment::Status| {
                (found.user == me || found.creator == me) && found.mode & OTHERS_MODE == 0
            };
            if segment::status(link.segment).is_ok_and(is_ours) {
                segment::remove(link.segment);
            }
        }
        directory.take_over();
        Ok(())
    }

    /// From now on directory and own memory are removed when this is dropped.
    pub fn take_over(&self) {
        self.directory.take_over();
        self.memory.take_over();
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Whether there is no segment of that number any more.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIDRM))
}

/// Attaches a segment that is one user's alone and that `creator` made.
fn attach(id: i32, user: u32, creator: u32) -> Result<Segment> {
    let failed = |source: io::Error| Error::Segment { source };
    let found = segment::status(id).map_err(failed)?;
    if found.user != user || found.creator != creator || found.mode & OTHERS_MODE != 0 {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    Segment::attach(id).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_attached_only_where_it_is_one_users_alone_and_has_the_right_maker() {
        let segment = Segment::create(4096).unwrap();
        // SAFETY: geteuid has no preconditions.
        let me = unsafe { libc::geteuid() };
        assert!(attach(segment.id(), me, me).is_ok());
        assert!(attach(segment.id(), me + 1, me).is_err());
        assert!(attach(segment.id(), me, me + 1).is_err());
        // SAFETY: makes a segment that others may read, which nobody attaches.
        let open = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o640) };
        assert!(attach(open, me, me).is_err());
        segment::remove(open);
    }
}
