// SPDX-License-Identifier: MIT
//! The kernel's part of a recording: which of its events, and with what.
//!
//! Place in the flow: `plan` asks before anything is made, so that what cannot be recorded is
//! refused at once; `supervise` prepares the recording when there is a trace to write to.

use super::RecordArgs;
use crate::nearest::no_match;
use crate::say;
use ::kernel::root::Left;
use ::kernel::{wanted, Plan, Root, Scope, Tracing};
use anyhow::bail;
use session::clock::ClockKind;
use session::pattern::Patterns;

/// Packets have at most about this size.
const PACKET_BYTES: usize = 256 << 10;

/// Whose events of the kernel's are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Whose {
    /// Of all processes, but for the recorder
    Machine,
    /// Of the program's processes and their descendants
    Program,
}

/// What is to be recorded of the kernel.
pub struct Kernel {
    root: Root,
    events: Vec<String>,
    scope: Scope,
}

impl Kernel {
    /// None where only programs are to be recorded.
    pub fn find(args: &RecordArgs, patterns: &Patterns) -> anyhow::Result<Option<Self>> {
        if !args.kernel {
            return Ok(None);
        }
        let root = Root::find()?;
        let all = root.events()?;
        let events = wanted(&all, patterns);
        if events.is_empty() {
            let names = all.iter().map(String::as_str);
            bail!("-k: of the kernel's events, {}", no_match(&args.events, names));
        }
        let scope = match args.kernel_of {
            Whose::Machine => Scope::Machine,
            Whose::Program => Scope::Program,
        };
        Ok(Some(Self { root, events, scope }))
    }

    /// The clock that programs and the kernel can both have.
    pub fn clock(&self, wanted: ClockKind) -> ClockKind {
        self.root.clock(wanted)
    }

    /// Makes ready to record; programs of this session are recorded with the same clock.
    pub fn prepare(&self, recording: &super::plan::Plan) -> anyhow::Result<Tracing> {
        let session = &recording.session;
        let token = session.uuid.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let plan = Plan {
            clock: recording.clock,
            buffer_bytes: recording.buffer_bytes,
            packet_bytes: PACKET_BYTES,
            cpu_count: session.cpu_count,
            events: self.events.clone(),
            scope: self.scope,
            token,
        };
        Ok(Tracing::prepare(&self.root, &plan)?)
    }
}

/// The names of all events of the kernel's, with their level; none where they cannot be read.
pub fn known_events() -> Vec<(String, u8)> {
    let names = Root::find().and_then(|root| root.events()).unwrap_or_default();
    names.into_iter().map(|name| (name, ::kernel::decode::LEVEL)).collect()
}

/// Removes what recorders that were killed left in tracefs, and says so. Return: whether there was
/// anything.
pub fn remove_left(is_quiet: bool) -> bool {
    let left = Root::find().map(|root| root.left_behind()).unwrap_or_default();
    for left in &left {
        let told = match left.remove() {
            Ok(()) => format!("{} was removed", left_line(left)),
            Err(error) => format!("{} stays: {error}", left_line(left)),
        };
        if !is_quiet {
            say(&told);
        }
    }
    !left.is_empty()
}

pub fn left_line(left: &Left) -> String {
    format!("{} (of process {}, which was killed)", left.path.display(), left.pid)
}
