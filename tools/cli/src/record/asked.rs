// SPDX-License-Identifier: MIT
//! What the arguments of -e ask for: patterns, and filters and rates behind them.
//!
//! Place in the flow: `plan` takes the arguments apart before anything is made; `kernel` compiles
//! the filters for the kernel's events that it records, `filtered` gives them to programs.

use crate::elf::Known;
use crate::selection::DEBUG;
use anyhow::bail;
use filter::{Choice, Compiled, Filter, Sample};
use session::description::Description;
use session::pattern::Patterns;
use verdict::text::plural;

#[derive(Clone)]
pub struct Asked {
    /// Without their filters.
    patterns: Vec<String>,
    /// By pattern.
    choices: Vec<Choice>,
}

impl Asked {
    pub fn new(arguments: &[String]) -> anyhow::Result<Self> {
        let (mut patterns, mut choices) = (Vec::new(), Vec::new());
        for argument in arguments {
            let (pattern, rest) = Choice::split(argument);
            if !rest.is_empty() && pattern.starts_with('!') {
                bail!("-e '{argument}': a pattern that leaves events out takes no filter or rate");
            }
            patterns.push(pattern.to_string());
            choices.push(Choice::parse(rest)?);
        }
        Ok(Self { patterns, choices })
    }

    /// Patterns that leave out what these ask for.
    pub fn none_of(arguments: &[String]) -> anyhow::Result<Self> {
        if let Some(argument) = arguments.iter().find(|it| !Choice::split(it).1.is_empty()) {
            bail!("-e '{argument}': a pattern that leaves events out takes no filter or rate");
        }
        if let Some(argument) = arguments.iter().find(|argument| argument.starts_with('!')) {
            bail!("-e '{argument}': it leaves events out already; leave out the `!`");
        }
        Self::new(&arguments.iter().map(|argument| format!("!{argument}")).collect::<Vec<_>>())
    }

    /// The same, and what was asked for since: the last pattern that matches an event decides, so
    /// an earlier one is forgotten that a later one repeats.
    pub fn and(self, later: Self) -> Self {
        fn bare(pattern: &str) -> &str {
            pattern.strip_prefix('!').unwrap_or(pattern)
        }
        let is_kept =
            |pattern: &String| later.patterns.iter().all(|other| bare(other) != bare(pattern));
        let earlier = self.patterns.into_iter().zip(self.choices);
        let (mut patterns, mut choices): (Vec<_>, Vec<_>) =
            earlier.filter(|(pattern, _)| is_kept(pattern)).unzip();
        patterns.extend(later.patterns);
        choices.extend(later.choices);
        Self { patterns, choices }
    }

    /// All that is asked for, as -e takes it.
    pub fn arguments(&self) -> Vec<String> {
        let argument = |(index, pattern): (usize, &String)| {
            self.told(index).unwrap_or_else(|| pattern.clone())
        };
        self.patterns.iter().enumerate().map(argument).collect()
    }

    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    pub fn has_filters(&self) -> bool {
        self.filters().any(|filter| filter.is_some())
    }

