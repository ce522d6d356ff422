// SPDX-License-Identifier: MIT
//! One pass over all streams in time order.
//!
//! Place in the flow: printers, reports and analyses pull messages from here. A loser tree keeps
//! one key for each stream; taking the smallest and replacing it costs one comparison per level.
//! Keys are (time, stream), so ties are broken by the order of the streams and every run gives the
//! same order. If all streams share one clock the time is in cycles, otherwise in nanoseconds.
//!
//! Where the streams are many, `ahead` reads some events ahead; the order is the same.
//!
//! A merge over a [`Span`] begins each stream with the packet in which the span begins, and ends it
//! with its first event after the span, or, where packets overlap in time, that of each packet.

use crate::ahead::{self, Ahead};
use crate::clock::Clock;
use crate::cursor::Stop;
use crate::error::{Problem, ProblemKind};
use crate::event::Event;
use crate::lineage::{self, Beginning, Repeated};
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

/// The key of what a stream has come to.
#[inline(always)]
fn key_of(clock: Option<&Clock>, stream: usize, cycles: u64, in_cycles: bool) -> Key {
    let time = match clock {
        Some(clock) if !in_cycles => clock.ns(Cycles(cycles)).0 as u64 ^ (1 << 63),
        _ => cycles,
    };
    Key::from(time) << 32 | stream as Key
}

fn loss_of<'a>(source: &'a Source<'_>, index: usize) -> Option<LossMessage<'a>> {
    Some(LossMessage {
        loss: source.cursor.loss.as_ref()?,
        stream_index: index,
        trace_index: source.trace_index,
        clock: source.clock,
        cycles: Cycles(source.cursor.cycles),
    })
}

