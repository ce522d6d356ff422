// SPDX-License-Identifier: MIT
//! A stream file in memory, which another process may cut while it is read.
//!
//! Place in the flow: `trace` maps each file, cursors borrow its bytes. A page that the file no
//! longer has cannot be read: the kernel ends a process that tries with SIGBUS. So does a page that
//! the disk cannot give. A handler puts zeros where such a page was met, up to the end of the map,
//! and notes the place; the cursor asks at each packet and says it. Reading costs nothing for it.
//!
//! The handler is called in the middle of anything, so it takes no lock: the maps are in a list
//! that only grows, in which a place is free while its length is 0. Faults elsewhere are those of
//! whoever handled the signal before.

use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use memmap2::{Mmap, UncheckedAdvice};

/// A file's bytes.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: Mmap,
    guard: &'static Guard,
    /// Device and number of the file, which may get another name or give its name to another.
    identity: (u64, u64),
    /// When the file was written to last, and how it began.
    written: Option<SystemTime>,
    first: Vec<u8>,
}

/// Where a map is. The handler reads it.
#[derive(Debug)]
struct Guard {
    begin: AtomicUsize,
    /// 0: the place is free.
    length: AtomicUsize,
    /// Offset of the first byte that could not be read; beyond the map if there is none.
    cut: AtomicUsize,
    next: AtomicPtr<Guard>,
}

/// A fault brings not one page but those around it that are cached: usually 64 KiB, at most what
/// one table of pages covers. So it brings again what was given back before.
const FAULT_AROUND_MAX_BYTES: usize = 2 << 20;

/// How much of a file's beginning is kept: a packet's header tells traces apart.
const FIRST_BYTES: usize = 64;

static FIRST: AtomicPtr<Guard> = AtomicPtr::new(std::ptr::null_mut());
static FREE: Mutex<Vec<&'static Guard>> = Mutex::new(Vec::new());
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

impl Mapping {
    pub fn new(file: &File) -> std::io::Result<Self> {
        install_handler()?;
        // SAFETY: the map is read-only. What other processes do to the file changes bytes that are
        // read once and checked; that they cut it is what the handler is for.
        let map = unsafe { Mmap::map(file)? };
        let guard = Guard::take();
        guard.cut.store(usize::MAX, Ordering::Relaxed);
        guard.begin.store(map.as_ptr() as usize, Ordering::Relaxed);
        guard.length.store(map.len(), Ordering::Release);
        // Asked for once the length is settled: a file that grows meanwhile is longer than the map.
        let metadata = file.metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        let first = map.get(..map.len().min(FIRST_BYTES)).unwrap_or(&[]).to_vec();
        Ok(Self { map, guard, identity, written: metadata.modified().ok(), first })
    }

    /// The bytes, up to where the file was found to be cut.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let length = self.map.len().min(self.guard.cut.load(Ordering::Relaxed));
        self.map.get(..length).unwrap_or(&[])
    }

    /// How many bytes there were when the file was opened.
    pub fn whole_bytes(&self) -> usize {
        self.map.len()
    }

    /// Looks whether the file still is as long as it was, if it still has its name. Return: what is
    /// known of it then.
    pub fn look_for_cut(&self, path: &Path) -> Option<Metadata> {
        let now = std::fs::metadata(path).ok()?;
        let is_its = (now.dev(), now.ino()) == self.identity;
        let length = usize::try_from(now.len()).unwrap_or(usize::MAX);
        if is_its && length < self.map.len() {
            self.guard.cut.fetch_min(length, Ordering::Relaxed);
        }
        is_its.then_some(now)
    }

    /// Whether bytes are others than those that were mapped, as far as that shows: the file is
    /// shorter, begins with others, or was written to and is as long. One that a recorder appends
    /// to is longer, and keeps what it had.
    pub fn is_changed(&self, path: &Path) -> bool {
        let now = self.look_for_cut(path).filter(|now| now.len() == self.map.len() as u64);
        let bytes = self.bytes();
        bytes.len() < self.map.len()
            || !bytes.starts_with(&self.first)
            || now.is_some_and(|now| now.modified().ok() != self.written)
    }

    /// Gives back the memory of bytes that have been read, and of what reading them may have
    /// brought that lies before them. They can be read again.
    pub fn release(&self, bytes: Range<usize>) {
        let page = PAGE_BYTES.load(Ordering::Relaxed);
        let begin = bytes.start.saturating_sub(FAULT_AROUND_MAX_BYTES) / page * page;
        let until = bytes.end.min(self.map.len()) / page * page;
        if begin < until {
            // SAFETY: the map is shared with the file and never written to, so that its pages come
            // back with the same bytes. Advice that is not taken changes nothing.
            let _ = unsafe {
                self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, begin, until - begin)
            };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.guard.length.store(0, Ordering::Release);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.guard);
    }
}

