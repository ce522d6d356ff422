// SPDX-License-Identifier: MIT
//! Linking: what an unlinked program comes to for one event, by the C that traced processes link
//! with, too (`core/filter/link.c`).
//!
//! Place in the flow: an unlinked program and an event's description -> **program**.

use crate::unlinked::{Unlinked, ACCEPT, OPERANDS_MAX, REJECT, TESTS_MAX};
use session::description::{Description, FieldKind};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CStr, CString};
use std::ops::Range;

/// What a program calls its first context.
pub(crate) const CONTEXT: u8 = 64;
pub(crate) const CONSTANT: u8 = 255;
/// What it calls its first result.
pub(crate) const RESULT: u8 = 128;
const LEFT_SIGNED: u8 = 1;
const RIGHT_SIGNED: u8 = 2;
const INTO_SHIFT: u8 = 2;
/// Words of the longest program.
const PROGRAM_WORDS: usize = 7176 / 8;
const HEAD_BYTES: usize = 8;
const TEST_BYTES: usize = 24;

/// `struct lull_filter_found`.
#[repr(C)]
struct Found {
    wrong: *const c_char,
    wrong_test: u16,
    wrong_operand: u16,
    wrong_side: u8,
    missing: [u8; OPERANDS_MAX],
    inverted: [u8; TESTS_MAX],
}

extern "C" {
    fn lull_filter_link(
        unlinked: *const u64,
        description: *const c_char,
        contexts: u32,
        program: *mut u64,
        found: *mut Found,
    ) -> c_int;
}

/// `LULL_FILTER_ONE`: what is wrong is one operand.
const ONE: u8 = 3;

const ALWAYS: c_int = 0;
const NEVER: c_int = 1;
const PROGRAM: c_int = 2;

/// A name that an event does not have, with the reason. By its place, from begin to end.
pub(crate) type Missing = BTreeMap<(usize, usize), &'static str>;

pub(crate) enum Linked {
    Always,
    Never,
    Program(Program),
}

/// A program, as it is run, and of each test whether the filter holds where the test does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub bytes: Vec<u8>,
    inverted: Vec<bool>,
}

/// A side of a test that takes results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Constant(i128),
    Input { input: u8, mask: u64, is_signed: bool },
    Result(usize),
}

