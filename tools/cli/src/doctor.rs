// SPDX-License-Identifier: MIT
//! `lull doctor`: what this machine offers, and what that means for recording.
//!
//! Place in the flow: none; it checks what `record` relies on, in the same ways. It prints one line
//! per finding, with the consequence and what to do about it.

mod attach;
mod checks;

use crate::stdout;
use consumer::clock;
use serde_json::json;
use std::io::IsTerminal;

/// Tell what this machine offers for recording, and what that means
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The status is 0 when all is well, 1 when recording works with limits, 2 when \
    it does not work."
)]
pub struct DoctorArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Health {
    Good,
    /// Recording works, but less well than it could.
    Limited,
    /// Recording does not work.
    Bad,
}

impl Health {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Limited => "limited",
            Self::Bad => "bad",
        }
    }
}

#[derive(Debug)]
struct Finding {
    about: &'static str,
    health: Health,
    /// What was found.
    found: String,
    /// What follows from it for recording.
    meaning: &'static str,
    /// What to do, where something can be done.
    advice: Option<String>,
}

impl Finding {
    fn good(about: &'static str, found: impl Into<String>, meaning: &'static str) -> Self {
        Self { about, health: Health::Good, found: found.into(), meaning, advice: None }
    }

    fn but(mut self, health: Health, meaning: &'static str, advice: impl Into<String>) -> Self {
        self.health = health;
        self.meaning = meaning;
        self.advice = Some(advice.into()).filter(|advice| !advice.is_empty());
        self
    }
}

/// Runs the command; the result is the exit status.
pub fn run(args: &DoctorArgs) -> anyhow::Result<i32> {
    let findings = checks::all();
    let worst = findings.iter().map(|finding| finding.health).max().unwrap_or(Health::Good);
    let is_terminal = std::io::stdout().is_terminal();
    let line = |finding| match args.json {
        true => as_json(finding),
        false => as_text(finding, is_terminal),
    };
    let mut text: String = findings.iter().map(|finding| line(finding) + "\n").collect();
    if !args.json {
        text.push_str(&format!("\n{}\n", summary(worst)));
    }
    stdout::write(&text)?;
    Ok(worst as i32)
}

fn summary(worst: Health) -> &'static str {
    match worst {
        Health::Good => "Recording works here without limits.",
        Health::Limited => "Recording works here, with the limits above.",
        Health::Bad => "Recording does not work here until the above is mended.",
    }
}

fn as_json(finding: &Finding) -> String {
    json!({
        "about": finding.about,
        "health": finding.health.name(),
        "found": finding.found,
        "meaning": finding.meaning,
        "advice": finding.advice,
    })
    .to_string()
}

fn as_text(finding: &Finding, is_terminal: bool) -> String {
    let mark = match (finding.health, is_terminal) {
        (Health::Good, false) => "ok     ",
        (Health::Limited, false) => "limited",
        (Health::Bad, false) => "bad    ",
        (Health::Good, true) => "\x1b[32mok     \x1b[0m",
        (Health::Limited, true) => "\x1b[33mlimited\x1b[0m",
        (Health::Bad, true) => "\x1b[31mbad    \x1b[0m",
    };
    let mut line = format!("{mark}  {}: {}: {}", finding.about, finding.found, finding.meaning);
    if let Some(advice) = &finding.advice {
        line.push_str("; ");
        line.push_str(advice);
    }
    line
}

/// The clock that a recording would use, by its own choice and by that of traced programs.
fn clocks_agree(kind: session::clock::ClockKind) -> bool {
    clock::best_kind() == kind.abi()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_says_what_it_means_and_every_limit_what_to_do_or_that_it_is_so() {
        let findings = checks::all();
        assert!(findings.len() >= 10);
        for finding in findings {
            assert!(!finding.found.is_empty() && !finding.meaning.is_empty(), "{finding:?}");
            assert!(!as_text(&finding, false).contains('\n'), "one line: {finding:?}");
        }
    }

    #[test]
    fn worst_finding_is_the_status() {
        assert!(Health::Bad > Health::Limited && Health::Limited > Health::Good);
        assert_eq!((Health::Good as i32, Health::Limited as i32, Health::Bad as i32), (0, 1, 2));
    }
}
