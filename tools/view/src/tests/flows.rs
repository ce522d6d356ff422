// SPDX-License-Identifier: MIT
//! What let threads go on, as the page asks for it.

use std::sync::Arc;

use history::History;
use testkit::program::{Number, Program};
use trace::Trace;

use super::{ask, Plain, MAIN, WORKER};
use crate::ask::Ask;
use crate::flows::of_some;
use crate::Viewed;

/// Waits of a microsecond, each ended by the other thread.
fn waits(count: u64) -> Viewed {
    let mut program = Program::new();
    for round in 0..count {
        let at = 1_000_000 + round * 2000;
        let lock = [("mutex", Number(0xa0))];
        program.event(at, 1, WORKER, "mutex:wait_entry", &lock);
        program.event(at + 900, 0, MAIN, "mutex:unlock", &lock);
        let taken = [("mutex", Number(0xa0)), ("result", Number(0))];
        program.event(at + 1000, 1, WORKER, "mutex:wait_exit", &taken);
    }
    program.event(1_000_000, 2, (20, 20, "other"), "a:b", &[]);
    let (metadata, files) = program.files();
    let traces = Arc::new(vec![Trace::from_bytes(metadata.as_bytes(), files).unwrap()]);
    let history = History::open_or_build(&traces, |_| {}).unwrap();
    Viewed::new(traces.clone(), history, Box::new(Plain(traces)), Vec::new())
}

fn thread(viewed: &Viewed, name: &str) -> String {
    let all = ask(viewed, "v1/tracks");
    let mut tracks = all["tracks"].as_array().unwrap().iter();
    let found = tracks.find(|track| track["kind"] == "thread" && track["name"] == name).unwrap();
    found["id"].as_str().unwrap().into()
}

#[test]
fn arrows_have_both_ends_with_their_rows_and_times() {
    let viewed = waits(3);
    let (server, worker) = (thread(&viewed, "server[10]"), thread(&viewed, "worker[11]"));
    // From the one's end to the other's begin, both included.
    let question = format!("v1/flows?from=3000&until=4900&tracks={worker}");
    let answer = ask(&viewed, &question);
    assert_eq!((&answer["is_cut"], answer["stopped"].is_null()), (&false.into(), true));
    let arrows = answer["arrows"].as_array().unwrap();
    let ends = |at: usize| {
        let (from, to) = (&arrows[at]["from"], &arrows[at]["to"]);
        (from["track"].as_str(), from["at"].as_i64(), to["track"].as_str(), to["at"].as_i64())
    };
    let all = |from, to| (Some(&*server), Some(from), Some(&*worker), Some(to));
    assert_eq!(arrows.len(), 2, "{answer}");
    assert_eq!([ends(0), ends(1)], [all(2900, 3000), all(4900, 5000)]);
    assert_eq!(arrows[0]["kind"], "lock");
    assert_eq!(arrows[0]["label"], "let go on by server[10]: mutex 0xa0");
    let count = |question: &str| ask(&viewed, question)["arrows"].as_array().unwrap().len();
    let whole = "v1/flows?from=0&until=9000";
    let other = thread(&viewed, "other[20]");
    assert_eq!(count(whole), 3);
    assert_eq!(count(&format!("{whole}&tracks={server}")), 3);
    assert_eq!(count(&format!("{whole}&tracks={other}")), 0);
    assert_eq!(count("v1/flows?from=3001&until=4899"), 0);
}

#[test]
fn an_answer_that_is_not_all_says_so() {
    let viewed = waits(20);
    let cut = ask(&viewed, "v1/flows?from=0&until=90000&limit=5");
    assert_eq!((cut["arrows"].as_array().unwrap().len(), &cut["is_cut"]), (5, &true.into()));
    let whole = ask(&viewed, "v1/flows?from=0&until=90000&limit=20");
    assert_eq!((whole["arrows"].as_array().unwrap().len(), &whole["is_cut"]), (20, &false.into()));
    let question = Ask::new("from=0&until=90000").unwrap();
    let some = of_some(viewed.history(), viewed.tracks(), &question, 7).unwrap();
    let some = serde_json::to_value(some).unwrap();
    assert_eq!((some["arrows"].as_array().unwrap().len(), &some["stopped"]), (7, &15000.into()));
}
