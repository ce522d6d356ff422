// SPDX-License-Identifier: MIT
//! Writing packets and events of a [`Spec`] into the bytes of one stream file.
//!
//! Place in the flow: the last step before `TraceFolder` puts the bytes on disk, or a test hands
//! them to a reader.

use crate::bit_writer::{BitWriter, Order};
use crate::datum::Datum;
use crate::random::Random;
use crate::spec::Spec;

/// Positions of the packet context's fields, in bytes from the start of a packet.
pub mod offset {
    pub const MAGIC: usize = 0;
    pub const UUID: usize = 4;
    pub const STREAM_ID: usize = 20;
    pub const TIMESTAMP_BEGIN: usize = 24;
    pub const TIMESTAMP_END: usize = 32;
    pub const CONTENT_SIZE: usize = 40;
    pub const PACKET_SIZE: usize = 48;
    pub const SEQUENCE: usize = 56;
    pub const DISCARDED: usize = 64;
    /// `lost_full`, `lost_overflow`, `lost_too_big`, `lost_in_flight`.
    pub const LOSSES: usize = 72;
    pub const CPU_ID: usize = 104;
    pub const FLAGS: usize = 108;
    /// The first event.
    pub const EVENTS: usize = 112;
}

/// What a test can say about an event it wrote, in the notation of Babeltrace 2.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub cycles: u64,
    pub cpu: u32,
    /// Offset of the event's packet in its file.
    pub packet_bytes: u64,
    pub name: String,
    /// Stream context, event context and payload, each in braces.
    pub scopes: Vec<String>,
}

/// Discarded events so far: `[full, overflow, too big, in flight]`.
pub type Losses = [u64; 4];

/// One stream file in the making.
pub struct StreamWriter<'s> {
    spec: &'s Spec,
    cpu: u32,
    finished: Vec<u8>,
    packet: Option<BitWriter>,
    cycles: u64,
    sequence: u64,
    losses: Losses,
    pub written: Vec<Written>,
    /// Offsets of the packets in the file.
    pub packets: Vec<usize>,
}

