// SPDX-License-Identifier: MIT
//! Rule `docs`: links and paths in documents lead somewhere, tables are rectangular, names in
//! capitals are somewhere in the sources, and code refers to documents that exist.

use crate::code;
use crate::joins::is_mutant_name;
use crate::tree::{File, Finding, Language, Tree};
use std::collections::BTreeSet;

const RULE: &str = "docs";
/// Folders whose paths, in backquotes in a document, must exist.
const FOLDERS: [&str; 16] = [
    ".ci", "bench", "check", "core", "docs", "examples", "kernel", "mk", "models", "port", "rcu",
    "tests", "tools", "user", "viewer", "LICENSES",
];

/// `folder/name` joined and without `.` and `..`; `None` when it leads out of the tree.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn has_anchor(file: &File, wanted: &str) -> bool {
    let headings = file.text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).any(|found| found == wanted)
}

/// The lines of a document that are not in a code fence, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// Every second part of a line, cut at backquotes, is code: (code, text) parts in turn.
fn spans(line: &str) -> (Vec<&str>, String) {
    let parts: Vec<&str> = line.split('`').collect();
    let code = parts.iter().skip(1).step_by(2).copied().collect();
    let text = parts.iter().step_by(2).copied().collect::<Vec<_>>().join("`");
    (code, text)
}

fn link_targets(text: &str) -> Vec<&str> {
    let after_links = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    after_links.filter_map(|rest| Some(&rest[..rest.find(')')?])).collect()
}

fn check_link(tree: &Tree, file: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, wanted) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => file.path.clone(),
        _ => match resolve(file.folder(), path) {
            Some(path) => path,
            None => return Some(format!("link {target} leads out of the project")),
        },
    };
    if !tree.contains(&path) {
        return Some(format!("link {target}: there is no {path}"));
    }
    let page = tree.get(&path)?;
    if !wanted.is_empty() && page.language() == Language::Markdown && !has_anchor(page, wanted) {
        return Some(format!("link {target}: {path} has no such heading"));
    }
    None
}

/// A path in backquotes, such as `core/ring/ring.c`.
fn check_path(tree: &Tree, span: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let (folder, rest) = span.split_once('/')?;
    if !FOLDERS.contains(&folder) || rest.is_empty() || !span.chars().all(plain) {
        return None;
    }
    let adr = span.starts_with("docs/adr/") && tree.contains_prefix(span);
    (!adr && !tree.contains(span)).then(|| format!("there is no {span}"))
}

fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "");
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Words in capitals of everything that is no document: a document may use these, and no others.
/// Faults that can be put into the code or into a model are among them.
fn names_in_sources(tree: &Tree) -> BTreeSet<&str> {
    let sources = tree.files().into_iter().filter(|f| f.language() != Language::Markdown);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = sources.flat_map(|file| file.text.split(move |c| !is_part(c)));
    words.filter(|word| is_mutant_name(word)).collect()
}

/// A name in backquotes, such as `COMMIT_EARLY`; a word without underscore may be anything.
fn check_name(names: &BTreeSet<&str>, span: &str) -> Option<String> {
    let is_gone = is_mutant_name(span) && span.contains('_') && !names.contains(span);
    is_gone.then(|| format!("{span} is in no source"))
}

/// The names in a column of mutants.
fn check_mutants(names: &BTreeSet<&str>, cell: &str) -> Option<String> {
    let mut words = cell.split([',', ' ', '`']);
    let gone = words.find(|word| is_mutant_name(word) && !names.contains(word))?;
    Some(format!("there is no mutant {gone}"))
}

fn check_tables(file: &File, names: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rows: Vec<(usize, &str)> = Vec::new();
    for (line, text) in prose(&file.text).chain(std::iter::once((0, ""))) {
        if text.starts_with('|') {
            rows.push((line, text));
            continue;
        }
        if let [(first, header), rest @ ..] = &rows[..] {
            let rule_row = rest
                .first()
                .is_some_and(|(_, row)| row.trim_matches(['|', '-', ':', ' ']).is_empty());
            if !rule_row {
                findings.push(Finding::new(&file.path, *first, RULE, "a table without a header"));
            }
            let titles = cells(header);
            let of_mutants =
                titles.iter().position(|title| ["mutant", "mutants"].contains(&&title[..]));
            for (line, row) in rest {
                let found = cells(row);
                if found.len() != titles.len() {
                    let message = format!("{} cells in a table of {}", found.len(), titles.len());
                    findings.push(Finding::new(&file.path, *line, RULE, message));
                }
                let cell = of_mutants.and_then(|column| found.get(column));
                if let Some(message) = cell.and_then(|cell| check_mutants(names, cell)) {
                    findings.push(Finding::new(&file.path, *line, RULE, message));
                }
            }
        }
        rows.clear();
    }
    findings
}

