// SPDX-License-Identifier: MIT
//! A bar on the terminal while large traces are read.
//!
//! Place in the flow: `main` starts it beside a query. Nothing is shown in the first second, nor
//! where standard error is not a terminal, and nothing beside rows on the same terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::reading::Reading;

const PATIENCE_TURNS: u32 = 5;
const TURN: Duration = Duration::from_millis(200);
const STYLE: &str = "reading {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

pub struct Progress {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// For something that reads the traces so many times.
    pub fn start(reading: &Arc<Reading>, passes: u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, reading) = (Arc::clone(&is_over), Arc::clone(reading));
        let is_wanted = std::io::stderr().is_terminal();
        let thread = is_wanted.then(|| std::thread::spawn(move || show(&reading, passes, &over)));
        Self { is_over, thread }
    }

    /// Takes the bar away.
    pub fn end(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn show(reading: &Reading, passes: u64, is_over: &AtomicBool) {
    let total_bytes = reading.total_bytes.saturating_mul(passes).max(1);
    let mut bar = None;
    let mut turns = 0;
    while !is_over.load(Ordering::Relaxed) {
        std::thread::park_timeout(TURN);
        turns += 1;
        if turns < PATIENCE_TURNS {
            continue;
        }
        let bar = bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(STYLE);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total_bytes).with_style(style)
        });
        // A query that reads the traces several times starts again.
        bar.set_position(reading.bytes_read() % total_bytes);
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}
