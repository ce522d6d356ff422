// SPDX-License-Identifier: MIT
//! Which traces to report on.
//!
//! Place in the flow: turns the arguments into folders; without any, `newest` knows one. A flight
//! recorder's snapshots overlap; only the latest is taken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trace::find_traces;

use crate::newest;

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
        [] => vec![newest::find()?],
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
