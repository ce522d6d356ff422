// SPDX-License-Identifier: MIT
//! Reading integers at any bit position, in both byte orders, without ever leaving the slice.
//!
//! Place in the flow: the lowest layer; plans, visitors and header shapes all read through
//! [`Bits`]. In little-endian streams bit 0 of a byte is its least significant bit, in
//! big-endian streams its most significant one (CTF 1.8, section 4.1.5).

use crate::error::Fault;
use crate::types::{ByteOrder, Encoding};

/// A packet's bytes, readable up to `limit_bits`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    limit_bits: u64,
}

impl<'a> Bits<'a> {
    /// `limit_bits` is capped to the slice.
    pub fn new(data: &'a [u8], limit_bits: u64) -> Self {
        let limit_bits = limit_bits.min(data.len() as u64 * 8);
        Self { data, limit_bits }
    }

    pub fn limit_bits(&self) -> u64 {
        self.limit_bits
    }

    /// Reads `size_bits` (1 to 64) at `position_bits` as an unsigned value.
    #[inline]
    pub fn read(&self, position_bits: u64, size_bits: u32, order: ByteOrder) -> Result<u64, Fault> {
        let until = position_bits.checked_add(u64::from(size_bits)).ok_or(Fault::Truncated)?;
        if until > self.limit_bits {
            return Err(Fault::Truncated);
        }
        let byte = (position_bits / 8) as usize;
        let shift = (position_bits % 8) as u32;
        let word = load(self.data, byte);
        let spill = (shift + size_bits).saturating_sub(64);
        let ninth =
            if spill == 0 { 0 } else { u64::from(self.data.get(byte + 8).map_or(0, |b| *b)) };
        let unused = 64 - size_bits;
        Ok(match order {
            ByteOrder::Little => {
                let mut value = word >> shift;
                if spill != 0 {
                    value |= ninth << (64 - shift);
                }
                (value << unused) >> unused
            }
            ByteOrder::Big => {
                let mut value = word.swap_bytes() << shift;
                if spill != 0 {
                    value |= ninth >> (8 - shift);
                }
                value >> unused
            }
        })
    }

    /// The bytes from `position_bits` on, `count` of them; `None` unless byte-aligned and inside.
    pub fn bytes(&self, position_bits: u64, count: u64) -> Option<&'a [u8]> {
        if position_bits % 8 != 0 || count > self.limit_bits / 8 {
            return None;
        }
        let begin = position_bits / 8;
        let until = begin.checked_add(count)?;
        if until * 8 > self.limit_bits {
            return None;
        }
        self.data.get(begin as usize..until as usize)
    }

    /// The bytes from `position_bits` on, if that is at a byte and `size_bits` of them are inside.
    /// More bytes follow them, up to the end of the slice.
    #[inline(always)]
    pub fn window(&self, position_bits: u64, size_bits: u64) -> Option<&'a [u8]> {
        let left = self.limit_bits.checked_sub(position_bits)?;
        if position_bits % 8 != 0 || size_bits > left {
            return None;
        }
        self.data.get((position_bits / 8) as usize..)
    }

    /// A LEB128 number, sign-extended if it is signed, and how many bytes it takes.
    pub fn variable(&self, position_bits: u64, signed: bool) -> Result<(u64, u32), Fault> {
        let begin = (position_bits / 8) as usize;
        let until = (self.limit_bits / 8) as usize;
        let rest = self.data.get(begin..until).ok_or(Fault::Truncated)?;
        let mut value = 0;
        for (index, byte) in rest.iter().enumerate().take(MAX_VARIABLE_BYTES) {
            let (low, shift) = (u64::from(byte & 0x7f), 7 * index as u32);
            value |= low << shift;
            if byte & 0x80 != 0 {
                continue;
            }
            let is_whole = match (shift, signed) {
                (63, true) => matches!(low, 0 | 0x7f),
                (63, false) => low <= 1,
                _ => true,
            };
            if !is_whole {
                return Err(Fault::NumberTooLarge);
            }
            let size_bits = (shift + 7).min(64);
            let value = if signed { sign_extend(value, size_bits) as u64 } else { value };
            return Ok((value, index as u32 + 1));
        }
        Err(if rest.len() < MAX_VARIABLE_BYTES { Fault::Truncated } else { Fault::NumberTooLarge })
    }

    /// The bytes of a string, up to its first code unit of zeros, which is not among them.
    #[inline]
    pub fn string(&self, position_bits: u64, encoding: Encoding) -> Result<&'a [u8], Fault> {
        if encoding == Encoding::Utf8 {
            return self.text(position_bits);
        }
        let begin = (position_bits / 8) as usize;
        let until = (self.limit_bits / 8) as usize;
        let rest = self.data.get(begin..until).ok_or(Fault::Truncated)?;
        let text = up_to_zero_unit(rest, encoding.unit_bytes());
        text.filter(|text| text.len() < rest.len()).ok_or(Fault::Truncated)
    }

    /// The bytes of a NUL-terminated string without its NUL.
    #[inline]
    pub fn text(&self, position_bits: u64) -> Result<&'a [u8], Fault> {
        let begin = (position_bits / 8) as usize;
        let until = (self.limit_bits / 8) as usize;
        let rest = self.data.get(begin..until).ok_or(Fault::Truncated)?;
        let length = find_nul(rest).ok_or(Fault::Truncated)?;
        Ok(&rest[..length])
    }
}

