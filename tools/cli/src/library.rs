// SPDX-License-Identifier: MIT
//! Where liblull is: beside an installed command, in a build tree, or where a variable says.
//!
//! Place in the flow: `record` preloads it into the traced program, `list` reads the events of
//! its interposers, `doctor` says whether it is there.

use anyhow::{bail, Context};
use std::path::{Path, PathBuf};

pub const VARIABLE: &str = "LULL_LIBRARY_DIR";
const NAMES: [&str; 2] = ["liblull.so.0", "liblull.so"];
const ALLOCATION_NAME: &str = "liblull-malloc.so";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Libraries {
    pub lull: PathBuf,
    /// The interposers of memory allocation, which not every build has.
    pub allocation: Option<PathBuf>,
}

/// Folders to look in, best first.
fn folders() -> anyhow::Result<Vec<PathBuf>> {
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return Ok(vec![folder.into()]);
    }
    // The kernel tells it without symbolic links.
    let command = std::env::current_exe().with_context(|| {
        format!(
            "liblull.so.0 is looked for beside this command, whose path /proc/self/exe does not \
             tell; mount /proc, or set {VARIABLE} to its folder"
        )
    })?;
    let bin = command.parent().unwrap_or(Path::new("/"));
    // build/bin/lull or PREFIX/bin/lull; then target/release/lull and target/debug/deps/lull.
    Ok(["../lib", "../../build/lib", "../../../build/lib"].map(|lib| bin.join(lib)).to_vec())
}

pub fn find() -> anyhow::Result<Libraries> {
    let folders = folders()?;
    match folders.iter().find_map(|folder| libraries_in(folder)) {
        Some(libraries) => Ok(libraries),
        None => {
            let looked: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
            bail!(
                "liblull.so.0 is not in {}; install Lull, or set {VARIABLE} to its folder",
                looked.join(" nor in ")
            )
        }
    }
}

fn libraries_in(folder: &Path) -> Option<Libraries> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let lull = NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())?;
    let allocation = Some(folder.join(ALLOCATION_NAME)).filter(|path| path.is_file());
    Some(Libraries { lull, allocation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_library_is_optional_and_the_other_is_not() {
        let folder = std::env::temp_dir().join(format!("lull-library-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(libraries_in(&folder), None);
        std::fs::write(folder.join("liblull.so.0"), "").unwrap();
        assert_eq!(libraries_in(&folder).unwrap().allocation, None);
        std::fs::write(folder.join(ALLOCATION_NAME), "").unwrap();
        assert!(libraries_in(&folder).unwrap().allocation.is_some());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
