// SPDX-License-Identifier: MIT
//! Patterns: which events a session wants. The grammar is that of `core/site/pattern.h`, and
//! the matcher is that C code itself.
//!
//! Place in the flow: `lull record -e` -> **patterns** -> control file -> liblull enables sites.
//! `lull print` and `lull report` match the events of a trace here, too.

use std::ffi::{c_char, c_int, CStr, CString};

extern "C" {
    fn lull_pattern_match(
        patterns: *const c_char,
        name: *const c_char,
        name_bytes: usize,
        level: u32,
    ) -> c_int;
    fn lull_pattern_check(patterns: *const c_char, reason: *mut *const c_char) -> usize;
}

/// The groups of events that liblull's interposers record.
const INTERPOSED: [&str; 9] =
    ["process", "thread", "mutex", "rwlock", "cond", "barrier", "sem", "io", "dl"];
/// Groups that have a library of their own, loaded only when a pattern names them.
const ALLOCATION: [&str; 2] = ["malloc", "mmap"];

/// The events that tell of the lives of processes. The verdict rests on them, so they come before
/// what is asked for: they are recorded unless a later pattern leaves them out.
const LIVES: [&str; 7] = [
    "process:start",
    "process:join",
    "process:fork*",
    "process:exec_*",
    "process:spawn_*",
    "process:exit",
    "process:quick_exit",
];

/// The events that tell where programs have loaded objects: call stacks and locks have no names
/// without.
const OBJECTS: &str = "process:object";

/// The waits of the interposers for locks.
const WAITS: [&str; 5] = [
    "mutex:wait_entry",
    "rwlock:wait_entry",
    "cond:wait_entry",
    "barrier:wait_entry",
    "sem:wait_entry",
];

/// The pattern of all events, with which the default begins.
const ALL: &str = "*";

/// The level of Lull's own events.
const INFO: u8 = 6;

/// Text that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    text: CString,
    /// What was asked for, one by one; empty for what is recorded by default.
    asked: Vec<String>,
}

/// A pattern that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("-e '{pattern}': {reason}")]
pub struct BadPattern {
    pub pattern: String,
    pub reason: String,
}

impl Patterns {
    /// What to record: the arguments of -e, in their order, after the lives of processes; without
    /// any, what is recorded by default.
    pub fn new(arguments: &[String]) -> Result<Self, BadPattern> {
        if arguments.is_empty() {
            return Ok(Self::default());
        }
        let exactly = Self::exactly(arguments)?;
        let lines: Vec<&str> = LIVES.into_iter().chain(exactly.text().lines()).collect();
        let text = CString::new(lines.join("\n")).unwrap_or_default();
        Ok(Self { text, ..exactly })
    }

    /// The same, and what tells where objects are, unless a later pattern leaves that out.
    pub fn with_objects(self) -> Self {
        let text = CString::new(format!("{OBJECTS}\n{}", self.text())).unwrap_or_default();
        Self { text, ..self }
    }

    /// The same with other arguments of -e. What is recorded by default, or is recorded anyway,
    /// still comes first.
    pub fn with(&self, arguments: &[String]) -> Result<Self, BadPattern> {
        if arguments.is_empty() {
            return Ok(self.clone());
        }
        let exactly = Self::exactly(arguments)?;
        let first = self.text().lines().take(self.first_asked());
        let lines: Vec<&str> = first.chain(exactly.text().lines()).collect();
        let text = CString::new(lines.join("\n")).unwrap_or_default();
        Ok(Self { text, ..exactly })
    }

    /// These patterns and no others; without any, all events.
    pub fn exactly(arguments: &[String]) -> Result<Self, BadPattern> {
        if arguments.is_empty() {
            return Ok(Self { text: c"*".into(), asked: Vec::new() });
        }
        let bad = |pattern: &str, reason: &str| BadPattern {
            pattern: pattern.to_string(),
            reason: reason.to_string(),
        };
        if let Some(pattern) = arguments.iter().find(|pattern| pattern.trim().is_empty()) {
            return Err(bad(pattern, "it is empty"));
        }
        if let Some(pattern) = arguments.iter().find(|pattern| pattern.contains(['\n', '\0'])) {
            return Err(bad(pattern, "it has a character that no event's name has"));
        }
        let asked = arguments.to_vec();
        let text = CString::new(arguments.join("\n")).unwrap_or_default();
        let mut reason = std::ptr::null();
        // SAFETY: the text is NUL-terminated; reason is set to a constant string on failure.
        let line = unsafe { lull_pattern_check(text.as_ptr(), &mut reason) };
        if line == 0 {
            return Ok(Self { text, asked });
        }
        let pattern = arguments.get(line - 1).map_or("", String::as_str);
        let reason = if reason.is_null() {
            "it cannot be understood".into()
        } else {
            // SAFETY: not NULL, so a constant NUL-terminated string.
            unsafe { CStr::from_ptr(reason) }.to_string_lossy()
        };
        Err(bad(pattern, &reason))
    }

    pub fn text(&self) -> &str {
        self.text.to_str().unwrap_or_default()
    }

