// SPDX-License-Identifier: MIT
//! Numbers and sentences of the verdict, as people read them.
//!
//! Place in the flow: `Verdict` puts its lines together from these; `lull` uses the numbers too.

pub use crate::number::{bytes, grouped, plural};
use crate::{Lost, Unmatched, Unwritten, WentOn};
use std::path::Path;

/// The limit of each trace of a flight recorder's.
pub const RECORDED_LAST: &str = "of what was recorded last: a flight recorder overwrites what is \
    older, and programs that were not recorded are not known";
/// Processes that one sentence names.
const NAMED_MAX: usize = 8;

/// A path as seen from here, if it is below here.
pub fn short(path: &Path) -> &Path {
    let below = std::env::current_dir().ok().and_then(|here| path.strip_prefix(here).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path)
}

pub(crate) fn causes(lost: &Lost) -> Vec<(u64, &'static str)> {
    let all = [
        (lost.full, "its buffer was full; use larger --buffer-size or more --buffers"),
        (
            lost.overflow,
            "a sub-buffer came round again before a slow thread had left it, or a signal handler \
             left an event by siglongjmp()",
        ),
        (lost.too_big, "they do not fit into a sub-buffer; use a larger --buffer-size"),
        (lost.in_flight, "their threads were killed or stopped while writing them"),
    ];
    all.into_iter().filter(|(count, _)| *count > 0).collect()
}

/// `was_asked_to_end`: the recording, and not a program that they descend from.
pub(crate) fn went_on(processes: &[WentOn], was_asked_to_end: bool) -> String {
    let named = processes.iter().take(NAMED_MAX);
    let mut list: Vec<String> =
        named.map(|process| format!("{}, pid {}", process.path, process.pid)).collect();
    if processes.len() > NAMED_MAX {
        list.push(format!("{} more", processes.len() - NAMED_MAX));
    }
    let verb = if processes.len() == 1 { "is" } else { "are" };
    let (until, noun, advice) = match was_asked_to_end {
        true => ("the recording was stopped", "process", ""),
        false => ("the program ended", "descendant", "; --wait-all waits for all"),
    };
    format!(
        "until {until}: {} went on and {verb} no longer recorded: {}{advice}",
        plural(processes.len() as u64, noun),
        list.join("; ")
    )
}

pub(crate) fn unwritten(unwritten: &Unwritten) -> String {
    let Unwritten { rings, packets, events: count, reason } = unwritten;
    let (packets, count) = (plural(*packets, "packet"), events(*count));
    format!("{packets} with {count} of {} not written: {reason}", rings.join(", "))
}

pub(crate) fn unmatched(unmatched: &Unmatched) -> String {
    let nearest = match &unmatched.nearest[..] {
        [] => String::new(),
        [name] => format!("; the nearest name is {name}"),
        names => format!("; the nearest names are {}", names.join(", ")),
    };
    format!(
        "the pattern '{}' matches no event of the programs that were recorded{nearest}",
        unmatched.pattern
    )
}

pub fn events(count: u64) -> String {
    plural(count, "event")
}

pub(crate) fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_names_a_few_processes_and_counts_the_rest() {
        let one = |pid| WentOn { path: "/d".into(), pid };
        let many: Vec<WentOn> = (1..=10).map(one).collect();
        let text = went_on(&many, false);
        assert!(text.contains("10 descendants went on and are no longer"), "{text}");
        assert!(text.contains("pid 8; 2 more; --wait-all"), "{text}");
        let text = went_on(&many[..1], true);
        assert_eq!(
            text,
            "until the recording was stopped: 1 process went on and is no longer recorded: /d, \
             pid 1"
        );
    }
}
