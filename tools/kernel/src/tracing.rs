// SPDX-License-Identifier: MIT
//! All CPUs of an instance, their events in the order of time, as packets.
//!
//! Place in the flow: `consumer` asks for a round about as often as for turns over rings, and gets
//! packets and, before the first packet that has it, each event's description. What is known of
//! threads changes with events of any CPU, so a round takes the events of all CPUs in the order of
//! time, up to the moment at which it began to read: until then each CPU has told all it had.

use crate::cpu::{Cpu, Stats};
use crate::decode::{number, Event};
use crate::format::{Field, Kind};
use crate::instance::Instance;
use crate::page::Layout;
use crate::root::Root;
use crate::slots::Packet;
use crate::threads::{Thread, Threads, NAME_BYTES};
use crate::{Error, Result};
use session::abi::{EVENT_FIRST, LOST_CAUSES, LOST_FULL, LOST_OVERFLOW};
use session::clock::ClockKind;
use session::description::Description;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SWITCH: &str = "sched:sched_switch";
const THREAD_ENDS: &str = "sched:sched_process_exit";

/// Whose events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everybody's but the recorder's own.
    Machine,
    /// Those of the processes that the recorder starts, and of their descendants.
    Program,
}

/// What to record, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    pub clock: ClockKind,
    /// For each CPU.
    pub buffer_bytes: u64,
    /// Packets that have this size are handed over at once.
    pub packet_bytes: usize,
    pub cpu_count: u32,
    /// As `GROUP:NAME`.
    pub events: Vec<String>,
    pub scope: Scope,
    /// Tells this recording from others of the same process.
    pub token: String,
}

/// Where packets go.
pub trait Sink {
    /// An event that no packet had before.
    fn describe(&mut self, id: u32, description: &Description);
    /// A packet of the CPU of this index, and what it lost since the buffer was made.
    fn packet(&mut self, cpu: usize, packet: &Packet, lost: [u64; LOST_CAUSES]);
}

/// An event that says something of threads, with the places of what it says.
#[derive(Debug, Clone, Copy)]
enum Role {
    Plain,
    NewTask { tid: usize, name: usize, flags: usize },
    Rename { tid: Option<usize>, name: usize },
    Switch { tid: usize, name: usize },
}

#[derive(Debug)]
struct Known {
    event: Event,
    role: Role,
    /// In the trace; None until it is met.
    id: Option<u32>,
}

/// One CPU, and the packet that its next events go to.
#[derive(Debug)]
struct Lane {
    cpu: Cpu,
    packet: Packet,
    stats: Stats,
    /// Why its pages, and its counts, could not be read when that was tried last.
    errors: [Option<Error>; 2],
    /// The thread of the last event, as long as nothing is learned about threads.
    thread: Option<Thread>,
}

impl Lane {
    /// Reads what there is. Return: whether it is all that can be read now.
    fn read(&mut self) -> bool {
        let read = self.cpu.read();
        let is_all = *read.as_ref().unwrap_or(&true);
        self.errors[0] = read.err();
        is_all
    }

    /// Reads what was lost until now.
    fn look(&mut self) {
        match self.cpu.stats() {
            Ok(stats) => (self.stats, self.errors[1]) = (stats, None),
            Err(error) => self.errors[1] = Some(error),
        }
    }

    fn lost(&self) -> [u64; LOST_CAUSES] {
        let mut lost = [0; LOST_CAUSES];
        // Pages tell at once what the counts tell at the next look.
        let overwritten = self.stats.overrun.max(self.cpu.missed);
        lost[LOST_FULL] = overwritten.saturating_add(self.stats.dropped);
        lost[LOST_OVERFLOW] = self.stats.commit_overrun;
        lost
    }
}

/// A recording of the kernel's events.
#[derive(Debug)]
pub struct Tracing {
    root: Root,
    /// Their files are closed before the instance is removed.
    lanes: Vec<Lane>,
    instance: Option<Instance>,
    layout: Layout,
    clock: ClockKind,
    scope: Scope,
    packet_bytes: usize,
    /// By the kernel's number.
    events: Vec<Option<Known>>,
    names: Vec<String>,
    id_at: usize,
    next_id: u32,
    threads: Threads,
    not_enabled: Vec<(String, String)>,
    unknown_events: u64,
    damaged_events: u64,
    stop_error: Option<Error>,
    payload: Vec<u8>,
}

