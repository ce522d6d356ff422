// SPDX-License-Identifier: MIT
//! Which traces to read.
//!
//! Place in the flow: `print`, `report` and `state` turn their arguments into folders here; without
//! any, `newest` knows one. A folder that is named twice is read once. Snapshots of one session
//! overlap; only the latest is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use trace::find_traces;

use crate::newest;

const SNAPSHOT_PREFIX: &str = "snapshot-";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub folders: Vec<PathBuf>,
    /// What was left out, or chosen without being named.
    pub notes: Vec<String>,
}

/// The traces at or below the folders named. `purpose`: what there is none for otherwise.
pub(crate) fn choose(named: &[PathBuf], purpose: &str) -> anyhow::Result<Chosen> {
    let mut chosen = Chosen::default();
    let mut met = BTreeSet::new();
    let roots = match named {
        [] => vec![newest::find()?],
        named => named.to_vec(),
    };
    for root in roots {
        let mut found = find_traces(&root).with_context(|| format!("no trace to {purpose}"))?;
        found.retain(|path| met.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
        latest_snapshots(&root, found, &mut chosen);
    }
    chosen.folders.sort();
    Ok(chosen)
}

/// The folder of the snapshot that a trace below `root` is of, and the snapshot's number: Lull's
/// are named `snapshot-2`, LTTng's `snapshot-1-20261123-021601-2`, with traces in folders below.
fn snapshot_of(root: &Path, trace: &Path) -> Option<(PathBuf, u64)> {
    let own = (trace != root).then_some(trace)?;
    let mut above = own.ancestors().take_while(|above| *above != root);
    above.find_map(|folder| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let number = name.strip_prefix(SNAPSHOT_PREFIX)?;
        Some((folder.to_path_buf(), number.rsplit('-').next()?.parse().ok()?))
    })
}

/// Takes traces over, but of each folder's snapshots only the one with the highest number.
fn latest_snapshots(root: &Path, found: Vec<PathBuf>, chosen: &mut Chosen) {
    let mut snapshots: BTreeMap<PathBuf, BTreeMap<(u64, PathBuf), Vec<PathBuf>>> = BTreeMap::new();
    for path in found {
        match snapshot_of(root, &path) {
            Some((folder, number)) => {
                let beside = folder.parent().map(Path::to_path_buf).unwrap_or_default();
                let of_folder = snapshots.entry(beside).or_default();
                of_folder.entry((number, folder)).or_default().push(path);
            }
            None => chosen.folders.push(path),
        }
    }
    for mut of_folder in snapshots.into_values() {
        let count = of_folder.len();
        let Some(((_, folder), traces)) = of_folder.pop_last() else { continue };
        if count > 1 {
            chosen.notes.push(format!(
                "{} is the latest of {count} snapshots, which overlap; name another to see it",
                folder.display()
            ));
        }
        chosen.folders.extend(traces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(paths: &[&str]) -> Chosen {
        let mut chosen = Chosen::default();
        latest_snapshots(Path::new("r"), paths.iter().map(PathBuf::from).collect(), &mut chosen);
        chosen
    }

    #[test]
    fn of_overlapping_snapshots_the_latest_is_taken_and_that_is_said() {
        let chosen =
            latest(&["r/a/snapshot-2", "r/a/snapshot-10", "r/b", "r/c/snapshot-1", "r/snapshot-x"]);
        let wanted = ["r/b", "r/snapshot-x", "r/a/snapshot-10", "r/c/snapshot-1"];
        assert_eq!(chosen.folders, wanted.map(PathBuf::from));
        assert_eq!(chosen.notes.len(), 1);
        assert!(chosen.notes[0].contains("r/a/snapshot-10 is the latest of 2"));
    }

    #[test]
    fn all_traces_of_the_latest_snapshot_of_another_tracer_are_taken() {
        let chosen = latest(&[
            "r/snapshot-1-20261123-100001-9/kernel",
            "r/snapshot-1-20261123-100001-10/kernel",
            "r/snapshot-1-20261123-100001-10/ust/uid/0/64-bit",
        ]);
        assert_eq!((chosen.folders.len(), chosen.notes.len()), (2, 1));
        assert!(chosen
            .folders
            .iter()
            .all(|path| path.starts_with("r/snapshot-1-20261123-100001-10")));
    }

    #[test]
    fn a_snapshot_that_is_named_is_read() {
        let path = PathBuf::from("a/snapshot-1");
        let mut chosen = Chosen::default();
        latest_snapshots(&path, vec![path.clone()], &mut chosen);
        assert_eq!((chosen.folders, chosen.notes.len()), (vec![path], 0));
    }

    #[test]
    fn folders_that_are_named_twice_are_read_once() {
        let spec = testkit::Spec::lull(testkit::Order::Little, Vec::new());
        let folder = testkit::TraceFolder::new(&spec.metadata(), &[]).unwrap();
        let path = folder.path().to_path_buf();
        let named = [path.clone(), path.join("."), path.join("..").join(path.file_name().unwrap())];
        assert_eq!(choose(&named, "print").unwrap().folders, [path]);
        let error = choose(&["/none".into()], "print").unwrap_err().to_string();
        assert_eq!(error, "no trace to print");
    }
}
