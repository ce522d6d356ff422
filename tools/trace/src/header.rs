// SPDX-License-Identifier: MIT
//! Event headers: the general scan, and a shape for headers that can be read in two loads.
//!
//! Place in the flow: the cursor reads nearly every event through its stream's [`HeaderShape`].
//! Headers are usually an id and the low bits of a clock at fixed places, with a variant whose rare
//! option is larger (Lull's 8+24 bits, LTTng's 5+27 and 16+32); a shape describes the common
//! option, and ids outside its range take the general way.

use crate::bits::{align_up, mask};
use crate::types::{ByteOrder, Form, Integer, Role, Struct, Type, Variant};
use crate::visit::{Name, Visitor};

/// Where an integer lies in an eight-byte load at a fixed offset from the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lane {
    pub byte: usize,
    pub shift: u32,
    pub mask: u64,
    pub big: bool,
}

impl Lane {
    fn of(offset_bits: u64, integer: &Integer) -> Option<Self> {
        // One load is enough for all that is in the first eight bytes.
        let byte = match offset_bits + u64::from(integer.size_bits) {
            0..=64 => 0,
            _ => offset_bits / 8,
        };
        let within = (offset_bits - byte * 8) as u32;
        if within + integer.size_bits > 64 {
            return None;
        }
        let big = integer.order == ByteOrder::Big;
        Some(Self {
            byte: byte as usize,
            shift: if big { 64 - within - integer.size_bits } else { within },
            mask: mask(integer.size_bits),
            big,
        })
    }

    /// [`Lane::extract`] of an integer that is little-endian itself.
    #[inline(always)]
    pub fn extract_little(&self, word: u64) -> u64 {
        (word >> self.shift) & self.mask
    }

    /// The integer within a little-endian load of its eight bytes.
    #[inline(always)]
    pub fn extract(&self, word: u64) -> u64 {
        let word = if self.big { word.swap_bytes() } else { word };
        (word >> self.shift) & self.mask
    }
}

/// The common form of a stream's event headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeaderShape {
    /// Alignment of the header less one, at least a byte's.
    pub align_mask: u64,
    pub size_bits: u64,
    pub id: Lane,
    pub timestamp: Lane,
    pub first_id: u64,
    /// Number of further ids in this form.
    pub more_ids: u64,
}

/// Integers of a header that matter, with their offsets, for one choice of its variant.
struct Flat<'a> {
    end_bits: u64,
    align_bits: u32,
    ids: Vec<(u64, &'a Integer)>,
    clocks: Vec<(u64, &'a Integer)>,
    variant: Option<&'a Variant>,
}

impl HeaderShape {
    /// Whether one load in the machine's byte order, at the header's first byte, has both integers.
    pub fn is_one_word(&self) -> bool {
        [self.id, self.timestamp].iter().all(|lane| lane.byte == 0 && !lane.big)
    }

    /// The shape of a header; `None` if it has to be read the general way.
    pub fn of(header: Option<&Struct>) -> Option<Self> {
        let header = header?;
        let align_bits = header.extent.align_bits.max(1);
        if align_bits % 8 != 0 {
            return None;
        }
        let variant = flatten_with(header, None).and_then(|flat| flat.variant);
        let Some(variant) = variant else {
            let flat = flatten_with(header, Some(0))?;
            return Self::of_flat(&flat, None);
        };
        let mut choices: Vec<_> = variant.choices.iter().collect();
        choices.sort_by_key(|choice| std::cmp::Reverse(choice.until.wrapping_sub(choice.begin)));
        let overlap = |a: (u64, u64), b: (u64, u64)| a.0 <= b.1 && b.0 <= a.1;
        choices.iter().enumerate().find_map(|(index, choice)| {
            let range = (choice.begin, choice.until);
            let is_alone = choices
                .iter()
                .enumerate()
                .all(|(other, c)| other == index || !overlap(range, (c.begin, c.until)));
            let flat = flatten_with(header, Some(choice.option as usize))?;
            let tag = flat.ids.first()?.1;
            let is_tag = tag.slot.is_some() && tag.slot == variant.tag.as_ref().map(|t| t.slot);
            (is_alone && is_tag && !variant.tag_signed)
                .then(|| Self::of_flat(&flat, Some(range)))
                .flatten()
        })
    }

    fn of_flat(flat: &Flat<'_>, range: Option<(u64, u64)>) -> Option<Self> {
        let (id, ids) = match (flat.ids.as_slice(), range) {
            ([], None) => (Lane::default(), (0, 0)),
            ([(offset, id)], range) if !id.signed && !id.shared => {
                (Lane::of(*offset, id)?, range.unwrap_or((0, u64::MAX)))
            }
            _ => return None,
        };
        let timestamp = match flat.clocks.as_slice() {
            [] => Lane::default(),
            [(offset, timestamp)] if !timestamp.shared => Lane::of(*offset, timestamp)?,
            _ => return None,
        };
        (flat.end_bits > 0).then_some(Self {
            align_mask: u64::from(flat.align_bits) - 1,
            size_bits: flat.end_bits,
            id,
            timestamp,
            first_id: ids.0,
            more_ids: ids.1 - ids.0,
        })
    }
}

/// Lays out a header with the given option of its only variant. Without an option, the layout
/// stops at the variant and names it.
fn flatten_with(header: &Struct, option: Option<usize>) -> Option<Flat<'_>> {
    let mut flat = Flat {
        end_bits: 0,
        align_bits: header.extent.align_bits,
        ids: Vec::new(),
        clocks: Vec::new(),
        variant: None,
    };
    flatten_struct(header, option, &mut flat)?;
    Some(flat)
}

