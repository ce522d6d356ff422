// SPDX-License-Identifier: MIT
//! What the body of a request asks.
//!
//! Place in the flow: `routes` parses a body here, and each output takes the parameters that it
//! needs. Every list has a bound; words that are not known are left alone, because clients send
//! more than the protocol names.

use std::collections::BTreeMap;

use history::History;
use serde::Deserialize;
use trace::Ns;

use crate::ask::{Cut, MOST_PIXELS};

/// Rows and series that one question is about.
pub(super) const MOST_ITEMS: usize = 20_000;
/// Times that a span may be given by.
const MOST_TIMES: usize = 1 << 16;
/// Texts to look for in one question, and the length of each.
const MOST_EXPRESSIONS: usize = 16;
const MOST_EXPRESSION_BYTES: usize = 1024;

#[derive(Deserialize)]
struct Body {
    parameters: Query,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct TimeRange {
    start: i64,
    end: i64,
    #[serde(rename = "nbTimes")]
    count: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Element {
    #[serde(rename = "elementType")]
    pub kind: String,
}

#[derive(Debug, Default, Deserialize)]
struct Filters {
    filter_expressions_map: Option<BTreeMap<String, Vec<String>>>,
}

/// The parameters of a question.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Query {
    pub name: Option<String>,
    pub uri: Option<String>,
    pub traces: Option<Vec<String>>,
    requested_timerange: Option<TimeRange>,
    requested_times: Option<Vec<i64>>,
    requested_items: Option<Vec<i64>>,
    pub requested_element: Option<Element>,
    pub requested_marker_categories: Option<Vec<String>>,
    pub requested_table_index: Option<i64>,
    pub requested_table_count: Option<i64>,
    pub requested_table_column_ids: Option<Vec<i64>>,
    pub table_search_expressions: Option<BTreeMap<String, String>>,
    pub table_search_direction: Option<String>,
    filter_query_parameters: Option<Filters>,
}

impl Query {
    /// What has a name here is not deep; the rest is skipped without a stack of it.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let query = body.parameters;
        let expressions = query.expressions().flat_map(|(_, texts)| texts);
        let texts = query.table_search_expressions.iter().flat_map(BTreeMap::values);
        let mut count = 0;
        for text in expressions.chain(texts) {
            count += 1;
            if count > MOST_EXPRESSIONS || text.len() > MOST_EXPRESSION_BYTES {
                return Err(format!(
                    "at most {MOST_EXPRESSIONS} texts of {MOST_EXPRESSION_BYTES} bytes are sought"
                ));
            }
        }
        Ok(query)
    }

    /// The span and its parts, with times as the clock has them. The last time is inside.
    pub fn cut(&self) -> Result<Cut, String> {
        let (start, end, count) = match (&self.requested_timerange, &self.requested_times) {
            (Some(range), _) => (range.start, range.end, range.count.unwrap_or(1)),
            (None, Some(times)) if times.len() > MOST_TIMES => {
                return Err(format!("at most {MOST_TIMES} times are answered at once"));
            }
            (None, Some(times)) => match (times.iter().min(), times.iter().max()) {
                (Some(start), Some(end)) => (*start, *end, times.len() as u32),
                _ => return Err("requested_times are none".into()),
            },
            (None, None) => return Err("there is no requested_timerange".into()),
        };
        if start > end {
            return Err("requested_timerange ends before it begins".into());
        }
        let (from, until) = (start.min(i64::MAX - 1), end.saturating_add(1));
        let pixels = count.clamp(1, MOST_PIXELS);
        Ok(Cut { origin: Ns(0), from: Ns(from), until: Ns(until), pixels })
    }

    /// The same, or all of the time if none is named.
    pub fn cut_or_all(&self, history: &History) -> Result<Cut, String> {
        if self.requested_timerange.is_none() && self.requested_times.is_none() {
            let (from, until) = (history.begin(), Ns(history.end().0.saturating_add(1)));
            return Ok(Cut { origin: Ns(0), from, until, pixels: 1 });
        }
        self.cut()
    }