    /// Of events, which are to be recorded and have a level, those that a filter decides on, with
    /// what it comes to for each. The last pattern that matches an event says which filter it has.
    pub fn compile<'a>(
        &self,
        events: &[&'a Known],
    ) -> Result<Vec<(&'a Known, Compiled)>, filter::Error> {
        let mut decided = Vec::new();
        for (index, filter) in self.filters().enumerate() {
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
        Some((index, self.choices.get(index)?.filter.as_ref()?))
    }

    /// How many of an event's occurrences are recorded, of those that meet its filter.
    pub fn sample_of(&self, name: &str, level: u8) -> Sample {
        let choice = self.deciding(&[name], level).and_then(|index| self.choices.get(index));
        choice.map_or(Sample::ALL, |choice| choice.sample)
    }

    /// Whether events of a name that are recorded are so by the same filter and rate at all levels.
    pub fn is_alike(&self, name: &str) -> bool {
        let recorded = (0..=DEBUG).filter_map(|level| {
            let index = self.deciding(&[name], level)?;
            let pattern = self.patterns.get(index)?;
            self.choices.get(index).filter(|_| !pattern.starts_with('!'))
        });
        let recorded: Vec<&Choice> = recorded.collect();
        recorded.windows(2).all(|two| two[0] == two[1])
    }

    /// The first argument that has a rate.
    pub fn first_rate(&self) -> Option<String> {
        let index = self.choices.iter().position(|choice| choice.sample != Sample::ALL)?;
        self.told(index)
    }

    /// Refuses rates of events that are the kernel's.
    pub fn check_kernel<'a>(
        &self,
        mut events: impl Iterator<Item = (&'a str, u8)>,
    ) -> anyhow::Result<()> {
        let sampled = |(name, level): &(&str, u8)| self.sample_of(name, *level) != Sample::ALL;
        match events.find(sampled) {
            Some((name, level)) => bail!(
                "{} is the kernel's, and only events of programs are sampled: {}; a pattern behind \
                 it that matches {name} and has no rate records all of them",
                name,
                self.deciding(&[name], level).and_then(|i| self.told(i)).unwrap_or_default()
            ),
            None => Ok(()),
        }
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
        self.choices.iter().map(|choice| choice.filter.as_ref())
    }

    /// Each pattern with what it says of the events that it decides about.
    pub fn choices(&self) -> impl Iterator<Item = (&str, &Choice)> {
        self.patterns.iter().map(String::as_str).zip(&self.choices)
    }

    /// What the verdict says of filters that were in force for so many events of someone's.
    pub fn note(&self, event_count: usize, whose: &str) -> Option<String> {
        let has_filter = |index: &usize| self.choices.get(*index)?.filter.as_ref().map(|_| *index);
        let filtered = (0..self.choices.len()).filter(|index| has_filter(index).is_some());
        let given = filtered.filter_map(|index| self.told(index));
        let given: Vec<String> = given.collect();
        let events = plural(event_count as u64, "event");
        let were = if event_count == 1 { "was" } else { "were" };
        (event_count > 0).then(|| {
            format!(
                "{events} of {whose} {were} filtered, and what the filter left out is not counted \
                 as lost: {}",
                given.join("; ")
            )
        })
    }

    /// A pattern with its filter and its rate, as it was given.
    pub fn told(&self, index: usize) -> Option<String> {
        let Choice { filter, sample } = self.choices.get(index)?;
        let filter = filter.as_ref().map(|filter| format!(" if {}", filter.text()));
        let rate = (*sample != Sample::ALL).then(|| format!(" sample {sample}"));
        let pattern = self.patterns.get(index)?;
        Some(format!("{pattern}{}{}", filter.unwrap_or_default(), rate.unwrap_or_default()))
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
        let texts: Vec<_> = found.filters().map(|filter| filter.map(Filter::text)).collect();
        assert_eq!(texts, [None, Some("ret < 0"), Some(" ret > 1 ")]);
        assert!(found.has_filters() && !asked(&["a:*", "!b"]).unwrap().has_filters());
    }

    #[test]
    fn filter_of_what_is_left_out_and_filter_that_is_wrong_are_refused() {
        let refused = |text| asked(&[text]).err().unwrap().to_string();
        assert!(refused("!a:b if ret < 0").contains("takes no filter"));
        assert!(refused("!a:b sample 1/2").contains("or rate"));
        assert!(refused("a:b if ret <").contains("  ret <\n       ^"));
    }

    #[test]
    fn what_is_asked_for_later_is_added_and_what_it_repeats_is_forgotten() {
        let begun = asked(&["a:*", "b:* if ret < 0", "c:*"]).unwrap();
        let later = Asked::none_of(&["a:*".into()]).unwrap();
        let both = begun.and(later).and(asked(&["b:*", "d:* if ret > 1"]).unwrap());
        assert_eq!(both.arguments(), ["c:*", "!a:*", "b:*", "d:* if ret > 1"]);
        let many = (0..1000).fold(both, |all, index| {
            all.and(match index % 2 {
                0 => asked(&["a:*"]).unwrap(),
                _ => Asked::none_of(&["a:*".into()]).unwrap(),
            })
        });
        assert_eq!(many.patterns().len(), 4);
        let refused = |text: &str| Asked::none_of(&[text.into()]).err().unwrap().to_string();
        assert!(refused("!a").contains("leaves events out already"));
        assert!(refused("a if ret > 1").contains("takes no filter"));
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
    fn rates_of_programs_events_are_told_and_those_of_the_kernels_are_refused() {
        let asked = asked(&["a:*", "b:* if ret < 0 sample 1/100", "b:two"]).unwrap();
        let alike = ["a:one", "b:one", "b:two"].map(|name| asked.is_alike(name));
        assert_eq!(alike, [true; 3]);
        let rates = ["a:one", "b:one", "b:two"].map(|name| asked.sample_of(name, 6).one_in());
        assert_eq!(rates, [1, 100, 1]);
        assert_eq!(asked.told(1).unwrap(), "b:* if ret < 0 sample 1/100");
        assert!(asked.check_kernel([("a:one", 6), ("b:two", 6)].into_iter()).is_ok());
        let told = asked.check_kernel([("b:one", 6)].into_iter()).unwrap_err().to_string();
        assert!(told.contains("b:one is the kernel's") && told.contains("sample 1/100"), "{told}");
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
