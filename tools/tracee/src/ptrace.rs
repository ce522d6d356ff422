// SPDX-License-Identifier: MIT
//! The calls of ptrace(2) that a visit makes, and what is told of a thread that stops.
//!
//! Place in the flow: below `visit`. All of them are made by one thread, which the kernel takes for
//! the tracer: when that thread ends, in whatever way, the kernel lets the visited thread go on.

use crate::alarm::interrupted;
use crate::registers::Registers;
use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::time::{Duration, Instant};

/// Of floating-point and vector registers: more than any processor has.
pub(crate) const VECTOR_BYTES_MAX: usize = 12 << 10;

/// Between two looks, where the kernel gives no timer.
const PAUSE: Duration = Duration::from_micros(50);
const GET_RSEQ_CONFIGURATION: c_uint = 0x420f;
const GET_SIGNAL_MASK: c_uint = 0x420a;
const SET_SIGNAL_MASK: c_uint = 0x420b;
const STATUS_REGISTERS: usize = 1;
const VECTOR_REGISTERS: usize = 0x202;
/// `PTRACE_EVENT_STOP`, of which libc's crate has no name on every target.
const EVENT_STOP: c_int = 128;
const SYSCALL_STOP: c_int = libc::SIGTRAP | 0x80;

/// A thread that this thread traces.
pub(crate) struct Thread {
    pub(crate) tid: u32,
}

/// Why a thread stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was interrupted: where signals are handled.
    Event,
    /// All of its process is stopped, by SIGSTOP or a terminal: there, too.
    Group,
    /// It is about to get a signal.
    Signal(i32),
    /// It enters a system call, or leaves one.
    Syscall,
    /// It has ended.
    Gone,
}

/// `struct ptrace_rseq_configuration`: where a thread's restartable sequence is told.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RseqPlace {
    pub(crate) area: u64,
    pub(crate) bytes: u32,
    pub(crate) signature: u32,
    flags: u32,
    unused: u32,
}

/// How a thread goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Go {
    /// Until something stops it.
    On,
    /// Until it enters or leaves a system call, too.
    ToSyscall,
}

impl Thread {
    /// Begins to trace a thread, which goes on.
    pub(crate) fn seize(tid: u32) -> io::Result<Self> {
        let options = libc::PTRACE_O_TRACESYSGOOD as usize as *mut c_void;
        let thread = Self { tid };
        thread.request(libc::PTRACE_SEIZE, std::ptr::null_mut(), options)?;
        Ok(thread)
    }

    pub(crate) fn interrupt(&self) -> io::Result<()> {
        self.request(libc::PTRACE_INTERRUPT, std::ptr::null_mut(), std::ptr::null_mut())
    }

    /// `signal`: what it gets, or 0.
    pub(crate) fn go(&self, how: Go, signal: i32) -> io::Result<()> {
        let request = match how {
            Go::On => libc::PTRACE_CONT,
            Go::ToSyscall => libc::PTRACE_SYSCALL,
        };
        self.request(request, std::ptr::null_mut(), signal as usize as *mut c_void)
    }

    pub(crate) fn detach(&self, signal: i32) -> io::Result<()> {
        let signal = signal as usize as *mut c_void;
        self.request(libc::PTRACE_DETACH, std::ptr::null_mut(), signal)
    }

    pub(crate) fn registers(&self) -> io::Result<Registers> {
        let mut registers = Registers::default();
        let bytes = size_of::<Registers>();
        // SAFETY: the structure is writable for the bytes given, and any bytes are a value of it.
        let got = unsafe {
            self.get_set(
                libc::PTRACE_GETREGSET,
                STATUS_REGISTERS,
                (&raw mut registers).cast(),
                bytes,
            )
        }?;
        // Fewer are those of 32-bit code.
        if got == bytes {
            Ok(registers)
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    pub(crate) fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        let at = (&raw const *registers).cast_mut().cast();
        // SAFETY: the structure is readable for the bytes given; the kernel does not write to it.
        unsafe {
            self.get_set(libc::PTRACE_SETREGSET, STATUS_REGISTERS, at, size_of::<Registers>())
        }?;
        Ok(())
    }

    /// Floating-point and vector registers, in the form of XSAVE.
    pub(crate) fn vectors(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0u8; VECTOR_BYTES_MAX];
        // SAFETY: the bytes are writable.
        let got = unsafe {
            let at = bytes.as_mut_ptr().cast();
            self.get_set(libc::PTRACE_GETREGSET, VECTOR_REGISTERS, at, VECTOR_BYTES_MAX)
        }?;
        bytes.truncate(got);
        Ok(bytes)
    }