impl Tracing {
    /// Makes an instance and enables the events; none is recorded before [`Tracing::begin`].
    pub fn prepare(root: &Root, plan: &Plan) -> Result<Self> {
        let instance = Instance::create(root, &plan.token)?;
        instance.set_clock(plan.clock)?;
        instance.set_buffers(plan.buffer_bytes)?;
        instance.try_write("options/record-tgid", "1");
        choose_threads(&instance, plan.scope)?;
        let layout = Layout::parse(
            &instance.read("events/header_page")?,
            &instance.read("events/header_event")?,
        )
        .map_err(|why| Error::Format { path: instance.path().join("events"), why })?;
        let page_bytes = instance.page_bytes().unwrap_or(layout.page_bytes);
        let mut tracing = Self {
            root: root.clone(),
            lanes: Vec::new(),
            instance: None,
            layout,
            clock: plan.clock,
            scope: plan.scope,
            packet_bytes: plan.packet_bytes,
            events: Vec::new(),
            names: Vec::new(),
            id_at: 0,
            next_id: EVENT_FIRST,
            threads: Threads::default(),
            not_enabled: Vec::new(),
            unknown_events: 0,
            damaged_events: 0,
            stop_error: None,
            payload: Vec::new(),
        };
        for number in 0..plan.cpu_count {
            let cpu = Cpu::open(instance.path(), number, page_bytes)?;
            let (packet, stats) = (Packet::default(), Stats::default());
            tracing.lanes.push(Lane { cpu, packet, stats, errors: [None, None], thread: None });
        }
        tracing.enable(&instance, &with_ends(plan.scope, &plan.events))?;
        tracing.instance = Some(instance);
        tracing.threads.scan();
        Ok(tracing)
    }

    /// Reads the formats of events and enables those that can be read.
    fn enable(&mut self, instance: &Instance, wanted: &[String]) -> Result<()> {
        let mut readable = Vec::new();
        for name in wanted {
            match self.root.format(name) {
                Ok(format) => {
                    self.id_at = format.id_at;
                    let index = usize::from(format.id);
                    if self.events.len() <= index {
                        self.events.resize_with(index + 1, || None);
                    }
                    if self.events[index].is_none() {
                        let event = Event::new(name, format);
                        let role = role(&event);
                        self.events[index] = Some(Known { event, role, id: None });
                    }
                    readable.push(name.clone());
                }
                Err(error) => self.not_enabled.push((name.clone(), error.to_string())),
            }
        }
        self.not_enabled.extend(instance.enable(&self.root.events()?, &readable));
        let failed = |name: &String| self.not_enabled.iter().any(|(failed, _)| failed == name);
        readable.retain(|name| !failed(name));
        if readable.is_empty() {
            let why = self.not_enabled.first().map_or("none was asked for", |(_, why)| why);
            return Err(Error::NothingEnabled { why: why.to_string() });
        }
        self.names = readable;
        Ok(())
    }

    /// Records these events from now on and no others, those that stay all the time. What there is
    /// of others is read yet.
    pub fn follow(&mut self, wanted: &[String]) -> Result<()> {
        let Some(instance) = self.instance.take() else { return Ok(()) };
        let followed = self.change(&instance, wanted);
        self.instance = Some(instance);
        followed
    }

