// SPDX-License-Identifier: MIT
//! Searches that were made earlier: which are not made again, and which are. Needs spin and gcc.

mod set;

use std::fs;

use set::{counter_run, Set};

const EARLIER: &str = "searched earlier";

#[test]
fn same_searches_are_not_made_again_wherever_the_models_lie() {
    let kept = tempfile::tempdir().unwrap();
    let folder = kept.path().to_string_lossy();
    let first = Set::few().run(&["--cache", &folder, "--write"]);
    assert!(!first.text.contains(EARLIER), "{}", first.text);
    let again = Set::few();
    let second = again.run(&["--cache", &folder, "--write"]);
    assert_eq!((second.status, second.last_line()), (0, first.last_line()), "{}", second.text);
    let runs = second.text.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(second.text.contains(&format!("{runs} of them were {EARLIER}")), "{}", second.text);
    let words = |text: &str| text.replace(&format!("  {EARLIER}"), "");
    for line in first.text.lines().filter(|line| line.starts_with("ok ")) {
        assert!(words(&second.text).contains(line), "{line}\n{}", second.text);
    }
    for option in [vec!["--unreached"], vec!["--keep", &*again.path("kept").to_string_lossy()]] {
        let all = again.run(&[&["--cache", &*folder], &option[..]].concat());
        assert!(!all.text.contains(EARLIER), "{}", all.text);
    }
}

#[test]
fn search_is_made_of_another_model_with_other_limits_and_where_the_cache_is_damaged() {
    let kept = tempfile::tempdir().unwrap();
    let folder = kept.path().to_string_lossy();
    let set = Set::of(&["counter"]);
    let run = |rest: &str| {
        set.describe(&counter_run("assert", rest));
        set.run(&["--only", "counter", "--cache", &folder])
    };
    let passes = "verdict = \"pass\"";
    assert!(!run(passes).text.contains(EARLIER));
    assert!(run(passes).text.contains(EARLIER));
    assert!(!run(&format!("{passes}\ndepth = 9000")).text.contains(EARLIER));
    let entries: Vec<_> = fs::read_dir(kept.path()).unwrap().flatten().collect();
    assert_eq!(entries.len(), 2);
    for entry in entries {
        let text = fs::read(entry.path()).unwrap();
        fs::write(entry.path(), &text[..text.len() / 2]).unwrap();
    }
    assert!(!run(passes).text.contains(EARLIER));
    set.model("byte count;\nactive proctype writer() { count = 3; assert(count < 3) }\n");
    let all = run(passes);
    assert_eq!(all.last_line(), "0 passed, 1 failed, 0 skipped", "{}", all.text);
}

#[test]
fn outcome_that_is_not_expected_is_searched_and_shown() {
    let kept = tempfile::tempdir().unwrap();
    let folder = kept.path().to_string_lossy();
    let set = Set::of(&["counter"]);
    for (verdict, sum) in [("fail", "1 passed, 0 failed"), ("pass", "0 passed, 1 failed")] {
        set.describe(&counter_run("not_two", &format!("verdict = \"{verdict}\"")));
        let all = set.run(&["--only", "counter", "--cache", &folder]);
        assert!(all.last_line().starts_with(sum), "{}", all.text);
        assert!(!all.text.contains(EARLIER), "{}", all.text);
        let is_shown = all.text.contains("Here not_two does not hold: [] ((count!=2))");
        assert_eq!(is_shown, verdict == "pass", "{}", all.text);
    }
}

#[test]
fn search_that_did_not_end_is_not_kept() {
    let kept = tempfile::tempdir().unwrap();
    let folder = kept.path().to_string_lossy();
    let set = Set::of(&["counter"]);
    set.model("active [9] proctype a() { byte x; do :: x++ :: x-- od }\n");
    let rest = "verdict = \"pass\"\ntime_s = 1\nmemory_mib = 3000\ndepth = 1000000";
    set.describe(&counter_run("assert", rest));
    let all = set.run(&["--only", "counter", "--cache", &folder]);
    assert!(all.text.contains("unfinished (more than 1 s)"), "{}{}", all.text, all.errors);
    assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 0);
}
