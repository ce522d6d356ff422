// SPDX-License-Identifier: MIT
//! Registers of x86-64, as ptrace(2) has them (`struct user_regs_struct`).

use crate::calls;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) r15: u64,
    pub(crate) r14: u64,
    pub(crate) r13: u64,
    pub(crate) r12: u64,
    pub(crate) rbp: u64,
    pub(crate) rbx: u64,
    pub(crate) r11: u64,
    pub(crate) r10: u64,
    pub(crate) r9: u64,
    pub(crate) r8: u64,
    pub(crate) rax: u64,
    pub(crate) rcx: u64,
    pub(crate) rdx: u64,
    pub(crate) rsi: u64,
    pub(crate) rdi: u64,
    /// The number of the system call that the thread is in; -1 in none.
    pub(crate) call: u64,
    pub(crate) rip: u64,
    pub(crate) cs: u64,
    pub(crate) flags: u64,
    pub(crate) rsp: u64,
    pub(crate) ss: u64,
    pub(crate) fs_base: u64,
    pub(crate) gs_base: u64,
    pub(crate) ds: u64,
    pub(crate) es: u64,
    pub(crate) fs: u64,
    pub(crate) gs: u64,
}

pub(crate) const NO_CALL: u64 = u64::MAX;
pub(crate) const TRAP_FLAG: u64 = 0x100;
/// Interrupts are on, and nothing else: strings go upwards, nothing is traced.
pub(crate) const FLAGS_AT_CALL: u64 = 0x202;
/// Of 64-bit code.
const CODE_SEGMENT: u64 = 0x33;
const CALL_BYTES: u64 = 2;

/// What an interrupted system call answers to the kernel itself, which makes it anew.
const RESTART_ERRORS: [i64; 4] = [-512, -513, -514, RESTART_BY_BLOCK];
const RESTART_BY_BLOCK: i64 = -516;

/// Calls that answer EINTR when a stop ends them, though no signal came. They have done nothing
/// yet, so they can be made anew, as others are by the kernel; a time that they were to wait for
/// begins anew, too. close(2) and connect(2) are not among them, which have done something.
const CALLS_ENDED_BY_STOPS: [i64; 23] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    libc::SYS_io_uring_enter,
    calls::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_futex,
];
/// Where no signal comes, the kernel makes the call anew; otherwise it answers EINTR.
const RESTART_WITHOUT_SIGNAL: i64 = -514;

impl Registers {
    /// At a stop where signals are handled: whether a call that the stop ended is to be made anew.
    pub(crate) fn undo_end_by_stop(&mut self) -> bool {
        let is_ended = self.is_in_call() && self.rax as i64 == -i64::from(libc::EINTR);
        let is_undone = is_ended && CALLS_ENDED_BY_STOPS.contains(&(self.call as i64));
        if is_undone {
            self.rax = RESTART_WITHOUT_SIGNAL as u64;
        }
        is_undone
    }

    pub(crate) fn is_64_bit(&self) -> bool {
        self.cs == CODE_SEGMENT
    }

    /// Whether the thread is in a system call, so to speak.
    pub(crate) fn is_in_call(&self) -> bool {
        (self.call as i64) >= 0
    }

    fn restarts(&self) -> bool {
        self.is_in_call() && RESTART_ERRORS.contains(&(self.rax as i64))
    }

    /// Registers by which the thread goes on by itself, outside of any system call: one that was
    /// interrupted is made anew, as the kernel itself does it. Of some calls the kernel keeps what
    /// is left to do, such as a sleep's time.
    pub(crate) fn alone(&self) -> Self {
        let mut alone = *self;
        if self.restarts() {
            let is_kept = self.rax as i64 == RESTART_BY_BLOCK;
            alone.rax = if is_kept { libc::SYS_restart_syscall as u64 } else { self.call };
            alone.rip = self.rip.wrapping_sub(CALL_BYTES);
        }
        alone.call = NO_CALL;
        alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_call_is_made_anew_and_one_that_ended_is_not() {
        let mut registers = Registers { call: 7, rip: 100, ..Registers::default() };
        for error in RESTART_ERRORS {
            registers.rax = error as u64;
            let alone = registers.alone();
            let number = if error == RESTART_BY_BLOCK { 219 } else { 7 };
            assert_eq!((alone.rax, alone.rip, alone.call), (number, 98, NO_CALL));
        }
        registers.rax = -4i64 as u64;
        assert_eq!(registers.alone().rip, 100);
        let outside = Registers { rax: -512i64 as u64, call: NO_CALL, rip: 100, ..registers };
        assert_eq!(outside.alone(), outside);
    }

    #[test]
    fn call_that_a_stop_ended_is_made_anew_unless_it_had_done_something() {
        let ended = |call: i64| Registers {
            call: call as u64,
            rax: -i64::from(libc::EINTR) as u64,
            rip: 100,
            ..Registers::default()
        };
        let mut waiting = ended(calls::SYS_epoll_wait);
        assert!(waiting.undo_end_by_stop() && waiting.restarts());
        assert_eq!(waiting.alone().rip, 98);
        assert!(!waiting.undo_end_by_stop());
        for call in [libc::SYS_close, libc::SYS_connect, NO_CALL as i64] {
            let mut other = ended(call);
            assert!(!other.undo_end_by_stop() && other == ended(call));
        }
    }

    #[test]
    fn structure_is_as_large_as_the_kernels() {
        assert_eq!(size_of::<Registers>(), 27 * 8);
    }
}
