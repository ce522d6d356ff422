// SPDX-License-Identifier: MIT
//! A ring that a killed recorder left: how far it is on disk, and where the rest is.
//!
//! Place in the flow: `consumer` goes on here for `lull recover`. What is not on disk is in the
//! ring, but for sub-buffers that the recorder had copied to spare ones or taken out of the ring.
//! All words may be a hostile process's; what they lead to lies in the ring's memory.

use super::{OnDisk, Ring, Subbuf};
use session::abi::*;
use session::Memory;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// The first byte of a ring that is not on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Of its sub-buffer.
    pub position: u64,
    /// In there.
    pub offset: usize,
}

impl Ring {
    /// As [`Ring::attach`], for a ring that a killed recorder left.
    pub fn attach_left(memory: &Arc<Memory>, index: u32) -> Result<Self, String> {
        let mut ring = Self::attach(memory, index)?;
        ring.is_left = true;
        ring.spare = ring.unused().next().ok_or("it has no sub-buffer to spare")?;
        Ok(ring)
    }

    /// Whether a killed recorder left it.
    pub fn is_left(&self) -> bool {
        self.is_left
    }

    /// Physical sub-buffers that no reference names.
    fn unused(&self) -> impl Iterator<Item = u32> {
        let used: Vec<u32> = (0..self.subbuf_count()).map(|at| self.physical_at(at)).collect();
        (0..self.view.geometry.physical_count).filter(move |physical| !used.contains(physical))
    }

    /// What the last recorder said of how far it is on disk.
    pub fn on_disk(&self) -> OnDisk {
        let shared = self.shared();
        // [session.recover:A] by the recorder's death: its lock was free before. Pairs with
        // [session.recorded:A]. Orders: all stores of the recorder before these loads.
        // Else: an index is read beside three words that do not belong to it.
        let at = (shared.recorded_index.load(Ordering::Relaxed) & 1) as usize;
        OnDisk {
            count: shared.recorded_count[at].load(Ordering::Relaxed),
            bytes: shared.recorded_bytes[at].load(Ordering::Relaxed),
            packets: shared.recorded_packets[at].load(Ordering::Relaxed),
        }
    }

    /// Where that is; None when no recorder of ours can have said so.
    pub fn place_of(&self, on_disk: &OnDisk) -> Option<Place> {
        let geometry = &self.view.geometry;
        let (size, oldest) = (geometry.subbuf_size_bytes, self.oldest_position());
        // All of the oldest, which was not given back yet.
        if on_disk.count == oldest.wrapping_add(size) {
            return Some(Place { position: oldest, offset: self.subbuf_size_bytes() });
        }
        let position = on_disk.count & !(size - 1);
        let offset = (on_disk.count - position) as usize;
        let is_slot = offset >= PACKET_HEADER_BYTES && offset % SLOT_ALIGN == 0;
        let held = oldest.wrapping_sub(position) / size;
        let spares = u64::from(geometry.physical_count - geometry.subbuf_count);
        ((offset == 0 || is_slot) && held <= spares).then_some(Place { position, offset })
    }

    /// The beginning of the oldest sub-buffer.
    pub fn oldest_place(&self) -> Place {
        Place { position: self.oldest_position(), offset: 0 }
    }

    pub(super) fn oldest_position(&self) -> u64 {
        let read = self.shared().read_count.load(Ordering::Relaxed);
        read & !(self.view.geometry.subbuf_size_bytes - 1)
    }

    /// The sub-buffer at `position` where the recorder had copied it to and given it back.
    pub fn held_at(&self, position: u64) -> Option<Subbuf> {
        let mut copies = self.unused().map(|spare| self.subbuf_in(spare, position, true));
        copies.find(|copy| self.is_at(copy, position))
    }

    /// The oldest sub-buffer, wherever it is and whatever its state, and whether the killed
    /// recorder had taken it out of the ring.
    pub fn oldest(&self) -> (Subbuf, bool) {
        let position = self.oldest_position();
        let size = self.view.geometry.subbuf_size_bytes;
        let index = (position / size) as u32 & (self.subbuf_count() - 1);
        let taken = self.shared().taken.load(Ordering::Relaxed);
        let is_this = taken & TAKEN != 0 && taken & !(size - 1) == position;
        let in_place = self.physical_at(index);
        let taken = (taken as u32 & !(TAKEN as u32)) & self.view.physical_mask;
        let is_taken = is_this && taken != in_place;
        let physical = if is_taken { taken } else { in_place };
        (self.subbuf_in(physical, position, false), is_taken)
    }

    /// Goes on from these counts of lost events. `exact`: the recorder's own count is that one.
    pub fn resume_lost(&mut self, lost: [u64; LOST_CAUSES], exact: bool) {
        if exact {
            let counted = &self.shared().lost[LOST_IN_FLIGHT];
            counted.store(lost[LOST_IN_FLIGHT], Ordering::Relaxed);
        }
        self.counted.set(lost);
    }
}
