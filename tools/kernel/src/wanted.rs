// SPDX-License-Identifier: MIT
//! Which of the kernel's events patterns ask for.
//!
//! Place in the flow: `lull record -k` and `lull list -k` ask before anything is enabled. The same
//! patterns choose among the events of programs, so they mean the same here but for two things:
//! the kernel has thousands of events, some of which tell of each step that it takes, and so a
//! pattern without a letter or a digit, such as `*`, means those that are recorded by default; and
//! the events that tell whose a thread is are recorded unless a pattern leaves them out.

use crate::decode::LEVEL;
use session::pattern::Patterns;

/// What is recorded by default: why threads run and wait, and what they ask of the kernel.
const DEFAULT: [&str; 12] = [
    "sched:sched_switch",
    "sched:sched_wak*",
    "sched:sched_migrate_task",
    "sched:sched_process_*",
    "syscalls:*",
    "irq:irq_handler_*",
    "irq:softirq_*",
    "block:block_rq_*",
    "signal:*",
    "state:*",
    "task:task_newtask",
    "task:task_rename",
];
/// By these the events of a thread that begins while recording can be told from others.
const LIVES: [&str; 2] = ["task:task_newtask", "task:task_rename"];

/// Those of some events, each as `GROUP:NAME`, that patterns ask for.
pub fn wanted(events: &[String], patterns: &Patterns) -> Vec<String> {
    let default = Patterns::exactly(&DEFAULT.map(str::to_string)).unwrap_or_default();
    let asks = |name: &str| match (patterns.is_default(), deciding(patterns, name)) {
        (true, _) => default.matches(name, LEVEL),
        (false, None) => false,
        (false, Some(line)) if line.starts_with('!') => false,
        (false, Some(line)) => names_something(line) || default.matches(name, LEVEL),
    };
    let mut wanted: Vec<String> = events.iter().filter(|name| asks(name)).cloned().collect();
    if wanted.is_empty() {
        return wanted;
    }
    for name in LIVES {
        let is_left_out = deciding(patterns, name).is_some_and(|line| line.starts_with('!'));
        let is_there = events.iter().any(|event| event == name);
        if is_there && !is_left_out && !wanted.iter().any(|event| event == name) {
            wanted.push(name.to_string());
        }
    }
    wanted
}

/// The patterns for events of modules other than lull, which may come while recording, so that they
/// cannot be chosen by their names before. They have levels of their own. None of them is recorded
/// by default: a pattern that names nothing leaves out what it matches. None where no pattern asks
/// for events by name.
pub fn of_modules(patterns: &Patterns) -> Option<Patterns> {
    if !patterns.asking().any(names_something) {
        return None;
    }
    let lines = patterns.text().lines().map(|line| match line.starts_with('!') {
        false if !names_something(line) => format!("!{line}"),
        _ => line.to_string(),
    });
    Patterns::exactly(&lines.collect::<Vec<_>>()).ok()
}

/// The last pattern that matches an event.
fn deciding<'a>(patterns: &'a Patterns, name: &str) -> Option<&'a str> {
    patterns
        .text()
        .lines()
        .rev()
        .find(|line| Patterns::alone_matches(line.strip_prefix('!').unwrap_or(line), name, LEVEL))
}

/// Whether a pattern has any letter or digit of a name.
fn names_something(pattern: &str) -> bool {
    let glob = pattern.split('@').next().unwrap_or_default();
    glob.contains(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(arguments: &[&str]) -> Vec<String> {
        let events = [
            "kmem:kmalloc",
            "sched:sched_stat_runtime",
            "sched:sched_switch",
            "syscalls:sys_enter_read",
            "task:task_newtask",
            "task:task_rename",
        ];
        let arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
        let patterns = Patterns::new(&arguments).unwrap();
        let mut names = wanted(&events.map(str::to_string), &patterns);
        names.sort_unstable();
        names
    }

    const LIVES_AND: [&str; 2] = ["task:task_newtask", "task:task_rename"];

    #[test]
    fn patterns_choose_among_the_kernels_events_and_lives_of_threads_come_along() {
        assert_eq!(chosen(&["kmem:*"]), ["kmem:kmalloc", LIVES_AND[0], LIVES_AND[1]]);
        assert_eq!(chosen(&["kmem:*", "!task:*"]), ["kmem:kmalloc"]);
        assert_eq!(chosen(&["*:sched_s*", "!*_runtime"])[0], "sched:sched_switch");
        assert!(chosen(&["http:*"]).is_empty(), "no event of the kernel's");
        assert!(chosen(&["kmem:*@error"]).is_empty(), "they count as information");
    }

    #[test]
    fn events_of_other_modules_are_asked_for_by_name_and_have_levels() {
        let asks = |arguments: &[&str], level| {
            let arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
            let patterns = Patterns::new(&arguments).unwrap();
            of_modules(&patterns).is_some_and(|patterns| patterns.matches("example:job", level))
        };
        assert!(asks(&["example:*"], LEVEL) && asks(&["example:*"], 7));
        assert!(asks(&["example:*@notice"], 5) && !asks(&["example:*@notice"], LEVEL));
        assert!(!asks(&[], LEVEL) && !asks(&["*"], LEVEL) && !asks(&["sched:*"], LEVEL));
        assert!(!asks(&["example:*", "*"], LEVEL) && asks(&["*", "example:*"], LEVEL));
        assert!(!asks(&["example:*", "!*:job"], LEVEL));
    }

    #[test]
    fn pattern_that_names_nothing_means_what_is_recorded_by_default() {
        let default = ["sched:sched_switch", "syscalls:sys_enter_read", LIVES_AND[0], LIVES_AND[1]];
        for arguments in [&[][..], &["*"], &["*:*"], &["*@debug"]] {
            assert_eq!(chosen(arguments), default, "{arguments:?}");
        }
        assert_eq!(chosen(&["*", "!syscalls:*"])[0], "sched:sched_switch");
        assert_eq!(chosen(&["*", "!syscalls:*"]).len(), 3);
    }
}
