// SPDX-License-Identifier: MIT
//! Numbers into a byte buffer, two decimal digits at a time.
//!
//! Place in the flow: most of what `lull print` writes is numbers; the formatting machinery of the
//! standard library would take most of its time.

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// The longest number: a sign and 64 binary digits, with their prefix.
const MOST_DIGITS: usize = 67;

#[inline]
pub(super) fn unsigned(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else {
        several_digits(out, value);
    }
}

fn several_digits(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

/// `value`, below 10^9, with leading zeros.
pub(super) fn nine_digits(out: &mut Vec<u8>, mut value: u32) {
    let mut digits = [b'0'; 9];
    for at in [7, 5, 3, 1] {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    digits[0] = b'0' + (value % 10) as u8;
    out.extend_from_slice(&digits);
}

/// `value`, below 100, with a leading zero.
pub(super) fn two_digits(out: &mut Vec<u8>, value: u32) {
    let pair = (value % 100) as usize * 2;
    out.extend_from_slice(&PAIRS[pair..pair + 2]);
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
    fn decimals_agree_with_the_standard_library_at_every_length() {
        let mut value = 1u64;
        for _ in 0..20 {
            for value in [value - 1, value, value + 1, value.wrapping_mul(7)] {
                assert_eq!(text(|out| unsigned(out, value)), value.to_string());
                assert_eq!(text(|out| signed(out, value as i64)), (value as i64).to_string());
            }
            value = value.saturating_mul(10);
            if value == u64::MAX {
                break;
            }
        }
        assert_eq!(text(|out| signed(out, i64::MIN)), i64::MIN.to_string());
        assert_eq!(text(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn nine_digits_keep_leading_zeros() {
        for value in [0, 7, 12_345, 999_999_999] {
            assert_eq!(text(|out| nine_digits(out, value)), format!("{value:09}"));
        }
    }

    #[test]
    fn other_bases_have_their_prefix() {
        assert_eq!(text(|out| based(out, b"0x", u64::MAX, 4)), "0xffffffffffffffff");
        assert_eq!(text(|out| based(out, b"0b", 5, 1)), "0b101");
        assert_eq!(text(|out| based(out, b"0o", 0, 3)), "0o0");
    }
}
