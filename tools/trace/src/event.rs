// SPDX-License-Identifier: MIT
//! One event, borrowed from the mapped packet.
//!
//! Place in the flow: what a [`crate::Merge`] hands out. Knowing an event costs nothing beyond its
//! header; its fields are decoded when they are asked for.

use crate::bits::{text_of, Bits};
use crate::clock::Clock;
use crate::cursor::Place;
use crate::error::Fault;
use crate::metadata::{EventClass, StreamClass};
use crate::packet::Packet;
use crate::source::Source;
use crate::types::{Encoding, Struct, Type};
use crate::units::{CpuId, Cycles, EventId, Ns};
use crate::visit::{Name, Visit, Visitor};
use crate::walk::{packet_budget, Walk};

/// A single field value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// Any bytes, without the NUL.
    Text(&'a [u8]),
    Enumeration {
        value: u64,
        label: Option<&'a str>,
    },
    /// A struct, array, sequence or variant, or text that is not coded in UTF-8: visit the event
    /// for what is inside.
    Compound,
}

impl Value<'_> {
    /// The number in an integer or an enumeration.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::Unsigned(value) | Value::Enumeration { value, .. } => Some(value),
            Value::Signed(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The number in an integer, signed.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Signed(value) => Some(value),
            Value::Unsigned(value) => i64::try_from(value).ok(),
            Value::Enumeration { value, .. } => Some(value as i64),
            _ => None,
        }
    }
}

/// An event, valid until the next one is asked for.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    source: &'a Source<'a>,
    cycles: u64,
    stream_index: u32,
    /// Among the events that were read ahead; otherwise it is the one that the source has come to.
    position: Option<u8>,
}

/// Where an event's bytes are.
#[derive(Clone, Copy)]
pub(crate) struct Where<'a> {
    pub place: Place,
    pub class: &'a StreamClass,
    /// The packet's bytes from a byte of it on, up to a bit; places count from there.
    pub data: &'a [u8],
    pub limit_bits: u64,
    pub base_bytes: u64,
}

impl<'a> Event<'a> {
    #[inline(always)]
    pub(crate) fn new(
        source: &'a Source<'_>,
        stream_index: u32,
        cycles: u64,
        position: Option<u8>,
    ) -> Self {
        Self { source, cycles, stream_index, position }
    }

    #[inline(always)]
    fn at(&self) -> Where<'a> {
        let cursor = &self.source.cursor;
        match self.position {
            Some(position) => self.source.ahead.at(position),
            None => Where {
                place: cursor.event,
                class: cursor.class,
                data: cursor.data,
                limit_bits: cursor.limit_bits,
                base_bytes: 0,
            },
        }
    }

    /// Whether the event is before the span that is merged, and comes only because it is in a
    /// packet with such as are in it: it may say of which thread those are.
    #[inline]
    pub fn is_before_span(&self) -> bool {
        self.position.is_none() && self.source.is_before
    }

    /// The stream's clock after this event's header.
    #[inline]
    pub fn cycles(&self) -> Cycles {
        Cycles(self.cycles)
    }

    /// Nanoseconds from the clock's origin; 0 in a stream without a clock.
    #[inline]
    pub fn time_ns(&self) -> Ns {
        self.clock().map_or(Ns(0), |clock| clock.ns(self.cycles()))
    }

    #[inline]
    pub fn clock(&self) -> Option<&'a Clock> {
        self.source.ahead.clock()
    }

    /// The class; it outlives the event.
    #[inline]
    pub fn class(&self) -> &'a EventClass {
        self.at().event_class()
    }

    pub fn name(&self) -> &'a str {
        &self.class().name
    }

    pub fn id(&self) -> EventId {
        self.class().id
    }

    pub fn stream_class(&self) -> &'a StreamClass {
        self.source.cursor.class
    }

    /// Position of the stream among all that are merged.
    #[inline]
    pub fn stream_index(&self) -> usize {
        self.stream_index as usize
    }

    /// Position of the trace among all that are merged.
    #[inline]
    pub fn trace_index(&self) -> usize {
        self.source.trace_index
    }

    /// The processor of the event's packet.
    #[inline]
    pub fn cpu(&self) -> Option<CpuId> {
        self.source.cursor.packet.cpu
    }

    pub fn packet(&self) -> &'a Packet {
        &self.source.cursor.packet
    }

    /// Offset of the event within its file.
    pub fn offset_bytes(&self) -> u64 {
        let at = self.at();
        self.source.cursor.packet.offset_bytes + at.base_bytes + at.place.begin / 8
    }

    /// Header and body, in bits.
    pub fn size_bits(&self) -> u64 {
        let place = self.at().place;
        place.until - place.begin
    }

    fn visit(&self, position: u64) -> Visit<'a> {
        let Where { data, limit_bits, .. } = self.at();
        Visit {
            bits: Bits::new(data, limit_bits),
            position,
            slots: &self.source.cursor.slots,
            cycles: self.cycles,
            budget: packet_budget(limit_bits),
        }
    }

    /// Position after the scopes before the payload (or before the event's own context).
    fn skip_to(&self, past_event_context: bool) -> Result<u64, Fault> {
        let Where { place, class, data, limit_bits, .. } = self.at();
        if self.class().leading.follows_header {
            return Ok(place.body);
        }
        let mut walk = Walk {
            bits: Bits::new(data, limit_bits),
            position: place.body,
            slots: &self.source.cursor.slots,
            cycles: self.cycles,
            budget: packet_budget(limit_bits),
        };
        walk.run(&class.event_context_plan)?;
        if past_event_context {
            walk.run(&self.class().context_plan)?;
        }
        Ok(walk.position)
    }

    fn scope<V: Visitor>(&self, s: Option<&Struct>, at: u64, v: &mut V) -> Result<(), Fault> {
        match s {
            Some(s) => self.visit(at).scope(s, v),
            None => Ok(()),
        }
    }

    /// Visits the payload (`event.fields`).
    #[inline]
    pub fn fields<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        let at = self.at();
        let class = at.event_class();
        // The common case, with as few steps as can be.
        if let (true, Some(payload)) = (class.leading.is_all, &class.payload) {
            let bits = Bits::new(at.data, at.limit_bits);
            if let Some(bytes) = class.leading.window(&bits, at.place.body) {
                class.leading.visit(bytes, payload, visitor);
                return Ok(());
            }
        }
        // A copy, so that the common case needs no event in memory.
        Self::other_fields(*self, visitor)
    }

    #[inline(never)]
    fn other_fields<V: Visitor>(self, visitor: &mut V) -> Result<(), Fault> {
        let at = self.skip_to(true)?;
        let class = self.class();
        match &class.payload {
            Some(payload) => self.visit(at).payload(payload, &class.leading, visitor),
            None => Ok(()),
        }
    }

    /// Visits the event's own context (`event.context`).
    pub fn context<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        if self.class().context.is_none() {
            return Ok(());
        }
        let at = self.skip_to(false)?;
        self.scope(self.class().context.as_ref(), at, visitor)
    }

    /// Visits the context that all events of the stream have (`stream.event.context`).
    pub fn stream_context<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        self.scope(self.stream_class().event_context.as_ref(), self.at().place.body, visitor)
    }

    /// Visits the header (`stream.event.header`).
    pub fn header<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        self.scope(self.stream_class().event_header.as_ref(), self.at().place.begin, visitor)
    }

    /// Visits the packet's context (`stream.packet.context`).
    pub fn packet_context<V: Visitor>(&self, visitor: &mut V) -> Result<(), Fault> {
        self.source.cursor.packet_context(visitor)
    }

    /// One payload field by its position, from [`EventClass::field_index`]. Fields at fixed offsets
    /// are read directly, others after what precedes them.
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        let class = self.class();
        let payload = class.payload.as_ref()?;
        let field = payload.fields.get(index)?;
        let at = crate::bits::align_up(self.skip_to(true).ok()?, payload.extent.align_bits);
        let mut visit = self.visit(at);
        match class.leading.offsets.get(index) {
            Some(offset) => visit.position = at + offset,
            None => {
                for before in &payload.fields[..index] {
                    visit.value(Name::None, &before.ty, &mut Ignore).ok()?;
                }
            }
        }
        read_value(&mut visit, &field.ty)
    }
}

