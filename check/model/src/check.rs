// SPDX-License-Identifier: MIT
//! Whether the committed tables tell what `expect.toml` expects: every run, its verdict, and of
//! today's model. Runs nothing; `models/run --check`, and the end of every whole run.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::expect::Run;
use crate::results::{self, page_path, Results, Row};
use crate::table;

/// A noun and its runs, in the order of the descriptions.
pub fn by_noun(runs: &[Run]) -> Vec<(&str, Vec<&Run>)> {
    let mut nouns: Vec<(&str, Vec<&Run>)> = Vec::new();
    for run in runs {
        match nouns.last_mut() {
            Some((noun, list)) if *noun == run.folder => list.push(run),
            _ => nouns.push((&run.folder, vec![run])),
        }
    }
    nouns
}

fn digests(runs: &[&Run]) -> Result<Vec<String>> {
    runs.iter().map(|run| results::digest(run)).collect()
}

/// Writes the page of each noun of which something was run; the rest keeps its row.
pub fn write(models: &Path, runs: &[Run], new: &[Row]) -> Result<()> {
    for (noun, runs) in by_noun(runs) {
        if runs.iter().all(|run| new.iter().all(|row| row.run != run.name())) {
            continue;
        }
        let results = Results::read(models, noun)?.renewed(&runs, new);
        let path = page_path(models, noun);
        let text = table::page(noun, &runs, &results, &digests(&runs)?);
        fs::create_dir_all(results::folder(models))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| Error::file(&path, error, "make the folder writable"))?;
    }
    Ok(())
}

/// What is wrong with a run's row.
fn fault(run: &Run, row: Option<&Row>, digest: &str) -> Option<String> {
    let Some(row) = row else {
        return (!run.full).then(|| format!("{} has no row", run.name()));
    };
    if let Some(expected) = row.found.disagreement(run) {
        return Some(format!("{} is {}, expected {expected}", run.name(), row.found.words()));
    }
    let outdated = row.digest != digest && !run.full;
    outdated.then(|| format!("{} was found with an earlier model", run.name()))
}

/// What is wrong with a noun's tables; nothing when they are right.
fn faults(models: &Path, noun: &str, runs: &[&Run]) -> Result<Vec<String>> {
    let results = Results::read(models, noun)?;
    let digests = digests(runs)?;
    let mut faults: Vec<String> = runs
        .iter()
        .zip(&digests)
        .filter_map(|(run, digest)| fault(run, results.get(run), digest))
        .collect();
    let is_stray = |row: &&Row| runs.iter().all(|run| run.name() != row.run);
    let strays = results.row.iter().filter(is_stray);
    faults.extend(strays.map(|row| format!("{} is no run of expect.toml", row.run)));
    let page = fs::read_to_string(page_path(models, noun)).unwrap_or_default();
    if faults.is_empty() && page != table::page(noun, runs, &results, &digests) {
        faults.push("the table is not what its rows give".into());
    }
    Ok(faults)
}

/// Files that are no noun's table: of a noun without runs, for one.
fn strays(models: &Path, nouns: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(results::folder(models)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.strip_suffix(".md").is_some_and(|noun| nouns.contains(&noun)));
    names.sort();
    names
}

/// A message for each noun whose tables are wrong, and how many nouns are right.
pub fn check(models: &Path, runs: &[Run]) -> Result<(usize, Vec<String>)> {
    /// Of the faults of one noun; the rest is like the first ones.
    const SHOWN_MAX: usize = 5;
    let nouns = by_noun(runs);
    let mut right_count = 0;
    let mut messages = Vec::new();
    for (noun, runs) in &nouns {
        let faults = faults(models, noun, runs)?;
        if faults.is_empty() {
            right_count += 1;
            continue;
        }
        let mut text = format!(
            "models/results/{noun}.md does not tell what models/{noun} expects; `models/run \
             --write` renews it"
        );
        for fault in faults.iter().take(SHOWN_MAX) {
            text += &format!("\n     {fault}");
        }
        if faults.len() > SHOWN_MAX {
            text += &format!("\n     and {} more", faults.len() - SHOWN_MAX);
        }
        messages.push(text);
    }
    let names: Vec<&str> = nouns.iter().map(|(noun, _)| *noun).collect();
    messages.extend(strays(models, &names).iter().map(|name| {
        format!("models/results/{name} is the table of no folder that has runs; remove it")
    }));
    Ok((right_count, messages))
}
