// SPDX-License-Identifier: MIT
//! What let a thread go on, as intervals from the one event to the other.
//!
//! Place in the flow: `builder` hands over each event after its state was taken over; the crate
//! `state` pairs wake-ups and locks that were let go with where threads went on. Such an interval
//! is known when it is over; readers leave out those that reach over a loss.

use state::{LockFlow, LockKind, Scheduled, State, Step, ThreadIndex, Waker};
use trace::Event;

use crate::builder::Builder;
use crate::track::{Kind, Subject, Track};
use crate::value::{Cause, Value};

/// Where an arrow begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    at: i64,
    cause: Cause,
}

fn lane(kind: LockKind) -> u32 {
    match kind {
        LockKind::Mutex => 1,
        LockKind::Rwlock => 2,
        LockKind::Cond => 3,
        LockKind::Sem => 4,
        LockKind::Barrier => 5,
    }
}

impl Builder<'_, '_> {
    /// What an event tells of flows.
    pub fn flow(&mut self, state: &State, event: &Event<'_>, step: &Step) {
        let (at, thread) = (event.time_ns().0, step.thread);
        let tail = || Tail { at, cause: Cause::Thread(thread) };
        if let Some(LockFlow::Head { tail, kind, address }) =
            self.flows.of_locks(state, event, step, tail)
        {
            if let Cause::Thread(by) = tail.cause {
                let value = Value::LetGo { by, kind, address };
                self.leads(thread, Some(by), (lane(kind), tail.at, at), value);
            }
        }
        let host = state.host(event.trace_index());
        match (self.schedule.read(event), event.cpu()) {
            (Some(Scheduled::Wake { kind, woken, .. }), _) if self.schedule.tells_waker(kind) => {
                self.wakes(state, (host, woken.tid), event, thread);
            }
            (Some(Scheduled::Switch { gone, comes, .. }), Some(cpu)) => {
                // A thread that was woken before it had stopped went on: that changed nothing.
                self.flows.is_awake(host, Some(gone.tid));
                let tail = self.flows.is_awake(host, Some(comes.tid));
                if let (Some(Tail { at: begin, cause }), Some(comes)) = (tail, state.on(host, cpu))
                {
                    let by = if let Cause::Thread(by) = cause { Some(by) } else { None };
                    self.leads(comes, by, (0, begin, at), Value::Woken(cause));
                }
            }
            _ => {}
        }
    }

    fn wakes(
        &mut self,
        state: &State,
        (host, tid): (u32, i64),
        event: &Event<'_>,
        thread: ThreadIndex,
    ) {
        let cpu = event.cpu().map_or(0, |cpu| cpu.0);
        let cause = match state.waker(event, thread) {
            Some(Waker::Thread(by)) => Cause::Thread(by),
            Some(Waker::Interrupt { kind, number, name, .. }) => {
                Cause::Interrupt { cpu, kind, number, name }
            }
            Some(Waker::Idle) => Cause::Idle(cpu),
            None => return,
        };
        self.flows.wakes(host, tid, Tail { at: event.time_ns().0, cause });
    }

    /// One thread, or an interrupt, let another thread go on. Of one that stands for many it is not
    /// known which it was.
    fn leads(
        &mut self,
        to: ThreadIndex,
        by: Option<ThreadIndex>,
        (lane, begin, end): (u32, i64, i64),
        value: Value,
    ) {
        let is_known = |by| by != to && by != ThreadIndex::OTHERS;
        if to != ThreadIndex::OTHERS && by.is_none_or(is_known) {
            let track = Track { subject: Subject::Thread(to), kind: Kind::Flow, lane };
            self.late(track, (begin, end), value);
        }
    }
}
