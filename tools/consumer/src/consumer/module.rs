// SPDX-License-Identifier: MIT
//! The kernel's events in the trace, where the module is loaded: rings as those of programs are.
//!
//! Place in the flow: `consumer` reads them in its turns with all others. What is different is who
//! begins and ends: the kernel, when it is told to.

use super::{note, Consumer};
use crate::output::Output;
use crate::stacks::Addresses;
use kernel::symbols::{OfModules, Symbols};
use session::abi::KernelEnable;
use session::Memory;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use trace::{symbols_text, Symbol};
use verdict::text::plural;
use verdict::Verdict;

pub(super) struct Module {
    memory: Arc<Memory>,
    /// The names of the session's own events, by their numbers.
    sources: Vec<String>,
    problems: Vec<String>,
    /// Functions of modules when recording began; where that is not known, theirs have no names.
    earlier: OfModules,
}

impl Module {
    fn new(memory: Arc<Memory>, sources: Vec<String>) -> Self {
        Self { memory, sources, problems: Vec::new(), earlier: OfModules::default() }
    }

    /// Lets the kernel's probes record, or stops them all, by the session's one flag.
    pub fn record(&self, is_on: bool) {
        self.memory.set_active(is_on);
    }

    /// What a session of the kernel's left, whose counts of refused events are in the verdict.
    pub fn of_left(memory: &Arc<Memory>) -> Option<Self> {
        memory.is_kernels().then(|| Self::new(Arc::clone(memory), Vec::new()))
    }
}

impl Consumer {
    /// Records the kernel's events, too, in memory that the module made. They begin when
    /// [`Consumer::begin_kernel`] says so. `sources`: the names of the events that were added.
    pub fn add_module(
        &mut self,
        memory: Arc<Memory>,
        sources: Vec<String>,
    ) -> Result<(), crate::Error> {
        let rings = self.rings(&memory)?;
        self.add_rings(&memory, rings);
        let mut module = Module::new(memory, sources);
        if self.tools.walker.records_stacks() {
            // What cannot be read now is told at the end.
            let symbols = Symbols::read().ok().flatten();
            module.earlier = symbols.map(|symbols| symbols.of_modules()).unwrap_or_default();
        }
        self.module = Some(module);
        Ok(())
    }

    /// Leaves the names of the kernel's functions beside the trace, for the call stacks in it.
    pub(super) fn name_functions(&self, verdict: &mut Verdict) {
        let Some(Module { memory, earlier, .. }) = &self.module else { return };
        let Some(trace) = self.tools.trace.as_ref().filter(|_| !memory.is_past()) else { return };
        let addresses = self.tools.walker.addresses();
        verdict.notes.extend(name_functions(&trace.output, addresses, earlier));
    }

    pub(super) fn begin_module(&mut self) -> Result<(), crate::Error> {
        let Some(Module { memory, problems, .. }) = &mut self.module else { return Ok(()) };
        let Some(device) = memory.device() else { return Ok(()) };
        let answer = device.enable().map_err(|source| crate::Error::Module { source })?;
        if answer.enabled_count == 0 {
            let why = not_enabled(&answer).join("; ");
            return Err(kernel::Error::NothingEnabled { why }.into());
        }
        // They are the same again where the events have changed.
        for problem in not_enabled(&answer) {
            note(problems, problem);
        }
        Ok(())
    }

    /// Ends the kernel's events; those that had begun are whole when this returns.
    pub(super) fn stop_module(&mut self) {
        let Some(Module { memory, sources, problems, .. }) = &mut self.module else { return };
        memory.set_active(false);
        let stopped = memory.device().map_or(Ok(()), |device| device.disable());
        if let Err(error) = stopped {
            problems.push(format!("the kernel's events could not be stopped: {error}"));
        }
        let Some(device) = memory.device() else { return };
        for (number, name) in sources.iter().enumerate() {
            problems.extend(missed(name, device.missed(number)));
        }
    }

