// SPDX-License-Identifier: MIT
//! A System V shared memory segment: memory that no process can make smaller under another's
//! feet, that is gone from nobody's view until its last user detaches, and that outlives a
//! recorder that was killed (docs/adr/0010).
//!
//! Place in the flow: `memory` makes one per user, `directory` says where each is found. A segment
//! outlives its maker, so it is named in a session's directory, by its key, before it is made: a
//! maker that is killed at any moment leaves no segment that no session names.

use crate::error::{Error, Result};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many keys are tried. Each is free, unless one of up to some thousand others is the same of
/// 2^31.
const KEYS_MAX: u32 = 16;

/// A segment attached to this process. Detached when dropped; its maker also removes it.
#[derive(Debug)]
pub struct Segment {
    id: i32,
    base: NonNull<u8>,
    bytes: u64,
    remove: AtomicBool,
}

// SAFETY: the memory may be used from any thread; what is in it is reached through atomics, or
// copied and checked.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// What the kernel knows of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    pub bytes: u64,
    pub user: u32,
    pub creator: u32,
    /// Permissions, as of a file.
    pub mode: u32,
    /// Processes that have it attached.
    pub attached: u64,
}

impl Segment {
    /// Makes a segment of zeros that only this user can attach. `name` writes its key down where
    /// it will be found after a kill, and is called before there is a segment; again, with another
    /// key, where someone has that key. Memory is given to the segment as it is used, or by
    /// [`Segment::populate`].
    pub fn create(bytes: u64, name: impl FnMut(i32) -> Result<()>) -> Result<Self> {
        let failed = |source: io::Error| Error::Segment { source };
        let size = usize::try_from(bytes).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        let id = make(size, name)?;
        attach(id)
            .map(|base| Self { id, base, bytes, remove: true.into() })
            .inspect_err(|_| remove(id))
            .map_err(failed)
    }

    /// Attaches a segment that someone else made. The caller has looked at its [`Status`].
    pub fn attach(id: i32) -> io::Result<Self> {
        let mut segment = Self { id, base: attach(id)?, bytes: 0, remove: false.into() };
        segment.bytes = status(id)?.bytes;
        Ok(segment)
    }

