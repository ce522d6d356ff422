// SPDX-License-Identifier: MIT
//! A snapshot of one ring of a flight recorder: what is in it is copied, and stays there.
//!
//! Place in the flow: `consumer` calls it for each snapshot. Nothing is taken from the writers, so
//! that the next snapshot has all that there is room for, also what the disk refused this time. A
//! copy that a writer overwrote meanwhile is no part of the snapshot. Only a sub-buffer that a dead
//! writer left open, where others have to go on, is taken out of the ring.
//! Paper: B 4.3.2, 4.4; the exchange of algorithm 6 is for a reader that takes what it reads.

use super::{copy_with, Drain, Piece, Tools};
use crate::ring::Subbuf;
use crate::stream::Stream;
use crate::view::Copy;

impl Drain {
    /// A snapshot begins, at the oldest sub-buffer.
    pub fn begin_snapshot(&mut self) {
        self.tally = Default::default();
        (self.next, self.thread) = (None, None);
        let span = self.ring.span();
        self.given_up.retain(|at| is_within(span, *at));
    }

    /// Writes the closed sub-buffers that this snapshot lacks. `patient`: one that writers have not
    /// finished is left for later; `last`: if not, what they have not finished is lost. Return:
    /// false when one was left.
    pub fn look_at_closed(
        &mut self,
        tools: &mut Tools,
        stream: &mut Stream,
        patient: bool,
        last: bool,
    ) -> bool {
        tools.walker.select(self.source);
        let size = self.ring.subbuf_size_bytes() as u64;
        // Bound: writers may go on; more than a buffer's worth is for the next snapshot.
        for _ in 0..2 * self.ring.subbuf_count() {
            let (oldest, open) = self.ring.span();
            let next = self.next.filter(|at| is_within((oldest, open), *at));
            let position = next.unwrap_or(oldest);
            self.next = Some(position);
            if position == open || tools.limit_reached {
                return true;
            }
            if !self.look_at(tools, stream, position, patient, last) {
                return false;
            }
            if !tools.is_refused() {
                self.next = Some(position.wrapping_add(size));
            }
        }
        false
    }

    /// Writes a closed sub-buffer, unless it was overwritten. Return: false when it was left.
    fn look_at(
        &mut self,
        tools: &mut Tools,
        stream: &mut Stream,
        position: u64,
        patient: bool,
        last: bool,
    ) -> bool {
        let Some(subbuf) = self.ring.look(position) else { return true };
        let mut copy = Copy::default();
        let mut is_counted = self.given_up.contains(&position);
        if subbuf.complete() {
            subbuf.view().copy_to(subbuf.content_bytes(), &mut copy);
        } else {
            let piece = self.taken_piece(&subbuf);
            let holes = self.holes_of(tools, &piece);
            let are_dead = self.all_dead(&holes);
            if patient && !are_dead {
                return false;
            }
            copy = copy_with(&self.ring, &piece, &holes);
            if !is_counted && (are_dead || last) {
                self.given_up.push(position);
            } else {
                is_counted = true;
            }
        }
        if self.ring.unchanged(&subbuf) {
            stream.go_to(self.ring.packet_number(position));
            let piece = Piece { is_counted, ..self.closed_piece(&subbuf, copy.view()) };
            self.emit(tools, stream, &piece);
        }
        true
    }

    /// Whether there is nothing left to read.
    pub(super) fn is_at_end(&self) -> bool {
        match self.ring.is_flight_recorder() {
            true => self.next == Some(self.ring.level().written_bytes),
            false => self.ring.pending_bytes() == 0,
        }
    }

    /// Whether the open sub-buffer is what the snapshot lacks: then the next packet is its part.
    pub(super) fn goes_on_at(&self, stream: &mut Stream, open: &Subbuf) -> bool {
        let is_next = self.next == Some(open.position());
        if is_next {
            stream.go_to(self.ring.packet_number(open.position()));
        }
        is_next
    }

    /// Flight recorder: takes the oldest sub-buffer out of the writers' way if they are about
    /// to overwrite it and a dead writer has left it open. Its content would be gone anyway.
    pub fn clear_way(&mut self, tools: &mut Tools) -> Result<(), String> {
        if self.ring.overwrites_next() && self.ring.stuck_incomplete() {
            self.rescue(tools, None, true)?;
        } else {
            self.stuck = None;
        }
        Ok(())
    }
}

/// Whether a count lies in a span of counts, which may overflow.
fn is_within((oldest, open): (u64, u64), count: u64) -> bool {
    count.wrapping_sub(oldest) <= open.wrapping_sub(oldest)
}
