// SPDX-License-Identifier: MIT
//! `lull recover`: what a killed recorder left in shared memory becomes part of its trace.
//!
//! Place in the flow: finds sessions whose recorders were killed, reopens each with its trace,
//! lets the consumer go on where the recorder was, and tells the verdict. A session is removed only
//! when all of it is in the trace, or when the user discards it. `reserved` does the same for what
//! a crash of the machine left.

mod facts;
mod reserved;
mod stacks;
mod whole;

use crate::owner::{me, owner};
use crate::shown::{json_shown, shown};
use crate::{record, say, stdout};
use anyhow::{bail, Context};
use consumer::folder::Sharing;
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use session::abi::MODE_FLIGHT_RECORDER;
use session::directory::{is_begun, left_behind, running, Found, LeftBehind, Recorder};
use session::{Error, Session};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use verdict::environment::entries;
use verdict::text::plural;
use verdict::thinned::{sampled_sentence, KernelOf};
use verdict::Verdict;

const DONE: i32 = 0;
const INCOMPLETE: i32 = 1;
const FAILED: i32 = 2;

/// Until when the recording went.
const STOPPED_NOW: &str = "until `lull recover` ended the recording, since its recorder had been \
    killed: what came after that, and programs that were not recorded, are not known";
const STOPPED_BEFORE: &str = "until recording was stopped, by its recorder, which was killed \
    later or could not write the trace, or by an earlier `lull recover`: what came after that, and \
    programs that were not recorded, are not known";

const KERNEL_REST: &str = "the kernel's events from the killed recorder's last look on: they \
    were in the kernel's buffers";

const KERNEL_ALL: &str = "the kernel's events, which the killed recorder recorded, too: they were \
    in the kernel's buffers, and none is in the trace";

/// Add to traces what recorders that were killed, or a crash of the machine, left in memory
#[derive(Debug, clap::Args)]
#[command(after_help = "Programs that still run record nothing more in a session that is \
    recovered, and give its memory back. The session is removed once all of it is in the trace; \
    where the disk is full it stays, and `lull recover` can be run again.\n\nWhat `lull record -k \
    --flight-recorder --reserved` held when the machine went down becomes a trace of its own; it \
    is named /dev/lull.\n\nThe status is 0 when all that was left is in the trace and nothing \
    was lost, 1 when events were lost or nothing was left, 2 on an error.")]
pub struct RecoverArgs {
    /// The trace, the session's directory, or /dev/lull for what a crash of the machine left
    /// [default: all of yours]
    #[arg(value_name = "SESSION")]
    pub what: Option<PathBuf>,

    /// Write a new trace in this directory, for where the recorder's own is gone
    #[arg(short, long, value_name = "DIR", requires = "what")]
    pub output: Option<PathBuf>,

    /// Remove the session and what it holds, and write nothing
    #[arg(long, requires = "what", conflicts_with = "output")]
    pub discard: bool,

    /// Print each verdict as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &RecoverArgs) -> anyhow::Result<i32> {
    // A file size limit is an error to report, not to die of.
    // SAFETY: no handler is set; nothing is started that would inherit this.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if args.what.as_deref() == Some(Path::new(reserved::NAME)) {
        return reserved::run(args)?.context("no session was left by a crash of the machine");
    }
    let has_removed = record::kernel::remove_left(false);
    let of_crash = match args.what {
        None => reserved::run(args)?,
        Some(_) => None,
    };
    // In this order: a recorder that dies meanwhile is seen in one of both at least.
    let at_work = running();
    let left = left_behind();
    let chosen = choose(&left, &at_work, args.what.as_deref())?;
    if chosen.is_empty() {
        if let Some(status) = of_crash.or(has_removed.then_some(DONE)) {
            return Ok(status);
        }
        match args.what.as_ref().filter(|_| !left.is_empty()) {
            None => say("nothing is left: no recorder of yours that was killed has a session here"),
            Some(wanted) => {
                let verb = if left.len() == 1 { "is" } else { "are" };
                let others = plural(left.len() as u64, "other");
                let wanted = wanted.display();
                say(&format!("no session was left for {wanted}, but there {verb} {others}:"));
                record::tell::list(&left);
            }
        }
        return Ok(INCOMPLETE);
    }
    let mut status = of_crash.unwrap_or(DONE);
    for left in chosen {
        let done = if args.discard { discard(left) } else { recover(args, left) };
        status = status.max(done.unwrap_or_else(|error| {
            say(&format!("{}: {}", left.path.display(), crate::told(&error)));
            FAILED
        }));
    }
    Ok(status)
}

