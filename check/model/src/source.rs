// SPDX-License-Identifier: MIT
//! The source of a step: the piece of its line that was executed, and the label of the access in
//! the C source that it stands for.

use std::collections::BTreeMap;

use crate::replay::Step;
use crate::text::without_comments;

/// The files of a model, read when first needed.
#[derive(Default)]
pub struct Sources {
    files: BTreeMap<String, Vec<String>>,
}

fn is_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

fn names(text: &str) -> Vec<&str> {
    let words = text.split(|sign| !is_name(sign));
    words.filter(|word| word.starts_with(|sign: char| sign.is_ascii_alphabetic())).collect()
}

/// `[ring.commit:B]` in a line's comment.
pub fn label(line: &str) -> Option<&str> {
    line.split('[').skip(1).find_map(|rest| {
        let inside = rest.split(']').next()?;
        let (place, letter) = inside.split_once(':')?;
        let (noun, function) = place.split_once('.')?;
        let lower = |text: &str| {
            !text.is_empty() && text.chars().all(|sign| sign.is_ascii_lowercase() || sign == '_')
        };
        let upper = letter.len() == 1 && letter.chars().all(|sign| sign.is_ascii_uppercase());
        (lower(noun) && lower(function) && upper).then_some(inside)
    })
}

/// Cuts a line where one statement ends and the next begins.
fn pieces(line: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut begin = 0;
    let mut found = Vec::new();
    let mut previous = ' ';
    for (at, sign) in line.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        // `->` ends a guard, `::` begins a choice.
        let pair = matches!((previous, sign), ('-', '>') | (':', ':'));
        if depth == 0 && (sign == ';' || pair) {
            found.extend(line.get(begin..if pair { at - 1 } else { at }));
            begin = at + 1;
        }
        previous = sign;
    }
    found.extend(line.get(begin..));
    found.into_iter().map(tidied).filter(|piece| !piece.is_empty()).collect()
}

/// Without the braces and choices that surround a statement.
fn tidied(piece: &str) -> &str {
    let mut piece = piece.trim();
    let (opened, closed) = (piece.matches('{').count(), piece.matches('}').count());
    if opened > closed {
        piece = piece.rsplit_once('{').map_or(piece, |(_, rest)| rest);
    } else if closed > opened {
        piece = piece.split_once('}').map_or(piece, |(rest, _)| rest);
    }
    let piece = piece.trim().trim_end_matches('\\').trim();
    piece.strip_suffix(" od").or(piece.strip_suffix(" fi")).unwrap_or(piece).trim()
}

/// The piece that has most names in common with SPIN's text of the statement.
fn chosen<'a>(pieces: &[&'a str], statement: &str) -> Option<&'a str> {
    let scratch = statement.split_once(" = ").is_some_and(|(name, _)| name.ends_with('_'));
    if statement == "sub-sequence" || scratch {
        let is_primitive =
            |piece: &&&str| names(piece).first().is_some_and(|name| *name == name.to_uppercase());
        return pieces.iter().find(is_primitive).or(pieces.first()).copied();
    }
    let wanted = names(statement);
    let common = |piece: &str| names(piece).iter().filter(|name| wanted.contains(name)).count();
    // `lock == 0` and `lock = 1` have the same names.
    let assigns = |text: &str| text.contains(" = ") || text.contains("++") || text.contains("--");
    let same_kind = |piece: &str| assigns(piece) == assigns(statement);
    let rank = |piece: &str| (common(piece), same_kind(piece), std::cmp::Reverse(piece.len()));
    let best = pieces.iter().copied().max_by_key(|piece| rank(piece));
    best.filter(|piece| pieces.len() == 1 || common(piece) > 0)
}

impl Sources {
    pub fn line(&mut self, path: &str, number: usize) -> String {
        let lines = self.files.entry(path.to_string()).or_insert_with(|| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(str::to_string).collect()
        });
        lines.get(number.wrapping_sub(1)).cloned().unwrap_or_default()
    }

    /// What was executed, as the model's author wrote it.
    pub fn text(&mut self, step: &Step) -> String {
        let statement = step.statements.first().map_or("", String::as_str);
        let line = without_comments(&self.line(&step.path, step.line));
        // SPIN's line is the last one of a macro's arguments, which may be the preprocessor's.
        let line = if line.trim_start().starts_with('#') { String::new() } else { line };
        match chosen(&pieces(&line), statement) {
            Some(piece) => piece.split_whitespace().collect::<Vec<_>>().join(" "),
            None => statement.to_string(),
        }
    }

    /// The label of the step: on its own line, or on one that it went through.
    pub fn label(&mut self, step: &Step) -> Option<String> {
        let own = (step.path.clone(), step.line);
        let places = std::iter::once(&own).chain(&step.places);
        places
            .map(|(path, line)| self.line(path, *line))
            .find_map(|line| label(&line).map(str::to_string))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_found_in_a_comment_only_where_it_has_its_form() {
        assert_eq!(label("STORE(cpu, SEQ, x) /* [ring.commit:B] */"), Some("ring.commit:B"));
        assert_eq!(label("x = a[SEQ] /* see [ring.commit] */"), None);
    }

    #[test]
    fn of_two_statements_on_a_line_the_executed_one_is_told() {
        let line = pieces("active proctype a() { x = LOAD(0, 1); done++ }");
        assert_eq!(chosen(&line, "done = (done+1)"), Some("done++"));
        assert_eq!(chosen(&line, "x = cached[((0*2)+1)]"), Some("x = LOAD(0, 1)"));
    }

    #[test]
    fn of_choices_on_a_line_the_taken_one_is_told() {
        let line = pieces("do :: x = 1 :: y = 2 od");
        assert_eq!(chosen(&line, "x = 1"), Some("x = 1"));
        assert_eq!(chosen(&line, "y = 2"), Some("y = 2"));
    }

    #[test]
    fn a_guard_and_an_assignment_of_one_name_are_told_apart() {
        let line = pieces("lock == 0 -> lock = 1");
        assert_eq!(chosen(&line, "((lock==0))"), Some("lock == 0"));
        assert_eq!(chosen(&line, "lock = 1"), Some("lock = 1"));
    }

    #[test]
    fn a_guard_is_told_without_its_choice() {
        let line = pieces(":: i < 3 -> x = 1");
        assert_eq!(chosen(&line, "((i<3))"), Some("i < 3"));
    }

    #[test]
    fn a_step_of_many_statements_is_told_by_its_primitive() {
        let line = pieces("i = 0; STORE(cpu, SEQ, 1);");
        assert_eq!(chosen(&line, "sub-sequence"), Some("STORE(cpu, SEQ, 1)"));
        assert_eq!(chosen(&line, "add_ = 1"), Some("STORE(cpu, SEQ, 1)"));
    }

    #[test]
    fn a_statement_that_the_line_does_not_show_is_told_in_spins_words() {
        let line = pieces("first(); second()");
        assert_eq!(chosen(&line, "x = 1"), None);
    }
}
