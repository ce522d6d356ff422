// SPDX-License-Identifier: MIT
//! `lull trigger`: a running session gets further triggers, has some no longer, or says which it
//! has and what they did.
//!
//! Place in the flow: what is wrong with a condition or an action is said here, against the files
//! of programs that the session has recorded; the recorder checks again what it needs to rely on,
//! follows the conditions, has the processes look, and answers when all were asked
//! (`record::triggers`).

use super::change::PATIENCE;
use super::find::find;
use super::status::seconds;
use super::{ask, confused};
use crate::shown::shown;
use crate::trigger::args::{Given, TriggerArgs};
use crate::trigger::plan::{self, Facts, Whence};
use crate::{say, stdout};
use anyhow::bail;
use control::{
    Answer, Changed, NewTrigger, Request, Status, Trigger, TriggersChanged, Unreached,
    REQUEST_BYTES_MAX,
};
use serde_json::json;
use session::directory::Found;
use std::path::PathBuf;
use verdict::text::{grouped, plural};

/// Programs against whose files conditions are checked.
const PROGRAMS_MAX: usize = 8;

/// Add triggers to a running session, remove them, or say which it has and what they did
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --on and --remove, the session's triggers are listed, each with its \
    number, how often it fired and what it did. The programs of the session follow before the \
    command returns; those that could not be asked are named. What a removed trigger did is still \
    in the verdict. `lull record --help` says what conditions and actions there are.\n\n\
    Status: 0 when all follow, 1 when some could not be asked or there is no trigger to list, 2 \
    when nothing was changed."
)]
pub struct TriggersArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    #[command(flatten)]
    pub triggers: TriggerArgs,

    /// Remove the trigger of this number; several times for several
    #[arg(long, value_name = "NUMBER", conflicts_with = "on")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub remove: Vec<u64>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &TriggersArgs) -> anyhow::Result<i32> {
    let Some(found) = find(args.session.as_deref())? else {
        say("no session of yours is running");
        return Ok(2);
    };
    let Answer::Status(status) = ask(&found, &Request::Status, Some(super::PATIENCE))? else {
        return confused(&found);
    };
    let given = &args.triggers.given;
    if given.is_empty() && args.remove.is_empty() {
        return list(&status, args.json);
    }
    if !status.takes_triggers {
        bail!(
            "session {}: its recorder is of an older Lull, which has the triggers that it began \
             with and no others; begin the session again with this one",
            found.recorder.name
        );
    }
    let request = match given.is_empty() {
        true => Request::RemoveTriggers { numbers: args.remove.clone() },
        false => added(given, &status)?,
    };
    change(&found, &request, args.json)
}

/// The request for further triggers, once they are known to be right.
fn added(given: &[Given], status: &Status) -> anyhow::Result<Request> {
    let facts = Facts {
        is_flight_recorder: status.mode != "discard",
        has_program: status.program_pid.is_some(),
        can_join: true, // As far as this side knows; the recorder does.
        kernel: Whence::of(status.kernel),
    };
    // Of a session of the whole machine, some programs say nothing of the others.
    let programs = if status.system.is_some() { Vec::new() } else { programs(status) };
    plan::triggers(given, &facts, &programs)?;
    let new = |given: &Given| NewTrigger { on: given.on.clone(), does: given.does.clone() };
    let request = Request::AddTriggers { triggers: given.iter().map(new).collect() };
    if request.bytes().len() > REQUEST_BYTES_MAX {
        bail!(
            "--on, --do: all together they have more than the {} KiB of one request; add them by \
             several commands, or put a long command into a script",
            REQUEST_BYTES_MAX >> 10
        );
    }
    Ok(request)
}

/// The files of programs that take part, as far as they are ours to look at.
fn programs(status: &Status) -> Vec<PathBuf> {
    let pids = status.program_pid.into_iter().chain(status.processes.iter().map(|one| one.pid));
    let mut paths = Vec::new();
    for pid in pids {
        let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let path = path.filter(|path| path.is_file() && !paths.contains(path));
        paths.extend(path);
        if paths.len() == PROGRAMS_MAX {
            break;
        }
    }
    paths
}

fn change(found: &Found, request: &Request, json: bool) -> anyhow::Result<i32> {
    let Answer::Triggers(changed) = ask(found, request, Some(PATIENCE))? else {
        return confused(found);
    };
    if json {
        stdout::write(&format!("{}\n", serde_json::to_value(&changed)?))?;
    } else {
        lines(&changed).iter().for_each(|line| say(line));
    }
    Ok(i32::from(!changed.reached.unreached.is_empty()))
}

fn list(status: &Status, json: bool) -> anyhow::Result<i32> {
    if json {
        let object = json!({"session": status.name, "triggers": status.triggers});
        stdout::write(&format!("{object}\n"))?;
    } else if status.triggers.is_empty() {
        say(&format!("session {} has no triggers", shown(&status.name)));
    } else {
        stdout::write(&status.triggers.iter().map(text).collect::<String>())?;
    }
    Ok(i32::from(status.triggers.is_empty()))
}