/// `Some(false)` once the layout has stopped at a variant.
fn flatten_struct<'a>(s: &'a Struct, option: Option<usize>, flat: &mut Flat<'a>) -> Option<bool> {
    flat.end_bits = align_up(flat.end_bits, s.extent.align_bits);
    for field in &s.fields {
        if !flatten(&field.ty, option, flat)? {
            return Some(false);
        }
    }
    Some(true)
}

fn flatten<'a>(ty: &'a Type, option: Option<usize>, flat: &mut Flat<'a>) -> Option<bool> {
    let extent = ty.extent();
    if extent.align_bits > flat.align_bits {
        return None;
    }
    flat.end_bits = align_up(flat.end_bits, extent.align_bits);
    match ty {
        Type::Integer(_) | Type::Enumeration(_) => {
            let integer = ty.as_integer().filter(|integer| integer.form == Form::Fixed)?;
            if integer.role == Role::EventId {
                flat.ids.push((flat.end_bits, integer));
            } else if integer.slot.is_some() {
                return None;
            }
            if integer.clock.is_some() {
                flat.clocks.push((flat.end_bits, integer));
            }
            flat.end_bits += u64::from(integer.size_bits);
            Some(true)
        }
        Type::Struct(s) => flatten_struct(s, option, flat),
        Type::Variant(v) if flat.variant.is_none() && !v.is_optional => {
            flat.variant = Some(v);
            match option {
                None => Some(false),
                Some(option) => flatten(&v.options.get(option)?.ty, Some(option), flat),
            }
        }
        _ if extent.reads => None,
        _ => {
            flat.end_bits += extent.fixed_bits?;
            Some(true)
        }
    }
}

/// Finds the event id while a header is visited: the last field in the role wins.
#[derive(Default)]
pub(crate) struct IdScan {
    pub id: u64,
}

impl Visitor for IdScan {
    fn unsigned(&mut self, _: Name<'_>, value: u64, ty: &Integer) {
        if ty.role == Role::EventId {
            self.id = value;
        }
    }

    fn signed(&mut self, _: Name<'_>, value: i64, ty: &Integer) {
        if ty.role == Role::EventId {
            self.id = value as u64;
        }
    }

    fn enumeration(&mut self, _: Name<'_>, value: u64, ty: &crate::types::Enumeration) {
        if ty.container.role == Role::EventId {
            self.id = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Metadata;

    fn shape_of(header: &str, order: &str) -> Option<HeaderShape> {
        let text = format!(
            "trace {{ major = 1; minor = 8; byte_order = {order}; }};
             clock {{ name = c; }};
             stream {{ id = 0; event.header := {header}; }};"
        );
        Metadata::parse(&text).unwrap().streams[0].header_shape
    }

    const LULL: &str = "struct {
        enum : integer { size = 8; } { compact = 1 ... 252, extended = 253 } id;
        variant <id> {
            struct { integer { size = 24; align = 8; map = clock.c.value; } timestamp; } compact;
            struct {
                integer { size = 24; } reserved; integer { size = 32; } id;
                integer { size = 64; map = clock.c.value; } timestamp;
            } extended;
        } v;
    } align(32)";

    const LTTNG: &str = "struct {
        enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
        variant <id> {
            struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact;
            struct {
                integer { size = 32; align = 8; } id;
                integer { size = 64; align = 8; map = clock.c.value; } timestamp;
            } extended;
        } v;
    } align(8)";

    #[test]
    fn compact_headers_of_lull_and_lttng_have_a_shape_in_both_byte_orders() {
        let little = shape_of(LULL, "le").unwrap();
        assert_eq!((little.size_bits, little.align_mask), (32, 31));
        assert_eq!((little.first_id, little.more_ids), (1, 251));
        let word = u64::from_le_bytes([7, 0x33, 0x22, 0x11, 0, 0, 0, 0]);
        assert_eq!(little.id.extract(word), 7);
        assert_eq!(little.timestamp.extract(word), 0x112233);
        assert_eq!((little.id.byte, little.timestamp.byte), (0, 0));
        let big = shape_of(LTTNG, "be").unwrap();
        let word = u64::from_le_bytes([0b0101_0111, 0xff, 0, 1, 9, 9, 9, 9]);
        assert_eq!(big.id.extract(word), 10);
        assert_eq!(big.timestamp.extract(word), 0x7ff0001);
    }

    #[test]
    fn plain_headers_have_a_shape_with_every_id() {
        let plain = "struct { integer { size = 16; } id; integer { size = 64; } timestamp; }";
        let shape = shape_of(plain, "le").unwrap();
        assert_eq!((shape.first_id, shape.more_ids), (0, u64::MAX));
        assert_eq!(shape.timestamp.mask, u64::MAX);
    }

    #[test]
    fn headers_of_varying_size_or_bit_alignment_have_no_shape() {
        let string = "struct { integer { size = 16; } id; string s; }";
        assert_eq!(shape_of(string, "le"), None);
        let bits = "struct { integer { size = 3; } id; integer { size = 4; } timestamp; }";
        assert_eq!(shape_of(bits, "le"), None);
        assert_eq!(shape_of("struct { }", "le"), None);
    }

    #[test]
    fn overlapping_tag_ranges_have_no_shape() {
        let header = LULL.replace("extended = 253", "extended = 200 ... 255");
        assert_eq!(shape_of(&header, "le").map(|s| s.more_ids), None);
    }
}
