// SPDX-License-Identifier: MIT
//! A budget whose words in the session's memory somebody writes over.

mod support;

use std::time::{Duration, Instant};
use support::*;
use verdict::State;

#[test]
fn words_that_a_process_wrote_over_are_stored_anew_and_the_verdict_says_so() {
    let setup = Setup { has_budget: true, ..Setup::default() };
    let (session, mut consumer, path) = start("budget", &setup);
    consumer.start_budget(10_000, "*", &[]);
    let mut writer = Writer::new(&session, Rings::PerCpu);
    assert!(writer.step(1, 1, "x"));
    let mut is_stored_anew = |word: u32| {
        session.memory.set_throttle(STEP, word);
        let until = Instant::now() + Duration::from_secs(20);
        while session.memory.throttle(STEP) != 0 && Instant::now() < until {
            let pause = consumer.keep_budget();
            assert!(pause <= Duration::from_millis(20), "looks go on");
            std::thread::sleep(pause);
        }
        session.memory.throttle(STEP) == 0
    };
    assert!([1, 11, 15, u32::MAX].into_iter().all(&mut is_stored_anew));
    // What is no event's is not there.
    session.memory.set_throttle(u32::MAX, 3);
    assert_eq!(session.memory.throttle(u32::MAX), 0);
    assert!(!consumer.budget_asks(), "no process has to look at anything");
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert_eq!(verdict.state, State::Incomplete);
    let text = verdict.judgement().join("\n");
    assert_eq!(text.matches("wrote over how events are throttled").count(), 1, "{text}");
    assert!(verdict.throttled.is_empty(), "the recorder throttled nothing");
    std::fs::remove_dir_all(&path).unwrap();
}
