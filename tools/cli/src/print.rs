// SPDX-License-Identifier: MIT
//! `lull print`: every event as a line of text or JSON, merged by time.
//!
//! Place in the flow: a thin reader on top of the `trace` crate. Here are the arguments and the
//! loop, of which each processor runs one over a slice of the trace; `print/line.rs` and
//! `print/json.rs` give events their form. The exit status says whether
//! what was printed is all there was: 0 done, 1 incomplete, not finished or nothing matched, 2 an
//! error.

pub(crate) mod classes;
pub(crate) mod clock;
mod json;
mod labels;
mod line;
mod number;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use analysis::{event_name, Places, StackPlaces};
use anyhow::Context;
use trace::{
    in_slices, processors, Event, LossMessage, Merge, Message, Problem, Span, Symbols, Trace,
};

use crate::selection::{Selection, SelectionArgs};
use crate::{chosen, nearest, say, unfinished};
use classes::{is_hidden, ClassPlan, Classes, Thread, Threads};
use verdict::{State, Verdict};

/// Print the events of a trace, merged by time
#[derive(Debug, clap::Args)]
pub struct PrintArgs {
    /// Folders with traces in or below them [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,

    /// Print the time since the line before
    #[arg(long)]
    pub delta: bool,

    /// Print UTC, not local time
    #[arg(long)]
    pub utc: bool,

    /// Print the date before each time of day
    #[arg(long, conflicts_with = "cycles")]
    pub date: bool,

    /// Print what the context of each event's packet says beside sizes, times and counters
    #[arg(long)]
    pub packet: bool,

    /// Print clock cycles, not the time of day
    #[arg(long, conflicts_with = "utc")]
    pub cycles: bool,

    /// Stop after this many events
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub limit: Option<u64>,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Print addresses in the call stacks of programs, and open no file for the names of functions
    #[arg(long)]
    pub addresses: bool,

    /// Print Lull's own bookkeeping events too
    #[arg(long)]
    pub all: bool,
}

/// Output is handed on in pieces of this size.
const BUFFER_BYTES: usize = 256 * 1024;
/// Problems shown one by one.
const PROBLEMS_SHOWN: usize = 20;

/// What an output form does with each message.
trait Form {
    fn event(&mut self, out: &mut Vec<u8>, event: &Event<'_>, about: About<'_>);
    fn loss(&mut self, out: &mut Vec<u8>, loss: &LossMessage<'_>);
}

/// What is known of an event beside itself.
#[derive(Clone, Copy)]
struct About<'a> {
    class: &'a ClassPlan,
    thread: Option<Thread<'a>>,
    /// For the addresses of the kernel's call stack.
    symbols: Option<&'a Symbols>,
    /// For those of its program's, from the innermost, where they are asked for.
    places: StackPlaces<'a>,
}

/// What was printed.
#[derive(Default)]
struct Tally {
    events: u64,
    losses: u64,
    /// Of each trace, shown or not, but for bookkeeping.
    read: Vec<u64>,
    /// Whether the reader of the output has gone away.
    is_unwanted: bool,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.events += other.events;
        self.losses += other.losses;
        self.read.resize(self.read.len().max(other.read.len()), 0);
        self.read.iter_mut().zip(&other.read).for_each(|(sum, read)| *sum += read);
    }
}

