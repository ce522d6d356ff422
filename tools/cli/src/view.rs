// SPDX-License-Identifier: MIT
//! `lull view`: a page in the browser that shows traces.
//!
//! Place in the flow: opens the traces and the history of their states, and lets the crate `view`
//! serve the page. Filters of the page are those of `lull print`. The page's address is a secret:
//! arguments of programs can be read by every user, so the browser is given a private file that
//! leads to it.

mod live;
mod trace_server;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ::view::{Events, Filter, Row, Server, Shown, Viewed, Visited};
use analysis::Names;
use anyhow::{bail, Context};
use history::History;
use trace::{Span, Trace};
use verdict::Verdict;

use crate::chosen::{self, Chosen};
use crate::print::{rows, show_verdict};
use crate::report::progress::Progress;
use crate::selection::SelectionArgs;
use crate::{say, unfinished};

/// What opens addresses, in the order in which they are tried.
const OPENERS: [&str; 3] = ["xdg-open", "gio", "sensible-browser"];

/// Look at traces in the browser: a time line, and every event
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The page is served on 127.0.0.1, at an address that nobody can guess, until \
    Ctrl-C ends it; nothing is uploaded or converted. From another machine: `ssh -L \
    4000:127.0.0.1:4000 HOST lull view --no-open --port 4000 TRACE`, then open the address that is \
    printed.\n\nWith --trace-server, every program of yours on this machine can \
    read the traces, and nobody else's.\n\nThe status is 0 when it was ended, 2 on an error."
)]
pub struct ViewArgs {
    /// Folders with traces in or below them [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Follow a session that runs: its name, its recorder's process, or its trace's directory;
    /// without one, the only session
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "",
        conflicts_with = "traces")]
    pub live: Option<String>,

    /// Show two traces, one above the other, and what changed from the first to the second
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["traces", "live"])]
    pub compare: Vec<PathBuf>,

    /// Serve at this port [default: one that is free]
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
    pub port: u16,

    /// Do not open the browser
    #[arg(long)]
    pub no_open: bool,

    /// Print the page's address on standard output, for programs; opens no browser
    #[arg(long)]
    pub print_url: bool,

    /// Serve the traces to the trace viewers of VS Code and Theia, which speak the Trace Server
    /// Protocol, in place of a page [default port: 8080]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "8080",
        conflicts_with_all = ["live", "compare", "port", "no_open"])]
    pub trace_server: Option<u16>,

    /// Answer pages of this origin, too, such as http://localhost:3000 where Theia is served; may
    /// be repeated
    #[arg(long, value_name = "ORIGIN", requires = "trace_server")]
    pub allow_origin: Vec<String>,
}

/// The events of the traces, chosen as `lull print` does.
struct Printed {
    traces: Arc<Vec<Trace>>,
    names: Arc<Names>,
}

impl Events for Printed {
    fn visit(
        &self,
        filter: &Filter,
        span: &Span,
        budget: u64,
        each: &mut dyn FnMut(&Row<'_>) -> bool,
    ) -> Result<Visited, String> {
        let Filter { events, pid, tid, cpu, comm } = filter.clone();
        let args = SelectionArgs { events, pid, tid, cpu, comm, from: None, to: None };
        let visited = rows::visit((&self.traces, &self.names), &args, (span, budget), each);
        visited.map_err(|error| crate::told(&error))
    }

    fn notes(&self) -> Vec<String> {
        self.names.notes()
    }
}

/// Traces as they are viewed.
fn printed(traces: Arc<Vec<Trace>>, history: History, notes: Vec<String>) -> Viewed {
    let names = Arc::new(Names::default());
    let events = Printed { traces: traces.clone(), names: names.clone() };
    Viewed::new(traces, history, Box::new(events), notes).named_by(names)
}

/// Traces that are open, and the history of their states.
pub(crate) struct Opened {
    pub traces: Arc<Vec<Trace>>,
    history: History,
    notes: Vec<String>,
    /// Whether something is missing from one of them.
    pub is_incomplete: bool,
}

impl Opened {
    /// Opens them, and says what is wrong with them.
    pub fn new(chosen: &Chosen) -> anyhow::Result<Self> {
        let mut traces = Vec::new();
        for folder in &chosen.folders {
            traces.push(Trace::open(folder)?);
        }
        let mut progress = Progress::building(&traces);
        let history = History::open_or_build(&traces, |bytes_read| progress.advance(bytes_read))?;
        progress.finish();
        let mut notes = chosen.notes.clone();
        notes.extend(history.problems().iter().cloned());
        notes.iter().for_each(|note| say(note));
        let mut is_incomplete = false;
        for (trace, verdict) in traces.iter().zip(analysis::judged(&traces, history.read())) {
            notes.extend(verdict_lines(trace, verdict.clone()));
            is_incomplete |= show_verdict(trace, verdict);
        }
        Ok(Self { traces: Arc::new(traces), history, notes, is_incomplete })
    }

