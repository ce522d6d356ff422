// SPDX-License-Identifier: MIT
//! Events of which a part was left out on purpose: those that were sampled, and those that were
//! throttled to keep a budget.
//!
//! Place in the flow: `lull record` says what was asked for and what became of it; the lists stand
//! in the trace's environment, and in the verdict as limits: who counts such events must know it.

use crate::environment::{items, lines, Value};
use crate::shown::shown;
use serde::Serialize;
use std::collections::HashSet;

/// Events that one sentence lists.
const NAMED_MAX: usize = 8;

/// An event that was sampled by the user's wish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sampled {
    /// Its name; in a trace that is not finished, a pattern of names.
    pub event: String,
    /// One in so many of its occurrences was recorded, of those that met its filter; 0 where that
    /// may have been changed while recording.
    pub one_in: u32,
    /// It is the entry or the exit of calls, and in each process a call was drawn once: a sample
    /// has both ends or none.
    #[serde(skip_serializing_if = "is_false")]
    pub by_call: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

const SAMPLED: &str = "sampled";
const BY_CALL: &str = "sampled_by_call";

/// The entry that tells of sampled events.
pub fn of_sampled(sampled: &[Sampled]) -> (String, Value) {
    let words = |sampled: &Sampled| vec![sampled.event.clone(), sampled.one_in.to_string()];
    (SAMPLED.to_string(), lines(sampled, words))
}

/// The entry that tells which names are of events that were all drawn by call; None where none is.
pub fn of_sampled_by_call(sampled: &[Sampled]) -> Option<(String, Value)> {
    let apart = sampled.iter().filter(|sampled| !sampled.by_call);
    let apart: HashSet<&str> = apart.map(|sampled| sampled.event.as_str()).collect();
    let events = sampled.iter().map(|sampled| sampled.event.as_str());
    let events: Vec<&str> = events.filter(|event| !apart.contains(event)).collect();
    let words = |event: &&str| vec![event.to_string()];
    (!events.is_empty()).then(|| (BY_CALL.to_string(), lines(&events, words)))
}

/// The sampled events that an environment tells of.
pub fn sampled(entry: impl Fn(&str) -> Option<Value>) -> Vec<Sampled> {
    let by_call: HashSet<String> =
        items(&entry, BY_CALL, |line| Some(line.to_string())).into_iter().collect();
    let sampled = |line: &str| {
        let (event, one_in) = line.split_once('\t')?;
        let by_call = by_call.contains(event);
        Some(Sampled { event: event.into(), one_in: one_in.parse().ok()?, by_call })
    };
    items(&entry, SAMPLED, sampled)
}

const FILTERED: &str = "filtered";

/// The entry that tells of patterns of events of which a filter took some occurrences and left
/// others out by more than whose they are.
pub fn of_filtered(patterns: &[String]) -> (String, Value) {
    (FILTERED.to_string(), lines(patterns, |pattern| vec![pattern.clone()]))
}

/// The patterns of such events that an environment tells of.
pub fn filtered(entry: impl Fn(&str) -> Option<Value>) -> Vec<String> {
    items(entry, FILTERED, |line| Some(line.to_string()))
}

/// Whose events of the kernel's a trace has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelOf {
    /// Everybody's, or none.
    #[default]
    Machine,
    /// Those of the process of this number and of its descendants: of the scheduler's switches,
    /// those from and to their threads. 0: the process has not begun.
    Program(u64),
    /// Of the scheduler's switches, those that met a filter.
    Filter,
}

const KERNEL_OF: &str = "kernel_of";
const PROGRAM: &str = "program ";

impl KernelOf {
    /// The entry that tells of it; None where there is nothing to tell.
    pub fn entry(self) -> Option<(String, Value)> {
        let text = match self {
            Self::Machine => return None,
            Self::Program(pid) => format!("{PROGRAM}{pid}"),
            Self::Filter => "filter".into(),
        };
        Some((KERNEL_OF.to_string(), Value::Text(text)))
    }

    /// What an environment tells. What is not understood is no promise.
    pub fn of(entry: impl Fn(&str) -> Option<Value>) -> Self {
        let Some(Value::Text(text)) = entry(KERNEL_OF) else { return Self::Machine };
        let pid = text.strip_prefix(PROGRAM).and_then(|pid| pid.parse().ok());
        pid.map_or(Self::Filter, Self::Program)
    }

    /// What the verdict says of it; None where there is nothing to say.
    pub fn sentence(self) -> Option<String> {
        let whose = match self {
            Self::Machine => return None,
            Self::Program(_) => {
                "of the kernel's events, those of the program and its descendants, as asked for"
            }
            Self::Filter => "of the scheduler's switches, those that met a filter, as asked for",
        };
        let rest = match self {
            Self::Program(_) => "what a CPU runs beside these threads, and where others are",
            _ => "what CPUs run, and where threads are",
        };
        Some(format!("{whose}: {rest}, is not known"))
    }
}

/// What the verdict says of them; None where there is none.
pub fn sampled_sentence(sampled: &[Sampled]) -> Option<String> {
    let named = |sampled: &Sampled| match sampled.one_in {
        0 => format!("{} at a rate that was changed", shown(&sampled.event)),
        one_in => format!("{} 1/{one_in}", shown(&sampled.event)),
    };
    let names = listed(sampled.iter().map(named).collect(), "event")?;
    Some(format!(
        "of events that were sampled as asked for, one in so many occurrences: {names}; counts and \
         sums of theirs are those of the sample"
    ))
}

