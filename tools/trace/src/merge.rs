// SPDX-License-Identifier: MIT
//! One pass over all streams in time order.
//!
//! Place in the flow: printers, reports and analyses pull messages from here. A loser tree keeps
//! one key for each stream; taking the smallest and replacing it costs one comparison per level.
//! Keys are (time, stream), so ties are broken by the order of the streams and every run gives the
//! same order. If all streams share one clock the time is in cycles, otherwise in nanoseconds.
//!
//! A merge over a [`Span`] begins each stream with the packet in which the span begins, and ends it
//! with its first event after the span, or, where packets overlap in time, that of each packet.

use crate::clock::Clock;
use crate::cursor::Stop;
use crate::error::{Problem, ProblemKind};
use crate::event::Event;
use crate::lineage::{self, Beginning};
use crate::loss::Loss;
use crate::source::{Edges, Source};
use crate::span::Span;
use crate::trace::Trace;
use crate::units::{Cycles, Ns};

/// What a merge hands out.
pub enum Message<'a> {
    Event(Event<'a>),
    Loss(LossMessage<'a>),
}

/// A loss, and the stream in which it happened.
pub struct LossMessage<'a> {
    pub loss: &'a Loss,
    pub stream_index: usize,
    pub trace_index: usize,
    clock: Option<&'a Clock>,
    cycles: Cycles,
}

impl LossMessage<'_> {
    /// Where the loss stands among the events: the beginning of the packet that tells of it.
    pub fn cycles(&self) -> Cycles {
        self.cycles
    }

    /// [`LossMessage::cycles`] in nanoseconds; `None` in a stream without a clock.
    pub fn time_ns(&self) -> Option<Ns> {
        self.ns(Some(self.cycles))
    }

    pub fn begin_ns(&self) -> Option<Ns> {
        self.ns(self.loss.begin)
    }

    pub fn until_ns(&self) -> Option<Ns> {
        self.ns(self.loss.until)
    }

    fn ns(&self, cycles: Option<Cycles>) -> Option<Ns> {
        Some(self.clock?.ns(cycles?))
    }
}

/// Time in bits 32 to 95, stream in the lower 32.
type Key = u128;
/// At and above this, a stream has ended.
const AT_END: Key = 1 << 96;

/// The stream of a key.
#[inline(always)]
fn stream_of(key: Key) -> usize {
    key as u32 as usize
}

pub struct Merge<'t> {
    sources: Vec<Source<'t>>,
    /// `losers[0]` is the winner; the others lost the match at their node.
    losers: Vec<Key>,
    in_cycles: bool,
    started: bool,
    opening_problems: Vec<Problem>,
}

impl<'t> Merge<'t> {
    /// Merges several traces. Streams are numbered through, trace after trace.
    pub fn over(traces: &'t [Trace]) -> Self {
        Self::between(traces, &Span::ALL)
    }

    /// Merges what is in a span, and numbers streams as [`Merge::over`] does. Events that only
    /// share a packet with what is in the span come too ([`Event::is_before_span`]). Losses in the
    /// span come, also those that a packet tells of that begins outside.
    pub fn between(traces: &'t [Trace], span: &Span) -> Self {
        Self::within(traces, span, Edges { from: true, until: true })
    }

    pub(crate) fn within(traces: &'t [Trace], span: &Span, edges: Edges) -> Self {
        let mut sources = Vec::new();
        for (trace_index, trace) in traces.iter().enumerate() {
            let files = trace.files().iter();
            sources.extend(files.filter_map(|f| Source::new(trace, trace_index, f, (span, edges))));
        }
        let mut cursors: Vec<_> =
            sources.iter_mut().map(|source| (&mut source.cursor, source.trace_index)).collect();
        lineage::join(&mut cursors);
        let one_scale = sources.windows(2).all(|pair| match (pair[0].clock, pair[1].clock) {
            (Some(a), Some(b)) => a.same_scale(b),
            (a, b) => a.is_none() && b.is_none(),
        });
        Self {
            losers: Vec::new(),
            sources,
            in_cycles: one_scale,
            started: false,
            opening_problems: traces.iter().flat_map(|t| t.problems().to_vec()).collect(),
        }
    }

