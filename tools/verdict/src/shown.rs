// SPDX-License-Identifier: MIT
//! Text of others, made safe for a terminal: of names, paths and strings in programs and traces.
//!
//! Place in the flow: everything that is printed and that a person did not just write passes here.
//! Control characters would move the cursor or change the terminal, and characters that turn the
//! direction of writing or have no shape would show something other than what is there.

use std::borrow::Cow;

/// Whether a character stands for itself and for nothing else.
pub fn is_plain(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // The standard library escapes what cannot be printed. Behind a letter it leaves accents.
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().count() == 2
}

/// The text with `\u{1b}` for what is not plain.
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_plain(character) {
            true => safe.push(character),
            false => safe.extend(character.escape_default()),
        }
    }
    Cow::Owned(safe)
}

/// What the lines of a message begin with, but for the first.
const INDENTED: &str = "\n  ";

/// A message of several lines. Other line breaks are of names in it, and are escaped: what would
/// stand behind them looked like a message of its own.
pub fn lines_shown(text: &str) -> String {
    let lines: Vec<_> = text.split(INDENTED).map(shown).collect();
    lines.join(INDENTED)
}

/// JSON, in which such characters stand in strings only, with JSON's escapes for them.
pub fn json_shown(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character == '\n' || is_plain(character) {
            true => safe.push(character),
            false => json_escape(&mut safe, character),
        }
    }
    safe
}

/// A character as JSON names it: in UTF-16.
pub fn json_escape(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_or_deceive_a_reader_is_escaped_and_text_is_kept() {
        for text in ["plain \"text\" \\", "é", "e\u{301}", "日本", "😀"] {
            assert_eq!(shown(text), text);
        }
        for odd in ['\x1b', '\0', '\n', '\x7f', '\u{85}', '\u{9b}', '\u{ad}', '\u{200b}'] {
            assert!(!shown(&odd.to_string()).contains(odd), "{odd:?}");
        }
        for odd in ['\u{200f}', '\u{2028}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0001}'] {
            assert_eq!(shown(&odd.to_string()), format!("\\u{{{:x}}}", odd as u32));
        }
        assert_eq!(lines_shown("a\x1b\n  b\nlull: c"), "a\\u{1b}\n  b\\nlull: c");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = "\u{202e}\u{9b}\u{e0001} é";
        let json = json_shown(&serde_json::to_string_pretty(&[text]).unwrap());
        assert!(json.contains("\\u202e\\u009b\\udb40\\udc01 é"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
    }
}
