// SPDX-License-Identifier: MIT
//! No index can do more than tell wrong things, whatever is in it and however right its checksums.
//!
//! Place in the flow: tests only; `check/fuzz` does the same with more patience.

use testkit::Random;
use trace::{Ns, Span, Trace};

use crate::{Bounds, Far, History};

/// Asks everything; the result is how many answers there were, and how many errors.
fn ask(history: &History) -> (u64, u64) {
    let (mut answers, mut errors) = (0, 0);
    let mut count = |is_answer: bool| match is_answer {
        true => answers += 1,
        false => errors += 1,
    };
    for at in [i64::MIN, 0, 900, 1500, i64::MAX] {
        let moment = history.at(Ns(at));
        count(moment.is_ok());
        for known in moment.iter().flat_map(|moment| moment.all()).take(50) {
            history.names().subject(known.track.subject);
            history.names().value(&known.value);
        }
    }
    for subject in history.subjects().take(3) {
        count(history.intervals(subject, &Span::ALL).is_ok());
    }
    count(history.overview(&Span::ALL, 7, |_| true).is_ok());
    if let Ok(Some(far)) = Far::of(history) {
        let span = Span { from: Some(history.begin()), until: Some(history.end()) };
        for parts in [1, 50, 3000] {
            count(far.overview(history, &span, parts, |_| true).is_some());
        }
    }
    let mut ended = 0;
    count(
        history
            .visit_ended(
                &Span::ALL,
                |_| true,
                |_, _| {
                    ended += 1;
                    ended < 9
                },
            )
            .is_ok(),
    );
    (answers, errors)
}

#[test]
fn parts_that_are_not_as_they_were_written_are_errors_or_wrong_answers_and_nothing_else() {
    let traces: [Trace; 1] = [crate::oracle::random_trace(3)];
    let bounds = Bounds { segment: 60, far: 0, ..Bounds::default() };
    let (mut refused, mut answers, mut errors) = (0, 0, 0);
    for seed in 0..400 {
        let random = &mut Random::new(seed);
        let history = History::spoilt(&traces, bounds, &mut |part| {
            if part.is_empty() || random.one_in(2) {
                return;
            }
            for _ in 0..1 + random.below(3) {
                let at = random.below(part.len() as u64) as usize;
                match random.below(4) {
                    0 => part[at] ^= 1 << random.below(8),
                    1 => part[at] = 0xff,
                    2 => part.truncate(at + 1),
                    _ => part.insert(at, 0x80),
                }
            }
        });
        let Some(history) = history else {
            refused += 1;
            continue;
        };
        let told = ask(&history);
        (answers, errors) = (answers + told.0, errors + told.1);
    }
    assert!(refused > 50 && answers > 50 && errors > 50, "{refused} {answers} {errors}");
}

#[test]
fn counts_without_what_they_count_take_no_memory() {
    let traces: [Trace; 1] = [crate::oracle::random_trace(4)];
    for count in [[0xff; 9].as_slice(), &[0xff, 0xff, 0x7f], &[0xff; 4]] {
        let history = History::spoilt(&traces, Bounds::default(), &mut |part| {
            part.splice(0..1.min(part.len()), count.iter().copied());
        });
        assert!(history.is_none());
    }
}