/// Runs the command; the result is the exit status.
pub fn run(args: &PrintArgs) -> anyhow::Result<i32> {
    let mut traces = Vec::new();
    let chosen = chosen::choose(&args.traces, "print")?;
    for folder in &chosen.folders {
        traces.push(Trace::open(folder)?);
    }
    let selection = Selection::new(&args.selection)?;
    let classes = Classes::new(&traces, &selection, args.all)?;
    let span = selection.span(&traces, args.utc)?;
    let is_named = !args.addresses && classes.show_user_stacks();
    let mut places = is_named.then(|| Places::before(&traces, span.from));
    // A limit, times since the line before, and what is mapped depend on what came before.
    let is_one = args.limit.is_some() || args.delta || is_named;
    let how = (args.limit, if is_one { 1 } else { processors() });
    let mut out = std::io::stdout().lock();
    let (tally, rest) = if args.json {
        let form = || {
            let form = json::JsonForm::new().labelled(labels::of(&traces));
            if args.packet {
                form.with_packets()
            } else {
                form
            }
        };
        print_all(how, &traces, &span, (&classes, places.as_mut()), form, &mut out)?
    } else {
        let times = line::Times::of(args.utc, args.cycles);
        let form = || {
            let mut form = line::LineForm::new(args.delta, times).labelled(labels::of(&traces));
            if args.date {
                form = form.dated();
            }
            if args.packet {
                form = form.with_packets();
            }
            form
        };
        print_all(how, &traces, &span, (&classes, places.as_mut()), form, &mut out)?
    };
    if tally.is_unwanted {
        return Ok(0);
    }
    let problems = rest.problems();
    show_problems(&problems);
    let late = analysis::late_beginnings(&traces, &rest);
    let repeated = analysis::repeated_packets(&traces, &rest);
    let odd = traces.iter().flat_map(Trace::warnings);
    let names = places.iter().flat_map(Places::notes);
    for line in odd.chain(chosen.notes).chain(late).chain(repeated).chain(names) {
        say(&line);
    }
    if tally.events == 0 && args.limit != Some(0) {
        say(&nothing_printed(args, &selection, &traces));
    }
    let mut is_failure = false;
    for trace in &traces {
        is_failure |= show_verdict(trace, analysis::recorded_verdict(trace.metadata()));
    }
    is_failure |= show_miscounts(args, &span, &traces, (&tally, &rest));
    let has_any = tally.events > 0 || args.limit == Some(0);
    let is_complete = !is_failure && problems.is_empty() && tally.losses == 0 && has_any;
    Ok(if is_complete { 0 } else { 1 })
}

/// Why no event was printed.
fn nothing_printed(args: &PrintArgs, selection: &Selection<'_>, traces: &[Trace]) -> String {
    if selection.is_everything() {
        return "no event is in the trace".into();
    }
    let classes: Vec<_> = traces.iter().flat_map(Trace::event_classes).collect();
    let mut names = classes.iter().map(|class| (&*class.name, event_name(class), class.log_level));
    if names.any(|(name, plain, level)| selection.wants(&[name, plain], level)) {
        return "no event of the trace meets all that is asked for".into();
    }
    let names = classes.iter().map(|class| &*class.name);
    nearest::no_match(selection.patterns(), names.filter(|name| args.all || !is_hidden(name)))
}

/// Prints what is in a span of traces. What the processors do at the same time is printed in
/// order. Return: the merge that knows what was found wrong.
fn print_all<'t, F: Form>(
    (limit, workers): (Option<u64>, usize),
    traces: &'t [Trace],
    span: &Span,
    (classes, places): (&Classes<'_>, Option<&mut Places>),
    form: impl Fn() -> F + Sync,
    out: &mut impl Write,
) -> anyhow::Result<(Tally, Merge<'t>)> {
    let work = |merge: &mut Merge<'_>| {
        let mut text = Vec::new();
        print(merge, (classes, None), &mut form(), None, &mut text).map(|tally| (tally, text))
    };
    let (mut tally, mut failure) = (Tally::default(), None);
    let mut rest = in_slices(traces, span, workers, work, |part| {
        let is_written = part.and_then(|(part, mut text)| {
            tally.add(&part);
            flush(&mut text, out)
        });
        match is_written {
            Ok(true) => return ControlFlow::Continue(()),
            Ok(false) => tally.is_unwanted = true,
            Err(error) => failure = Some(error),
        }
        ControlFlow::Break(())
    });
    if let Some(error) = failure {
        return Err(error);
    }
    if !tally.is_unwanted {
        let last = print(&mut rest, (classes, places), &mut form(), limit, out)?;
        tally.add(&last);
        tally.is_unwanted = last.is_unwanted;
    }
    Ok((tally, rest))
}

