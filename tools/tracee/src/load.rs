// SPDX-License-Identifier: MIT
//! A library loaded into the process, by a thread that holds none of the locks which that takes.
//!
//! Place in the flow: before the library's functions can be called. To load a library the dynamic
//! linker takes its own lock, the allocator's, and that of the list of threads. A thread that is
//! stopped while it holds one of them would wait for itself, or find what the lock protects half
//! changed. Which locks a thread holds cannot be seen, but where it is can: its instruction, and
//! the return addresses on its stack. What looks like one and was left by a former call is told by
//! the tables for unwinding (`unwind`); where these do not tell, it means another thread, or a
//! later moment.

use crate::calls;
use crate::maps::Mapping;
use crate::symbols::{self, Object};
use crate::unwind::Unwinder;
use crate::visit::{Stopped, Visit};
use crate::{start, threads, Error, Memory, Result, Tracee};
use std::ffi::CStr;
use std::path::Path;
use std::time::{Duration, Instant};

/// How much of a stack is looked at, from its top.
const STACK_BYTES_MAX: u64 = 64 << 10;
const OBJECTS_MAX: usize = 1024;
/// Between two looks at a process that is loading libraries.
const PAUSE: Duration = Duration::from_millis(2);
/// `RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE`: libraries that come later shall find it.
const FLAGS: u64 = 0x2 | 0x100 | 0x1000;
/// The functions of an allocator, as programs call it.
const ALLOCATOR: [&str; 12] = [
    "malloc",
    "free",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "malloc_trim",
    "mallinfo",
];

/// What loads libraries in a process, and where a thread must not be meanwhile.
pub struct Loader {
    open: u64,
    error: Option<u64>,
    errno: u64,
    linker: Vec<(u64, u64)>,
    allocator: Vec<(u64, u64)>,
    /// The C library's own allocator, which is among the others.
    own_allocator: Option<(u64, u64)>,
    c_library: Vec<(u64, u64)>,
    /// The program has an allocator of its own, among its other code.
    is_allocator_anywhere: bool,
    mappings: Vec<Mapping>,
    unwinder: Unwinder,
}

impl Loader {
    /// Looks at the process, once its dynamic linker has loaded its libraries. Its C library is
    /// glibc, or it is refused.
    pub fn find(tracee: &Tracee, patience: Duration) -> Result<Self> {
        let deadline = Instant::now() + patience;
        let pid = tracee.pid();
        while start::is_loading(tracee, &tracee.mappings()?) {
            if Instant::now() >= deadline {
                return Err(Error::Loading { pid });
            }
            std::thread::sleep(PAUSE);
        }
        // Only what is mapped now is all of it.
        let mappings = tracee.mappings()?;
        let memory = tracee.memory();
        let named = |fits: &dyn Fn(&str) -> bool| symbols::find(tracee, &mappings, fits);
        let has_linker = mappings.iter().any(|one| is_linker(one.file_name()));
        let library = match named(&|name| name == "libc.so.6" || is_old_library(name)) {
            Some(library) => library,
            None if has_linker => return Err(Error::OtherLibrary { pid }),
            None => return Err(Error::Static { pid }),
        };
        let function = |object: &Object, name| object.function(memory, name).map(|f| f.address);
        let older = named(&|name| name == "libdl.so.2" || name.starts_with("libdl-2."));
        let open = function(&library, "dlopen")
            .or_else(|| older.as_ref().and_then(|older| function(older, "dlopen")))
            .or_else(|| function(&library, "__libc_dlopen_mode"));
        let error = function(&library, "dlerror")
            .or_else(|| older.as_ref().and_then(|older| function(older, "dlerror")));
        let (Some(open), Some(errno)) = (open, function(&library, "__errno_location")) else {
            return Err(Error::OtherLibrary { pid });
        };
        let linker = named(&is_linker);
        let mut loader = Self {
            open,
            error,
            errno,
            linker: linker.map(|linker| linker.code).unwrap_or_default(),
            allocator: Vec::new(),
            own_allocator: None,
            c_library: library.code.clone(),
            is_allocator_anywhere: false,
            unwinder: Unwinder::new(&mappings),
            mappings: Vec::new(),
        };
        loader.find_allocators(tracee, &mappings, &library);
        loader.mappings = mappings;
        Ok(loader)
    }

