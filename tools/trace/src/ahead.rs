// SPDX-License-Identifier: MIT
//! The events of one stream that were read ahead, with a copy of their bytes.
//!
//! Place in the flow: a cursor fills it, in a loop of its own that does nothing else; a merge takes
//! its keys from [`Times`], and hands out the events. Where streams are many, from one event of a
//! stream to its next lie events of all the others, so that by then the stream's bytes are in no
//! cache near the processor, and its page is not in the table of addresses: so several events are
//! read whenever a stream's pages have to be touched. The copies of all streams lie close together,
//! and their times closer still.
//!
//! Invariant: a stream is read ahead within its packet only, and only as far as [`Cursor`]'s fast
//! step goes. So nothing that an event refers to changes before it has been handed out, and what is
//! wrong is found when its turn has come.
//!
//! [`Cursor`]: crate::cursor::Cursor

use crate::clock::Clock;
use crate::cursor::{Cursor, Place};
use crate::event::Where;
use crate::metadata::StreamClass;
use crate::span::Window;

/// Events that a stream is read ahead, and bytes of them.
pub(crate) const DEPTH: usize = 32;
const BYTES: usize = 1024;
/// Bytes after the last event that are copied too: numbers are read in words.
const TAIL_BYTES: usize = 8;
/// Copies begin at a multiple of this, so that places have the same alignment in them.
const ALIGN_BYTES: u64 = 16;

/// An event's class, and its place in the copy, in bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spot {
    pub class: u32,
    pub begin: u16,
    pub until: u16,
}

impl Spot {
    /// A place that is counted from a bit of its packet.
    #[inline(always)]
    pub fn of(place: &Place, base_bits: u64) -> Self {
        let within = |bits: u64| (bits - base_bits) as u16;
        Self { class: place.class, begin: within(place.begin), until: within(place.until) }
    }
}

/// The clock values of a stream's events that were read ahead.
#[derive(Debug)]
pub(crate) struct Times {
    next: u8,
    count: u8,
    /// How long an event is, roughly.
    stride_bytes: u16,
    pub cycles: [u64; DEPTH],
}

pub(crate) struct Ahead<'t> {
    class: &'t StreamClass,
    clock: Option<&'t Clock>,
    /// Where in the packet the copy begins.
    base_bytes: u64,
    /// Up to where bytes were copied, from the packet's first on.
    limit_bits: u64,
    header_bits: u64,
    is_forbidden: bool,
    spots: [Spot; DEPTH],
    bytes: [u8; BYTES + TAIL_BYTES],
}

impl Times {
    pub fn new() -> Self {
        Self { next: 0, count: 0, stride_bytes: 0, cycles: [0; DEPTH] }
    }

    /// The position and the clock value of the next event.
    #[inline(always)]
    pub fn next(&self) -> Option<(u8, u64)> {
        let next = self.next;
        let left = self.cycles.get(..usize::from(self.count))?;
        left.get(usize::from(next)).map(|cycles| (next, *cycles))
    }

    #[inline(always)]
    pub fn position(&self) -> u8 {
        self.next
    }

    /// Goes on to the first event after the next one for which that does not hold.
    #[inline(always)]
    pub fn advance_while(&mut self, holds: impl Fn(u64) -> bool) {
        let from = usize::from(self.next) + 1;
        let left = self.cycles.get(from..usize::from(self.count)).unwrap_or(&[]);
        let run = left.iter().take_while(|cycles| holds(**cycles)).count();
        self.next = (from + run) as u8;
    }
}

impl<'t> Ahead<'t> {
    pub fn new(class: &'t StreamClass, clock: Option<&'t Clock>) -> Self {
        Self {
            class,
            clock,
            base_bytes: 0,
            limit_bits: 0,
            header_bits: 0,
            // Places would have another alignment in the copy.
            is_forbidden: u64::from(class.widest_align_bits) > ALIGN_BYTES * 8,
            spots: [Spot::default(); DEPTH],
            bytes: [0; BYTES + TAIL_BYTES],
        }
    }

    /// The event at a position, which has this clock value.
    #[inline(always)]
    pub fn at(&self, position: u8) -> Where<'_> {
        // There are more places than positions that are handed out.
        let Spot { class, begin, until } = self.spots[usize::from(position) % DEPTH];
        let (begin, until) = (u64::from(begin), u64::from(until));
        Where {
            place: Place { begin, body: begin + self.header_bits, until, class },
            class: self.class,
            data: &self.bytes,
            limit_bits: self.limit_bits,
            base_bytes: self.base_bytes,
        }
    }

    #[inline(always)]
    pub fn clock(&self) -> Option<&'t Clock> {
        self.clock
    }

    /// Reads a cursor ahead in a window of its clock, if it can be; no event may be left.
    pub fn fill(&mut self, times: &mut Times, cursor: &mut Cursor<'_>, window: Window) {
        (times.next, times.count) = (0, 0);
        if self.is_forbidden {
            return;
        }
        let base_bytes = cursor.position / 8 / ALIGN_BYTES * ALIGN_BYTES;
        let base_bits = base_bytes * 8;
        let range_bits = (base_bits, base_bits + BYTES as u64 * 8);
        let count = cursor.step_ahead(window, range_bits, &mut times.cycles, &mut self.spots);
        let Some(last) = count.checked_sub(1).and_then(|last| self.spots.get(last)) else { return };
        let limit_bits = u64::from(last.until);
        let from = cursor.data.get(base_bytes as usize..).unwrap_or(&[]);
        let bytes = (limit_bits.div_ceil(8) as usize + TAIL_BYTES).min(from.len());
        if let (Some(to), Some(from)) = (self.bytes.get_mut(..bytes), from.get(..bytes)) {
            to.copy_from_slice(from);
        }
        (self.base_bytes, self.limit_bits) = (base_bytes, limit_bits);
        self.header_bits = cursor.header_bits();
        times.count = count as u8;
        times.stride_bytes = (limit_bits / 8 / count as u64) as u16;
    }

    /// Lets nothing be read ahead from now on.
    #[cfg(test)]
    pub fn forbid(&mut self) {
        self.is_forbidden = true;
    }

    /// Asks for what handing out the event at a position needs.
    #[inline(always)]
    pub fn prefetch(&self, times: &Times, position: u8) {
        let position = usize::from(position);
        prefetch(&raw const self.class);
        prefetch(self.spots.as_ptr().wrapping_add(position));
        prefetch(self.bytes.as_ptr().wrapping_add(position * usize::from(times.stride_bytes)));
    }
}

/// Says that memory will be read soon.
#[inline(always)]
fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which neither faults nor changes anything, whatever the address.
    unsafe {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
