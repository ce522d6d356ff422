// SPDX-License-Identifier: MIT
//! What is said of triggers: by `lull status`, and in the verdict.
//!
//! Place in the flow: `record::serve` and `record::supervise` ask for it. A trigger that never
//! fired is said as well, and everything that may have kept one from firing.

use super::matching::Matcher;
use super::{Doing, Running, Triggers};
use crate::nearest::advice;
use session::pattern::Patterns;
use verdict::text::{grouped, plural};
use verdict::Verdict;

/// What a status says of a text at most, and where there are so many that the longer ones would
/// not leave room for the rest of a message.
const SHORT_BYTES: [usize; 3] = [256, 64, 16];
/// What a status says of all triggers, unless each has the least.
const ALL_BYTES: usize = 48 << 10;

fn short(text: &str, most: usize) -> String {
    match text.char_indices().map(|(at, c)| at + c.len_utf8()).find(|end| *end > most) {
        Some(_) => {
            let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= most - 3;
            let begin: String = text.char_indices().take_while(fits).map(|(_, c)| c).collect();
            begin + "..."
        }
        None => text.to_string(),
    }
}

impl Triggers {
    /// All that fits into a message.
    pub fn status(&self) -> Vec<control::Trigger> {
        let mut told = Vec::new();
        for most in SHORT_BYTES {
            told = self.list.iter().map(|running| running.status(most)).collect();
            // As they are in a message, where some characters take six bytes.
            if serde_json::to_vec(&told).is_ok_and(|bytes| bytes.len() <= ALL_BYTES) {
                break;
            }
        }
        told
    }

    /// Adds to the verdict what became of the triggers.
    pub fn judge(&self, verdict: &mut Verdict) {
        verdict.firings = self.firings.clone();
        let removed = self.removed.iter().map(|(running, at_ns)| running.sentence(Some(*at_ns)));
        verdict.notes.extend(removed);
        if let (count @ 1.., fired) = self.removed_more {
            verdict.notes.push(format!(
                "{} that were removed fired {} in all",
                plural(count, "further trigger"),
                plural(fired, "time")
            ));
        }
        verdict.notes.extend(self.list.iter().map(|running| {
            let unknown = self.unknown(running).filter(|_| running.fired == 0);
            running.sentence(None) + &unknown.unwrap_or_default()
        }));
        let not_listed = plural(self.firings_more, "firing");
        if self.firings_more > 0 {
            verdict
                .notes
                .push(format!("{not_listed} of triggers are counted and not in the trace"));
        }
        verdict.notes.extend(self.missing());
    }

    /// What a condition names that no process had; None where it had all.
    fn unknown(&self, running: &Running) -> Option<String> {
        let clauses = running.condition.clauses();
        let has = |pattern: &str| {
            let is_it =
                |(name, level): &(String, u8)| Patterns::alone_matches(pattern, name, *level);
            self.seen.iter().any(is_it)
        };
        let pattern = clauses.into_iter().map(|clause| &clause.pattern).find(|p| !has(p))?;
        let near = advice(pattern, self.seen.iter().map(|(name, _)| name.as_str()));
        Some(format!(": no process that joined has an event {pattern}{near}"))
    }

    /// What may have kept a condition from being seen.
    fn missing(&self) -> Vec<String> {
        let of = |count: fn(&Matcher) -> u64| self.lanes.sum(count);
        let crashes = self.crashes.as_ref();
        let of_crashes = |count: fn(&super::crash::Crashes) -> u64| crashes.map_or(0, count);
        let counted = [
            (of(|matcher| matcher.lost), "gap", "among the events of conditions"),
            (of(|matcher| matcher.late), "event", "of conditions came too late to be matched"),
            (
                of(|matcher| matcher.unmeasured),
                "call",
                "of conditions not measured, for events were lost",
            ),
            (
                of(Matcher::unwaited),
                "first event",
                "of an order forgotten, for events were lost or \
                                                 too many threads wait",
            ),
            (
                of(|matcher| matcher.unnamed),
                "event",
                "of conditions is of a thread that is not known",
            ),
            (
                of(|matcher| matcher.problems),
                "place",
                "of what conditions recorded could not be read",
            ),
            (
                of_crashes(|crashes| crashes.untold),
                "process",
                "ended in a way that this kernel does not tell (Linux 6.15 does)",
            ),
            (
                of_crashes(|crashes| crashes.unseen),
                "process",
                "had ended before the recorder could watch for a crash",
            ),
            (
                of_crashes(|crashes| crashes.no_room),
                "process",
                "came while too many others were watched for crashes",
            ),
        ];
        let counted = counted.into_iter().filter(|(count, ..)| *count > 0);
        let counted = counted.map(|(count, noun, what)| format!("{} {what}", plural(count, noun)));
        let unfit = self.lanes.unfit().into_iter();
        let unfit = unfit.map(|unfit| format!("a condition met no event: {unfit}"));
        let problems = self.problems.iter().cloned();
        let all = problems.chain(unfit).chain(counted);
        all.map(|what| format!("a firing may be missing: {what}")).collect()
    }
}

