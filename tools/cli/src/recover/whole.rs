// SPDX-License-Identifier: MIT
//! The counts of a whole trace, of which two recorders wrote a part each.
//!
//! Place in the flow: `recover` asks before the verdict is written: what the killed recorder had
//! counted is lost with it, so the trace is read from its beginning.

use consumer::dumps::{Dumps, Part};
use consumer::lives::Field;
use consumer::metadata::KERNEL_CLASS;
use session::abi::{EVENT_FIRST, EVENT_THREAD};
use std::collections::HashSet;
use std::path::Path;
use trace::{Event, Message, Trace, Value};
use verdict::{State, Verdict};

/// How the names of the events begin by which the kernel tells its state.
const STATE: &str = "state:";

/// Puts what is in the trace in place of what was recovered, and says whether the dump of the
/// kernel's state in it is whole. `is_snapshot`: all of it was recovered, but its time.
pub fn count(verdict: &mut Verdict, is_snapshot: bool) {
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
    let mut dumps = Dumps::in_order();
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
        if event.stream_class().id.0 == u64::from(KERNEL_CLASS) {
            take_state(&mut dumps, &event);
        }
        events += 1;
        cpus.extend(event.cpu());
        last = event.time_ns().0;
        first.get_or_insert(last);
    }
    verdict.duration_ns = u64::try_from(last.saturating_sub(first.unwrap_or(last))).unwrap_or(0);
    if is_snapshot {
        return;
    }
    dumps.judge(verdict);
    verdict.events = events;
    verdict.cpus = cpus.len() as u64;
    verdict.processes = pids.len() as u64;
    verdict.threads = threads.len() as u64;
    let many = verdict::text::plural(recovered, "event");
    verdict.notes.push(format!("{many} of these were added now, from what was in memory"));
}

/// Takes an event of a dump, if it is one.
fn take_state(dumps: &mut Dumps, event: &Event) {
    let Some(kind) = event.name().strip_prefix(STATE) else { return };
    let field = |name: &str| {
        let value = event.value(event.class().field_index(name)?)?;
        Some(match value {
            Value::Text(text) => Field::Text(String::from_utf8_lossy(text).into()),
            _ => Field::Number(value.as_u64()?),
        })
    };
    match Part::of(event.name()) {
        Some(part) => dumps.take(part, event.cycles().0, field),
        None => dumps.take_record(kind),
    }
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
