// SPDX-License-Identifier: MIT
//! Bundles of the kernel's scheduling events, one processor each.
//!
//! Place in the flow: `perfetto` adds what the scheduler says and writes a bundle when it is full.

use std::collections::BTreeMap;

use state::{Scheduled, Task, Wake};

use super::messages::{FtraceEvent, FtraceEventBundle, SchedSwitch, SchedWake};

/// Events of a bundle.
const BUNDLE: usize = 256;
/// Processors that are told apart; events of others are written alone.
const CPUS: usize = 1 << 12;

#[derive(Debug, Default)]
pub(super) struct Ftrace {
    waiting: BTreeMap<u32, Vec<FtraceEvent>>,
}

impl Ftrace {
    /// Adds an event of the thread with the number `tid`. Return: whether the bundle has to be
    /// taken now.
    pub fn add(&mut self, cpu: u32, at: u64, tid: Option<i64>, told: &Scheduled<'_>) -> bool {
        let is_new = self.waiting.len() >= CPUS && !self.waiting.contains_key(&cpu);
        let mut event = FtraceEvent { timestamp: Some(at), ..FtraceEvent::default() };
        match told {
            Scheduled::Switch { gone, state, comes } => {
                event.pid = u32::try_from(gone.tid).ok();
                event.sched_switch = Some(SchedSwitch {
                    prev_comm: Some(text(gone)),
                    prev_pid: number(gone.tid),
                    prev_prio: number(gone.priority),
                    prev_state: Some(*state),
                    next_comm: Some(text(comes)),
                    next_pid: number(comes.tid),
                    next_prio: number(comes.priority),
                });
            }
            Scheduled::Wake { kind, woken, cpu } => {
                event.pid = u32::try_from(tid.unwrap_or(0)).ok();
                let wake = SchedWake {
                    comm: Some(text(woken)),
                    pid: number(woken.tid),
                    prio: number(woken.priority),
                    target_cpu: number(*cpu),
                };
                match kind {
                    Wake::Waking => event.sched_waking = Some(wake),
                    Wake::Wakeup => event.sched_wakeup = Some(wake),
                    Wake::New => event.sched_wakeup_new = Some(wake),
                }
            }
        }
        let bundle = self.waiting.entry(cpu).or_default();
        bundle.push(event);
        is_new || bundle.len() >= BUNDLE
    }

    /// What waits of a processor.
    pub fn take(&mut self, cpu: u32) -> Option<FtraceEventBundle> {
        let event = self.waiting.remove(&cpu)?;
        Some(FtraceEventBundle { cpu: Some(cpu), event })
    }

    /// The processors of which something waits.
    pub fn cpus(&self) -> Vec<u32> {
        self.waiting.keys().copied().collect()
    }
}

fn text(task: &Task<'_>) -> String {
    let bytes = task.name.get(..16).unwrap_or(task.name);
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(value: i64) -> Option<i32> {
    i32::try_from(value).ok()
}
