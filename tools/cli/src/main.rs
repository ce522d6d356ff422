// SPDX-License-Identifier: MIT
//! The `lull` command: one definition of its arguments makes the help, the manual pages and the
//! completions.
//!
//! Place in the flow: `record` makes a session, runs a program and consumes its rings; `count`
//! reads what its probes counted; `start` makes one that others join, until `stop`. `print`,
//! `report`, `state`, `view` and `export` read the trace, and `query` has it read. `record` and
//! `count` exit with the program's own status (125 to 127 for their own failures), `run` becomes
//! the program; all other commands exit with 0 done, 1 incomplete or nothing found, 2 error.

mod chosen;
mod convert;
mod count;
mod derived;
mod doctor;
mod duration;
mod elf;
mod export;
mod generate;
mod library;
mod list;
mod live;
mod merge;
mod newest;
mod owner;
mod print;
mod query;
mod record;
mod recover;
mod report;
mod selection;
use verdict::{nearest, shown};
mod states;
mod stdout;
mod target;
mod top;
mod trigger;
mod trim;
mod unfinished;
mod view;

use clap::{Parser, Subcommand};

/// What understanding arguments and reading traces may need of a stack, and more.
const STACK_BYTES: usize = 8 << 20;

/// Record what programs do, event by event, and read it back
#[derive(Debug, Parser)]
#[command(name = "lull", version, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(record::RecordArgs),
    Count(count::CountArgs),
    Start(live::start::StartArgs),
    Run(live::join::RunArgs),
    Env(live::join::EnvArgs),
    Sessions(live::sessions::SessionsArgs),
    Status(live::status::StatusArgs),
    Top(top::TopArgs),
    Pause(live::hold::PauseArgs),
    Resume(live::hold::ResumeArgs),
    Attach(live::attach::AttachArgs),
    Detach(live::attach::DetachArgs),
    Enable(live::change::EnableArgs),
    Disable(live::change::DisableArgs),
    Trigger(live::triggers::TriggersArgs),
    Stop(live::end::StopArgs),
    Print(print::PrintArgs),
    Report(report::ReportArgs),
    View(view::ViewArgs),
    Query(query::QueryArgs),
    State(states::StateArgs),
    Convert(convert::ConvertArgs),
    Export(export::ExportArgs),
    Trim(trim::TrimArgs),
    Merge(merge::MergeArgs),
    Snapshot(live::hold::SnapshotArgs),
    Recover(recover::RecoverArgs),
    List(list::ListArgs),
    Doctor(doctor::DoctorArgs),
    #[command(hide = true)]
    Generate(generate::GenerateArgs),
}

/// Does something with a stack that is large enough, whatever `ulimit -s` leaves of the first
/// thread's. Where that is as usual no thread is begun: the C library would take two signals into
/// use for it, which a program that is recorded may have been begun to ignore.
fn with_stack<R: Send>(work: impl Fn() -> R + Sync) -> R {
    if first_stack_bytes() >= STACK_BYTES as u64 {
        return work();
    }
    std::thread::scope(|scope| {
        match std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, &work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No thread can be started: the stack that there is has to do.
            Err(_) => work(),
        }
    })
}

/// How large the first thread's stack may become.
fn first_stack_bytes() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is there for the call to fill in.
    match unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } {
        0 => limit.rlim_cur,
        _ => 0,
    }
}

fn arguments() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        std::process::exit(usage_status(&error));
    })
}

fn main() {
    let arguments = with_stack(arguments);
    let (result, failure) = match &arguments.command {
        Command::Record(args) => (record::run(args), record::FAILED),
        Command::Count(args) => (count::run(args), record::FAILED),
        Command::Start(args) => (live::start::run(args), 2),
        Command::Run(args) => (live::join::run(args), record::FAILED),
        Command::Env(args) => (live::join::env(args), 2),
        Command::Sessions(args) => (live::sessions::run(args), 2),
        Command::Status(args) => (live::status::run(args), 2),
        Command::Top(args) => (top::run(args), 2),
        Command::Pause(args) => (live::hold::pause(args), 2),
        Command::Resume(args) => (live::hold::resume(args), 2),
        Command::Stop(args) => (live::end::run(args), 2),
        Command::Print(args) => (with_stack(|| print::run(args)), 2),
        Command::Report(args) => (with_stack(|| report::run(args)), 2),
        Command::View(args) => (with_stack(|| view::run(args)), 2),
        Command::Query(args) => (with_stack(|| query::run(args)), 2),
        Command::State(args) => (with_stack(|| states::run(args)), 2),
        Command::Convert(args) => (with_stack(|| convert::run(args)), 2),
        Command::Export(args) => (with_stack(|| export::run(args)), 2),
        Command::Trim(args) => (with_stack(|| trim::run(args)), 2),
        Command::Merge(args) => (with_stack(|| merge::run(args)), 2),
        Command::Attach(args) => (live::attach::attach(args), 2),
        Command::Detach(args) => (live::attach::detach(args), 2),
        Command::Enable(args) => (live::change::enable(args), 2),
        Command::Disable(args) => (live::change::disable(args), 2),
        Command::Trigger(args) => (live::triggers::run(args), 2),
        Command::Snapshot(args) => (live::hold::snapshot(args), 2),
        Command::Recover(args) => (recover::run(args), 2),
        Command::List(args) => (list::run(args), 2),
        Command::Doctor(args) => (doctor::run(args), 2),
        Command::Generate(args) => (generate::run(args), 2),
    };
    let status = result.unwrap_or_else(|error| {
        say_error(&error);
        failure
    });
    std::process::exit(status);
}

/// The status for arguments that are wrong: `record` and `run` keep 125 for their own failures.
fn usage_status(error: &clap::Error) -> i32 {
    let has_program = std::env::args_os()
        .nth(1)
        .is_some_and(|name| name == "record" || name == "run" || name == "count");
    match error.exit_code() {
        0 => 0,
        _ if has_program => record::FAILED,
        _ => 2,
    }
}

/// An error with its causes. Most errors of the crates name theirs already: each is told once.
fn told(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    let told = causes.fold(String::new(), |told, cause| match told.as_str() {
        "" => cause,
        _ if told.contains(&cause) => told,
        _ => format!("{told}: {cause}"),
    });
    match error.chain().any(has_no_descriptors) {
        true => format!("{told}: allow more of them, {} are enough here (ulimit -n)", files_max()),
        false => told,
    }
}

fn has_no_descriptors(cause: &(dyn std::error::Error + 'static)) -> bool {
    let number = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    number == Some(libc::EMFILE)
}

/// Files that a recorder has open at once, at most: some of its own, and of each CPU the files of
/// the programs' events and of the kernel's, and what these are read from.
fn files_max() -> u32 {
    64 + 4 * session::machine::possible_cpus()
}

/// A line for people, on standard error; that no one reads standard error is no error. Whatever
/// names are in it, it stays one line.
fn say(line: &str) {
    say_line(&format!("lull: {}", shown::shown(line)));
}

/// An error, whose further lines are indented.
fn say_error(error: &anyhow::Error) {
    say_line(&format!("lull: {}", shown::lines_shown(&told(error))));
}

/// A line on standard error, in one write: a program and commands of triggers write there, too.
fn say_line(line: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
