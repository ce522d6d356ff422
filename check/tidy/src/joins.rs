// SPDX-License-Identifier: MIT
//! Rule `joins`: labels such as `[ring.commit:B]` join a barrier, its partners, the pair table
//! of its file, the mutant that removes it, and the documents that speak of it.
//!
//! A barrier's comment begins with its label: `[noun.verb:X] kind. Pairs with [..], [..].` and
//! may name its `Mutant: NAME.` A pair table is the lines under `Pairs:` or `Barrier pairs:`.

use crate::code;
use crate::models;
use crate::tree::{File, Finding, Language, Tree};
use std::collections::{BTreeMap, BTreeSet};

const RULE: &str = "joins";
const MUTANTS: &str = "port/sched/mutants.h";

/// The comment of one barrier.
struct Barrier<'a> {
    file: &'a File,
    line: usize,
    partners: BTreeSet<String>,
    mutants: Vec<String>,
}

#[derive(Default)]
struct Labels<'a> {
    barriers: BTreeMap<String, Vec<Barrier<'a>>>,
    tabled: BTreeSet<String>,
    /// Every mention, in comments and in documents.
    mentions: Vec<(String, &'a File, usize)>,
}

/// The label at the start of a text, brackets included.
fn label_prefix(text: &str) -> Option<&str> {
    let end = text.find(']')? + 1;
    let (name, letter) = text.strip_prefix('[')?[..end - 2].split_once(':')?;
    let (noun, verb) = name.split_once('.')?;
    let lower =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let upper = letter.len() == 1 && letter.chars().all(|c| c.is_ascii_uppercase());
    (lower(noun) && lower(verb) && upper).then_some(&text[..end])
}

pub fn labels_in(text: &str) -> Vec<&str> {
    text.match_indices('[').filter_map(|(at, _)| label_prefix(&text[at..])).collect()
}

/// A comment line without what makes it a comment.
fn bare(line: &str) -> &str {
    line.trim().trim_start_matches(['/', '*', '!']).trim_end_matches("*/").trim()
}

