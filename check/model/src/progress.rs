// SPDX-License-Identifier: MIT
//! A line for each run that ends; on a terminal also a bar.

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::expect::Run;
use crate::outcome::Found;
use crate::schedule::Ended;
use crate::spin::Report;
use crate::trace;

pub struct Progress {
    bar: ProgressBar,
    passed_count: usize,
    kept_count: usize,
    failed_count: usize,
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("     {line}\n")).collect()
}

fn line(run: &Run, report: &Report) -> String {
    let Report { found, search, time_s, is_kept } = report;
    let states = HumanCount(search.states);
    let earlier = if *is_kept { "  searched earlier" } else { "" };
    let outcome = found.words_of(run);
    format!("{}  {outcome}  {states} states  {time_s:.1} s{earlier}", run.name())
}

/// What a person has to know to go on, beyond the line: of an error that nobody expected, how it
/// comes about.
fn explanation(ended: &Ended, found: &Found) -> String {
    match (found, &ended.workshop) {
        (Found::Fail(failure), Some(workshop)) => {
            trace::of_failure(workshop, failure).unwrap_or_else(|error| error.to_string())
        }
        (Found::Broken(why), _) => why.clone(),
        _ => String::new(),
    }
}

impl Progress {
    pub fn new(count: usize) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, passed_count: 0, kept_count: 0, failed_count: 0 }
    }

    pub fn say(&self, text: &str) {
        self.bar.suspend(|| println!("{}", text.trim_end()));
    }

    pub fn ended(&mut self, ended: &Ended) {
        let wrong = match &ended.report {
            Ok(report) => report.found.disagreement(ended.run).map(|expected| {
                let why = indented(&explanation(ended, &report.found));
                format!("{}  expected {expected}\n{why}", line(ended.run, report))
            }),
            Err(error) => Some(format!("{}  {error}", ended.run.name())),
        };
        match (wrong, &ended.report) {
            (None, Ok(report)) => {
                self.passed_count += 1;
                self.kept_count += usize::from(report.is_kept);
                self.say(&format!("ok   {}", line(ended.run, report)));
            }
            (wrong, _) => {
                self.failed_count += 1;
                self.say(&format!("FAIL {}", wrong.unwrap_or_default()));
            }
        }
        self.bar.inc(1);
    }

    /// The tables of so many nouns are right; of others, what is wrong.
    pub fn tables(&mut self, right_count: usize, messages: &[String]) {
        self.passed_count += right_count;
        self.failed_count += messages.len();
        for message in messages {
            self.say(&format!("FAIL {message}"));
        }
    }

    /// The last line; whether everything was as expected.
    pub fn finish(&self) -> bool {
        self.bar.finish_and_clear();
        if self.kept_count > 0 {
            println!("{} of them were searched earlier and are the same", self.kept_count);
        }
        println!("{} passed, {} failed, 0 skipped", self.passed_count, self.failed_count);
        self.failed_count == 0
    }
}
