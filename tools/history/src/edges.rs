// SPDX-License-Identifier: MIT
//! A span that is cut in equal parts, such as pixels, or the cells of a picture from afar.
//!
//! Place in the flow: `overview` draws in the parts of a span, `far` keeps what is in the parts of
//! a whole trace. Times are those since the span's begin, which have 64 bits whatever the span.

use trace::Ns;

/// When each part of a span begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edges {
    pub from: Ns,
    pub width: u64,
    pub parts: u64,
}

impl Edges {
    pub fn new((from, until): (Ns, Ns), parts: u32) -> Self {
        Self { from, width: since(from, until).max(1), parts: parts.max(1).into() }
    }

    /// Of what lies behind the last part, the end of it.
    pub fn begin_of(&self, part: u64) -> u64 {
        scaled(self.width, part.min(self.parts), self.parts)
    }

    /// The time at which a part begins.
    pub fn time_of(&self, part: u64) -> Ns {
        Ns(self.from.0.wrapping_add_unsigned(self.begin_of(part)))
    }

    /// The part that has a time, or the last of those if some are shorter than a nanosecond; the
    /// number of parts for the end of the span.
    pub fn part_at(&self, at: u64) -> u64 {
        // Begins are rounded down: part P begins then or earlier if P * width < (at + 1) * parts.
        let wide = || {
            let before = (u128::from(at) + 1) * u128::from(self.parts) - 1;
            (before / u128::from(self.width)).try_into().unwrap_or(u64::MAX)
        };
        let product = at.checked_add(1).and_then(|next| next.checked_mul(self.parts));
        product.map_or_else(wide, |product| (product - 1) / self.width).min(self.parts)
    }

    /// The first part that begins then, or later; the number of parts, if none does.
    pub fn first_from(&self, time: Ns) -> u64 {
        let before = since(self.from, time).checked_sub(1);
        before.map_or(0, |before| (self.part_at(before) + 1).min(self.parts))
    }
}

/// How long a time is after another; nothing, if it is before.
pub(crate) fn since(from: Ns, at: Ns) -> u64 {
    match at <= from {
        true => 0,
        // Two times are less than 2^64 ns apart.
        false => at.0.wrapping_sub(from.0) as u64,
    }
}

/// `value * by / of`, where nearly all products have 64 bits: dividing those takes the processor
/// one instruction, and a wider one a call. At most the greatest number.
fn scaled(value: u64, by: u64, of: u64) -> u64 {
    match value.checked_mul(by) {
        Some(product) => product / of,
        None => {
            (u128::from(value) * u128::from(by) / u128::from(of)).try_into().unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_more_than_64_bits_is_divided_as_others_are() {
        assert_eq!(scaled(7, 3, 2), 10);
        assert_eq!(scaled(1 << 60, 1 << 13, 1 << 12), 1 << 61);
        assert_eq!(scaled(u64::MAX, 3, 2), u64::MAX);
    }

    #[test]
    fn every_time_is_in_the_last_part_that_begins_no_later() {
        let short = (1..40).map(|width| (-5, width - 5, 9));
        for (from, until, parts) in short.chain([(0, 1 << 40, 1676), (i64::MIN, i64::MAX, 8192)]) {
            let edges = Edges::new((Ns(from), Ns(until)), parts);
            let parts = u64::from(parts);
            for part in (0..parts).filter(|part| part % 97 < 9) {
                let (begin, end) = (edges.begin_of(part), edges.begin_of(part + 1));
                assert!(edges.first_from(edges.time_of(part)) <= part);
                if begin < end {
                    assert_eq!((edges.part_at(begin), edges.part_at(end - 1)), (part, part));
                    assert_eq!(edges.first_from(Ns(edges.time_of(part).0 + 1)), part + 1);
                }
            }
            assert_eq!(edges.time_of(parts), Ns(until));
            assert_eq!(edges.part_at(edges.width), parts);
            assert_eq!(edges.first_from(Ns(from)), 0);
        }
    }
}
