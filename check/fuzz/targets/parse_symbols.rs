// SPDX-License-Identifier: MIT
//! libFuzzer's way into the list of symbols beside a trace: bytes.
//!
//! Place in the flow: `run` builds it. Whatever the bytes are, the reader answers; a place that it
//! gives an address is in a function of the text, and its name can be shown in a terminal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{Place, Symbols};

fn number(word: Option<&str>) -> Option<u64> {
    u64::from_str_radix(word?, 16).ok()
}

/// Whether a line of the text says that the address is behind a byte of this function.
fn is_said(line: &str, address: u64, place: &Place<'_>) -> bool {
    let mut words = line.split(' ');
    let (word, begin, until) = (words.next(), number(words.next()), number(words.next()));
    word == Some("kernel")
        && begin == address.checked_sub(place.offset)
        && until.is_some_and(|until| address <= until)
        && words.next() == Some(place.function)
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(symbols) = Symbols::parse(bytes) else { return };
    let text = std::str::from_utf8(bytes).expect("what was read is text");
    let words = text.split_ascii_whitespace().filter_map(|word| number(Some(word)));
    let near = words.flat_map(|word| [word.wrapping_sub(1), word, word.wrapping_add(1)]);
    for address in near.chain([0, u64::MAX]) {
        let Some(place) = symbols.returned_to(address) else { continue };
        assert!(place.offset > 0 && place.function.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(text.lines().any(|line| is_said(line, address, &place)), "{address:x}: {place:?}");
    }
});
