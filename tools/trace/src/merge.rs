// SPDX-License-Identifier: MIT
//! One pass over all streams in time order.
//!
//! Place in the flow: printers, reports and analyses pull messages from here. A loser tree keeps
//! one key for each stream; taking the smallest and replacing it costs one comparison per level.
//! Keys are (time, stream), so ties are broken by the order of the streams and every run gives the
//! same order. If all streams share one clock the time is in cycles, otherwise in nanoseconds.

use crate::clock::Clock;
use crate::cursor::{Cursor, Stop};
use crate::error::{Problem, ProblemKind};
use crate::event::Event;
use crate::lineage::{self, Beginning};
use crate::loss::Loss;
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

/// A cursor with its place in the merge.
struct Source<'t> {
    cursor: Cursor<'t>,
    clock: Option<&'t Clock>,
    trace_index: usize,
    stop: Stop,
}

/// Time in the upper bits, stream in the lower 32.
type Key = u128;
const AT_END: Key = Key::MAX;

pub struct Merge<'t> {
    sources: Vec<Source<'t>>,
    /// `losers[0]` is the winner; the others lost the match at their node.
    losers: Vec<(Key, u32)>,
    in_cycles: bool,
    started: bool,
    opening_problems: Vec<Problem>,
}

impl<'t> Merge<'t> {
    /// Merges several traces. Streams are numbered through, trace after trace.
    pub fn over(traces: &'t [Trace]) -> Self {
        let mut sources = Vec::new();
        for (trace_index, trace) in traces.iter().enumerate() {
            for cursor in trace.cursors() {
                let clock = trace.metadata().clock_of(cursor.class);
                sources.push(Source { cursor, clock, trace_index, stop: Stop::End });
            }
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
        let (key, winner) = *self.losers.first()?;
        if key == AT_END {
            return None;
        }
        let index = winner as usize;
        let source = self.sources.get(index)?;
        Some(match source.stop {
            Stop::Loss => Message::Loss(LossMessage {
                loss: source.cursor.loss.as_ref()?,
                stream_index: index,
                trace_index: source.trace_index,
                clock: source.clock,
                cycles: Cycles(source.cursor.cycles),
            }),
            _ => {
                Message::Event(Event::new(&source.cursor, source.clock, index, source.trace_index))
            }
        })
    }

    /// Steps a source and gives its new key.
    #[inline(always)]
    fn advance(source: &mut Source<'t>, index: u32, in_cycles: bool) -> Key {
        source.stop = source.cursor.step();
        if source.stop == Stop::End {
            return AT_END;
        }
        let cycles = Cycles(source.cursor.cycles);
        let time = match source.clock {
            Some(clock) if !in_cycles => clock.ns(cycles).0 as u64 ^ (1 << 63),
            _ => cycles.0,
        };
        Key::from(time) << 32 | Key::from(index)
    }

    /// Steps the last winner and plays its matches again on the way to the root.
    #[inline(always)]
    fn replay(&mut self) {
        let Some(&(_, winner)) = self.losers.first() else { return };
        let Some(source) = self.sources.get_mut(winner as usize) else { return };
        let mut entry = (Self::advance(source, winner, self.in_cycles), winner);
        let mut node = (winner as usize + self.losers.len()) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node) {
                if loser.0 < entry.0 {
                    std::mem::swap(loser, &mut entry);
                }
            }
            node /= 2;
        }
        self.losers[0] = entry;
    }

    /// Steps every source once and plays all matches, leaves to root.
    fn start(&mut self) {
        self.started = true;
        let count = self.sources.len();
        let mut winners = vec![(AT_END, u32::MAX); 2 * count];
        for (index, source) in self.sources.iter_mut().enumerate() {
            let key = Self::advance(source, index as u32, self.in_cycles);
            winners[count + index] = (key, index as u32);
        }
        self.losers = vec![(AT_END, u32::MAX); count];
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if left.0 <= right.0 { (left, right) } else { (right, left) };
            winners[node] = winner;
            self.losers[node] = loser;
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

    /// Number of streams merged.
    pub fn stream_count(&self) -> usize {
        self.sources.len()
    }
}
