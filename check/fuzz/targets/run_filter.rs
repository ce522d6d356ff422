// SPDX-License-Identifier: MIT
//! libFuzzer's way into the kernel's check of filters: a program, and a byte for each input.
//!
//! Place in the flow: `run` builds it, with the check and the interpreter of core/filter compiled
//! for coverage. What the check takes is run a second time by an interpreter that ends this program
//! where it leaves its bounds, goes back, or comes to another result.
#![no_main]

use filter as _; // which links core/filter
use libfuzzer_sys::fuzz_target;
use std::ffi::{c_char, c_int};

/// `struct lull_filter_value`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    number: u64,
    text: *const u8,
}

extern "C" {
    fn lull_filter_check(
        program: *const u64,
        bytes: usize,
        inputs: *const u8,
        input_count: usize,
    ) -> *const c_char;
    fn lull_filter_run(program: *const u64, fields: *const Value, contexts: *const Value) -> c_int;
}

const TEXT: &[u8] = b"git-status\0\0\0\0\0\0";
/// A number, a text, an array, a number, a text: `enum lull_filter_input`.
const INPUTS: [u8; 5] = [1, 2, 0, 1, 2];
const CONTEXTS: usize = 15;
const COMM: usize = 2;
const HEAD_BYTES: usize = 8;
const TEST_BYTES: usize = 24;
const CONTEXT: usize = 64;
const CONSTANT: u8 = 255;
const ACCEPT: usize = 65535;
const REJECT: usize = 65534;
const RESULT: u8 = 128;
const RESULTS: usize = 8;
/// The kinds of tests that take results, and the first that computes.
const SAME: u8 = 6;
const BELOW: u8 = 7;
const ADD: u8 = 8;

fn word<const N: usize>(program: &[u8], at: usize) -> [u8; N] {
    program[at..at + N].try_into().expect("so many bytes")
}

/// A value, and whether it is a text, of an input that a program names.
fn input(number: u8, fields: &[Value], contexts: &[Value]) -> (Value, bool) {
    let number = usize::from(number);
    if number < INPUTS.len() {
        assert_ne!(INPUTS[number], 0, "an array is read");
        return (fields[number], INPUTS[number] == 2);
    }
    (contexts[number - CONTEXT], number - CONTEXT == COMM)
}

/// Which ends of the text each part of the glob can match up to, one after the other.
fn is_like(glob: &[u8], text: &[u8]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while at < glob.len() {
        let escaped = usize::from(glob[at] == b'\\' && at + 1 < glob.len());
        let byte = glob[at + escaped];
        if byte == b'*' && escaped == 0 {
            for i in 0..text.len() {
                reached[i + 1] |= reached[i];
            }
        } else {
            for i in (0..text.len()).rev() {
                let is_one = text[i] == byte || (byte == b'?' && escaped == 0);
                reached[i + 1] = reached[i] && is_one;
            }
            reached[0] = false;
        }
        at += 1 + escaped;
    }
    reached[text.len()]
}

/// The number that mathematics has, where that has 64 bits and a sign.
fn computed(kind: u8, a: i128, b: i128) -> Option<i128> {
    let power = || Some(1i128 << u32::try_from(b.min(65)).ok()?);
    let found = match kind - ADD {
        0 => a + b,
        1 => a - b,
        2 => a.checked_mul(b)?,
        3 => a.checked_div(b)?,
        4 => a.checked_rem(b)?,
        5 => a & b,
        6 => a | b,
        7 => a ^ b,
        8 => a.checked_mul(power()?)?,
        9 => a.div_euclid(power()?),
        _ => panic!("there is no such kind"),
    };
    (-(1 << 64)..1 << 64).contains(&found).then_some(found)
}

/// A side of a test that takes results.
fn side(
    number: u8,
    word: u64,
    is_signed: bool,
    results: &[Option<i128>; RESULTS],
    inputs: (&[Value], &[Value]),
) -> i128 {
    match number {
        CONSTANT if is_signed => !i128::from(word),
        CONSTANT => word.into(),
        RESULT.. => results[usize::from(number - RESULT)].expect("a result was put before"),
        _ => {
            let (value, is_text) = input(number, inputs.0, inputs.1);
            assert!(!is_text, "a text is computed with");
            match is_signed {
                true => ((value.number & word) as i64).into(),
                false => (value.number & word).into(),
            }
        }
    }
}

