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
const STYLE: &str = "reading {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

pub(crate) struct Progress {
    started: Instant,
    is_wanted: bool,
    total_bytes: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(traces: &[Trace]) -> Self {
        let files = traces.iter().flat_map(Trace::files);
        let sizes = files.map(|file| std::fs::metadata(file.path()).map_or(0, |m| m.len()));
        Self {
            started: Instant::now(),
            is_wanted: std::io::stderr().is_terminal(),
            total_bytes: sizes.sum(),
            bar: None,
        }
    }

    pub fn advance(&mut self, bytes_read: u64) {
        if !self.is_wanted || (self.bar.is_none() && self.started.elapsed() < PATIENCE) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(STYLE);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(self.total_bytes).with_style(style)
        });
        bar.set_position(bytes_read);
    }

    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
