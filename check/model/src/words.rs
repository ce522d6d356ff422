// SPDX-License-Identifier: MIT
//! The names of shared words. A model numbers them (`#define SEQ 1`), SPIN prints the numbers;
//! people want the names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::expect::Run;
use crate::text::ModelText;

/// The primitives of models/machine whose second argument is a shared word.
const PRIMITIVES: [&str; 9] = [
    "LOAD",
    "STORE",
    "STORE_RELEASE",
    "STORE_FULL",
    "LOAD_ACQUIRE",
    "CAS",
    "EXCHANGE",
    "ADD",
    "ADD_RELEASE",
];
/// Words that a macro with an index names, such as `WORD(r)`: as many as a machine has.
const INDICES: usize = 16;
/// Macros that are numbers and no words.
const SIZES: [&str; 5] = ["CPUS", "VARS", "TSO_DEPTH", "EVERY_CPU", "CPU_"];
const SWITCHES: [&str; 4] = ["MACHINE_", "MUTANT_", "COVER_", "_"];

#[derive(Debug, Default, PartialEq)]
pub struct Words {
    names: BTreeMap<usize, String>,
    /// How many there are; 0 when the model uses no machine.
    pub count: usize,
    /// Stores that can be on their way from one CPU, on machines that have such.
    pub tso_depth: usize,
}

/// The value of an expression of numbers, such as SPIN prints for the index of an array.
pub fn value(expression: &str) -> Option<i64> {
    let mut signs: Vec<char> = expression.chars().filter(|sign| !sign.is_whitespace()).collect();
    signs.reverse();
    let found = sum(&mut signs)?;
    signs.is_empty().then_some(found)
}

fn sum(signs: &mut Vec<char>) -> Option<i64> {
    let mut total = product(signs)?;
    while let Some(sign @ ('+' | '-')) = signs.last().copied() {
        signs.pop();
        let right = product(signs)?;
        total = if sign == '+' { total.checked_add(right)? } else { total.checked_sub(right)? };
    }
    Some(total)
}

fn product(signs: &mut Vec<char>) -> Option<i64> {
    let mut total = factor(signs)?;
    while signs.last() == Some(&'*') {
        signs.pop();
        total = total.checked_mul(factor(signs)?)?;
    }
    Some(total)
}

fn factor(signs: &mut Vec<char>) -> Option<i64> {
    if signs.last() == Some(&'(') {
        signs.pop();
        let total = sum(signs)?;
        return (signs.pop() == Some(')')).then_some(total);
    }
    let mut digits = String::new();
    while let Some(digit) = signs.last().filter(|sign| sign.is_ascii_digit()).copied() {
        digits.push(digit);
        signs.pop();
    }
    digits.parse().ok()
}

/// The name that the second argument begins with, of the call whose text after `(` this is.
fn second_argument(arguments: &str) -> Option<&str> {
    let mut depth = 0;
    let comma = arguments.char_indices().find(|(_, sign)| {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0 || (depth == 0 && *sign == ',')
    })?;
    let rest = arguments.get(comma.0..)?.strip_prefix(',')?.trim_start();
    let name = rest.split(|sign| !is_name(sign)).next()?;
    // `BASE + i` names no word.
    let after = rest.get(name.len()..)?.trim_start();
    after.starts_with([',', ')', '(']).then_some(name)
}

fn is_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// The names that the model hands to the primitives as shared words.
fn used_as_words(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices('(') {
        let (before, after) = text.split_at(at);
        let call = before.rsplit(|sign| !is_name(sign)).next().unwrap_or_default();
        if PRIMITIVES.contains(&call) {
            names.extend(after.get(1..).and_then(second_argument));
        }
    }
    names
}

