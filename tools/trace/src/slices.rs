// SPDX-License-Identifier: MIT
//! Reading on several processors, with the results in the order of time.
//!
//! Place in the flow: a span is cut into slices; workers merge one slice each, and the caller takes
//! what they make of it, slice after slice. A packet that lies in two slices is read for both, so a
//! slice is many packets long. Memory is bounded: beside the slice that is taken next there is only
//! one for each worker, in work or done, and together they have `MOST_BYTES` of their traces at
//! most, however many processors and streams there are.
//!
//! The slices together are exactly what one merge gives, because each stream goes over from one
//! slice to the next at its first event at or after the cut. That needs packets that tell the truth
//! about their times: a slice in which anything is wrong is not taken, and it and all after it are
//! left to one merge.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::merge::Merge;
use crate::source::Edges;
use crate::span::Span;
use crate::trace::Trace;
use crate::units::{Cycles, Ns};

/// A slice is so many times one packet of each stream. Half a packet of each is read twice.
const LENGTH: u64 = 4;
/// Shorter slices are not worth the opening of their streams.
const LEAST_BYTES: u64 = 8 << 20;
/// All slices that are in work or done, in bytes of their traces. What is made of them, as text or
/// as columns, may be ten times as long, and as JSON twenty times.
const MOST_BYTES: u64 = 128 << 20;

/// The processors that this process may run on.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Does `work` with merges of slices of a span, by so many workers, and hands its results to `take`
/// in the order of time, until that breaks. Return: a merge over the rest, which is everything
/// where the traces cannot be cut or one worker is asked for, and usually nothing.
///
/// `work` has to read its merge to the end.
pub fn in_slices<'t, R: Send>(
    traces: &'t [Trace],
    span: &Span,
    workers: usize,
    work: impl Fn(&mut Merge<'t>) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) -> Merge<'t> {
    let (slices, workers) = cut(traces, span, workers).unwrap_or_default();
    let crew = Crew { slices, ahead: workers.saturating_add(1), ..Crew::default() };
    let taken = std::thread::scope(|scope| {
        for _ in 0..workers.min(crew.slices.len()) {
            scope.spawn(|| crew.work(traces, &work));
        }
        let mut taken = 0;
        while let Some(result) = crew.result(taken, workers) {
            taken += 1;
            if take(result).is_break() {
                break;
            }
        }
        crew.end();
        taken
    });
    match crew.slices.get(taken) {
        Some((rest, edges)) => {
            let rest = Span { until: span.until, ..*rest };
            Merge::within(traces, &rest, Edges { until: true, ..*edges })
        }
        None if taken > 0 => Merge::between(traces, &Span::NOTHING),
        None => Merge::between(traces, span),
    }
}

/// The workers' common list of what there is to do, and what they have done.
struct Crew<R> {
    slices: Vec<(Span, Edges)>,
    ahead: usize,
    state: Mutex<State<R>>,
    changed: Condvar,
}

struct State<R> {
    /// The slice that the next worker begins.
    next: usize,
    /// The slice whose result is taken next.
    awaited: usize,
    /// Results by slice; none of a slice in which something is wrong.
    done: BTreeMap<usize, Option<R>>,
    is_over: bool,
    workers_gone: usize,
}

impl<R> Default for Crew<R> {
    fn default() -> Self {
        let state =
            State { next: 0, awaited: 0, done: BTreeMap::new(), is_over: false, workers_gone: 0 };
        Self { slices: Vec::new(), ahead: 0, state: Mutex::new(state), changed: Condvar::new() }
    }
}

/// Says that a worker goes, even when it panics: nobody waits for it then.
struct Leaving<'a, R>(&'a Crew<R>);

impl<R> Drop for Leaving<'_, R> {
    fn drop(&mut self) {
        self.0.state().workers_gone += 1;
        self.0.changed.notify_all();
    }
}

impl<R> Crew<R> {
    /// The state is whole at every moment, so a panic elsewhere does not spoil it.
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the state.
    fn wait<'a>(&self, state: MutexGuard<'a, State<R>>) -> MutexGuard<'a, State<R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker: does slice after slice.
    fn work<'t>(&self, traces: &'t [Trace], work: &impl Fn(&mut Merge<'t>) -> R) {
        let _leaving = Leaving(self);
        while let Some(number) = self.begin() {
            let Some((slice, edges)) = self.slices.get(number) else { return };
            let mut merge = Merge::within(traces, slice, *edges);
            let result = work(&mut merge);
            let result = merge.is_sound().then_some(result);
            // A stream's part of a slice may be shorter than a window, and none of it given back.
            merge.release();
            self.state().done.insert(number, result);
            self.changed.notify_all();
        }
    }

    /// The number of a slice to do; `None` when there is no more.
    fn begin(&self) -> Option<usize> {
        let mut state = self.state();
        while !state.is_over && state.next < self.slices.len() {
            if state.next < state.awaited.saturating_add(self.ahead) {
                state.next += 1;
                return Some(state.next - 1);
            }
            state = self.wait(state);
        }
        None
    }

    /// The result of a slice, after which the next one is awaited; `None` if there is none, or if
    /// something is wrong in it.
    fn result(&self, number: usize, workers: usize) -> Option<R> {
        let mut state = self.state();
        state.awaited = number;
        self.changed.notify_all();
        while number < self.slices.len() {
            if let Some(result) = state.done.remove(&number) {
                return result;
            }
            if state.workers_gone == workers.min(self.slices.len()) {
                return None;
            }
            state = self.wait(state);
        }
        None
    }

    fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }
}

