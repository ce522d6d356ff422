// SPDX-License-Identifier: MIT
//! Patterns that matched nothing, and what may have been meant.
//!
//! Place in the flow: `judge` compares the patterns with the events that recorded programs had
//! enabled, and with those in the files of the program and of the interposers, which also give
//! the names to suggest.

use crate::nearest::nearest;
use session::pattern::Patterns;
use std::collections::BTreeSet;
use verdict::{Unmatched, Verdict};

/// Adds the patterns without a match. `enabled`: names and levels of the events that programs had
/// enabled; `known`: those that can be found in files.
pub fn add(
    verdict: &mut Verdict,
    patterns: &Patterns,
    enabled: &[(String, u8)],
    known: impl FnOnce() -> Vec<(String, u8)>,
) {
    if patterns.is_default() {
        return;
    }
    let matches = |pattern: &str, events: &[(String, u8)]| {
        events.iter().any(|(name, level)| Patterns::alone_matches(pattern, name, *level))
    };
    let asking: Vec<&str> = patterns.asking().collect();
    let mut missed: Vec<&str> =
        asking.iter().copied().filter(|pattern| !matches(pattern, enabled)).collect();
    if !missed.is_empty() {
        let known = known();
        // What another pattern left out again did match.
        missed.retain(|pattern| !matches(pattern, &known));
        let names = names(&known);
        let unmatched = |pattern: &&str| Unmatched {
            pattern: pattern.to_string(),
            nearest: nearest(&[pattern], names.iter().map(String::as_str))
                .into_iter()
                .map(str::to_string)
                .collect(),
        };
        verdict.unmatched = missed.iter().map(unmatched).collect();
    }
    // The patterns are those of the end. An event that only a pattern of before can have enabled
    // was asked for, too.
    let was_asked = |(name, level): &(String, u8)| !Patterns::is_recorded_anyway(name, *level);
    verdict.nothing_matched = missed.len() == asking.len()
        && !patterns.begins_with_default()
        && !enabled.iter().any(was_asked);
}

/// What can be suggested: each event, and each group as a pattern.
fn names(known: &[(String, u8)]) -> BTreeSet<String> {
    let group = |name: &str| name.split_once(':').map(|(group, _)| format!("{group}:*"));
    let names = known.iter().flat_map(|(name, _)| [Some(name.clone()), group(name)]);
    names.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(arguments: &[&str]) -> Verdict {
        judged_with(&["process:start", "http:request"], arguments)
    }

    fn judged_with(enabled: &[&str], arguments: &[&str]) -> Verdict {
        let event = |name: &str| (name.to_string(), 6);
        let enabled: Vec<(String, u8)> = enabled.iter().map(|name| event(name)).collect();
        let known = ["process:start", "http:request", "io:read_entry", "io:read_exit"].map(event);
        let arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
        let patterns = Patterns::new(&arguments).unwrap();
        let mut verdict = Verdict::new("trace".into());
        add(&mut verdict, &patterns, &enabled, || known.to_vec());
        verdict
    }

    #[test]
    fn pattern_without_a_match_is_named_with_what_is_like_it() {
        let verdict = judged(&["http:*", "io:raed_entry@info", "zzz"]);
        assert!(!verdict.nothing_matched);
        let patterns: Vec<&str> = verdict.unmatched.iter().map(|u| u.pattern.as_str()).collect();
        assert_eq!(patterns, ["io:raed_entry@info", "zzz"]);
        assert_eq!(verdict.unmatched[0].nearest[0], "io:read_entry");
        assert!(verdict.unmatched[1].nearest.is_empty());
        assert_eq!(judged(&["htpp:*"]).unmatched[0].nearest[0], "http:*");
        assert_eq!(judged(&["oi:*"]).unmatched[0].nearest, ["io:*"]);
    }

    #[test]
    fn nothing_matched_when_no_pattern_that_asks_matches() {
        let judged = |arguments: &[&str]| judged_with(&["process:start"], arguments);
        assert!(judged(&["zzz"]).nothing_matched && judged(&["!http:*"]).nothing_matched);
        assert!(!judged(&["zzz", "http:*"]).nothing_matched && !judged(&[]).nothing_matched);
        assert!(!judged(&["process:start"]).nothing_matched);
        let left_out = judged(&["io:*", "!io:*"]);
        assert!(left_out.unmatched.is_empty() && !left_out.nothing_matched);
    }

    #[test]
    fn what_patterns_of_before_asked_for_did_match() {
        let disabled = judged(&["zzz", "!http:*"]);
        assert!(!disabled.nothing_matched, "http:request was enabled once");
        assert_eq!(disabled.unmatched[0].pattern, "zzz");
        let patterns = Patterns::default().with(&["!io:*".into()]).unwrap();
        let mut verdict = Verdict::new("trace".into());
        add(&mut verdict, &patterns, &[("process:start".into(), 6)], Vec::new);
        assert!(!verdict.nothing_matched, "what is recorded by default was asked for");
    }
}
