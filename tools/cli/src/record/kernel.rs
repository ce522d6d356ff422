// SPDX-License-Identifier: MIT
//! The kernel's part of a recording: which of its events, and with what.
//!
//! Place in the flow: `plan` asks before anything is made, so that what cannot be recorded is
//! refused at once; `supervise` prepares the recording when there is a trace to write to.

use super::asked::Asked;
use super::{context, SessionArgs};
use crate::elf::Known;
use crate::nearest::no_match;
use crate::say;
use crate::trigger::kernel::Origin;
use ::kernel::decode::LEVEL;
use ::kernel::root::Left;
use ::kernel::{of_modules, wanted, Plan, Root, Scope, Tracing};
use anyhow::{bail, Context};
use consumer::metadata::KERNEL_CLASS;
use consumer::Consumer;
use filter::Compiled;
use session::clock::ClockKind;
use session::device::{Device, RecordedContext, Source};
use session::pattern::Patterns;
use session::Memory;
use std::sync::Arc;
use verdict::thinned::KernelOf;

/// Packets have at most about this size.
const PACKET_BYTES: usize = 256 << 10;

/// How the names of the events begin by which the module dumps the kernel's state.
const STATE: &str = "state:";

/// The event by which readers know what CPUs run.
const SWITCH: &str = "sched:sched_switch";

/// Whose events of the kernel's are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Whose {
    /// Of all processes, but for the recorder
    Machine,
    /// Of the program's processes and their descendants
    Program,
}

/// What is to be recorded of the kernel, and by what.
pub enum Kernel {
    /// A session of the kernel's, which waits to be begun.
    Module {
        memory: Arc<Memory>,
        /// The names of the events that `--probe` asks for.
        sources: Vec<String>,
        /// What the verdict says of filters.
        filtered: Option<String>,
        /// Whether the scheduler's switches have one.
        filters_switches: bool,
    },
    Tracefs {
        root: Root,
        events: Vec<String>,
        scope: Scope,
    },
}

impl Kernel {
    /// None where only programs are to be recorded. `session`: what theirs is to be like.
    pub fn find(
        args: &SessionArgs,
        asked: &Asked,
        patterns: &Patterns,
        session: &session::Plan,
    ) -> anyhow::Result<Option<Self>> {
        if !args.kernel {
            return Ok(None);
        }
        let scope = match args.kernel_of {
            Whose::Machine => Scope::Machine,
            Whose::Program => Scope::Program,
        };
        if scope == Scope::Machine {
            if let Some(module) = in_module(args, asked, patterns, session)? {
                return Ok(Some(module));
            }
        }
        if !args.probes.is_empty() {
            bail!("--probe needs the module lull, and records the whole machine");
        }
        if context::together(&args.contexts) != RecordedContext::default() {
            bail!(
                "--context needs the module lull, with events that the patterns ask for, and can \
                 record only the whole machine"
            );
        }
        if args.flight_recorder {
            bail!(
                "-k with --flight-recorder needs the module lull, with events that the patterns \
                 ask for, and can record only the whole machine: tracefs gives each event once"
            );
        }
        let root = Root::find().map_err(|error| unless_by_module(error, Device::open().err()))?;
        let all = root.events()?;
        let events = wanted(&all, patterns);
        asked.check_kernel(events.iter().map(|name| (name.as_str(), LEVEL)))?;
        let is_filtered = |name: &&String| asked.filter_of(name, LEVEL).is_some();
        if let Some(name) = events.iter().find(is_filtered) {
            bail!(
                "a filter of {name}, which is the kernel's, needs the module lull, with events \
                 that the patterns ask for, and can record only the whole machine"
            );
        }
        if events.is_empty() {
            let names = all.iter().map(String::as_str);
            bail!("-k: of the kernel's events, {}", no_match(asked.patterns(), names));
        }
        Ok(Some(Self::Tracefs { root, events, scope }))
    }

    /// Whose events are recorded.
    pub fn whose(&self) -> KernelOf {
        match self {
            Self::Module { filters_switches: true, .. } => KernelOf::Filter,
            Self::Tracefs { scope: Scope::Program, .. } => KernelOf::Program(0),
            Self::Module { .. } | Self::Tracefs { .. } => KernelOf::Machine,
        }
    }

    /// Where the events of conditions can come from.
    pub fn origin(&self) -> Origin {
        match self {
            Self::Module { .. } => Origin::Module,
            Self::Tracefs { root, scope, .. } => {
                Origin::Tracefs { root: root.clone(), scope: *scope }
            }
        }
    }

    /// The clock that programs and the kernel can both have.
    pub fn clock(&self, wanted: ClockKind) -> ClockKind {
        match self {
            Self::Module { memory, .. } if memory.fixed().clock_kind == wanted.abi() => wanted,
            Self::Module { .. } => ClockKind::Monotonic,
            Self::Tracefs { root, .. } => root.clock(wanted),
        }
    }