/// How long slices are, and how many workers there are for them, of so many that there might be.
/// `None` where packets are so long that only one slice at a time has room.
fn measures(packet_of_each_bytes: u64, workers: usize) -> Option<(u64, usize)> {
    let workers = u64::try_from(workers).unwrap_or(u64::MAX);
    let share = MOST_BYTES / workers.saturating_add(1);
    // In a slice of one packet of each stream, about as much is read twice as once.
    let longest = packet_of_each_bytes.saturating_mul(LENGTH);
    let slice_bytes = longest.min(share.max(packet_of_each_bytes)).max(share.min(LEAST_BYTES));
    let workers = workers.min((MOST_BYTES / slice_bytes.max(1)).saturating_sub(1));
    (workers > 1).then_some((slice_bytes, workers as usize))
}

/// Cuts a span at beginnings of packets, for so many workers at most. Return: the slices, and for
/// how many workers they are. `None` where there is not enough for two slices or two workers, or
/// where a stream has no clock, no index, or packets that overlap in time.
fn cut(traces: &[Trace], span: &Span, workers: usize) -> Option<(Vec<(Span, Edges)>, usize)> {
    if workers < 2 {
        return None;
    }
    let is_in = |begin: Ns, end: Ns| {
        span.from.is_none_or(|from| from <= end) && span.until.is_none_or(|until| begin < until)
    };
    let mut packets: Vec<(Ns, u64)> = Vec::new();
    let mut packet_of_each_bytes = 0;
    for trace in traces {
        for file in trace.files() {
            let clock = trace.metadata().clock_of(trace.class_of(file)?)?;
            let index = trace.index(file).filter(|index| index.is_ordered)?;
            let mut largest = 0;
            for entry in index.entries() {
                let begin = clock.ns(Cycles(entry.begin));
                if is_in(begin, clock.ns(Cycles(entry.end))) {
                    packets.push((begin, entry.size_bytes));
                    largest = entry.size_bytes.max(largest);
                }
            }
            packet_of_each_bytes += largest;
        }
    }
    packets.sort_unstable();
    let (slice_bytes, workers) = measures(packet_of_each_bytes, workers)?;
    let mut slices = Vec::new();
    let (mut from, mut bytes) = (span.from, 0);
    for (begin, size_bytes) in packets {
        let is_later = from.is_none_or(|from| from < begin);
        if bytes >= slice_bytes && is_later {
            let edges = Edges { from: slices.is_empty(), until: false };
            slices.push((Span { from, until: Some(begin) }, edges));
            (from, bytes) = (Some(begin), 0);
        }
        bytes += size_bytes;
    }
    let edges = Edges { from: false, until: true };
    (!slices.is_empty()).then(|| {
        slices.push((Span { from, until: span.until }, edges));
        (slices, workers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_under_way_have_room_together_whatever_there_is_of_processors_and_streams() {
        for workers in (0..300).chain([usize::MAX]) {
            for bits in 0..64 {
                let Some((slice_bytes, used)) = measures(1 << bits, workers) else { continue };
                assert!((2..=workers).contains(&used));
                assert!(slice_bytes * (used as u64 + 1) <= MOST_BYTES, "{bits} {workers}");
                assert!(slice_bytes >= 1 << bits, "{bits} {workers}");
            }
            assert_eq!(measures(1 << 20, workers).is_some(), workers > 1);
        }
    }

    #[test]
    fn slices_are_long_where_there_is_room_and_workers_few_where_there_is_not() {
        assert_eq!(measures(1 << 20, 2), Some((8 << 20, 2)), "short packets");
        assert_eq!(measures(4 << 20, 2), Some((16 << 20, 2)), "four packets of each stream");
        assert_eq!(measures(16 << 20, 16), Some((16 << 20, 7)), "64 streams of a machine");
        assert_eq!(measures(32 << 20, 64), Some((32 << 20, 3)));
        assert_eq!(measures(64 << 20, 64), None, "one merge is as fast as two that read twice");
        assert_eq!(measures(1 << 18, 127), Some((1 << 20, 127)));
    }
}
