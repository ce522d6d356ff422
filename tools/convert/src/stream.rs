// SPDX-License-Identifier: MIT
//! One stream file of the new trace: packets that hold what the old one's packets held.
//!
//! Place in the flow: [`crate::convert`] gives events and losses in their order. A packet ends
//! where the old one ended, or where it grows large; its counters say what was lost before its end.

use std::fs::File;
use std::io::{self, Write};

use trace::{
    Enumeration, Event, Float, Group, Integer, LossKind, LossMessage, Name, Ns, RecordedThread,
    Trace, Visitor,
};

use crate::encode::Encoder;
use crate::layout::{Layout, StreamLayout, COUNTERS};
use crate::Error;

const MAGIC: u64 = 0xc1fc_1fc1;
/// A packet that has grown to this is ended, and the old one goes on in another.
const PACKET_BYTES: usize = 1 << 20;
/// The largest packet, which a single event makes.
const MAX_PACKET_BYTES: usize = 1 << 31;

/// Where in a packet its own description is, in bytes.
#[derive(Debug, Default)]
struct Places {
    begin: Option<usize>,
    counters: usize,
    causes: usize,
}

/// An open packet.
#[derive(Debug)]
struct Packet {
    /// Offset of the old packet.
    old_bytes: u64,
    places: Places,
    /// The last event's time, or the beginning.
    reached: u64,
    /// When the old packet ended.
    end: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Stream {
    name: String,
    file: File,
    /// Of the file.
    bytes: u64,
    index: usize,
    encoder: Encoder,
    packet: Option<Packet>,
    sequence: u64,
    discarded: u64,
    causes: Vec<u64>,
    /// The old packet that told of what counters have grown by since the last packet.
    owes: Option<Owed>,
    /// When the last packet ended.
    ended: Option<u64>,
    /// The values of the packet context that are kept, from the last old packet.
    others: Vec<(u64, u32)>,
    /// The last record of a thread in the old packet, from its contexts on.
    record: Option<Record>,
}

/// An old packet that told of losses, of which no new one has told yet.
#[derive(Debug, Clone, Copy)]
struct Owed {
    /// Its offset.
    old_bytes: u64,
    begin: u64,
    end: u64,
}

/// Lull's own record of the thread that runs from there on.
#[derive(Debug)]
struct Record {
    /// Offset of its packet in the old file.
    old_bytes: u64,
    event_id: u64,
    body: Vec<u8>,
    /// Whether the open packet has it.
    is_written: bool,
}

impl Stream {
    pub fn new(
        trace: &Trace,
        layout: &Layout,
        number: usize,
        make: &mut dyn FnMut(&str) -> io::Result<File>,
    ) -> Result<Self, Error> {
        let files = trace.files();
        let file = &files[number];
        let is_only = files.iter().filter(|other| other.cpu() == file.cpu()).count() == 1;
        let name = match file.cpu().filter(|_| is_only) {
            Some(cpu) => format!("stream-cpu{cpu}"),
            None => format!("stream-any{number}"),
        };
        let index = file.class_index();
        let stream_class = &trace.metadata().streams[index];
        let parts = &layout.streams[index];
        let sizes = parts.kept(stream_class).filter_map(|field| field.ty.as_integer());
        Ok(Self {
            file: make(&name).map_err(|source| Error::Io { name: name.clone(), source })?,
            name,
            bytes: 0,
            index,
            encoder: Encoder::new(layout.format, layout.order),
            packet: None,
            sequence: 0,
            discarded: 0,
            causes: vec![0; parts.causes.len()],
            owes: None,
            ended: None,
            others: sizes.map(|integer| (0, integer.size_bits)).collect(),
            record: None,
        })
    }

    /// Appends an event. `thread` is what Lull recorded of it.
    pub fn event(
        &mut self,
        layout: &Layout,
        event: &Event<'_>,
        thread: Option<&RecordedThread>,
    ) -> Result<(), Error> {
        self.enter_packet(layout, event)?;
        let parts = &layout.streams[self.index];
        let now = time(layout, event, event.cycles().0);
        self.write_record(parts, event, now);
        self.write_header(parts, event.id().0, now);
        let thread = thread.map(|thread| (thread.pid, thread.tid));
        write_body(&mut self.encoder, layout, event, thread)?;
        if let Some(packet) = &mut self.packet {
            packet.reached = packet.reached.max(now);
        }
        match self.encoder.bytes.len() {
            0..MAX_PACKET_BYTES => Ok(()),
            bytes => Err(Error::PacketTooLarge(bytes)),
        }
    }

