// SPDX-License-Identifier: MIT
//! Filters where events are read: what a probe's program decides in the kernel, decided here for
//! events of any trace.
//!
//! Place in the flow: `lull print` and `lull report` ask for the rule of each class of events, and
//! then whether it holds for each event. Reading is not bound to what a program can hold, and a
//! trace may not tell a context: a comparison with what is not known holds neither way.

use crate::condition::{Condition, Kind, Right, Test};
use crate::context::Context;
use crate::program::CONTEXT;
use std::borrow::Cow;

/// What a filter comes to for one class of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule(pub(crate) Condition);

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
    /// Whether it holds for every event of the class.
    pub fn is_always(&self) -> bool {
        self.0 == Condition::Always
    }

    /// Whether it holds for an event whose inputs `know` tells.
    pub fn holds<'v>(&self, know: &dyn Fn(Input) -> Option<Known<'v>>) -> bool {
        holds(&self.0, know)
    }
}

/// Conditions nest as deep as the parser lets them.
fn holds<'v>(condition: &Condition, know: &dyn Fn(Input) -> Option<Known<'v>>) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Never => false,
        Condition::And(a, b) => holds(a, know) && holds(b, know),
        Condition::Or(a, b) => holds(a, know) || holds(b, know),
        Condition::Test { test, negated } => {
            decide(test, know).is_some_and(|holds| holds != *negated)
        }
    }
}

fn decide<'v>(test: &Test, know: &dyn Fn(Input) -> Option<Known<'v>>) -> Option<bool> {
    let value = |number: u8| match number.checked_sub(CONTEXT) {
        None => know(Input::Field(number.into())),
        Some(number) => know(Input::Context(Context::all().find(|c| c.number == number)?)),
    };
    let number = |input: u8, mask: u64| match value(input)? {
        Known::Number(number) => Some(number & mask),
        Known::Text(_) => None,
    };
    let right = |right: &Right| match right {
        Right::Constant(number) => Some(*number),
        Right::Input { input, mask } => number(*input, *mask),
    };
    let text = || match value(test.left)? {
        Known::Number(_) => None,
        Known::Text(text) => Some(text),
    };
    Some(match &test.kind {
        Kind::Equal(b) => number(test.left, test.mask)? == right(b)?,
        Kind::Less(b) => number(test.left, test.mask)? < right(b)?,
        Kind::LessSigned(b) => (number(test.left, test.mask)? as i64) < right(b)? as i64,
        Kind::Text(whole) => *text()? == *whole.as_bytes(),
        Kind::Prefix(begin) => text()?.starts_with(begin.as_bytes()),
    })
}