/// Runs the preprocessor on a text that follows the model.
fn preprocessed(run: &Run, options: &[&str], text: &str) -> Result<String> {
    let path = std::path::absolute(&run.path).unwrap_or_else(|_| run.path.clone());
    let failed = |source| Error::Program {
        program: "gcc".into(),
        source,
        remedy: "install gcc, which SPIN needs too",
    };
    let mut child = Command::new("gcc")
        .args(["-E", "-x", "c"])
        .args(options)
        .args(run.defines())
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        let all = format!("#include \"{}\"\n{text}", path.display());
        input.write_all(all.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A macro of the model's, as it may be called, and the number that it is then.
type Numbers = BTreeMap<String, usize>;

/// Which macros there are depends on the run's defines, and so do their values: the preprocessor
/// tells both.
fn numbers(run: &Run, text: &ModelText) -> Result<Numbers> {
    let used = used_as_words(text.code());
    let mut wanted = String::new();
    for line in preprocessed(run, &["-dM"], "")?.lines() {
        let Some(name) = line
            .strip_prefix("#define ")
            .map(|rest| rest.split(|sign| !is_name(sign)).next().unwrap_or_default())
        else {
            continue;
        };
        let has_argument = line.contains(&format!("#define {name}("));
        if has_argument && used.contains(&name) {
            for index in 0..INDICES {
                let _ = writeln!(wanted, "@ \"{name}({index})\" {name}({index})");
            }
        } else if !has_argument && text.has_word(name) {
            let _ = writeln!(wanted, "@ \"{name}\" {name}");
        }
    }
    let output = preprocessed(run, &["-P"], &wanted)?;
    let lines = output.lines().filter_map(|line| line.strip_prefix("@ \"")?.split_once('"'));
    let numbers = lines
        .filter_map(|(name, text)| Some((name.to_string(), usize::try_from(value(text)?).ok()?)));
    Ok(numbers.collect())
}

fn named(numbers: &Numbers, used: &[&str]) -> Words {
    let size = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let is_used = |name: &str| used.contains(&name.split('(').next().unwrap_or(name));
    let is_plain = |name: &str| {
        !SIZES.contains(&name) && !SWITCHES.iter().any(|prefix| name.starts_with(prefix))
    };
    // Of arrays that lie one after the other, the last one that has begun.
    let element = |index: usize| {
        let of_arrays = numbers
            .iter()
            .filter(|(name, number)| **number == index && name.contains('(') && is_used(name));
        let place = |name: &str| name.split_once('(')?.1.strip_suffix(')')?.parse::<usize>().ok();
        let first = of_arrays.min_by_key(|(name, _)| place(name))?.0;
        Some(first.clone())
    };
    let only = |index: usize, wanted: &dyn Fn(&str) -> bool| {
        let mut names = numbers.iter().filter(|(name, number)| **number == index && wanted(name));
        let first = names.next()?.0;
        names.next().is_none().then(|| first.clone())
    };
    let mut names = BTreeMap::new();
    for index in 0..size("VARS") {
        // A name in its own right before one with an index, and before one that is never used
        // with a primitive by name.
        let name = only(index, &|name| is_used(name) && !name.contains('('))
            .or_else(|| element(index))
            .or_else(|| only(index, &is_plain));
        names.extend(name.map(|name| (index, name)));
    }
    Words { names, count: size("VARS"), tso_depth: size("TSO_DEPTH") }
}

impl Words {
    pub fn of(run: &Run) -> Result<Words> {
        let text = ModelText::read(&run.path)?;
        Ok(named(&numbers(run, &text)?, &used_as_words(text.code())))
    }

    #[cfg(test)]
    pub fn numbered(count: usize, tso_depth: usize) -> Words {
        Words { names: BTreeMap::new(), count, tso_depth }
    }

    /// The word's name, or its number where the name is not certain.
    pub fn name(&self, index: usize) -> String {
        self.names.get(&index).cloned().unwrap_or_else(|| format!("word {index}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(code: &str, numbers: &[(&str, usize)]) -> Words {
        let numbers = numbers.iter().map(|(name, number)| (name.to_string(), *number)).collect();
        named(&numbers, &used_as_words(code))
    }

    #[test]
    fn an_index_made_of_numbers_has_a_value() {
        assert_eq!(value("((1*2)+0)"), Some(2));
        assert_eq!(value("7-2*3"), Some(1));
        assert_eq!(value("(1"), None);
        assert_eq!(value("x+1"), None);
    }

    #[test]
    fn a_word_has_the_name_that_the_primitives_get() {
        let code = "STORE(cpu, SEQ, 1); x = LOAD(CPU_OF(r), HEAD)";
        let words = words(code, &[("VARS", 2), ("SEQ", 0), ("HEAD", 1), ("READERS", 1)]);
        assert_eq!((words.name(0).as_str(), words.name(1).as_str()), ("SEQ", "HEAD"));
    }

    #[test]
    fn a_word_of_many_has_its_index() {
        let code = "STORE(cpu, WORD(r), 1); x = LOAD(cpu, LAST)";
        let numbers = [("VARS", 3), ("WORD(0)", 1), ("WORD(1)", 2), ("LAST", 2)];
        let found = words(code, &numbers);
        assert_eq!((found.name(1).as_str(), found.name(2).as_str()), ("WORD(0)", "LAST"));
    }

    #[test]
    fn of_arrays_that_lie_one_after_the_other_the_later_one_gives_the_name() {
        let code = "STORE(cpu, WORD(r), 1); x = LOAD(cpu, DATA(i))";
        let found = words(code, &[("VARS", 3), ("WORD(0)", 0), ("WORD(2)", 2), ("DATA(0)", 2)]);
        assert_eq!(found.name(2), "DATA(0)");
    }

    #[test]
    fn a_number_with_two_names_keeps_its_number() {
        let code = "STORE(cpu, SEQ, 1); STORE(cpu, COUNT, 1)";
        assert_eq!(words(code, &[("VARS", 1), ("SEQ", 0), ("COUNT", 0)]).name(0), "word 0");
    }

    #[test]
    fn a_name_passed_through_an_inline_is_taken_when_it_is_the_only_one() {
        let code = "inline put(v) { STORE(cpu, v, 1) } put(SEQ)";
        assert_eq!(words(code, &[("VARS", 1), ("SEQ", 0), ("MUTANT_X", 0)]).name(0), "SEQ");
    }
}
