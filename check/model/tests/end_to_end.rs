// SPDX-License-Identifier: MIT
//! The runner over small sets of models, with SPIN: each kind of verdict, what has to fail, the
//! tables and the traces. Needs spin and gcc.

mod set;

use set::{counter_run, Set};

#[test]
fn each_verdict_and_kind_of_error_is_found() {
    let set = Set::of(&["counter"]);
    let all = set.run(&["--write"]);
    assert_eq!(all.status, 0, "{}", all.text);
    assert_eq!(all.last_line(), "12 passed, 0 failed, 0 skipped");
    for line in [
        "counter/counter - assert  pass  16 states",
        "counter/counter - assert TOO_FAR  fail (assertion)",
        "counter/counter - assert STUCK  fail (deadlock)",
        "counter/counter - progress SPINS  fail (cycle)",
        "counter/counter - comes_to_rest SPINS fair  fail (cycle)",
        "counter/counter - small  pass",
        "counter/counter - comes_to_rest  pass",
        "counter/counter - not_two  fail (claim)",
        "counter/counter - assert -DCOVER_TWO  reached",
        "counter/counter - assert bitstate  unfound",
    ] {
        assert!(all.text.contains(&format!("ok   {line}")), "{line}\n{}", all.text);
    }
}

#[test]
fn a_mutant_that_passes_fails_the_run() {
    let set = Set::of(&["counter"]);
    set.describe(&counter_run("assert", "mutants = [\"HARMLESS\"]\nverdict = \"fail\""));
    let all = set.run(&["--only", "HARMLESS"]);
    assert_eq!((all.status, all.last_line()), (1, "0 passed, 1 failed, 0 skipped"));
    assert!(all.text.contains("FAIL counter/counter - assert HARMLESS  pass"), "{}", all.text);
    assert!(all.text.contains("expected fail"), "{}", all.text);
}

#[test]
fn a_mutant_that_is_caught_for_another_reason_fails_the_run() {
    let set = Set::of(&["counter"]);
    let rest = "mutants = [\"STUCK\"]\nverdict = \"fail\"\nerror = \"assertion\"";
    set.describe(&counter_run("assert", rest));
    let all = set.run(&["--only", "STUCK"]);
    assert_eq!(all.last_line(), "0 passed, 1 failed, 0 skipped");
    assert!(all.text.contains("fail (deadlock)"), "{}", all.text);
    assert!(all.text.contains("expected fail (assertion)"), "{}", all.text);
}

#[test]
fn an_unaltered_model_that_fails_is_shown_step_by_step() {
    let set = Set::of(&["counter"]);
    set.describe(&counter_run("not_two", "verdict = \"pass\""));
    let all = set.run(&["--only", "counter"]);
    assert_eq!(all.status, 1);
    assert!(all.text.contains("|count = count + 1 [ring.commit:B]"), "{}", all.text);
    assert!(all.text.contains("Here not_two does not hold: [] ((count!=2))"), "{}", all.text);
}

#[test]
fn an_index_outside_its_array_is_no_verdict() {
    let set = Set::of(&["counter"]);
    for claim in ["assert", "progress"] {
        set.describe(&counter_run(claim, "mutants = [\"OUTSIDE\"]\nverdict = \"fail\""));
        let all = set.run(&["--only", "OUTSIDE"]);
        assert_eq!(all.last_line(), "0 passed, 1 failed, 0 skipped", "{}", all.text);
        assert!(all.text.contains("array outside its bounds"), "{}", all.text);
    }
}

#[test]
fn a_search_for_cycles_does_not_end_at_an_assertion() {
    let set = Set::of(&["counter"]);
    let rest = "mutants = [\"SPINS\"]\ndefine = [\"COVER_TWO\"]\nverdict = \"fail\"\n";
    set.describe(&counter_run("comes_to_rest", &format!("{rest}error = \"cycle\"")));
    assert_eq!(set.run(&["--only", "SPINS"]).last_line(), "1 passed, 0 failed, 0 skipped");
}

#[test]
fn with_weak_fairness_nobody_is_passed_over_for_ever() {
    let set = Set::of(&["counter"]);
    set.model(
        "byte x;\nactive proctype idle() {\n\tdo\n\t:: x < 2\n\tod\n}\n\
         active proctype writer() { x = 1 }\nltl comes { <> (x == 1) }\n",
    );
    let fair = counter_run("comes", "fair = true\nverdict = \"pass\"");
    let unfair = counter_run("comes", "verdict = \"fail\"\nerror = \"cycle\"");
    set.describe(&format!("{fair}{unfair}"));
    assert_eq!(set.run(&["--only", "comes"]).last_line(), "2 passed, 0 failed, 0 skipped");
}

#[test]
fn a_search_that_ends_early_is_unfinished_whatever_was_expected() {
    let set = Set::of(&["counter"]);
    let endless = "define = [\"LIMIT=200\"]";
    for (rest, why) in [("depth = 20", "deeper than depth"), ("memory_mib = 20", "out of memory")] {
        set.describe(&counter_run("assert", &format!("{endless}\n{rest}\nverdict = \"pass\"")));
        let all = set.run(&["--only", "counter"]);
        assert_eq!(all.last_line(), "0 passed, 1 failed, 0 skipped");
        assert!(all.text.contains(&format!("unfinished ({why})")), "{}", all.text);
    }
}

