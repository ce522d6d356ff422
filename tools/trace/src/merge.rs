// SPDX-License-Identifier: MIT
//! One pass over all streams in time order.
//!
//! Place in the flow: printers, reports and analyses pull messages from here. Each stream is read
//! `ahead`, a `tournament` finds which stream comes next, and what comes next is noted for some
//! events at once: so each of the three is a short loop. If all streams share one clock the time
//! that is compared is in cycles, otherwise in nanoseconds.
//!
//! A merge over a [`Span`] begins each stream with the packet in which the span begins, and ends it
//! with its first event after the span, or, where packets overlap in time, that of each packet.

use crate::ahead::Times;
use crate::clock::Clock;
use crate::cursor::{Cursor, Stop};
use crate::error::{Fault, Problem, ProblemKind};
use crate::event::Event;
use crate::finished;
use crate::lineage::{self, Beginning, Repeated};
use crate::loss::Loss;
use crate::packet::Packet;
use crate::source::{Edges, Source};
use crate::span::Span;
use crate::tournament::Tournament;
use crate::trace::Trace;
use crate::units::{Cycles, Ns};
use crate::visit::Visitor;

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
    cursor: &'a Cursor<'a>,
}

impl LossMessage<'_> {
    /// Where the loss stands among the events: the beginning of the packet that tells of it.
    pub fn cycles(&self) -> Cycles {
        Cycles(self.cursor.cycles)
    }

    /// The packet that tells of it.
    pub fn packet(&self) -> &Packet {
        &self.cursor.packet
    }

    /// Visits that packet's context (`stream.packet.context`).
    pub fn packet_context<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        self.cursor.packet_context(visitor)
    }

    /// [`LossMessage::cycles`] in nanoseconds; `None` in a stream without a clock.
    pub fn time_ns(&self) -> Option<Ns> {
        self.ns(Some(self.cycles()))
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

/// Events that are noted at once.
const TURNS: usize = 64;
/// With so many streams, what they were read ahead is in no cache near the processor.
const MANY_STREAMS: usize = 48;

/// What comes next: some events of a stream that were read ahead, or what it itself has come to.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    stream: u32,
    /// Positions among the events that were read ahead; the same where there are none.
    from: u8,
    until: u8,
}

/// What the times of streams are compared by.
#[inline(always)]
fn time_of(clock: Option<&Clock>, cycles: u64, in_cycles: bool) -> u64 {
    match clock {
        Some(clock) if !in_cycles => clock.ns(Cycles(cycles)).0 as u64 ^ (1 << 63),
        _ => cycles,
    }
}

fn loss_of<'a>(source: &'a Source<'_>, index: usize) -> Option<LossMessage<'a>> {
    Some(LossMessage {
        loss: source.cursor.loss.as_ref()?,
        stream_index: index,
        trace_index: source.trace_index,
        clock: source.clock,
        cursor: &source.cursor,
    })
}

