// SPDX-License-Identifier: MIT
//! Rule `docs`: links and paths in documents lead somewhere, tables are rectangular, and code
//! refers to documents that exist.

use crate::code;
use crate::tree::{File, Finding, Language, Tree};

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

fn cells(row: &str) -> usize {
    row.replace("\\|", "").trim().trim_matches('|').matches('|').count() + 1
}

fn check_tables(file: &File) -> Vec<Finding> {
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
            for (line, row) in rest.iter().filter(|(_, row)| cells(row) != cells(header)) {
                let message = format!("{} cells in a table of {}", cells(row), cells(header));
                findings.push(Finding::new(&file.path, *line, RULE, message));
            }
        }
        rows.clear();
    }
    findings
}

fn check_document(tree: &Tree, file: &File) -> Vec<Finding> {
    let mut findings = check_tables(file);
    for (line, text) in prose(&file.text) {
        let (code, text) = spans(text);
        let links = link_targets(&text).into_iter().filter_map(|link| check_link(tree, file, link));
        let paths = code.into_iter().filter_map(|span| check_path(tree, span));
        for message in links.chain(paths) {
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
    for file in tree.files() {
        match file.language() {
            Language::Markdown => findings.extend(check_document(tree, file)),
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
            ("core/ring/ring.c", ""),
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
    fn a_comment_that_refers_to_nothing_is_found() {
        let tree = Tree::of(&[("core/a.c", "/* see docs/design/99-gone.md. */\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
