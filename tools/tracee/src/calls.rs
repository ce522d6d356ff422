// SPDX-License-Identifier: MIT
//! System calls that some architectures do not have: their numbers, or numbers that no call has.

#[cfg(target_arch = "x86_64")]
pub(crate) use libc::{SYS_epoll_wait, SYS_pause, SYS_poll, SYS_select};

#[cfg(not(target_arch = "x86_64"))]
mod absent {
    #![allow(non_upper_case_globals)]
    pub(crate) const SYS_epoll_wait: i64 = -2;
    pub(crate) const SYS_pause: i64 = -3;
    pub(crate) const SYS_poll: i64 = -4;
    pub(crate) const SYS_select: i64 = -5;
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::{SYS_epoll_wait, SYS_pause, SYS_poll, SYS_select};
