// SPDX-License-Identifier: MIT
//! What to say when nothing has a name that was asked for: the names that are most like it.
//!
//! Place in the flow: `print` and `list`, when no event matches their -e; the verdict of `record`,
//! for each pattern without a match; `query`, for tables that are not there.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How many names are suggested.
const NAMES_MAX: usize = 3;
/// A name that is less like a pattern than this, out of 1000, is not suggested.
const MISSPELT_MIN: u32 = 600;
const BEGUN_MIN: u32 = 700;
/// What has at most one mistake in it, of a name that begins as a pattern does.
const BEGIN_LETTERS: usize = 4;

/// `no event matches mutx:*; the nearest are mutex:unlock, mutex:wait_exit`
pub fn no_match<'a>(patterns: &[String], names: impl Iterator<Item = &'a str>) -> String {
    let said = format!("no event matches {}", patterns.join(" or "));
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    match nearest(&patterns, names)[..] {
        [] => said,
        [one] => format!("{said}; the nearest is {one}"),
        ref several => format!("{said}; the nearest are {}", several.join(", ")),
    }
}

/// `; the nearest name is mutex:unlock` where one is near, behind what says that a name is none.
pub fn advice<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(&[name], names);
    near.first().map_or_else(String::new, |near| format!("; the nearest name is {near}"))
}

/// The names that are most like one of the patterns, the best first: those that a pattern
/// misspells, or else those that begin as one does. A name may be a pattern, too.
pub fn nearest<'a>(patterns: &[&str], names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names: BTreeSet<&str> = names.collect();
    let misspelt = |pattern: &str, name: &str| {
        let glob = pattern.split('@').next().unwrap_or(pattern);
        strsim::normalized_damerau_levenshtein(glob, name)
    };
    let begun = |pattern: &str, name: &str| match begin_alike(pattern, name) {
        true => strsim::jaro_winkler(&word(pattern), &word(name)),
        false => 0.0,
    };
    match best(patterns, &names, MISSPELT_MIN, misspelt) {
        found if found.is_empty() => best(patterns, &names, BEGUN_MIN, begun),
        found => found,
    }
}

/// The names that are at least so much like one of the patterns, the best first.
fn best<'a>(
    patterns: &[&str],
    names: &BTreeSet<&'a str>,
    least: u32,
    alike: impl Fn(&str, &str) -> f64,
) -> Vec<&'a str> {
    let likeness = |name: &str| {
        let each = patterns.iter().map(|pattern| alike(pattern, name));
        (each.fold(0.0, f64::max) * 1000.0) as u32
    };
    let mut likely: Vec<(&str, u32)> = names.iter().map(|name| (*name, likeness(name))).collect();
    likely.retain(|(_, likeness)| *likeness >= least);
    likely.sort_by_key(|(_, likeness)| Reverse(*likeness));
    likely.into_iter().take(NAMES_MAX).map(|(name, _)| name).collect()
}

/// Whether a name begins as a pattern does, as far as the pattern says how it begins.
fn begin_alike(pattern: &str, name: &str) -> bool {
    let begin = |text: &str| text.chars().take(BEGIN_LETTERS).collect::<String>();
    let (pattern, name) = (begin(pattern), begin(name));
    pattern.contains(['*', '?']) || strsim::osa_distance(&pattern, &name) <= 1
}

/// What a pattern says of a name: neither wildcards nor the level behind it.
fn word(pattern: &str) -> String {
    let name = pattern.split('@').next().unwrap_or(pattern);
    name.chars().filter(|c| !matches!(c, '*' | '?' | '!')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pattern: &str) -> String {
        let names = ["mutex:wait_entry", "io:read_entry", "io:read_exit", "io:write_entry"];
        no_match(&[pattern.to_string()], names.into_iter().chain(["io:read_exit"]))
    }

    #[test]
    fn nearest_names_are_said_best_first_and_each_once() {
        assert!(said("io:red_exit").contains("the nearest are io:read_exit, io:read_entry"));
        assert!(said("mutx*@debug").ends_with("the nearest is mutex:wait_entry"));
        assert_eq!(said("zzz"), "no event matches zzz");
        assert_eq!(said("*"), "no event matches *");
        assert_eq!(advice("c:none", ["io:connect_exit"].into_iter()), "");
        assert!(no_match(&["shced:*".into()], ["sched:a"].into_iter()).ends_with("sched:a"));
        assert_eq!(advice("c:tik", ["c:tick"].into_iter()), "; the nearest name is c:tick");
    }
}
