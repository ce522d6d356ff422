// SPDX-License-Identifier: MIT
//! The grammar: words become a tree.
//!
//! ```text
//! or         = and { "||" and }
//! and        = comparison { "&&" comparison }
//! comparison = bits [ ( "==" | "!=" | "=~" | "<" | "<=" | ">" | ">=" ) bits ]
//! bits       = unary { "&" unary }
//! unary      = "!" unary | "(" or ")" | ["-"] number | text | name | "$" name
//! ```
//!
//! Place in the flow: `lexer` -> **tree** -> `unlinked`.

use crate::lexer::{words, Placed, Word};
use crate::Error;
use std::ops::Range;

/// How deep parentheses and negations may be in one another: the parser recurses.
const DEPTH_MAX: u32 = 64;

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Or(Box<Tree>, Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Compare(Relation, Box<Tree>, Box<Tree>),
    Bits(Box<Tree>, Box<Tree>),
    /// A leaf: no [`Word::Sign`] and no [`Word::End`].
    Word(Word),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    pub node: Node,
    pub place: Range<usize>,
}

struct Parser<'a> {
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

pub(crate) fn parse(text: &str) -> Result<Tree, Error> {
    let words = words(text).map_err(|(place, why)| Error { text: text.to_string(), place, why })?;
    let mut parser = Parser { text, words, at: 0, depth: 0 };
    let tree = parser.or()?;
    match parser.peek() {
        Word::End => Ok(tree),
        Word::Sign(")") => Err(parser.problem("there is no parenthesis that this one ends")),
        _ => Err(parser.problem("here could stand && or ||, or the filter could end")),
    }
}

impl Parser<'_> {
    fn placed(&self) -> &Placed {
        // The last word is the end, and nothing goes past it.
        &self.words[self.at.min(self.words.len() - 1)]
    }

    fn peek(&self) -> &Word {
        &self.placed().word
    }

    fn problem(&self, why: &str) -> Error {
        let place = self.placed().place.clone();
        Error { text: self.text.to_string(), place, why: why.into() }
    }

    /// Steps over a sign, if it is the next word.
    fn take(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Word::Sign(next) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn or(&mut self) -> Result<Tree, Error> {
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
        let left = self.bits()?;
        let Some(relation) = self.relation() else { return Ok(left) };
        let compared = join(|a, b| Node::Compare(relation, a, b), left, self.bits()?);
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

    fn bits(&mut self) -> Result<Tree, Error> {
        let mut left = self.unary()?;
        while self.take("&") {
            left = join(Node::Bits, left, self.unary()?);
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
        if self.take("(") {
            let inner = self.deeper(Self::or)?;
            let end = self.placed().place.end;
            if !self.take(")") {
                return Err(self.problem("here could stand a ) for the parenthesis that is open"));
            }
            return Ok(Tree { node: inner.node, place: begin..end });
        }
        let is_negative = self.take("-");
        let Placed { word, place } = self.placed().clone();
        let word = match word {
            Word::Number(value) if is_negative && value <= 1 << 63 => Word::Number(-value),
            Word::Number(_) if is_negative => {
                return Err(self.problem("a number has 64 bits at most"))
            }
            _ if is_negative => return Err(self.problem("after - stands a number")),
            Word::Sign(_) | Word::End => {
                return Err(self.problem("here could stand a field, $context, number or \"text\""))
            }
            word => word,
        };
        self.at += 1;
        Ok(Tree { node: Node::Word(word), place: begin..place.end })
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

fn join(node: impl Fn(Box<Tree>, Box<Tree>) -> Node, left: Tree, right: Tree) -> Tree {
    let place = left.place.start..right.place.end;
    Tree { node: node(Box::new(left), Box::new(right)), place }
}