/// The sessions that are meant.
fn choose<'a>(
    left: &'a [LeftBehind],
    at_work: &[Found],
    wanted: Option<&Path>,
) -> anyhow::Result<Vec<&'a LeftBehind>> {
    let Some(wanted) = wanted else { return Ok(left.iter().collect()) };
    // The trace may be gone.
    let path = std::fs::canonicalize(wanted).or_else(|_| std::path::absolute(wanted))?;
    let of_trace = |recorder: &Recorder| {
        path == recorder.output || path.parent() == Some(recorder.output.as_path())
    };
    let is_meant =
        |left: &&LeftBehind| path == left.path || left.recorder.as_ref().is_some_and(of_trace);
    let chosen: Vec<&LeftBehind> = left.iter().filter(is_meant).collect();
    if chosen.is_empty() {
        let is_at_work = |recorder: &Recorder, at: &Path| of_trace(recorder) || path == at;
        if let Some(found) = at_work.iter().find(|found| is_at_work(&found.recorder, &found.path)) {
            bail!("{} is being recorded now, by process {}", path.display(), found.recorder.pid);
        }
        if is_begun(&path) {
            bail!(
                "{} has no recorder yet: one is making it, or was killed while it did; if it is \
                 still there in half a minute, run this again",
                path.display()
            );
        }
        if let Some(owner) = owner(&path).filter(|owner| *owner != me()) {
            let path = path.display();
            bail!("{path} belongs to another user (number {owner}), who alone can recover it");
        }
    }
    Ok(chosen)
}

fn discard(left: &LeftBehind) -> anyhow::Result<i32> {
    Session::discard(&left.path)?;
    say(&format!("{} was removed, with what it held", left.path.display()));
    Ok(DONE)
}

fn recover(args: &RecoverArgs, left: &LeftBehind) -> anyhow::Result<i32> {
    let recorded = left.recorder.as_ref().map(|recorder| recorder.output.as_path());
    let session = match Session::reopen(&left.path) {
        // Killed after it had written the verdict, while it removed the session.
        Err(Error::Gone { .. }) if recorded.is_some_and(whole::is_finished) => {
            Session::discard(&left.path)?;
            say(&format!("{} held nothing more; its trace is finished", left.path.display()));
            return Ok(DONE);
        }
        other => Arc::new(other?),
    };
    let fixed = *session.memory.fixed();
    let is_flight_recorder = fixed.mode == MODE_FLIGHT_RECORDER;
    let limit = if session.memory.is_active() { STOPPED_NOW } else { STOPPED_BEFORE };
    let (output, known) = match (&args.output, recorded) {
        (Some(new), _) => (Output::create(new, Sharing::PRIVATE, Older::Refuse)?, None),
        (None, Some(path)) if is_gone(path) => {
            bail!("its trace {} is gone; {}", path.display(), elsewhere(&left.path))
        }
        (None, Some(path)) => (Output::reopen(path)?, facts::read(path, &fixed)?),
        (None, None) => bail!("its recorder had made no trace yet; {}", elsewhere(&left.path)),
    };
    let facts = match known {
        Some(facts) => facts,
        None => facts::guess(&fixed, left.recorder.as_ref())?,
    };
    let has_kernel = !facts.kept.is_empty();
    let is_of_kernel = left.recorder.as_ref().is_some_and(|recorder| recorder.kernel);
    let whose = KernelOf::of(entries(&facts.environment));
    let options = Options { facts, flush_period: Duration::ZERO, limit_bytes: None };
    let mut consumer = Consumer::recover(session, output, options)?;
    consumer.output().keep();
    let told = consumer.finish(|verdict, _| {
        verdict.limits.push(limit.into());
        verdict.limits.extend(sampled_sentence(&verdict.sampled));
        verdict.limits.extend(whose.sentence());
        match (has_kernel, is_of_kernel) {
            (true, _) => verdict.missing.push(KERNEL_REST.into()),
            (false, true) => verdict.missing.push(KERNEL_ALL.into()),
            (false, false) => {}
        }
        whole::count(verdict, is_flight_recorder);
    })?;
    if has_kernel {
        // The session is of this boot: its memory would be gone otherwise.
        stacks::name_functions(consumer.output());
    }
    tell(args, &told)?;
    if told.unwritten_packets > 0 || !whole::is_finished(&told.trace) {
        say(&format!("{} stays: run `lull recover` again", left.path.display()));
        return Ok(FAILED);
    }
    Session::discard_within(&left.path);
    consumer.take_over();
    let segments = consumer.segments();
    consumer.end();
    drop(consumer);
    record::reach::leave(&segments);
    Ok(if told.has_loss() { INCOMPLETE } else { DONE })
}

