// SPDX-License-Identifier: MIT
//! Rule `names`: no drawers, no notes to self, no paths of one person's machine.

use crate::code;
use crate::tree::{File, Finding, Language, Tree};

const RULE: &str = "names";
/// Words that name no thing. In paths all of them, in identifiers the ones with no other use.
const DRAWERS: [&str; 7] = ["util", "utils", "helper", "helpers", "misc", "common", "stuff"];
const DRAWERS_ANYWHERE: usize = 5;
/// What Linux calls a device with a number of its own, and no kind.
const OF_LINUX: [&str; 2] = ["misc_register", "misc_deregister"];
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const MACHINES: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn check_path(file: &File) -> Option<Finding> {
    let drawer = words(&file.path).find(|word| DRAWERS.contains(word))?;
    let message = format!("{drawer:?} names no thing; name the folder or file by its noun");
    Some(Finding::new(&file.path, 1, RULE, message))
}

fn check_identifiers(file: &File) -> Vec<Finding> {
    if !matches!(file.language(), Language::C | Language::Rust) {
        return Vec::new();
    }
    let code = code::views(file).code;
    let mut findings = Vec::new();
    for (index, line) in code.lines().enumerate().filter(|(_, l)| !l.starts_with("#include")) {
        let banned = code::identifiers(line).find(|identifier| {
            !OF_LINUX.contains(identifier)
                && words(identifier).any(|word| DRAWERS[..DRAWERS_ANYWHERE].contains(&word))
        });
        if let Some(identifier) = banned {
            let message = format!("{identifier} does not say what it is");
            findings.push(Finding::new(&file.path, index + 1, RULE, message));
        }
    }
    findings
}

/// Does an absolute path in this line begin so?
fn has_absolute(line: &str, path: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "_.-/})".contains(c);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(goes_on))
}

fn check_text(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut found = |message: String| {
            findings.push(Finding::new(&file.path, index + 1, RULE, message));
        };
        if let Some(note) = words(line).find(|word| NOTES.contains(word)) {
            found(format!("{note}: do it, or say in docs what is absent and why"));
        }
        if let Some(path) = MACHINES.iter().find(|path| has_absolute(line, path)) {
            found(format!("{path} is a path of one machine"));
        }
    }
    findings
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().into_iter().filter(|file| !file.path.starts_with("LICENSES/")) {
        findings.extend(check_path(file));
        findings.extend(check_identifiers(file));
        findings.extend(check_text(file));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_drawer_is_found_by_its_path() {
        assert_eq!(count("core/utils/a.c", ""), 1);
        assert_eq!(count("tools/cli/src/common.rs", ""), 1);
        assert_eq!(count("core/ring/ring.c", ""), 0);
    }

    #[test]
    fn a_drawer_is_found_by_an_identifier_but_not_in_prose() {
        assert_eq!(count("core/a.c", "int read_helper(void);\n"), 1);
        assert_eq!(count("core/a.c", "/* no helper needed */ int read(void);\n"), 0);
        assert_eq!(count("core/a.c", "int longest_common_prefix;\n"), 0);
    }

    #[test]
    fn a_note_to_self_is_found() {
        assert_eq!(count("core/a.c", concat!("/* TO", "DO: later */\n")), 1);
        assert_eq!(count("mk/a", concat!("mktemp XX", "XXXX\n")), 0);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(count("docs/a.md", concat!("see /wo", "rk/notes\n")), 1);
        assert_eq!(count("mk/a", concat!("ls $destdir/wo", "rk/notes\n")), 0);
    }
}
