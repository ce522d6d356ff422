// SPDX-License-Identifier: MIT
//! `--unreached` and `--json`: what the runs of this time tell beyond their verdicts.

use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::expect::{Run, Verdict};
use crate::outcome::{Found, Search};
use crate::spin::Report;

/// One run as `--json` writes it.
#[derive(Serialize)]
struct Entry<'a> {
    run: String,
    title: &'a str,
    expected: Verdict,
    found: &'a Found,
    as_expected: bool,
    search: &'a Search,
    time_s: f64,
}

pub fn write_json(path: &Path, done: &[(&Run, Report)]) -> Result<()> {
    let entries: Vec<Entry> = done
        .iter()
        .map(|(run, report)| Entry {
            run: run.name(),
            title: &run.title,
            expected: run.verdict,
            found: &report.found,
            as_expected: report.found.disagreement(run).is_none(),
            search: &report.search,
            time_s: report.time_s,
        })
        .collect();
    let text = serde_json::to_string_pretty(&entries).unwrap_or_default();
    std::fs::write(path, text + "\n")
        .map_err(|error| Error::file(path, error, "name a file that can be written"))
}

/// Statements of a model that none of its unaltered, complete searches with the same defines
/// reached. The ends of processes that never end, and the machine, are not meant.
pub fn unreached(done: &[(&Run, Report)]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (run, report) in done {
        if run.mutant.is_some() || report.found != Found::Pass {
            continue;
        }
        let name = format!("{}/{} {}", run.folder, run.model, run.define.join(" "));
        let is_meant = |text: &&str| !text.contains("\"-end-\"") && !text.contains("/machine/");
        let found: Vec<&str> =
            report.search.unreached.iter().map(String::as_str).filter(is_meant).collect();
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, all)) => all.retain(|text| found.contains(text)),
            None => groups.push((name, found)),
        }
    }
    let lines = groups.iter().flat_map(|(name, all)| {
        all.iter().map(move |text| format!("{}: unreached: {text}", name.trim_end()))
    });
    lines.collect()
}
