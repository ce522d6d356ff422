// SPDX-License-Identifier: MIT
//! Visiting field values, in order, without allocating.
//!
//! Place in the flow: printers and analyses implement [`Visitor`]; [`crate::Event`] and
//! [`crate::Packet`] drive it over one scope. The compiler specialises the walk for each visitor,
//! so a value that a visitor ignores costs no more than its read.

use crate::bits::{align_up, mask, reverse, sign_extend, Bits};
use crate::clock::extend;
use crate::error::Fault;
use crate::leading::Leading;
use crate::types::{
    Array, Encoding, Enumeration, Field, Float, Form, Integer, Sequence, Struct, Type, Variant,
};
use crate::walk::{choose, slot, store, Slots};

/// What a value is called by what encloses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// A field of a struct.
    Field(&'a str),
    /// An element of an array or a sequence.
    Index(u64),
    /// The selected option of a variant, or a whole scope.
    None,
}

/// What opens and closes around nested values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group<'a> {
    Struct,
    Array {
        count: u64,
    },
    Sequence {
        count: u64,
    },
    /// Encloses exactly one value.
    Variant {
        option: &'a str,
    },
    /// Encloses one value, or none if it is absent.
    Optional {
        is_present: bool,
    },
}

/// Receives values in the order in which they lie in the packet. Every method may be left out.
pub trait Visitor {
    fn unsigned(&mut self, _name: Name<'_>, _value: u64, _ty: &Integer) {}
    fn signed(&mut self, _name: Name<'_>, _value: i64, _ty: &Integer) {}
    /// A 32-bit float is widened exactly; the type's size tells.
    fn float(&mut self, _name: Name<'_>, _value: f64, _ty: &Float) {}
    /// The value is sign-extended if the container is signed.
    fn enumeration(&mut self, _name: Name<'_>, _value: u64, _ty: &Enumeration) {}
    /// A string, or an array or sequence of characters up to its first NUL; any bytes. Text that is
    /// coded in UTF-16 or UTF-32 is given in UTF-8.
    fn text(&mut self, _name: Name<'_>, _bytes: &[u8]) {}
    /// What [`Visitor::text`] gets, as it lies in the packet: the bytes before the NUL of a string,
    /// or all bytes of an array or a sequence.
    #[inline]
    fn characters(&mut self, name: Name<'_>, bytes: &[u8], encoding: Encoding, is_string: bool) {
        match (encoding, is_string) {
            (Encoding::Utf8, true) => self.text(name, bytes),
            _ => self.text(name, &encoding.decode(bytes)),
        }
    }
    fn begin(&mut self, _name: Name<'_>, _group: Group<'_>) {}
    fn end(&mut self, _group: Group<'_>) {}
}

/// Walks values from `position` on.
pub(crate) struct Visit<'a> {
    pub bits: Bits<'a>,
    pub position: u64,
    pub slots: &'a Slots,
    /// Clock state while scanning headers.
    pub cycles: u64,
    pub budget: u64,
}

impl<'a> Visit<'a> {
    /// The fields of a payload, without a group around them; those at known places first.
    pub fn payload<V: Visitor>(
        &mut self,
        payload: &Struct,
        leading: &Leading,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        let Some(bytes) = leading.window(&self.bits, self.position) else {
            return self.scope(payload, visitor);
        };
        leading.visit(bytes, payload, visitor);
        let at = align_up(self.position, payload.extent.align_bits);
        self.position = at + leading.until_bits;
        self.fields(payload.fields.get(leading.spots.len()..).unwrap_or(&[]), visitor)
    }

    /// The fields of a scope, without a group around them.
    pub fn scope<V: Visitor>(&mut self, s: &Struct, visitor: &mut V) -> Result<(), Fault> {
        self.position = align_up(self.position, s.extent.align_bits);
        self.fields(&s.fields, visitor)
    }

    #[inline(never)]
    fn fields<V: Visitor>(&mut self, fields: &[Field], visitor: &mut V) -> Result<(), Fault> {
        for field in fields {
            let name = Name::Field(field.name());
            // Nearly all fields are integers; they stay in this loop.
            match &field.ty {
                Type::Integer(integer) if !integer.signed => {
                    let value = self.integer(integer)?;
                    visitor.unsigned(name, value, integer);
                }
                Type::Integer(integer) => {
                    let value = self.integer(integer)?;
                    visitor.signed(name, value as i64, integer);
                }
                other => self.value(name, other, visitor)?,
            }
        }
        if self.position > self.bits.limit_bits() {
            return Err(Fault::Truncated);
        }
        Ok(())
    }

    #[inline(always)]
    fn integer(&mut self, ty: &Integer) -> Result<u64, Fault> {
        let at = align_up(self.position, ty.align_bits);
        if ty.form != Form::Fixed {
            return self.unusual_integer(at, ty);
        }
        let raw = self.bits.read(at, ty.size_bits, ty.order)?;
        self.position = at + u64::from(ty.size_bits);
        if ty.clock.is_some() {
            self.cycles = extend(self.cycles, raw, mask(ty.size_bits));
        }
        let value = if ty.signed { sign_extend(raw, ty.size_bits) as u64 } else { raw };
        if let Some(slot) = ty.slot {
            store(self.slots, slot, value);
        }
        Ok(value)
    }

    /// An integer of variable form or with its bits reversed.
    #[cold]
    fn unusual_integer(&mut self, at: u64, ty: &Integer) -> Result<u64, Fault> {
        let (value, size_bits) = unusual_bits(&self.bits, at, ty)?;
        self.position = at + u64::from(size_bits);
        if ty.clock.is_some() {
            self.cycles = extend(self.cycles, value, mask(size_bits));
        }
        if let Some(slot) = ty.slot {
            store(self.slots, slot, value);
        }
        Ok(value)
    }

    pub fn value<V: Visitor>(
        &mut self,
        name: Name<'_>,
        ty: &Type,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        match ty {
            Type::Integer(integer) => {
                let value = self.integer(integer)?;
                if integer.signed {
                    visitor.signed(name, value as i64, integer);
                } else {
                    visitor.unsigned(name, value, integer);
                }
            }
            Type::Enumeration(enumeration) => {
                let value = self.integer(&enumeration.container)?;
                visitor.enumeration(name, value, enumeration);
            }
            Type::Float(float) => {
                let value = self.float(float)?;
                visitor.float(name, value, float);
            }
            Type::Text(encoding) => {
                let at = align_up(self.position, 8);
                let text = self.bits.string(at, *encoding)?;
                self.position = at + (text.len() + encoding.unit_bytes()) as u64 * 8;
                visitor.characters(name, text, *encoding, true);
            }
            Type::Struct(s) => self.structure(name, s, visitor)?,
            Type::Array(array) => self.array(name, array, visitor)?,
            Type::Sequence(sequence) => self.sequence(name, sequence, visitor)?,
            Type::Variant(variant) => self.variant(name, variant, visitor)?,
        }
        Ok(())
    }

    pub fn float(&mut self, float: &Float) -> Result<f64, Fault> {
        let at = align_up(self.position, float.align_bits);
        let mut raw = self.bits.read(at, float.size_bits, float.order)?;
        if float.form == Form::Reversed {
            raw = reverse(raw, float.size_bits);
        }
        self.position = at + u64::from(float.size_bits);
        Ok(float_of(raw, float.size_bits))
    }

    #[inline(never)]
    fn structure<V: Visitor>(
        &mut self,
        name: Name<'_>,
        s: &Struct,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        self.position = align_up(self.position, s.extent.align_bits);
        visitor.begin(name, Group::Struct);
        for field in &s.fields {
            self.value(Name::Field(field.name()), &field.ty, visitor)?;
        }
        visitor.end(Group::Struct);
        Ok(())
    }

    #[inline(never)]
    fn array<V: Visitor>(
        &mut self,
        name: Name<'_>,
        array: &Array,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        let group = Group::Array { count: array.count };
        self.position = align_up(self.position, array.extent.align_bits);
        self.elements(name, &array.element, array.count, group, visitor)
    }

    #[inline(never)]
    fn sequence<V: Visitor>(
        &mut self,
        name: Name<'_>,
        sequence: &Sequence,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        let count = slot(self.slots, sequence.length.slot);
        let group = Group::Sequence { count };
        self.position = align_up(self.position, sequence.extent.align_bits);
        self.elements(name, &sequence.element, count, group, visitor)
    }

    fn elements<V: Visitor>(
        &mut self,
        name: Name<'_>,
        element: &Type,
        count: u64,
        group: Group<'_>,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        if let Some(encoding) = element.character() {
            visitor.characters(name, self.characters(count)?, encoding, false);
            return Ok(());
        }
        visitor.begin(name, group);
        for index in 0..count {
            let before = self.position;
            self.value(Name::Index(index), element, visitor)?;
            if self.position == before {
                self.budget = self.budget.checked_sub(1).ok_or(Fault::SequenceTooLong(count))?;
            }
        }
        visitor.end(group);
        Ok(())
    }

    /// The bytes of an array of characters.
    pub fn characters(&mut self, count: u64) -> Result<&'a [u8], Fault> {
        let bytes = self.bits.bytes(self.position, count).ok_or(Fault::SequenceTooLong(count))?;
        self.position += count * 8;
        Ok(bytes)
    }

    #[inline(never)]
    fn variant<V: Visitor>(
        &mut self,
        name: Name<'_>,
        variant: &Variant,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        let tag = variant.tag.as_ref().map_or(0, |tag| slot(self.slots, tag.slot));
        let option = choose(&variant.choices, tag, variant.tag_signed);
        if variant.is_optional {
            return self.optional(name, option.and_then(|_| variant.options.first()), visitor);
        }
        let Some(option) = option.and_then(|index| variant.options.get(index)) else {
            return Err(Fault::UnknownTag(tag as i64));
        };
        let group = Group::Variant { option: option.name() };
        visitor.begin(name, group);
        self.value(Name::None, &option.ty, visitor)?;
        visitor.end(group);
        Ok(())
    }

    fn optional<V: Visitor>(
        &mut self,
        name: Name<'_>,
        option: Option<&Field>,
        visitor: &mut V,
    ) -> Result<(), Fault> {
        let group = Group::Optional { is_present: option.is_some() };
        visitor.begin(name, group);
        if let Some(option) = option {
            self.value(Name::None, &option.ty, visitor)?;
        }
        visitor.end(group);
        Ok(())
    }
}

/// The value of an integer that is not of the fixed form, sign-extended if it is signed, and the
/// bits that it takes.
pub(crate) fn unusual_bits(bits: &Bits<'_>, at: u64, ty: &Integer) -> Result<(u64, u32), Fault> {
    if ty.form == Form::Variable {
        let (value, bytes) = bits.variable(at, ty.signed)?;
        return Ok((value, bytes * 8));
    }
    let value = reverse(bits.read(at, ty.size_bits, ty.order)?, ty.size_bits);
    let value = if ty.signed { sign_extend(value, ty.size_bits) as u64 } else { value };
    Ok((value, ty.size_bits))
}

/// The number in the bits of a float.
#[inline]
pub(crate) fn float_of(bits: u64, size_bits: u32) -> f64 {
    match size_bits {
        16 => half(bits as u16),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// A float of 16 bits, exactly.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    }
}
