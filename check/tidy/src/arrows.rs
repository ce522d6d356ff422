// SPDX-License-Identifier: MIT
//! Rule `arrows`: which folder's C may include which other folder's.
//!
//! core stands on nothing but its port's headers, its public headers and what a freestanding
//! compiler has, and so do the folders of rcu that run where core runs, but for those named host in
//! them; user and kernel stand on core; rcu stands on its port; an instrumented program sees public
//! headers. Within a folder of rcu, no modules (a `.c` and its header) include each other in a
//! circle.

use crate::code;
use crate::tree::{File, Finding, Language, Tree};
use std::collections::{BTreeMap, BTreeSet};

const RULE: &str = "arrows";
/// What a port provides to core: memory and clock; and, for sites, code that can be changed.
const PORT: [&str; 2] = ["lull_port.h", "lull_text.h"];
/// What a port provides to rcu: locks, futexes, steps of one CPU.
const RCU_PORT: [&str; 3] = ["rcu_port.h", "qdo_port.h", "qdo_steps.h"];
/// What runs where core runs, but for the folders named host in them: those stand on a C library.
const FREESTANDING_FOLDERS: [&str; 5] =
    ["core", "rcu/grace", "rcu/qdo", "rcu/structure", "rcu/include"];
/// Where no modules of a folder include each other in a circle.
const LAYERED: &str = "rcu";
/// `errno.h` beside them: error numbers are core's way to say no, and every port has them.
const FREESTANDING: [&str; 9] = [
    "errno.h",
    "float.h",
    "limits.h",
    "stdalign.h",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdnoreturn.h",
];
/// Where `#include "x"` looks after the file's own folder.
const SEARCH: [&str; 22] = [
    "core/include",
    "core",
    "core/ring",
    "core/clock",
    "core/site",
    "core/filter",
    "core/probe",
    "port/user",
    "port/user/rcu",
    "rcu/include",
    "port/sched",
    "port/sched/rcu",
    "port/kernel",
    "user",
    "user/interpose",
    "kernel",
    "rcu/grace",
    "rcu/grace/host",
    "rcu/call",
    "rcu/structure",
    "rcu/qdo",
    "rcu/qdo/host",
];

/// The arrows: files under the first may include files under the others. First match counts.
const ARROWS: [(&str, &[&str]); 17] = [
    ("core/include", &["core/include"]),
    ("core/ring", &["core/ring", "core/include"]),
    ("core/clock", &["core/clock", "core/include"]),
    ("core/site", &["core/site", "core/include"]),
    ("core/filter", &["core/filter", "core/include"]),
    ("core/probe", &["core/probe", "core/ring", "core/site", "core/include"]),
    ("rcu/include", &["rcu/include"]),
    ("rcu", &["rcu", "port/user/rcu"]),
    ("port/user/rcu", &["port/user/rcu"]),
    ("port/user", &["port/user", "core"]),
    ("port/sched", &["port/sched", "core", "rcu"]),
    ("port/kernel", &["port/kernel", "core"]),
    ("user", &["user", "core", "port/user"]),
    ("kernel", &["kernel", "core", "port/kernel"]),
    ("examples", &["examples", "core/include", "rcu/include"]),
    ("tools", &["tools", "core", "port/user"]),
    ("", &["tests", "bench", "core", "rcu", "port/user", "user"]),
];

