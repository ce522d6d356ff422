// SPDX-License-Identifier: MIT
//! Rule `atomics`: memory that others reach too is reached by one vocabulary, the ports'.
//!
//! The compiler's own atomics stand in `port/`, in public headers that must stand alone, and in
//! what tests and measures; everything else calls `lull_port.h` or `lull/rcu/memory.h`, so that
//! the explorer can run it and the register of barriers can name what it orders.

use crate::code;
use crate::tree::{Finding, Language, Tree};

const RULE: &str = "atomics";
const RAW: [&str; 3] = ["__atomic_", "__sync_", "<stdatomic.h>"];
const SHIPPED: [&str; 4] = ["core/", "user/", "rcu/", "kernel/"];
/// Headers that programs include: with what each of them is for.
const STANDALONE: [(&str, &str); 4] = [
    ("core/include/lull/site.h", "the mask of a probe, in one macro"),
    ("rcu/include/lull/rcu/memory.h", "rcu's vocabulary"),
    ("rcu/include/lull/rcu/pointer.h", "pointers of any type, by macros"),
    ("rcu/compat/", "the names of another library"),
];

fn is_held(path: &str) -> bool {
    let is_test = path.contains("_test.") || path.contains("/test/") || path.contains("/tests/");
    let is_standalone = STANDALONE.iter().any(|(prefix, _)| path.starts_with(prefix));
    SHIPPED.iter().any(|folder| path.starts_with(folder)) && !is_test && !is_standalone
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = tree.files().into_iter().filter(|file| file.language() == Language::C);
    for file in files.filter(|file| is_held(&file.path)) {
        let code = code::views(file).code;
        for (index, line) in code.lines().enumerate() {
            if let Some(raw) = RAW.iter().find(|raw| line.contains(*raw)) {
                let message = format!("{raw} outside the ports: lull_port.h has a name for it");
                findings.push(Finding::new(&file.path, index + 1, RULE, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    const LOAD: &str = "int f(void)\n{\n\treturn __atomic_load_n(&word, __ATOMIC_RELAXED);\n}\n";

    #[test]
    fn a_raw_atomic_is_found_wherever_the_explorer_should_reach() {
        for path in ["core/ring/a.c", "user/a.c", "user/interpose/a.h", "rcu/call/a.c"] {
            assert_eq!(count(path, LOAD), 1, "{path}");
        }
        assert_eq!(count("user/a.c", "#include <stdatomic.h>\n"), 1);
        assert_eq!(count("user/a.c", "void f(void)\n{\n\t__sync_synchronize();\n}\n"), 1);
    }

    #[test]
    fn ports_headers_that_stand_alone_and_tests_have_their_own() {
        let free = [
            "port/user/lull_port.h",
            "core/include/lull/site.h",
            "rcu/include/lull/rcu/memory.h",
            "rcu/compat/include/urcu/arch.h",
            "user/a_test.c",
            "core/clock/test/a.c",
            "bench/a.c",
        ];
        for path in free {
            assert_eq!(count(path, LOAD), 0, "{path}");
        }
    }

    #[test]
    fn a_comment_may_speak_of_them() {
        assert_eq!(count("user/a.c", "/* not __atomic_load_n() */\n"), 0);
    }
}
