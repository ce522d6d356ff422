// SPDX-License-Identifier: MIT
//! The words of a condition that are not inside a filter's texts or parentheses, and what a filter
//! demands.
//!
//! Place in the flow: text -> **words** -> `condition`, which looks for the words of its grammar.
//! A filter's quotes hide any words in them, and so do its parentheses.

use std::ops::Range;

/// The words at the outermost level, with their places, in order. Text in quotes belongs to the
/// word that it stands in; a parenthesis with all that is in it does, too.
pub(crate) fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut begin = None;
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    // Bound: the text.
    for (at, c) in text.char_indices() {
        let is_outside = depth == 0 && !is_quoted;
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_outside && c.is_whitespace() {
            words.extend(begin.take().map(|begin| begin..at));
        } else {
            begin.get_or_insert(at);
        }
    }
    words.extend(begin.map(|begin| begin..text.len()));
    words
}

/// What a filter demands all of, each with its place: what `&&` joins at the outermost level, or
/// the whole of it where `||` joins anything there, which holds less together.
pub(crate) fn demands(text: &str) -> Vec<Range<usize>> {
    let mut demands = Vec::new();
    let mut begin = 0;
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    let bytes = text.as_bytes();
    // Bound: the text. All that is looked for is one byte, and no byte of a longer character.
    for (at, byte) in bytes.iter().enumerate() {
        let is_outside = depth == 0 && !is_quoted;
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'(' if !is_quoted => depth += 1,
            b')' if !is_quoted => depth = depth.saturating_sub(1),
            b'|' if is_outside && bytes.get(at + 1) == Some(&b'|') => {
                return vec![trimmed(text, 0..text.len())];
            }
            b'&' if is_outside && at >= begin && bytes.get(at + 1) == Some(&b'&') => {
                demands.push(trimmed(text, begin..at));
                begin = at + 2;
            }
            _ => {}
        }
    }
    demands.push(trimmed(text, begin.min(text.len())..text.len()));
    demands
}

/// A place without the blanks at its ends.
fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let inside = text.get(place.clone()).unwrap_or_default();
    let begin = place.start + inside.len() - inside.trim_start().len();
    begin..begin + inside.trim().len()
}
