// SPDX-License-Identifier: MIT
//! Checks the rules that STYLE.md marks [checked]: `tidy ROOT`.
//!
//! Each module holds one rule and the tests that show it failing. A rule looks at a [`Tree`],
//! which is the text of every file git knows or would add, and returns what it found.
//! `tidy ROOT --write` rewrites generated tables instead of complaining about them.
//! `tidy ROOT --barriers` lists what orders memory, and `tidy ROOT --without NUMBER` prints the
//! file of one of them as it is without it: for models/barriers.

mod abi;
mod arrows;
mod atomics;
mod barriers;
mod code;
mod crates;
mod docs;
mod joins;
mod licence;
mod models;
mod names;
mod size;
mod tree;

use std::path::Path;
use std::process::ExitCode;
use tree::{Finding, Tree};

fn rules(
    tree: &Tree,
    exceptions_before: Option<&str>,
    unproved_before: Option<&str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(licence::check(tree));
    findings.extend(size::check(tree, exceptions_before));
    findings.extend(names::check(tree));
    findings.extend(arrows::check(tree));
    findings.extend(crates::check(tree));
    findings.extend(joins::check(tree));
    findings.extend(atomics::check(tree));
    findings.extend(barriers::check(tree, unproved_before));
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

/// Lines of number, path, line, function, kind, label, and mutants that models catch.
fn list_barriers(tree: &Tree) {
    let (caught, by_label) = (models::caught(tree).0, joins::mutants_by_label(tree));
    for (number, b) in barriers::of(tree).into_iter().enumerate() {
        let label = if b.label.is_empty() { "-" } else { &b.label };
        let mutants = by_label.get(label).into_iter().flatten();
        let mutants: Vec<&str> =
            mutants.filter(|name| caught.contains(*name)).map(String::as_str).collect();
        let mutants = if mutants.is_empty() { "-".into() } else { mutants.join(" ") };
        let (path, line, function, kind) = (b.path, b.line, b.function, b.kind);
        println!("{number}\t{path}\t{line}\t{function}\t{kind}\t{label}\t{mutants}");
    }
}

/// A file's text without the barrier of that number.
fn print_without(tree: &Tree, number: &str) -> ExitCode {
    let found =
        number.parse().ok().and_then(|number: usize| barriers::of(tree).into_iter().nth(number));
    let Some(barrier) = found else {
        eprintln!("tidy: no barrier has number {number}; --barriers lists them");
        return ExitCode::from(2);
    };
    print!("{}", barriers::without(tree, &barrier));
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (root, action, number) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        [root] => (Path::new(root), "", ""),
        [root, action @ ("--write" | "--barriers")] => (Path::new(root), action, ""),
        [root, "--without", number] => (Path::new(root), "--without", number),
        _ => {
            eprintln!("usage: tidy ROOT [--write | --barriers | --without NUMBER]");
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
    match action {
        "--barriers" => {
            list_barriers(&tree);
            return ExitCode::SUCCESS;
        }
        "--without" => return print_without(&tree, number),
        _ => {}
    }
    if action == "--write" {
        return match write_generated(root, &tree) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("tidy: {}: {error}", root.display());
                ExitCode::from(2)
            }
        };
    }
    let exceptions_before = tree::committed(root, size::EXCEPTIONS);
    let unproved_before = tree::committed(root, barriers::UNPROVED);
    let findings = rules(&tree, exceptions_before.as_deref(), unproved_before.as_deref());
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("{} findings in {} files", findings.len(), tree.files().len());
    ExitCode::FAILURE
}
