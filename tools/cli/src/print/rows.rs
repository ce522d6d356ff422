// SPDX-License-Identifier: MIT
//! Events one by one, for a caller that takes some and stops.
//!
//! Place in the flow: `lull view` shows pages of events, chosen as `lull print` chooses them and
//! in the form that it gives them. A page may begin anywhere: what processes had loaded by then is
//! known to the names that it comes with.

use std::cell::RefCell;
use std::sync::Arc;

use analysis::{Namer, Names, StackPlaces};
use state::ThreadContext;
use trace::{Merge, Message, Span, Trace};
use view::{Reach, Row, Visited};

use super::classes::{who, Classes, Threads};
use super::json::JsonForm;
use super::{About, Form};
use crate::selection::{Selection, SelectionArgs};

/// Gives the events of a span that are asked for, until `each` wants no more, or `budget` events
/// were read and time has gone on since the beginning.
pub(crate) fn visit(
    (traces, names): (&[Trace], &Arc<Names>),
    args: &SelectionArgs,
    (span, budget): (&Span, u64),
    each: &mut dyn FnMut(&Row<'_>) -> bool,
) -> anyhow::Result<Visited> {
    let selection = Selection::new(args)?;
    let classes = Classes::new(traces, &selection, false)?;
    let mut merge = Merge::between(traces, span);
    let mut threads = Threads::new(merge.stream_count());
    let namer = RefCell::new(Namer::new(traces, Some(names.clone())));
    let mut scanned = 0;
    let mut reach = Reach::new(merge.stream_count());
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        let class = classes.of(&event);
        if let Some(thread) = &class.thread {
            threads.switch(&event, thread);
        }
        let Some(reached) = reach.by(&event) else { continue };
        if scanned >= budget && span.from.is_none_or(|from| reached > from) {
            return Ok(Visited { scanned, stopped: Some(reached) });
        }
        scanned += 1;
        let thread = threads.of(&event);
        if !class.is_shown || !classes.take(&event, thread) {
            continue;
        }
        let own = ThreadContext::of(&event);
        let known = thread.map(|thread| who(thread.recorded));
        let pid = known.and_then(|known| known.pid).or(own.pid);
        let json = || {
            let symbols = classes.symbols(&event);
            let mut namer = namer.borrow_mut();
            let places = match pid.filter(|_| class.has_user_stack) {
                Some(pid) => namer.places_of(&event, pid),
                None => StackPlaces::default(),
            };
            let mut out = Vec::new();
            JsonForm::new().event(&mut out, &event, About { class, thread, symbols, places });
            out
        };
        let row = Row {
            time: event.time_ns(),
            reached,
            name: event.name(),
            trace: event.trace_index(),
            cpu: event.cpu().map(|cpu| cpu.0),
            pid,
            tid: known.and_then(|known| known.tid).or(own.tid),
            json: &json,
        };
        if !each(&row) {
            return Ok(Visited { scanned, stopped: Some(reached) });
        }
    }
    Ok(Visited { scanned, stopped: None })
}