/// The first of some names, and how many more there are.
pub fn listed(mut names: Vec<String>, noun: &str) -> Option<String> {
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    let text = names.join(", ");
    let more = (more > 0).then(|| format!(" and {} more", crate::text::plural(more as u64, noun)));
    (!text.is_empty()).then(|| format!("{text}{}", more.unwrap_or_default()))
}

/// A time in which an event was throttled to keep a budget. Each moment is in cycles of the trace's
/// clock, and in nanoseconds since recording began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Throttled {
    pub event: String,
    /// One in so many occurrences was recorded; 0: none.
    pub one_in: u32,
    pub begin: (u64, u64),
    /// None: until the recording's end.
    pub until: Option<(u64, u64)>,
}

const THROTTLED: &str = "throttled";

/// The entry that tells of throttled events.
pub fn of_throttled(throttled: &[Throttled]) -> (String, Value) {
    let words = |throttled: &Throttled| {
        let moments = std::iter::once(throttled.begin).chain(throttled.until);
        let moments = moments.flat_map(|(cycles, ns)| [cycles.to_string(), ns.to_string()]);
        [throttled.event.clone(), throttled.one_in.to_string()].into_iter().chain(moments).collect()
    };
    (THROTTLED.to_string(), lines(throttled, words))
}

/// The throttled events that an environment tells of.
pub fn throttled(entry: impl Fn(&str) -> Option<Value>) -> Vec<Throttled> {
    let throttled = |line: &str| {
        let (event, numbers) = line.split_once('\t')?;
        let numbers: Option<Vec<u64>> = numbers.split('\t').map(|word| word.parse().ok()).collect();
        let (one_in, begin, until) = match numbers?[..] {
            [one_in, cycles, ns] => (one_in, (cycles, ns), None),
            [one_in, cycles, ns, end, end_ns] => (one_in, (cycles, ns), Some((end, end_ns))),
            _ => return None,
        };
        let one_in = u32::try_from(one_in).ok()?;
        Some(Throttled { event: event.into(), one_in, begin, until })
    };
    items(entry, THROTTLED, throttled)
}

/// What the verdict says of them; None where there is none. `more`: changes that are not listed.
pub fn throttled_sentence(throttled: &[Throttled], more: u64) -> Option<String> {
    let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
    let span = |throttled: &Throttled| {
        let to = match throttled.one_in {
            0 => "nothing".to_string(),
            one_in => format!("1/{one_in}"),
        };
        let until = match throttled.until {
            Some((_, ns)) => format!("to {}", seconds(ns)),
            None => "to the end".into(),
        };
        let (event, begin) = (shown(&throttled.event), seconds(throttled.begin.1));
        format!("{event} to {to} from {begin} {until}")
    };
    let spans = listed(throttled.iter().map(span).collect(), "time")?;
    let more = match more {
        0 => String::new(),
        more => format!("; {} that are not listed", crate::text::plural(more, "later change")),
    };
    Some(format!(
        "throttled to keep the budget: {spans}{more}, since recording began; counts and sums of \
         theirs are those of what was recorded"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Sampled> {
        sampled(|name| (name == SAMPLED).then(|| text.into()))
    }

    #[test]
    fn sampled_events_are_read_as_they_were_written_and_other_lines_are_left_out() {
        let [one, two] = [("a:one_exit", 100, true), ("b:*", 2, false)]
            .map(|(event, one_in, by_call)| Sampled { event: event.into(), one_in, by_call });
        let both = [one, two];
        let entries = [Some(of_sampled(&both)), of_sampled_by_call(&both)];
        let entry = |wanted: &str| {
            let found = entries.iter().flatten().find(|(name, _)| name == wanted)?;
            Some(found.1.clone())
        };
        assert_eq!(sampled(entry), both);
        assert_eq!(of_sampled_by_call(&both[1..]), None);
        assert_eq!(read("a\na\tb\n\t\n\nc:d\t3").len(), 1);
        assert!(read("").is_empty() && sampled(|_| None).is_empty());
    }

    #[test]
    fn throttled_events_are_read_as_they_were_written_and_other_lines_are_left_out() {
        let at = |s: u64| (s, s * 1_000_000_000);
        let of = |one_in, until| Throttled { event: "m:m".into(), one_in, begin: at(1), until };
        let all = [of(64, Some(at(3))), of(0, None)];
        let (name, value) = of_throttled(&all);
        assert_eq!(throttled(|wanted| (wanted == name).then(|| value.clone())), all);
        let odd = "m:m\nm:m\t1\t2\nm:m\tx\t2\t3\nm:m\t1\t2\t3\t4\nm:m\t-1\t2\t3\nm:m\t1\t2\t3";
        assert_eq!(throttled(|_| Some(odd.into())).len(), 1);
        let told = throttled_sentence(&all, 2).unwrap();
        assert!(told.contains("m:m to 1/64 from 1.000 s to 3.000 s, m:m to nothing"), "{told}");
        assert!(told.contains("to the end; 2 later changes that"), "{told}");
        assert_eq!(throttled_sentence(&[], 0), None);
    }

    #[test]
    fn sentence_names_rates_and_counts_what_it_does_not_name() {
        assert_eq!(sampled_sentence(&[]), None);
        let many =
            (1..=10).map(|n| Sampled { event: format!("a:{n}"), one_in: n * 10, by_call: false });
        let many: Vec<Sampled> = many.collect();
        let told = sampled_sentence(&many).unwrap();
        assert!(told.contains("a:1 1/10, a:2 1/20,") && told.contains("2 events more;"), "{told}");
    }
}