fn print<F: Form>(
    merge: &mut Merge<'_>,
    (classes, mut places): (&Classes<'_>, Option<&mut Places>),
    form: &mut F,
    limit: Option<u64>,
    out: &mut impl Write,
) -> anyhow::Result<Tally> {
    let mut tally = Tally { read: vec![0; classes.trace_count()], ..Tally::default() };
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4);
    let mut threads = Threads::new(merge.stream_count());
    let limit = limit.unwrap_or(u64::MAX);
    while tally.events < limit {
        let Some(message) = merge.next() else { break };
        match message {
            Message::Event(event) => {
                let class = classes.of(&event);
                if let Some(thread) = &class.thread {
                    threads.switch(&event, thread);
                }
                if event.is_before_span() {
                    continue;
                }
                if let Some(read) = tally.read.get_mut(event.trace_index()) {
                    *read += u64::from(!class.is_hidden);
                }
                let thread = threads.of(&event);
                let is_taken = class.is_shown && classes.take(&event, thread);
                let places = match &mut places {
                    Some(places) if is_taken && class.has_user_stack => places.event(&event),
                    Some(places) => places.passed(&event),
                    None => StackPlaces::default(),
                };
                if is_taken {
                    tally.events += 1;
                    let symbols = classes.symbols(&event);
                    form.event(&mut buffer, &event, About { class, thread, symbols, places });
                }
            }
            Message::Loss(loss) => {
                places.iter_mut().for_each(|places| places.loss(&loss));
                tally.losses += 1;
                form.loss(&mut buffer, &loss);
            }
        }
        if buffer.len() >= BUFFER_BYTES && !flush(&mut buffer, out)? {
            tally.is_unwanted = true;
            return Ok(tally);
        }
    }
    tally.is_unwanted = !flush(&mut buffer, out)?;
    Ok(tally)
}

/// Writes the buffer out; `false` if the reader of the output has gone away.
fn flush(buffer: &mut Vec<u8>, out: &mut impl Write) -> anyhow::Result<bool> {
    let result = out.write_all(buffer).and_then(|()| out.flush());
    buffer.clear();
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("writing the output"),
    }
}

/// Says the verdict on a trace, unless that is that nothing is missing, or is nothing.
/// Return: whether that is a failure.
pub(crate) fn show_verdict(trace: &Trace, mut verdict: Verdict) -> bool {
    if !matches!(verdict.state, State::Complete | State::Unknown) {
        verdict.missing.splice(0..0, unfinished::sentence(trace));
        let path = trace.path().display();
        let lines = verdict.judgement();
        say(&format!("{path}: {}", lines.first().map_or("", String::as_str)));
        for line in lines.iter().skip(1).chain(&verdict.notes) {
            say(line);
        }
    }
    verdict.state.is_failure()
}

/// Says where other events were read than recorders wrote, if all were read. Return: whether so.
fn show_miscounts(
    args: &PrintArgs,
    span: &Span,
    traces: &[Trace],
    (tally, rest): (&Tally, &Merge<'_>),
) -> bool {
    if args.limit.is_some() || *span != Span::ALL {
        return false;
    }
    let miscounts = analysis::miscounts(traces, rest, &tally.read);
    miscounts.iter().for_each(|line| say(line));
    !miscounts.is_empty()
}

pub(crate) fn show_problems(problems: &[Problem]) {
    for problem in problems.iter().take(PROBLEMS_SHOWN) {
        say(&problem.to_string());
    }
    if problems.len() > PROBLEMS_SHOWN {
        say(&format!("and {} problems more", problems.len() - PROBLEMS_SHOWN));
    }
}
