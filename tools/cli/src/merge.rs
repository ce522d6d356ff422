// SPDX-License-Identifier: MIT
//! `lull merge`: traces of several machines in one folder, on one time line.
//!
//! Place in the flow: `convert::Messages` reads the traces once for the messages between them,
//! `convert::estimate` compares two clocks, and `derived` writes each trace with its times on the
//! first one's clock. A trace whose clock can be compared with the first one's by way of others
//! only is; where there are several ways, those with the smallest error bounds are taken.

mod tell;

use std::path::PathBuf;

use ::convert::{
    estimate, Converted, Correction, Estimate, Format, Messages, Options, Part, Rule, Sent,
    MAX_DRIFT,
};
use anyhow::bail;
use trace::{ByteOrder, Cycles, EnvironmentValue, Trace};

use crate::report::progress::Progress;
use crate::{chosen, derived, say, stdout};

/// Traces that are merged at once.
const MAX_TRACES: usize = 256;
/// Longest name of a new trace's folder.
const MAX_NAME_BYTES: usize = 64;

/// Write traces of several machines into one folder, with their times on one clock
#[derive(Debug, clap::Args)]
#[command(after_help = "A message cannot arrive before it was sent: by --match 'net:send id = \
    net:receive id', messages between the machines tell how far their clocks are apart and how \
    they drift, and how large the error may be. Traces with the same clock need none. Without \
    messages, times stay as the trace's own clock gives them, and that is said.\n\nThe first \
    trace's clock is the one that all get. The new traces are CTF 1.8 in nanoseconds, one in a \
    folder of its own for each; every command of lull reads the folder as a whole.\n\nThe status \
    is 0 when all clocks are known to agree within bounds, 1 when one is not, a message arrived \
    before it was sent or a trace is damaged or being recorded, 2 on an error; then nothing was \
    written.")]
pub struct MergeArgs {
    /// Folders with traces in or below them; the first one's clock is kept
    #[arg(value_name = "TRACE", required = true, num_args = 2..)]
    pub traces: Vec<PathBuf>,

    /// The directory of the new traces, which must not hold anything
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Which events send a message and receive it, and the fields that name it: 'net:send id =
    /// net:receive id'; several fields between commas
    #[arg(long = "match", value_name = "RULE")]
    pub rules: Vec<Rule>,

    /// Say what was done as a JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// How a trace's clock is known.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    /// It is the first trace's.
    First,
    /// It is the clock of another trace.
    Same {
        beside: usize,
    },
    /// By messages to a trace whose clock was known before. The error is that of the whole way;
    /// `None` where messages went one way only.
    Messages {
        beside: usize,
        estimate: Estimate,
        error_ns: Option<f64>,
    },
    /// So many messages arrived before they were sent that they say nothing.
    Inconsistent {
        beside: usize,
    },
    Not,
}

/// A trace on its way into the folder.
struct Merged {
    name: String,
    known: Known,
    correction: Correction,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &MergeArgs) -> anyhow::Result<i32> {
    let traces = open(&args.traces)?;
    let (messages, mut progress) = read(&traces, &args.rules)?;
    let merged = place(&traces, &messages);
    derived::refuse_within(&traces, &args.output)?;
    let folder = derived::claim(&args.output)?;
    let mut written: Vec<Converted> = Vec::new();
    let options =
        Options { format: Format::Ctf1, order: ByteOrder::Little, for_trace_compass: false };
    for (trace, one) in traces.iter().zip(&merged) {
        let output = folder.output.create_within(&one.name)?;
        // It goes with the folder around it.
        output.keep();
        let part = Part {
            correction: Some(one.correction),
            environment: environment(one),
            ..Part::default()
        };
        written.push(derived::write(trace, (options, part), &output, &mut progress)?);
        progress.pass(trace);
    }
    progress.finish();
    folder.keep();
    let mut status = derived::DONE;
    for (trace, done) in traces.iter().zip(&written) {
        status = status.max(derived::tell(trace, done));
    }
    let told = tell::Told { traces: &traces, merged: &merged, written: &written };
    match args.json {
        true => stdout::write(&format!("{}\n", told.json(&args.output, messages.counts())))?,
        false => told.lines(&args.output).iter().for_each(|line| say(line)),
    }
    Ok(if merged.iter().all(Merged::is_bounded) { status } else { derived::INCOMPLETE })
}

