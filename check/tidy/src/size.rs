// SPDX-License-Identifier: MIT
//! Rules `size` and `width`: files of 600 lines, functions of 70, lines of 100 columns.
//!
//! `exceptions.txt` lists what may be longer, with its length and a reason. An entry must give
//! the exact length, so that whoever shortens the code lowers the entry; and against the last
//! commit the list may only lose entries or lower them.

use crate::code;
use crate::tree::{File, Finding, Language, Tree};
use std::collections::BTreeMap;

pub const EXCEPTIONS: &str = "check/tidy/exceptions.txt";
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;
const TAB_COLUMNS: usize = 8;

/// Something that has a length: a file, or a function in it (`PATH:NAME`).
struct Extent {
    name: String,
    line: usize,
    lines: usize,
    lines_max: usize,
}

/// `NAME LINES REASON` on each line; `#` begins a comment.
fn parse_exceptions(text: &str) -> BTreeMap<&str, (usize, usize)> {
    let mut entries = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(Ok(lines))) = (words.next(), words.next().map(str::parse)) {
            let reason_words = words.count();
            entries.insert(name, (if reason_words == 0 { 0 } else { lines }, index + 1));
        }
    }
    entries
}

fn line_of(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count()
}

/// A C function's body opens with a brace alone in column 1 and closes with one in column 1.
pub fn c_functions(code: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut functions = Vec::new();
    for (open, _) in lines.iter().enumerate().filter(|(_, line)| line.trim_end() == "{") {
        if !lines[open].starts_with('{') {
            continue;
        }
        let signature = lines[..open]
            .iter()
            .rposition(|line| {
                line.trim().is_empty() || line.starts_with(['}', '#']) || line.ends_with(';')
            })
            .map_or(0, |before| before + 1);
        let close = lines[open..].iter().position(|line| line.starts_with('}'));
        let head = lines[signature..open].join(" ");
        functions.push((c_name(&head), signature, close.map_or(lines.len(), |n| open + n)));
    }
    functions
}

/// The identifier before the first parenthesis that is not an attribute's.
fn c_name(head: &str) -> String {
    let mut rest = head;
    while let Some((before, after)) = rest.split_once('(') {
        let name = code::identifiers(before).last().unwrap_or("");
        if !name.starts_with("__") && !name.is_empty() {
            return name.into();
        }
        rest = after;
    }
    "?".into()
}

/// Every `fn` with a body, by counting braces.
pub fn rust_functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut functions = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find("fn ") {
        let at = from + found;
        from = at + 3;
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let Some(name) = code::identifiers(&code[from..]).next() else {
            break;
        };
        let mut depth = (0usize, 0usize); // parentheses, braces
        let mut close = None;
        for (offset, c) in code[from..].char_indices() {
            match c {
                '(' | '[' => depth.0 += 1,
                ')' | ']' => depth.0 = depth.0.saturating_sub(1),
                ';' if depth == (0, 0) => break, // a declaration
                '{' => depth.1 += 1,
                '}' if depth.1 <= 1 => {
                    close = Some(from + offset);
                    break;
                }
                '}' => depth.1 -= 1,
                _ => {}
            }
        }
        if let Some(close) = close {
            functions.push((name.into(), line_of(code, at), line_of(code, close)));
        }
    }
    functions
}

fn extents(file: &File) -> Vec<Extent> {
    let functions = match file.language() {
        Language::C => c_functions(&code::views(file).code),
        Language::Rust => rust_functions(&code::views(file).code),
        Language::Script | Language::Promela => Vec::new(),
        Language::Markdown | Language::Other => return Vec::new(),
    };
    let whole = Extent {
        name: file.path.clone(),
        line: 1,
        lines: file.text.lines().count(),
        lines_max: FILE_LINES_MAX,
    };
    let functions = functions.into_iter().map(|(name, begin, end)| Extent {
        name: format!("{}:{name}", file.path),
        line: begin + 1,
        lines: end - begin + 1,
        lines_max: FUNCTION_LINES_MAX,
    });
    std::iter::once(whole).chain(functions).collect()
}

/// Programs that must not compile: what is wrong with them may be their length.
const WIDTH_EXEMPT: &str = "tests/compile_fail/";

fn too_wide(file: &File) -> Vec<Finding> {
    let not_code = matches!(file.language(), Language::Markdown | Language::Other);
    if not_code || file.path.starts_with(WIDTH_EXEMPT) {
        return Vec::new();
    }
    let columns = |line: &str| {
        line.chars().fold(0, |column, c| match c {
            '\t' => (column / TAB_COLUMNS + 1) * TAB_COLUMNS,
            _ => column + 1,
        })
    };
    let wide = file.text.lines().enumerate().filter(|(_, line)| columns(line) > COLUMNS_MAX);
    wide.map(|(index, line)| {
        let message = format!("{} columns, the limit is {COLUMNS_MAX}", columns(line));
        Finding::new(&file.path, index + 1, "width", message)
    })
    .collect()
}

