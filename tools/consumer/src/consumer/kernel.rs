// SPDX-License-Identifier: MIT
//! The kernel's events in the trace, through tracefs: one more stream class, with a stream for each
//! CPU.
//!
//! Place in the flow: `consumer` takes a round now and then, as it takes turns over the rings; the
//! crate `kernel` gives packets, which are written as those of rings are. The kernel's buffers are
//! its own, so nothing in them needs to be checked for what a program may have done to it.

use super::channel::judge_stream;
use super::{Consumer, Progress};
use crate::drain::{Tally, Tools};
use crate::metadata::KERNEL_CLASS;
use crate::stream::{Packet, Stream};
use crate::view::View;
use kernel::{Sink, Tracing};
use session::abi::LOST_CAUSES;
use session::description::Description;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verdict::environment::entries;
use verdict::thinned::KernelOf;
use verdict::Verdict;

/// How often to look. At the highest rates that were seen, the default buffers last several times
/// as long.
const PAUSE: Duration = Duration::from_millis(10);

/// Events that one sentence names.
const NAMED_MAX: usize = 8;

pub(super) struct Kernel {
    tracing: Tracing,
    /// What to tell the walker of events.
    source: usize,
    lanes: Vec<Lane>,
    looked: Instant,
    problems: Vec<String>,
}

/// The stream of one CPU.
struct Lane {
    cpu: u32,
    stream: Stream,
    tally: Tally,
    lost: [u64; LOST_CAUSES],
}

/// Writes what a round gives.
struct Writer<'a> {
    tools: &'a mut Tools,
    source: usize,
    lanes: &'a mut [Lane],
}

impl Sink for Writer<'_> {
    fn describe(&mut self, id: u32, description: &Description) {
        self.tools.walker.describe(self.source, id, description.clone());
    }

    fn packet(&mut self, cpu: usize, packet: &kernel::Packet, lost: [u64; LOST_CAUSES]) {
        let Some(Lane { stream, tally, lost: last, .. }) = self.lanes.get_mut(cpu) else { return };
        *last = lost;
        if self.tools.limit_reached {
            return;
        }
        let words = packet.words();
        // SAFETY: the words outlive the view and are all of its length.
        let view = unsafe { View::new(words.as_ptr().cast(), size_of_val(words)) };
        let written = Packet {
            begin_cycles: packet.begin_cycles,
            end_cycles: packet.end_cycles,
            lost,
            prelude: None,
            view,
            from: 0,
            until: packet.content_bytes(),
        };
        self.tools.write(stream, tally, &written, packet.events);
    }
}

impl Kernel {
    fn writer<'a>(&'a mut self, tools: &'a mut Tools) -> (&'a mut Tracing, Writer<'a>) {
        let Self { tracing, source, lanes, .. } = self;
        (tracing, Writer { tools, source: *source, lanes })
    }

    /// Stops it; what goes wrong then is told in the verdict.
    fn stop(&mut self) {
        if let Err(error) = self.tracing.stop() {
            self.problems.push(format!("the kernel's events could not be stopped: {error}"));
        }
    }

    /// How long until the next look.
    fn pause(&self) -> Duration {
        PAUSE.saturating_sub(self.looked.elapsed())
    }
}

impl Consumer {
    /// Records the kernel's events, too. It begins when the tracing does.
    pub fn add_kernel(&mut self, tracing: Tracing) {
        let (folder, uuid) = (self.output.folder(), self.session.memory.fixed().uuid);
        let lane = |cpu: u32| {
            let name = format!("stream-kernel-cpu{cpu}");
            let (folder, start) = (Arc::clone(folder), self.start_cycles);
            let stream = Stream::new(folder, name, uuid, KERNEL_CLASS, cpu, start);
            Lane { cpu, stream, tally: Tally::default(), lost: [0; LOST_CAUSES] }
        };
        let lanes = tracing.cpus().into_iter().map(lane).collect();
        let source = self.tools.walker.add_class(KERNEL_CLASS);
        let (looked, problems) = (Instant::now(), Vec::new());
        self.kernel = Some(Kernel { tracing, source, lanes, looked, problems });
    }

    /// From now on the kernel's events are recorded, if they are to be, and in a pause after it.
    pub fn begin_kernel(&mut self) -> Result<(), crate::Error> {
        self.begin_module()?;
        let tracing = self.kernel.as_ref().map(|kernel| &kernel.tracing);
        let tracing = tracing.filter(|_| !self.is_paused());
        tracing.map_or(Ok(()), |tracing| Ok(tracing.begin()?))
    }

    /// Records these events of tracefs from now on and no others.
    pub fn follow_kernel(&mut self, events: &[String]) -> Result<(), crate::Error> {
        let tracing = self.kernel.as_mut().map(|kernel| &mut kernel.tracing);
        tracing.map_or(Ok(()), |tracing| Ok(tracing.follow(events)?))
    }

