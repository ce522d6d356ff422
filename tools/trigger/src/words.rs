// SPDX-License-Identifier: MIT
//! The words of a condition that are not inside a filter's texts or parentheses.
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
