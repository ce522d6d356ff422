// SPDX-License-Identifier: MIT
//! Descriptions that are wrong, and the tables: what is written, kept, and found to be outdated.

mod set;

use std::fs;

use set::{counter_run, Set};

#[test]
fn everything_wrong_in_a_description_is_told_with_its_line_before_anything_runs() {
    let set = Set::of(&["counter"]);
    let wrong = counter_run("bigger", "mutants = [\"ABSENT\"]\ndefine = [\"COVER_NONE\"]\n");
    let wrong = wrong.replace("machines = []", "machines = [\"vax\"]");
    set.describe(&format!("{wrong}bitstate = true\nverdict = \"pass\"\n"));
    let all = set.run(&[]);
    assert_eq!((all.status, all.text.as_str()), (2, ""));
    for message in [
        ":4: claim bigger: counter.pml has no such ltl (small, not_two, comes_to_rest)",
        ":5: MACHINE_VAX occurs neither in counter.pml nor in what it includes",
        ":6: MUTANT_ABSENT occurs neither in counter.pml nor in what it includes",
        ":7: COVER_NONE occurs neither in counter.pml nor in what it includes",
        ":10: a bitstate search proves nothing: its verdict is fail or unfound",
    ] {
        assert!(all.errors.contains(message), "{message}\n{}", all.errors);
    }
}

#[test]
fn a_key_nobody_knows_and_a_model_that_is_not_there_are_told() {
    let set = Set::of(&["counter"]);
    set.describe(&counter_run("assert", "verdict = \"pass\"\ncolour = \"red\""));
    let all = set.run(&[]);
    assert!(all.errors.contains("expect.toml:7: unknown field `colour`"), "{}", all.errors);
    set.describe(&counter_run("assert", "verdict = \"pass\"").replace("counter.pml", "gone.pml"));
    let all = set.run(&[]);
    assert!(all.errors.contains("expect.toml:3: "), "{}", all.errors);
    assert!(all.errors.contains("gone.pml: No such file"), "{}", all.errors);
}

#[test]
fn a_mutant_that_only_a_comment_names_does_not_count() {
    let set = Set::of(&["counter"]);
    set.model("/* #ifdef MUTANT_SAID */ byte x; active proctype a() { x = 1 }\n");
    set.describe(&counter_run("assert", "mutants = [\"SAID\"]\nverdict = \"fail\""));
    assert!(set.run(&[]).errors.contains("MUTANT_SAID occurs neither"));
}

#[test]
fn two_runs_of_one_name_are_refused() {
    let set = Set::of(&["counter"]);
    let run = counter_run("assert", "verdict = \"pass\"");
    set.describe(&format!("{run}{run}"));
    assert!(set.run(&[]).errors.contains("two runs are named counter/counter - assert"));
}