impl Merged {
    /// Whether the clock is known, and nothing speaks against it.
    fn is_bounded(&self) -> bool {
        match &self.known {
            Known::First | Known::Same { .. } => true,
            Known::Messages { estimate, error_ns, .. } => {
                error_ns.is_some() && estimate.violations == (Vec::new(), Vec::new())
            }
            Known::Inconsistent { .. } | Known::Not => false,
        }
    }
}

/// Opens the traces, those below each folder in turn, so that the first one named stays first.
fn open(named: &[PathBuf]) -> anyhow::Result<Vec<Trace>> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for root in named {
        let chosen = chosen::choose(std::slice::from_ref(root), "merge")?;
        chosen.notes.iter().for_each(|note| say(note));
        folders.extend(chosen.folders);
    }
    let mut met = std::collections::BTreeSet::new();
    folders.retain(|path| met.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    match folders.len() {
        0 | 1 => bail!("there is only one trace; name those of other machines too"),
        2..=MAX_TRACES => {}
        count => bail!("there are {count} traces; {MAX_TRACES} are merged at most"),
    }
    folders.iter().map(|folder| Ok(Trace::open(folder)?)).collect()
}

/// Finds the messages between traces. A rule that no trace has both ends of is a mistake.
fn read(traces: &[Trace], rules: &[Rule]) -> anyhow::Result<(Messages, Progress)> {
    let mut messages = Messages::default();
    let passes = if rules.is_empty() { 1 } else { 2 };
    let mut progress = Progress::new(traces).times(passes);
    let mut found = vec![(false, false); rules.len()];
    if !rules.is_empty() {
        for (number, trace) in traces.iter().enumerate() {
            let ends = messages.read(trace, number, rules, &mut |bytes| progress.advance(bytes));
            progress.pass(trace);
            for (all, (sends, receives)) in found.iter_mut().zip(ends) {
                *all = (all.0 | sends, all.1 | receives);
            }
        }
    }
    for (rule, (sends, receives)) in rules.iter().zip(found) {
        if !(sends && receives) {
            let end = if sends { "receiving" } else { "sending" };
            bail!(
                "no trace has the {end} event of '{rule}' with these fields; lull print shows names"
            );
        }
    }
    if messages.untaken > 0 {
        let count = messages.untaken;
        say(&format!("{count} events of messages were not looked at: there are too many names"));
    }
    Ok((messages, progress))
}

/// Finds a correction for each trace, from the first one on: the next is always the one whose
/// error is smallest.
fn place(traces: &[Trace], messages: &Messages) -> Vec<Merged> {
    let mut names = Vec::new();
    let mut merged: Vec<Merged> = Vec::new();
    for trace in traces {
        let name = name(trace, &names);
        names.push(name.clone());
        merged.push(Merged { name, known: Known::Not, correction: Correction::default() });
    }
    let mut is_placed = vec![false; traces.len()];
    let mut error = vec![Some(0.0); traces.len()];
    is_placed[0] = true;
    merged[0].known = Known::First;
    let mut between = Between { traces, messages, known: Default::default() };
    loop {
        let mut best: Option<(f64, usize, usize, Compared)> = None;
        for other in (0..traces.len()).filter(|other| !is_placed[*other]) {
            for beside in (0..traces.len()).filter(|beside| is_placed[*beside]) {
                let compared = between.compare(other, beside);
                let own_error = match &compared {
                    Compared::Same(_) => Some(0.0),
                    Compared::By(estimate) => estimate.error_ns,
                    Compared::Inconsistent => {
                        merged[other].known = Known::Inconsistent { beside };
                        continue;
                    }
                    Compared::Not => continue,
                };
                let sum = own_error.zip(error[beside]).map_or(f64::INFINITY, |(a, b)| a + b);
                if best.as_ref().is_none_or(|(least, ..)| sum < *least) {
                    best = Some((sum, other, beside, compared));
                }
            }
        }
        let Some((sum, other, beside, compared)) = best else { return merged };
        is_placed[other] = true;
        error[other] = Some(sum).filter(|sum| sum.is_finite());
        let onwards = merged[beside].correction;
        let (correction, known) = match compared {
            Compared::By(estimate) => {
                let error_ns = error[other];
                (estimate.correction, Known::Messages { beside, estimate, error_ns })
            }
            Compared::Same(correction) => (correction, Known::Same { beside }),
            Compared::Inconsistent | Compared::Not => return merged,
        };
        merged[other].correction = correction.then(&onwards);
        merged[other].known = known;
    }
}

