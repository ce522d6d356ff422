// SPDX-License-Identifier: MIT
//! Rule `crates`: in which folder each crate of the workspace lies (tools/ is the product, check/
//! what checks the project), which others it may depend on, and `anyhow` only in `cli`. What lies
//! in tools keeps its arrows also where it is a workspace of its own.

use crate::tree::{File, Finding, Tree};

const RULE: &str = "crates";
/// A crate's folder and what of the workspace it may use. Every crate may test with `testkit`.
const ARROWS: [(&str, &[&str]); 24] = [
    ("check/testkit", &[]),
    ("check/tidy", &[]),
    ("check/model", &[]),
    ("tools/trace", &[]),
    ("tools/session", &[]),
    ("tools/verdict", &[]),
    ("tools/control", &[]),
    ("tools/interrupt", &[]),
    ("tools/unwind", &[]),
    ("tools/tracee", &["unwind"]),
    ("tools/filter", &["session"]),
    ("tools/trigger", &["filter"]),
    ("tools/state", &["trace", "verdict"]),
    ("tools/history", &["state", "trace"]),
    ("tools/symbols", &["state", "trace", "unwind"]),
    ("tools/convert", &["trace"]),
    ("tools/kernel", &["session"]),
    ("tools/consumer", &["kernel", "session", "state", "trace", "verdict"]),
    ("tools/relay", &["session", "state", "trace", "verdict"]),
    ("tools/analysis", &["history", "state", "symbols", "trace", "verdict"]),
    ("tools/query", &["analysis", "history", "interrupt", "state", "trace", "verdict"]),
    ("tools/export", &["analysis", "history", "state", "trace"]),
    ("tools/view", &["analysis", "history", "state", "trace"]),
    (
        "tools/cli",
        &[
            "analysis",
            "consumer",
            "control",
            "convert",
            "export",
            "filter",
            "history",
            "interrupt",
            "kernel",
            "query",
            "relay",
            "session",
            "state",
            "trace",
            "tracee",
            "trigger",
            "verdict",
            "view",
        ],
    ),
];

/// The dependencies of one manifest: line, section, name, whether it is of the workspace.
fn dependencies(manifest: &str) -> Vec<(usize, &str, &str, bool)> {
    let mut section = "";
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if section.ends_with("dependencies") {
            if let Some((name, value)) = line.split_once('=') {
                let name = name.trim().trim_end_matches(".workspace");
                found.push((index + 1, section, name, value.contains("path")));
            }
        }
    }
    found
}

/// Is this the manifest of a crate of the product, or of one that is no workspace of its own?
fn is_placed(file: &File) -> bool {
    let has = |section: &str| file.text.lines().any(|line| line == section);
    let is_crate = file.path.ends_with("/Cargo.toml") && has("[package]");
    is_crate && (file.path.starts_with("tools/") || !has("[workspace]"))
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().into_iter().filter(|file| is_placed(file)) {
        let folder = file.folder();
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == folder) else {
            let message = format!("crate {folder} has no row in the table of arrows (crates.rs)");
            findings.push(Finding::new(&file.path, 1, RULE, message));
            continue;
        };
        for (line, section, dependency, is_own) in dependencies(&file.text) {
            let test_only = section == "dev-dependencies" && dependency == "testkit";
            let message = if is_own && !allowed.contains(&dependency) && !test_only {
                format!("{name} may not depend on {dependency}")
            } else if dependency == "anyhow" && name != "cli" {
                "anyhow is for cli: a library has an error type of its own".into()
            } else {
                continue;
            };
            findings.push(Finding::new(&file.path, line, RULE, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(folder: &str, dependencies: &str) -> Vec<String> {
        let path = format!("{folder}/Cargo.toml");
        let manifest = format!("[package]\n{dependencies}");
        check(&Tree::of(&[(&path, &manifest)])).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn an_arrow_against_the_flow_is_found() {
        let manifest = "[dependencies]\nconsumer = { path = \"../consumer\" }\n";
        assert_eq!(messages("tools/trace", manifest), ["trace may not depend on consumer"]);
        assert!(messages("tools/cli", manifest).is_empty());
    }

    #[test]
    fn testkit_is_for_tests() {
        let line = "testkit = { path = \"../testkit\" }\n";
        assert!(messages("tools/trace", &format!("[dev-dependencies]\n{line}")).is_empty());
        assert_eq!(messages("tools/trace", &format!("[dependencies]\n{line}")).len(), 1);
    }

    #[test]
    fn anyhow_outside_cli_is_found() {
        assert_eq!(messages("tools/trace", "[dependencies]\nanyhow = \"1\"\n").len(), 1);
        assert!(messages("tools/cli", "[dependencies]\nanyhow = \"1\"\n").is_empty());
    }

    #[test]
    fn a_crate_nobody_placed_is_found() {
        assert_eq!(messages("tools/drawer", "[dependencies]\n").len(), 1);
        assert_eq!(messages("viewer", "[dependencies]\n").len(), 1);
    }

    #[test]
    fn what_checks_the_project_is_not_in_tools() {
        assert!(messages("check/testkit", "[dependencies]\n").is_empty());
        assert_eq!(messages("tools/testkit", "[dependencies]\n").len(), 1);
    }

    #[test]
    fn a_workspace_of_its_own_has_its_own_arrows() {
        let path = "check/fuzz/Cargo.toml";
        let manifest = "[package]\n[dependencies]\ntrace = { path = \"..\" }\n[workspace]\n";
        assert!(check(&Tree::of(&[(path, manifest)])).is_empty());
    }

    #[test]
    fn a_workspace_of_its_own_in_the_product_keeps_its_arrows() {
        let manifest = "[dependencies]\nconsumer = { path = \"../consumer\" }\n[workspace]\n";
        assert_eq!(messages("tools/query", manifest), ["query may not depend on consumer"]);
        assert_eq!(messages("tools/drawer", "[workspace]\n").len(), 1);
    }
}