    /// Makes ready to record; programs of this session are recorded with the same clock.
    pub fn prepare(
        &self,
        recording: &super::plan::Plan,
        consumer: &mut Consumer,
    ) -> anyhow::Result<()> {
        let (root, events, scope) = match self {
            Self::Module { memory, sources, .. } => {
                return Ok(consumer.add_module(Arc::clone(memory), sources.clone())?)
            }
            Self::Tracefs { root, events, scope } => (root, events, scope),
        };
        let session = &recording.session;
        let token = session.uuid.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let plan = Plan {
            clock: recording.clock,
            buffer_bytes: recording.buffer_bytes,
            packet_bytes: PACKET_BYTES,
            cpu_count: session.cpu_count,
            events: events.clone(),
            scope: *scope,
            token,
        };
        consumer.add_kernel(Tracing::prepare(root, &plan)?);
        Ok(())
    }

    /// What the verdict says of where the kernel's events come from.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Module { filtered, .. } => {
                let note = "the kernel's events were recorded by the module lull".to_string();
                std::iter::once(note).chain(filtered.clone()).collect()
            }
            Self::Tracefs { .. } => vec!["the kernel's events were read from tracefs".into()],
        }
    }
}

/// Which of the kernel's events are recorded, and how they are filtered.
pub struct Chosen {
    /// Names of lull.ko's.
    events: Vec<String>,
    /// Lines of patterns: events of lull.ko's that cannot meet their filter.
    left_out: Vec<String>,
    /// An event's name, the hash of its description, its program.
    programs: Vec<(String, u64, Vec<u8>)>,
    /// What the verdict says of filters.
    filtered: Option<String>,
    /// For modules that are there or may come later.
    of_modules: Option<Patterns>,
    others_count: usize,
}

impl Chosen {
    /// Whether the kernel has no such event now.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.others_count == 0
    }

    /// A session's patterns. Each event of lull.ko's by its name: they are chosen already. Other
    /// modules may come later.
    pub fn patterns(&self) -> String {
        let of_modules = self.of_modules.iter().map(Patterns::text);
        let own = self.left_out.iter().chain(&self.events).map(String::as_str);
        let lines: Vec<&str> = of_modules.chain(own).collect();
        match lines.is_empty() {
            true => "!*".into(), // a session has patterns
            false => lines.join("\n"),
        }
    }

    /// Gives the filters to a session that has none.
    pub fn filter(&self, memory: &Memory) -> anyhow::Result<()> {
        for (name, hash, program) in &self.programs {
            let given = memory.device().map_or(Ok(()), |device| device.filter(*hash, program));
            given.with_context(|| format!("the module lull refuses a filter of {name}"))?;
        }
        Ok(())
    }
}

/// `own`: lull.ko's events. `probes`: those of `--probe`.
pub fn choose(
    asked: &Asked,
    patterns: &Patterns,
    own: &[Known],
    probes: impl IntoIterator<Item = Known>,
) -> anyhow::Result<Chosen> {
    let of_modules = of_modules(patterns);
    let mut others = of_modules.as_ref().map(of_other_modules).unwrap_or_default();
    others.extend(probes);
    let others = &others;
    let names: Vec<String> = own.iter().map(|known| known.event.name.clone()).collect();
    let mut events = wanted(&names, patterns);
    let own: Vec<&Known> = own.iter().filter(|known| events.contains(&known.event.name)).collect();
    let all: Vec<&Known> = own.iter().copied().chain(others).collect();
    asked.check_kernel(all.iter().map(|known| (known.event.name.as_str(), known.event.level)))?;
    let decided = asked.compile(&all)?;
    let filtered = asked.note(decided.len(), "the kernel's");
    let (mut left_out, mut programs) = (Vec::new(), Vec::new());
    for (known, compiled) in decided {
        let name = known.event.name.clone();
        if compiled == Compiled::Never && own.contains(&known) {
            left_out.push(name);
        } else if let Some(program) = compiled.into_program() {
            programs.push((name, known.hash, program));
        }
    }
    events.retain(|name| !left_out.contains(name));
    let left_out = left_out.into_iter().map(|name| format!("!{name}")).collect();
    let others_count = others.len();
    Ok(Chosen { events, left_out, programs, filtered, of_modules, others_count })
}

