// SPDX-License-Identifier: MIT
//! What is said of triggers: by `lull status`, and in the verdict.
//!
//! Place in the flow: `record::serve` and `record::supervise` ask for it. A trigger that never
//! fired is said as well, and everything that may have kept one from firing.

use super::{Running, Triggers};
use crate::nearest::nearest;
use session::pattern::Patterns;
use verdict::text::{grouped, plural};
use verdict::Verdict;

/// What a status says of a text: a message has a size.
const SHORT_BYTES: usize = 256;

fn short(text: &str) -> String {
    match text.char_indices().map(|(at, c)| at + c.len_utf8()).find(|end| *end > SHORT_BYTES) {
        Some(_) => {
            let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= SHORT_BYTES - 3;
            let begin: String = text.char_indices().take_while(fits).map(|(_, c)| c).collect();
            begin + "..."
        }
        None => text.to_string(),
    }
}

impl Triggers {
    pub fn status(&self) -> Vec<control::Trigger> {
        let status = |running: &Running| control::Trigger {
            on: short(&running.condition.text),
            does: running.doing.iter().map(|doing| short(&doing.deed.text)).collect(),
            fired: running.fired,
            acted: running.acted,
            last_ns: running.last_ns,
        };
        self.list.iter().map(status).collect()
    }

    /// Adds to the verdict what became of the triggers.
    pub fn judge(&self, verdict: &mut Verdict) {
        verdict.firings = self.firings.clone();
        verdict.notes.extend(self.list.iter().map(|running| self.sentence(running)));
        let not_listed = plural(self.firings_more, "firing");
        if self.firings_more > 0 {
            verdict
                .notes
                .push(format!("{not_listed} of triggers are counted and not in the trace"));
        }
        verdict.notes.extend(self.missing());
    }

    fn sentence(&self, running: &Running) -> String {
        let condition = &running.condition;
        if running.fired == 0 {
            let text = format!("the trigger '{}' never fired", condition.text);
            return format!("{text}{}", self.unknown(running).unwrap_or_default());
        }
        let seconds = |ns: Option<u64>| format!("{:.3} s", ns.unwrap_or(0) as f64 / 1e9);
        let mut text = format!(
            "the trigger '{}' fired {}, acted on {}, first at {}",
            condition.text,
            plural(running.fired, "time"),
            plural(running.acted, "time"),
            seconds(running.first_ns),
        );
        if running.acted > 1 {
            text += &format!(", last at {}", seconds(running.last_ns));
        }
        for doing in &running.doing {
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

    /// What a condition names that no process had; None where it had all.
    fn unknown(&self, running: &Running) -> Option<String> {
        let clauses = running.condition.clauses();
        let has = |pattern: &str| {
            let is_it =
                |(name, level): &(String, u8)| Patterns::alone_matches(pattern, name, *level);
            self.seen.iter().any(is_it)
        };
        let pattern = clauses.into_iter().map(|clause| &clause.pattern).find(|p| !has(p))?;
        let near = nearest(&[pattern], self.seen.iter().map(|(name, _)| name.as_str()));
        let near = near.first().map_or_else(String::new, |near| format!(", but {near}"));
        Some(format!(": no process that joined has an event {pattern}{near}"))
    }

    /// What may have kept a condition from being seen.
    fn missing(&self) -> Vec<String> {
        let matcher = &self.matcher;
        let crashes = self.crashes.as_ref();
        let of_crashes = |count: fn(&super::crash::Crashes) -> u64| crashes.map_or(0, count);
        let counted = [
            (matcher.lost, "gap", "among the events of conditions"),
            (matcher.late, "event", "of conditions came too late to be matched"),
            (matcher.unmeasured, "call", "of conditions not measured, for events were lost"),
            (
                matcher.unwaited(),
                "first event",
                "of an order forgotten, for events were lost or \
                                                 too many threads wait",
            ),
            (matcher.unnamed, "event", "of conditions is of a thread that is not known"),
            (matcher.problems, "place", "of what conditions recorded could not be read"),
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
        let unfit = matcher.unfit.iter().map(|unfit| format!("a condition met no event: {unfit}"));
        let problems = self.problems.iter().cloned();
        let all = problems.chain(unfit).chain(counted);
        all.map(|what| format!("a firing may be missing: {what}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn status_says_the_beginning_of_a_long_text() {
        assert_eq!(short("a:b"), "a:b");
        assert_eq!(short(&"x".repeat(256)), "x".repeat(256));
        let cut = short(&"é".repeat(1000));
        assert!(cut.len() <= 256 && cut.ends_with("é..."), "{cut}");
    }
}