fn check_document(tree: &Tree, file: &File, names: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = check_tables(file, names);
    for (line, text) in prose(&file.text) {
        let (code, text) = spans(text);
        let links = link_targets(&text).into_iter().filter_map(|link| check_link(tree, file, link));
        let spans = code.into_iter();
        let spans =
            spans.filter_map(|span| check_path(tree, span).or_else(|| check_name(names, span)));
        for message in links.chain(spans) {
            findings.push(Finding::new(&file.path, line, RULE, message));
        }
    }
    findings
}

/// Documents that comments refer to, as docs/adr/0002 or a whole path.
fn check_references(tree: &Tree, file: &File) -> Vec<Finding> {
    let comments = match file.language() {
        Language::C | Language::Rust | Language::Promela => code::views(file).comments,
        _ => file.text.clone(),
    };
    let mut findings = Vec::new();
    for (index, line) in comments.lines().enumerate() {
        for (at, _) in line.match_indices(concat!("do", "cs/")) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
            let name =
                line[at..].split(|c| !plain(c)).next().unwrap_or("").trim_end_matches(['.', '/']);
            let inside = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
            let record = name.starts_with(concat!("do", "cs/adr/")) && tree.contains_prefix(name);
            if !(inside || record || tree.contains(name)) {
                findings.push(Finding::new(
                    &file.path,
                    index + 1,
                    RULE,
                    format!("there is no {name}"),
                ));
            }
        }
    }
    findings
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let names = names_in_sources(tree);
    for file in tree.files() {
        match file.language() {
            Language::Markdown => findings.extend(check_document(tree, file, &names)),
            Language::C | Language::Rust | Language::Promela | Language::Script => {
                if !file.path.starts_with("check/tidy/") {
                    findings.extend(check_references(tree, file));
                }
            }
            Language::Other => {}
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/a.md", text),
            ("docs/adr/0002-rseq.md", "# Two words, and `code`\n"),
            ("core/ring/ring.c", "int IN_SOURCE;\n"),
            ("port/sched/mutants.h", "#define M(X) X(EARLY, \"too early\")\n"),
        ]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        assert!(messages("[x](adr/0002-rseq.md) [y](../core/ring/ring.c) [z](../core/ring)\n")
            .is_empty());
        assert_eq!(
            messages("[x](adr/0003.md)\n"),
            ["link adr/0003.md: there is no docs/adr/0003.md"]
        );
        assert_eq!(messages("[x](../../a)\n").len(), 1);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        assert!(messages("[x](adr/0002-rseq.md#two-words-and-code)\n").is_empty());
        assert_eq!(messages("[x](adr/0002-rseq.md#three)\n").len(), 1);
    }

    #[test]
    fn a_path_to_nothing_is_found() {
        assert!(messages("`core/ring/ring.c` `core/ring` `docs/adr/0002` `a/b`\n").is_empty());
        assert_eq!(messages("`core/ring/gone.c`\n"), ["there is no core/ring/gone.c"]);
        assert!(messages("```\n`core/ring/gone.c` [x](gone)\n```\n").is_empty());
    }

    #[test]
    fn a_crooked_table_is_found() {
        assert!(messages("| a | b |\n|---|---|\n| c \\| d | e |\n").is_empty());
        assert_eq!(messages("| a | b |\n|---|---|\n| c |\n"), ["1 cells in a table of 2"]);
        assert_eq!(messages("| a | b |\n| c | d |\n"), ["a table without a header"]);
    }

    #[test]
    fn a_name_in_capitals_that_is_nowhere_is_found() {
        assert!(messages("`IN_SOURCE` `MIT` NOT_CODE `O_x` ``IN_SOURCE``\n").is_empty());
        assert_eq!(messages("`GONE_EARLY`\n"), ["GONE_EARLY is in no source"]);
    }

    #[test]
    fn a_mutant_in_a_table_that_is_gone_is_found() {
        let table = "| what | mutant |\n|---|---|\n| a | `EARLY` |\n| b | |\n";
        assert!(messages(table).is_empty());
        assert_eq!(messages(&format!("{table}| c | EARLY, LATE |\n")), ["there is no mutant LATE"]);
    }

    #[test]
    fn a_comment_that_refers_to_nothing_is_found() {
        let tree = Tree::of(&[("core/a.c", "/* see docs/design/99-gone.md. */\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