    /// Every object that offers an allocator: in the C library, what lies between the functions
    /// before and after it; otherwise all of the object's code.
    fn find_allocators(&mut self, tracee: &Tracee, mappings: &[Mapping], library: &Object) {
        let memory = tracee.memory();
        let program = std::fs::read_link(format!("{}/exe", threads::folder(tracee.pid())));
        let program = program.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        for object in symbols::all(tracee, mappings).into_iter().take(OBJECTS_MAX) {
            if object.base == library.base {
                let parts = ALLOCATOR.iter().filter_map(|name| object.function(memory, name));
                self.own_allocator = object.around(memory, parts.map(|part| part.address));
                self.allocator.extend(self.own_allocator);
            } else if object.function(memory, "malloc").is_some() && !is_linker(object.file_name())
            {
                self.is_allocator_anywhere |= object.path == program;
                self.allocator.extend(&object.code);
            }
        }
        if self.is_allocator_anywhere {
            // All of the program's code would be too much to keep away from.
            let program = symbols::all(tracee, mappings).into_iter().find(|o| o.path == program);
            let code = program.map(|program| program.code).unwrap_or_default();
            self.allocator.retain(|part| !code.contains(part));
        }
    }

    /// Whether a thread that is stopped can load a library.
    #[must_use]
    pub fn is_safe(&self, memory: &Memory, stopped: &Stopped) -> bool {
        let at = stopped.instruction();
        let call = stopped.system_call();
        let is_waiting = call.is_some_and(waits);
        // What is left on its stack of former calls of the allocator would never go away.
        let apart = self.own_allocator.filter(|_| call.is_some_and(waits_for_others));
        let is_within = |parts: &[(u64, u64)]| within(parts, at);
        if is_within(&self.linker) || is_within(&self.allocator) {
            return false;
        }
        // A thread that computes may hold a lock of the C library's only within that.
        if !is_waiting && (is_within(&self.c_library) || self.is_allocator_anywhere) {
            return false;
        }
        let top = stopped.stack_pointer();
        let Some(stack) = self.mappings.iter().find(|one| one.contains(top)) else { return false };
        let bytes = (stack.until - top).min(STACK_BYTES_MAX) as usize / 8 * 8;
        let mut words = vec![0u8; bytes];
        if memory.read(top, &mut words).is_err() {
            return false;
        }
        let seems_locking = words.chunks_exact(8).any(|word| {
            let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
            let is_former = apart.is_some_and(|apart| within(&[apart], word));
            let is_locking =
                within(&self.linker, word) || (within(&self.allocator, word) && !is_former);
            (is_locking && follows_call(memory, word))
                || (within(&self.c_library, word) && is_signal_return(memory, word))
        });
        !seems_locking || self.is_exactly_safe(memory, stopped)
    }

    /// Whether the functions that the thread is in are known exactly, and none of them locks.
    fn is_exactly_safe(&self, memory: &Memory, stopped: &Stopped) -> bool {
        let frames = self.unwinder.frames(memory, stopped.registers());
        let is_locking = |at: &u64| within(&self.linker, *at) || within(&self.allocator, *at);
        frames.is_some_and(|frames| !frames.iter().any(is_locking))
    }

    /// The thread loads a library. It has to be safe.
    pub fn load(&self, memory: &Memory, stopped: &mut Stopped, path: &CStr) -> Result<()> {
        let pid = stopped.pid();
        stopped.keep_errno(self.errno);
        let text = stopped.text(path)?;
        if stopped.call(self.open, &[text, FLAGS])? != 0 {
            return Ok(());
        }
        let why = match self.error.map(|error| stopped.call(error, &[])).transpose()? {
            Some(text) if text != 0 => memory.read_text(text as u64).unwrap_or_default(),
            _ => Vec::new(),
        };
        let why = String::from_utf8_lossy(&why).into_owned();
        Err(Error::NotLoaded { pid, path: path.to_string_lossy().into_owned(), why })
    }

    #[must_use]
    pub fn errno(&self) -> u64 {
        self.errno
    }
}

