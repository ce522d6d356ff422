// SPDX-License-Identifier: MIT
//! Which thread each processor runs, and where each thread is, as the scheduler's events tell.
//!
//! Place in the flow: in traces whose events name no thread, `streams` asks here. A kernel's
//! `sched_switch` names the thread that goes and the one that comes; between two of them all events
//! of the processor are of one thread. After a loss of the processor's, which may have been of a
//! switch, it is not known who runs until the next one. `places` has what that means to threads.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use trace::{CpuId, Event, EventClass, Ns, Trace, Value};

use crate::calls::Calls;
use crate::changes::{Change, Notes};
use crate::classes::event_name;
use crate::names::ShortName;
use crate::places::{Numbers, Place, Places, Stay};
use crate::threads::{ThreadIndex, Threads};

/// The events as the kernel calls them, LTTng and tracefs with the kernel.
const SWITCHES: [&str; 2] = ["sched_switch", "sched:sched_switch"];
const WAKEUPS: [&str; 4] =
    ["sched_wakeup", "sched:sched_wakeup", "sched_wakeup_new", "sched:sched_wakeup_new"];

/// What an event of the scheduler's says, by positions of its fields.
#[derive(Debug, Clone, Copy)]
enum Told {
    Switch {
        gone: usize,
        gone_name: Option<usize>,
        state: Option<usize>,
        comes: usize,
        comes_name: Option<usize>,
    },
    Wakeup {
        woken: usize,
        name: Option<usize>,
    },
}

impl Told {
    fn of(class: &EventClass) -> Option<Self> {
        let field = |names: [&str; 2]| names.iter().find_map(|name| class.field_index(name));
        let name = event_name(class);
        if WAKEUPS.contains(&name) {
            let woken = field(["tid", "pid"])?;
            return Some(Told::Wakeup { woken, name: class.field_index("comm") });
        }
        if !SWITCHES.contains(&name) {
            return None;
        }
        Some(Told::Switch {
            gone: field(["prev_tid", "prev_pid"])?,
            gone_name: class.field_index("prev_comm"),
            state: class.field_index("prev_state"),
            comes: field(["next_tid", "next_pid"])?,
            comes_name: class.field_index("next_comm"),
        })
    }
}

/// What the scheduler told of each processor and each thread.
#[derive(Debug)]
pub(crate) struct Running {
    /// By trace and by number of the class.
    told: Vec<Vec<Option<Told>>>,
    /// Whether each trace is a kernel's, as LTTng says.
    is_of_kernel: Vec<bool>,
    /// What each trace's numbers of states mean.
    numbers: Vec<Numbers>,
    /// Whether a trace of a machine, by its number, has switches.
    has_switches: Vec<bool>,
    /// By machine and processor.
    threads: FxHashMap<(u32, CpuId), ThreadIndex>,
    pub places: Places,
    /// Until when losses that are known may go on, by machine and processor.
    losing: BTreeMap<(u32, Option<CpuId>), Ns>,
    losing_until: Ns,
    pub notes: Notes<Change>,
}

impl Running {
    pub fn new(traces: &[Trace], hosts: &[u32]) -> Self {
        let mut running = Self {
            told: Vec::new(),
            is_of_kernel: Vec::new(),
            numbers: Vec::new(),
            has_switches: Vec::new(),
            threads: FxHashMap::default(),
            places: Places::default(),
            losing: BTreeMap::new(),
            losing_until: Ns(i64::MAX),
            notes: Notes::default(),
        };
        running.describe_again(traces, hosts);
        running
    }

    /// Takes over what the metadata says of the scheduler's events.
    pub fn describe_again(&mut self, traces: &[Trace], hosts: &[u32]) {
        let of_trace =
            |trace: &Trace| trace.event_classes().map(Told::of).collect::<Vec<Option<Told>>>();
        let told: Vec<_> = traces.iter().map(of_trace).collect();
        let mut has_switches = vec![false; traces.len()];
        for (host, told) in hosts.iter().zip(&told) {
            if let Some(has_any) = has_switches.get_mut(*host as usize) {
                *has_any |= told.iter().any(|told| matches!(told, Some(Told::Switch { .. })));
            }
        }
        let release =
            |trace: &Trace| trace.metadata().environment_text("kernel_release").map(Numbers::of);
        let is_of_kernel =
            |trace: &Trace| trace.metadata().environment_text("domain") == Some("kernel");
        self.told = told;
        self.is_of_kernel = traces.iter().map(is_of_kernel).collect();
        self.numbers = traces.iter().map(|trace| release(trace).unwrap_or_default()).collect();
        self.has_switches = has_switches;
    }

    /// Whether a trace of another tracer is a kernel's.
    pub fn is_of_kernel(&self, trace_index: usize) -> bool {
        self.is_of_kernel.get(trace_index).copied().unwrap_or(false)
    }

    /// Whether any event tells what a machine's processors run.
    pub fn is_told(&self, host: u32) -> bool {
        self.has_switches.get(host as usize).copied().unwrap_or(false)
    }

    /// The thread that a processor runs, if that is known.
    pub fn on(&self, host: u32, cpu: CpuId) -> Option<ThreadIndex> {
        self.threads.get(&(host, cpu)).copied()
    }

