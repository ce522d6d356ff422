// SPDX-License-Identifier: MIT
//! Patterns: which events a session wants. The grammar is that of `core/site/pattern.h`, and
//! the matcher is that C code itself.
//!
//! Place in the flow: `lull record -e` -> **patterns** -> control file -> liblull enables sites.

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

/// Text that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    text: CString,
}

/// A pattern that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("-e '{pattern}': {reason}")]
pub struct BadPattern {
    pub pattern: String,
    pub reason: String,
}

impl Patterns {
    /// From the arguments of -e, in their order; without any, what is recorded by default.
    pub fn new(arguments: &[String]) -> Result<Self, BadPattern> {
        if arguments.is_empty() {
            return Ok(Self::default());
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
        let text = CString::new(arguments.join("\n")).unwrap_or_default();
        let mut reason = std::ptr::null();
        // SAFETY: the text is NUL-terminated; reason is set to a constant string on failure.
        let line = unsafe { lull_pattern_check(text.as_ptr(), &mut reason) };
        if line == 0 {
            return Ok(Self { text });
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

    pub fn matches(&self, name: &str, level: u8) -> bool {
        // SAFETY: the text is NUL-terminated, the name readable for its length.
        unsafe {
            let name_start = name.as_ptr().cast();
            lull_pattern_match(self.text.as_ptr(), name_start, name.len(), u32::from(level)) != 0
        }
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
        let mut lines = vec!["*".to_string()];
        for group in INTERPOSED {
            lines.push(format!("!{group}:*"));
            lines.push(format!("{group}:*@info"));
        }
        lines.extend(ALLOCATION.map(|group| format!("!{group}:*")));
        Self { text: CString::new(lines.join("\n")).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(arguments: &[&str]) -> Result<Patterns, BadPattern> {
        Patterns::new(&arguments.iter().map(|text| text.to_string()).collect::<Vec<_>>())
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
    fn allocation_is_meant_only_where_it_is_named() {
        for named in ["malloc:*", "malloc:free", "mm?p:*", "m*:*", "malloc:*@debug"] {
            assert!(patterns(&[named]).unwrap().names_allocation(), "{named}");
        }
        for other in ["*", "*:*", "!malloc:*", "mutex:*", "io:*", "?:*"] {
            assert!(!patterns(&[other]).unwrap().names_allocation(), "{other}");
        }
    }
}
