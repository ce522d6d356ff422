// SPDX-License-Identifier: MIT
//! What keeps the runner from running: a description that is wrong, or a file or tool that is
//! missing. What a model does wrong is not an error but an outcome (`outcome.rs`).

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}; {remedy}")]
    File { path: String, source: io::Error, remedy: &'static str },
    #[error("{0}")]
    Description(Faults),
    #[error("cannot start {program}: {source}; {remedy}")]
    Program { program: String, source: io::Error, remedy: &'static str },
    #[error("{0}")]
    Usage(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn file(path: &Path, source: io::Error, remedy: &'static str) -> Error {
        Error::File { path: path.display().to_string(), source, remedy }
    }
}

/// Everything that is wrong in the descriptions, so that one look mends all of it.
#[derive(Debug)]
pub struct Faults(pub Vec<Fault>);

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub path: PathBuf,
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(out, "{newline}{}:{}: {}", fault.path.display(), fault.line, fault.message)?;
        }
        Ok(())
    }
}
