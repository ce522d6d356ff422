// SPDX-License-Identifier: MIT
//! Packet headers and contexts: where a packet is, how much of it is content, what was lost.
//!
//! Place in the flow: a cursor scans each packet once when it enters it. The [`Signature`] is what
//! every packet of a trace starts with; it finds the next packet when sizes cannot be trusted.

use crate::bits::{align_up, Bits};
use crate::error::Fault;
use crate::metadata::{Metadata, StreamClass};
use crate::types::{Enumeration, Integer, Role, Struct, Type};
use crate::units::{CpuId, Cycles, StreamId};
use crate::visit::{Name, Visit, Visitor};
use crate::walk::Slots;

pub(crate) const MAGIC: u32 = 0xc1fc_1fc1;

/// One packet of a stream file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packet {
    /// Position within the file, damaged packets not counted.
    pub index: u64,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    /// Header and context included.
    pub content_bits: u64,
    pub begin: Option<Cycles>,
    pub end: Option<Cycles>,
    pub sequence: Option<u64>,
    /// The stream's counter of discarded events at the end of this packet.
    pub events_discarded: Option<u64>,
    pub cpu: Option<CpuId>,
    /// Where the first event header may start.
    pub(crate) events_at_bits: u64,
}

/// What a scan of header and context found.
#[derive(Debug, Default)]
pub(crate) struct PacketScan {
    pub stream_id: Option<u64>,
    pub instance: Option<u64>,
    pub magic: Option<u32>,
    pub uuid: [u8; 16],
    pub uuid_bytes: usize,
    pub begin: Option<u64>,
    pub end: Option<u64>,
    pub end_size_bits: u32,
    pub packet_bits: Option<u64>,
    pub content_bits: Option<u64>,
    pub sequence: Option<Counter>,
    pub discarded: Option<Counter>,
    pub cpu: Option<u64>,
    pub losses: Vec<Counter>,
    /// First bit after the context.
    pub until_bits: u64,
    /// The clock after `timestamp_begin`.
    pub cycles: u64,
}

/// A counter and the width at which it wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counter {
    pub value: u64,
    pub size_bits: u32,
}

impl Counter {
    /// How far the counter came since `previous`; `None` if it seems to have run backwards.
    pub fn since(&self, previous: u64) -> Option<u64> {
        let mask = crate::bits::mask(self.size_bits);
        let delta = self.value.wrapping_sub(previous) & mask;
        (delta <= mask >> 1).then_some(delta)
    }
}

impl Visitor for PacketScan {
    fn unsigned(&mut self, _: Name<'_>, value: u64, ty: &Integer) {
        let counter = Counter { value, size_bits: ty.size_bits };
        match ty.role {
            Role::Magic => self.magic = Some(value as u32),
            Role::UuidByte => {
                if let Some(byte) = self.uuid.get_mut(self.uuid_bytes) {
                    *byte = value as u8;
                }
                self.uuid_bytes += 1;
            }
            Role::StreamId => self.stream_id = Some(value),
            Role::StreamInstance => self.instance = Some(value),
            Role::PacketBegin => self.begin = Some(value),
            Role::PacketEnd => {
                self.end = Some(value);
                self.end_size_bits = ty.size_bits;
            }
            Role::PacketSize => self.packet_bits = Some(value),
            Role::ContentSize => self.content_bits = Some(value),
            Role::PacketSequence => self.sequence = Some(counter),
            Role::EventsDiscarded => self.discarded = Some(counter),
            Role::CpuId => self.cpu = Some(value),
            Role::LossCause(_) => self.losses.push(counter),
            Role::EventId | Role::None => {}
        }
    }

    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        if !ty.container.signed {
            self.unsigned(name, value, &ty.container);
        }
    }
}

