// SPDX-License-Identifier: MIT
//! `lull export`: what a trace tells, in the formats of other viewers.
//!
//! Place in the flow: opens the traces, chooses events as `print` and `report` do, and lets the
//! `export` crate write into a file that gets its name when it is whole; after an error there is no
//! file. The query engine writes Parquet (`query`), the crate `view` a page (`single`).

mod single;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::export::{Done, FlowRule, Format, Options};
use anyhow::{bail, Context};
use interrupt::Unfinished;
use state::{Classes, ThreadIndex, Threads};
use trace::{Event, EventClass, Trace};
use verdict::text::plural;

use crate::record::size;
use crate::report::progress::Progress;
use crate::selection::{with_who, Selection, SelectionArgs};
use crate::{chosen, query, say, stdout, unfinished};

const DONE: i32 = 0;
const INCOMPLETE: i32 = 1;
/// Problems shown one by one.
const PROBLEMS_SHOWN: usize = 20;
/// As a name of the output: standard output.
const STDOUT: &str = "-";

/// Which viewer the output is for.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct FormatArgs {
    /// Perfetto's own format, for ui.perfetto.dev and trace_processor
    #[arg(long)]
    pub perfetto: bool,

    /// JSON trace events, for chrome://tracing and others
    #[arg(long)]
    pub chrome: bool,

    /// A profile with markers, for profiler.firefox.com
    #[arg(long)]
    pub firefox: bool,

    /// A profile of each thread's calls, for speedscope.app
    #[arg(long)]
    pub speedscope: bool,

    /// Folded stacks of calls with their nanoseconds, for flame graphs
    #[arg(long)]
    pub folded: bool,

    /// The page of `lull view` with a part of the trace in it, for a bug report: one file, which
    /// any browser opens
    #[arg(long, conflicts_with_all = ["counter", "flow"])]
    pub html: bool,

    /// A dataset of all tables of `lull query`, in a new folder: Parquet files by table and host
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["events", "pid", "tid", "cpu", "comm", "counter", "flow", "output"]
    )]
    pub parquet: Option<PathBuf>,
}

impl FormatArgs {
    /// The format, and how its files' names end.
    fn format(&self) -> (Format, &'static str) {
        match self {
            Self { perfetto: true, .. } => (Format::Perfetto, "perfetto-trace"),
            Self { chrome: true, .. } => (Format::Chrome, "chrome.json"),
            Self { firefox: true, .. } => (Format::Firefox, "firefox.json"),
            Self { speedscope: true, .. } => (Format::Speedscope, "speedscope.json"),
            _ => (Format::Folded, "folded"),
        }
    }
}

/// Write a trace for other tools: Perfetto, Chrome, Firefox profiler, speedscope, flame graphs,
/// Parquet
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A call is drawn from its entry to its exit; one that had not returned when the \
    trace ended is shown as unfinished. Lost events are shown where they were lost.\n\nThe status \
    is 0 when all was written, 1 when the trace is incomplete or nothing was chosen, 2 on an \
    error; then there is no file."
)]
pub struct ExportArgs {
    #[command(flatten)]
    pub format: FormatArgs,

    /// Folders with traces in or below them [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// The file to write, - for standard output [default: the trace's name with the format's end]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// With --html: refuse a range of the trace that makes a longer file, such as 8M
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "32M",
        conflicts_with_all = ["perfetto", "chrome", "firefox", "speedscope", "folded", "parquet"])]
    pub max_size: u64,

    /// Draw this field of an event as a counter; may be given several times
    #[arg(long, value_name = "EVENT.FIELD", value_parser = field)]
    pub counter: Vec<(String, String)>,

    /// Draw arrows from an event to another one whose field has the same value; may be given
    /// several times
    #[arg(long, value_name = "EVENT.FIELD=EVENT.FIELD", value_parser = flow)]
    pub flow: Vec<FlowRule>,

    #[command(flatten)]
    pub selection: SelectionArgs,
}

fn field(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('.') {
        Some((event, field)) if !event.is_empty() && !field.is_empty() => {
            Ok((event.into(), field.into()))
        }
        _ => Err(format!("{text} is not EVENT.FIELD, as in io:read_exit.result")),
    }
}

fn flow(text: &str) -> Result<FlowRule, String> {
    let Some((from, to)) = text.split_once('=') else {
        return Err(format!("{text} is not EVENT.FIELD=EVENT.FIELD"));
    };
    Ok(FlowRule { from: field(from)?, to: field(to)? })
}

