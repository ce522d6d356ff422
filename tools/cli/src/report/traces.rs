// SPDX-License-Identifier: MIT
//! Which traces to report on.
//!
//! Place in the flow: turns the arguments into folders. Without any, it is the folder we are in,
//! if that is a trace, or the newest that `lull record` made here. A flight recorder's snapshots
//! overlap; only the latest is taken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{bail, Context};
use trace::find_traces;

const METADATA: &str = "metadata";
const RECORDED_PREFIX: &str = "lull-";
/// Of a trace that a newer one replaced.
const REPLACED_SUFFIX: &str = ".old";
const SNAPSHOT_PREFIX: &str = "snapshot-";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    pub folders: Vec<PathBuf>,
    /// What was left out, or chosen without being named.
    pub notes: Vec<String>,
}

pub(super) fn choose(named: &[PathBuf]) -> anyhow::Result<Chosen> {
    let mut chosen = Chosen::default();
    let roots = match named {
        [] => vec![newest(Path::new("."))?],
        named => named.to_vec(),
    };
    for root in roots {
        let found = find_traces(&root).context("no trace to report on")?;
        latest_snapshots(found, &mut chosen);
    }
    chosen.folders.sort();
    chosen.folders.dedup();
    Ok(chosen)
}

/// When a trace in or right below a folder was last written to.
fn written(folder: &Path) -> Option<SystemTime> {
    let time = |path: PathBuf| std::fs::metadata(path.join(METADATA)).ok()?.modified().ok();
    let below = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    std::iter::once(folder.to_path_buf()).chain(below).filter_map(time).max()
}

/// The trace to take when none is named.
fn newest(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.join(METADATA).is_file() {
        return Ok(folder.into());
    }
    let is_recorded = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(RECORDED_PREFIX) && !name.ends_with(REPLACED_SUFFIX)
    };
    let entries = std::fs::read_dir(folder).context("looking for a trace in this folder")?;
    let paths = entries.flatten().map(|entry| entry.path()).filter(is_recorded);
    let newest = paths.filter_map(|path| Some((written(&path)?, path))).max();
    match newest {
        Some((_, path)) => Ok(path.strip_prefix(".").unwrap_or(&path).into()),
        None => bail!(
            "no trace named, and none in this folder; record one with `lull record -- PROGRAM`, or \
             name the folder of a trace"
        ),
    }
}

/// Takes traces over, but of each folder's snapshots only the one with the highest number.
fn latest_snapshots(found: Vec<PathBuf>, chosen: &mut Chosen) {
    let mut snapshots: BTreeMap<PathBuf, (u64, PathBuf, usize)> = BTreeMap::new();
    for path in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix(SNAPSHOT_PREFIX).and_then(|number| number.parse().ok());
        let (Some(number), Some(parent)) = (number, path.parent().map(Path::to_path_buf)) else {
            chosen.folders.push(path);
            continue;
        };
        let entry = snapshots.entry(parent).or_insert((number, path.clone(), 0));
        entry.2 += 1;
        if number > entry.0 {
            (entry.0, entry.1) = (number, path);
        }
    }
    for (_, path, count) in snapshots.into_values() {
        if count > 1 {
            chosen.notes.push(format!(
                "{} is the latest of {count} snapshots, which overlap; name another to see it",
                path.display()
            ));
        }
        chosen.folders.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lull-report-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn make(path: PathBuf, age_s: u64) {
        std::fs::create_dir_all(&path).unwrap();
        let file = std::fs::File::create(path.join(METADATA)).unwrap();
        let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age_s);
        file.set_modified(at).unwrap();
    }

    #[test]
    fn without_a_name_the_newest_recorded_trace_is_taken_but_no_replaced_one() {
        let root = folder("newest");
        assert!(newest(&root).unwrap_err().to_string().contains("lull record"));
        make(root.join("lull-a"), 30);
        make(root.join("lull-b").join("snapshot-3"), 20);
        make(root.join("lull-c.old"), 10);
        make(root.join("other"), 5);
        assert_eq!(newest(&root).unwrap(), root.join("lull-b"));
        make(root.clone(), 100);
        assert_eq!(newest(&root).unwrap(), root);
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn of_overlapping_snapshots_the_latest_is_taken_and_that_is_said() {
        let mut chosen = Chosen::default();
        let paths = ["a/snapshot-2", "a/snapshot-10", "b", "c/snapshot-1"];
        latest_snapshots(paths.map(PathBuf::from).to_vec(), &mut chosen);
        let wanted = ["b", "a/snapshot-10", "c/snapshot-1"].map(PathBuf::from);
        assert_eq!(chosen.folders, wanted);
        assert_eq!(chosen.notes.len(), 1);
        assert!(chosen.notes[0].contains("a/snapshot-10 is the latest of 2"));
    }
}
