// SPDX-License-Identifier: MIT
//! The words of a filter's text, each with its place.
//!
//! Place in the flow: text -> **words** -> `parser`. The text is a user's: any bytes.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// A field, a context, a label of an enumeration or the name of a system call.
    Name(String),
    /// `$NAME`: a context.
    Context(String),
    Number(i128),
    Text(Text),
    /// An operator or a parenthesis.
    Sign(&'static str),
    End,
}

/// What stood in quotes. Which of it counts, the relation says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// Its characters, without a star that ended it.
    pub literal: String,
    /// A star ended it: what begins with the text.
    pub is_prefix: bool,
    /// The first star.
    pub star: Option<Range<usize>>,
    /// As a glob: with stars, question marks, and a backslash before what means itself.
    pub glob: String,
    /// Whether the glob has more than a star at its end.
    pub is_glob: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub word: Word,
    pub place: Range<usize>,
}

/// The longer first, because the first that fits is taken.
const SIGNS: [&str; 23] = [
    "==", "=~", "!=", "<=", ">=", "<<", ">>", "&&", "||", "<", ">", "&", "|", "^", "~", "!", "(",
    ")", "+", "-", "*", "/", "%",
];

/// What looks like one of the signs and is none, with what to write.
const MISTAKEN: [(&str, &str); 2] = [("=", "write == to compare"), ("'", "write \" around a text")];

type Problem = (Range<usize>, String);

/// All words, with [`Word::End`] last.
pub(crate) fn words(text: &str) -> Result<Vec<Placed>, Problem> {
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_start().len();
        let placed = next(text, at)?;
        at = placed.place.end;
        let is_end = placed.word == Word::End;
        words.push(placed);
        if is_end {
            return Ok(words);
        }
    }
}

fn next(text: &str, at: usize) -> Result<Placed, Problem> {
    let rest = text.get(at..).unwrap_or_default();
    let placed = |word, bytes| Ok(Placed { word, place: at..at + bytes });
    let Some(first) = rest.chars().next() else { return placed(Word::End, 0) };
    if first == '"' {
        return quoted(rest, at);
    }
    if first.is_ascii_digit() {
        return number(rest, at);
    }
    let name = name_of(rest);
    if !name.is_empty() {
        return placed(Word::Name(name.into()), name.len());
    }
    if let Some(name) = rest.strip_prefix('$').map(name_of) {
        if name.is_empty() {
            return Err((at..at + 1, "after $ stands the name of a context, as in $pid".into()));
        }
        return placed(Word::Context(name.into()), 1 + name.len());
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return placed(Word::Sign(sign), sign.len());
    }
    let place = at..at + first.len_utf8();
    let mistaken = MISTAKEN.iter().find(|(sign, _)| rest.starts_with(sign));
    let why = mistaken.map_or("this is part of no filter", |(_, why)| why);
    Err((place, why.into()))
}

/// The letters, digits and underscores that a text begins with.
fn name_of(text: &str) -> &str {
    let until = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..until.unwrap_or(text.len())]
}

fn number(rest: &str, at: usize) -> Result<Placed, Problem> {
    let word = name_of(rest);
    let place = at..at + word.len();
    // As C writes numbers, and as they are printed.
    let value = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None if word.len() > 1 && word.starts_with('0') => u64::from_str_radix(word, 8),
        None => word.parse::<u64>(),
    };
    match value {
        Ok(value) => Ok(Placed { word: Word::Number(value.into()), place }),
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
            Err((place, "a number has 64 bits at most".into()))
        }
        Err(_) => Err((place, "this is no number; one is 42, 0x2a or 052".into())),
    }
}

/// A text in quotes, where a backslash takes the meaning from the character behind it.
fn quoted(rest: &str, at: usize) -> Result<Placed, Problem> {
    let mut text = Text::default();
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        if character == '"' {
            let place = at..at + index + 1;
            return Ok(Placed { word: Word::Text(text), place });
        }
        let character = match character {
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\' | '*' | '?'))) => escaped,
                _ => {
                    let why = "after a backslash stands \", *, ? or another backslash";
                    return Err((at + index..at + index + 1, why.into()));
                }
            },
            wild @ ('*' | '?') => {
                text.wild(wild, at + index);
                continue;
            }
            character => character,
        };
        text.add(character);
    }
    Err((at..at + 1, "the text that begins here has no \" at its end".into()))
}

impl Text {
    /// Anything behind a star that ended the text so far: it was none of its end.
    fn go_on(&mut self) {
        if self.is_prefix {
            self.is_prefix = false;
            self.is_glob = true;
            self.literal.push('*');
        }
    }

    fn add(&mut self, character: char) {
        self.go_on();
        self.literal.push(character);
        if matches!(character, '*' | '?' | '\\') {
            self.glob.push('\\');
        }
        self.glob.push(character);
    }

    fn wild(&mut self, character: char, at: usize) {
        self.go_on();
        self.glob.push(character);
        if character == '?' {
            self.is_glob = true;
            self.literal.push(character);
        } else {
            self.is_prefix = true;
            self.star = self.star.take().or(Some(at..at + 1));
        }
    }
}
