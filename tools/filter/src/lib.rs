// SPDX-License-Identifier: MIT
//! The language of filters: which occurrences of an event are recorded, or read.
//!
//! ```text
//! pid == 42 && comm == "git*"        fields of the event, or else of the context
//! $prio < 100 || $cgroup == 1234     the context, also where the event has a field of that name
//! ret < 0 && !(flags & 0x40)         signed and unsigned integers, bits
//! syscall == openat                  of the events of system calls, those of this one
//! ```
//!
//! Place in the flow: `lull record -e 'PATTERN if FILTER'` parses a filter once and compiles it for
//! each event that the pattern matches, because a name means that event's own field. Probes run the
//! programs (`core/filter`). `lull print` and `lull report` decide by a [`Rule`].
//! docs/design/70-filter.md says what the language has and why.

mod condition;
mod context;
mod error;
mod lexer;
mod parser;
mod program;
mod resolve;
mod rule;
#[cfg(test)]
mod tests;

pub use context::Context;
pub use error::Error;
pub use rule::{Input, Known, Rule};

use condition::Condition;
use parser::Tree;
use resolve::{Missing, Resolver};
use session::description::Description;
use std::ops::Range;

/// Longer texts are refused, because what they nest is walked by recursion.
const TEXT_BYTES_MAX: usize = 8192;

/// A filter that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    tree: Tree,
}

/// What a filter comes to for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiled {
    /// Every occurrence is to be recorded.
    Always,
    /// None is.
    Never,
    /// Those for which this program holds, as `core/include/lull/abi/filter.h` describes it.
    Program(Vec<u8>),
}

impl Compiled {
    /// The program for an event that is enabled in any case; none where every occurrence is to be
    /// recorded.
    pub fn into_program(self) -> Option<Vec<u8>> {
        match self {
            Self::Always => None,
            Self::Never => Some(program::never()),
            Self::Program(program) => Some(program),
        }
    }
}

impl Filter {
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > TEXT_BYTES_MAX {
            let why = format!("it has more than {TEXT_BYTES_MAX} bytes");
            return Err(Error { text: String::new(), place: 0..0, why });
        }
        Ok(Self { text: text.to_string(), tree: parser::parse(text)? })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Compiles it for events, each by itself. An error where it does not fit one of them, or where
    /// it has a name that none of them explains.
    pub fn compile(&self, events: &[&Description]) -> Result<Vec<Compiled>, Error> {
        let rules = self.rules(events)?.into_iter();
        let compiled = rules.map(|rule| match rule.0 {
            Condition::Always => Ok(Compiled::Always),
            Condition::Never => Ok(Compiled::Never),
            condition => program::program(&condition)
                .map(Compiled::Program)
                .map_err(|why| self.error(0..self.text.len(), why.into())),
        });
        compiled.collect()
    }

    /// What it comes to for events that are read, each by itself. An error as of
    /// [`Filter::compile`].
    pub fn rules(&self, events: &[&Description]) -> Result<Vec<Rule>, Error> {
        let mut missing: Option<Missing> = None;
        let mut rules = Vec::new();
        for event in events {
            let mut resolver = Resolver::new(event);
            let condition = resolver.condition(&self.tree, false);
            rules.push(Rule(condition.map_err(|(place, why)| self.error(place, why))?));
            let mut left = missing.unwrap_or_else(|| resolver.missing.clone());
            left.retain(|place, _| resolver.missing.contains_key(place));
            missing = Some(left);
        }
        match missing.and_then(|mut missing| missing.pop_first()) {
            Some(((begin, end), why)) => Err(self.error(begin..end, why)),
            None => Ok(rules),
        }
    }

    fn error(&self, place: Range<usize>, why: String) -> Error {
        Error { text: self.text.clone(), place, why }
    }
}
