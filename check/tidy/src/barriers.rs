// SPDX-License-Identifier: MIT
//! Rule `barriers`: each access of `core/`, `user/` and `rcu/`, and each of the recorder's to the
//! memory that it shares, that orders others has a label near it, and stands in the register,
//! docs/barriers.md.
//!
//! The register is written by `models/barriers`, which takes each barrier away in turn and
//! looks at what catches that; so what a row promises was seen. This rule keeps the table true:
//! one that is taken away, added or moved to another function is found by its row. It proves
//! nothing about a barrier. What nothing catches stands in models/unproved, each entry one
//! barrier of the code, with a reason; that list is short and may only shrink.

use crate::code;
use crate::joins;
use crate::size;
use crate::tree::{File, Finding, Language, Tree};

const RULE: &str = "barriers";
pub const REGISTER: &str = "docs/barriers.md";
pub const UNPROVED: &str = "models/unproved";
const UNPROVED_MAX: usize = 20;
/// A barrier's comment stands at most so many lines above it.
const LABEL_LINES_MAX: usize = 24;

/// What orders, what it is called, and what is left of it when it is taken away.
const ACCESSES: [(&str, &str, &str); 32] = [
    ("lull_load_acquire(", "acquire", "lull_load("),
    ("lull_store_release(", "release", "lull_store("),
    ("lull_load32_acquire(", "acquire", "lull_load32("),
    ("lull_store32_release(", "release", "lull_store32("),
    ("lull_barrier_light();", "light", ";"),
    ("lull_barrier_heavy();", "heavy", ";"),
    ("lull_text_sync();", "heavy", ";"),
    ("barrier_heavy();", "heavy", ";"),
    ("lull_mem_load_acquire(", "acquire", "lull_mem_load("),
    ("lull_mem_load32_acquire(", "acquire", "lull_mem_load32("),
    ("lull_mem_load_pointer_acquire(", "acquire", "lull_mem_load_pointer("),
    ("lull_mem_store_release(", "release", "lull_mem_store("),
    ("lull_mem_store32_release(", "release", "lull_mem_store32("),
    ("lull_mem_store_pointer_release(", "release", "lull_mem_store_pointer("),
    ("lull_mem_store_full(", "full", "lull_mem_store("),
    ("lull_mem_store32_full(", "full", "lull_mem_store32("),
    ("lull_mem_exchange(", "full", "lull_mem_exchange_relaxed("),
    ("lull_mem_exchange32(", "full", "lull_mem_exchange32_relaxed("),
    ("lull_mem_cas(", "full", "lull_mem_cas_relaxed("),
    ("lull_mem_cas32(", "full", "lull_mem_cas32_relaxed("),
    ("lull_mem_add(", "full", "lull_mem_add_relaxed("),
    ("lull_mem_add32(", "full", "lull_mem_add32_relaxed("),
    ("lull_mem_add64(", "full", "lull_mem_add64_relaxed("),
    ("lull_mem_or(", "full", "lull_mem_or_relaxed("),
    ("lull_mem_load64_acquire(", "acquire", "lull_mem_load64("),
    ("lull_mem_decrement_release(&reader->word)", "release", DECREMENT),
    ("lull_mem_fence();", "full", ";"),
    ("lull_mem_fence_light();", "light", ";"),
    ("lull_qdo_fence_heavy();", "heavy", ";"),
    ("lull_fence_threads();", "heavy", "1;"),
    ("rcu_grace_fence_heavy(grace);", "heavy", ";"),
    ("__atomic_thread_fence(__ATOMIC_SEQ_CST);", "full", ";"),
];
/// Steps that read and write: full by their names. They are listed where what each orders has a
/// label; the others' labels name what they do in one step.
const STEPS: [&str; 8] = [
    "lull_mem_exchange(",
    "lull_mem_exchange32(",
    "lull_mem_cas(",
    "lull_mem_cas32(",
    "lull_mem_add(",
    "lull_mem_add32(",
    "lull_mem_add64(",
    "lull_mem_or(",
];
const STEPS_LISTED: [&str; 2] = ["rcu/call/", "rcu/qdo/host/"];
const DECREMENT: &str = "lull_mem_store(&reader->word, lull_mem_load(&reader->word) - 1)";
const ORDERS: [(&str, &str); 9] = [
    ("__ATOMIC_SEQ_CST", "seq_cst"),
    ("__ATOMIC_ACQ_REL", "acq_rel"),
    ("__ATOMIC_ACQUIRE", "acquire"),
    ("__ATOMIC_RELEASE", "release"),
    ("__ATOMIC_CONSUME", "consume"),
    ("Ordering::SeqCst", "seq_cst"),
    ("Ordering::AcqRel", "acq_rel"),
    ("Ordering::Acquire", "acquire"),
    ("Ordering::Release", "release"),
];
/// What is left of one order, and of two that belong to one access.
const RELAXED: [(&str, &str); 2] = [
    ("__ATOMIC_RELAXED", "__ATOMIC_RELAXED, __ATOMIC_RELAXED"),
    ("Ordering::Relaxed", "Ordering::Relaxed, Ordering::Relaxed"),
];
/// The recorder's crates that reach memory which traced processes reach too.
const RECORDER: [&str; 2] = ["tools/session/src/", "tools/consumer/src/"];
/// Accesses named by their order: here the name is the label.
const VOCABULARY: [&str; 2] = ["rcu/include/lull/rcu/memory.h", "rcu/include/lull/rcu/pointer.h"];

