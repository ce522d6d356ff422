// SPDX-License-Identifier: MIT
//! Event by event through one stream file.
//!
//! Place in the flow: the merge holds one cursor for each stream file and asks it for the next
//! event. `step_fast` is the loop that matters: two loads, a table look-up, and the extents of an
//! event are known without touching its fields. What it cannot handle goes to `step_slow`, which
//! also decides about damage; `enter` is in `stream_file`.
//!
//! Invariants: `limit_bits <= data.len() * 8`, and no step leaves `position` beyond it; a step
//! either moves `position` forward, leaves the packet, or ends the stream.

use std::collections::VecDeque;

use crate::ahead::{Spot, DEPTH};
use crate::bits::{align_up, whole_word, Bits};
use crate::clock::extend;
use crate::error::{Fault, Problem, ProblemKind};
use crate::header::{HeaderShape, IdScan};
use crate::loss::Loss;
use crate::metadata::{EventEntry, Metadata, StreamClass};
use crate::packet::{Packet, Signature};
use crate::span::Window;
use crate::trace::StreamFile;
use crate::units::Cycles;
use crate::visit::Visit;
use crate::walk::{packet_budget, Slots, Walk};

/// What a cursor came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Event,
    /// A loss waits in [`Cursor::losses`].
    Loss,
    End,
}

/// A look at the packet that follows brings at most so much of it into memory, usually.
const NEXT_BYTES: usize = 64 << 10;
/// After this many problems a stream only counts further ones.
const MAX_PROBLEMS: usize = 1000;

pub(crate) struct Cursor<'t> {
    // What each step uses.
    /// From the packet's first byte to the end of the file.
    pub(crate) data: &'t [u8],
    pub(crate) position: u64,
    /// Up to here events are looked for without asking: the end of the packet's content, or, in a
    /// large packet, some way ahead.
    pub(crate) limit_bits: u64,
    pub(crate) cycles: u64,
    shape: HeaderShape,
    table: &'t [EventEntry],
    pub(crate) event: Place,

    // What each packet uses.
    pub(crate) file: &'t StreamFile,
    pub(crate) metadata: &'t Metadata,
    pub(crate) signature: &'t Signature,
    pub(crate) class: &'t StreamClass,
    pub(crate) slots: Box<Slots>,
    pub(crate) budget: u64,
    pub(crate) packet: Packet,
    pub(crate) in_packet: bool,
    /// Whether no event of the packet has been read.
    pub(crate) at_first_event: bool,
    pub(crate) next_packet: usize,
    /// The packet there, and those after it, are read elsewhere.
    pub(crate) stop_at: usize,
    /// Everything before this offset in the file was given back; `None` before the first packet.
    released: Option<usize>,
    /// Whether it was told that the file is cut.
    pub(crate) has_told_cut: bool,
    pub(crate) packets_seen: u64,
    /// Whether a packet began before the one before it ended, or had an event after its end.
    pub(crate) has_odd_times: bool,
    pub(crate) previous: Previous,
    pub(crate) losses: VecDeque<Loss>,
    /// Number of the first packet and its count of discarded events, where packets came before it.
    pub(crate) beginning: Option<(u64, u64)>,
    /// The loss handed out last.
    pub(crate) loss: Option<Loss>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) problems_suppressed: u64,
}

/// Where an event is in its packet, in bits, and of which class it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub begin: u64,
    /// Where its header ends.
    pub body: u64,
    pub until: u64,
    pub class: u32,
}

/// What is remembered of the packet before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Previous {
    /// When the packet before ended.
    pub end_cycles: u64,
    /// When its last event was.
    pub sequence: Option<u64>,
    pub discarded: Option<u64>,
    pub losses: Vec<u64>,
    pub end: Option<u64>,
    pub reached_cycles: u64,
}

/// An event that a look at its header found.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Its end is beyond all packets where its size varies.
    place: Place,
    cycles: u64,
    is_varying: bool,
}

