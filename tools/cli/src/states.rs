// SPDX-License-Identifier: MIT
//! `lull state`: what is so at a trace's end, at a time in it, or between two times.
//!
//! Place in the flow: the end is found by stepping the `state` crate through the events; all else
//! is asked of the `history` crate, which keeps an index beside the trace. What the trace does not
//! tell is not shown: without a dump of the kernel's state, and without events from before, a
//! process is known from its first event on. `states/view.rs` groups what is known of a moment by
//! process, `states/list.rs` lists intervals, `states/machine.rs` has what belongs to no process.

mod list;
mod machine;
#[cfg(test)]
mod tests;
mod view;

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::bail;
use history::{now, History, Kept, Known, Names};
use state::{Dump, Limits, State};
use trace::{Merge, Message, Ns, Trace};

use crate::chosen;
use crate::print::show_problems;
use crate::report::progress::Progress;
use crate::selection::{self, Time};
use crate::{say, stdout};
use list::Form;
use machine::Machine;
use view::View;

/// Show the states of processes, threads and CPUs: at the end of a trace, at a time, or from one
/// time to another
#[derive(Debug, clap::Args)]
pub struct StateArgs {
    /// Folder with a trace in or below it [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub trace: Option<PathBuf>,

    /// At this time instead of the end: 14:03, '2026-05-04 14:03:05.25', +1.5s after the beginning,
    /// 'last 2s', or nanoseconds of the clock
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(value_parser = selection::parse_time)]
    pub at: Option<Time>,

    /// With the files that the memory of each process is of, at the end
    #[arg(long, conflicts_with_all = ["at", "from", "to"])]
    pub maps: bool,

    /// List every state from this time on, with begin and end
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(value_parser = selection::parse_time, conflicts_with = "at")]
    pub from: Option<Time>,

    /// List every state before this time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(value_parser = selection::parse_time, conflicts_with = "at")]
    pub to: Option<Time>,

    /// Only states of these processes, their threads and what they have, by number
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pub pid: Vec<i64>,

    /// Only states of these threads, by number
    #[arg(long, value_name = "TID", value_delimiter = ',')]
    pub tid: Vec<i64>,

    /// Only states of these CPUs
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub cpu: Vec<u32>,

    /// Print times in UTC, and take them so
    #[arg(long)]
    pub utc: bool,

    /// Print JSON, an object per line: at the end one for each process, block device and network
    /// address, otherwise for each state
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &StateArgs) -> anyhow::Result<i32> {
    let named: Vec<PathBuf> = args.trace.iter().cloned().collect();
    let chosen = chosen::choose(&named, "show the state of")?;
    let traces = chosen.folders.iter().map(Trace::open).collect::<Result<Vec<_>, _>>()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let asks_for_time = args.at.is_some() || args.from.is_some() || args.to.is_some();
    let chooses = !(args.pid.is_empty() && args.tid.is_empty() && args.cpu.is_empty());
    if chooses && !asks_for_time {
        bail!(
            "--pid, --tid and --cpu choose among the states of a time: name it with --at, --from"
        );
    }
    let written = match asks_for_time {
        false => at_end(args, &traces, &mut out),
        true => in_history(args, &traces, &mut out),
    };
    let flushed = written.and_then(|has_any| Ok(out.flush().map(|()| has_any)?));
    let has_any = match flushed {
        // A reader of our output that goes away early has what it wanted.
        Err(error) if stdout::is_closed(&error) => true,
        result => result?,
    };
    for note in chosen.notes {
        say(&note);
    }
    Ok(i32::from(!has_any))
}

/// The result is whether there was anything to show, and nothing was damaged.
fn at_end(args: &StateArgs, traces: &[Trace], out: &mut dyn Write) -> anyhow::Result<bool> {
    let mut merge = Merge::over(traces);
    let mut state = State::new(traces, merge.stream_count(), &Limits::default());
    let mut machine = Machine::default();
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                state.event(&event);
                machine.event(&event);
            }
            Message::Loss(loss) => state.loss(&loss),
        }
    }
    let names = Names::of(&state, traces, std::iter::empty());
    let mut view = View::of(now(&state), &names).with_commands(state.threads(), state.texts());
    if args.maps {
        view = view.with_maps(&state);
    }
    let text: String = match args.json {
        true => view.json_lines(&names) + &machine.json_lines(),
        false => view.text(&names, false) + &machine.text(),
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    let problems = merge.problems();
    show_problems(&problems);
    if let Some(missing) = missing(state.dump()) {
        say(missing);
    }
    Ok(!text.is_empty() && problems.is_empty())
}

fn in_history(args: &StateArgs, traces: &[Trace], out: &mut dyn Write) -> anyhow::Result<bool> {
    let span = selection::span(args.from.as_ref(), args.to.as_ref(), traces, args.utc)?;
    if span.from.zip(span.until).is_some_and(|(from, until)| from >= until) {
        bail!("--from is not before --to");
    }
    let at = selection::span(args.at.as_ref(), None, traces, args.utc)?.from;
    let mut progress = Progress::building(traces);
    let history = History::open_or_build(traces, |bytes_read| progress.advance(bytes_read))?;
    progress.finish();
    let form = Form::new(args, &history);
    let has_any = match at {
        Some(at) => at_time(args, &history, at, &form, out)?,
        None => form.list(&span, out)?,
    };
    out.flush()?;
    if !has_any {
        say("no state of the trace meets all that is asked for");
    }
    tell(&history);
    let problems: Vec<_> = traces.iter().flat_map(Trace::problems).cloned().collect();
    show_problems(&problems);
    Ok(has_any && problems.is_empty())
}

fn at_time(
    args: &StateArgs,
    history: &History,
    at: Ns,
    form: &Form<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<bool> {
    let moment = history.at(at)?;
    let wanted = |known: &&Known| form.takes(&known.track);
    if args.json {
        let mut has_any = false;
        for known in moment.all().iter().filter(wanted) {
            has_any = true;
            form.known(known, out)?;
        }
        return Ok(has_any);
    }
    let wanted = |known: &&Known| wanted(known) || form.is_above(&known.track);
    let known = moment.all().iter().filter(wanted).map(|known| (known.track, known.value));
    let text = View::of(known, history.names()).text(history.names(), true);
    out.write_all(text.as_bytes())?;
    if history.losses().iter().any(|lost| lost.begin <= at && at <= lost.until) {
        out.flush()?;
        say("events were lost around this time: what they would have told is not shown");
    }
    Ok(!text.is_empty())
}

/// What a reader should know of the history itself.
fn tell(history: &History) {
    match history.place() {
        Kept::Beside(_) | Kept::Memory => {}
        Kept::Cache(path) => {
            let path = path.display();
            say(&format!("nothing can be left beside the trace: its index of states is {path}"));
        }
        Kept::Temporary => {
            say("the index of states could not be kept: the next command builds it again");
        }
    }
    if history.left_out() > 0 {
        say("there are more threads, descriptors and locks than an index has: some are left out");
    }
}

fn missing(dump: Dump) -> Option<&'static str> {
    match dump {
        Dump::Whole => None,
        Dump::Absent => {
            Some("the trace has no dump of the kernel's state: this is what events told")
        }
        Dump::Begun => {
            Some("the dump of the kernel's state has no end in the trace: more may be there")
        }
        Dump::CutOff => Some("the dump of the kernel's state is not whole: more may be there"),
    }
}
