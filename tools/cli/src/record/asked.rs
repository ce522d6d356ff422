// SPDX-License-Identifier: MIT
//! What the arguments of -e ask for: patterns, and filters behind them.
//!
//! Place in the flow: `plan` takes the arguments apart before anything is made; `kernel` compiles
//! the filters for the kernel's events that it records, `filtered` gives them to programs.

use crate::elf::Known;
use anyhow::bail;
use filter::{Compiled, Filter};
use session::description::Description;
use session::pattern::Patterns;
use verdict::text::plural;

/// What stands between a pattern, which has no blanks, and its filter.
const IF: &str = " if ";

pub struct Asked {
    /// Without their filters.
    patterns: Vec<String>,
    /// By pattern.
    filters: Vec<Option<Filter>>,
}

impl Asked {
    pub fn new(arguments: &[String]) -> anyhow::Result<Self> {
        let (mut patterns, mut filters) = (Vec::new(), Vec::new());
        for argument in arguments {
            let (pattern, text) = match argument.split_once(IF) {
                Some((pattern, text)) => (pattern.trim(), Some(text)),
                None => (argument.as_str(), None),
            };
            if text.is_some() && pattern.starts_with('!') {
                bail!("-e '{argument}': a pattern that leaves events out takes no filter");
            }
            patterns.push(pattern.to_string());
            filters.push(text.map(Filter::parse).transpose()?);
        }
        Ok(Self { patterns, filters })
    }

    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    pub fn has_filters(&self) -> bool {
        self.filters.iter().any(Option::is_some)
    }

    /// Of events, which are to be recorded and have a level, those that a filter decides on, with
    /// what it comes to for each. The last pattern that matches an event says which filter it has.
    pub fn compile<'a>(
        &self,
        events: &[&'a Known],
    ) -> Result<Vec<(&'a Known, Compiled)>, filter::Error> {
        let mut decided = Vec::new();
        for (index, filter) in self.filters.iter().enumerate() {
            let Some(filter) = filter else { continue };
            let is_its = |known: &&&'a Known| {
                self.deciding(&[&known.event.name], known.event.level) == Some(index)
            };
            let its: Vec<&Known> = events.iter().filter(is_its).copied().collect();
            let descriptions: Vec<&Description> = its.iter().map(|known| &known.event).collect();
            decided.extend(its.iter().copied().zip(filter.compile(&descriptions)?));
        }
        Ok(decided)
    }

    /// The filter that decides about an event, with the pattern's number.
    pub fn filter_of(&self, name: &str, level: u8) -> Option<(usize, &Filter)> {
        let index = self.deciding(&[name], level)?;
        Some((index, self.filters.get(index)?.as_ref()?))
    }

    /// The last pattern that matches one of an event's names.
    pub fn deciding(&self, names: &[&str], level: u8) -> Option<usize> {
        self.patterns.iter().rposition(|pattern| {
            let rule = pattern.strip_prefix('!').unwrap_or(pattern);
            names.iter().any(|name| Patterns::alone_matches(rule, name, level))
        })
    }

    /// Each pattern's filter.
    pub fn filters(&self) -> impl Iterator<Item = Option<&Filter>> {
        self.filters.iter().map(Option::as_ref)
    }

    /// What the verdict says of filters that were in force for so many events of someone's.
    pub fn note(&self, event_count: usize, whose: &str) -> Option<String> {
        let given = (0..self.filters.len()).filter_map(|index| self.told(index));
        let given: Vec<String> = given.collect();
        let events = plural(event_count as u64, "event");
        (event_count > 0).then(|| {
            format!(
                "{events} of {whose} were filtered, and what the filter left out is not counted \
                 as lost: {}",
                given.join("; ")
            )
        })
    }

    /// A pattern with its filter, as it was given.
    pub fn told(&self, index: usize) -> Option<String> {
        let filter = self.filters.get(index)?.as_ref()?;
        Some(format!("{}{IF}{}", self.patterns.get(index)?, filter.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> anyhow::Result<Asked> {
        Asked::new(&arguments.iter().map(|text| text.to_string()).collect::<Vec<_>>())
    }

    fn event(name: &str) -> Known {
        Known::new(format!("{name}\n6\n:\ni64 ret\n").as_bytes()).unwrap()
    }

    #[test]
    fn filter_stands_behind_its_pattern() {
        let found = asked(&["a:*", "b:* if ret < 0", " c:d  if  ret > 1 "]).unwrap();
        assert_eq!(found.patterns(), ["a:*", "b:*", "c:d"]);
        let texts: Vec<_> = found.filters.iter().map(|f| f.as_ref().map(Filter::text)).collect();
        assert_eq!(texts, [None, Some("ret < 0"), Some(" ret > 1 ")]);
        assert!(found.has_filters() && !asked(&["a:*", "!b"]).unwrap().has_filters());
    }

    #[test]
    fn filter_of_what_is_left_out_and_filter_that_is_wrong_are_refused() {
        let refused = |text| asked(&[text]).err().unwrap().to_string();
        assert!(refused("!a:b if ret < 0").contains("takes no filter"));
        assert!(refused("a:b if ret <").contains("  ret <\n       ^"));
    }

    #[test]
    fn last_pattern_that_matches_an_event_says_its_filter() {
        let names = ["a:one", "a:two", "a:three", "b:one"].map(event);
        let names: Vec<&Known> = names.iter().collect();
        let asked = asked(&["a:* if ret < 0", "a:two", "!a:three", "b:* if ret < -9000 || 1 < 2"]);
        let asked = asked.unwrap();
        let decided = asked.compile(&names).unwrap();
        let found: Vec<&str> = decided.iter().map(|(known, _)| known.event.name.as_str()).collect();
        assert_eq!(found, ["a:one", "b:one"]);
        assert!(matches!(decided[0].1, Compiled::Program(_)));
        assert_eq!(decided[1].1, Compiled::Always);
    }

    #[test]
    fn verdict_says_which_filters_were_in_force_and_none_where_none_was() {
        let asked = asked(&["a:* if ret < 0", "b:*"]).unwrap();
        assert_eq!(asked.note(0, "the kernel's"), None);
        let note = asked.note(2, "the kernel's").unwrap();
        assert!(note.starts_with("2 events of the kernel's were filtered"), "{note}");
        assert!(note.ends_with("not counted as lost: a:* if ret < 0"), "{note}");
    }
}