/// A trigger with all that it did.
fn text(trigger: &Trigger) -> String {
    let fired = match trigger.fired {
        0 => "never fired".to_string(),
        count => format!("fired {}", plural(count, "time")),
    };
    let last = trigger.last_ns.map(|ns| format!(", the last time {}", seconds(ns)));
    let came = trigger.added_ns.map(|ns| format!(", added {}", seconds(ns)));
    let moments = [last, came].into_iter().flatten().collect::<String>();
    let begin = if moments.is_empty() { "" } else { " after the begin" };
    let mut text = format!("{:<3} {}\n", trigger.number, shown(&trigger.on));
    text += &format!("    {fired}{moments}{begin}\n");
    for (index, does) in trigger.does.iter().enumerate() {
        let did = trigger.did.get(index).cloned().unwrap_or_default();
        text += &format!("    {}: {} done", shown(does), grouped(did.done));
        if did.withheld > 0 {
            text += &format!(", {} withheld for its rate", grouped(did.withheld));
        }
        if did.failed > 0 {
            text += &format!(", {} failed: {}", grouped(did.failed), shown(&did.why));
        }
        text.push('\n');
    }
    text
}

/// What became of a change, for people.
fn lines(changed: &TriggersChanged) -> Vec<String> {
    let TriggersChanged { added, removed, is_kernels, reached } = changed;
    let numbers = |numbers: &[u64]| {
        let each: Vec<String> = numbers.iter().map(u64::to_string).collect();
        format!("trigger{} {}", if each.len() == 1 { "" } else { "s" }, each.join(", "))
    };
    let mut lines = Vec::new();
    if !added.is_empty() {
        lines.push(format!("added {}", numbers(added)));
    }
    lines.extend(removed.iter().map(|gone| {
        let fired = plural(gone.fired, "time");
        format!("removed trigger {}, which fired {fired}: {}", gone.number, shown(&gone.on))
    }));
    let Changed { reached: count, unreached, unreached_more, held_ns, notes, .. } = reached;
    let asked = match count {
        0 => "no program of the session runs that could be asked".to_string(),
        count => format!(
            "asked {}; longest stop of a thread: {:.2} ms",
            plural(*count, "process"),
            *held_ns as f64 / 1e6
        ),
    };
    lines.extend((!is_kernels).then_some(asked));
    lines.extend(unreached.iter().map(|Unreached { pid, name, why }| {
        format!(
            "{} ({pid}) was not asked: {}; until it is, its events do not meet the conditions that \
             came",
            shown(name),
            shown(why)
        )
    }));
    if *unreached_more > 0 {
        lines.push(format!("nor were {}", plural(*unreached_more, "further process")));
    }
    lines.extend(notes.iter().cloned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::{Did, RemovedTrigger};

    #[test]
    fn trigger_is_listed_with_what_it_did_and_what_it_could_not() {
        let did = vec![
            Did { done: 1200, withheld: 3, ..Did::default() },
            Did { failed: 1, why: "no\u{1b}disk".into(), ..Did::default() },
        ];
        let trigger = Trigger {
            on: "a:b".into(),
            does: vec!["count".into(), "snapshot".into()],
            fired: 1204,
            acted: 1203,
            last_ns: Some(2_500_000_000),
            number: 7,
            added_ns: Some(1_000_000_000),
            did,
        };
        let told = text(&trigger);
        assert_eq!(
            told.lines().take(3).collect::<Vec<_>>(),
            [
                "7   a:b",
                "    fired 1,204 times, the last time 2.500 s, added 1.000 s after the begin",
                "    count: 1,200 done, 3 withheld for its rate",
            ]
        );
        assert!(told.contains("1 failed: no") && !told.contains('\u{1b}'), "{told}");
        let never = Trigger { fired: 0, last_ns: None, added_ns: None, did: Vec::new(), ..trigger };
        assert!(text(&never).contains("    never fired\n    count: 0 done"), "{}", text(&never));
    }

    #[test]
    fn numbers_of_what_came_and_went_and_who_was_not_asked_are_told() {
        let unreached = vec![Unreached { pid: 5, name: "a".into(), why: "it is stopped".into() }];
        let reached = Changed { reached: 1, unreached, ..Changed::default() };
        let removed = vec![RemovedTrigger { number: 3, on: "a:b".into(), fired: 2 }];
        let of_kernel = TriggersChanged { added: vec![6], is_kernels: true, ..Default::default() };
        assert_eq!(lines(&of_kernel), ["added trigger 6"]);
        let is_kernels = false;
        let told = lines(&TriggersChanged { added: vec![4, 5], removed, is_kernels, reached });
        assert_eq!(told[0], "added triggers 4, 5");
        assert_eq!(told[1], "removed trigger 3, which fired 2 times: a:b");
        assert!(told[2].starts_with("asked 1 process;"), "{}", told[2]);
        assert!(told[3].starts_with("a (5) was not asked: it is stopped; until"), "{}", told[3]);
    }
}
