// SPDX-License-Identifier: MIT
//! Unlinked programs: what `core/include/lull/abi/filter.h` describes, made of a tree.
//!
//! Place in the flow: `parser` -> **unlinked program** -> `link`, for each event; or, with a
//! session, to the processes that it records. Each comparison gets its place in the program, and
//! the two that may follow it; a negation changes places and is no step.

use crate::lexer::{Text, Word};
use crate::parser::{Node, Relation, Tree};
use crate::Error;
use session::context::Context;
use std::ops::Range;

pub(crate) const TESTS_MAX: usize = 128;
pub(crate) const TEXT_MAX: usize = 255;
pub(crate) const TEXTS_MAX: usize = 4096;
pub(crate) const OPERANDS_MAX: usize = 512;
/// Numbers that wait for their operators, the left side among those of the right one.
pub(crate) const RESULTS_MAX: usize = 8;
pub(crate) const ACCEPT: u16 = 65535;
pub(crate) const REJECT: u16 = 65534;

const HEAD_BYTES: usize = 16;

const EQUAL: u8 = 0;
const LESS: u8 = 1;
const TRUE: u8 = 2;

const NUMBER: u8 = 0;
const NEGATIVE: u8 = 1;
const NAME: u8 = 2;
const CONTEXT: u8 = 3;
const TEXT: u8 = 4;
const PREFIX: u8 = 5;
const GLOB: u8 = 6;
const ADD: u8 = 7;

type Problem = (Range<usize>, String);

/// A program, and where in the filter's text its parts were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unlinked {
    pub program: Vec<u8>,
    /// Left side, right side and both, by test.
    pub tests: Vec<[Range<usize>; 3]>,
    pub operands: Vec<Range<usize>>,
}

#[derive(Default)]
struct Writer {
    tests: Vec<u8>,
    operands: Vec<u8>,
    texts: Vec<u8>,
    test_places: Vec<[Range<usize>; 3]>,
    operand_places: Vec<Range<usize>>,
}

/// Where a condition leads.
#[derive(Clone, Copy)]
struct Ends {
    then: u16,
    otherwise: u16,
}

/// One operand, as it is written down.
struct Operand<'a> {
    kind: u8,
    text: &'a str,
    number: u64,
}

impl Unlinked {
    pub fn new(text: &str, tree: &Tree) -> Result<Self, Error> {
        let failed = |(place, why)| Error { text: text.to_string(), place, why };
        let whole = |why: &str| failed((0..text.len(), why.to_string()));
        if test_count(tree) > TESTS_MAX {
            return Err(whole("there are more than 128 comparisons"));
        }
        let mut writer = Writer::default();
        let ends = Ends { then: ACCEPT, otherwise: REJECT };
        writer.write(tree, false, 0, ends).map_err(failed)?;
        if writer.operand_places.len() > OPERANDS_MAX {
            return Err(whole("its comparisons have more than 512 operands"));
        }
        if writer.texts.len() > TEXTS_MAX {
            return Err(whole("all texts and names together have more than 4096 bytes"));
        }
        Ok(writer.finish())
    }
}

fn test_count(tree: &Tree) -> usize {
    match &tree.node {
        Node::And(a, b) | Node::Or(a, b) => test_count(a) + test_count(b),
        Node::Not(inner) => test_count(inner),
        Node::Compare(..) | Node::Join(..) | Node::Word(_) => 1,
    }
}

/// The operands of a side, each behind those that it joins.
fn joined<'a>(tree: &'a Tree, operands: &mut Vec<&'a Tree>) {
    if let Node::Join(_, a, b) = &tree.node {
        joined(a, operands);
        joined(b, operands);
    }
    operands.push(tree);
}

/// How many numbers wait for their operators at once.
fn depth(tree: &Tree) -> usize {
    match &tree.node {
        Node::Join(_, a, b) => depth(a).max(depth(b) + 1),
        _ => 1,
    }
}

