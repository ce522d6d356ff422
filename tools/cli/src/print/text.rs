// SPDX-License-Identifier: MIT
//! Strings from traces, made safe for a terminal or for JSON.
//!
//! Place in the flow: a string in a trace is any bytes. On a terminal, control characters would
//! act; in JSON, they and ill-formed UTF-8 would end the reader. `shown` knows which are plain.

use crate::shown::{is_plain, json_escape};

/// Whether a byte can stand between quotes as it is.
fn is_plain_byte(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
}

/// Quoted, with `\xNN` for bytes that are no text and `\u{NN}` for characters that are not plain.
pub(crate) fn quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    let byte = |out: &mut Vec<u8>, byte| {
        out.extend_from_slice(b"\\x");
        hex_byte(out, byte);
    };
    let character = |out: &mut Vec<u8>, character: char| match u8::try_from(character) {
        Ok(control @ 0..=0x7f) => byte(out, control),
        _ => out.extend(character.escape_unicode().map(|c| c as u8)),
    };
    escaped(out, bytes, &character, &byte);
}

/// Quoted for JSON: bytes that are no text become U+FFFD.
pub(super) fn json(out: &mut Vec<u8>, bytes: &[u8]) {
    let character = |out: &mut Vec<u8>, character| {
        let mut text = String::new();
        json_escape(&mut text, character);
        out.extend_from_slice(text.as_bytes());
    };
    let byte = |out: &mut Vec<u8>, _| out.extend_from_slice("\u{fffd}".as_bytes());
    escaped(out, bytes, &character, &byte);
}

/// Names in the text form stand without quotes, so what could end a word is replaced.
pub(crate) fn word(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let is_kept = character != ' ' && is_plain(character);
            push(out, if is_kept { character } else { '_' });
        }
        out.extend(chunk.invalid().iter().map(|_| b'_'));
    }
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

pub(super) fn hex_byte(out: &mut Vec<u8>, byte: u8) {
    let digits = b"0123456789abcdef";
    out.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
}

/// Quoted. Escapes by the letter what has one, and hands on what is not plain or no text.
fn escaped(
    out: &mut Vec<u8>,
    bytes: &[u8],
    odd_character: &dyn Fn(&mut Vec<u8>, char),
    odd_byte: &dyn Fn(&mut Vec<u8>, u8),
) {
    out.push(b'"');
    if bytes.iter().copied().all(is_plain_byte) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                plain if is_plain(plain) => push(out, plain),
                odd => odd_character(out, odd),
            }
        }
        for byte in chunk.invalid() {
            odd_byte(out, *byte);
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(&mut Vec<u8>, &[u8]), bytes: &[u8]) -> String {
        let mut out = Vec::new();
        write(&mut out, bytes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quotes_and_controls_are_escaped_and_text_is_kept() {
        let bytes = b"a\"b\\c\n\x1b[31m\xff\xc3\xa9";
        assert_eq!(text(quoted, bytes), r#""a\"b\\c\n\x1b[31m\xffé""#);
        assert_eq!(text(json, bytes), "\"a\\\"b\\\\c\\n\\u001b[31m\u{fffd}é\"");
        assert_eq!(text(word, b"a b\x1b\xff\xc3\xa9"), "a_b__é");
    }

    #[test]
    fn characters_that_turn_or_hide_what_follows_are_escaped() {
        let bytes = "a\u{202e}\u{9b}\u{200b}b".as_bytes();
        assert_eq!(text(quoted, bytes), r#""a\u{202e}\u{9b}\u{200b}b""#);
        assert_eq!(text(json, bytes), r#""a\u202e\u009b\u200bb""#);
        assert_eq!(text(word, bytes), "a___b");
    }
}
