// SPDX-License-Identifier: MIT
//! Where a format shows something: in a thread of a process, or in a row of another kind.
//!
//! Place in the flow: the formats that are JSON know processes and threads by numbers. Threads of
//! other machines than the first get process numbers beyond those that Linux gives out; so do rows
//! that are no threads.

use state::{ProcessIndex, State, ThreadIndex, ThreadKey};
use trace::Trace;

use crate::arguments::{cut, NAME_BYTES};

/// More than any process number of Linux.
const PID_LIMIT: i64 = 1 << 22;
/// Processes of rows that are no threads of a process.
const CPUS: i64 = (1 << 31) - 1;
const LOSSES: i64 = (1 << 31) - 2;
const UNKNOWN: i64 = (1 << 31) - 3;

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    Thread(ThreadIndex),
    /// What a processor of a machine runs.
    Cpu(u32, u32),
    /// What a processor, or a whole trace, has lost.
    Losses(u32, Option<u32>),
}

/// A row as viewers know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub pid: i64,
    pub tid: i64,
    pub process: String,
    pub thread: String,
    /// Whether it is the first thread of its process.
    pub is_main: bool,
}

/// The names of the machines, by number; empty where there is one.
pub(crate) fn host_names(traces: &[Trace]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for trace in traces {
        let name = trace.metadata().environment_text("hostname").unwrap_or("");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() < 2 {
        return Vec::new();
    }
    names.iter().map(|name| cut(name, NAME_BYTES)).collect()
}

/// What a process is called.
pub(crate) fn process_text(state: &State, process: ProcessIndex) -> String {
    let found = state.threads().processes().get(process.0 as usize);
    let name = found.map(|found| state.threads().process_name(found, state.texts()));
    cut(&name.unwrap_or_default(), NAME_BYTES)
}

/// The machine of a thread.
pub(crate) fn host_of(state: &State, thread: ThreadIndex) -> u32 {
    let found = state.threads().threads().get(thread.0 as usize);
    match found.and_then(|thread| thread.key) {
        Some(
            ThreadKey::Named { host, .. }
            | ThreadKey::Idle { host, .. }
            | ThreadKey::Scheduled { host, .. },
        ) => host,
        Some(ThreadKey::Unnamed { .. }) | None => 0,
    }
}

/// The numbers and names of a place. `hosts`: from [`host_names`].
pub(crate) fn shown(state: &State, hosts: &[String], place: Place) -> Shown {
    let of_host = |host: u32, text: String| match hosts.get(host as usize) {
        Some(name) => format!("{name}: {text}"),
        None => text,
    };
    let beyond = |host: u32| i64::from(host.min(255)) * PID_LIMIT;
    match place {
        Place::Thread(thread) => {
            let host = host_of(state, thread);
            let process = state.threads().process_of(thread);
            let (pid, tid) = (state.threads().pid(process), state.threads().tid(thread));
            let label = cut(&state.threads().label(thread), NAME_BYTES);
            let in_range = |number: &i64| (0..PID_LIMIT).contains(number);
            match (pid.filter(in_range), tid.filter(in_range)) {
                (Some(pid), Some(tid)) => Shown {
                    pid: beyond(host) + pid,
                    tid: beyond(host) + tid,
                    process: of_host(host, process_text(state, process)),
                    thread: label,
                    is_main: pid == tid,
                },
                _ => Shown {
                    pid: UNKNOWN,
                    tid: i64::from(thread.0),
                    process: "Threads of unknown processes".into(),
                    thread: of_host(host, label),
                    is_main: false,
                },
            }
        }
        Place::Cpu(host, cpu) => Shown {
            pid: CPUS,
            tid: beyond(host) + i64::from(cpu),
            process: "CPUs".into(),
            thread: of_host(host, format!("CPU {cpu}")),
            is_main: false,
        },
        Place::Losses(host, cpu) => Shown {
            pid: LOSSES,
            tid: beyond(host) + cpu.map_or(PID_LIMIT - 1, i64::from),
            process: "Lost events".into(),
            thread: of_host(host, cpu.map_or("Lost".into(), |cpu| format!("Lost, CPU {cpu}"))),
            is_main: false,
        },
    }
}