/// One access that orders others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    pub path: String,
    /// Counts from 1.
    pub line: usize,
    pub function: String,
    pub kind: &'static str,
    /// Brackets included; empty when nothing near names it.
    pub label: String,
    /// Where in the file it is, in bytes, and what to put there to take it away.
    pub begin: usize,
    pub length: usize,
    pub without: &'static str,
}

impl Barrier {
    /// As an entry of the list of what is unproved begins.
    fn name(&self) -> String {
        let label = if self.label.is_empty() { "-" } else { &self.label };
        format!("{} {} {} {label}", self.path, self.function, self.kind)
    }

    /// The cells of its row that come from the code.
    fn cells(&self) -> [String; 4] {
        let label = if self.label.is_empty() { String::new() } else { format!("`{}`", self.label) };
        [format!("`{}`", self.path), format!("`{}`", self.function), self.kind.into(), label]
    }
}

fn is_shipped(file: &File) -> bool {
    let path = file.path.as_str();
    let of_tests = path.contains("_test.") || path.contains("/test/") || path.contains("/tests/");
    if file.language() == Language::Rust {
        let is_recorder = RECORDER.iter().any(|folder| path.starts_with(folder));
        return is_recorder && !of_tests && !path.ends_with("/tests.rs");
    }
    let of_ours = ["core/", "user/", "rcu/"].iter().any(|folder| path.starts_with(folder));
    // compat/ spells the other library's names by ours; what has an order of its own there, the
    // wait-free stack, the explorer's structures run
    of_ours && !of_tests && !path.starts_with("rcu/compat/") && file.language() == Language::C
}

/// The code without the tests that stand below it.
fn shipped_code(file: &File, code: String) -> String {
    match file.language() {
        Language::Rust => code.split("#[cfg(test)]\nmod ").next().unwrap_or("").to_owned(),
        _ => code,
    }
}

fn line_of(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count()
}

/// The function or macro around a line.
fn place(functions: &[(String, usize, usize)], lines: &[&str], line: usize) -> String {
    if let Some((name, ..)) =
        functions.iter().find(|(_, begin, end)| (*begin..=*end).contains(&line))
    {
        return name.clone();
    }
    let mut at = line;
    while at > 0 && lines[at - 1].trim_end().ends_with('\\') {
        at -= 1;
    }
    let macro_head = lines[at].trim_start().strip_prefix("#define ");
    macro_head.and_then(|rest| code::identifiers(rest).next()).unwrap_or("-").into()
}

