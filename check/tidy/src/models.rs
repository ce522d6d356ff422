// SPDX-License-Identifier: MIT
//! Rule `models`: what is proved about a barrier and what is seeded in the code are the same.
//!
//! A noun that has a folder in models/ has all its labels there. A fault that is seeded in the
//! code has a twin of its name in a model, which is expected to fail.

use crate::joins;
use crate::tree::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

const RULE: &str = "models";
/// Labels of these files are of no algorithm that a model has; what each leaves to others.
const NOT_MODELLED: [(&str, &str); 2] = [
    ("rcu/qdo/host/", "threads that step QDo's core, by futexes: rcu/test/qdo"),
    (
        "rcu/grace/host/barrier.c",
        "how a barrier is forced: T 7.6's model in models/rcu, rcu/test/torture",
    ),
];

/// Mutants that a model is expected to catch, by the expectation files of models/.
pub fn caught(tree: &Tree) -> (BTreeSet<String>, Vec<Finding>) {
    let mut names = BTreeSet::new();
    let mut findings = Vec::new();
    let expectations = tree.files().into_iter().filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or("");
        file.path.starts_with("models/") && name.starts_with("expect") && name.ends_with(".toml")
    });
    for file in expectations {
        let table: toml::Table = match file.text.parse() {
            Ok(table) => table,
            Err(error) => {
                findings.push(Finding::new(&file.path, 1, RULE, error.message()));
                continue;
            }
        };
        let runs = table.get("run").and_then(|runs| runs.as_array());
        for run in runs.into_iter().flatten() {
            let verdict = run.get("verdict").and_then(|verdict| verdict.as_str());
            if verdict == Some("fail") {
                let mutants = run.get("mutants").and_then(|mutants| mutants.as_array());
                let mutants = mutants.into_iter().flatten();
                names.extend(mutants.filter_map(|name| name.as_str().map(str::to_owned)));
            }
        }
    }
    (names, findings)
}

/// Labels by where they are written in models.
fn modelled(tree: &Tree) -> BTreeSet<String> {
    let models = tree.files().into_iter().filter(|file| file.path.ends_with(".pml"));
    models.flat_map(|file| joins::labels_in(&file.text)).map(str::to_owned).collect()
}

fn noun(label: &str) -> &str {
    label.trim_start_matches('[').split('.').next().unwrap_or("")
}

/// `labels`: each barrier's label and its first place. `seeded`: mutants of the code by line.
pub fn check(
    tree: &Tree,
    labels: &BTreeMap<String, (String, usize)>,
    seeded: (&str, &BTreeMap<String, usize>),
) -> Vec<Finding> {
    let (caught, mut findings) = caught(tree);
    let modelled = modelled(tree);
    for (label, (path, line)) in labels {
        let has_models = tree.contains(&format!("models/{}", noun(label)));
        let left_out = NOT_MODELLED.iter().any(|(prefix, _)| path.starts_with(prefix));
        if has_models && !left_out && !modelled.contains(label) {
            let message = format!("{label} is in no model of models/{}", noun(label));
            findings.push(Finding::new(path, *line, RULE, message));
        }
    }
    if tree.contains("models") {
        for (name, line) in seeded.1.iter().filter(|(name, _)| !caught.contains(*name)) {
            let message = format!("mutant {name} has no twin that a model is expected to catch");
            findings.push(Finding::new(seeded.0, *line, RULE, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECT: &str = "[[run]]\nmutants = [\"EARLY\"]\nverdict = \"fail\"\n";
    const MODEL: &str = "STORE(cpu, word, 1) /* [a.put:A] */\n";

    fn messages(expect: &str, model: &str, path: &str) -> Vec<String> {
        let tree = Tree::of(&[("models/a/expect.toml", expect), ("models/a/a.pml", model)]);
        let labels = BTreeMap::from([("[a.put:A]".to_owned(), (path.to_owned(), 7))]);
        let seeded = BTreeMap::from([("EARLY".to_owned(), 3)]);
        let findings = check(&tree, &labels, ("m.h", &seeded));
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_label_in_a_model_and_a_mutant_with_its_twin_are_clean() {
        assert_eq!(messages(EXPECT, MODEL, "core/a.c"), [""; 0]);
    }

    #[test]
    fn a_label_in_no_model_is_found() {
        assert_eq!(messages(EXPECT, "", "core/a.c"), ["[a.put:A] is in no model of models/a"]);
        assert_eq!(messages(EXPECT, "", "rcu/qdo/host/fork.c"), [""; 0]);
    }

    #[test]
    fn a_mutant_that_no_model_catches_is_found() {
        let message = "mutant EARLY has no twin that a model is expected to catch";
        assert_eq!(messages("", MODEL, "core/a.c"), [message]);
        assert_eq!(messages(&EXPECT.replace("fail", "pass"), MODEL, "core/a.c"), [message]);
    }

    #[test]
    fn an_expectation_that_cannot_be_read_is_found() {
        assert_eq!(messages("[[run]\n", MODEL, "core/a.c").len(), 2);
    }
}
