// SPDX-License-Identifier: MIT
//! One stream of a merge, within a window of its clock.
//!
//! Place in the flow: the merge steps sources; a source steps its cursor and decides what of it is
//! in the window. Events before the window that are in a packet with such as are in it are handed
//! out too, and marked, because a packet begins by saying which thread its events are of.

use crate::ahead::{Ahead, Times};
use crate::bits::align_up;
use crate::clock::Clock;
use crate::cursor::{Cursor, Stop};
use crate::loss::Loss;
use crate::span::{Span, Window};
use crate::trace::{StreamFile, Trace};

/// At which ends of a span a loss counts that happened across that end. The spans into which a
/// trace is cut have such ends at the outside only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edges {
    pub from: bool,
    pub until: bool,
}

/// A cursor with its place in the merge.
pub(crate) struct Source<'t> {
    pub cursor: Cursor<'t>,
    pub ahead: Ahead<'t>,
    pub clock: Option<&'t Clock>,
    pub trace_index: usize,
    pub stop: Stop,
    /// Whether the event at the cursor is before the window.
    pub is_before: bool,
    window: Window,
    edges: Edges,
    /// Whether no packet of the stream begins before the one before it ends.
    is_ordered: bool,
    /// The packet, and the place in it, up to which events are before the window.
    before: (u64, u64),
}

impl<'t> Source<'t> {
    /// A stream from the first packet on that has something in the span.
    pub fn new(
        trace: &'t Trace,
        trace_index: usize,
        file: &'t StreamFile,
        (span, edges): (&Span, Edges),
    ) -> Option<Self> {
        let mut cursor = trace.cursor(file)?;
        let clock = trace.metadata().clock_of(cursor.class);
        let window = span.window(clock);
        let mut is_ordered = false;
        match window {
            Some(Window::ALL) => {}
            Some(window) => (cursor, is_ordered) = trace.cursor_at(file, window.first)?,
            None => cursor.next_packet = file.bytes().len(),
        }
        if window != Some(Window::ALL) {
            // Reading does not find it out.
            cursor.beginning = cursor.first_beginning();
        }
        Some(Self {
            ahead: Ahead::new(cursor.class, clock),
            cursor,
            clock,
            trace_index,
            stop: Stop::End,
            is_before: false,
            window: window.unwrap_or(Window::ALL),
            edges,
            is_ordered,
            before: (0, 0),
        })
    }

    /// Goes on to the next event or loss.
    fn step(&mut self) {
        self.stop = self.cursor.step();
        self.is_before = false;
        if !self.window.contains(self.cursor.cycles) {
            self.step_outside();
        }
    }

    /// Reads the stream ahead, or else goes on to the next event or loss. Return: the clock value
    /// of what comes next; `None` at the end.
    pub fn read_on(&mut self, times: &mut Times) -> Option<u64> {
        self.ahead.fill(times, &mut self.cursor, self.window);
        if let Some((_, cycles)) = times.next() {
            return Some(cycles);
        }
        self.step();
        (self.stop != Stop::End).then_some(self.cursor.cycles)
    }

    /// Decides about a stop that is not in the window, and goes on until one counts.
    #[cold]
    fn step_outside(&mut self) {
        while self.stop != Stop::End && !self.window.contains(self.cursor.cycles) {
            let is_after = self.cursor.cycles > self.window.last();
            match self.stop {
                Stop::Loss if self.cursor.loss.as_ref().is_some_and(|l| self.counts(l)) => return,
                Stop::Loss => {}
                Stop::Event if is_after && self.is_ordered => {
                    let cursor = &mut self.cursor;
                    let end = cursor.packet.end.map_or(0, |end| end.0);
                    cursor.has_odd_times |= cursor.cycles > end;
                    self.stop = Stop::End;
                    return;
                }
                // The packet's other events are later still; the next packet may begin earlier.
                Stop::Event if is_after => self.cursor.pass(),
                Stop::Event => {
                    self.is_before = self.note_before();
                    return;
                }
                Stop::End => return,
            }
            self.stop = self.cursor.step();
        }
    }

    /// Whether a loss happened in the window, although the packet that tells of it begins outside.
    fn counts(&self, loss: &Loss) -> bool {
        let (first, last) = (self.window.first, self.window.last());
        let begins_in = loss.begin.is_none_or(|begin| begin.0 <= last);
        let ends_in = loss.until.is_none_or(|until| until.0 >= first);
        match self.cursor.cycles < first {
            true => self.edges.from && ends_in,
            false => self.edges.until && begins_in,
        }
    }

    /// Whether the event, whose clock value is too low, comes before all of its packet that are in
    /// the window. A clock that runs backwards later does not take an event out of it.
    fn note_before(&mut self) -> bool {
        let cursor = &self.cursor;
        let packet = cursor.packet.offset_bytes + 1;
        let from = match self.before {
            (known, until) if known == packet => until,
            _ => cursor.packet.events_at_bits,
        };
        let header = cursor.class.event_header.as_ref();
        let is_next =
            cursor.event.begin == align_up(from, header.map_or(1, |h| h.extent.align_bits));
        if is_next {
            self.before = (packet, cursor.position);
        }
        is_next
    }
}
