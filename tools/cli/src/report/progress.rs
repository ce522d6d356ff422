// SPDX-License-Identifier: MIT
//! A bar on the terminal while a large trace is read.
//!
//! Place in the flow: the analysis says how far it is; nothing is shown in the first second, nor
//! where standard error is not a terminal.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trace::Trace;

const PATIENCE: Duration = Duration::from_secs(1);
const STYLE: &str = " {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

pub(crate) struct Progress {
    started: Instant,
    is_wanted: bool,
    total_bytes: u64,
    /// Of the traces before the one that is read.
    passed_bytes: u64,
    what: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(traces: &[Trace]) -> Self {
        Self::of("reading", traces)
    }

    /// Of an index that is built.
    pub fn building(traces: &[Trace]) -> Self {
        Self::of("building the index of states", traces)
    }

    fn of(what: &'static str, traces: &[Trace]) -> Self {
        Self {
            started: Instant::now(),
            is_wanted: std::io::stderr().is_terminal(),
            total_bytes: traces.iter().map(size_bytes).sum(),
            passed_bytes: 0,
            what,
            bar: None,
        }
    }

    /// All traces are read so many times.
    pub fn times(self, passes: u64) -> Self {
        Self { total_bytes: self.total_bytes.saturating_mul(passes), ..self }
    }

    /// Goes on from one of several traces to the next, whose bytes count from 0 again.
    pub fn pass(&mut self, trace: &Trace) {
        self.passed_bytes = self.passed_bytes.saturating_add(size_bytes(trace));
    }

    pub fn advance(&mut self, bytes_read: u64) {
        if !self.is_wanted || (self.bar.is_none() && self.started.elapsed() < PATIENCE) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(&format!("{}{STYLE}", self.what));
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(self.total_bytes).with_style(style)
        });
        bar.set_position(self.passed_bytes.saturating_add(bytes_read));
    }

    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn size_bytes(trace: &Trace) -> u64 {
    let files = trace.files().iter();
    files.map(|file| std::fs::metadata(file.path()).map_or(0, |m| m.len())).sum()
}