    pub fn viewed(self) -> Viewed {
        let Self { traces, history, notes, .. } = self;
        printed(traces, history, notes)
    }
}

/// An error if this command has no page.
pub(crate) fn need_page() -> anyhow::Result<()> {
    page_or_error(::view::has_page())
}

fn page_or_error(has_page: bool) -> anyhow::Result<()> {
    if !has_page {
        bail!(
            "this lull was built without the viewer's page: install Node.js 18 or later and npm \
             (Debian: apt-get install nodejs npm), and run `make` again"
        );
    }
    Ok(())
}

/// Runs the command; the result is the exit status.
pub fn run(args: &ViewArgs) -> anyhow::Result<i32> {
    if let Some(port) = args.trace_server {
        return trace_server::run(args, port);
    }
    need_page()?;
    let server = Server::bind(args.port)?;
    let shown = match &args.live {
        Some(session) => live::Session::find(session)?.show()?,
        None => Arc::new(Shown::new(viewed(args)?)),
    };
    let url = server.url();
    tell(&url, "the page", args.print_url)?;
    // The file is there as long as the server.
    let _leads = match args.no_open || args.print_url {
        true => None,
        false => open(&url),
    };
    server.serve(shown)?;
    Ok(0)
}

/// Says where something is served: to a program, or to a person.
fn tell(url: &str, what: &str, is_printed: bool) -> anyhow::Result<()> {
    if is_printed {
        let mut out = std::io::stdout().lock();
        return writeln!(out, "{url}").and_then(|()| out.flush()).context("printing the address");
    }
    say(&format!("{what} is at {url}"));
    if std::io::stderr().is_terminal() {
        say("Ctrl-C ends it");
    }
    Ok(())
}

/// What is named: traces, or two to compare.
fn viewed(args: &ViewArgs) -> anyhow::Result<Viewed> {
    let open = |folders: &[PathBuf]| -> anyhow::Result<Viewed> {
        Ok(Opened::new(&chosen::choose(folders, "view")?)?.viewed())
    };
    match &args.compare[..] {
        [first, second] => {
            let first = open(std::slice::from_ref(first))?;
            Ok(first.beside(open(std::slice::from_ref(second))?))
        }
        _ => open(&args.traces),
    }
}

/// The verdict on a trace, as a page has it.
fn verdict_lines(trace: &Trace, mut verdict: Verdict) -> Vec<String> {
    verdict.missing.splice(0..0, unfinished::sentence(trace));
    verdict.judgement().into_iter().chain(verdict.notes).collect()
}

/// Opens the browser. That there is none is no error: the address was printed.
fn open(url: &str) -> Option<tempfile::NamedTempFile> {
    let file = match leading_file(url) {
        Ok(file) => file,
        Err(error) => {
            say(&format!("the browser was not opened: {error}; open the address yourself"));
            return None;
        }
    };
    if !OPENERS.iter().any(|opener| starts(opener, file.path())) {
        say("no browser was found: open the address yourself");
        return None;
    }
    Some(file)
}

fn starts(opener: &str, path: &Path) -> bool {
    let mut command = Command::new(opener);
    if opener == "gio" {
        command.arg("open");
    }
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

/// A file that only its owner can read, and that leads to the page.
fn leading_file(url: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("lull-view-").suffix(".html");
    let mut file = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => builder.tempfile_in(folder).or_else(|_| builder.tempfile())?,
        None => builder.tempfile()?,
    };
    // An address of digits, letters and slashes: nothing in it means anything in a page.
    writeln!(
        file,
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\">\
         <title>Lull</title><a href=\"{url}\">The page is here</a>"
    )?;
    file.flush()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_command_without_its_page_says_how_to_get_it() {
        assert!(page_or_error(true).is_ok());
        let error = page_or_error(false).unwrap_err().to_string();
        assert!(error.contains("built without the viewer's page"), "{error}");
        assert!(error.contains("nodejs npm") && error.contains("make"), "{error}");
    }

    #[derive(Debug, clap::Parser)]
    struct Words {
        #[command(flatten)]
        _args: ViewArgs,
    }

    #[test]
    fn a_trace_server_that_is_to_compare_traces_is_refused() {
        let words = ["view", "--trace-server", "--compare", "a", "b"];
        let error = <Words as clap::Parser>::try_parse_from(words).unwrap_err().to_string();
        assert!(error.contains("cannot be used with") && error.contains("--compare"), "{error}");
    }

    #[test]
    fn only_the_owner_can_read_the_file_that_leads_to_the_page() {
        let file = leading_file("http://127.0.0.1:1/0a/").unwrap();
        let mode = file.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("url=http://127.0.0.1:1/0a/\""), "{text}");
    }
}
