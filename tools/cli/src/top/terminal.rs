// SPDX-License-Identifier: MIT
//! The terminal while `lull top` has it: taken over, drawn to, given back.
//!
//! Place in the flow: the loop of the interactive command. However it ends (a key, a signal, the
//! end of the session, an error, a panic), the terminal is given back as it was first.

use super::frame::{Condition, Frame};
use super::screen::{Action, Screen};
use super::watch::Watch;
use anyhow::Context;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    disable_raw_mode, enable_raw_mode, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::layout::{Rect, Size};
use ratatui::{TerminalOptions, Viewport};
use std::io::Stdout;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Once;
use std::time::{Duration, Instant};

/// How long the loop waits for a key before it looks at the files.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// Of a terminal that says it is larger, the rest stays empty.
const COLUMNS_MAX: u16 = 1024;
const LINES_MAX: u16 = 512;
/// Keys that are taken between two drawings.
const KEYS_MAX: usize = 64;

/// The signal that came, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// The terminal, from now until this is dropped.
struct Taken {
    terminal: ratatui::Terminal<CrosstermBackend<Stdout>>,
    /// What is drawn on.
    area: Rect,
}

impl Taken {
    fn take() -> anyhow::Result<Self> {
        give_back_on_panic();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: the handler stores one number.
            unsafe { libc::signal(signal, on_signal as *const () as libc::sighandler_t) };
        }
        enable_raw_mode().context("taking over the terminal")?;
        // From here on, whatever fails gives it back.
        let guard = GiveBack;
        execute!(std::io::stdout(), EnterAlternateScreen).context("taking over the terminal")?;
        let backend = CrosstermBackend::new(std::io::stdout());
        let area = Rect::ZERO;
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = ratatui::Terminal::with_options(backend, options);
        let terminal = terminal.context("taking over the terminal")?;
        std::mem::forget(guard);
        Ok(Self { terminal, area })
    }

    fn draw(&mut self, screen: &mut Screen) -> std::io::Result<()> {
        let area = drawn_area(self.terminal.size()?);
        if area != self.area {
            self.terminal.resize(area)?;
            self.area = area;
        }
        self.terminal.draw(|canvas| screen.draw(canvas)).map(|_| ())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Of a terminal that has this size, as it says.
fn drawn_area(size: Size) -> Rect {
    Rect::new(0, 0, size.width.min(COLUMNS_MAX), size.height.min(LINES_MAX))
}

struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let _ = execute!(std::io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// A panic's message is to be seen on the terminal as it was before.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}

/// How the loop ended.
pub enum Ending {
    /// A person ended it.
    Quit,
    /// The session did; this is its last frame.
    Over(Box<Frame>),
    Signal(i32),
}

/// Shows a session until it is over, or somebody says to end.
pub fn run(watch: &mut Watch, screen: &mut Screen, interval: Duration) -> anyhow::Result<Ending> {
    let mut taken = Taken::take()?;
    screen.show(watch.frame());
    let mut due = Instant::now() + interval;
    loop {
        taken.draw(screen).context("drawing to the terminal")?;
        let wait = due.saturating_duration_since(Instant::now()).min(LOOK_PERIOD);
        if let Some(ending) = take_keys(watch, screen, wait)? {
            return Ok(ending);
        }
        watch.look();
        if Instant::now() < due {
            continue;
        }
        let frame = watch.frame();
        if frame.state.is_final() {
            return Ok(Ending::Over(Box::new(frame)));
        }
        due = Instant::now() + next_pause(frame.state, interval);
        if !screen.is_held() {
            screen.show(frame);
        }
    }
}

/// While the recorder completes the trace, the end is looked for more often.
pub fn next_pause(state: Condition, interval: Duration) -> Duration {
    match state {
        Condition::Concluding => interval.min(LOOK_PERIOD),
        _ => interval,
    }
}

enum Input {
    Some,
    None,
    /// The terminal was closed.
    Gone,
}

/// Waits for input, or a signal. What reads keys would read the end of a terminal that is gone for
/// ever, and a signal does not come to a process that is not the terminal's own.
fn input(wait: Duration) -> std::io::Result<Input> {
    let mut terminal = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    let wait_ms = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one structure, which is written to.
    let found = unsafe { libc::poll(&mut terminal, 1, wait_ms) };
    match (found, terminal.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL)) {
        (0, _) => Ok(Input::None),
        (1.., 0) => Ok(Input::Some),
        (1.., _) => Ok(Input::Gone),
        _ => match std::io::Error::last_os_error() {
            error if error.kind() == std::io::ErrorKind::Interrupted => Ok(Input::None),
            error => Err(error),
        },
    }
}

/// Waits for a key or a signal, and does what they say.
fn take_keys(
    watch: &mut Watch,
    screen: &mut Screen,
    wait: Duration,
) -> anyhow::Result<Option<Ending>> {
    let mut wait = wait;
    for _ in 0..KEYS_MAX {
        let is_there = match input(wait).context("waiting for a key")? {
            Input::Gone => return Ok(Some(Ending::Signal(libc::SIGHUP))),
            // A window of another size is told without bytes to read.
            Input::Some | Input::None => event::poll(Duration::ZERO).context("reading keys")?,
        };
        match SIGNAL.load(Ordering::Relaxed) {
            0 => {}
            signal => return Ok(Some(Ending::Signal(signal))),
        }
        if !is_there {
            return Ok(None);
        }
        wait = Duration::ZERO;
        let Event::Key(key) = event::read().context("reading a key")? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match screen.press(key) {
            Action::None => {}
            Action::Quit => return Ok(Some(Ending::Quit)),
            Action::Clear => watch.clear(),
            Action::Ask(request) => {
                screen.tell(watch.request(&request));
                screen.show(watch.frame());
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_says_it_is_huge_is_drawn_on_in_part() {
        assert_eq!(drawn_area(Size::new(110, 30)), Rect::new(0, 0, 110, 30));
        assert_eq!(drawn_area(Size::new(u16::MAX, u16::MAX)), Rect::new(0, 0, 1024, 512));
    }
}