    fn change(&mut self, instance: &Instance, wanted: &[String]) -> Result<()> {
        let wanted = &with_ends(self.scope, wanted);
        let before = std::mem::take(&mut self.names);
        let new: Vec<String> =
            wanted.iter().filter(|name| !before.contains(name)).cloned().collect();
        let (kept, gone): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|name| wanted.contains(name));
        let begun = match new.is_empty() {
            true => Ok(()),
            false => self.enable(instance, &new),
        };
        self.names.extend(kept);
        begun?;
        instance.disable(&gone)
    }

    /// From now on events are recorded.
    pub fn begin(&self) -> Result<()> {
        self.record(true)
    }

    /// From now on none is.
    pub fn stop(&self) -> Result<()> {
        self.record(false)
    }

    fn record(&self, is_on: bool) -> Result<()> {
        self.instance.as_ref().map_or(Ok(()), |instance| instance.record(is_on))
    }

    /// The recorder's program runs in this process, whose beginning was the recorder's doing and is
    /// in no event. From now on the recorder's own events are left out in any case.
    pub fn started(&mut self, pid: u32, name: &[u8]) {
        self.threads.expect(pid, name);
        if let (Some(instance), Scope::Program) = (&self.instance, self.scope) {
            instance.try_write("set_event_notrace_pid", &std::process::id().to_string());
        }
    }

    /// The numbers of the CPUs, in the order of their indices.
    pub fn cpus(&self) -> Vec<u32> {
        self.lanes.iter().map(|lane| lane.cpu.number).collect()
    }

    /// The names of the events that are enabled.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What was lost on the CPU of this index.
    pub fn lost(&self, cpu: usize) -> [u64; LOST_CAUSES] {
        self.lanes.get(cpu).map_or([0; LOST_CAUSES], Lane::lost)
    }

    /// Takes the events that there are. `flush`: hands over packets that are not full, too.
    pub fn round(&mut self, flush: bool, sink: &mut dyn Sink) {
        if flush {
            self.look();
        }
        let now = self.clock.read();
        let mut horizon = now;
        for lane in &mut self.lanes {
            if !lane.read() {
                horizon = horizon.min(lane.cpu.known_until(&self.layout));
            }
        }
        self.merge(horizon, sink);
        if flush {
            for index in 0..self.lanes.len() {
                self.hand_over(index, sink);
            }
        }
    }

    /// Takes what is left once nothing is recorded any more.
    pub fn finish(&mut self, sink: &mut dyn Sink) {
        self.stop_error = self.stop().err();
        // Bound: what the buffers hold, of which each round takes some.
        loop {
            let mut is_all = true;
            self.lanes.iter_mut().for_each(|lane| is_all &= lane.read());
            let known = |lane: &Lane| lane.cpu.known_until(&self.layout);
            let horizon = match is_all {
                true => u64::MAX,
                false => self.lanes.iter().map(known).min().unwrap_or(u64::MAX),
            };
            self.merge(horizon, sink);
            if is_all {
                break;
            }
        }
        self.look();
        for index in 0..self.lanes.len() {
            self.hand_over(index, sink);
        }
    }

    /// Reads what was lost until now.
    fn look(&mut self) {
        self.threads.refresh(&self.root);
        self.lanes.iter_mut().for_each(Lane::look);
    }

    /// Takes the events of all CPUs up to `horizon`, in the order of time.
    fn merge(&mut self, horizon: u64, sink: &mut dyn Sink) {
        let mut heap = BinaryHeap::new();
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let next = lane.cpu.next_cycles(&self.layout);
            heap.extend(next.filter(|cycles| *cycles <= horizon).map(|at| Reverse((at, index))));
        }
        // Bound: the pages that were read.
        while let Some(Reverse((_, index))) = heap.pop() {
            let until = heap.peek().map_or(horizon, |Reverse((cycles, _))| *cycles);
            loop {
                self.take(index, sink);
                let lane = &mut self.lanes[index];
                match lane.cpu.next_cycles(&self.layout).filter(|cycles| *cycles <= horizon) {
                    Some(cycles) if cycles <= until => {}
                    Some(cycles) => {
                        heap.push(Reverse((cycles, index)));
                        break;
                    }
                    None => break,
                }
            }
        }
    }

    /// Takes the next event of a CPU.
    fn take(&mut self, index: usize, sink: &mut dyn Sink) {
        let Lane { cpu, packet, thread: last, .. } = &mut self.lanes[index];
        let cpu_number = cpu.number;
        let Some((cycles, record)) = cpu.take(&self.layout) else { return };
        let known = kernel_id(record, self.id_at)
            .and_then(|id| self.events.get_mut(usize::from(id))?.as_mut());
        let Some(Known { event, role, id }) = known else {
            self.unknown_events += 1;
            return;
        };
        self.payload.clear();
        let (Some(tid), Some(())) = (event.tid(record), event.payload(record, &mut self.payload))
        else {
            self.damaged_events += 1;
            return;
        };
        let id = *id.get_or_insert_with(|| {
            sink.describe(self.next_id, &event.description);
            self.next_id += 1;
            self.next_id - 1
        });
        let thread = match last {
            Some(thread) if thread.tid == tid => *thread,
            _ => *last.insert(self.threads.thread(tid, cpu_number)),
        };
        packet.event(id, cycles, &thread, &self.payload);
        if learn(&mut self.threads, *role, tid, record) {
            self.lanes.iter_mut().for_each(|lane| lane.thread = None);
        }
        let packet = &self.lanes[index].packet;
        if size_of_val(packet.words()) >= self.packet_bytes {
            self.hand_over(index, sink);
        }
    }

    fn hand_over(&mut self, index: usize, sink: &mut dyn Sink) {
        let lane = &mut self.lanes[index];
        if !lane.packet.is_empty() {
            sink.packet(index, &lane.packet, lane.lost());
            lane.packet.clear();
        }
    }

    /// What is not in the packets, one sentence for each thing.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let damaged: u64 = self.lanes.iter().map(|lane| lane.cpu.damaged_pages).sum();
        let counts = [
            (damaged, "pages of the kernel's buffers that could not be read to their end"),
            (self.damaged_events, "events of the kernel whose fields were not where they belong"),
            (self.unknown_events, "events of the kernel that nobody had enabled here"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            missing.push(format!("{what}: {count}"));
        }
        let of_cpus = self.lanes.iter().flat_map(|lane| lane.errors.iter().flatten());
        let error = self.stop_error.iter().chain(of_cpus).next();
        missing.extend(
            error.map(|error| format!("events of the kernel that could not be read: {error}")),
        );
        missing
    }

    /// The events that could not be enabled, each with a reason.
    pub fn not_enabled(&self) -> &[(String, String)] {
        &self.not_enabled
    }

    /// Removes the instance.
    pub fn remove(&mut self) -> Result<()> {
        self.lanes.clear();
        self.instance.take().map_or(Ok(()), Instance::remove)
    }
}

