// SPDX-License-Identifier: MIT
//! The traces below a folder: a session may hold several.
//!
//! Place in the flow: before a trace is opened. What cannot be looked into may hold a trace, and
//! then what the others have is not all: it is an error, never passed over. Symbolic links are
//! followed, and each folder is looked into once, by its own name rather than by a link's.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::trace::METADATA_NAME;

/// Folders that [`find_traces`] looks into, and how deep.
const MAX_FOLDERS: usize = 1 << 20;
const MAX_FOLDER_DEPTH: u32 = 16;

/// The trace folders at or below `path`, sorted.
pub fn find_traces(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    find_within(path.as_ref(), MAX_FOLDERS)
}

fn find_within(root: &Path, limit: usize) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut met = HashSet::new();
    let (mut folders, mut links) = (vec![(root.to_path_buf(), 0)], Vec::new());
    while let Some((folder, depth)) = folders.pop().or_else(|| links.pop()) {
        let metadata = match look(&folder)? {
            Some(metadata) => metadata,
            None if depth > 0 => continue,
            None => return Err(Error::Io { path: folder, reason: ErrorKind::NotFound.into() }),
        };
        if !met.insert((metadata.dev(), metadata.ino())) {
            continue;
        }
        if met.len() > limit {
            return Err(Error::TooManyFolders { path: root.into(), limit });
        }
        if depth > MAX_FOLDER_DEPTH {
            return Err(Error::TooDeep { path: folder, limit: MAX_FOLDER_DEPTH });
        }
        if look(&folder.join(METADATA_NAME))?.is_some_and(|metadata| metadata.is_file()) {
            found.push(folder.clone());
        }
        let closed = |reason| Error::Closed { path: folder.clone(), reason };
        for entry in std::fs::read_dir(&folder).map_err(closed)? {
            let entry = entry.map_err(closed)?;
            let kind = entry.file_type().map_err(closed)?;
            let below = (entry.path(), depth + 1);
            if kind.is_dir() {
                folders.push(below);
            } else if kind.is_symlink() && look(&below.0)?.is_some_and(|it| it.is_dir()) {
                links.push(below);
            }
        }
    }
    if found.is_empty() {
        return Err(Error::NotATrace { path: root.into() });
    }
    found.sort();
    Ok(found)
}

/// What is at a path, if anything is: a link may lead nowhere, and a folder may be gone meanwhile.
fn look(path: &Path) -> Result<Option<Metadata>, Error> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(reason) if is_nothing(&reason) => Ok(None),
        Err(reason) => Err(Error::Closed { path: path.into(), reason }),
    }
}

fn is_nothing(reason: &std::io::Error) -> bool {
    matches!(reason.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || reason.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_beyond_the_bound_are_not_left_out_silently() {
        let root = testkit::TraceFolder::new("", &[]).unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        assert_eq!(find_within(root.path(), 3).unwrap().len(), 1);
        let error = find_within(root.path(), 2).unwrap_err().to_string();
        assert!(error.contains("more than 2 folders"), "{error}");
    }
}
