// SPDX-License-Identifier: MIT
//! Writing integers at any bit position, in both byte orders.
//!
//! Place in the flow: everything testkit puts into a stream goes through [`BitWriter`]. It works
//! one bit at a time on purpose: it must be obviously right, not fast, and share nothing with the
//! reader.

/// Byte order of one integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    /// As TSDL spells it.
    pub fn name(self) -> &'static str {
        match self {
            Order::Little => "le",
            Order::Big => "be",
        }
    }

    /// The byte order of this machine.
    pub fn native() -> Self {
        if cfg!(target_endian = "little") {
            Order::Little
        } else {
            Order::Big
        }
    }
}

/// A growing string of bits.
#[derive(Debug, Clone, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    position: u64,
}

impl BitWriter {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn position_bits(&self) -> u64 {
        self.position
    }

    /// Pads with zero bits to a multiple of `align_bits`.
    pub fn align(&mut self, align_bits: u64) {
        self.position = self.position.next_multiple_of(align_bits.max(1));
        self.cover(self.position);
    }

    fn cover(&mut self, until_bits: u64) {
        let bytes = until_bits.div_ceil(8) as usize;
        if self.bytes.len() < bytes {
            self.bytes.resize(bytes, 0);
        }
    }

    /// Appends the low `size_bits` of `value`.
    pub fn integer(&mut self, value: u64, size_bits: u32, order: Order) {
        self.overwrite(self.position, value, size_bits, order);
        self.position += u64::from(size_bits);
    }

    /// Writes at any position, also one already written.
    pub fn overwrite(&mut self, at_bits: u64, value: u64, size_bits: u32, order: Order) {
        self.cover(at_bits + u64::from(size_bits));
        for i in 0..size_bits {
            let at = at_bits + u64::from(i);
            let (value_bit, byte_bit) = match order {
                Order::Little => (i, at % 8),
                Order::Big => (size_bits - 1 - i, 7 - at % 8),
            };
            let byte = &mut self.bytes[(at / 8) as usize];
            let bit = (value >> value_bit & 1) as u8;
            *byte = *byte & !(1 << byte_bit) | bit << byte_bit;
        }
    }

    /// Appends whole bytes; the position must be byte-aligned.
    pub fn bytes(&mut self, bytes: &[u8]) {
        assert_eq!(self.position % 8, 0, "bytes start at a byte boundary");
        self.bytes.truncate((self.position / 8) as usize);
        self.bytes.extend_from_slice(bytes);
        self.position += bytes.len() as u64 * 8;
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_endian_fills_bytes_from_the_low_end_and_big_endian_from_the_high_end() {
        let mut bits = BitWriter::new();
        bits.integer(0b101, 3, Order::Little);
        bits.integer(0b1_0000_0001, 9, Order::Little);
        assert_eq!(bits.as_bytes(), [0b0000_1101, 0b1000]);
        let mut bits = BitWriter::new();
        bits.integer(0b101, 3, Order::Big);
        bits.integer(0b1_0000_0001, 9, Order::Big);
        assert_eq!(bits.as_bytes(), [0b1011_0000, 0b0001_0000]);
    }

    #[test]
    fn whole_words_match_the_machine_forms() {
        let mut bits = BitWriter::new();
        bits.integer(0x1122_3344, 32, Order::Big);
        bits.align(64);
        bits.integer(0x1122_3344_5566_7788, 64, Order::Little);
        let want = [0x1122_3344u32.to_be_bytes(), [0; 4]].concat();
        assert_eq!(bits.as_bytes()[..8], want);
        assert_eq!(bits.as_bytes()[8..], 0x1122_3344_5566_7788u64.to_le_bytes());
    }
}
