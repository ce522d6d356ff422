// SPDX-License-Identifier: MIT
//! Recordings without a given name: `lull-trace-DATE-TIME`, and `lull-trace`, a link to the newest.
//!
//! Place in the flow: `record` without -o makes the directory and the link where it is started;
//! `print` and `report` without a trace read what the link leads to.

use anyhow::bail;
use std::path::{Path, PathBuf};

/// The link, and what the names of recordings begin with.
pub const LINK: &str = "lull-trace";
const METADATA: &str = "metadata";

/// A name that sorts by time, for a recording that begins now.
pub fn name() -> String {
    format!("{LINK}-{}", chrono::Local::now().format("%Y%m%d-%H%M%S"))
}

/// The trace to read when none is named: the folder we are in, if that is one, or the newest
/// recording that was made in it.
pub fn find() -> anyhow::Result<PathBuf> {
    find_in(Path::new(""))
}

fn find_in(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.join(METADATA).is_file() {
        return Ok(folder.join("."));
    }
    let link = folder.join(LINK);
    // Its own name tells more than the link's.
    let trace = std::fs::read_link(&link).map_or(link, |target| folder.join(target));
    if !trace.exists() {
        bail!(
            "no trace named, and none in this folder; record one with `lull record -- PROGRAM`, \
             or name the folder of a trace"
        );
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_the_link_is_followed_unless_the_folder_is_a_trace() {
        let folder = std::env::temp_dir().join(format!("lull-newest-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("lull-trace-2")).unwrap();
        assert!(find_in(&folder).unwrap_err().to_string().contains("lull record"));
        std::os::unix::fs::symlink("lull-trace-1", folder.join(LINK)).unwrap();
        assert!(find_in(&folder).is_err(), "the link leads nowhere");
        std::fs::remove_file(folder.join(LINK)).unwrap();
        std::os::unix::fs::symlink("lull-trace-2", folder.join(LINK)).unwrap();
        assert_eq!(find_in(&folder).unwrap(), folder.join("lull-trace-2"));
        std::fs::write(folder.join(METADATA), "").unwrap();
        assert_eq!(find_in(&folder).unwrap(), folder.join("."));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