/// `before` is the list of the last commit, if there is one.
pub fn check(tree: &Tree, before: Option<&str>) -> Vec<Finding> {
    let text = tree.get(EXCEPTIONS).map_or("", |file| &file.text);
    let mut unused = parse_exceptions(text);
    let mut findings = list_growth(text, before);
    for file in tree.files() {
        findings.extend(too_wide(file));
        for Extent { name, line, lines, lines_max } in extents(file) {
            let message = match unused.remove(name.as_str()) {
                Some((listed, _)) if listed == lines && lines > lines_max => continue,
                Some((listed, _)) if lines <= lines_max => {
                    format!("{name} has {lines} lines: drop its exception of {listed}")
                }
                Some((listed, _)) if lines < listed => {
                    format!("{name} has {lines} lines: lower its exception of {listed}")
                }
                Some(_) => format!("{name} has {lines} lines, more than its exception"),
                None if lines <= lines_max => continue,
                None => format!("{name} has {lines} lines, the limit is {lines_max}"),
            };
            findings.push(Finding::new(&file.path, line, "size", message));
        }
    }
    for (name, (_, line)) in unused {
        let message = format!("{name} does not exist: drop its exception");
        findings.push(Finding::new(EXCEPTIONS, line, "size", message));
    }
    findings
}

fn list_growth(text: &str, before: Option<&str>) -> Vec<Finding> {
    let Some(before) = before.map(parse_exceptions) else {
        return Vec::new();
    };
    let grown = parse_exceptions(text).into_iter().filter_map(|(name, (lines, line))| {
        let message = match before.get(name) {
            Some((was, _)) if lines <= *was => return None,
            Some((was, _)) => {
                format!("the exception of {name} grew from {was} to {lines} lines")
            }
            None => format!("{name} is a new exception; split it instead"),
        };
        Some(Finding::new(EXCEPTIONS, line, "size", message))
    });
    grown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c_file(body_lines: usize) -> String {
        format!(
            "static __attribute__((cold)) int\nlong_one(int a)\n{{\n{}}}\n",
            "\ta++;\n".repeat(body_lines)
        )
    }

    fn messages(tree: &Tree, before: Option<&str>) -> Vec<String> {
        check(tree, before).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_long_c_function_is_found_by_name() {
        assert!(messages(&Tree::of(&[("core/a.c", &c_file(66))]), None).is_empty());
        let found = messages(&Tree::of(&[("core/a.c", &c_file(67))]), None);
        assert_eq!(found, ["core/a.c:long_one has 71 lines, the limit is 70"]);
    }

    #[test]
    fn a_long_rust_function_is_found_by_name() {
        let text =
            format!("impl A {{\n    fn b(&self) -> [u8; 2] {{\n{}    }}\n}}\n", "x;\n".repeat(69));
        let found = messages(&Tree::of(&[("tools/a/src/a.rs", &text)]), None);
        assert_eq!(found, ["tools/a/src/a.rs:b has 71 lines, the limit is 70"]);
    }

    #[test]
    fn a_long_file_is_found() {
        let text = "int a;\n".repeat(601);
        let found = messages(&Tree::of(&[("user/a.h", &text)]), None);
        assert_eq!(found, ["user/a.h has 601 lines, the limit is 600"]);
    }

    #[test]
    fn a_wide_line_is_found_and_tabs_count_eight() {
        let text = format!("\t{}\n", "x".repeat(92));
        assert!(messages(&Tree::of(&[("user/a.c", &text)]), None).is_empty());
        let text = format!("\t{}\n", "x".repeat(93));
        assert_eq!(messages(&Tree::of(&[("user/a.c", &text)]), None).len(), 1);
    }

    #[test]
    fn an_exception_excuses_exactly_its_length() {
        let file = c_file(67);
        let with =
            |list: &str| messages(&Tree::of(&[("core/a.c", &file), (EXCEPTIONS, list)]), None);
        assert!(with("core/a.c:long_one 71 one table, in order\n").is_empty());
        assert_eq!(with("core/a.c:long_one 72 one table\n").len(), 1);
        assert_eq!(with("core/a.c:long_one 70 one table\n").len(), 1);
        assert_eq!(with("core/a.c:long_one 71\n").len(), 1, "a reason is needed");
        assert_eq!(with("core/a.c:long_one 71 one table\ncore/a.c:gone 80 gone\n").len(), 1);
    }

    #[test]
    fn the_list_of_exceptions_may_only_shrink() {
        let file = c_file(67);
        let list = "core/a.c:long_one 71 one table\n";
        let tree = Tree::of(&[("core/a.c", &file), (EXCEPTIONS, list)]);
        assert!(messages(&tree, Some(list)).is_empty());
        assert_eq!(messages(&tree, Some("")).len(), 1);
        assert_eq!(messages(&tree, Some("core/a.c:long_one 69 one table\n")).len(), 1);
    }
}