fn under(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Tests may stand on everything: they hold core against the ports.
fn is_test(path: &str) -> bool {
    path.contains("_test.") || path.contains("/test/") || path.contains("/tests/")
}

fn is_freestanding(path: &str) -> bool {
    FREESTANDING_FOLDERS.iter().any(|folder| under(path, folder)) && !path.contains("/host/")
}

fn find(tree: &Tree, file: &File, name: &str) -> Option<String> {
    let mut folder = file.folder();
    let mut rest = name;
    while let Some(after) = rest.strip_prefix("../") {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        rest = after;
    }
    let own = format!("{folder}/{rest}");
    let places = SEARCH.iter().map(|folder| format!("{folder}/{name}"));
    std::iter::once(own).chain(places).find(|path| tree.get(path).is_some())
}

fn check_own(tree: &Tree, file: &File, name: &str) -> Option<String> {
    if PORT.contains(&name) {
        return ["core", "port", "user", "kernel", "tools", "bench", "tests"]
            .iter()
            .all(|folder| !under(&file.path, folder))
            .then(|| format!("{name} is not for {}", file.folder()));
    }
    if RCU_PORT.contains(&name) {
        return ["rcu", "port"]
            .iter()
            .all(|folder| !under(&file.path, folder))
            .then(|| format!("{name} is not for {}", file.folder()));
    }
    let (_, allowed) = ARROWS.iter().find(|(folder, _)| under(&file.path, folder))?;
    let Some(target) = find(tree, file, name) else {
        return Some(format!("no folder of the project has {name:?}; the system's use <>"));
    };
    let fine = target.starts_with(&format!("{}/", file.folder()))
        || allowed.iter().any(|folder| under(&target, folder));
    let of_host = is_freestanding(&file.path) && !is_freestanding(&target);
    (!fine || of_host).then(|| format!("{} may not include {target}", file.folder()))
}

fn check_system(file: &File, name: &str) -> Option<String> {
    if name.starts_with("lull/") {
        return None; // an instrumented program's spelling
    }
    (is_freestanding(&file.path) && !FREESTANDING.contains(&name))
        .then(|| format!("{} is freestanding: <{name}> belongs behind the port", file.folder()))
}

/// The headers of its own folder that a file includes.
fn neighbours<'a>(tree: &'a Tree, file: &'a File) -> impl Iterator<Item = String> + 'a {
    let code = code::views(file).code;
    let lines: Vec<bool> =
        code.lines().map(|line| line.trim_start().starts_with("#include")).collect();
    let included = file.text.lines().zip(lines).filter(|(_, includes)| *includes);
    included.filter_map(move |(line, _)| {
        let path = format!("{}/{}", file.folder(), line.split('"').nth(1)?);
        tree.get(&path).map(|_| path)
    })
}

/// A file without its ending: a `.c` and its header are one module.
fn module(path: &str) -> String {
    path.rsplit_once('.').map_or(path, |(module, _)| module).to_owned()
}

/// Modules of one folder that include each other's headers in a circle call each other in one: each
/// can only be read when the others are. Modules that include nothing of the rest are taken away
/// until each that is left includes another.
fn circles(tree: &Tree) -> Vec<Finding> {
    let mut includes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in tree.files().into_iter().filter(|file| file.language() == Language::C) {
        if under(&file.path, LAYERED) && !is_test(&file.path) {
            let of = neighbours(tree, file).map(|path| module(&path));
            includes.entry(module(&file.path)).or_default().extend(of);
        }
    }
    for (of, others) in &mut includes {
        others.remove(of);
    }
    let mut count = usize::MAX;
    while includes.len() < count {
        count = includes.len();
        let left: BTreeSet<String> = includes.keys().cloned().collect();
        for others in includes.values_mut() {
            others.retain(|other| left.contains(other));
        }
        includes.retain(|_, others| !others.is_empty());
    }
    let finding = |(of, others): (&String, &BTreeSet<String>)| {
        let names: Vec<&str> = others.iter().map(|path| path.as_str()).collect();
        let message = format!("a circle of includes leads through it and {}", names.join(", "));
        Finding::new(of, 1, RULE, message)
    };
    includes.iter().map(finding).collect()
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = circles(tree);
    for file in tree.files() {
        if file.language() != Language::C || is_test(&file.path) {
            continue;
        }
        let code = code::views(file).code;
        for (index, (line, shown)) in file.text.lines().zip(code.lines()).enumerate() {
            if !shown.trim_start().starts_with("#include") {
                continue;
            }
            let quoted = line.split('"').nth(1).map(|name| check_own(tree, file, name));
            let system = || line.split(['<', '>']).nth(1).and_then(|name| check_system(file, name));
            if let Some(message) = quoted.unwrap_or_else(system) {
                findings.push(Finding::new(&file.path, index + 1, RULE, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, include: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (path, &format!("#include {include}\n")),
            ("core/include/lull/abi/packet.h", ""),
            ("core/ring/ring.h", ""),
            ("core/site/site.h", ""),
            ("port/user/lull_port.h", ""),
            ("user/liblull.h", ""),
            ("rcu/grace/grace.h", ""),
            ("rcu/grace/host/domains.h", ""),
            ("rcu/include/lull/rcu/domain.h", ""),
        ]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn core_includes_its_own_folder_the_port_and_public_headers() {
        for include in ["\"ring.h\"", "\"lull_port.h\"", "\"lull/abi/packet.h\"", "<stdint.h>"] {
            assert!(messages("core/ring/ring.c", include).is_empty(), "{include}");
        }
    }

    #[test]
    fn core_including_user_or_another_noun_is_found() {
        let found = messages("core/ring/ring.c", "\"liblull.h\"");
        assert_eq!(found, ["core/ring may not include user/liblull.h"]);
        assert_eq!(messages("core/ring/ring.c", "\"site/site.h\"").len(), 1);
    }

    #[test]
    fn core_including_the_c_library_is_found() {
        assert_eq!(messages("core/ring/ring.c", "<stdio.h>").len(), 1);
        assert!(messages("core/ring/ring_test.c", "<stdio.h>").is_empty());
        assert!(messages("user/attach.c", "<stdio.h>").is_empty());
    }

    #[test]
    fn rcu_including_what_is_of_its_host_is_found() {
        let found = messages("rcu/grace/grace.c", "\"domains.h\"");
        assert_eq!(found, ["rcu/grace may not include rcu/grace/host/domains.h"]);
        assert_eq!(messages("rcu/grace/grace.c", "\"host/domains.h\"").len(), 1);
        assert_eq!(messages("rcu/qdo/tree.c", "<stdio.h>").len(), 1);
        for include in ["\"grace.h\"", "\"lull/rcu/domain.h\"", "\"rcu_port.h\"", "<errno.h>"] {
            assert!(messages("rcu/grace/grace.c", include).is_empty(), "{include}");
        }
    }

    #[test]
    fn a_host_includes_what_it_serves_and_the_c_library() {
        for include in ["\"grace.h\"", "\"domains.h\"", "<stdio.h>"] {
            assert!(messages("rcu/grace/host/thread.c", include).is_empty(), "{include}");
        }
    }

    #[test]
    fn an_example_sees_public_headers_only() {
        assert_eq!(messages("examples/a.c", "\"ring.h\"").len(), 1);
        assert_eq!(messages("examples/a.c", "\"lull_port.h\"").len(), 1);
        assert!(messages("examples/a.c", "<lull/trace.h>").is_empty());
    }

    #[test]
    fn modules_that_include_each_other_are_found() {
        let tree = |low: &str| {
            let files = [
                ("rcu/call/work.h", ""),
                ("rcu/call/work.c", low),
                ("rcu/call/fork.h", "#include \"work.h\"\n"),
                ("rcu/call/fork.c", "#include \"fork.h\"\n"),
            ];
            check(&Tree::of(&files)).into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        assert_eq!(tree("#include \"work.h\"\n"), [""; 0]);
        assert_eq!(tree("#include \"fork.h\"\n"), ["rcu/call/fork", "rcu/call/work"]);
    }

    #[test]
    fn a_path_upwards_leads_where_it_says() {
        assert!(messages("user/interpose/a.c", "\"../liblull.h\"").is_empty());
        assert_eq!(messages("core/ring/a.c", "\"../../user/liblull.h\"").len(), 1);
    }

    #[test]
    fn a_header_that_nobody_has_is_found() {
        assert_eq!(messages("user/attach.c", "\"gone.h\"").len(), 1);
    }
}
