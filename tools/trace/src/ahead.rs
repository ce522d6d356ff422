// SPDX-License-Identifier: MIT
//! The events of one stream of many that were read ahead, with a copy of their bytes.
//!
//! Place in the flow: a merge of many streams takes its keys from here. From one event of a stream
//! to its next lie events of all the others, so that by then the stream's bytes are in no cache
//! near the processor, and its page is not in the table of addresses. So several events are read
//! whenever a stream's pages have to be touched. The copies of all streams lie close together.
//!
//! Invariant: a stream is read ahead within its packet only, and only as far as [`Cursor`]'s fast
//! step goes. So nothing that an event refers to changes before it has been handed out, and what is
//! wrong is found when its turn has come.
//!
//! [`Cursor`]: crate::cursor::Cursor

use crate::cursor::Place;
use crate::event::Where;
use crate::source::Source;

/// With fewer streams than this there is nothing to gain.
pub(crate) const LEAST_STREAMS: usize = 48;
/// Events that a stream is read ahead, and bytes of them.
const DEPTH: usize = 32;
const BYTES: usize = 1024;
/// Bytes after the last event that are copied too: numbers are read in words.
const TAIL_BYTES: usize = 8;
/// Copies begin at a multiple of this, so that places have the same alignment in them.
const ALIGN_BYTES: u64 = 16;

/// An event, its clock value, and its place in the copy, in bits.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    cycles: u64,
    class: u32,
    begin: u16,
    body: u16,
    until: u16,
}

#[derive(Debug)]
pub(crate) struct Ahead {
    /// Where in the packet the copy begins.
    base_bytes: u64,
    /// Up to where bytes were copied, from the packet's first on.
    limit_bits: u64,
    next: u8,
    count: u8,
    events: [Waiting; DEPTH],
    bytes: [u8; BYTES + TAIL_BYTES],
}

impl Ahead {
    pub fn new() -> Self {
        Self {
            base_bytes: 0,
            limit_bits: 0,
            next: 0,
            count: 0,
            events: [Waiting::default(); DEPTH],
            bytes: [0; BYTES + TAIL_BYTES],
        }
    }

    /// The clock value of the next event.
    #[inline(always)]
    pub fn next_cycles(&self) -> Option<u64> {
        (self.next < self.count).then(|| self.events.get(usize::from(self.next)))?.map(|e| e.cycles)
    }

    /// Takes the next event, if there is one.
    #[inline(always)]
    pub fn take(&mut self) {
        match self.next < self.count {
            true => self.next += 1,
            // What comes next is the source's own.
            false => (self.next, self.count) = (0, 0),
        }
    }

    /// The event that was taken last.
    #[inline(always)]
    pub fn taken(&self) -> Option<Where<'_>> {
        let event = self.events.get(usize::from(self.next.checked_sub(1)?))?;
        let Waiting { cycles, class, begin, body, until } = *event;
        let (begin, body, until) = (u64::from(begin), u64::from(body), u64::from(until));
        Some(Where {
            place: Place { begin, body, until, class },
            cycles,
            is_before_span: false,
            data: &self.bytes,
            limit_bits: self.limit_bits,
            base_bytes: self.base_bytes,
        })
    }

    /// Reads a source ahead, if it can be; there must be no event left.
    pub fn fill(&mut self, source: &mut Source<'_>) {
        (self.next, self.count) = (0, 0);
        if u64::from(source.cursor.class.widest_align_bits) > ALIGN_BYTES * 8 {
            return;
        }
        let base_bytes = source.cursor.position / 8 / ALIGN_BYTES * ALIGN_BYTES;
        let mut until_bits = 0;
        for waiting in &mut self.events {
            if !source.step_ahead((base_bytes + BYTES as u64) * 8) {
                break;
            }
            let cursor = &source.cursor;
            let Place { begin, body, until, class } = cursor.event;
            let within = |bits: u64| (bits - base_bytes * 8) as u16;
            let (begin, body) = (within(begin), within(body));
            *waiting = Waiting { cycles: cursor.cycles, class, begin, body, until: within(until) };
            until_bits = until - base_bytes * 8;
            self.count += 1;
        }
        let from = source.cursor.data.get(base_bytes as usize..).unwrap_or(&[]);
        let count = (until_bits.div_ceil(8) as usize + TAIL_BYTES).min(from.len());
        if let (Some(to), Some(from)) = (self.bytes.get_mut(..count), from.get(..count)) {
            to.copy_from_slice(from);
        }
        (self.base_bytes, self.limit_bits) = (base_bytes, until_bits);
    }

    /// Asks for what handing out the next event needs.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self);
        prefetch(&raw const self.bytes);
    }
}

/// Says that memory will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which neither faults nor changes anything, whatever the address.
    unsafe {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
