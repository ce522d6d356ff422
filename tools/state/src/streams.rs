// SPDX-License-Identifier: MIT
//! Which thread wrote the events of each stream.
//!
//! Place in the flow: `moment` asks for each event. Lull writes a `lull:thread` event where a
//! packet goes over to another thread; LTTng writes thread contexts with each event if it is asked
//! to. In a trace with neither, `running` knows which thread a processor runs; where it does not,
//! there is one nameless thread for each processor, which may be many. In a kernel's trace, numbers
//! are those of the machine: what a thread is called in a container does not say which one it is.

use trace::{CpuId, Event, Integer, Name, Value, Visitor, THREAD_EVENT};

use crate::classes::DUMP_END;
use crate::names::ShortName;
use crate::running::Running;
use crate::threads::{ThreadIndex, ThreadKey, Threads};

/// How a stream names the thread of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Records,
    Contexts,
    Scheduler,
    Nowhere,
}

/// What is remembered of one stream between events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    source: Option<Source>,
    /// Whether its events are those of a kernel that dumps its state.
    is_kernels: Option<bool>,
    packet_bytes: Option<u64>,
    /// The thread at the place reached, until the next packet or record.
    thread: Option<ThreadIndex>,
    context: ThreadContext,
}

impl Stream {
    /// Notes the event's packet. The result is the packet's size when it is a new one.
    #[inline]
    pub fn enter(&mut self, event: &Event<'_>) -> Option<u64> {
        let packet = event.packet();
        if self.packet_bytes == Some(packet.offset_bytes) {
            return None;
        }
        self.packet_bytes = Some(packet.offset_bytes);
        self.thread = None;
        Some(packet.size_bytes)
    }

    /// Takes over what a `lull:thread` event says.
    pub fn switch(
        &mut self,
        event: &Event<'_>,
        (pid, tid, name): (usize, usize, usize),
        host: u32,
        threads: &mut Threads,
    ) {
        let number = |field| event.value(field).and_then(|value| value.as_i64()).unwrap_or(-1);
        let (pid, tid) = (number(pid), number(tid));
        let name = match event.value(name) {
            Some(Value::Text(bytes)) => Some(ShortName::new(bytes)),
            _ => None,
        };
        self.source = Some(Source::Records);
        let thread = match (pid, tid, event.cpu()) {
            (_, 0, Some(cpu)) => threads.index(ThreadKey::Idle { host, cpu: cpu.0 }, name),
            // The recorder did not find out whose thread it is.
            (0, 1.., cpu) => threads.scheduled(host, cpu.map_or(0, |cpu| cpu.0), tid, name),
            _ => threads.index(ThreadKey::Named { host, pid, tid }, name),
        };
        self.thread = Some(thread);
        if *self.is_kernels.get_or_insert_with(|| has(event, DUMP_END)) {
            threads.is_of_machine(thread);
        }
    }

    /// The thread of an event.
    #[inline]
    pub fn thread(
        &mut self,
        event: &Event<'_>,
        (host, running): (u32, &Running),
        threads: &mut Threads,
    ) -> ThreadIndex {
        match (self.source, self.thread) {
            (Some(Source::Records | Source::Nowhere), Some(thread)) => thread,
            _ => self.find(event, (host, running), threads),
        }
    }

    /// The thread that stands for whichever ran, if it does.
    pub fn forget_unnamed(&mut self) -> Option<ThreadIndex> {
        self.thread.take().filter(|_| self.source == Some(Source::Scheduler))
    }

    /// Whether all events that have one thread are of one: an exit is that of the latest entry.
    pub fn tells_threads(&self, event: &Event<'_>) -> bool {
        self.source != Some(Source::Nowhere) || event.cpu().is_none()
    }

