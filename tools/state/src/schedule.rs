// SPDX-License-Identifier: MIT
//! What the kernel's scheduler says: switches and wake-ups.
//!
//! Place in the flow: exports write these events as they are, and a history asks who is woken. What
//! they mean to the state is in `running`. The names are tracefs's and those of LTTng.

use trace::{Event, EventClass, Trace, Value};

use crate::classes::event_name;

/// One event of the scheduler's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduled<'a> {
    /// A processor goes over from one thread to another.
    Switch {
        /// The thread that leaves it.
        gone: Task<'a>,
        /// In which state, as the kernel numbers them.
        state: i64,
        /// The thread that comes.
        comes: Task<'a>,
    },
    /// A thread is made ready to run, by the thread that the event is of or by an interrupt.
    Wake {
        /// Which event tells it.
        kind: Wake,
        /// The thread.
        woken: Task<'a>,
        /// The processor that it is to run on.
        cpu: i64,
    },
}

/// What the scheduler knows of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Task<'a> {
    /// Its number.
    pub tid: i64,
    /// Its name.
    pub name: &'a [u8],
    /// Its priority, as the kernel counts.
    pub priority: i64,
}

/// Which of the events of a wake-up it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The waker asks for it.
    Waking,
    /// The thread is ready, on whichever processor did that.
    Wakeup,
    /// The same, of a new thread.
    New,
}

/// Positions of the fields of a task.
#[derive(Debug, Clone, Copy)]
struct Fields {
    tid: usize,
    name: Option<usize>,
    priority: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Role {
    Switch { gone: Fields, state: Option<usize>, comes: Fields },
    Wake { kind: Wake, woken: Fields, cpu: Option<usize> },
}

/// Which classes are the scheduler's.
#[derive(Debug)]
pub struct Schedule {
    by_trace: Vec<Vec<Option<Role>>>,
    /// Whether there are events of wakers: then those of the woken say nothing new.
    has_waking: bool,
}

impl Schedule {
    /// Those of these traces.
    pub fn new(traces: &[Trace]) -> Self {
        let of_trace = |trace: &Trace| trace.event_classes().map(role).collect::<Vec<_>>();
        let by_trace: Vec<Vec<Option<Role>>> = traces.iter().map(of_trace).collect();
        let is_waking =
            |role: &Option<Role>| matches!(role, Some(Role::Wake { kind: Wake::Waking, .. }));
        let has_waking = by_trace.iter().flatten().any(is_waking);
        Self { by_trace, has_waking }
    }

    /// Whether a wake-up tells who woke the thread.
    pub fn tells_waker(&self, kind: Wake) -> bool {
        kind != Wake::Wakeup || !self.has_waking
    }

    /// What an event says; `None`: it is not the scheduler's.
    #[inline]
    pub fn read<'e>(&self, event: &Event<'e>) -> Option<Scheduled<'e>> {
        let role = (*self.by_trace.get(event.trace_index())?.get(event.class().index)?)?;
        let number = |field| event.value(field).and_then(|value| value.as_i64());
        let task = |fields: Fields| {
            Some(Task {
                tid: number(fields.tid)?,
                name: match fields.name.and_then(|field| event.value(field)) {
                    Some(Value::Text(bytes)) => bytes,
                    _ => b"",
                },
                priority: fields.priority.and_then(number).unwrap_or(0),
            })
        };
        Some(match role {
            Role::Switch { gone, state, comes } => Scheduled::Switch {
                gone: task(gone)?,
                state: state.and_then(number).unwrap_or(0),
                comes: task(comes)?,
            },
            Role::Wake { kind, woken, cpu } => Scheduled::Wake {
                kind,
                woken: task(woken)?,
                cpu: cpu.and_then(number).unwrap_or(0),
            },
        })
    }
}

fn role(class: &EventClass) -> Option<Role> {
    let field = |names: &[&str]| names.iter().find_map(|name| class.field_index(name));
    let fields = |tid: [&str; 2], name: &str, priority: &str| {
        Some(Fields { tid: field(&tid)?, name: field(&[name]), priority: field(&[priority]) })
    };
    let woken = |kind| {
        let woken = fields(["tid", "pid"], "comm", "prio")?;
        Some(Role::Wake { kind, woken, cpu: field(&["target_cpu"]) })
    };
    let name = event_name(class);
    match name.strip_prefix("sched:").unwrap_or(name) {
        "sched_switch" => Some(Role::Switch {
            gone: fields(["prev_tid", "prev_pid"], "prev_comm", "prev_prio")?,
            state: field(&["prev_state"]),
            comes: fields(["next_tid", "next_pid"], "next_comm", "next_prio")?,
        }),
        "sched_waking" => woken(Wake::Waking),
        "sched_wakeup" => woken(Wake::Wakeup),
        "sched_wakeup_new" => woken(Wake::New),
        _ => None,
    }
}
