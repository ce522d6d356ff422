// SPDX-License-Identifier: MIT
//! `lull start`: begin a session whose recorder runs in the background.
//!
//! Place in the flow: the arguments are checked here, then the process splits in two
//! (`record::detach`); the recorder's half goes the way of `lull record`.

use super::ask;
use super::find::find_named;
use crate::record::detach::{self, Ready, Side};
use crate::record::kernel::Whose;
use crate::record::plan::Plan;
use crate::record::tell::left_behind;
use crate::record::{supervise, system, Job, SessionArgs};
use crate::shown::{json_shown, shown};
use crate::trigger::args::TriggerArgs;
use crate::trigger::plan::{Facts, Whence};
use crate::{duration, stdout, trigger};
use control::Request;
use std::time::Duration;

/// Begin a session that programs can join, until `lull stop`
#[derive(Debug, clap::Args)]
#[command(after_help = "The session records every program that is started with `lull run NAME -- \
    PROGRAM`, or by a shell that has the variables of `lull env NAME`, and with -k the kernel. It \
    ends with `lull stop NAME`, with --duration, or when its recorder gets SIGTERM, SIGINT or \
    SIGHUP; programs go on, and are no longer recorded. The options are those of `lull record`, \
    whose help says more about patterns, filters and the kernel.\n\nWith systemd's \
    KillUserProcesses=yes, sessions end when their user logs out; `loginctl enable-linger` keeps \
    them.")]
pub struct StartArgs {
    #[command(flatten)]
    pub session: SessionArgs,

    /// Have every process of the machine join that carries events which are asked for, whoever's
    /// it is, those that run and those that begin; with -e or --on for calls of the C library
    /// (io:*), every process that can; programs of any user can have a trigger fire, whose commands
    /// run as root; root only
    #[arg(long)]
    pub system: bool,

    /// End after this time, such as 500ms, 10s or 2m; a number alone is seconds
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub duration: Option<Duration>,

    #[command(flatten)]
    pub triggers: TriggerArgs,

    /// Print the session as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &StartArgs) -> anyhow::Result<i32> {
    if args.session.kernel_of == Whose::Program {
        anyhow::bail!("--kernel-of program: a started session has no program of its own");
    }
    if args.system {
        system::check()?;
    }
    let facts = Facts {
        is_flight_recorder: args.session.flight_recorder,
        has_program: false,
        can_join: true,
        kernel: Whence::of(args.session.kernel),
    };
    let triggers = trigger::plan::triggers(&args.triggers.given, &facts, &[])?;
    let starter = match detach::split()? {
        Side::Starter(ready) => {
            if let Err(error) = print(args, &ready) {
                return Err(match end(&ready) {
                    Ok(()) => error.context("the session was ended again"),
                    Err(why) => error.context(format!("the session runs ({why:#})")),
                });
            }
            left_behind(args.session.quiet);
            return Ok(0);
        }
        Side::Recorder(starter) => starter,
    };
    let job = Job {
        session: &args.session,
        program: &[],
        targets: &[],
        wait_all: false,
        is_system: args.system,
        duration: args.duration,
        json: false,
        starter: Some(starter),
        counting: None,
        triggers: &triggers,
    };
    supervise::record_in_background(job, || {
        let plan = Plan::new(&args.session, None, true)?;
        trigger::plan::check_kernel(&triggers, &facts.with(plan.kernel.as_ref()))?;
        Ok(plan)
    })
}

/// Tells whoever started the session how to reach it.
fn print(args: &StartArgs, ready: &Ready) -> anyhow::Result<()> {
    if args.json {
        return stdout::write(&format!("{}\n", json_shown(&serde_json::to_string(ready)?)));
    }
    match args.session.quiet {
        true => Ok(()),
        false => stdout::write(&text(ready, args.system)),
    }
}

/// Ends a session that nobody was told of.
fn end(ready: &Ready) -> anyhow::Result<()> {
    let found = find_named(&ready.directory)?;
    ask(&found, &Request::Stop, None).map(|_| ())
}

fn text(ready: &Ready, is_system: bool) -> String {
    let (name, output) = (&ready.name, shown(&ready.output));
    let join = match is_system {
        true => "  every process that carries events joins, those that begin included\n".into(),
        false => format!(
            "  lull run {name} -- PROGRAM   runs a program in it\n  \
             eval \"$(lull env {name})\"    puts this shell into it\n"
        ),
    };
    format!(
        "session {name} records into {output}\n{join}  \
         lull status {name}           says what it has recorded\n  \
         lull stop {name}             ends it and prints the verdict\n"
    )
}