/// Bytes that a LEB128 number of 64 bits takes at most.
const MAX_VARIABLE_BYTES: usize = 10;

/// The bytes before the first code unit of zeros; `None` if there is no such unit.
fn up_to_zero_unit(bytes: &[u8], unit_bytes: usize) -> Option<&[u8]> {
    let mut units = bytes.chunks_exact(unit_bytes);
    let count = units.position(|unit| unit.iter().all(|byte| *byte == 0))?;
    bytes.get(..count * unit_bytes)
}

/// Text of a fixed room: up to the first code unit of zeros, if there is one.
pub(crate) fn text_of(bytes: &[u8], encoding: Encoding) -> &[u8] {
    up_to_zero_unit(bytes, encoding.unit_bytes()).unwrap_or(bytes)
}

/// The text in UTF-8; what is none in its encoding becomes the replacement character.
#[cold]
pub(crate) fn recode(bytes: &[u8], order: ByteOrder, unit_bytes: usize) -> String {
    const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
    let number = |unit: &[u8]| match order {
        ByteOrder::Little => unit.iter().rfold(0, |n, byte| n << 8 | u32::from(*byte)),
        ByteOrder::Big => unit.iter().fold(0, |n, byte| n << 8 | u32::from(*byte)),
    };
    let units = bytes.chunks_exact(unit_bytes);
    let cut = (!units.remainder().is_empty()).then_some(REPLACEMENT);
    let units = units.map(number);
    let text: String = match unit_bytes {
        2 => {
            char::decode_utf16(units.map(|n| n as u16)).map(|c| c.unwrap_or(REPLACEMENT)).collect()
        }
        _ => units.map(|n| char::from_u32(n).unwrap_or(REPLACEMENT)).collect(),
    };
    text.chars().chain(cut).collect()
}

/// Reads the low `size_bits` in the other direction.
#[inline]
pub(crate) fn reverse(value: u64, size_bits: u32) -> u64 {
    value.reverse_bits() >> (64 - size_bits.clamp(1, 64))
}

/// Position of the first zero byte, eight bytes at a time.
#[inline]
fn find_nul(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut begin = 0;
    while let Some(chunk) = bytes.get(begin..begin + 8) {
        let word = u64::from_le_bytes(chunk.try_into().ok()?);
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(begin + zeros.trailing_zeros() as usize / 8);
        }
        begin += 8;
    }
    bytes[begin..].iter().position(|b| *b == 0).map(|i| begin + i)
}