/// The label named on the line, or first in the nearest comment above that names one.
fn label(comments: &[&str], first: usize, line: usize) -> String {
    let named = |at: usize| joins::labels_in(comments[at]).first().map(|label| (*label).to_owned());
    if let Some(label) = named(line) {
        return label;
    }
    let lowest = first.max(line.saturating_sub(LABEL_LINES_MAX));
    let Some(mut at) = (lowest..line).rev().find(|&at| named(at).is_some()) else {
        return String::new();
    };
    while at > lowest && !comments[at - 1].trim().is_empty() {
        at -= 1;
    }
    (at..line).find_map(named).unwrap_or_default()
}

/// Where the comment above a function begins.
fn head_comment(comments: &[&str], function: usize) -> usize {
    let lines = comments[..function].iter().rev();
    function - lines.take_while(|line| !line.trim().is_empty()).count()
}

/// Byte ranges of what orders, in the order of the text, with kind and replacement.
fn accesses(
    code: &str,
    vocabulary: bool,
    steps: bool,
) -> Vec<(usize, usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    let listed = |access: &str| !vocabulary && (steps || !STEPS.contains(&access));
    for (access, kind, without) in ACCESSES.iter().filter(|(access, ..)| listed(access)) {
        for (at, _) in code.match_indices(access) {
            let begins_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let line = code[..at].rsplit('\n').next().unwrap_or("");
            // a declaration or definition of the access itself
            let declares = ["static", "void", "    pub fn"];
            if begins_word && !declares.iter().any(|begin| line.starts_with(begin)) {
                found.push((at, access.len(), *kind, *without));
            }
        }
    }
    for (order, kind) in ORDERS {
        let relaxed = RELAXED[usize::from(order.starts_with("Ordering"))].0;
        found.extend(code.match_indices(order).map(|(at, _)| (at, order.len(), kind, relaxed)));
    }
    found.sort_unstable();
    // a fence spelled with its order, and both orders of one compare and swap, are one barrier
    found.dedup_by(|later, former| {
        let inside = later.0 < former.0 + former.1;
        let between = code.get(former.0 + former.1..later.0).unwrap_or("");
        let second_order = !between.is_empty()
            && between.chars().all(|c| matches!(c, ',' | '\\') || c.is_whitespace());
        if second_order {
            former.1 = later.0 + later.1 - former.0;
            former.3 = RELAXED[usize::from(former.3.starts_with("Ordering"))].1;
        }
        inside || second_order
    });
    found
}

fn in_file(file: &File) -> Vec<Barrier> {
    let views = code::views(file);
    let code = shipped_code(file, views.code);
    let functions = match file.language() {
        Language::Rust => size::rust_functions(&code),
        _ => size::c_functions(&code),
    };
    let lines: Vec<&str> = code.lines().collect();
    let comments: Vec<&str> = views.comments.lines().collect();
    let vocabulary = VOCABULARY.contains(&file.path.as_str());
    let steps = STEPS_LISTED.iter().any(|prefix| file.path.starts_with(prefix));
    let found = accesses(&code, vocabulary, steps).into_iter();
    found
        .map(|(begin, length, kind, without)| {
            let line = line_of(&code, begin);
            let function = place(&functions, &lines, line);
            let first = functions
                .iter()
                .find(|(_, begin, end)| (*begin..=*end).contains(&line))
                .map_or(0, |(_, begin, _)| head_comment(&comments, *begin));
            let label = if vocabulary { String::new() } else { label(&comments, first, line) };
            let path = file.path.clone();
            Barrier { path, line: line + 1, function, kind, label, begin, length, without }
        })
        .collect()
}

