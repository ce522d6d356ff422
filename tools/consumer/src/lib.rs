// SPDX-License-Identifier: MIT
//! The consumer: moves packets from a session's rings to a trace directory.
//!
//! Place in the flow: liblull writes rings -> **consumer** -> CTF 1.8 files -> `trace` reads.
//! `ring` is `core/ring/reader.c` with Rust's guarantees; `walk` checks every slot; `repair`
//! mends what dead writers left; `stream`, `metadata` and `output` write, through the directory
//! that `place` found and `folder` holds; `drain` ties one ring to one stream, `consumer` ticks
//! them all, as often as `pace` says; `lives` finds processes that were not recorded, `dumps` what
//! the kernel's state lacks, `stacks` which addresses call stacks hold.
//! Rings are hostile input: nothing read from one is believed unchecked.
//! Paper: B 4.3.2 (reading), 4.4 (barriers), 4.5 (sub-buffer exchange).

pub mod clock;
pub mod consumer;
pub mod drain;
pub mod dumps;
pub mod events;
#[doc(hidden)]
pub mod ffi;
pub mod filtered;
pub mod folder;
pub mod lives;
pub mod metadata;
pub mod output;
mod pace;
mod place;
pub mod process;
pub mod repair;
pub mod ring;
pub mod stacks;
pub mod stream;
pub mod throttle;
pub mod view;
pub mod walk;

pub use consumer::{Consumer, Options, Progress};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Output(#[from] output::Error),
    #[error("a ring cannot be made: {0}")]
    Ring(String),
    #[error(transparent)]
    Kernel(#[from] kernel::Error),
    #[error("the kernel module lull: enabling events: {source}")]
    Module { source: std::io::Error },
    #[error(transparent)]
    Session(#[from] session::Error),
    #[error("more than {limit} users took part")]
    Users { limit: usize },
    #[error("this process cannot read the session's clock (kind {kind})")]
    Clock { kind: u32 },
}
