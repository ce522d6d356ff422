// SPDX-License-Identifier: MIT
//! From one ring to one stream: full sub-buffers as they are, the open one part by part, and
//! what dead writers left behind after repair.
//!
//! Place in the flow: `consumer` calls it from its timer; the walk, the repair and the stream
//! are its tools. A sub-buffer is never closed for the reader's sake: the new part of the open one
//! is written as a packet, and what follows later as another. A flight recorder's stay: `look`.
//! Paper: B 4.3.2 (algorithms 5-7); docs/adr/0003 (dead writers).

use crate::clock::now_cycles;
use crate::output::Trace;
use crate::repair::{find_holes, repair, Holes};
use crate::ring::{barrier_heavy, Held, OnDisk, Place, Readiness, Ring, Subbuf};
use crate::stream::{prelude, Budget, Packet, Refusal, Stream};
use crate::view::{Copy, View};
use crate::walk::{closer, starts_with_thread_record, Stop, Thread, Walk, Walker};
use session::abi::*;
use std::time::{Duration, Instant};

mod look;

/// How long a living writer may leave a slot open in a closed sub-buffer, while there is room.
const WRITER_PATIENCE: Duration = Duration::from_secs(1);
/// The same when the ring is full and others lose events meanwhile: a few turns of the scheduler.
const WRITER_PATIENCE_URGENT: Duration = Duration::from_millis(20);
/// How long a writer may take to close one sub-buffer and open the next. The recorder looks no more
/// often than this which slots are missing: each such look walks over the sub-buffer while rings
/// fill.
const SWITCH_PATIENCE: Duration = Duration::from_millis(1);
/// Time stamps may lie this far beyond the reader's clock, should CPUs' clocks differ.
const HORIZON_CYCLES: u64 = 1 << 32;

/// What happened to the events of a ring, counted for the verdict.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub events: u64,
    pub packets: u64,
    /// Packets and their events that did not reach the disk.
    pub unwritten_packets: u64,
    pub unwritten_events: u64,
    /// Packets that were cut short because their bytes made no sense.
    pub damaged_packets: u64,
    pub last_damage: Option<String>,
    pub last_error: Option<String>,
}

/// What a drain writes with: shared by all rings of one consumer.
pub struct Tools {
    pub walker: Walker,
    pub budget: Budget,
    /// The budget is used up: recording is over.
    pub limit_reached: bool,
    /// None: a flight recorder between snapshots.
    pub trace: Option<Trace>,
    /// Of the piece that is being written.
    pub copy: Copy,
    /// Packets that the disk refuses stay in their rings, for another attempt.
    pub keeps_refused: bool,
}

impl Tools {
    /// `keeps_refused`: for what a killed recorder left.
    pub fn new(walker: Walker, budget: Budget, keeps_refused: bool) -> Self {
        let (limit_reached, trace, copy) = (false, None, Copy::default());
        Self { walker, budget, limit_reached, trace, copy, keeps_refused }
    }

    /// Writes a packet to its stream, and counts it. `events`: how many are in it, for people.
    pub fn write(&mut self, stream: &mut Stream, tally: &mut Tally, packet: &Packet, events: u64) {
        if let Some(trace) = &mut self.trace {
            let packet_bytes = packet.until.saturating_sub(packet.from) as u64;
            let written_bytes = self.budget.used_bytes.saturating_add(packet_bytes);
            trace.prepare(&self.walker.classes(), written_bytes);
        }
        match stream.write(packet, &mut self.budget) {
            Ok(()) => {
                tally.events += events;
                tally.packets += 1;
                return;
            }
            Err(Refusal::Limit) => {
                // The recording ends here: what comes after that is not asked for, and not lost.
                self.limit_reached = true;
                return;
            }
            Err(Refusal::Io(error)) => {
                self.limit_reached |= self.keeps_refused;
                tally.last_error = Some(error.to_string());
            }
        }
        tally.unwritten_events += events;
        tally.unwritten_packets += 1;
    }