/// What can be done where the trace itself cannot be gone on with.
pub fn elsewhere(session: &Path) -> String {
    let session = session.display();
    format!(
        "`lull recover -o DIR {session}` writes a new trace into DIR, `lull recover --discard \
         {session}` removes what is left"
    )
}

pub fn is_gone(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn tell(args: &RecoverArgs, verdict: &Verdict) -> anyhow::Result<()> {
    if args.json {
        let json = json_shown(&serde_json::to_string(verdict).unwrap_or_default());
        return stdout::write(&(json + "\n"));
    }
    let lines = verdict.lines();
    stdout::write(&lines.iter().map(|line| shown(line) + "\n").collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(path: &str, output: &str) -> LeftBehind {
        let recorder = Recorder {
            name: "p".into(),
            pid: 1,
            program: "p".into(),
            program_pid: 2,
            output: output.into(),
            flight_recorder: true,
            kernel: false,
        };
        LeftBehind {
            path: path.into(),
            recorder: Some(recorder),
            made: std::time::SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn recorder_that_died_between_both_looks_is_one_that_was_killed() {
        let all = [left("/nonexistent/s1", "/nonexistent/a")];
        let recorder = all[0].recorder.clone().unwrap();
        let at_work = [Found { path: all[0].path.clone(), recorder }];
        let of_both = choose(&all, &at_work, Some(Path::new("/nonexistent/a"))).unwrap();
        assert_eq!(of_both.len(), 1);
        let refused = choose(&[], &at_work, Some(Path::new("/nonexistent/a"))).unwrap_err();
        assert!(refused.to_string().ends_with("is being recorded now, by process 1"), "{refused}");
    }

    #[test]
    fn session_is_meant_by_its_own_directory_its_trace_or_a_snapshot_and_all_are_without_a_name() {
        let all = [left("/nonexistent/s1", "/nonexistent/a"), left("/nonexistent/s2", "/none/b")];
        let chosen = |wanted: Option<&str>| {
            let chosen = choose(&all, &[], wanted.map(Path::new)).unwrap();
            chosen.iter().map(|left| left.path.to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(chosen(None).len(), 2);
        assert_eq!(chosen(Some("/nonexistent/s2")), ["/nonexistent/s2"]);
        assert_eq!(chosen(Some("/nonexistent/a")), ["/nonexistent/s1"]);
        assert_eq!(chosen(Some("/none/b/snapshot-1")), ["/nonexistent/s2"]);
        assert!(chosen(Some("/nonexistent")).is_empty());
    }
}