impl Guard {
    /// A free place in the list, which has as many as there ever were maps at once.
    fn take() -> &'static Guard {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guard) = free.pop() {
            return guard;
        }
        let guard: &'static mut Guard = Box::leak(Box::new(Guard {
            begin: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            cut: AtomicUsize::new(usize::MAX),
            next: AtomicPtr::new(FIRST.load(Ordering::Relaxed)),
        }));
        let guard: &'static Guard = guard;
        // The lock is held: nobody else adds.
        FIRST.store(std::ptr::from_ref(guard).cast_mut(), Ordering::Release);
        guard
    }

    /// The place of the map that an address is in.
    fn find(address: usize) -> Option<&'static Guard> {
        let mut next = FIRST.load(Ordering::Acquire);
        // SAFETY: places are leaked, so they last; the list only grows, and ends with null.
        while let Some(guard) = unsafe { next.as_ref() } {
            let length = guard.length.load(Ordering::Acquire);
            let offset = address.wrapping_sub(guard.begin.load(Ordering::Relaxed));
            if offset < length {
                return Some(guard);
            }
            next = guard.next.load(Ordering::Relaxed);
        }
        None
    }

    /// Puts zeros from a page on up to the end of the map.
    fn fill(&self, address: usize) -> bool {
        let page = PAGE_BYTES.load(Ordering::Relaxed);
        let (begin, length) =
            (self.begin.load(Ordering::Relaxed), self.length.load(Ordering::Relaxed));
        let from = address - address % page;
        let until = (begin + length).next_multiple_of(page);
        // SAFETY: the pages are those of the map, which the guard's owner holds and only reads.
        let filled = unsafe {
            libc::mmap(
                from as *mut libc::c_void,
                until - from,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if filled == libc::MAP_FAILED {
            return false;
        }
        self.cut.fetch_min(from.saturating_sub(begin), Ordering::Relaxed);
        true
    }
}

fn install_handler() -> std::io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    // SAFETY: the structures are plain data for which zeros are valid; the handler has the form
    // that SA_SIGINFO asks for.
    unsafe {
        if let Ok(bytes @ 1..) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
            PAGE_BYTES.store(bytes, Ordering::Relaxed);
        }
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut before) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let _ = BEFORE.set(before);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        if libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    *installed = true;
    Ok(())
}

/// Called where a page cannot be read. After it the same instruction runs again.
extern "C" fn on_bus_error(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands over what SA_SIGINFO promises. errno is the interrupted code's.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        let address = (*info).si_addr() as usize;
        let is_filled = Guard::find(address).is_some_and(|guard| guard.fill(address));
        *errno = kept;
        if is_filled {
            return;
        }
        hand_on(signal, info, context);
    }
}

/// Leaves a signal that is not about a map to whoever handled it before.
///
/// # Safety
///
/// Only for a handler, with what the kernel gave it.
unsafe fn hand_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    type Plain = extern "C" fn(libc::c_int);
    let before = BEFORE.get();
    match before.map(|before| (before.sa_sigaction, before.sa_flags & libc::SA_SIGINFO != 0)) {
        // SAFETY: an address that sigaction gave is that of a handler of the form that its flags
        // tell, or one of the two numbers that the other arms are for.
        Some((handler, true)) if handler > libc::SIG_IGN => unsafe {
            std::mem::transmute::<usize, WithInfo>(handler)(signal, info, context);
        },
        // SAFETY: as above.
        Some((handler, false)) if handler > libc::SIG_IGN => unsafe {
            std::mem::transmute::<usize, Plain>(handler)(signal);
        },
        // The same instruction fails again, and this time it ends the process.
        // SAFETY: no memory of this process is involved.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}