    /// Which line of the text the first of the arguments is, from 0: the others follow.
    pub fn first_asked(&self) -> usize {
        self.text().lines().count() - self.asked.len()
    }

    pub fn matches(&self, name: &str, level: u8) -> bool {
        // SAFETY: the text is NUL-terminated, the name readable for its length.
        unsafe {
            let name_start = name.as_ptr().cast();
            lull_pattern_match(self.text.as_ptr(), name_start, name.len(), u32::from(level)) != 0
        }
    }

    /// Whether an event with several names is wanted: the last pattern that matches one of them
    /// decides.
    pub fn match_any(&self, names: &[&str], level: u8) -> bool {
        let last = self.text().lines().rev().find(|line| {
            let rule = line.strip_prefix('!').unwrap_or(line);
            names.iter().any(|name| Self::alone_matches(rule, name, level))
        });
        last.is_some_and(|line| !line.starts_with('!'))
    }

    /// Whether waits for a program's locks are recorded.
    pub fn has_locks(&self) -> bool {
        WAITS.iter().any(|wait| self.matches(wait, INFO))
    }

    /// The patterns that ask for events, as they were given.
    pub fn asking(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().map(String::as_str).filter(|pattern| !pattern.starts_with('!'))
    }

    /// Whether anything was asked for that is not recorded anyway.
    pub fn is_default(&self) -> bool {
        self.asked.is_empty()
    }

    /// Whether an event tells of the lives of processes or of their objects, and so is recorded
    /// without a pattern that asks for it.
    pub fn is_recorded_anyway(name: &str, level: u8) -> bool {
        LIVES.into_iter().chain([OBJECTS]).any(|one| Self::alone_matches(one, name, level))
    }

    /// Whether what was asked for changes what is recorded by default.
    pub fn begins_with_default(&self) -> bool {
        self.text().lines().take(self.first_asked()).any(|line| line == ALL)
    }

    /// Whether all events that tell of the lives of processes are recorded.
    pub fn watches_processes(&self) -> bool {
        let name = |glob: &str| glob.replace('*', "entry");
        LIVES.iter().all(|glob| self.matches(&name(glob), INFO))
    }

    /// Whether a pattern matches an event, as if it were the only one.
    pub fn alone_matches(pattern: &str, name: &str, level: u8) -> bool {
        let Ok(text) = CString::new(pattern) else { return false };
        Self { text, asked: Vec::new() }.matches(name, level)
    }

    /// Whether a pattern asks for memory allocation by name: a program allocates more often
    /// than it does anything else, so `*` does not mean it.
    pub fn names_allocation(&self) -> bool {
        self.text().lines().filter(|line| !line.starts_with('!')).any(|line| {
            let (group, _) = line.split_once(':').unwrap_or((line, ""));
            let is_named = group.chars().any(|c| c.is_ascii_alphanumeric());
            is_named && ALLOCATION.iter().any(|name| group_matches(group, name))
        })
    }
}

fn group_matches(glob: &str, group: &str) -> bool {
    let glob = glob.split('@').next().unwrap_or_default();
    let Ok(text) = CString::new(glob) else { return false };
    // SAFETY: the text is NUL-terminated, the name readable for its length.
    unsafe { lull_pattern_match(text.as_ptr(), group.as_ptr().cast(), group.len(), 0) != 0 }
}

