// SPDX-License-Identifier: MIT
//! What the last runs found, read back from the page that `table` writes: `models/results/NOUN.md`
//! is its only form. A run that was not executed this time keeps its row.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::expect::Run;
use crate::outcome::Found;
use crate::spin::Report;
use crate::table;
use crate::text::ModelText;

/// What is kept of a run: nothing that differs when the same search is made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub run: String,
    pub found: Found,
    pub states: u64,
    pub depth: u64,
    pub memory_mib: u64,
    /// Of the model's code and the search's settings when this was found.
    pub digest: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    pub row: Vec<Row>,
}

pub fn folder(models: &Path) -> PathBuf {
    models.join("results")
}

pub fn page_path(models: &Path, noun: &str) -> PathBuf {
    folder(models).join(format!("{noun}.md"))
}

/// FNV-1a, which is enough to notice an edit.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Tells whether a row was found with today's model: comments and spaces do not count.
pub fn digest(run: &Run) -> Result<String> {
    let text = ModelText::read(&run.path)?;
    let code: Vec<&str> = text.code().split_whitespace().collect();
    let search = (run.name(), run.compression, run.reduction);
    Ok(format!("{:016x}", fnv(&format!("{} {search:?}", code.join(" ")))))
}

impl Row {
    pub fn of(run: &Run, report: &Report) -> Result<Row> {
        let search = &report.search;
        Ok(Row {
            run: run.name(),
            found: report.found.clone(),
            states: search.states,
            depth: search.depth,
            memory_mib: search.memory_mib.round() as u64,
            digest: digest(run)?,
        })
    }
}

impl Results {
    /// Those of a noun; none when nothing was ever written.
    pub fn read(models: &Path, noun: &str) -> Result<Results> {
        let path = page_path(models, noun);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Results::default());
            }
            Err(error) => return Err(Error::file(&path, error, "make it readable")),
        };
        table::rows(noun, &text).map(|row| Results { row }).map_err(|line| {
            let source = std::io::Error::other(format!("line {line} is no row of a run"));
            Error::file(&path, source, "restore it, or remove it and run `models/run --write`")
        })
    }

    pub fn get(&self, run: &Run) -> Option<&Row> {
        let name = run.name();
        self.row.iter().find(|row| row.run == name)
    }

    /// The rows of `runs`, in their order: new ones where there are any, else the earlier ones.
    pub fn renewed(&self, runs: &[&Run], new: &[Row]) -> Results {
        let row = runs.iter().filter_map(|run| {
            let name = run.name();
            let fresh = new.iter().find(|row| row.run == name);
            fresh.or_else(|| self.get(run)).cloned()
        });
        Results { row: row.collect() }
    }
}
