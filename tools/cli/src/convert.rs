// SPDX-License-Identifier: MIT
//! `lull convert`: the events of a trace as another trace, in CTF 1.8 or 2.
//!
//! Place in the flow: opens the old trace, claims the new one's directory as `record` does, and
//! lets the `convert` crate write. Until the metadata is written, last, there is no new trace;
//! after an error nothing of it is left.

use std::io;
use std::path::PathBuf;

use ::convert::{Format, Options};
use anyhow::{bail, Context};
use clap::ValueEnum;
use consumer::folder::Sharing;
use consumer::output::{self, Older, Output};
use trace::{find_traces, ByteOrder, Trace};

use crate::report::progress::Progress;
use crate::{newest, say};

const DONE: i32 = 0;
const INCOMPLETE: i32 = 1;
/// Problems shown one by one.
const PROBLEMS_SHOWN: usize = 20;

/// Which version of CTF is written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FormatArg {
    /// CTF 1.8, which every reader knows
    Ctf1,
    /// CTF 2
    Ctf2,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum OrderArg {
    /// Little-endian
    Le,
    /// Big-endian
    Be,
}

/// What the new trace is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ReaderArg {
    /// Times in nanoseconds, threads as contexts vpid and vtid
    TraceCompass,
}

/// Write the events of a trace as another trace: CTF 1.8 or 2, little- or big-endian
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Events keep their names, fields, values and times; lost events and packets \
    stay counted. Bit fields take whole bytes. In CTF 1.8, flags and booleans become numbers, and \
    a trace with optional fields is refused.\n\nThe status is 0 when all was written, 1 when the \
    old trace is damaged and the rest was written, 2 on an error; then nothing was written."
)]
pub struct ConvertArgs {
    /// The trace [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub trace: Option<PathBuf>,

    /// The directory of the new trace, which must not hold anything
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// The version of CTF
    #[arg(long, value_enum, default_value = "ctf1")]
    pub format: FormatArg,

    /// The byte order of all numbers
    #[arg(long, value_enum, default_value = "le")]
    pub byte_order: OrderArg,

    /// A reader with needs of its own
    #[arg(long = "for", value_enum, value_name = "READER")]
    pub reader: Option<ReaderArg>,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &ConvertArgs) -> anyhow::Result<i32> {
    let root = match &args.trace {
        Some(path) => path.clone(),
        None => newest::find()?,
    };
    let folders = find_traces(&root).context("no trace to convert")?;
    let [folder] = &folders[..] else {
        bail!("{} holds {} traces; name one of them", root.display(), folders.len());
    };
    let trace = Trace::open(folder)?;
    let options = Options {
        format: match args.format {
            FormatArg::Ctf1 => Format::Ctf1,
            FormatArg::Ctf2 => Format::Ctf2,
        },
        order: match args.byte_order {
            OrderArg::Le => ByteOrder::Little,
            OrderArg::Be => ByteOrder::Big,
        },
        for_trace_compass: matches!(args.reader, Some(ReaderArg::TraceCompass)),
    };
    let output = match Output::create(&args.output, Sharing::PRIVATE, Older::Refuse) {
        Err(output::Error::Older { path }) => {
            bail!("{} holds a trace; choose another directory with -o", path.display());
        }
        other => other?,
    };
    let mut make = |name: &str| -> io::Result<std::fs::File> { output.folder().make_file(name) };
    let mut progress = Progress::new(std::slice::from_ref(&trace));
    let done = ::convert::convert(&trace, options, &mut make, &mut |bytes| progress.advance(bytes));
    progress.finish();
    let done = done.with_context(|| format!("{} was not converted", folder.display()))?;
    output.finish(&done.metadata).context("writing the metadata")?;
    output.keep();
    for problem in done.problems.iter().take(PROBLEMS_SHOWN) {
        say(&problem.to_string());
    }
    if done.problems.len() > PROBLEMS_SHOWN {
        say(&format!("and {} problems more", done.problems.len() - PROBLEMS_SHOWN));
    }
    let path = output.path().display();
    say(&format!("{path}: {} events written", done.events));
    if done.lost_events + done.lost_packets > 0 {
        let (events, packets) = (done.lost_events, done.lost_packets);
        say(&format!("the old trace had lost {events} events and {packets} packets"));
    }
    if done.cut_streams > 0 {
        let count = done.cut_streams;
        say(&format!(
            "the first packets of {count} streams are not in the old trace, which the new one does \
             not tell: what was lost with them is not known"
        ));
    }
    Ok(if done.problems.is_empty() { DONE } else { INCOMPLETE })
}
