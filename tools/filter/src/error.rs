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

/// The text on a line of its own, and a mark under the place: control characters and tabs of the
/// text are shown as blanks, so that the mark stands where it should.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String =
            self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let count = |range: Range<usize>| self.text.get(range).map_or(0, |t| t.chars().count());
        let before = count(0..self.place.start);
        let marked = count(self.place.clone()).max(1);
        writeln!(f, "filter: {}", self.why)?;
        writeln!(f, "  {shown}")?;
        write!(f, "  {:before$}{}", "", "^".repeat(marked))
    }
}