impl<'s> StreamWriter<'s> {
    pub fn new(spec: &'s Spec, cpu: u32) -> Self {
        Self {
            spec,
            cpu,
            finished: Vec::new(),
            packet: None,
            cycles: 0,
            sequence: 0,
            losses: [0; 4],
            written: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Starts a packet at a clock value.
    pub fn begin_packet(&mut self, cycles: u64) {
        assert!(self.packet.is_none(), "a packet is open");
        let order = self.spec.order;
        let mut bits = BitWriter::new();
        bits.integer(0xc1fc_1fc1, 32, order);
        bits.bytes(&self.spec.uuid);
        bits.integer(0, 32, order);
        bits.integer(cycles, 64, order);
        for _ in 0..9 {
            bits.integer(0, 64, order);
        }
        bits.integer(u64::from(self.cpu), 32, order);
        bits.integer(0, 32, order);
        assert_eq!(bits.position_bits(), offset::EVENTS as u64 * 8);
        self.packet = Some(bits);
        self.packets.push(self.finished.len());
        self.cycles = cycles;
    }

    /// Appends an event with random values.
    pub fn random_event(&mut self, id: u64, cycles: u64, random: &mut Random) {
        let spec = self.spec;
        let event = spec.event(id);
        let context = spec.stream_context.as_ref().map(|kind| kind.value(random));
        let own_context = event.context.as_ref().map(|kind| kind.value(random));
        let payload = event.payload.value(random);
        let extended = random.one_in(10);
        self.full_event(id, cycles, [context, own_context, Some(payload)], extended);
    }

    /// Appends an event without contexts.
    pub fn event(&mut self, id: u64, cycles: u64, payload: Datum) {
        self.full_event(id, cycles, [None, None, Some(payload)], false);
    }

    /// Appends an event with the stream's context, its own and its payload.
    pub fn event_with(&mut self, id: u64, cycles: u64, scopes: [Option<Datum>; 3]) {
        self.full_event(id, cycles, scopes, false);
    }

    fn full_event(&mut self, id: u64, cycles: u64, values: [Option<Datum>; 3], extended: bool) {
        let spec = self.spec;
        let event = spec.event(id);
        let extended = extended || !spec.header.fits(cycles.wrapping_sub(self.cycles));
        let bits = self.packet.as_mut().expect("an event needs an open packet");
        spec.header.encode(bits, id, cycles, extended, spec.order);
        let kinds = [spec.stream_context.as_ref(), event.context.as_ref(), Some(&event.payload)];
        let mut scopes = Vec::new();
        for (kind, value) in kinds.into_iter().zip(&values) {
            if let (Some(kind), Some(value)) = (kind, value) {
                kind.encode(value, bits);
                scopes.push(format!("{{ {} }}", kind.render_fields(value)));
            }
        }
        self.cycles = cycles;
        let name = event.name.clone();
        let packet_bytes = self.finished.len() as u64;
        self.written.push(Written { cycles, cpu: self.cpu, packet_bytes, name, scopes });
    }

    /// Counts events as lost in the open packet, by cause.
    pub fn lose(&mut self, losses: Losses) {
        for (sum, more) in self.losses.iter_mut().zip(losses) {
            *sum += more;
        }
    }

    /// Leaves out packet numbers.
    pub fn skip_sequence(&mut self, packets: u64) {
        self.sequence += packets;
    }

    /// Ends the packet at a clock value, with `padding_bytes` behind its content.
    pub fn end_packet(&mut self, cycles: u64, padding_bytes: usize) {
        let order = self.spec.order;
        let mut bits = self.packet.take().expect("a packet is open");
        let content_bits = bits.position_bits();
        bits.align(64);
        bits.bytes(&vec![0; padding_bytes.next_multiple_of(8)]);
        let packet_bits = bits.position_bits();
        let mut put = |at: usize, value| bits.overwrite(at as u64 * 8, value, 64, order);
        put(offset::TIMESTAMP_END, cycles);
        put(offset::CONTENT_SIZE, content_bits);
        put(offset::PACKET_SIZE, packet_bits);
        put(offset::SEQUENCE, self.sequence);
        put(offset::DISCARDED, self.losses.iter().sum());
        for (i, loss) in self.losses.into_iter().enumerate() {
            put(offset::LOSSES + i * 8, loss);
        }
        self.sequence += 1;
        self.finished.extend_from_slice(bits.as_bytes());
    }

    /// The file's bytes.
    pub fn finish(self) -> (Vec<u8>, Vec<Written>) {
        assert!(self.packet.is_none(), "a packet is still open");
        (self.finished, self.written)
    }
}

/// Fills one stream with random events of the spec's classes.
pub fn random_stream(spec: &Spec, cpu: u32, seed: u64, packets: u64) -> (Vec<u8>, Vec<Written>) {
    let random = &mut Random::new(seed);
    let mut writer = StreamWriter::new(spec, cpu);
    let mut cycles = 1_000_000 + random.below(1000);
    for _ in 0..packets {
        writer.begin_packet(cycles);
        for _ in 0..random.below(20) {
            let id = random.pick(&spec.events).id;
            cycles += 1 + match spec.header {
                crate::HeaderForm::Bits => random.below(8000),
                _ if random.one_in(20) => random.below(1 << 28),
                _ => random.below(3000),
            };
            writer.random_event(id, cycles, random);
        }
        if random.one_in(4) {
            writer.lose([random.below(9), random.below(3), 0, 0]);
        }
        cycles += random.below(50);
        writer.end_packet(cycles, random.below(64) as usize);
    }
    writer.finish()
}

/// A long stream from one packet: copies of it, each `step_cycles` later than the one before. The
/// low bits that compact headers keep must not change: `step_cycles` is a multiple of 2^27.
pub fn repeat_packet(spec: &Spec, packet: &[u8], copies: u64, step_cycles: u64) -> Vec<u8> {
    assert_eq!(step_cycles % (1 << 27), 0, "event headers keep their low bits");
    let order = spec.order;
    let mut bytes = Vec::with_capacity(packet.len() * copies as usize);
    for number in 0..copies {
        let at = bytes.len();
        bytes.extend_from_slice(packet);
        let mut add = |field: usize, more: u64| {
            let place = &mut bytes[at + field..at + field + 8];
            let word: [u8; 8] = place.try_into().expect("eight bytes");
            let sum = match order {
                Order::Little => (u64::from_le_bytes(word) + more).to_le_bytes(),
                Order::Big => (u64::from_be_bytes(word) + more).to_be_bytes(),
            };
            place.copy_from_slice(&sum);
        };
        add(offset::TIMESTAMP_BEGIN, number * step_cycles);
        add(offset::TIMESTAMP_END, number * step_cycles);
        add(offset::SEQUENCE, number);
    }
    bytes
}
