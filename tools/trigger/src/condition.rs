// SPDX-License-Identifier: MIT
//! The grammar of conditions.
//!
//! ```text
//! condition = "crash"
//!           | PAIR ">" TIME [ "if" FILTER ]
//!           | clause
//!           | clause "then" clause "within" TIME [ "without" clause ]
//! clause    = PATTERN [ "if" FILTER ]
//! ```
//!
//! Place in the flow: the argument of --on -> **condition**. The words `if`, `then`, `within` and
//! `without` end a filter unless they stand in its quotes or parentheses.

use crate::words::{demands, words};
use crate::{Error, ReadDuration};
use filter::Filter;
use std::ops::Range;

const ARGUMENT: &str = "--on";
const CRASH: &str = "crash";
const KEYWORDS: [&str; 4] = ["if", "then", "within", "without"];
/// Longer texts are refused: people read conditions.
const TEXT_BYTES_MAX: usize = 8192;
/// Characters by which a pattern means more than one event.
const GLOB: [char; 4] = ['*', '?', '[', ']'];

/// An event that a condition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    pub pattern: String,
    pub filter: Option<Filter>,
}

/// A part of a call's filter: what `&&` joins may be of the entry's fields or of the exit's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    pub filter: Filter,
    /// Where it stands in the condition's text.
    pub at: usize,
}

/// One event after another, in one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub first: Clause,
    pub then: Clause,
    pub within_ns: u64,
    pub without: Option<Clause>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It happened.
    Event(Clause),
    /// A call, named as its entry and its exit are called without their ends, took longer.
    Latency {
        pair: String,
        longer_than_ns: u64,
        /// What its entry or its exit has to meet.
        demands: Vec<Demand>,
    },
    Order(Box<Order>),
    /// A program was ended by a signal.
    Crash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub text: String,
    pub kind: Kind,
}

impl Clause {
    /// As -e takes it.
    pub fn argument(&self) -> String {
        match &self.filter {
            Some(filter) => format!("{} if {}", self.pattern, filter.text()),
            None => self.pattern.clone(),
        }
    }

    /// Whether two clauses may mean the same event: up to their first wildcards they are alike.
    pub fn may_meet(&self, other: &Clause) -> bool {
        let literal = |clause: &Clause| {
            let name = clause.pattern.split('@').next().unwrap_or_default();
            let end = name.find(GLOB);
            (name[..end.unwrap_or(name.len())].to_string(), end.is_some())
        };
        let ((one, is_open), (two, is_other_open)) = (literal(self), literal(other));
        match (is_open, is_other_open) {
            (false, false) => one == two,
            (true, false) => two.starts_with(&one),
            (false, true) => one.starts_with(&two),
            (true, true) => one.starts_with(&two) || two.starts_with(&one),
        }
    }
}

impl Condition {
    pub fn parse(text: &str, duration: ReadDuration) -> Result<Self, Error> {
        if text.len() > TEXT_BYTES_MAX {
            let why = format!("it has more than {TEXT_BYTES_MAX} bytes");
            return Err(Error { argument: ARGUMENT, text: String::new(), place: 0..0, why });
        }
        if let Some(at) = text.find('\0') {
            let why = "it has a NUL".to_string();
            return Err(Error { argument: ARGUMENT, text: text.into(), place: at..at + 1, why });
        }
        let parser = Parser { text, words: words(text), at: 0, duration };
        Ok(Self { text: text.trim().to_string(), kind: parser.kind()? })
    }