/// Every barrier of the code, in the order of the register.
pub fn of(tree: &Tree) -> Vec<Barrier> {
    tree.files().into_iter().filter(|file| is_shipped(file)).flat_map(in_file).collect()
}

/// The text of a file without one of its barriers.
pub fn without(tree: &Tree, barrier: &Barrier) -> String {
    let text = tree.get(&barrier.path).map_or("", |file| &file.text);
    let (before, rest) = text.split_at(barrier.begin);
    format!("{before}{}{}", barrier.without, &rest[barrier.length..])
}

/// The first four cells of each row of the register.
fn rows(register: &str) -> Vec<[String; 4]> {
    let cells = |line: &str| -> Option<[String; 4]> {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let path = format!("`{}", cells.next()?);
        Some([path, cells.next()?.into(), cells.next()?.into(), cells.next()?.into()])
    };
    register.lines().filter_map(cells).collect()
}

/// Line, name and reason of each entry: `PATH FUNCTION KIND LABEL REASON`.
fn entries(list: &str) -> Vec<(usize, String, String)> {
    let lines = list.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let split = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let until = words.len().min(4);
        (words[..until].join(" "), words[until..].join(" "))
    };
    lines
        .map(|(index, line)| {
            let (name, reason) = split(line);
            (index + 1, name, reason)
        })
        .collect()
}

/// The kind and the label of an entry: its path and its function may change and the order stay.
fn order(name: &str) -> String {
    name.splitn(3, ' ').last().unwrap_or(name).to_owned()
}

/// `before`: the list as it was committed last.
fn check_unproved(tree: &Tree, barriers: &[Barrier], before: Option<&str>) -> Vec<Finding> {
    let list = tree.get(UNPROVED).map_or("", |file| &file.text);
    let mut of_code: Vec<String> = barriers.iter().map(Barrier::name).collect();
    let mut of_before =
        before.map(|list| entries(list).iter().map(|entry| order(&entry.1)).collect());
    let mut findings = Vec::new();
    let entries = entries(list);
    if entries.len() > UNPROVED_MAX {
        let message = format!("{} entries, at most {UNPROVED_MAX} may be", entries.len());
        findings.push(Finding::new(UNPROVED, 1, RULE, message));
    }
    let take = |names: &mut Vec<String>, name: &str| {
        names.iter().position(|other| other == name).map(|at| names.remove(at)).is_some()
    };
    for (line, name, reason) in entries {
        let mut found = |message| findings.push(Finding::new(UNPROVED, line, RULE, message));
        if reason.trim().is_empty() {
            found(format!("{name} has no reason"));
        }
        if !take(&mut of_code, &name) {
            found(format!("{name} is no barrier of the code: the entry goes"));
        }
        if of_before.as_mut().is_some_and(|orders| !take(orders, &order(&name))) {
            found(format!("{name} is new: what may be unproved only shrinks"));
        }
    }
    findings
}

