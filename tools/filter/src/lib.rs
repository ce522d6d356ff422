// SPDX-License-Identifier: MIT
//! The language of filters: which occurrences of an event are recorded, or read.
//!
//! ```text
//! pid == 42 && comm == "git*"        fields of the event, or else of the context
//! $prio < 100 || $cgroup == 1234     the context, also where the event has a field of that name
//! ret < 0 && !(flags & 0x40)         signed and unsigned integers, bits
//! (end - begin) / 1000 > 10          arithmetic, which is exact or holds neither way
//! url =~ "/api/*/user?"              texts with any bytes, or any one, in these places
//! syscall == openat                  of the events of system calls, those of this one
//! ```
//!
//! Place in the flow: `lull record -e 'PATTERN if FILTER sample 1/N'` parses a filter once into
//! an unlinked
//! program. That is linked for each event that the pattern matches, because a name means that
//! event's own field: here for the kernel's events, and in each traced process for those that it
//! brings. Probes run what is linked (`core/filter`). `lull print` and `lull report` decide by a
//! [`Rule`]. docs/design/70-filter.md says what the language has and why.

mod choice;
mod error;
mod lexer;
mod link;
mod parser;
mod rule;
#[cfg(test)]
mod tests;
mod unlinked;

pub use choice::{Choice, Sample};
pub use error::{marked, Error};
pub use rule::{Input, Known, Rule};
pub use session::context::Context;

use link::{link, Linked, Missing, Program};
use session::description::Description;
use std::ops::Range;
use unlinked::Unlinked;

/// Longer texts are refused, because what they nest is walked by recursion.
const TEXT_BYTES_MAX: usize = 8192;

/// What is the same at the entry of a thread's call and at its exit.
const OF_THREADS: [&str; 5] = ["pid", "tid", "comm", "uid", "gid"];

/// A filter that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    unlinked: Unlinked,
}

/// Whose events a filter is for: which contexts they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The kernel's, or those of a trace of anyone's: any context may be there.
    Kernel,
    /// The kernel's as tracefs gives them, with no more than whose each is and where it was.
    Tracefs,
    /// Those of programs, which know of themselves what takes no system call to find out.
    Program,
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
            Self::Never => Some(Program::never().bytes),
            Self::Program(program) => Some(program),
        }
    }
}

impl Of {
    fn contexts(self) -> u32 {
        let is_there = |context: &&Context| match self {
            Self::Kernel => true,
            Self::Tracefs => ["pid", "tid", "comm", "cpu"].contains(&context.name),
            Self::Program => context.is_programs(),
        };
        Context::all().filter(is_there).fold(0, |bits, context| bits | 1 << context.number)
    }
}

impl Filter {
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(too_long());
        }
        let unlinked = Unlinked::new(text, &parser::parse(text)?)?;
        Ok(Self { text: text.to_string(), unlinked })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The unlinked program, as `core/include/lull/abi/filter.h` describes it.
    pub fn unlinked(&self) -> &[u8] {
        &self.unlinked.program
    }

    /// Whether it asks for nothing but whose an event is: then it takes all of a thread's or none.
    pub fn is_of_thread(&self) -> bool {
        let is_of_thread = |word: &str| {
            let name = word.strip_prefix('$').unwrap_or(word);
            let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            !is_name || OF_THREADS.contains(&name)
        };
        let words = self.unlinked.operands.iter().filter_map(|place| self.text.get(place.clone()));
        words.into_iter().all(is_of_thread)
    }

    /// Compiles it for the kernel's events, each by itself. An error where it does not fit one of
    /// them, or where it has a name that none of them explains.
    pub fn compile(&self, events: &[&Description]) -> Result<Vec<Compiled>, Error> {
        let compiled = |linked| match linked {
            Linked::Always => Compiled::Always,
            Linked::Never => Compiled::Never,
            Linked::Program(program) => Compiled::Program(program.bytes),
        };
        Ok(self.link(events, Of::Kernel)?.into_iter().map(compiled).collect())
    }

    /// What it comes to for events that are read, each by itself. An error as of
    /// [`Filter::compile`].
    pub fn rules(&self, events: &[&Description]) -> Result<Vec<Rule>, Error> {
        Ok(self.link(events, Of::Kernel)?.into_iter().map(Rule::new).collect())
    }

    /// Whether it fits these events: what is wrong with it for the first that it does not fit.
    pub fn fits(&self, event: &Description, of: Of) -> Result<(), Error> {
        let (linked, _) = link(&self.unlinked, event, of.contexts());
        linked.map(|_| ()).map_err(|(place, why)| self.error(place, why))
    }

    /// An error that marks the second of two words of one comparison, where `why` has a reason
    /// against it beside the first.
    pub fn refuse(&self, why: &dyn Fn(&str, &str) -> Option<String>) -> Result<(), Error> {
        for [_, _, both] in &self.unlinked.tests {
            let operands = self.unlinked.operands.iter();
            let within = operands.filter(|at| both.start <= at.start && at.end <= both.end);
            let words: Vec<_> =
                within.filter_map(|at| Some((at, self.text.get(at.clone())?))).collect();
            for (beside, (place, word)) in
                words.iter().flat_map(|(_, beside)| words.iter().map(move |word| (beside, word)))
            {
                if let Some(why) = why(beside, word) {
                    return Err(self.error((*place).clone(), why));
                }
            }
        }
        Ok(())
    }

    /// A name that none of these events explains, as an error that marks it.
    pub fn unexplained(&self, events: &[&Description], of: Of) -> Option<Error> {
        let missing = events.iter().map(|event| link(&self.unlinked, event, of.contexts()).1);
        let (place, why) = missing.reduce(in_both)?.pop_first()?;
        Some(self.error(place.0..place.1, why.into()))
    }

    fn link(&self, events: &[&Description], of: Of) -> Result<Vec<Linked>, Error> {
        let mut all = Vec::new();
        let mut missing: Option<Missing> = None;
        for event in events {
            let (linked, its) = link(&self.unlinked, event, of.contexts());
            all.push(linked.map_err(|(place, why)| self.error(place, why))?);
            missing =
                Some(missing.map_or_else(|| its.clone(), |known| in_both(known, its.clone())));
        }
        match missing.and_then(|mut missing| missing.pop_first()) {
            Some(((begin, end), why)) => Err(self.error(begin..end, why.into())),
            None => Ok(all),
        }
    }

    fn error(&self, place: Range<usize>, why: String) -> Error {
        Error { text: self.text.clone(), place, why }
    }
}

fn too_long() -> Error {
    let why = format!("it has more than {TEXT_BYTES_MAX} bytes");
    Error { text: String::new(), place: 0..0, why }
}

/// What both of two events lack.
fn in_both(mut one: Missing, other: Missing) -> Missing {
    one.retain(|place, _| other.contains_key(place));
    one
}
