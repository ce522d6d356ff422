// SPDX-License-Identifier: MIT
//! Where traces are looked for: below a folder, as deep as sessions go and no deeper.

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
    trace_at(&deep(16));
    let last = trace_at(&root.path().join("c"));
    let want = [root.path().to_path_buf(), first, deepest, last];
    assert_eq!(find_traces(root.path()).unwrap(), want);
}

#[test]
fn folder_without_a_trace_is_an_error_and_so_is_none() {
    let root = TraceFolder::new("", &[]).unwrap();
    let empty = root.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(matches!(find_traces(&empty), Err(Error::NotATrace { path }) if path == empty));
    assert!(matches!(find_traces(root.path().join("none")), Err(Error::Io { .. })));
}