    /// Says in a stream what was lost after its last packet.
    pub fn write_lost(
        &mut self,
        stream: &mut Stream,
        tally: &mut Tally,
        lost: [u64; LOST_CAUSES],
        now_cycles: u64,
    ) {
        if lost == stream.lost || self.limit_reached {
            return;
        }
        let (begin_cycles, end_cycles) = (stream.end_cycles, now_cycles.max(stream.end_cycles));
        let view = nothing();
        let packet =
            Packet { begin_cycles, end_cycles, lost, prelude: None, view, from: 0, until: 0 };
        self.write(stream, tally, &packet, 0);
    }

    /// Whether what was read last must stay where it was.
    fn is_refused(&self) -> bool {
        self.keeps_refused && self.limit_reached
    }
}

/// The part of the oldest sub-buffer that is on disk already.
#[derive(Clone, Copy)]
struct Flushed {
    position: u64,
    until: usize,
}

/// A run of slots that is to become a packet.
#[derive(Clone, Copy)]
struct Piece<'a> {
    view: View<'a>,
    from: usize,
    limit: usize,
    /// What the ring's own header says, where the writer that closed the sub-buffer wrote it.
    closed: Option<PacketHeader>,
    /// When the sub-buffer was opened, where that is known.
    opened_cycles: Option<u64>,
    /// Slots in it that are not committed are no loss: they were counted, or are still written.
    is_counted: bool,
}

/// A piece that was walked from end to end.
struct Walked<'a> {
    view: View<'a>,
    begin_cycles: u64,
    thread_before: Option<Thread>,
    state: Walk,
    /// Slots whose writers never finished.
    lost_count: u64,
}

/// The oldest sub-buffer, closed and waiting for its writers.
#[derive(Clone, Copy)]
struct Stuck {
    position: u64,
    since: Instant,
    /// When to ask again which slots are missing.
    walk_after: Instant,
}

/// What becomes of slots in the open sub-buffer that living threads have not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenSlots {
    /// All is left for later.
    Wait,
    /// What is before the first of them is written; the rest is not in this snapshot.
    Cut,
    /// They are lost: recording is over.
    Lose,
}

pub struct Drain {
    pub ring: Ring,
    source: usize,
    pub tally: Tally,
    flushed: Option<Flushed>,
    thread: Option<Thread>,
    stuck: Option<Stuck>,
    /// The thread that closed the sub-buffer before the oldest one and so opened the oldest; None
    /// if it is not known.
    closer: Option<u32>,
    /// Flight recorder: the next sub-buffer of the snapshot that is being written.
    next: Option<u64>,
    /// Flight recorder: sub-buffers of which the unfinished slots are counted as lost.
    given_up: Vec<u64>,
}

impl Drain {
    /// `source`: what the walker has to select for this ring.
    pub fn new(ring: Ring, source: usize) -> Self {
        Self {
            ring,
            source,
            tally: Tally::default(),
            flushed: None,
            thread: None,
            stuck: None,
            closer: None,
            next: None,
            given_up: Vec::new(),
        }
    }

    /// Writes full sub-buffers, at most `most`. Return: how many.
    pub fn drain_full(&mut self, tools: &mut Tools, stream: &mut Stream, most: u32) -> u32 {
        tools.walker.select(self.source);
        let mut count = 0;
        while count < most && !tools.limit_reached {
            let Some(subbuf) = self.ring.get() else { break };
            // What is refused is where it was: the reader of a discarding ring exchanges nothing.
            if !self.write_full(tools, stream, &subbuf) {
                break;
            }
            self.ring.put(&subbuf);
            count += 1;
        }
        count
    }

    /// Writes what [`Ring::hold`] gave; before anything that lies behind it in the ring.
    pub fn write_held(&mut self, tools: &mut Tools, stream: &mut Stream, held: Held) {
        if !tools.limit_reached {
            tools.walker.select(self.source);
            self.write_full(tools, stream, held.subbuf());
        }
        self.ring.release(held);
    }