    /// Begins a packet where the event is of another one than the event before.
    fn enter_packet(&mut self, layout: &Layout, event: &Event<'_>) -> Result<(), Error> {
        let parts = &layout.streams[self.index];
        let old_bytes = event.packet().offset_bytes;
        let is_same = self.packet.as_ref().is_some_and(|p| p.old_bytes == old_bytes);
        if is_same && self.encoder.bytes.len() < PACKET_BYTES {
            return Ok(());
        }
        self.end_packet(is_same)?;
        let owed = match self.owes {
            Some(owed) if owed.old_bytes == old_bytes => Some(owed),
            _ => {
                self.settle(layout)?;
                None
            }
        };
        let mut numbers = Numbers::default();
        event.packet_context(&mut numbers).map_err(|fault| unreadable(event, fault))?;
        self.keep_others(parts, &numbers);
        let old = event.packet();
        let begin = match (is_same, old.begin) {
            (false, Some(begin)) if !layout.is_part => begin.0.min(event.cycles().0),
            _ => event.cycles().0,
        };
        let end = old.end.filter(|_| !layout.is_part).map(|end| time(layout, event, end.0));
        let begin = time(layout, event, begin);
        // Readers take a loss to have ended where the packet that tells of it begins or ends.
        let begin = owed.map_or(begin, |owed| begin.min(owed.begin));
        self.begin_packet(layout, old_bytes, begin, end.or(owed.map(|owed| owed.end)));
        Ok(())
    }

    fn keep_others(&mut self, parts: &StreamLayout, numbers: &Numbers) {
        for (position, (value, _)) in parts.others.iter().zip(&mut self.others) {
            *value = numbers.values.get(*position).copied().unwrap_or(0);
        }
    }

    /// Remembers what a record says of the thread, up to the old packet's end.
    pub fn names_thread(&mut self, layout: &Layout, event: &Event<'_>) -> Result<(), Error> {
        let mut body = Encoder::new(layout.format, layout.order);
        let number = |name| event.value(event.class().field_index(name)?)?.as_u64();
        write_body(&mut body, layout, event, number("pid").zip(number("tid")))?;
        self.record = Some(Record {
            old_bytes: event.packet().offset_bytes,
            event_id: event.id().0,
            body: body.bytes,
            is_written: false,
        });
        Ok(())
    }

    /// Writes the record that an event's thread has, unless the packet has it, or the event is it.
    fn write_record(&mut self, parts: &StreamLayout, event: &Event<'_>, now: u64) {
        let Some(mut record) = self.record.take() else { return };
        let is_current = record.old_bytes == event.packet().offset_bytes;
        if is_current && !record.is_written && record.event_id != event.id().0 {
            self.write_header(parts, record.event_id, now);
            self.encoder.bytes.extend_from_slice(&record.body);
        }
        record.is_written = true;
        self.record = is_current.then_some(record);
    }

    fn write_header(&mut self, parts: &StreamLayout, event_id: u64, now: u64) {
        self.encoder.fixed(event_id, parts.event_id_bits);
        if parts.has_clock {
            self.encoder.fixed(now, 64);
        }
    }

    /// Counts what was lost; the next packet tells of it.
    pub fn loss(&mut self, layout: &Layout, message: &LossMessage<'_>) -> Result<(), Error> {
        let loss = message.loss;
        let at = |cycles: Option<trace::Cycles>, ns: Option<Ns>| match layout.in_ns {
            true => ns.map(|ns| layout.ns(ns)),
            false => cycles.map(|cycles| cycles.0),
        };
        let begin = at(loss.begin, message.begin_ns());
        if let Some(packet) = self.packet.as_mut().filter(|_| layout.is_part) {
            // The end of one that told of losses is theirs, too.
            packet.end = packet.end.or(begin);
        }
        self.end_packet(false)?;
        let old_bytes = message.packet().offset_bytes;
        if self.owes.is_none_or(|owed| owed.old_bytes != old_bytes) {
            self.settle(layout)?;
            let mut numbers = Numbers::default();
            let unreadable = |fault| Error::UnreadablePacket { name: self.name.clone(), fault };
            message.packet_context(&mut numbers).map_err(unreadable)?;
            self.keep_others(&layout.streams[self.index], &numbers);
            // Readers take a loss to have begun where the packet before ended.
            if let Some(begin) = begin.filter(|begin| self.ended.is_none_or(|end| end < *begin)) {
                self.begin_packet(layout, old_bytes, begin, Some(begin));
                self.end_packet(false)?;
            }
        }
        let begin = at(Some(message.cycles()), message.time_ns()).unwrap_or(0);
        let until = at(loss.until, message.until_ns()).unwrap_or(begin);
        let end = self.owes.map_or(until, |owed| owed.end.max(until));
        match loss.kind {
            LossKind::Packets => self.sequence = self.sequence.wrapping_add(loss.count),
            LossKind::Events => self.discarded = self.discarded.wrapping_add(loss.count),
        }
        let names = &layout.streams[self.index].causes;
        for (name, count) in &loss.causes {
            let counters = names.iter().zip(&mut self.causes);
            for (_, counter) in counters.filter(|(known, _)| *known == name) {
                *counter = counter.wrapping_add(*count);
            }
        }
        self.owes = Some(Owed { old_bytes, begin, end });
        Ok(())
    }

    pub fn finish(&mut self, layout: &Layout) -> Result<(), Error> {
        self.end_packet(false)?;
        self.settle(layout)
    }

