// SPDX-License-Identifier: MIT
//! Rule `licence`: every file says on line 1 (or 2, after `#!`) under which licence it is.

use crate::tree::{File, Finding, Tree};

const RULE: &str = "licence";
const MARK: &str = "SPDX-License-Identifier:";
/// Formats that have no comments, texts whose first line is fixed, and the licences themselves.
const EXEMPT_ENDINGS: [&str; 7] =
    [".json", ".lock", ".csv", ".svg", ".gitkeep", ".metadata", "/metadata"];

fn wanted(path: &str) -> &'static str {
    match path.split('/').next() {
        Some("core" | "port") => "MIT OR GPL-2.0-only",
        Some("kernel") => "GPL-2.0-only",
        _ => "MIT",
    }
}

fn exempt(file: &File) -> bool {
    file.path.starts_with("LICENSES/")
        || file.text.is_empty()
        || EXEMPT_ENDINGS.iter().any(|ending| file.path.ends_with(ending))
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().into_iter().filter(|file| !exempt(file)) {
        let line = usize::from(file.text.starts_with("#!"));
        let found = file.text.lines().nth(line).and_then(|text| text.split_once(MARK));
        let wanted = wanted(&file.path);
        let message = match found.map(|(_, rest)| {
            rest.trim().trim_end_matches("*/").trim_end_matches("-->").trim().to_owned()
        }) {
            Some(found) if found == wanted => continue,
            Some(found) => format!("the licence is {found:?}, in this folder it is {wanted:?}"),
            None => format!("no `{MARK} {wanted}` on line {}", line + 1),
        };
        findings.push(Finding::new(&file.path, line + 1, RULE, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_file_without_a_licence_is_found() {
        assert_eq!(messages("user/a.c", "int a;\n").len(), 1);
        assert_eq!(messages("user/a.c", "/* SPDX-License-Identifier: MIT */\n").len(), 0);
        assert_eq!(messages("docs/a.md", "<!-- SPDX-License-Identifier: MIT -->\n").len(), 0);
    }

    #[test]
    fn the_licence_is_that_of_the_folder() {
        let found = messages("core/a.c", "/* SPDX-License-Identifier: MIT */\n");
        assert!(found[0].contains("MIT OR GPL-2.0-only"), "{found:?}");
        assert_eq!(messages("kernel/a.c", "// SPDX-License-Identifier: GPL-2.0-only\n").len(), 0);
    }

    #[test]
    fn a_script_says_it_on_line_two() {
        assert_eq!(messages("mk/a", "#!/bin/bash\n# SPDX-License-Identifier: MIT\n").len(), 0);
        assert_eq!(messages("mk/a", "#!/bin/bash\nset -e\n").len(), 1);
    }
}
