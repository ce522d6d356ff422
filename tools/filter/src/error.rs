// SPDX-License-Identifier: MIT
//! What is wrong with a filter's text, and where.

use std::fmt;
use std::ops::Range;

/// A filter that cannot be understood, or that does not fit the events it is for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The whole text of the filter.
    pub text: String,
    /// The bytes that are wrong; empty at the end of the text, where something is missing.
    pub place: Range<usize>,
    pub why: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "filter: {}", self.why)?;
        f.write_str(&marked(&self.text, &self.place))
    }
}

/// The text on a line of its own, and a mark under the place: control characters and tabs of the
/// text are shown as blanks, so that the mark stands where it should.
pub fn marked(text: &str, place: &Range<usize>) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let count = |range: Range<usize>| text.get(range).map_or(0, |t| t.chars().count());
    let before = count(0..place.start);
    let marks = "^".repeat(count(place.clone()).max(1));
    format!("  {shown}\n  {:before$}{marks}", "")
}
