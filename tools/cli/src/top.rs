// SPDX-License-Identifier: MIT
//! `lull top`: a running session, live in the terminal.
//!
//! Place in the flow: `watch` asks the recorder and follows the trace (`follow`, `stream`), which
//! `analysis::live` reads; each interval gives a `frame`, of which `views` makes tables. `screen`
//! and `terminal` show them to a person; `--once` and `--json` print them.

pub(crate) mod follow;
mod frame;
mod screen;
mod stream;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod views;
mod watch;

use crate::live::find::find;
use crate::report::look::Look;
use crate::shown::json_shown;
use crate::{duration, say, stdout};
use anyhow::bail;
use frame::{Condition, Frame};
use screen::Screen;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use terminal::Ending;
use watch::Watch;

const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// Show a running session live: rates, slowest calls, lock waits and losses
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The session's trace is followed while its recorder writes it; the recorder \
    and the programs do nothing more for it. What is shown is about half a second old. Where more \
    is recorded than this machine can read beside it, the oldest is passed over, and a line says \
    which part of the events is shown.\n\nIn the terminal, ? lists the keys. The status is 0 when \
    the session has ended, or when it was left with q; 1 when no session runs and none was \
    named, when its recorder was killed or its trace was removed meanwhile; 2 on an error, such as \
    a name that no session has, or one whose recorder was killed before.\n\nA flight recorder \
    keeps its events in memory: only its state and its memory are shown."
)]
pub struct TopArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    /// How often what is shown is renewed, such as 500ms, 1s; a number alone is seconds
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration::parse)]
    pub interval: Duration,

    /// Watch for one interval, print what there is, and end: all tables as text
    #[arg(long)]
    pub once: bool,

    /// Print one JSON object in a line for each interval, until the session ends
    #[arg(long)]
    pub json: bool,

    /// Rows of each table that --once and --json print; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,

    /// Only rows that have this text in a name, whatever the case
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub filter: String,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &TopArgs) -> anyhow::Result<i32> {
    if !(INTERVAL_MIN..=INTERVAL_MAX).contains(&args.interval) {
        bail!("--interval: 100ms at least, and one hour at most");
    }
    let is_interactive = !args.once && !args.json;
    let has_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_interactive && !has_terminal {
        bail!("there is no terminal to show it in; --once prints it as text, --json as JSON");
    }
    if is_interactive && !draws(std::env::var_os("TERM").as_deref()) {
        bail!(
            "the terminal cannot be drawn on, as the variable TERM says: it is unset or dumb; \
             --once prints what it would show as text, --json as JSON"
        );
    }
    let Some(found) = find(args.session.as_deref())? else {
        say("no session of yours is running");
        return Ok(1);
    };
    let mut watch = Watch::begin(found, args.interval);
    match is_interactive {
        true => show(args, &mut watch),
        false => print(args, &mut watch),
    }
}

/// Whether a terminal of this type takes the sequences that move its cursor.
fn draws(terminal: Option<&OsStr>) -> bool {
    terminal.is_some_and(|name| !name.is_empty() && name != "dumb")
}

/// In the terminal.
fn show(args: &TopArgs, watch: &mut Watch) -> anyhow::Result<i32> {
    let mut screen = Screen::new(&args.filter);
    match terminal::run(watch, &mut screen, args.interval)? {
        Ending::Quit => Ok(0),
        Ending::Signal(signal) => Ok(interrupt::end_by(signal)),
        Ending::Over(frame) => {
            // What was on the screen is gone with it.
            stdout::write(&text::whole(&frame, screen.filter(), &look(args)))?;
            say(&ending(&frame, watch.has_trace()));
            Ok(status(&frame))
        }
    }
}

/// Line by line, for programs and files.
fn print(args: &TopArgs, watch: &mut Watch) -> anyhow::Result<i32> {
    let mut pause = args.interval;
    loop {
        let due = Instant::now() + pause;
        // Bound: the interval.
        while Instant::now() < due {
            std::thread::sleep((due - Instant::now()).min(INTERVAL_MIN));
            watch.look();
        }
        let frame = watch.frame();
        pause = terminal::next_pause(frame.state, args.interval);
        if frame.state == Condition::Concluding && !args.once {
            continue;
        }
        let text = match args.json {
            true => json(args, &frame)?,
            false => text::whole(&frame, &args.filter, &look(args)),
        };
        if !stdout::write_to_reader(text.as_bytes())? {
            return Ok(0);
        }
        if frame.state.is_final() {
            say(&ending(&frame, watch.has_trace()));
            return Ok(status(&frame));
        }
        if args.once {
            return Ok(0);
        }
    }
}

fn json(args: &TopArgs, frame: &Frame) -> anyhow::Result<String> {
    let frame = views::cut(frame, &args.filter, rows(args));
    Ok(json_shown(&serde_json::to_string(&frame)?) + "\n")
}

fn rows(args: &TopArgs) -> usize {
    if args.top == 0 {
        usize::MAX
    } else {
        args.top
    }
}

fn look(args: &TopArgs) -> Look {
    Look::of_stdout(rows(args))
}

/// How the session ended, and what to do next.
fn ending(frame: &Frame, has_trace: bool) -> String {
    let (session, trace) = (&frame.session, &frame.trace);
    match frame.state {
        Condition::Ended if !has_trace => format!("session {session} has ended"),
        Condition::Ended => {
            format!("session {session} has ended; `lull report {trace}` reads its trace")
        }
        Condition::Dead => format!("session {session}: {}", frame.notes.join("; ")),
        _ => format!("session {session} is not shown any more: {}", frame.notes.join("; ")),
    }
}

fn status(frame: &Frame) -> i32 {
    i32::from(frame.state != Condition::Ended)
}
