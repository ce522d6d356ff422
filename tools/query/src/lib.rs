// SPDX-License-Identifier: MIT
//! SQL over traces, on Apache DataFusion.
//!
//! ```no_run
//! # use std::sync::Arc;
//! let traces = vec![trace::Trace::open("a/trace")?];
//! let reading = Arc::new(query::Reading::new(traces, trace::Span::ALL, 2, 8192));
//! let engine = query::Engine::new(&reading, &query::Limits::default())?;
//! # let runtime = tokio::runtime::Runtime::new()?;
//! let rows = runtime.block_on(engine.run("SELECT name, count(*) FROM events GROUP BY name"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Flow: a [`Reading`] holds the traces; `columns` makes a table of each name of events, with the
//! forms that `shape` finds for CTF's types; `events` decodes rows into `cells`; `calls`, `tasks`
//! and `missing` are the tables that are always there. `scan` is what the engine sees of each, and
//! `bounds` what conditions spare. [`Engine`] plans and runs, `output` writes, `export` makes a
//! dataset of everything, and `definitions` tells other engines of its tables.
//!
//! Any trace and any query is safe: what is wrong is an error or is counted, never a panic, and
//! memory is bounded by [`Limits`] and by a few packets for each processor.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bounds;
mod calls;
mod cells;
mod columns;
mod complaint;
mod dataset;
mod decode;
mod definitions;
mod engine;
mod events;
mod export;
mod fixed;
mod identity;
mod json;
mod missing;
mod output;
mod progress;
mod reading;
mod scan;
mod shape;
mod spill;
mod states;
mod tasks;

pub use complaint::Complaint;
pub use datafusion::arrow::datatypes::Field;
pub use dataset::is_dataset;
pub use definitions::definition;
pub use engine::{quoted, Engine, Limits, TableInfo};
pub use export::{export, Exported, PASSES};
pub use output::{Failure, Format, Output};
pub use progress::Progress;
pub use reading::{Found, Reading};
