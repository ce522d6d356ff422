// SPDX-License-Identifier: MIT
//! The grammar: words become a tree.
//!
//! ```text
//! or         = and { "||" and }
//! and        = comparison { "&&" comparison }
//! comparison = number [ ( "==" | "!=" | "=~" | "<" | "<=" | ">" | ">=" ) number ]
//! number     = xor { "|" xor }
//! xor        = bits { "^" bits }
//! bits       = shift { "&" shift }
//! shift      = sum { ( "<<" | ">>" ) sum }
//! sum        = product { ( "+" | "-" ) product }
//! product    = unary { ( "*" | "/" | "%" ) unary }
//! unary      = ( "!" | "-" | "~" ) unary | "(" or ")" | number | text | name | "$" name
//! ```
//!
//! Place in the flow: `lexer` -> **tree** -> `unlinked`. `choice` reads what stands around a
//! tree in an argument of -e by the same parser.

use crate::choice::SAMPLE;
use crate::lexer::{words, Placed, Word};
use crate::Error;
use std::ops::Range;

/// How deep parentheses and negations may be in one another: the parser recurses.
const DEPTH_MAX: u32 = 64;

/// The largest number that is one word with its minus sign.
const NEGATIVE_MAX: i128 = 1 << 63;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    Unequal,
    /// A text matches a glob.
    Like,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What joins two numbers. In the order of the kinds of `core/include/lull/abi/filter.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Or(Box<Tree>, Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Compare(Relation, Box<Tree>, Box<Tree>),
    Join(Operator, Box<Tree>, Box<Tree>),
    /// A leaf: no [`Word::Sign`] and no [`Word::End`].
    Word(Word),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    pub node: Node,
    pub place: Range<usize>,
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    words: Vec<Placed>,
    at: usize,
    depth: u32,
}

const RELATIONS: [(&str, Relation); 7] = [
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("=~", Relation::Like),
    ("<", Relation::Less),
    ("<=", Relation::LessOrEqual),
    (">", Relation::Greater),
    (">=", Relation::GreaterOrEqual),
];

/// By how loosely they bind, the loosest first.
const OPERATORS: [&[(&str, Operator)]; 6] = [
    &[("|", Operator::Or)],
    &[("^", Operator::Xor)],
    &[("&", Operator::And)],
    &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

pub(crate) fn parse(text: &str) -> Result<Tree, Error> {
    let mut parser = Parser::new(text)?;
    let tree = parser.or()?;
    match parser.peek() {
        Word::End => Ok(tree),
        Word::Name(name) if name == SAMPLE => {
            Err(parser.problem("only what is recorded can be sampled, as in `lull record -e`"))
        }
        _ => Err(parser.no_end()),
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, Error> {
        let words =
            words(text).map_err(|(place, why)| Error { text: text.to_string(), place, why })?;
        Ok(Self { text, words, at: 0, depth: 0 })
    }
}

impl Parser<'_> {
    /// A filter goes on where it cannot.
    pub(crate) fn no_end(&self) -> Error {
        match self.peek() {
            Word::Sign(")") => self.problem("there is no parenthesis that this one ends"),
            _ => self.problem("here could stand && or ||, or the filter could end"),
        }
    }

    /// Steps over the next word and gives it, with its place.
    pub(crate) fn step(&mut self) -> Placed {
        let placed = self.placed().clone();
        self.at += usize::from(placed.word != Word::End);
        placed
    }

    pub(crate) fn placed(&self) -> &Placed {
        // The last word is the end, and nothing goes past it.
        &self.words[self.at.min(self.words.len() - 1)]
    }

    pub(crate) fn peek(&self) -> &Word {
        &self.placed().word
    }

    pub(crate) fn problem(&self, why: &str) -> Error {
        let place = self.placed().place.clone();
        Error { text: self.text.to_string(), place, why: why.into() }
    }

    /// Steps over a sign, if it is the next word.
    pub(crate) fn take(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Word::Sign(next) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    pub(crate) fn or(&mut self) -> Result<Tree, Error> {
        let mut left = self.and()?;
        while self.take("||") {
            left = join(Node::Or, left, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Tree, Error> {
        let mut left = self.comparison()?;
        while self.take("&&") {
            left = join(Node::And, left, self.comparison()?);
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Tree, Error> {
        let left = self.joined(&OPERATORS)?;
        let Some(relation) = self.relation() else { return Ok(left) };
        let right = self.joined(&OPERATORS)?;
        let compared = join(|a, b| Node::Compare(relation, a, b), left, right);
        if RELATIONS.iter().any(|(sign, _)| *self.peek() == Word::Sign(sign)) {
            return Err(self.problem("compare two at a time, and join comparisons by && or ||"));
        }
        Ok(compared)
    }

    /// Steps over a relation, if one is next.
    fn relation(&mut self) -> Option<Relation> {
        let (_, relation) = RELATIONS.into_iter().find(|(sign, _)| self.take(sign))?;
        Some(relation)
    }

    /// What operators join that bind as loosely as the first of `levels`, or tighter.
    fn joined(&mut self, levels: &[&[(&str, Operator)]]) -> Result<Tree, Error> {
        let Some((operators, tighter)) = levels.split_first() else { return self.unary() };
        let mut left = self.joined(tighter)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.take(sign)) {
            left = join(|a, b| Node::Join(*operator, a, b), left, self.joined(tighter)?);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, Error> {
        let begin = self.placed().place.start;
        if self.take("!") {
            let inner = self.deeper(Self::unary)?;
            let place = begin..inner.place.end;
            return Ok(Tree { node: Node::Not(Box::new(inner)), place });
        }
        if self.take("~") {
            return Ok(computed(Operator::Xor, -1, begin, self.deeper(Self::unary)?));
        }
        if self.take("-") {
            return self.negative(begin);
        }
        if self.take("(") {
            let inner = self.deeper(Self::or)?;
            let end = self.placed().place.end;
            if !self.take(")") {
                return Err(self.problem("here could stand a ) for the parenthesis that is open"));
            }
            return Ok(Tree { node: inner.node, place: begin..end });
        }
        let Placed { word, place } = self.placed().clone();
        if matches!(word, Word::Sign(_) | Word::End) {
            return Err(self.problem("here could stand a field, $context, number or \"text\""));
        }
        self.at += 1;
        Ok(Tree { node: Node::Word(word), place })
    }

    /// What stands behind a minus sign that begins at `begin`.
    fn negative(&mut self, begin: usize) -> Result<Tree, Error> {
        if let Placed { word: Word::Number(value @ ..=NEGATIVE_MAX), place } = self.placed() {
            let (node, place) = (Node::Word(Word::Number(-value)), begin..place.end);
            self.at += 1;
            return Ok(Tree { node, place });
        }
        Ok(computed(Operator::Subtract, 0, begin, self.deeper(Self::unary)?))
    }

    fn deeper(&mut self, parse: fn(&mut Self) -> Result<Tree, Error>) -> Result<Tree, Error> {
        if self.depth == DEPTH_MAX {
            return Err(self.problem("parentheses and ! are too deep in one another"));
        }
        self.depth += 1;
        let tree = parse(self);
        self.depth -= 1;
        tree
    }
}

/// A number and what stands behind a sign that begins at `begin`, joined.
fn computed(operator: Operator, number: i128, begin: usize, inner: Tree) -> Tree {
    let place = begin..inner.place.end;
    let number = Tree { node: Node::Word(Word::Number(number)), place: begin..begin + 1 };
    Tree { node: Node::Join(operator, Box::new(number), Box::new(inner)), place }
}

fn join(node: impl Fn(Box<Tree>, Box<Tree>) -> Node, left: Tree, right: Tree) -> Tree {
    let place = left.place.start..right.place.end;
    Tree { node: node(Box::new(left), Box::new(right)), place }
}
