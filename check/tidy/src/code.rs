// SPDX-License-Identifier: MIT
//! Tells code from comments, in C and Rust, without parsing either.
//!
//! Both views keep the line structure of the text: what belongs to the other view, and the
//! inside of strings and character literals, is blank.

use crate::tree::{File, Language};

/// A text's code and its comments.
pub struct Views {
    pub code: String,
    pub comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text { quote: char },
    RawText { hashes: usize },
}

pub fn views(file: &File) -> Views {
    split(&file.text, file.language() == Language::Rust)
}

fn split(text: &str, rust: bool) -> Views {
    let chars: Vec<char> = text.chars().collect();
    let mut views = Views { code: String::new(), comments: String::new() };
    let mut state = State::Code;
    let mut at = 0;
    while at < chars.len() {
        let (next, length, is_comment) = step(&chars, at, state, rust);
        let blank_both = matches!(state, State::Text { .. } | State::RawText { .. });
        for &c in &chars[at..at + length] {
            let keep = |view: &mut String, wanted: bool| {
                if c == '\n' || c == '\t' || wanted {
                    view.push(c);
                } else {
                    view.push_str(&" ".repeat(c.len_utf8()));
                }
            };
            keep(&mut views.code, !is_comment && !blank_both);
            keep(&mut views.comments, is_comment);
        }
        at += length;
        state = next;
    }
    views
}

/// Reads one token's worth at `at`. Returns the next state, how many characters belong to this
/// one, and whether they are comment.
fn step(chars: &[char], at: usize, state: State, rust: bool) -> (State, usize, bool) {
    let c = chars[at];
    let follows = |text: &str| text.chars().enumerate().all(|(i, t)| chars.get(at + i) == Some(&t));
    match state {
        State::Code if follows("//") => (State::LineComment, 2, true),
        State::Code if follows("/*") => (State::BlockComment { depth: 1 }, 2, true),
        State::Code if c == '"' => (State::Text { quote: '"' }, 1, false),
        State::Code if rust && c == 'r' && raw_hashes(chars, at).is_some() => {
            let hashes = raw_hashes(chars, at).unwrap_or(0);
            (State::RawText { hashes }, hashes + 2, false)
        }
        State::Code if c == '\'' && (!rust || is_character(chars, at)) => {
            (State::Text { quote: '\'' }, 1, false)
        }
        State::Code => (State::Code, 1, false),
        State::LineComment if c == '\n' => (State::Code, 1, true),
        State::LineComment => (State::LineComment, 1, true),
        State::BlockComment { depth } if follows("*/") => match depth {
            1 => (State::Code, 2, true),
            _ => (State::BlockComment { depth: depth - 1 }, 2, true),
        },
        State::BlockComment { depth } if rust && follows("/*") => {
            (State::BlockComment { depth: depth + 1 }, 2, true)
        }
        State::BlockComment { .. } => (state, 1, true),
        State::Text { .. } if c == '\\' => (state, 2.min(chars.len() - at), false),
        State::Text { quote } if c == quote => (State::Code, 1, false),
        State::Text { .. } => (state, 1, false),
        State::RawText { hashes } => {
            let end: String = std::iter::once('"').chain("#".repeat(hashes).chars()).collect();
            if follows(&end) {
                (State::Code, hashes + 1, false)
            } else {
                (state, 1, false)
            }
        }
    }
}

/// The number of `#` of a raw string that starts at `at`, if one does.
fn raw_hashes(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let begins_word = at == 0 || !(chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let byte_prefix = at > 0 && chars[at - 1] == 'b';
    (chars.get(at + 1 + hashes) == Some(&'"') && (begins_word || byte_prefix)).then_some(hashes)
}

/// In Rust a `'` begins a character literal or a lifetime.
fn is_character(chars: &[char], at: usize) -> bool {
    chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'')
}

/// The identifiers of a line of code.
pub fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let views = split("int a; /* b\n * c */ char *d = \"e // f\"; // g\nh();\n", false);
        assert_eq!(views.code, "int a;     \n        char *d = \"       ;     \nh();\n");
        assert!(views.comments.contains("/* b\n * c */"));
        assert!(views.comments.contains("// g\n"));
        assert!(!views.comments.contains('f'));
    }

    #[test]
    fn a_lifetime_opens_no_character_literal() {
        let views = split("fn a<'b>(c: &'b str) -> char { '{' }\n", true);
        assert_eq!(views.code.matches('{').count(), 1);
        assert!(views.code.contains("&'b str"));
    }

    #[test]
    fn raw_strings_end_at_their_hashes() {
        let views = split("let a = r#\"x \" // y\"#; b();\n", true);
        assert!(views.code.contains("b();"));
        assert!(!views.comments.contains('y'));
    }

    #[test]
    fn rust_block_comments_nest() {
        let views = split("/* a /* b */ c */ d();\n", true);
        assert_eq!(views.code.trim(), "d();");
    }
}
