// SPDX-License-Identifier: MIT
//! What stands behind a pattern of -e: which of the occurrences are recorded.
//!
//! ```text
//! choice = [ "if" or ] [ "sample" "1" "/" number ]
//! ```
//!
//! Place in the flow: `lull record` and `lull start` read each argument of -e by this. No filter
//! can go on with a name, so a filter's field may be called `sample`, too.

use crate::lexer::Word;
use crate::parser::{Parser, Tree};
use crate::unlinked::Unlinked;
use crate::{Error, Filter, TEXT_BYTES_MAX};
use std::fmt;
use std::ops::Range;

const IF: &str = "if";
pub(crate) const SAMPLE: &str = "sample";
/// `LULL_SAMPLE_MAX`.
const ONE_IN_MAX: u32 = session::abi::SAMPLE_MAX;
const NEEDS: &str = "behind sample stands 1/N, of which N is 1 to 1000000, as in sample 1/100";

/// One in so many occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample(u32);

impl Sample {
    /// Every occurrence.
    pub const ALL: Self = Self(1);

    pub fn one_in(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "1/{}", self.0)
    }
}

/// Which occurrences of the events of a pattern are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub filter: Option<Filter>,
    pub sample: Sample,
}

impl Choice {
    /// Every occurrence.
    pub const ALL: Self = Self { filter: None, sample: Sample::ALL };

    /// What an argument of -e says of its pattern, and the pattern, which has no blanks inside.
    pub fn split(argument: &str) -> (&str, &str) {
        let of_word = |word: &str| {
            let places = argument.match_indices(word);
            let is_word = |at: &usize| {
                let (before, after) = (&argument[..*at], &argument[at + word.len()..]);
                before.ends_with(char::is_whitespace)
                    && !before.trim().is_empty()
                    && (after.is_empty() || after.starts_with(char::is_whitespace))
            };
            places.map(|(at, _)| at).find(is_word)
        };
        let first = [IF, SAMPLE].into_iter().filter_map(of_word).min();
        first.map_or((argument, ""), |at| (argument[..at].trim(), &argument[at..]))
    }

    /// Reads what stands behind a pattern: nothing, a filter, a rate, or both.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(crate::too_long());
        }
        // The words "if" and those behind it are a filter's text, which messages begin with.
        let (has_filter, text) = match text.strip_prefix(IF) {
            Some(filter) => (true, filter.strip_prefix(' ').unwrap_or(filter)),
            None => (false, text),
        };
        let mut parser = Parser::new(text)?;
        let tree = has_filter.then(|| parser.or()).transpose()?;
        let until = parser.placed().place.start;
        let sample = rate(&mut parser)?;
        let written = if sample.is_some() { text[..until].trim_end() } else { text };
        let filter = tree.map(|tree| filter_of(written, &tree)).transpose()?;
        Ok(Self { filter, sample: sample.unwrap_or(Sample::ALL) })
    }
}

fn filter_of(text: &str, tree: &Tree) -> Result<Filter, Error> {
    Ok(Filter { text: text.to_string(), unlinked: Unlinked::new(text, tree)? })
}

/// The rest of the words: none, or a rate.
fn rate(parser: &mut Parser) -> Result<Option<Sample>, Error> {
    match parser.peek() {
        Word::End => return Ok(None),
        Word::Name(name) if name == SAMPLE => {}
        _ => return Err(parser.no_end()),
    }
    let begin = parser.step().place.start;
    let until = |parser: &Parser| begin..parser.placed().place.end;
    let is_one = parser.step().word == Word::Number(1);
    let is_part = parser.take("/");
    let place: Range<usize> = until(parser);
    let Word::Number(number) = parser.step().word else { return Err(error(parser, place)) };
    let one_in =
        u32::try_from(number).ok().filter(|n| is_one && is_part && (1..=ONE_IN_MAX).contains(n));
    let sample = one_in.map(Sample).ok_or_else(|| error(parser, place))?;
    match parser.peek() {
        Word::End => Ok(Some(sample)),
        _ => Err(parser.problem("a rate ends the argument; a filter stands before it")),
    }
}

fn error(parser: &Parser, place: Range<usize>) -> Error {
    Error { place, ..parser.problem(NEEDS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(argument: &str) -> Result<(String, Option<String>, u32), String> {
        let (pattern, rest) = Choice::split(argument);
        let Choice { filter, sample } = Choice::parse(rest).map_err(|error| error.to_string())?;
        let filter = filter.map(|filter| filter.text().to_string());
        Ok((pattern.to_string(), filter, sample.one_in()))
    }

    #[test]
    fn filter_and_rate_stand_behind_a_pattern_in_this_order_and_either_may_be_absent() {
        let all = |argument| choice(argument).unwrap();
        let some = |text: &str| Some(text.to_string());
        assert_eq!(all("a:*"), ("a:*".into(), None, 1));
        assert_eq!(all("a:* sample 1/100"), ("a:*".into(), None, 100));
        assert_eq!(all(" a:b  if x > 1  sample 1 / 2 "), ("a:b".into(), some("x > 1"), 2));
        assert_eq!(all("a:b if x > 1 sample 1/1000000"), ("a:b".into(), some("x > 1"), 1_000_000));
    }

    #[test]
    fn field_may_be_called_sample_and_a_text_may_have_a_rate_in_it() {
        let filter = |argument| choice(argument).unwrap().1.unwrap();
        assert_eq!(filter("a:b if sample == 1"), "sample == 1");
        assert_eq!(filter("a:b if x == 1 && sample"), "x == 1 && sample");
        assert_eq!(filter("a:b if x == \" sample 1/2\""), "x == \" sample 1/2\"");
        let found = choice("a:b if sample sample 1/3").unwrap();
        assert_eq!((found.1.unwrap().as_str(), found.2), ("sample", 3));
    }

    #[test]
    fn rate_that_is_none_is_marked_in_the_text() {
        for rate in ["", "2/3", "1/0", "1/1000001", "1/-1", "1", "1/", "100", "1/x", "0x1/0"] {
            let told = choice(&format!("a:b sample {rate}")).unwrap_err();
            assert!(told.contains("behind sample stands 1/N"), "{rate}: {told}");
            assert!(told.contains("sample"), "{told}");
        }
        let told = choice("a:b if x > 1 sample 2/3").unwrap_err();
        assert!(told.ends_with("  x > 1 sample 2/3\n        ^^^^^^^^^^"), "{told}");
        let told = choice("a:b sample 1/2 if x > 1").unwrap_err();
        assert!(told.contains("a filter stands before it"), "{told}");
        assert!(choice("a:b if sample 1/2").unwrap_err().contains("could end"));
    }

    #[test]
    fn what_is_read_is_not_sampled() {
        let told = Filter::parse("x > 1 sample 1/2").unwrap_err().to_string();
        assert!(told.contains("only what is recorded can be sampled"), "{told}");
    }
}
