// SPDX-License-Identifier: MIT
//! Rule `abi`: the tables of docs/formats are those of the headers in core/include/lull/abi.
//!
//! A document asks for a table and tidy writes it, between two marks:
//! `<!-- tidy: struct NAME in HEADER -->` or `enum NAME` or `define PREFIX`, and
//! `<!-- tidy: end -->`. A struct must have no padding that its header does not spell out.

use crate::tree::{File, Finding, Language, Tree};
use std::collections::BTreeMap;

const RULE: &str = "abi";
const HEADERS: &str = "core/include/lull/abi/";
const BEGIN: &str = "<!-- tidy: ";
const END: &str = "<!-- tidy: end -->";

/// A C declaration and the comment after it.
struct Item {
    text: String,
    comment: String,
}

fn comment_text(raw: &str) -> String {
    let lines = raw.lines().map(|line| line.trim().trim_start_matches('*').trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Splits `a; /* about a */ b;` at `separator`, giving each item the comment that follows it
/// on its line. A comment on lines of its own goes to no item.
fn items(body: &str, separator: char) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut text = String::new();
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        if let Some((comment, after)) = rest.strip_prefix("/*").and_then(|r| r.split_once("*/")) {
            if let (true, Some(last)) =
                (text.trim().is_empty() && !text.contains('\n'), items.last_mut())
            {
                last.comment = comment_text(comment);
            } else if !text.trim().is_empty() {
                items.push(Item { text: text.trim().into(), comment: comment_text(comment) });
                text.clear();
            }
            rest = after;
            continue;
        }
        if c == separator {
            items.push(Item { text: text.trim().into(), comment: String::new() });
            text.clear();
        } else {
            text.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    if !text.trim().is_empty() {
        items.push(Item { text: text.trim().into(), comment: String::new() });
    }
    items.retain(|item| !item.text.is_empty());
    items
}

fn body<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let from = text.find(head)? + head.len();
    let length = text[from..].find("};").or_else(|| text[from..].find('}'))?;
    Some(&text[from..from + length])
}

/// Enumerators and integer defines of all headers of the ABI, by name.
fn constants(tree: &Tree) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for file in tree.files().into_iter().filter(|file| file.path.starts_with(HEADERS)) {
        for (at, _) in file.text.match_indices("enum lull_") {
            let Some((head, after)) = file.text[at..].split_once('{') else {
                continue;
            };
            if head.split_whitespace().count() != 2 {
                continue; // only mentioned here
            }
            let Some((inside, _)) = after.split_once('}') else {
                continue;
            };
            found.extend(enumerators(inside).into_iter().map(|(name, value, _)| (name, value)));
        }
        for (name, value, _) in defines(&file.text, "LULL_") {
            if let Ok(value) = value.trim_end_matches(['u', 'l']).parse() {
                found.insert(name, value);
            }
        }
    }
    found
}

fn enumerators(inside: &str) -> Vec<(String, u64, String)> {
    let mut next = 0;
    let rows = items(inside, ',').into_iter().map(|item| {
        let (name, value) = item.text.split_once('=').unwrap_or((&item.text, ""));
        let value = value.trim().parse().unwrap_or(next);
        next = value + 1;
        (name.trim().to_owned(), value, item.comment)
    });
    rows.collect()
}

/// `#define PREFIX... value` with the comment on the line.
fn defines(text: &str, prefix: &str) -> Vec<(String, String, String)> {
    let rows = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("#define ")?;
        let (name, rest) = rest.split_once(char::is_whitespace)?;
        if !name.starts_with(prefix) || name.contains('(') {
            return None;
        }
        let (value, comment) = rest.split_once("/*").unwrap_or((rest, ""));
        let comment = comment_text(comment.trim_end().trim_end_matches("*/"));
        Some((name.to_owned(), value.trim().to_owned(), comment))
    });
    rows.collect()
}

/// Size and alignment of a type, without its name.
fn type_bytes(kind: &str, name: &str) -> Option<u64> {
    if name.contains('*') || kind.ends_with('*') {
        return Some(8);
    }
    match kind.trim_start_matches("const ").trim() {
        "uint8_t" | "int8_t" | "char" | "unsigned char" => Some(1),
        "uint16_t" | "int16_t" => Some(2),
        "uint32_t" | "int32_t" => Some(4),
        "uint64_t" | "int64_t" => Some(8),
        _ => None,
    }
}

fn struct_table(tree: &Tree, header: &File, name: &str) -> Result<String, String> {
    let inside = body(&header.text, &format!("struct {name} {{"))
        .ok_or_else(|| format!("{} has no struct {name}", header.path))?;
    let constants = constants(tree);
    let mut table = String::from("| offset | bytes | type | field | |\n|---:|---:|---|---|---|\n");
    let mut offset = 0;
    for Item { text, comment } in items(inside, ';') {
        let unknown = || format!("struct {name}: cannot tell the size of `{text}`");
        let (kind, declarator) = text.rsplit_once(' ').ok_or_else(unknown)?;
        let (field, dimension) = declarator.split_once('[').unwrap_or((declarator, ""));
        let element = type_bytes(kind, field).ok_or_else(unknown)?;
        let dimension = dimension.trim_end_matches(']');
        let count = match dimension {
            "" => 1,
            _ => dimension
                .parse()
                .ok()
                .or_else(|| constants.get(dimension).copied())
                .ok_or_else(unknown)?,
        };
        if offset % element != 0 {
            return Err(format!("struct {name}: padding before `{field}`; spell it out"));
        }
        let shown = if dimension.is_empty() { kind.to_owned() } else { format!("{kind}[{count}]") };
        let field = field.trim_start_matches('*');
        table +=
            &format!("| {offset} | {} | `{shown}` | `{field}` | {comment} |\n", element * count);
        offset += element * count;
    }
    Ok(format!("{table}\n{offset} bytes.\n"))
}

