// SPDX-License-Identifier: MIT
//! `lull export --html`: the viewer's page with a part of a trace in it, as one file.
//!
//! Place in the flow: opens the traces as `lull view` does, and lets the crate `view` write the
//! page with what the selection takes. States are those of the range, events those of the
//! selection.

use std::io::ErrorKind;

use anyhow::Context;
use verdict::text::plural;

use super::{default_path, shown_name, ExportArgs, Output, DONE, INCOMPLETE};
use crate::selection::{Selection, SelectionArgs};
use crate::{chosen, say, stdout, view};

/// Runs the command; the result is the exit status.
pub fn run(args: &ExportArgs) -> anyhow::Result<i32> {
    view::need_page()?;
    let selection = Selection::new(&args.selection)?;
    let chosen = chosen::choose(&args.traces, "export")?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_path(&chosen.folders, "html")?,
    };
    let mut output = Output::new(&path, args.output.is_some())?;
    let opened = view::Opened::new(&chosen)?;
    let span = selection.span(&opened.traces, false)?;
    let is_whole = !opened.is_incomplete;
    let SelectionArgs { events, pid, tid, cpu, comm, .. } = &args.selection;
    let filter = ::view::Filter {
        events: events.clone(),
        pid: pid.clone(),
        tid: tid.clone(),
        cpu: cpu.clone(),
        comm: comm.clone(),
    };
    let viewed = opened.viewed();
    let written = viewed.write_single(&span, &filter, args.max_size, &mut output);
    let single = match written {
        Err(::view::SingleError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(DONE);
        }
        Err(error @ ::view::SingleError::TooLarge { .. }) => {
            return Err(error).context(format!(
                "{} was not written: choose a shorter range, or a larger --max-size",
                path.display()
            ));
        }
        written => written.with_context(|| format!("{} was not written", path.display()))?,
    };
    match output.keep(&path, args.output.is_some()) {
        Err(error) if stdout::is_closed(&error) => return Ok(DONE),
        kept => kept?,
    }
    viewed.name_notes().iter().for_each(|note| say(note));
    let name = shown_name(&path);
    let events = plural(single.events, "event");
    say(&format!("{name}: {events} in {} bytes, for any browser", single.bytes));
    if single.lost > 0 {
        say(&format!("in its range are lost: {} events or packets", single.lost));
    }
    Ok(if is_whole && single.lost == 0 && single.events > 0 { DONE } else { INCOMPLETE })
}
