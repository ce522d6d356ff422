// SPDX-License-Identifier: MIT
//! What a request asks: the words behind the question mark.
//!
//! Place in the flow: `answer` reads the query string here, and each question takes the numbers
//! that it needs. Times are nanoseconds since the first event; every number has a bound.

use trace::{Ns, Span};

use crate::patience::Patience;

/// Words that a question may have.
const MOST_WORDS: usize = 256;
/// Parts that a span is cut in, at most: a row of pixels of a very wide screen.
pub(crate) const MOST_PIXELS: u32 = 8192;

/// Which events are wanted, by the words that `lull print` has for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// `-e`: patterns, with filters behind them.
    pub events: Vec<String>,
    /// `--pid`.
    pub pid: Vec<i64>,
    /// `--tid`.
    pub tid: Vec<i64>,
    /// `--cpu`.
    pub cpu: Vec<u32>,
    /// `--comm`.
    pub comm: Vec<String>,
}

/// A span, how many parts it is cut in, and what times of the answer count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub origin: Ns,
    pub from: Ns,
    /// After `from`.
    pub until: Ns,
    /// From 1 to [`MOST_PIXELS`].
    pub pixels: u32,
}

impl Cut {
    pub fn span(&self) -> (Ns, Ns) {
        (self.from, self.until)
    }

    /// How long it is: at least 1, and it fits no 64 bits if it is all of time.
    pub fn width_ns(&self) -> i128 {
        (i128::from(self.until.0) - i128::from(self.from.0)).max(1)
    }

    /// A time as the answer has it.
    pub fn offset(&self, time: Ns) -> i64 {
        time.0.saturating_sub(self.origin.0)
    }
}

/// The words of a request, by which modules make the question that they answer.
pub(crate) struct Ask {
    words: Vec<(String, String)>,
    /// Of the one who asks.
    pub patience: Patience,
}

impl Ask {
    /// A question that is waited for to its end.
    #[cfg(test)]
    pub fn new(query: &str) -> Result<Self, String> {
        Self::by(query, &Patience::default())
    }

    pub fn by(query: &str, patience: &Patience) -> Result<Self, String> {
        let decoded = form_urlencoded::parse(query.as_bytes()).take(MOST_WORDS + 1);
        let words: Vec<_> = decoded.map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
        match words.len() > MOST_WORDS {
            true => Err(format!("a question has at most {MOST_WORDS} words")),
            false => Ok(Self { words, patience: patience.clone() }),
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.words.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.words.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, String> {
        let parse =
            |text: &str| text.parse().map_err(|_| format!("{name}={text} is no such number"));
        self.text(name).filter(|text| !text.is_empty()).map(parse).transpose()
    }

    fn numbers<N: std::str::FromStr>(&self, name: &str) -> Result<Vec<N>, String> {
        let parts = self.all(name).flat_map(|value| value.split(','));
        let parse = |text: &str| {
            text.trim().parse().map_err(|_| format!("{name}: {text} is no such number"))
        };
        parts.map(parse).collect()
    }

    /// Of a running session: the state that the question is about, if it names one.
    pub fn revision(&self) -> Option<u64> {
        self.number("revision").ok().flatten()
    }

    /// A time, which is given as the distance from the first event.
    pub fn time(&self, name: &str, origin: Ns) -> Result<Option<Ns>, String> {
        let offset: Option<i64> = self.number(name)?;
        Ok(offset.map(|offset| Ns(origin.0.saturating_add(offset))))
    }

    /// From `from` to `until`, which both are named.
    pub fn span(&self, origin: Ns) -> Result<(Ns, Ns), String> {
        self.span_of(("from", "until"), origin)
    }

    /// The same by other names.
    pub fn span_of(&self, names: (&str, &str), origin: Ns) -> Result<(Ns, Ns), String> {
        match (self.time(names.0, origin)?, self.time(names.1, origin)?) {
            (Some(from), Some(until)) if from < until => Ok((from, until)),
            _ => Err(format!(
                "a span has {first} and {last}, and {first} is before {last}",
                first = names.0,
                last = names.1
            )),
        }
    }

    fn pixels(&self) -> Result<u32, String> {
        match self.number("pixels")? {
            Some(pixels) if (1..=MOST_PIXELS).contains(&pixels) => Ok(pixels),
            _ => Err(format!("pixels is a number from 1 to {MOST_PIXELS}")),
        }
    }

    pub fn cut(&self, origin: Ns) -> Result<Cut, String> {
        let (from, until) = self.span(origin)?;
        Ok(Cut { origin, from, until, pixels: self.pixels()? })
    }

    pub fn filter(&self) -> Result<Filter, String> {
        Ok(Filter {
            events: self.all("e").map(str::to_string).collect(),
            pid: self.numbers("pid")?,
            tid: self.numbers("tid")?,
            cpu: self.numbers("cpu")?,
            comm: self.all("comm").map(str::to_string).collect(),
        })
    }
}

/// From one time on, and before another.
pub(crate) fn between((from, until): (Ns, Ns)) -> Span {
    Span { from: Some(from), until: Some(until) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_has_the_words_of_the_command_line() {
        let ask = Ask::new("e=a%3A*+if+ret+%3C+0&e=!b&pid=1,2&pid=3&comm=git*&cpu=").unwrap();
        let filter = ask.filter().unwrap();
        assert_eq!(filter.events, ["a:* if ret < 0", "!b"]);
        assert_eq!((filter.pid, filter.comm), (vec![1, 2, 3], vec!["git*".to_string()]));
        assert!(filter.cpu.is_empty());
    }

    #[test]
    fn numbers_that_are_none_and_spans_that_end_before_they_begin_are_refused() {
        for query in ["", "from=1", "from=5&until=5", "from=9&until=1", "from=x&until=2"] {
            assert!(Ask::new(query).unwrap().span(Ns(0)).is_err(), "{query}");
        }
        let ask = Ask::new("from=-5&until=9223372036854775807&pixels=9000&tid=x").unwrap();
        assert_eq!(ask.span(Ns(7)), Ok((Ns(2), Ns(i64::MAX))));
        assert!(ask.pixels().is_err() && ask.filter().is_err());
        assert!(Ask::new(&"a=1&".repeat(300)).is_err());
    }
}
