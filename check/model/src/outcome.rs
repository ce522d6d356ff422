// SPDX-License-Identifier: MIT
//! What a search found, read from pan's output, and whether that is what was expected.

use serde::{Deserialize, Serialize};

use crate::expect::{Kind, Run, Verdict};

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "verdict", content = "detail")]
pub enum Found {
    /// All states were visited, and none is wrong.
    Pass,
    Fail(Failure),
    /// A bitstate search, which may have left states out, met no error.
    Unfound,
    /// The search ended early: nothing is known.
    Unfinished(String),
    /// SPIN or the compiler refused the model, or pan ended as it never should.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: Kind,
    /// The assertion's text; empty for other kinds.
    pub text: String,
}

/// pan's numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Search {
    pub states: u64,
    pub transitions: u64,
    pub depth: u64,
    pub memory_mib: f64,
    /// Statements that no execution reached, as `file:line, "text"`.
    pub unreached: Vec<String>,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Assertion => "assertion",
            Kind::Deadlock => "deadlock",
            Kind::Cycle => "cycle",
            Kind::Claim => "claim",
        }
    }
}

impl Found {
    /// Short, for the line of progress and the tables.
    pub fn words(&self) -> String {
        match self {
            Found::Pass => "pass".into(),
            Found::Fail(failure) => format!("fail ({})", failure.kind.word()),
            Found::Unfound => "unfound".into(),
            Found::Unfinished(why) => format!("unfinished ({why})"),
            Found::Broken(_) => "broken".into(),
        }
    }

    /// As `words`, but that a state which had to be reached was.
    pub fn words_of(&self, run: &Run) -> String {
        match (run.verdict, self) {
            (Verdict::Reached, Found::Fail(failure)) if self.disagreement(run).is_none() => {
                match failure.kind {
                    Kind::Assertion => "reached".into(),
                    kind => format!("reached ({})", kind.word()),
                }
            }
            _ => self.words(),
        }
    }

    /// The inverse of `words` and `words_of`, but for the texts of assertions.
    pub fn from_words(words: &str) -> Option<Found> {
        let (verdict, detail) = words.split_once(" (").unwrap_or((words, ""));
        let detail = detail.strip_suffix(')').unwrap_or(detail);
        let kinds = [Kind::Assertion, Kind::Deadlock, Kind::Cycle, Kind::Claim];
        match verdict {
            "pass" => Some(Found::Pass),
            "unfound" => Some(Found::Unfound),
            "unfinished" => Some(Found::Unfinished(detail.into())),
            "broken" => Some(Found::Broken(String::new())),
            "reached" if detail.is_empty() => Some(Found::of_kind(Kind::Assertion)),
            "fail" | "reached" => {
                let kind = kinds.into_iter().find(|kind| kind.word() == detail)?;
                Some(Found::of_kind(kind))
            }
            _ => None,
        }
    }

    fn of_kind(kind: Kind) -> Found {
        Found::Fail(Failure { kind, text: String::new() })
    }

    /// Nothing when it is what the run expects, otherwise what was expected.
    pub fn disagreement(&self, run: &Run) -> Option<String> {
        let kind = match run.verdict {
            Verdict::Reached => Some(run.error.unwrap_or(Kind::Assertion)),
            _ => run.error,
        };
        let agrees = match (run.verdict, self) {
            (Verdict::Pass, Found::Pass) | (Verdict::Unfound, Found::Unfound) => true,
            (Verdict::Fail | Verdict::Reached, Found::Fail(failure)) => {
                kind.is_none_or(|kind| kind == failure.kind)
            }
            _ => false,
        };
        let expected = match run.verdict {
            Verdict::Pass => "pass".to_string(),
            Verdict::Unfound => "unfound".to_string(),
            Verdict::Reached => "reached".to_string(),
            Verdict::Fail => match kind {
                Some(kind) => format!("fail ({})", kind.word()),
                None => "fail".to_string(),
            },
        };
        (!agrees).then_some(expected)
    }
}