    pub(crate) fn set_vectors(&self, bytes: &[u8]) -> io::Result<()> {
        let at = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the bytes are readable; the kernel does not write to them.
        unsafe { self.get_set(libc::PTRACE_SETREGSET, VECTOR_REGISTERS, at, bytes.len()) }?;
        Ok(())
    }

    /// SAFETY: `at` is as large as `bytes` says, and writable for PTRACE_GETREGSET.
    unsafe fn get_set(
        &self,
        request: c_uint,
        set: usize,
        at: *mut c_void,
        bytes: usize,
    ) -> io::Result<usize> {
        let mut part = libc::iovec { iov_base: at, iov_len: bytes };
        self.request(request, set as *mut c_void, (&raw mut part).cast())?;
        Ok(part.iov_len)
    }

    /// The signals that the thread blocks, outside of calls that block others meanwhile.
    pub(crate) fn signal_mask(&self) -> io::Result<u64> {
        let mut mask = 0u64;
        let at = (&raw mut mask).cast();
        self.request(GET_SIGNAL_MASK, size_of::<u64>() as *mut c_void, at)?;
        Ok(mask)
    }

    pub(crate) fn set_signal_mask(&self, mask: u64) -> io::Result<()> {
        let at = (&raw const mask).cast_mut().cast();
        self.request(SET_SIGNAL_MASK, size_of::<u64>() as *mut c_void, at)
    }

    /// None: the kernel has no such request.
    pub(crate) fn rseq_place(&self) -> Option<RseqPlace> {
        let mut place = RseqPlace::default();
        let at = (&raw mut place).cast();
        let bytes = size_of::<RseqPlace>() as *mut c_void;
        self.request(GET_RSEQ_CONFIGURATION, bytes, at).ok()?;
        Some(place)
    }

    fn request(&self, request: c_uint, address: *mut c_void, data: *mut c_void) -> io::Result<()> {
        // SAFETY: the callers pass what the request reads or writes; each is in this process.
        match unsafe { libc::ptrace(request, self.tid as libc::pid_t, address, data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// What became of the thread, with its status: a change that is asked for by these options.
    fn changed(&self, options: c_int) -> io::Result<Option<(c_int, c_int)>> {
        let options = options | libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: an all-zero structure is valid, and is written to for its size.
        unsafe {
            let mut found: libc::siginfo_t = std::mem::zeroed();
            if libc::waitid(libc::P_PID, self.tid, &mut found, options) == 0 {
                let is_one = found.si_pid() != 0;
                return Ok(is_one.then(|| (found.si_code, found.si_status())));
            }
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(Some((libc::CLD_EXITED, 0))),
            error => Err(error),
        }
    }

    /// Waits until the thread stops. None: it did not until `deadline`.
    pub(crate) fn wait(&self, deadline: Instant) -> io::Result<Option<Stop>> {
        // How it ended is for its parent to hear, which may be a thread of this process.
        const ENDED: c_int = libc::WEXITED | libc::WNOWAIT;
        // Bound: the deadline.
        loop {
            if let Some((_, status)) = self.changed(libc::WSTOPPED | libc::WNOHANG)? {
                return Ok(Some(Stop::of(status)));
            }
            match self.changed(ENDED | libc::WNOHANG)? {
                Some((libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED, _)) => {
                    return Ok(Some(Stop::Gone));
                }
                _ if Instant::now() >= deadline => return Ok(None),
                _ => {}
            }
            if !interrupted(|| self.changed(libc::WSTOPPED | ENDED).map(drop))? {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Stop {
    /// A signal, and in the byte above it an event of ptrace(2)'s.
    fn of(status: c_int) -> Self {
        match (status & 0xff, status >> 8) {
            (libc::SIGTRAP, EVENT_STOP) => Self::Event,
            (_, EVENT_STOP) => Self::Group,
            (SYSCALL_STOP, _) => Self::Syscall,
            // Nothing else is asked for; a thread that was stopped for it goes on.
            (_, event) if event != 0 => Self::Event,
            (signal, _) => Self::Signal(signal),
        }
    }
}
