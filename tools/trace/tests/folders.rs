// SPDX-License-Identifier: MIT
//! Where traces are looked for: below a folder, as deep as sessions go, and nothing is passed over.

use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};

use testkit::TraceFolder;
use trace::{find_traces, Error};

/// Makes a trace in a folder, without streams.
fn trace_at(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("metadata"), "").unwrap();
    folder.to_path_buf()
}

#[test]
fn traces_are_found_sixteen_folders_deep_and_in_order() {
    let root = TraceFolder::new("", &[]).unwrap();
    let deep = |depth: usize| (0..depth).fold(root.path().join("a"), |at, _| at.join("b"));
    let first = trace_at(&deep(0));
    let deepest = trace_at(&deep(15));
    let last = trace_at(&root.path().join("c"));
    let want = [root.path().to_path_buf(), first, deepest, last];
    assert_eq!(find_traces(root.path()).unwrap(), want);
    let too_deep = trace_at(&deep(16));
    let refused = find_traces(root.path());
    assert!(matches!(refused, Err(Error::TooDeep { path, .. }) if path == too_deep));
}

#[test]
fn links_to_folders_are_followed_and_no_folder_is_read_twice() {
    let (root, elsewhere) = (TraceFolder::new("", &[]), TraceFolder::new("", &[]));
    let (root, elsewhere) = (root.unwrap(), elsewhere.unwrap());
    let own = trace_at(&root.path().join("z/own"));
    let far = trace_at(&elsewhere.path().join("far"));
    let link = |name: &str, to: &Path| symlink(to, root.path().join(name)).unwrap();
    link("a", &own);
    link("back", root.path());
    link("far", elsewhere.path());
    link("gone", Path::new("nowhere"));
    link("itself", Path::new("itself"));
    link("the-metadata", &far.join("metadata"));
    let linked = root.path().join("far");
    let want = [root.path().to_path_buf(), linked.clone(), linked.join("far"), own];
    assert_eq!(find_traces(root.path()).unwrap(), want);
}

#[test]
fn folder_that_cannot_be_looked_into_is_an_error() {
    let root = TraceFolder::new("", &[]).unwrap();
    let closed = root.path().join("closed");
    trace_at(&closed);
    let permit = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&closed, permissions).unwrap();
    };
    for mode in [0o000, 0o400] {
        permit(mode);
        // Root may look into every folder.
        let may_look = std::fs::metadata(closed.join("metadata")).is_ok();
        let found = find_traces(root.path());
        permit(0o700);
        match found {
            Ok(found) => assert!(may_look && found.len() == 2),
            Err(error) => {
                let said = error.to_string();
                assert!(!may_look && said.contains("Permission denied"), "{said}");
            }
        }
    }
}

#[test]
fn folder_without_a_trace_is_an_error_and_so_is_none() {
    let root = TraceFolder::new("", &[]).unwrap();
    let empty = root.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(matches!(find_traces(&empty), Err(Error::NotATrace { path }) if path == empty));
    assert!(matches!(find_traces(root.path().join("none")), Err(Error::Io { .. })));
}
