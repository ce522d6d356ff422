// SPDX-License-Identifier: MIT
//! The files of the page, which are part of the program.
//!
//! Place in the flow: `build.rs` names them; `answer` looks one up by its name, which is compared
//! with those in the table and used for nothing else.

pub(crate) struct Asset {
    pub name: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Whether the program was built with its page.
pub fn has_page() -> bool {
    !ASSETS.is_empty()
}

/// The file of a name; without a name, the page itself.
pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    let name = if name.is_empty() { "index.html" } else { name };
    ASSETS.iter().find(|asset| asset.name == name)
}
