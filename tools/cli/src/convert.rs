// SPDX-License-Identifier: MIT
//! `lull convert`: the events of a trace as another trace, in CTF 1.8 or 2.
//!
//! Place in the flow: the arguments become the options of the `convert` crate; `derived` writes.

use std::path::PathBuf;

use ::convert::{Format, Options, Part};
use clap::ValueEnum;
use trace::ByteOrder;

use crate::report::progress::Progress;
use crate::{derived, say};

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
    old trace is damaged or being recorded and the rest was written, 2 on an error; then nothing \
    was written."
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
    let trace = derived::only(args.trace.as_ref(), "convert")?;
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
    let traces = std::slice::from_ref(&trace);
    derived::refuse_within(traces, &args.output)?;
    let new = derived::claim(&args.output)?;
    let mut progress = Progress::new(traces);
    let done = derived::write(&trace, (options, Part::default()), &new.output, &mut progress);
    progress.finish();
    let done = done?;
    let path = new.output.path().display().to_string();
    new.keep();
    let status = derived::tell(&trace, &done);
    say(&format!("{path}: {} events written", done.events));
    if done.lost_events + done.lost_packets > 0 {
        let (events, packets) = (done.lost_events, done.lost_packets);
        say(&format!("the old trace had lost {events} events and {packets} packets"));
    }
    Ok(status)
}