/// What a test compares its left input with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test<'a> {
    Equal(Right),
    Less(Right),
    LessSigned(Right),
    Text(&'a [u8]),
    Prefix(&'a [u8]),
    Glob(&'a [u8]),
    Same(Side, Side),
    Below(Side, Side),
    /// A kind that computes, and the place of its result.
    Compute(u8, Side, Side, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Constant(u64),
    Input { input: u8, mask: u64 },
}

/// One test of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step<'a> {
    pub left: u8,
    /// Of a number's bits.
    pub mask: u64,
    pub test: Test<'a>,
    pub then: u16,
    pub otherwise: u16,
    /// Where to go on if the test cannot be decided: the filter's comparison does not hold.
    pub unknown: u16,
}

fn missing_text(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "no event that is asked for has a field of this name, and no context has it",
        2 => "no event that is asked for has this context, which only the kernel's have",
        3 => "this field is neither an integer nor a text, wherever it is one",
        4 => "no event that is asked for is of this system call",
        _ => return None,
    })
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// Links for one event. The error says what does not fit, and where in the filter's text.
pub(crate) fn link(
    unlinked: &Unlinked,
    event: &Description,
    contexts: u32,
) -> (Result<Linked, (Range<usize>, String)>, Missing) {
    let from = words(&unlinked.program);
    let text = CString::new(text_of(event)).unwrap_or_default();
    let mut to = vec![0u64; PROGRAM_WORDS];
    let mut found = Found {
        wrong: std::ptr::null(),
        wrong_test: 0,
        wrong_operand: 0,
        wrong_side: 0,
        missing: [0; OPERANDS_MAX],
        inverted: [0; TESTS_MAX],
    };
    // SAFETY: the program is one that was made here, the text is NUL-terminated, and the rest has
    // the room that the header asks for.
    let linked = unsafe {
        lull_filter_link(from.as_ptr(), text.as_ptr(), contexts, to.as_mut_ptr(), &mut found)
    };
    let places = unlinked.operands.iter().zip(&found.missing);
    let missing =
        places.filter_map(|(place, code)| Some(((place.start, place.end), missing_text(*code)?)));
    let missing = missing.collect();
    let result = match linked {
        ALWAYS => Ok(Linked::Always),
        NEVER => Ok(Linked::Never),
        PROGRAM => Ok(Linked::Program(Program::new(&to, &found.inverted))),
        _ => Err(wrong(unlinked, &found)),
    };
    (result, missing)
}

fn wrong(unlinked: &Unlinked, found: &Found) -> (Range<usize>, String) {
    let test = unlinked.tests.get(usize::from(found.wrong_test));
    let place = match found.wrong_side {
        ONE => unlinked.operands.get(usize::from(found.wrong_operand)),
        side => test.and_then(|places| places.get(usize::from(side))),
    };
    let place = place.cloned();
    let why = match found.wrong.is_null() {
        true => "it does not fit".into(),
        // SAFETY: not NULL, so a constant NUL-terminated string.
        false => unsafe { CStr::from_ptr(found.wrong) }.to_string_lossy().into_owned(),
    };
    (place.unwrap_or_default(), why)
}

/// A word of a description: names that no filter can spell are as good as any other.
fn word(text: &str) -> &str {
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_word {
        text
    } else {
        "?"
    }
}

/// Widths that descriptions have; a number of fewer bits has the same values in the next of these.
fn width(bits: u8) -> u8 {
    bits.next_power_of_two().clamp(8, 64)
}

fn labels<T: std::fmt::Display>(names: &[(String, T)]) -> String {
    let spelt = names.iter().filter(|(name, _)| word(name) == name);
    spelt.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

/// A description as text. It may be one of a foreign trace's event, with names of any characters.
fn text_of(event: &Description) -> String {
    let mut text = format!("{}\n{}\n:\n", event.name.replace('\n', "?"), event.level);
    for field in &event.fields {
        let (kind, argument) = match &field.kind {
            FieldKind::Unsigned { bits, .. } => (format!("u{}", width(*bits)), String::new()),
            FieldKind::Signed { bits } => (format!("i{}", width(*bits)), String::new()),
            FieldKind::Flags { bits, names } => (format!("x{}", width(*bits)), labels(names)),
            FieldKind::Enumeration(names) => ("enum".into(), labels(names)),
            other => (other.name(), String::new()),
        };
        text += &format!("{kind} {} {argument}\n", word(&field.name));
    }
    text
}

impl Side {
    fn new(side: u8, word: u64, is_signed: bool) -> Self {
        match side.checked_sub(RESULT) {
            None => Self::Input { input: side, mask: word, is_signed },
            Some(_) if side == CONSTANT && is_signed => Self::Constant(!i128::from(word)),
            Some(_) if side == CONSTANT => Self::Constant(word.into()),
            Some(place) => Self::Result(place.into()),
        }
    }
}

impl Program {
    fn new(words: &[u64], inverted: &[u8]) -> Self {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let length = bytes.first_chunk().map_or(0, |first| u32::from_ne_bytes(*first));
        bytes.truncate(length as usize);
        let mut program = Self { bytes, inverted: Vec::new() };
        program.inverted = inverted.iter().take(program.test_count()).map(|i| *i != 0).collect();
        program
    }

    /// A program that takes nothing: both ends of its test reject.
    pub fn never() -> Self {
        let mut bytes = ((HEAD_BYTES + TEST_BYTES) as u32).to_ne_bytes().to_vec();
        bytes.extend(1u16.to_ne_bytes());
        bytes.extend(0u16.to_ne_bytes());
        bytes.extend([0, CONTEXT, CONSTANT, 0]);
        bytes.extend(REJECT.to_ne_bytes());
        bytes.extend(REJECT.to_ne_bytes());
        bytes.extend([0; 16]);
        Self { bytes, inverted: vec![false] }
    }

    fn test_count(&self) -> usize {
        self.bytes
            .get(4..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |count| usize::from(u16::from_ne_bytes(*count)))
    }

    /// A test; None at the end of the program, which `number` names.
    pub fn step(&self, number: u16) -> Option<Step<'_>> {
        let at = HEAD_BYTES + usize::from(number) * TEST_BYTES;
        let inverted = *self.inverted.get(usize::from(number))?;
        let test: &[u8; TEST_BYTES] = self.bytes.get(at..)?.first_chunk()?;
        let [kind, left, right, detail, rest @ ..] = test;
        let half = |at: usize| Some(u16::from_ne_bytes(*rest.get(at..)?.first_chunk()?));
        let number = |at: usize| Some(u64::from_ne_bytes(*rest.get(at..)?.first_chunk()?));
        let (then, otherwise, mask, operand) = (half(0)?, half(2)?, number(4)?, number(12)?);
        let texts = self.bytes.get(HEAD_BYTES + self.inverted.len() * TEST_BYTES..)?;
        let sides = (
            Side::new(*left, mask, detail & LEFT_SIGNED != 0),
            Side::new(*right, operand, detail & RIGHT_SIGNED != 0),
        );
        let right = match *right {
            CONSTANT => Right::Constant(operand),
            input => Right::Input { input, mask: operand },
        };
        let test = match kind {
            0 => Test::Equal(right),
            1 => Test::Less(right),
            2 => Test::LessSigned(right),
            6 => Test::Same(sides.0, sides.1),
            7 => Test::Below(sides.0, sides.1),
            8.. => Test::Compute(*kind, sides.0, sides.1, usize::from(detail >> INTO_SHIFT)),
            kind => {
                let text = texts.get(operand as usize..)?.get(..mask as usize)?;
                match kind {
                    3 => Test::Text(text),
                    4 => Test::Prefix(text),
                    _ => Test::Glob(text),
                }
            }
        };
        let unknown = if inverted { then } else { otherwise };
        Some(Step { left: *left, mask, test, then, otherwise, unknown })
    }

    /// Whether a program that went on here took the event.
    pub fn accepts(end: u16) -> bool {
        end == ACCEPT
    }
}