/// The texts of the assertions that SPIN made of a formula; `moves` is its `pan.m`. Only formulae
/// of safety have such.
pub fn claim_assertions(moves: &str, claim: &str) -> Vec<String> {
    let start = format!("/* CLAIM {claim} */");
    let mut in_claim = false;
    let mut texts = Vec::new();
    for line in moves.lines().map(str::trim) {
        if line.starts_with("/* CLAIM ") || line.starts_with("/* PROC ") {
            in_claim = line == start;
        } else if in_claim && line.starts_with("spin_assert(") {
            texts.extend(line.split('"').nth(1).map(|text| text.trim().to_string()));
        }
    }
    texts
}

/// The kind of an error, from pan's line about it. An assertion that SPIN made of a formula is the
/// claim's, not the model's.
fn failure(line: &str, claims: &[String]) -> Option<Failure> {
    let (number, message) = line.strip_prefix("pan:")?.split_once(':')?;
    number.trim().parse::<u32>().ok()?;
    let message = message.trim().split(" (at depth").next().unwrap_or_default();
    let plain = |kind| Some(Failure { kind, text: String::new() });
    if let Some(text) = message.strip_prefix("assertion violated ") {
        let is_claim = claims.iter().any(|claim| claim == text.trim());
        let kind = if is_claim { Kind::Claim } else { Kind::Assertion };
        let text = if is_claim { String::new() } else { text.to_string() };
        return Some(Failure { kind, text });
    }
    match message {
        "invalid end state" => plain(Kind::Deadlock),
        "acceptance cycle" | "non-progress cycle" => plain(Kind::Cycle),
        "claim violated!" | "end state in claim reached" => plain(Kind::Claim),
        _ => None,
    }
}

/// Why a search ended early, if it did.
fn early_end(output: &str) -> Option<&'static str> {
    [
        ("max search depth too small", "deeper than depth"),
        ("pan: out of memory", "out of memory"),
        ("memory limit of", "out of memory"),
        ("reached -DMEMLIM bound", "out of memory"),
        ("VECTORSZ too small", "state too large"),
        ("VECTORSZ is too small", "state too large"),
        ("Interrupted", "interrupted"),
    ]
    .into_iter()
    .find_map(|(sign, reason)| output.contains(sign).then_some(reason))
}

fn first_number<T: std::str::FromStr>(line: &str) -> Option<T> {
    line.split_whitespace().next()?.trim_end_matches(',').parse().ok()
}

pub fn search(output: &str) -> Search {
    let mut search = Search::default();
    let mut in_unreached = false;
    for line in output.lines() {
        if let Some(at) = line.find("depth reached ") {
            search.depth = first_number(line.split_at(at + 14).1).unwrap_or(0);
        } else if line.contains("states, stored") {
            search.states = first_number(line).unwrap_or(0);
        } else if line.contains("transitions (=") {
            search.transitions = first_number(line).unwrap_or(0);
        } else if line.contains("total actual memory usage") {
            search.memory_mib = first_number(line).unwrap_or(0.0);
        } else if line.starts_with("unreached in ") {
            in_unreached = !line.starts_with("unreached in claim");
        } else if in_unreached && line.starts_with('\t') && !line.starts_with("\t(") {
            search.unreached.push(unreached(line.trim()));
        }
    }
    search
}

/// `file:12, state 3, "x = 1"` without the number of the state.
fn unreached(line: &str) -> String {
    let mut parts = line.splitn(3, ", ");
    match (parts.next(), parts.next(), parts.next()) {
        (Some(place), Some(_), Some(text)) => format!("{place}, {text}"),
        _ => line.to_string(),
    }
}