/// Scans header and context of the packet that starts with `data`. `previous_cycles` is where the
/// stream's clock stands.
pub(crate) fn scan<'m>(
    metadata: &'m Metadata,
    data: &[u8],
    slots: &Slots,
    previous_cycles: u64,
) -> Result<(PacketScan, &'m StreamClass), Fault> {
    let bits = Bits::new(data, u64::MAX);
    let mut found = PacketScan::default();
    let budget = crate::walk::packet_budget(0);
    let mut visit = Visit { bits, position: 0, slots, cycles: previous_cycles, budget };
    if let Some(header) = &metadata.packet_header {
        visit.scope(header, &mut found)?;
    }
    if let Some(magic) = found.magic.filter(|magic| *magic != MAGIC) {
        return Err(Fault::WrongMagic(magic));
    }
    if let (16, Some(uuid)) = (found.uuid_bytes, metadata.uuid) {
        if found.uuid != uuid {
            return Err(Fault::WrongUuid);
        }
    }
    let stream = match (found.stream_id, metadata.streams.as_slice()) {
        (None, [only]) => only,
        (id, _) => {
            let id = id.unwrap_or(0);
            metadata.stream(StreamId(id)).ok_or(Fault::UnknownStream(id))?
        }
    };
    if let Some(context) = &stream.packet_context {
        visit.scope(context, &mut found)?;
    }
    found.until_bits = visit.position;
    found.cycles = visit.cycles;
    Ok((found, stream))
}

/// Visits the context of a packet once more for its values.
pub(crate) fn visit_context<V: Visitor>(
    header: Option<&Struct>,
    context: Option<&Struct>,
    data: &[u8],
    slots: &Slots,
    visitor: &mut V,
) -> Result<(), Fault> {
    let bits = Bits::new(data, u64::MAX);
    let budget = crate::walk::packet_budget(0);
    let mut visit = Visit { bits, position: 0, slots, cycles: 0, budget };
    if let Some(header) = header {
        visit.scope(header, &mut PacketScan::default())?;
    }
    if let Some(context) = context {
        visit.scope(context, visitor)?;
    }
    Ok(())
}

/// The constant bytes at the start of every packet: magic number and UUID.
#[derive(Debug, Default)]
pub(crate) struct Signature {
    parts: Vec<(usize, Vec<u8>)>,
}

impl Signature {
    pub fn of(metadata: &Metadata) -> Self {
        let mut parts = Vec::new();
        let Some(header) = &metadata.packet_header else { return Self::default() };
        let mut at = 0;
        for field in &header.fields {
            let extent = field.ty.extent();
            at = align_up(at, extent.align_bits);
            let offset = (at / 8) as usize;
            match &field.ty {
                Type::Integer(i) if i.role == Role::Magic && at % 8 == 0 => {
                    let bytes = match i.order {
                        crate::types::ByteOrder::Little => MAGIC.to_le_bytes(),
                        crate::types::ByteOrder::Big => MAGIC.to_be_bytes(),
                    };
                    parts.push((offset, bytes.to_vec()));
                }
                Type::Array(a) if at % 8 == 0 && extent.fixed_bits == Some(128) => {
                    let role = a.element.as_integer().map(|i| i.role);
                    if let (Some(Role::UuidByte), Some(uuid)) = (role, metadata.uuid) {
                        parts.push((offset, uuid.to_vec()));
                    }
                }
                _ => {}
            }
            let Some(bits) = extent.fixed_bits else { break };
            at = at.saturating_add(bits);
        }
        Self { parts }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a packet starts at `at`. Always so if packets start with nothing constant.
    pub fn is_at(&self, file: &[u8], at: usize) -> bool {
        self.parts.iter().all(|(offset, bytes)| {
            let begin = at.saturating_add(*offset);
            file.get(begin..begin.saturating_add(bytes.len())) == Some(bytes.as_slice())
        })
    }

    /// The UUID of what may be a packet of another trace, at the beginning of a file: one whose
    /// magic number is right.
    pub fn uuid_of(&self, file: &[u8]) -> Option<[u8; 16]> {
        let [(magic_at, magic), (uuid_at, _)] = self.parts.as_slice() else { return None };
        let bytes = |at: usize, length: usize| file.get(at..at.checked_add(length)?);
        (bytes(*magic_at, magic.len())? == magic.as_slice()).then_some(())?;
        bytes(*uuid_at, 16)?.try_into().ok()
    }

    /// The next packet start at or after `from`.
    pub fn find(&self, file: &[u8], from: usize) -> Option<usize> {
        let (offset, bytes) = self.parts.first()?;
        let begin = from.saturating_add(*offset);
        let found = memchr::memmem::find_iter(file.get(begin..)?, bytes);
        found.map(|found| from + found).find(|at| self.is_at(file, *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_their_own_width_and_notice_running_backwards() {
        let counter = |value, size_bits| Counter { value, size_bits };
        assert_eq!(counter(3, 8).since(250), Some(9));
        assert_eq!(counter(3, 64).since(250), None);
        assert_eq!(counter(7, 64).since(7), Some(0));
    }
}