/// Of a program's threads, the kernel leaves out the switch by which each goes for good, so readers
/// need its end beside its other switches.
fn with_ends(scope: Scope, wanted: &[String]) -> Vec<String> {
    let has = |name: &str| wanted.iter().any(|wanted| wanted == name);
    let needs_ends = scope == Scope::Program && has(SWITCH) && !has(THREAD_ENDS);
    wanted.iter().cloned().chain(needs_ends.then(|| THREAD_ENDS.to_string())).collect()
}

/// Leaves out the recorder's own events, or records only the recorder and what it starts. The lists
/// are of threads, and the recorder has one.
fn choose_threads(instance: &Instance, scope: Scope) -> Result<()> {
    let own = std::process::id().to_string();
    match scope {
        Scope::Machine => {
            instance.try_write("set_event_notrace_pid", &own);
            Ok(())
        }
        Scope::Program => {
            instance.write("options/event-fork", "1")?;
            instance.write("set_event_pid", &own)
        }
    }
}

fn kernel_id(record: &[u8], at: usize) -> Option<u16> {
    let bytes = record.get(at..at.checked_add(2)?)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

/// What an event says of threads, if it has the fields for that.
fn role(event: &Event) -> Role {
    let at = |name: &str, is: fn(&Field) -> bool| {
        event.format.field(name).filter(|field| is(field)).map(|field| field.at)
    };
    let number = |name: &str| at(name, |field| field.bytes == 4);
    let name = |name: &str| at(name, |field| field.kind == Kind::Text && field.bytes == NAME_BYTES);
    let found = match event.description.name.as_str() {
        "task:task_newtask" => number("pid").zip(name("comm")).and_then(|(tid, name)| {
            let flags = at("clone_flags", |field| field.bytes == 8)?;
            Some(Role::NewTask { tid, name, flags })
        }),
        "task:task_rename" => name("newcomm").map(|name| Role::Rename { tid: number("pid"), name }),
        SWITCH => {
            number("next_pid").zip(name("next_comm")).map(|(tid, name)| Role::Switch { tid, name })
        }
        _ => None,
    };
    found.unwrap_or(Role::Plain)
}

/// Takes over what an event by thread `by` says of threads. Return: whether it said anything.
fn learn(threads: &mut Threads, role: Role, by: u32, record: &[u8]) -> bool {
    let text = |at: usize| record.get(at..at + NAME_BYTES);
    let told = match role {
        Role::Plain => None,
        Role::NewTask { tid, name, flags } => (|| {
            let bytes = record.get(flags..flags + 8)?;
            let flags = u64::from_ne_bytes(bytes.try_into().ok()?);
            threads.began(by, number(record, tid)?, text(name)?, flags);
            Some(())
        })(),
        Role::Rename { tid, name } => (|| {
            let tid = tid.map_or(Some(by), |at| number(record, at))?;
            threads.renamed(tid, text(name)?);
            Some(())
        })(),
        Role::Switch { tid, name } => (|| {
            let tid = number(record, tid).filter(|tid| *tid != 0)?;
            threads.seen(tid, text(name)?).then_some(())
        })(),
    };
    told.is_some()
}