    /// What is missing of the kernel's events, one sentence for each thing.
    pub(super) fn missing_of_module(&self) -> impl Iterator<Item = String> + '_ {
        self.module.iter().flat_map(|Module { memory, problems, .. }| {
            let count = memory.live().recursion_count.load(Ordering::Relaxed);
            problems.iter().cloned().chain(refused(count))
        })
    }
}

/// Writes which functions of the kernel that runs are around the addresses. Return: what there is
/// to tell, where not all could be done.
pub fn name_functions(
    output: &Output,
    addresses: &Addresses,
    earlier: &OfModules,
) -> Option<String> {
    if addresses.is_empty() {
        return None;
    }
    let why = match Symbols::read() {
        Ok(Some(symbols)) => {
            let functions = symbols.functions(addresses.iter(), earlier).into_iter();
            let symbols =
                functions.map(|of| Symbol { begin: of.begin, until: of.until, name: of.name });
            match output.write_symbols(&symbols_text(symbols.collect())) {
                Ok(()) if addresses.is_full => "there are too many addresses".into(),
                Ok(()) => return None,
                Err(error) => format!("they could not be written: {error}"),
            }
        }
        Ok(None) => "/proc/kallsyms shows this user no addresses (kernel.kptr_restrict)".into(),
        Err(error) => format!("/proc/kallsyms: {error}"),
    };
    Some(format!("functions in the kernel's call stacks have no names: {why}"))
}

/// What the verdict says of events that no ring's counts have.
fn refused(count: u32) -> Option<String> {
    let many = plural(count.into(), "event");
    (count > 0).then(|| format!("{many} of the kernel's, refused inside of another event's probe"))
}

/// What the verdict says of a source that the kernel could not always hand to its probe.
fn missed(name: &str, count: std::io::Result<u64>) -> Option<String> {
    match count {
        Ok(0) => None,
        Ok(count) => Some(format!("{} of {name}, which the kernel missed", plural(count, "hit"))),
        Err(error) => Some(format!("how many hits of {name} the kernel missed: {error}")),
    }
}

/// What the verdict says of events that are asked for and are not recorded. Those whose tracepoint
/// this kernel does not have now are not there, as they are not in tracefs then.
fn not_enabled(answer: &KernelEnable) -> Vec<String> {
    let counts = [
        (answer.failed_count, "could not be enabled: the kernel refused"),
        (answer.undescribed_count, "could not be enabled: the session's table of events is full"),
    ];
    let failed = counts.into_iter().filter(|(count, _)| *count > 0);
    let events =
        failed.map(|(count, why)| format!("{} {why}", plural(count.into(), "kernel event")));
    let unused = answer.unused_filter_count;
    let filters = (unused > 0).then(|| {
        format!("{} of events that the kernel no longer has", plural(unused.into(), "filter"))
    });
    events.chain(filters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_probes_refused_are_missing_and_none_are_not() {
        assert_eq!(refused(0), None);
        let told = "2 events of the kernel's, refused inside of another event's probe";
        assert_eq!(refused(2).as_deref(), Some(told));
    }

    #[test]
    fn hits_that_the_kernel_missed_are_told_with_the_name_of_their_event() {
        assert_eq!(missed("own:open", Ok(0)), None);
        let told = missed("own:open", Ok(2));
        assert_eq!(told.as_deref(), Some("2 hits of own:open, which the kernel missed"));
        assert!(missed("own:open", Err(std::io::ErrorKind::InvalidInput.into())).is_some());
    }

    #[test]
    fn events_that_the_kernel_refused_are_counted_and_those_it_does_not_have_are_none() {
        assert!(not_enabled(&KernelEnable { absent_count: 3, ..Default::default() }).is_empty());
        let answer = KernelEnable {
            failed_count: 2,
            undescribed_count: 1,
            unused_filter_count: 1,
            ..Default::default()
        };
        assert_eq!(
            not_enabled(&answer),
            [
                "2 kernel events could not be enabled: the kernel refused",
                "1 kernel event could not be enabled: the session's table of events is full",
                "1 filter of events that the kernel no longer has",
            ]
        );
    }
}