/// What two traces say of each other's clocks.
#[derive(Clone)]
enum Compared {
    Same(Correction),
    By(Estimate),
    Inconsistent,
    Not,
}

/// Comparisons, each made once.
struct Between<'a> {
    traces: &'a [Trace],
    messages: &'a Messages,
    known: std::collections::BTreeMap<(usize, usize), Compared>,
}

impl Between<'_> {
    fn compare(&mut self, one: usize, other: usize) -> Compared {
        if let Some(known) = self.known.get(&(one, other)) {
            return known.clone();
        }
        let compared = match one_clock(&self.traces[one], &self.traces[other]) {
            Some(correction) => Compared::Same(correction),
            None => {
                let to: Vec<Sent> = self.messages.between(one, other);
                let from = self.messages.between(other, one);
                match estimate(&to, &from) {
                    None => Compared::Not,
                    Some(Ok(estimate)) => Compared::By(estimate),
                    Some(Err(_)) => Compared::Inconsistent,
                }
            }
        };
        self.known.insert((one, other), compared.clone());
        compared
    }
}

/// From one trace's times to the other's, if both count by one clock, as its identifier says. They
/// may take its beginning to be at different times, and its rate, which each recording measures
/// for itself, to be another: a moment is the same number of its cycles in both.
fn one_clock(one: &Trace, other: &Trace) -> Option<Correction> {
    let ([a], [b]) = (one.clocks(), other.clocks()) else { return None };
    // A machine has several counters, and Lull's identifier is that of the machine's boot.
    let kind = |trace: &Trace| trace.metadata().environment_text("clock_kind").map(str::to_string);
    let is_one = a.uuid.is_some() && a.uuid == b.uuid && kind(one) == kind(other);
    let drift = a.frequency_hz as f64 / b.frequency_hz as f64 - 1.0;
    let (from, to) = (a.ns(Cycles(0)).0, b.ns(Cycles(0)).0);
    let offset_ns = to.checked_sub(from)?;
    let is_rate_one = drift.abs() <= MAX_DRIFT;
    (is_one && is_rate_one).then_some(Correction { at_ns: from, offset_ns, drift })
}

/// What the folder of a new trace is called: after the machine, or the old folder.
fn name(trace: &Trace, taken: &[String]) -> String {
    let host = trace.metadata().environment_text("hostname").filter(|host| !host.is_empty());
    let folder = || trace.path().file_name().map(|name| name.to_string_lossy().into_owned());
    let name = host.map(str::to_string).or_else(folder).unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = name.chars().filter(is_plain).take(MAX_NAME_BYTES).collect();
    let plain = match plain.trim_start_matches('.') {
        "" => "trace",
        name => name,
    };
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let mut names = std::iter::once(plain.to_string()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// What a new trace says of its clock.
fn environment(one: &Merged) -> Vec<(String, EnvironmentValue)> {
    let number = |name: &str, value: f64| {
        (name.to_string(), EnvironmentValue::Number(value.round() as i128))
    };
    let mut entries = vec![(
        "clock_known_by".to_string(),
        EnvironmentValue::Text(tell::known_by(&one.known).to_string()),
    )];
    if let Known::Messages { error_ns, .. } = &one.known {
        entries.push(number("clock_moved_ns", one.correction.offset_ns as f64));
        entries.push(number("clock_drift_ppb", one.correction.drift * 1e9));
        entries.extend(error_ns.map(|error| number("clock_error_ns", error.ceil())));
    }
    entries
}
