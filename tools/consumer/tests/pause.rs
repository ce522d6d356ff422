// SPDX-License-Identifier: MIT
//! Pauses: what probes see of them, what is read of them, and what the trace says.

mod support;

use consumer::consumer::PauseError;
use std::sync::atomic::Ordering;
use support::*;
use verdict::{Pause, State};

/// The pauses that a trace's metadata tells of.
fn told(path: &std::path::Path) -> Vec<Pause> {
    let text = std::fs::read_to_string(path.join("metadata")).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("pauses = \""));
    let line = line.and_then(|line| line.strip_suffix("\";")).unwrap_or_default();
    let value = line.replace("\\t", "\t").replace("\\n", "\n");
    verdict::environment::pauses(|_| Some(value.clone().into()))
}

#[test]
fn probes_are_told_of_a_pause_and_the_trace_says_from_when_to_when_it_was() {
    let (session, mut consumer, path) = start("pause", &Setup::default());
    let mut writer = Writer::new(&session, Rings::PerCpu);
    assert!(writer.step(1, 1, "x") && session.memory.is_active());
    assert_eq!(consumer.resume_probes(), Err(PauseError::NotPaused));
    consumer.pause_probes().unwrap();
    assert!(!session.memory.is_active() && consumer.is_paused());
    assert_eq!(consumer.pause_probes(), Err(PauseError::Paused));
    assert_eq!(told(&path).len(), 1, "it is written at once, for `lull recover`");
    assert_eq!(told(&path)[0].until, None);
    consumer.resume_probes().unwrap();
    assert!(session.memory.is_active() && !consumer.is_paused());
    assert!(writer.step(1, 2, "x"));
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert_eq!((verdict.state, verdict.events, verdict.has_loss()), (State::Limited, 2, false));
    let text = verdict.judgement().join("\n");
    assert!(text.contains("outside of the pause, in which nothing was recorded"), "{text}");
    assert_eq!(told(&path), verdict.pauses);
    let Pause { begin, until } = verdict.pauses[0];
    let until = until.unwrap();
    assert!(begin.0 < until.0 && begin.1 < until.1);
    assert_eq!(consumer.pause_probes(), Err(PauseError::Ended));
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn event_of_a_writer_that_saw_the_pause_late_is_read_and_a_session_ends_in_a_pause() {
    let (session, mut consumer, path) = start("late", &Setup::default());
    let mut writer = Writer::new(&session, Rings::PerCpu);
    writer.step(1, 1, "x");
    consumer.pause_probes().unwrap();
    // The writer of these tests does not look at the flag, as a probe that looked before it.
    writer.step(1, 2, "x");
    let verdict = consumer.finish(|_, seen| assert!(seen.was_paused)).unwrap();
    assert_eq!((verdict.state, verdict.events), (State::Limited, 2));
    assert_eq!(verdict.pauses[0].until, None);
    assert!(verdict.judgement().join("\n").contains("to the end"));
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn flag_that_a_process_wrote_over_is_stored_anew_and_the_verdict_says_so() {
    let (session, mut consumer, path) = start("flag", &Setup::default());
    let flag = &session.memory.live().active;
    let tick_until = |consumer: &mut consumer::Consumer, value: u64| {
        // Bound: the recorder looks every 10 ms.
        let begun = std::time::Instant::now();
        while flag.load(Ordering::Relaxed) != value {
            assert!(begun.elapsed().as_secs() < 60, "the flag stays as it is");
            consumer.tick();
        }
    };
    flag.store(0, Ordering::Relaxed);
    tick_until(&mut consumer, 1);
    consumer.pause_probes().unwrap();
    flag.store(7, Ordering::Relaxed);
    tick_until(&mut consumer, 0);
    let verdict = consumer.finish(|_, _| {}).unwrap();
    assert_eq!(verdict.state, State::Incomplete);
    let text = verdict.missing.join("\n");
    assert!(text.contains("that are in no count: a process that shares"), "{text}");
    assert!(text.contains("how far the pauses hold"), "{text}");
    std::fs::remove_dir_all(&path).unwrap();
}