fn render(tree: &Tree, request: &str) -> Result<String, String> {
    let (what, path) = request.split_once(" in ").ok_or("a table needs `in HEADER`")?;
    let header = tree.get(path).ok_or_else(|| format!("there is no {path}"))?;
    let (kind, name) = what.split_once(' ').ok_or("a table needs a name")?;
    let rows = match kind {
        "struct" => return struct_table(tree, header, name),
        "enum" => {
            let inside = body(&header.text, &format!("enum {name} {{"));
            let inside = inside.ok_or_else(|| format!("{path} has no enum {name}"))?;
            let rows = enumerators(inside).into_iter();
            rows.map(|(name, value, comment)| (name, value.to_string(), comment)).collect()
        }
        "define" => defines(&header.text, name),
        _ => return Err(format!("a table is of a struct, enum or define, not {kind}")),
    };
    if rows.is_empty() {
        return Err(format!("{path} has no {what}"));
    }
    let mut table = String::from("| name | value | |\n|---|---:|---|\n");
    for (name, value, comment) in rows {
        table += &format!("| `{name}` | {value} | {comment} |\n");
    }
    Ok(table)
}

/// A document as it should be, and what could not be made.
fn refresh(tree: &Tree, file: &File) -> (String, Vec<Finding>) {
    let mut text = String::new();
    let mut findings = Vec::new();
    let mut skipping = false;
    for (index, line) in file.text.lines().enumerate() {
        let request = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->"));
        skipping &= line != END;
        if !skipping {
            text += line;
            text.push('\n');
        }
        if let Some(request) = request.filter(|request| *request != "end") {
            match render(tree, request) {
                Ok(table) => {
                    text += &format!("\n{table}\n");
                    skipping = true;
                }
                Err(message) => findings.push(Finding::new(&file.path, index + 1, RULE, message)),
            }
        }
    }
    if skipping {
        findings.push(Finding::new(&file.path, 1, RULE, format!("a table without `{END}`")));
        return (file.text.clone(), findings);
    }
    (text, findings)
}

fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files().into_iter().filter(|file| file.language() == Language::Markdown)
}

/// The documents that have to be rewritten: path and text.
pub fn fresh(tree: &Tree) -> Vec<(String, String)> {
    let all = documents(tree).map(|file| (file, refresh(tree, file).0));
    all.filter(|(file, text)| *text != file.text)
        .map(|(file, text)| (file.path.clone(), text))
        .collect()
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        documents(tree).flat_map(|file| refresh(tree, file).1).collect();
    for (path, text) in fresh(tree) {
        let old = tree.get(&path).map_or("", |file| &file.text);
        let line = old.lines().zip(text.lines()).take_while(|(a, b)| a == b).count() + 1;
        let message = "a generated table is out of date: run `make format`";
        findings.push(Finding::new(&path, line, RULE, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\
enum lull_kind {
	LULL_A, /* the first */
	LULL_B = 4,
	LULL_KINDS
};
#define LULL_TAG_END 255u /* nothing	follows */
struct lull_x {
	uint32_t a; /* about
		     * a */
	uint8_t b[4];

	/* Later: */
	uint64_t c[LULL_KINDS];
};
";

    fn tree(request: &str, content: &str) -> Tree {
        let page = format!("{BEGIN}{request} in {HEADERS}x.h -->\n{content}{END}\ntext\n");
        Tree::of(&[(&format!("{HEADERS}x.h"), HEADER), ("docs/formats/x.md", &page)])
    }

    #[test]
    fn a_struct_gets_offsets_and_comments() {
        let fresh = fresh(&tree("struct lull_x", ""));
        let page = &fresh[0].1;
        assert!(page.contains("| 0 | 4 | `uint32_t` | `a` | about a |\n"), "{page}");
        assert!(page.contains("| 4 | 4 | `uint8_t[4]` | `b` |  |\n"), "{page}");
        assert!(page.contains("| 8 | 40 | `uint64_t[5]` | `c` |  |\n\n48 bytes.\n"), "{page}");
        assert!(page.ends_with("text\n"));
    }

    #[test]
    fn an_enum_and_defines_get_values() {
        assert!(fresh(&tree("enum lull_kind", ""))[0].1.contains("| `LULL_KINDS` | 5 |  |\n"));
        assert!(fresh(&tree("enum lull_kind", ""))[0].1.contains("| `LULL_A` | 0 | the first |\n"));
        let page = &fresh(&tree("define LULL_TAG_", ""))[0].1;
        assert!(page.contains("| `LULL_TAG_END` | 255u | nothing"), "{page}");
    }

    #[test]
    fn a_table_out_of_date_is_found_and_a_fresh_one_is_not() {
        let old = tree("enum lull_kind", "| stale |\n");
        assert_eq!(check(&old).len(), 1);
        let (path, text) = fresh(&old).remove(0);
        let mut new = tree("enum lull_kind", "");
        new.add(&path, text);
        assert!(check(&new).is_empty(), "{:?}", check(&new));
    }

    #[test]
    fn padding_that_nobody_spelled_out_is_found() {
        let header = "struct lull_y {\n\tuint32_t a;\n\tuint64_t b;\n};\n";
        let mut tree = tree("struct lull_y", "");
        tree.add(&format!("{HEADERS}x.h"), header.into());
        assert!(check(&tree)[0].message.contains("padding before `b`"), "{:?}", check(&tree));
    }

    #[test]
    fn a_request_for_nothing_is_found() {
        assert_eq!(check(&tree("struct lull_gone", "")).len(), 1);
        assert_eq!(check(&tree("poem lull_gone", "")).len(), 1);
    }
}
