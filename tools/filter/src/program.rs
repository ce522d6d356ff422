// SPDX-License-Identifier: MIT
//! Programs: what `core/include/lull/abi/filter.h` describes, made of a condition.
//!
//! Place in the flow: `resolve` gives a condition without negations but at its tests; here each
//! test gets its place in the program, and the two tests that may follow it.

use crate::condition::{Condition, Kind, Right, Test};

pub(crate) const TESTS_MAX: usize = 128;
pub(crate) const TEXT_MAX: usize = 255;
pub(crate) const TEXTS_MAX: usize = 4096;
pub(crate) const FIELDS_MAX: usize = 64;
pub(crate) const CONTEXT: u8 = 64;
const CONSTANT: u8 = 255;
const ACCEPT: u16 = 65535;
const REJECT: u16 = 65534;

const HEAD_BYTES: usize = 8;
const TEST_BYTES: usize = 24;

#[derive(Default)]
struct Writer {
    tests: Vec<u8>,
    texts: Vec<u8>,
}

/// The program's bytes, or what it has too much of.
pub(crate) fn program(condition: &Condition) -> Result<Vec<u8>, &'static str> {
    if test_count(condition) > TESTS_MAX {
        return Err("there are more than 128 comparisons");
    }
    let mut writer = Writer::default();
    writer.write(condition, 0, ACCEPT, REJECT);
    if writer.texts.len() > TEXTS_MAX {
        return Err("all texts together have more than 4096 bytes");
    }
    Ok(writer.finish())
}

/// A program that takes nothing: both ends of its test reject.
pub(crate) fn never() -> Vec<u8> {
    let mut writer = Writer::default();
    let kind = Kind::Equal(Right::Constant(0));
    writer.test(&Test { left: CONTEXT, mask: u64::MAX, kind }, REJECT, REJECT);
    writer.finish()
}

fn test_count(condition: &Condition) -> usize {
    match condition {
        Condition::Always | Condition::Never => 0,
        Condition::And(a, b) | Condition::Or(a, b) => test_count(a) + test_count(b),
        Condition::Test { .. } => 1,
    }
}

impl Writer {
    fn finish(mut self) -> Vec<u8> {
        let bytes = HEAD_BYTES + self.tests.len() + self.texts.len();
        let mut program = (bytes as u32).to_ne_bytes().to_vec();
        program.extend(((self.tests.len() / TEST_BYTES) as u16).to_ne_bytes());
        program.extend((self.texts.len() as u16).to_ne_bytes());
        program.append(&mut self.tests);
        program.append(&mut self.texts);
        program
    }

    /// Writes the tests of a condition, the first of which is number `first`; `then` is where the
    /// program goes on if the condition holds.
    fn write(&mut self, condition: &Condition, first: usize, then: u16, otherwise: u16) {
        match condition {
            // Conditions are simplified: these stand alone, and need no program.
            Condition::Always | Condition::Never => {}
            Condition::And(a, b) => {
                let second = first + test_count(a);
                self.write(a, first, second as u16, otherwise);
                self.write(b, second, then, otherwise);
            }
            Condition::Or(a, b) => {
                let second = first + test_count(a);
                self.write(a, first, then, second as u16);
                self.write(b, second, then, otherwise);
            }
            Condition::Test { test, negated: false } => self.test(test, then, otherwise),
            Condition::Test { test, negated: true } => self.test(test, otherwise, then),
        }
    }

    fn test(&mut self, test: &Test, then: u16, otherwise: u16) {
        let (kind, right, mask, operand) = match &test.kind {
            Kind::Equal(right) => (0, Some(right), test.mask, 0),
            Kind::Less(right) => (1, Some(right), test.mask, 0),
            Kind::LessSigned(right) => (2, Some(right), test.mask, 0),
            Kind::Text(text) => (3, None, text.len() as u64, self.text(text)),
            Kind::Prefix(text) => (4, None, text.len() as u64, self.text(text)),
        };
        let (right, operand) = match right {
            Some(Right::Constant(value)) => (CONSTANT, *value),
            Some(Right::Input { input, mask }) => (*input, *mask),
            None => (CONSTANT, operand),
        };
        self.tests.extend([kind, test.left, right, 0]);
        self.tests.extend(then.to_ne_bytes());
        self.tests.extend(otherwise.to_ne_bytes());
        self.tests.extend(mask.to_ne_bytes());
        self.tests.extend(operand.to_ne_bytes());
    }

    /// Where a text lies among the texts; one that is there already is not added again.
    fn text(&mut self, text: &str) -> u64 {
        let bytes = text.as_bytes();
        let found = self.texts.windows(bytes.len().max(1)).position(|window| window == bytes);
        let at = found.unwrap_or(self.texts.len());
        if found.is_none() {
            self.texts.extend(bytes);
        }
        at as u64
    }
}
