// SPDX-License-Identifier: MIT
//! Which thread each processor runs, and where each thread is, as the scheduler's events tell.
//!
//! Place in the flow: in traces whose events name no thread, `streams` asks here. A kernel's
//! `sched_switch` names the thread that goes and the one that comes; between two of them all events
//! of the processor are of one thread. After a loss of the processor's, which may have been of a
//! switch, it is not known who runs until the next one. `places` has what that means to threads.
//! Where only the switches from and to a program's threads are recorded, `followed` knows these
//! threads: of nothing else it is known for how long it runs, is ready to run or sleeps.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use trace::{CpuId, Event, EventClass, Ns, Trace, Value};
use verdict::thinned::KernelOf;

use crate::calls::Calls;
use crate::changes::{Change, Notes};
use crate::classes::event_name;
use crate::followed::Followed;
use crate::left_out::switches;
use crate::names::ShortName;
use crate::places::{Numbers, Place, Places, Stay};
use crate::threads::{ThreadIndex, Threads};

/// The events as the kernel calls them, LTTng and tracefs with the kernel. Those that tell which
/// threads are a program's are tracefs's.
const SWITCHES: [&str; 2] = ["sched_switch", "sched:sched_switch"];
const WAKEUPS: [&str; 2] = ["sched_wakeup", "sched:sched_wakeup"];
const WAKEUPS_OF_NEW: [&str; 2] = ["sched_wakeup_new", "sched:sched_wakeup_new"];
/// What whoever wakes a thread tells a little earlier: it counts where there are no wake-ups.
const WAKINGS: [&str; 2] = ["sched_waking", "sched:sched_waking"];
const THREAD_BEGINS: &str = "task:task_newtask";
const THREAD_ENDS: &str = "sched:sched_process_exit";
const SYSTEM_CALLS: &str = "syscalls:sys_";

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
    Begins {
        thread: usize,
    },
    Ends,
    Calls,
}

impl Told {
    fn of(class: &EventClass, whose: KernelOf, has_wakeups: bool) -> Option<Self> {
        let field = |names: [&str; 2]| names.iter().find_map(|name| class.field_index(name));
        let name = event_name(class);
        let is_waking = !has_wakeups && WAKINGS.contains(&name);
        if is_waking || WAKEUPS.contains(&name) || WAKEUPS_OF_NEW.contains(&name) {
            let woken = field(["tid", "pid"])?;
            return Some(Told::Wakeup { woken, name: class.field_index("comm") });
        }
        if matches!(whose, KernelOf::Program(_)) {
            match name {
                THREAD_BEGINS => return Some(Told::Begins { thread: field(["pid", "tid"])? }),
                THREAD_ENDS => return Some(Told::Ends),
                _ if name.starts_with(SYSTEM_CALLS) => return Some(Told::Calls),
                _ => {}
            }
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
    /// Of each trace, whose switches there are.
    whose: Vec<KernelOf>,
    followed: Followed,
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
            whose: Vec::new(),
            followed: Followed::default(),
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
        self.whose = switches(traces, &SWITCHES);
        let has_wakeups =
            |trace: &Trace| trace.event_classes().any(|class| WAKEUPS.contains(&event_name(class)));
        let with_wakeups = traces.iter().zip(hosts).filter(|(trace, _)| has_wakeups(trace));
        let with_wakeups: Vec<u32> = with_wakeups.map(|(_, host)| *host).collect();
        let of_trace = |((trace, whose), host): ((&Trace, &KernelOf), &u32)| {
            let has_wakeups = with_wakeups.contains(host);
            let told = trace.event_classes().map(|class| Told::of(class, *whose, has_wakeups));
            told.collect::<Vec<Option<Told>>>()
        };
        let told: Vec<_> = traces.iter().zip(&self.whose).zip(hosts).map(of_trace).collect();
        for (whose, host) in self.whose.iter().zip(hosts) {
            if let KernelOf::Program(pid) = *whose {
                self.followed.expect(*host, i64::try_from(pid).unwrap_or(0));
            }
        }
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
        let is_whole = self.whose.get(event.trace_index()) == Some(&KernelOf::Machine);
        match told {
            Told::Begins { thread } => {
                let Some(tid) = number(thread) else { return };
                self.followed.begins(host, tid);
                if self.followed.is_first(host, tid) {
                    self.ends((host, cpu), by, at, threads);
                }
            }
            Told::Calls => {
                threads.tid(by).into_iter().for_each(|tid| self.followed.calls(host, tid));
            }
            Told::Ends => self.ends((host, cpu), by, at, threads),
            Told::Wakeup { woken, name: called } => {
                let tid = number(woken).filter(|tid| *tid != 0);
                if let Some(tid) = tid.filter(|tid| is_whole || self.followed.has(host, *tid)) {
                    let woken = threads.scheduled(host, cpu.0, tid, name(called));
                    self.places.woken((host, woken), at);
                }
            }
            Told::Switch { gone, gone_name, state, comes, comes_name } => {
                if let Some(tid) = number(gone) {
                    let thread = threads.scheduled(host, cpu.0, tid, name(gone_name));
                    if is_whole && self.on(host, cpu).is_none() {
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
                    let is_known = place == Place::Over || is_whole;
                    let place = match is_known || self.followed.has(host, tid) {
                        true => place,
                        false => Place::Unknown,
                    };
                    if place == Place::Over {
                        calls.thread_ended(thread);
                    }
                    self.stops((host, cpu), (tid, thread), Stay { place, since: at, call });
                }
                if let Some(tid) = number(comes) {
                    let thread = threads.scheduled(host, cpu.0, tid, name(comes_name));
                    match is_whole || self.followed.has(host, tid) {
                        true => self.runs((host, cpu), (tid, thread), at),
                        false => self.runs_unseen((host, cpu), thread, at),
                    }
                }
            }
        }
    }

    /// A thread is followed no more: of what it does next, it is not known what is recorded.
    fn ends(&mut self, (host, cpu): (u32, CpuId), thread: ThreadIndex, at: Ns, threads: &Threads) {
        threads.tid(thread).into_iter().for_each(|tid| self.followed.ends(host, tid));
        self.runs_unseen((host, cpu), thread, at);
    }

    /// A processor runs a thread, nobody knows until when.
    fn runs_unseen(&mut self, (host, cpu): (u32, CpuId), thread: ThreadIndex, at: Ns) {
        if self.threads.remove(&(host, cpu)).is_some() {
            self.notes.add(Change::Processor(host, cpu.0));
        }
        self.places.unknown((host, thread), at);
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