    /// Writes a sub-buffer that is full. Return: false when it had to stay.
    fn write_full(&mut self, tools: &mut Tools, stream: &mut Stream, subbuf: &Subbuf) -> bool {
        let piece = self.taken_piece(subbuf);
        self.emit(tools, stream, &piece);
        if tools.is_refused() {
            return false;
        }
        self.closer = closer(piece.view, piece.limit);
        self.tell_on_disk(stream, subbuf.position(), self.ring.subbuf_size_bytes());
        true
    }

    /// Writes what is new in the open sub-buffer. Return: false when it was left for later.
    pub fn flush_open(
        &mut self,
        tools: &mut Tools,
        stream: &mut Stream,
        open_slots: OpenSlots,
    ) -> bool {
        if tools.limit_reached {
            return true;
        }
        tools.walker.select(self.source);
        let Some(subbuf) = self.ring.peek() else { return self.is_at_end() };
        if self.ring.is_flight_recorder() && !self.goes_on_at(stream, &subbuf) {
            return false;
        }
        let mut piece = self.open_piece(&subbuf);
        if piece.limit <= piece.from {
            return true;
        }
        if subbuf.complete() && !self.ring.is_flight_recorder() {
            self.emit(tools, stream, &piece);
        } else {
            let mut holes = Holes::default();
            if !subbuf.complete() {
                holes = self.holes_of(tools, &piece);
                match open_slots {
                    OpenSlots::Wait if holes.holes.is_empty() || !self.all_dead(&holes) => {
                        return false
                    }
                    // A writer may have committed after the look, and then ended. What is open
                    // now that all have ended stays open.
                    OpenSlots::Wait => holes = self.holes_of(tools, &piece),
                    OpenSlots::Cut => {
                        piece.limit = holes.holes.first().map_or(piece.limit, |hole| hole.at);
                    }
                    OpenSlots::Lose => {}
                }
            }
            let copy = copy_with(&self.ring, &piece, &holes);
            if self.ring.is_flight_recorder() && !self.ring.unchanged(&subbuf) {
                return false;
            }
            self.emit(tools, stream, &Piece { view: copy.view(), ..piece });
        }
        if !self.ring.is_flight_recorder() && !tools.is_refused() {
            self.tell_on_disk(stream, subbuf.position(), piece.limit);
            self.flushed = Some(Flushed { position: subbuf.position(), until: piece.limit });
        }
        true
    }

    /// Slots of a piece that are not committed.
    fn holes_of(&self, tools: &mut Tools, piece: &Piece) -> Holes {
        let plain = self.ring.is_plain();
        find_holes(&mut tools.walker, piece.view, piece.limit, plain).since(piece.from)
    }

    fn all_dead(&self, holes: &Holes) -> bool {
        holes.all_dead(&self.ring)
    }