/// Runs the command; the result is the exit status.
pub fn run(args: &ExportArgs) -> anyhow::Result<i32> {
    if let Some(folder) = &args.format.parquet {
        let mut command = Command::new(query::program()?);
        query::path_argument(&mut command, "--export=", Some(folder));
        let SelectionArgs { from, to, .. } = &args.selection;
        query::read_from(&mut command, &args.traces, (from.as_ref(), to.as_ref()))?;
        return Err(command.exec()).context("starting the query engine");
    }
    if args.format.html {
        return single::run(args);
    }
    let selection = Selection::new(&args.selection)?;
    let wanted = |names: &[&str], log_level| selection.wants(names, log_level);
    let chosen = chosen::choose(&args.traces, "export")?;
    let mut traces = Vec::new();
    for folder in &chosen.folders {
        traces.push(Trace::open(folder)?);
    }
    let known = Classes::new(&traces);
    let names = |trace: usize, class: &EventClass| known.names_of(trace, class);
    let rules = selection.rules(&traces, &names)?;
    let takes = |event: &Event<'_>, threads: &Threads, thread: ThreadIndex| {
        with_who(threads, thread, |who| rules.take(event, Some(who)))
    };
    let (format, ending) = args.format.format();
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_path(&chosen.folders, ending)?,
    };
    let mut output = Output::new(&path, args.output.is_some())?;
    let options = Options {
        wanted: Some(&wanted),
        takes: rules.has_conditions().then_some(&takes),
        span: selection.span(&traces, false)?,
        counters: args.counter.clone(),
        flows: args.flow.clone(),
        folder: output.folder(),
        limits: state::Limits::default(),
    };
    let mut progress = Progress::new(&traces);
    let done = ::export::export(&traces, format, &options, &mut output, |bytes_read| {
        progress.advance(bytes_read);
    });
    progress.finish();
    let done = match done {
        // A reader of our output that goes away early has what it wanted.
        Err(::export::Error::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(DONE);
        }
        done => done.with_context(|| format!("{} was not written", path.display()))?,
    };
    match output.keep(&path, args.output.is_some()) {
        Err(error) if stdout::is_closed(&error) => return Ok(DONE),
        kept => kept?,
    }
    tell(
        &done,
        &path,
        chosen.notes.into_iter().chain(traces.iter().filter_map(unfinished::sentence)),
    );
    let is_read = done.problems.is_empty() && done.miscounts.is_empty();
    let is_lossy = done.lost_events > 0 || done.lost_packets > 0;
    let is_whole = is_read && !is_lossy && done.events > 0 && !has_failed(&traces);
    Ok(if is_whole { DONE } else { INCOMPLETE })
}

/// Says what is in the file, and what is not.
fn tell(done: &Done, path: &Path, notes: impl Iterator<Item = String>) {
    for problem in done.problems.iter().take(PROBLEMS_SHOWN) {
        say(&problem.to_string());
    }
    if done.problems.len() > PROBLEMS_SHOWN {
        say(&format!("and {} problems more", done.problems.len() - PROBLEMS_SHOWN));
    }
    notes.chain(done.miscounts.iter().chain(&done.notes).cloned()).for_each(|note| say(&note));
    let what = shown_name(path);
    say(&format!("{what}: made of {}", plural(done.events, "event")));
    if done.lost_events + done.lost_packets > 0 {
        let (events, packets) = (done.lost_events, done.lost_packets);
        say(&format!(
            "the trace has lost {} and {}",
            plural(events, "event"),
            plural(packets, "packet")
        ));
    }
    let calls = |count| plural(count, "call");
    for (count, text) in [
        (done.open_calls, format!("{} not finished when the trace ended", calls(done.open_calls))),
        (
            done.cut_calls,
            format!(
                "{} without an exit before the end of the call around it, or of its thread",
                calls(done.cut_calls)
            ),
        ),
        (
            done.exits_without_entry,
            format!("{} without an entry in the trace", plural(done.exits_without_entry, "exit")),
        ),
        (
            done.without_room,
            format!(
                "{} of threads beyond those that are told apart, which have no ends together",
                calls(done.without_room)
            ),
        ),
        (done.left_out, format!("{} left out: no place in this format", calls(done.left_out))),
    ] {
        if count > 0 {
            say(&text);
        }
    }
}

/// How an output is called where people read of it.
fn shown_name(path: &Path) -> String {
    match path == Path::new(STDOUT) {
        true => "standard output".into(),
        false => path.display().to_string(),
    }
}

/// Whether the recording of any of the traces failed, as it says itself, or files are damaged.
fn has_failed(traces: &[Trace]) -> bool {
    let is_failure = |trace: &Trace| {
        let said = analysis::recorded_verdict(trace.metadata());
        said.state.is_failure() || !trace.problems().is_empty()
    };
    traces.iter().any(is_failure)
}

