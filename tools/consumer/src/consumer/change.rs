// SPDX-License-Identifier: MIT
//! Changes of what is recorded, while programs run.
//!
//! Place in the flow: `lull enable` and `lull disable` come here through the recorder's control
//! socket. The rules of each user's memory are replaced (T 4.6.1; docs/adr/0016); who asked then
//! has the processes look at them. The trace tells of each change when it was, so that an event
//! that is not there before or after it is not taken for one that did not happen.

use super::Consumer;
use session::Memory;
use std::time::Duration;
use verdict::environment::{self, Environment};
use verdict::Change;

/// Changes that a trace tells of.
const CHANGES_MAX: usize = 1000;

/// Why what is recorded was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("recording has ended")]
    Ended,
    #[error("it was changed {CHANGES_MAX} times, and its trace can tell of no more changes")]
    TooMany,
    #[error("its memory has no room for so many patterns or filters; start another session")]
    Full,
    #[error(transparent)]
    Memory(#[from] session::Error),
}

/// The changes so far.
#[derive(Debug, Default)]
pub(super) struct Changes {
    list: Vec<Change>,
    /// Patterns and filters since the last. None: those that the session began with.
    rules: Option<(String, Vec<u8>)>,
    /// Those that a session with a budget began with.
    began: Option<(String, Vec<u8>)>,
    /// By memory: events that a budget leaves out, whatever was asked for.
    excluded: Vec<Vec<String>>,
    /// How often a budget left out others.
    exclusions: u64,
}

impl Changes {
    /// Those that a killed recorder wrote down.
    pub fn of(environment: &Environment) -> Self {
        let list = environment::changes(environment::entries(environment));
        Self { list, ..Self::default() }
    }

    pub fn list(&self) -> &[Change] {
        &self.list
    }

    /// How many rules a process can have seen at most, one after the other.
    pub fn rules_count(&self) -> u64 {
        1 + self.list.len() as u64 + self.exclusions
    }

    /// What was asked for when the session began, to which a budget adds what it leaves out.
    pub fn begin(&mut self, patterns: &str, filters: &[u8]) {
        self.began = Some((patterns.to_string(), filters.to_vec()));
    }

    /// Writes the rules into memory that was made by the rules of some moment, for one user, who
    /// may have other events left out.
    pub fn bring_up_to_date(&self, memory: &Memory) -> Result<(), crate::Error> {
        let is_excluding = self.excluded.iter().any(|names| !names.is_empty());
        let rules = self.rules.as_ref().or(self.began.as_ref().filter(|_| is_excluding));
        if let Some((patterns, filters)) = rules {
            memory.change_rules(patterns, filters)?;
        }
        Ok(())
    }

    /// What was asked for, and behind it what a budget leaves out of one memory. What was asked for
    /// comes first in the room there is: an event that has none left is only throttled.
    fn patterns(&self, index: usize, asked: &str, room_bytes: usize) -> String {
        let mut text = asked.to_string();
        for name in self.excluded.get(index).into_iter().flatten() {
            let line = format!("\n!{name}");
            if text.len() + line.len() >= room_bytes {
                break;
            }
            text.push_str(&line);
        }
        text
    }
}

impl Consumer {
    /// Replaces patterns and filters in all memory of programs. `told`: what was asked for, as -e
    /// takes it.
    pub fn change_rules(
        &mut self,
        patterns: &str,
        filters: &[u8],
        told: Vec<String>,
    ) -> Result<(), ChangeError> {
        if !self.is_active() {
            return Err(ChangeError::Ended);
        }
        if self.changes.list.len() >= CHANGES_MAX {
            return Err(ChangeError::TooMany);
        }
        let memories = || self.memories.iter().enumerate();
        let ours = || memories().filter(|(_, memory)| !memory.is_kernels());
        // All or nothing: they were all made by one plan, but for what others wrote over theirs.
        if !ours().all(|(_, memory)| memory.rules_fit(patterns, filters)) {
            return Err(ChangeError::Full);
        }
        // Before the first store: an event that is missing from then on is missing for this.
        let at = self.moment();
        for (index, memory) in ours() {
            let room_bytes = memory.fixed().patterns_bytes as usize;
            memory.change_rules(&self.changes.patterns(index, patterns, room_bytes), filters)?;
        }
        self.changes.rules = Some((patterns.to_string(), filters.to_vec()));
        self.changes.list.push(Change { at, patterns: told });
        self.tell(environment::of_changes(self.changes.list()));
        Ok(())
    }