    /// The only time, or the first one.
    pub fn time(&self) -> Option<Ns> {
        self.requested_times.as_ref()?.first().map(|time| Ns(*time))
    }

    pub fn items(&self) -> Result<&[i64], String> {
        match self.requested_items.as_deref().unwrap_or(&[]) {
            items if items.len() > MOST_ITEMS => {
                Err(format!("at most {MOST_ITEMS} items are answered at once"))
            }
            items => Ok(items),
        }
    }

    /// Texts that states are to have, by what is done with those that have none of them.
    fn expressions(&self) -> impl Iterator<Item = (&str, &[String])> {
        let filters = self.filter_query_parameters.as_ref();
        let map = filters.and_then(|filters| filters.filter_expressions_map.as_ref());
        map.into_iter().flatten().map(|(key, texts)| (key.as_str(), texts.as_slice()))
    }

    /// Texts of one key of the map of filters, in small letters.
    pub fn texts(&self, wanted: &str) -> Vec<String> {
        let found = self.expressions().filter(|(key, _)| *key == wanted);
        found.flat_map(|(_, texts)| texts).map(|text| text.to_lowercase()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(parameters: &str) -> Result<Query, String> {
        Query::parse(format!("{{\"parameters\":{parameters}}}").as_bytes())
    }

    #[test]
    fn spans_are_ranges_or_times() {
        let cut = |text: &str| parse(text).and_then(|query| query.cut());
        let wanted = Cut { origin: Ns(0), from: Ns(5), until: Ns(10), pixels: 3 };
        let range = r#"{"requested_timerange":{"start":5,"end":9,"nbTimes":3},"more":[1]}"#;
        assert_eq!(cut(range), Ok(wanted));
        assert_eq!(cut(r#"{"requested_times":[9,7,5]}"#), Ok(wanted));
        let all = r#"{"requested_timerange":{"start":-9223372036854775808,
            "end":9223372036854775807,"nbTimes":4294967295}}"#;
        let all = cut(all).unwrap();
        assert_eq!((all.from, all.until, all.pixels), (Ns(i64::MIN), Ns(i64::MAX), MOST_PIXELS));
        let end = r#"{"requested_times":[9223372036854775807]}"#;
        let end = cut(end).unwrap();
        assert!(end.from < end.until);
        for text in [
            "{}",
            r#"{"requested_times":[]}"#,
            r#"{"requested_timerange":{"start":5}}"#,
            r#"{"requested_timerange":{"start":5,"end":4}}"#,
            r#"{"requested_timerange":{"start":5.5,"end":9}}"#,
            r#"{"requested_timerange":{"start":5,"end":99999999999999999999}}"#,
        ] {
            assert!(cut(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_too_much_or_too_deep_is_refused() {
        let deep = |word: &str| {
            let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
            parse(&format!(r#"{{"{word}":{open}1{close}}}"#))
        };
        assert!(deep("requested_items").is_err());
        assert!(deep("unknown").is_ok(), "it is skipped, however deep it is");
        assert!(Query::parse(b"").is_err() && Query::parse(b"{}").is_err());
        let items = format!(r#"{{"requested_items":[1{}]}}"#, ",1".repeat(MOST_ITEMS));
        assert!(parse(&items).unwrap().items().is_err());
        let times = format!(r#"{{"requested_times":[1{}]}}"#, ",1".repeat(MOST_TIMES));
        assert!(parse(&times).unwrap().cut().is_err());
        let long = "x".repeat(MOST_EXPRESSION_BYTES + 1);
        assert!(parse(&format!(r#"{{"table_search_expressions":{{"1":"{long}"}}}}"#)).is_err());
        let many = format!(
            r#"{{"filter_query_parameters":{{"filter_expressions_map":{{"1":["a"{}]}}}}}}"#,
            ",\"a\"".repeat(MOST_EXPRESSIONS)
        );
        assert!(parse(&many).is_err());
    }
}
