// SPDX-License-Identifier: MIT
//! What is wrong with a condition or an action, and where: in the form of the filter language's
//! errors, because filters are a part of conditions.

use std::fmt;
use std::ops::Range;

/// A condition or an action that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The argument that the text was given to.
    pub argument: &'static str,
    pub text: String,
    /// The bytes that are wrong; empty at the end of the text, where something is missing.
    pub place: Range<usize>,
    pub why: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.argument, self.why)?;
        f.write_str(&filter::marked(&self.text, &self.place))
    }
}