impl Running {
    fn status(&self, most: usize) -> control::Trigger {
        let did = |doing: &Doing| control::Did {
            done: doing.done,
            withheld: doing.withheld,
            failed: doing.failed,
            why: short(&doing.why, most),
        };
        control::Trigger {
            on: short(&self.condition.text, most),
            does: self.doing.iter().map(|doing| short(&doing.deed.text, most)).collect(),
            fired: self.fired,
            acted: self.acted,
            last_ns: self.last_ns,
            number: self.number,
            added_ns: self.added_ns,
            did: self.doing.iter().map(did).collect(),
        }
    }

    /// `removed_ns`: when it was, since recording began.
    fn sentence(&self, removed_ns: Option<u64>) -> String {
        let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
        let mut text = format!("the trigger '{}'", self.condition.text);
        let moments = [("added", self.added_ns), ("removed", removed_ns)];
        let moments = moments.into_iter().filter_map(|(what, ns)| Some((what, ns?)));
        let moments: Vec<String> =
            moments.map(|(what, ns)| format!("{what} at {}", seconds(ns))).collect();
        if !moments.is_empty() {
            text += &format!(", {},", moments.join(" and "));
        }
        if self.fired == 0 {
            return text + " never fired";
        }
        text += &format!(
            " fired {}, acted on {}, first at {}",
            plural(self.fired, "time"),
            plural(self.acted, "time"),
            seconds(self.first_ns.unwrap_or(0)),
        );
        if self.acted > 1 {
            text += &format!(", last at {}", seconds(self.last_ns.unwrap_or(0)));
        }
        for doing in &self.doing {
            text += &format!("; {}: {} done", doing.deed.text, grouped(doing.done));
            if doing.withheld > 0 {
                text += &format!(", {} withheld for its rate", grouped(doing.withheld));
            }
            if doing.failed > 0 {
                text += &format!(", {} failed: {}", grouped(doing.failed), doing.why);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration;
    use crate::trigger::plan::Trigger;
    use trigger::{Condition, Deed};

    fn trigger(on: &str, does: &[&str]) -> Trigger {
        Trigger {
            condition: Condition::parse(on, duration::parse).unwrap(),
            deeds: does.iter().map(|text| Deed::parse(text).unwrap()).collect(),
        }
    }

    /// Triggers that follow nothing.
    fn triggers(list: Vec<Running>) -> Triggers {
        Triggers { list, ..Triggers::new("/".as_ref(), false) }
    }

    #[test]
    fn status_of_as_many_and_as_long_triggers_as_there_may_be_fits_into_a_message() {
        let escaped = "\u{1}".repeat(4000);
        let on = format!("a:b if x == \"{}\"", "\u{1}".repeat(250));
        let run = format!("run {escaped}");
        let long = trigger(&on, &[run.as_str(); 8]);
        let mut running = |number| Running::new(number, &long, Some(u64::MAX), false);
        let mut list: Vec<Running> = (0..32).map(&mut running).collect();
        list.iter_mut().flat_map(|running| &mut running.doing).for_each(|doing| {
            (doing.done, doing.failed, doing.why) = (u64::MAX, u64::MAX, escaped.clone());
        });
        let told = triggers(list).status();
        assert_eq!((told.len(), told[31].did.len(), told[31].number), (32, 8, 31));
        // With as much room as the rest of a status is known to take.
        let bytes = serde_json::to_vec(&told).unwrap().len();
        assert!(bytes < control::ANSWER_BYTES_MAX - (28 << 10), "{bytes}");
        let one = triggers(vec![running(7)]).status();
        assert_eq!(one[0].on.len(), 256, "one has room");
    }

    #[test]
    fn verdict_tells_when_triggers_came_and_went_and_what_the_removed_ones_did() {
        let of = |number, at| Running::new(number, &trigger("a:b", &["count"]), at, false);
        let mut gone = of(2, Some(1_500_000_000));
        (gone.fired, gone.acted, gone.first_ns) = (3, 1, Some(2_000_000_000));
        gone.doing[0].done = 1;
        let mut all = triggers(vec![of(1, None), of(3, Some(4_000_000_000))]);
        all.seen = vec![("a:b".into(), 6)];
        all.removed = vec![(gone, 2_500_000_000)];
        all.removed_more = (2, 5);
        let mut verdict = Verdict::new("trace".into());
        all.judge(&mut verdict);
        assert_eq!(
            verdict.notes,
            [
                "the trigger 'a:b', added at 1.500 s and removed at 2.500 s, fired 3 times, acted \
                 on 1 time, first at 2.000 s; count: 1 done",
                "2 further triggers that were removed fired 5 times in all",
                "the trigger 'a:b' never fired",
                "the trigger 'a:b', added at 4.000 s, never fired",
            ]
        );
    }

    #[test]
    fn status_says_the_beginning_of_a_long_text() {
        assert_eq!(short("a:b", 256), "a:b");
        assert_eq!(short(&"x".repeat(256), 256), "x".repeat(256));
        let cut = short(&"é".repeat(1000), 256);
        assert!(cut.len() <= 256 && cut.ends_with("é..."), "{cut}");
    }
}
