// SPDX-License-Identifier: MIT
//! When counts are printed, and where: now and then while the program runs, and at the end.
//!
//! Place in the flow: the supervisor asks in each turn. On a terminal that the program does not
//! write to as well, each table takes the place of the one before.

use super::{json, judge, table, CountArgs};
use crate::report::look::Look;
use crate::say;
use crate::shown::shown;
use anyhow::Context;
use consumer::consumer::Counts;
use consumer::Consumer;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use verdict::{State, Verdict};

/// How often a table is redrawn where a person looks on.
const REDRAW_PERIOD: Duration = Duration::from_secs(1);

/// What was asked for, and what was printed so far.
pub struct Display {
    pub by: Vec<String>,
    pub hist: Option<String>,
    top: usize,
    is_json: bool,
    is_quiet: bool,
    /// None: standard error.
    file: Option<File>,
    /// Why not all that was printed is in the file.
    unwritten: Option<io::Error>,
    is_redrawn: bool,
    /// Lines of the table that the next one replaces.
    drawn_lines: usize,
    period: Option<Duration>,
    begun: Instant,
    shown: Instant,
    /// What was counted when the probes had stopped.
    last: Option<Counts>,
    /// What was said of it.
    told: Vec<String>,
}

impl Display {
    pub fn new(args: &CountArgs) -> anyhow::Result<Self> {
        let make =
            |path: &PathBuf| File::create(path).with_context(|| format!("-o {}", path.display()));
        let file = args.output.as_ref().map(make).transpose()?;
        let errors_are_seen = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        let is_redrawn = file.is_none() && errors_are_seen && !args.json;
        Ok(Self {
            by: args.by.clone(),
            hist: args.hist.clone(),
            top: if args.top == 0 { usize::MAX } else { args.top },
            is_json: args.json,
            is_quiet: args.quiet,
            file,
            unwritten: None,
            is_redrawn,
            drawn_lines: 0,
            period: args.interval.or(is_redrawn.then_some(REDRAW_PERIOD)),
            begun: Instant::now(),
            shown: Instant::now(),
            last: None,
            told: Vec::new(),
        })
    }

    /// How long until something is printed; None: not before the end.
    pub fn due_in(&self) -> Option<Duration> {
        Some(self.period?.saturating_sub(self.shown.elapsed()))
    }

    /// Prints what was counted so far.
    pub fn show(&mut self, consumer: &Consumer) {
        // From when it was due, so that a late turn does not make all others later.
        self.shown += self.period.unwrap_or_default();
        if self.shown.elapsed() > self.period.unwrap_or_default() {
            self.shown = Instant::now();
        }
        let counts = consumer.counts();
        let seconds = self.begun.elapsed().as_secs_f64();
        let text = match self.is_json {
            true => json::line(self, &counts, seconds, None),
            false => format!("after {seconds:.1} s:\n{}", self.table(&counts)),
        };
        self.write(&text);
    }

    /// Adds to the verdict what the tables say at the end.
    pub fn conclude(&mut self, counts: Counts, verdict: &mut Verdict) {
        judge::add(self, &counts, verdict);
        self.last = Some(counts);
    }

    /// Prints what was counted in all, and whether that is complete.
    pub fn tell(&mut self, verdict: &Verdict) {
        let counts = self.last.take().unwrap_or_default();
        let seconds = verdict.duration_ns as f64 / 1e9;
        self.told = lines(&counts, verdict);
        if self.is_json {
            let line = json::line(self, &counts, seconds, Some(verdict));
            self.write(&line);
            return;
        }
        let table = self.table(&counts);
        self.write(&table);
        if self.is_quiet {
            return;
        }
        for line in self.told.clone() {
            if self.file.is_some() {
                self.write(&format!("{}\n", shown(&line)));
            }
            say(&line);
        }
    }

    /// Why the file of -o does not have all.
    pub fn unwritten(&self) -> Option<&io::Error> {
        self.unwritten.as_ref()
    }

    /// What was said in all, for who ends the session from elsewhere.
    pub fn told(&self) -> Vec<String> {
        self.told.clone()
    }

    fn table(&self, counts: &Counts) -> String {
        let is_terminal = self.file.is_none() && std::io::stderr().is_terminal();
        let look = Look { has_color: false, ..Look::of_stdout(self.top) };
        table::text(self, counts, &Look { is_utf8: look.is_utf8 || is_terminal, ..look })
    }

    /// Writes a text; that nobody reads it, or that the disk is full, is no reason to end now.
    fn write(&mut self, text: &str) {
        if let Some(file) = &mut self.file {
            if let Err(error) = file.write_all(text.as_bytes()) {
                self.unwritten.get_or_insert(error);
            }
            return;
        }
        let mut errors = std::io::stderr().lock();
        if self.is_redrawn && self.drawn_lines > 0 {
            let _ = write!(errors, "\x1b[{}A\x1b[J", self.drawn_lines);
        }
        self.drawn_lines = text.lines().count();
        let _ = errors.write_all(text.as_bytes());
    }
}

/// What was counted, and whether that is all.
fn lines(counts: &Counts, verdict: &Verdict) -> Vec<String> {
    use verdict::text::plural;
    let total = counts.events.iter().fold(0u64, |sum, event| {
        let cells = event.cells.values().fold(0u64, |sum, cell| sum.saturating_add(cell.total()));
        sum.saturating_add(event.rest).saturating_add(cells)
    });
    let mut lines = vec![format!(
        "{} counted, of {} in {:.3} s",
        plural(total, "event"),
        plural(verdict.processes, "process"),
        verdict.duration_ns as f64 / 1e9
    )];
    lines.push(headline(verdict.state).to_string());
    let sentences = verdict.missing.iter().chain(&verdict.limits);
    lines.extend(sentences.map(|line| format!("  {line}")));
    lines.extend(verdict.notes.iter().map(|line| format!("note: {line}")));
    lines
}

fn headline(state: State) -> &'static str {
    match state {
        State::Complete => "complete: every occurrence is counted",
        State::NothingMatched => "nothing matched: there was no event that the patterns ask for",
        other => other.headline(),
    }
}
