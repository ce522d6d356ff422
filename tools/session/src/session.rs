// SPDX-License-Identifier: MIT
//! A session: its directory, and the memory of the recorder's own user.
//!
//! Place in the flow: `lull record` makes one and hands it to the consumer.

use crate::abi::ControlFixed;
use crate::directory::{base_within, bases, within, Directory};
use crate::error::{Error, Result};
use crate::layout::Plan;
use crate::left;
use crate::memory::Memory;
use crate::segment::{self, Segment};
use std::io;
use std::path::{Path, PathBuf};
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
        Self::create_in(bases(), plan)
    }

    /// Makes another session in the directory of this one: whoever removes this one's removes the
    /// other's with it.
    pub fn create_within(&self, plan: &Plan) -> Result<Self> {
        Self::create_in(base_within(self.path()), plan)
    }

    fn create_in(bases: Vec<PathBuf>, plan: &Plan) -> Result<Self> {
        let (memory, directory) = in_directory(bases, |name| Memory::create(plan, name))?;
        memory.fill_in(plan);
        Ok(Self { directory, memory: Arc::new(memory) })
    }

    /// Finds out whether a session with a segment of this size can be made.
    pub fn attempt(bytes: u64) -> Result<()> {
        in_directory(bases(), |name| Segment::create(bytes, name)).map(|_| ())
    }

    /// Users whose processes have joined, but for those `known`, each with the key of its memory.
    /// Only root's processes can become another user's, and then make that user's memory.
    pub fn newcomers(&self, known: &[u32]) -> Vec<(u32, i32)> {
        if self.memory.fixed().user_id != ROOT {
            return Vec::new();
        }
        let links = self.directory.memories().into_iter();
        let users = links.filter_map(|link| link.user.map(|user_id| (user_id, link.key)));
        users.filter(|(user_id, _)| !known.contains(user_id)).collect()
    }

    /// The memory of a newcomer, from now on this process's to remove. `stream_id`: the stream
    /// class that its events are to have.
    pub fn meet(&self, (user_id, key): (u32, i32), stream_id: u32) -> Result<Memory> {
        let memory = self.adopt(key, user_id, stream_id)?;
        memory.take_over();
        let failed = |source| Error::Populate { source };
        memory.populate_start().and_then(|()| memory.populate_filters()).map_err(failed)?;
        Ok(memory)
    }

    /// Makes memory for another user, whose processes do not find it before it is published. Only
    /// root can give memory away.
    pub fn provide(&self, plan: &Plan, user_id: u32, stream_id: u32) -> Result<(Memory, i32)> {
        let mut named = 0;
        let made = Memory::create_for(plan, user_id, stream_id, |key| {
            self.directory.unlink_unfinished(user_id);
            named = key;
            self.directory.link_unfinished(user_id, key)
        });
        Ok((made?, named))
    }

    /// From now on a user's processes find the memory of this key. Return: false where a process
    /// has made some meanwhile, which is a newcomer then.
    pub fn publish(&self, user_id: u32, key: i32) -> Result<bool> {
        self.directory.link_user(user_id, key)
    }

    /// Forgets what was being made for a user, which is published or was removed.
    pub fn forget_unfinished(&self, user_id: u32) {
        self.directory.unlink_unfinished(user_id);
    }

    /// The memory of another user, which processes made that had been the recorder's user's.
    pub fn adopt(&self, key: i32, user_id: u32, stream_id: u32) -> Result<Memory> {
        let own = self.memory.fixed();
        let segment = attach(key, user_id, own.user_id)?;
        let counts = self.memory.counts_layout();
        let memory = Memory::adopt(ControlFixed { user_id, stream_id, ..*own }, segment)?;
        Ok(memory.counting(counts).recording(self.memory.recorded()))
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

    /// A session of memory that no directory named, such as a crash leaves, for `lull recover`.
    pub fn of_memory(memory: Memory) -> Result<Self> {
        let ((), directory) = in_directory(bases(), |_| Ok(()))?;
        Ok(Self { directory, memory: Arc::new(memory) })
    }

    /// Removes a session that a killed recorder left behind, and what it holds.
    pub fn discard(path: &Path) -> Result<()> {
        Self::discard_within(path);
        Self::discard_alone(path)
    }

    fn discard_alone(path: &Path) -> Result<()> {
        let directory = Directory::reopen(path)?;
        directory.memories().into_iter().for_each(|link| remove(link.key));
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } == ROOT {
            directory.unfinished().into_iter().for_each(remove);
        }
        directory.take_over();
        Ok(())
    }

    /// Removes the sessions in a killed recorder's session directory: what they held was for that
    /// recorder only. Programs are told that they have ended.
    pub fn discard_within(path: &Path) {
        for path in within(path) {
            match Self::reopen(&path) {
                Ok(session) => {
                    let users = session.directory.memories();
                    let users = users.iter().filter_map(|link| Some((link.user?, link.key)));
                    for (user, key) in users {
                        match session.adopt(key, user, 0) {
                            Ok(memory) => {
                                memory.set_active(false);
                                memory.end();
                                memory.take_over();
                            }
                            // It was not finished, or a process wrote over it.
                            Err(_) => remove(key),
                        }
                    }
                    session.memory.set_active(false);
                    session.memory.end();
                    session.take_over();
                }
                Err(_) => {
                    let _ = Self::discard_alone(&path);
                }
            }
        }
    }

    /// From now on directory and own memory are removed when this is dropped.
    pub fn take_over(&self) {
        self.directory.take_over();
        self.memory.take_over();
    }

    /// From now on both stay when this is dropped, as those of a killed recorder do.
    pub fn leave(&self) {
        self.directory.leave();
        self.memory.leave();
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
    bases: Vec<PathBuf>,
    mut make: impl FnMut(&mut dyn FnMut(i32) -> Result<()>) -> Result<T>,
) -> Result<(T, Directory)> {
    let mut tried = Vec::new();
    for base in bases {
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
    use crate::context::Recorded;
    use std::fs as files;
    use std::os::unix::fs::{symlink, DirBuilderExt};
    use std::path::PathBuf;

    const OTHER: u32 = 65534;

    fn me() -> u32 {
        // SAFETY: geteuid has no preconditions.
        unsafe { libc::geteuid() }
    }

    /// A session, and what a kill of its recorder would leave of its directory.
    fn left() -> (Session, PathBuf) {
        let session = Session::create(&Plan::small()).unwrap();
        let left = session.path().with_extension("left");
        files::DirBuilder::new().mode(0o700).create(&left).unwrap();
        files::copy(session.path().join("recorder"), left.join("recorder")).unwrap();
        link_copy(session.path(), &left);
        (session, left)
    }

    fn link_copy(from: &Path, to: &Path) {
        let target = files::read_link(from.join("memory")).unwrap();
        symlink(target, to.join("memory")).unwrap();
    }

    /// A segment of this process's making. Return: its key.
    fn segment_of(user: u32, bytes: u64, mode: i32) -> i32 {
        let key = free_key();
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | mode;
        // SAFETY: an all-zero structure is valid, and is filled in before it is used.
        unsafe {
            let id = libc::shmget(key, bytes as usize, flags);
            let mut status: libc::shmid_ds = std::mem::zeroed();
            assert_eq!(libc::shmctl(id, libc::IPC_STAT, &mut status), 0);
            status.shm_perm.uid = user;
            assert_eq!(libc::shmctl(id, libc::IPC_SET, &mut status), 0);
        }
        key
    }

    fn free_key() -> i32 {
        let mut free = 0;
        Segment::create(4096, |key| {
            free = key;
            Ok(())
        })
        .unwrap();
        free
    }

    #[test]
    fn session_is_found_by_its_directory_and_gone_with_it() {
        let session = Session::create(&Plan::small()).unwrap();
        let links = session.directory.memories();
        assert!(links.len() == 1 && links[0].user.is_none());
        assert_eq!(segment::find(links[0].key).ok(), session.memory.id());
        assert!(session.memory.is_active() && session.directory.reachable());
        let (path, id) = (session.path().to_path_buf(), session.memory.id().unwrap());
        assert!(path.is_dir());
        drop(session);
        assert!(!path.exists() && segment::status(id).is_err());
    }

    #[test]
    fn attempt_tells_whether_a_session_can_be_made() {
        assert!(Session::attempt(4096).is_ok());
        assert!(matches!(Session::attempt(u64::MAX / 2), Err(Error::Segment { .. })));
    }

    #[test]
    fn every_directory_is_tried_and_another_error_ends_the_search() {
        let mut places = 0;
        let refused = in_directory(bases(), |name| -> Result<()> {
            places += 1;
            name(1)?;
            Err(Error::io("fill", format!("place {places}"))(io::ErrorKind::Other.into()))
        });
        let Err(Error::NoDirectory { tried }) = refused else { panic!("{refused:?}") };
        assert_eq!(places, bases().len());
        assert!((1..=places).all(|place| tried.contains(&format!("place {place}"))), "{tried}");
        let mut places = 0;
        let ended = in_directory(bases(), |_| -> Result<()> {
            places += 1;
            Err(Error::Memory { needed_bytes: 1, free_bytes: 0, left_bytes: 0 })
        });
        assert!(matches!(ended, Err(Error::Memory { .. })) && places == 1);
    }

    #[test]
    fn left_session_stays_until_it_is_taken_over() {
        let (made, left) = left();
        assert!(matches!(Session::reopen(made.path()), Err(Error::Left { .. })), "it is recorded");
        assert!(Session::discard(made.path()).is_err() && made.path().exists());
        for _ in 0..2 {
            let again = Session::reopen(&left).unwrap();
            assert_eq!((again.path(), again.memory.fixed()), (&*left, made.memory.fixed()));
            assert!(Session::reopen(&left).is_err(), "another process is at work on it");
        }
        let key = made.directory.memories()[0].key;
        assert!(left.exists() && segment::find(key).is_ok());
        let taken = Session::reopen(&left).unwrap();
        taken.take_over();
        taken.leave();
        drop(taken);
        assert!(left.exists() && segment::find(key).is_ok());
        Session::reopen(&left).unwrap().take_over();
        assert!(!left.exists() && segment::find(key).is_err());
    }

    #[test]
    fn left_session_can_be_discarded_with_its_memory_or_when_that_is_gone() {
        let (made, left) = left();
        let key = made.directory.memories()[0].key;
        let again = left.with_extension("again");
        files::DirBuilder::new().mode(0o700).create(&again).unwrap();
        link_copy(&left, &again);
        Session::discard(&left).unwrap();
        assert!(!left.exists() && segment::find(key).is_err());
        drop(made);
        let reopened = Session::reopen(&again);
        assert!(matches!(reopened, Err(Error::Gone { .. })), "{reopened:?}");
        files::remove_file(again.join("memory")).unwrap();
        let reopened = Session::reopen(&again).unwrap_err().to_string();
        assert!(reopened.contains("names no memory"), "{reopened}");
        Session::discard(&again).unwrap();
        assert!(!again.exists());
    }

    #[test]
    fn session_within_one_that_was_left_is_discarded_with_the_memory_of_all_its_users() {
        let outer = Session::create(&Plan::small()).unwrap();
        let inner = outer.create_within(&Plan::small()).unwrap();
        let left = inner.path().with_extension("left");
        files::DirBuilder::new().mode(0o700).create(&left).unwrap();
        files::copy(inner.path().join("recorder"), left.join("recorder")).unwrap();
        link_copy(inner.path(), &left);
        let mut keys = vec![inner.directory.memories()[0].key];
        if me() == ROOT {
            let (memory, key) = inner.provide(&Plan::small(), OTHER, 3).unwrap();
            symlink(format!("key:{key}"), left.join(format!("memory-{OTHER}"))).unwrap();
            let whole = memory.id();
            std::mem::forget(memory); // as a kill would
            let other = segment_of(OTHER - 1, 4096, 0o600);
            symlink(format!("key:{other}"), left.join(format!("memory-{}", OTHER - 1))).unwrap();
            assert_eq!(segment::find(key).ok(), whole);
            keys.extend([key, other]);
        }
        Session::discard_within(outer.path());
        assert!(!left.exists());
        assert!(keys.iter().all(|key| segment::find(*key).is_err()));
        assert!(inner.path().exists(), "its recorder lives");
    }

    #[test]
    fn only_what_is_ours_alone_is_removed_by_its_key() {
        let is_removed = |key| {
            remove(key);
            segment::find(key).is_err_and(|error| is_gone(&error))
        };
        assert!(is_removed(segment_of(me(), 4096, 0o600)));
        let shared = segment_of(me(), 4096, 0o640);
        assert!(!is_removed(shared));
        segment::remove(segment::find(shared).unwrap());
        if me() == ROOT {
            assert!(is_removed(segment_of(OTHER, 4096, 0o600)), "we made it");
        }
        assert!(!is_gone(&io::Error::from_raw_os_error(libc::EACCES)));
    }

    #[test]
    fn memory_that_is_made_for_another_user_is_found_only_when_it_is_published() {
        let session = Session::create(&Plan::small()).unwrap();
        if me() != ROOT {
            assert!(session.provide(&Plan::small(), OTHER, 3).is_err());
            return;
        }
        let (memory, key) = session.provide(&Plan::small(), OTHER, 3).unwrap();
        assert!(session.newcomers(&[ROOT]).is_empty());
        assert_eq!(session.directory.unfinished(), [key], "a kill leaves it named");
        let found = segment::status(segment::find(key).unwrap()).unwrap();
        assert_eq!((found.user, found.creator, found.mode), (OTHER, ROOT, 0o600));
        let own = *session.memory.fixed();
        assert_eq!(*memory.fixed(), ControlFixed { user_id: OTHER, stream_id: 3, ..own });
        assert!(session.publish(OTHER, key).unwrap());
        session.forget_unfinished(OTHER);
        assert_eq!(session.newcomers(&[ROOT]), [(OTHER, key)]);
        assert!(session.directory.unfinished().is_empty());
        // A process was quicker.
        let (second, other) = session.provide(&Plan::small(), OTHER, 4).unwrap();
        assert!(!session.publish(OTHER, other).unwrap());
        session.forget_unfinished(OTHER);
        drop(second);
        assert!(segment::find(other).is_err() && segment::find(key).is_ok());
        drop(memory);
        assert!(segment::find(key).is_err());
    }

    #[test]
    fn memory_of_another_user_is_met_where_it_has_the_layout_of_our_own() {
        let recorded = Recorded { contexts: 1, user_frames: 3, copy_bytes: 16 };
        let session = Session::create(&Plan { recorded, ..Plan::small() }).unwrap();
        let bytes = session.memory.fixed().memory_bytes;
        let link = |user: u32, key: i32| {
            symlink(format!("key:{key}"), session.path().join(format!("memory-{user}"))).unwrap();
        };
        if me() != ROOT {
            link(OTHER, 1);
            assert!(session.newcomers(&[me()]).is_empty());
            return;
        }
        let whole = segment_of(OTHER, bytes, 0o600);
        let small = segment_of(OTHER - 1, bytes - 4096, 0o600);
        link(OTHER, whole);
        link(OTHER - 1, small);
        assert_eq!(session.newcomers(&[ROOT, OTHER - 1]), [(OTHER, whole)]);
        assert!(session.newcomers(&[ROOT, OTHER, OTHER - 1]).is_empty());
        let mut all = session.newcomers(&[ROOT]);
        all.sort_unstable();
        assert_eq!(all, [(OTHER - 1, small), (OTHER, whole)]);
        let memory = session.meet(all[1], 3).unwrap();
        let own = *session.memory.fixed();
        assert_eq!(*memory.fixed(), ControlFixed { user_id: OTHER, stream_id: 3, ..own });
        assert_eq!(memory.recorded(), recorded);
        assert!(session.meet(all[0], 4).is_err());
        drop(memory);
        assert!(segment::find(whole).is_err() && segment::find(small).is_ok());
        remove(small);
    }

    #[test]
    fn memory_that_a_killed_process_was_making_is_removed_with_roots_session() {
        let session = Session::create(&Plan::small()).unwrap();
        let key = segment_of(me(), 4096, 0o600);
        symlink(format!("key:{key}"), session.path().join(format!("memory-1000.{key}"))).unwrap();
        drop(session);
        assert_eq!(segment::find(key).is_err(), me() == ROOT);
        remove(key);
        // but not with one that is only looked at
        let (_made, left) = left();
        let key = segment_of(me(), 4096, 0o600);
        symlink(format!("key:{key}"), left.join(format!("memory-1000.{key}"))).unwrap();
        drop(Session::reopen(&left).unwrap());
        assert!(segment::find(key).is_ok());
        Session::discard(&left).unwrap();
        remove(key);
    }

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
