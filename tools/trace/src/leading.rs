// SPDX-License-Identifier: MIT
//! The leading fields of a payload: those at places that are known when the metadata is read.
//!
//! Place in the flow: `tsdl` makes one for each event class, `visit` reads them before it goes on
//! to the other fields. A number at a known place takes one load and two shifts.

use crate::bits::{align_up, load, Bits};
use crate::plan::Plan;
use crate::types::{ByteOrder, Float, Form, Integer, Struct, Type};
use crate::visit::{float_of, Name, Visitor};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Leading {
    /// Whether nothing is between an event's header and its payload.
    pub follows_header: bool,
    /// Offsets of fields from the payload's aligned start, in bits, while they are the same in each
    /// event and a field can be read without what is before it.
    pub offsets: Vec<u64>,
    /// The first fields, while they are plain numbers: nothing else is done with their values.
    pub spots: Box<[Spot]>,
    /// Where those fields end.
    pub until_bits: u64,
    align_bits: u32,
    /// Whether they follow the header, and no other fields them.
    pub is_all: bool,
}

/// Where a number lies in an eight-byte load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    byte: u32,
    /// By how much the loaded word is shifted to the left, and then to the right.
    left: u8,
    right: u8,
    is_big: bool,
}

impl Leading {
    pub fn of(before: &Plan, payload: Option<&Struct>) -> Self {
        let mut leading = Self { follows_header: before.steps.is_empty(), ..Self::default() };
        let mut spots = Vec::new();
        let mut at = 0u64;
        for field in payload.map_or(&[][..], |payload| &payload.fields) {
            let extent = field.ty.extent();
            at = align_up(at, extent.align_bits);
            // What a length or a tag says has to be read before it.
            if extent.fixed_bits.is_some() || matches!(field.ty, Type::Text(_)) {
                leading.offsets.push(at);
            }
            let Some(bits) = extent.fixed_bits else { break };
            at = at.saturating_add(bits);
            let are_all_plain = spots.len() + 1 == leading.offsets.len();
            if let (true, Some(spot)) = (are_all_plain, Spot::of(at - bits, &field.ty)) {
                spots.push(spot);
                leading.until_bits = at;
            }
        }
        leading.is_all =
            leading.follows_header && payload.is_some_and(|p| p.fields.len() == spots.len());
        leading.align_bits = payload.map_or(1, |payload| payload.extent.align_bits);
        leading.spots = spots.into();
        leading
    }

    /// The bytes of the leading fields of a payload that begins after a bit, and what follows them;
    /// `None` if they begin in the middle of a byte or are not all there.
    #[inline(always)]
    pub fn window<'a>(&self, bits: &Bits<'a>, position_bits: u64) -> Option<&'a [u8]> {
        bits.window(align_up(position_bits, self.align_bits), self.until_bits)
    }

    /// Visits the leading fields, which all lie in `bytes`.
    #[inline(always)]
    pub fn visit<V: Visitor>(&self, bytes: &[u8], payload: &Struct, visitor: &mut V) {
        for (field, spot) in payload.fields.iter().zip(&self.spots) {
            let name = Name::Field(field.name());
            let top = spot.top(bytes);
            let (value, signed) = (top >> spot.right, top as i64 >> spot.right);
            match &field.ty {
                Type::Integer(integer) if integer.signed => visitor.signed(name, signed, integer),
                Type::Integer(integer) => visitor.unsigned(name, value, integer),
                Type::Enumeration(enumeration) => {
                    let value = if enumeration.container.signed { signed as u64 } else { value };
                    visitor.enumeration(name, value, enumeration);
                }
                Type::Float(float) => visitor.float(name, float_of(value, float.size_bits), float),
                _ => {}
            }
        }
    }
}

impl Spot {
    fn of(offset_bits: u64, ty: &Type) -> Option<Self> {
        let is_plain = |integer: &&Integer| {
            integer.form == Form::Fixed && integer.slot.is_none() && integer.clock.is_none()
        };
        let (size_bits, order) = match ty {
            Type::Float(Float { size_bits, order, form: Form::Fixed, .. }) => (*size_bits, *order),
            ty => ty.as_integer().filter(is_plain).map(|i| (i.size_bits, i.order))?,
        };
        let within = (offset_bits % 8) as u32;
        let unused = 64u32.checked_sub(within.checked_add(size_bits)?)?;
        let is_big = order == ByteOrder::Big;
        Some(Self {
            byte: u32::try_from(offset_bits / 8).ok()?,
            left: if is_big { within } else { unused } as u8,
            right: 64u32.checked_sub(size_bits).filter(|right| *right < 64)? as u8,
            is_big,
        })
    }

    /// The number's bits, the highest of which is the highest of the word.
    #[inline(always)]
    fn top(&self, bytes: &[u8]) -> u64 {
        let word = load(bytes, self.byte as usize);
        let word = if self.is_big { word.swap_bytes() } else { word };
        word << self.left
    }
}