pub struct Merge<'t> {
    sources: Vec<Source<'t>>,
    /// Of each stream, when the events are that were read ahead.
    times: Vec<Times>,
    /// `None` before the first event.
    tournament: Option<Tournament>,
    in_cycles: bool,
    /// What comes next; the first of them have been handed out.
    turns: [Turn; TURNS],
    turn_count: usize,
    next_turn: usize,
    /// What is left of the last of them.
    turn: Turn,
    /// The stream of the last turn, if nothing is left of what it was read ahead.
    used_up: Option<usize>,
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
        Self {
            times: sources.iter().map(|_| Times::new()).collect(),
            sources,
            tournament: None,
            in_cycles: one_scale,
            turns: [Turn::default(); TURNS],
            turn_count: 0,
            next_turn: 0,
            turn: Turn::default(),
            used_up: None,
            opening_problems: traces.iter().flat_map(|t| t.problems().to_vec()).collect(),
            repeated,
        }
    }

    /// The next event or loss; `None` at the end.
    #[inline]
    #[allow(clippy::should_implement_trait)] // It lends: no iterator can.
    pub fn next(&mut self) -> Option<Message<'_>> {
        if self.turn.from < self.turn.until {
            return self.event_ahead();
        }
        if self.next_turn == self.turn_count {
            self.note_turns();
        }
        self.turn = *self.turns.get(..self.turn_count)?.get(self.next_turn)?;
        self.next_turn += 1;
        if self.turn.from < self.turn.until {
            return self.event_ahead();
        }
        // What the stream itself has come to.
        let index = self.turn.stream as usize;
        let source = self.sources.get(index)?;
        Some(match source.stop {
            Stop::Loss => Message::Loss(loss_of(source, index)?),
            _ => Message::Event(Event::new(source, index as u32, source.cursor.cycles, None)),
        })
    }

    /// The next event of the turn, which was read ahead.
    #[inline(always)]
    fn event_ahead(&mut self) -> Option<Message<'_>> {
        let Turn { stream, from, .. } = self.turn;
        self.turn.from += 1;
        let source = self.sources.get(stream as usize)?;
        let cycles = *self.times.get(stream as usize)?.cycles.get(usize::from(from))?;
        Some(Message::Event(Event::new(source, stream, cycles, Some(from))))
    }

    /// Notes what comes next, all turns before having been handed out: up to the last event that
    /// a stream was read ahead, because reading on takes the place of what was handed out.
    #[inline(never)]
    fn note_turns(&mut self) {
        (self.turn_count, self.next_turn) = (0, 0);
        if let Some(stream) = self.used_up.take() {
            let time = self.read_on(stream);
            let Some(tournament) = &mut self.tournament else { return };
            match time {
                Some(time) => tournament.play(stream, time),
                None => tournament.end(stream),
            }
        } else if self.tournament.is_none() {
            self.start();
        }
        let Some(tournament) = &mut self.tournament else { return };
        let are_many = self.sources.len() >= MANY_STREAMS;
        for turn in &mut self.turns {
            let Some(stream) = tournament.winner() else { return };
            let Some(times) = self.times.get_mut(stream) else { return };
            let Some(source) = self.sources.get(stream) else { return };
            self.turn_count += 1;
            *turn = Turn { stream: stream as u32, from: 0, until: 0 };
            let Some((from, _)) = times.next() else {
                self.used_up = Some(stream);
                return;
            };
            if are_many {
                source.ahead.prefetch(times, from);
                times.advance_while(|_| false);
            } else if self.in_cycles {
                let bound = tournament.bound(stream);
                times.advance_while(|cycles| cycles < bound);
            } else {
                times.advance_while(|_| false);
            }
            (turn.from, turn.until) = (from, times.position());
            let Some((_, next)) = times.next() else {
                self.used_up = Some(stream);
                return;
            };
            tournament.play(stream, time_of(source.ahead.clock(), next, self.in_cycles));
        }
    }

    /// Reads a stream ahead, or else steps it. Return: the time of what comes next in it.
    fn read_on(&mut self, stream: usize) -> Option<u64> {
        let source = self.sources.get_mut(stream)?;
        let cycles = source.read_on(self.times.get_mut(stream)?)?;
        Some(time_of(source.clock, cycles, self.in_cycles))
    }

    /// Steps every source once.
    fn start(&mut self) {
        let times = (0..self.sources.len()).map(|stream| self.read_on(stream)).collect();
        self.tournament = Some(Tournament::new(times));
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
        finished::tell_once(&mut problems);
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
                let name = Datum::Text(vec![b'y'; random.below(20) as usize]);
                let fields = Datum::List(vec![Datum::Unsigned(cycles), name, text]);
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
                    let fields = (event.value(0), event.value(2), event.value(3));
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
        let name = Kind::CharSequence { length: testkit::Int::bytes(8, order) };
        let fields = vec![("a", Kind::u(32, order)), ("name", name), ("text", Kind::Text)];
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
                let mut one_by_one = Merge::between(&traces, &span);
                one_by_one.sources.iter_mut().for_each(|source| source.ahead.forbid());
                let (found, wanted) = (read(ahead), read(one_by_one));
                let differs = found.0.iter().zip(&wanted.0).find(|(found, wanted)| found != wanted);
                assert_eq!(differs, None, "seed {seed}");
                assert_eq!((found.0.len(), found.1), (wanted.0.len(), wanted.1), "seed {seed}");
            }
        }
    }
}
