// SPDX-License-Identifier: MIT
//! `models/run trace RUN`: finds a short counter-example, replays it and prints it in columns.

use std::fs;
use std::path::Path;

use crate::columns::Sheet;
use crate::error::Result;
use crate::expect::{Kind, Run};
use crate::outcome::{Failure, Found};
use crate::replay;
use crate::spin::{Effort, Shape, Workshop};
use crate::words::Words;

/// Processor time to look for a shorter counter-example than the first.
const SHORTER_S: u32 = 10;
const WIDTH: usize = 120;

/// The width of the terminal, or COLUMNS, or 120.
pub fn width() -> usize {
    let terminal = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let columns = terminal.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    named.or(columns).unwrap_or(WIDTH)
}

/// Breadth first finds the shortest way to a state. For cycles, and where SPIN cannot do that, the
/// depth is lowered step by step. The first counter-example stays where none is found in time.
fn shorten(workshop: &Workshop, failure: &Failure) -> Result<()> {
    let trail = workshop.trail();
    let first = fs::read(&trail).unwrap_or_default();
    let mut shape = if failure.kind == Kind::Cycle { Shape::Lowering } else { Shape::BreadthFirst };
    let mut report = workshop.again(shape, SHORTER_S)?;
    if matches!(report.found, Found::Broken(_)) {
        shape = Shape::Lowering;
        report = workshop.again(shape, SHORTER_S)?;
    }
    let found_again = match &report.found {
        Found::Fail(again) => again.kind == failure.kind,
        Found::Unfinished(_) => shape == Shape::Lowering,
        _ => false,
    };
    let size = fs::metadata(&trail).map_or(0, |about| about.len());
    if !found_again || size == 0 {
        let _ = fs::write(&trail, first);
    }
    Ok(())
}

/// Without the parentheses that SPIN puts around everything.
fn bare(expression: &str) -> &str {
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(expression)
}

/// What is wrong in the end, in one or two lines.
fn conclusion(run: &Run, failure: &Failure, sheet: &Sheet, formulae: &str) -> String {
    let waiting = sheet.waiting();
    match failure.kind {
        Kind::Assertion => {
            let replayed = sheet.replay.assertion.as_deref();
            let inner = replayed.and_then(|text| text.strip_prefix("assert(")?.strip_suffix(')'));
            let text = inner.unwrap_or(&failure.text).trim();
            format!("Here this does not hold: {}\n", bare(text))
        }
        Kind::Deadlock => format!("Here nobody can go on:\n{waiting}"),
        Kind::Claim => {
            let start = format!("ltl {}: ", run.claim);
            let formula = formulae.lines().find_map(|line| line.strip_prefix(&start));
            format!("Here {} does not hold: {}\n", run.claim, formula.unwrap_or_default())
        }
        Kind::Cycle if run.claim == "progress" => {
            "Nothing in the part that repeats is labelled as progress.\n".to_string()
        }
        Kind::Cycle => format!("Repeating this for ever, {} never comes to hold.\n", run.claim),
    }
}

/// The counter-example that lies in the workshop, in columns.
fn replayed(workshop: &Workshop, failure: &Failure) -> Result<String> {
    let run = workshop.run;
    let output = workshop.replay()?;
    let replay = replay::read(&output);
    let words = Words::of(run)?;
    let machine = run.machine.as_deref();
    let sheet = Sheet { replay: &replay, words: &words, machine, width: width() };
    Ok(sheet.print() + &conclusion(run, failure, &sheet, &output))
}

/// After a search that failed: a shorter counter-example if there is one, in columns.
pub fn of_failure(workshop: &Workshop, failure: &Failure) -> Result<String> {
    shorten(workshop, failure)?;
    replayed(workshop, failure)
}

/// Searches, then prints; false when there is no counter-example.
pub fn print(run: &Run, folder: &Path) -> Result<bool> {
    let workshop = Workshop::new(run, folder)?;
    let report = workshop.whole(Effort::Little, None)?;
    println!("{}: {}", run.name(), report.found.words());
    match &report.found {
        Found::Fail(failure) => print!("{}", of_failure(&workshop, failure)?),
        Found::Broken(why) => println!("{why}"),
        _ => {}
    }
    Ok(matches!(report.found, Found::Fail(_)))
}