/// The event after a place and a clock value, if its header has the common shape. `last` is the
/// id and the entry of the event before: a processor that predicts that they are the same again
/// finds the event after this one without waiting for what it loads here.
#[inline(always)]
fn look<const IS_ONE_WORD: bool>(
    shape: &HeaderShape,
    table: &[EventEntry],
    data: &[u8],
    (position, before): (u64, u64),
    last: &mut (u64, EventEntry),
) -> Option<Found> {
    let begin = (position + shape.align_mask) & !shape.align_mask;
    let byte = (begin / 8) as usize;
    let (id, low) = if IS_ONE_WORD {
        let word = whole_word(data, byte)?;
        (shape.id.extract_little(word), shape.timestamp.extract_little(word))
    } else {
        let id_word = whole_word(data, byte + shape.id.byte)?;
        let time_word = whole_word(data, byte + shape.timestamp.byte)?;
        (shape.id.extract(id_word), shape.timestamp.extract(time_word))
    };
    if id != last.0 {
        if id.wrapping_sub(shape.first_id) > shape.more_ids {
            return None;
        }
        *last = (id, *table.get(id as usize)?);
    }
    let EventEntry { body_bits, align_mask, class } = last.1;
    let body = begin + shape.size_bits;
    let align_mask = u64::from(align_mask);
    let until = ((body + align_mask) & !align_mask).saturating_add(body_bits);
    let cycles = extend(before, low, shape.timestamp.mask);
    if cycles < before {
        // A clock of 64 bits ran backwards: `decode` finds it again and tells.
        return None;
    }
    let is_varying = body_bits == EventEntry::DYNAMIC;
    Some(Found { place: Place { begin, body, until, class }, cycles, is_varying })
}

/// Stands in where a header has no shape: its range of ids is empty, so every event is slow.
const NO_SHAPE: HeaderShape = HeaderShape {
    align_mask: 7,
    size_bits: 0,
    id: crate::header::Lane { byte: 0, shift: 0, mask: 0, big: false },
    timestamp: crate::header::Lane { byte: 0, shift: 0, mask: 0, big: false },
    first_id: 1,
    more_ids: 0,
};

impl<'t> Cursor<'t> {
    pub fn new(
        file: &'t StreamFile,
        class: &'t StreamClass,
        metadata: &'t Metadata,
        signature: &'t Signature,
    ) -> Self {
        Self {
            data: &[],
            position: 0,
            limit_bits: 0,
            cycles: 0,
            shape: class.header_shape.unwrap_or(NO_SHAPE),
            table: &class.table.dense,
            event: Place::default(),
            file,
            metadata,
            signature,
            class,
            slots: crate::walk::new_slots(metadata.slot_count),
            budget: 0,
            packet: Packet::default(),
            in_packet: false,
            at_first_event: false,
            next_packet: 0,
            stop_at: usize::MAX,
            released: None,
            has_told_cut: false,
            packets_seen: 0,
            has_odd_times: false,
            previous: Previous::default(),
            losses: VecDeque::new(),
            beginning: None,
            loss: None,
            problems: Vec::new(),
            problems_suppressed: 0,
        }
    }

    /// The next event or loss.
    #[inline(always)]
    pub fn step(&mut self) -> Stop {
        if self.step_fast() {
            return Stop::Event;
        }
        self.step_slow()
    }

    /// The event at `position`, if its header has the common shape and its end is in the packet.
    #[inline(always)]
    fn step_fast(&mut self) -> bool {
        let at = (self.position, self.cycles);
        let mut last = (u64::MAX, EventEntry::ABSENT);
        let found = look::<false>(&self.shape, self.table, self.data, at, &mut last);
        let Some(found) = found else { return false };
        if found.place.until > self.limit_bits {
            return self.step_varying(&found);
        }
        self.cycles = found.cycles;
        self.event = found.place;
        self.position = found.place.until;
        true
    }

    /// Steps over events for as long as they are found fast, are in a window of the clock, end at
    /// most at the end of a range of bits, and there is room. Their places are counted from the
    /// beginning of the range. Return: how many.
    pub(crate) fn step_ahead(
        &mut self,
        window: Window,
        range_bits: (u64, u64),
        times: &mut [u64; DEPTH],
        spots: &mut [Spot; DEPTH],
    ) -> usize {
        match self.shape.is_one_word() {
            true => self.step_ahead_by::<true>(window, range_bits, times, spots),
            false => self.step_ahead_by::<false>(window, range_bits, times, spots),
        }
    }