    /// The clauses, in the order in which they stand.
    pub fn clauses(&self) -> Vec<&Clause> {
        match &self.kind {
            Kind::Event(clause) => vec![clause],
            Kind::Order(order) => {
                [&order.first, &order.then].into_iter().chain(&order.without).collect()
            }
            Kind::Latency { .. } | Kind::Crash => Vec::new(),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<Range<usize>>,
    at: usize,
    duration: ReadDuration,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.text.get(self.words.get(self.at)?.clone())
    }

    fn error(&self, place: Range<usize>, why: impl Into<String>) -> Error {
        Error { argument: ARGUMENT, text: self.text.to_string(), place, why: why.into() }
    }

    /// What is wrong with the next word, or with the end where there is none.
    fn problem(&self, why: impl Into<String>) -> Error {
        let end = self.text.len()..self.text.len();
        self.error(self.words.get(self.at).cloned().unwrap_or(end), why)
    }

    fn take(&mut self, keyword: &str) -> bool {
        let is_next = self.peek() == Some(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    fn kind(mut self) -> Result<Kind, Error> {
        let text = |word: &Range<usize>| self.text.get(word.clone()).unwrap_or_default();
        let is_keyword = |word: &Range<usize>| KEYWORDS.contains(&text(word));
        let keyword_at = self.words.iter().position(is_keyword);
        let keyword = keyword_at.and_then(|at| self.words.get(at));
        if keyword.is_none() && self.text.trim() == CRASH {
            return Ok(Kind::Crash);
        }
        if keyword.is_none_or(|word| text(word) == "if") {
            let until = keyword.map_or(self.text.len(), |word| word.start);
            if let Some(sign) = self.text.get(..until).and_then(|before| before.find('>')) {
                self.at = keyword_at.unwrap_or(self.words.len());
                return self.latency(sign, until);
            }
        }
        let first = self.clause()?;
        if !self.take("then") {
            return match self.peek() {
                None => Ok(Kind::Event(first)),
                Some(_) => Err(self.problem("here could stand `if`, `then`, or the end")),
            };
        }
        let then = self.clause()?;
        if !self.take("within") {
            return Err(self.problem(
                "here could stand `within` and a time, as in `within 10ms`: how long after the \
                 first event the second counts",
            ));
        }
        let within_ns = self.time()?;
        let without = if self.take("without") { Some(self.clause()?) } else { None };
        match self.peek() {
            None => Ok(Kind::Order(Box::new(Order { first, then, within_ns, without }))),
            Some(_) => Err(self.problem("here could stand `without`, or the end")),
        }
    }

    /// What stands on both sides of a `>`, the time `until` the end or an `if`, which is next then.
    fn latency(mut self, sign: usize, until: usize) -> Result<Kind, Error> {
        let (before, behind) = (&self.text[..sign], &self.text[sign + 1..until]);
        let pair = before.trim();
        let begin = before.len() - before.trim_start().len();
        let place = begin..begin + pair.len();
        if pair.is_empty() || pair.contains(char::is_whitespace) || pair.contains(GLOB) {
            let why = "before > stands the name of one call, such as io:read for io:read_entry \
                       and io:read_exit";
            return Err(self.error(place, why));
        }
        let time = behind.trim();
        let begin = sign + 1 + (behind.len() - behind.trim_start().len());
        let longer = (self.duration)(time).map_err(|why| {
            self.error(begin..begin + time.len(), format!("behind > stands a time: {why}"))
        })?;
        let demands = if self.take("if") { self.demands()? } else { Vec::new() };
        if self.peek().is_some() {
            return Err(self.problem("here could stand the end: a call's time is of no order"));
        }
        let (pair, longer_than_ns) = (pair.to_string(), nanoseconds(longer));
        Ok(Kind::Latency { pair, longer_than_ns, demands })
    }

    /// A call's filter, in parts.
    fn demands(&mut self) -> Result<Vec<Demand>, Error> {
        let (begin, filter) = self.filter()?;
        // Places are in the text as it is kept.
        let blank = self.text.len() - self.text.trim_start().len();
        let demand = |place: Range<usize>| {
            let part = Filter::parse(filter.text().get(place.clone())?).ok()?;
            Some(Demand { filter: part, at: begin + place.start - blank })
        };
        let parts: Option<Vec<Demand>> = demands(filter.text()).into_iter().map(demand).collect();
        Ok(parts.unwrap_or_else(|| vec![Demand { filter, at: begin - blank }]))
    }

    fn clause(&mut self) -> Result<Clause, Error> {
        let pattern = match self.peek() {
            Some(word) if !KEYWORDS.contains(&word) => word,
            _ => return Err(self.problem("here could stand an event, such as io:read_exit")),
        };
        if pattern == CRASH {
            return Err(self.problem(
                "`crash` stands alone: it takes no filter, and no event comes before or after it",
            ));
        }
        if pattern.starts_with('!') {
            return Err(self.problem("an event that happens is named, and none is left out"));
        }
        if pattern.contains(['"', '(', ')', '>', '<', '=']) {
            return Err(self.problem("this is no event's name; a filter stands behind `if`"));
        }
        self.at += 1;
        if !self.take("if") {
            return Ok(Clause { pattern: pattern.to_string(), filter: None });
        }
        let (_, filter) = self.filter()?;
        Ok(Clause { pattern: pattern.to_string(), filter: Some(filter) })
    }

    /// What stands behind an `if`, and where.
    fn filter(&mut self) -> Result<(usize, Filter), Error> {
        let is_end = |word: &Range<usize>| {
            self.text.get(word.clone()).is_some_and(|word| KEYWORDS.contains(&word))
        };
        let rest = self.words.get(self.at..).unwrap_or_default();
        let count = rest.iter().position(is_end).unwrap_or(rest.len());
        let (Some(first), true) = (rest.first(), count > 0) else {
            return Err(self.problem("here could stand a filter, such as `ret < 0`"));
        };
        let begin = first.start;
        let end = rest.get(count - 1).map_or(begin, |word| word.end);
        self.at += count;
        let filter = Filter::parse(self.text.get(begin..end).unwrap_or_default());
        let filter = filter
            .map_err(|e| self.error(begin + e.place.start..begin + e.place.end, e.why.as_str()))?;
        Ok((begin, filter))
    }

    /// A time, which may be two words.
    fn time(&mut self) -> Result<u64, Error> {
        let begin = self.at;
        while self.peek().is_some_and(|word| !KEYWORDS.contains(&word)) {
            self.at += 1;
        }
        let taken = self.words.get(begin..self.at).unwrap_or_default();
        let (Some(first), Some(last)) = (taken.first(), taken.last()) else {
            return Err(self.problem("here could stand a time, such as 10ms"));
        };
        let place = first.start..last.end;
        let text = self.text.get(place.clone()).unwrap_or_default();
        (self.duration)(text).map(nanoseconds).map_err(|why| self.error(place, why))
    }
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