/// A test of inputs and constants.
fn compare(kind: u8, test: &[u8], texts: &[u8], fields: &[Value], contexts: &[Value]) -> bool {
    let (left, is_text) = input(test[1], fields, contexts);
    let right = test[2];
    let mask = u64::from_ne_bytes(word(test, 8));
    let operand = u64::from_ne_bytes(word(test, 16));
    assert_eq!(is_text, kind >= 3, "a number is read as a text, or a text as a number");
    if is_text {
        let wanted = &texts[operand as usize..][..mask as usize];
        let found = &TEXT[..left.number as usize];
        match kind {
            3 => found == wanted,
            4 => found.starts_with(wanted),
            _ => is_like(wanted, found),
        }
    } else {
        let a = left.number & mask;
        let b = match right {
            CONSTANT => operand,
            other => {
                let (value, is_text) = input(other, fields, contexts);
                assert!(!is_text, "a text is read as a number");
                value.number & operand
            }
        };
        match kind {
            0 => a == b,
            1 => a < b,
            _ => (a as i64) < b as i64,
        }
    }
}

/// The second interpreter: everything that it reaches is checked as it goes.
fn run_slowly(program: &[u8], fields: &[Value], contexts: &[Value]) -> bool {
    let count = usize::from(u16::from_ne_bytes(word(program, 4)));
    let texts = &program[HEAD_BYTES + count * TEST_BYTES..];
    let mut results = [None; RESULTS];
    let mut next = 0;
    while next != ACCEPT && next != REJECT {
        assert!(next < count, "a test is outside of the program");
        let test = &program[HEAD_BYTES + next * TEST_BYTES..][..TEST_BYTES];
        let (kind, right, detail) = (test[0], test[2], test[3]);
        let mask = u64::from_ne_bytes(word(test, 8));
        let operand = u64::from_ne_bytes(word(test, 16));
        let holds = if kind >= SAME {
            let a = side(test[1], mask, detail & 1 != 0, &results, (fields, contexts));
            let b = side(right, operand, detail & 2 != 0, &results, (fields, contexts));
            match kind {
                SAME => a == b,
                BELOW => a < b,
                _ => {
                    let found = computed(kind, a, b);
                    let into = &mut results[usize::from(detail >> 2)];
                    *into = found.or(*into);
                    found.is_some()
                }
            }
        } else {
            compare(kind, test, texts, fields, contexts)
        };
        let then = usize::from(u16::from_ne_bytes(word(test, if holds { 4 } else { 6 })));
        assert!(then > next, "a program goes back");
        next = then;
    }
    next == ACCEPT
}

fuzz_target!(|bytes: &[u8]| {
    let Some((seeds, program)) = bytes.split_first_chunk::<8>() else { return };
    let seed = |i: usize| u64::from(seeds[i % 8]);
    let value = |i: usize, is_text: bool| Value {
        number: if is_text { seed(i) % 11 } else { seed(i).wrapping_sub(2) },
        text: TEXT.as_ptr(),
    };
    let fields: Vec<Value> = (0..INPUTS.len()).map(|i| value(i, INPUTS[i] == 2)).collect();
    let contexts: Vec<Value> = (0..CONTEXTS).map(|i| value(i + 3, i == COMM)).collect();
    let mut words = vec![0u64; program.len().div_ceil(8)];
    // SAFETY: the words have room for the program; the check reads no more than it states, and what
    // it takes reads these inputs and itself.
    unsafe {
        let to = words.as_mut_ptr();
        std::ptr::copy_nonoverlapping(program.as_ptr(), to.cast(), program.len());
        if !lull_filter_check(to, program.len(), INPUTS.as_ptr(), INPUTS.len()).is_null() {
            return;
        }
        let expected = run_slowly(program, &fields, &contexts);
        let found = lull_filter_run(to, fields.as_ptr(), contexts.as_ptr()) & 1 == 1;
        assert_eq!(found, expected, "the two interpreters differ");
    }
});