/// How a text is compared.
fn text_operand(text: &Text, place: Range<usize>, is_like: bool) -> Result<Operand<'_>, Problem> {
    let is_glob = is_like && text.is_glob;
    let (kind, text) = match text {
        text if is_glob => (GLOB, &text.glob),
        Text { is_glob: true, star: Some(star), .. } => {
            let why = "a star stands at the end only; write =~ for stars and question marks \
                       anywhere, or \\* for the character itself";
            return Err((star.clone(), why.into()));
        }
        Text { is_prefix: true, literal, .. } => (PREFIX, literal),
        Text { literal, .. } => (TEXT, literal),
    };
    if text.len() > TEXT_MAX {
        return Err((place, format!("a text has {TEXT_MAX} bytes at most")));
    }
    Ok(Operand { kind, text, number: 0 })
}

fn operand(tree: &Tree, is_like: bool) -> Result<Operand<'_>, Problem> {
    let place = || tree.place.clone();
    let number = |kind, number| Ok(Operand { kind, text: "", number });
    match &tree.node {
        Node::Word(Word::Number(value)) => match u64::try_from(*value) {
            Ok(value) => number(NUMBER, value),
            Err(_) => number(NEGATIVE, value.unsigned_abs() as u64),
        },
        Node::Word(Word::Name(text)) if text.len() > TEXT_MAX => {
            Err((place(), format!("a name has {TEXT_MAX} bytes at most")))
        }
        Node::Word(Word::Name(text)) => Ok(Operand { kind: NAME, text, number: 0 }),
        Node::Word(Word::Context(name)) => match Context::find(name) {
            Some(context) => number(CONTEXT, context.number.into()),
            None => Err((place(), unknown_context())),
        },
        Node::Word(Word::Text(text)) => text_operand(text, place(), is_like),
        Node::Join(operator, ..) => number(ADD + *operator as u8, 0),
        _ => Err((place(), "a condition is no number and no text".into())),
    }
}

fn unknown_context() -> String {
    let names: Vec<String> = Context::all().map(|context| format!("${}", context.name)).collect();
    format!("there is no such context; there are {}", names.join(", "))
}

impl Writer {
    fn finish(mut self) -> Unlinked {
        let (tests, operands) = (self.test_places.len(), self.operand_places.len());
        let bytes = HEAD_BYTES + self.tests.len() + self.operands.len() + self.texts.len();
        let mut program = (bytes as u32).to_ne_bytes().to_vec();
        for number in [tests as u16, operands as u16, self.texts.len() as u16, 0, 0, 0] {
            program.extend(number.to_ne_bytes());
        }
        program.append(&mut self.tests);
        program.append(&mut self.operands);
        program.append(&mut self.texts);
        Unlinked { program, tests: self.test_places, operands: self.operand_places }
    }

    /// Writes the tests of a condition, the first of which is number `first`.
    fn write(
        &mut self,
        tree: &Tree,
        negated: bool,
        first: usize,
        ends: Ends,
    ) -> Result<(), Problem> {
        match &tree.node {
            Node::Or(a, b) | Node::And(a, b) => {
                let second = first + test_count(a);
                let next = second as u16;
                let is_or = matches!(tree.node, Node::Or(..)) != negated;
                let of_first = match is_or {
                    true => Ends { otherwise: next, ..ends },
                    false => Ends { then: next, ..ends },
                };
                self.write(a, negated, first, of_first)?;
                self.write(b, negated, second, ends)
            }
            Node::Not(inner) => self.write(inner, !negated, first, ends),
            Node::Compare(relation, a, b) => self.compare(*relation, a, b, negated, ends),
            Node::Join(..) | Node::Word(_) => self.test(TRUE, negated, (tree, None), false, ends),
        }
    }

