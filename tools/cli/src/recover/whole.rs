// SPDX-License-Identifier: MIT
//! The counts of a whole trace, of which two recorders wrote a part each.
//!
//! Place in the flow: `recover` asks before the verdict is written: what the killed recorder had
//! counted is lost with it, so the trace is read from its beginning.

use session::abi::{EVENT_FIRST, EVENT_THREAD};
use std::collections::HashSet;
use std::path::Path;
use trace::{Event, Message, Trace};
use verdict::{State, Verdict};

/// Puts what is in the trace in place of what was recovered.
pub fn count(verdict: &mut Verdict) {
    let trace = match Trace::open(&verdict.trace) {
        Ok(trace) => trace,
        Err(error) => {
            verdict.notes.push(format!("only what was recovered is counted: {error}"));
            return;
        }
    };
    let recovered = verdict.events;
    let (mut pids, mut threads, mut cpus) = (HashSet::new(), HashSet::new(), HashSet::new());
    let (mut events, mut first, mut last) = (0, None, 0);
    let mut merge = trace.merge();
    // Bound: the events of a file, which is not written to meanwhile.
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        if let Some((pid, tid)) = thread(&event) {
            pids.insert(pid);
            threads.insert((pid, tid));
        }
        if event.id().0 < u64::from(EVENT_FIRST) {
            continue;
        }
        events += 1;
        cpus.extend(event.cpu().filter(|cpu| cpu.0 != u32::MAX));
        last = event.time_ns().0;
        first.get_or_insert(last);
    }
    verdict.events = events;
    verdict.cpus = cpus.len() as u64;
    verdict.processes = pids.len() as u64;
    verdict.threads = threads.len() as u64;
    verdict.duration_ns = u64::try_from(last.saturating_sub(first.unwrap_or(last))).unwrap_or(0);
    let many = verdict::text::plural(recovered, "event");
    verdict.notes.push(format!("{many} of these were added now, from what was in memory"));
}

/// The process and thread that a thread record names.
fn thread(event: &Event) -> Option<(u64, u64)> {
    if event.id().0 != u64::from(EVENT_THREAD) {
        return None;
    }
    let field = |name| event.value(event.class().field_index(name)?)?.as_u64();
    Some((field("pid")?, field("tid")?))
}

/// Whether the trace carries a verdict.
pub fn is_finished(trace: &Path) -> bool {
    let state = |trace: Trace| analysis::recorded_verdict(trace.metadata()).state;
    Trace::open(trace).is_ok_and(|trace| state(trace) != State::NotFinished)
}
