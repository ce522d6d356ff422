// SPDX-License-Identifier: MIT
//! Filters where events are read: what a probe's program decides, decided here for events of any
//! trace.
//!
//! Place in the flow: `lull print` and `lull report` ask for the rule of each class of events, and
//! then whether it holds for each event. A trace may not tell a context: a comparison with what is
//! not known holds neither way.

use crate::link::{Linked, Program, Right, Side, Step, Test, CONTEXT};
use crate::unlinked::RESULTS_MAX;
use session::context::Context;
use std::borrow::Cow;
use std::ffi::c_int;

extern "C" {
    fn lull_filter_glob(
        glob: *const u8,
        glob_bytes: u64,
        text: *const u8,
        text_bytes: u64,
    ) -> c_int;
    fn lull_filter_compute(kind: u8, a: *const Wide, b: *const Wide, result: *mut Wide) -> c_int;
}

/// The `wide` of `core/filter/compute.h`.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Wide([u8; 16]);

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
        let mut results = [None; RESULTS_MAX];
        let mut next = 0;
        // Bound: programs only lead ahead.
        while let Some(step) = program.step(next) {
            next = match decide(&step, know, &mut results) {
                Some(true) => step.then,
                Some(false) => step.otherwise,
                None => step.unknown,
            };
        }
        Program::accepts(next)
    }
}

type Results = [Option<i128>; RESULTS_MAX];

/// Of an input's bits, those that the trace tells.
fn number<'v>(input: u8, mask: u64, know: &dyn Fn(Input) -> Option<Known<'v>>) -> Option<u64> {
    match value(input, know)? {
        Known::Number(number) => Some(number & mask),
        Known::Text(_) => None,
    }
}

fn value<'v>(input: u8, know: &dyn Fn(Input) -> Option<Known<'v>>) -> Option<Known<'v>> {
    match input.checked_sub(CONTEXT) {
        None => know(Input::Field(input.into())),
        Some(number) => know(Input::Context(Context::all().find(|c| c.number == number)?)),
    }
}

/// Whether a test holds, or a step has a result; None where an input is not known.
fn decide<'v>(
    step: &Step<'_>,
    know: &dyn Fn(Input) -> Option<Known<'v>>,
    results: &mut Results,
) -> Option<bool> {
    let left = || number(step.left, step.mask, know);
    let right = |right: Right| match right {
        Right::Constant(number) => Some(number),
        Right::Input { input, mask } => number(input, mask, know),
    };
    let text = || match value(step.left, know)? {
        Known::Number(_) => None,
        Known::Text(text) => Some(text),
    };
    let side = |side: Side, results: &Results| match side {
        Side::Constant(number) => Some(number),
        Side::Input { input, mask, is_signed: true } => {
            Some((number(input, mask, know)? as i64).into())
        }
        Side::Input { input, mask, .. } => number(input, mask, know).map(i128::from),
        Side::Result(place) => *results.get(place)?,
    };
    Some(match step.test {
        Test::Equal(b) => left()? == right(b)?,
        Test::Less(b) => left()? < right(b)?,
        Test::LessSigned(b) => (left()? as i64) < right(b)? as i64,
        Test::Text(whole) => *text()? == *whole,
        Test::Prefix(begin) => text()?.starts_with(begin),
        Test::Glob(glob) => glob_matches(glob, &text()?),
        Test::Same(a, b) => side(a, results)? == side(b, results)?,
        Test::Below(a, b) => side(a, results)? < side(b, results)?,
        Test::Compute(kind, a, b, into) => {
            let computed = compute(kind, side(a, results)?, side(b, results)?);
            *results.get_mut(into)? = computed;
            computed.is_some()
        }
    })
}

/// The arithmetic that probes have.
fn compute(kind: u8, a: i128, b: i128) -> Option<i128> {
    let (a, b) = (Wide(a.to_ne_bytes()), Wide(b.to_ne_bytes()));
    let mut result = Wide([0; 16]);
    // SAFETY: all three are as large and as aligned as the header's.
    let is_there = unsafe { lull_filter_compute(kind, &a, &b, &mut result) } != 0;
    is_there.then_some(i128::from_ne_bytes(result.0))
}

fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    // SAFETY: both are readable for their lengths.
    unsafe {
        lull_filter_glob(glob.as_ptr(), glob.len() as u64, text.as_ptr(), text.len() as u64) != 0
    }
}