    /// Every processor of which it is known what it runs, with its machine.
    pub fn all(&self) -> impl Iterator<Item = (u32, CpuId, ThreadIndex)> + '_ {
        self.threads.iter().map(|((host, cpu), thread)| (*host, *cpu, *thread))
    }

    /// Takes over what an event of the scheduler's tells. `by`: the thread that the event is of.
    pub fn event(
        &mut self,
        event: &Event<'_>,
        (host, by): (u32, ThreadIndex),
        threads: &mut Threads,
        calls: &mut Calls,
    ) {
        let told = self.told.get(event.trace_index());
        let Some(told) = told.and_then(|all| *all.get(event.class().index)?) else { return };
        let Some(cpu) = event.cpu() else { return };
        let number = |field| event.value(field).and_then(|value| value.as_i64());
        let name = |field: Option<usize>| match event.value(field?)? {
            Value::Text(bytes) => Some(ShortName::new(bytes)),
            _ => None,
        };
        let at = event.time_ns();
        match told {
            Told::Wakeup { woken, name: called } => {
                if let Some(tid) = number(woken).filter(|tid| *tid != 0) {
                    let woken = threads.scheduled(host, cpu.0, tid, name(called));
                    self.places.woken((host, woken), at);
                }
            }
            Told::Switch { gone, gone_name, state, comes, comes_name } => {
                if let Some(tid) = number(gone) {
                    let thread = threads.scheduled(host, cpu.0, tid, name(gone_name));
                    if self.on(host, cpu).is_none() {
                        // All since the trace began, or since the last loss, was of this thread.
                        calls.hand_over(by, thread);
                        calls.is_sure(host, thread);
                    }
                    let numbers =
                        self.numbers.get(event.trace_index()).copied().unwrap_or_default();
                    let place = state
                        .and_then(number)
                        .map_or(Place::Unknown, |state| numbers.stopped_in(state));
                    let call = calls.innermost(thread).map(|call| call.pair);
                    self.stops((host, cpu), (tid, thread), Stay { place, since: at, call });
                }
                if let Some(tid) = number(comes) {
                    let thread = threads.scheduled(host, cpu.0, tid, name(comes_name));
                    self.runs((host, cpu), (tid, thread), at);
                }
            }
        }
    }

    fn stops(&mut self, (host, cpu): (u32, CpuId), (tid, thread): (i64, ThreadIndex), stay: Stay) {
        let other = self.on(host, cpu).filter(|known| *known != thread);
        if let Some(other) = other {
            // The switch between the two is missing.
            self.places.unknown((host, other), stay.since);
        }
        if tid != 0 {
            self.places.moved((host, thread), stay);
        }
    }

    fn runs(&mut self, (host, cpu): (u32, CpuId), (tid, thread): (i64, ThreadIndex), at: Ns) {
        if let Place::Running(before) = self.places.of(thread).place {
            if before != cpu && self.on(host, before) == Some(thread) {
                self.threads.remove(&(host, before));
                self.notes.add(Change::Processor(host, before.0));
            }
        }
        self.threads.insert((host, cpu), thread);
        self.notes.add(Change::Processor(host, cpu.0));
        if tid != 0 {
            let stay = Stay { place: Place::Running(cpu), since: at, call: None };
            self.places.moved((host, thread), stay);
        }
    }

    /// Events were lost from `at` on: on one processor, or nobody knows on which. `until`: the
    /// packet's end that tells of the loss, if more may have been lost up to there.
    pub fn loss(&mut self, (host, cpu): (u32, Option<CpuId>), at: Ns, until: Option<Ns>) {
        self.forget((host, cpu), at);
        if let Some(until) = until {
            let known = self.losing.entry((host, cpu)).or_insert(until);
            *known = (*known).max(until);
            self.losing_until = self.losing.values().copied().min().unwrap_or(Ns(i64::MAX));
        }
    }

    fn forget(&mut self, (host, cpu): (u32, Option<CpuId>), at: Ns) {
        let lost: Vec<CpuId> = match cpu {
            Some(cpu) => vec![cpu],
            None => self.all().filter(|(of, ..)| *of == host).map(|(_, cpu, _)| cpu).collect(),
        };
        let gone = lost.into_iter().filter_map(|cpu| {
            let thread = self.threads.remove(&(host, cpu))?;
            Some((cpu, thread))
        });
        let gone: Vec<(CpuId, ThreadIndex)> = gone.collect();
        for (cpu, thread) in gone {
            self.notes.add(Change::Processor(host, cpu.0));
            self.places.unknown((host, thread), at);
        }
        self.places.loss(host, at);
    }

    /// Whether events may be missing now.
    pub fn is_losing(&self) -> bool {
        !self.losing.is_empty()
    }

    /// Whether events of a machine may be missing now.
    pub fn is_losing_on(&self, host: u32) -> bool {
        self.losing.keys().any(|(of, _)| *of == host)
    }

    /// When the first of the losses is over that may go on.
    #[inline]
    pub fn losing_until(&self) -> Ns {
        self.losing_until
    }

    /// The end of the first loss that is over by `now`: what was told during it is forgotten.
    pub fn loss_ends(&mut self, now: Ns) -> Option<(u32, Option<CpuId>, Ns)> {
        // Bound: the processors of the traces' streams.
        let over = self.losing.iter().filter(|(_, until)| **until < now);
        let (&(host, cpu), &until) = over.min_by_key(|(_, until)| **until)?;
        self.losing.remove(&(host, cpu));
        self.losing_until = self.losing.values().copied().min().unwrap_or(Ns(i64::MAX));
        self.forget((host, cpu), until);
        Some((host, cpu, until))
    }
}
