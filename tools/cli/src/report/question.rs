// SPDX-License-Identifier: MIT
//! What is asked beside an analysis' name.
//!
//! Place in the flow: options of `lull report` that are for one analysis each; with another one,
//! or without any, they are refused.

use std::path::{Path, PathBuf};

use analysis::{Error, FlameOf, Question};
use anyhow::bail;

use crate::nearest::nearest;

/// Analyses of calls and of what is between two events.
const SPANS: &[&str] = &["latency", "critical-path"];

#[derive(Debug, Default, clap::Args)]
pub struct QuestionArgs {
    /// For latency: only calls of this name, with a histogram; for critical-path: the longest
    #[arg(long, value_name = "NAME")]
    pub pair: Vec<String>,

    /// For latency: the time from an event of the first name to the next one of the second; for
    /// critical-path: the longest
    #[arg(long, num_args = 2, value_names = ["EVENT", "EVENT"], conflicts_with = "pair")]
    pub between: Vec<String>,

    /// For --between: fields of which the values are equal in both; $tid, $pid and $cpu are the
    /// event's own [default: $tid]
    #[arg(long, value_name = "FIELD[=FIELD]", value_delimiter = ',', requires = "between")]
    pub key: Vec<String>,

    /// For flame: stacks of this [default: waits where the scheduler tells of them, else calls]
    #[arg(long, value_name = "WHAT")]
    pub of: Option<StacksOf>,

    /// For flame: write a graph for browsers; - is standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// For flame: write stacks as lines of text, "outer;inner VALUE"; - is standard output
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StacksOf {
    /// Time in calls, by entry and exit
    Calls,
    /// Time off the CPU, by the calls and the call stack there
    Waits,
    /// Events that carry a call stack
    Stacks,
}

impl QuestionArgs {
    /// The options that were given, each with the analyses that it is for.
    fn given(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        let options: [(bool, &str, &[&str]); 5] = [
            (!self.pair.is_empty(), "--pair", SPANS),
            (!self.between.is_empty(), "--between", SPANS),
            (self.of.is_some(), "--of", &["flame"]),
            (self.svg.is_some(), "--svg", &["flame"]),
            (self.folded.is_some(), "--folded", &["flame"]),
        ];
        options.into_iter().filter(|(is_given, ..)| *is_given).map(|(_, name, of)| (name, of))
    }

    pub fn question(&self, analysis: Option<&str>) -> anyhow::Result<Question> {
        for (option, of) in self.given() {
            if !analysis.is_some_and(|analysis| of.contains(&analysis)) {
                bail!("{option} is for `lull report {}`", of.join("` and `lull report "));
            }
        }
        let between = match &self.between[..] {
            [first, second] => Some((first.clone(), second.clone())),
            _ => None,
        };
        let key = |key: &String| match key.split_once('=') {
            Some((first, second)) => (first.to_string(), second.to_string()),
            None => (key.clone(), key.clone()),
        };
        let keys = self.key.iter().map(key).collect();
        let flame_of = self.of.map(|of| match of {
            StacksOf::Calls => FlameOf::Calls,
            StacksOf::Waits => FlameOf::Waits,
            StacksOf::Stacks => FlameOf::Stacks,
        });
        Ok(Question { pairs: self.pair.clone(), between, keys, flame_of })
    }

    /// Whether the answer itself goes to standard output.
    pub fn writes_to_stdout(&self) -> bool {
        let is_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        is_stdout(&self.svg) || is_stdout(&self.folded)
    }
}

/// The error, with the names that are most like the one that is not there.
pub(super) fn explained(error: Error) -> anyhow::Error {
    let said = error.to_string();
    let Error::Unknown { name, known, .. } = error else { return anyhow::Error::msg(said) };
    match nearest(&[&name], known.iter().map(String::as_str))[..] {
        [] => anyhow::Error::msg(said),
        [one] => anyhow::anyhow!("{said}; the nearest is {one}"),
        ref several => anyhow::anyhow!("{said}; the nearest are {}", several.join(", ")),
    }
}
