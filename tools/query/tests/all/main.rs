// SPDX-License-Identifier: MIT
//! The query engine as its users see it: tables, the command, exports, damaged traces.
//!
//! One program of all tests, because each program that has the engine in it takes a minute to link.

mod command;
mod events;
mod export;
mod hostile;
mod interrupted;
mod made;
mod tables;
