// SPDX-License-Identifier: MIT
//! Checks the rules that STYLE.md marks [checked]: `tidy ROOT`.
//!
//! Each module holds one rule and the tests that show it failing. A rule looks at a [`Tree`],
//! which is the text of every file git knows or would add, and returns what it found.
//! `tidy ROOT --write` rewrites generated tables instead of complaining about them.

mod abi;
mod arrows;
mod code;
mod crates;
mod docs;
mod joins;
mod licence;
mod names;
mod size;
mod tree;

use std::path::Path;
use std::process::ExitCode;
use tree::{Finding, Tree};

fn rules(tree: &Tree, exceptions_before: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(licence::check(tree));
    findings.extend(size::check(tree, exceptions_before));
    findings.extend(names::check(tree));
    findings.extend(arrows::check(tree));
    findings.extend(crates::check(tree));
    findings.extend(joins::check(tree));
    findings.extend(docs::check(tree));
    findings.extend(abi::check(tree));
    findings.sort();
    findings
}

fn write_generated(root: &Path, tree: &Tree) -> std::io::Result<()> {
    for (path, text) in abi::fresh(tree) {
        std::fs::write(root.join(&path), text)?;
        println!("wrote {path}");
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (root, write) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [root] => (Path::new(root), false),
        [root, "--write"] => (Path::new(root), true),
        _ => {
            eprintln!("usage: tidy ROOT [--write]");
            return ExitCode::from(2);
        }
    };
    let tree = match Tree::load(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: {}: {error}; is it a git checkout?", root.display());
            return ExitCode::from(2);
        }
    };
    if write {
        return match write_generated(root, &tree) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("tidy: {}: {error}", root.display());
                ExitCode::from(2)
            }
        };
    }
    let findings = rules(&tree, tree::committed(root, size::EXCEPTIONS).as_deref());
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("{} findings in {} files", findings.len(), tree.files().len());
    ExitCode::FAILURE
}
