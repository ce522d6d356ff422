// SPDX-License-Identifier: MIT
//! Writes the trace of the guides to queries: `shop_trace FOLDER`.
//!
//! Place in the flow: for tests/python, which runs the examples of docs/guide/python.md.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("shop".into()));
    let (metadata, files) = testkit::shop().files();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), metadata)?;
    files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}
