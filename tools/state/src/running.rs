// SPDX-License-Identifier: MIT
//! Which thread each processor runs, where only the scheduler's events tell.
//!
//! Place in the flow: in traces whose events name no thread, `streams` asks here. A kernel's
//! `sched_switch` names the thread that goes and the one that comes; between two of them all events
//! of the processor are of one thread. After a loss of the processor's, which may have been of a
//! switch, it is not known who runs until the next one.

use rustc_hash::FxHashMap;
use trace::{CpuId, Event, EventClass, Trace, Value};

use crate::calls::Calls;
use crate::classes::event_name;
use crate::threads::{ShortName, ThreadIndex, Threads};

/// The event as the kernel calls it, LTTng and tracefs with the kernel.
const SWITCHES: [&str; 2] = ["sched_switch", "sched:sched_switch"];

/// Positions of the fields of a switch.
#[derive(Debug, Clone, Copy)]
struct Switch {
    gone: usize,
    gone_name: Option<usize>,
    comes: usize,
    comes_name: Option<usize>,
}

impl Switch {
    fn of(class: &EventClass) -> Option<Self> {
        if !SWITCHES.contains(&event_name(class)) {
            return None;
        }
        let field = |names: [&str; 2]| names.iter().find_map(|name| class.field_index(name));
        Some(Self {
            gone: field(["prev_tid", "prev_pid"])?,
            gone_name: class.field_index("prev_comm"),
            comes: field(["next_tid", "next_pid"])?,
            comes_name: class.field_index("next_comm"),
        })
    }
}

/// What the scheduler told of each processor.
#[derive(Debug)]
pub(crate) struct Running {
    /// By trace and by number of the class.
    switches: Vec<Vec<Option<Switch>>>,
    /// Whether a trace of a machine, by its number, has switches.
    told: Vec<bool>,
    /// By machine and processor.
    threads: FxHashMap<(u32, CpuId), ThreadIndex>,
}

impl Running {
    pub fn new(traces: &[Trace], hosts: &[u32]) -> Self {
        let of_trace =
            |trace: &Trace| trace.event_classes().map(Switch::of).collect::<Vec<Option<Switch>>>();
        let switches: Vec<_> = traces.iter().map(of_trace).collect();
        let mut told = vec![false; traces.len()];
        for (host, switches) in hosts.iter().zip(&switches) {
            if let Some(told) = told.get_mut(*host as usize) {
                *told |= switches.iter().any(Option::is_some);
            }
        }
        Self { switches, told, threads: FxHashMap::default() }
    }

    /// Whether any event tells what a machine's processors run.
    pub fn is_told(&self, host: u32) -> bool {
        self.told.get(host as usize).copied().unwrap_or(false)
    }

    /// The thread that a processor runs, if that is known.
    pub fn on(&self, host: u32, cpu: CpuId) -> Option<ThreadIndex> {
        self.threads.get(&(host, cpu)).copied()
    }

    /// Takes over what an event tells if it is a switch. `by`: the thread that the event is of.
    pub fn event(
        &mut self,
        event: &Event<'_>,
        (host, by): (u32, ThreadIndex),
        threads: &mut Threads,
        calls: &mut Calls,
    ) {
        let switches = self.switches.get(event.trace_index());
        let Some(switch) = switches.and_then(|all| *all.get(event.class().index)?) else { return };
        let Some(cpu) = event.cpu() else { return };
        let number = |field| event.value(field).and_then(|value| value.as_i64());
        let name = |field: Option<usize>| match event.value(field?)? {
            Value::Text(bytes) => Some(ShortName::new(bytes)),
            _ => None,
        };
        if self.on(host, cpu).is_none() {
            // All since the trace began, or since the last loss, was of the thread that goes.
            if let Some(tid) = number(switch.gone) {
                let gone = threads.scheduled(host, cpu.0, tid, name(switch.gone_name));
                calls.hand_over(by, gone);
            }
        }
        if let Some(tid) = number(switch.comes) {
            let comes = threads.scheduled(host, cpu.0, tid, name(switch.comes_name));
            self.threads.insert((host, cpu), comes);
        }
    }

    /// Events were lost: on one processor, or nobody knows on which.
    pub fn loss(&mut self, host: u32, cpu: Option<CpuId>) {
        self.threads.retain(|(of, on), _| *of != host || cpu.is_some_and(|cpu| cpu != *on));
    }
}