    /// Tells the recording of the kernel's events which process runs the program.
    pub(super) fn expect_in_kernel(&mut self, pid: u32, program: &str) {
        if let Some(kernel) = &mut self.kernel {
            let name = program.rsplit('/').next().unwrap_or(program);
            kernel.tracing.started(pid, name.as_bytes());
            // Of further programs, none is the recorder's own child.
            let whose = KernelOf::of(entries(&self.options.facts.environment));
            if whose == KernelOf::Program(0) {
                KernelOf::Program(pid.into()).entry().into_iter().for_each(|told| self.tell(told));
            }
        }
    }

    pub(super) fn stop_kernel(&mut self) {
        self.stop_module();
        self.kernel.iter_mut().for_each(Kernel::stop);
    }

    /// Lets the kernel's probes record, or stops them for a while.
    pub(super) fn record_kernel(&mut self, is_on: bool) -> Result<(), String> {
        let tracing = self.kernel.as_ref().map(|kernel| &kernel.tracing);
        let switched = tracing.map_or(Ok(()), |tracing| match is_on {
            true => tracing.begin(),
            false => tracing.stop(),
        });
        switched.map_err(|error| error.to_string())?;
        if let Some(module) = &self.module {
            module.record(is_on);
        }
        Ok(())
    }

    /// Takes what the kernel has recorded, if it is time to look. Return: when it is again.
    pub(super) fn look_at_kernel(&mut self, flush: bool) -> Duration {
        let Some(kernel) = &mut self.kernel else { return Duration::MAX };
        if flush || kernel.pause().is_zero() {
            kernel.looked = Instant::now();
            let (tracing, mut writer) = kernel.writer(&mut self.tools);
            tracing.round(flush, &mut writer);
        }
        kernel.pause()
    }

    /// Takes all that the kernel has recorded, and gives back what it was recorded with.
    pub(super) fn finish_kernel(&mut self) {
        let Some(kernel) = &mut self.kernel else { return };
        kernel.stop();
        let (tracing, mut writer) = kernel.writer(&mut self.tools);
        tracing.finish(&mut writer);
        let now = crate::clock::now_cycles();
        let Kernel { tracing, lanes, problems, .. } = kernel;
        for (index, Lane { stream, tally, lost, .. }) in lanes.iter_mut().enumerate() {
            *lost = tracing.lost(index);
            self.tools.write_lost(stream, tally, *lost, now);
        }
        problems.extend(tracing.missing());
        if let Err(error) = tracing.remove() {
            problems.push(format!("what recorded the kernel's events stays behind: {error}"));
        }
    }

    /// Adds what was counted of the kernel's events.
    pub(super) fn judge_kernel(&self, verdict: &mut Verdict, cpus: &mut HashSet<u32>) {
        let Some(Kernel { tracing, lanes, problems, .. }) = &self.kernel else { return };
        for Lane { cpu, stream, tally, lost } in lanes {
            let name = format!("CPU {cpu} of the kernel");
            verdict.kernel_events += tally.events;
            if tally.events > 0 {
                cpus.insert(*cpu);
            }
            judge_stream(verdict, &name, stream, tally, *lost);
        }
        verdict.missing.extend(problems.iter().cloned());
        verdict.missing.extend(not_enabled(tracing.not_enabled()));
    }

    /// Names and levels of the kernel's events that were enabled.
    pub(super) fn kernel_events(&self) -> Vec<(String, u8)> {
        let names = self.kernel.iter().flat_map(|kernel| kernel.tracing.names());
        names.map(|name| (name.clone(), kernel::decode::LEVEL)).collect()
    }

    /// What has happened so far in the kernel's streams.
    pub(super) fn add_kernel_progress(&self, progress: &mut Progress) {
        for Lane { tally, lost, .. } in self.kernel.iter().flat_map(|kernel| &kernel.lanes) {
            progress.add(tally, *lost);
        }
    }
}

/// What the verdict says of events that could not be enabled, by the first one's reason.
fn not_enabled(events: &[(String, String)]) -> Option<String> {
    let (_, why) = events.first()?;
    let mut names: Vec<&str> =
        events.iter().take(NAMED_MAX).map(|(name, _)| name.as_str()).collect();
    let more = format!("{} more", events.len().saturating_sub(NAMED_MAX));
    if events.len() > NAMED_MAX {
        names.push(&more);
    }
    Some(format!("kernel events that could not be enabled: {}: {why}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_could_not_be_enabled_are_named_and_many_are_counted() {
        assert_eq!(not_enabled(&[]), None);
        let event = |number| (format!("a:b{number}"), "no room".to_string());
        let one = not_enabled(&[event(1)]).unwrap();
        assert_eq!(one, "kernel events that could not be enabled: a:b1: no room");
        let many: Vec<_> = (0..20).map(event).collect();
        assert!(not_enabled(&many).unwrap().contains("a:b7, 12 more: no room"));
    }
}