    pub fn id(&self) -> i32 {
        self.id
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// From now on the segment is removed when this is dropped.
    pub fn take_over(&self) {
        self.remove.store(true, Ordering::Relaxed);
    }

    /// From now on the segment stays when this is dropped.
    pub fn leave(&self) {
        self.remove.store(false, Ordering::Relaxed);
    }

    /// From now on the segment is another user's, and this one's as its maker. Root may do that.
    pub fn give(&self, user: u32) -> io::Result<()> {
        // SAFETY: an all-zero structure is valid, is filled in for its size, and given back.
        let rc = unsafe {
            let mut found: libc::shmid_ds = std::mem::zeroed();
            match libc::shmctl(self.id, libc::IPC_STAT, &mut found) {
                0 => {
                    found.shm_perm.uid = user;
                    libc::shmctl(self.id, libc::IPC_SET, &mut found)
                }
                failed => failed,
            }
        };
        match rc {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Gives memory to a range, so that writing to it cannot fail. The range must lie in the
    /// segment.
    pub fn populate(&self, begin: u64, bytes: u64) -> io::Result<()> {
        let page = page_bytes();
        let until = begin.checked_add(bytes).filter(|until| *until <= self.bytes);
        let Some(until) = until else { return Err(io::ErrorKind::InvalidInput.into()) };
        let begin = begin - begin % page;
        // SAFETY: the range was checked to lie in the segment, which is attached.
        let rc = unsafe {
            let from = self.as_ptr().add(begin as usize);
            libc::madvise(from.cast(), (until - begin) as usize, libc::MADV_POPULATE_WRITE)
        };
        let error = match rc {
            0 => return Ok(()),
            _ => io::Error::last_os_error(),
        };
        match error.raw_os_error() {
            // Kernels before 5.14: a page that cannot be had then ends us, not the programs.
            Some(libc::EINVAL) => self.touch(begin, until, page),
            Some(libc::EFAULT | libc::EHWPOISON) => return Err(io::ErrorKind::OutOfMemory.into()),
            _ => return Err(error),
        }
        Ok(())
    }

    /// Writes each page's first word back to it, in one step with the read, so that the page gets
    /// memory and no store of another process is lost.
    fn touch(&self, begin: u64, until: u64, page: u64) {
        for at in (begin..until).step_by(page as usize) {
            // SAFETY: `at` is a page boundary in the segment, which populate() checked.
            let word =
                unsafe { &*self.as_ptr().add(at as usize).cast::<std::sync::atomic::AtomicU64>() };
            // Compilers make a plain read of an addition of nothing, but not of this. Where it
            // fails, another process has stored, and so the page is there.
            let found = word.load(Ordering::Relaxed);
            let _ = word.compare_exchange(found, found, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // Before it is detached, which takes long: nothing else would remove it after a kill.
        if self.remove.load(Ordering::Relaxed) {
            remove(self.id);
        }
        // SAFETY: the address is that of our attachment, which nobody uses any more.
        unsafe { libc::shmdt(self.base.as_ptr().cast()) };
    }
}

/// Makes a segment under a key that no other segment has.
fn make(size: usize, mut name: impl FnMut(i32) -> Result<()>) -> Result<i32> {
    let flags = libc::IPC_CREAT | libc::IPC_EXCL | libc::SHM_NORESERVE | 0o600;
    let mut attempts = KEYS_MAX;
    loop {
        let key = random_key().map_err(|source| Error::Segment { source })?;
        name(key)?;
        // SAFETY: no memory is passed.
        let id = unsafe { libc::shmget(key, size, flags) };
        if id >= 0 {
            return Ok(id);
        }
        attempts -= 1;
        let source = io::Error::last_os_error();
        if source.raw_os_error() != Some(libc::EEXIST) || attempts == 0 {
            return Err(Error::Segment { source });
        }
    }
}

/// A key that says nothing to anybody, from 1.
fn random_key() -> io::Result<i32> {
    let mut key = 0i32;
    // SAFETY: the number is writable for its size.
    let bytes = unsafe { libc::getrandom((&raw mut key).cast(), size_of::<i32>(), 0) };
    match usize::try_from(bytes) {
        Ok(bytes) if bytes == size_of::<i32>() => Ok((key & i32::MAX).max(1)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The segment that has a key. Return: its identifier.
pub fn find(key: i32) -> io::Result<i32> {
    // SAFETY: no memory is passed.
    match unsafe { libc::shmget(key, 0, 0) } {
        id if id >= 0 => Ok(id),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the kernel says of segment `id`.
pub fn status(id: i32) -> io::Result<Status> {
    // SAFETY: an all-zero structure is valid, and is filled in for its size.
    let found = unsafe {
        let mut found: libc::shmid_ds = std::mem::zeroed();
        if libc::shmctl(id, libc::IPC_STAT, &mut found) != 0 {
            return Err(io::Error::last_os_error());
        }
        found
    };
    Ok(Status {
        bytes: found.shm_segsz as u64,
        user: found.shm_perm.uid,
        creator: found.shm_perm.cuid,
        mode: u32::from(found.shm_perm.mode) & 0o777,
        attached: found.shm_nattch,
    })
}

/// Removes a segment: no process can attach it any more; the last to detach frees its memory.
pub fn remove(id: i32) {
    // SAFETY: no memory is passed.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
}

fn attach(id: i32) -> io::Result<NonNull<u8>> {
    // SAFETY: the kernel chooses an address where nothing is.
    let base = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    if base as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

fn page_bytes() -> u64 {
    // SAFETY: no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

#[cfg(test)]
impl Segment {
    /// A segment of a test, which no session names.
    pub fn unnamed(bytes: u64) -> Self {
        Self::create(bytes, |_| Ok(())).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_named_before_it_is_made_and_found_by_that_name() {
        let mut keys = Vec::new();
        let name = |key| {
            assert!(find(key).is_err());
            keys.push(key);
            // Someone is quicker with the first two.
            let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
            // SAFETY: no memory is passed.
            assert!(keys.len() > 2 || unsafe { libc::shmget(key, 4096, flags) } >= 0);
            Ok(())
        };
        let segment = Segment::create(8192, name).unwrap();
        assert_eq!(keys.len(), 3);
        assert_eq!(find(keys[2]).unwrap(), segment.id());
        assert_eq!(status(segment.id()).unwrap().bytes, 8192);
        keys[..2].iter().for_each(|key| remove(find(*key).unwrap()));
        drop(segment);
        assert!(find(keys[2]).is_err());
    }

    #[test]
    fn maker_gives_up_when_as_many_keys_were_taken_as_are_tried() {
        let mut taken = Vec::new();
        let name = |key| {
            assert!(taken.len() < KEYS_MAX as usize);
            // SAFETY: no memory is passed.
            taken
                .push(unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) });
            Ok(())
        };
        let made = Segment::create(4096, name);
        taken.iter().for_each(|id| remove(*id));
        let Err(Error::Segment { source }) = made else { panic!("no key was free") };
        assert_eq!((taken.len(), source.raw_os_error()), (16, Some(libc::EEXIST)));
    }

    #[test]
    fn keys_are_positive_and_different() {
        let keys: std::collections::HashSet<i32> = (0..64).map(|_| random_key().unwrap()).collect();
        assert!(keys.len() > 60 && keys.iter().all(|key| *key > 0), "{keys:?}");
    }

    #[test]
    fn segment_that_is_gone_or_too_large_is_an_error() {
        assert!(attach(-1).is_err() && Segment::attach(-1).is_err());
        let huge = Segment::create(u64::MAX / 2, |_| Ok(()));
        assert!(matches!(huge, Err(Error::Segment { .. })));
    }

    #[test]
    fn segment_that_cannot_be_named_is_not_made() {
        let mut named = 0;
        let name = |key| {
            named = key;
            Err(Error::NoDirectory { tried: String::new() })
        };
        assert!(matches!(Segment::create(4096, name), Err(Error::NoDirectory { .. })));
        assert!(find(named).is_err());
    }

    #[test]
    fn segment_is_its_users_alone_and_gone_when_its_maker_drops_it() {
        let segment = Segment::unnamed(1 << 20);
        let found = status(segment.id()).unwrap();
        // SAFETY: no preconditions.
        let me = unsafe { libc::geteuid() };
        assert_eq!((found.bytes, found.user, found.creator), (1 << 20, me, me));
        assert_eq!((found.mode, found.attached), (0o600, 1));
        let id = segment.id();
        drop(segment);
        assert!(status(id).is_err());
    }

    #[test]
    fn memory_stays_for_who_has_it_attached_and_the_segment_for_who_takes_it_over() {
        let made = Segment::unnamed(8192);
        let other = Segment::attach(made.id()).unwrap();
        assert_eq!(other.bytes(), 8192);
        let id = made.id();
        // SAFETY: both addresses are of the same 8192 bytes.
        unsafe { made.as_ptr().write_volatile(7) };
        drop(made);
        // SAFETY: attached still.
        assert_eq!(unsafe { other.as_ptr().read_volatile() }, 7);
        other.take_over();
        drop(other);
        assert!(status(id).is_err());
    }

    fn is_resident(segment: &Segment, page: usize) -> bool {
        let mut state = [0u8];
        let at = segment.as_ptr().wrapping_add(page * 4096);
        // SAFETY: one page of the segment, and one byte for it.
        assert_eq!(unsafe { libc::mincore(at.cast(), 4096, state.as_mut_ptr()) }, 0);
        state[0] & 1 == 1
    }

    #[test]
    fn each_page_that_a_range_touches_gets_memory_and_keeps_what_it_held() {
        assert_eq!(page_bytes(), 4096, "as the rest of this test has it");
        let segment = Segment::unnamed(6 * 4096);
        segment.populate(4096 + 100, 4096).unwrap();
        let resident = |pages: [usize; 6]| pages.map(|page| is_resident(&segment, page));
        assert_eq!(resident([0, 1, 2, 3, 4, 5]), [false, true, true, false, false, false]);
        // SAFETY: the segment is the test's own.
        unsafe { segment.as_ptr().add(4 * 4096).write(9) };
        segment.touch(3 * 4096, 5 * 4096, 4096);
        assert_eq!(resident([0, 1, 2, 3, 4, 5]), [false, true, true, true, true, false]);
        // SAFETY: as above.
        assert_eq!(unsafe { segment.as_ptr().add(4 * 4096).read() }, 9);
    }

    #[test]
    fn range_outside_of_the_segment_is_given_no_memory() {
        let segment = Segment::unnamed(8192);
        assert!(segment.populate(0, 8192).is_ok());
        assert!(segment.populate(4096, 8192).is_err());
        assert!(segment.populate(u64::MAX, 2).is_err());
    }
}