    /// Takes the oldest sub-buffer if it is closed and its writers will not finish it.
    /// `patient`: give living writers time. Return: whether one was taken.
    pub fn rescue(
        &mut self,
        tools: &mut Tools,
        stream: Option<&mut Stream>,
        patient: bool,
    ) -> Result<bool, String> {
        let stuck = self.ring.stuck().filter(|_| !tools.is_refused());
        let Some(stuck) = stuck else {
            self.stuck = None;
            return Ok(false);
        };
        let now = Instant::now();
        let known = self.stuck.filter(|known| known.position == stuck.position());
        let known = *self.stuck.insert(known.unwrap_or(Stuck {
            position: stuck.position(),
            since: now,
            walk_after: now,
        }));
        if patient && (self.ring.is_kernels() || now < known.walk_after) {
            return Ok(false);
        }
        self.stuck = Some(Stuck { walk_after: now + SWITCH_PATIENCE, ..known });
        let (view, size) = (stuck.view(), stuck.content_bytes());
        tools.walker.select(self.source);
        let holes = find_holes(&mut tools.walker, view, size, self.ring.is_plain());
        let missing = (size as u64).saturating_sub(stuck.committed_bytes());
        let debtors = holes.debtors(missing, self.closer);
        let nobody_left = debtors
            .as_ref()
            .is_some_and(|owners| owners.iter().all(|owner| self.ring.is_dead(owner)));
        if patient && !nobody_left {
            // No thread known to be alive has a slot open: only words around the slots are missing,
            // and the packet does not need those.
            let patience = match self.ring.poll() {
                Readiness::Urgent => WRITER_PATIENCE_URGENT,
                _ => WRITER_PATIENCE,
            };
            let waited = known.since.elapsed();
            if waited < SWITCH_PATIENCE || (waited < patience && !self.all_dead(&holes)) {
                return Ok(false);
            }
        }
        // The end of the recording: no writer needs the sub-buffer any more, so it is read where it
        // is when there is no spare one to put in its place, or when it stays if it is refused.
        let taken = match (!tools.keeps_refused).then(|| self.ring.take(&stuck, debtors)) {
            None => stuck,
            Some(Ok(Some(taken))) => taken,
            Some(Ok(None) | Err(_)) if !patient => stuck,
            Some(Ok(None)) => return Ok(false),
            Some(Err(problem)) => return Err(problem),
        };
        self.stuck = None;
        self.closer = holes.closer;
        if let Some(stream) = stream {
            return Ok(self.emit_unfinished(tools, stream, &taken));
        }
        self.ring.put(&taken);
        Ok(true)
    }

    /// Writes a closed sub-buffer that writers have not finished, and gives it back. Return: false
    /// when it had to stay.
    fn emit_unfinished(&mut self, tools: &mut Tools, stream: &mut Stream, taken: &Subbuf) -> bool {
        let piece = self.taken_piece(taken);
        let holes = self.holes_of(tools, &piece);
        let copy = copy_with(&self.ring, &piece, &holes);
        self.emit(tools, stream, &Piece { view: copy.view(), ..piece });
        if tools.is_refused() {
            return false;
        }
        self.tell_on_disk(stream, taken.position(), self.ring.subbuf_size_bytes());
        self.ring.put(taken);
        true
    }

    /// Goes on at the first byte of a left ring that is not on disk. Return: how many sub-buffers
    /// are gone that the killed recorder had copied and given back.
    pub fn resume(&mut self, tools: &mut Tools, stream: &mut Stream, from: Place) -> u64 {
        tools.walker.select(self.source);
        let (oldest, is_taken) = self.ring.oldest();
        let Place { mut position, mut offset } = from;
        let mut gone = 0;
        // Bound: the ring's spare sub-buffers, see Ring::place_of.
        while position != oldest.position() {
            match self.ring.held_at(position) {
                Some(held) => {
                    self.resume_in(tools, stream, &held, offset);
                    if !self.write_full(tools, stream, &held) {
                        return gone;
                    }
                }
                None => gone += 1,
            }
            position = position.wrapping_add(self.ring.subbuf_size_bytes() as u64);
            offset = 0;
        }
        self.resume_in(tools, stream, &oldest, offset);
        if is_taken {
            self.emit_unfinished(tools, stream, &oldest);
        }
        gone
    }

    /// Takes thread and time to where `offset` bytes of a sub-buffer are on disk.
    fn resume_in(
        &mut self,
        tools: &mut Tools,
        stream: &mut Stream,
        subbuf: &Subbuf,
        offset: usize,
    ) {
        if offset > 0 {
            self.flushed = Some(Flushed { position: subbuf.position(), until: offset });
        }
        let now = now_cycles();
        let header = subbuf.view().packet_header();
        let opened = header.map(|header| header.timestamp_begin_cycles).filter(|at| *at <= now);
        let mut state = Walk::new(PACKET_HEADER_BYTES, opened.unwrap_or(0), None);
        if offset > PACKET_HEADER_BYTES {
            // What is on disk already tells whose events follow, and their time.
            let mut copy = subbuf.view().copy(offset);
            let plain = self.ring.is_plain();
            repair(&mut tools.walker, &mut copy, offset, &mut state, now, plain);
            self.thread = state.thread;
        }
        stream.end_cycles = stream.end_cycles.max(state.cycles);
    }