impl Default for Patterns {
    /// All that the program itself instruments, and of the interposers what is not chatty.
    fn default() -> Self {
        let mut lines = vec![ALL.to_string()];
        for group in INTERPOSED {
            lines.push(format!("!{group}:*"));
            lines.push(format!("{group}:*@info"));
        }
        lines.extend(ALLOCATION.map(|group| format!("!{group}:*")));
        let text = CString::new(lines.join("\n")).unwrap_or_default();
        Self { text, asked: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(arguments: &[&str]) -> Result<Patterns, BadPattern> {
        Patterns::new(&arguments.iter().map(|text| text.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn objects_are_told_beside_what_is_asked_for_unless_they_are_left_out() {
        let patterns = |of: &[&str]| {
            let of: Vec<String> = of.iter().map(|pattern| pattern.to_string()).collect();
            Patterns::new(&of).unwrap().with_objects()
        };
        let asked = patterns(&["io:*"]);
        assert!(asked.matches("process:object", 6) && asked.matches("io:read", 6));
        let line = asked.text().lines().nth(asked.first_asked());
        assert_eq!((line, asked.asking().count()), (Some("io:*"), 1));
        assert!(!patterns(&["io:*", "!process:*"]).matches("process:object", 6));
        let anyway = ["process:object", "process:exec_entry", "process:kill", "io:read_entry"];
        let anyway = anyway.map(|name| Patterns::is_recorded_anyway(name, 6));
        assert_eq!(anyway, [true, true, false, false]);
    }

    #[test]
    fn waits_for_locks_are_among_what_is_asked_for_by_group_or_by_event() {
        let has_locks = |of: &[&str]| patterns(of).unwrap().has_locks();
        assert!(has_locks(&["mutex:*"]) && has_locks(&["cond:wait_entry"]) && has_locks(&["*"]));
        assert!(!has_locks(&["io:*", "process:*"]) && !has_locks(&["*", "!*:wait_*"]));
    }

    #[test]
    fn other_arguments_come_after_what_is_recorded_anyway() {
        let some = patterns(&["a:*"]).unwrap();
        let more = some.with(&["a:*".into(), "!a:b".into()]).unwrap();
        assert!(more.matches("a:c", 6) && !more.matches("a:b", 6) && more.watches_processes());
        assert_eq!(more.text().lines().nth(more.first_asked()), Some("a:*"));
        let default = Patterns::default().with(&["!io:*".into()]).unwrap();
        assert!(default.matches("http:request", 7) && !default.matches("io:read_entry", 6));
        assert!(!default.is_default());
        assert!(default.begins_with_default() && !more.begins_with_default());
        assert!(!patterns(&["*"]).unwrap().begins_with_default(), "it was asked for");
        assert!(some.with(&["a:*@no".into()]).is_err());
    }

    #[test]
    fn without_patterns_the_programs_own_events_and_calm_interposers_are_wanted() {
        let default = patterns(&[]).unwrap();
        assert!(default.matches("http:request", 7), "the program's own, even for debugging");
        assert!(default.matches("io:read_entry", 6));
        assert!(!default.matches("io:epoll_ctl", 7));
        assert!(!default.matches("malloc:malloc", 6));
        assert!(!default.matches("mmap:mmap", 6));
        assert!(!default.names_allocation());
        assert!(default.is_default() && default.watches_processes());
        assert_eq!(default.asking().count(), 0);
    }

    #[test]
    fn pattern_that_cannot_be_understood_is_named_with_its_reason() {
        let error = patterns(&["io:*", "a:b@loud"]).unwrap_err();
        assert_eq!(error.pattern, "a:b@loud");
        assert!(error.reason.contains("level"), "{error}");
        for bad in ["", " ", "a\nb"] {
            assert!(patterns(&[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lives_of_processes_are_recorded_unless_they_are_left_out() {
        for arguments in [&[][..], &["io:*"], &["*@error"], &["http:*", "!io:*"]] {
            let patterns = patterns(arguments).unwrap();
            for name in ["process:start", "process:forked", "process:exec_entry", "process:exit"] {
                assert!(patterns.matches(name, 6), "{arguments:?} {name}");
            }
            assert!(patterns.watches_processes(), "{arguments:?}");
        }
        for arguments in [&["io:*", "!process:*"][..], &["!process:exec*"], &["!*"]] {
            assert!(!patterns(arguments).unwrap().watches_processes(), "{arguments:?}");
        }
        assert!(!patterns(&["io:*"]).unwrap().matches("process:kill", 6), "not all of process");
        assert!(!Patterns::exactly(&["io:*".into()]).unwrap().matches("process:start", 6));
        assert!(!patterns(&["io:*", "!process:*"]).unwrap().matches("process:start", 6));
    }

    #[test]
    fn what_asks_is_kept_as_it_was_given_and_can_be_asked_alone() {
        let patterns = patterns(&["io:*", "!io:read*", "a:b@info"]).unwrap();
        assert_eq!(patterns.asking().collect::<Vec<_>>(), ["io:*", "a:b@info"]);
        assert!(!patterns.is_default());
        let exactly = Patterns::exactly(&["io:*".into()]).unwrap();
        assert_eq!(exactly.text(), "io:*");
        assert_eq!((exactly.first_asked(), patterns.first_asked()), (0, LIVES.len()));
        assert!(Patterns::exactly(&[]).unwrap().is_default());
        assert!(Patterns::alone_matches("io:*", "io:read_entry", 6));
        assert!(!Patterns::alone_matches("a:b@info", "a:b", 7));
    }

    #[test]
    fn last_pattern_that_matches_any_name_of_an_event_decides() {
        let exactly = |arguments: &[&str]| {
            Patterns::exactly(&arguments.iter().map(|text| text.to_string()).collect::<Vec<_>>())
                .unwrap()
        };
        let names = ["io:read_entry", "io:read"];
        assert!(exactly(&[]).match_any(&names, 7));
        assert!(exactly(&["io:read"]).match_any(&names, 6));
        assert!(!exactly(&["io:*", "!io:read"]).match_any(&names, 6));
        assert!(exactly(&["!io:read", "io:*_entry"]).match_any(&names, 6));
        assert!(!exactly(&["io:*@error"]).match_any(&names, 6));
        assert!(!exactly(&["!io:write"]).match_any(&names, 6), "nothing asks for it");
    }

    #[test]
    fn allocation_is_meant_only_where_it_is_named() {
        for named in ["malloc:*", "malloc:free", "mm?p:*", "m*:*", "malloc:*@debug"] {
            assert!(patterns(&[named]).unwrap().names_allocation(), "{named}");
        }
        for other in ["*", "*:*", "!malloc:*", "mutex:*", "io:*", "?:*"] {
            assert!(!patterns(&[other]).unwrap().names_allocation(), "{other}");
        }
    }
}
