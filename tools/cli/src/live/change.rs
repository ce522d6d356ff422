// SPDX-License-Identifier: MIT
//! `lull enable` and `lull disable`: other events are recorded from now on.
//!
//! Place in the flow: what is wrong with a pattern or a filter is said here; the recorder changes
//! the rules, has the processes look, and answers when all were asked (`record::change`).

use super::find::find;
use super::{ask, confused};
use crate::record::change::asked;
use crate::shown::shown;
use crate::{say, stdout};
use control::{Answer, Changed, Request};
use serde_json::Value;
use session::pattern::Patterns;
use std::time::Duration;
use verdict::text::plural;

/// More than the recorder gives all processes together.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Record more events in a running session
#[derive(Debug, clap::Args)]
#[command(after_help = "All running programs of the session follow before the command returns. \
    Those that could not be asked are named, with the reason; they follow when they next load a \
    library, fork or begin a thread. The trace says what was recorded from when on.\n\n\
    Status: 0 when all follow, 1 when some could not be asked, 2 when nothing was changed.")]
pub struct EnableArgs {
    #[command(flatten)]
    told: ToldArgs,

    /// Events: GLOB, GLOB@LEVEL, or 'GLOB if FILTER' for some occurrences only; later ones win,
    /// also over those that the session began with
    #[arg(short = 'e', long = "event", value_name = "PATTERN", required = true)]
    events: Vec<String>,
}

/// Record fewer events in a running session
#[derive(Debug, clap::Args)]
#[command(after_help = "Sites of events that no session wants cost nothing from then on. See \
    `lull enable` for when programs follow, and for the status.")]
pub struct DisableArgs {
    #[command(flatten)]
    told: ToldArgs,

    /// Events: GLOB or GLOB@LEVEL; they win over those that were asked for before
    #[arg(short = 'e', long = "event", value_name = "PATTERN", required = true)]
    events: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct ToldArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn enable(args: &EnableArgs) -> anyhow::Result<i32> {
    change(&args.told, &args.events, true)
}

pub fn disable(args: &DisableArgs) -> anyhow::Result<i32> {
    change(&args.told, &args.events, false)
}

fn change(args: &ToldArgs, events: &[String], is_enable: bool) -> anyhow::Result<i32> {
    Patterns::exactly(asked(is_enable, events)?.patterns())?;
    let Some(found) = find(args.session.as_deref())? else {
        say("no session of yours is running");
        return Ok(2);
    };
    let request = Request::Change { is_enable, patterns: events.to_vec() };
    let Answer::Changed(changed) = ask(&found, &request, Some(PATIENCE))? else {
        return confused(&found);
    };
    if args.json {
        let value: Value = serde_json::to_value(&changed)?;
        stdout::write(&format!("{value}\n"))?;
    } else {
        lines(&changed).iter().for_each(|line| say(line));
    }
    Ok(i32::from(!changed.unreached.is_empty()))
}

/// What became of a change, for people.
pub fn lines(changed: &Changed) -> Vec<String> {
    let mut lines = vec![match changed.reached {
        0 => "changed; no program of the session runs that could be asked".to_string(),
        count => format!(
            "asked {}: sites and probes that are different: {}; longest stop of a thread: {:.2} ms",
            plural(count, "process"),
            changed.changed,
            changed.held_ns as f64 / 1e6
        ),
    }];
    let unreached = changed.unreached.iter();
    lines.extend(unreached.map(|process| {
        let (name, pid, why) = (shown(&process.name), process.pid, &process.why);
        format!(
            "{name} ({pid}) was not asked: {why}; it follows when it next loads a library, forks \
             or begins a thread"
        )
    }));
    if changed.unreached_more > 0 {
        lines.push(format!("nor were {}", plural(changed.unreached_more, "further process")));
    }
    lines.extend(changed.notes.iter().cloned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::Unreached;

    #[test]
    fn who_follows_and_who_does_not_is_told() {
        let why = "process 7 is traced".to_string();
        let changed = Changed {
            reached: 2,
            changed: 3,
            held_ns: 1_234_567,
            unreached: vec![Unreached { pid: 7, name: "a\u{1b}b".into(), why }],
            unreached_more: 1,
            notes: vec!["note".into()],
        };
        let told = lines(&changed);
        let asked = "asked 2 processes: sites and probes that are different: 3; longest stop";
        assert!(told[0].starts_with(asked) && told[0].ends_with(" 1.23 ms"), "{}", told[0]);
        assert!(told[1].contains("(7) was not asked: process 7 is traced; it follows when"));
        assert!(!told[1].contains('\u{1b}'), "{}", told[1]);
        assert_eq!(told[2..], ["nor were 1 further process".to_string(), "note".into()]);
        assert!(lines(&Changed::default())[0].contains("no program"));
    }
}