    /// Tells of losses by a packet without events, as the old one was.
    fn settle(&mut self, layout: &Layout) -> Result<(), Error> {
        let Some(Owed { old_bytes, begin, end }) = self.owes else { return Ok(()) };
        self.begin_packet(layout, old_bytes, begin, Some(end));
        self.end_packet(false)
    }

    fn begin_packet(&mut self, layout: &Layout, old_bytes: u64, begin: u64, end: Option<u64>) {
        let parts = &layout.streams[self.index];
        let encoder = &mut self.encoder;
        encoder.bytes.clear();
        encoder.fixed(MAGIC, 32);
        if let Some(uuid) = layout.uuid {
            encoder.bytes.extend_from_slice(&uuid);
        }
        encoder.fixed(parts.id, 64);
        let mut places = Places::default();
        if parts.has_clock {
            places.begin = Some(encoder.bytes.len());
            encoder.fixed(begin, 64);
            encoder.fixed(0, 64);
        }
        places.counters = encoder.bytes.len();
        for _ in COUNTERS {
            encoder.fixed(0, 64);
        }
        places.causes = encoder.bytes.len();
        for _ in &parts.causes {
            encoder.fixed(0, 64);
        }
        for (value, size_bits) in &self.others {
            encoder.fixed(*value, *size_bits);
        }
        if let Some(record) = &mut self.record {
            record.is_written = false;
        }
        self.packet = Some(Packet { old_bytes, places, reached: begin, end });
    }

    /// Writes the open packet out. `goes_on`: the old one does not end here.
    fn end_packet(&mut self, goes_on: bool) -> Result<(), Error> {
        let Some(packet) = self.packet.take() else { return Ok(()) };
        let end = packet.end.filter(|_| !goes_on).unwrap_or(0).max(packet.reached);
        let (content, all) = (self.encoder.content_bits(), self.encoder.bytes.len() as u64 * 8);
        let Places { begin, counters, causes } = packet.places;
        if let Some(begin) = begin {
            self.encoder.patch(begin + 8, end);
        }
        let values = [content, all, self.sequence, self.discarded];
        for (index, value) in values.into_iter().enumerate() {
            self.encoder.patch(counters + 8 * index, value);
        }
        for (index, value) in self.causes.iter().enumerate() {
            self.encoder.patch(causes + 8 * index, *value);
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.owes = None;
        self.ended = Some(end);
        let written = self.file.write_all(&self.encoder.bytes);
        self.bytes += self.encoder.bytes.len() as u64;
        written.map_err(|source| Error::Io { name: self.name.clone(), source })
    }

    /// The name of its file, and how long that is.
    pub fn file(&self) -> (&str, u64) {
        (&self.name, self.bytes)
    }
}

fn unreadable(event: &Event<'_>, fault: trace::Fault) -> Error {
    Error::Unreadable { event: event.name().into(), fault }
}

/// What of an event comes after its header.
fn write_body(
    to: &mut Encoder,
    layout: &Layout,
    event: &Event<'_>,
    thread: Option<(u64, u64)>,
) -> Result<(), Error> {
    let unreadable = |fault| unreadable(event, fault);
    event.stream_context(to).map_err(unreadable)?;
    if layout.has_threads {
        let (pid, tid) = thread.unwrap_or((u64::MAX, u64::MAX));
        to.fixed(pid, 32);
        to.fixed(tid, 32);
    }
    event.context(to).map_err(unreadable)?;
    event.fields(to).map_err(unreadable)
}

/// A clock value of the event's stream, as the new trace counts.
fn time(layout: &Layout, event: &Event<'_>, cycles: u64) -> u64 {
    match event.clock().filter(|_| layout.in_ns) {
        Some(clock) => layout.ns(clock.ns(trace::Cycles(cycles))),
        None => cycles,
    }
}

/// The numbers among the fields of a packet's context, by the position of the field.
#[derive(Default)]
struct Numbers {
    values: Vec<u64>,
    depth: u32,
}

impl Numbers {
    fn push(&mut self, value: u64) {
        if self.depth == 0 {
            self.values.push(value);
        }
    }
}

impl Visitor for Numbers {
    fn unsigned(&mut self, _: Name<'_>, value: u64, _: &Integer) {
        self.push(value);
    }

    fn signed(&mut self, _: Name<'_>, value: i64, _: &Integer) {
        self.push(value as u64);
    }

    fn enumeration(&mut self, _: Name<'_>, value: u64, _: &Enumeration) {
        self.push(value);
    }

    fn float(&mut self, _: Name<'_>, _: f64, _: &Float) {
        self.push(0);
    }

    fn text(&mut self, _: Name<'_>, _: &[u8]) {
        self.push(0);
    }

    fn begin(&mut self, _: Name<'_>, _: Group<'_>) {
        self.push(0);
        self.depth += 1;
    }

    fn end(&mut self, _: Group<'_>) {
        self.depth -= 1;
    }
}
