// SPDX-License-Identifier: MIT
//! Triggers: conditions on what programs do, and what is to be done when a condition is met.
//!
//! ```text
//! http:request if status >= 500                          the event happened
//! io:read > 10ms if fd == 3                              a call took longer
//! mutex:lock_entry then io:write_entry within 5ms        one event after another, in one thread
//! a:begin then a:end within 1s without a:retry if n > 2  and a third one not between them
//! crash                                                  a program was ended by a signal
//! ```
//!
//! Place in the flow: `lull record --on CONDITION --do ACTION` parses both here. The command makes
//! a session that records the events of the conditions only, decodes them, and tells [`Order`]
//! of each; [`Pace`] says whether an action may be done again already. docs/design/94-triggers.md
//! says why it is so. Nothing here knows of sessions, so all of it is tested without one.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod action;
mod condition;
mod error;
mod order;
mod pace;
#[cfg(test)]
mod tests;
mod words;

pub use action::{Action, Deed};
pub use condition::{Clause, Condition, Demand, Kind, Order as OrderOf};
pub use error::Error;
pub use order::{Order, Part, WAITS_MAX};
pub use pace::{Pace, Rate};

use std::time::Duration;

/// How the command reads durations, so that all of its arguments know the same units.
pub type ReadDuration = fn(&str) -> Result<Duration, String>;
