// SPDX-License-Identifier: MIT
//! `lull status`: all that the recorder of one session says of it.
//!
//! Place in the flow: the recorder knows what was recorded, and what processes call themselves; the
//! machine, which of their numbers are in use here.

use super::find::find;
use super::{ask, confused, PATIENCE};
use crate::record::attach::name_of;
use crate::record::budget;
use crate::report::look::Look;
use crate::report::table::{Kind, Table};
use crate::shown::shown;
use crate::{say, stdout};
use control::{Answer, Process, Request, State, Status, Thinned};
use verdict::text::{bytes, grouped, plural};

/// Say what a running session has recorded so far
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Processes that are not here and are listed for people; `--json` has all that the recorder
/// lists.
const GONE_MAX: usize = 10;

/// Runs the command; the result is the exit status.
pub fn run(args: &StatusArgs) -> anyhow::Result<i32> {
    let Some(found) = find(args.session.as_deref())? else {
        say("no session of yours is running");
        return Ok(1);
    };
    let Answer::Status(status) = ask(&found, &Request::Status, Some(PATIENCE))? else {
        return confused(&found);
    };
    stdout::write(&match args.json {
        true => format!("{}\n", serde_json::to_value(&status)?),
        false => text(&status),
    })?;
    Ok(0)
}

pub fn state(state: State) -> &'static str {
    match state {
        State::Recording => "recording",
        State::Paused => "paused",
        State::Ended => "ended",
    }
}

pub fn mode(status: &Status) -> String {
    let kernel = if status.kernel { ", kernel" } else { "" };
    format!("{}{kernel}", status.mode)
}

/// A time for people: seconds, then minutes, then hours.
pub fn age(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

pub fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

fn text(status: &Status) -> String {
    let mut lines = vec![
        ("session", format!("{} ({})", status.name, state(status.state))),
        ("trace", status.output.clone()),
        ("begun", format!("{}, {} ago", status.started, age(status.age_ns))),
        ("recorder", recorder(status)),
        ("patterns", status.patterns.trim().replace('\n', ", ")),
        ("mode", format!("{}, {} of buffers", mode(status), bytes(status.buffer_bytes))),
        (
            "recorded",
            format!(
                "{} in {}",
                plural(status.progress.events, "event"),
                bytes(status.progress.bytes)
            ),
        ),
        ("lost", plural(status.progress.lost, "event")),
        (
            "processes",
            format!(
                "{} now; events of {} so far",
                grouped(status.attached),
                plural(status.recorded, "process")
            ),
        ),
    ];
    if let Some(system) = &status.system {
        lines.push(("system", system_line(system)));
    }
    if status.mode != "discard" {
        lines.push(("snapshots", grouped(status.snapshots)));
    }
    if !status.sampled.is_empty() {
        lines.push(("sampled", status.sampled.iter().map(thinned).collect::<Vec<_>>().join(", ")));
    }
    lines.extend(status.budget.iter().flat_map(budget_lines));
    let count = status.pauses.len() as u64 + status.pauses_more;
    if count > 0 {
        let last = status.pauses.last().map_or(String::new(), |pause| match pause.until_ns {
            Some(until) => format!("{} to {}", seconds(pause.begin_ns), seconds(until)),
            None => format!("since {}", seconds(pause.begin_ns)),
        });
        lines.push(("pauses", format!("{}, the last {last} after the begin", grouped(count))));
    }
    for trigger in &status.triggers {
        lines.push(("trigger", trigger_line(trigger)));
    }
    let mut text: String =
        lines.iter().map(|(what, value)| format!("{what:<10} {}\n", shown(value))).collect();
    if !status.processes.is_empty() {
        text.push('\n');
        let look = Look::of_stdout(usize::MAX);
        text.push_str(&processes(status, &look));
    }
    text
}

fn thinned(of: &Thinned) -> String {
    match of.one_in {
        0 => format!("{} to nothing", shown(&of.event)),
        one_in => format!("{} 1/{one_in}", shown(&of.event)),
    }
}

fn budget_lines(budget: &control::Budget) -> Vec<(&'static str, String)> {
    let of = format!(
        "{}; events cost an estimated {:.2}% now, {:.2}% so far",
        budget::shown(budget.budget_ppm),
        budget.cost_ppm as f64 / 1e4,
        budget.total_cost_ppm as f64 / 1e4
    );
    let mut lines = vec![("budget", of)];
    let now: Vec<String> = budget.throttled.iter().map(thinned).collect();
    if !now.is_empty() {
        lines.push(("throttled", now.join(", ")));
    }
    lines
}

fn system_line(system: &control::System) -> String {
    let control::System { joined, users, waiting, refused, unseen } = *system;
    format!(
        "{} of {} joined so far, {} about to; {} did not; {} ended before they could be looked at",
        plural(joined, "process"),
        plural(users, "user"),
        grouped(waiting),
        grouped(refused),
        plural(unseen, "program")
    )
}

fn trigger_line(trigger: &control::Trigger) -> String {
    let (on, does) = (&trigger.on, trigger.does.join("; "));
    let last = match trigger.last_ns {
        Some(ns) => format!(", the last time {} after the begin", seconds(ns)),
        None => String::new(),
    };
    format!("{on}: {does}: fired {}{last}", plural(trigger.fired, "time"))
}

fn recorder(status: &Status) -> String {
    let pid = status.pid;
    match (status.background, &status.program, status.program_pid) {
        (true, ..) => format!("pid {pid}, in the background, until `lull stop`"),
        (_, Some(program), Some(program_pid)) => {
            format!("pid {pid}, until {program}, pid {program_pid}, ends")
        }
        _ => format!("pid {pid}"),
    }
}

/// Those that are here, the first of those that are not, and how many are not listed.
fn processes(status: &Status, look: &Look) -> String {
    let mut table = Table::new()
        .column("pid", Kind::Number, 0)
        .column("threads", Kind::Number, 0)
        .column("name", Kind::Text, 0);
    // A process of another pid namespace may have the number here: it names itself.
    let is_here = |process: &&Process| name_of(process.pid).is_some();
    let (here, gone): (Vec<_>, Vec<_>) = status.processes.iter().partition(is_here);
    let listed = here.len() + gone.len().min(GONE_MAX);
    let names = here.iter().map(|process| process.name.clone());
    let names = names.chain(gone.iter().map(|process| format!("{} (not here)", process.name)));
    for (process, name) in here.iter().chain(&gone).zip(names).take(listed) {
        table.row(vec![process.pid.to_string(), grouped(process.threads), name]);
    }
    let mut text = String::new();
    table.render(look, &mut text);
    let more = status.recorded.saturating_sub(listed as u64);
    if more > 0 {
        text.push_str(&format!("and {} more\n", grouped(more)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_has_two_units_at_most() {
        let s = 1_000_000_000;
        assert_eq!(age(s - 1), "0 s");
        assert_eq!(age(59 * s), "59 s");
        assert_eq!(age(61 * s), "1 min 01 s");
        assert_eq!(age(3 * 3600 * s + 59 * s), "3 h 00 min");
    }
}
