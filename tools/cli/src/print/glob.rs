// SPDX-License-Identifier: MIT
//! Name patterns: `*` for any characters, `?` for one.
//!
//! Place in the flow: `-e` filters; matched once for each event class, not for each event.

pub(super) struct Glob {
    pattern: Vec<char>,
}

impl Glob {
    pub fn new(pattern: &str) -> Self {
        Self { pattern: pattern.chars().collect() }
    }

    /// Whether the whole name matches. Only the last `*` is ever reconsidered, so the work is
    /// bounded by the product of the two lengths.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut next) = (0, 0);
        let mut last_star: Option<(usize, usize)> = None;
        while at < name.len() {
            match self.pattern.get(next) {
                Some('*') => {
                    last_star = Some((next, at));
                    next += 1;
                }
                Some(c) if *c == '?' || *c == name[at] => {
                    at += 1;
                    next += 1;
                }
                _ => {
                    let Some((star, from)) = last_star else { return false };
                    last_star = Some((star, from + 1));
                    at = from + 1;
                    next = star + 1;
                }
            }
        }
        self.pattern[next..].iter().all(|c| *c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_match_any_run_and_question_marks_one_character() {
        for (pattern, name) in
            [("*", ""), ("http:*", "http:request"), ("*:re*st", "http:request"), ("a?c", "aéc")]
        {
            assert!(Glob::new(pattern).matches(name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("http", "http:x"), ("a?c", "ac"), ("*b", "abc")] {
            assert!(!Glob::new(pattern).matches(name), "{pattern} {name}");
        }
    }
}