/// A session of the module's, with the sizes of the programs' and with the events that patterns
/// ask for, filtered. None where there is no module that this process may use, where it has no such
/// event, or where it has a clock that programs cannot have.
fn in_module(
    args: &SessionArgs,
    asked: &Asked,
    patterns: &Patterns,
    session: &session::Plan,
) -> anyhow::Result<Option<Kernel>> {
    let Ok(Some(device)) = Device::open() else { return Ok(None) };
    let device = if args.reserved { device.in_reserved() } else { device };
    let mut known = crate::elf::module_descriptions();
    known.retain(|known| !args.no_state_dump || !known.event.name.starts_with(STATE));
    let probes = args.probes.iter().filter_map(|probe| Known::new(probe.description.as_bytes()));
    let chosen = choose(asked, patterns, &known, probes)?;
    if chosen.is_empty() {
        return Ok(None);
    }
    let plan = session::Plan { patterns: chosen.patterns(), ..session.clone() };
    let memory = Memory::of_kernel(device, &plan, KERNEL_CLASS)?;
    let context = context::together(&args.contexts);
    if context != RecordedContext::default() {
        let told = memory.device().map_or(Ok(()), |device| device.record_context(&context));
        told.map_err(|error| context::refused(&context, &error))?;
    }
    let kind = memory.fixed().clock_kind;
    if ![session.clock_kind, ClockKind::Monotonic.abi()].contains(&kind) {
        return Ok(None);
    }
    chosen.filter(&memory)?;
    for source in &args.probes {
        let added = memory.device().map_or(Ok(()), |device| device.add_source(source));
        added.map_err(|error| refused(source, &error))?;
    }
    let sources = args.probes.iter().map(|source| source.name().to_string()).collect();
    let filters_switches = asked.filter_of(SWITCH, LEVEL).is_some();
    let (memory, filtered) = (Arc::new(memory), chosen.filtered);
    Ok(Some(Kernel::Module { memory, sources, filtered, filters_switches }))
}

/// Why nothing of the kernel's can be recorded: by tracefs, and by the module where that is loaded
/// and cannot be used.
fn unless_by_module(error: ::kernel::Error, of_module: Option<session::Error>) -> anyhow::Error {
    use std::io::ErrorKind::PermissionDenied;
    match of_module {
        Some(session::Error::Device { source, .. }) if source.kind() == PermissionDenied => {
            anyhow::anyhow!(
                "the module lull is loaded, and this user may not open /dev/lull: root may, and \
                 members of the group of that file (`tracing` where `make install-module` made \
                 it); without the module, {error}"
            )
        }
        Some(of_module) => anyhow::anyhow!("{of_module}; without it, {error}"),
        None => error.into(),
    }
}

/// Why the kernel has no probe at a place.
fn refused(source: &Source, error: &std::io::Error) -> anyhow::Error {
    let why = match error.raw_os_error() {
        Some(libc::ENOENT) => "the kernel has no such place",
        Some(libc::EPERM) => "only root may add places, and no kernel that is locked down",
        Some(libc::ENOSPC) => "the session, or the processor's breakpoints, have no room",
        Some(libc::EINVAL) => "no probe can be there, or no field be filled like that",
        Some(libc::ENOTTY) => "this module lull is older than this command",
        _ => return anyhow::anyhow!("--probe: {}: {error}", source.name()),
    };
    anyhow::anyhow!("--probe: {}: {why}", source.name())
}

/// The events of other modules that are loaded, as far as the patterns match them; each description
/// once, because the kernel takes one filter for all of its events.
fn of_other_modules(patterns: &Patterns) -> Vec<Known> {
    let mut found = crate::elf::other_descriptions();
    found.retain(|known| patterns.matches(&known.event.name, known.event.level));
    found.sort_by_key(|known| known.hash);
    found.dedup_by_key(|known| known.hash);
    found
}

fn module_names() -> Vec<String> {
    let events = crate::elf::module_events().into_iter();
    events.map(|event| event.description.name).collect()
}

/// The names of all events of the kernel's, with their level; none where they cannot be read.
pub fn known_events() -> Vec<(String, u8)> {
    let mut names = Root::find().and_then(|root| root.events()).unwrap_or_default();
    names.extend(module_names());
    let events = crate::elf::other_modules().into_iter().flat_map(|(_, events)| events);
    names.extend(events.map(|event| event.description.name));
    names.into_iter().map(|name| (name, LEVEL)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_who_may_use_neither_is_told_of_the_modules_group_and_of_tracefs() {
        let refused = || ::kernel::Error::NotPermitted { path: "/sys/kernel/tracing".into() };
        let of_tracefs = unless_by_module(refused(), None).to_string();
        assert!(of_tracefs.starts_with("/sys/kernel/tracing may not be used"), "{of_tracefs}");
        let failed = |error: i32| {
            let source = std::io::Error::from_raw_os_error(error);
            let doing = "opening /dev/lull";
            unless_by_module(refused(), Some(session::Error::Device { doing, source })).to_string()
        };
        let told = failed(libc::EACCES);
        assert!(told.contains("may not open /dev/lull") && told.contains("`tracing`"), "{told}");
        assert!(told.ends_with(&of_tracefs), "{told}");
        assert!(failed(libc::EBUSY).ends_with(&format!("; without it, {of_tracefs}")));
    }
}