#[test]
fn a_table_has_all_runs_and_the_thesis_beside_ours() {
    let set = Set::few();
    set.run(&["--write"]);
    let page = fs::read_to_string(set.path("results/counter.md")).unwrap();
    for line in [
        "## Table 7.1: general-purpose RCU, Alpha",
        "| Unaltered model (safety) | PASS | PASS |",
        "| Counts too far | INJECT | INJECT |",
        "| Does nothing wrong | FNEG | FNEG |",
        "| Two is reached | counter |  | COVER_TWO |  | assert | reached |",
        "| Counts further | counter |  | LIMIT=5 |  | assert | not yet run |",
        "- Unaltered model (safety): Counts to three only.",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    let columns = |line: &str| line.matches('|').count();
    let tables: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    assert!(tables
        .windows(2)
        .all(|pair| { columns(pair[0]) == columns(pair[1]) || pair[1].starts_with("| run |") }));
}

#[test]
fn the_same_searches_write_the_same_bytes() {
    let set = Set::few();
    set.run(&["--full", "--write"]);
    let names = || {
        let entries = fs::read_dir(set.path("results")).unwrap().flatten();
        entries.map(|entry| entry.file_name()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["counter.md"]);
    let first = fs::read_to_string(set.path("results/counter.md")).unwrap();
    set.run(&["--full", "--write", "--jobs", "1"]);
    assert_eq!(fs::read_to_string(set.path("results/counter.md")).unwrap(), first);
}

#[test]
fn a_whole_run_fails_until_its_tables_are_written() {
    let set = Set::few();
    let all = set.run(&[]);
    assert_eq!((all.status, all.last_line()), (1, "5 passed, 1 failed, 0 skipped"));
    assert!(all.text.contains("`models/run --write` renews it"), "{}", all.text);
    assert_eq!(set.run(&["--write"]).status, 0);
    assert_eq!(set.run(&["--check"]).last_line(), "1 passed, 0 failed, 0 skipped");
}

#[test]
fn a_run_that_was_not_executed_keeps_its_row() {
    let set = Set::few();
    set.run(&["--full", "--write"]);
    let whole = fs::read_to_string(set.path("results/counter.md")).unwrap();
    assert!(!whole.contains("not yet run"), "{whole}");
    set.run(&["--only", "TOO_FAR", "--write"]);
    let page = fs::read_to_string(set.path("results/counter.md")).unwrap();
    let full = whole.lines().find(|line| line.starts_with("| Counts further")).unwrap();
    assert!(page.contains(full), "{page}");
}

#[test]
fn a_table_that_does_not_tell_the_runs_is_found() {
    let set = Set::few();
    set.run(&["--write"]);
    let check = |why: &str| {
        let all = set.run(&["--check"]);
        assert_eq!((all.status, all.last_line()), (1, "0 passed, 1 failed, 0 skipped"));
        assert!(all.text.contains(why), "{why}\n{}", all.text);
    };
    let edit = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(set.path(name)).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(set.path(name), text.replacen(from, to, 1)).unwrap();
        text
    };
    let page = edit("results/counter.md", "INJECT | INJECT", "PASS | INJECT");
    check("the table is not what its rows give");
    fs::write(set.path("results/counter.md"), &page).unwrap();

    edit("results/counter.md", "| assert | reached |", "| assert | wrong |");
    let all = set.run(&["--check"]);
    assert!(all.errors.contains("is no row of a run; restore it"), "{}", all.errors);
    fs::write(set.path("results/counter.md"), &page).unwrap();

    let described = edit("counter/expect.toml", "[\"STUCK\"]", "[\"STUCK\", \"HARMLESS\"]");
    fs::write(set.path("counter/expect.toml"), described.replace("\"STUCK\"", "\"OUTSIDE\""))
        .unwrap();
    check("counter/counter - assert OUTSIDE has no row");
    check("counter/counter - assert STUCK is no run of expect.toml");
    fs::write(set.path("counter/expect.toml"), &described).unwrap();

    edit("counter/expect.toml", "verdict = \"reached\"", "verdict = \"pass\"");
    check("is fail (assertion), expected pass");
    fs::write(set.path("counter/expect.toml"), &described).unwrap();

    edit("counter/counter.pml", "i = 0\n}", "i = 0; i = 0\n}");
    check("was found with an earlier model");
}

#[test]
fn a_comment_in_a_model_does_not_make_its_table_outdated() {
    let set = Set::few();
    set.run(&["--write"]);
    let path = set.path("counter/counter.pml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}\n/* More to say. */\n")).unwrap();
    assert_eq!(set.run(&["--check"]).status, 0);
}

#[test]
fn the_table_of_a_noun_without_runs_is_found() {
    let set = Set::few();
    set.run(&["--write"]);
    fs::write(set.path("results/gone.md"), "").unwrap();
    let all = set.run(&["--check"]);
    assert_eq!(all.last_line(), "1 passed, 1 failed, 0 skipped");
    assert!(all.text.contains("models/results/gone.md is the table of no folder"), "{}", all.text);
}
