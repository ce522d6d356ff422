// SPDX-License-Identifier: MIT
//! Sessions: the private directory that a recorder makes and traced processes map.
//!
//! Place in the flow: `lull record` -> **session** -> liblull writes -> consumer reads -> trace.
//! `abi` mirrors the C headers; `layout` places every byte; `memory` makes it; `directory` finds
//! it again; `description` reads what events look like; `pattern` says which are wanted; `clock`
//! relates cycles to time.
//! Paper: B 3.2 (channels and sub-buffers), 3.4 (control).

pub mod abi;
pub mod clock;
pub mod description;
pub mod directory;
pub mod error;
pub mod layout;
pub mod machine;
pub mod memory;
pub mod pattern;

pub use error::{Error, Result};
pub use layout::Plan;
pub use memory::Session;