/// Eight bytes at `byte` as a little-endian word; bytes past the end read as zero.
#[inline]
pub(crate) fn load(data: &[u8], byte: usize) -> u64 {
    match whole_word(data, byte) {
        Some(word) => word,
        None => load_tail(data, byte),
    }
}

/// Eight bytes at `byte` as a little-endian word, if all of them exist.
#[inline(always)]
pub(crate) fn whole_word(data: &[u8], byte: usize) -> Option<u64> {
    let chunk = data.get(byte..byte.checked_add(8)?)?;
    Some(u64::from_le_bytes(chunk.try_into().ok()?))
}

#[cold]
fn load_tail(data: &[u8], byte: usize) -> u64 {
    let mut word = [0; 8];
    if let Some(rest) = data.get(byte..) {
        let count = rest.len().min(8);
        word[..count].copy_from_slice(&rest[..count]);
    }
    u64::from_le_bytes(word)
}

/// Reads the low `size_bits` of `value` as two's complement.
#[inline]
pub(crate) fn sign_extend(value: u64, size_bits: u32) -> i64 {
    let unused = 64 - size_bits.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

/// The mask of the low `size_bits`.
#[inline]
pub(crate) fn mask(size_bits: u32) -> u64 {
    u64::MAX >> (64 - size_bits.clamp(1, 64))
}

/// The next multiple of `align_bits`, a power of two.
#[inline]
pub(crate) fn align_up(position_bits: u64, align_bits: u32) -> u64 {
    let low = u64::from(align_bits) - 1;
    position_bits.saturating_add(low) & !low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One bit at a time: slow and obviously right.
    fn read_slowly(data: &[u8], position: u64, size: u32, order: ByteOrder) -> u64 {
        let mut value = 0;
        for i in 0..u64::from(size) {
            let at = position + i;
            let byte = data[(at / 8) as usize];
            match order {
                ByteOrder::Little => value |= u64::from(byte >> (at % 8) & 1) << i,
                ByteOrder::Big => value = value << 1 | u64::from(byte >> (7 - at % 8) & 1),
            }
        }
        value
    }

    #[test]
    fn every_size_at_every_position_reads_like_one_bit_at_a_time() {
        let data: Vec<u8> = (0..21u32).map(|i| (i * 167 + 91) as u8).collect();
        let bits = Bits::new(&data, u64::MAX);
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for size in 1..=64 {
                for position in 0..=(data.len() as u64 * 8 - u64::from(size)) {
                    let want = read_slowly(&data, position, size, order);
                    assert_eq!(bits.read(position, size, order), Ok(want), "{size}@{position}");
                }
            }
        }
    }

    #[test]
    fn reading_past_the_limit_is_refused() {
        let bits = Bits::new(&[0xff; 16], 60);
        assert_eq!(bits.read(28, 32, ByteOrder::Little), Ok(0xffff_ffff));
        assert_eq!(bits.read(29, 32, ByteOrder::Little), Err(Fault::Truncated));
        assert_eq!(bits.read(u64::MAX, 64, ByteOrder::Big), Err(Fault::Truncated));
        assert_eq!(bits.text(0), Err(Fault::Truncated));
        assert_eq!(bits.text(u64::MAX), Err(Fault::Truncated));
        assert_eq!(bits.bytes(8, 7), None);
    }

    #[test]
    fn text_ends_at_the_first_nul_of_any_position() {
        for length in 0..20 {
            let mut data = vec![0xffu8; length];
            data.extend([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(Bits::new(&data, u64::MAX).text(0).map(<[u8]>::len), Ok(length));
        }
    }

    #[test]
    fn sign_extension_follows_the_top_bit() {
        assert_eq!(sign_extend(0b111, 3), -1);
        assert_eq!(sign_extend(0b011, 3), 3);
        assert_eq!(sign_extend(u64::MAX, 64), -1);
    }
}
