// SPDX-License-Identifier: MIT
//! Numbers into a byte buffer.
//!
//! Place in the flow: most of what `lull print` writes is numbers; the formatting machinery of the
//! standard library would take most of its time.

/// The longest number: a sign and 64 binary digits, with their prefix.
const MOST_DIGITS: usize = 67;

#[inline]
pub(super) fn unsigned(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[inline]
pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// `value`, below 10^9, with leading zeros: the digits after the first of `value` + 10^9.
pub(super) fn nine_digits(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&itoa::Buffer::new().format(value + 1_000_000_000).as_bytes()[1..]);
}

/// `value`, below 100, with a leading zero.
pub(super) fn two_digits(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&itoa::Buffer::new().format(value + 100).as_bytes()[1..]);
}

/// With a prefix and in a base of `1 << bits_per_digit`.
pub(super) fn based(out: &mut Vec<u8>, prefix: &[u8], mut value: u64, bits_per_digit: u32) {
    let mut digits = [0; MOST_DIGITS];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(value & ((1 << bits_per_digit) - 1)) as usize];
        value >>= bits_per_digit;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(prefix);
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn digits_of_times_keep_leading_zeros() {
        for value in [0, 7, 12_345, 999_999_999] {
            assert_eq!(text(|out| nine_digits(out, value)), format!("{value:09}"));
        }
        for value in [0, 9, 10, 99] {
            assert_eq!(text(|out| two_digits(out, value)), format!("{value:02}"));
        }
    }

    #[test]
    fn other_bases_have_their_prefix() {
        assert_eq!(text(|out| based(out, b"0x", u64::MAX, 4)), "0xffffffffffffffff");
        assert_eq!(text(|out| based(out, b"0b", 5, 1)), "0b101");
        assert_eq!(text(|out| based(out, b"0o", 0, 3)), "0o0");
    }
}
