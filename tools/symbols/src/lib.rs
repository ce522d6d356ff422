// SPDX-License-Identifier: MIT
//! Names for the addresses of programs in call stacks.
//!
//! Flow: the state knows which file is at an address of a process (`state::Maps`); `programs` finds
//! out whether the file is the one that ran, and remembers names; `elf` reads which function is
//! where in it, `file` opens it, `copies` follows the frames of a stack that was recorded as it
//! was, `readable` turns the names of C++ and Rust into what people wrote.
//!
//! Paths come from the trace and files from whoever wrote them: both are hostile. A path is opened
//! without waiting and read once, a file is taken up to a size, and what is remembered is bounded.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod copies;
mod elf;
mod file;
mod programs;
mod readable;

pub use copies::{Copies, End};
pub use elf::{Functions, Place};
pub use programs::{FrameIndex, Programs};
