// SPDX-License-Identifier: MIT
//! Questions that cannot be answered.
//!
//! Place in the flow: a study says before the first event what the question lacks.

use std::fmt;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The analysis needs an option that was not given; with what the option is for.
    Lacks { analysis: &'static str, option: &'static str, purpose: &'static str },
    /// Nothing in the traces has the name.
    Unknown { what: &'static str, name: String, known: Vec<String> },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Lacks { analysis, option, purpose } => {
                write!(f, "{analysis} needs {option}: {purpose}")
            }
            Error::Unknown { what, name, .. } => write!(f, "the traces have no {what} {name}"),
        }
    }
}

impl std::error::Error for Error {}