impl Tracee {
    /// Does the work with a thread that could load a library now, and so holds none of the locks
    /// of the dynamic linker and the allocator.
    pub fn visit_safely<T: Send>(
        &self,
        visit: &Visit,
        loader: &Loader,
        mut work: impl FnMut(&mut Stopped) -> Result<T> + Send,
    ) -> Result<T> {
        if self.is_stopped() {
            return Err(Error::Stopped { pid: self.pid() });
        }
        let mut has_stopped = false;
        let visited = self.visit(visit, |stopped| {
            has_stopped = true;
            // What another thread holds, it gives back when it goes on.
            if stopped.is_with_all() {
                return Err(Error::Stopped { pid: self.pid() });
            }
            if !loader.is_safe(self.memory(), stopped) {
                return Ok(None);
            }
            stopped.keep_errno(loader.errno());
            work(stopped).map(Some)
        });
        match visited {
            Err(Error::Late { pid, limit }) if has_stopped => Err(Error::Unsafe { pid, limit }),
            visited => visited,
        }
    }

    /// Loads a library, unless it is loaded already.
    pub fn load(&self, visit: &Visit, path: &Path) -> Result<()> {
        use std::os::unix::ffi::OsStrExt;
        let text = std::ffi::CString::new(path.as_os_str().as_bytes());
        let text =
            text.map_err(|_| Error::TooLong { text: path.to_string_lossy().into_owned() })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.object(|found| *found == *name)?.is_some() {
            return Ok(());
        }
        let loader = Loader::find(self, visit.patience)?;
        self.visit_safely(visit, &loader, |stopped| loader.load(self.memory(), stopped, &text))
    }
}

pub(crate) fn is_linker(name: &str) -> bool {
    name.starts_with("ld-linux") || name.starts_with("ld-2.") || name.starts_with("ld-musl")
}

/// As files were named before glibc 2.34.
fn is_old_library(name: &str) -> bool {
    name.starts_with("libc-2.") && name.ends_with(".so")
}

fn within(parts: &[(u64, u64)], address: u64) -> bool {
    parts.iter().any(|(begin, until)| (*begin..*until).contains(&address))
}

/// System calls in which threads wait that have nothing half done.
fn waits(number: u64) -> bool {
    const LESS_SURE: [i64; 4] =
        [libc::SYS_read, libc::SYS_readv, libc::SYS_restart_syscall, libc::SYS_futex];
    waits_for_others(number) || LESS_SURE.iter().any(|one| u64::try_from(*one) == Ok(number))
}

/// Those of them that the C library's allocator never makes: a thread is in one of them only
/// outside of the allocator, or in the handler of a signal that interrupted it.
fn waits_for_others(number: u64) -> bool {
    let Ok(number) = i64::try_from(number) else { return false };
    matches!(
        number,
        calls::SYS_poll
            | libc::SYS_ppoll
            | calls::SYS_select
            | libc::SYS_pselect6
            | calls::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_recvmmsg
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_msgsnd
            | libc::SYS_msgrcv
            | libc::SYS_io_getevents
            | libc::SYS_io_uring_enter
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_wait4
            | libc::SYS_waitid
            | calls::SYS_pause
            | libc::SYS_rt_sigsuspend
            | libc::SYS_rt_sigtimedwait
    )
}

/// Whether a call is what comes before an address: `e8` with four bytes, or `ff` with one to six.
fn follows_call(memory: &Memory, address: u64) -> bool {
    const BEFORE: usize = 7;
    let mut bytes = [0u8; BEFORE];
    let Some(begin) = address.checked_sub(BEFORE as u64) else { return false };
    if memory.read(begin, &mut bytes).is_err() {
        return true;
    }
    let is_indirect = |at: usize| bytes[at] == 0xff && bytes[at + 1] >> 3 & 7 == 2;
    bytes[2] == 0xe8 || (0..=5).any(is_indirect)
}

/// `mov $15, %rax; syscall`: where a signal's handler returns to. What it interrupted is not known.
fn is_signal_return(memory: &Memory, address: u64) -> bool {
    const CODE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    let mut bytes = [0u8; 9];
    memory.read(address, &mut bytes).is_ok() && bytes == CODE
}