impl<'a> Where<'a> {
    #[inline(always)]
    fn event_class(&self) -> &'a EventClass {
        // The cursor stops only at events of its stream's table.
        &self.class.events[self.place.class as usize]
    }
}

struct Ignore;
impl Visitor for Ignore {}

#[derive(Default)]
struct Number(u64);

impl Visitor for Number {
    fn unsigned(&mut self, _: Name<'_>, value: u64, _: &crate::types::Integer) {
        self.0 = value;
    }
    fn signed(&mut self, _: Name<'_>, value: i64, _: &crate::types::Integer) {
        self.0 = value as u64;
    }
    fn enumeration(&mut self, _: Name<'_>, value: u64, _: &crate::types::Enumeration) {
        self.0 = value;
    }
}

const UTF8: Encoding = Encoding::Utf8;

fn read_value<'a>(visit: &mut Visit<'a>, ty: &'a Type) -> Option<Value<'a>> {
    let mut number = Number::default();
    visit.position = crate::bits::align_up(visit.position, ty.extent().align_bits);
    Some(match ty {
        Type::Integer(integer) => {
            visit.value(Name::None, ty, &mut number).ok()?;
            match integer.signed {
                true => Value::Signed(number.0 as i64),
                false => Value::Unsigned(number.0),
            }
        }
        Type::Enumeration(enumeration) => {
            visit.value(Name::None, ty, &mut number).ok()?;
            Value::Enumeration { value: number.0, label: enumeration.label(number.0) }
        }
        Type::Float(float) => Value::Float(visit.float(float).ok()?),
        Type::Text(UTF8) => Value::Text(visit.bits.text(visit.position).ok()?),
        Type::Array(a) if a.element.character() == Some(UTF8) => {
            Value::Text(text_of(visit.characters(a.count).ok()?, UTF8))
        }
        Type::Sequence(s) if s.element.character() == Some(UTF8) => {
            let count = crate::walk::slot(visit.slots, s.length.slot);
            Value::Text(text_of(visit.characters(count).ok()?, UTF8))
        }
        _ => Value::Compound,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_where_they_can_be_held_and_nothing_else_is_a_number() {
        let label = Some("A");
        let values = [
            (Value::Unsigned(7), Some(7), Some(7)),
            (Value::Unsigned(u64::MAX), Some(u64::MAX), None),
            (Value::Signed(7), Some(7), Some(7)),
            (Value::Signed(-1), None, Some(-1)),
            (Value::Enumeration { value: 7, label }, Some(7), Some(7)),
            (Value::Enumeration { value: u64::MAX, label: None }, Some(u64::MAX), Some(-1)),
            (Value::Float(7.0), None, None),
            (Value::Text(b"7"), None, None),
            (Value::Compound, None, None),
        ];
        for (value, unsigned, signed) in values {
            assert_eq!((value.as_u64(), value.as_i64()), (unsigned, signed), "{value:?}");
        }
    }
}
