// SPDX-License-Identifier: MIT
//! Values as bytes of a packet: each begins at a byte, in the new trace's byte order.
//!
//! Place in the flow: `stream` gives this to the reader as a visitor, which calls it for each value
//! in the order in which they lie in the old packet; `tsdl` and `json` describe what it writes.

use trace::{ByteOrder, Encoding, Enumeration, Float, Form, Group, Integer, Name, Visitor};

use crate::Format;

/// A packet's bytes in the making.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub bytes: Vec<u8>,
    /// Bits at the end that belong to no value; at the end of a packet they are not content.
    padding_bits: u32,
    format: Format,
    order: ByteOrder,
}

impl Encoder {
    pub fn new(format: Format, order: ByteOrder) -> Self {
        Self { bytes: Vec::new(), padding_bits: 0, format, order }
    }

    /// The low `size_bits` of a number, in as many bytes as hold them.
    pub fn fixed(&mut self, value: u64, size_bits: u32) {
        let unused = 64 - size_bits.clamp(1, 64);
        let count = size_bits.div_ceil(8) as usize;
        // In big-endian packets the first bit of a byte is its highest: padding comes after.
        let bytes = match self.order {
            ByteOrder::Little => (value << unused >> unused).to_le_bytes(),
            ByteOrder::Big => (value << unused).to_be_bytes(),
        };
        self.bytes.extend_from_slice(&bytes[..count]);
        self.padding_bits = count as u32 * 8 - size_bits;
    }

    /// The bits up to the last one of a value.
    pub fn content_bits(&self) -> u64 {
        self.bytes.len() as u64 * 8 - u64::from(self.padding_bits)
    }

    /// Overwrites a number of 64 bits.
    pub fn patch(&mut self, at: usize, value: u64) {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        if let Some(place) = self.bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&bytes);
        }
    }

    fn number(&mut self, value: u64, ty: &Integer) {
        match (ty.form, self.format) {
            (Form::Variable, Format::Ctf2) => self.variable(value, ty.signed),
            _ => self.fixed(value, ty.size_bits),
        }
    }

    /// LEB128.
    fn variable(&mut self, mut value: u64, signed: bool) {
        self.padding_bits = 0;
        loop {
            let low = (value & 0x7f) as u8;
            value = if signed { (value as i64 >> 7) as u64 } else { value >> 7 };
            let is_last = match signed {
                true => value == if low & 0x40 == 0 { 0 } else { u64::MAX },
                false => value == 0,
            };
            if is_last {
                self.bytes.push(low);
                return;
            }
            self.bytes.push(low | 0x80);
        }
    }

    fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }
}

impl Visitor for Encoder {
    fn unsigned(&mut self, _: Name<'_>, value: u64, ty: &Integer) {
        self.number(value, ty);
    }

    fn signed(&mut self, _: Name<'_>, value: i64, ty: &Integer) {
        self.number(value as u64, ty);
    }

    fn enumeration(&mut self, _: Name<'_>, value: u64, ty: &Enumeration) {
        self.number(value, &ty.container);
    }

    /// A float of 16 bits becomes one of 32, which every reader knows.
    fn float(&mut self, _: Name<'_>, value: f64, ty: &Float) {
        match ty.size_bits {
            64 => self.fixed(value.to_bits(), 64),
            _ => self.fixed(u64::from((value as f32).to_bits()), 32),
        }
    }

    /// Text in UTF-8 that becomes a string.
    fn text(&mut self, _: Name<'_>, bytes: &[u8]) {
        self.padding_bits = 0;
        self.bytes.extend_from_slice(bytes);
        self.bytes.push(0);
    }

    fn characters(&mut self, name: Name<'_>, bytes: &[u8], encoding: Encoding, is_string: bool) {
        match (encoding, self.format) {
            (Encoding::Utf8, _) | (_, Format::Ctf2) => {
                self.padding_bits = 0;
                self.bytes.extend_from_slice(bytes);
                if is_string {
                    self.zeros(encoding.unit_bytes());
                }
            }
            (_, Format::Ctf1) => {
                let text = encoding.decode(bytes);
                self.text(name, &text);
            }
        }
    }

    /// Even without elements an array or a sequence begins at a byte.
    fn begin(&mut self, _: Name<'_>, group: Group<'_>) {
        if matches!(group, Group::Array { .. } | Group::Sequence { .. }) {
            self.padding_bits = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(order: ByteOrder, value: u64, size_bits: u32) -> Vec<u8> {
        let mut encoder = Encoder::new(Format::Ctf2, order);
        encoder.fixed(value, size_bits);
        encoder.bytes
    }

    #[test]
    fn numbers_take_whole_bytes_with_their_bits_first() {
        assert_eq!(encoded(ByteOrder::Little, 0x1234, 16), [0x34, 0x12]);
        assert_eq!(encoded(ByteOrder::Big, 0x1234, 16), [0x12, 0x34]);
        assert_eq!(encoded(ByteOrder::Little, u64::MAX, 5), [0x1f]);
        assert_eq!(encoded(ByteOrder::Big, 0x15, 5), [0x15 << 3]);
        assert_eq!(encoded(ByteOrder::Big, 0x155, 9), [0xaa, 0x80]);
    }

    #[test]
    fn variable_numbers_are_as_short_as_they_can_be() {
        let variable = |value, signed| {
            let mut encoder = Encoder::new(Format::Ctf2, ByteOrder::Little);
            encoder.variable(value, signed);
            encoder.bytes
        };
        assert_eq!(variable(624_485, false), [0xe5, 0x8e, 0x26]);
        assert_eq!(variable(-123_456i64 as u64, true), [0xc0, 0xbb, 0x78]);
        assert_eq!((variable(63, true), variable(64, true)), (vec![63], vec![0xc0, 0]));
        assert_eq!(variable(u64::MAX, false).len(), 10);
        assert_eq!(variable(i64::MIN as u64, true).len(), 10);
    }
}