    /// What is before this offset of the sub-buffer at `position` need not be read again.
    fn tell_on_disk(&self, stream: &Stream, position: u64, offset: usize) {
        if !self.ring.is_flight_recorder() {
            let (bytes, packets) = (stream.bytes(), stream.packets());
            let count = position.wrapping_add(offset as u64);
            self.ring.tell_on_disk(OnDisk { count, bytes, packets });
        }
    }

    /// Whether the oldest sub-buffer waits for writers.
    pub fn is_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    /// What is not on disk yet of a sub-buffer that is closed. The end of its header is believed
    /// only once all is committed: before, its closer may be writing it now, over that of an
    /// earlier lap, and a limit from there would hide committed slots. Then the end mark tells.
    fn taken_piece<'a>(&self, taken: &'a Subbuf) -> Piece<'a> {
        self.closed_piece(taken, taken.view())
    }

    /// The same, of bytes that are the sub-buffer's or a copy of them.
    fn closed_piece<'a>(&self, taken: &Subbuf, view: View<'a>) -> Piece<'a> {
        let (position, size) = (taken.position(), taken.content_bytes());
        let header = view.packet_header();
        let number = self.ring.packet_number(position);
        let closed = header.filter(|found| taken.complete() && found.packet_seq_num == number);
        Piece {
            view,
            from: self.flushed_until(position),
            limit: closed.and_then(|header| content_limit(&header, size)).unwrap_or(size),
            closed,
            opened_cycles: header.map(|header| header.timestamp_begin_cycles),
            is_counted: false,
        }
    }

    /// What is not on disk yet of the sub-buffer that is open.
    fn open_piece<'a>(&self, subbuf: &'a Subbuf) -> Piece<'a> {
        let header = subbuf.view().packet_header();
        Piece {
            view: subbuf.view(),
            from: self.flushed_until(subbuf.position()),
            limit: subbuf.content_bytes(),
            closed: None,
            opened_cycles: header.map(|header| header.timestamp_begin_cycles),
            is_counted: false,
        }
    }

    /// Says in the stream what was lost after its last packet.
    pub fn write_lost(&mut self, tools: &mut Tools, stream: &mut Stream, now_cycles: u64) {
        tools.write_lost(stream, &mut self.tally, self.ring.lost(), now_cycles);
    }

    fn flushed_until(&self, position: u64) -> usize {
        let flushed = self.flushed.filter(|flushed| flushed.position == position);
        flushed.map_or(PACKET_HEADER_BYTES, |flushed| flushed.until)
    }

    /// Walks a piece, repairs it if need be, and writes it. It is read once: what is walked is the
    /// copy that is written, for a process that shares the ring may change it in between.
    fn emit(&mut self, tools: &mut Tools, stream: &mut Stream, piece: &Piece) {
        let mut copy = std::mem::take(&mut tools.copy);
        piece.view.copy_to(piece.limit, &mut copy);
        self.emit_copy(tools, stream, piece, &mut copy);
        tools.copy = copy;
    }

    fn emit_copy(
        &mut self,
        tools: &mut Tools,
        stream: &mut Stream,
        piece: &Piece,
        copy: &mut Copy,
    ) {
        let horizon = now_cycles().saturating_add(HORIZON_CYCLES);
        let opened = piece.opened_cycles.filter(|_| piece.from == PACKET_HEADER_BYTES);
        let opened = opened.filter(|opened| (stream.end_cycles..=horizon).contains(opened));
        let begin_cycles = opened.unwrap_or(stream.end_cycles);
        let thread_before = self.thread;
        let mut state = Walk::new(piece.from, begin_cycles, thread_before);
        let stop = tools.walker.walk(copy.view(), piece.limit, &mut state, horizon);
        if matches!(stop, Stop::Limit | Stop::End { .. }) {
            let view = copy.view();
            let walked = Walked { view, begin_cycles, thread_before, state, lost_count: 0 };
            self.finish(tools, stream, piece, &walked);
            return;
        }
        let plain = self.ring.is_plain();
        let repaired = repair(&mut tools.walker, copy, piece.limit, &mut state, horizon, plain);
        if let Some(reason) = repaired.damage {
            self.tally.damaged_packets += 1;
            self.tally.last_damage = Some(format!("{reason}, at byte {}", state.at));
        }
        let lost_count = if piece.is_counted { 0 } else { repaired.lost_count };
        let view = copy.view();
        if lost_count > 0 {
            self.ring.count_in_flight(lost_count);
        }
        let walked = Walked { view, begin_cycles, thread_before, state, lost_count };
        self.finish(tools, stream, piece, &walked);
    }

    fn finish(&mut self, tools: &mut Tools, stream: &mut Stream, piece: &Piece, walked: &Walked) {
        let state = &walked.state;
        self.thread = state.thread;
        let lost = self.lost_at(stream, piece, walked.lost_count);
        let has_slots = state.content_until > piece.from;
        if !has_slots && lost == stream.lost {
            return;
        }
        let closed = piece.closed.map(|header| header.timestamp_end_cycles);
        let end_cycles = closed
            .filter(|closed| (state.cycles..=now_cycles()).contains(closed))
            .unwrap_or(state.cycles);
        let in_run = has_slots
            && !self.ring.is_plain()
            && !starts_with_thread_record(walked.view, piece.from);
        let packet = Packet {
            begin_cycles: walked.begin_cycles,
            end_cycles,
            lost,
            prelude: walked
                .thread_before
                .filter(|_| in_run)
                .map(|thread| prelude(&thread, walked.begin_cycles)),
            view: walked.view,
            from: piece.from,
            until: state.content_until,
        };
        tools.write(stream, &mut self.tally, &packet, state.events);
    }

    /// What was lost until the end of a piece: what its closer wrote down, as far as that can
    /// be true, else what is known now.
    fn lost_at(&self, stream: &Stream, piece: &Piece, lost_count: u64) -> [u64; LOST_CAUSES] {
        let now = self.ring.lost();
        let Some(closed) = piece.closed else { return now };
        std::array::from_fn(|cause| match cause {
            LOST_IN_FLIGHT if lost_count > 0 => now[cause],
            _ => closed.lost[cause].min(now[cause]).max(stream.lost[cause]),
        })
    }
}

/// A view without bytes.
fn nothing() -> View<'static> {
    // SAFETY: no byte is ever read of an empty view.
    unsafe { View::new(std::ptr::dangling::<u32>().cast(), 0) }
}

/// A private copy of a piece, with the holes that were found before the barrier.
fn copy_with(ring: &Ring, piece: &Piece, holes: &Holes) -> Copy {
    ring.select();
    // [ring.walk:A] heavy. Pairs with [ring.commit:A].
    // Orders: the loads of the slots' first words before the copy of the slots' payloads.
    // Else: a committed first word is found beside a payload that is not there yet.
    // Mutant: WALK_NO_BARRIER.
    barrier_heavy();
    let mut copy = piece.view.copy(piece.limit);
    holes.restore(&mut copy);
    copy
}

/// Where slots end according to the header, if that is possible.
fn content_limit(header: &PacketHeader, subbuf_bytes: usize) -> Option<usize> {
    let bytes = usize::try_from(header.content_size_bits / 8).ok()?;
    let fits = (PACKET_HEADER_BYTES..=subbuf_bytes).contains(&bytes);
    (fits && bytes % SLOT_ALIGN == 0).then_some(bytes)
}
