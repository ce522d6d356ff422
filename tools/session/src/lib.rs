// SPDX-License-Identifier: MIT
//! Sessions: the directory that a recorder makes, and the memory it shares with traced processes.
//!
//! Place in the flow: `lull record` -> **session** -> liblull writes -> consumer reads -> trace.
//! `abi` mirrors the C headers; `layout` places every byte; `segment` and `memory` make one user's
//! part; `directory` says where it is; `session` is the whole; `left` reads what a killed recorder
//! left; `device` has the kernel make one, `reserved` reads what a crash left of it; `description`
//! reads what events look like; `pattern` says which are wanted; `context` what is recorded beside
//! their fields; `counts` reads what is counted;
//! `clock` relates cycles to time.
//! Paper: B 3.2 (channels and sub-buffers), 3.4 (control).

pub mod abi;
mod backing;
mod cgroup;
pub mod clock;
pub mod context;
pub mod counts;
pub mod description;
pub mod device;
pub mod directory;
pub mod error;
pub mod layout;
pub mod left;
pub mod machine;
pub mod memory;
pub mod pattern;
pub mod reserved;
pub mod segment;
pub mod session;

pub use error::{Error, Result};
pub use layout::Plan;
pub use memory::Memory;
pub use session::Session;