    #[inline(always)]
    fn step_ahead_by<const IS_ONE_WORD: bool>(
        &mut self,
        window: Window,
        (base_bits, until_bits): (u64, u64),
        times: &mut [u64; DEPTH],
        spots: &mut [Spot; DEPTH],
    ) -> usize {
        let (shape, table, data) = (self.shape, self.table, self.data);
        let limit_bits = self.limit_bits.min(until_bits);
        let (mut position, mut cycles) = (self.position, self.cycles);
        let mut last = (u64::MAX, EventEntry::ABSENT);
        let mut count = 0;
        for (time, spot) in times.iter_mut().zip(spots) {
            let Some(found) =
                look::<IS_ONE_WORD>(&shape, table, data, (position, cycles), &mut last)
            else {
                break;
            };
            if found.place.until > limit_bits || !window.contains(found.cycles) {
                // The end, or an event whose size varies.
                (self.position, self.cycles) = (position, cycles);
                if !self.step_varying_within(&found, window, until_bits) {
                    return count;
                }
                (position, cycles) = (self.position, self.cycles);
                (*time, *spot) = (cycles, Spot::of(&self.event, base_bits));
            } else {
                (position, cycles) = (found.place.until, found.cycles);
                (*time, *spot) = (cycles, Spot::of(&found.place, base_bits));
            }
            count += 1;
        }
        (self.position, self.cycles) = (position, cycles);
        count
    }

    /// [`Cursor::step_varying`] to an event that is in a window and ends at most at `until_bits`.
    #[inline(never)]
    fn step_varying_within(&mut self, found: &Found, window: Window, until_bits: u64) -> bool {
        let before = (self.position, self.cycles, self.budget);
        if !self.step_varying(found) {
            return false;
        }
        let is_within = self.position <= until_bits && window.contains(self.cycles);
        if !is_within {
            (self.position, self.cycles, self.budget) = before;
        }
        is_within
    }

    /// The size of the headers that are found fast.
    pub(crate) fn header_bits(&self) -> u64 {
        self.shape.size_bits
    }

    /// The rest of a step to an event whose size depends on its content.
    #[inline(never)]
    fn step_varying(&mut self, found: &Found) -> bool {
        let Found { place: Place { begin, body, class, .. }, cycles, is_varying } = *found;
        let Some(event) = self.class.events.get(class as usize).filter(|_| is_varying) else {
            return false;
        };
        let bits = Bits::new(self.data, self.limit_bits);
        let (slots, budget) = (&*self.slots, self.budget);
        let mut walk = Walk { bits, position: body, slots, cycles, budget };
        if walk.run_body(self.class, event).is_err() || walk.cycles < self.cycles {
            // Nothing has changed yet: `decode` finds the fault again and tells.
            return false;
        }
        let (until, after, budget) = (walk.position, walk.cycles, walk.budget);
        self.budget = budget;
        self.cycles = after;
        self.event = Place { begin, body, until, class };
        self.position = until;
        true
    }

    #[inline(never)]
    fn step_slow(&mut self) -> Stop {
        loop {
            if let Some(loss) = self.losses.pop_front() {
                self.loss = Some(loss);
                return Stop::Loss;
            }
            if self.in_packet {
                match self.decode() {
                    Ok(true) => return Stop::Event,
                    Ok(false) => self.leave(),
                    Err(fault) => {
                        let lost_bytes = (self.limit_bits - self.position).div_ceil(8);
                        let at = self.packet.offset_bytes + self.position / 8;
                        self.problem(fault, at, lost_bytes);
                        self.leave();
                    }
                }
            } else if !self.enter() {
                return Stop::End;
            }
        }
    }

    /// The general way to the next event; `false` at the end of the content.
    fn decode(&mut self) -> Result<bool, Fault> {
        let class = self.class;
        self.limit_bits = self.content_bits();
        let align_bits = class.event_header.as_ref().map_or(1, |h| h.extent.align_bits);
        let begin = align_up(self.position, align_bits);
        if begin >= self.limit_bits {
            return Ok(false);
        }
        let bits = Bits::new(self.data, self.limit_bits);
        let mut scan = IdScan::default();
        let (mut position, mut cycles) = (begin, self.cycles);
        if let Some(header) = &class.event_header {
            let (slots, budget) = (&*self.slots, self.budget);
            let mut visit = Visit { bits, position, slots, cycles, budget };
            visit.scope(header, &mut scan)?;
            (position, cycles, self.budget) = (visit.position, visit.cycles, visit.budget);
        }
        let entry = class.table.find(scan.id).ok_or(Fault::UnknownEvent(scan.id))?;
        let event = class.events.get(entry.class as usize).ok_or(Fault::UnknownEvent(scan.id))?;
        let (slots, budget) = (&*self.slots, self.budget);
        let mut walk = Walk { bits, position, slots, cycles, budget };
        walk.run_body(class, event)?;
        if walk.position == self.position {
            return Err(Fault::EmptyEvent);
        }
        let (until, budget, after) = (walk.position, walk.budget, walk.cycles);
        if self.at_first_event {
            self.check_first_event(begin, after)?;
        } else if after < self.cycles {
            return Err(Fault::TimeBackwards { previous: self.cycles, found: after });
        }
        self.budget = budget;
        self.event = Place { begin, body: position, until, class: entry.class };
        self.position = until;
        self.cycles = after;
        self.move_window();
        Ok(true)
    }