    fn compare(
        &mut self,
        relation: Relation,
        a: &Tree,
        b: &Tree,
        negated: bool,
        ends: Ends,
    ) -> Result<(), Problem> {
        let is_text = |tree: &Tree| matches!(tree.node, Node::Word(Word::Text(_)));
        let is_like = relation == Relation::Like;
        if is_like && !is_text(b) {
            return Err((b.place.clone(), "behind =~ stands a text in quotes".into()));
        }
        let (relation, sides, negates) = match relation {
            Relation::Equal | Relation::Like => (EQUAL, (a, b), false),
            Relation::Unequal => (EQUAL, (a, b), true),
            Relation::Less => (LESS, (a, b), false),
            Relation::GreaterOrEqual => (LESS, (a, b), true),
            Relation::Greater => (LESS, (b, a), false),
            Relation::LessOrEqual => (LESS, (b, a), true),
        };
        self.test(relation, negated != negates, (sides.0, Some(sides.1)), is_like, ends)
    }

    fn test(
        &mut self,
        relation: u8,
        negated: bool,
        (left, right): (&Tree, Option<&Tree>),
        is_like: bool,
        ends: Ends,
    ) -> Result<(), Problem> {
        let first = self.operand_places.len();
        let left_count = self.side(left, is_like)?;
        let right_count = right.map_or(Ok(0), |right| self.side(right, is_like))?;
        self.tests.extend([relation, negated.into(), left_count, right_count]);
        for number in [first as u16, ends.then, ends.otherwise, 0, 0, 0] {
            self.tests.extend(number.to_ne_bytes());
        }
        let right = right.map_or(left, |right| right).place.clone();
        let left = left.place.clone();
        let both = left.start.min(right.start)..left.end.max(right.end);
        self.test_places.push([left, right, both]);
        Ok(())
    }

    /// Writes the operands of a side. Return: how many there are.
    fn side(&mut self, tree: &Tree, is_like: bool) -> Result<u8, Problem> {
        let problem = |why: &str| (tree.place.clone(), why.to_string());
        // One less on the left side, too: which side is the left one, the relation decides.
        if depth(tree) > RESULTS_MAX - 1 {
            return Err(problem("this computes too many numbers at once: there are 7 at most"));
        }
        let mut operands = Vec::new();
        joined(tree, &mut operands);
        let count = u8::try_from(operands.len())
            .map_err(|_| problem("a side has 255 numbers and operators at most"))?;
        for tree in operands {
            let Operand { kind, text, number } = operand(tree, is_like)?;
            let place = self.text(text);
            self.operands.extend([kind, text.len() as u8]);
            self.operands.extend((place as u16).to_ne_bytes());
            self.operands.extend(0u32.to_ne_bytes());
            self.operands.extend(number.to_ne_bytes());
            self.operand_places.push(tree.place.clone());
        }
        Ok(count)
    }

    /// Where a text lies among the texts; one that is there already is not added again.
    fn text(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        if bytes.is_empty() {
            return 0;
        }
        let found = self.texts.windows(bytes.len()).position(|window| window == bytes);
        found.unwrap_or_else(|| {
            self.texts.extend(bytes);
            self.texts.len() - bytes.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_BYTES: usize = 16;
    const OPERAND_BYTES: usize = 16;

    #[test]
    fn sizes_are_those_of_the_header() {
        let header = include_str!("../../../core/include/lull/abi/filter.h");
        let most = HEAD_BYTES + TESTS_MAX * TEST_BYTES + OPERANDS_MAX * OPERAND_BYTES + TEXTS_MAX;
        for (name, value) in [
            ("LULL_UNLINKED_OPERANDS_MAX", OPERANDS_MAX),
            ("LULL_FILTER_RESULTS", RESULTS_MAX),
            ("LULL_UNLINKED_BYTES_MAX", most),
            ("LULL_FILTER_TESTS_MAX", TESTS_MAX),
            ("LULL_FILTER_TEXT_MAX", TEXT_MAX),
            ("LULL_FILTER_TEXTS_MAX", TEXTS_MAX),
            ("LULL_FILTER_ACCEPT", ACCEPT.into()),
            ("LULL_FILTER_REJECT", REJECT.into()),
        ] {
            assert!(header.contains(&format!("#define {name} {value}u")), "{name}");
        }
    }
}
