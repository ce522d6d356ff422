// SPDX-License-Identifier: MIT
//! `lull state`: which processes, threads and descriptors there are at a trace's end.
//!
//! Place in the flow: the `state` crate follows the events; here is what is left after the last.
//! What the trace does not tell is not shown: without a dump of the kernel's state, and without
//! events from before, a process is known from its first event on.

use crate::chosen;
use crate::say;
use crate::shown::{json_shown, shown};
use serde_json::{json, Value};
use state::{Dump, Limits, Process, ProcessIndex, State, Thread};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use trace::{Merge, Message, Trace};

/// Show which processes, threads and descriptors there are at the end of a trace
#[derive(Debug, clap::Args)]
pub struct StateArgs {
    /// Folder with a trace in or below it [default: lull-trace, the newest made here]
    #[arg(value_name = "TRACE")]
    pub trace: Option<PathBuf>,

    /// Print one JSON object per process and line
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &StateArgs) -> anyhow::Result<i32> {
    let named: Vec<PathBuf> = args.trace.iter().cloned().collect();
    let chosen = chosen::choose(&named, "show the state of")?;
    let traces = chosen.folders.iter().map(Trace::open).collect::<Result<Vec<_>, _>>()?;
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                state.event(&event);
            }
            Message::Loss(loss) => state.loss(&loss),
        }
    }
    let text = match args.json {
        true => {
            living(&state).map(|it| json_shown(&as_json(&state, it).to_string()) + "\n").collect()
        }
        false => living(&state).map(|it| as_text(&state, it)).collect::<String>(),
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error)?,
        _ => {}
    }
    for note in chosen.notes {
        say(&note);
    }
    if let Some(missing) = missing(state.dump()) {
        say(missing);
    }
    Ok(i32::from(text.is_empty()))
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

/// Processes with a thread that no event told the end of.
fn living(state: &State) -> impl Iterator<Item = (ProcessIndex, &Process)> {
    let processes = state.threads().processes().iter().enumerate();
    let numbered = processes.map(|(index, process)| (ProcessIndex(index as u32), process));
    numbered.filter(|(_, process)| {
        process.pid.is_some_and(|pid| pid > 0) && threads(state, process).next().is_some()
    })
}

fn threads<'a>(
    state: &'a State,
    process: &'a Process,
) -> impl Iterator<Item = (i64, &'a Thread)> + 'a {
    let living = process.threads.iter().filter(|thread| !state.threads().is_over(**thread));
    living.filter_map(|index| {
        let thread = state.threads().threads().get(index.0 as usize)?;
        Some((state.threads().tid(*index)?, thread))
    })
}

fn as_json(state: &State, (index, process): (ProcessIndex, &Process)) -> Value {
    let threads: Vec<Value> = threads(state, process)
        .map(|(tid, thread)| json!({ "tid": tid, "name": thread.name.text() }))
        .collect();
    let files: Vec<Value> = state
        .descriptors()
        .open(index)
        .map(|(fd, file)| json!({ "fd": fd, "file": file.label(state.texts()) }))
        .collect();
    json!({
        "pid": process.pid,
        "parent_pid": process.parent_pid,
        "name": state.threads().process_name(process, state.texts()),
        "program": state.texts().text(process.path),
        "threads": threads,
        "files": files,
    })
}

fn as_text(state: &State, (index, process): (ProcessIndex, &Process)) -> String {
    let parent = process.parent_pid.map_or(String::new(), |pid| format!(", child of {pid}"));
    let label = state.threads().process_label(index, state.texts());
    let mut text = format!("{}{parent}\n", shown(&label));
    for (tid, thread) in threads(state, process) {
        text += &format!("  thread {tid:<7} {}\n", shown(&thread.name.text()));
    }
    for (fd, file) in state.descriptors().open(index) {
        text += &format!("  {fd:>6}         {}\n", shown(&file.label(state.texts())));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dump_that_is_not_whole_is_told() {
        assert_eq!(missing(Dump::Whole), None);
        let told = [Dump::Absent, Dump::Begun, Dump::CutOff].map(|dump| missing(dump).unwrap());
        assert!(told[0].contains("no dump") && told[1].contains("no end"));
        assert!(told[2].contains("not whole"));
    }
}
