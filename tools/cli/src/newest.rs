// SPDX-License-Identifier: MIT
//! Recordings without a given name: `lull-trace-DATE-TIME`, and `lull-trace`, a link to the newest.
//!
//! Place in the flow: `record` without -o makes the directory and the link where it is started;
//! `print` and `report` without a trace read what the link leads to. In a folder that others write
//! to, what another user left under these names is refused: it would be taken for one's own.

use crate::owner::{me, owner};
use anyhow::bail;
use std::fs::symlink_metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The link, and what the names of recordings begin with.
pub const LINK: &str = "lull-trace";
const METADATA: &str = "metadata";
const ROOT: u32 = 0;

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
    let metadata = folder.join(METADATA);
    if metadata.is_file() {
        refuse_foreign(&metadata, folder, ".")?;
        return Ok(folder.join("."));
    }
    let link = folder.join(LINK);
    refuse_foreign(&link, folder, LINK)?;
    // Its own name tells more than the link's.
    let target = std::fs::read_link(&link);
    let trace = target.as_ref().map_or(link.clone(), |target| folder.join(target));
    if !trace.exists() {
        bail!(
            "no trace named, and none in this folder; record one with `lull record -- PROGRAM`, \
             or name the folder of a trace"
        );
    }
    if target.is_err() && trace::find_traces(&trace).is_err() {
        bail!(
            "no trace named, and {LINK} in this folder is neither a trace nor a link to one; name \
             the folder of a trace{}",
            newest_own(folder)
        );
    }
    refuse_foreign(&trace, folder, LINK)?;
    Ok(trace)
}

/// Refuses what is neither this user's nor root's, who may have recorded for this user, nor of
/// whoever owns the folder, and says what is in it. `name`: what to name to read it all the same.
fn refuse_foreign(path: &Path, folder: &Path, name: &str) -> anyhow::Result<()> {
    let trusted = [Some(me()), Some(ROOT), owner(&folder.join("."))];
    match owner(path).filter(|owner| !trusted.contains(&Some(*owner))) {
        None => Ok(()),
        Some(owner) => bail!(
            "no trace named, and {} in this folder belongs to another user (number {owner}), so \
             it is no recording of yours; name the folder of a trace{}, or name {name} to read \
             the other user's",
            path.strip_prefix(folder).unwrap_or(path).display(),
            newest_own(folder)
        ),
    }
}

/// For example the newest recording of this user in a folder, if there is one.
fn newest_own(folder: &Path) -> String {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
    let own = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_named = name.strip_prefix(LINK).is_some_and(|rest| rest.starts_with('-'));
        let found = symlink_metadata(entry.path()).ok().filter(|_| is_named)?;
        let is_own = found.is_dir() && found.uid() == me();
        is_own.then_some(((found.mtime(), found.mtime_nsec()), name))
    });
    own.max().map_or_else(String::new, |(_, name)| format!(", such as {name}"))
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
        std::fs::create_dir(folder.join(LINK)).unwrap();
        let told = find_in(&folder).unwrap_err().to_string();
        assert!(told.contains("neither a trace nor a link to one"), "{told}");
        assert!(told.ends_with("such as lull-trace-2"), "{told}");
        std::fs::remove_dir(folder.join(LINK)).unwrap();
        std::os::unix::fs::symlink("lull-trace-2", folder.join(LINK)).unwrap();
        assert_eq!(find_in(&folder).unwrap(), folder.join("lull-trace-2"));
        std::fs::write(folder.join(METADATA), "").unwrap();
        assert_eq!(find_in(&folder).unwrap(), folder.join("."));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
