// SPDX-License-Identifier: MIT
//! `lull attach` and `lull detach`: programs that run already join a running session, and leave it.
//!
//! Place in the flow: the processes are chosen here; the recorder has each of them join or leave,
//! and answers when all were asked (`record::members`).

use super::find::find;
use super::{ask, confused};
use crate::record::attach::{member_line, Target, TargetArgs as Chosen};
use crate::shown::shown;
use crate::{say, stdout};
use anyhow::bail;
use control::{Answer, Members, Request, MEMBERS_MAX};
use session::directory::Found;
use std::time::Duration;

/// More than the recorder gives the processes of one request, and the last of them.
const PATIENCE: Duration = Duration::from_secs(90);

/// Have programs that run already join a running session
#[derive(Debug, clap::Args)]
#[command(after_help = "Nothing of a process is stopped but one of its threads, for some \
    milliseconds; docs/guide/attach.md says which programs can join. They leave when the session \
    ends, by `lull detach`, or when they end.\n\n\
    Status: 0 when all have joined, 1 when some could not, 2 when none has.")]
pub struct AttachArgs {
    #[command(flatten)]
    members: MembersArgs,
}

/// Have programs leave a running session, which go on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Programs that were started in the session can leave it, too. The trace keeps \
    what they did until then. A program that leaves is as before it joined, but for liblull, which \
    stays loaded; programs that it executes take part again if its environment says so.\n\n\
    Status: 0 when all have left, 1 when some could not, 2 when none has."
)]
pub struct DetachArgs {
    #[command(flatten)]
    members: MembersArgs,
}

#[derive(Debug, clap::Args)]
struct MembersArgs {
    /// The session: its name, its recorder's process, or its trace's directory [default: the only
    /// one]
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    #[command(flatten)]
    chosen: Chosen,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn attach(args: &AttachArgs) -> anyhow::Result<i32> {
    members(&args.members, true)
}

pub fn detach(args: &DetachArgs) -> anyhow::Result<i32> {
    members(&args.members, false)
}

fn members(args: &MembersArgs, is_join: bool) -> anyhow::Result<i32> {
    if !args.chosen.is_asked() {
        bail!("name the processes with -p PID, --comm GLOB or --all-mine");
    }
    let Some(found) = find(args.session.as_deref())? else {
        say("no session of yours is running");
        return Ok(2);
    };
    let targets = args.chosen.targets()?;
    let mut members = Members::default();
    for some in targets.chunks(MEMBERS_MAX) {
        let asked = asked(&found, is_join, some)?;
        members.done.extend(asked.done);
        members.refused.extend(asked.refused);
    }
    // A program that was looked for by its name may have ended since; and of all that are there,
    // those are meant that are not in the session yet, or still are.
    let is_named = |pid: u32| targets.iter().any(|target| target.pid == pid && target.is_named);
    members.refused.retain(|refusal| is_named(refusal.pid) || !refusal.is_moot);
    if args.json {
        stdout::write(&format!("{}\n", serde_json::to_value(&members)?))?;
    } else {
        lines(&members, is_join).iter().for_each(|line| say(line));
    }
    Ok(match (members.done.is_empty(), members.refused.is_empty()) {
        (false, true) => 0,
        (false, false) => 1,
        (true, _) => 2,
    })
}

fn asked(found: &Found, is_join: bool, targets: &[Target]) -> anyhow::Result<Members> {
    let pids = targets.iter().map(|target| target.pid).collect();
    match ask(found, &Request::Members { is_join, pids }, Some(PATIENCE))? {
        Answer::Members(members) => Ok(members),
        _ => confused(found),
    }
}

/// What became of the processes, for people.
fn lines(members: &Members, is_join: bool) -> Vec<String> {
    let done = members.done.iter().map(|member| member_line(member, is_join));
    let verb = if is_join { "join" } else { "leave" };
    let refused = members.refused.iter().map(|refusal| {
        let (name, pid, why) = (shown(&refusal.name), refusal.pid, shown(&refusal.why));
        format!("{name} ({pid}) does not {verb}: {why}")
    });
    let mut lines: Vec<String> = done.chain(refused).collect();
    if lines.is_empty() {
        lines.push(format!("no process is there that could {verb}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::{Member, Refusal};

    #[test]
    fn who_joined_or_left_and_who_did_not_is_told() {
        let member = Member { pid: 5, name: "a".into(), held_ns: 1_250_000, calls: 3, kept: None };
        let why = "it is stopped".to_string();
        let refused = vec![Refusal { pid: 7, name: "b\u{1b}c".into(), why, is_moot: false }];
        let members = Members { done: vec![member], refused };
        let told = lines(&members, true);
        assert!(told[0].starts_with("a (5) joined; one of its threads was stopped for 1."));
        assert!(told[1].ends_with("(7) does not join: it is stopped"), "{}", told[1]);
        assert!(!told[1].contains('\u{1b}'), "{}", told[1]);
        let told = lines(&members, false);
        assert!(
            told[0].starts_with("a (5) left;") && told[0].ends_with("3 of its calls were put back")
        );
        assert_eq!(lines(&Members::default(), false), ["no process is there that could leave"]);
    }
}