/// The verdict of one search from what pan printed, and why it was cut off if it was.
pub fn found(output: &str, claims: &[String], bitstate: bool, cut: Option<String>) -> Found {
    if let Some(failure) = output.lines().find_map(|line| failure(line, claims)) {
        let outside = failure.text.starts_with("- invalid array index");
        let why = "the model uses an array outside its bounds; what was looked for is not known";
        return if outside { Found::Broken(why.into()) } else { Found::Fail(failure) };
    }
    if let Some(why) = cut {
        return Found::Unfinished(early_end(output).map_or(why, String::from));
    }
    if let Some(reason) = early_end(output) {
        return Found::Unfinished(reason.into());
    }
    let complete = output.contains("errors: 0") && output.contains("states, stored");
    if !complete || output.contains("Search not completed") {
        return Found::Broken(output.trim().to_string());
    }
    if bitstate {
        Found::Unfound
    } else {
        Found::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = include_str!("../tests/outputs/complete.txt");
    const SHALLOW: &str = include_str!("../tests/outputs/shallow.txt");
    const MEMORY: &str = include_str!("../tests/outputs/memory.txt");
    const CLAIM: &str = include_str!("../tests/outputs/claim.txt");

    fn of(output: &str) -> Found {
        found(output, &["!( !((count!=2)))".to_string()], false, None)
    }

    fn kind(line: &str) -> Option<Kind> {
        match of(&format!("{line}\n{COMPLETE}")) {
            Found::Fail(failure) => Some(failure.kind),
            _ => None,
        }
    }

    #[test]
    fn a_complete_search_without_errors_passes() {
        assert_eq!(of(COMPLETE), Found::Pass);
        assert_eq!(found(COMPLETE, &[], true, None), Found::Unfound);
    }

    #[test]
    fn the_numbers_of_a_search_are_read() {
        let search = search(COMPLETE);
        assert_eq!((search.states, search.transitions, search.depth), (100_000, 200_012, 99_999));
        assert!((search.memory_mib - 20.372).abs() < 1e-9);
        assert_eq!(search.unreached, ["big.pml:1, \"-end-\""]);
    }

    #[test]
    fn a_search_that_was_cut_off_never_passes() {
        assert_eq!(of(SHALLOW), Found::Unfinished("deeper than depth".into()));
        assert_eq!(of(MEMORY), Found::Unfinished("out of memory".into()));
        let late = found(COMPLETE, &[], false, Some("more than 60 s".into()));
        assert_eq!(late, Found::Unfinished("more than 60 s".into()));
        assert!(matches!(of(""), Found::Broken(_)));
        assert!(matches!(of("pan:1: something new (at depth 3)\nerrors: 1"), Found::Broken(_)));
    }

    #[test]
    fn the_kinds_of_errors_are_told_apart() {
        assert_eq!(kind("pan:1: assertion violated (x<3) (at depth 4)"), Some(Kind::Assertion));
        assert_eq!(kind("pan:1: invalid end state (at depth 4)"), Some(Kind::Deadlock));
        assert_eq!(kind("pan:1: acceptance cycle (at depth 4)"), Some(Kind::Cycle));
        assert_eq!(kind("pan:1: non-progress cycle (at depth 4)"), Some(Kind::Cycle));
        assert_eq!(kind("pan:1: end state in claim reached (at depth 4)"), Some(Kind::Claim));
        let claim = Failure { kind: Kind::Claim, text: String::new() };
        assert_eq!(of(CLAIM), Found::Fail(claim));
    }

    #[test]
    fn an_index_outside_its_array_is_no_verdict() {
        let line = "pan:1: assertion violated - invalid array index (at depth 13)";
        assert!(matches!(of(line), Found::Broken(_)));
    }

    #[test]
    fn only_the_assertions_of_the_formula_meant_are_its() {
        let moves = "/* CLAIM small */\nspin_assert( a, \" !( !((count<=3)))\", II, tt, t);\n\
                     /* PROC writer */\nspin_assert(b, \"(count<=3)\", II, tt, t);\n";
        assert_eq!(claim_assertions(moves, "small"), ["!( !((count<=3)))"]);
        assert!(claim_assertions(moves, "other").is_empty());
    }

    #[test]
    fn the_words_of_a_verdict_are_read_back() {
        let cut = Found::Unfinished("more than 60 s".into());
        let wrong = Found::Fail(Failure { kind: Kind::Cycle, text: String::new() });
        for found in [Found::Pass, Found::Unfound, cut, wrong] {
            assert_eq!(Found::from_words(&found.words()), Some(found));
        }
        assert_eq!(Found::from_words("reached"), Some(Found::of_kind(Kind::Assertion)));
        assert_eq!(Found::from_words("reached (cycle)"), Some(Found::of_kind(Kind::Cycle)));
        assert_eq!(Found::from_words("fail (somehow)"), None);
    }
}
