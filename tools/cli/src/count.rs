// SPDX-License-Identifier: MIT
//! `lull count`: run a program and count its events where they happen, without a trace.
//!
//! Place in the flow: arguments -> the plan of `lull record` with one of counts in it -> the same
//! supervisor, which reads tables in place of a trace. `display` says when something is printed,
//! `table` and `json` print it, `judge` adds to the verdict what counting alone knows.

pub mod display;
mod json;
mod judge;
mod table;
mod value;

use crate::record::plan::Plan;
use crate::record::{kernel, program, supervise, Job, SessionArgs};
use crate::{duration, say};
use anyhow::bail;
use consumer::folder::Sharing;
use display::Display;
use session::abi::{COUNT_BY_MAX, COUNT_CAPACITY_MAX, COUNT_NAME_BYTES};
use session::{counts, machine};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Contexts that events of programs have.
pub(crate) const CONTEXTS: [&str; 5] = ["pid", "tid", "comm", "cpu", "uid"];
/// Room for different values, unless --keys says otherwise.
const KEYS: u32 = 4096;
/// The same where each has a distribution, of 8 KiB.
const KEYS_WITH_HIST: u32 = 512;
/// Buffers for what tells of the lives of processes.
const BUFFER_BYTES: u64 = 256 << 10;
const BUFFERS: u32 = 4;

/// Run a program and count its events where they happen, without a trace
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The probe adds to a counter in memory that it shares with lull, and records \
    nothing. The counts are printed on standard error, or into the file of -o, when the program \
    has ended, and with --interval while it runs. The status is the program's own, as that of \
    `lull record`, or 125 where not all could be printed into the file.\n\n--by tells \
    occurrences apart by the values of up to 4 fields, or of the contexts pid, tid, comm, cpu and \
    uid ($pid where an event has a field of that name). A text counts by its \
    first 56 bytes. An event without the field counts under `-`. Each \
    CPU has room for --keys different values; what finds none is counted as `(others)` of \
    its event, so that the sum is right.\n\n--hist counts the values of a whole number in \
    buckets whose ends differ by a 16th: the quantiles are a 16th too high at most, the \
    least and greatest value exact. All negative values are in one bucket: of a quantile among \
    them is known only that it is at most what is printed.\n\nA filter behind a pattern, as in \
    -e 'http:request if status >= 500', says which occurrences are counted; `lull record \
    --help` has the language. The kernel's events are not counted: record them with `lull \
    record -k`, and count them by `lull report` or `lull query`."
)]
pub struct CountArgs {
    /// Events to count: GLOB, GLOB@LEVEL, !GLOB for none of these, 'GLOB if FILTER' for some
    /// occurrences; later ones win
    #[arg(short = 'e', long = "event", value_name = "PATTERN", required_unless_present = "kernel")]
    pub events: Vec<String>,

    /// Count apart by the values of these fields or contexts, at most 4
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',')]
    pub by: Vec<String>,

    /// Count the distribution of a field's values: least, quantiles, greatest, and a histogram
    #[arg(long, value_name = "FIELD")]
    pub hist: Option<String>,

    /// Print what was counted so far this often, such as 500ms, 1s; a number alone is seconds
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub interval: Option<Duration>,

    /// Print lines of JSON
    #[arg(long)]
    pub json: bool,

    /// Print into this file, and not on standard error
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Rows of each event, the most frequent first; 0 for all. JSON has all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub top: usize,

    /// How many different values there is room for on each CPU, rounded up to a power of two
    /// [default: 4096, 512 with --hist]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(COUNT_CAPACITY_MAX)))]
    pub keys: Option<u32>,

    /// What to call the session, by which `lull run NAME` lets other programs join [default: the
    /// program's name]
    #[arg(long, value_name = "NAME", value_parser = crate::record::name::parse)]
    pub name: Option<String>,

    /// Not there: the kernel's events are recorded, and not counted
    #[arg(short, long, hide = true)]
    pub kernel: bool,

    /// Go on until all of the program's descendants have ended, too, or until a signal says to end
    #[arg(long)]
    pub wait_all: bool,

    /// Exit with status 124 if occurrences were not counted, processes not seen, or nothing matched
    #[arg(long)]
    pub fail_on_loss: bool,

    /// Print the counts, and no word on whether they are complete
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments
    #[arg(required_unless_present = "kernel", trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &CountArgs) -> anyhow::Result<i32> {
    if args.kernel {
        bail!(
            "-k: the kernel's events are not counted in place; record them with `lull record -k`, \
             and count them by `lull report` or `lull query`"
        );
    }
    check_names(args)?;
    let program = match args.program.first().map(|name| program::find(name)).transpose() {
        Ok(program) => program,
        Err(problem) => {
            say(&problem.to_string());
            return Ok(problem.status());
        }
    };
    let session = session_args(args);
    let mut plan = Plan::new(&session, program, true)?;
    if let Some(rate) = plan.asked.first_rate() {
        bail!("-e '{rate}': each occurrence is counted; leave out the rate");
    }
    plan.session.counts = Some(counts::Plan {
        by: args.by.clone(),
        value: args.hist.clone(),
        keys: args.keys.unwrap_or(if args.hist.is_some() { KEYS_WITH_HIST } else { KEYS }),
        first_rule: plan.patterns.first_asked() as u32,
        tables: machine::online_cpus().len() as u32,
    });
    let mut job = Job {
        session: &session,
        targets: &[],
        program: &args.program,
        wait_all: args.wait_all,
        is_system: false,
        duration: None,
        json: false,
        starter: None,
        counting: Some(RefCell::new(Display::new(args)?)),
        triggers: &[],
    };
    let status = supervise::record(&mut job, plan)?;
    let shown = job.counting.map(RefCell::into_inner);
    match (shown.as_ref().and_then(Display::unwritten), &args.output) {
        (Some(error), Some(path)) => {
            bail!("-o {} does not have all counts: {error}", path.display())
        }
        _ => Ok(status),
    }
}

/// Whether fields and contexts can have these names.
fn check_names(args: &CountArgs) -> anyhow::Result<()> {
    if args.by.len() > COUNT_BY_MAX {
        bail!("--by: at most {COUNT_BY_MAX} fields, and there are {}", args.by.len());
    }
    let by = args.by.iter().map(|name| ("--by", name));
    for (option, name) in by.chain(args.hist.iter().map(|name| ("--hist", name))) {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let bare = name.strip_prefix('$').unwrap_or(name);
        if bare.is_empty() || !bare.chars().all(is_letter) || name.len() >= COUNT_NAME_BYTES {
            bail!("{option} '{name}': no field and no context can have this name");
        }
        if name.starts_with('$') && !CONTEXTS.contains(&bare) {
            bail!(
                "{option} '{name}': events of programs have the contexts {}",
                CONTEXTS.map(|context| format!("${context}")).join(", ")
            );
        }
    }
    Ok(())
}

/// A session that records nothing but the lives of processes, into nothing.
fn session_args(args: &CountArgs) -> SessionArgs {
    SessionArgs {
        name: args.name.clone(),
        output: None,
        overwrite: false,
        mode: Sharing::PRIVATE,
        events: args.events.clone(),
        kernel: false,
        probes: Vec::new(),
        contexts: Vec::new(),
        kernel_of: kernel::Whose::Machine,
        no_state_dump: false,
        buffer_size: Some(BUFFER_BYTES),
        buffers: BUFFERS,
        flight_recorder: false,
        reserved: false,
        max_size: None,
        budget: None,
        flush_period: Duration::from_millis(100),
        fail_on_loss: args.fail_on_loss,
        quiet: args.quiet,
    }
}
