// SPDX-License-Identifier: MIT
//! Rule `crates`: which crate of the workspace may depend on which, and `anyhow` only in `cli`.

use crate::tree::{Finding, Tree};

const RULE: &str = "crates";
/// A crate and what of the workspace it may use. Every crate may test with `testkit`.
const ARROWS: [(&str, &[&str]); 12] = [
    ("trace", &[]),
    ("testkit", &[]),
    ("session", &[]),
    ("tidy", &[]),
    ("model", &[]),
    ("state", &["trace"]),
    ("consumer", &["session", "state", "trace"]),
    ("relay", &["session", "state", "trace"]),
    ("analysis", &["state", "trace"]),
    ("query", &["analysis", "state", "trace"]),
    ("export", &["analysis", "state", "trace"]),
    ("cli", &["analysis", "consumer", "export", "query", "relay", "session", "state", "trace"]),
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

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let parts: Vec<&str> = file.path.split('/').collect();
        let ["tools", name, "Cargo.toml"] = parts[..] else {
            continue;
        };
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            let message = format!("crate {name} has no row in the table of arrows (crates.rs)");
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

    fn messages(name: &str, manifest: &str) -> Vec<String> {
        let path = format!("tools/{name}/Cargo.toml");
        check(&Tree::of(&[(&path, manifest)])).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn an_arrow_against_the_flow_is_found() {
        let manifest = "[dependencies]\nconsumer = { path = \"../consumer\" }\n";
        assert_eq!(messages("trace", manifest), ["trace may not depend on consumer"]);
        assert!(messages("cli", manifest).is_empty());
    }

    #[test]
    fn testkit_is_for_tests() {
        let line = "testkit = { path = \"../testkit\" }\n";
        assert!(messages("trace", &format!("[dev-dependencies]\n{line}")).is_empty());
        assert_eq!(messages("trace", &format!("[dependencies]\n{line}")).len(), 1);
    }

    #[test]
    fn anyhow_outside_cli_is_found() {
        assert_eq!(messages("trace", "[dependencies]\nanyhow = \"1\"\n").len(), 1);
        assert!(messages("cli", "[dependencies]\nanyhow = \"1\"\n").is_empty());
    }

    #[test]
    fn a_crate_nobody_placed_is_found() {
        assert_eq!(messages("drawer", "[dependencies]\n").len(), 1);
    }
}