    /// The next event or loss; `None` at the end.
    #[inline]
    #[allow(clippy::should_implement_trait)] // It lends: no iterator can.
    pub fn next(&mut self) -> Option<Message<'_>> {
        if self.started {
            self.replay();
        } else {
            self.start();
        }
        let key = *self.losers.first()?;
        if key >= AT_END {
            return None;
        }
        let index = stream_of(key);
        let source = self.sources.get(index)?;
        Some(match source.stop {
            Stop::Loss => Message::Loss(LossMessage {
                loss: source.cursor.loss.as_ref()?,
                stream_index: index,
                trace_index: source.trace_index,
                clock: source.clock,
                cycles: Cycles(source.cursor.cycles),
            }),
            _ => Message::Event(Event::new(source, index)),
        })
    }

    /// Steps a source and gives its new key.
    #[inline(always)]
    fn advance(source: &mut Source<'t>, index: usize, in_cycles: bool) -> Key {
        source.step();
        if source.stop == Stop::End {
            return AT_END | index as Key;
        }
        let cycles = Cycles(source.cursor.cycles);
        let time = match source.clock {
            Some(clock) if !in_cycles => clock.ns(cycles).0 as u64 ^ (1 << 63),
            _ => cycles.0,
        };
        Key::from(time) << 32 | index as Key
    }

    /// Steps the last winner and plays its matches again on the way to the root.
    #[inline(always)]
    fn replay(&mut self) {
        let Some(winner) = self.losers.first().map(|key| stream_of(*key)) else { return };
        let Some(source) = self.sources.get_mut(winner) else { return };
        let mut key = Self::advance(source, winner, self.in_cycles);
        let mut node = (winner + self.losers.len()) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node) {
                (key, *loser) = (key.min(*loser), key.max(*loser));
            }
            node /= 2;
        }
        self.losers[0] = key;
    }

    /// Steps every source once and plays all matches, leaves to root.
    fn start(&mut self) {
        self.started = true;
        let count = self.sources.len();
        let mut winners = vec![AT_END; 2 * count];
        for (index, source) in self.sources.iter_mut().enumerate() {
            winners[count + index] = Self::advance(source, index, self.in_cycles);
        }
        self.losers = vec![AT_END; count];
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            winners[node] = left.min(right);
            self.losers[node] = left.max(right);
        }
        if count > 0 {
            self.losers[0] = winners[1];
        }
    }

    /// Everything found wrong so far, including when the traces were opened.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.opening_problems.clone();
        for source in &self.sources {
            let cursor = &source.cursor;
            problems.extend(cursor.problems.iter().cloned());
            if cursor.problems_suppressed > 0 {
                problems.push(Problem {
                    file: cursor.file.path().to_path_buf(),
                    packet: None,
                    offset_bytes: 0,
                    lost_bytes: 0,
                    what: ProblemKind::Suppressed { count: cursor.problems_suppressed },
                });
            }
        }
        problems
    }

    /// Streams, of those read so far, whose first packets are not in their traces.
    pub fn beginnings(&self) -> impl Iterator<Item = Beginning<'_>> {
        self.sources.iter().filter_map(|source| {
            let (packet_number, discarded) = source.cursor.beginning?;
            let (trace_index, file) = (source.trace_index, source.cursor.file.path());
            Some(Beginning { trace_index, file, packet_number, discarded })
        })
    }

    /// Whether nothing is wrong with what was read, and packets told the truth about their times.
    pub(crate) fn is_sound(&self) -> bool {
        let mut cursors = self.sources.iter().map(|source| &source.cursor);
        cursors.all(|cursor| cursor.problems.is_empty() && !cursor.has_odd_times)
    }

    /// Number of streams merged.
    pub fn stream_count(&self) -> usize {
        self.sources.len()
    }
}
