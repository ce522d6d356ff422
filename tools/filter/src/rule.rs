// SPDX-License-Identifier: MIT
//! Filters where events are read: what a probe's program decides, decided here for events of any
//! trace.
//!
//! Place in the flow: `lull print` and `lull report` ask for the rule of each class of events, and
//! then whether it holds for each event. A trace may not tell a context: a comparison with what is
//! not known holds neither way.

use crate::context::Context;
use crate::link::{Linked, Program, Right, Step, Test, CONTEXT};
use std::borrow::Cow;
use std::ffi::c_int;

extern "C" {
    fn lull_filter_glob(
        glob: *const u8,
        glob_bytes: u64,
        text: *const u8,
        text_bytes: u64,
    ) -> c_int;
}

/// What a filter comes to for one class of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule(Decision);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    Always,
    Never,
    Program(Program),
}

/// What a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The field at a position of the description that the rule was made for.
    Field(usize),
    Context(&'static Context),
}

/// A value of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known<'a> {
    /// Negative numbers as their 64 bits.
    Number(u64),
    Text(Cow<'a, [u8]>),
}

impl Rule {
    pub(crate) fn new(linked: Linked) -> Self {
        Self(match linked {
            Linked::Always => Decision::Always,
            Linked::Never => Decision::Never,
            Linked::Program(program) => Decision::Program(program),
        })
    }

    /// Whether it holds for every event of the class.
    pub fn is_always(&self) -> bool {
        self.0 == Decision::Always
    }

    /// Whether it holds for an event whose inputs `know` tells.
    pub fn holds<'v>(&self, know: &dyn Fn(Input) -> Option<Known<'v>>) -> bool {
        let program = match &self.0 {
            Decision::Always => return true,
            Decision::Never => return false,
            Decision::Program(program) => program,
        };
        let mut next = 0;
        // Bound: programs only lead ahead.
        while let Some(step) = program.step(next) {
            next = match decide(&step, know) {
                Some(true) => step.then,
                Some(false) => step.otherwise,
                None => step.unknown,
            };
        }
        Program::accepts(next)
    }
}

fn decide<'v>(step: &Step<'_>, know: &dyn Fn(Input) -> Option<Known<'v>>) -> Option<bool> {
    let value = |number: u8| match number.checked_sub(CONTEXT) {
        None => know(Input::Field(number.into())),
        Some(number) => know(Input::Context(Context::all().find(|c| c.number == number)?)),
    };
    let number = |input: u8, mask: u64| match value(input)? {
        Known::Number(number) => Some(number & mask),
        Known::Text(_) => None,
    };
    let left = || number(step.left, step.mask);
    let right = |right: Right| match right {
        Right::Constant(number) => Some(number),
        Right::Input { input, mask } => number(input, mask),
    };
    let text = || match value(step.left)? {
        Known::Number(_) => None,
        Known::Text(text) => Some(text),
    };
    Some(match step.test {
        Test::Equal(b) => left()? == right(b)?,
        Test::Less(b) => left()? < right(b)?,
        Test::LessSigned(b) => (left()? as i64) < right(b)? as i64,
        Test::Text(whole) => *text()? == *whole,
        Test::Prefix(begin) => text()?.starts_with(begin),
        Test::Glob(glob) => glob_matches(glob, &text()?),
    })
}

fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    // SAFETY: both are readable for their lengths.
    unsafe {
        lull_filter_glob(glob.as_ptr(), glob.len() as u64, text.as_ptr(), text.len() as u64) != 0
    }
}