#[test]
fn a_search_that_takes_too_long_is_ended() {
    let set = Set::of(&["counter"]);
    set.model("active [9] proctype a() { byte x; do :: x++ :: x-- od }\n");
    let rest = "verdict = \"pass\"\ntime_s = 1\nmemory_mib = 3000\ndepth = 1000000";
    set.describe(&counter_run("assert", rest));
    let all = set.run(&["--only", "counter"]);
    assert!(all.text.contains("unfinished (more than 1 s)"), "{}", all.text);
}

#[test]
fn what_spin_refuses_is_shown_with_its_line() {
    let set = Set::of(&["counter"]);
    set.model("byte x;\nactive proctype a() {\n\tx = unknown\n}\n");
    set.describe(&counter_run("assert", "verdict = \"pass\""));
    let all = set.run(&["--only", "counter"]);
    assert_eq!(all.last_line(), "0 passed, 1 failed, 0 skipped");
    assert!(all.text.contains("undeclared variable: unknown"), "{}", all.text);
    assert!(all.text.contains("3 | \tx = unknown"), "{}", all.text);
}

#[test]
fn what_the_verifier_refuses_is_shown() {
    let set = Set::of(&["counter"]);
    set.model("byte x;\nactive proctype a() {\n\tdo\n\t:: true\n\tod\n}\n");
    set.describe(&counter_run("assert", "verdict = \"pass\""));
    let all = set.run(&["--only", "counter"]);
    assert!(all.text.contains("assert  broken"), "{}", all.text);
    assert!(all.text.contains("has unconditional self-loop"), "{}", all.text);
}

#[test]
fn without_spin_the_remedy_is_told() {
    let set = Set::of(&["counter"]);
    let all = set.run_without_spin(&["--only", "TOO_FAR"]);
    assert_eq!(all.last_line(), "0 passed, 1 failed, 0 skipped");
    assert!(all.text.contains("install SPIN 6.5 (Debian: apt-get install spin)"), "{}", all.text);
}

#[test]
fn a_part_of_the_runs_is_chosen_by_name_or_title() {
    let set = Set::of(&["counter"]);
    let list = |options: &[&str]| set.run(options).text.lines().count();
    assert_eq!(list(&["--list"]), 11);
    assert_eq!(list(&["--list", "--full"]), 12);
    assert_eq!(list(&["--list", "--only", "SPINS", "--only", "Two is"]), 3);
    let none = set.run(&["--only", "nothing of that name"]);
    assert_eq!(none.status, 2);
    assert!(none.errors.contains("no run is meant"), "{}", none.errors);
}

#[test]
fn what_was_found_is_written_as_json() {
    let set = Set::of(&["counter"]);
    let path = set.path("found.json");
    set.run(&["--only", "TOO_FAR", "--json", &path.to_string_lossy()]);
    let text = std::fs::read_to_string(path).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found[0]["run"], "counter/counter - assert TOO_FAR");
    assert_eq!(found[0]["found"]["detail"]["kind"], "assertion");
    assert_eq!(found[0]["as_expected"], true);
}

#[test]
fn statements_that_no_unaltered_run_reached_are_listed() {
    let set = Set::of(&["counter"]);
    set.model("byte x;\nactive proctype a() {\n\tif\n\t:: x == 0\n\t:: x == 1 -> x = 5\n\tfi\n}\n");
    set.describe(&counter_run("assert", "verdict = \"pass\""));
    let all = set.run(&["--only", "counter", "--unreached"]);
    assert!(all.text.contains("counter/counter: unreached: "), "{}", all.text);
    assert!(all.text.contains("\"x = 5\""), "{}", all.text);
}

#[test]
fn a_trace_tells_what_the_machine_did_by_itself() {
    let set = Set::of(&["buffering"]);
    for (machine, events) in [
        ("tso", ["LEFT=7, on its way to memory", "CPU 0: LEFT=7 lands"]),
        ("power", ["LEFT=7 in the cache of CPU 0", "CPU 0: LEFT=7 lands"]),
        ("alpha", ["LEFT=7 in the cache of CPU 0", "RIGHT=7 in memory"]),
    ] {
        let name = format!("buffering/buffering {machine} assert NO_BARRIER");
        let words: Vec<&str> = std::iter::once("trace").chain(name.split(' ')).collect();
        let all = set.run(&words);
        assert_eq!(all.status, 0, "{}", all.text);
        assert!(all.text.contains("STORE(0, LEFT, 7) [ring.commit:B]"), "{}", all.text);
        // A store that never lands is in some shortest counter-examples.
        assert!(events.iter().any(|event| all.text.contains(event)), "{machine}\n{}", all.text);
        assert!(all.text.contains("saw_right=0"), "{}", all.text);
    }
}

#[test]
fn a_trace_marks_where_a_cycle_begins() {
    let set = Set::of(&["counter"]);
    let all = set.run(&["trace", "counter/counter", "-", "progress", "SPINS"]);
    assert!(all.text.contains("from here it repeats for ever"), "{}", all.text);
    let none = set.run(&["trace", "counter/counter - assert"]);
    assert_eq!((none.status, none.last_line()), (1, "counter/counter - assert: pass"));
}

#[test]
fn a_trace_says_who_waits_where() {
    let set = Set::of(&["counter"]);
    let all = set.run(&["trace", "counter/counter - assert STUCK"]);
    let waits = "Here nobody can go on:\nwriter is at counter.pml:30: count == 0;";
    assert!(all.text.contains(waits), "{}", all.text);
}

#[test]
fn a_trace_is_as_wide_as_the_terminal() {
    let set = Set::of(&["buffering"]);
    let all = set.run_wide(80, &["trace", "buffering/buffering power assert NO_BARRIER"]);
    let widest = all.text.lines().skip(1).map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 100), "{}", all.text);
}