    /// Leaves events out of one user's memory, by name, until others or none are. What was asked
    /// for is as before. Return: whether processes have something to take over.
    pub(super) fn exclude(&mut self, index: usize, names: Vec<String>) -> session::Result<bool> {
        let changes = &mut self.changes;
        let count = changes.excluded.len().max(index + 1);
        changes.excluded.resize(count, Vec::new());
        if changes.excluded[index] == names {
            return Ok(false);
        }
        changes.excluded[index] = names;
        changes.exclusions += 1;
        let (Some(memory), Some((patterns, filters))) =
            (self.memories.get(index), changes.rules.as_ref().or(changes.began.as_ref()))
        else {
            return Ok(false);
        };
        let room_bytes = memory.fixed().patterns_bytes as usize;
        memory.change_rules(&changes.patterns(index, patterns, room_bytes), filters)
    }
}

/// What the verdict says of changes; None where there was none.
pub(super) fn sentence(changes: &[Change]) -> Option<String> {
    const NAMED_MAX: usize = 4;
    let named = |change: &Change| {
        let seconds = Duration::from_nanos(change.at.1).as_secs_f64();
        format!("{} from {seconds:.3} s", change.patterns.join(", "))
    };
    let mut told: Vec<String> = changes.iter().take(NAMED_MAX).map(named).collect();
    let more = changes.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    let many = match changes.len() {
        0 => return None,
        1 => "what is recorded was changed".to_string(),
        count => format!("what is recorded was changed {count} times"),
    };
    Some(format!(
        "of the events that were wanted at the time: {many}, in each process when it noticed: {}, \
         since recording began",
        told.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at_ms: u64, pattern: &str) -> Change {
        Change { at: (at_ms, at_ms * 1_000_000), patterns: vec![pattern.into()] }
    }

    #[test]
    fn sentence_names_the_first_changes_and_counts_the_rest() {
        assert_eq!(sentence(&[]), None);
        let one = sentence(&[change(1500, "!io:*")]).unwrap();
        assert!(one.contains("was changed, in each"), "{one}");
        assert!(one.contains("!io:* from 1.500 s, since"), "{one}");
        let many: Vec<Change> = (0..6).map(|at| change(at, "a:*")).collect();
        let text = sentence(&many).unwrap();
        assert!(text.contains("6 times") && text.contains("0.003 s; 2 more,"), "{text}");
    }

    #[test]
    fn what_a_budget_leaves_out_stands_behind_what_was_asked_for_as_far_as_there_is_room() {
        let mut changes = Changes::default();
        assert_eq!(changes.patterns(0, "a:*", 100), "a:*");
        changes.excluded = vec![vec!["a:b".into(), "a:c".into()], Vec::new()];
        assert_eq!(changes.patterns(0, "a:*", 100), "a:*\n!a:b\n!a:c");
        assert_eq!(changes.patterns(0, "a:*", 13), "a:*\n!a:b", "with the NUL it has no room");
        assert_eq!(changes.patterns(0, "a:*", 3), "a:*");
        assert_eq!((changes.patterns(1, "*", 100), changes.patterns(2, "*", 100)).1, "*");
    }

    #[test]
    fn changes_that_a_killed_recorder_told_are_in_what_is_recovered() {
        let told = [change(1, "a:* if x == 1"), change(3, "!a:b")];
        assert_eq!(Changes::of(&vec![environment::of_changes(&told)]).list(), told);
    }
}
