// SPDX-License-Identifier: MIT
//! The kernel's part of a companion: a second session of the module's, or a second instance of
//! tracefs, that records the kernel's events of conditions and nothing else.
//!
//! Place in the flow: `plan` asks which events of the kernel's there are; `companion` has this
//! record those that its conditions name, and reads them with those of programs. In the module,
//! probes filter; tracefs gives each event, and the recorder decides.

use super::companion::{untold, SUBBUF_BYTES, SUBBUF_COUNT};
use super::Of;
use crate::elf::{self, Known};
use crate::record::asked::Asked;
use crate::record::kernel::{choose, Chosen};
use ::kernel::decode::Event;
use ::kernel::{wanted, Plan, Root, Scope, Tracing};
use anyhow::{bail, Context as _};
use consumer::metadata::KERNEL_CLASS;
use consumer::Consumer;
use session::clock::ClockKind;
use session::description::Description;
use session::device::{Device, RecordedContext};
use session::pattern::Patterns;
use session::Memory;
use std::sync::Arc;

const PACKET_BYTES: usize = 64 << 10;

/// By what a session records the kernel's events.
#[derive(Debug, Clone)]
pub enum Origin {
    Module,
    Tracefs { root: Root, scope: Scope },
}

/// The kernel's events that conditions may name.
#[derive(Debug, Default)]
pub struct Offered {
    /// Of all.
    pub names: Vec<String>,
    /// Of those that were asked about, at least.
    pub known: Vec<Description>,
}

impl Origin {
    /// The events that there are. `is_asked`: about which to tell more than the name.
    pub fn offered(&self, is_asked: &dyn Fn(&str) -> bool) -> anyhow::Result<Offered> {
        match self {
            Self::Module => {
                let own = elf::module_descriptions().into_iter();
                let all = own.chain(elf::other_descriptions());
                let known: Vec<Description> = all.map(|Known { event, .. }| event).collect();
                let names = known.iter().map(|event| event.name.clone()).collect();
                Ok(Offered { names, known })
            }
            Self::Tracefs { root, .. } => {
                let names = root.events()?;
                let asked = names.iter().filter(|name| is_asked(name));
                // One that cannot be read cannot be recorded, of which the verdict tells.
                let described =
                    asked.filter_map(|name| Some(Event::new(name, root.format(name).ok()?)));
                let known = described.map(|event| event.description).collect();
                Ok(Offered { names, known })
            }
        }
    }

    /// What filters of its events may ask for.
    pub fn filtered(&self) -> filter::Of {
        match self {
            Self::Module => filter::Of::Kernel,
            Self::Tracefs { .. } => filter::Of::Tracefs,
        }
    }
}

/// The kernel's part of a companion.
pub struct Part {
    origin: Origin,
    /// Of the module's session, once there is one.
    memory: Option<Arc<Memory>>,
    has_instance: bool,
}

impl Part {
    pub fn new(origin: &Origin) -> Self {
        Self { origin: origin.clone(), memory: None, has_instance: false }
    }

    /// Records those of the kernel's events that are asked for from now on, and no others. `plan`:
    /// of the companion.
    pub fn follow(
        &mut self,
        asked: &Asked,
        consumer: &mut Consumer,
        plan: &session::Plan,
        of: &Of,
    ) -> anyhow::Result<()> {
        let patterns = Patterns::exactly(asked.patterns())?;
        match self.origin.clone() {
            Origin::Module => self.follow_module(asked, &patterns, consumer, plan),
            Origin::Tracefs { root, scope } => {
                let events = wanted(&root.events()?, &patterns);
                let is_first = !self.has_instance && !events.is_empty();
                if is_first && of.is_late && scope == Scope::Program {
                    bail!(
                        "--kernel-of program: the first condition on the kernel's events has to be \
                         given before the program runs, by --on of `lull record`"
                    );
                }
                self.follow_tracefs(&root, scope, events, consumer, plan)
            }
        }
    }

    fn follow_module(
        &mut self,
        asked: &Asked,
        patterns: &Patterns,
        consumer: &mut Consumer,
        plan: &session::Plan,
    ) -> anyhow::Result<()> {
        let chosen = choose(asked, patterns, &elf::module_descriptions(), None)?;
        let Some(memory) = &self.memory else {
            return match chosen.is_empty() {
                true => Ok(()),
                false => self.begin_module(&chosen, consumer, plan),
            };
        };
        let changed =
            memory.device().map_or(Ok(()), |device| device.change_rules(&chosen.patterns()));
        changed.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOTTY) => anyhow::anyhow!(
                "the module lull is older than this command, and keeps the conditions on the \
                 kernel's events that it has"
            ),
            _ => anyhow::anyhow!(
                "the module lull records the events of conditions as before: {error}"
            ),
        })?;
        chosen.filter(memory)?;
        if !chosen.is_empty() {
            consumer.begin_kernel()?;
        }
        Ok(())
    }

    fn begin_module(
        &mut self,
        chosen: &Chosen,
        consumer: &mut Consumer,
        plan: &session::Plan,
    ) -> anyhow::Result<()> {
        let device = Device::open()?.context("the module lull was unloaded")?;
        let plan = session::Plan { patterns: chosen.patterns(), ..plan.clone() };
        let memory = Memory::of_kernel(device, &plan, KERNEL_CLASS)
            .context("a second session for the kernel's events of conditions")?;
        let contexts = untold(|_| true);
        let context = RecordedContext { contexts, ..RecordedContext::default() };
        memory.device().map_or(Ok(()), |device| device.record_context(&context))?;
        chosen.filter(&memory)?;
        let memory = Arc::new(memory);
        consumer.add_module(Arc::clone(&memory), Vec::new())?;
        self.memory = Some(memory);
        Ok(consumer.begin_kernel()?)
    }

    fn follow_tracefs(
        &mut self,
        root: &Root,
        scope: Scope,
        events: Vec<String>,
        consumer: &mut Consumer,
        session: &session::Plan,
    ) -> anyhow::Result<()> {
        if self.has_instance {
            return Ok(consumer.follow_kernel(&events)?);
        }
        if events.is_empty() {
            return Ok(());
        }
        let kinds = [ClockKind::Tsc, ClockKind::Cntvct, ClockKind::Monotonic];
        let clock = kinds.into_iter().find(|kind| kind.abi() == session.clock_kind);
        let clock = clock.context("the kernel has no such clock as the session")?;
        let token = session.uuid.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let plan = Plan {
            clock,
            buffer_bytes: SUBBUF_BYTES * u64::from(SUBBUF_COUNT),
            packet_bytes: PACKET_BYTES,
            cpu_count: session.cpu_count,
            events,
            scope,
            token,
        };
        consumer.add_kernel(Tracing::prepare(root, &plan)?);
        self.has_instance = true;
        Ok(consumer.begin_kernel()?)
    }
}
