// SPDX-License-Identifier: MIT
//! Name patterns, with the grammar of `lull record -e`: `*` is any number of characters, `?` one,
//! `[a-z_]` one of a set, `[!a-z]` one outside it.
//!
//! Place in the flow: matched once for each event class, never for an event.

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Run,
    One,
    Exactly(char),
    Set { ranges: Vec<(char, char)>, is_inverted: bool },
}

impl Part {
    fn matches(&self, c: char) -> bool {
        match self {
            Part::Run => false,
            Part::One => true,
            Part::Exactly(wanted) => *wanted == c,
            Part::Set { ranges, is_inverted } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *is_inverted
            }
        }
    }
}

impl Glob {
    /// Understands a pattern; the error says what is wrong with it.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("there is no name to match; write * for all".into());
        }
        let characters: Vec<char> = pattern.chars().collect();
        let mut parts = Vec::new();
        let mut rest = characters.as_slice();
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            parts.push(match first {
                '*' => Part::Run,
                '?' => Part::One,
                '[' => {
                    let (part, after) = set(rest).ok_or_else(|| {
                        format!("the set that begins with '[' in {pattern:?} has no ']'")
                    })?;
                    rest = after;
                    part
                }
                c => Part::Exactly(*c),
            });
        }
        Ok(Self { parts })
    }

    /// Whether the whole name matches. Only the last `*` is ever reconsidered, so the work is
    /// bounded by the product of the two lengths.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut part) = (0, 0);
        let mut last_run: Option<(usize, usize)> = None;
        while let Some(c) = name.get(at) {
            match self.parts.get(part) {
                Some(Part::Run) => {
                    last_run = Some((part, at));
                    part += 1;
                }
                Some(one) if one.matches(*c) => {
                    at += 1;
                    part += 1;
                }
                _ => {
                    let Some((run, from)) = last_run else { return false };
                    last_run = Some((run, from + 1));
                    at = from + 1;
                    part = run + 1;
                }
            }
        }
        self.parts.iter().skip(part).all(|part| *part == Part::Run)
    }
}

/// The set after its `[`, and what follows its `]`. A `]` in the first place stands for itself.
fn set(text: &[char]) -> Option<(Part, &[char])> {
    let is_inverted = text.first() == Some(&'!');
    let mut rest = if is_inverted { text.get(1..)? } else { text };
    let mut ranges = Vec::new();
    loop {
        match rest {
            [']', after @ ..] if !ranges.is_empty() => {
                return Some((Part::Set { ranges, is_inverted }, after));
            }
            [first, '-', last, after @ ..] if *last != ']' => {
                ranges.push((*first, *last));
                rest = after;
            }
            [one, after @ ..] => {
                ranges.push((*one, *one));
                rest = after;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn globs_match_whole_names_with_runs_single_characters_and_sets() {
        let matching = [
            ("*", ""),
            ("io:*", "io:read_entry"),
            ("*:re*st", "http:request"),
            ("a?c", "aéc"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[]]", "]"),
            ("[a-]*", "-b"),
        ];
        for (pattern, name) in matching {
            assert!(Glob::parse(pattern).unwrap().matches(name), "{pattern} {name}");
        }
        let other =
            [("io", "io:x"), ("a?c", "ac"), ("*b", "abc"), ("[!a-c]x", "ax"), ("[a-c]", "")];
        for (pattern, name) in other {
            assert!(!Glob::parse(pattern).unwrap().matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn empty_pattern_and_open_set_are_refused_with_a_reason() {
        assert!(Glob::parse("").unwrap_err().contains("write *"));
        assert!(Glob::parse("io:[ab").unwrap_err().contains("no ']'"));
    }
}
