// SPDX-License-Identifier: MIT
//! `lull view --trace-server`: the traces for viewers that speak the Trace Server Protocol.
//!
//! Place in the flow: opens what `lull view` would open, and lets the crate `view` serve it. Where
//! a viewer asks for some of the traces only, they are opened once more, without the others: their
//! states are in an index of their own.

use ::view::TraceServer;

use super::{tell, Opened, ViewArgs};
use crate::chosen::{self, Chosen};

/// Runs the command; the result is the exit status.
pub fn run(args: &ViewArgs, port: u16) -> anyhow::Result<i32> {
    let server = TraceServer::bind(port, &args.allow_origin)?;
    let chosen = chosen::choose(&args.traces, "view")?;
    let whole = Opened::new(&chosen)?.viewed();
    let folders = chosen.folders;
    let opener = move |numbers: &[usize]| {
        let some = numbers.iter().filter_map(|number| folders.get(*number)).cloned();
        let some = Chosen { folders: some.collect(), notes: Vec::new() };
        Opened::new(&some).map(Opened::viewed).map_err(|error| crate::told(&error))
    };
    tell(&server.url(), "the trace server", args.print_url)?;
    server.serve(whole, Box::new(opener))?;
    Ok(0)
}