    /// The first event of a packet is always decoded here: it must not be before the last one of
    /// the packet before, and must have a time.
    fn check_first_event(&mut self, begin: u64, cycles: u64) -> Result<(), Fault> {
        if let Some(clock) = self.metadata.clock_of(self.class) {
            clock.checked_ns(Cycles(cycles)).ok_or(Fault::TimeTooLarge { cycles })?;
        }
        self.at_first_event = false;
        let previous = self.previous.reached_cycles;
        if cycles < previous {
            let fault = Fault::TimeBackwards { previous, found: cycles };
            self.problem(fault, self.packet.offset_bytes + begin / 8, 0);
        }
        Ok(())
    }

    /// Starts on the events of a packet whose bytes begin at `offset`.
    pub(crate) fn start_packet(&mut self, offset: usize, limit_bits: u64, events_at_bits: u64) {
        self.data = self.file.bytes().get(offset..).unwrap_or(&[]);
        self.packet.content_bits = limit_bits;
        let limit_bits = self.content_bits();
        self.position = events_at_bits.min(limit_bits);
        self.budget = packet_budget(limit_bits);
        // The first event is looked for the slow way: losses come before it.
        self.limit_bits = 0;
        self.in_packet = true;
        self.at_first_event = true;
    }

    /// The end of the packet's content, as far as there are bytes for it.
    fn content_bits(&self) -> u64 {
        self.packet.content_bits.min(self.data.len() as u64 * 8)
    }

    /// Gives back what was read, and lets the next steps go on for as long as a window is.
    fn move_window(&mut self) {
        let window = self.file.window_bytes();
        self.release_window(self.packet.offset_bytes as usize + (self.position / 8) as usize);
        let ahead = self.position.saturating_add(window as u64 * 8);
        self.limit_bits = self.content_bits().min(ahead);
    }

    /// Notes that bytes from here on are read, if none before them are still to be given back.
    pub(crate) fn read_from(&mut self, offset: usize) {
        self.released.get_or_insert(offset);
    }

    /// Gives back what was read up to a place, if it is as long as a window.
    pub(crate) fn release_window(&mut self, reached: usize) {
        let released = self.released.unwrap_or(reached);
        if reached >= released.saturating_add(self.file.window_bytes()) {
            self.file.release(released..reached);
            self.released = Some(reached);
        }
    }

    /// Gives back what was read of the last window, and the packet that the cursor is in, with the
    /// beginning of the next, which was looked at. The cursor may go on.
    pub(crate) fn release(&mut self) {
        if let Some(released) = self.released.take() {
            self.file.release(released..self.next_packet.saturating_add(NEXT_BYTES));
        }
    }

    fn leave(&mut self) {
        self.in_packet = false;
        self.position = 0;
        self.limit_bits = 0;
        if self.at_first_event {
            return;
        }
        self.previous.reached_cycles = self.cycles;
        let Some(clock) = self.metadata.clock_of(self.class) else { return };
        if clock.checked_ns(Cycles(self.cycles)).is_none() {
            let fault = Fault::TimeTooLarge { cycles: self.cycles };
            self.problem(fault, self.packet.offset_bytes, 0);
        }
        if let Some(end) = self.packet.end.map(|end| end.0).filter(|end| *end != 0) {
            if self.cycles > end && !self.metadata.notes_ends_early() {
                let fault = Fault::PastPacketEnd { end, found: self.cycles };
                self.problem(fault, self.packet.offset_bytes, 0);
            }
        }
    }

    /// Notes a fault, because of which so much of the file is not read.
    pub(crate) fn problem(&mut self, fault: Fault, offset_bytes: u64, lost_bytes: u64) {
        if self.problems.len() >= MAX_PROBLEMS {
            self.problems_suppressed += 1;
            return;
        }
        self.problems.push(Problem {
            file: self.file.path().to_path_buf(),
            packet: Some(self.packets_seen.saturating_sub(1)),
            offset_bytes,
            lost_bytes,
            what: ProblemKind::Fault(fault),
        });
    }
}
