// SPDX-License-Identifier: MIT
//! A visit: one thread of the process is stopped, calls functions, and goes on where it was.
//!
//! Place in the flow: what the recorder asks for. Every step leaves the thread in a state from
//! which it comes back to its own registers without us, so there is nothing to undo when this
//! process is killed (frame.rs). In order: what the thread will run is written, its registers are
//! set, its signals are blocked; and back: signals, vectors, registers. It gets its registers back
//! where the kernel handles signals, and makes interrupted system calls anew or hands them EINTR.

use crate::frame::{self, Area, ARGUMENTS_MAX};
use crate::ptrace::{Go, Stop, Thread};
use crate::registers::{Registers, FLAGS_AT_CALL, NO_CALL, TRAP_FLAG};
use crate::status::Status;
use crate::{failed, rseq, threads, Error, Result, Tracee};
use std::ffi::CStr;
use std::io;
use std::time::{Duration, Instant};

/// How long one thread may take to stop before the next is asked, too.
const STOP_LIMIT: Duration = Duration::from_millis(300);
/// How long the kernel may take for the system calls by which a visit gets its memory.
const STEP_LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);
/// How often a thread gets a signal before it can be asked to do something.
const SIGNALS_MAX: u32 = 64;
/// Of a thread during a call, as the kernel numbers them from 1.
const UNBLOCKED: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// How long a visit may take.
#[derive(Debug, Clone, Copy)]
pub struct Visit {
    /// Until a thread has stopped that can do the work.
    pub patience: Duration,
    /// For each call.
    pub call_limit: Duration,
}

impl Default for Visit {
    fn default() -> Self {
        Self { patience: Duration::from_secs(5), call_limit: Duration::from_secs(5) }
    }
}

/// A thread that is stopped.
pub struct Stopped<'a> {
    pub(crate) tracee: &'a Tracee,
    pub(crate) thread: Thread,
    pub(crate) saved: Saved,
    /// None: the thread has all of its own registers.
    area: Option<Area>,
    /// Where the code of a first call is written, behind that of an object.
    pub(crate) room: Option<u64>,
    pub(crate) errno: u64,
    call_limit: Duration,
    pub(crate) since: Instant,
    place: Place,
    pub(crate) is_with_all: bool,
}

/// What became of a thread that was to stop.
enum Begun<'a> {
    Stopped(Box<Stopped<'a>>),
    /// It may stop later.
    Late,
    Gone,
}

/// Where the thread stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where signals are handled, with its own registers.
    Own,
    /// In code of ours.
    Ours,
    /// It runs, and comes back by itself.
    Left,
}

/// What is the thread's own.
pub(crate) struct Saved {
    pub(crate) registers: Registers,
    signal_mask: u64,
    vectors: Vec<u8>,
}

/// What became of a system call that the thread was to make.
enum Made {
    Result(i64),
    /// The thread was about to get a signal, and got it.
    Signal,
}