    fn find(
        &mut self,
        event: &Event<'_>,
        (host, running): (u32, &Running),
        threads: &mut Threads,
    ) -> ThreadIndex {
        let is_kernels = running.is_of_kernel(event.trace_index());
        let source =
            *self.source.get_or_insert_with(|| source(event, is_kernels, running.is_told(host)));
        if source == Source::Scheduler {
            if let Some(thread) = event.cpu().and_then(|cpu| running.on(host, cpu)) {
                return thread;
            }
        }
        let unnamed = || ThreadKey::Unnamed {
            trace: event.trace_index() as u32,
            cpu: event.cpu().map_or(event.stream_index() as u32, |cpu| cpu.0),
        };
        let thread = match source {
            Source::Records | Source::Scheduler | Source::Nowhere => threads.index(unnamed(), None),
            Source::Contexts => {
                let context = Contexts::of(event).numbers(is_kernels);
                if let (Some(thread), true) = (self.thread, context == self.context) {
                    return thread;
                }
                self.context = context;
                of_context(context, (host, is_kernels), event.cpu(), threads)
                    .unwrap_or_else(|| threads.index(unnamed(), None))
            }
        };
        self.thread = Some(thread);
        thread
    }
}

/// The thread that a context tells.
fn of_context(
    ThreadContext { pid, tid, name }: ThreadContext,
    (host, is_kernels): (u32, bool),
    cpu: Option<CpuId>,
    threads: &mut Threads,
) -> Option<ThreadIndex> {
    if !is_kernels {
        let (pid, tid) = (pid.or(tid)?, tid.or(pid)?);
        return Some(threads.index(ThreadKey::Named { host, pid, tid }, name));
    }
    let tid = tid?;
    let thread = match (tid, pid, cpu) {
        (0, _, Some(cpu)) => threads.index(ThreadKey::Idle { host, cpu: cpu.0 }, name),
        (_, Some(pid), _) => threads.index(ThreadKey::Named { host, pid, tid }, name),
        (_, None, cpu) => threads.scheduled(host, cpu.map_or(0, |cpu| cpu.0), tid, name),
    };
    threads.is_of_machine(thread);
    Some(thread)
}

/// Whether there may be an event of this name in the stream.
fn has(event: &Event<'_>, name: &str) -> bool {
    event.stream_class().events.iter().any(|event| &*event.name == name)
}

fn source(event: &Event<'_>, is_kernels: bool, scheduler_tells: bool) -> Source {
    let class = event.stream_class();
    if has(event, THREAD_EVENT) {
        return Source::Records;
    }
    let fields = class.event_context.as_ref().map_or(&[][..], |context| &context.fields);
    let names: &[&str] = if is_kernels { &["tid"] } else { &["tid", "vtid", "pid", "vpid"] };
    match fields.iter().any(|field| names.contains(&field.name())) {
        true => Source::Contexts,
        false if scheduler_tells && event.cpu().is_some() => Source::Scheduler,
        false => Source::Nowhere,
    }
}

/// The context fields that tell an event's thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadContext {
    /// The process's number.
    pub pid: Option<i64>,
    /// The thread's.
    pub tid: Option<i64>,
    /// The thread's name.
    pub name: Option<ShortName>,
}

impl ThreadContext {
    /// What an event's context tells.
    pub fn of(event: &Event<'_>) -> Self {
        Contexts::of(event).numbers(false)
    }
}

/// All context fields that may tell it.
#[derive(Default)]
struct Contexts {
    of_machine: ThreadContext,
    of_container: ThreadContext,
}

impl Contexts {
    fn of(event: &Event<'_>) -> Self {
        let mut contexts = Self::default();
        // Damage is the reader's to report; what was read before it counts.
        let _ = event.stream_context(&mut contexts);
        contexts
    }

    /// The machine's numbers, or else those that the process's own container gives.
    fn numbers(self, only_of_machine: bool) -> ThreadContext {
        let Self { of_machine: ThreadContext { pid, tid, name }, of_container } = self;
        match only_of_machine {
            true => self.of_machine,
            false => {
                ThreadContext { pid: pid.or(of_container.pid), tid: tid.or(of_container.tid), name }
            }
        }
    }
}

impl Visitor for Contexts {
    fn signed(&mut self, name: Name<'_>, value: i64, _: &Integer) {
        match name {
            Name::Field("pid") => self.of_machine.pid = Some(value),
            Name::Field("tid") => self.of_machine.tid = Some(value),
            Name::Field("vpid") => self.of_container.pid = Some(value),
            Name::Field("vtid") => self.of_container.tid = Some(value),
            _ => {}
        }
    }

    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        self.signed(name, value as i64, ty);
    }

    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        if name == Name::Field("procname") {
            self.of_machine.name = Some(ShortName::new(bytes));
        }
    }
}
