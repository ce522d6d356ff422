// SPDX-License-Identifier: MIT
//! Serves a page that shows traces, on the loopback address.
//!
//! Flow: `connections` are taken for `server`, and `guard` refuses what does not come from the
//! page; `ask` reads what is asked, `answer` finds who answers: `tracks` lists what has states,
//! `slices` draws them, `ticks` counts events, `lost` says where some are missing, `rows` gives
//! the events themselves, `details` what is known at one time, `flows` what let threads go on,
//! `statistics` how long things took, `counter` the numbers in the fields of events as lines,
//! `compare` what is different in a second trace, `flame` the stacks that took most time. `tsp`
//! gives the same answers in the words of the Trace Server Protocol. `page` is the page, and
//! `single` writes one with a part of a trace inside. `patience` is how what nobody waits for any
//! more comes to its end.
//! docs/formats/view.md describes the protocol, docs/design/93-viewer.md has the reasons.
//!
//! An answer depends on the pixels that it is for, not on the trace: each has a bound of its own,
//! and says where it stopped. No path of a request reaches the file system.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
mod ask;
mod attempt;
mod compare;
mod connections;
mod counter;
mod details;
mod flame;
mod flows;
mod guard;
mod lost;
mod page;
mod patience;
mod rows;
mod server;
mod single;
mod slices;
mod source;
mod statistics;
mod strangers;
mod ticks;
mod token;
mod tracks;
mod tsp;

pub use answer::{Shown, Viewed};
pub use ask::Filter;
pub use page::has_page;
pub use server::{Error, Server};
pub use single::{Single, SingleError};
pub use source::{Events, Reach, Row, Visited};
pub use tsp::{Attempts, Opener, TraceServer, DEFAULT_PORT};

#[cfg(test)]
mod tests;
