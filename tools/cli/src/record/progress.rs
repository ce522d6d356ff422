// SPDX-License-Identifier: MIT
//! What a person sees while a program is recorded; nothing in a pipe, and nothing for programs
//! that end within two seconds.
//!
//! Place in the flow: the supervisor asks now and then. Where the program writes to the terminal
//! too, a line that is redrawn would run into what it writes: there it is a whole line, after 10
//! seconds and then each time that has doubled, and none while the program has switched off the
//! terminal's own lines, as editors do.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use verdict::text::{bytes, plural};

const PATIENCE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_millis(500);
const FIRST_LINE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Nothing,
    /// One line, drawn again and again.
    Redrawn,
    /// Whole lines, each after twice the time of the one before.
    Lines,
}

impl Form {
    fn of(is_quiet: bool, errors_are_terminal: bool, output_is_terminal: bool) -> Self {
        match (is_quiet || !errors_are_terminal, output_is_terminal) {
            (true, _) => Form::Nothing,
            (false, false) => Form::Redrawn,
            (false, true) => Form::Lines,
        }
    }
}

pub struct Progress {
    form: Form,
    started: Instant,
    /// When something is shown next.
    due: Duration,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(is_quiet: bool) -> Self {
        let (errors, output) = (std::io::stderr(), std::io::stdout());
        let form = Form::of(is_quiet, errors.is_terminal(), output.is_terminal());
        let due = if form == Form::Lines { FIRST_LINE } else { PATIENCE };
        Self { form, started: Instant::now(), due, bar: None }
    }

    pub fn is_due(&self) -> bool {
        self.form != Form::Nothing && self.started.elapsed() >= self.due
    }

    pub fn show(&mut self, now: &consumer::Progress) {
        let lost = match now.lost {
            0 => String::new(),
            lost => format!(", {} lost", plural(lost, "event")),
        };
        let text = format!("{}, {}{lost}", plural(now.events, "event"), bytes(now.bytes));
        if self.form == Form::Lines {
            if keeps_lines() {
                crate::say(&format!("recording for {}: {text}", HumanDuration(self.due)));
            }
            self.due *= 2;
            return;
        }
        self.due = self.started.elapsed() + PERIOD;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{elapsed} recording: {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        bar.set_message(text);
        bar.tick();
    }

    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Whether the terminal of standard error still edits lines, so that no program has its screen.
fn keeps_lines() -> bool {
    // SAFETY: an all-zero termios is valid, and the kernel writes one that outlives the call.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        let result = libc::tcgetattr(libc::STDERR_FILENO, &mut settings);
        result == 0 && settings.c_lflag & libc::ICANON != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_on_a_terminal_and_not_drawn_over_what_the_program_writes() {
        assert_eq!(Form::of(false, true, false), Form::Redrawn);
        assert_eq!(Form::of(false, true, true), Form::Lines);
        assert_eq!(Form::of(false, false, true), Form::Nothing);
        assert_eq!(Form::of(true, true, true), Form::Nothing);
    }

    #[test]
    fn whole_lines_come_ever_more_seldom() {
        let mut progress =
            Progress { form: Form::Lines, started: Instant::now(), due: FIRST_LINE, bar: None };
        assert!(!progress.is_due());
        progress.show(&consumer::Progress::default());
        assert_eq!(progress.due, FIRST_LINE * 2);
        progress.due = Duration::ZERO;
        assert!(progress.is_due());
    }
}
