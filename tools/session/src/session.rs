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
        let (memory, directory) = in_directory(|name| Memory::create(plan, name))?;
        memory.fill_in(plan);
        Ok(Self { directory, memory: Arc::new(memory) })
    }

    /// Finds out whether a session with a segment of this size can be made.
    pub fn attempt(bytes: u64) -> Result<()> {
        in_directory(|name| Segment::create(bytes, name)).map(|_| ())
    }

    /// The memory of users whose processes have joined, but for those `known`. Only root's
    /// processes can become another user's, and then make that user's memory.
    pub fn newcomers(&self, known: &[u32]) -> Vec<Result<Memory>> {
        let own = self.memory.fixed();
        if own.user_id != ROOT {
            return Vec::new();
        }
        let links = self.directory.memories().into_iter();
        let new = links.filter_map(|link| link.user.map(|user_id| (user_id, link.key)));
        let new = new.filter(|(user_id, _)| !known.contains(user_id));
        let adopt = |(index, (user_id, key)): (usize, (u32, i32))| {
            let memory = self.adopt(key, user_id, (known.len() + index) as u32)?;
            memory.take_over();
            memory.populate_start().map_err(|source| Error::Populate { source })?;
            Ok(memory)
        };
        new.enumerate().map(adopt).collect()
    }

    /// The memory of another user, which processes made that had been the recorder's user's.
    pub fn adopt(&self, key: i32, user_id: u32, stream_id: u32) -> Result<Memory> {
        let own = self.memory.fixed();
        let segment = attach(key, user_id, own.user_id)?;
        Memory::adopt(ControlFixed { user_id, stream_id, ..*own }, segment)
    }

    /// Opens a session that a killed recorder left behind. It stays until it is taken over.
    pub fn reopen(path: &Path) -> Result<Self> {
        let directory = Directory::reopen(path)?;
        let own = directory.memories().into_iter().find(|link| link.user.is_none());
        let no_memory = || Error::Left { path: path.into(), why: "it names no memory" };
        let key = own.ok_or_else(no_memory)?.key;
        // SAFETY: geteuid has no preconditions.
        let me = unsafe { libc::geteuid() };
        let segment = attach(key, me, me).map_err(|error| match error {
            Error::Segment { source } if is_gone(&source) => Error::Gone { path: path.into() },
            other => other,
        })?;
        let memory = left::memory(path, segment)?;
        Ok(Self { directory, memory: Arc::new(memory) })
    }

    /// Removes a session that a killed recorder left behind, and what it holds.
    pub fn discard(path: &Path) -> Result<()> {
        let directory = Directory::reopen(path)?;
        directory.memories().into_iter().for_each(|link| remove(link.key));
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

impl Drop for Session {
    fn drop(&mut self) {
        if self.memory.fixed().user_id == ROOT && self.directory.is_taken_over() {
            // A process that was killed while it made its new user's memory left them.
            self.directory.unfinished().into_iter().for_each(remove);
        }
    }
}

/// Makes a session's directory, in the first place where one can be made, and in it what has a
/// segment of the name given. Dropped in the order of the pair, the directory names the segment
/// until it is removed.
fn in_directory<T>(
    mut make: impl FnMut(&mut dyn FnMut(i32) -> Result<()>) -> Result<T>,
) -> Result<(T, Directory)> {
    let mut tried = Vec::new();
    for base in bases() {
        let made = Directory::create(&base).and_then(|directory| {
            let memory = make(&mut |key| directory.link_memory(key))?;
            Ok((memory, directory))
        });
        match made {
            Err(error @ Error::Io { .. }) => tried.push(error.to_string()),
            other => return other,
        }
    }
    Err(Error::NoDirectory { tried: tried.join("; ") })
}

/// Removes the segment of a key, if it is this user's, or this user made it for another.
fn remove(key: i32) {
    // SAFETY: geteuid has no preconditions.
    let me = unsafe { libc::geteuid() };
    let is_ours = |found: segment::Status| {
        (found.user == me || found.creator == me) && found.mode & OTHERS_MODE == 0
    };
    let Ok(id) = segment::find(key) else { return };
    if segment::status(id).is_ok_and(is_ours) {
        segment::remove(id);
    }
}

/// Whether there is no such segment any more.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINVAL | libc::EIDRM))
}

/// Attaches a segment that is one user's alone and that `creator` made.
fn attach(key: i32, user: u32, creator: u32) -> Result<Segment> {
    let failed = |source: io::Error| Error::Segment { source };
    let id = segment::find(key).map_err(failed)?;
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
        let mut key = 0;
        let name = |named| {
            key = named;
            Ok(())
        };
        let segment = Segment::create(4096, name).unwrap();
        // SAFETY: geteuid has no preconditions.
        let me = unsafe { libc::geteuid() };
        assert!(attach(key, me, me).is_ok());
        assert!(attach(key, me + 1, me).is_err());
        assert!(attach(key, me, me + 1).is_err());
        drop(segment);
        // SAFETY: makes a segment that others may read, which nobody attaches.
        let open = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o640) };
        assert!(open >= 0 && attach(key, me, me).is_err());
        segment::remove(open);
    }
}
