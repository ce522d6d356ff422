// SPDX-License-Identifier: MIT
//! The line on the terminal while a program is recorded; nothing in a pipe, nothing for programs
//! that end within two seconds, and nothing where the program itself uses the terminal's screen.

use consumer::verdict::{bytes, plural};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_millis(500);

pub struct Progress {
    is_wanted: bool,
    started: Instant,
    shown: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Only where standard error is a terminal and the program's output goes elsewhere: a line
    /// that is redrawn would run into what the program writes.
    pub fn new(is_quiet: bool) -> Self {
        let now = Instant::now();
        let is_alone = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        Self { is_wanted: is_alone && !is_quiet, started: now, shown: now, bar: None }
    }

    pub fn is_due(&self) -> bool {
        self.is_wanted && self.started.elapsed() > PATIENCE && self.shown.elapsed() > PERIOD
    }

    pub fn show(&mut self, now: &consumer::Progress) {
        self.shown = Instant::now();
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{elapsed} recording: {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        let lost = if now.lost == 0 {
            String::new()
        } else {
            format!(", {} lost", plural(now.lost, "event"))
        };
        bar.set_message(format!("{}, {}{lost}", plural(now.events, "event"), bytes(now.bytes)));
        bar.tick();
    }

    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