pub fn check(tree: &Tree, unproved_before: Option<&str>) -> Vec<Finding> {
    let barriers = of(tree);
    let mut findings = check_unproved(tree, &barriers, unproved_before);
    for barrier in &barriers {
        if barrier.label.is_empty() && !VOCABULARY.contains(&barrier.path.as_str()) {
            let message = format!("{} in {} has no label", barrier.kind, barrier.function);
            findings.push(Finding::new(&barrier.path, barrier.line, RULE, message));
        }
    }
    let Some(register) = tree.get(REGISTER) else {
        return findings;
    };
    let mut listed = rows(&register.text);
    for barrier in &barriers {
        let cells = barrier.cells();
        match listed.iter().position(|row| *row == cells) {
            Some(at) => drop(listed.remove(at)),
            None => {
                let what = format!("{} {} of {}", barrier.kind, barrier.label, barrier.function);
                let message = format!("{what} is not in {REGISTER}: models/barriers writes it");
                findings.push(Finding::new(&barrier.path, barrier.line, RULE, message));
            }
        }
    }
    for [path, function, kind, label] in listed {
        let message = format!("no {kind} {label} in {function} of {path}: was it taken away?");
        findings.push(Finding::new(REGISTER, 1, RULE, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUT: &str =
        "static void put(void)\n{\n\t/* [a.put:A] release. Pairs with [a.get:A]. */\n\
                       \tlull_store_release(&word, 1);\n}\n";
    const ROW: &str = "| `core/a.c` | `put` | release | `[a.put:A]` | - | - |\n";

    fn messages(code: &str, register: &str) -> Vec<String> {
        let tree = Tree::of(&[("core/a.c", code), (REGISTER, register)]);
        check(&tree, None).into_iter().map(|finding| finding.message).collect()
    }

    fn of_list(list: &str, before: Option<&str>) -> Vec<String> {
        let tree = Tree::of(&[("core/a.c", PUT), (REGISTER, ROW), (UNPROVED, list)]);
        check(&tree, before).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn an_unproved_barrier_with_a_reason_is_clean() {
        let list = "# what it is\ncore/a.c put release [a.put:A] no reader yet\n";
        assert_eq!(of_list(list, Some(list)), [""; 0]);
        assert_eq!(of_list(list, None), [""; 0]);
    }

    #[test]
    fn an_entry_without_reason_barrier_or_past_is_found() {
        assert_eq!(
            of_list("core/a.c put release [a.put:A]\n", None),
            ["core/a.c put release [a.put:A] has no reason"]
        );
        let gone = "core/a.c get acquire [a.get:A] why\n";
        assert_eq!(
            of_list(gone, None),
            ["core/a.c get acquire [a.get:A] is no barrier of the code: the entry goes"]
        );
        assert_eq!(
            of_list("core/a.c put release [a.put:A] why\n", Some("")),
            ["core/a.c put release [a.put:A] is new: what may be unproved only shrinks"]
        );
    }

    #[test]
    fn an_entry_may_move_with_its_barrier() {
        let now = "core/a.c put release [a.put:A] why\n";
        assert_eq!(of_list(now, Some("core/b.c give release [a.put:A] why\n")), [""; 0]);
        assert_eq!(of_list(now, Some("core/a.c put acquire [a.put:A] why\n")).len(), 1);
    }

    #[test]
    fn one_barrier_has_one_entry_and_a_long_list_is_found() {
        let entry = "core/a.c put release [a.put:A] why\n";
        assert_eq!(of_list(&entry.repeat(2), None).len(), 1);
        let found = of_list(&entry.repeat(21), None);
        assert!(found.contains(&"21 entries, at most 20 may be".into()), "{found:?}");
    }

    #[test]
    fn a_labelled_barrier_that_is_registered_is_clean() {
        assert_eq!(messages(PUT, ROW), [""; 0]);
    }

    #[test]
    fn a_barrier_taken_away_is_found() {
        let found = messages(&PUT.replace("store_release", "store"), ROW);
        assert_eq!(found, ["no release `[a.put:A]` in `put` of `core/a.c`: was it taken away?"]);
    }

    #[test]
    fn one_of_two_alike_taken_away_is_found() {
        let twice = PUT.replace("}\n", "\tlull_store_release(&other, 1);\n}\n");
        assert_eq!(messages(&twice, &ROW.repeat(2)), [""; 0]);
        assert_eq!(messages(PUT, &ROW.repeat(2)).len(), 1);
    }

    #[test]
    fn a_barrier_that_nobody_registered_is_found() {
        assert_eq!(messages(PUT, "").len(), 1);
    }

    #[test]
    fn a_barrier_without_label_is_found() {
        let bare = PUT.replace("[a.put:A] release. Pairs with [a.get:A].", "it must be so");
        assert!(messages(&bare, ROW).contains(&"release in put has no label".into()));
    }

    #[test]
    fn a_label_of_another_function_does_not_count() {
        let get = "\nstatic int get(void)\n{\n\treturn lull_load_acquire(&word);\n}\n";
        assert!(
            messages(&format!("{PUT}{get}"), ROW).contains(&"acquire in get has no label".into())
        );
    }

    const RUST: &str = "fn tell(&self) {\n    // [a.put:A] release. Pairs with [a.get:A].\n    \
                        self.word.store(1, Ordering::Release);\n}\n";

    fn of_recorder(text: &str, register: &str) -> Vec<String> {
        let path = "tools/session/src/a.rs";
        let tree = Tree::of(&[(path, text), (REGISTER, &register.replace("core/a.c", path))]);
        check(&tree, None).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn what_the_recorder_orders_has_a_label_and_a_row() {
        let row = ROW.replace("`put`", "`tell`");
        assert_eq!(of_recorder(RUST, &row), [""; 0]);
        let weaker = RUST.replace("Release", "Relaxed");
        assert_eq!(
            of_recorder(&weaker, &row),
            ["no release `[a.put:A]` in `tell` of `tools/session/src/a.rs`: was it taken away?"]
        );
        let bare = RUST.replace("[a.put:A] release. Pairs with [a.get:A].", "it must be so");
        assert!(of_recorder(&bare, &row).contains(&"release in tell has no label".into()));
    }

    #[test]
    fn what_the_recorder_orders_in_its_tests_is_no_barrier() {
        let test = "#[cfg(test)]\nmod tests {\n    fn f() { a.load(Ordering::Acquire); }\n}\n";
        assert_eq!(
            of_recorder(&format!("{RUST}\n{test}"), &ROW.replace("`put`", "`tell`")),
            [""; 0]
        );
        let tree = Tree::of(&[("tools/session/tests/a.rs", RUST), ("tools/cli/src/a.rs", RUST)]);
        assert_eq!(of(&tree), []);
    }

    #[test]
    fn without_it_the_recorder_has_a_relaxed_access() {
        let tree = Tree::of(&[("tools/consumer/src/a.rs", RUST)]);
        assert_eq!(without(&tree, &of(&tree)[0]), RUST.replace("Release", "Relaxed"));
    }

    #[test]
    fn what_liblull_orders_is_a_barrier() {
        let text = PUT.replace("lull_store_release", "lull_store32_release");
        let tree = Tree::of(&[("user/a.c", &text)]);
        assert_eq!(without(&tree, &of(&tree)[0]), text.replace("32_release", "32"));
    }

    #[test]
    fn without_it_text_behind_a_comment_of_wide_characters_changes_there_alone() {
        let text = format!("/* a ──> b */\n{PUT}");
        let tree = Tree::of(&[("core/a.c", &text)]);
        assert_eq!(without(&tree, &of(&tree)[0]), text.replace("store_release", "store"));
    }

    #[test]
    fn without_it_the_text_has_the_weaker_access() {
        let tree = Tree::of(&[("core/a.c", PUT)]);
        assert_eq!(without(&tree, &of(&tree)[0]), PUT.replace("store_release", "store"));
    }

    #[test]
    fn both_orders_of_a_compare_and_swap_are_one_barrier() {
        let swap = "static void f(void)\n{\n\t/* [a.put:A] full. */\n\
                    \t__atomic_compare_exchange_n(p, &v, 1, 0, __ATOMIC_SEQ_CST,\n\
                    \t\t__ATOMIC_SEQ_CST);\n}\n";
        let tree = Tree::of(&[("rcu/a.c", swap)]);
        let found = of(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].without, "__ATOMIC_RELAXED, __ATOMIC_RELAXED");
    }

    #[test]
    fn what_a_macro_orders_is_placed_in_it() {
        let text = "/* [a.put:A] release. */\n#define assign(p, v) \\\n\
                    \t__atomic_store_n(&(p), v, __ATOMIC_RELEASE)\n";
        assert_eq!(of(&Tree::of(&[("rcu/a.h", text)]))[0].function, "assign");
    }
}