pub(crate) fn visit<T: Send>(
    tracee: &Tracee,
    visit: &Visit,
    mut work: impl FnMut(&mut Stopped) -> Result<Option<T>> + Send,
) -> Result<T> {
    let deadline = Instant::now() + visit.patience;
    while !tracee.memory.lock() {
        if Instant::now() >= deadline {
            return Err(Error::Busy { pid: tracee.pid });
        }
        std::thread::sleep(PAUSE);
    }
    // The kernel lets go of all threads when their tracer ends, which is that thread of ours.
    let visited = std::thread::scope(|scope| {
        scope.spawn(|| ask_threads(tracee, visit, deadline, &mut work)).join()
    });
    tracee.memory.unlock();
    match visited {
        Ok(visited) => visited,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// One thread after the other, until one has done the work.
fn ask_threads<T>(
    tracee: &Tracee,
    visit: &Visit,
    deadline: Instant,
    work: &mut impl FnMut(&mut Stopped) -> Result<Option<T>>,
) -> Result<T> {
    let pid = tracee.pid;
    let mut refused = None;
    // Threads that were asked to stop, and have not done so yet.
    let mut asked: Vec<u32> = Vec::new();
    loop {
        for tid in threads::candidates(pid)? {
            if Instant::now() >= deadline {
                break;
            }
            let Some(status) = Status::read_thread(pid, tid) else { continue };
            let is_asked = asked.contains(&tid);
            let usable = if is_asked { Ok(()) } else { usable(tracee, &status) };
            match usable.and_then(|()| Stopped::begin(tracee, tid, is_asked, visit)) {
                Ok(Begun::Stopped(mut stopped)) => {
                    asked.retain(|other| *other != tid);
                    let done = work(&mut stopped);
                    let finished = stopped.finish();
                    let done = done?;
                    finished?;
                    if let Some(done) = done {
                        return Ok(done);
                    }
                }
                Ok(Begun::Late) if !is_asked => asked.push(tid),
                Ok(Begun::Late | Begun::Gone) => {}
                Err(error) => refused = Some(error),
            }
        }
        if Status::read(pid).map_or(true, |status| status.is_ended()) && !threads::is_any_alive(pid)
        {
            return Err(Error::Ended { pid });
        }
        if let Some(
            lasting @ (Error::Seccomp { .. } | Error::ShadowStack { .. } | Error::Executed { .. }),
        ) = refused
        {
            return Err(lasting);
        }
        if Instant::now() >= deadline {
            return Err(refused.unwrap_or(Error::Late { pid, limit: visit.patience }));
        }
        std::thread::sleep(PAUSE);
    }
}

fn usable(tracee: &Tracee, status: &Status) -> Result<()> {
    let pid = tracee.pid;
    if status.tracer != 0 {
        return Err(Error::Traced { pid, tracer: status.tracer });
    }
    if status.seccomp != 0 {
        return Err(Error::Seccomp { pid });
    }
    if status.has_shadow_stack {
        return Err(Error::ShadowStack { pid });
    }
    Ok(())
}

impl<'a> Stopped<'a> {
    /// Stops a thread, which may have been asked to stop before.
    fn begin(tracee: &'a Tracee, tid: u32, is_asked: bool, visit: &Visit) -> Result<Begun<'a>> {
        let seized = if is_asked { Ok(Thread { tid }) } else { Thread::seize(tid) };
        let thread = match seized {
            Ok(thread) => thread,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(Begun::Gone),
            Err(error) => return Err(failed(tracee.pid, "tracing a thread")(error)),
        };
        let saved = Saved { registers: Registers::default(), signal_mask: 0, vectors: Vec::new() };
        let mut stopped = Self {
            tracee,
            thread,
            saved,
            area: None,
            room: None,
            errno: 0,
            call_limit: visit.call_limit,
            since: Instant::now(),
            place: Place::Own,
            is_with_all: false,
        };
        Ok(match stopped.stop() {
            Ok(None) => Begun::Stopped(Box::new(stopped)),
            Ok(Some(Stop::Gone)) => Begun::Gone,
            Ok(Some(_)) => Begun::Late,
            Err(error) => {
                let _ = stopped.thread.detach(0);
                return Err(error);
            }
        })
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> Error {
        failed(self.tracee.pid, doing)
    }

    /// Stops the thread where signals are handled, and looks where it was. Return: what kept it.
    fn stop(&mut self) -> Result<Option<Stop>> {
        let deadline = Instant::now() + STOP_LIMIT;
        let _ = self.thread.interrupt(); // of a thread that has ended the wait tells
                                         // Bound: the time.
        loop {
            match self.thread.wait(deadline).map_err(self.failed("waiting for a thread"))? {
                Some(found @ (Stop::Event | Stop::Group)) => {
                    self.is_with_all = found == Stop::Group;
                    break;
                }
                Some(Stop::Signal(signal)) => self.go(Go::On, signal)?,
                Some(Stop::Syscall) => self.go(Go::On, 0)?,
                kept @ (Some(Stop::Gone) | None) => {
                    self.place = Place::Left;
                    return Ok(Some(kept.unwrap_or(Stop::Event)));
                }
            }
        }
        self.since = Instant::now();
        let pid = self.tracee.pid;
        if !self.tracee.is_current_in(&format!("/proc/{pid}/task/{}", self.thread.tid)) {
            return Err(crate::executed(pid));
        }
        let mut registers = self.thread.registers().map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => Error::WordSize { pid },
            _ => self.failed("reading the registers")(error),
        })?;
        if !registers.is_64_bit() {
            return Err(Error::WordSize { pid });
        }
        if registers.undo_end_by_stop() {
            self.set_registers(&registers)?;
        }
        self.saved.registers = registers;
        self.saved.signal_mask =
            self.thread.signal_mask().map_err(self.failed("reading the signal mask"))?;
        Ok(None)
    }

    /// Puts a text where a call finds it, until the next text.
    pub fn text(&mut self, text: &CStr) -> Result<u64> {
        let bytes = text.to_bytes_with_nul();
        if bytes.len() as u64 > Area::TEXT_BYTES {
            return Err(Error::TooLong { text: text.to_string_lossy().into_owned() });
        }
        let area = self.area()?;
        self.write(area.text(), bytes)?;
        Ok(area.text())
    }

    /// Calls a function of the process's. Its signals, but for those of a fault, wait meanwhile.
    pub fn call(&mut self, function: u64, arguments: &[u64]) -> Result<i64> {
        let mut all = [0u64; ARGUMENTS_MAX];
        for (place, argument) in all.iter_mut().zip(arguments) {
            *place = *argument;
        }
        let area = self.area()?;
        self.leave_sequence()?;
        let pid = self.tracee.pid;
        let own = self.saved.registers;
        let parts = frame::vector_parts(&self.saved.vectors);
        let parts =
            parts.ok_or(Error::Damaged { pid, what: "vector registers of no known form" })?;
        self.write(area.base, &frame::second(&own, self.saved.signal_mask, self.thread.tid))?;
        self.write(area.vectors(), &self.saved.vectors)?;
        self.write(area.note(), &frame::note(&all))?;
        let registers = Registers {
            rip: area.base,
            rsp: area.stack_pointer(),
            rbp: parts,
            rbx: function,
            r12: area.note(),
            r13: self.errno,
            r14: area.vectors(),
            flags: FLAGS_AT_CALL,
            call: NO_CALL,
            ..own
        };
        self.set_registers(&registers)?;
        self.place = Place::Ours;
        let blocked = UNBLOCKED.iter().fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)));
        self.set_signal_mask(blocked)?;
        self.finish_call(area)
    }

    /// Before the thread is sent elsewhere.
    fn leave_sequence(&mut self) -> Result<()> {
        if self.place != Place::Own {
            return Ok(());
        }
        let pid = self.tracee.pid;
        let left = rseq::leave(&self.thread, &self.tracee.memory, &mut self.saved.registers);
        left.ok_or_else(|| match self.thread.signal_mask() {
            Ok(_) => Error::NoThread { pid, why: rseq::WHY },
            Err(error) => self.failed("looking at a thread")(error),
        })
    }

    /// Lets the thread run until the call has returned.
    fn finish_call(&mut self, area: Area) -> Result<i64> {
        let deadline = Instant::now() + self.call_limit;
        let pid = self.tracee.pid;
        let mut signal = 0;
        // Bound: the time.
        loop {
            self.go(Go::ToSyscall, signal)?;
            signal = 0;
            match self.thread.wait(deadline).map_err(self.failed("waiting for a call"))? {
                Some(Stop::Syscall) if self.has_returned(area)? => break,
                Some(Stop::Syscall | Stop::Event | Stop::Group) => {}
                Some(Stop::Signal(fault)) if UNBLOCKED.contains(&fault) => {
                    self.give_back()?;
                    return Err(Error::Faulted { pid, signal: fault });
                }
                // That nothing blocks: SIGSTOP, which the other threads follow.
                Some(Stop::Signal(other)) => signal = other,
                Some(Stop::Gone) => {
                    self.place = Place::Left;
                    return Err(Error::Ended { pid });
                }
                None => {
                    self.place = Place::Left;
                    return Err(Error::Unfinished { pid, limit: self.call_limit });
                }
            }
        }
        self.set_signal_mask(self.saved.signal_mask)?;
        let result = self.tracee.memory.read_word(area.result());
        Ok(result.map_err(self.failed("reading the memory"))? as i64)
    }

    /// Whether the thread is about to take its registers back.
    fn has_returned(&self, area: Area) -> Result<bool> {
        let registers = self.thread.registers().map_err(self.failed("reading the registers"))?;
        let memory = &self.tracee.memory;
        let is_there = registers.rip == area.left() && registers.call == GIVING_BACK;
        Ok(is_there && memory.read_u32(area.done()).is_ok_and(|done| done == 1))
    }

    /// Memory for calls, which the thread gets from the kernel.
    fn area(&mut self) -> Result<Area> {
        if let Some(area) = self.area {
            return Ok(area);
        }
        const READ_EXECUTE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        const PRIVATE: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
        let area = if let Some(area) = self.left_area()? {
            area
        } else {
            let arguments = [0, Area::BYTES, READ_EXECUTE, PRIVATE, u64::MAX, 0];
            let base = self.system_call_made("getting memory", libc::SYS_mmap, arguments)?;
            Area { base }
        };
        self.area = Some(area);
        let arguments = [area.stack(), frame::STACK_BYTES, READ_WRITE, 0, 0, 0];
        self.system_call_made("getting a stack", libc::SYS_mprotect, arguments)?;
        self.saved.vectors =
            self.thread.vectors().map_err(self.failed("reading the vector registers"))?;
        Ok(area)
    }

    /// The thread makes one system call, however many signals it has to handle first.
    fn system_call_made(
        &mut self,
        doing: &'static str,
        number: libc::c_long,
        arguments: [u64; 6],
    ) -> Result<u64> {
        for _ in 0..SIGNALS_MAX {
            match self.try_system_call(number, arguments)? {
                Made::Result(result @ -4095..=-1) => {
                    let error = io::Error::from_raw_os_error(-result as i32);
                    return Err(self.failed(doing)(error));
                }
                Made::Result(result) => return Ok(result as u64),
                Made::Signal => {}
            }
        }
        let why = "signals keep it busy";
        Err(Error::NoThread { pid: self.tracee.pid, why })
    }

    fn try_system_call(&mut self, number: libc::c_long, arguments: [u64; 6]) -> Result<Made> {
        let room = self.room()?;
        self.leave_sequence()?;
        self.write(room, &frame::first(&self.saved.registers, self.thread.tid))?;
        if self.place == Place::Ours && !self.saved.vectors.is_empty() {
            // A call may have changed them, and the first piece does not give them back.
            let set = self.thread.set_vectors(&self.saved.vectors);
            set.map_err(self.failed("setting the vector registers"))?;
        }
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let rax = number as u64;
        let own = self.saved.registers;
        let flags = own.flags & !TRAP_FLAG;
        let registers =
            Registers { rip: room, rax, rdi, rsi, rdx, r10, r8, r9, flags, call: NO_CALL, ..own };
        self.set_registers(&registers)?;
        self.place = Place::Ours;
        let (deadline, after) = (Instant::now() + STEP_LIMIT, room + 2);
        let mut has_entered = false;
        // Bound: the time.
        loop {
            self.go(Go::ToSyscall, 0)?;
            match self.thread.wait(deadline).map_err(self.failed("waiting for a thread"))? {
                Some(Stop::Syscall) => {
                    let now =
                        self.thread.registers().map_err(self.failed("reading the registers"))?;
                    match (now.rip == after, has_entered) {
                        (true, true) => return Ok(Made::Result(now.rax as i64)),
                        (true, false) => has_entered = true,
                        // It left the system call in which it was before.
                        (false, _) => {}
                    }
                }
                Some(Stop::Event | Stop::Group) => {}
                Some(Stop::Signal(signal)) => {
                    self.give_back()?;
                    self.go(Go::On, signal)?;
                    return self.stop_again();
                }
                Some(Stop::Gone) => {
                    self.place = Place::Left;
                    return Err(Error::Ended { pid: self.tracee.pid });
                }
                None => {
                    // The bytes stay, for the thread is among them.
                    self.room = None;
                    self.place = Place::Left;
                    return Err(Error::Late { pid: self.tracee.pid, limit: STEP_LIMIT });
                }
            }
        }
    }

    fn stop_again(&mut self) -> Result<Made> {
        if self.stop()?.is_some() {
            let why = "it does not stop again after a signal";
            return Err(Error::NoThread { pid: self.tracee.pid, why });
        }
        if self.area.is_some() {
            self.saved.vectors =
                self.thread.vectors().map_err(self.failed("reading the vector registers"))?;
        }
        Ok(Made::Signal)
    }

    /// Gives the thread back what is its own, at a stop where signals are handled.
    fn give_back(&mut self) -> Result<()> {
        if !self.saved.vectors.is_empty() {
            self.set_signal_mask(self.saved.signal_mask)?;
            let set = self.thread.set_vectors(&self.saved.vectors);
            set.map_err(self.failed("setting the vector registers"))?;
        }
        self.set_registers(&self.saved.registers)?;
        self.place = Place::Own;
        Ok(())
    }

    /// Gives back the memory and the thread.
    fn finish(mut self) -> Result<()> {
        let released = match self.area.take() {
            Some(area) if self.place == Place::Ours => {
                let arguments = [area.base, Area::BYTES, 0, 0, 0, 0];
                let made = self.system_call_made("giving memory back", libc::SYS_munmap, arguments);
                made.map(|_| ())
            }
            _ => Ok(()),
        };
        let settled = self.settle();
        if let Some(room) = self.room.take() {
            let zeros = vec![0u8; frame::first_bytes()];
            self.write(room, &zeros)?;
        }
        if self.place == Place::Own {
            let _ = self.thread.detach(0);
        }
        released.and(settled)
    }

    /// From code of ours to where the kernel handles signals, with the thread's own registers.
    fn settle(&mut self) -> Result<()> {
        if self.place != Place::Ours {
            return Ok(());
        }
        let mut registers =
            self.thread.registers().map_err(self.failed("reading the registers"))?;
        if registers.call == GIVING_BACK {
            // The thread shall not take its registers back by itself; if it is left alone now, it
            // asks for that again.
            registers.call = NO_CALL;
            registers.rax = NOT_MADE;
            self.set_registers(&registers)?;
        }
        self.thread.interrupt().map_err(self.failed("stopping a thread"))?;
        self.go(Go::On, 0)?;
        let deadline = Instant::now() + STEP_LIMIT;
        match self.thread.wait(deadline).map_err(self.failed("waiting for a thread"))? {
            Some(Stop::Event | Stop::Group) => self.give_back(),
            Some(Stop::Signal(signal)) => {
                self.give_back()?;
                let detached = self.thread.detach(signal);
                self.place = Place::Left;
                detached.map_err(self.failed("letting a thread go"))
            }
            Some(Stop::Gone) => {
                self.place = Place::Left;
                Err(Error::Ended { pid: self.tracee.pid })
            }
            Some(Stop::Syscall) | None => {
                self.place = Place::Left;
                Ok(())
            }
        }
    }

    fn go(&self, how: Go, signal: i32) -> Result<()> {
        self.thread.go(how, signal).map_err(self.failed("letting a thread run"))
    }

    fn set_registers(&self, registers: &Registers) -> Result<()> {
        self.thread.set_registers(registers).map_err(self.failed("setting the registers"))
    }

    fn set_signal_mask(&self, mask: u64) -> Result<()> {
        self.thread.set_signal_mask(mask).map_err(self.failed("setting the signal mask"))
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.tracee.memory.write(address, bytes).map_err(self.failed("writing the memory"))
    }
}

/// The system call that a thread makes before it takes its registers back.
const GIVING_BACK: u64 = libc::SYS_rt_sigprocmask as u64;
const NOT_MADE: u64 = -libc::ENOSYS as u64;