fn partners(block: &str) -> BTreeSet<String> {
    let found = block.split_once("Pairs with ").or_else(|| block.split_once("Pair with "));
    let Some((_, after)) = found else {
        return BTreeSet::new();
    };
    let mut rest = after;
    let mut found = BTreeSet::new();
    while let Some(label) = label_prefix(rest) {
        found.insert(label.to_owned());
        rest = rest[label.len()..].trim_start_matches([',', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    found
}

fn mutants(block: &str) -> Vec<String> {
    let Some((_, after)) = block.split_once("Mutant") else {
        return Vec::new();
    };
    let names = after.trim_start_matches(['s', ':', ' ']);
    names
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| word.trim_end_matches('.'))
        .take_while(|word| is_mutant_name(word))
        .map(str::to_owned)
        .collect()
}

pub fn is_mutant_name(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

impl<'a> Labels<'a> {
    fn read(&mut self, file: &'a File) {
        let comments = match file.language() {
            Language::C | Language::Rust | Language::Promela => code::views(file).comments,
            Language::Markdown => file.text.clone(),
            Language::Script | Language::Other => return,
        };
        let lines: Vec<&str> = comments.lines().map(bare).collect();
        let mut in_table = false;
        for (index, line) in lines.iter().enumerate() {
            let found = labels_in(line);
            self.mentions.extend(found.iter().map(|l| ((*l).to_owned(), file, index + 1)));
            if matches!(file.language(), Language::Markdown | Language::Promela) {
                continue;
            }
            let heading = |line: &str| {
                matches!(line, "Pairs:" | "Barrier pairs:") || line.starts_with("Barrier pairs (")
            };
            let after_heading = index > 0 && heading(lines[index - 1]);
            in_table = heading(line) || in_table && (!line.is_empty() || after_heading);
            if in_table {
                self.tabled.extend(found.into_iter().map(str::to_owned));
            } else if let Some(label) = label_prefix(line) {
                if line[label.len()..].starts_with(' ') {
                    self.add_barrier(label, file, index, &lines);
                }
            }
        }
    }

    fn add_barrier(&mut self, label: &str, file: &'a File, index: usize, lines: &[&str]) {
        let length = lines[index..].iter().take_while(|line| !line.is_empty()).count();
        let block = lines[index..index + length].join(" ");
        self.barriers.entry(label.into()).or_default().push(Barrier {
            file,
            line: index + 1,
            partners: partners(&block),
            mutants: mutants(&block),
        });
    }
}

fn check_barriers(labels: &Labels, mutants: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (label, places) in &labels.barriers {
        for (index, barrier) in places.iter().enumerate() {
            let mut found = |message: String| {
                findings.push(Finding::new(&barrier.file.path, barrier.line, RULE, message));
            };
            if index > 0 {
                found(format!("{label} is also at {}:{}", places[0].file.path, places[0].line));
            }
            if !labels.tabled.contains(label) {
                found(format!("{label} is in no pair table"));
            }
            if barrier.partners.is_empty() {
                found(format!("{label} does not say what it pairs with"));
            }
            for partner in &barrier.partners {
                match labels.barriers.get(partner).and_then(|places| places.first()) {
                    None => found(format!("{label} pairs with {partner}, which no barrier has")),
                    Some(other) if !other.partners.contains(label) => {
                        found(format!("{partner} does not say that it pairs with {label}"));
                    }
                    Some(_) => {}
                }
            }
            for name in barrier.mutants.iter().filter(|name| !mutants.contains(*name)) {
                found(format!("mutant {name} is not in {MUTANTS}, nor caught by a model"));
            }
        }
    }
    findings
}

/// The mutants of the table, with their lines.
fn seeded_mutants(tree: &Tree) -> BTreeMap<String, usize> {
    let text = tree.get(MUTANTS).map_or("", |file| &file.text);
    let rows = text.lines().enumerate().filter_map(|(index, line)| {
        let (name, _) = line.split_once("X(")?.1.split_once(',')?;
        is_mutant_name(name).then(|| (name.to_owned(), index + 1))
    });
    rows.collect()
}

fn check_mutants(tree: &Tree, seeded: &BTreeMap<String, usize>) -> Vec<Finding> {
    let mut used = BTreeSet::new();
    let mut findings = Vec::new();
    for file in tree.files() {
        let is_patch = file.path.ends_with(".patch");
        let code = match file.language() {
            Language::C => code::views(file).code,
            _ if is_patch => file.text.clone(),
            _ => continue,
        };
        // of a patch, what it adds
        let planted = |line: &&str| !is_patch || line.starts_with('+');
        for (index, line) in code.lines().enumerate().filter(|(_, line)| planted(line)) {
            for (_, after) in
                line.match_indices("LULL_MUTANT(").map(|(at, m)| (at, &line[at + m.len()..]))
            {
                let name = after.split(')').next().unwrap_or("");
                if is_mutant_name(name) {
                    used.insert(name.to_owned());
                    if !seeded.contains_key(name) {
                        let message = format!("mutant {name} is not in {MUTANTS}");
                        findings.push(Finding::new(&file.path, index + 1, RULE, message));
                    }
                }
            }
        }
    }
    for (name, line) in seeded.iter().filter(|(name, _)| !used.contains(*name)) {
        let message = format!("mutant {name} changes nothing: no LULL_MUTANT({name}) in the code");
        findings.push(Finding::new(MUTANTS, *line, RULE, message));
    }
    findings
}

fn labels(tree: &Tree) -> Labels<'_> {
    let mut labels = Labels::default();
    for file in tree.files().into_iter().filter(|file| !file.path.starts_with("check/tidy/")) {
        labels.read(file);
    }
    labels
}

/// By label, the mutants that its barrier's comment names.
pub fn mutants_by_label(tree: &Tree) -> BTreeMap<String, Vec<String>> {
    let barriers = labels(tree).barriers.into_iter();
    barriers.map(|(l, places)| (l, places.into_iter().flat_map(|b| b.mutants).collect())).collect()
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let labels = labels(tree);
    let seeded = seeded_mutants(tree);
    let mut mutants = models::caught(tree).0;
    mutants.extend(seeded.keys().cloned());
    let mut findings = check_barriers(&labels, &mutants);
    let places = labels.barriers.iter().filter_map(|(label, places)| {
        let first = places.first()?;
        Some((label.clone(), (first.file.path.clone(), first.line)))
    });
    findings.extend(models::check(tree, &places.collect(), (MUTANTS, &seeded)));
    findings.extend(check_mutants(tree, &seeded));
    for (label, file, line) in &labels.mentions {
        if !labels.barriers.contains_key(label) {
            let message = format!("{label} is the label of no barrier");
            findings.push(Finding::new(&file.path, *line, RULE, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "/*\n * Barrier pairs:\n *\t[a.put:A]\tx before y\t[a.get:A]\n */\n";
    const PUT: &str =
        "\t/*\n\t * [a.put:A] release. Pairs with [a.get:A].\n\t * Mutant: EARLY.\n\t */\n";
    const GET: &str = "\t/* [a.get:A] acquire. Pairs with [a.put:A]. */\n";
    const USE: &str = "if (LULL_MUTANT(EARLY))\n";
    const SEEDED: &str = "#define M(X) \\\n\tX(EARLY, \"too early\")\n";

    fn messages(core: &[&str], mutants: &str) -> Vec<String> {
        let tree = Tree::of(&[("core/a.c", &core.concat()), (MUTANTS, mutants)]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_complete_join_is_clean() {
        assert_eq!(messages(&[TABLE, PUT, GET, USE], SEEDED), [""; 0]);
    }

    #[test]
    fn a_label_used_twice_is_found() {
        let found = messages(&[TABLE, PUT, GET, GET, USE], SEEDED);
        assert_eq!(found, ["[a.get:A] is also at core/a.c:9"]);
    }

    #[test]
    fn a_barrier_missing_from_the_table_is_found() {
        let found = messages(&[PUT, GET, USE], SEEDED);
        assert_eq!(
            found,
            ["[a.put:A] is in no pair table", "[a.get:A] is in no pair table"]
                .map(|m| m.to_owned())
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_partner_that_does_not_exist_is_found() {
        let found = messages(&[TABLE, PUT, USE], SEEDED);
        assert!(
            found.contains(&"[a.put:A] pairs with [a.get:A], which no barrier has".into()),
            "{found:?}"
        );
    }

    #[test]
    fn a_partner_that_does_not_answer_is_found() {
        let lonely = "\t/* [a.get:A] acquire. Pairs with [a.get:A]. */\n";
        let found = messages(&[TABLE, PUT, lonely, USE], SEEDED);
        assert_eq!(found, ["[a.get:A] does not say that it pairs with [a.put:A]"]);
    }

    #[test]
    fn a_barrier_without_partner_is_found() {
        let found = messages(&[TABLE, PUT, "/* [a.get:A] acquire. */\n", USE], SEEDED);
        assert!(found.contains(&"[a.get:A] does not say what it pairs with".into()), "{found:?}");
    }

    #[test]
    fn a_mutant_that_is_not_seeded_is_found() {
        let found = messages(&[TABLE, PUT, GET, USE], "");
        let missing = "mutant EARLY is not in port/sched/mutants.h";
        assert_eq!(found, [format!("{missing}, nor caught by a model"), missing.into()]);
    }

    #[test]
    fn every_mutant_of_a_list_is_looked_up() {
        let two = PUT.replace("Mutant: EARLY.", "Mutants: EARLY, LATE.");
        let found = messages(&[TABLE, &two, GET, USE], SEEDED);
        let message = "mutant LATE is not in port/sched/mutants.h, nor caught by a model";
        assert_eq!(found, [message]);
    }

    #[test]
    fn a_mutant_that_changes_nothing_is_found() {
        let found = messages(&[TABLE, PUT, GET], SEEDED);
        assert_eq!(found, ["mutant EARLY changes nothing: no LULL_MUTANT(EARLY) in the code"]);
    }

    #[test]
    fn a_mutant_may_be_planted_by_a_patch() {
        let of = |patch: &str| {
            let code = [TABLE, PUT, GET].concat();
            let files = [("core/a.c", code.as_str()), (MUTANTS, SEEDED), ("port/a.patch", patch)];
            check(&Tree::of(&files)).len()
        };
        assert_eq!(of("+\tif (LULL_MUTANT(EARLY))\n"), 0);
        assert_eq!(of("-\tif (LULL_MUTANT(EARLY))\n"), 1);
        assert_eq!(of("+\tif (LULL_MUTANT(EARLY) || LULL_MUTANT(LATE))\n"), 1);
    }

    #[test]
    fn a_document_that_names_no_barrier_is_found() {
        let tree = Tree::of(&[("docs/a.md", "see [a.gone:A]\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
