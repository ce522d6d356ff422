// SPDX-License-Identifier: MIT
//! Writes CTF 1.8 traces, and CTF 2 metadata for them, for tests: bit-exact, random, or damaged.
//!
//! Flow: a [`Spec`] describes a trace and gives its metadata text; a [`StreamWriter`] fills packets
//! through a [`BitWriter`] and remembers what it wrote ([`Written`]); a [`program::Program`] does
//! both for what a made-up program did, a [`kernel::Kernel`] for what a kernel did, in the words of
//! two tracers; [`TraceFolder`] puts it on disk. Everything random is drawn
//! from a seeded [`Random`], so a failing test names its trace by a number.

mod absurd;
mod bit_writer;
mod datum;
mod folder;
mod json;
pub mod kernel;
mod kind;
pub mod program;
mod random;
mod shop;
mod spec;
mod stream;

pub use absurd::absurd;
pub use bit_writer::{BitWriter, Order};
pub use datum::{encoded, Datum};
pub use folder::{names_in, TraceFolder};
pub use kind::{random_struct, Int, Kind};
pub use random::Random;
pub use shop::shop;
pub use spec::{EventSpec, HeaderForm, Spec, HEADER_FORMS};
pub use stream::{offset, random_stream, repeat_packet, Losses, StreamWriter, Written};
