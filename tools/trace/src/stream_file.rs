// SPDX-License-Identifier: MIT
//! Packet by packet through one stream file, whatever its state.
//!
//! Place in the flow: the cursor calls `enter` when it has used up a packet. A packet is trusted
//! only if another one (or the end of the file) follows where it ends; otherwise the next
//! signature in the file bounds it. So one wrong byte costs at most the packet it is in.

use std::sync::Arc;

use crate::cursor::{Cursor, Previous};
use crate::error::Fault;
use crate::loss::{Loss, LossKind};
use crate::packet::{self, Packet, PacketScan};
use crate::units::{CpuId, Cycles};
use crate::visit::Visitor;

/// A packet's place in the file, as far as it can be trusted.
struct Extent {
    size_bytes: usize,
    limit_bits: u64,
    next_packet: usize,
}

/// What a packet's header says of its sizes, and what is wrong with it.
struct Claim {
    offset: usize,
    /// Where the packet would end, at most at the end of the file.
    end: usize,
    content_bits: u64,
    header_bits: u64,
    complaint: Option<Fault>,
}

impl Cursor<'_> {
    /// What the file's first packet says, if it can be read.
    pub(crate) fn first_scan(&self) -> Option<PacketScan> {
        let scan = packet::scan(self.metadata, self.file.bytes(), &self.slots, 0);
        scan.ok().map(|(scan, _)| scan)
    }

    /// What will be remembered of the last packet when the file has been read.
    pub(crate) fn at_end(&self) -> Previous {
        let read = || self.read_to_end();
        self.file.ended(read).clone()
    }

    fn read_to_end(&self) -> Previous {
        let mut ahead = Cursor::new(self.file, self.class, self.metadata, self.signature);
        while ahead.enter() {
            ahead.forget_packet();
        }
        ahead.release();
        ahead.previous
    }

    /// Where the packet of a number lies that begins then, and what is remembered of the one before
    /// it; `None` if there is none.
    pub(crate) fn find_packet(&self, number: u64, begin: u64) -> Option<(usize, Previous)> {
        let mut ahead = Cursor::new(self.file, self.class, self.metadata, self.signature);
        let mut previous = ahead.previous.clone();
        let mut found = None;
        while found.is_none() && ahead.enter() {
            ahead.forget_packet();
            let packet = &ahead.packet;
            if packet.sequence == Some(number) {
                found = Some((packet.offset_bytes as usize, packet.begin));
            } else {
                previous.clone_from(&ahead.previous);
            }
        }
        ahead.release();
        let (offset, _) = found.filter(|(_, at)| *at == Some(Cycles(begin)))?;
        Some((offset, previous))
    }

    /// After a look at a header: keeps neither what it told nor its memory.
    fn forget_packet(&mut self) {
        self.losses.clear();
        self.problems.clear();
        self.release_window(self.next_packet);
    }

    /// Visits the context of the packet that the cursor is in.
    pub(crate) fn packet_context<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        packet::visit_context(
            self.metadata.packet_header.as_ref(),
            self.class.packet_context.as_ref(),
            self.data,
            &self.slots,
            visitor,
        )
    }

    /// Enters the next readable packet; `false` at the end of the file.
    pub(crate) fn enter(&mut self) -> bool {
        loop {
            // Asked for each packet: it may become shorter at any time.
            let file = self.file.bytes();
            if self.next_packet >= file.len().min(self.stop_at) {
                break;
            }
            let offset = self.next_packet;
            self.read_from(offset);
            self.packets_seen += 1;
            match self.try_enter(file, offset) {
                Ok(()) => return true,
                Err(fault) => {
                    // Goes on at the next signature after a packet that cannot be used.
                    let next = self.signature.find(file, offset + 1).unwrap_or(file.len());
                    self.next_packet = next;
                    self.problem(fault, offset as u64, (next - offset) as u64);
                }
            }
        }
        self.tell_cut();
        false
    }

    /// At the end: whether there was more when the trace was opened.
    fn tell_cut(&mut self) {
        if std::mem::replace(&mut self.has_told_cut, true) {
            return;
        }
        self.file.look_for_cut();
        let (length, whole) = (self.file.bytes().len() as u64, self.file.whole_bytes() as u64);
        if length < whole {
            self.problem(Fault::FileCut { length_bytes: length }, length, whole - length);
        }
    }

    fn try_enter(&mut self, file: &[u8], offset: usize) -> Result<(), Fault> {
        let data = file.get(offset..).unwrap_or(&[]);
        let (scan, class) = packet::scan(self.metadata, data, &self.slots, self.cycles)?;
        if class.id != self.class.id {
            return Err(Fault::OtherStream { expected: self.class.id.0, found: class.id.0 });
        }
        let extent = self.extent(file, offset, &scan)?;
        self.next_packet = extent.next_packet;
        self.cycles = scan.cycles;
        self.packet = Packet {
            index: self.packets_seen - 1,
            offset_bytes: offset as u64,
            size_bytes: extent.size_bytes as u64,
            content_bits: extent.limit_bits,
            begin: scan.begin.map(|_| Cycles(scan.cycles)),
            end: scan.end.map(|end| Cycles(widen_end(&scan, end))),
            sequence: scan.sequence.map(|counter| counter.value),
            events_discarded: scan.discarded.map(|counter| counter.value),
            cpu: scan.cpu.and_then(CpuId::named),
            events_at_bits: scan.until_bits,
        };
        self.check_time(offset);
        self.note_losses(&scan);
        self.start_packet(offset, extent.limit_bits, scan.until_bits);
        Ok(())
    }

    /// Sizes, checked against each other and against where the next packet starts.
    fn extent(&mut self, file: &[u8], offset: usize, scan: &PacketScan) -> Result<Extent, Fault> {
        let header_bits = scan.until_bits;
        let left_bytes = file.len() - offset;
        let left_bits = left_bytes as u64 * 8;
        let packet_bits = scan.packet_bits.unwrap_or(left_bits);
        let content_bits = scan.content_bits.unwrap_or(packet_bits);
        let complaint = if packet_bits < header_bits {
            Some(Fault::PacketTooSmall { packet_bits, header_bits })
        } else if packet_bits % 8 != 0 {
            Some(Fault::PacketNotBytes(packet_bits))
        } else if packet_bits > left_bits {
            Some(Fault::FileTruncated { missing_bytes: packet_bits / 8 - left_bytes as u64 })
        } else {
            None
        };
        if content_bits < header_bits {
            return Err(Fault::ContentTooSmall { content_bits, header_bits });
        }
        let claimed_end = offset + (packet_bits / 8).min(left_bytes as u64) as usize;
        let is_trusted = complaint.is_none()
            && (claimed_end == file.len() || self.signature.is_at(file, claimed_end));
        if is_trusted {
            if content_bits > packet_bits {
                return Err(Fault::ContentTooLarge { content_bits, packet_bits });
            }
            let size_bytes = claimed_end - offset;
            return Ok(Extent { size_bytes, limit_bits: content_bits, next_packet: claimed_end });
        }
        let claim = Claim { offset, end: claimed_end, content_bits, header_bits, complaint };
        self.bounded_extent(file, claim)
    }

    /// The extent of a packet whose size is not to be trusted: up to the next signature.
    fn bounded_extent(&mut self, file: &[u8], claim: Claim) -> Result<Extent, Fault> {
        let Claim { offset, end, content_bits, header_bits, complaint } = claim;
        let found = self.signature.find(file, offset + (header_bits / 8).max(1) as usize);
        if let Some(fault @ (Fault::PacketTooSmall { .. } | Fault::PacketNotBytes(_))) = complaint {
            if self.signature.is_empty() {
                // Nothing marks a packet, so its size is all there is.
                return Err(fault);
            }
        }
        let until = found.unwrap_or(file.len());
        let fault = match (complaint, found) {
            (Some(fault), _) => fault,
            (None, Some(next)) if next < end => {
                Fault::PacketOverlaps { overlap_bytes: (end - next) as u64 }
            }
            (None, Some(next)) => Fault::Resynchronized { skipped_bytes: (next - end) as u64 },
            (None, None) => Fault::NoMorePackets { skipped_bytes: (file.len() - end) as u64 },
        };
        self.problem(fault, offset as u64, 0);
        let size_bytes = until - offset;
        let limit_bits = content_bits.min(size_bytes as u64 * 8);
        Ok(Extent { size_bytes, limit_bits, next_packet: until })
    }

    /// A packet may begin before the one before it ends, but ends neither before that one nor
    /// before it begins (CTF 1.8, section 5.1). An end of 0 was never written.
    fn check_time(&mut self, offset: usize) {
        let Some(Cycles(end)) = self.packet.end.filter(|end| end.0 != 0) else { return };
        let begin = self.packet.begin.map_or(0, |begin| begin.0);
        self.has_odd_times |= begin < self.previous.end_cycles;
        let previous = begin.max(self.previous.end_cycles);
        self.previous.end_cycles = end;
        if end < previous {
            self.problem(Fault::TimeBackwards { previous, found: end }, offset as u64, 0);
        }
    }

    /// Compares the packet's counters with those of the packet before.
    fn note_losses(&mut self, scan: &PacketScan) {
        let packets = scan.sequence.zip(self.previous.sequence).map(|(now, before)| {
            let steps = now.since(before).filter(|steps| *steps > 0);
            let fault = Fault::CounterBackwards { previous: before, found: now.value };
            steps.map(|steps| steps - 1).ok_or(fault)
        });
        let number = scan.sequence.map_or(0, |counter| counter.value);
        let is_first = self.previous.sequence.is_none() && self.previous.discarded.is_none();
        let events = scan.discarded.map(|now| match self.previous.discarded {
            None if number > 0 => Ok(0),
            // Before the first packet nothing was lost.
            None => Ok(now.value),
            Some(before) => {
                let fault = Fault::CounterBackwards { previous: before, found: now.value };
                now.since(before).ok_or(fault)
            }
        });
        if is_first && number > 0 {
            let discarded = scan.discarded.map_or(0, |counter| counter.value);
            self.beginning = Some((number, discarded));
        }
        let causes = self.causes(scan);
        self.note_loss(LossKind::Packets, packets, Vec::new());
        self.note_loss(LossKind::Events, events, causes);
        self.previous.sequence = scan.sequence.map(|counter| counter.value);
        self.previous.discarded = scan.discarded.map(|counter| counter.value);
        self.previous.losses = scan.losses.iter().map(|counter| counter.value).collect();
        self.previous.end = self.packet.end.or(self.packet.begin).map(|cycles| cycles.0);
    }

    /// How much each cause's counter has grown.
    fn causes(&self, scan: &PacketScan) -> Vec<(Arc<str>, u64)> {
        let growth = scan.losses.iter().enumerate().map(|(index, now)| {
            let before = self.previous.losses.get(index).copied().unwrap_or(0);
            now.since(before).unwrap_or(0)
        });
        let named = self.class.loss_causes.iter().zip(growth);
        named.filter(|(_, count)| *count > 0).map(|(name, count)| (name.clone(), count)).collect()
    }

    fn note_loss(
        &mut self,
        kind: LossKind,
        count: Option<Result<u64, Fault>>,
        causes: Vec<(Arc<str>, u64)>,
    ) {
        let (begin, end) = (self.packet.begin, self.packet.end);
        let until = match kind {
            LossKind::Events => end.or(begin),
            LossKind::Packets => begin.or(end),
        };
        match count {
            None | Some(Ok(0)) => {}
            Some(Ok(count)) => self.losses.push_back(Loss {
                kind,
                count,
                causes,
                begin: self.previous.end.map(Cycles),
                until,
                cpu: self.packet.cpu,
            }),
            Some(Err(fault)) => self.problem(fault, self.packet.offset_bytes, 0),
        }
    }
}

/// The full value of a packet's end from its low bits; the end is not before the beginning.
fn widen_end(scan: &PacketScan, end: u64) -> u64 {
    match (scan.begin, scan.end_size_bits) {
        (Some(_), 1..=63) => {
            crate::clock::extend(scan.cycles, end, crate::bits::mask(scan.end_size_bits))
        }
        _ => end,
    }
}