pub struct Merge<'t> {
    sources: Vec<Source<'t>>,
    /// `losers[0]` is the winner; the others lost the match at their node.
    losers: Vec<Key>,
    in_cycles: bool,
    started: bool,
    /// Of each stream, what was read ahead; nothing where few streams are merged.
    ahead: Vec<Ahead>,
    /// Whether the matches of the stream that was handed out last were played already.
    is_played: bool,
    opening_problems: Vec<Problem>,
    /// Streams of which packets are read in another trace, and the position of that.
    repeated: Vec<(usize, usize)>,
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
        let repeated = lineage::join(&mut cursors);
        let one_scale = sources.windows(2).all(|pair| match (pair[0].clock, pair[1].clock) {
            (Some(a), Some(b)) => a.same_scale(b),
            (a, b) => a.is_none() && b.is_none(),
        });
        let ahead_count = match sources.len() {
            0..ahead::LEAST_STREAMS => 0,
            many => many,
        };
        Self {
            losers: Vec::new(),
            sources,
            in_cycles: one_scale,
            started: false,
            ahead: (0..ahead_count).map(|_| Ahead::new()).collect(),
            is_played: false,
            opening_problems: traces.iter().flat_map(|t| t.problems().to_vec()).collect(),
            repeated,
        }
    }

    /// The next event or loss; `None` at the end.
    #[inline]
    #[allow(clippy::should_implement_trait)] // It lends: no iterator can.
    pub fn next(&mut self) -> Option<Message<'_>> {
        let index = match self.ahead.is_empty() {
            true => self.step()?,
            false => self.step_of_many()?,
        };
        let source = self.sources.get(index)?;
        let ahead = self.ahead.get(index).and_then(Ahead::taken);
        Some(match (ahead, source.stop) {
            (Some(at), _) => Message::Event(Event::at(source, index, at)),
            (None, Stop::Loss) => Message::Loss(loss_of(source, index)?),
            (None, _) => Message::Event(Event::new(source, index)),
        })
    }

    /// Goes on to what comes next, which is of the stream at the position returned.
    #[inline(always)]
    fn step(&mut self) -> Option<usize> {
        if self.started {
            self.replay();
        } else {
            self.start();
        }
        let key = self.losers.first().copied().filter(|key| *key < AT_END)?;
        Some(stream_of(key))
    }

    /// [`Merge::step`] where streams are read ahead.
    fn step_of_many(&mut self) -> Option<usize> {
        if !self.started {
            self.start();
        } else if !self.is_played {
            self.replay_ahead();
        }
        let key = self.losers.first().copied().filter(|key| *key < AT_END)?;
        let index = stream_of(key);
        let ahead = self.ahead.get_mut(index)?;
        ahead.take();
        self.is_played = false;
        if let Some(cycles) = ahead.next_cycles() {
            let clock = self.sources.get(index)?.clock;
            self.play(index, key_of(clock, index, cycles, self.in_cycles));
            self.prefetch_winner();
            self.is_played = true;
        }
        Some(index)
    }

    /// [`Merge::replay`] of a stream of which no event is left that was read ahead.
    fn replay_ahead(&mut self) {
        let Some(winner) = self.losers.first().map(|key| stream_of(*key)) else { return };
        let Some(source) = self.sources.get_mut(winner) else { return };
        let Some(ahead) = self.ahead.get_mut(winner) else { return };
        ahead.fill(source);
        let key = match ahead.next_cycles() {
            Some(cycles) => key_of(source.clock, winner, cycles, self.in_cycles),
            None => Self::advance(source, winner, self.in_cycles),
        };
        self.play(winner, key);
    }

    /// Asks for what the next event needs, while the one before it is used.
    #[inline(always)]
    fn prefetch_winner(&self) {
        let Some(winner) = self.losers.first().map(|key| stream_of(*key)) else { return };
        if let (Some(ahead), Some(source)) = (self.ahead.get(winner), self.sources.get(winner)) {
            ahead.prefetch();
            ahead::prefetch(source);
        }
    }

    /// Steps a source and gives its new key.
    #[inline(always)]
    fn advance(source: &mut Source<'t>, index: usize, in_cycles: bool) -> Key {
        source.step();
        if source.stop == Stop::End {
            return AT_END | index as Key;
        }
        key_of(source.clock, index, source.cursor.cycles, in_cycles)
    }

    /// Steps the last winner and plays its matches again on the way to the root.
    #[inline(always)]
    fn replay(&mut self) {
        let Some(winner) = self.losers.first().map(|key| stream_of(*key)) else { return };
        let Some(source) = self.sources.get_mut(winner) else { return };
        let key = Self::advance(source, winner, self.in_cycles);
        self.play(winner, key);
    }

    /// Plays the matches of a stream's new key on the way to the root.
    #[inline(always)]
    fn play(&mut self, winner: usize, mut key: Key) {
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

    /// Streams of which packets are also in another trace, and are read there.
    pub fn repeated(&self) -> impl Iterator<Item = Repeated<'_>> {
        self.repeated.iter().filter_map(|(stream, read_in)| {
            let source = self.sources.get(*stream)?;
            let (trace_index, file) = (source.trace_index, source.cursor.file.path());
            Some(Repeated { trace_index, file, read_in: *read_in })
        })
    }

    /// Whether nothing is wrong with what was read, and packets told the truth about their times.
    pub(crate) fn is_sound(&self) -> bool {
        let mut cursors = self.sources.iter().map(|source| &source.cursor);
        cursors.all(|cursor| cursor.problems.is_empty() && !cursor.has_odd_times)
    }

    /// Gives back the memory of what was read.
    pub(crate) fn release(&mut self) {
        self.sources.iter_mut().for_each(|source| source.cursor.release());
    }

    /// Number of streams merged.
    pub fn stream_count(&self) -> usize {
        self.sources.len()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use testkit::{Datum, Kind, Order, Random, Spec, StreamWriter};

    use super::*;
    use crate::units::Ns;

    const STREAMS: u32 = 60;

    fn stream(spec: &Spec, cpu: u32, random: &mut Random) -> Vec<u8> {
        let mut writer = StreamWriter::new(spec, cpu);
        let mut cycles = 1000 + random.below(50);
        for _ in 0..1 + random.below(6) {
            writer.begin_packet(cycles);
            for _ in 0..random.below(90) {
                cycles += random.below(9);
                let text = Datum::Text(vec![b'x'; random.below(60) as usize]);
                let fields = Datum::List(vec![Datum::Unsigned(cycles), text]);
                let id = 1 + random.below(2);
                writer.event(id, cycles, if id == 1 { fields } else { Datum::List(Vec::new()) });
            }
            if random.one_in(4) {
                writer.lose([1 + random.below(9), 0, 0, 0]);
            }
            writer.end_packet(cycles, 0);
            cycles += random.below(300);
        }
        let mut bytes = writer.finish().0;
        if random.one_in(5) && !bytes.is_empty() {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        bytes
    }

    fn read(mut merge: Merge<'_>) -> (Vec<String>, Vec<Problem>) {
        let mut found = Vec::new();
        while let Some(message) = merge.next() {
            found.push(match message {
                Message::Event(event) => {
                    let (at, bits) = (event.offset_bytes(), event.size_bits());
                    let who = (event.stream_index(), event.is_before_span(), event.packet());
                    let fields = (event.value(0), event.value(1));
                    format!("{who:?} {at} {bits} {} {:?} {fields:?}", event.name(), event.time_ns())
                }
                Message::Loss(lost) => {
                    format!("{} {:?} {:?}", lost.stream_index, lost.time_ns(), lost.loss)
                }
            });
        }
        let problems = merge.problems();
        (found, problems)
    }

    #[test]
    fn streams_that_are_read_ahead_give_what_they_give_one_event_at_a_time() {
        let order = Order::Little;
        let fields = vec![("a", Kind::u(32, order)), ("text", Kind::Text)];
        let nothing = Kind::structure(Vec::new());
        let spec = Spec::lull(order, vec![(1, "e", Kind::structure(fields)), (2, "n", nothing)]);
        for seed in 0..20 {
            let random = &mut Random::new(seed);
            let streams = (0..STREAMS)
                .map(|cpu| (PathBuf::from(format!("s{cpu}")), stream(&spec, cpu, random)));
            let streams = streams.collect();
            let traces = [Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()];
            let (begin, end) = traces[0].bounds().unwrap();
            let third = Ns((end.0 - begin.0) / 3);
            let part = Span { from: Some(Ns(begin.0 + third.0)), until: Some(Ns(end.0 - third.0)) };
            for span in [Span::ALL, part] {
                let ahead = Merge::between(&traces, &span);
                assert!(!ahead.ahead.is_empty());
                let mut one_by_one = Merge::between(&traces, &span);
                one_by_one.ahead.clear();
                let (found, wanted) = (read(ahead), read(one_by_one));
                let differs = found.0.iter().zip(&wanted.0).find(|(found, wanted)| found != wanted);
                assert_eq!(differs, None, "seed {seed}");
                assert_eq!((found.0.len(), found.1), (wanted.0.len(), wanted.1), "seed {seed}");
            }
        }
    }
}
