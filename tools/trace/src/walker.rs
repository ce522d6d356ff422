// SPDX-License-Identifier: MIT
//! Walking the events of a packet that is not in a file: a ring's sub-buffer, a damaged packet.
//!
//! Place in the flow: a consumer that copies packets out of shared memory uses it to find how far
//! the events of a sub-buffer are whole. The bytes are hostile input: every call is bounded by
//! them.

use crate::bits::{align_up, Bits};
use crate::error::Fault;
use crate::header::IdScan;
use crate::metadata::{Metadata, StreamClass};
use crate::units::{EventId, StreamId};
use crate::visit::Visit;
use crate::walk::{new_slots, packet_budget, Slots, Walk};

/// One event in a slice of packet content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub id: EventId,
    /// From the slot's offset to where the next one may start, never past the content.
    pub length_bytes: usize,
}

/// Steps over events of one stream class.
pub struct Walker<'m> {
    class: &'m StreamClass,
    slots: Box<Slots>,
}

impl<'m> Walker<'m> {
    /// A walker for one stream class of the metadata; `None` if there is no such stream.
    pub fn new(metadata: &'m Metadata, stream: StreamId) -> Option<Self> {
        let class = metadata.stream(stream)?;
        Some(Self { class, slots: new_slots(metadata.slot_count) })
    }

    /// The event at `offset` of `content`.
    ///
    /// `content` starts after the packet header and context. Offsets are taken as if `content`
    /// began at a multiple of every alignment in use; in a trace of Lull's, whose header and
    /// context end at a multiple of 8 bytes and whose largest alignment is 4, that holds.
    pub fn slot(&self, content: &[u8], offset: usize) -> Result<Slot, Fault> {
        if offset >= content.len() {
            return Err(Fault::Truncated);
        }
        let begin = offset as u64 * 8;
        let bits = Bits::new(content, u64::MAX);
        let slots = &*self.slots;
        let mut scan = IdScan::default();
        let mut align_bits = 8;
        let budget = packet_budget(bits.limit_bits());
        let mut visit = Visit { bits, position: begin, slots, cycles: 0, budget };
        if let Some(header) = &self.class.event_header {
            visit.scope(header, &mut scan)?;
            align_bits = header.extent.align_bits.max(8);
        }
        let event = self.class.event(EventId(scan.id)).ok_or(Fault::UnknownEvent(scan.id))?;
        let position = visit.position;
        let mut walk = Walk { bits, position, slots, cycles: 0, budget };
        walk.run_body(self.class, event)?;
        if walk.position == begin {
            return Err(Fault::EmptyEvent);
        }
        let until = (align_up(walk.position, align_bits) / 8).min(content.len() as u64);
        Ok(Slot { id: event.id, length_bytes: until as usize - offset })
    }

    /// Length of the event at `offset`; see [`Walker::slot`].
    pub fn event_length(&self, content: &[u8], offset: usize) -> Result<usize, Fault> {
        self.slot(content, offset).map(|slot| slot.length_bytes)
    }
}