/// The name of the trace, in the current folder, with an ending.
fn default_path(folders: &[PathBuf], ending: &str) -> anyhow::Result<PathBuf> {
    let [folder] = folders else {
        bail!("{} traces: name the file to write with -o", folders.len());
    };
    let folder = folder.canonicalize().with_context(|| format!("{}", folder.display()))?;
    let name = folder.file_name().map_or("trace".into(), |name| name.to_string_lossy());
    Ok(PathBuf::from(format!("{name}.{ending}")))
}

/// Where the export goes.
pub(crate) enum Output {
    /// Standard output, or a file that is no plain one.
    Stream(BufWriter<File>),
    /// A file that does not have its name yet.
    File(BufWriter<tempfile::NamedTempFile>, Unfinished),
}

impl Output {
    /// `is_named`: the user named the file, and knows what is there.
    pub fn new(path: &Path, is_named: bool) -> anyhow::Result<Self> {
        if path == Path::new(STDOUT) {
            use std::os::fd::AsFd;
            let stdout = io::stdout().as_fd().try_clone_to_owned().context("standard output")?;
            return Ok(Self::Stream(BufWriter::new(stdout.into())));
        }
        match path.metadata() {
            Ok(found) if found.is_dir() => bail!("{} is a directory", path.display()),
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.with_context(|| path.display().to_string())?;
                return Ok(Self::Stream(BufWriter::new(file)));
            }
            Ok(_) if !is_named => refuse(path)?,
            _ => {}
        }
        let (file, unfinished) = Unfinished::begin(|| {
            let mut builder = tempfile::Builder::new();
            let file = builder.prefix(".lull-export-").tempfile_in(folder_of(path));
            let file = file.with_context(|| path.display().to_string())?;
            let removed = file.path().to_path_buf();
            anyhow::Ok((file, Box::new(move || drop(std::fs::remove_file(&removed)))))
        })?;
        Ok(Self::File(BufWriter::new(file), unfinished))
    }

    /// Where temporary files may be as large as the output.
    fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Stream(_) => None,
            Self::File(file, _) => file.get_ref().path().parent().map(Path::to_path_buf),
        }
    }

    /// Gives the file its name.
    pub fn keep(self, path: &Path, is_named: bool) -> anyhow::Result<()> {
        let (file, unfinished) = match self {
            Self::Stream(mut stream) => return stream.flush().context("writing the file"),
            Self::File(file, unfinished) => {
                (file.into_inner().context("writing the file")?, unfinished)
            }
        };
        let kept = unfinished.finish(|| match is_named {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        });
        match kept {
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => refuse(path),
            kept => kept.map(drop).with_context(|| path.display().to_string()),
        }
    }
}

fn refuse(path: &Path) -> anyhow::Result<()> {
    bail!("{} is there already; name another file, or this one, with -o", path.display());
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.write(bytes),
            Self::File(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.flush(),
            Self::File(file, _) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_of_an_event_is_what_stands_behind_the_last_dot() {
        let pair = |event: &str, field: &str| Ok((event.to_string(), field.to_string()));
        assert_eq!(field("io:read_exit.result"), pair("io:read_exit", "result"));
        assert_eq!(field("org.example:job.size"), pair("org.example:job", "size"));
        for wrong in ["", "a", ".b", "a."] {
            assert!(field(wrong).is_err(), "{wrong}");
        }
        let rule = flow("a:send.id=b:got.id").unwrap();
        assert_eq!((rule.from.0.as_str(), rule.to.0.as_str()), ("a:send", "b:got"));
        assert!(flow("a:send.id").is_err());
    }

    #[test]
    fn default_name_is_that_of_the_trace_and_several_traces_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = default_path(&[folder.path().to_path_buf()], "folded").unwrap();
        let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(path, PathBuf::from(format!("{name}.folded")));
        let error = default_path(&["a".into(), "b".into()], "folded").unwrap_err().to_string();
        assert_eq!(error, "2 traces: name the file to write with -o");
    }

    #[test]
    fn file_gets_its_name_when_it_is_whole_and_replaces_only_what_was_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut output = Output::new(&path, false).unwrap();
        output.write_all(b"new").unwrap();
        assert!(!path.exists());
        std::fs::write(&path, b"old").unwrap();
        assert!(output.keep(&path, false).unwrap_err().to_string().contains("is there already"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert!(Output::new(&path, false).is_err());
        let mut output = Output::new(&path, true).unwrap();
        output.write_all(b"new").unwrap();
        output.keep(&path, true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
