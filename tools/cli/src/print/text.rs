// SPDX-License-Identifier: MIT
//! Strings from traces, made safe for a terminal or for JSON.
//!
//! Place in the flow: a string in a trace is any bytes. On a terminal, control characters would
//! act; in JSON, they and ill-formed UTF-8 would end the reader.

/// Whether a byte can stand between quotes as it is.
fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
}

/// Quoted, with `\xNN` for bytes that are no text.
pub(super) fn quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    if bytes.iter().copied().all(is_plain) {
        out.extend_from_slice(bytes);
    } else {
        escaped(out, bytes, &|out, byte| {
            out.extend_from_slice(b"\\x");
            hex_byte(out, byte);
        });
    }
    out.push(b'"');
}

/// Quoted for JSON: bytes that are no text become U+FFFD.
pub(super) fn json(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    if bytes.iter().copied().all(is_plain) {
        out.extend_from_slice(bytes);
    } else {
        escaped(out, bytes, &|out, byte| match byte {
            0x80.. => out.extend_from_slice("\u{fffd}".as_bytes()),
            control => {
                out.extend_from_slice(b"\\u00");
                hex_byte(out, control);
            }
        });
    }
    out.push(b'"');
}

/// Names in the text form stand without quotes, so what could end a word is replaced.
pub(super) fn word(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().map(|byte| match byte {
        0..=0x20 | 0x7f => b'_',
        other => *other,
    }));
}

pub(super) fn hex_byte(out: &mut Vec<u8>, byte: u8) {
    let digits = b"0123456789abcdef";
    out.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
}

/// Escapes by the letter what has one, and hands on to `other` what is no text.
fn escaped(out: &mut Vec<u8>, bytes: &[u8], other: &dyn Fn(&mut Vec<u8>, u8)) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\0'..='\x1f' | '\x7f' => other(out, character as u8),
                // C1 controls: a terminal may obey them, JSON may not mind.
                '\u{80}'..='\u{9f}' => out.extend_from_slice("\u{fffd}".as_bytes()),
                _ => {
                    let mut utf8 = [0; 4];
                    out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                }
            }
        }
        for byte in chunk.invalid() {
            other(out, *byte);
        }
    }
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
        assert_eq!(text(word, b"a b\x1b"), "a_b_");
    }
}
